"""The GPU files are well-formed and physical, and a contributor's slip is named in one readable line."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from gpu_data import DEFAULT_GPU_IDS, check_gpus, spec_frame
from gpu_data.gpus import GPU_FOLDER, gpu_files
from gpu_data.schemas import TOLERANCE, Gpu, evaluate

HOPPER = "nvidia-hopper.toml"
H100 = "nvidia-hopper.toml: h100-sxm5-80gb: "


def test_every_file_is_valid_and_physical() -> None:
    assert check_gpus() == []


def test_the_released_gpus_and_the_announced_ones_are_there() -> None:
    specs = spec_frame()
    assert specs["released"].sum() >= 86
    assert {"rubin-sxm-288gb", "mi455x-432gb"} == set(specs.index[~specs["released"]])


def test_default_cards_exist() -> None:
    assert set(DEFAULT_GPU_IDS) <= set(spec_frame().index)


# What a contributor may get wrong: (what to replace, by what, the start of the line, what it must say)
SLIPS = {
    "wrong key": ("\ntdp_w = ", "\ntdp_watts = ", H100 + "tdp_watts: ", "unknown key"),
    "wrong type": (
        "memory_gb = { value = 80,",
        'memory_gb = { value = "80 GB",',
        H100 + "memory_gb.value: ",
        "valid number",
    ),
    "zero for unknown": (
        "memory_bus_bits = { value = 5120,",
        "memory_bus_bits = { value = 0,",
        H100 + "memory_bus_bits.value: ",
        "greater than 0",
    ),
    "wrong key in a figure": ("{ value = 80,", "{ vlaue = 80,", H100 + "memory_gb.vlaue: ", "unknown key"),
    "missing figure": ("\nform_factor = ", "\n# form_factor = ", H100 + "form_factor: ", "missing"),
    "no source": (
        'l2_cache_mib = { value = 50, sources = ["',
        'l2_cache_mib = { value = 50 } # ["',
        H100 + "l2_cache_mib: ",
        "needs sources",
    ),
    "unknown source": (
        'sources = ["h100-datasheet"',
        'sources = ["h100-datashet"',
        H100,
        "unknown source 'h100-d",
    ),
    "unknown kind of verification": (
        'verified_by = "secondary"',
        'verified_by = "hearsay"',
        HOPPER + ": sources.",
        "datasheet",
    ),
    "not a date": (
        'release_date = { value = "2022-09"',
        'release_date = { value = "Sept 2022"',
        H100,
        "pattern",
    ),
    "sparse headline as the dense peak": (
        "dense_fp16_tflops = { value = 989.4,",
        "dense_fp16_tflops = { value = 1979,",
        H100 + "dense_fp16_tflops: ",
        "say why in peak_check_note",
    ),
    "bandwidth of another card": (
        "bandwidth_gb_per_s = { value = 3350,",
        "bandwidth_gb_per_s = { value = 2000,",
        H100 + "bandwidth_gb_per_s: ",
        "say why in bandwidth_check_note",
    ),
    "excuse that is not needed": (
        "mission = true",
        'mission = true\nbandwidth_check_note = "rounded"',
        H100 + "bandwidth_check_note: ",
        "not needed",
    ),
    "FP8 slower than FP16": (
        "dense_fp8_tflops = { value = 1978.9,",
        "dense_fp8_tflops = { value = 500,",
        H100 + "dense_fp8_tflops: ",
        "below dense_fp16_tflops",
    ),
    "sparsity that slows down": (
        "sparsity_multiplier = { value = 2,",
        "sparsity_multiplier = { value = 0.5,",
        H100 + "sparsity_multiplier.value: ",
        "greater than or equal to 1",
    ),
    "more memory than the label": (
        "visible_mib = { value = 81559,",
        "visible_mib = { value = 83000,",
        H100 + "visible_mib: ",
        "more than 80 GiB",
    ),
    "kibibytes for mebibytes": (
        "visible_mib = { value = 81559,",
        "visible_mib = { value = 8155,",
        H100 + "visible_mib: ",
        "below 90 %",
    ),
    "a program sees more than the driver": (
        "cuda_total_bytes = { value = 85028896768,",
        "cuda_total_bytes = { value = 85899345920,",
        H100 + "cuda_total_bytes: ",
        "more than visible_mib",
    ),
    "formula that does not give the value": (
        "fp16_vector_tflops = { value = 133.8,",
        "fp16_vector_tflops = { value = 267.6,",
        H100 + "fp16_vector_tflops: ",
        "is not 2 * fp32_tflops",
    ),
    "peak of a type that does not exist": (
        'unsupported_dtypes = { value = ["fp6", "fp4"]',
        'unsupported_dtypes = { value = ["fp8", "fp4"]',
        H100 + "unsupported_dtypes: ",
        "fp8 has a peak",
    ),
    "the same id twice": ('id = "h100-pcie-80gb"', 'id = "h100-sxm5-80gb"', H100 + "id: ", "already used"),
    "broken TOML": ("[[gpu]]", "[[gpu]", HOPPER + ": not TOML", "line"),
}


@pytest.mark.parametrize("slip", SLIPS.values(), ids=SLIPS)
def test_a_slip_is_named_by_file_gpu_and_field(slip: tuple[str, str, str, str], tmp_path: Path) -> None:
    old, new, start, says = slip
    text = (GPU_FOLDER / HOPPER).read_text("utf-8")
    assert old in text
    (tmp_path / HOPPER).write_text(text.replace(old, new, 1), "utf-8")
    matching = [line for line in check_gpus(tmp_path) if line.startswith(start) and says in line]
    assert len(matching) == 1
    assert "\n" not in matching[0]


def test_a_source_that_nothing_uses_is_reported(tmp_path: Path) -> None:
    text = (GPU_FOLDER / HOPPER).read_text("utf-8")
    source = '\n[sources.spare]\ntitle = "Spare"\nverified_by = "datasheet"\nevidence = "document copy"\n'
    (tmp_path / HOPPER).write_text(source + text, "utf-8")
    assert check_gpus(tmp_path) == [f"{HOPPER}: sources.spare: no figure uses it"]


def test_one_source_key_means_one_source_in_every_file(tmp_path: Path) -> None:
    text = (GPU_FOLDER / HOPPER).read_text("utf-8")
    (tmp_path / HOPPER).write_text(text, "utf-8")
    other = text.replace('title = "NVIDIA H100 datasheet"', 'title = "Some other datasheet"')
    (tmp_path / "z.toml").write_text(other, "utf-8")
    assert f"z.toml: sources.h100-datasheet: differs from the one of that name in {HOPPER}" in check_gpus(
        tmp_path
    )


def raw_h100() -> dict[str, Any]:
    """A fresh copy of the H100 SXM row, which every check applies to."""
    return copy.deepcopy(next(g for g in gpu_files()[HOPPER]["gpu"] if g["id"] == "h100-sxm5-80gb"))


@pytest.mark.parametrize("field", ["bandwidth_gb_per_s", "dense_fp16_tflops"])
@given(factor=st.floats(0.1, 10).filter(lambda f: abs(f - 1) > 2 * TOLERANCE))
def test_no_wrong_rate_passes(field: str, factor: float) -> None:
    gpu = raw_h100()
    gpu[field]["value"] *= factor
    with pytest.raises(ValidationError, match=field):
        Gpu.model_validate(gpu)


@given(st.integers(0, 999), st.integers(1, 999), st.floats(0.5, 1e6))
def test_formulas_are_arithmetic(a: int, b: int, x: float) -> None:
    assert evaluate(f"2 * x + {a} / {b} - x", {"x": x}) == 2 * x + a / b - x


@pytest.mark.parametrize(
    "formula", ["__import__('os')", "x ** 2", "y", "1 / 0", "2 *", "x.real", "'a' + 'b'"]
)
def test_a_formula_is_nothing_but_arithmetic(formula: str) -> None:
    with pytest.raises(ValueError, match="formula"):
        evaluate(formula, {"x": 1.0})


def test_a_gpu_cannot_be_changed() -> None:
    gpu = Gpu.model_validate(raw_h100())
    with pytest.raises(ValidationError, match="frozen"):
        gpu.name = "other"  # ty: ignore[invalid-assignment]
