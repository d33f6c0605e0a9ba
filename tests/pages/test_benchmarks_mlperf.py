"""Our estimate beside a result of MLPerf Inference, or why there is none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from calculators.scenario import Scenario
from pages.ui import benchmarks_estimate
from pages.ui.benchmarks_choices import INFERENCE, TRAINING, results
from pages.ui.benchmarks_mlperf import estimate
from pages.ui.benchmarks_select import select
from pages.ui.benchmarks_views import sections
from pages.ui.figures_benchmarks import Estimate

GOOD: dict[str, Any] = {
    "gpu_id": "h100-sxm5-80gb",
    "n_gpus": 8,
    "benchmark": "llama2-70b-99",
    "scenario": "Offline",
    "unit": "Tokens/s",
    "dtype": "fp8",
    "software": "TensorRT 10.11, CUDA 12.9",
}


@pytest.mark.parametrize(
    ("gpu_id", "dtype", "per_gpu"),
    [
        pytest.param("h100-sxm5-80gb", "fp8", 3900, id="H100-v5.1-median-of-closed-results"),
        pytest.param("b200-sxm-180gb", "fp4", 12691, id="B200-v5.1-median-of-closed-results"),
        pytest.param("mi300x-192gb", "fp8", 3460, id="MI300X-v5.1-median-of-closed-results"),
    ],
)
def test_offline_llama2_70b_lies_in_the_band(gpu_id: str, dtype: str, per_gpu: float) -> None:
    software = "vLLM 0.9.0, PyTorch" if gpu_id.startswith("mi") else GOOD["software"]
    found = estimate(**GOOD | {"gpu_id": gpu_id, "dtype": dtype, "software": software})
    assert isinstance(found, Estimate)
    assert found.low <= per_gpu <= found.high


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"benchmark": "resnet50"}, "does not write text"),
        ({"benchmark": "gptj-99"}, "beams"),
        ({"benchmark": "llama3.1-405b"}, "length"),
        ({"unit": "Queries/s"}, "queries"),
        ({"gpu_id": None}, "card"),
        ({"software": "Something else"}, "software"),
        ({"software": float("nan")}, "software"),
        ({"dtype": float("nan")}, "format"),
        ({"dtype": "UINT4"}, "UINT4"),
        ({"dtype": "fp4"}, "fp4"),  # an H100 does not compute in it
        ({"benchmark": "mixtral-8x7b", "scenario": "Interactive"}, "limits"),
        ({"gpu_id": "l4-24gb", "n_gpus": 1}, "fit"),
    ],
)
def test_what_cannot_be_expressed_says_why_in_one_phrase(change: dict[str, Any], word: str) -> None:
    found = estimate(**GOOD | change)
    assert isinstance(found, str)
    assert word in found
    assert not found.endswith(".")


def test_tighter_limits_never_serve_more() -> None:
    rates = []
    for scenario in ("Offline", "Server", "Interactive"):
        found = estimate(**GOOD | {"scenario": scenario})
        assert isinstance(found, Estimate)
        rates.append(found.value)
    assert rates == sorted(rates, reverse=True)


def test_a_system_is_its_gpus_together() -> None:
    rows = select(Scenario(bench_lane=INFERENCE)).rows
    each = benchmarks_estimate.estimates(INFERENCE, rows, "value_per_gpu")
    whole = benchmarks_estimate.estimates(INFERENCE, rows, "value")
    counts = rows["n_gpus"].to_numpy(dtype=float, na_value=np.nan)
    assert any(each)
    for one, all_of, n in zip(each, whole, counts, strict=True):
        assert (one is None) == (all_of is None)
        if one is not None and all_of is not None:
            assert all_of.value == pytest.approx(one.value * n)


def test_every_result_has_an_estimate_or_a_reason() -> None:
    for lane in (INFERENCE, TRAINING):
        rows = results(lane)
        with_one = sum(one is not None for one in benchmarks_estimate.estimates(lane, rows, "value"))
        assert with_one + sum(benchmarks_estimate.reasons(lane, rows).values()) == len(rows)


def test_the_page_says_why_results_stand_alone() -> None:
    scenario = Scenario(bench_lane=INFERENCE, infer_benchmark="gptj-99")
    notes = [note for part in sections(select(scenario), scenario) for note in part.notes]
    assert any("Without an estimate of ours: it searches with four beams." in note for note in notes)


def test_the_bands_hold_for_results_that_nothing_was_fitted_to() -> None:
    rows = results(INFERENCE)
    guesses = benchmarks_estimate.estimates(INFERENCE, rows, "value_per_gpu")
    measured = rows["value_per_gpu"].to_numpy(dtype=float, na_value=np.nan)
    pairs = [(one, value) for one, value in zip(guesses, measured, strict=True) if one is not None]
    assert len(pairs) > 300
    assert 0.75 <= np.mean([one.low <= value <= one.high for one, value in pairs]) <= 0.9
    assert np.median([abs(one.value / value - 1) for one, value in pairs]) <= 0.3
