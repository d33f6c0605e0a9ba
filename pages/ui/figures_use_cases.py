"""How many GPUs, and when: one mark per use case on a log scale. Plain dicts, no Streamlit."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

Figure = dict[str, Any]

SPREAD: Final = 0.36  # of a year: marks of one year stand side by side, the smallest first
NEAR_FACTOR: Final = 2.4  # in count
NEAR_YEARS: Final = 2  # so far does a name reach
SYMBOLS: Final[Mapping[str, str]] = {  # a status is told by the form of its mark; colour only repeats it
    "planned": "circle-open",
    "announced": "diamond-open",
    "running": "circle",
    "trained": "star",
    "benchmarked": "square",
    "demonstrated": "cross",
    "vendor-described": "triangle-up-open",
    "unconfirmed": "x-thin-open",
}


@dataclass(frozen=True)
class Point:
    """One use case: how many GPUs in which year, what its mark means and what stands beside it."""

    year: int
    count: int
    status: str
    name: str


def use_case_figure(points: Sequence[Point], statuses: Mapping[str, str], years: tuple[int, int]) -> Figure:
    """Marks over the years on a log scale; `statuses` names them, `years` are the first and last shown."""
    across = _across(points)
    named = _named(points)
    middle = sum(years) / 2
    traces = []
    for status, label in statuses.items():
        own = [i for i, point in enumerate(points) if point.status == status]
        if not own:
            continue
        traces.append(
            {
                "type": "scatter",
                "mode": "markers+text",
                "name": label,
                "x": [across[i] for i in own],
                "y": [points[i].count for i in own],
                "text": [points[i].name if i in named else "" for i in own],
                "textposition": ["middle right" if points[i].year < middle else "middle left" for i in own],
                "textfont": {"size": 11},
                "cliponaxis": False,
                "customdata": [[points[i].name, points[i].year] for i in own],
                "marker": {"symbol": SYMBOLS[status], "size": 9, "line": {"width": 2}},
                "hovertemplate": "%{customdata[0]}, %{customdata[1]}: %{y:,} GPUs<extra></extra>",
            }
        )
    most = max((point.count for point in points), default=10)
    top = math.ceil(math.log10(most) + 0.15)
    ticks = [10**k for k in range(top + 1)]
    return {
        "data": traces,
        "layout": {
            "height": 420,
            "margin": {"l": 8, "r": 8, "t": 64, "b": 44},
            "showlegend": True,
            "legend": {
                "orientation": "h",
                "x": 0,
                "xanchor": "left",
                "y": 1.02,
                "yanchor": "bottom",
                "itemclick": False,
                "itemdoubleclick": False,
            },
            "xaxis": {
                "title": {"text": "year"},
                "tickvals": list(range(years[0], years[1] + 1)),
                "range": [years[0] - 0.5, years[1] + 0.5],
                "fixedrange": True,
                "showgrid": False,
            },
            "yaxis": {
                "title": {"text": "GPUs (log scale)"},
                "type": "log",
                "range": [-0.2, top],
                "tickvals": ticks,
                "ticktext": [f"{tick:,}" for tick in ticks],
                "fixedrange": True,
                "automargin": True,
            },
        },
    }


def _across(points: Sequence[Point]) -> list[float]:
    """Where each mark stands along the years: those of one year side by side in the order of their count."""
    found = [float(point.year) for point in points]
    for year in {point.year for point in points}:
        own = sorted(
            (i for i, point in enumerate(points) if point.year == year), key=lambda i: points[i].count
        )
        for rank, i in enumerate(own):
            found[i] += SPREAD * (2 * (rank + 0.5) / len(own) - 1)
    return found


def _named(points: Sequence[Point]) -> set[int]:
    """The marks whose names have room: the largest first, none over another."""
    chosen: list[int] = []
    for i in sorted(range(len(points)), key=lambda i: -points[i].count):
        one = points[i]
        clear = all(
            abs(one.year - points[k].year) > NEAR_YEARS or points[k].count > NEAR_FACTOR * one.count
            for k in chosen
        )
        if clear:
            chosen.append(i)
    return set(chosen)
