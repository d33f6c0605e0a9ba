"""How many GPUs, and when: one mark per use case on a log scale. Plain dicts, no Streamlit."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

Figure = dict[str, Any]

SPREAD: Final = 0.36  # of a year: marks of one year stand side by side, the smallest first
CHARACTER_YEARS: Final = 0.14  # how far a letter of a name reaches on a phone
GAP_YEARS: Final = 0.15
HEIGHT_FACTOR: Final = 1.7  # how far up and down a name reaches, in count
# status -> (Plotly's mark, the same as a letter): told by form; colour only repeats it
MARKS: Final[Mapping[str, tuple[str, str]]] = {
    "planned": ("circle-open", "○"),
    "announced": ("diamond-open", "◇"),
    "running": ("circle", "●"),
    "trained": ("star", "★"),
    "benchmarked": ("square", "■"),
    "demonstrated": ("cross", "✚"),
    "vendor-described": ("triangle-up-open", "△"),
    "unconfirmed": ("x-thin-open", "✕"),
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
    sides = _sides(points, across, years)
    traces = []
    for status, label in statuses.items():
        mark = MARKS[status][0]
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
                "text": [points[i].name if i in sides else "" for i in own],
                "textposition": [f"middle {sides.get(i, 'right')}" for i in own],
                "textfont": {"size": 11},
                "cliponaxis": False,
                "customdata": [[points[i].name, points[i].year] for i in own],
                "marker": {
                    "symbol": mark,
                    "size": 9,
                    "line": {"width": 2 if "open" in mark else 0},
                },
                "hovertemplate": "%{customdata[0]}, %{customdata[1]}: %{y:,} GPUs<extra></extra>",
            }
        )
    most = max((point.count for point in points), default=10)
    top = math.ceil(math.log10(most) + 0.15)
    ticks = [10**k for k in range(top + 1)]
    return {
        "data": traces,
        "layout": {
            "height": 400,
            "margin": {"l": 8, "r": 8, "t": 12, "b": 44},
            "showlegend": False,
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


def _sides(points: Sequence[Point], across: Sequence[float], years: tuple[int, int]) -> dict[int, str]:
    """On which side a name has room; the largest are named first, none over a mark or another name."""
    boxes: list[tuple[float, float, float, float]] = [
        (x - 0.05, x + 0.05, math.log(point.count), math.log(point.count))
        for x, point in zip(across, points, strict=True)
    ]
    found: dict[int, str] = {}
    reach = math.log(HEIGHT_FACTOR)
    for i in sorted(range(len(points)), key=lambda i: -points[i].count):
        x, height = across[i], math.log(points[i].count)
        wide = GAP_YEARS + CHARACTER_YEARS * len(points[i].name)
        for side, low, high in (("right", x + 0.06, x + wide), ("left", x - wide, x - 0.06)):
            inside = low >= years[0] - 0.6 and high <= years[1] + 0.6
            box = (low, high, height - reach, height + reach)
            if inside and not any(_meet(box, other) for other in boxes):
                found[i] = side
                boxes.append(box)
                break
    return found


def _meet(one: tuple[float, float, float, float], other: tuple[float, float, float, float]) -> bool:
    return one[0] < other[1] and other[0] < one[1] and one[2] < other[3] and other[2] < one[3]
