"""MLPs: dense (gated or not) and mixtures of experts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from calculators.architecture.keys import Fields
from calculators.architecture.layout import Role, Shard, Weight
from calculators.architecture.mixers import hidden_size
from calculators.architecture.pieces import Part, matrix, norms, vector
from calculators.architecture.plan import flag
from calculators.architecture.traits import Traits


def mlp_width(fields: Fields, traits: Traits) -> int:
    """Inner width of the dense MLP."""
    if traits.dense_width_key and fields.has(traits.dense_width_key):
        return fields.integer(traits.dense_width_key)
    for key in traits.mlp_keys:
        if fields.has(key):
            return fields.integer(key)
    if not fields.known and traits.gated is True:
        return fields.integer("intermediate_size")  # refuses by name: a gated width has no usual multiple
    return 4 * hidden_size(fields)


def dense(fields: Fields, traits: Traits) -> Part:
    """Gate, up and down (or only up and down) at the dense width."""
    bias = flag(fields, traits.mlp_bias)
    width, inner = hidden_size(fields), mlp_width(fields, traits)
    return Part(mlp_weights(width, inner, flag(fields, traits.gated), bias, bias))


def lfm(fields: Fields, traits: Traits) -> Part:
    """LFM2 shrinks the written width by a third and rounds it up."""
    inner = fields.integer("intermediate_size")
    if fields.flag("block_auto_adjust_ff_dim"):
        inner = int(2 * inner / 3)
        if fields.has("block_ffn_dim_multiplier"):
            step = fields.integer("block_multiple_of", default=256)
            inner = int(fields.number("block_ffn_dim_multiplier") * inner)
            inner = step * -(-inner // step)
    return Part(mlp_weights(hidden_size(fields), inner, True, False, False))


def half(fields: Fields, traits: Traits) -> Part:
    """RecurrentGemma and Qwen-1: the written width holds gate and up together."""
    inner = fields.integer("intermediate_size") // 2
    bias = flag(fields, traits.mlp_bias)
    return Part(mlp_weights(hidden_size(fields), inner, True, bias, bias))


def rwkv(fields: Fields, traits: Traits) -> Part:
    """RWKV-4 channel mixing: key, receptance and value, with two mixing vectors."""
    width = hidden_size(fields)
    inner = fields.integer("intermediate_size", default=4 * width)
    return Part(
        (
            *matrix(Role.MLP_UP, inner, width, Shard.COLUMN),
            *matrix(Role.MLP_GATE, width, width, Shard.COLUMN),
            *matrix(Role.MLP_DOWN, width, inner, Shard.ROW),
            vector(Role.OTHER, width, copies=2),
        )
    )


def xlstm(fields: Fields, traits: Traits) -> Part:
    """The xLSTM feed-forward block: a rounded multiple of the width."""
    width = hidden_size(fields)
    step = fields.integer("ffn_round_up_to_multiple_of", default=64)
    inner = step * -(-int(width * fields.number("ffn_proj_factor", 2.667)) // step)
    bias = fields.flag("use_bias")
    return Part(mlp_weights(width, inner, True, bias, bias))


def mlp_weights(width: int, inner: int, gated: bool, bias: bool, out_bias: bool) -> tuple[Weight, ...]:
    """The two or three matrices of a dense MLP."""
    gate = matrix(Role.MLP_GATE, inner, width, Shard.COLUMN, bias=bias) if gated else ()
    return (
        *gate,
        *matrix(Role.MLP_UP, inner, width, Shard.COLUMN, bias=bias),
        *matrix(Role.MLP_DOWN, width, inner, Shard.ROW, bias=out_bias),
    )


def expert_width(fields: Fields, traits: Traits) -> int:
    """Inner width of one routed expert."""
    for key in traits.expert_width_keys:
        if fields.has(key):
            return fields.integer(key)
    raise fields.refuse(traits.expert_width_keys[0], "is missing, and nothing can stand in for it")


def latent_width(fields: Fields, width: int) -> int:
    """Width at which the routed experts work; narrower than the hidden size in latent mixtures."""
    for key in ("moe_latent_size", "routed_expert_hidden_size", "moe_hidden_size"):
        if fields.has(key):
            return fields.integer(key)
    return width


def _modality_widths(fields: Fields, traits: Traits) -> tuple[int, int]:
    if not traits.modality_experts:
        return expert_width(fields, traits), 0
    pair = fields.integers("moe_intermediate_size", 2, default=(1536, 512), low=1)
    return pair[0], pair[1]


def top_k(fields: Fields, experts: int) -> int:
    """Experts that one token uses. Raises ConfigRefused when there are not so many."""
    chosen = fields.integer("num_experts_per_tok", default=0, low=0)
    if not chosen:
        fields.assume(
            f"{fields.path}num_experts_per_tok is missing: every token is taken to use all {experts} experts"
        )
        return experts
    if chosen > experts:
        raise fields.refuse(
            fields.spelling("num_experts_per_tok"), f"is {chosen}, more than the {experts} experts there are"
        )
    return chosen


def moe(fields: Fields, traits: Traits) -> Part:
    """Router, routed experts and shared experts."""
    width = hidden_size(fields)
    experts = fields.integer("num_experts")
    active = top_k(fields, experts)
    inner, image_inner = _modality_widths(fields, traits)
    outer = latent_width(fields, width)  # experts may work at a narrower width
    gated = flag(fields, traits.expert_gated)
    bias = flag(fields, traits.expert_bias)
    zero = fields.integer("zero_expert_num", default=0, low=0) if traits.zero_experts else 0
    weights = [*matrix(Role.ROUTER, experts + zero, width, bias=flag(fields, traits.router_bias))]
    if traits.router_extra:
        weights.append(vector(Role.ROUTER, experts, copies=traits.router_extra))
    routed = [(Role.EXPERT_UP, inner, outer), (Role.EXPERT_DOWN, outer, inner)]
    if gated:
        routed.insert(0, (Role.EXPERT_GATE, inner, outer))
    for role, rows, columns in routed:
        copies = experts if role is Role.EXPERT_DOWN else experts + zero
        used = active * copies // experts
        weights += matrix(role, rows, columns, Shard.EXPERT, bias=bias, copies=copies, active=used)
    if outer != width:
        latent_bias = flag(fields, traits.shared_bias)
        weights += matrix(Role.MLP_DOWN, outer, width, bias=latent_bias)
        weights += matrix(Role.MLP_UP, width, outer, bias=latent_bias)
        weights += norms(outer, 1, 2) if traits.latent_norms else ()
    if image_inner:  # a router and experts of their own for image tokens
        weights += (
            *matrix(Role.VISION, experts, width),
            vector(Role.VISION, experts, copies=traits.router_extra),
            *matrix(Role.VISION, image_inner, width, copies=2 * experts),
            *matrix(Role.VISION, width, image_inner, copies=experts),
        )
    shared = shared_width(fields, traits, inner)
    if shared:
        weights += shared_weights(width, shared, gated, flag(fields, traits.shared_bias))
        if flag(fields, traits.shared_gate):
            weights += matrix(Role.ROUTER, 1, width)
    return Part(tuple(weights))


def shared_weights(width: int, inner: int, gated: bool, bias: bool = False) -> tuple[Weight, ...]:
    """An expert that every token uses."""
    gate = matrix(Role.SHARED_GATE, inner, width, Shard.COLUMN, bias=bias) if gated else ()
    return (
        *gate,
        *matrix(Role.SHARED_UP, inner, width, Shard.COLUMN, bias=bias),
        *matrix(Role.SHARED_DOWN, width, inner, Shard.ROW, bias=bias),
    )


#: Spellings of the width of one shared expert.
SHARED_WIDTH_KEYS: Final = (
    "shared_expert_intermediate_size",
    "moe_shared_expert_intermediate_size",
    "shared_experts_intermediate_size",
    "share_expert_dim",
    "share_expert_dims",
)


def shared_width(fields: Fields, traits: Traits, inner: int) -> int:
    """Inner width of all shared experts together; 0 without."""
    if traits.shared == "none":
        return 0
    if traits.shared == "one_expert":
        return inner
    if traits.shared == "granite":
        return fields.integer("shared_intermediate_size", default=0, low=0)
    count = fields.integer("num_shared_experts", default=-1, low=0)
    for key in SHARED_WIDTH_KEYS:
        if fields.has(key):
            each = fields.integer(key, low=0)
            return each * count if key == "shared_experts_intermediate_size" and count >= 0 else each
    if count >= 0:
        return count * inner
    return fields.integer("shared_intermediate_size", default=0, low=0)


def zaya(fields: Fields, traits: Traits) -> Part:
    """Zaya: a small MLP routes, and one of its classes means no expert."""
    width, experts = hidden_size(fields), fields.integer("num_experts")
    small, inner = fields.integer("router_hidden_size", default=256), expert_width(fields, traits)
    active = top_k(fields, experts)
    weights = (
        *matrix(Role.ROUTER, small, width, bias=True),
        *matrix(Role.ROUTER, small, small, bias=True, copies=2),
        *matrix(Role.ROUTER, experts + 1, small),
        vector(Role.NORM, small),
    )
    for role, rows, columns in (
        (Role.EXPERT_GATE, inner, width),
        (Role.EXPERT_UP, inner, width),
        (Role.EXPERT_DOWN, width, inner),
    ):
        weights += matrix(role, rows, columns, Shard.EXPERT, copies=experts, active=active)
    return Part(weights)


DENSE: Final[dict[str, Callable[[Fields, Traits], Part]]] = {
    "dense": dense,
    "half": half,
    "lfm": lfm,
    "rwkv": rwkv,
    "xlstm": xlstm,
}
