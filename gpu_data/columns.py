"""The columns of the spec frame: label, unit, group, help and dtype, in the order of a table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

Group = Literal[
    "Identity",
    "Memory",
    "Compute (dense)",
    "Interconnect & partitioning",
    "Power",
    "Price",
    "Notes",
]
Dtype = Literal["string", "boolean", "Int64", "Float64"]


@dataclass(frozen=True, slots=True)
class Column:
    """How to show one column. `unit` is empty for plain text and counts."""

    label: str
    unit: str
    group: Group
    help: str
    dtype: Dtype

    @property
    def title(self) -> str:
        """Label with its unit, for table headers and axes."""
        return f"{self.label} ({self.unit})" if self.unit else self.label


TEXT, BOOL, COUNT, NUMBER = "string", "boolean", "Int64", "Float64"
ACC32 = "dense, FP32 accumulate"

_TABLE: dict[Group, tuple[tuple[str, str, str, Dtype, str], ...]] = {
    "Identity": (
        ("name", "GPU", "", TEXT, "Product name with its form factor and memory label"),
        ("vendor", "Vendor", "", TEXT, "Maker of the chip"),
        ("architecture", "Architecture", "", TEXT, "Architecture name of the vendor"),
        ("chip", "Chip", "", TEXT, "Die name"),
        ("process", "Process", "", TEXT, "Manufacturing process"),
        ("release_date", "Released", "", TEXT,
         "Release month, or the year alone where only that is known"),
        ("release_year", "Release year", "", COUNT, "Year of the release date"),
        ("availability", "Availability", "", TEXT,
         "released, or pre-release: announced figures that no device log confirms"),
        ("released", "On sale", "", BOOL, "False for announced GPUs, whose figures may change"),
        ("form_factor", "Form factor", "", TEXT, "Card, module or system on a chip"),
        ("devices_per_board", "GPUs on the board", "", COUNT,
         "How many separate GPUs a program sees; memory, bandwidth and peaks are given per board"),
        ("mission", "Core card", "", BOOL, "One of the ten cards that this project checks most closely"),
        ("compute_capability", "Compute capability", "", TEXT,
         "CUDA compute capability, or the gfx target on AMD"),
    ),
    "Memory": (
        ("memory_gb", "Memory label", "GB", NUMBER,
         "What the box says, per board; neither exactly GB nor GiB. Never use it to decide what fits"),
        ("memory_type", "Memory type", "", TEXT, "Memory technology"),
        ("memory_bus_bits", "Memory bus", "bit", COUNT, "Width of the memory interface"),
        ("memory_data_rate_gbps", "Memory data rate", "Gbit/s per pin", NUMBER, "Transfers per pin"),
        ("bandwidth_gb_per_s", "Memory bandwidth", "GB/s", NUMBER,
         "Peak memory bandwidth as the vendor gives it"),
        ("visible_bytes", "Visible memory", "bytes", COUNT,
         "Total of one GPU as the driver tool shows it (nvidia-smi)"),
        ("cuda_total_bytes", "Allocatable memory", "bytes", COUNT,
         "Total of one GPU as a program sees it (totalGlobalMem); varies a little with the driver"),
        ("usable_bytes", "Usable memory", "bytes", COUNT,
         "Capacity of one GPU for the question of what fits: the allocatable total, else the visible "
         "one, else an assumption below the label"),
        ("usable_basis", "Basis of usable memory", "", TEXT,
         "cuda_total_bytes, visible_bytes or assumed"),
        ("unified_memory", "Shared with the CPU", "", BOOL,
         "CPU and GPU use the same memory, so the system takes its part"),
        ("l2_cache_mib", "L2 cache", "MiB", NUMBER, "Second-level cache"),
        ("llc_mib", "Last-level cache", "MiB", NUMBER, "Cache behind L2, such as AMD's Infinity Cache"),
        ("ecc", "ECC", "", TEXT,
         "Error correction; on GDDR boards it takes about 6 % of the memory when on"),
    ),
    "Compute (dense)": (
        ("sms_or_cus", "SMs / CUs", "", COUNT,
         "Streaming multiprocessors, compute units or GPU cores, by vendor"),
        ("fp32_lanes", "FP32 lanes", "", COUNT, "CUDA cores, stream processors"),
        ("tensor_cores", "Tensor Cores", "", COUNT, "Matrix units"),
        ("tensor_core_gen", "Tensor Core generation", "", COUNT, "NVIDIA's generation number"),
        ("boost_clock_mhz", "Boost clock", "MHz", NUMBER, "Highest clock of the vector units"),
        ("tensor_peak_clock_mhz", "Tensor peak clock", "MHz", NUMBER,
         "Clock behind the published tensor peaks, where it differs from the boost clock"),
        ("processor_ghz", "Processors x clock", "GHz", NUMBER,
         "SMs, CUs or cores x boost clock; where one is not published, the least that cards of the same chip "
         "or architecture allow"),
        ("fp16_flop_per_clock_per_unit", "FP16 rate per SM / CU", "FLOP/clk", COUNT,
         "Dense FP16 matrix rate of one unit, FP32 accumulate; multiply-add counts as two"),
        ("fp64_tflops", "FP64", "TFLOPS", NUMBER, "Vector units"),
        ("fp64_tensor_tflops", "FP64 Tensor", "TFLOPS", NUMBER, "Matrix units"),
        ("fp32_tflops", "FP32", "TFLOPS", NUMBER, "Vector units"),
        ("fp16_vector_tflops", "FP16 vector", "TFLOPS", NUMBER, "Vector units, not the Tensor Cores"),
        ("bf16_vector_tflops", "BF16 vector", "TFLOPS", NUMBER, "Vector units, not the Tensor Cores"),
        ("dense_tf32_tflops", "TF32", "TFLOPS", NUMBER, f"Tensor Cores, {ACC32}"),
        ("dense_fp16_tflops", "FP16", "TFLOPS", NUMBER, f"Tensor Cores, {ACC32}"),
        ("dense_bf16_tflops", "BF16", "TFLOPS", NUMBER, f"Tensor Cores, {ACC32}"),
        ("dense_fp16_fp16acc_tflops", "FP16, FP16 accumulate", "TFLOPS", NUMBER,
         "Tensor Cores, dense; twice the FP32-accumulate rate on GeForce only"),
        ("dense_fp8_tflops", "FP8", "TFLOPS", NUMBER, f"Tensor Cores, {ACC32}"),
        ("dense_fp8_fp16acc_tflops", "FP8, FP16 accumulate", "TFLOPS", NUMBER,
         "Tensor Cores, dense; reachable since PTX 8.7 / CUDA 12.8"),
        ("dense_fp6_tflops", "FP6", "TFLOPS", NUMBER, "Tensor Cores, dense"),
        ("dense_fp4_tflops", "FP4", "TFLOPS", NUMBER, "Tensor Cores, dense"),
        ("dense_int8_tops", "INT8", "TOPS", NUMBER, "Tensor Cores, dense"),
        ("dense_int4_tops", "INT4", "TOPS", NUMBER, "Tensor Cores, dense"),
        ("sparsity_multiplier", "2:4 sparsity factor", "×", NUMBER,
         "Dense rate times this is the 2:4-sparse headline, for the types listed beside it"),
        ("sparsity_applies_to", "2:4 sparsity types", "", TEXT, "Number types with a 2:4-sparse rate"),
        ("accumulate_note", "Accumulator", "", TEXT, "Whether FP32 accumulate runs at the full rate"),
        ("unsupported_dtypes", "Not supported", "", TEXT,
         "Number types that the matrix units do not have: a dash there is a no, not an unknown"),
    ),
    "Interconnect & partitioning": (
        ("interconnect", "Interconnect", "", TEXT, "Link between GPUs other than PCIe"),
        ("interconnect_gb_per_s", "Interconnect bandwidth", "GB/s", NUMBER,
         "Both directions together, per GPU; 0 means known to have none"),
        ("pcie_gen", "PCIe generation", "", COUNT, "Host interface generation"),
        ("pcie_lanes", "PCIe lanes", "", COUNT, "Host interface width"),
        ("mig_max_instances", "MIG instances", "", COUNT,
         "Most Multi-Instance GPU partitions; 0 means none"),
        ("virtualisation", "Virtualisation", "", TEXT, "vGPU products and MIG"),
    ),
    "Power": (
        ("tdp_w", "Board power", "W", NUMBER, "Thermal design power, the default limit"),
        ("power_connector", "Power connector", "", TEXT, "Auxiliary power plug"),
    ),
    "Price": (
        ("launch_price_usd", "Launch price", "USD", NUMBER,
         "See the kind: data centre GPUs have no list price"),
        ("launch_price_kind", "Kind of launch price", "", TEXT,
         "MSRP, reseller price or analyst estimate"),
        ("launch_price_date", "Launch price date", "", TEXT, "Month or year of the launch price"),
        ("street_price_usd", "Street price", "USD", NUMBER,
         "A widely reported figure of one catalogue, rounded"),
        ("street_price_date", "Street price date", "", TEXT, "State of the street price"),
    ),
    "Notes": (("notes", "Notes", "", TEXT, "What a buyer must know"),),
}  # fmt: skip


def _columns() -> Iterator[tuple[str, Column]]:
    for group, rows in _TABLE.items():
        for name, label, unit, dtype, help_text in rows:
            yield name, Column(label, unit, group, help_text, dtype)


GPU_COLUMNS: dict[str, Column] = dict(_columns())
