"""What a GPU file may say: pydantic types and the physical checks behind them.

One file per GPU family under `gpu_data/gpus/`. A file declares its sources once and its GPUs below:

    [sources.h100-datasheet]
    title = "NVIDIA H100 datasheet"
    url = "https://..."
    verified_by = "datasheet"
    evidence = "document copy"

    [[gpu]]
    id = "h100-sxm5-80gb"
    memory_gb = { value = 80, sources = ["h100-datasheet"] }
    fp16_vector_tflops = { value = 133.8, formula = "2 * fp32_tflops" }

Every figure names its sources, or the formula that gives it from other figures of the same GPU, or both.
Leave a figure out when nobody published it: a missing figure shows as a dash, a zero would be a claim.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, model_validator

MIB = 2**20
GIB = 2**30
GB = 10**9

T = TypeVar("T")
Number = Annotated[float, Field(strict=True, gt=0)]
NumberOrNone = Annotated[float, Field(strict=True, ge=0)]  # zero says "known to have none"
Count = Annotated[int, Field(strict=True, gt=0)]
CountOrNone = Annotated[int, Field(strict=True, ge=0)]
Text = Annotated[str, Field(min_length=1)]
Date = Annotated[str, Field(pattern=r"^(19|20)\d\d(-(0[1-9]|1[0-2])(-[0-3]\d)?)?$")]
Dtype = Literal["tf32", "bf16", "fp16", "fp8", "fp6", "fp4", "int8", "int4"]

VerifiedBy = Literal["datasheet", "whitepaper", "secondary", "arithmetic"]
Evidence = Literal[
    "document copy",
    "quoted copy, original not opened",
    "vendor docs",
    "vendor docs (absence)",
    "vendor list copy",
    "vendor-authored code",
    "code citing datasheets",
    "cited by code",
    "catalogue",
    "curated table",
    "curated table (pre-release)",
    "device log",
    "device catalogue",
    "measurement",
    "dataset",
    "web page",
    "web page + vendor code",
    "inference from same die",
    "computed",
]

# How far a published figure may lie from the arithmetic before the file has to say why.
TOLERANCE = 0.01


class Frozen(BaseModel):
    """A record that cannot change and knows all its keys."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Source(Frozen):
    """Where figures come from.

    `verified_by` is the kind of document; `evidence` says what was really read (a copy, a catalogue, a device
    log); `note` adds what a reader needs to judge it (state of a date, sparse values halved).
    """

    title: Text
    url: Annotated[str, Field(pattern=r"^https?://")] | None = None
    verified_by: VerifiedBy
    evidence: Evidence
    note: Text | None = None


class Figure(Frozen, Generic[T]):
    """One value and where it comes from: source keys of the same file, a formula, or both.

    `formula` is plain arithmetic on numbers and on other figures of the same GPU, e.g. "2 * fp32_tflops".
    """

    value: T
    sources: tuple[str, ...] = ()
    formula: Text | None = None
    note: Text | None = None

    @model_validator(mode="after")
    def _has_provenance(self) -> Figure[T]:
        if not (self.sources or self.formula):
            raise ValueError("needs sources = [...] or a formula")
        return self


class Price(Figure[Number]):
    """A price [US dollars] with its kind (MSRP, analyst estimate, street price...) and its date."""

    kind: Text
    date: Date


class Note(Frozen):
    """One thing that a buyer must know, with its sources."""

    text: Text
    sources: tuple[str, ...] = Field(min_length=1)


class Gpu(Frozen):
    """One GPU product. Units are in the names; help texts are in `gpu_data.columns.GPU_COLUMNS`.

    Tensor Core peaks are dense and with FP32 accumulate unless the name says `fp16acc`.
    """

    id: Annotated[str, Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")]
    name: Text
    vendor: Text
    architecture: Text
    mission: bool = False
    unified_memory: bool = False

    chip: Figure[Text] | None = None
    process: Figure[Text] | None = None
    release_date: Figure[Date] | None = None
    availability: Figure[Literal["released", "pre-release"]]
    form_factor: Figure[Text]
    devices_per_board: Figure[Count] | None = None

    memory_gb: Figure[Number]
    memory_type: Figure[Text]
    memory_bus_bits: Figure[Count] | None = None
    memory_data_rate_gbps: Figure[Number] | None = None
    bandwidth_gb_per_s: Figure[Number] | None = None
    bandwidth_check_note: Text | None = None
    visible_mib: Figure[Count] | None = None
    cuda_total_bytes: Figure[Count] | None = None
    usable_fraction_of_label: Figure[Annotated[float, Field(gt=0, le=1)]] | None = None
    l2_cache_mib: Figure[Number] | None = None
    llc_mib: Figure[Number] | None = None
    ecc: Figure[Text] | None = None

    sms_or_cus: Figure[Count] | None = None
    fp32_lanes: Figure[Count] | None = None
    tensor_cores: Figure[Count] | None = None
    tensor_core_gen: Figure[Count] | None = None
    boost_clock_mhz: Figure[Number] | None = None
    tensor_peak_clock_mhz: Figure[Number] | None = None
    fp16_flop_per_clock_per_unit: Figure[Count] | None = None
    peak_check_note: Text | None = None
    fp64_tflops: Figure[Number] | None = None
    fp64_tensor_tflops: Figure[Number] | None = None
    fp32_tflops: Figure[Number] | None = None
    fp16_vector_tflops: Figure[Number] | None = None
    bf16_vector_tflops: Figure[Number] | None = None
    dense_tf32_tflops: Figure[Number] | None = None
    dense_fp16_tflops: Figure[Number] | None = None
    dense_bf16_tflops: Figure[Number] | None = None
    dense_fp16_fp16acc_tflops: Figure[Number] | None = None
    dense_fp8_tflops: Figure[Number] | None = None
    dense_fp8_fp16acc_tflops: Figure[Number] | None = None
    dense_fp6_tflops: Figure[Number] | None = None
    dense_fp4_tflops: Figure[Number] | None = None
    dense_int8_tops: Figure[Number] | None = None
    dense_int4_tops: Figure[Number] | None = None
    sparsity_multiplier: Figure[Annotated[float, Field(strict=True, ge=1)]] | None = None
    sparsity_applies_to: Figure[tuple[Dtype, ...]] | None = None
    accumulate_note: Figure[Text] | None = None
    unsupported_dtypes: Figure[tuple[Dtype, ...]] | None = None

    tdp_w: Figure[Number] | None = None
    power_connector: Figure[Text] | None = None
    pcie_gen: Figure[Count] | None = None
    pcie_lanes: Figure[Count] | None = None
    interconnect: Figure[Text] | None = None
    interconnect_gb_per_s: Figure[NumberOrNone] | None = None
    mig_max_instances: Figure[CountOrNone] | None = None
    compute_capability: Figure[Text] | None = None
    virtualisation: Figure[Text] | None = None

    launch_price_usd: Price | None = None
    street_price_usd: Price | None = None
    notes: tuple[Note, ...] = ()

    def figures(self) -> dict[str, Figure]:
        """The filled figures by field name."""
        return {
            name: figure
            for name in type(self).model_fields
            if isinstance(figure := getattr(self, name), Figure)
        }

    def numbers(self) -> dict[str, float]:
        """The filled numeric values by field name."""
        return {
            name: figure.value
            for name, figure in self.figures().items()
            if isinstance(figure.value, int | float)
        }

    @model_validator(mode="after")
    def _is_physical(self) -> Gpu:
        problems = [problem for check in CHECKS for problem in check(self, self.numbers())]
        if problems:
            raise ValueError("\n".join(problems))
        return self


class GpuFile(Frozen):
    """One family file: its sources by key, and its GPUs."""

    sources: dict[str, Source]
    gpu: tuple[Gpu, ...]


# --- physical checks: each yields "field: what is wrong" ---

_OPERATORS: Mapping[type, Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}


def evaluate(formula: str, numbers: Mapping[str, float]) -> float:
    """Value of a figure's formula, e.g. "sms_or_cus * 4".

    Raises ValueError when the formula is not plain + - * / on numbers and filled figures.
    """

    def walk(node: ast.expr) -> float:
        match node:
            case ast.BinOp(left, op, right) if type(op) in _OPERATORS:
                return _OPERATORS[type(op)](walk(left), walk(right))
            case ast.Constant(float() | int() as number):
                return number
            case ast.Name(name) if name in numbers:
                return numbers[name]
            case ast.Name(name):
                raise ValueError(f"formula uses {name}, which this GPU does not have")
        raise ValueError(f"formula {formula!r} is not plain arithmetic")

    try:
        return walk(ast.parse(formula, mode="eval").body)
    except (SyntaxError, ZeroDivisionError) as error:
        raise ValueError(f"formula {formula!r}: {error}") from error


def _close(value: float, expected: float) -> bool:
    return abs(value / expected - 1) <= TOLERANCE


def _formulas_hold(gpu: Gpu, numbers: Mapping[str, float]) -> Iterator[str]:
    for name, figure in gpu.figures().items():
        if figure.formula is None:
            continue
        try:
            result = evaluate(figure.formula, {k: v for k, v in numbers.items() if k != name})
        except ValueError as error:
            yield f"{name}: {error}"
            continue
        if name not in numbers or not _close(numbers[name], result):
            yield f"{name}: {figure.value} is not {figure.formula} = {result:g}"


def _or_explained(field: str, value: float, expected: float, how: str, note: str | None) -> Iterator[str]:
    """`value` agrees with `expected`, or `note` says why not; and no note is left over."""
    note_field = "bandwidth_check_note" if field == "bandwidth_gb_per_s" else "peak_check_note"
    if not _close(value, expected) and note is None:
        off = 100 * (value / expected - 1)
        yield f"{field}: {value:g} is {off:+.1f} % off {how} = {expected:.1f}; say why in {note_field}"
    if _close(value, expected) and note is not None:
        yield f"{note_field}: {field} agrees with {how}, the note is not needed"


def _bandwidth_is_bus_times_rate(gpu: Gpu, numbers: Mapping[str, float]) -> Iterator[str]:
    match numbers:
        case {"bandwidth_gb_per_s": value, "memory_bus_bits": bus, "memory_data_rate_gbps": rate}:
            how = f"{bus} bit x {rate:g} Gbps / 8"
            yield from _or_explained(
                "bandwidth_gb_per_s", value, bus * rate / 8, how, gpu.bandwidth_check_note
            )


def _peak_is_units_times_rate_times_clock(gpu: Gpu, numbers: Mapping[str, float]) -> Iterator[str]:
    clock = numbers.get("tensor_peak_clock_mhz", numbers.get("boost_clock_mhz"))
    match numbers:
        case {"dense_fp16_tflops": value, "sms_or_cus": units, "fp16_flop_per_clock_per_unit": rate} if clock:
            how = f"{units} units x {rate} FLOP/clk x {clock:g} MHz"
            yield from _or_explained(
                "dense_fp16_tflops", value, units * rate * clock / 1e6, how, gpu.peak_check_note
            )


# The narrower type (or accumulator) is never the slower one. INT8 is left out: Blackwell Ultra cut it.
LADDER = (
    ("fp64_tflops", "fp32_tflops"),
    ("dense_tf32_tflops", "dense_fp16_tflops"),
    ("dense_bf16_tflops", "dense_fp16_tflops"),
    ("dense_fp16_tflops", "dense_fp16_fp16acc_tflops"),
    ("dense_fp16_tflops", "dense_fp8_tflops"),
    ("dense_fp8_tflops", "dense_fp8_fp16acc_tflops"),
    ("dense_fp8_tflops", "dense_fp6_tflops"),
    ("dense_fp8_tflops", "dense_fp4_tflops"),
    ("dense_fp6_tflops", "dense_fp4_tflops"),
    ("dense_int8_tops", "dense_int4_tops"),
    ("tensor_peak_clock_mhz", "boost_clock_mhz"),
)


def _ladder(gpu: Gpu, numbers: Mapping[str, float]) -> Iterator[str]:
    for slower, faster in LADDER:
        if slower in numbers and faster in numbers and numbers[slower] > numbers[faster] * (1 + TOLERANCE):
            yield f"{faster}: {numbers[faster]:g} is below {slower} = {numbers[slower]:g}"


def _memory_fits_its_label(gpu: Gpu, numbers: Mapping[str, float]) -> Iterator[str]:
    """A label is at most GiB, and a program sees at least 90 % of it in decimal GB: "192" is 206.1e9 bytes
    on an MI300X, 80 GB is 85.5e9 on an H100, 24 GB is 23.6e9 on an A10 with ECC. Memory shared with the CPU
    has no such floor: macOS keeps up to a quarter.
    """
    nominal = gpu.memory_gb.value / (gpu.devices_per_board.value if gpu.devices_per_board else 1)
    seen = {
        "visible_mib": numbers.get("visible_mib", 0) * MIB,
        "cuda_total_bytes": numbers.get("cuda_total_bytes", 0),
    }
    for name, size in seen.items():
        if not size:
            continue
        if size > nominal * GIB:
            yield f"{name}: {size:.0f} bytes is more than {nominal:g} GiB, the label of one device"
        if size < 0.9 * nominal * GB and not gpu.unified_memory:
            yield f"{name}: {size:.0f} bytes is below 90 % of {nominal:g} GB, the label of one device"
    if 0 < seen["visible_mib"] < seen["cuda_total_bytes"]:
        yield "cuda_total_bytes: more than visible_mib"
    if gpu.unified_memory and not (any(seen.values()) or gpu.usable_fraction_of_label):
        yield "usable_fraction_of_label: needed when memory is shared with the CPU and no device log is known"


DTYPE_PEAKS = {
    "tf32": "dense_tf32_tflops",
    "bf16": "dense_bf16_tflops",
    "fp16": "dense_fp16_tflops",
    "fp8": "dense_fp8_tflops",
    "fp6": "dense_fp6_tflops",
    "fp4": "dense_fp4_tflops",
    "int8": "dense_int8_tops",
    "int4": "dense_int4_tops",
}


def _dtypes_agree(gpu: Gpu, numbers: Mapping[str, float]) -> Iterator[str]:
    unsupported = set(gpu.unsupported_dtypes.value) if gpu.unsupported_dtypes else set()
    sparse = set(gpu.sparsity_applies_to.value) if gpu.sparsity_applies_to else set()
    for dtype in sorted(unsupported):
        if DTYPE_PEAKS[dtype] in numbers:
            yield f"unsupported_dtypes: {dtype} has a peak in {DTYPE_PEAKS[dtype]}"
    for dtype in sorted(sparse & unsupported):
        yield f"sparsity_applies_to: {dtype} is in unsupported_dtypes"
    if sparse and numbers.get("sparsity_multiplier", 1) == 1:
        yield "sparsity_applies_to: given, but sparsity_multiplier is 1 or missing"


CHECKS: tuple[Callable[[Gpu, Mapping[str, float]], Iterator[str]], ...] = (
    _formulas_hold,
    _bandwidth_is_bus_times_rate,
    _peak_is_units_times_rate_times_clock,
    _ladder,
    _memory_fits_its_label,
    _dtypes_agree,
)
