"""Roofline figures against published ones, then the laws they must obey."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calculators.roofline import (
    attainable_tflops,
    balanced_batch_tokens,
    per_watt,
    relative_to,
    ridge_flop_per_byte,
    sparse_peak,
)

positive = st.floats(1e-2, 1e6, allow_nan=False)


@pytest.mark.parametrize(
    ("tflops", "gb_per_s", "published"),
    [
        pytest.param(989, 3350, 295, id="H100-SXM-jared-hpc.com-roofline-model-llm-inference"),
        pytest.param(312, 2039, 153, id="A100-80GB-jared-hpc.com-roofline-model-llm-inference"),
        pytest.param(2250, 8000, 281, id="B200-How-to-Scale-Your-Model-chapter-12"),
        pytest.param(197, 820, 240, id="TPU-v5e-How-to-Scale-Your-Model-chapter-1"),
        pytest.param(125, 900, 139, id="V100-NVIDIA-GPU-performance-background"),
    ],
)
def test_ridge_point_matches_what_is_published(tflops: float, gb_per_s: float, published: int) -> None:
    assert round(float(ridge_flop_per_byte(tflops, gb_per_s))) == published


@pytest.mark.parametrize(
    ("bits", "published"),
    [
        pytest.param(16, 240, id="bf16-How-to-Scale-Your-Model-chapter-1"),
        pytest.param(8, 120, id="int8-weights-bf16-FLOPs-How-to-Scale-Your-Model-chapter-1"),
    ],
)
def test_balanced_batch_of_tpu_v5e(bits: int, published: int) -> None:
    assert round(float(balanced_batch_tokens(197, 820, bits))) == published


def test_attainable_rate_at_intensity_one_is_the_bandwidth() -> None:
    # jared-hpc.com, "The roofline model for LLM inference": 3.35 TFLOPS at 1 FLOP/byte, 989 at 600
    assert float(attainable_tflops(1, 989, 3350)) == pytest.approx(3.35)
    assert float(attainable_tflops(600, 989, 3350)) == 989


def test_h100_over_a100_is_3_2_in_compute_and_1_7_in_bandwidth() -> None:
    # Harvard CS249r, "The memory wall" tutorial
    assert round(float(relative_to(989, 312)), 1) == 3.2
    assert round(float(relative_to(3350, 2000)), 1) == 1.7


def test_sparse_peak_of_h100_is_the_data_sheet_headline() -> None:
    # NVIDIA H100 data sheet: 1,979 TFLOPS FP16 with sparsity; no sparse mode below Ampere
    assert float(sparse_peak(989.4, 2, True)) == pytest.approx(1979, rel=1e-3)
    assert np.isnan(sparse_peak(125, 1, True))
    assert np.isnan(sparse_peak(989.4, 2, False))


@given(positive, positive)
def test_both_roofs_meet_at_the_ridge(tflops: float, gb_per_s: float) -> None:
    ridge = ridge_flop_per_byte(tflops, gb_per_s)
    assert float(attainable_tflops(ridge, tflops, gb_per_s)) == pytest.approx(tflops)
    assert float(attainable_tflops(ridge / 2, tflops, gb_per_s)) == pytest.approx(tflops / 2)


@given(positive, positive, positive)
def test_ratios_chain(a: float, b: float, c: float) -> None:
    through = float(relative_to(a, b)) * float(relative_to(b, c))
    assert through == pytest.approx(float(relative_to(a, c)))


@pytest.mark.parametrize("bad", [0.0, float("nan"), -1.0])
def test_a_missing_divisor_gives_no_number(bad: float) -> None:
    assert np.isnan(ridge_flop_per_byte(100, bad))
    assert np.isnan(per_watt(100, bad))
    assert np.isnan(relative_to(100, bad))


def test_arrays_keep_their_order_and_their_holes() -> None:
    rates = per_watt(np.array([989.4, np.nan, 312.0]), np.array([700.0, 300.0, np.nan]))
    assert rates[0] == pytest.approx(1.4134, abs=1e-4)
    assert np.isnan(rates[1:]).all()
