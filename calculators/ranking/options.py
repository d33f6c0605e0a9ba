"""Configurations side by side: feasible first, then the reader's objective. No score is typed in anywhere.

Arrays are [card, setup] or [card]: a card is one kind of GPU, a setup how many of it, in how many copies, in
which weight format and split. Every measure is better when it is lower; NaN means that nobody knows it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calculators import cost

Floats = NDArray[np.float64]
Objective = Literal["cheapest", "fastest", "power", "gpus"]

NOT, PERHAPS, SURELY = range(3)
# What decides, and what decides between equals. Every measure is in each list, so that an option that is
# nowhere worse and somewhere better always stands first.
OBJECTIVES: dict[Objective, tuple[str, ...]] = {
    "cheapest": ("usd", "gpus", "seconds", "power_w"),
    "fastest": ("seconds", "usd", "power_w", "gpus"),
    "power": ("power_w", "usd", "seconds", "gpus"),
    "gpus": ("gpus", "usd", "seconds", "power_w"),
}


@dataclass(frozen=True)
class Measure:
    """A quantity and the 80 % band of the estimate it rests on."""

    value: Floats
    low: Floats
    high: Floats

    @classmethod
    def exact(cls, value: Any) -> Measure:
        """A quantity without a band."""
        number = np.asarray(value, dtype=np.float64)
        return cls(number, number, number)

    def at(self, place: Any) -> Measure:
        """Some of its entries."""
        if self.low is self.value and self.high is self.value:
            return Measure.exact(self.value[place])
        return Measure(self.value[place], self.low[place], self.high[place])


@dataclass(frozen=True)
class Limit:
    """What must be met: the measure's value is at most `most`."""

    name: str
    measure: Measure
    most: float


@dataclass(frozen=True)
class Options:
    """usd: cost [USD]; seconds: what is waited for, a token or a run [s]; power_w, gpus: all GPUs [W, 1].

    verdict: memory, 0 does not fit, 1 tight, 2 fits. allowed: within what the reader asks of the hardware.
    offered: whether anybody offers so many together.
    """

    verdict: NDArray[np.int8]
    usd: Measure
    seconds: Measure
    power_w: Floats
    gpus: Floats
    allowed: NDArray[np.bool_]
    offered: NDArray[np.bool_]

    def at(self, place: Any) -> Options:
        """Some of the configurations."""
        return Options(
            self.verdict[place],
            self.usd.at(place),
            self.seconds.at(place),
            self.power_w[place],
            self.gpus[place],
            self.allowed[place],
            self.offered[place],
        )

    def key(self, name: str, place: Any = ...) -> Floats:
        """A measure to compare some configurations by; the unknown stands behind everything known."""
        one = getattr(self, name)
        value = (one.value if isinstance(one, Measure) else one)[place]
        return np.where(np.isnan(value), np.inf, value)

    def keys(self, objective: Objective) -> list[Floats]:
        """What is compared, first the objective."""
        return [self.key(name) for name in OBJECTIVES[objective]]


def meets(limits: Sequence[Limit], side: str = "value") -> NDArray[np.bool_]:
    """Where every limit is met; `side` "high" asks whether it still is at the bad end of the bands."""
    met: Any = np.True_
    for limit in limits:
        if np.isfinite(limit.most):
            met = met & (np.asarray(getattr(limit.measure, side)) <= limit.most)
    return np.asarray(met)


def grades(options: Options, limits: Sequence[Limit] = (), side: str = "value") -> NDArray[np.int8]:
    """SURELY: fits and meets every limit; PERHAPS: memory is tight, or nobody offers so many; else NOT.

    side: asked of the value, or of one end of the bands.
    """
    known = np.isfinite(options.seconds.value) & options.allowed & meets(limits, side)
    sure = (options.verdict == 2) & options.offered
    return np.where(known & (options.verdict > 0), np.where(sure, SURELY, PERHAPS), NOT).astype(np.int8)


def best_setups(options: Options, grade: NDArray[np.int8], objective: Objective) -> NDArray[np.int64]:
    """The best setup of each card, -1 where none is possible: grade first, then the objective's measures."""
    first, *others = OBJECTIVES[objective]
    top = grade.max(axis=1, keepdims=True, initial=NOT)
    left = (grade == top) & (top > NOT)
    asked = np.where(left, options.key(first), np.inf)
    left &= asked <= asked.min(axis=1, keepdims=True, initial=np.inf)
    cards, setups = np.nonzero(left)  # few: the other measures only decide between these
    for name in others:
        begins = _begins(cards)
        key = options.key(name, (cards, setups))
        least = np.minimum.reduceat(key, np.flatnonzero(begins))
        good = key <= least[np.cumsum(begins) - 1]
        cards, setups = cards[good], setups[good]
    found, begins = np.full(len(left), -1), _begins(cards)
    found[cards[begins]] = setups[begins]
    return found


def _begins(cards: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Where each card begins in a list of them that stand together."""
    found = np.ones(len(cards), dtype=bool)
    found[1:] = cards[1:] != cards[:-1]
    return found


def order(
    options: Options, grade: NDArray[np.int8], objective: Objective, names: ArrayLike = ()
) -> NDArray[np.int64]:
    """The possible ones of [card], best first; names (or their order) only decide between those alike in all.

    An option of which nobody knows what is asked for, say its price, stands behind all others, even those
    that fit less surely.
    """
    keys = options.keys(objective)
    alike = [np.asarray(names)] if np.size(names) else []
    found = np.lexsort((*alike, *reversed(keys), -grade.astype(int), np.isinf(keys[0])))
    return found[grade[found] > NOT]


def tied(options: Options, objective: Objective, grade: NDArray[np.int8], best: int) -> NDArray[np.bool_]:
    """Which of [card] cannot be told from the best in what is asked for: each lies in the other's band.

    One that fits less surely, or misses a target, is not compared.
    """
    asked = getattr(options, OBJECTIVES[objective][0])
    if not isinstance(asked, Measure):
        return (np.asarray(asked) == np.asarray(asked)[best]) & (grade == grade[best])
    alike = np.flatnonzero(grade == grade[best])
    among = asked.at(alike)
    same = np.zeros(len(grade), dtype=bool)
    same[alike] = cost.tied(cost.Money(among.value, among.low, among.high), int(np.searchsorted(alike, best)))
    return same


def first_failing(options: Options, limits: Sequence[Limit]) -> list[str | None]:
    """Why each card of [card, setup] has none left: the first hurdle that none passes; None where one is."""
    reasons: list[str | None] = [None] * len(options.verdict)
    left = np.ones(options.verdict.shape, dtype=bool)
    hurdles = [
        ("constraint", options.allowed),
        ("memory", options.verdict > 0),
        ("speed", np.isfinite(options.seconds.value)),
    ]
    hurdles += [(limit.name, meets([limit])) for limit in limits]
    for name, passed in hurdles:
        left &= passed
        for i in np.flatnonzero(~left.any(axis=1)):
            reasons[i] = reasons[i] or name
    return reasons
