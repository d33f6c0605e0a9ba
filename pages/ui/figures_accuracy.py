"""The figures of the page "How far off are we?": rows in, a plain Plotly dict out.

No colours here: the theme fills them in. What lies outside its band differs by its mark, not only by colour,
and each bar of the second figure carries its numbers, so that both read without hovering.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from pages.ui.figure_parts import even_ticks, two_lines

Figure = dict[str, Any]

SCATTER_PX: Final = 520
ROW_PX: Final = 34
BOTTOM_PX: Final = 56
LEGEND_PX: Final = 76  # three lines on a phone
MARGIN: Final = 1.25  # around the outermost points of a logarithmic axis
FEW_DECADES: Final = 2.2  # below this many decades 2 and 5 are written too
LABEL_ROOM: Final = 1.75  # of the longest line: the numbers stand outside
MARKS: Final = {"inside": "circle-open", "outside": "x", "no band": "circle-open"}
NAMES: Final = {"inside": "Inside its band", "outside": "Outside its band", "no band": "One measurement"}


@dataclass(frozen=True)
class Dot:
    """One measurement; `inside` None when the estimate has no band."""

    measured: float
    predicted: float
    inside: bool | None
    name: str


@dataclass(frozen=True)
class Group:
    """Errors of the measurements that share something: median and 90th percentile of |error| [%]."""

    name: str
    median: float
    p90: float
    n: int


def scatter(dots: Sequence[Dot], unit: str, band: tuple[float, float] | None, several: bool) -> Figure:
    """Predicted against measured on two equal logarithmic axes.

    Exact predictions lie on the dashed line. `band` holds measured / predicted at its two ends, drawn dotted;
    `several`: it is the widest of several bands.
    """
    values = [value for dot in dots for value in (dot.measured, dot.predicted)]
    low, high = min(values) / MARGIN, max(values) * MARGIN
    traces = [_dots(dots, state) for state in ("inside", "outside", "no band")]
    traces.append(_line("Exact", low, high, 1.0, "dash"))
    if band is not None:
        name = "Widest of the bands" if several else "Band"
        lines = [_line(name, low, high, 1 / end, "dot") for end in band]
        lines[1]["showlegend"] = False
        lines[1]["line"] = lines[0]["line"]
        traces += _one_trace(lines)
    axis = _log_axis(low, high)
    return {
        "data": [trace for trace in traces if trace is not None],
        "layout": {
            "height": SCATTER_PX,
            "margin": {"l": 8, "r": 12, "t": LEGEND_PX, "b": BOTTOM_PX},
            "legend": {
                "orientation": "h",
                "x": 0,
                "xanchor": "left",
                "y": 1.02,
                "yanchor": "bottom",
                "itemclick": False,
                "itemdoubleclick": False,
            },
            "showlegend": True,
            "hovermode": "closest",
            "xaxis": {**axis, "title": {"text": f"Measured, {unit}", "standoff": 8}},
            "yaxis": {**axis, "title": {"text": f"Predicted, {unit}", "standoff": 8}},
        },
    }


def _dots(dots: Sequence[Dot], state: str) -> Figure | None:
    wanted = {"inside": True, "outside": False, "no band": None}[state]
    mine = [dot for dot in dots if dot.inside is wanted]
    if not mine:
        return None
    return {
        "type": "scatter",
        "mode": "markers",
        "name": f"{NAMES[state]} ({len(mine):,})",
        "x": [dot.measured for dot in mine],
        "y": [dot.predicted for dot in mine],
        "customdata": [dot.name for dot in mine],
        "marker": {"symbol": MARKS[state], "size": 7, "line": {"width": 1 if state == "outside" else 1.5}},
        "hovertemplate": "%{customdata}<br>measured %{x:,.4~g}, predicted %{y:,.4~g}<extra></extra>",
    }


def _line(name: str, low: float, high: float, factor: float, dash: str) -> Figure:
    """The line predicted = factor x measured, cut where it leaves the plot."""
    left, right = max(low, low / factor), min(high, high / factor)
    return {
        "type": "scatter",
        "mode": "lines",
        "name": name,
        "x": [left, right],
        "y": [left * factor, right * factor],
        "line": {"dash": dash, "width": 2},
        "hoverinfo": "skip",
    }


def _one_trace(lines: Sequence[Figure]) -> list[Figure]:
    """Both ends of the band as one trace, so that they share a colour and a place in the legend."""
    first, second = lines
    return [{**first, "x": [*first["x"], None, *second["x"]], "y": [*first["y"], None, *second["y"]]}]


def _log_axis(low: float, high: float) -> Figure:
    decades = math.log10(high) - math.log10(low)
    steps = (1, 2, 5) if decades < FEW_DECADES else (1,)
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks = [m * 10.0**p for p in powers for m in steps if low <= m * 10.0**p <= high]
    return {
        "type": "log",
        "range": [math.log10(low), math.log10(high)],
        "tickvals": ticks,
        "ticktext": [short(tick) for tick in ticks],
        "fixedrange": True,
        "automargin": True,
    }


def short(value: float) -> str:
    """A round number for a tick: 0.5, 200, 10k, 2M."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if value >= size:
            return f"{value / (1e3 if letter == 'k' else size):g}{letter}"
    return f"{value:,.10g}"


def errors(groups: Sequence[Group], axis_max: float) -> Figure:
    """A dot at each group's median |error|, a line from there to its 90th percentile, numbers beside it.

    First group on top. Lines that would leave the axis end at `axis_max`; their numbers are written anyway.
    """
    names = [group.name for group in groups]
    ends = [min(group.p90, axis_max) for group in groups]
    dots = [min(group.median, axis_max) for group in groups]
    ticks = even_ticks(axis_max)
    return {
        "data": [
            {
                "type": "scatter",
                "mode": "markers",
                "name": "Median error, and up to the 90th percentile",
                "x": dots,
                "y": names,
                "marker": {"symbol": "circle", "size": 11},
                "error_x": {
                    "type": "data",
                    "symmetric": False,
                    "array": [end - dot for end, dot in zip(ends, dots, strict=True)],
                    "arrayminus": [0.0] * len(groups),
                    "thickness": 2,
                    "width": 5,
                },
                "hoverinfo": "skip",
            },
            {
                "type": "scatter",
                "mode": "text",
                "x": ends,
                "y": names,
                "text": [f"  {percent(g.median)} · {percent(g.p90)} (n {g.n:,})" for g in groups],
                "textposition": "middle right",
                "textfont": {"size": 12},
                "cliponaxis": False,
                "showlegend": False,
                "hoverinfo": "skip",
            },
        ],
        "layout": {
            "showlegend": False,
            "height": 12 + BOTTOM_PX + ROW_PX * max(len(groups), 2),
            "margin": {"l": 8, "r": 8, "t": 12, "b": BOTTOM_PX},
            "xaxis": {
                "title": {"text": "Error, % of what was measured"},
                "range": [-0.03 * axis_max, axis_max * LABEL_ROOM],
                "fixedrange": True,
                "tickvals": ticks,
                "ticktext": [f"{tick:,.10g}" for tick in ticks],
            },
            "yaxis": {
                "type": "category",
                "categoryorder": "array",
                "categoryarray": names[::-1],
                "tickvals": names,
                "ticktext": [two_lines(name) for name in names],
                "range": [-0.5, max(len(groups), 1) - 0.5],
                "automargin": True,
                "fixedrange": True,
                "tickfont": {"size": 12},
            },
        },
    }


def percent(value: float) -> str:
    """An error for people: 0.4 %, 12 %."""
    if value < 0.05:
        return "under 0.1 %"
    return f"{value:.1f} %" if value < 9.95 else f"{value:,.0f} %"
