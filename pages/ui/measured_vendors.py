"""Whose cards were measured behind an estimate of speed: a band says nothing of a vendor that has none."""

from __future__ import annotations

from functools import cache

from calculators.scenario import Scenario
from gpu_data.accuracy import COUNTED, accuracy_frame
from gpu_data.speed import speed_engine_like
from pages.ui import catalogue, words, workload

SPEEDS = ("decode", "prefill", "throughput", "training")  # kinds of estimates that are speeds
_MEASURED = {"serving": "was measured in serving", "training": "is among the measured training runs"}


@cache
def _tables() -> tuple[dict[str, tuple[str, ...]], dict[str, str]]:
    """Vendors with measured speeds, most rows first, by table of measurements; the table of each engine."""
    frame = accuracy_frame()
    frame = frame[frame["kind"].isin(SPEEDS) & (frame["part"] == COUNTED) & frame["gpu_id"].notna()]
    vendors = frame["gpu_id"].map(lambda gpu: str(catalogue.spec_row(gpu)["vendor"]))
    found = {
        str(table): tuple(vendors[rows.index].value_counts().index) for table, rows in frame.groupby("table")
    }
    return found, dict(zip(frame["engine"], frame["table"], strict=True))


def unmeasured(s: Scenario, gpu: str) -> str:
    """One sentence where no card of the GPU's vendor was measured for the scenario's task; else nothing."""
    by_table, of_engine = _tables()
    table, said = "training", _MEASURED["training"]
    if s.task == "serve":
        engine = workload.load(s).engine
        like = speed_engine_like(engine.id, engine.family)
        table = "serving" if like is None else of_engine.get(like.label, "serving")
        said = _MEASURED.get(table) or f"was measured under {engine.label}"
    vendor, known = str(catalogue.spec_row(gpu)["vendor"]), by_table.get(table, ())
    if vendor in known:
        return ""
    return f"No {vendor} card {said}: the band is that of {words.listed(known)} cards."
