"""Two kinds of chart as plain places that the board draws: rows of bars, and a plane of points.

A Plotly chart takes the browser longer to redraw than all the rest of a page, so that our own few marks are
drawn by the board. No colours here, only numbers of the theme's palette: names, texts, hatching and symbols
carry what colour would, so that a chart reads without hovering and without colour. Places are shares of the
width from the left and of the height from below.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

Chart = dict[str, Any]

SYMBOLS: Final = ("circle", "square", "diamond", "triangle", "cross", "star")
HATCHES: Final = 8  # the first is plain


@dataclass(frozen=True)
class Row:
    """One row of a bar chart, everything in the unit of the axis: any of a bar from 0, a dot, a line from
    `span[0]` to `span[1]`, and an estimate (value, low, high). `text` stands right of all of them.
    """

    name: str
    text: str
    bar: float | None = None
    dot: float | None = None
    span: tuple[float, float] | None = None
    estimate: tuple[float, float, float] | None = None
    tone: int = 0
    hatch: int = 0

    @property
    def end(self) -> float:
        """How far right it reaches."""
        reach = (*(self.span or ()), *(self.estimate or ()))
        return max(self.bar or 0, self.dot or 0, *reach, 0)


def rows(
    given: Sequence[Row], *, title: str, top: float, room: float, alt: str, legend: Sequence[Chart] = ()
) -> Chart:
    """Rows in the order given, on an axis from 0 to `top`; `room` times that width holds the texts too."""

    def place(value: float) -> float:
        return round(value / (top * room), 4)

    return {
        "kind": "rows",
        "alt": alt,
        "title": title,
        "ticks": [[place(tick), f"{tick:,.10g}"] for tick in even_ticks(top)],
        "legend": list(legend),
        "rows": [
            {
                "name": row.name,
                "text": row.text,
                "end": place(row.end),
                "bar": None if row.bar is None else place(row.bar),
                "dot": None if row.dot is None else place(row.dot),
                "span": row.span and [place(value) for value in row.span],
                "estimate": row.estimate and [place(value) for value in row.estimate],
                "tone": row.tone,
                "hatch": row.hatch % HATCHES,
            }
            for row in given
        ],
    }


def even_ticks(axis_max: float) -> list[float]:
    """At most five round ticks from 0 to the largest value; none under the room for the texts."""
    rough = axis_max / 4
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(m * power for m in (1, 2, 5, 10) if m * power >= rough * (1 - 1e-9))
    return [step * i for i in range(int(axis_max / step + 1e-9) + 1)]


@dataclass(frozen=True)
class Axis:
    """A logarithmic axis: title and range in data units."""

    title: str
    low: float
    high: float

    def share(self, value: float) -> float:
        """How far along the axis a value lies, 0 to 1."""
        return math.log10(value / self.low) / math.log10(self.high / self.low)

    def place(self, value: float) -> float:
        """The share, short enough to be sent."""
        return round(self.share(value), 4)

    def ticks(self, steps: Sequence[int] = (1, 2, 5)) -> list[float]:
        """Round values within the range: 1, 2, 5, 10, 20 …"""
        powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        return [m * 10.0**p for p in powers for m in steps if self.low <= m * 10.0**p <= self.high]


@dataclass(frozen=True)
class Spot:
    """One point of a plane in data units; `name` is its hint, `size` its width in pixels."""

    x: float
    y: float
    name: str
    size: float = 7.0
    hollow: bool = False


@dataclass(frozen=True)
class Group:
    """Points of one kind: its mark and tone, and its name in the legend (none when empty)."""

    name: str
    symbol: str
    tone: int
    spots: Sequence[Spot]
    hollow: bool = False


@dataclass(frozen=True)
class Label:
    """A text beside a place: `side` (across, up), each -1, 0 or 1; `reach` pixels away from it."""

    x: float
    y: float
    text: str
    side: tuple[int, int] = (1, 0)
    reach: float = 0.0


@dataclass(frozen=True)
class Line:
    """A straight line between two places, "dash" or "dot"; its name in the legend, or none."""

    start: tuple[float, float]
    end: tuple[float, float]
    look: str
    name: str = ""


def plane(
    groups: Sequence[Group],
    x: Axis,
    y: Axis,
    *,
    height_px: int,
    alt: str,
    ticks: tuple[Sequence[tuple[float, str]], Sequence[tuple[float, str]]],
    labels: Sequence[Label] = (),
    lines: Sequence[Line] = (),
) -> Chart:
    """Points on two logarithmic axes; `height_px` is that of the plot without its ticks."""

    def at(point: tuple[float, float]) -> list[float]:
        return [x.place(point[0]), y.place(point[1])]

    marks = [
        {"look": g.symbol, "tone": g.tone, "hollow": g.hollow, "text": g.name}
        for g in groups
        if g.name and g.spots
    ]
    ruled = [{"look": line.look, "text": line.name} for line in lines if line.name]
    return {
        "kind": "plane",
        "alt": alt,
        "height": height_px,
        "x": {"title": x.title, "ticks": [[x.place(value), text] for value, text in ticks[0]]},
        "y": {"title": y.title, "ticks": [[y.place(value), text] for value, text in ticks[1]]},
        "legend": [*marks, *ruled],
        "groups": [
            {
                "symbol": group.symbol,
                "tone": group.tone,
                "spots": [
                    [*at((s.x, s.y)), s.size, int(s.hollow or group.hollow), s.name] for s in group.spots
                ],
            }
            for group in groups
            if group.spots
        ],
        "labels": [[*at((la.x, la.y)), la.text, *la.side, la.reach] for la in labels],
        "lines": [[*at(line.start), *at(line.end), line.look] for line in lines],
    }
