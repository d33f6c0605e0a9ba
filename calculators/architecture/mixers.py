"""Token mixers with a key-value cache: grouped-query and latent attention (MLA), and their variants.

A builder takes the fields of one layer, the family's traits and the layer type.
It returns weights and caches.
Shapes are (out_features, in_features). Cache elements are K and V together, per sequence.
"""

from __future__ import annotations

from typing import NamedTuple

from calculators.architecture.keys import Fields
from calculators.architecture.layout import Cache, CacheKind, Role, Shard, Weight
from calculators.architecture.pieces import Part, matrix, norms, vector
from calculators.architecture.plan import flag
from calculators.architecture.traits import Traits


class Heads(NamedTuple):
    """Widths of grouped-query attention."""

    heads: int
    kv_heads: int
    head_dim: int
    value_dim: int


def hidden_size(fields: Fields) -> int:
    """Width of the residual stream."""
    return fields.integer("hidden_size")


def read_heads(fields: Fields, traits: Traits) -> Heads:
    """Head counts and widths, with each family's rule for absent keys."""
    heads = fields.integer("num_attention_heads")
    kv_heads = _kv_heads(fields, traits, heads)
    head_dim = fields.integer("head_dim", low=0) if traits.free_head_dim and fields.has("head_dim") else 0
    if head_dim == 0:
        head_dim = hidden_size(fields) // heads
        if head_dim == 0:
            raise fields.refuse("num_attention_heads", "is larger than the hidden size")
    value_dim = fields.integer("v_head_dim", default=head_dim)
    return Heads(heads, kv_heads, head_dim, value_dim)


def _kv_heads(fields: Fields, traits: Traits, heads: int) -> int:
    if traits.kv_heads == "mha":
        return heads
    if traits.kv_heads == "multi_query":
        return 1 if fields.flag("multi_query", True) else heads
    if traits.kv_heads == "falcon" and not fields.flag("new_decoder_architecture"):
        return 1 if fields.flag("multi_query", True) else heads
    kv_heads = fields.integer("num_key_value_heads", default=heads)
    if not fields.known and not fields.has("num_key_value_heads"):
        if fields.flag("multi_query"):
            return 1
        fields.assume(f"{fields.path}num_key_value_heads is missing: taken as num_attention_heads ({heads})")
    return kv_heads


def cache_of(
    fields: Fields, layer_type: str, elements: int, kv_heads: int, kind: CacheKind | None = None
) -> Cache:
    """The cache of an attention layer: sliding and chunked layers stop growing at their window."""
    window = None
    natural = CacheKind.FULL
    if layer_type in ("sliding", "hybrid_sliding"):
        natural = CacheKind.SLIDING
        window = fields.integer("sliding_window", default=0, low=0) or None
        if window is None:
            natural = CacheKind.FULL
    elif layer_type == "chunked":
        natural = CacheKind.CHUNKED
        window = fields.integer("attention_chunk_size", default=0, low=0) or None
    return Cache(kind or natural, elements, window, kv_heads=kv_heads)


def attention(fields: Fields, traits: Traits, layer_type: str) -> Part:
    """Multi-head, grouped-query and multi-query attention with the optional norms, gates and sinks."""
    width = hidden_size(fields)
    h = read_heads(fields, traits)
    qkv_bias = flag(fields, traits.qkv_bias)
    out_bias = flag(fields, traits.out_bias)
    reused = fields.flag("_kv_reused")  # this layer reads the keys and values of an earlier one
    out_width = width if traits.square_out else h.heads * h.value_dim
    one_for_both = fields.flag("attention_k_eq_v") and layer_type == "full"
    weights = matrix(Role.ATTN_Q, h.heads * h.head_dim, width, Shard.COLUMN, bias=qkv_bias)
    if not reused:
        weights += matrix(Role.ATTN_K, h.kv_heads * h.head_dim, width, Shard.KV_HEADS, bias=qkv_bias)
    if not reused and not one_for_both:
        weights += matrix(Role.ATTN_V, h.kv_heads * h.value_dim, width, Shard.KV_HEADS, bias=qkv_bias)
    weights = (
        *weights,
        *matrix(Role.ATTN_OUT, width, out_width, Shard.ROW, bias=out_bias),
        *_qk_norms(fields, traits, h, 1 if reused else 2),
        *_gate(fields, traits, h, width, qkv_bias),
    )
    if traits.sinks in ("all", layer_type):
        weights = (*weights, vector(Role.OTHER, h.heads, Shard.COLUMN))
    if reused:
        return Part(weights)
    elements = h.kv_heads * (h.head_dim + h.value_dim)
    return Part(weights, (cache_of(fields, layer_type, elements, h.kv_heads),))


def _qk_norms(fields: Fields, traits: Traits, h: Heads, tensors: int) -> tuple[Weight, ...]:
    if not traits.qk_norm or not flag(fields, traits.qk_norm_if):
        return ()
    count = traits.qk_norm_vectors
    kind = traits.qk_norm
    if kind == "qk_norm_type":
        kind = "head" if fields.word("qk_norm_type", "olmo") == "qwen3" else "width"
    if kind == "head":
        return norms(h.head_dim, count, tensors)
    dim = hidden_size(fields) // h.heads if kind == "hidden" else h.head_dim
    q, k = h.heads * dim, h.kv_heads * dim
    return (*norms(q, count), *norms(k, count))  # over the width, or one per head and channel: the same count


def _gate(fields: Fields, traits: Traits, h: Heads, width: int, bias: bool) -> tuple[Weight, ...]:
    if not traits.gate or not flag(fields, traits.gate_if):
        return ()
    per_head = traits.gate == "head" or (
        traits.gate == "gating" and fields.raw("gating") in (True, "per-head")
    )
    gates = h.heads if per_head else h.heads * h.value_dim
    weights = matrix(
        Role.ATTN_GATE,
        gates,
        width,
        Shard.COLUMN,
        bias=flag(fields, traits.gate_bias) or (bias and traits.gate == "query"),
    )
    return (*weights, vector(Role.BIAS, h.heads, Shard.COLUMN)) if traits.gate_extra else weights


def latent_attention(fields: Fields, traits: Traits, layer_type: str) -> Part:
    """Multi-head latent attention: one compressed vector and one rotary key per token, shared by all heads.

    Source: DeepSeek-V2 (arXiv:2405.04434), section 2.1; the indexer: DeepSeek-V3.2-Exp report.
    """
    width = hidden_size(fields)
    heads = fields.integer("num_attention_heads")
    rank = fields.integer("kv_lora_rank")
    rope = fields.integer("qk_rope_head_dim", low=0)
    nope = fields.integer("qk_nope_head_dim", low=0)
    value = fields.integer("v_head_dim", default=width // heads)
    query_dim = nope + rope
    if traits.query_dim_key:
        query_dim = fields.integer(traits.query_dim_key, default=query_dim)
    q_rank = fields.integer("q_lora_rank", default=0, low=0)
    bias = flag(fields, traits.qkv_bias)
    out_bias = flag(fields, traits.out_bias)
    if traits.q_form == "pair":
        query = (
            *matrix(Role.MLA_Q_A, q_rank, width, bias=bias),
            *norms(q_rank, 1),
            *matrix(Role.MLA_Q_B, heads * (query_dim + value), 2 * q_rank, Shard.COLUMN),
        )
    elif q_rank:
        query = (
            *matrix(Role.MLA_Q_A, q_rank, width, bias=bias),
            *norms(q_rank, 1),
            *matrix(Role.MLA_Q_B, heads * query_dim, q_rank, Shard.COLUMN),
        )
    else:
        query = matrix(Role.ATTN_Q, heads * query_dim, width, Shard.COLUMN)
    reused = fields.flag("_kv_reused")
    latent = () if reused else (*matrix(Role.MLA_KV_A, rank + rope, width, bias=bias), *norms(rank, 1))
    weights = (
        *query,
        *latent,
        *matrix(Role.MLA_KV_B, heads * (nope + value), rank, Shard.COLUMN),
        *matrix(Role.ATTN_OUT, width, heads * value, Shard.ROW, bias=out_bias),
    )
    weights = (*weights, *_gate(fields, traits, Heads(heads, heads, nope + rope, value), width, False))
    if traits.sinks == "all":
        weights = (*weights, vector(Role.OTHER, heads, Shard.COLUMN))
    if traits.k_rope_norm:
        weights = (*weights, *norms(rope, 1))
    window = fields.integer("sliding_window", default=0, low=0) or None if layer_type == "sliding" else None
    chosen = fields.integer("index_topk", default=0, low=0) or None if traits.index else None
    caches = () if reused else (Cache(CacheKind.LATENT, rank + rope, window, selected_cells=chosen),)
    if traits.index and layer_type == "indexed":
        query_width = width if traits.index_query == "hidden" else q_rank or width
        found = indexer(fields, traits, query_width, width)
        return Part(weights + found.weights, caches + found.caches)
    return Part(weights, caches)


def indexer(fields: Fields, traits: Traits, query_width: int, width: int) -> Part:
    """The lightning indexer of sparse attention: its own small keys, cached per token."""
    heads, dim = fields.integer("index_n_heads"), fields.integer("index_head_dim")
    weights = (
        *matrix(Role.INDEXER, heads * dim, query_width),
        *matrix(Role.INDEXER, dim, width),
        *norms(dim, 2),
        *matrix(Role.INDEXER, heads, width),
    )
    if traits.index_query == "hidden":
        weights = (*weights, *norms(width, 2), vector(Role.INDEXER, heads, copies=2))
    if traits.index_pool:
        pool = fields.integer("index_kpool", default=1)
        weights = (*weights, Weight(Role.OTHER, (pool, dim)), *matrix(Role.INDEXER, dim, width))
    return Part(weights, (Cache(CacheKind.INDEXER, dim),))


def compressed_attention(fields: Fields, traits: Traits, layer_type: str) -> Part:
    """DeepSeek-V4: one shared key-value head in a window, plus a compressed copy of the older tokens.

    csa keeps one cell for few tokens and has an indexer; hca keeps one cell for many. Source: the modelling
    class of transformers 5.24.0 (`DeepseekV4CSACache`, `DeepseekV4HCACache`).
    """
    width, heads = hidden_size(fields), fields.integer("num_attention_heads")
    dim, q_rank = fields.integer("head_dim"), fields.integer("q_lora_rank")
    groups, o_rank = fields.integer("o_groups"), fields.integer("o_lora_rank")
    window = fields.integer("sliding_window", default=128)
    weights = (
        *matrix(Role.MLA_Q_A, q_rank, width),
        *norms(q_rank, 1),
        *matrix(Role.MLA_Q_B, heads * dim, q_rank, Shard.COLUMN),
        *matrix(Role.MLA_KV_A, dim, width),
        *norms(dim, 1),
        *matrix(Role.ATTN_OUT, groups * o_rank, heads * dim // groups, Shard.COLUMN),
        *matrix(Role.ATTN_OUT, width, groups * o_rank, Shard.ROW),
        vector(Role.OTHER, heads, Shard.COLUMN),
    )
    caches: tuple[Cache, ...] = (Cache(CacheKind.SLIDING, dim, window),)
    if layer_type == "hca":
        rate = _compress_rate(fields, "heavily_compressed_attention", 128)
        weights = (*weights, *_compressor(rate, dim, width, Role.MLA_KV_A))
        caches = (*caches, Cache(CacheKind.COMPRESSED, dim, tokens_per_cell=rate))
    if layer_type == "csa":
        rate = _compress_rate(fields, "compressed_sparse_attention", 4)
        index = fields.integer("index_head_dim")
        index_heads = fields.integer("index_n_heads")
        weights = (
            *weights,
            *_compressor(rate, 2 * dim, width, Role.MLA_KV_A, dim),
            *_compressor(rate, 2 * index, width, Role.INDEXER, index),
            *matrix(Role.INDEXER, index_heads * index, q_rank),
            *matrix(Role.INDEXER, index_heads, width),
        )
        chosen = fields.integer("index_topk", default=0, low=0) or None
        kept = Cache(CacheKind.COMPRESSED, dim + index, tokens_per_cell=rate, selected_cells=chosen)
        caches = (*caches, kept)
    return Part(weights, caches)


def _compress_rate(fields: Fields, name: str, default: int) -> int:
    rates = fields.mapping("compress_rates")
    if rates is not None:
        inner = Fields(rates, "", path=fields.path + "compress_rates.", notes=fields.notes)
        default = inner.integer(name, default=default)
    short = {"heavily_compressed_attention": "hca", "compressed_sparse_attention": "csa"}[name]
    return fields.integer(f"compress_rate_{short}", default=default)


def _compressor(
    rate: int, columns: int, width: int, role: Role, norm: int | None = None
) -> tuple[Weight, ...]:
    return (
        Weight(Role.OTHER, (rate, columns)),
        *matrix(role, columns, width),
        *matrix(role, columns, width),
        *norms(norm or columns, 1),
    )


def block_sparse_attention(fields: Fields, traits: Traits, layer_type: str) -> Part:
    """Grouped-query attention; sparse layers choose blocks by a small cached index key (MiniMax-M3)."""
    part = attention(fields, traits, layer_type)
    if layer_type != "block_sparse":
        return part
    heads, dim, width = fields.integer("index_n_heads"), fields.integer("index_head_dim"), hidden_size(fields)
    part = part.plus(
        *matrix(Role.INDEXER, heads * dim, width), *matrix(Role.INDEXER, dim, width), *norms(dim, 1, 2)
    )
    return Part(part.weights, (*part.caches, Cache(CacheKind.INDEXER, dim)))


def cross_attention(fields: Fields, traits: Traits, layer_type: str) -> Part:
    """Mllama: a layer that attends to the image, whose cache does not grow with text."""
    part = attention(fields, traits, "full")
    h = read_heads(fields, traits)
    gates = vector(Role.OTHER, 1, copies=2)
    fields.assume("cross-attention layers cache the image, not the text: their cache is counted as 0 here")
    return Part((*part.weights, *norms(h.head_dim, 1, 2), gates), ())


def mixture_of_attention(fields: Fields, traits: Traits, layer_type: str) -> Part:
    """JetMoE: queries and outputs are experts, keys and values are shared; its MLP has experts too."""
    width = hidden_size(fields)
    inner = fields.integer("num_key_value_heads") * fields.integer("head_dim")
    experts, active = fields.integer("num_experts"), fields.integer("num_experts_per_tok")
    weights = (
        *matrix(Role.ATTN_K, inner, width, Shard.KV_HEADS),
        *matrix(Role.ATTN_V, inner, width, Shard.KV_HEADS),
        *matrix(Role.EXPERT_UP, inner, width, Shard.EXPERT, copies=experts, active=active),
        *matrix(Role.EXPERT_DOWN, width, inner, Shard.EXPERT, copies=experts, active=active),
        *matrix(Role.ROUTER, experts, width),
        vector(Role.BIAS, width, copies=2),  # one after the attention, one after the MLP
    )
    return Part(weights, (cache_of(fields, layer_type, 2 * inner, fields.integer("num_key_value_heads")),))


def double_latent_attention(fields: Fields, traits: Traits, layer_type: str) -> Part:
    """LongCat: two latent attentions in one layer, each with its own cache."""
    one = latent_attention(fields, traits, layer_type)
    return Part(one.weights * 2, one.caches * 2)


def shared_block(fields: Fields, traits: Traits, layer_type: str) -> Part:
    """Zamba: this layer calls a transformer block shared with others (counted once, outside the layers).

    Its own weights are one projection back to the width; its cache is its own.
    """
    width = hidden_size(fields)
    h = shared_heads(fields)
    cache = cache_of(fields, "full", h.kv_heads * (h.head_dim + h.value_dim), h.kv_heads)
    return Part(matrix(Role.OTHER, width, width), (cache,))


def shared_heads(fields: Fields) -> Heads:
    """Heads of the shared block, which reads twice the width."""
    heads = fields.integer("num_attention_heads")
    dim = fields.integer("head_dim", default=2 * hidden_size(fields) // heads)
    return Heads(heads, fields.integer("num_key_value_heads", default=heads), dim, dim)


def convolved_attention(fields: Fields, traits: Traits, layer_type: str) -> Part:
    """Zaya: queries, keys and half of the values pass a depthwise and a grouped convolution."""
    width, h = hidden_size(fields), read_heads(fields, traits)
    bias = flag(fields, traits.qkv_bias)
    keys, channels = h.kv_heads * h.head_dim, (h.heads + h.kv_heads) * h.head_dim
    first, second = fields.integer("cca_time0", default=2), fields.integer("cca_time1", default=2)
    weights = (
        *matrix(Role.ATTN_Q, h.heads * h.head_dim, width, Shard.COLUMN, bias=bias),
        *matrix(Role.ATTN_K, keys, width, Shard.KV_HEADS, bias=bias),
        *matrix(Role.ATTN_V, keys // 2, width, Shard.KV_HEADS, bias=bias, copies=2),
        *matrix(Role.ATTN_OUT, width, h.heads * h.head_dim, Shard.ROW, bias=flag(fields, traits.out_bias)),
        Weight(Role.STATE_CONV, (channels, first)),
        Weight(Role.STATE_CONV, (channels, h.head_dim * second)),
        vector(Role.BIAS, channels, copies=2),
        vector(Role.OTHER, h.kv_heads),
    )
    delayed = channels * (first + second - 2) + keys // 2  # convolution columns, and one delayed value
    return Part(
        weights,
        (
            cache_of(fields, layer_type, 2 * keys, h.kv_heads),
            Cache(CacheKind.CONV, fixed_elements=delayed),
        ),
    )
