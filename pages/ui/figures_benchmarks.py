"""The charts of the Benchmarks page: measured results as bars. One unit per chart, always.

Every bar carries its name and number, so that a chart reads without hovering; rounds differ by hatching as
well as by colour.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pages.ui import charts
from pages.ui.charts import Chart, Row

LABEL_ROOM: Final = 1.55  # of the longest bar: the figures stand outside the bars
ESTIMATE_ROOM: Final = 2.1  # two figures


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


def result_bars(rows: Sequence[ResultBar], axis_title: str, axis_max: float, alt: str) -> Chart:
    """Horizontal bars in the order given, first on top; fixed axis from 0 to `axis_max`.

    A line through a bar's end runs from the lowest to the highest result behind it.
    """
    series = list(dict.fromkeys(row.series for row in rows))
    estimates = [row.estimate for row in rows if row.estimate]
    drawn = [
        Row(
            row.name,
            row.text,
            bar=row.value or 0,
            span=(row.low, row.high) if row.count > 1 and row.value is not None else None,
            estimate=(e.value, e.low, e.high) if (e := row.estimate) else None,
            tone=series.index(row.series),
            hatch=series.index(row.series),
        )
        for row in rows
    ]
    legend: list[Chart] = []
    if len(series) > 1 or estimates:
        legend = [
            {"look": "bar", "tone": place, "hatch": place, "text": name or "Measured"}
            for place, name in enumerate(series)
        ]
        if any(row.span for row in drawn):
            legend.append({"look": "span", "text": "Lowest to highest"})
    if estimates:
        banded = any(one.low < one.high for one in estimates)
        legend.append({"look": "estimate", "text": f"Our estimate{' with its 80 % band' if banded else ''}"})
    return charts.rows(
        drawn,
        title=axis_title,
        top=axis_max,
        room=ESTIMATE_ROOM if estimates else LABEL_ROOM,
        alt=alt,
        legend=legend,
    )
