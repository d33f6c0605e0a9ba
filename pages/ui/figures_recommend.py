"""The chart of the Recommend page as plain numbers: cost against speed with the frontier.

Drawn by the report itself as SVG: a Plotly chart takes longer to redraw than all the rest of the page.
Places are shares of the width and height, 0 to 1 from left and from below. No colours here. The frontier is a
line with filled marks and names, the others are hollow, so that it reads without colour and without hovering.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from calculators.ranking import Measure
from pages.ui import words

MOST_NAMED: Final = 6
KINDS: Final = {
    "best": "Recommended",
    "tied": "Tied with it",
    "frontier": "Frontier: nothing is cheaper and faster",
    "beaten": "Beaten in both",
    "unsure": "Tight, not quoted or not measured",
}


@dataclass(frozen=True, slots=True)
class Point:
    """One GPU's best setup: cost [USD] and speed in the unit of the axis, both with their bands."""

    name: str
    usd: Measure
    speed: Measure
    frontier: bool
    tied: bool
    best: bool
    sure: bool = True

    @property
    def kind(self) -> str:
        """How it is drawn, one of KINDS."""
        marks = {"best": self.best, "tied": self.tied, "frontier": self.frontier, "unsure": not self.sure}
        return next((kind for kind, holds in marks.items() if holds), "beaten")

    @property
    def banded(self) -> bool:
        """Whether its band is drawn."""
        return self.frontier or self.best or self.tied


@dataclass(frozen=True, slots=True)
class _Axis:
    """A log axis; reversed when less is better, so that up is always faster."""

    low: float
    high: float
    turned: bool

    def place(self, value: Any) -> float:
        """Where a value stands, 0 to 1; values beyond the ends stand at the ends."""
        number = float(value)
        if not number > 0:
            share = 0.0
        elif math.isinf(number):
            share = 1.0
        else:
            share = (math.log10(number) - self.low) / (self.high - self.low)
        share = min(max(share, 0.0), 1.0)
        return round(1 - share if self.turned else share, 4)

    def ticks(self, prefix: str) -> list[list[Any]]:
        """[place, label] at 1, 2 and 5 of each power of ten; on a long axis at powers of ten."""
        steps = (1, 2, 5) if self.high - self.low < 2.5 else (1,)
        powers = range(math.floor(self.low), math.ceil(self.high) + 1)
        found = [m * 10.0**power for power in powers for m in steps]
        inside = [tick for tick in found if self.low <= math.log10(tick) <= self.high]
        return [[self.place(tick), f"{prefix}{words.large(tick)}"] for tick in inside]


def _axis(values: Sequence[float], turned: bool = False) -> _Axis:
    """An axis that shows all values, with a twentieth of room, and half a power of ten at least."""
    known = [math.log10(v) for v in values if 0 < v < math.inf]
    low, high = min(known), max(known)
    room = max((high - low) * 0.05, (0.5 - (high - low)) / 2, 0.03)
    return _Axis(low - room, high + room, turned)


def pareto(
    points: Sequence[Point], usd_title: str, speed_title: str, less_is_better: bool, alt: str = ""
) -> dict[str, Any]:
    """Cost against speed on log scales, the best corner at the top left."""
    banded = [p for p in points if p.banded]
    across = _axis([float(p.usd.value) for p in points] + [float(p.usd.low) for p in banded])
    ends = [float(end) for p in banded for end in (p.speed.low, p.speed.high)]
    upward = _axis([float(p.speed.value) for p in points] + ends, less_is_better)
    line = sorted((p for p in points if p.frontier), key=lambda p: float(p.usd.value))
    step = max(1, -(-len(line) // MOST_NAMED))
    named = {p.name for i, p in enumerate(line) if i % step == 0} | {p.name for p in points if p.best}
    kinds = [p.kind for p in points]
    return {
        "alt": alt,
        "x": {"title": usd_title, "ticks": across.ticks("$")},
        "y": {"title": speed_title, "ticks": upward.ticks("")},
        "line": [[across.place(p.usd.value), upward.place(p.speed.value)] for p in line],
        "points": [_drawn(p, across, upward, p.name in named) for p in points],
        "legend": [[kind, text] for kind, text in KINDS.items() if kind in kinds],
    }


def _drawn(p: Point, across: _Axis, upward: _Axis, named: bool) -> dict[str, Any]:
    def span(axis: _Axis, measure: Measure) -> list[float] | None:
        if not p.banded or float(measure.low) == float(measure.high):
            return None
        return [axis.place(measure.low), axis.place(measure.high)]

    return {
        "name": p.name,
        "label": p.name if named else "",
        "kind": p.kind,
        "x": across.place(p.usd.value),
        "y": upward.place(p.speed.value),
        "xs": span(across, p.usd),
        "ys": span(upward, p.speed),
    }
