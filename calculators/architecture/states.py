"""Token mixers that keep a state of fixed size instead of a growing cache.

State elements count the convolution's `kernel` columns, as transformers allocates them.
"""

from __future__ import annotations

import math

from calculators.architecture.keys import Fields
from calculators.architecture.layout import Cache, CacheKind, Role, Shard, Weight
from calculators.architecture.mixers import hidden_size
from calculators.architecture.pieces import Part, matrix, norms, vector
from calculators.architecture.plan import flag
from calculators.architecture.traits import Traits


def _state(conv: int, state: int) -> tuple[Cache, ...]:
    conv_cache = (Cache(CacheKind.CONV, fixed_elements=conv),) if conv else ()
    state_cache = (Cache(CacheKind.STATE, fixed_elements=state),) if state else ()
    return conv_cache + state_cache


def _conv(channels: int, kernel: int, bias: bool) -> tuple[Weight, ...]:
    weight = Weight(Role.STATE_CONV, (channels, kernel), Shard.COLUMN)
    return (weight, vector(Role.BIAS, channels, Shard.COLUMN)) if bias else (weight,)


def gated_delta_net(fields: Fields, traits: Traits, layer_type: str) -> Part:
    """Gated DeltaNet (arXiv:2412.06464) as in Qwen3-Next; defaults of OLMo-Hybrid."""
    width = hidden_size(fields)
    heads = fields.integer("num_attention_heads")
    key_heads = fields.integer("linear_num_key_heads", default=heads)
    value_heads = fields.integer("linear_num_value_heads", default=heads)
    key_dim = fields.integer("linear_key_head_dim", default=max(3 * width // (4 * key_heads), 1))
    value_dim = fields.integer("linear_value_head_dim", default=2 * key_dim)
    kernel = fields.integer("linear_conv_kernel_dim", default=4)
    keys, values = key_heads * key_dim, value_heads * value_dim
    channels = 2 * keys + values
    weights = (
        *matrix(Role.STATE_IN, channels, width, Shard.COLUMN),
        *matrix(Role.STATE_IN, values, width, Shard.COLUMN),  # output gate
        *matrix(Role.STATE_IN, 2 * value_heads, width, Shard.COLUMN),  # write strength and decay
        *_conv(channels, kernel, False),
        vector(Role.STATE_PARAM, value_heads, Shard.COLUMN, copies=2),
        *norms(value_dim, 1),
        *matrix(Role.STATE_OUT, width, values, Shard.ROW),
    )
    return Part(weights, _state(channels * kernel, value_heads * key_dim * value_dim))


def kda(fields: Fields, traits: Traits, layer_type: str) -> Part:
    """Kimi Delta Attention (arXiv:2510.26692): a delta rule with one decay per channel."""
    width = hidden_size(fields)
    nested = fields.mapping("linear_attn_config") or {}
    inner = Fields(nested, "", path=fields.path + "linear_attn_config.", notes=fields.notes)
    heads = inner.integer(
        "num_heads", default=fields.integer("linear_num_heads", default=0)
    ) or fields.integer("num_attention_heads")
    dim = inner.integer("head_dim", default=fields.integer("linear_head_dim", default=0)) or fields.integer(
        "head_dim"
    )
    kernel = inner.integer(
        "short_conv_kernel_size", default=fields.integer("linear_conv_kernel_dim", default=4)
    )
    channels = heads * dim
    full = matrix(Role.STATE_IN, channels, width, Shard.COLUMN)
    low = (*matrix(Role.STATE_IN, dim, width), *matrix(Role.STATE_IN, channels, dim, Shard.COLUMN))
    decay = full if traits.kda_rank == "full" else low
    gate = full if traits.kda_rank == "full" or inner.flag("use_full_rank_gate") else low
    weights = (
        *matrix(Role.STATE_IN, 3 * channels, width, Shard.COLUMN),
        *_conv(3 * channels, kernel, False),
        vector(Role.STATE_PARAM, channels, Shard.COLUMN),
        vector(Role.STATE_PARAM, heads, Shard.COLUMN),
        *decay,
        *gate,  # output gate
        *matrix(Role.STATE_IN, heads, width, Shard.COLUMN),
        *norms(dim, 1),
        *matrix(Role.STATE_OUT, width, channels, Shard.ROW),
    )
    return Part(weights, _state(3 * channels * kernel, heads * dim * dim))


def lightning(fields: Fields, traits: Traits, layer_type: str) -> Part:
    """Lightning attention (arXiv:2501.08313): one matrix state per head, no convolution."""
    width = hidden_size(fields)
    heads = fields.integer("num_attention_heads")
    dim = fields.integer("head_dim", default=width // heads)
    inner = heads * dim
    weights = (
        *matrix(Role.STATE_IN, 3 * inner, width, Shard.COLUMN),
        *matrix(Role.STATE_IN, inner, width, Shard.COLUMN),
        *norms(inner, 1),
        *matrix(Role.STATE_OUT, width, inner, Shard.ROW),
    )
    return Part(weights, _state(0, heads * dim * dim))


def short_conv(fields: Fields, traits: Traits, layer_type: str) -> Part:
    """The gated short convolution of LFM2."""
    width = hidden_size(fields)
    kernel = fields.integer("conv_L_cache", default=3)
    bias = fields.flag("conv_bias")
    weights = (
        *matrix(Role.STATE_IN, 3 * width, width, Shard.COLUMN, bias=bias),
        *_conv(width, kernel, bias),
        *matrix(Role.STATE_OUT, width, width, Shard.ROW, bias=bias),
    )
    return Part(weights, _state(width * kernel, 0))


def mamba(fields: Fields, traits: Traits, layer_type: str) -> Part:
    """Selective state space, first version (arXiv:2312.00752)."""
    width = hidden_size(fields)
    prefix = "mamba_" if fields.has("mamba_d_state") else ""
    if prefix:
        inner = width * fields.integer("mamba_expand", default=2)
        state, kernel = fields.integer("mamba_d_state"), fields.integer("mamba_d_conv", default=4)
        rank = _rank(fields, "mamba_dt_rank", width)
        conv_bias, bias = fields.flag("mamba_conv_bias", True), fields.flag("mamba_proj_bias")
    else:
        inner = int(width * fields.number("expand", 2, low=0.01, high=1000))
        if fields.explicit("intermediate_size"):
            inner = fields.integer("intermediate_size")
        state, kernel = fields.integer("state_size", default=16), fields.integer("conv_kernel", default=4)
        rank = _rank(fields, "time_step_rank", width)
        conv_bias, bias = fields.flag("use_conv_bias", True), fields.flag("use_bias")
    weights = (
        *matrix(Role.STATE_IN, 2 * inner, width, Shard.COLUMN, bias=bias),
        *_conv(inner, kernel, conv_bias),
        *matrix(Role.STATE_IN, rank + 2 * state, inner, Shard.ROW),
        *matrix(Role.STATE_IN, inner, rank, Shard.COLUMN, bias=True),
        Weight(Role.STATE_PARAM, (inner, state), Shard.COLUMN),
        vector(Role.STATE_PARAM, inner, Shard.COLUMN),
        *matrix(Role.STATE_OUT, width, inner, Shard.ROW, bias=bias),
    )
    if traits.state_norms:  # Jamba normalises the step and both projections
        weights = (*weights, *norms(rank, 1), *norms(state, 1, 2))
    return Part(weights, _state(inner * kernel, inner * state))


def _rank(fields: Fields, name: str, width: int) -> int:
    value = fields.raw(name)
    return math.ceil(width / 16) if value is None or value == "auto" else fields.integer(name)


def mamba2(fields: Fields, traits: Traits, layer_type: str) -> Part:
    """State space duality, second version (arXiv:2405.21060)."""
    width = hidden_size(fields)
    heads = _first(fields, ("mamba_n_heads", "mamba_num_heads", "n_mamba_heads", "num_heads"))
    dim = _mamba2_head_dim(fields, width, heads)
    groups = _first(fields, ("mamba_n_groups", "mamba_ngroups", "n_groups"), 1)
    state = _first(fields, ("mamba_d_state", "ssm_state_size", "state_size"))
    kernel = _first(fields, ("mamba_d_conv", "conv_kernel"), 4)
    if traits.state_conv_bias:
        conv_bias = True
    elif fields.has("mamba_conv_bias"):
        conv_bias = fields.flag("mamba_conv_bias")
    else:
        conv_bias = fields.flag("use_conv_bias", not fields.known)
    bias = flag(fields, traits.state_bias)
    out_bias = fields.flag("projectors_bias") if fields.has("projectors_bias") else bias
    inner = heads * dim
    channels = inner + 2 * groups * state
    weights = (
        *matrix(Role.STATE_IN, inner + channels + heads, width, Shard.COLUMN, bias=bias),
        *_conv(channels, kernel, conv_bias),
        vector(Role.STATE_PARAM, heads, Shard.COLUMN, copies=3),  # step bias, A, D
        *(norms(inner, 1) if flag(fields, traits.state_norm_if) else ()),
        *matrix(Role.STATE_OUT, width, inner, Shard.ROW, bias=out_bias),
    )
    return Part(weights, _state(channels * kernel, inner * state))


def _first(fields: Fields, names: tuple[str, ...], default: int | None = None) -> int:
    for name in names:
        if fields.has(name):
            return fields.integer(name)
    if default is None:
        raise fields.refuse(names[0], "is missing, and nothing can stand in for it")
    return default


def _mamba2_head_dim(fields: Fields, width: int, heads: int) -> int:
    for key in ("mamba_d_head", "mamba_head_dim"):
        if fields.has(key) and fields.raw(key) != "auto":
            return fields.integer(key)
    if fields.has("mamba_d_ssm"):
        return fields.integer("mamba_d_ssm") // heads
    if fields.has("mamba_expand"):
        return int(fields.number("mamba_expand") * width) // heads
    return fields.integer("head_dim")


def rg_lru(fields: Fields, traits: Traits, layer_type: str) -> Part:
    """The real-gated linear recurrent unit of Griffin (arXiv:2402.19427)."""
    width = hidden_size(fields)
    inner = fields.integer("lru_width", default=width)
    heads, kernel = fields.integer("num_attention_heads"), fields.integer("conv1d_width", default=4)
    block = inner // heads
    weights = (
        *matrix(Role.STATE_IN, inner, width, Shard.COLUMN, bias=True),
        *matrix(Role.STATE_IN, inner, width, Shard.COLUMN, bias=True),
        *matrix(Role.STATE_OUT, width, inner, Shard.ROW, bias=True),
        *_conv(inner, kernel, True),
        vector(Role.STATE_PARAM, inner, Shard.COLUMN),
        Weight(Role.STATE_PARAM, (heads * block, block), Shard.COLUMN, copies=2),
        vector(Role.STATE_PARAM, heads * block, Shard.COLUMN, copies=2),
    )
    return Part(weights, _state(inner * kernel, inner))


def rwkv(fields: Fields, traits: Traits, layer_type: str) -> Part:
    """RWKV-4 time mixing (arXiv:2305.13048): five vectors of state per layer."""
    width = hidden_size(fields)
    inner = fields.integer("attention_hidden_size", default=width)
    weights = (
        *matrix(Role.STATE_IN, inner, width, Shard.COLUMN, copies=3),
        *matrix(Role.STATE_OUT, width, inner, Shard.ROW),
        vector(Role.STATE_PARAM, inner, Shard.COLUMN, copies=2),
        vector(Role.STATE_PARAM, width, copies=3),
    )
    return Part(weights, _state(0, 2 * width + 3 * inner))


def mlstm(fields: Fields, traits: Traits, layer_type: str) -> Part:
    """The matrix LSTM of xLSTM-7B (arXiv:2503.13427)."""
    width, heads = hidden_size(fields), fields.integer("num_attention_heads")
    keys = _rounded(
        width, fields.number("qk_dim_factor", 0.5), fields.integer("mlstm_round_up_to_multiple_of", 64)
    )
    values = _rounded(
        width, fields.number("v_dim_factor", 1.0), fields.integer("mlstm_round_up_to_multiple_of", 64)
    )
    bias = fields.flag("use_bias")
    weights = (
        *matrix(Role.STATE_IN, keys, width, Shard.COLUMN, bias=bias, copies=2),
        *matrix(Role.STATE_IN, values, width, Shard.COLUMN, bias=bias, copies=2),
        *matrix(Role.STATE_IN, heads, width, Shard.COLUMN, bias=True, copies=2),
        *norms(values, 1),
        *matrix(Role.STATE_OUT, width, values, Shard.ROW, bias=bias),
    )
    key_dim, value_dim = keys // heads, values // heads
    return Part(weights, _state(0, heads * (key_dim * value_dim + key_dim + 1)))


def _rounded(width: int, factor: float, step: int) -> int:
    return step * -(-int(width * factor) // step)
