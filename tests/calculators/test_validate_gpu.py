"""Names of GPUs as logs and tables write them."""

from __future__ import annotations

import pytest

from calculators.validate_gpu import gpus_named, match_gpu
from gpu_data import spec_frame

GIB = 2**30


@pytest.mark.parametrize(
    ("text", "gpu_id"),
    [
        ("Tesla T4", "t4-16gb"),
        ("A100-SXM4-40GB", "a100-sxm4-40gb"),
        ("A100-SXM4-80G", "a100-sxm4-80gb"),
        ("NVIDIA A100 80GB PCIe", "a100-pcie-80gb"),
        ("A100 40GB", "a100-sxm4-40gb"),
        ("A100", "a100-sxm4-80gb"),
        ("H100", "h100-sxm5-80gb"),
        ("8xH100", "h100-sxm5-80gb"),
        ("NVIDIA H20 96GB", "h20-96gb"),
        ("RTX 4090", "rtx-4090-24gb"),
        ("NVIDIA GeForce RTX 3090", "rtx-3090-24gb"),
        ("2x NVIDIA GeForce RTX 3090", "rtx-3090-24gb"),
        ("NVIDIA GeForce RTX 3090 Ti", "rtx-3090-ti-24gb"),
        ("NVIDIA RTX A6000", "rtx-a6000-48gb"),
        ("NVIDIA RTX 5000 Ada Generation", "rtx-5000-ada-32gb"),
        ("Tesla V100-PCIE-16GB", "v100-pcie-16gb"),
        ("L40S", "l40s-48gb"),
        ("NVIDIA A10G", "a10g-24gb"),
        ("NVIDIA H100 80GB HBM3", "h100-sxm5-80gb"),
        ("NVIDIA GB10 (DGX Spark, unified)", "dgx-spark-gb10"),
        ("RTX 5090", "rtx-5090-32gb"),
        ("MI300X", "mi300x-192gb"),
        ("2x4090", "rtx-4090-24gb"),
        ("RTX3090", "rtx-3090-24gb"),
        ("8x H100 640GB", "h100-sxm5-80gb"),  # all cards together
        ("NVIDIA GH200 480GB", "gh200-96gb"),  # the CPU's memory
    ],
)
def test_name_finds_the_card(text, gpu_id):
    found = match_gpu(text)
    assert found.gpu_id == gpu_id
    assert found.capacity_bytes


def test_every_card_of_the_table_finds_itself():
    names = spec_frame()["name"]
    assert {gpu_id: match_gpu(name).gpu_id for gpu_id, name in names.items()} == {i: i for i in names.index}


def test_stated_memory_wins_over_the_name():
    found = match_gpu("RTX 4060 8GB", 8.0)
    assert found.capacity_bytes == 8 * GIB
    assert found.refused == ""


def test_ambiguous_names_say_what_was_taken():
    assert match_gpu("A100").assumption.startswith("gpu: 'A100' taken as NVIDIA A100 SXM4 80GB")
    assert match_gpu("RTX 4090").assumption == ""


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("24 GB class", 21.9, 24),
        ("12 GB card", 11, 12),
        ("AMD MI50 32GB", 30, 32),
        ("B200 class (175.34 GB free)", 175.34, 175.34),
        ("Intel XPU 24 GB class", 21.9, 24),
    ],
)
def test_sizes_stand_in_for_unknown_names(text, low, high):
    found = match_gpu(text)
    assert low * GIB <= found.capacity_bytes <= high * GIB
    assert found.assumption


def test_mixed_cards_count_at_their_mean():
    """llama.cpp fills devices in proportion to their memory, so the mean decides."""
    mixed = match_gpu("2x NVIDIA GeForce RTX 4090 + NVIDIA RTX A6000")
    parts = [match_gpu(name).capacity_bytes for name in ("RTX 4090", "RTX 4090", "RTX A6000")]
    assert mixed.capacity_bytes == pytest.approx(sum(parts) / 3)


@pytest.mark.parametrize("text", ["", "Apple Metal", "ROCm device", "Ascend (CANN) x8"])
def test_unknown_names_are_refused(text):
    found = match_gpu(text)
    assert found.capacity_bytes is None
    assert found.refused.startswith("gpu")


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("H100", 1),
        ("8xH100", 8),
        ("2 x RTX 3090", 2),
        ("RTX 3090 x2", 2),
        ("RTX 4090 + 2x RTX 3090", 3),
        ("", 1),
    ],
)
def test_how_many_cards_a_name_speaks_of(text, count):
    assert gpus_named(text) == count
