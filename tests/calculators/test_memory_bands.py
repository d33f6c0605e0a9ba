"""The error bands in gpu_data are those that the measured rows give."""

from __future__ import annotations

import pytest

from calculators.validate_bands import bands, need_ratio
from calculators.validate_memory import predict_file
from gpu_data.engines import engines, error_band
from tests.calculators.memory_cases import CONFIGS, MEASURED, MORE


@pytest.fixture(scope="module")
def results():
    return [*predict_file(MEASURED, CONFIGS), *predict_file(MORE, CONFIGS)]


def test_bands_are_recomputed_from_the_measured_rows(results):
    for found in bands(results):
        kept = error_band(found.family)
        assert kept.family == found.family
        assert (kept.low, kept.high) == pytest.approx((found.low, found.high), abs=2e-4)
        assert kept.rows == found.rows


def test_every_family_has_a_band():
    for found in engines():
        assert error_band(found.family).family in (found.family, "all")


def test_two_of_three_measured_setups_lie_inside(results):
    for family in ("llama.cpp", "transformers", "vllm"):
        band = error_band(family)
        ratios = [need_ratio(r) for r in results if r.family == family and r.part == "counted"]
        errors = [ratio - 1 for ratio in ratios if ratio is not None]
        inside = sum(band.low - 1e-3 <= error <= band.high + 1e-3 for error in errors)
        assert inside / len(errors) >= 0.6, family
