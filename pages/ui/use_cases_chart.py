"""How many GPUs, and when: one mark per use case on a log scale, as places that the browser only looks up.

A Plotly chart of these marks took longer to redraw than everything else on the page.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

SPREAD: Final = (
    0.36  # of a year: marks of one year stand side by side by name, which says nothing of size or month
)
CHARACTER_YEARS: Final = 0.14  # how far a letter of a name reaches on a phone
GAP_YEARS: Final = 0.15
HEIGHT_FACTOR: Final = 1.7  # how far up and down a name reaches, in count
MARKS: Final[Mapping[str, str]] = {  # a status is told by the form of its mark
    "planned": "○",
    "announced": "◇",
    "running": "●",
    "trained": "★",
    "benchmarked": "■",
    "demonstrated": "✚",
    "vendor-described": "△",
    "unconfirmed": "✕",
}
BELOW: Final = 0.25  # decades under 1 GPU, so that its mark does not lie on the axis


@dataclass(frozen=True)
class Point:
    """One use case: how many GPUs in which year, what its mark means and what stands beside it."""

    year: int
    count: int
    status: str
    name: str


def places(points: Sequence[Point], statuses: Mapping[str, str], years: tuple[int, int]) -> dict[str, Any]:
    """Marks, names and ticks as shares of the width from the left and of the height from the bottom.

    The log scale starts under 1 and ends at the power of ten above the largest count.
    """
    across = _across(points)
    sides = _sides(points, across, years)
    most = max((point.count for point in points), default=10)
    top = math.ceil(math.log10(most) + 0.15)
    first, wide = years[0] - 0.5, years[1] - years[0] + 1

    def up(count: float) -> float:
        return round((math.log10(count) + BELOW) / (top + BELOW), 4)

    return {
        "marks": [
            {
                "x": round((x - first) / wide, 4),
                "y": up(point.count),
                "mark": MARKS[point.status],
                "name": point.name if i in sides else "",
                "side": sides.get(i, "right"),
                "hint": f"{point.name}, {point.year}: {point.count:,} GPUs, {statuses[point.status]}",
            }
            for i, (x, point) in enumerate(zip(across, points, strict=True))
        ],
        "years": [
            [round((year + 0.5 - years[0]) / wide, 4), str(year)] for year in range(years[0], years[1] + 1)
        ],
        "counts": [[up(10**k), f"{10**k:,}"] for k in range(top + 1)],
    }


def _across(points: Sequence[Point]) -> list[float]:
    """Where each mark stands along the years: those of one year side by side, by name."""
    found = [float(point.year) for point in points]
    for year in {point.year for point in points}:
        own = sorted(
            (i for i, point in enumerate(points) if point.year == year), key=lambda i: (points[i].name, i)
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
