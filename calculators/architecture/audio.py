"""Audio towers by the `model_type` of their config: which tensors each one has.

Source: the modelling classes of transformers 5.24.0, compared tensor by tensor on the meta device.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from calculators.architecture.bag import Bag
from calculators.architecture.keys import Fields
from calculators.architecture.layout import Role
from calculators.architecture.vision import Tower


def _audio_widths(f: Fields) -> tuple[int, int, int]:
    """(width, MLP width, layers) under the Whisper or the plain names."""
    return (
        f.integer("d_model", f.integer("hidden_size", 0)) or f.integer("hidden_size"),
        f.integer("encoder_ffn_dim", f.integer("intermediate_size", 0)) or f.integer("intermediate_size"),
        f.integer("encoder_layers", f.integer("num_hidden_layers", 0)) or f.integer("num_hidden_layers"),
    )


def whisper_encoder(f: Fields, bag: Bag, *, positions: bool = True) -> int:
    """Whisper's encoder: two convolutions, positions, pre-norm layers whose keys have no bias."""
    d, ff, n = _audio_widths(f)
    bag.linear(d, 3 * f.integer("num_mel_bins"))
    bag.linear(d, 3 * d)
    if positions:
        bag.tensor(f.integer("max_source_positions"), d)
    bag.norm(d, n=1 + 2 * n)
    bag.attention(d, k_bias=False, n=n)
    bag.mlp(d, ff, n=n)
    return d


def _whisper(f: Fields) -> Tower:
    bag = Bag(Role.AUDIO)
    d = whisper_encoder(f, bag)
    return Tower(bag.weights(), d)


def _glmasr(f: Fields) -> Tower:
    bag = Bag(Role.AUDIO)
    d = whisper_encoder(f, bag, positions=False)
    return Tower(bag.weights(), d)


def _qwen25_omni(f: Fields) -> Tower:
    bag, out = Bag(Role.AUDIO), f.integer("output_dim")
    d = whisper_encoder(f, bag, positions=False)
    bag.tensor(2, out)
    bag.linear(out, d)
    return Tower(bag.weights(), out)


def _mel_after_convolutions(bins: int, times: int) -> int:
    for _ in range(times):
        bins = (bins + 1) // 2
    return bins


def _qwen3_audio(f: Fields, *, project: bool) -> Tower:
    """Three 2-D convolutions, then plain layers; Qwen3-Omni projects inside the tower."""
    bag = Bag(Role.AUDIO)
    d, ff, n = _audio_widths(f)
    channels, out = f.integer("downsample_hidden_size"), f.integer("output_dim")
    bag.linear(channels, 9)
    bag.linear(channels, 9 * channels, n=2)
    bag.linear(d, channels * _mel_after_convolutions(f.integer("num_mel_bins"), 3), bias=False)
    bag.norm(d, n=1 + 2 * n)
    bag.attention(d, n=n)
    bag.mlp(d, ff, n=n)
    if project:
        bag.linear(d, d)
        bag.linear(out, d)
    return Tower(bag.weights(), out if project else d)


def _qwen3_omni(f: Fields) -> Tower:
    return _qwen3_audio(f, project=True)


def _qwen3_asr(f: Fields) -> Tower:
    return _qwen3_audio(f, project=False)


def _voxtral_realtime(f: Fields) -> Tower:
    bag = Bag(Role.AUDIO)
    d, ff, n = _audio_widths(f)
    inner = f.integer("num_attention_heads") * f.integer("head_dim")
    bag.linear(d, 3 * f.integer("num_mel_bins"))
    bag.linear(d, 3 * d)
    bag.norm(d, 1, 1 + 2 * n)
    bag.attention(d, inner=inner, k_bias=False, n=n)
    bag.mlp(d, ff, gated=True, bias=False, down_bias=True, n=n)
    return Tower(bag.weights(), d)


def _phi4(f: Fields) -> Tower:
    """Phi-4-multimodal's conformer: two half MLPs, attention and a gated convolution per layer."""
    bag = Bag(Role.AUDIO)
    d, ff, n = f.integer("hidden_size"), f.integer("intermediate_size"), f.integer("num_blocks")
    steps = max(f.integer("time_reduction", 8).bit_length() - 1, 1)
    channels = f.integer("nemo_conv_channels", 1024)
    out, deep = f.integer("ext_pw_out_channel", d), f.integer("depthwise_separable_out_channel", d)
    kernel, multiplier = f.integer("kernel_size", 3), f.integer("depthwise_multiplier", 1)
    bag.linear(channels, 9, n=steps)
    bag.linear(channels, channels, n=steps - 1)
    bag.linear(d, channels * _mel_after_convolutions(f.integer("input_size", 80), steps))
    buckets = f.integer("bias_max_distance", 1000) * (1 if f.flag("bias_symmetric") else 2)
    bag.tensor(buckets, f.integer("num_attention_heads"))
    bag.norm(d, n=5 * n)
    bag.linear(2 * ff, d, n=2 * n)
    bag.linear(d, ff, n=2 * n)
    bag.attention(d, n=n)
    bag.tensor(out, n=2 * n)
    bag.linear(2 * out, d, n=n)
    bag.linear(d * multiplier, kernel, n=n)
    bag.linear(deep, d * multiplier, n=n)
    bag.linear(out, d, n=n)
    return Tower(bag.weights(), d)


def _gemma4(f: Fields) -> Tower:
    """Gemma 4's conformer: RMSNorms, no biases but the output projection's."""
    bag = Bag(Role.AUDIO)
    d, n = f.integer("hidden_size"), f.integer("num_hidden_layers")
    channels = f.integers("subsampling_conv_channels", default=(128, 32), low=1)
    if len(channels) != 2:
        raise f.refuse("subsampling_conv_channels", f"must have two entries, not {len(channels)}")
    first, second = channels
    out, kernel = f.integer("output_proj_dims"), f.integer("conv_kernel_size", 5)
    bag.linear(first, 9, bias=False)
    bag.linear(second, 9 * first, bias=False)
    bag.norm(first, 1)
    bag.norm(second, 1)
    bag.linear(d, 32 * second, bias=False)
    bag.mlp(d, 4 * d, bias=False, n=2 * n)
    bag.norm(d, 1, 9 * n)
    bag.tensor(d // f.integer("num_attention_heads"), n=n)
    bag.attention(d, bias=False, n=n)
    bag.linear(d, d, bias=False, n=n)
    bag.linear(2 * d, d, bias=False, n=n)
    bag.linear(d, d, bias=False, n=n)
    bag.linear(d, kernel, bias=False, n=n)
    bag.linear(out, d)
    return Tower(bag.weights(), out)


def _granite_speech(f: Fields) -> Tower:
    """Granite Speech's conformer with block attention and a character head fed back in the middle."""
    bag = Bag(Role.AUDIO)
    d, n = f.integer("hidden_dim"), f.integer("num_layers")
    head = f.integer("dim_head", d // f.integer("num_heads"))
    inner = f.integer("num_heads") * head
    out, wide = f.integer("output_dim"), d * f.integer("conv_expansion_factor", 2)
    bag.linear(d, f.integer("input_dim"))
    bag.norm(d, n=5 * n)
    bag.mlp(d, d * f.integer("feedforward_mult", 4), n=2 * n)
    bag.attention(d, inner=inner, bias=False, out_bias=True, n=n)
    bag.tensor(2 * f.integer("max_pos_emb") + 1, head, n=n)
    bag.linear(2 * wide, d, n=n)
    bag.linear(wide, f.integer("conv_kernel_size"), bias=False, n=n)
    bag.norm(wide, n=n)
    bag.linear(d, wide, n=n)
    bag.linear(out, d)
    bag.linear(d, out)
    return Tower(bag.weights(), d)


def _fun_asr(f: Fields) -> Tower:
    """Fun-ASR's memory-block encoder: stacked frames in, a depthwise convolution beside each attention."""
    bag = Bag(Role.AUDIO)
    d, ff, n = f.integer("hidden_size"), f.integer("intermediate_size"), f.integer("num_hidden_layers")
    frames = f.integer("num_mel_bins") * f.integer("num_stacked_frames", 7)
    bag.linear(d, frames, n=3)
    bag.linear(d, d, n=3 * (n - 1))
    bag.linear(d, d, n=n)
    bag.linear(d, f.integer("fsmn_kernel_size", 11), bias=False, n=n)
    bag.mlp(d, ff, n=n)
    bag.norm(frames)
    bag.norm(d, n=2 * n + 1)
    return Tower(bag.weights(), d)


def _muse(f: Fields) -> Tower:
    """Muse's pyramid: stages of patches and depthwise convolutions, a projection to the language model."""
    bag = Bag(Role.AUDIO)
    widths, patches = f.integers("hidden_sizes", low=1), f.integers("patch_sizes", low=1)
    depths, kernel, out = f.integers("depths"), f.integer("conv_kernel_size", 7), f.integer("out_hidden_size")
    if not widths or not len(widths) == len(patches) == len(depths):
        raise f.refuse("hidden_sizes", "must have as many entries as patch_sizes and depths")
    before = 1
    for d, patch, depth in zip(widths, patches, depths, strict=True):
        bag.linear(d, before * patch)
        bag.norm(d, 1, 1 + depth)
        bag.linear(d, kernel, n=depth)
        bag.mlp(d, 4 * d, n=depth)
        before = d
    bag.norm(before, 1)
    bag.linear(out, before)
    bag.norm(out, 1)
    return Tower(bag.weights(), out)


def parakeet(f: Fields) -> Tower:
    """The FastConformer encoder of Parakeet and Canary models."""
    bag = Bag(Role.AUDIO)
    d, ff, n = f.integer("hidden_size"), f.integer("intermediate_size"), f.integer("num_hidden_layers")
    heads, bias = f.integer("num_attention_heads"), f.flag("attention_bias")
    convolved = f.flag("convolution_bias")
    channels = f.integer("subsampling_conv_channels")
    kernel = f.integer("subsampling_conv_kernel_size", 3) ** 2
    steps = max(f.integer("subsampling_factor", 8).bit_length() - 1, 1)
    bag.linear(channels, kernel, n=steps)
    bag.linear(channels, channels, n=steps - 1)
    bag.linear(d, channels * (f.integer("num_mel_bins") // f.integer("subsampling_factor", 8)))
    bag.mlp(d, ff, bias=bias, n=2 * n)
    bag.tensor(heads, d // heads, n=2 * n)
    bag.attention(d, bias=bias, n=n)
    bag.linear(d, d, bias=False, n=n)
    bag.linear(2 * d, d, convolved, n=n)
    bag.linear(d, f.integer("conv_kernel_size"), convolved, n=n)
    bag.linear(d, d, convolved, n=n)
    bag.norm(d, n=6 * n)
    return Tower(bag.weights(), d)


def generic(f: Fields) -> Tower:
    """A Whisper encoder from the usual keys, said to be an assumption; nothing when they are missing."""
    d = f.integer("d_model", f.integer("hidden_size", 0))
    n = f.integer("encoder_layers", f.integer("num_hidden_layers", 0))
    ff = f.integer("encoder_ffn_dim", f.integer("intermediate_size", 0))
    if not (d and n and ff):
        f.assume(f"{f.path.rstrip('.')} is not described by the usual keys and is not counted")
        return Tower((), d)
    f.assume(
        f"{f.path}model_type {f.model_type!r} is not known: its tower is counted as a Whisper encoder "
        "(two convolutions, LayerNorms, attention and MLP with biases)"
    )
    bag = Bag(Role.AUDIO)
    bag.linear(d, 3 * f.integer("num_mel_bins", 128))
    bag.linear(d, 3 * d)
    bag.norm(d, n=1 + 2 * n)
    bag.attention(d, k_bias=False, n=n)
    bag.mlp(d, ff, n=n)
    return Tower(bag.weights(), d)


AUDIO_TOWERS: Final[dict[str, Callable[[Fields], Tower]]] = {
    "audioflamingo3_encoder": _whisper,
    "fun_asr_nano_encoder": _fun_asr,
    "gemma4_audio": _gemma4,
    "glmasr_encoder": _glmasr,
    "granite_speech_encoder": _granite_speech,
    "granite_speech_plus_encoder": _granite_speech,
    "muse_spark_audio": _muse,
    "parakeet_encoder": parakeet,
    "moss_transcribe_diarize_audio": _whisper,
    "phi4_multimodal_audio": _phi4,
    "qwen2_5_omni_audio_encoder": _qwen25_omni,
    "qwen2_audio_encoder": _whisper,
    "qwen3_asr_encoder": _qwen3_asr,
    "qwen3_omni_moe_audio_encoder": _qwen3_omni,
    "voxtral_encoder": _whisper,
    "voxtral_realtime_encoder": _voxtral_realtime,
    "whisper": _whisper,
}


def audio_tower(f: Fields) -> Tower:
    """The tower of an audio config. Raises ConfigRefused when a needed size is missing."""
    return AUDIO_TOWERS.get(f.model_type, generic)(f)
