"""Weights of unusual designs that no general mechanism covers: per layer and outside the layers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

from calculators.architecture.keys import Fields
from calculators.architecture.layout import Role, Shard, Weight
from calculators.architecture.mixers import hidden_size, read_heads, shared_heads
from calculators.architecture.mlps import expert_width, mlp_weights, mlp_width, top_k
from calculators.architecture.pieces import matrix, norms, vector
from calculators.architecture.plan import flag, hybrid_layers, mixer_types
from calculators.architecture.traits import Traits

LayerExtra = Callable[[Fields, Traits, str, bool], tuple[Weight, ...]]
OutsideExtra = Callable[[Fields, Traits, int], tuple[Weight, ...]]


# ---- per layer ----------


def _xielu(fields: Fields, traits: Traits, layer_type: str, sparse: bool) -> tuple[Weight, ...]:
    return (vector(Role.OTHER, 1, copies=2),)  # the activation's two slopes


def _sub_norms(fields: Fields, traits: Traits, layer_type: str, sparse: bool) -> tuple[Weight, ...]:
    return (*norms(hidden_size(fields), 1), *norms(mlp_width(fields, traits), 1))


def _post_norms(fields: Fields, traits: Traits, layer_type: str, sparse: bool) -> tuple[Weight, ...]:
    return norms(hidden_size(fields), 1, 2) if fields.flag("use_post_norm") else ()


def _sparse_post_norm(fields: Fields, traits: Traits, layer_type: str, sparse: bool) -> tuple[Weight, ...]:
    return norms(hidden_size(fields), 1) if sparse else ()


def _differential(fields: Fields, traits: Traits, layer_type: str, sparse: bool) -> tuple[Weight, ...]:
    return (vector(Role.OTHER, read_heads(fields, traits).head_dim, copies=4),)


def _doge(fields: Fields, traits: Traits, layer_type: str, sparse: bool) -> tuple[Weight, ...]:
    h = read_heads(fields, traits)
    bias = fields.flag("attention_bias")
    mask = matrix(Role.OTHER, h.kv_heads, h.kv_heads * h.value_dim, bias=bias)
    weights = (vector(Role.OTHER, hidden_size(fields), copies=2), vector(Role.OTHER, h.kv_heads), *mask)
    if not fields.flag("is_moe"):
        return weights
    width, experts = hidden_size(fields), fields.integer("num_experts")
    active = top_k(fields, experts)  # each expert is one row of two tables
    return (
        *weights,
        *matrix(Role.ROUTER, 2 * math.isqrt(experts), width),
        Weight(Role.EXPERT_UP, (1, width), Shard.EXPERT, experts, active),
        Weight(Role.EXPERT_DOWN, (1, width), Shard.EXPERT, experts, active),
    )


def _altup(fields: Fields, traits: Traits, layer_type: str, sparse: bool) -> tuple[Weight, ...]:
    """AltUp and LAuReL of Gemma 3n."""
    width, inputs = hidden_size(fields), fields.integer("altup_num_inputs")
    rank = fields.integer("laurel_rank")
    return (
        vector(Role.OTHER, width),
        *matrix(Role.OTHER, inputs, inputs),
        *matrix(Role.OTHER, inputs * inputs, inputs),
        *matrix(Role.OTHER, inputs, width),
        *norms(width, 1, 2),
        *matrix(Role.OTHER, rank, width),
        *matrix(Role.OTHER, width, rank),
    )


def _per_layer_inputs(fields: Fields, traits: Traits, layer_type: str, sparse: bool) -> tuple[Weight, ...]:
    width, inner = hidden_size(fields), fields.integer("hidden_size_per_layer_input", default=0, low=0)
    if not inner:
        return ()
    return (*matrix(Role.OTHER, inner, width), *matrix(Role.OTHER, width, inner), *norms(width, 1))


def _gemma4_experts(fields: Fields, traits: Traits, layer_type: str, sparse: bool) -> tuple[Weight, ...]:
    """Gemma 4 runs a mixture of experts beside the dense MLP of the same layer."""
    if not fields.flag("enable_moe_block"):
        return ()
    width, experts = hidden_size(fields), fields.integer("num_experts")
    inner, active = expert_width(fields, traits), top_k(fields, experts)
    shapes = (
        (Role.EXPERT_GATE, inner, width),
        (Role.EXPERT_UP, inner, width),
        (Role.EXPERT_DOWN, width, inner),
    )
    return (
        *matrix(Role.ROUTER, experts, width),
        vector(Role.ROUTER, width),
        vector(Role.ROUTER, experts),
        *(
            w
            for role, o, i in shapes
            for w in matrix(role, o, i, Shard.EXPERT, copies=experts, active=active)
        ),
        *norms(width, 1, 3),
    )


def _hyper_connections(fields: Fields, traits: Traits, layer_type: str, sparse: bool) -> tuple[Weight, ...]:
    """Several residual streams mixed before the attention and before the MLP."""
    width, streams = hidden_size(fields), fields.integer("hc_mult", default=4)
    mixes = (2 + streams) * streams
    return (
        Weight(Role.OTHER, (mixes, streams * width), copies=2),
        vector(Role.OTHER, mixes, copies=2),
        vector(Role.OTHER, 3, copies=2),
    )


def _hyper_connections_two(
    fields: Fields, traits: Traits, layer_type: str, sparse: bool
) -> tuple[Weight, ...]:
    """Hunyuan 4: reads and writes of the streams without the mixing matrix."""
    width, streams = hidden_size(fields), fields.integer("hc_mult", default=4)
    return (
        Weight(Role.OTHER, (2 * streams, streams * width), copies=2),
        vector(Role.OTHER, 2 * streams, copies=2),
        vector(Role.OTHER, 2, copies=2),
    )


def _gated_norms(fields: Fields, traits: Traits, layer_type: str, sparse: bool) -> tuple[Weight, ...]:
    width, rank = hidden_size(fields), fields.integer("gated_norm_rank", default=16)
    count = 2 if sparse else 1
    return (*matrix(Role.OTHER, rank, width, copies=count), *matrix(Role.OTHER, width, rank, copies=count))


def _dory(fields: Fields, traits: Traits, layer_type: str, sparse: bool) -> tuple[Weight, ...]:
    """Normalised transformer: learned scales in place of norms."""
    h = read_heads(fields, traits)
    return (
        vector(Role.OTHER, hidden_size(fields), copies=2),
        vector(Role.OTHER, h.heads * h.head_dim, copies=2),
        vector(Role.OTHER, mlp_width(fields, traits), copies=2),
    )


def _two_dense(fields: Fields, traits: Traits, layer_type: str, sparse: bool) -> tuple[Weight, ...]:
    """LongCat: two dense MLPs beside the mixture."""
    return mlp_weights(hidden_size(fields), mlp_width(fields, traits), True, False, False) * 2


def _residual_scales(fields: Fields, traits: Traits, layer_type: str, sparse: bool) -> tuple[Weight, ...]:
    return (vector(Role.OTHER, hidden_size(fields), copies=8),)


def _residual_gates(fields: Fields, traits: Traits, layer_type: str, sparse: bool) -> tuple[Weight, ...]:
    return (vector(Role.OTHER, hidden_size(fields), copies=2),)


def _softmax_scaling(fields: Fields, traits: Traits, layer_type: str, sparse: bool) -> tuple[Weight, ...]:
    return (vector(Role.OTHER, fields.integer("num_attention_heads"), copies=2),)


def _norm_biases(fields: Fields, traits: Traits, layer_type: str, sparse: bool) -> tuple[Weight, ...]:
    """xLSTM: `use_bias` gives the norms of a block a shift, the final one none."""
    return (vector(Role.NORM, hidden_size(fields), copies=3),) if fields.flag("use_bias") else ()


def _time_norm(fields: Fields, traits: Traits, layer_type: str, sparse: bool) -> tuple[Weight, ...]:
    """Voxtral Realtime scales a norm by the delay, through 32 channels."""
    width = hidden_size(fields)
    return (*matrix(Role.OTHER, 32, width), *matrix(Role.OTHER, width, 32))


LAYER_EXTRAS: Final[dict[str, LayerExtra]] = {
    "altup": _altup,
    "differential": _differential,
    "doge": _doge,
    "dory": _dory,
    "gated_norms": _gated_norms,
    "hyper_connections_two": _hyper_connections_two,
    "gemma4_experts": _gemma4_experts,
    "hyper_connections": _hyper_connections,
    "hyper_streams": _hyper_connections,
    "per_layer_inputs": _per_layer_inputs,
    "post_norms": _post_norms,
    "sparse_post_norm": _sparse_post_norm,
    "time_norm": _time_norm,
    "two_dense": _two_dense,
    "residual_scales": _residual_scales,
    "residual_gates": _residual_gates,
    "softmax_scaling": _softmax_scaling,
    "norm_biases": _norm_biases,
    "sub_norms": _sub_norms,
    "xielu": _xielu,
}


# ---- outside the layers ----------


def _altup_outside(fields: Fields, traits: Traits, layers: int) -> tuple[Weight, ...]:
    width, inputs = hidden_size(fields), fields.integer("altup_num_inputs")
    return matrix(Role.OTHER, width, width, copies=2 * (inputs - 1))


def _per_layer_inputs_outside(fields: Fields, traits: Traits, layers: int) -> tuple[Weight, ...]:
    width, inner = hidden_size(fields), fields.integer("hidden_size_per_layer_input", default=0, low=0)
    if not inner:
        return ()
    rows = fields.integer("vocab_size_per_layer_input", default=fields.integer("vocab_size"))
    table = Weight(Role.EMBEDDING, (rows, layers * inner), Shard.VOCAB)
    return (table, *matrix(Role.OTHER, layers * inner, width), *norms(inner, 1))


def _hyper_connections_outside(fields: Fields, traits: Traits, layers: int) -> tuple[Weight, ...]:
    width, streams = hidden_size(fields), fields.integer("hc_mult", default=4)
    return (
        Weight(Role.OTHER, (streams, streams * width)),
        vector(Role.OTHER, streams),
        vector(Role.OTHER, 1),
    )


def _extra_token_rows(fields: Fields, traits: Traits, layers: int) -> tuple[Weight, ...]:
    return (Weight(Role.EMBEDDING, (8, hidden_size(fields)), Shard.VOCAB),)  # Mllama's image tokens


def _rwkv_outside(fields: Fields, traits: Traits, layers: int) -> tuple[Weight, ...]:
    return norms(hidden_size(fields), 2)  # block 0 normalises the embedding


def _projected_embedding(fields: Fields, traits: Traits, layers: int) -> tuple[Weight, ...]:
    """OPT-350m: embeddings narrower than the model, projected in and out."""
    width, narrow = hidden_size(fields), fields.integer("word_embed_proj_dim", default=hidden_size(fields))
    if narrow == width:
        return ()
    return (*matrix(Role.OTHER, width, narrow), *matrix(Role.OTHER, narrow, width))


def _dory_outside(fields: Fields, traits: Traits, layers: int) -> tuple[Weight, ...]:
    return (vector(Role.OTHER, fields.integer("vocab_size"), Shard.VOCAB),)


def _width_vector(fields: Fields, traits: Traits, layers: int) -> tuple[Weight, ...]:
    return (vector(Role.OTHER, hidden_size(fields)),)


def _shared_blocks(fields: Fields, traits: Traits, layers: int) -> tuple[Weight, ...]:
    """The transformer blocks that Zamba's hybrid layers share, and each call's own adapters."""
    width, h = hidden_size(fields), shared_heads(fields)
    wide = fields.integer("attention_hidden_size", default=2 * width)
    inner = fields.integer("intermediate_size", default=4 * width)
    bias = fields.flag("add_bias_linear")
    calls = hybrid_layers(mixer_types(fields, traits, layers))
    blocks = slots = min(fields.integer("num_mem_blocks", default=1), calls)
    if not fields.flag("tie_word_embeddings", True):  # untied, every call has the block it was built with
        blocks, slots = calls, sum(-(-(calls - call % blocks) // blocks) for call in range(calls))
    else:
        slots = calls
    block = (
        *matrix(Role.ATTN_Q, h.heads * h.head_dim, wide, Shard.COLUMN),
        *matrix(Role.ATTN_K, h.kv_heads * h.head_dim, wide, Shard.KV_HEADS),
        *matrix(Role.ATTN_V, h.kv_heads * h.head_dim, wide, Shard.KV_HEADS),
        *matrix(Role.ATTN_OUT, width, h.heads * h.head_dim, Shard.ROW),
        *mlp_weights(width, inner, True, bias, bias),
        *norms(wide, 1),
        *norms(width, 1),
    )
    rank = fields.integer("adapter_rank", default=0, low=0)
    adapters: tuple[Weight, ...] = ()
    if rank:
        adapters += matrix(Role.OTHER, rank, width) + matrix(Role.OTHER, 2 * inner, rank)
    if rank and fields.flag("use_shared_attention_adapter"):
        adapters += matrix(Role.OTHER, rank, wide, copies=3) + matrix(Role.OTHER, wide, rank, copies=3)
    return block * blocks + adapters * slots


def _prediction_head(fields: Fields, traits: Traits, layers: int) -> tuple[Weight, ...]:
    width = hidden_size(fields)
    vectors = traits.norm + flag(fields, traits.norm_shift)
    return (*matrix(Role.OTHER, width, width, bias=fields.flag("classifier_bias")), *norms(width, vectors))


def _residual_scales_outside(fields: Fields, traits: Traits, layers: int) -> tuple[Weight, ...]:
    small = fields.integer("router_hidden_size", default=256)
    return (
        vector(Role.OTHER, hidden_size(fields), copies=2),
        vector(Role.ROUTER, small, copies=layers - 1),  # every router but the first reads the one before
    )


def _message_queries(fields: Fields, traits: Traits, layers: int) -> tuple[Weight, ...]:
    looped = fields.integer("loop_layer_index_end") - fields.integer("loop_layer_index_start", low=0)
    return (vector(Role.OTHER, hidden_size(fields), copies=4 * looped),) if looped > 0 else ()


def _rotary_scale(fields: Fields, traits: Traits, layers: int) -> tuple[Weight, ...]:
    return (vector(Role.OTHER, fields.integer("qk_rope_head_dim") // 2),)  # learned frequencies


OUTSIDE_EXTRAS: Final[dict[str, OutsideExtra]] = {
    "altup": _altup_outside,
    "extra_token_rows": _extra_token_rows,
    "dory": _dory_outside,
    "hrm": _width_vector,
    "last_dense_bias": _width_vector,
    "hyper_connections": _hyper_connections_outside,
    "hyper_connections_two": _hyper_connections_outside,
    "per_layer_inputs": _per_layer_inputs_outside,
    "projected_embedding": _projected_embedding,
    "prediction_head": _prediction_head,
    "final_query": _width_vector,
    "message_queries": _message_queries,
    "residual_scales": _residual_scales_outside,
    "rotary_scale": _rotary_scale,
    "rwkv": _rwkv_outside,
    "shared_blocks": _shared_blocks,
}
