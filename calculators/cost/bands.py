"""Costs with the 80 % band of the speed or time they rest on. Prices have no band: they are the reader's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Number = float | NDArray[Any]


@dataclass(frozen=True)
class Money:
    """A cost and its band [USD]; scalars or arrays."""

    value: Floats
    low: Floats
    high: Floats

    def plus(self, usd: Number) -> Money:
        """With an amount added that carries no band."""
        return Money(self.value + usd, self.low + usd, self.high + usd)


def over_rate(cost: Callable[[Number], Floats], value: Number, low: Number, high: Number) -> Money:
    """A cost that falls with a rate (tokens per second): the rate's low end is the cost's high end."""
    return Money(cost(value), cost(high), cost(low))


def of_time(cost: Callable[[Number], Floats], value: Number, low: Number, high: Number) -> Money:
    """A cost that rises with a time (GPU-hours), which keeps its ends."""
    return Money(cost(value), cost(low), cost(high))


def tied(cost: Money, with_index: int) -> NDArray[np.bool_]:
    """Which options (1-d) cannot be told apart from one of them: each value lies in the other's band.

    None is tied beyond one that is not: what can be told apart is not skipped on the way to what cannot.
    """
    value, low, high = cost.value, cost.low, cost.high
    own = value[with_index]
    both = (value >= low[with_index]) & (value <= high[with_index]) & (own >= low) & (own <= high)
    apart = value[~both]
    above = apart[apart > own].min(initial=np.inf)
    below = apart[apart < own].max(initial=-np.inf)
    return both & (value <= above) & (value >= below)
