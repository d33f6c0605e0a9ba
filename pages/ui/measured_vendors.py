"""Whose cards were measured behind an estimate of speed: a band says little of those that have none.

A card counts as measured when any card of its architecture was, in the table of measurements behind the
estimate. Where none was, the band is widened by what vendors that nothing was fitted to were off.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calculators.scenario import Scenario
from gpu_data.accuracy import COUNTED, accuracy_frame
from gpu_data.speed import speed_engine_like
from gpu_data.unseen import spreads
from pages.ui import catalogue, words, workload

SPEEDS = ("decode", "prefill", "throughput", "training")  # kinds of estimates that are speeds
_MEASURED = {"serving": "was measured in serving", "training": "is among the measured training runs"}


@dataclass(frozen=True, slots=True)
class _Table:
    """Vendors, most rows first, and architectures with a measured speed."""

    vendors: tuple[str, ...]
    architectures: frozenset[str]


@cache
def _tables() -> tuple[dict[str, _Table], dict[str, str]]:
    """What was measured by table of measurements; the table of each engine."""
    frame = accuracy_frame()
    frame = frame[frame["kind"].isin(SPEEDS) & (frame["part"] == COUNTED) & frame["gpu_id"].notna()]
    found = {}
    for table, rows in frame.groupby("table"):
        specs = [catalogue.spec_row(str(gpu)) for gpu in rows["gpu_id"]]
        vendors = [str(spec["vendor"]) for spec in specs]
        found[str(table)] = _Table(
            tuple(sorted(set(vendors), key=lambda one: (-vendors.count(one), one))),
            frozenset(str(spec["architecture"]) for spec in specs),
        )
    return found, dict(zip(frame["engine"], frame["table"], strict=True))


@lru_cache(maxsize=256)
def table_of(task: str, engine_id: str, family: str) -> str:
    """The table of measurements behind the speeds of a task under an engine."""
    if task != "serve":
        return "training"
    like = speed_engine_like(engine_id, family)
    return "serving" if like is None else _tables()[1].get(like.label, "serving")


def table(s: Scenario) -> str:
    """The table of measurements behind a scenario's speeds."""
    if s.task != "serve":
        return "training"
    engine = workload.load(s).engine
    return table_of(s.task, engine.id, engine.family)


@lru_cache(maxsize=64)
def unseen(table: str, gpus: tuple[str, ...]) -> NDArray[np.bool_]:
    """Of which GPUs no card of the architecture was measured."""
    known = _tables()[0][table].architectures
    found = np.array([str(catalogue.spec_row(gpu)["architecture"]) not in known for gpu in gpus])
    found.setflags(write=False)
    return found


def widened(table: str, gpus: Sequence[str], value: Any, low: Any, high: Any) -> tuple[Any, Any]:
    """(low, high) of speeds or times [card, ..]: wider for cards whose architecture was never measured.

    Logarithms of the ends and of the spread add up in quadrature.
    """
    spread = spread_of(table, tuple(gpus))
    return widened_by(spread.reshape(-1, *(1,) * (np.ndim(value) - 1)), value, low, high)


def spread_of(table: str, gpus: tuple[str, ...]) -> NDArray[np.float64]:
    """What is added to the band of each GPU [logarithm of a ratio]; 0 where its architecture was measured."""
    return np.where(unseen(table, gpus), spreads()[table].log_spread, 0.0)


def widened_by(spread: Any, value: Any, low: Any, high: Any) -> tuple[Any, Any]:
    """(low, high) with a spread [logarithm of a ratio] added to each end in quadrature."""
    with np.errstate(invalid="ignore", divide="ignore"):
        down, up = np.log(np.divide(low, value)), np.log(np.divide(high, value))
        less = value * np.exp(-np.hypot(down, spread))
        more = value * np.exp(np.hypot(up, spread))
    still = np.asarray(spread) == 0
    return np.where(still, low, less), np.where(still, high, more)


def unseen_words(table: str, gpu: str) -> str:
    """Whose cards were never measured: no AMD card, no Volta card; nothing where some were."""
    if not unseen(table, (gpu,))[0]:
        return ""
    row = catalogue.spec_row(gpu)
    kind = row["architecture"] if row["vendor"] in _tables()[0][table].vendors else row["vendor"]
    return f"no {kind} card"


def unmeasured(s: Scenario, gpu: str) -> str:
    """A sentence where no card of the GPU's architecture was measured for the task; else nothing."""
    name = table(s)
    said = unseen_words(name, gpu)
    if not said:
        return ""
    where = _MEASURED.get(name) or f"was measured under {workload.load(s).engine.label}"
    others = f"{words.listed(_tables()[0][name].vendors)} cards"
    return (
        f"{said[:1].upper()}{said[1:]} {where}: the band is that of {others}, widened by what is known of "
        f"such cases ({spreads()[name].rests_on})."
    )
