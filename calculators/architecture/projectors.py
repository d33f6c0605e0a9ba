"""Projectors: what stands between a tower and the language model, by the composite's `model_type`.

A projector adds its weights to the bag; `_nothing` marks towers that end at the language width by themselves.
Source: the modelling classes of transformers 5.24.0, compared tensor by tensor on the meta device.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from calculators.architecture.bag import Bag
from calculators.architecture.keys import Fields
from calculators.architecture.vision import kernel, vision_tower, vq_model


@dataclass(frozen=True, slots=True)
class Parts:
    """What a projector is built from: the configs and the towers' output widths."""

    root: Fields
    text: Fields
    vision: Fields | None
    vision_width: int
    audio: Fields | None
    audio_width: int
    d: int  # width of the language model

    @property
    def vision_side(self) -> Fields:
        """The vision config, for projectors that cannot exist without one."""
        if self.vision is None:
            raise self.root.refuse("vision_config", "is missing, and nothing can stand in for it")
        return self.vision

    @property
    def feature_layers(self) -> int:
        """How many vision layers are concatenated (`vision_feature_layer` may be a list)."""
        value = self.root.raw("vision_feature_layer")
        return len(value) if isinstance(value, list | tuple) and value else 1


Projector = Callable[[Bag, Parts], None]


def two_layers(bag: Bag, p: Parts) -> None:
    """LLaVA's projector: from the vision width (of every level used) to the language width, twice."""
    bias = p.root.flag("multimodal_projector_bias", True)
    bag.linear(p.d, p.vision_width * p.feature_layers, bias)
    bag.linear(p.d, p.d, bias)


def _llava_newline(bag: Bag, p: Parts) -> None:
    bag.tensor(p.d)
    two_layers(bag, p)


def _vipllava(bag: Bag, p: Parts) -> None:
    wide = p.vision_width * p.feature_layers
    bag.norm(wide)
    bag.linear(p.d, wide)
    bag.linear(p.d, p.d)


def _mistral3(bag: Bag, p: Parts) -> None:
    v, bias = p.vision_width, p.root.flag("multimodal_projector_bias")
    bag.norm(v, 1)
    bag.linear(v, v * p.root.integer("spatial_merge_size", 2) ** 2, bias=False)
    bag.linear(p.d, v * p.feature_layers, bias)
    bag.linear(p.d, p.d, bias)


def _lighton(bag: Bag, p: Parts) -> None:
    v = p.vision_width
    bag.norm(v, 1)
    bag.linear(v, v * p.root.integer("spatial_merge_size", 2) ** 2, bias=False)
    bag.linear(p.d, v, bias=False)
    bag.linear(p.d, p.d, bias=False)


def _gemma3(bag: Bag, p: Parts) -> None:
    bag.tensor(p.vision_width, p.d)
    bag.norm(p.vision_width, 1)


def _gemma4(bag: Bag, p: Parts) -> None:
    if p.vision is not None:
        bag.linear(p.d, p.vision_width, bias=False)
    if p.audio is not None:
        bag.linear(p.d, p.audio_width, bias=False)


def _paligemma(bag: Bag, p: Parts) -> None:
    bag.linear(p.root.integer("projection_dim", p.vision_side.integer("projection_dim", p.d)), p.vision_width)


def _llama4(bag: Bag, p: Parts) -> None:
    bag.linear(p.d, p.vision_width, bias=False)


def _linear(bag: Bag, p: Parts) -> None:
    bag.linear(p.d, p.vision_width)


def _audio_linear(bag: Bag, p: Parts) -> None:
    bag.linear(p.d, p.audio_width)


def _internvl(bag: Bag, p: Parts) -> None:
    shuffle = round(1 / p.root.number("downsample_ratio", 0.5, low=1 / 64, high=1))
    wide = p.vision_width * shuffle * shuffle
    bag.norm(wide)
    bag.linear(p.d, wide)
    bag.linear(p.d, p.d)


def _idefics3(bag: Bag, p: Parts) -> None:
    bag.linear(p.d, p.vision_width * p.root.integer("scale_factor", 2) ** 2, bias=False)


def _idefics2(bag: Bag, p: Parts) -> None:
    r = p.root.sub("perceiver_config", "idefics2_perceiver")
    if r is None:
        return
    d, n = p.d, r.integer("resampler_depth", 3)
    inner = r.integer("resampler_n_heads", 16) * r.integer("resampler_head_dim", 96)
    kv = r.integer("num_key_value_heads", 4) * r.integer("resampler_head_dim", 96)
    ff = p.text.integer("intermediate_size")
    bag.linear(ff, p.vision_width, bias=False, n=2)
    bag.linear(d, ff, bias=False)
    bag.tensor(r.integer("resampler_n_latents", 64), d)
    bag.norm(d, 1, 1 + 3 * n)
    bag.attention(d, inner=inner, kv=kv, bias=False, n=n)
    bag.mlp(d, 4 * d, gated=True, bias=False, n=n)


def _aya(bag: Bag, p: Parts) -> None:
    factor = p.root.integer("downsample_factor", 2)
    wide = p.vision_width * factor * factor
    middle = p.root.integer("alignment_intermediate_size", p.d)
    bag.norm(wide)
    bag.linear(middle, wide)
    bag.linear(p.d, middle // 2)


def _cohere2(bag: Bag, p: Parts) -> None:
    factor = p.root.integer("downsample_factor", 2)
    middle = p.root.integer("alignment_intermediate_size", 36864)
    bag.linear(middle, p.vision_width * factor * factor)
    bag.linear(p.d, middle // 2)


def _lfm2(bag: Bag, p: Parts) -> None:
    factor = p.root.integer("downsample_factor", 2)
    wide, middle = p.vision_width * factor * factor, p.root.integer("projector_hidden_size")
    bias = p.root.flag("projector_bias", True)
    if p.root.flag("projector_use_layernorm", True):
        bag.norm(wide)
    bag.linear(middle, wide, bias)
    bag.linear(p.d, middle, bias)


def _lfm3(bag: Bag, p: Parts) -> None:
    wide = p.vision_width * p.vision_side.integer("spatial_merge_size", 2) ** 2
    middle, bias = p.root.integer("projector_hidden_size"), p.root.flag("projector_bias", True)
    bag.norm(p.vision_width)
    bag.linear(middle, wide, bias)
    bag.linear(p.d, middle, bias)


def _muse(bag: Bag, p: Parts) -> None:
    merged = p.vision_width * p.vision_side.integer("merge_size", 2) ** 2
    middle = p.root.integer("projector_hidden_size")
    bag.linear(middle, merged, bias=False)
    bag.linear(middle, middle, bias=False)
    bag.linear(p.d, middle, bias=False)


def _kimi(bag: Bag, p: Parts) -> None:
    merge = kernel(p.vision_side, "merge_kernel_size")
    v = p.root.integer("projection_hidden_size", p.vision_width)
    wide = v * merge[0] * merge[-1]
    bag.norm(v)
    bag.linear(wide, wide)
    bag.linear(p.d, wide)


def _minimax_m3(bag: Bag, p: Parts) -> None:
    middle = p.root.integer("projector_hidden_size", p.d)
    merged = p.d * p.vision_side.integer("spatial_merge_size", 2) ** 2
    bag.linear(middle, p.vision_width)
    bag.linear(p.d, middle)
    bag.linear(middle, merged)
    bag.linear(p.d, middle)


def _ovis2(bag: Bag, p: Parts) -> None:
    bag.tensor(p.vision_side.integer("vocab_size"), p.root.integer("hidden_size", p.d))


def _q_former(bag: Bag, q: Fields, source: int, *, text: bool) -> int:
    """BLIP-2's querying transformer; `text` adds word embeddings and a second MLP for words."""
    d, ff, n = q.integer("hidden_size"), q.integer("intermediate_size"), q.integer("num_hidden_layers")
    every = q.integer("cross_attention_frequency", 2)
    cross = -(-n // every)
    if text:
        bag.tensor(q.integer("vocab_size"), d)
        bag.tensor(q.integer("max_position_embeddings"), d)
        bag.mlp(d, ff, n=n)
        bag.norm(d, n=n)
    bag.norm(d, n=1 + 2 * n + cross)
    bag.attention(d, n=n)
    bag.attention(d, source=source, n=cross)
    bag.mlp(d, ff, n=n)
    return d


def _blip2(bag: Bag, p: Parts, text: bool = False) -> None:
    q = p.root.sub("qformer_config")
    if q is None:
        return
    d = _q_former(bag, q, p.vision_width, text=text)
    bag.tensor(p.root.integer("num_query_tokens", 32), d)
    bag.linear(p.d, d)


def _instructblip(bag: Bag, p: Parts) -> None:
    _blip2(bag, p, text=True)


def _granite_speech(bag: Bag, p: Parts) -> None:
    q = p.root.sub("projector_config", "blip_2_qformer")
    if q is None:
        return
    d = _q_former(bag, q, q.integer("encoder_hidden_size", p.audio_width), text=False)
    bag.tensor(p.root.integer("window_size", 15) // p.root.integer("downsample_rate", 5), d)
    bag.linear(p.d, d)


def _kosmos2(bag: Bag, p: Parts) -> None:
    d = p.text.integer("embed_dim", p.d)
    bag.tensor(p.root.integer("latent_query_num", 64), d)
    bag.linear(d, p.vision_width)
    bag.attention(d)


def _voxtral(bag: Bag, p: Parts) -> None:
    audio = p.audio
    if audio is None:
        return
    wide = audio.integer("intermediate_size")
    if p.root.has("downsample_factor"):
        wide = p.audio_width * p.root.integer("downsample_factor")
    bag.linear(p.d, wide, bias=False)
    bag.linear(p.d, p.d, bias=False)


def two_audio_layers(bag: Bag, p: Parts) -> None:
    """Audio Flamingo's projector: from the audio width to the language width, twice."""
    bias = p.root.flag("projector_bias", True)
    bag.linear(p.d, p.audio_width, bias)
    bag.linear(p.d, p.d, bias)


def _fun_asr(bag: Bag, p: Parts) -> None:
    a = p.root.sub("adaptor_config")
    if a is None:
        p.root.assume("adaptor_config is missing: the adaptor after the audio tower is not counted")
        return
    d, n = a.integer("hidden_size", p.d), a.integer("num_hidden_layers")
    middle = a.integer("projector_hidden_size")
    bag.linear(middle, p.audio_width)
    bag.linear(d, middle)
    bag.attention(d, n=n)
    bag.mlp(d, a.integer("intermediate_size"), n=n)
    bag.norm(d, n=2 * n)


def _moss(bag: Bag, p: Parts) -> None:
    bias = p.root.flag("projector_bias", True)
    bag.linear(p.d, p.audio_width * p.root.integer("audio_merge_size", 4), bias)
    bag.linear(p.d, p.d, bias)
    bag.norm(p.d)


def _hunyuan(bag: Bag, p: Parts) -> None:
    bag.tensor(p.d, n=3)
    bag.linear(p.d, p.vision_width)
    bag.norm(p.d, 1)


def _ocr2(bag: Bag, p: Parts) -> None:
    bag.tensor(p.d, n=2)
    bag.linear(p.d, p.vision_width)


def _glmasr(bag: Bag, p: Parts) -> None:
    if p.audio is not None:
        bag.linear(2 * p.d, p.audio.integer("intermediate_size"))
        bag.linear(p.d, 2 * p.d)


def _qwen3_asr(bag: Bag, p: Parts) -> None:
    if p.audio is not None:
        bag.linear(p.audio_width, p.audio_width)
        bag.linear(p.audio.integer("output_dim"), p.audio_width)


def _phi4(bag: Bag, p: Parts) -> None:
    if p.vision is not None:
        bag.tensor(p.vision_width, n=2)
        bag.linear(p.d, p.vision_width)
        bag.linear(p.d, p.d)
    if p.audio is not None:
        bag.linear(p.d, p.audio_width * p.audio.integer("downsample_rate", 1), n=2)
        bag.linear(p.d, p.d, n=2)


def _got_ocr(bag: Bag, p: Parts) -> None:
    v = p.vision_width
    bag.linear(2 * v, 9 * v, bias=False)
    bag.linear(p.d, 18 * v, bias=False)
    bag.linear(p.d, p.d)


def _deepseek_vl(bag: Bag, p: Parts) -> None:
    bag.linear(p.d, p.vision_width)
    bag.linear(p.d, p.d)


def _deepseek_vl_hybrid(bag: Bag, p: Parts) -> None:
    high = p.root.sub("high_res_vision_config")
    if high is None:
        _deepseek_vl(bag, p)
        return
    tower = vision_tower(high)
    bag.extend(tower.weights)
    out, before = tower.width, high.integer("hidden_size")
    bag.tensor(1)
    bag.linear(out, before, bias=False)
    bag.linear(out, 9 * out, bias=False)
    bag.norm(out, n=2)
    bag.linear(2 * out, 9 * out, bias=False)
    bag.linear(4 * out, 18 * out, bias=False)
    bag.linear(p.d // 2, p.vision_width)
    bag.linear(p.d // 2, 4 * out)
    bag.linear(p.d, p.d)


def _minicpmv_resampler(bag: Bag, p: Parts) -> None:
    """MiniCPM-V up to 2.6: learned queries attend to the patches once, at the language model's width."""
    d = p.d
    bag.tensor(p.root.integer("query_num", 64), d)
    if p.vision_width != d:
        bag.linear(d, p.vision_width, bias=False)
    bag.attention(d)
    bag.norm(d, n=3)
    bag.tensor(d, d)


def _aria(bag: Bag, p: Parts) -> None:
    v = p.vision_width
    table = p.root.mapping("projector_patch_to_query_dict") or {}
    queries = max((int(x) for x in table.values() if isinstance(x, int)), default=256)
    bag.tensor(queries, v)
    bag.linear(v, v, bias=False, n=3)
    bag.attention(v)
    bag.linear(v, v)
    bag.norm(v, n=3)
    bag.linear(p.text.integer("hidden_size"), v, bias=False)
    bag.linear(p.d, p.d, bias=False)


def _janus(bag: Bag, p: Parts) -> None:
    v = p.vision_side
    wide = v.integer("projection_dim", 2048)
    bag.linear(wide, p.vision_width)
    bag.linear(wide, wide, n=v.integer("depth", 2) - 1)
    vq = p.root.sub("vq_config")
    if vq is None:
        return
    vq_model(vq, bag, decodes=True)
    codes, code = vq.integer("num_embeddings"), vq.integer("embed_dim")
    image, inner = vq.integer("image_token_embed_dim", wide), vq.integer("projection_dim", wide)
    bag.tensor(codes, code)
    bag.linear(inner, code)
    bag.linear(inner, inner, n=vq.integer("num_hidden_layers", 2) - 1)
    bag.linear(inner, image)
    bag.linear(codes, inner)


def _molmo2(bag: Bag, p: Parts) -> None:
    a = p.root.sub("adapter_config", "molmo2_adapter")
    if a is None:
        return
    layers = len(a.integers("vision_feature_layers", default=(0, 0), low=-1024)) or 2
    inner = a.integer("num_attention_heads", 16) * a.integer("head_dim", 72)
    hidden, text = a.integer("hidden_size", p.vision_width), a.integer("text_hidden_size", p.d)
    bag.linear(inner, hidden * layers, n=3)
    bag.linear(hidden, inner)
    wide = a.integer("intermediate_size")
    bag.linear(wide, hidden, bias=False, n=2)
    bag.linear(text, wide, bias=False)


def _paddle(bag: Bag, p: Parts) -> None:
    wide = p.vision_width * p.vision_side.integer("spatial_merge_size", 2) ** 2
    bag.norm(p.vision_width)
    bag.linear(wide, wide)
    bag.linear(p.d, wide)


def _video_llama3(bag: Bag, p: Parts) -> None:
    bag.linear(p.d, p.vision_width)
    bag.linear(p.d, p.d)


def _nemotron_omni(bag: Bag, p: Parts) -> None:
    middle = p.root.integer("projector_hidden_size")
    shuffle = round(1 / p.root.number("downsample_ratio", 0.5, low=1 / 64, high=1))
    wide = p.root.integer("vision_hidden_size", p.vision_width) * shuffle * shuffle
    bag.norm(wide, 1)
    bag.linear(middle, wide, bias=False)
    bag.linear(p.d, middle, bias=False)


def _ernie(bag: Bag, p: Parts) -> None:
    v = p.vision_side
    spatial = p.vision_width * v.integer("spatial_merge_size", 2) ** 2
    bag.mlp(spatial, spatial)
    bag.norm(spatial)
    bag.linear(spatial, spatial * v.integer("temporal_merge_size", 2))
    bag.linear(spatial, spatial)
    bag.norm(spatial)
    bag.linear(p.d, spatial)
    bag.norm(p.d, 1)


def _step(bag: Bag, p: Parts) -> None:
    bag.linear(p.d, p.vision_width, p.root.flag("projector_bias"))


def _minicpmv(bag: Bag, p: Parts) -> None:
    merge = kernel(p.root, "merge_kernel_size")
    wide, times = p.vision_width * merge[0] * merge[-1], p.root.integer("merger_times", 1)
    bag.norm(wide, n=times)
    bag.linear(wide, wide, n=times)
    bag.linear(p.vision_width, wide, n=times - 1)
    bag.linear(p.d, wide)


def _nothing(bag: Bag, p: Parts) -> None:
    """The tower ends at the language model's width by itself."""


PROJECTORS: Final[dict[str, Projector]] = {
    "aria": _aria,
    "audioflamingo3": two_audio_layers,
    "aya_vision": _aya,
    "blip": _nothing,
    "blip-2": _blip2,
    "cohere2_vision": _cohere2,
    "deepseek_vl": _deepseek_vl,
    "deepseek_vl_hybrid": _deepseek_vl_hybrid,
    "ernie4_5_vl_moe": _ernie,
    "exaone4_5": _nothing,
    "fun_asr_nano": _fun_asr,
    "gemma3": _gemma3,
    "gemma4": _gemma4,
    "glm46v": _nothing,
    "glm4v": _nothing,
    "glm4v_moe": _nothing,
    "glm5_next": _nothing,
    "glm_ocr": _nothing,
    "glmasr": _glmasr,
    "glmga": _nothing,
    "got_ocr2": _got_ocr,
    "granite_docling": _nothing,
    "granite_speech": _granite_speech,
    "granite_speech_plus": _granite_speech,
    "hunyuan_vl": _hunyuan,
    "hy_v4_vl": _nothing,
    "hyperclovax_vision_v2": _linear,
    "idefics2": _idefics2,
    "idefics3": _idefics3,
    "inkling2": _nothing,
    "inkling2_loop": _nothing,
    "instructblip": _instructblip,
    "internvl": _internvl,
    "internvl_chat": _internvl,
    "janus": _janus,
    "kimi_k25": _kimi,
    "kimi_vl": _kimi,
    "kosmos-2": _kosmos2,
    "lfm2_vl": _lfm2,
    "lfm3_vl": _lfm3,
    "lighton_ocr": _lighton,
    "llama4": _llama4,
    "llava": two_layers,
    "llava_next": _llava_newline,
    "llava_next_video": _llava_newline,
    "llava_onevision": _llava_newline,
    "minicpm_ocr": _minicpmv,
    "minicpmv": _minicpmv_resampler,
    "minicpmv4_6": _minicpmv,
    "minicpmv4_7": _minicpmv,
    "minimax_m3_vl": _minimax_m3,
    "mistral3": _mistral3,
    "mistral4": _mistral3,
    "mistral_large4": _mistral3,
    "mllama": _linear,
    "molmo2": _molmo2,
    "moss_transcribe_diarize": _moss,
    "muse_glimmer": _muse,
    "muse_spark": _muse,
    "nemotron_h_omni": _nemotron_omni,
    "ovis2": _ovis2,
    "paddleocr_vl": _paddle,
    "paligemma": _paligemma,
    "phi4_multimodal": _phi4,
    "qianfan_ocr": _internvl,
    "qwen2_5_omni": _nothing,
    "qwen2_5_omni_thinker": _nothing,
    "qwen2_5_vl": _nothing,
    "qwen2_audio": _audio_linear,
    "qwen2_vl": _nothing,
    "qwen3_5": _nothing,
    "qwen3_5_moe": _nothing,
    "qwen3_asr": _qwen3_asr,
    "qwen3_omni_moe": _nothing,
    "qwen3_omni_moe_thinker": _nothing,
    "qwen3_vl": _nothing,
    "qwen3_vl_moe": _nothing,
    "shieldgemma2": _gemma3,
    "smolvlm": _idefics3,
    "step3p7": _step,
    "t5gemma2": _gemma3,
    "unlimited_ocr": _ocr2,
    "video_llama_3": _video_llama3,
    "vipllava": _vipllava,
    "voxtral": _voxtral,
    "voxtral_realtime": _voxtral,
}
