"""The charts of the page "How far off are we?".

What lies outside its band differs by its mark, not only by colour, and each row of the second chart carries
its numbers, so that both read without hovering.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pages.ui import charts
from pages.ui.charts import Axis, Chart, Line, Row, Spot

PLOT_PX: Final = 420
MARGIN: Final = 1.25  # around the outermost points of a logarithmic axis
FEW_DECADES: Final = 2.2  # below this many decades 2 and 5 are written too
LABEL_ROOM: Final = 1.75  # of the longest line: the numbers stand outside
# whether inside its band: name, mark, hollow, tone
KINDS: Final = (
    (True, "Inside its band", "circle", True, 0),
    (False, "Outside its band", "x", False, 1),
    (None, "One measurement", "circle", True, 0),
)


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


def scatter(
    dots: Sequence[Dot], unit: str, band: tuple[float, float] | None, several: bool, alt: str
) -> Chart:
    """Predicted against measured on two equal logarithmic axes.

    Exact predictions lie on the dashed line. `band` holds measured / predicted at its two ends, drawn dotted;
    `several`: it is the widest of several bands.
    """
    values = [value for dot in dots for value in (dot.measured, dot.predicted)]
    low, high = min(values) / MARGIN, max(values) * MARGIN
    groups = []
    for inside, name, symbol, hollow, tone in KINDS:
        mine = [dot for dot in dots if dot.inside is inside]
        spots = [Spot(dot.measured, dot.predicted, dot.name) for dot in mine]
        groups.append(charts.Group(f"{name} ({len(mine):,})", symbol, tone, spots, hollow))
    lines = [_line("Exact", low, high, 1.0, "dash")]
    if band is not None:
        name = "Widest of the bands" if several else "Band"
        lines += [_line(name, low, high, 1 / band[0], "dot"), _line("", low, high, 1 / band[1], "dot")]
    x, y = Axis(f"Measured, {unit}", low, high), Axis(f"Predicted, {unit}", low, high)
    steps = (1, 2, 5) if math.log10(high / low) < FEW_DECADES else (1,)
    ticks = [(tick, short(tick)) for tick in x.ticks(steps)]
    return charts.plane(groups, x, y, height_px=PLOT_PX, alt=alt, ticks=(ticks, ticks), lines=lines)


def _line(name: str, low: float, high: float, factor: float, look: str) -> Line:
    """The line predicted = factor x measured, cut where it leaves the plot."""
    left, right = max(low, low / factor), min(high, high / factor)
    return Line((left, left * factor), (right, right * factor), look, name)


def short(value: float) -> str:
    """A round number for a tick: 0.5, 200, 10k, 2M."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if value >= size:
            return f"{value / (1e3 if letter == 'k' else size):g}{letter}"
    return f"{value:,.10g}"


def errors(groups: Sequence[Group], axis_max: float, alt: str) -> Chart:
    """A dot at each group's median |error|, a line from there to its 90th percentile, numbers beside it.

    First group on top. Lines that would leave the axis end at `axis_max`; their numbers are written anyway.
    """
    return charts.rows(
        [
            Row(
                group.name,
                f"{percent(group.median)} · {percent(group.p90)} (n {group.n:,})",
                dot=min(group.median, axis_max),
                span=(min(group.median, axis_max), min(group.p90, axis_max)),
            )
            for group in groups
        ],
        title="Error, % of what was measured",
        top=axis_max,
        room=LABEL_ROOM,
        alt=alt,
    )


def percent(value: float) -> str:
    """An error for people: 0.4 %, 12 %."""
    if value < 0.05:
        return "under 0.1 %"
    return f"{value:.1f} %" if value < 9.95 else f"{value:,.0f} %"
