"""The chart views of the Compare page: from the chosen cards to figure, takeaway, notes and numbers.

Pure: the page only draws what these return.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import pandas as pd

from calculators.roofline import balanced_batch_tokens, per_watt, relative_to, ridge_flop_per_byte
from pages.ui import compare_notes as notes
from pages.ui.charts import Axis, Chart
from pages.ui.compare_choices import Precision
from pages.ui.compare_select import Choice, floats
from pages.ui.compare_text import number, short_name, times
from pages.ui.compare_types import fp16_accumulate, sparse_values
from pages.ui.figures_compare import Bar, Point, bars, scatter

GIB: Final = 2**30
MOST_BARS: Final = 20
MOST_POINTS: Final = 14  # more names do not find room on a phone
RIDGES: Final = tuple(25 * 2**n for n in range(9))  # FLOP per byte
WATT_TO_DIAMETER: Final = 0.85  # marker area is proportional to power: 70 W is 7 px wide, 1400 W 32 px
UNKNOWN_POWER_PX: Final = 10.0


@dataclass(frozen=True)
class ChartView:
    """What one chart view shows.

    `figure` is None when no card has the figure. `takeaway` is the sentence above it, `notes` the caveats,
    `numbers` what is drawn as text, one row per card.
    """

    title: str
    figure: Chart | None
    takeaway: str
    notes: tuple[str, ...]
    numbers: pd.DataFrame


@dataclass(frozen=True)
class Measured:
    """One figure per card, aligned with the rows of a choice, and the largest of all cards (the axis)."""

    label: str
    unit: str
    values: np.ndarray
    bound: float


def bandwidth_view(choice: Choice) -> ChartView:
    """Memory bandwidth as bars: how fast a card reads weights and cache, so how fast it can decode."""
    column = "bandwidth_gb_per_s"
    measured = Measured("memory bandwidth", "GB/s", floats(choice.rows[column]), _most(choice, column))
    return _bar_view(
        choice,
        measured,
        title="Memory bandwidth",
        alt="Bar chart of memory bandwidth in GB/s, one bar per card, fastest on top.",
        caveats=[
            "Each generated token reads every active weight once, so bandwidth bounds the tokens per second "
            "of one user. Whether the model fits is a separate question."
        ],
    )


def tensor_view(choice: Choice, precision: Precision, sparse: bool) -> ChartView:
    """Matrix peak of one number type as bars: dense, or 2:4 sparse alone, never one ranked with the other."""
    kind = "2:4 sparse" if sparse else "dense"
    what = f"{kind} {precision.label} peak"
    doubled = fp16_accumulate(choice.rows, precision)
    if sparse:
        values = sparse_values(choice.rows, precision)
        most = float(np.nanmax(sparse_values(choice.everything, precision), initial=1))
    else:
        values, most = floats(choice.rows[precision.column]), _most(choice, precision.column)
    shown, _ = _shown(choice, values, MOST_BARS)
    caveats = (
        [
            "Sparse peaks hold only for weights pruned to two non-zeros in every four; ordinary models run "
            "at the dense peak. Every bar here is sparse and hatched; no dense figure is among them."
        ]
        if sparse
        else notes.accumulator(choice, shown, precision, doubled)
    )
    return _bar_view(
        choice,
        Measured(what, precision.unit, values, most),
        title=f"Tensor Core and matrix peak: {precision.label}, {kind}",
        alt="Bar chart of the matrix peak in the number type chosen, one bar per card, fastest on top.",
        caveats=[*caveats, *notes.lacking(choice, precision)],
        hatched=np.full(len(values), True) if sparse else ~np.isnan(doubled),
        aside=lambda i: "" if sparse or np.isnan(doubled[i]) else f" ({number(doubled[i])} FP16 acc.)",
    )


def watt_view(choice: Choice, precision: Precision) -> ChartView:
    """Dense peak per watt of board power as bars; bandwidth per watt is in the sentence and the numbers."""
    rows, every = choice.rows, choice.everything
    power = floats(rows["tdp_w"])
    everyone = per_watt(floats(every[precision.column]), floats(every["tdp_w"]))
    measured = Measured(
        f"dense {precision.label} per watt",
        f"{precision.unit}/W",
        per_watt(floats(rows[precision.column]), power),
        float(np.nanmax(everyone, initial=0.01)),
    )
    reading = per_watt(floats(rows["bandwidth_gb_per_s"]), power)
    view = _bar_view(
        choice,
        measured,
        title=f"Efficiency: dense {precision.label} per watt",
        alt="Bar chart of the dense peak per watt of board power, one bar per card, most efficient on top.",
        caveats=[
            "Peak divided by the board power limit (TDP), not by measured draw. Modules that carry a CPU "
            "count its power too where the vendor gives only the sum."
        ],
        missing=f"dense {precision.label} peak or board power",
        columns={"Board power, W": power, "Bandwidth per watt, GB/s/W": reading},
    )
    if np.isnan(reading).all():
        return view
    best = int(np.nanargmax(reading))
    sentence = (
        f"{notes.name_at(choice, best)} reads the most memory per watt: {number(reading[best])} GB/s/W."
    )
    return replace(view, takeaway=f"{view.takeaway} {sentence}")


def roofline_view(choice: Choice, precision: Precision) -> ChartView:
    """Compute against bandwidth, with lines of equal ridge point (FLOP per byte)."""
    rows, every = choice.rows, choice.everything
    peak, bandwidth = floats(rows[precision.column]), floats(rows["bandwidth_gb_per_s"])
    ridge = ridge_flop_per_byte(peak, bandwidth)
    batch = balanced_batch_tokens(peak, bandwidth, precision.bits)
    shown, cut = _shown(choice, np.where(np.isnan(ridge), np.nan, peak), MOST_POINTS)
    peaks, bandwidths = floats(every[precision.column]), floats(every["bandwidth_gb_per_s"])
    points = [
        Point(
            f"{notes.name_at(choice, i)} · {ridge[i]:.0f}",
            float(bandwidth[i]),
            float(peak[i]),
            str(rows["vendor"].iloc[i]),
            choice.is_pinned(i),
        )
        for i in shown
    ]
    drawn = scatter(
        points,
        _vendors(choice),
        _log_axis("Memory bandwidth, GB/s", bandwidths),
        _log_axis(f"Dense {precision.label} peak, {precision.unit}", peaks),
        f"Scatter of the dense {precision.label} peak against memory bandwidth, both axes logarithmic, with "
        "lines of equal FLOP per byte.",
        _ridges(ridge_flop_per_byte(peaks, bandwidths)),
    )
    what = f"bandwidth or dense {precision.label} peak"
    takeaway = notes.ridge_range(choice, shown, ridge, batch, precision) if shown else ""
    columns = {
        "Bandwidth, GB/s": bandwidth,
        f"Dense {precision.label}, {precision.unit}": peak,
        "Ridge point, FLOP per byte": ridge,
        f"Tokens per step at the ridge, {precision.label} weights": batch,
    }
    return ChartView(
        f"Compute against bandwidth, dense {precision.label}",
        drawn.figure if shown else None,
        takeaway or notes.nothing_to_show(what),
        (
            "The number after each name is its ridge point: FLOP a program must do per byte read before "
            "compute, not memory, is the limit. Dotted lines join equal ridge points. Decoding for one user "
            f"does about {number(2 * 8 / precision.bits)} FLOP per byte of {precision.label} weights, so "
            "there every card waits for its memory.",
            *notes.numbered(drawn.key),
            *notes.left_out(choice, len(shown), cut, what),
        ),
        _numbers(choice, sorted(shown, key=lambda i: -ridge[i]), columns),
    )


def map_view(choice: Choice) -> ChartView:
    """Capacity against bandwidth, marker area by board power: more memory is not faster memory."""
    rows, every = choice.rows, choice.everything
    memory, bandwidth, power = (floats(rows[c]) for c in ("memory_gb", "bandwidth_gb_per_s", "tdp_w"))
    shown, cut = _shown(choice, np.where(np.isnan(memory), np.nan, bandwidth), MOST_POINTS)
    points = [
        Point(
            notes.name_at(choice, i),
            float(memory[i]),
            float(bandwidth[i]),
            str(rows["vendor"].iloc[i]),
            choice.is_pinned(i),
            UNKNOWN_POWER_PX if np.isnan(power[i]) else WATT_TO_DIAMETER * float(np.sqrt(power[i])),
            bool(np.isnan(power[i])),
        )
        for i in shown
    ]
    drawn = scatter(
        points,
        _vendors(choice),
        _log_axis("Memory on the label, GB", floats(every["memory_gb"])),
        _log_axis("Memory bandwidth, GB/s", floats(every["bandwidth_gb_per_s"])),
        "Scatter of memory capacity against memory bandwidth, both axes logarithmic, marker area by power.",
    )
    columns = {
        "Label, GB": memory,
        "Driver, GiB": floats(rows["visible_bytes"]) / GIB,
        "Usable, GiB": floats(rows["usable_bytes"]) / GIB,
        "Bandwidth, GB/s": bandwidth,
        "Board power, W": power,
    }
    return ChartView(
        "Memory against bandwidth",
        drawn.figure if shown else None,
        notes.size_against_speed(choice, shown, memory, bandwidth),
        (
            "Marker area follows board power; a hollow marker means that the power is not published. Memory "
            "is the figure on the box; what a program sees of it stands in the numbers below.",
            *notes.numbered(drawn.key),
            *notes.left_out(choice, len(shown), cut, "memory or bandwidth"),
        ),
        _numbers(choice, sorted(shown, key=lambda i: (-memory[i], -bandwidth[i])), columns),
    )


def _bar_view(
    choice: Choice,
    measured: Measured,
    *,
    title: str,
    alt: str,
    caveats: Sequence[str],
    hatched: np.ndarray | None = None,
    aside: Callable[[int], str] = lambda _: "",
    missing: str | None = None,
    columns: Mapping[str, np.ndarray] | None = None,
) -> ChartView:
    """Bars of one figure, with multiples of the baseline card when there is one."""
    rows, values = choice.rows, measured.values
    shown, cut = _shown(choice, values, MOST_BARS)
    ratios = _ratios(choice, values)
    chart = [
        Bar(
            str(rows["name"].iloc[i]),
            float(values[i]),
            " · ".join(filter(None, [number(values[i]) + aside(i), times(ratios[i])])),
            choice.is_pinned(i),
            hatched is not None and bool(hatched[i]),
        )
        for i in shown
    ]
    heading = f"{measured.label[0].upper()}{measured.label[1:]}, {measured.unit}"
    table = {heading: values, **(columns or {})}
    if choice.baseline:
        table[f"× {short_name(str(choice.everything.at[choice.baseline, 'name']))}"] = ratios
    return ChartView(
        title,
        bars(chart, heading, measured.bound, alt) if shown else None,
        notes.leaders(choice, shown, values, measured.label, measured.unit),
        (*caveats, *notes.left_out(choice, len(shown), cut, missing or measured.label)),
        _numbers(choice, sorted(shown, key=lambda i: -values[i]), table),
    )


def _ratios(choice: Choice, values: np.ndarray) -> np.ndarray:
    """Multiples of the baseline card's value; NaN without a baseline or without its figure."""
    if choice.baseline is None:
        return np.full(len(values), np.nan)
    return relative_to(values, values[list(choice.rows.index).index(choice.baseline)])


def _shown(choice: Choice, values: np.ndarray, most: int) -> tuple[list[int], int]:
    """The rows to draw (pinned and baseline, then the largest, at most `most`) and how many are cut."""
    known = [i for i in range(len(values)) if not np.isnan(values[i])]
    ranked = sorted(known, key=lambda i: (not choice.is_kept(i), -values[i]))
    return ranked[:most], max(len(ranked) - most, 0)


def _numbers(choice: Choice, order: Sequence[int], columns: Mapping[str, np.ndarray]) -> pd.DataFrame:
    data = {label: [number(values[i]) for i in order] for label, values in columns.items()}
    return pd.DataFrame(data, index=pd.Index([str(choice.rows["name"].iloc[i]) for i in order], name="GPU"))


def _vendors(choice: Choice) -> list[str]:
    """All vendors there are, the one with most cards first."""
    return [str(vendor) for vendor in choice.everything["vendor"].value_counts().index]


def _ridges(known: np.ndarray) -> list[float]:
    """The lines to draw: round values between the smallest and the largest ridge point there is."""
    low, high = np.nanmin(known), np.nanmax(known)
    return [r for r in RIDGES if low * 0.75 <= r <= high * 1.33]


def _most(choice: Choice, column: str) -> float:
    return float(np.nanmax(floats(choice.everything[column])))


def _log_axis(title: str, values: np.ndarray) -> Axis:
    """An axis a little wider than the data's bounds, whatever the filters leave."""
    return Axis(title, float(np.nanmin(values)) / 1.25, float(np.nanmax(values)) * 1.25)
