"""The charts of the Compare page: bars of one figure, and points named where a name finds room.

Order, text, star, hatching and symbol carry what colour would, so that every chart reads without hovering and
without colour.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pages.ui import charts
from pages.ui.charts import Axis, Chart, Group, Label, Line, Row, Spot
from pages.ui.compare_labels import GAP_PX, SIDES, Mark, Placed, place

STAR: Final = "★ "
LABEL_ROOM: Final = 1.5  # of the longest bar: the figures stand outside the bars
PINNED, OTHER = 0, 1  # tones

# The plot area of a 390 px phone; labels that fit there fit on anything wider.
NARROW_PX: Final = 265
PLOT_PX: Final = 492


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
    """One card of a scatter; cards at the same place share one point (their names one below the other)."""

    name: str
    x: float
    y: float
    group: str
    pinned: bool = False
    diameter: float = 9.0
    hollow: bool = False


@dataclass(frozen=True)
class Scatter:
    """A finished scatter and the key of its numbered points: number -> name."""

    figure: Chart
    key: dict[int, str]


def bars(rows: Sequence[Bar], axis_title: str, axis_max: float, alt: str) -> Chart:
    """Horizontal bars, largest on top, name and number written out; fixed axis from 0 to `axis_max`.

    Pinned cards carry a star and a tone of their own; `hatched` marks a bar that needs a second look (the
    page says what for).
    """
    ordered = sorted(rows, key=lambda r: (-r.value, r.name))
    return charts.rows(
        [
            Row(
                f"{STAR}{r.name}" if r.pinned else r.name,
                r.text,
                bar=r.value,
                tone=PINNED if r.pinned else OTHER,
                hatch=int(r.hatched),
            )
            for r in ordered
        ],
        title=axis_title,
        top=axis_max,
        room=LABEL_ROOM,
        alt=alt,
    )


def scatter(
    points: Sequence[Point], groups: Sequence[str], x: Axis, y: Axis, alt: str, ridges: Sequence[float] = ()
) -> Scatter:
    """A log-log scatter with a name at every point, or a number where the name finds no room.

    Each group has one symbol and tone by its place in `groups`, whichever groups have points. `ridges` draws
    lines of constant y / x × 1000, which is FLOP per byte when y is TFLOPS and x is GB/s.
    """
    merged = _merged(points)
    order = sorted(range(len(merged)), key=lambda i: (not merged[i].pinned, -merged[i].y, merged[i].name))
    marks = [
        Mark(
            x.share(merged[i].x) * NARROW_PX,
            y.share(merged[i].y) * PLOT_PX,
            merged[i].diameter / 2,
            _starred(merged[i]),
        )
        for i in order
    ]
    placed: dict[int, Placed] = dict(zip(order, place(marks, NARROW_PX, PLOT_PX), strict=True))
    lines, ends = _ridge_lines(ridges, x, y)
    labels = [
        Label(p.x, p.y, placed[i].text, SIDES[placed[i].side], p.diameter / 2 + GAP_PX)
        for i, p in enumerate(merged)
    ]
    figure = charts.plane(
        [
            Group(
                group,
                charts.SYMBOLS[k % len(charts.SYMBOLS)],
                k,
                [
                    Spot(p.x, p.y, p.name.replace("\n", ", "), p.diameter, p.hollow)
                    for p in merged
                    if p.group == group
                ],
            )
            for k, group in enumerate(groups)
        ],
        x,
        y,
        height_px=PLOT_PX,
        alt=alt,
        ticks=(_ticks(x), _ticks(y)),
        labels=[*labels, *ends],
        lines=lines,
    )
    key = {t.number: merged[i].name for i, t in placed.items() if t.number is not None}
    return Scatter(figure, {n: key[n].replace("\n", ", ") for n in sorted(key)})


def _ticks(axis: Axis) -> list[tuple[float, str]]:
    return [(tick, f"{tick:,g}") for tick in axis.ticks()]


def _ridge_lines(ridges: Sequence[float], x: Axis, y: Axis) -> tuple[list[Line], list[Label]]:
    """The ridge lines, and their names just outside the plot, where no card can be."""
    lines, names = [], []
    for ridge in ridges:
        left = max(x.low, y.low * 1000 / ridge)
        right = min(x.high, y.high * 1000 / ridge)
        if left < right:
            name = "" if lines else "Lines of equal FLOP per byte"
            top = right * ridge / 1000
            lines.append(Line((left, left * ridge / 1000), (right, top), "dot", name))
            names.append(Label(right, top, f"{ridge:,g}", (1, 0) if right == x.high else (0, 1), GAP_PX))
    return lines, names


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
        merged.append(Point("\n".join(names), x, y, group, same[0].pinned, diameter, hollow))
    return merged


def _starred(point: Point) -> str:
    return STAR + point.name if point.pinned else point.name
