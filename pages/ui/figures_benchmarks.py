"""The figures of the Benchmarks page: results in, a plain Plotly dict out. One unit per figure, always.

No colours here: the theme fills them in. Every bar carries its name and number, so that a figure reads
without hovering; rounds differ by hatching as well as by colour.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from pages.ui.figure_parts import even_ticks, two_lines

Figure = dict[str, Any]

ROW_PX: Final = 34
LABEL_ROOM: Final = 1.55  # of the longest bar: the figures stand outside the bars
ESTIMATE_ROOM: Final = 2.1  # two figures
PALE: Final = 0.6  # a bar under a diamond
PAST_MARKER: Final = "\u2003"  # an em: the text begins beside the diamond, not on it
BOTTOM_PX: Final = 56
LEGEND_PX: Final = 34
ESTIMATE_LEGEND_PX: Final = 64  # two lines on a phone
HATCHES: Final = ("", "/", ".", "x", "-", "\\", "+", "|")


@dataclass(frozen=True)
class Estimate:
    """What we would have predicted, with its 80 % band, in the unit of the bar."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class ResultBar:
    """One bar: the median of `count` results between `low` and `high`, or a run without a number.

    `value` None means that it did not run; `text` then says why. `series` tells rounds apart. `estimate` is
    drawn beside the bar when there is one.
    """

    name: str
    value: float | None
    low: float
    high: float
    count: int
    text: str
    series: str = ""
    estimate: Estimate | None = None


def result_bars(rows: Sequence[ResultBar], axis_title: str, axis_max: float) -> Figure:
    """Horizontal bars in the order given, first on top; fixed axis from 0 to `axis_max`.

    A line through a bar's end runs from the lowest to the highest result behind it. Names must differ.
    """
    series = list(dict.fromkeys(row.series for row in rows))
    names = [row.name for row in rows]
    traces = [_bars(rows, names, name, HATCHES[i % len(HATCHES)]) for i, name in enumerate(series)]
    traces += _ranges(rows)
    estimated = [i for i, row in enumerate(rows) if row.estimate is not None]
    if estimated:
        traces.append(_estimates([rows[i] for i in estimated], [names[i] for i in estimated]))
    traces.append(_texts(rows, names))
    ticks = even_ticks(axis_max)
    legend = len(series) > 1 or bool(estimated)
    top = ESTIMATE_LEGEND_PX if estimated else LEGEND_PX if legend else 8
    room = ESTIMATE_ROOM if estimated else LABEL_ROOM
    return {
        "data": traces,
        "layout": {
            "barmode": "overlay",
            "bargap": 0.35,
            "showlegend": legend,
            "legend": {
                "orientation": "h",
                "x": 0,
                "xanchor": "left",
                "y": 1,
                "yanchor": "bottom",
                "itemclick": False,
                "itemdoubleclick": False,
            },
            "height": top + BOTTOM_PX + ROW_PX * max(len(rows), 2),
            "margin": {"l": 8, "r": 8, "t": top, "b": BOTTOM_PX},
            "xaxis": {
                "title": {"text": axis_title},
                "range": [0, axis_max * room],
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
                "range": [-0.5, max(len(rows), 1) - 0.5],
                "automargin": True,
                "fixedrange": True,
                "tickfont": {"size": 12},
            },
        },
    }


def _bars(rows: Sequence[ResultBar], names: Sequence[str], series: str, hatch: str) -> Figure:
    part = [(row, name) for row, name in zip(rows, names, strict=True) if row.series == series]
    return {
        "type": "bar",
        "orientation": "h",
        "name": series or "Measured",
        "x": [row.value or 0 for row, _ in part],
        "y": [name for _, name in part],
        "marker": {
            "pattern": {"shape": hatch, "size": 6},
            "opacity": PALE if any(row.estimate for row in rows) else 1,
        },
        "hovertemplate": "%{y}: %{x:,.4~g}<extra></extra>",
    }


def _ranges(rows: Sequence[ResultBar]) -> list[Figure]:
    """A line from the lowest to the highest result where a bar stands for several."""
    several = [row for row in rows if row.count > 1 and row.value is not None]
    if not several:
        return []
    values = [(row.value or 0, row.low, row.high) for row in several]
    return [
        {
            "type": "scatter",
            "mode": "markers",
            "name": "Lowest to highest",
            "x": [value for value, _, _ in values],
            "y": [row.name for row in several],
            "marker": {"symbol": "line-ns-open", "size": 8, "line": {"width": 2}},
            "error_x": _both_sides(values),
            "hovertemplate": "%{y}: median %{x:,.4~g}<extra></extra>",
        }
    ]


def _both_sides(values: Sequence[tuple[float, float, float]]) -> Figure:
    """Plotly's error bar for (middle, low, high)."""
    return {
        "type": "data",
        "symmetric": False,
        "array": [high - middle for middle, _, high in values],
        "arrayminus": [middle - low for middle, low, _ in values],
        "thickness": 2,
        "width": 4,
    }


def _estimates(rows: Sequence[ResultBar], names: Sequence[str]) -> Figure:
    known = [row.estimate for row in rows if row.estimate is not None]
    return {
        "type": "scatter",
        "mode": "markers",
        "name": "Our estimate" + (" with its 80 % band" if any(e.low < e.high for e in known) else ""),
        "x": [e.value for e in known],
        "y": list(names),
        "marker": {"symbol": "diamond-open", "size": 10, "line": {"width": 2}},
        "error_x": _both_sides([(e.value, e.low, e.high) for e in known]),
        "hovertemplate": "%{y}: estimate %{x:,.4~g}<extra></extra>",
    }


def _texts(rows: Sequence[ResultBar], names: Sequence[str]) -> Figure:
    """The numbers, right of everything that is drawn in the row."""
    ends = [max(row.value or 0, row.high, row.estimate.high if row.estimate else 0) for row in rows]
    return {
        "type": "scatter",
        "mode": "text",
        "x": ends,
        "y": list(names),
        "text": [f"{PAST_MARKER if row.estimate else ' '}{row.text}" for row in rows],
        "textposition": "middle right",
        "textfont": {"size": 12},
        "cliponaxis": False,
        "showlegend": False,
        "hoverinfo": "skip",
    }
