"""The figures of the Compare page: data in, a plain Plotly dict out.

No colours here: the theme fills them in for light and dark. Order, text, star, hatching and marker symbol
carry what colour would, so that every figure reads without hovering and without colour.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from pages.ui.compare_labels import Mark, Placed, place
from pages.ui.figure_parts import even_ticks, two_lines

Figure = dict[str, Any]

STAR: Final = "★ "
ROW_PX: Final = 34
LABEL_ROOM: Final = 1.5  # of the longest bar: the figures stand outside the bars

# The plot area of a 390 px phone; labels that fit there fit on anything wider.
NARROW_PX: Final = 265
SCATTER_PX: Final = 620
LEGEND_PX: Final = 72  # two lines on a phone, above the names of the ridge lines
BOTTOM_PX: Final = 56
RIGHT_PX: Final = 34  # for the names of the ridge lines
SYMBOLS: Final = ("circle", "square", "diamond", "triangle-up", "cross", "star")


@dataclass(frozen=True)
class Bar:
    """One card of a bar chart: its name, number, the text beside the bar, and how it is marked."""

    name: str
    value: float
    text: str
    pinned: bool = False
    hatched: bool = False


@dataclass(frozen=True)
class Point:
    """One card of a scatter; cards at the same place share one point (names joined by <br>)."""

    name: str
    x: float
    y: float
    group: str
    pinned: bool = False
    diameter: float = 9.0
    hollow: bool = False


@dataclass(frozen=True)
class Axis:
    """A logarithmic axis: title, range in data units and the ticks to write."""

    title: str
    low: float
    high: float

    def share(self, value: float) -> float:
        """How far along the axis a value lies, 0 to 1."""
        return (math.log10(value) - math.log10(self.low)) / (math.log10(self.high) - math.log10(self.low))

    def ticks(self) -> list[float]:
        """1, 2, 5, 10, 20 … within the range."""
        powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        return [m * 10.0**p for p in powers for m in (1, 2, 5) if self.low <= m * 10.0**p <= self.high]


@dataclass(frozen=True)
class Scatter:
    """A finished scatter and the key of its numbered points: number -> name."""

    figure: Figure
    key: dict[int, str]


def bars(rows: Sequence[Bar], axis_title: str, axis_max: float) -> Figure:
    """Horizontal bars, largest on top, name and number written out; fixed axis from 0 to `axis_max`.

    Pinned cards carry a star and a trace of their own; `hatched` marks a bar that needs a second look
    (the page says what for).
    """
    ordered = sorted(rows, key=lambda r: (-r.value, r.name))
    ticks = even_ticks(axis_max)
    traces = []
    for name, pinned in (("Pinned", True), ("Other cards", False)):
        part = [r for r in ordered if r.pinned is pinned]
        traces.append(
            {
                "type": "bar",
                "orientation": "h",
                "name": name,
                "x": [r.value for r in part],
                "y": [two_lines((STAR if r.pinned else "") + r.name) for r in part],
                "text": [r.text for r in part],
                "textposition": "outside",
                "cliponaxis": False,
                "marker": {"pattern": {"shape": ["/" if r.hatched else "" for r in part], "size": 6}},
                "hovertemplate": "%{y}: %{text}<extra></extra>",
            }
        )
    return {
        "data": traces,
        "layout": {
            "barmode": "overlay",
            "bargap": 0.35,
            "showlegend": False,
            "height": 8 + BOTTOM_PX + ROW_PX * max(len(rows), 1),
            "margin": {"l": 8, "r": 8, "t": 8, "b": BOTTOM_PX},
            "xaxis": {
                "title": {"text": axis_title},
                "range": [0, axis_max * LABEL_ROOM],
                "fixedrange": True,
                "tickvals": ticks,
                "ticktext": [f"{t:,g}" for t in ticks],
            },
            "yaxis": {
                "categoryorder": "array",
                "categoryarray": [two_lines((STAR if r.pinned else "") + r.name) for r in reversed(ordered)],
                "automargin": True,
                "fixedrange": True,
                "tickfont": {"size": 12},
            },
        },
    }


def scatter(
    points: Sequence[Point], groups: Sequence[str], x: Axis, y: Axis, ridges: Sequence[float] = ()
) -> Scatter:
    """A log-log scatter with a name at every point, or a number where the name finds no room.

    One trace and one symbol per group, in the order given, so that neither symbol nor colour of a group
    depends on which groups have points. `ridges` draws lines of constant y / x × 1000, which is FLOP per byte
    when y is TFLOPS and x is GB/s.
    """
    merged = _merged(points)
    plot_px = SCATTER_PX - LEGEND_PX - BOTTOM_PX
    order = sorted(range(len(merged)), key=lambda i: (not merged[i].pinned, -merged[i].y, merged[i].name))
    marks = [
        Mark(
            x.share(merged[i].x) * NARROW_PX,
            y.share(merged[i].y) * plot_px,
            merged[i].diameter / 2,
            _starred(merged[i]),
        )
        for i in order
    ]
    texts = dict(zip(order, place(marks, NARROW_PX, plot_px), strict=True))
    traces = [_group_trace(group, SYMBOLS[i % len(SYMBOLS)], merged, texts) for i, group in enumerate(groups)]
    figure = {
        "data": [*traces, *_ridge_lines(ridges, x, y)],
        "layout": {
            "height": SCATTER_PX,
            "margin": {"l": 8, "r": RIGHT_PX if ridges else 8, "t": LEGEND_PX, "b": BOTTOM_PX},
            "legend": {
                "orientation": "h",
                "x": 0,
                "xanchor": "left",
                "y": 1 + 24 / plot_px,
                "yanchor": "bottom",
                "itemclick": False,
                "itemdoubleclick": False,
                "itemsizing": "constant",
            },
            "showlegend": True,
            "hovermode": "closest",
            "xaxis": _log_axis(x),
            "yaxis": _log_axis(y),
        },
    }
    key = {t.number: merged[i].name for i, t in texts.items() if t.number is not None}
    return Scatter(figure, {n: key[n].replace("<br>", ", ") for n in sorted(key)})


def _group_trace(group: str, symbol: str, points: Sequence[Point], texts: dict[int, Placed]) -> Figure:
    part = [i for i, p in enumerate(points) if p.group == group]
    chosen = [points[i] for i in part]
    if not chosen:
        # Plotly gives an empty trace no colour of the palette; one with an empty point keeps its place.
        return {
            "type": "scatter",
            "mode": "markers",
            "name": group,
            "x": [None],
            "y": [None],
            "showlegend": False,
        }
    return {
        "type": "scatter",
        "mode": "markers+text",
        "name": group,
        "x": [p.x for p in chosen],
        "y": [p.y for p in chosen],
        "text": [texts[i].text for i in part],
        "textposition": [texts[i].side for i in part],
        "textfont": {"size": 11},
        "cliponaxis": False,
        "customdata": [p.name for p in chosen],
        "marker": {
            "symbol": [f"{symbol}-open" if p.hollow else symbol for p in chosen],
            "size": [p.diameter for p in chosen],
            "opacity": 0.85,
            "line": {"width": 1},
        },
        "hovertemplate": f"%{{customdata}}<br>{'%{x:,.4~g}'} × {'%{y:,.4~g}'}<extra></extra>",
    }


def _ridge_lines(ridges: Sequence[float], x: Axis, y: Axis) -> list[Figure]:
    """One dotted trace of all ridge lines, and their names just outside the plot, where no card can be."""
    ends = []
    for ridge in ridges:
        left = max(x.low, y.low * 1000 / ridge)
        right = min(x.high, y.high * 1000 / ridge)
        if left < right:
            ends.append((ridge, left, right))
    if not ends:
        return []
    lines = {
        "type": "scatter",
        "mode": "lines",
        "name": "Lines of equal FLOP per byte",
        "x": [value for _, left, right in ends for value in (left, right, None)],
        "y": [v for r, left, right in ends for v in (left * r / 1000, right * r / 1000, None)],
        "line": {"dash": "dot", "width": 1},
        "connectgaps": False,
        "hoverinfo": "skip",
    }
    names = {
        "type": "scatter",
        "mode": "text",
        "x": [right for _, _, right in ends],
        "y": [right * ridge / 1000 for ridge, _, right in ends],
        "text": [f"{ridge:,g}" for ridge, _, _ in ends],
        "textposition": ["middle right" if right == x.high else "top center" for _, _, right in ends],
        "textfont": {"size": 11},
        "cliponaxis": False,
        "showlegend": False,
        "hoverinfo": "skip",
    }
    return [lines, names]


def _merged(points: Sequence[Point]) -> list[Point]:
    """Cards at one place as one point: names one under the other, pinned ones first."""
    at: dict[tuple[float, float, str], list[Point]] = {}
    for point in sorted(points, key=lambda p: (not p.pinned, p.name)):
        at.setdefault((point.x, point.y, point.group), []).append(point)
    merged = []
    for (x, y, group), same in at.items():
        names = [p.name for p in same]
        diameter = max(p.diameter for p in same)
        hollow = all(p.hollow for p in same)
        merged.append(Point("<br>".join(names), x, y, group, same[0].pinned, diameter, hollow))
    return merged


def _starred(point: Point) -> str:
    return STAR + point.name if point.pinned else point.name


def _log_axis(axis: Axis) -> Figure:
    ticks = axis.ticks()
    return {
        "title": {"text": axis.title, "standoff": 8},
        "type": "log",
        "range": [math.log10(axis.low), math.log10(axis.high)],
        "tickvals": ticks,
        "ticktext": [f"{t:,g}" for t in ticks],
        "fixedrange": True,
        "automargin": True,
    }
