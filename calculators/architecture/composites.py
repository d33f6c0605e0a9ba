"""Models whose two halves both hold text or whose language model is an encoder-decoder: Florence-2, T5Gemma,
Moonshine, Switch Transformers, BLIP, Kosmos-2.

Source: the modelling classes of transformers 5.24.0, compared tensor by tensor on the meta device.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from calculators.architecture.bag import Bag
from calculators.architecture.encoders import (
    attention_weights,
    cross_cache,
    cross_note,
    decoder_cache,
    headless,
    mlp_weights,
    read_bart,
    seq2seq_caches,
)
from calculators.architecture.keys import Fields
from calculators.architecture.layout import Architecture, Cache, CacheKind, Layer, Role, Shard, Weight
from calculators.architecture.pieces import matrix, norms, vector
from calculators.architecture.vision import vision_tower


def _required(f: Fields, name: str) -> Fields:
    found = f.sub(name)
    if found is None:
        raise f.refuse(name, "is missing, and nothing can stand in for it")
    return found


# ---- Florence-2 ------------------------------------------------------------------------------------


def _florence2(f: Fields) -> Architecture:
    """A DaViT tower with convolutions, two kinds of attention per stage, and a BART."""
    text = _required(f, "text_config")
    arch = read_bart(text.replaced(architectures=["ForConditionalGeneration"]), 2)
    v = _required(f, "vision_config")
    bag = Bag(Role.VISION)
    widths, depths = v.integers("embed_dim", low=1), v.integers("depths", low=0)
    kernels = v.integers("patch_size", len(widths), low=1)
    prenorm = v.integers("patch_prenorm", len(widths), low=0)
    if len(depths) != len(widths) or not widths:
        raise v.refuse("depths", f"has {len(depths)} entries for {len(widths)} stages")
    ratio, bias = v.number("mlp_ratio", 4.0), v.flag("qkv_bias", True)
    before = v.integer("in_channels", 3)
    for d, depth, kernel, pre in zip(widths, depths, kernels, prenorm, strict=True):
        bag.linear(d, before * kernel * kernel)
        bag.norm(before if pre else d)
        both = 2 * depth
        bag.linear(d, 9, n=2 * both)
        bag.norm(d, n=2 * both)
        bag.attention(d, bias=bias, out_bias=True, n=both)
        bag.mlp(d, int(d * ratio), n=both)
        before = d
    projection = v.integer("projection_dim")
    bag.linear(projection, before, bias=False)
    bag.norm(projection)
    rows = v.integer("max_position_embeddings", 50)
    bag.tensor(rows, before // 2)
    bag.tensor(rows, before - before // 2)
    return replace(arch, model_type=f.model_type, outside=arch.outside + bag.weights())


# ---- T5Gemma ---------------------------------------------------------------------------------------


def _gemma_block(s: Fields, *, count_norms: int, cross: int | None, qk_norm: bool) -> tuple[Weight, ...]:
    d, ff, heads = s.integer("hidden_size"), s.integer("intermediate_size"), s.integer("num_attention_heads")
    head, kv_heads = s.integer("head_dim"), s.integer("num_key_value_heads")
    bias = s.flag("attention_bias")
    inner, kv = heads * head, kv_heads * head
    crossing = attention_weights(d, inner, kv, source=cross, bias=bias) if cross is not None else ()
    return (
        *norms(d, 1, count_norms),
        *(norms(head, 1, 2) if qk_norm else ()),
        *attention_weights(d, inner, kv, bias=bias),
        *crossing,
        *mlp_weights(d, ff, gated=True, bias=False),
    )


def _gemma_caches(s: Fields, every: int) -> tuple[Cache, ...]:
    count, kv_heads = s.integer("num_hidden_layers"), s.integer("num_key_value_heads")
    elements = 2 * kv_heads * s.integer("head_dim")
    kinds = s.words(
        "layer_types",
        count,
        tuple("sliding_attention" if (i + 1) % every else "full_attention" for i in range(count)),
    )
    window = s.integer("sliding_window", 4096)
    full = Cache(CacheKind.FULL, elements, kv_heads=kv_heads)
    sliding = Cache(CacheKind.SLIDING, elements, window_tokens=window, kv_heads=kv_heads)
    return tuple(full if kind == "full_attention" else sliding for kind in kinds)


def _t5gemma(f: Fields) -> Architecture:
    """Gemma 2 blocks on both sides; the decoder adds cross attention with two norms of its own."""
    encoder, decoder = _required(f, "encoder"), _required(f, "decoder")
    d, vocab = decoder.integer("hidden_size"), f.integer("vocab_size", decoder.integer("vocab_size"))
    own = decoder.integer("vocab_size", vocab)
    wide = encoder.integer("hidden_size")
    left = Layer(_gemma_block(encoder, count_norms=4, cross=None, qk_norm=False))
    right = _gemma_block(decoder, count_norms=6, cross=wide, qk_norm=False)
    outside = [
        Weight(Role.EMBEDDING, (own, d), Shard.VOCAB),
        Weight(Role.EMBEDDING, (encoder.integer("vocab_size", vocab), wide), Shard.VOCAB),
        *norms(wide, 1),
        *norms(d, 1),
    ]
    return _two_halves(f, encoder, decoder, left, right, outside, every=2)


def _t5gemma2(f: Fields) -> Architecture:
    """Gemma 3 blocks on both sides; one attention reads both halves, one table serves both."""
    encoder, decoder = _required(f, "encoder"), _required(f, "decoder")
    text = _required(encoder, "text_config")
    d, vocab = text.integer("hidden_size"), text.integer("vocab_size")
    left = Layer(_gemma_block(text, count_norms=4, cross=None, qk_norm=True))
    right = _gemma_block(decoder, count_norms=4, cross=None, qk_norm=True)
    outside = [
        Weight(Role.EMBEDDING, (vocab, d), Shard.VOCAB),
        Weight(Role.EMBEDDING, (d,)),
        *norms(d, 1, 2),
    ]
    if not f.flag("tie_word_embeddings", True):
        outside += (Weight(Role.EMBEDDING, (decoder.integer("vocab_size", vocab), d), Shard.VOCAB),)
        outside += (Weight(Role.EMBEDDING, (d,)),)
    vision = encoder.sub("vision_config")
    if vision is not None:
        tower = vision_tower(vision)
        bag = Bag(Role.PROJECTOR)
        bag.tensor(tower.width, d)
        bag.norm(tower.width, 1)
        outside += tower.weights + bag.weights()
    return _two_halves(f, text, decoder, left, right, outside, every=6)


def _two_halves(
    f: Fields,
    encoder: Fields,
    decoder: Fields,
    left: Layer,
    right: tuple[Weight, ...],
    outside: list[Weight],
    *,
    every: int,
) -> Architecture:
    d, heads = decoder.integer("hidden_size"), decoder.integer("num_attention_heads")
    kv_heads, head = decoder.integer("num_key_value_heads"), decoder.integer("head_dim")
    tied = f.flag("tie_word_embeddings", True)
    vocab = outside[0].shape[0]
    if not tied and not headless(f):
        outside = [*outside, *matrix(Role.LM_HEAD, vocab, d, Shard.VOCAB)]
    layers = [left] * encoder.integer("num_hidden_layers")
    for cache in _gemma_caches(decoder, every):
        kept = (cache, cross_cache(2 * kv_heads * head, kv_heads))
        layers.append(Layer(right, kept, "full" if cache.window_tokens is None else "sliding"))
    cross_note(f, 2 * kv_heads * head * decoder.integer("num_hidden_layers"))
    return Architecture(
        model_type=f.model_type,
        hidden_size=d,
        vocab_size=vocab,
        num_attention_heads=heads,
        num_key_value_heads=kv_heads,
        head_dim=head,
        max_position_embeddings=decoder.integer("max_position_embeddings", 0) or None,
        tied_embeddings=tied,
        layers=tuple(layers),
        outside=tuple(outside),
        dtype=f.word("dtype", "float32"),
    )


# ---- Moonshine -------------------------------------------------------------------------------------


def _moonshine(f: Fields) -> Architecture:
    """Three convolutions on the raw signal, a plain encoder, a decoder with a gated MLP."""
    d, ff, vocab = f.integer("hidden_size"), f.integer("intermediate_size"), f.integer("vocab_size")
    heads = f.integer("decoder_num_attention_heads")
    kv_heads = f.integer("decoder_num_key_value_heads", heads)
    encoder_heads = f.integer("encoder_num_attention_heads")
    encoder_kv = f.integer("encoder_num_key_value_heads", encoder_heads)
    head, encoder_head = d // heads, d // encoder_heads
    bias = f.flag("attention_bias")
    bag = Bag(Role.AUDIO)
    n = f.integer("encoder_num_hidden_layers")
    bag.linear(d, 127, bias=False)
    bag.linear(2 * d, 7 * d)
    bag.linear(d, 6 * d)
    bag.norm(d)
    bag.norm(d, 1, 1 + 2 * n)
    bag.attention(
        d, inner=encoder_heads * encoder_head, kv=encoder_kv * encoder_head, bias=bias, out_bias=False, n=n
    )
    bag.mlp(d, ff, n=n)
    attention = attention_weights(d, heads * head, kv_heads * head, bias=bias, out_bias=False)
    weights = (
        *norms(d, 1, 3),
        *attention,
        *attention,
        *matrix(Role.MLP_GATE, ff, d, Shard.COLUMN, bias=True),
        *matrix(Role.MLP_UP, ff, d, Shard.COLUMN, bias=True),
        *matrix(Role.MLP_DOWN, d, ff, Shard.ROW, bias=True),
    )
    count = f.integer("decoder_num_hidden_layers")
    layer = Layer(weights, seq2seq_caches(2 * kv_heads * head, kv_heads))
    tied = f.flag("tie_word_embeddings", True)
    outside = [Weight(Role.EMBEDDING, (vocab, d), Shard.VOCAB), *norms(d, 1), *bag.weights()]
    if not tied and not headless(f):
        outside += matrix(Role.LM_HEAD, vocab, d, Shard.VOCAB)
    cross_note(f, 2 * kv_heads * head * count)
    return Architecture(
        model_type=f.model_type,
        hidden_size=d,
        vocab_size=vocab,
        num_attention_heads=heads,
        num_key_value_heads=kv_heads,
        head_dim=head,
        max_position_embeddings=f.integer("max_position_embeddings", 0) or None,
        tied_embeddings=tied,
        layers=(layer,) * count,
        outside=tuple(outside),
        dtype=f.word("dtype", "float32"),
    )


# ---- Switch Transformers ---------------------------------------------------------------------------


def _switch(f: Fields) -> Architecture:
    """T5 with one expert of many in every few layers."""
    d, ff, inner = f.integer("d_model"), f.integer("d_ff"), f.integer("num_heads") * f.integer("d_kv")
    heads, vocab, experts = f.integer("num_heads"), f.integer("vocab_size"), f.integer("num_experts")
    buckets = Weight(Role.OTHER, (f.integer("relative_attention_num_buckets", 32), heads))
    attention = attention_weights(d, inner, inner, bias=False)
    dense = mlp_weights(d, ff, bias=False)
    sparse = (
        Weight(Role.EXPERT_UP, (ff, d), Shard.EXPERT, experts, 1),
        Weight(Role.EXPERT_DOWN, (d, ff), Shard.EXPERT, experts, 1),
        *matrix(Role.ROUTER, experts, d, bias=f.flag("router_bias")),
    )
    layers: list[Layer] = []
    for side, blocks, attentions in (("encoder", "num_layers", 1), ("decoder", "num_decoder_layers", 2)):
        count = f.integer(blocks, f.integer("num_layers"))
        wanted = f.integer(f"num_sparse_{side}_layers", 3, low=0)
        step = f.integer(f"{side}_sparse_step", count // wanted if wanted else 0, low=0)
        for i in range(count):
            is_sparse = bool(step) and (i % step == 1 or step == 1)
            mlp = sparse if is_sparse else dense
            caches = seq2seq_caches(2 * inner, heads) if side == "decoder" else ()
            weights = (*norms(d, 1, attentions + 1), *attention * attentions, *mlp)
            layers.append(Layer(weights, caches, mlp="moe" if is_sparse else "dense"))
    cross_note(f, 2 * inner * f.integer("num_decoder_layers", f.integer("num_layers")))
    tied = f.flag("tie_word_embeddings", True)
    outside = [Weight(Role.EMBEDDING, (vocab, d), Shard.VOCAB), *norms(d, 1, 2), buckets, buckets]
    if not tied and not headless(f):
        outside += matrix(Role.LM_HEAD, vocab, d, Shard.VOCAB)
    return Architecture(
        model_type=f.model_type,
        hidden_size=d,
        vocab_size=vocab,
        num_attention_heads=heads,
        num_key_value_heads=heads,
        head_dim=f.integer("d_kv"),
        max_position_embeddings=None,
        tied_embeddings=tied,
        layers=tuple(layers),
        outside=tuple(outside),
        dtype=f.word("dtype", "float32"),
    )


# ---- BLIP, Kosmos-2 --------------------------------------------------------------------------------


def _blip(f: Fields) -> Architecture:
    """BLIP for captions: a BERT decoder that attends to the image in every layer."""
    text, image = _required(f, "text_config"), _required(f, "vision_config")
    vision = vision_tower(image)
    d, ff, vocab = text.integer("hidden_size"), text.integer("intermediate_size"), text.integer("vocab_size")
    heads, count = text.integer("num_attention_heads"), text.integer("num_hidden_layers")
    seen = (image.integer("image_size") // image.integer("patch_size")) ** 2 + 1
    weights = (
        *norms(d, 2, 3),
        *attention_weights(d, d, d),
        *attention_weights(d, d, d, source=vision.width),
        *mlp_weights(d, ff),
    )
    tied = f.flag("tie_word_embeddings", True)
    outside = [
        Weight(Role.EMBEDDING, (vocab, d), Shard.VOCAB),
        Weight(Role.POSITION, (text.integer("max_position_embeddings"), d)),
        *norms(d, 2, 2),
        *matrix(Role.OTHER, d, d, bias=True),
        vector(Role.BIAS, vocab, Shard.VOCAB),
        *vision.weights,
    ]
    if not tied:
        outside += matrix(Role.LM_HEAD, vocab, d, Shard.VOCAB, bias=True)
    cross_note(f, 2 * d * count)
    return Architecture(
        model_type=f.model_type,
        hidden_size=d,
        vocab_size=vocab,
        num_attention_heads=heads,
        num_key_value_heads=heads,
        head_dim=d // heads,
        max_position_embeddings=text.integer("max_position_embeddings"),
        tied_embeddings=tied,
        layers=(Layer(weights, seq2seq_caches(2 * d, heads, seen)),) * count,
        outside=tuple(outside),
        dtype=f.word("dtype", "float32"),
    )


def _kosmos2(f: Fields) -> Architecture:
    """Kosmos-2: a sub-norm decoder, sinusoidal positions, image tokens made by a small attention."""
    text, vision = _required(f, "text_config"), vision_tower(_required(f, "vision_config"))
    d, ff, vocab = text.integer("embed_dim"), text.integer("ffn_dim"), text.integer("vocab_size")
    heads, count = text.integer("attention_heads"), text.integer("layers")
    subnorm = f.model_type == "kosmos-2"
    weights = (
        *norms(d, 2, 3 if subnorm else 2),
        *norms(ff, 2),
        *attention_weights(d, d, d),
        *mlp_weights(d, ff),
    )
    tied = f.flag("tie_word_embeddings", True)
    bag = Bag(Role.PROJECTOR)
    bag.tensor(f.integer("latent_query_num", 64), d)
    bag.linear(d, vision.width)
    bag.attention(d)
    outside = [
        Weight(Role.EMBEDDING, (vocab, d), Shard.VOCAB),
        *norms(d, 2),
        *vision.weights,
        *bag.weights(),
    ]
    if not subnorm:
        outside.append(Weight(Role.POSITION, (2, d)))
    if not tied:
        outside += matrix(Role.LM_HEAD, vocab, d, Shard.VOCAB)
    return Architecture(
        model_type=f.model_type,
        hidden_size=d,
        vocab_size=vocab,
        num_attention_heads=heads,
        num_key_value_heads=heads,
        head_dim=d // heads,
        max_position_embeddings=text.integer("max_position_embeddings"),
        tied_embeddings=tied,
        layers=(Layer(weights, decoder_cache(2 * d, heads)),) * count,
        outside=tuple(outside),
        dtype=f.word("dtype", "float32"),
    )


# ---- IDEFICS ---------------------------------------------------------------------------------------


def _idefics(f: Fields) -> Architecture:
    """IDEFICS: a Llama with gated cross-attention blocks between its layers, and a resampler if asked."""
    d, ff, count = f.integer("hidden_size"), f.integer("intermediate_size"), f.integer("num_hidden_layers")
    heads, vocab = f.integer("num_attention_heads"), f.integer("vocab_size")
    more = f.integer("additional_vocab_size", 0, low=0)
    vision = _required(f, "vision_config")
    tower, wide = vision_tower(vision), vision.integer("embed_dim")
    every = f.integer("cross_layer_interval", 1)
    block = (
        *norms(d, 1, 2),
        *attention_weights(d, d, d, bias=False),
        *mlp_weights(d, ff, gated=True, bias=False),
    )
    alpha = d if f.word("alpha_type", "float") == "vector" else 1
    crossing = (
        *norms(d, 1, 2),
        *attention_weights(d, d, d, source=wide, bias=False),
        *mlp_weights(d, ff, gated=True, bias=False),
        Weight(Role.OTHER, (alpha,), copies=2),
        *(norms(d // heads, 1, 2) if f.flag("qk_layer_norms") else ()),
    )
    cache = decoder_cache(2 * d, heads)
    layers = tuple(Layer(block + (crossing if i % every == 0 else ()), cache) for i in range(count))
    bag = Bag(Role.PROJECTOR)
    if f.flag("use_resampler"):
        r = _required(f, "perceiver_config")
        depth, head = r.integer("resampler_depth"), r.integer("resampler_head_dim")
        bag.tensor(r.integer("resampler_n_latents"), wide)
        bag.norm(wide, n=1 + 3 * depth)
        bag.attention(wide, inner=head * r.integer("resampler_n_heads"), bias=False, n=depth)
        bag.mlp(wide, 4 * wide, bias=False, n=depth)
        if r.flag("qk_layer_norms_perceiver"):
            bag.norm(head, n=2 * depth)
    tied = f.flag("tie_word_embeddings")
    outside = [
        Weight(Role.EMBEDDING, (vocab, d), Shard.VOCAB),
        *((Weight(Role.EMBEDDING, (more, d), Shard.VOCAB),) if more else ()),
        *norms(d, 1),
        *tower.weights,
        *bag.weights(),
    ]
    if not tied:
        outside += matrix(Role.LM_HEAD, vocab, d, Shard.VOCAB)
        outside += matrix(Role.LM_HEAD, more, d, Shard.VOCAB) if more else ()
    return Architecture(
        model_type=f.model_type,
        hidden_size=d,
        vocab_size=vocab,
        num_attention_heads=heads,
        num_key_value_heads=heads,
        head_dim=d // heads,
        max_position_embeddings=f.integer("max_position_embeddings", 0) or None,
        tied_embeddings=tied,
        layers=layers,
        outside=tuple(outside),
        dtype=f.word("dtype", "bfloat16"),
    )


COMPOSITES: Final[dict[str, Callable[[Fields], Architecture]]] = {
    "blip": _blip,
    "florence2": _florence2,
    "idefics": _idefics,
    "kosmos-2": _kosmos2,
    "kosmos-2.5": _kosmos2,
    "moonshine": _moonshine,
    "switch_transformers": _switch,
    "t5gemma": _t5gemma,
    "t5gemma2": _t5gemma2,
}
