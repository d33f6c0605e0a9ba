"""How close predictions come to what engines printed: the targets, and each miss by name."""

from __future__ import annotations

import numpy as np
import pytest

from calculators.validate_memory import predict_file, summarise
from tests.calculators.memory_cases import CONFIGS, MEASURED, MORE


@pytest.fixture(scope="module")
def results():
    return list(predict_file(MEASURED, CONFIGS))


@pytest.fixture(scope="module")
def summary(results):
    return summarise(results)


def lines_of(results, *quantities):
    return [
        line
        for result in results
        if result.part == "counted"
        for line in result.lines
        if line.quantity in quantities and line.error_pct is not None
    ]


def test_weights_median(summary):
    assert summary["quantities"]["weights_gib_per_gpu"]["median_abs_error_pct"] <= 1.0


def test_weights_beyond_four_per_cent_are_these_four(results):
    """m007, m008: one AWQ checkpoint on a fork for AMD gfx906, 6 GiB more than any int4 layout explains.

    m004, m038: buffers of LoRA adapters, which no input column mentions.
    """
    far = {line.id for line in lines_of(results, "weights_gib_per_gpu") if abs(line.error_pct) > 4}
    assert far == {"m004", "m007", "m008", "m038"}


def test_cache_bytes_are_exact(results):
    """kv_mib of llama.cpp and bytes per token (GiB over tokens) of vLLM: within 0.5 % on 95 % of rows."""
    exact = [abs(line.error_pct) <= 0.5 for line in lines_of(results, "kv_mib")]
    for result in results:
        if result.part != "counted":
            continue
        found = {line.quantity: line for line in result.lines if line.refused is None}
        if "kv_cache_gib_per_gpu" in found and "kv_cache_tokens" in found:
            gib, tokens = found["kv_cache_gib_per_gpu"], found["kv_cache_tokens"]
            predicted, measured = gib.predicted / tokens.predicted, gib.measured / tokens.measured
            exact.append(abs(predicted / measured - 1) <= 0.005)
    assert len(exact) >= 25
    assert np.mean(exact) >= 0.95


def test_cache_tokens(summary):
    found = summary["quantities"]["kv_cache_tokens"]
    assert found["median_abs_error_pct"] <= 5.0
    assert found["p90_abs_error_pct"] <= 15.0


def test_total_used(results):
    lines = lines_of(results, "total_used_mib", "total_used_gb")
    errors = [abs(line.error_pct) for line in lines]
    assert np.median(errors) <= 4.0
    assert np.percentile(errors, 90) <= 15.0


def test_total_used_is_never_refused(results):
    assert not [
        line.id
        for result in results
        for line in result.lines
        if line.quantity.startswith("total_used") and line.refused is not None
    ]


def test_verdicts(summary):
    found = summary["verdicts"]
    answered = found["right"] + found["tight"] + found["wrong"]
    assert found["right"] / (found["right"] + found["wrong"]) >= 0.97
    assert found["tight"] / answered <= 0.15


def test_refused_verdicts_name_a_missing_input(results):
    for result in results:
        for line in result.lines:
            if line.quantity == "fits" and line.refused is not None:
                assert line.refused.startswith(("gpu", "model_hf_id")), line


# ---------------------------------------------------------------- more rows of public tables
# Not a held-out set: several of these tables were read while the formulas were derived.


@pytest.fixture(scope="module")
def more():
    return list(predict_file(MORE, CONFIGS))


def test_more_rows_total_used(more):
    errors = [abs(line.error_pct) for line in lines_of(more, "total_used_mib", "total_used_gb")]
    assert len(errors) >= 250
    assert np.median(errors) <= 1.0
    assert np.percentile(errors, 90) <= 5.0


def test_more_rows_verdicts(more):
    found = summarise(more)["verdicts"]
    answered = found["right"] + found["tight"] + found["wrong"]
    assert answered >= 400
    assert found["right"] / (found["right"] + found["wrong"]) >= 0.97
    assert found["tight"] / answered <= 0.15


def test_more_rows_sampler_peak(more):
    """Peaks set by the sampler, six sizes of vocabulary and batch; the row with an image encoder apart.

    All are runs with LoRA, which adds to the weights and not to the sampler, so suspect rows count here.
    """
    lines = [line for result in more for line in result.lines if line.quantity == "activation_peak_gib"]
    errors = [abs(line.error_pct) for line in lines if "VL" not in line.id]
    assert len(errors) >= 5
    assert max(errors) <= 5.0
