"""A growing list of weights of one role: how towers and encoders are written down."""

from __future__ import annotations

from calculators.architecture.layout import Role, Weight


class Bag:
    """Collects the weights of a tower; every method takes `n`, how many identical copies there are."""

    __slots__ = ("_weights", "role")

    def __init__(self, role: Role):
        self.role = role
        self._weights: list[Weight] = []

    def tensor(self, *shape: int, n: int = 1) -> None:
        """A bare parameter."""
        if n > 0 and all(size > 0 for size in shape):
            self._weights.append(Weight(self.role, tuple(shape), copies=n))

    def extend(self, weights: tuple[Weight, ...]) -> None:
        """Weights counted elsewhere, with their own roles."""
        self._weights += weights

    def linear(self, out: int, into: int, bias: bool = True, n: int = 1) -> None:
        """A linear layer; a convolution is one with `into` = channels per group x kernel size."""
        self.tensor(out, into, n=n)
        if bias:
            self.tensor(out, n=n)

    def norm(self, width: int, vectors: int = 2, n: int = 1) -> None:
        """A norm: scale and shift (2 vectors), scale only (1), or nothing learned (0)."""
        self.tensor(width, n=n * vectors)

    def attention(
        self,
        width: int,
        *,
        inner: int | None = None,
        kv: int | None = None,
        source: int | None = None,
        bias: bool = True,
        k_bias: bool | None = None,
        out_bias: bool | None = None,
        n: int = 1,
    ) -> None:
        """Query, key, value and output projections; `source` is the width keys and values are made from."""
        inner = width if inner is None else inner
        kv = inner if kv is None else kv
        source = width if source is None else source
        self.linear(inner, width, bias, n)
        self.linear(kv, source, bias if k_bias is None else k_bias, n)
        self.linear(kv, source, bias, n)
        self.linear(width, inner, bias if out_bias is None else out_bias, n)

    def mlp(
        self,
        width: int,
        hidden: int,
        *,
        gated: bool = False,
        bias: bool = True,
        down_bias: bool | None = None,
        n: int = 1,
    ) -> None:
        """A feed-forward block of two matrices, three when gated."""
        self.linear(hidden, width, bias, n * (2 if gated else 1))
        self.linear(width, hidden, bias if down_bias is None else down_bias, n)

    def weights(self) -> tuple[Weight, ...]:
        """Everything collected."""
        return tuple(self._weights)
