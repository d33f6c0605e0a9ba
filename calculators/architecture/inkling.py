"""Inkling: attention with relative position tables and short convolutions on keys, values and both outputs.

Source: the modelling classes of transformers 5.24.0 (`inkling`, `inkling2`, `inkling2_loop`).
"""

from __future__ import annotations

from calculators.architecture.keys import Fields
from calculators.architecture.layout import Cache, CacheKind, Role, Shard, Weight
from calculators.architecture.mixers import Heads, cache_of, hidden_size
from calculators.architecture.mlps import top_k
from calculators.architecture.pieces import Part, matrix, norms, vector
from calculators.architecture.traits import Traits


def _heads(fields: Fields, slides: bool) -> Heads:
    prefix = "swa_" if slides else ""
    dim = fields.integer(prefix + "head_dim")
    return Heads(
        fields.integer(prefix + "num_attention_heads"),
        fields.integer(prefix + "num_key_value_heads"),
        dim,
        dim,
    )


def _kernel(fields: Fields) -> int:
    return fields.integer("conv_kernel_size", default=4)


def _caches(fields: Fields, layer_type: str, h: Heads) -> tuple[Cache, ...]:
    keys = h.kv_heads * h.head_dim
    columns = (2 * keys + 2 * hidden_size(fields)) * _kernel(fields)
    return (
        cache_of(fields, layer_type, 2 * keys, h.kv_heads),
        Cache(CacheKind.CONV, fixed_elements=columns),
    )


def attention(fields: Fields, traits: Traits, layer_type: str) -> Part:
    """First generation."""
    width, kernel = hidden_size(fields), _kernel(fields)
    slides = layer_type == "hybrid_sliding"
    h = _heads(fields, slides)
    keys, rel = h.kv_heads * h.head_dim, fields.integer("d_rel")
    extent = fields.integer("sliding_window") if slides else fields.integer("rel_extent")
    weights = (
        *matrix(Role.ATTN_Q, h.heads * h.head_dim, width, Shard.COLUMN),
        *matrix(Role.ATTN_K, keys, width, Shard.KV_HEADS),
        *matrix(Role.ATTN_V, keys, width, Shard.KV_HEADS),
        *matrix(Role.ATTN_OUT, width, h.heads * h.head_dim, Shard.ROW),
        *matrix(Role.OTHER, h.heads * rel, width, Shard.COLUMN),
        Weight(Role.OTHER, (rel, extent)),
        *norms(h.head_dim, 1, 2),
        Weight(Role.STATE_CONV, (keys, kernel), Shard.KV_HEADS, copies=2),
        Weight(Role.STATE_CONV, (width, kernel), copies=2),
        vector(Role.OTHER, 1),  # scale of the MLP or of the router
    )
    return Part(weights, _caches(fields, layer_type, h))


def attention2(fields: Fields, traits: Traits, layer_type: str) -> Part:
    """Second generation: full layers read three mixtures of the residual blocks and convolve dynamically."""
    width, kernel = hidden_size(fields), _kernel(fields)
    slides = layer_type == "hybrid_sliding"
    h = _heads(fields, slides)
    keys, rel = h.kv_heads * h.head_dim, fields.integer("d_rel")
    extent = fields.integer("sliding_window") if slides else fields.integer("rel_extent")
    mixtures = 1 + (0 if fields.has("_norms") else 1 if slides else 3)  # layer 0 has no blocks to read
    if slides:
        convolution: tuple[Weight, ...] = (Weight(Role.STATE_CONV, (keys, kernel), Shard.KV_HEADS, copies=2),)
    else:
        convolution = (
            Weight(Role.STATE_CONV, (kernel, keys), copies=2),
            Weight(Role.STATE_CONV, (h.kv_heads * kernel, width), copies=2),
            *norms(width, 1, 2),  # queries, keys and values are normalised apart
        )
    weights = (
        *matrix(Role.ATTN_Q, h.heads * h.head_dim, width, Shard.COLUMN),
        *matrix(Role.ATTN_K, keys, width, Shard.KV_HEADS),
        *matrix(Role.ATTN_V, keys, width, Shard.KV_HEADS),
        *matrix(Role.ATTN_OUT, width, h.heads * h.head_dim, Shard.ROW),
        *matrix(Role.ATTN_GATE, h.heads * h.head_dim, width, Shard.COLUMN),
        *matrix(Role.OTHER, h.heads, width, Shard.COLUMN),  # sinks
        vector(Role.NORM, h.heads * h.head_dim, Shard.COLUMN),
        Weight(Role.OTHER, (rel, extent)),
        *matrix(Role.OTHER, h.heads * rel, width, Shard.COLUMN),
        vector(Role.NORM, h.heads * rel, Shard.COLUMN),
        *convolution,
        Weight(Role.STATE_CONV, (width, kernel), copies=2),
        vector(Role.OTHER, width, copies=mixtures),
    )
    if fields.flag("_looped"):
        rank = fields.integer("loop_gate_rank")
        weights = (
            *weights,
            *matrix(Role.OTHER, rank, 2 * width, copies=4),
            *matrix(Role.OTHER, width, rank, copies=8),
        )
    return Part(weights, _caches(fields, layer_type, h))


def mixture(fields: Fields, traits: Traits) -> Part:
    """Routed experts beside shared ones that the router also scores."""
    width, experts = hidden_size(fields), fields.integer("num_experts")
    shared = fields.integer("num_shared_experts", default=0, low=0)
    active = top_k(fields, experts)
    key = "intermediate_size" if fields.explicit("dense_intermediate_size") else "moe_intermediate_size"
    inner = fields.integer(key)
    pairs = (("GATE", inner, width), ("UP", inner, width), ("DOWN", width, inner))
    weights = matrix(Role.ROUTER, experts + shared, width)
    for name, rows, columns in pairs:
        weights += matrix(Role[f"EXPERT_{name}"], rows, columns, Shard.EXPERT, copies=experts, active=active)
        if shared:
            weights += matrix(Role[f"SHARED_{name}"], rows, columns, copies=shared)
    return Part(weights)
