"""What a row of the GPU table means for training speed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from calculators.training.speed import POWER_ASSUMED_W, GpuSpeed
from gpu_data.training_schemas import TrainingTables

_PCIE_GB_PER_S = {3: 16.0, 4: 32.0, 5: 64.0, 6: 128.0}  # 16 lanes, one way
_PCIE_ASSUMED = 4
NODE_GPUS = 8
_PEAKS = {
    "bf16": "dense_bf16_tflops",
    "fp16": "dense_fp16_tflops",
    "fp8": "dense_fp8_tflops",
    "tf32": "dense_tf32_tflops",
    "fp32": "fp32_tflops",
}


class GpuRefused(ValueError):
    """A GPU whose figures do not allow a speed; the message names the missing one."""


def _number(value: Any) -> float | None:
    return None if value is None or str(value) in ("<NA>", "nan", "None", "") else float(value)


def _node(row: Mapping[str, Any]) -> int:
    """GPUs that share a node: as many as the link's name says, else eight (HGX, OAM, usual PCIe servers)."""
    said = re.search(r"nodes of (\d+)", str(row.get("interconnect")))
    return int(said.group(1)) if said else NODE_GPUS


def gpu_speed_of(gpu_id: str, row: Mapping[str, Any], tables: TrainingTables) -> GpuSpeed:
    """The GPU's peaks, bandwidth and links from its row of the spec frame (columns as named there).

    NVLink counts half of its two-way figure, one way; bridges join two GPUs only and count as PCIe. The
    network out of a node is one adapter per GPU on its PCIe generation. Raises GpuRefused naming what is
    missing.
    """
    name = str(row["name"])
    peaks = {dtype: _number(row.get(column)) for dtype, column in _PEAKS.items()}
    bandwidth = _number(row.get("bandwidth_gb_per_s"))
    if bandwidth is None:
        raise GpuRefused(f"gpu: {name} has no known memory bandwidth")
    if not (peaks["bf16"] or peaks["fp16"]):
        raise GpuRefused(f"gpu: {name} has no known dense BF16 or FP16 peak")
    pcie = _PCIE_GB_PER_S.get(
        int(_number(row.get("pcie_gen")) or _PCIE_ASSUMED), _PCIE_GB_PER_S[_PCIE_ASSUMED]
    )
    both_ways = _number(row.get("interconnect_gb_per_s")) or 0.0
    bridged = "bridge" in str(row.get("interconnect")).lower()
    power = _number(row.get("tdp_w"))
    unknown = (
        ("interconnect_gb_per_s", f"link between GPUs not known, PCIe at {pcie:g} GB/s counted"),
        ("pcie_gen", f"PCIe generation not known, {_PCIE_ASSUMED} assumed"),
        ("tdp_w", f"board power not known, {POWER_ASSUMED_W:g} W assumed for the clock"),
    )
    return GpuSpeed(
        name,
        {dtype: peak for dtype, peak in peaks.items() if peak},
        bandwidth,
        both_ways / 2 if both_ways and not bridged else pcie,
        pcie * tables.number("network_share_of_pcie"),
        pcie,
        {str(c.dtype): c.max_tflops for c in tables.ceilings if gpu_id in c.gpu_ids},
        node_gpus=_node(row),
        power_w=power,
        assumptions=tuple(f"{name}: {text}" for field, text in unknown if _number(row.get(field)) is None),
    )
