"""Vision towers by the `model_type` of their config: which tensors each one has.

Every reader takes the tower's own config and returns a `Tower`. Widths and flags come from the config or the
class defaults; what the table fixes (biases, kinds of norms, extra tensors) is the modelling class's choice.
Source: the modelling classes of transformers 5.24.0, compared tensor by tensor on the meta device.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from calculators.architecture.bag import Bag
from calculators.architecture.keys import Fields
from calculators.architecture.layout import Role, Weight


class Tower(NamedTuple):
    """The weights of one tower and the width of what it hands on."""

    weights: tuple[Weight, ...]
    width: int


def side(f: Fields, name: str, default: int | None = None) -> int:
    """A size given once or per axis ([height, width]); the first axis."""
    value = f.raw(name)
    if isinstance(value, list | tuple):
        sizes = f.integers(name)
        if not sizes:
            raise f.refuse(name, "is an empty list")
        return sizes[0]
    return f.integer(name) if default is None else f.integer(name, default)


def kernel(f: Fields, name: str) -> tuple[int, int]:
    """A window of patches [height, width], 2 x 2 unless written."""
    sizes = f.integers(name, default=(2, 2), low=1, high=1024)
    if len(sizes) != 2:
        raise f.refuse(name, f"must have two entries, not {len(sizes)}")
    return sizes[0], sizes[1]


def patches(f: Fields) -> int:
    """Patches of one image: (image side / patch side) squared."""
    per_side = side(f, "image_size") // side(f, "patch_size")
    return per_side * per_side


def patch_inputs(f: Fields, channels: str = "num_channels") -> int:
    """Values under one patch: channels x patch x patch, times frames for video patches."""
    patch = side(f, "patch_size")
    return f.integer(channels, 3) * f.integer("temporal_patch_size", 1) * patch * patch


def _clip(f: Fields) -> Tower:
    """CLIP: class token, learned positions, a norm before and after, biases everywhere."""
    bag, d, ff, n = Bag(Role.VISION), *_widths(f)
    bag.tensor(d)
    bag.linear(d, patch_inputs(f), bias=False)
    bag.tensor(patches(f) + 1, d)
    _pre_norm_blocks(bag, d, ff, n)
    bag.norm(d, n=2)
    return Tower(bag.weights(), d)


def _widths(f: Fields) -> tuple[int, int, int]:
    width = f.integer("hidden_size")
    ratio = f.number("mlp_ratio") if f.has("mlp_ratio") else 0.0
    return (
        width,
        f.integer("intermediate_size", int(width * ratio)) if ratio else f.integer("intermediate_size"),
        f.integer("num_hidden_layers"),
    )


def _pre_norm_blocks(bag: Bag, d: int, ff: int, n: int, *, bias: bool = True, scale: int = 0) -> None:
    """`n` blocks of two LayerNorms, attention and a plain MLP; `scale` counts layer-scale vectors."""
    bag.norm(d, n=2 * n)
    bag.attention(d, bias=bias, n=n)
    bag.mlp(d, ff, n=n)
    bag.tensor(d, n=scale * n)


def _pooling_head(bag: Bag, d: int, ff: int) -> None:
    """SigLIP's attention-pooling head: one learned query, attention, norm, MLP."""
    bag.tensor(d)
    bag.attention(d)
    bag.norm(d)
    bag.mlp(d, ff)


def _siglip(f: Fields, *, positions: int | None = None, head: bool | None = None, pre: int = 0) -> Tower:
    bag, d, ff, n = Bag(Role.VISION), *_widths(f)
    bag.linear(d, patch_inputs(f))
    bag.tensor(patches(f) if positions is None else positions, d)
    _pre_norm_blocks(bag, d, ff, n)
    bag.norm(d, n=1 + pre)
    if f.flag("vision_use_head", True) if head is None else head:
        _pooling_head(bag, d, ff)
    return Tower(bag.weights(), d)


def _siglip2(f: Fields) -> Tower:
    return _siglip(f, positions=f.integer("num_patches", 256))


def _headless_siglip(f: Fields) -> Tower:
    return _siglip(f, head=False)


def _phi4_vision(f: Fields) -> Tower:
    return _siglip(f, head=True)


def _video_llama(f: Fields) -> Tower:
    return _siglip(f, positions=0, head=False)


def _kosmos2(f: Fields) -> Tower:
    return _clip(f)


def _pixtral(f: Fields) -> Tower:
    """Pixtral: rotary positions, RMSNorms, gated MLP, no biases."""
    bag, d, ff, n = Bag(Role.VISION), *_widths(f)
    bag.linear(d, patch_inputs(f), bias=False)
    bag.norm(d, 1, 1 + 2 * n)
    bag.attention(d, bias=False, n=n)
    bag.mlp(d, ff, gated=True, bias=False, n=n)
    return Tower(bag.weights(), d)


def _qwen2_vl(f: Fields) -> Tower:
    """Qwen2-VL: `embed_dim` is the tower's width, `hidden_size` the language model's."""
    bag = Bag(Role.VISION)
    d, out, n = f.integer("embed_dim"), f.integer("hidden_size"), f.integer("depth")
    bag.linear(d, patch_inputs(f, "in_channels"), bias=False)
    _pre_norm_blocks(bag, d, int(d * f.number("mlp_ratio", 4)), n)
    bag.norm(d)
    _merger(bag, d * f.integer("spatial_merge_size", 2) ** 2, out)
    return Tower(bag.weights(), out)


def _merger(bag: Bag, wide: int, out: int, n: int = 1) -> None:
    bag.linear(wide, wide, n=n)
    bag.linear(out, wide, n=n)


def _qwen25_vl(f: Fields) -> Tower:
    """Qwen2.5-VL: RMSNorms and a gated MLP with biases; EXAONE 4.5 adds grouped key-value heads."""
    bag = Bag(Role.VISION)
    d, ff, n = f.integer("hidden_size"), f.integer("intermediate_size"), f.integer("depth")
    out, heads = f.integer("out_hidden_size"), f.integer("num_heads")
    kv = d // heads * f.integer("num_key_value_heads", heads)
    bag.linear(d, patch_inputs(f, "in_channels"), bias=False)
    bag.norm(d, 1, 1 + 2 * n)
    bag.attention(d, kv=kv, n=n)
    bag.mlp(d, ff, gated=True, n=n)
    _merger(bag, d * f.integer("spatial_merge_size", 2) ** 2, out)
    return Tower(bag.weights(), out)


def _qwen3_vl(f: Fields) -> Tower:
    """Qwen3-VL: learned positions and one extra merger for each level handed to the language model."""
    bag = Bag(Role.VISION)
    d, ff, n = f.integer("hidden_size"), f.integer("intermediate_size"), f.integer("depth")
    out, wide = f.integer("out_hidden_size"), d * f.integer("spatial_merge_size", 2) ** 2
    bag.linear(d, patch_inputs(f, "in_channels"))
    bag.tensor(f.integer("num_position_embeddings"), d)
    _pre_norm_blocks(bag, d, ff, n)
    bag.norm(d)
    levels = len(f.integers("deepstack_visual_indexes"))
    bag.norm(wide, n=levels)
    _merger(bag, wide, out, 1 + levels)
    return Tower(bag.weights(), out)


def _glm4v(f: Fields) -> Tower:
    """GLM-4.1V: learned positions, a convolution that merges patches, and a wide gated merger."""
    bag = Bag(Role.VISION)
    d, n, out = f.integer("hidden_size"), f.integer("depth"), f.integer("out_hidden_size")
    bias = f.flag("attention_bias")
    bag.linear(d, patch_inputs(f, "in_channels"))
    bag.tensor(patches(f), d)
    bag.norm(d, 1, 2 + 2 * n)
    bag.attention(d, bias=bias, out_bias=False, n=n)
    bag.mlp(d, out, gated=True, bias=False, n=n)
    _glm_merger(bag, f, d, out, f.integer("intermediate_size"))
    return Tower(bag.weights(), out)


def _glm_merger(bag: Bag, f: Fields, d: int, out: int, wide: int) -> None:
    bag.linear(out, d * f.integer("spatial_merge_size", 2) ** 2)
    bag.linear(out, out, bias=False)
    bag.norm(out)
    bag.mlp(out, wide, gated=True, bias=False)


def _glm_ocr(f: Fields) -> Tower:
    """GLM-OCR: rotary positions, norms on queries and keys."""
    bag = Bag(Role.VISION)
    d, ff, n = f.integer("hidden_size"), f.integer("intermediate_size"), f.integer("depth")
    out, bias = f.integer("out_hidden_size"), f.flag("attention_bias")
    bag.linear(d, patch_inputs(f, "in_channels"))
    bag.norm(d, 1, 1 + 2 * n)
    bag.norm(d // f.integer("num_heads"), 1, 2 * n)
    bag.attention(d, bias=bias, n=n)
    bag.mlp(d, ff, gated=True, bias=bias, n=n)
    wide = f.integer("projection_intermediate_size", out * f.integer("in_channels", 3))
    _glm_merger(bag, f, d, out, wide)
    return Tower(bag.weights(), out)


def _llama4(f: Fields) -> Tower:
    """Llama 4: class token, pixel shuffle, then an adapter MLP inside the tower."""
    bag, d, ff, n = Bag(Role.VISION), *_widths(f)
    out = f.integer("projector_output_dim")
    bag.tensor(d)
    bag.tensor(patches(f) + 1, d)
    bag.linear(d, patch_inputs(f), bias=False)
    bag.norm(d, n=2)
    _pre_norm_blocks(bag, d, ff, n)
    bag.linear(f.integer("projector_input_dim"), ff, bias=False)
    bag.linear(out, f.integer("projector_input_dim"), bias=False)
    return Tower(bag.weights(), f.integer("vision_output_dim"))


def _mllama(f: Fields) -> Tower:
    """Llama 3.2 Vision: positions for every tile arrangement, plain layers and gated global layers."""
    bag, d, ff, n = Bag(Role.VISION), *_widths(f)
    gated, tiles = f.integer("num_global_layers"), f.integer("max_num_tiles")
    ratios = f.raw("supported_aspect_ratios")
    arrangements = len(ratios) if isinstance(ratios, list | tuple) else 8
    positions = patches(f) + 1
    bag.tensor(d)
    bag.linear(d, patch_inputs(f), bias=False)
    bag.tensor(positions, d)
    bag.tensor(arrangements + 1, tiles * positions * d)
    bag.tensor(arrangements + 1, tiles * d, n=2)
    bag.tensor(1, n=3 + 2 * gated)
    bag.norm(d, n=2 + 2 * (n + gated))
    bag.attention(d, bias=False, n=n + gated)
    bag.mlp(d, ff, n=n + gated)
    return Tower(bag.weights(), f.integer("vision_output_dim"))


def _internvl(f: Fields) -> Tower:
    """InternViT: class token, learned positions, layer scale, optional norms on queries and keys."""
    bag, d, ff, n = Bag(Role.VISION), *_widths(f)
    norm = 1 if f.word("norm_type", "layer_norm") == "rms_norm" else 2
    bag.tensor(d)
    bag.linear(d, patch_inputs(f))
    if f.flag("use_absolute_position_embeddings", True):
        bag.tensor(patches(f) + 1, d)
    bag.norm(d, norm, 2 * n)
    bag.tensor(d, n=2 * n)
    bag.attention(d, bias=f.flag("attention_bias"), out_bias=True, n=n)
    bag.mlp(d, ff, n=n)
    if f.flag("use_qk_norm"):
        bag.norm(d, 1, 2 * n)
    if not f.flag("use_mean_pooling", True):
        bag.norm(d)
    return Tower(bag.weights(), d)


def _intern_vit(f: Fields) -> Tower:
    """InternViT as published with its own code (fused qkv, `qk_normalization`)."""
    bag, d, ff, n = Bag(Role.VISION), *_widths(f)
    norm = 1 if f.word("norm_type", "rms_norm") == "rms_norm" else 2
    bag.tensor(d)
    bag.linear(d, patch_inputs(f))
    bag.tensor(patches(f) + 1, d)
    bag.norm(d, norm, 2 * n)
    bag.tensor(d, n=2 * n)
    bag.attention(d, bias=f.flag("qkv_bias"), out_bias=True, n=n)
    bag.mlp(d, ff, n=n)
    if f.flag("qk_normalization", True):
        bag.norm(d, 1, 2 * n)
    return Tower(bag.weights(), d)


def _kimi(f: Fields) -> Tower:
    """MoonViT-3D of Kimi K2.5: a learned grid of positions, LayerNorms, biases everywhere."""
    bag, d, ff, n = Bag(Role.VISION), *_widths(f)
    bag.linear(d, patch_inputs(f))
    rows = f.integer("pos_emb_height", f.integer("init_pos_emb_height", 64))
    bag.tensor(rows, f.integer("pos_emb_width", f.integer("init_pos_emb_width", 64)), d)
    _pre_norm_blocks(bag, d, ff, n)
    bag.norm(d)
    return Tower(bag.weights(), d)


def _minimax_m3(f: Fields) -> Tower:
    bag, d, ff, n = Bag(Role.VISION), *_widths(f)
    bag.linear(d, patch_inputs(f), bias=False)
    bag.norm(d)
    _pre_norm_blocks(bag, d, ff, n)
    return Tower(bag.weights(), d)


def _gemma4(f: Fields) -> Tower:
    """Gemma 4: two tables of positions (rows, columns), four norms per layer, norms on queries and keys."""
    bag, d, ff, n = Bag(Role.VISION), *_widths(f)
    heads, head = f.integer("num_attention_heads"), f.integer("head_dim")
    bias = f.flag("attention_bias")
    bag.tensor(2, f.integer("position_embedding_size"), d)
    patch = side(f, "patch_size")
    bag.linear(d, 3 * patch * patch, bias=False)
    kv = f.integer("num_key_value_heads", heads) * head
    bag.attention(d, inner=heads * head, kv=kv, bias=bias, n=n)
    bag.norm(head, 1, 2 * n)
    bag.mlp(d, ff, gated=True, bias=False, n=n)
    bag.norm(d, 1, 4 * n)
    return Tower(bag.weights(), d)


def _ovis2(f: Fields) -> Tower:
    """Ovis2 (AIMv2): RMSNorms, gated MLP, and a head over the visual vocabulary."""
    bag, d, ff, n = Bag(Role.VISION), *_widths(f)
    visual = f.integer("vocab_size") - f.integer("num_visual_indicator_tokens", 5)
    bag.linear(d, patch_inputs(f))
    bag.tensor(patches(f), d)
    bag.norm(d, 1, 2 + 2 * n)
    bag.attention(d, bias=f.flag("qkv_bias"), n=n)
    bag.mlp(d, ff, gated=True, bias=f.flag("mlp_bias"), n=n)
    stride = f.integer("hidden_stride", 1)
    bag.linear(visual, d * stride * stride, bias=False)
    bag.norm(visual)
    return Tower(bag.weights(), d)


def _blip(f: Fields) -> Tower:
    """BLIP and BLIP-2: class token, learned positions, fused qkv; InstructBLIP is the same."""
    bag, d, ff, n = Bag(Role.VISION), *_widths(f)
    bag.tensor(d)
    bag.linear(d, patch_inputs(f))
    bag.tensor(patches(f) + 1, d)
    _pre_norm_blocks(bag, d, ff, n)
    bag.norm(d)
    return Tower(bag.weights(), d)


def _idefics(f: Fields) -> Tower:
    bag = Bag(Role.VISION)
    d, ff, n = f.integer("embed_dim"), f.integer("intermediate_size"), f.integer("num_hidden_layers")
    bag.tensor(d)
    bag.linear(d, patch_inputs(f), bias=False)
    bag.tensor(patches(f) + 1, d)
    _pre_norm_blocks(bag, d, ff, n)
    bag.norm(d, n=2)
    return Tower(bag.weights(), d)


def _janus(f: Fields) -> Tower:
    bag, d, n = Bag(Role.VISION), f.integer("hidden_size"), f.integer("num_hidden_layers")
    bias = f.flag("attention_bias", True)
    bag.linear(d, patch_inputs(f))
    bag.tensor(patches(f), d)
    bag.norm(d, n=1 + 2 * n)
    bag.attention(d, bias=bias, out_bias=True, n=n)
    bag.mlp(d, int(d * f.number("mlp_ratio", 4.0)), n=n)
    if f.flag("use_qk_norm"):
        bag.norm(d, n=2 * n)
    return Tower(bag.weights(), d)


def _molmo2(f: Fields) -> Tower:
    bag, d, ff, n = Bag(Role.VISION), *_widths(f)
    heads, head = f.integer("num_attention_heads"), f.integer("head_dim")
    bag.tensor(f.integer("num_position_embeddings", f.integer("image_num_pos", 27 * 27)), d)
    bag.linear(d, patch_inputs(f))
    bag.norm(d, n=2 * n)
    kv = f.integer("num_key_value_heads", heads) * head
    bag.attention(d, inner=heads * head, kv=kv, bias=f.flag("attention_bias", True), n=n)
    bag.mlp(d, ff, n=n)
    return Tower(bag.weights(), d)


def _sam(f: Fields) -> Tower:
    """The SAM encoder (GOT-OCR, DeepSeek-VL): relative positions per axis, and a convolutional neck."""
    bag, d, n = Bag(Role.VISION), f.integer("hidden_size"), f.integer("num_hidden_layers")
    out, heads = f.integer("output_channels"), f.integer("num_attention_heads")
    grid = side(f, "image_size") // side(f, "patch_size")
    if f.flag("use_abs_pos", True):
        bag.tensor(grid, grid, d)
    bag.linear(d, patch_inputs(f))
    bag.norm(d, n=2 * n)
    bag.attention(d, bias=f.flag("qkv_bias", True), out_bias=True, n=n)
    bag.mlp(d, f.integer("mlp_dim", int(d * f.number("mlp_ratio", 4.0))), n=n)
    if f.flag("use_rel_pos", True):
        whole = len(f.integers("global_attn_indexes"))
        bag.tensor(2 * grid - 1, d // heads, n=2 * whole)
        bag.tensor(2 * f.integer("window_size") - 1, d // heads, n=2 * (n - whole))
    bag.linear(out, d, bias=False)
    bag.linear(out, out * 9, bias=False)
    bag.norm(out, n=2)
    return Tower(bag.weights(), out)


def _ernie(f: Fields) -> Tower:
    bag = Bag(Role.VISION)
    d, ff, n = f.integer("hidden_size"), f.integer("intermediate_size"), f.integer("depth")
    bag.linear(d, f.integer("in_channels", 3) * side(f, "patch_size") ** 2, bias=False)
    _pre_norm_blocks(bag, d, ff, n)
    bag.norm(d)
    return Tower(bag.weights(), d)


def _radio(f: Fields) -> Tower:
    bag, d, n = Bag(Role.VISION), f.integer("hidden_size"), f.integer("num_hidden_layers")
    patch, frames = side(f, "patch_size"), f.integer("video_temporal_patch_size", 2)
    pixels = f.integer("num_channels", 3) * patch * patch
    side_patches = f.integer("max_img_size", 2048) // patch
    bag.tensor(side_patches * side_patches, d)
    bag.tensor(f.integer("num_cls_tokens", 3) + f.integer("num_registers", 7, low=0), d)
    bag.linear(d, pixels, bias=False)
    bag.linear(d, pixels * frames, bias=False)
    _pre_norm_blocks(bag, d, int(d * f.number("mlp_ratio", 4)), n, scale=2)
    return Tower(bag.weights(), d)


def _minicpmv(f: Fields) -> Tower:
    """MiniCPM-V 4.6: SigLIP without head, and a merger of 2 x 2 windows inside the tower."""
    bag, d, ff, n = Bag(Role.VISION), *_widths(f)
    window = kernel(f, "window_kernel_size")
    wide = d * window[0] * window[-1]
    bag.linear(d, patch_inputs(f))
    bag.tensor(patches(f), d)
    _pre_norm_blocks(bag, d, ff, n)
    bag.norm(d, n=2)
    bag.attention(d)
    bag.norm(wide)
    bag.linear(window[0] * window[-1] * ff, wide)
    bag.linear(d, window[0] * window[-1] * ff)
    return Tower(bag.weights(), d)


def _step(f: Fields) -> Tower:
    bag, d, ff, n = Bag(Role.VISION), *_widths(f)
    if not f.explicit("intermediate_size") and f.has("mlp_ratio"):
        ff = round(d * f.number("mlp_ratio"))
    bag.linear(d, patch_inputs(f), bias=False)
    bag.tensor(f.integer("max_position_embeddings"), d)
    bag.norm(d)
    _pre_norm_blocks(bag, d, ff, n, scale=2)
    bag.linear(2 * d, d * 9)
    bag.linear(4 * d, 2 * d * 9)
    return Tower(bag.weights(), 4 * d)


def _hunyuan4(f: Fields) -> Tower:
    bag, d, ff, n = Bag(Role.VISION), *_widths(f)
    out, merge = f.integer("out_hidden_size"), f.integer("spatial_merge_size", 2)
    grid = f.integer("max_image_size") // side(f, "patch_size")
    bag.linear(d, patch_inputs(f))
    bag.tensor(grid * grid + 1, d)
    bag.norm(d, n=2 * n)
    bag.attention(d, n=n)
    bag.mlp(d, ff, n=n)
    bag.tensor(out)
    bag.linear(out, d * merge * merge)
    bag.linear(out, out)
    bag.norm(d, 1)
    return Tower(bag.weights(), out)


def _inkling2(f: Fields) -> Tower:
    bag, d, ff, n = Bag(Role.VISION), *_widths(f)
    grid, merge = f.integer("posemb_grid_size"), f.integer("spatial_merge_size", 2)
    wide, out = f.integer("projection_hidden_dim"), f.integer("text_hidden_size")
    bias = f.flag("projector_bias")
    bag.tensor(d, n=2)
    bag.linear(d, patch_inputs(f), bias=False)
    bag.tensor(grid * grid, d)
    bag.norm(d)
    _pre_norm_blocks(bag, d, ff, n, scale=2)
    bag.linear(wide, d * merge * merge, bias)
    bag.linear(out, wide, bias)
    return Tower(bag.weights(), out)


def _granite_docling(f: Fields) -> Tower:
    bag, d, ff, n = Bag(Role.VISION), *_widths(f)
    out, factor = f.integer("out_hidden_size"), f.integer("scale_factor", 4)
    levels = len(f.integers("deepstack_visual_indexes", default=(0, 0, 0)))
    bag.linear(d, patch_inputs(f))
    bag.tensor(patches(f), d)
    _pre_norm_blocks(bag, d, ff, n)
    bag.norm(d, n=2)
    for wide in (d * factor * factor, *((d * factor * factor // 4,) if f.flag("use_fine_route") else ())):
        bag.linear(out, wide, bias=False)
        bag.norm(wide, n=levels)
        bag.linear(out, wide, n=levels)
        bag.linear(out, out, n=levels)
    bag.norm(out, n=2)
    bag.linear(out, out, bias=False)
    return Tower(bag.weights(), out)


def _hunyuan(f: Fields) -> Tower:
    bag, d, ff, n = Bag(Role.VISION), *_widths(f)
    merge = f.integer("spatial_merge_size", 2)
    grid = f.integer("max_image_size", 2048) // side(f, "patch_size")
    bag.linear(d, patch_inputs(f))
    bag.tensor(grid * grid + 1, d)
    _pre_norm_blocks(bag, d, ff, n)
    bag.tensor(4 * d)
    bag.linear(2 * d, d * merge * merge)
    bag.linear(4 * d, 2 * d)
    bag.norm(d, 1)
    return Tower(bag.weights(), 4 * d)


def _lfm3(f: Fields) -> Tower:
    """LFM3's tower: depthwise convolutions in most layers, grouped attention in the others."""
    bag, d, ff, n = Bag(Role.VISION), *_widths(f)
    heads = f.integer("num_attention_heads")
    head, kv_heads = d // heads, f.integer("num_key_value_heads", heads)
    usual = tuple("conv" if i < 2 or i % 2 else "full_attention" for i in range(n))
    kinds = f.words("layer_types", n, default=usual)
    attending = kinds.count("full_attention")
    convolving = n - attending
    bag.linear(d, patch_inputs(f, "in_channels"), bias=False)
    bag.norm(d, 1, 1 + 2 * n)
    bag.attention(d, kv=kv_heads * head, bias=False, n=attending)
    bag.norm(head, 1, 2 * attending)
    bag.linear(3 * d, d, bias=False, n=convolving)
    bag.linear(d, f.integer("conv_kernel_size", 3) ** 2, bias=False, n=convolving)
    bag.linear(d, d, bias=False, n=convolving)
    bag.mlp(d, ff, gated=True, bias=False, n=n)
    return Tower(bag.weights(), d)


def _muse(f: Fields) -> Tower:
    bag, d, ff, n = Bag(Role.VISION), *_widths(f)
    patch = side(f, "patch_size")
    bag.linear(d, 3 * f.integer("patch_temporal", 1) * patch * patch, bias=False)
    bag.tensor(f.integer("pos_emb_height") * f.integer("pos_emb_width"), d)
    bag.norm(d, n=2)
    _pre_norm_blocks(bag, d, ff, n)
    return Tower(bag.weights(), d)


def _kosmos25(f: Fields) -> Tower:
    """Pix2Struct's encoder: row and column tables, RMSNorms, a gated MLP."""
    bag, d, ff, n = Bag(Role.VISION), *_widths(f)
    inner = f.integer("num_attention_heads") * f.integer("head_dim")
    bag.linear(d, f.integer("patch_embed_hidden_size"))
    bag.tensor(f.integer("max_num_patches"), d, n=2)
    bag.attention(d, inner=inner, bias=False, n=n)
    bag.mlp(d, ff, gated=True, bias=False, n=n)
    bag.norm(d, 1, 1 + 2 * n)
    return Tower(bag.weights(), d)


def _two_encoders(f: Fields) -> Tower:
    """DeepSeek-OCR's pair: a SAM encoder with two more convolutions, and a CLIP without patch embedding."""
    sam, clip = f.sub("sam_config"), f.sub("encoder_config")
    if sam is None or clip is None:
        raise f.refuse("sam_config" if sam is None else "encoder_config", "is missing")
    first = _sam(sam)
    bag, (d, ff, n) = Bag(Role.VISION), _widths(clip)
    bag.linear(2 * first.width, 9 * first.width, bias=False)
    bag.linear(4 * first.width, 18 * first.width, bias=False)
    bag.tensor(d)
    bag.tensor(patches(clip) + 1, d)
    bag.norm(d)
    _pre_norm_blocks(bag, d, ff, n)
    return Tower(first.weights + bag.weights(), d + 4 * first.width)


def vq_model(f: Fields, bag: Bag, *, decodes: bool) -> None:
    """A VQ-GAN (Chameleon, Janus): residual blocks per resolution, attention in the middle, a codebook.

    Janus, which draws, keeps the decoder too, and attends at the smallest resolution.
    """
    base, latent = f.integer("base_channels", 128), f.integer("latent_channels", 256)
    steps = f.integers("channel_multiplier", default=(1, 1, 2, 2, 4), low=1)
    if not steps:
        raise f.refuse("channel_multiplier", "is an empty list")
    blocks = f.integer("num_res_blocks", 2)
    attended = set(f.integers("attn_resolutions"))
    size = f.integer("resolution", 512)
    wide, last = base * steps[-1], len(steps) - 1

    def residual(into: int, out: int) -> None:
        bag.norm(into)
        bag.linear(out, 9 * into)
        bag.norm(out)
        bag.linear(out, 9 * out)
        if into != out:
            bag.linear(out, into)

    def attention(d: int) -> None:
        bag.norm(d)
        bag.attention(d)

    def middle() -> None:
        residual(wide, wide)
        attention(wide)
        residual(wide, wide)

    bag.linear(base, 9 * f.integer("in_channels", 3))
    before = base
    for level, step in enumerate(steps):
        for _ in range(blocks):
            residual(before, base * step)
            before = base * step
            if (decodes and level == last) or size >> level in attended:
                attention(before)
        if level != last:
            bag.linear(before, 9 * before)
    middle()
    bag.norm(wide)
    bag.linear(2 * latent if f.flag("double_latent") else latent, 9 * wide)
    codes, code = f.integer("num_embeddings"), f.integer("embed_dim")
    bag.tensor(codes, code)
    bag.linear(code, latent)
    bag.linear(latent, code)
    if not decodes:
        return
    bag.linear(wide, 9 * latent)
    middle()
    for level in reversed(range(len(steps))):
        for _ in range(blocks + 1):
            residual(before, base * steps[level])
            before = base * steps[level]
            if level == last:
                attention(before)
        if level:
            bag.linear(before, 9 * before)
    bag.norm(before)
    bag.linear(f.integer("out_channels", 3), 9 * before)


def generic(f: Fields) -> Tower:
    """A plain ViT from the usual keys, said to be an assumption."""
    bag = Bag(Role.VISION)
    d = f.integer("hidden_size", f.integer("embed_dim", f.integer("width", 0)))
    n = f.integer("num_hidden_layers", f.integer("depth", f.integer("layers", 0)))
    if not d or not n:
        f.assume(f"{f.path.rstrip('.')} is not described by the usual keys and is not counted")
        return Tower((), d)
    ff = f.integer("intermediate_size", int(d * f.number("mlp_ratio", 4)))
    f.assume(
        f"{f.path}model_type {f.model_type!r} is not known: its tower is counted as a plain ViT "
        "(LayerNorms, attention and MLP with biases, learned positions)"
    )
    bag.linear(d, patch_inputs(f))
    if f.has("image_size"):
        bag.tensor(patches(f) + 1, d)
    _pre_norm_blocks(bag, d, ff, n)
    bag.norm(d)
    return Tower(bag.weights(), d)


VISION_TOWERS: Final[dict[str, Callable[[Fields], Tower]]] = {
    "blip_2_vision_model": _blip,
    "blip_vision_model": _blip,
    "clip_vision_model": _clip,
    "deepseek_vl_vision": _siglip,
    "ernie4_5_vl_moe_vision": _ernie,
    "exaone4_5_vision": _qwen25_vl,
    "gemma4_vision": _gemma4,
    "glm46v_vision": _glm4v,
    "glm4v_moe_vision": _glm4v,
    "glm4v_vision": _glm4v,
    "glm5_next_vision": _glm_ocr,
    "glm_ocr_vision": _glm_ocr,
    "got_ocr2_vision": _sam,
    "granite_docling_vision": _granite_docling,
    "hunyuan_vl_vision": _hunyuan,
    "hy_v4_vl_vision": _hunyuan4,
    "idefics2_vision": _headless_siglip,
    "idefics3_vision": _headless_siglip,
    "idefics_vision": _idefics,
    "inkling2_vision": _inkling2,
    "instructblip_vision_model": _blip,
    "intern_vit_6b": _intern_vit,
    "internvl_vision": _internvl,
    "janus_vision_model": _janus,
    "kimi_k25_vision": _kimi,
    "kosmos_2_5_vision_model": _kosmos25,
    "kosmos_2_vision_model": _kosmos2,
    "lfm3_vl_vision": _lfm3,
    "llama4_vision_model": _llama4,
    "minicpm_ocr_vision": _minicpmv,
    "minicpmv4_6_vision": _minicpmv,
    "minicpmv4_7_vision": _minicpmv,
    "minimax_m3_vl_vision": _minimax_m3,
    "mllama_vision_model": _mllama,
    "molmo2_vision": _molmo2,
    "moonvit": _kimi,
    "muse_glimmer_vision": _muse,
    "muse_spark_vision": _muse,
    "ovis2_vision": _ovis2,
    "paddleocr_vl_vision": _headless_siglip,
    "phi4_multimodal_vision": _phi4_vision,
    "pixtral": _pixtral,
    "qianfan_ocr_vision": _internvl,
    "qwen2_5_omni_vision_encoder": _qwen25_vl,
    "qwen2_5_vl_vision": _qwen25_vl,
    "qwen2_vl_vision": _qwen2_vl,
    "qwen3_5_moe_vision": _qwen3_vl,
    "qwen3_5_vision": _qwen3_vl,
    "qwen3_omni_moe_vision_encoder": _qwen3_vl,
    "qwen3_vl_moe_vision": _qwen3_vl,
    "qwen3_vl_vision": _qwen3_vl,
    "radio": _radio,
    "sam_vision_model": _sam,
    "siglip": _headless_siglip,
    "siglip2_vision_model": _siglip2,
    "siglip_vision_model": _siglip,
    "smolvlm_vision": _headless_siglip,
    "step3p5_vision": _step,
    "unlimited_ocr_vision": _two_encoders,
    "video_llama_3_vision": _video_llama,
}


def vision_tower(f: Fields) -> Tower:
    """The tower of a vision config. Raises ConfigRefused when a needed size is missing."""
    return VISION_TOWERS.get(f.model_type, generic)(f)
