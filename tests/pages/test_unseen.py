"""Cards whose vendor or architecture was never measured: the spread is recomputed, bands only widen."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpu_data.accuracy import COUNTED, accuracy_frame
from gpu_data.unseen import spreads
from pages.ui import benchmarks_estimate, catalogue, measured_vendors
from pages.ui.benchmarks_choices import INFERENCE, results

SHARE = 0.8


def _needed(measured: Any, value: Any, low: Any, high: Any) -> np.ndarray[Any, Any]:
    """The spread with which each result lies just inside its widened band; 0 where it lies inside already."""
    measured, value, low, high = (np.asarray(one, dtype=float) for one in (measured, value, low, high))
    off = np.log(measured / value)
    end = np.where(off > 0, np.log(high / value), np.log(low / value))
    return np.sqrt(np.maximum(off**2 - end**2, 0))


def _mlperf() -> np.ndarray[Any, Any]:
    """Of results of vendors that no serving speed was fitted to."""
    rows = results(INFERENCE)
    rows = rows[(rows["category"] == "closed") & rows["gpu_id"].notna() & rows["value_per_gpu"].notna()]
    table = rows.assign(found=list(benchmarks_estimate.estimates(INFERENCE, rows, "value_per_gpu")))
    new = measured_vendors.unseen("serving", tuple(map(str, table["gpu_id"])))
    kept = [(v, e) for v, e, n in zip(table["value_per_gpu"], table["found"], new, strict=True) if n and e]
    return _needed(*zip(*((v, e.value, e.low, e.high) for v, e in kept), strict=True))


def _apple() -> np.ndarray[Any, Any]:
    """Of the only vendor besides NVIDIA under llama.cpp, by constants fitted without its one card."""
    frame = accuracy_frame()
    frame = frame[(frame["table"] == "llamacpp") & (frame["part"] == COUNTED) & frame["gpu_id"].notna()]
    frame = frame[frame["kind"].isin(measured_vendors.SPEEDS)]
    rows = frame[[str(catalogue.spec_row(gpu)["vendor"]) == "Apple" for gpu in frame["gpu_id"]]]
    assert rows["gpu_id"].nunique() == 1, "leaving out one card leaves out the vendor"
    value, guess = rows["held_out_gpu"], rows["predicted"]
    return _needed(rows["measured"], value, value * rows["low"] / guess, value * rows["high"] / guess)


@pytest.mark.parametrize(
    ("table", "needed"), [("serving", _mlperf), ("llamacpp", _apple)], ids=["serving", "llamacpp"]
)
def test_the_spread_is_what_results_of_others_need(table: str, needed: Any) -> None:
    found, one = needed(), spreads()[table]
    assert len(found) == one.rows
    least = float(np.quantile(found, SHARE, method="higher"))
    assert one.log_spread == pytest.approx(least, abs=0.02)


def test_training_borrows_that_of_serving() -> None:
    assert spreads()["training"].log_spread == spreads()["serving"].log_spread


@settings(max_examples=50)
@given(st.floats(0.1, 1e4), st.floats(0.2, 1), st.floats(1, 5), st.floats(0, 1))
def test_a_widened_band_holds_the_old_one(value: float, low: float, high: float, spread: float) -> None:
    down, up = measured_vendors.widened_by(spread, value, value * low, value * high)
    assert down <= value * low * (1 + 1e-9)
    assert up >= value * high * (1 - 1e-9)
    if spread == 0:
        assert (down, up) == (value * low, value * high)


def test_only_cards_that_were_never_measured_are_widened() -> None:
    gpus = ("h100-sxm5-80gb", "mi300x-192gb", "v100-pcie-32gb")
    assert measured_vendors.unseen("serving", gpus).tolist() == [False, True, True]
    low, high = measured_vendors.widened("serving", gpus, np.ones(3), np.full(3, 0.8), np.full(3, 1.2))
    assert low[0] == 0.8 > low[1] == low[2]
    assert high[0] == 1.2 < high[1] == high[2]
    assert measured_vendors.unseen_words("serving", "mi300x-192gb") == "no AMD card"
    assert measured_vendors.unseen_words("serving", "v100-pcie-32gb") == "no Volta card"
    assert measured_vendors.unseen_words("training", "v100-pcie-32gb") == ""
