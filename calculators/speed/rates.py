"""What one GPU can do for one engine and number format: bandwidth, dense peaks, processors, link.

Rates come from the data sheet alone (columns of `gpu_data.spec_frame()`), so a card nobody measured is
treated like any other. Fields are scalars, or arrays over GPUs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calculators.architecture.layout import Architecture
from calculators.formats import support
from gpu_data.format_schemas import WeightFormat

GIGA, TERA, GIB = 1e9, 1e12, 2**30
MOST_FLOP_PER_CLOCK = (
    8192.0  # of one processor, dense 16 bits (NVIDIA GB200: 152 SM x 2.062 GHz, 2,565 TFLOPS)
)
WATTS_PER_GHZ = 1.7  # of processors x clock: the middle of the catalogue's cards
NODE_GPUS = 8.0  # GPUs that share a server: HGX, OAM and the usual PCIe servers
Floats = NDArray[np.float64]
Number = float | Floats

# Dense peak columns of the spec frame, by what the tensor cores multiply in; first known one counts.
_SIXTEEN = ("dense_fp16_tflops", "dense_bf16_tflops", "fp16_vector_tflops", "fp32_tflops")
_HALF_ACCUMULATE = ("dense_fp16_fp16acc_tflops", *_SIXTEEN)
_PEAKS: Mapping[str, tuple[str, ...]] = {
    "fp8": ("dense_fp8_tflops",),
    "int8": ("dense_int8_tops",),
    "fp4": ("dense_fp4_tflops",),
    "fp32": ("dense_tf32_tflops", "fp32_tflops"),
    "bf16": ("dense_bf16_tflops", *_SIXTEEN),
    "fp16": _SIXTEEN,
}
# Bytes of one operand the tensor cores are fed with.
OPERAND_BYTES: Mapping[str, float] = {
    "fp8": 1.0,
    "int8": 1.0,
    "fp4": 0.5,
    "fp32": 4.0,
    "bf16": 2.0,
    "fp16": 2.0,
}
# One direction of 16 lanes, encoding taken off [GB/s]; PCI Express base specifications 3.0 to 6.0.
_PCIE_GB_PER_S: Mapping[int, float] = {3: 15.75, 4: 31.5, 5: 63.0, 6: 121.0}
_INLINE_ECC_BELOW = 0.95  # share of the labelled memory that is visible when ECC lives in the same chips


class SpeedRefused(ValueError):
    """A speed that cannot be computed: `field` names what, `reason` says why in one sentence."""

    def __init__(self, field: str, reason: str):
        super().__init__(f"{field}: {reason}")
        self.field = field
        self.reason = reason


_WORDS = ("computed_in", "assumptions")  # fields of GpuRates that are no numbers


@dataclass(frozen=True)
class GpuRates:
    """One GPU (or an array of them) as the speed functions see it.

    bandwidth: peak [byte/s]; compute: dense peak of the format computed in [FLOP/s]; attention: of 16 bits
    [FLOP/s]; operand_bytes: of one number multiplied; sm_clock: processors x clock [1/s]; link: fast link,
    one direction [byte/s], NaN without one, and how many GPUs it joins (more talk over pcie [byte/s]);
    unpacked_bits: of weights that are unpacked to multiply, 0 where the format is computed in; crossings: of
    the lanes by a byte for another GPU, 2 where it goes by the host's memory; watts: what the board may draw.
    All of one device: a board that programs see as several GPUs gives each its part. assumptions: what the
    data sheet leaves open.
    """

    bandwidth: Number
    compute: Number
    attention: Number
    operand_bytes: Number
    sm_clock: Number
    link: Number
    link_gpus: Number
    pcie: Number
    unpacked_bits: Number
    crossings: Number = 1.0
    watts: Number = float("inf")
    computed_in: str | tuple[str, ...] = ""
    assumptions: tuple[str, ...] = ()

    def column(self) -> GpuRates:
        """The same with a trailing axis, to broadcast against other axes."""
        changed = {
            f.name: np.asarray(getattr(self, f.name))[..., None] for f in fields(self) if f.name not in _WORDS
        }
        return replace(self, **changed)


def _number(spec: Mapping[str, object], column: str) -> float:
    value = spec.get(column)
    try:
        return float(value)  # ty: ignore[invalid-argument-type]
    except (TypeError, ValueError):
        return float("nan")


def _text(spec: Mapping[str, object], column: str) -> str:
    value = spec.get(column)
    return value if isinstance(value, str) else ""


def _first(spec: Mapping[str, object], columns: Sequence[str]) -> float:
    return next((v for v in (_number(spec, c) for c in columns) if v == v and v > 0), float("nan"))


def inline_ecc(spec: Mapping[str, object]) -> bool:
    """Whether ECC bits lie in the GPU's own GDDR chips: it shows less memory than its label says.

    HBM carries them in extra bits. Source: NVIDIA A40 and L40S list 46,068 MiB of 48 GiB with ECC on.
    """
    visible, label = _number(spec, "visible_bytes"), _number(spec, "memory_gb") * GIB
    return "GDDR" in _text(spec, "memory_type") and visible < _INLINE_ECC_BELOW * label


def bandwidth_bytes_per_s(spec: Mapping[str, object]) -> float:
    """Peak memory bandwidth, less the sixteenth that ECC bits in GDDR take [byte/s]."""
    peak = _number(spec, "bandwidth_gb_per_s") * GIGA
    return peak * 15 / 16 if inline_ecc(spec) else peak


def _link(spec: Mapping[str, object]) -> tuple[float, float]:
    """(one direction of the fast link [byte/s], how many GPUs it joins); NaN and 0 without one.

    Bridges join two cards, or as many as their name says; racks of NVL72 seventy-two; nodes as many as they
    have; modules on one board eight (HGX, OAM universal baseboards).
    """
    both = _number(spec, "interconnect_gb_per_s")
    name = _text(spec, "interconnect")
    if not both > 0:
        return float("nan"), 0.0
    if "bridge" in name:
        said = re.findall(r"\b(\d+) GPUs", name)
        return both / 2 * GIGA, float(said[-1]) if said else 2.0
    rack = re.search(r"NVL(\d+)", _text(spec, "form_factor")) or re.search(r"nodes of (\d+)", name)
    return both / 2 * GIGA, float(rack.group(1)) if rack else NODE_GPUS


def pcie_crossings(spec: Mapping[str, object]) -> float:
    """How often a byte crosses PCIe to another GPU: once between peers, twice by the host's memory.

    Drivers of GeForce cards offer no peer access over PCIe. Source: device queries of such servers (the
    catalogue's interconnect of RTX 4090, "P2P disabled").
    """
    return 2.0 if "GeForce" in _text(spec, "name") or "P2P disabled" in _text(spec, "interconnect") else 1.0


def processors_hz(spec: Mapping[str, object]) -> tuple[float, str]:
    """(processors x clock of a board [1/s], assumption).

    Published; else inferred from cards of the same chip or architecture (`gpu_data.processors`). Where
    nothing says anything, its 16-bit peak at the most that any card does per processor and clock: not
    knowing a limit never makes a card faster.
    """
    name, own = _text(spec, "name"), _number(spec, "sms_or_cus") * _number(spec, "boost_clock_mhz") * 1e6
    if own > 0:
        return own, ""
    inferred = _number(spec, "processor_ghz") * GIGA
    if inferred > 0:
        return inferred, f"{name}: processors or clock not published, inferred from the cards nearest to it"
    peak = _first(spec, _SIXTEEN) * TERA
    return peak / MOST_FLOP_PER_CLOCK, f"{name}: processors not known, as few as any card has for its peak"


def board_watts(spec: Mapping[str, object], processors: float) -> tuple[float, str]:
    """(power limit of a board [W], assumption); for boards that publish none, that of a middling card.

    processors: x clock, of the whole board [1/s].
    """
    published = _number(spec, "tdp_w")
    if published > 0:
        return published, ""
    guess = WATTS_PER_GHZ * processors / GIGA
    name = _text(spec, "name")
    return guess, f"{name}: power limit not published, {guess:,.0f} W by its processors where power counts"


def gpu_rates(
    spec: Mapping[str, object],
    fmt: WeightFormat,
    arch: Architecture | None = None,
    half_accumulate: bool = False,
) -> GpuRates:
    """Rates of the GPU of one spec-frame row for one weight format.

    A format the GPU only stores is computed in 16 bits. Raises SpeedRefused when the GPU cannot run the
    format or its bandwidth is unknown. Without a known 16-bit peak the FP32 rate counts.
    """
    found = support(spec, fmt, arch)
    if found.state == "no":
        raise SpeedRefused("weight_format", found.reason)
    bandwidth = bandwidth_bytes_per_s(spec)
    if not bandwidth > 0:
        raise SpeedRefused("gpu", f"memory bandwidth of {_text(spec, 'name')} is unknown")
    native = found.state == "native"
    dtype = _native_dtype(fmt, arch) if native else "fp16"
    sixteen = _first(spec, _HALF_ACCUMULATE if half_accumulate else _SIXTEEN) * TERA
    peak = _first(spec, _PEAKS[dtype]) * TERA if dtype not in ("fp16", "bf16") else sixteen
    if not peak > 0:
        dtype, peak, native = "fp16", sixteen, False
    if not sixteen > 0:
        raise SpeedRefused("gpu", f"no peak rate of {_text(spec, 'name')} is known")
    link, joined = _link(spec)
    generation = _number(spec, "pcie_gen")
    devices = _first(spec, ("devices_per_board",))
    devices = devices if devices == devices else 1.0
    processors, assumed = processors_hz(spec)
    watts, assumed_watts = board_watts(spec, processors)
    known = _first(spec, _SIXTEEN[:2]) > 0
    ordinary = (
        ""
        if known
        else f"{_text(spec, 'name')}: no rate of 16-bit matrix products is known; counted with that of its "
        "ordinary instructions"
    )
    return GpuRates(
        bandwidth=bandwidth / devices,
        compute=peak / devices,
        attention=sixteen / devices,
        operand_bytes=OPERAND_BYTES[dtype],
        sm_clock=processors / devices,
        link=link / devices,
        link_gpus=joined * devices,
        pcie=_PCIE_GB_PER_S.get(int(generation) if generation == generation else 4, 31.5) * GIGA / devices,
        unpacked_bits=0.0 if native or fmt.kind == "plain" else _bits(fmt, arch),
        crossings=pcie_crossings(spec),
        watts=watts / devices,
        computed_in=dtype,
        assumptions=tuple(text for text in (ordinary, assumed, assumed_watts) if text),
    )


def _bits(fmt: WeightFormat, arch: Architecture | None) -> float:
    """Nominal bits of a format that is only stored; 16 for a released checkpoint that is not quantised."""
    if fmt.kind != "native" or arch is None:
        return fmt.nominal_bits
    return float(arch.quantization.bits or 0) if arch.quantization is not None else 0.0


def _native_dtype(fmt: WeightFormat, arch: Architecture | None) -> str:
    if fmt.kind != "native" or arch is None or arch.quantization is None:
        return fmt.compute_dtype
    kind = arch.quantization.kind
    return next((d for d in ("fp8", "fp4", "int8") if d in kind), fmt.compute_dtype)


def stack(rates: Sequence[GpuRates]) -> GpuRates:
    """Several GPUs (or arrays of them) as one object whose arrays have one more axis in front, in order."""
    names = [f.name for f in fields(GpuRates) if f.name not in _WORDS]
    each = {id(r): r for r in rates}  # one GPU in several counts is read once
    place = {key: i for i, key in enumerate(each)}
    at = np.array([place[id(r)] for r in rates], dtype=np.int64)
    arrays = {
        name: np.array([getattr(r, name) for r in each.values()], dtype=np.float64)[at] for name in names
    }
    assumed = dict.fromkeys(text for r in rates for text in r.assumptions)
    return GpuRates(
        **arrays, computed_in=tuple(str(r.computed_in) for r in rates), assumptions=tuple(assumed)
    )


_NONE = float("nan")
UNKNOWN = GpuRates(_NONE, _NONE, _NONE, _NONE, _NONE, _NONE, 0.0, _NONE, 0.0)


def fleet_rates(
    specs: Iterable[Mapping[str, object]],
    fmt: WeightFormat,
    arch: Architecture | None = None,
    half_accumulate: bool = False,
) -> tuple[GpuRates, tuple[str | None, ...]]:
    """(rates of many GPUs as arrays, why each has none); a GPU that is refused has NaN and so no speed."""
    found: list[GpuRates] = []
    reasons: list[str | None] = []
    for spec in specs:
        try:
            found.append(gpu_rates(spec, fmt, arch, half_accumulate))
            reasons.append(None)
        except SpeedRefused as error:
            found.append(UNKNOWN)
            reasons.append(error.reason)
    return stack(found), tuple(reasons)


def effective_bandwidth(
    bandwidth: ArrayLike, sm_clock: ArrayLike, share: float, bytes_per_sm_clock: float
) -> Floats:
    """Bytes per second that kernels get: the memory's share, or what the processors can have in flight.

    Each processor keeps a limited number of loads in flight, so it takes at most `bytes_per_sm_clock` bytes
    a clock (Little's law: bytes in flight / latency); GPUs with few processors for their bandwidth are held
    by that. The two limits meet smoothly (6-norm).
    """
    memory = share * np.asarray(bandwidth, dtype=np.float64)
    processors = bytes_per_sm_clock * np.asarray(sm_clock, dtype=np.float64)
    return memory / (1 + (memory / processors) ** 6) ** (1 / 6)


def effective_compute(
    peak: ArrayLike, operand_bytes: ArrayLike, sm_clock: ArrayLike, share: float, flop_per_sm_clock: float
) -> Floats:
    """Operations per second that matrix kernels get [FLOP/s].

    1 / rate = 1 / (share x peak) + operand bytes / 2 / (flop_per_sm_clock x processors x clock): tensor
    cores wait for operands, which each processor fetches at a limited rate, so the more they could do per
    clock, the harder they are to fill. Operands of half the width halve that cost.
    """
    feed = flop_per_sm_clock * np.asarray(sm_clock, dtype=np.float64)
    feeding = np.asarray(operand_bytes, dtype=np.float64) / 2 / feed
    return 1 / (1 / (share * np.asarray(peak, dtype=np.float64)) + feeding)


def seconds_by_power(watts: ArrayLike, operand_bytes: ArrayLike, flop_per_joule: float) -> Floats:
    """Seconds that the board's power adds to each operation [s/FLOP]; operands of half the width halve them.

    Operands cost energy on their way to the tensor cores, and clocks sink as a board nears its limit (NVIDIA
    GPU Boost), so a card with many processors and few watts stays below its peak.
    """
    width = np.asarray(operand_bytes, dtype=np.float64) / 2
    return width / (np.asarray(watts, dtype=np.float64) * flop_per_joule)
