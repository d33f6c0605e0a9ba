"""The figure of the Recommend page: cost against speed with the frontier; a plain Plotly dict out.

No colours here: the theme fills them in. The frontier is a line with filled markers and names, the others are
hollow, so that it reads without colour and without hovering.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from calculators.ranking import Measure
from pages.ui import words

Figure = dict[str, Any]
HEIGHT_PX: Final = 440
MOST_NAMED: Final = 5
_PLACES: Final = ("bottom right", "top left")


@dataclass(frozen=True, slots=True)
class Point:
    """One GPU's best setup: cost [USD] and speed in the unit of the axis, both with their bands."""

    name: str
    usd: Measure
    speed: Measure
    frontier: bool
    tied: bool
    best: bool
    sure: bool = True


def pareto(points: Sequence[Point], usd_title: str, speed_title: str, less_is_better: bool) -> Figure:
    """Cost against speed on log scales, the best corner at the top left; times run downwards."""
    on = sorted((p for p in points if p.frontier), key=lambda p: float(p.usd.value))
    beaten = [p for p in points if not p.frontier and p.sure]
    unsure = [p for p in points if not p.frontier and not p.sure]
    traces = []
    if beaten:
        traces.append(
            _trace(beaten, "Beaten in both by another", "markers", "circle-open", 8, False, bare=True)
        )
    if unsure:
        name = "Memory tight, or nobody quotes so many together"
        traces.append(_trace(unsure, name, "markers", "x-thin-open", 7, False, bare=True))
    if on:
        traces.append(
            _trace(on, "Frontier: nothing is cheaper and faster", "lines+markers+text", "circle", 10, True)
        )
    best = [p for p in points if p.best or p.tied]
    if best:
        traces.append(
            _trace(best, "Recommended, and tied with it", "markers", "diamond-open", 18, False, bare=True)
        )
    return {
        "data": traces,
        "layout": {
            "height": HEIGHT_PX,
            "margin": {"l": 64, "r": 24, "t": 100, "b": 56},
            "showlegend": True,
            "legend": {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
            "hovermode": "closest",
            "xaxis": _axis(usd_title, [float(p.usd.value) for p in points], "$"),
            "yaxis": _axis(speed_title, [float(p.speed.value) for p in points])
            | ({"autorange": "reversed"} if less_is_better else {}),
        },
    }


def _axis(title: str, values: Sequence[float], prefix: str = "") -> dict[str, Any]:
    """A log axis with ticks at 1, 2 and 5 of each power of ten that the values reach."""
    low, high = (math.floor(math.log10(end)) for end in (min(values), max(values)))
    ticks = [m * 10.0**power for power in range(low, high + 1) for m in (1, 2, 5)]
    shown = [f"{prefix}{words.large(tick)}" for tick in ticks]
    return {"type": "log", "title": {"text": title}, "tickvals": ticks, "ticktext": shown}


def _trace(
    points: Sequence[Point], name: str, mode: str, symbol: str, size: int, line: bool, bare: bool = False
) -> dict[str, Any]:
    def bars(pick: str) -> dict[str, Any]:
        measures = [getattr(p, pick) for p in points]
        return {
            "type": "data",
            "symmetric": False,
            "array": [_gap(m.high, m.value) for m in measures],
            "arrayminus": [_gap(m.value, m.low) for m in measures],
            "thickness": 1,
            "width": 0,
        }

    step = max(1, -(-len(points) // MOST_NAMED))
    found: dict[str, Any] = {
        "type": "scatter",
        "name": name,
        "mode": mode,
        "x": [float(p.usd.value) for p in points],
        "y": [float(p.speed.value) for p in points],
        "marker": {"symbol": symbol, "size": size, "line": {"width": 2}},
        "hovertext": [p.name for p in points],
        "hoverinfo": "text+x+y",
    }
    if not bare:
        found |= {"error_y": bars("speed"), "error_x": bars("usd")}
    if line:
        found |= {
            "line": {"shape": "hv", "dash": "dot"},
            "text": [p.name if i % step == 0 or p.best else "" for i, p in enumerate(points)],
            "textposition": [_PLACES[i % 2] for i in range(len(points))],
            "textfont": {"size": 11},
        }
    return found


def _gap(high: Any, low: Any) -> float:
    gap = float(high) - float(low)
    return gap if gap == gap and gap != float("inf") else 0.0
