"""Encoders (BERT and kin) and encoder-decoders (T5, BART, Whisper and kin).

Encoders keep no generation cache. An encoder-decoder's decoder caches keys and values of its own tokens like
any decoder, and keys and values of the encoded input in a cache of its own kind (CROSS), which
`cache_elements` leaves out because it depends on the input.

Source: the modelling classes of transformers 5.24.0, compared tensor by tensor on the meta device.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from calculators.architecture.audio import parakeet, whisper_encoder
from calculators.architecture.bag import Bag
from calculators.architecture.keys import Fields
from calculators.architecture.layout import Architecture, Cache, CacheKind, Layer, Role, Shard, Weight
from calculators.architecture.pieces import matrix, norms, vector

Reader = Callable[[Fields], Architecture]


def attention_weights(
    d: int,
    inner: int,
    kv: int,
    *,
    source: int | None = None,
    bias: bool = True,
    k_bias: bool | None = None,
    out_bias: bool | None = None,
) -> tuple[Weight, ...]:
    """Query, key, value and output projections; `source` is the width keys and values are made from."""
    source = d if source is None else source
    return (
        *matrix(Role.ATTN_Q, inner, d, Shard.COLUMN, bias=bias),
        *matrix(Role.ATTN_K, kv, source, Shard.KV_HEADS, bias=bias if k_bias is None else k_bias),
        *matrix(Role.ATTN_V, kv, source, Shard.KV_HEADS, bias=bias),
        *matrix(Role.ATTN_OUT, d, inner, Shard.ROW, bias=bias if out_bias is None else out_bias),
    )


def mlp_weights(
    d: int, ff: int, *, gated: bool = False, bias: bool = True, down_bias: bool | None = None
) -> tuple[Weight, ...]:
    """A feed-forward block of two matrices, three when gated."""
    gate = matrix(Role.MLP_GATE, ff, d, Shard.COLUMN, bias=bias) if gated else ()
    return (
        *gate,
        *matrix(Role.MLP_UP, ff, d, Shard.COLUMN, bias=bias),
        *matrix(Role.MLP_DOWN, d, ff, Shard.ROW, bias=bias if down_bias is None else down_bias),
    )


def _class_name(f: Fields) -> str:
    """The class the checkpoint is for (`architectures[0]`), or ''."""
    names = f.words("architectures")
    return names[0] if names else ""


def headless(f: Fields) -> bool:
    """Whether the named class is the bare model, without a language-model head."""
    name = _class_name(f)
    return name.endswith("Model") and not name.endswith(("MTModel", "LMHeadModel"))


# ---- encoders --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Encoder:
    """How an encoder family departs from BERT."""

    norm: int = 2
    positions: bool = True
    extra_embedding: bool = False  # a narrower embedding, projected up
    gated: bool = False
    bias: bool = True
    mlp_bias: bool | None = None
    down_bias: bool | None = None
    k_bias: bool | None = None
    shared_layers: bool = False  # ALBERT: one set of weights for a group of layers
    buckets: bool = False  # relative_attention_num_buckets x heads, once
    final_norm: bool = False  # pre-norm: one norm after the last layer
    pooler: bool = True
    embedding_norm: bool = True
    own_head_bias: bool = True  # an untied head keeps a second bias
    task_ids: bool = False
    own_head_dim: bool = False  # head_dim may differ from hidden_size / heads
    always_pooled: bool = False


def _encoder(traits: Encoder) -> Reader:
    return lambda f: _read_encoder(f, traits)


def _read_encoder(f: Fields, t: Encoder) -> Architecture:
    d, ff, heads = f.integer("hidden_size"), _encoder_ff(f), f.integer("num_attention_heads")
    count, vocab = f.integer("num_hidden_layers"), f.integer("vocab_size")
    width = f.integer("embedding_size", d) if t.extra_embedding else d
    head = f.integer("head_dim", d // heads) if t.own_head_dim else d // heads
    inner, kv = heads * head, head * f.integer("num_key_value_heads", heads)
    mlp_bias = t.bias if t.mlp_bias is None else t.mlp_bias
    bias = t.bias and f.flag("use_bias", True)
    block = (
        *norms(d, t.norm, 2),
        *attention_weights(d, inner, kv, bias=bias, k_bias=t.k_bias, out_bias=t.bias),
        *mlp_weights(d, ff, gated=t.gated, bias=mlp_bias, down_bias=t.down_bias),
    )
    outside = [Weight(Role.EMBEDDING, (vocab, width), Shard.VOCAB)]
    if t.positions:
        outside.append(Weight(Role.POSITION, (f.integer("max_position_embeddings"), width)))
    types = f.integer("type_vocab_size", 0, low=0)
    if types:
        outside.append(Weight(Role.POSITION, (types, width)))
    if t.task_ids and f.flag("use_task_id"):
        outside.append(Weight(Role.POSITION, (f.integer("task_type_vocab_size", 3), width)))
    outside += norms(width, t.norm, int(t.embedding_norm) + int(t.final_norm))
    if t.extra_embedding and (width != d or t.shared_layers):
        outside += matrix(Role.OTHER, d, width, bias=True)
    if t.buckets:
        buckets = f.integer("relative_attention_num_buckets", 32)
        outside.append(Weight(Role.OTHER, (buckets, heads)))
    name = _class_name(f)
    headed, pooled = _head_and_pooler(name, t)
    tied = f.flag("tie_word_embeddings", True)
    if headed:
        outside += _lm_head(t, vocab, d, width, tied)
    if pooled or t.always_pooled:
        outside += matrix(Role.OTHER, d, d, bias=True)
    outside += _task_head(f, name, d, t)
    layer = Layer(block, mixer="full", mlp="dense")
    empty = Layer((), mixer="full", mlp="none")
    own = f.integer("num_hidden_groups", 1) * f.integer("inner_group_num", 1) if t.shared_layers else count
    return Architecture(
        model_type=f.model_type,
        hidden_size=d,
        vocab_size=vocab,
        num_attention_heads=heads,
        num_key_value_heads=heads,
        head_dim=d // heads,
        max_position_embeddings=f.integer("max_position_embeddings", 0) or None,
        tied_embeddings=tied,
        layers=(layer,) * own + (empty,) * max(count - own, 0),
        outside=tuple(outside),
        dtype=f.word("dtype", "float32"),
        generates=False,
    )


def _encoder_ff(f: Fields) -> int:
    if f.model_type == "distilbert":
        return f.integer("hidden_dim", 3072)
    return f.integer("intermediate_size")


def _head_and_pooler(name: str, t: Encoder) -> tuple[bool, bool]:
    """Whether this class carries the language-model head, and the pooler."""
    if not name or name.endswith(("ForMaskedLM", "ForCausalLM", "LMHeadModel")):
        return True, False
    if name.endswith("ForPreTraining"):
        return t.pooler, t.pooler
    return False, t.pooler and name.endswith("Model")


def _lm_head(t: Encoder, vocab: int, d: int, width: int, tied: bool) -> tuple[Weight, ...]:
    """Dense layer, norm and bias before the vocabulary; an untied head adds its matrix."""
    weights = [*matrix(Role.OTHER, width, d, bias=True), *norms(width, t.norm)]
    weights.append(vector(Role.BIAS, vocab, Shard.VOCAB))
    if not tied:
        weights += matrix(Role.LM_HEAD, vocab, width, Shard.VOCAB, bias=t.own_head_bias)
    return tuple(weights)


def _labels(f: Fields) -> int:
    """Classes a task head tells apart: `id2label`, `num_labels`, else 2 (the class default)."""
    labels = f.raw("id2label")
    return len(labels) if isinstance(labels, Mapping) and labels else f.integer("num_labels", 2)


def _task_head(f: Fields, name: str, d: int, t: Encoder) -> tuple[Weight, ...]:
    """The head of a class made for a task: a dense layer where the task reads one vector, and the labels."""
    dense = (
        () if t.always_pooled and name.endswith("ForMultipleChoice") else matrix(Role.OTHER, d, d, bias=True)
    )
    if name.endswith("ForSequenceClassification"):
        return (*dense, *matrix(Role.OTHER, _labels(f), d, bias=True))
    if name.endswith(("ForTokenClassification", "ForQuestionAnswering")):
        return matrix(Role.OTHER, _labels(f), d, bias=True)
    if name.endswith("ForMultipleChoice"):
        return (*dense, *matrix(Role.OTHER, 1, d, bias=True))
    if name.endswith("ForPreTraining") and t.pooler:
        return matrix(Role.OTHER, _labels(f) if t.shared_layers else 2, d, bias=True)
    if name.endswith("ForPreTraining"):
        return (*dense, *matrix(Role.OTHER, 1, d, bias=True))
    return ()


_BERT: Final = Encoder()
_ROBERTA: Final = Encoder()


def _rembert(f: Fields) -> Architecture:
    """RemBERT: narrow input embeddings, a wide output embedding of its own."""
    headed, _ = _head_and_pooler(_class_name(f), _BERT)
    d, vocab = f.integer("hidden_size"), f.integer("vocab_size")
    width = f.integer("input_embedding_size", 256)
    arch = _read_encoder(
        f.replaced(embedding_size=width, architectures=["Body" if headed else _class_name(f)]),
        Encoder(extra_embedding=True),
    )
    outside = list(arch.outside)
    if headed:
        wide = f.integer("output_embedding_size", 1664)
        outside += matrix(Role.OTHER, wide, d, bias=True)
        outside += norms(wide, 2)
        outside += matrix(Role.LM_HEAD, vocab, wide, Shard.VOCAB, bias=True)
    return replace(arch, outside=tuple(outside))


def _roformer(f: Fields) -> Architecture:
    """RoFormer: a BERT whose positions are a fixed table of one head's width."""
    arch = _read_encoder(f, Encoder(positions=False, extra_embedding=True, pooler=False))
    table = Weight(Role.POSITION, (f.integer("max_position_embeddings", 1536), arch.head_dim))
    return replace(arch, outside=(*arch.outside, table))


def _xlnet(f: Fields) -> Architecture:
    """XLNet: five projections per layer, biases per head for content, position and segment."""
    d, ff, vocab = f.integer("d_model"), f.integer("d_inner"), f.integer("vocab_size")
    heads, count = f.integer("n_head"), f.integer("n_layer")
    head = f.integer("d_head", d // heads)
    weights = (
        *norms(d, 2, 2),
        *attention_weights(d, heads * head, heads * head, bias=False),
        Weight(Role.OTHER, (heads * head, d)),
        Weight(Role.BIAS, (heads, head), copies=5),
        *mlp_weights(d, ff),
    )
    tied = f.flag("tie_word_embeddings", True)
    outside = [Weight(Role.EMBEDDING, (vocab, d), Shard.VOCAB), vector(Role.OTHER, d)]
    if not headless(f):
        outside.append(vector(Role.BIAS, vocab, Shard.VOCAB))
        outside += matrix(Role.LM_HEAD, vocab, d, Shard.VOCAB) if not tied else ()
    f.assume("XLNet keeps hidden states instead of keys and values when it generates: no cache is counted")
    return Architecture(
        model_type=f.model_type,
        hidden_size=d,
        vocab_size=vocab,
        num_attention_heads=heads,
        num_key_value_heads=heads,
        head_dim=head,
        max_position_embeddings=None,
        tied_embeddings=tied,
        layers=(Layer(weights),) * count,
        outside=tuple(outside),
        dtype=f.word("dtype", "float32"),
        generates=False,
    )


def _distilbert(f: Fields) -> Architecture:
    return _read_encoder(f, Encoder(pooler=False, own_head_bias=False))


def _deberta(f: Fields) -> Architecture:
    """DeBERTa: relative positions, a convolution if asked; version 1 has no key bias."""
    first = f.model_type == "deberta"
    d, count = f.integer("hidden_size"), f.integer("num_hidden_layers")
    heads = f.integer("num_attention_heads")
    inner = d if first else heads * f.integer("attention_head_size", d // heads)
    relative = f.flag("relative_attention")
    kinds = _position_kinds(f)
    arch = _read_encoder(
        f, Encoder(positions=f.flag("position_biased_input", True), k_bias=not first, pooler=False)
    )
    outside = list(arch.outside)
    extra: list[Weight] = []
    if relative:
        reach = f.integer("max_relative_positions", -1, low=-1)
        reach = f.integer("max_position_embeddings") if reach < 1 else reach
        buckets = f.integer("position_buckets", -1, low=-1)
        rows = 2 * (reach if first or buckets < 1 else buckets)
        outside.append(Weight(Role.POSITION, (rows, d)))
        share = f.flag("share_att_key")
        if first:
            extra += matrix(Role.ATTN_K, inner, d, bias=False) if "c2p" in kinds else ()
            extra += matrix(Role.ATTN_Q, inner, d, bias=True) if "p2c" in kinds else ()
            extra += matrix(Role.OTHER, heads, heads, copies=2) if f.flag("talking_head") else ()
        elif not share:
            extra += matrix(Role.ATTN_K, inner, d, bias=True) if "c2p" in kinds else ()
            extra += matrix(Role.ATTN_Q, inner, d, bias=True) if "p2c" in kinds else ()
        if not first and "layer_norm" in f.word("norm_rel_ebd", "none"):
            outside += norms(d, 2)
    kernel = 0 if first else f.integer("conv_kernel_size", 0, low=0)
    if kernel:
        groups = f.integer("conv_groups", 1)
        outside += (Weight(Role.OTHER, (d, d // groups * kernel)), vector(Role.BIAS, d))
        outside += norms(d, 2)
    layers = tuple(replace(layer, weights=layer.weights + tuple(extra)) for layer in arch.layers)
    return replace(arch, layers=layers[:count], outside=tuple(outside))


def _position_kinds(f: Fields) -> str:
    value = f.raw("pos_att_type")
    return value if isinstance(value, str) else "|".join(f.words("pos_att_type"))


def _modernbert(f: Fields) -> Architecture:
    """ModernBERT: rotary positions, gated MLP in one matrix, no norm before the first attention."""
    d, ff, count = f.integer("hidden_size"), f.integer("intermediate_size"), f.integer("num_hidden_layers")
    heads, vocab = f.integer("num_attention_heads"), f.integer("vocab_size")
    norm = 2 if f.flag("norm_bias") else 1
    base = (
        *attention_weights(d, d, d, bias=f.flag("attention_bias")),
        *mlp_weights(d, ff, gated=True, bias=f.flag("mlp_bias")),
    )
    first = Layer((*norms(d, norm, 1), *base))
    rest = Layer((*norms(d, norm, 2), *base))
    outside = [Weight(Role.EMBEDDING, (vocab, d), Shard.VOCAB), *norms(d, norm, 2)]
    tied = f.flag("tie_word_embeddings", True)
    decodes = f.model_type == "modernbert-decoder"
    name = _class_name(f)
    task = name.endswith(("Classification", "ForQuestionAnswering", "ForMultipleChoice"))
    if not headless(f):
        outside += matrix(Role.OTHER, d, d, bias=f.flag("classifier_bias"))
        outside += norms(d, norm)
    if task:
        outside += matrix(Role.OTHER, 1 if name.endswith("Choice") else _labels(f), d, bias=True)
    elif not headless(f):
        if f.flag("decoder_bias", True):
            outside.append(vector(Role.BIAS, vocab, Shard.VOCAB))
        if not tied:
            outside += matrix(Role.LM_HEAD, vocab, d, Shard.VOCAB)
    layers = (first, *(rest for _ in range(count - 1)))
    if decodes:
        layers = tuple(
            _with_cache(layer, kind, f, d)
            for layer, kind in zip(layers, _modern_kinds(f, count), strict=True)
        )
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
        dtype=f.word("dtype", "float32"),
        generates=decodes,
    )


def _modern_kinds(f: Fields, count: int) -> tuple[str, ...]:
    every = f.integer("global_attn_every_n_layers", 3)
    pattern = tuple("full_attention" if i % every == 0 else "sliding_attention" for i in range(count))
    return f.words("layer_types", count, pattern)


def _with_cache(layer: Layer, kind: str, f: Fields, width: int) -> Layer:
    if kind == "full_attention":
        cache = Cache(CacheKind.FULL, 2 * width)
        return replace(layer, caches=(cache,))
    window = f.integer("sliding_window", f.integer("local_attention", 128) // 2)
    return replace(
        layer, caches=(Cache(CacheKind.SLIDING, 2 * width, window_tokens=window),), mixer="sliding"
    )


# ---- encoder-decoders ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Seq2Seq:
    """How a family departs from BART."""

    positions: int | None = 0  # learned positions with this many extra rows; None: sinusoidal, not stored
    embedding_norm: bool = True
    final_norm: bool = False
    shared: bool = True  # one table for encoder and decoder; False: only the decoder reads text


def _bart(traits: Seq2Seq) -> Reader:
    return lambda f: _read_bart(f, traits)


def decoder_cache(elements: int, heads: int) -> tuple[Cache, ...]:
    """The growing cache of a decoder layer: `elements` per token, K and V together."""
    return (Cache(CacheKind.FULL, elements, kv_heads=heads),)


def cross_cache(elements: int, heads: int, input_tokens: int | None = None) -> Cache:
    """What a decoder layer keeps of the encoded input: `elements` per input token, K and V together.

    `input_tokens`: length of the encoder's output when the architecture fixes it.
    """
    return Cache(CacheKind.CROSS, elements, window_tokens=input_tokens, kv_heads=heads)


def seq2seq_caches(elements: int, heads: int, input_tokens: int | None = None) -> tuple[Cache, ...]:
    """Both caches of a decoder layer: of its own tokens, and of the encoded input."""
    return (*decoder_cache(elements, heads), cross_cache(elements, heads, input_tokens))


def _note_task(f: Fields) -> None:
    name = _class_name(f)
    if name.endswith(("Classification", "ForQuestionAnswering")):
        f.assume(f"{name} has a task head: the task head is not counted")


def cross_note(f: Fields, per_token: int) -> None:
    """State that `cache_elements` leaves the encoded input out."""
    _note_task(f)
    f.assume(
        "cache elements are those of the generated tokens: the encoded input keeps "
        f"{per_token:,} elements per input token more, fixed while generating"
    )


def read_bart(f: Fields, extra_positions: int) -> Architecture:
    """A BART inside another model."""
    return _read_bart(f, Seq2Seq(positions=extra_positions))


def _read_bart(f: Fields, t: Seq2Seq) -> Architecture:
    d, vocab = f.integer("d_model"), f.integer("vocab_size")
    decoder_only = _class_name(f).endswith("ForCausalLM")
    encoder = _bart_layers(f, "encoder", d, cross=False) if not decoder_only else ()
    decoder = _bart_layers(f, "decoder", d, cross=True)
    sides = 1 if decoder_only else 2
    outside = list(_seq2seq_embeddings(f, vocab, d, decoder_only or not t.shared))
    if t.positions is not None:
        for side in ("decoder",) if decoder_only else ("encoder", "decoder"):
            rows = f.integer(f"max_{side}_position_embeddings", f.integer("max_position_embeddings", 1024))
            outside.append(Weight(Role.POSITION, (rows + t.positions, d)))
    outside += norms(d, 2, sides * (int(_normed(f, t)) + int(t.final_norm)))
    tied = f.flag("tie_word_embeddings", True)
    if not tied and not headless(f):
        outside += matrix(Role.LM_HEAD, vocab, d, Shard.VOCAB)
    heads = f.integer("decoder_attention_heads")
    cross_note(f, 2 * d * len(decoder))
    return Architecture(
        model_type=f.model_type,
        hidden_size=d,
        vocab_size=vocab,
        num_attention_heads=heads,
        num_key_value_heads=heads,
        head_dim=d // heads,
        max_position_embeddings=f.integer("max_position_embeddings", 0) or None,
        tied_embeddings=tied,
        layers=encoder + decoder,
        outside=tuple(outside),
        dtype=f.word("dtype", "float32"),
    )


def _seq2seq_embeddings(f: Fields, vocab: int, d: int, decoder_only: bool) -> tuple[Weight, ...]:
    """One shared table; three when nothing is tied; Marian may keep one per side."""
    own = f.integer("decoder_vocab_size", vocab)
    if decoder_only:
        return (Weight(Role.EMBEDDING, (own, d), Shard.VOCAB),)
    one, other = (
        Weight(Role.EMBEDDING, (vocab, d), Shard.VOCAB),
        Weight(Role.EMBEDDING, (own, d), Shard.VOCAB),
    )
    if not f.flag("share_encoder_decoder_embeddings", True):
        return (one, other)
    if f.flag("tie_word_embeddings", True):
        return (one,)
    f.assume("tie_word_embeddings is false: shared, encoder and decoder embeddings are counted apart")
    return (one, one, other)


def _normed(f: Fields, t: Seq2Seq) -> bool:
    return f.flag("normalize_embedding", t.embedding_norm) and t.embedding_norm


def _bart_layers(
    f: Fields, side: str, d: int, *, cross: bool, k_bias: bool = True, input_tokens: int | None = None
) -> tuple[Layer, ...]:
    ff, count = f.integer(f"{side}_ffn_dim"), f.integer(f"{side}_layers")
    weights = (
        *norms(d, 2, 3 if cross else 2),
        *attention_weights(d, d, d, k_bias=k_bias),
        *(attention_weights(d, d, d, k_bias=k_bias) if cross else ()),
        *mlp_weights(d, ff),
    )
    if not cross:
        return (Layer(weights),) * count
    heads = f.integer("decoder_attention_heads")
    return (Layer(weights, seq2seq_caches(2 * d, heads, input_tokens)),) * count


def _led(f: Fields) -> Architecture:
    """LED: a BART whose encoder has a second set of global projections and an output matrix."""
    arch = _read_bart(f, Seq2Seq())
    d, count = f.integer("d_model"), f.integer("encoder_layers")
    extra = (
        *matrix(Role.ATTN_Q, d, d, bias=True),
        *matrix(Role.ATTN_K, d, d, bias=True),
        *matrix(Role.ATTN_V, d, d, bias=True),
    )
    layers = tuple(
        replace(layer, weights=layer.weights + extra) if i < count else layer
        for i, layer in enumerate(arch.layers)
    )
    return replace(arch, layers=layers)


def _t5(f: Fields) -> Architecture:
    """T5: no biases, RMSNorms, a table of relative positions per stack (per layer in UMT5)."""
    d, ff, inner = f.integer("d_model"), f.integer("d_ff"), f.integer("num_heads") * f.integer("d_kv")
    encoders = f.integer("num_layers")
    decoders, vocab = f.integer("num_decoder_layers", encoders), f.integer("vocab_size")
    gated = f.flag("is_gated_act", f.word("feed_forward_proj", "relu").startswith("gated"))
    buckets = Weight(Role.OTHER, (f.integer("relative_attention_num_buckets", 32), f.integer("num_heads")))
    everywhere = (buckets,) if f.model_type == "umt5" else ()
    attention, mlp = (
        attention_weights(d, inner, inner, bias=False),
        mlp_weights(d, ff, gated=gated, bias=False),
    )
    encoder_layer = Layer((*norms(d, 1, 2), *attention, *mlp, *everywhere))
    caches = seq2seq_caches(2 * inner, f.integer("num_heads"))
    decoder_layer = Layer((*norms(d, 1, 3), *attention, *attention, *mlp, *everywhere), caches)
    only_encoder = _class_name(f).endswith("EncoderModel")
    tied = f.flag("tie_word_embeddings", True)
    outside = [Weight(Role.EMBEDDING, (vocab, d), Shard.VOCAB), *norms(d, 1, 1 if only_encoder else 2)]
    if not everywhere:
        outside += (buckets,) * (1 if only_encoder else 2)
    if not tied and not headless(f):
        outside += matrix(Role.LM_HEAD, vocab, d, Shard.VOCAB)
        f.assume(
            "tie_word_embeddings is false: the head is counted as its own matrix, as checkpoints store it; "
            "transformers 5 ties it when loading"
        )
    if not only_encoder:
        cross_note(f, 2 * inner * decoders)
    return Architecture(
        model_type=f.model_type,
        hidden_size=d,
        vocab_size=vocab,
        num_attention_heads=f.integer("num_heads"),
        num_key_value_heads=f.integer("num_heads"),
        head_dim=f.integer("d_kv"),
        max_position_embeddings=f.integer("n_positions", 0) or None,
        tied_embeddings=tied,
        layers=(encoder_layer,) * encoders + (() if only_encoder else (decoder_layer,) * decoders),
        outside=tuple(outside),
        dtype=f.word("dtype", "float32"),
        generates=not only_encoder,
    )


def _whisper(f: Fields) -> Architecture:
    """Whisper: an audio encoder, and a decoder whose keys have no bias."""
    d, vocab, heads = f.integer("d_model"), f.integer("vocab_size"), f.integer("decoder_attention_heads")
    # The encoder pads every clip to 30 seconds and halves the frames: always this many output tokens.
    heard = f.integer("max_source_positions", 1500)
    decoder = _bart_layers(f, "decoder", d, cross=True, k_bias=False, input_tokens=heard)
    outside: list[Weight] = [Weight(Role.EMBEDDING, (vocab, d), Shard.VOCAB)]
    outside.append(Weight(Role.POSITION, (f.integer("max_target_positions"), d)))
    outside += norms(d, 2)
    if not _class_name(f).endswith("ForCausalLM"):
        bag = Bag(Role.AUDIO)
        whisper_encoder(f, bag)
        outside += bag.weights()
    tied = f.flag("tie_word_embeddings", True)
    if not tied and not headless(f):
        outside += matrix(Role.LM_HEAD, vocab, d, Shard.VOCAB)
    cross_note(f, 2 * d * len(decoder))
    return Architecture(
        model_type=f.model_type,
        hidden_size=d,
        vocab_size=vocab,
        num_attention_heads=heads,
        num_key_value_heads=heads,
        head_dim=d // heads,
        max_position_embeddings=f.integer("max_target_positions", 0) or None,
        tied_embeddings=tied,
        layers=decoder,
        outside=tuple(outside),
        dtype=f.word("dtype", "float32"),
    )


def _cohere_asr(f: Fields) -> Architecture:
    """Cohere's transcriber: a Parakeet encoder and a plain decoder with cross attention."""
    d, ff, vocab = f.integer("hidden_size"), f.integer("intermediate_size"), f.integer("vocab_size")
    heads, count, bias = (
        f.integer("num_attention_heads"),
        f.integer("num_hidden_layers"),
        f.flag("attention_bias", True),
    )
    head = f.integer("head_dim", d // heads)
    kv_heads = f.integer("num_key_value_heads", heads)
    attention = attention_weights(d, heads * head, kv_heads * head, bias=bias)
    layer = Layer(
        (*norms(d, 2, 3), *attention, *attention, *mlp_weights(d, ff)),
        seq2seq_caches(2 * kv_heads * head, kv_heads),
    )
    outside: list[Weight] = [
        Weight(Role.EMBEDDING, (vocab, d), Shard.VOCAB),
        Weight(Role.POSITION, (f.integer("max_position_embeddings"), d)),
        *norms(d, 2, 2),
    ]
    tied = f.flag("tie_word_embeddings")
    if not headless(f):
        outside.append(vector(Role.BIAS, vocab, Shard.VOCAB))
        outside += matrix(Role.LM_HEAD, vocab, d, Shard.VOCAB) if not tied else ()
    encoder = f.sub("encoder_config")
    if encoder is not None:
        tower = parakeet(encoder)
        outside += tower.weights
        if tower.width != d:
            outside += matrix(Role.PROJECTOR, d, tower.width, bias=True)
    cross_note(f, 2 * kv_heads * head * count)
    return Architecture(
        model_type=f.model_type,
        hidden_size=d,
        vocab_size=vocab,
        num_attention_heads=heads,
        num_key_value_heads=kv_heads,
        head_dim=head,
        max_position_embeddings=f.integer("max_position_embeddings"),
        tied_embeddings=tied,
        layers=(layer,) * count,
        outside=tuple(outside),
        dtype=f.word("dtype", "float32"),
    )


def _speech_to_text(f: Fields) -> Architecture:
    """Speech-to-text transformer: gated convolutions, then a pre-norm BART without stored positions."""
    arch = _read_bart(f, Seq2Seq(positions=None, embedding_norm=False, final_norm=True, shared=False))
    kernels = f.integers("conv_kernel_sizes", default=(5, 5), low=1)
    wide, d = f.integer("conv_channels", 1024), f.integer("d_model")
    into = f.integer("input_feat_per_channel", 80) * f.integer("input_channels", 1)
    bag = Bag(Role.AUDIO)
    for i, kernel in enumerate(kernels):
        out = 2 * d if i == len(kernels) - 1 else wide
        bag.linear(out, into * kernel)
        into = wide // 2
    return replace(arch, outside=arch.outside + bag.weights())


ENCODERS: Final[dict[str, Reader]] = {
    "albert": _encoder(Encoder(extra_embedding=True, shared_layers=True)),
    "bart": _bart(Seq2Seq(positions=2)),
    "bert": _encoder(_BERT),
    "big_bird": _encoder(Encoder(always_pooled=True)),
    "blenderbot": _bart(Seq2Seq(embedding_norm=False, final_norm=True)),
    "blenderbot-small": _bart(Seq2Seq()),
    "camembert": _encoder(_ROBERTA),
    "cohere_asr": _cohere_asr,
    "deberta": _deberta,
    "deberta-v2": _deberta,
    "distilbert": _distilbert,
    "electra": _encoder(Encoder(extra_embedding=True, pooler=False, own_head_bias=False)),
    "ernie": _encoder(Encoder(task_ids=True)),
    "gte": _encoder(
        Encoder(
            positions=False, gated=True, mlp_bias=False, down_bias=True, pooler=False, own_head_bias=False
        )
    ),
    "led": _led,
    "m2m_100": _bart(Seq2Seq(positions=None, embedding_norm=False, final_norm=True)),
    "marian": _bart(Seq2Seq(embedding_norm=False)),
    "mbart": _bart(Seq2Seq(positions=2, final_norm=True)),
    "modernbert": _modernbert,
    "modernbert-decoder": _modernbert,
    "mpnet": _encoder(Encoder(buckets=True)),
    "mt5": _t5,
    "nomic_bert": _encoder(Encoder(positions=False, gated=True, bias=False, own_head_dim=True, pooler=False)),
    "pegasus": _bart(Seq2Seq(embedding_norm=False, final_norm=True)),
    "rembert": _rembert,
    "roberta": _encoder(_ROBERTA),
    "roberta-prelayernorm": _encoder(Encoder(final_norm=True)),
    "roformer": _roformer,
    "speech_to_text": _speech_to_text,
    "t5": _t5,
    "umt5": _t5,
    "whisper": _whisper,
    "xlm-roberta": _encoder(_ROBERTA),
    "xlnet": _xlnet,
    "xlm-roberta-xl": _encoder(Encoder(embedding_norm=False, final_norm=True)),
    "jina_embeddings_v3": _encoder(Encoder(positions=False)),
}
