"""Small constructors of weights and caches that every builder uses."""

from __future__ import annotations

from typing import NamedTuple

from calculators.architecture.layout import Cache, Role, Shard, Weight


class Part(NamedTuple):
    """What one half of a block (mixer or MLP) brings: weights and caches."""

    weights: tuple[Weight, ...] = ()
    caches: tuple[Cache, ...] = ()

    def plus(self, *weights: Weight) -> Part:
        """The same part with more weights."""
        return Part(self.weights + weights, self.caches)


def matrix(
    role: Role,
    out_features: int,
    in_features: int,
    shard: Shard = Shard.REPLICATED,
    *,
    bias: bool = False,
    copies: int = 1,
    active: int | None = None,
) -> tuple[Weight, ...]:
    """A linear layer: the matrix, and its bias when it has one (row-split layers replicate theirs)."""
    weight = Weight(role, (out_features, in_features), shard, copies, active)
    if not bias:
        return (weight,)
    bias_shard = Shard.REPLICATED if shard is Shard.ROW else shard
    return (weight, Weight(Role.BIAS, (out_features,), bias_shard, copies, active))


def vector(role: Role, length: int, shard: Shard = Shard.REPLICATED, copies: int = 1) -> Weight:
    """A vector of parameters (norm scales, biases, per-head constants)."""
    return Weight(role, (length,), shard, copies)


def norms(width: int, vectors_each: int, count: int = 1) -> tuple[Weight, ...]:
    """`count` norms over `width`: 0 vectors (no parameters), 1 (scale) or 2 (scale and shift)."""
    total = vectors_each * count
    return (vector(Role.NORM, width, copies=total),) if total and width else ()
