"""Published figures, and the misreadings of them that go around: each row names where the right value is."""

from __future__ import annotations

import pandas as pd
import pytest

from gpu_data import provenance_frame, spec_frame

MIB, GIB = 2**20, 2**30
SPECS = spec_frame()

# id, nvidia-smi MiB, CUDA bytes, GB/s, dense FP16 TFLOPS, dense FP8 TFLOPS, W; None = not published or none.
MISSION = [
    ("h100-sxm5-80gb", 81559, 85028896768, 3350, 989.4, 1978.9, 700, "H100 datasheet and deviceQuery"),
    ("h100-pcie-80gb", 81559, None, 2000, 756, 1513, 350, "H100 datasheet and brief PB-11133"),
    ("h100-nvl-94gb", 95830, int(93.09 * GIB), 3938, 835.5, 1670.5, 400, "H100 NVL brief PB-11773"),
    ("a100-pcie-40gb", 40960, 42298834944, 1555, 312, None, 250, "A100 PCIe brief PB-10137"),
    ("a100-sxm4-40gb", 40960, 42405855232, 1555, 312, None, 400, "A100 datasheet"),
    ("a100-pcie-80gb", 81920, 84974239744, 1935, 312, None, 300, "A100 datasheet nvidia-1758950-r4"),
    ("a100-sxm4-80gb", 81920, 84987740160, 2039, 312, None, 400, "A100 datasheet nvidia-1758950-r4"),
    ("rtx-a6000-48gb", 49140, 51160023040, 768, 154.8, None, 300, "GA102 whitepaper v2"),
    ("l40s-48gb", 46068, 47576711168, 864, 362.05, 733, 350, "L40S datasheet"),
    ("rtx-4090-24gb", 24564, 25250627584, 1008, 165.2, 330.3, 450, "Ada whitepaper v2.1"),
]


@pytest.mark.parametrize("row", MISSION, ids=[f"{row[0]} [{row[-1]}]" for row in MISSION])
def test_mission_cards_carry_the_published_figures(row: tuple) -> None:
    gpu_id, mib, cuda, bandwidth, fp16, fp8, watts, _ = row
    gpu = SPECS.loc[gpu_id]
    expected = {
        "visible_bytes": mib * MIB,
        "cuda_total_bytes": cuda,
        "bandwidth_gb_per_s": bandwidth,
        "dense_fp16_tflops": fp16,
        "dense_fp8_tflops": fp8,
        "tdp_w": watts,
    }
    for field, value in expected.items():
        assert (pd.isna(gpu[field]) and value is None) or gpu[field] == value, field
    assert gpu["mission"]


def test_the_ten_mission_cards_are_marked() -> None:
    assert set(SPECS.index[SPECS["mission"]]) == {row[0] for row in MISSION}


# field, value, and the wrong figure that goes around for it (None where the trap is a missing claim)
TRAPS = [
    # 1: sparse headlines taken for dense rates
    ("h100-sxm5-80gb", "dense_fp16_tflops", 989.4, "trap 1: 1,979 is sparse [H100 datasheet]"),
    ("h100-sxm5-80gb", "dense_fp8_tflops", 1978.9, "trap 1: 3,958 is sparse [H100 datasheet]"),
    ("h100-pcie-80gb", "dense_bf16_tflops", 756, "B55: 1,513 is sparse [H100 datasheet]"),
    ("h100-nvl-94gb", "dense_fp16_tflops", 835.5, "trap 1: 1,671 is sparse [H100 datasheet]"),
    ("h200-sxm-141gb", "dense_fp16_tflops", 989.5, "trap 1: 1,979 is sparse [H200 datasheet]"),
    ("l40s-48gb", "dense_fp16_tflops", 362.05, "trap 1: 733 is sparse [L40S datasheet]"),
    ("rtx-a6000-48gb", "dense_fp16_tflops", 154.8, "trap 1: 309.7 is sparse [GA102 whitepaper]"),
    ("a100-sxm4-80gb", "dense_fp16_tflops", 312, "trap 1: 624 is sparse [A100 whitepaper]"),
    ("rtx-a4000-16gb", "dense_fp16_tflops", 76.7, "trap 1: 153.4 is sparse [RTX A4000 datasheet]"),
    ("b200-sxm-180gb", "dense_fp16_tflops", 2250, "trap 1: 4,500 is sparse [Blackwell datasheet]"),
    ("mi355x-288gb", "dense_fp16_tflops", 2516.6, "trap 1: 5,033 is sparse [AMD data sheet]"),
    # 2: one name, three H100
    ("h100-sxm5-80gb", "sms_or_cus", 132, "trap 2 [H100 whitepaper]"),
    ("h100-pcie-80gb", "sms_or_cus", 114, "trap 2 [deviceQuery]"),
    ("h100-pcie-80gb", "dense_fp16_tflops", 756, "trap 2: not 989 [H100 datasheet]"),
    ("h100-nvl-94gb", "sms_or_cus", 132, "trap 2 [device log]"),
    ("h100-sxm5-80gb", "boost_clock_mhz", 1980, "trap 2: CUDA clock [deviceQuery]"),
    ("h100-sxm5-80gb", "tensor_peak_clock_mhz", 1830, "trap 2: tensor clock [H100 whitepaper]"),
    ("h100-pcie-80gb", "boost_clock_mhz", 1755, "trap 2: CUDA clock [deviceQuery]"),
    ("h100-pcie-80gb", "tensor_peak_clock_mhz", 1620, "trap 2: tensor clock [H100 whitepaper]"),
    # 3: accumulator
    ("rtx-4090-24gb", "dense_fp16_tflops", 165.2, "trap 3: FP32 accumulate [Ada whitepaper v2.1]"),
    ("rtx-4090-24gb", "dense_fp16_fp16acc_tflops", 330.3, "trap 3: FP16 accumulate [Ada whitepaper v2.1]"),
    ("rtx-4090-24gb", "dense_fp8_tflops", 330.3, "trap 3: FP32 accumulate [Ada whitepaper v2.1]"),
    ("rtx-4090-24gb", "dense_fp8_fp16acc_tflops", 660.6, "trap 3: FP16 accumulate [Ada whitepaper v2.1]"),
    ("rtx-a6000-48gb", "dense_fp16_fp16acc_tflops", 154.8, "trap 3: not halved [GA102 whitepaper]"),
    ("a100-sxm4-80gb", "dense_fp16_fp16acc_tflops", 312, "trap 3: not halved [A100 whitepaper]"),
    ("rtx-5090-32gb", "dense_fp4_tflops", 1676, "trap 3: FP4 not halved, 3352 AI TOPS / 2 [NVIDIA]"),
    # 5: ECC on GDDR
    ("l40s-48gb", "visible_bytes", 46068 * MIB, "trap 5: ECC on by default [nvidia-smi]"),
    ("a40-48gb", "visible_bytes", 46068 * MIB, "trap 5: ECC on by default [nvidia-smi]"),
    ("rtx-a6000-48gb", "visible_bytes", 49140 * MIB, "trap 5: ECC off by default [nvidia-smi]"),
    ("l4-24gb", "visible_bytes", 23034 * MIB, "trap 5: ECC on [nvidia-smi]"),
    # 7: L2 as the device reports it
    ("h100-sxm5-80gb", "l2_cache_mib", 50, "trap 7 [deviceQuery]"),
    ("h100-nvl-94gb", "l2_cache_mib", 60, "trap 7: not 50 [62,914,560 B from the device]"),
    ("h200-sxm-141gb", "l2_cache_mib", 60, "trap 7: not 50 [torch logs]"),
    ("l40s-48gb", "l2_cache_mib", 96, "trap 7: not 48 [100,663,296 B from the device]"),
    ("rtx-4090-24gb", "l2_cache_mib", 72, "trap 7 [deviceQuery]"),
    ("a100-pcie-80gb", "l2_cache_mib", 40, "trap 7: not 80 [41,943,040 B from the device]"),
    # 8: boards that are several GPUs
    ("a16-4x16gb", "devices_per_board", 4, "trap 8: 4 x 16 GB [A16 datasheet]"),
    ("mi250-128gb", "devices_per_board", 2, "trap 8: 2 x 64 GB [ROCm documentation]"),
    ("mi250x-128gb", "devices_per_board", 2, "trap 8: 2 x 64 GB [ROCm documentation]"),
    ("h100-nvl-94gb", "memory_gb", 94, "trap 8: one card of the pair [brief PB-11773]"),
    ("h100-nvl-94gb", "devices_per_board", 1, "trap 8: one card of the pair [brief PB-11773]"),
    # 12: NVLink, both directions per GPU
    ("h100-sxm5-80gb", "interconnect_gb_per_s", 900, "trap 12 [H100 datasheet]"),
    ("a100-sxm4-80gb", "interconnect_gb_per_s", 600, "trap 12 [A100 whitepaper]"),
    ("a100-pcie-80gb", "interconnect_gb_per_s", 600, "trap 12: bridge [A100 PCIe brief]"),
    ("h100-pcie-80gb", "interconnect_gb_per_s", 600, "trap 12: bridge [H100 PCIe brief]"),
    ("h100-nvl-94gb", "interconnect_gb_per_s", 600, "trap 12: bridge [H100 datasheet]"),
    ("h200-nvl-141gb", "interconnect_gb_per_s", 900, "trap 12: bridge [H200 datasheet]"),
    ("rtx-a6000-48gb", "interconnect_gb_per_s", 112.5, "trap 12: 4 x 14.0625 each way [GA102 whitepaper]"),
    ("l40s-48gb", "interconnect_gb_per_s", 0, "trap 12: none [L40S datasheet]"),
    ("rtx-4090-24gb", "interconnect_gb_per_s", 0, "trap 12: none, P2P disabled [deviceQuery]"),
]


@pytest.mark.parametrize("row", TRAPS, ids=[f"{gpu}-{field}-{why}" for gpu, field, _, why in TRAPS])
def test_traps_of_published_figures(row: tuple[str, str, float, str]) -> None:
    gpu_id, field, value, _ = row
    assert SPECS.loc[gpu_id, field] == value


# Trap 4: labels are sometimes near GiB, sometimes decimal. GiB and GB as the driver's MiB give them.
SIZES = [
    ("h100-sxm5-80gb", 79.65, 85.52, "B53: not 80 GiB [81,559 MiB in nvidia-smi]"),
    ("l40s-48gb", 44.99, 48.30, "B53: not 48 GiB [46,068 MiB in nvidia-smi]"),
    ("rtx-4090-24gb", 23.99, 25.76, "trap 4 [24,564 MiB in nvidia-smi]"),
    ("b200-sxm-180gb", 179.1, 192.3, "trap 4: 180 and 192 are one card [183,359 MiB in nvidia-smi]"),
    ("b300-sxm-288gb", 268.6, 288.4, "trap 4: 288 is decimal [275,040 MiB in nvidia-smi]"),
    ("gb200-186gb", 185.0, 198.7, "trap 4 [189,471 MiB in nvidia-smi]"),
    ("gb300-288gb", 277.5, 298.0, "trap 4 [284,208 MiB in nvidia-smi]"),
]


@pytest.mark.parametrize("row", SIZES, ids=[f"{gpu}-{why}" for gpu, _, _, why in SIZES])
def test_visible_memory_in_gib_and_gb(row: tuple[str, float, float, str]) -> None:
    gpu_id, gib, gb, _ = row
    visible = SPECS.loc[gpu_id, "visible_bytes"]
    assert visible / GIB == pytest.approx(gib, abs=0.05)
    assert visible / 1e9 == pytest.approx(gb, abs=0.05)


@pytest.mark.parametrize(
    ("gpu_id", "label"),
    [("mi300x-192gb", 192), ("mi350x-288gb", 288), ("mi355x-288gb", 288)],
    ids=lambda v: f"{v} [totalGlobalMem in rocminfo]",
)
def test_trap_4_amd_labels_are_gib(gpu_id: str, label: int) -> None:
    assert SPECS.loc[gpu_id, "cuda_total_bytes"] / GIB == pytest.approx(label, abs=0.05)


def test_b54_a_16_gb_card_stays_in_the_16_gb_class() -> None:
    """A card that shows 15.99 GiB is sold as 16 GB; memory filters go by the label, fits by the bytes."""
    card = SPECS.loc["rtx-4070-ti-super-16gb"]
    assert card["usable_bytes"] < 16 * GIB
    assert card["memory_gb"] == 16


@pytest.mark.parametrize("gpu_id", ["a16-4x16gb", "mi250-128gb", "mi250x-128gb"])
def test_b57_a_board_of_several_gpus_is_not_one_pool(gpu_id: str) -> None:
    board = SPECS.loc[gpu_id]
    each = board["memory_gb"] / board["devices_per_board"]
    assert 0.9e9 * each < board["usable_bytes"] <= GIB * each


@pytest.mark.parametrize(
    "gpu_id", ["a100-sxm4-80gb", "rtx-a6000-48gb", "rtx-3090-24gb", "t4-16gb", "v100-sxm2-32gb"]
)
def test_b73_no_native_fp8_before_ada_and_hopper(gpu_id: str) -> None:
    assert pd.isna(SPECS.loc[gpu_id, "dense_fp8_tflops"])
    assert "fp8" in SPECS.loc[gpu_id, "unsupported_dtypes"].split(", ")


def test_geforce_is_marked_as_half_rate_and_professional_cards_are_not() -> None:
    rows = SPECS[SPECS["accumulate_note"].notna()]
    half = rows.index[rows["accumulate_note"].str.startswith("HALF")]
    assert set(rows.loc[half, "form_factor"]) == {"PCIe consumer card"}
    assert {"rtx-a6000-48gb", "a100-sxm4-80gb", "h100-sxm5-80gb", "titan-rtx-24gb"} <= set(rows.index) - set(
        half
    )


def test_one_source_per_claim_can_be_followed() -> None:
    """Where is the H100 SXM peak from? A document with an address, and how it was read."""
    rows = provenance_frame().query("gpu_id == 'h100-sxm5-80gb' and field == 'dense_fp16_tflops'")
    assert {"datasheet", "whitepaper"} & set(rows["verified_by"])
    assert rows["source_url"].str.startswith("https://").any()
    assert (rows["value"] == 989.4).all()
