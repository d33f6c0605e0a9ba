"""Predicts what engines printed, row by row, and sums up how far off the predictions are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from calculators.architecture import params_total
from calculators.memory import (
    VERDICTS,
    Deployment,
    Piece,
    Report,
    band_ends,
    cache_pool_bytes,
    estimate,
    verdict_of,
)
from calculators.memory.cache import reported_tokens
from calculators.memory.report import pieces_of
from calculators.memory.shape import shape_of
from calculators.memory.weights import stored_bytes
from calculators.validate_rows import QUANTITIES, MeasuredRow, PreparedRow, RowRefused, prepare, read_rows
from gpu_data.engine_schemas import ErrorBand

GIB, MIB = 2**30, 2**20
_NEEDS_CAPACITY = ("kv_cache_gib_per_gpu", "kv_cache_tokens", "fits")
_STATES = ("recurrent state", "convolution state")
_RAN = {"yes": True, "y": True, "true": True, "1": True, "no": False, "n": False, "false": False, "0": False}

WORK = ("activation_peak_gib", "non_torch_gib")
# What a row measured of the need, the most complete first: the figures, all of which must be printed; those
# of them that are activations and overhead, None for a total with the cache in it; the factor to GiB. The
# cache is taken out, because it is counted and not estimated.
_NEEDS = (
    (("total_used_mib",), None, 1 / 1024),
    (("total_used_gb",), None, 1.0),
    (("weights_gib_per_gpu", *WORK), WORK, 1.0),
    (("weights_gib_per_gpu", "activation_peak_gib"), ("activation_peak_gib",), 1.0),
    (("weights_gib_per_gpu",), (), 1.0),
    (("model_size_gib",), (), 1.0),
)


@dataclass(frozen=True)
class Line:
    """One prediction beside the measured value; keys as the command prints them."""

    id: str
    quantity: str
    predicted: float | str | None
    measured: float | str | None
    error_pct: float | None
    refused: str | None


@dataclass(frozen=True)
class Need:
    """Predicted and measured need of a row without its cache, and the ends of the prediction's band [GiB]."""

    predicted: float
    measured: float
    low: float
    high: float

    @property
    def ratio(self) -> float:
        """Measured over predicted."""
        return self.measured / self.predicted


@dataclass(frozen=True)
class RowResult:
    """All lines of one row, and in which part of the summary they count."""

    lines: tuple[Line, ...]
    part: str  # "counted", "suspect" or "partial"
    assumptions: tuple[str, ...]
    family: str = ""  # of the engine
    setup: tuple[str, ...] = ()  # engine family, model and format
    band: ErrorBand | None = None  # of the engine family
    cache_gib: float = 0.0  # inside a printed total
    work_gib: float = 0.0  # activations and overhead inside a printed total

    def _sum(self, names: Sequence[str]) -> tuple[float, float] | None:
        """(predicted, measured) over some figures; None unless the row printed them all."""
        lines = {line.quantity: line for line in self.lines if line.refused is None}
        if not all(name in lines for name in names):
            return None
        predicted = sum(float(lines[name].predicted or 0) for name in names)
        measured = sum(float(lines[name].measured or 0) for name in names)
        return (predicted, measured) if predicted > 0 and measured > 0 else None

    @property
    def need(self) -> Need | None:
        """What the row measured of its need, None when it printed none of it."""
        for names, work, to_gib in _NEEDS:
            found = self._sum(names)
            if found is None:
                continue
            cache = self.cache_gib if work is None else 0.0
            predicted, measured = (value * to_gib - cache for value in found)
            parts = self._sum(work) if work else None
            held = self.work_gib if work is None else parts[0] if parts else 0.0
            if predicted <= 0 or measured <= 0:
                return None
            low, high = band_ends(self.band, predicted, predicted - held, held)
            return Need(predicted, measured, float(low), float(high))
        return None

    @property
    def weights_ratio(self) -> float | None:
        """Measured over predicted weights, where the row printed them apart."""
        found = self._sum(("weights_gib_per_gpu",)) or self._sum(("model_size_gib",))
        return found[1] / found[0] if found else None

    @property
    def work_ratio(self) -> float | None:
        """Measured over predicted activations and overhead, where the row printed them apart."""
        found = self._sum(WORK)
        return found[1] / found[0] if found else None


@dataclass(frozen=True)
class _Context:
    """A prepared row with its report, computed once."""

    deployment: Deployment
    report: Report
    pieces: tuple[Piece, ...]

    def total(self, *groups: str, without: tuple[str, ...] = ()) -> float:
        """Bytes over all devices of the pieces of some groups."""
        kept = (p for p in self.pieces if p.group in groups and not p.name.startswith(without))
        return float(sum(np.sum(p.bytes) for p in kept))

    def named(self, *names: str) -> float:
        """Bytes of some pieces on the device that has most of them."""
        return float(sum(np.max(p.bytes) for p in self.pieces if p.name.startswith(names)))


def _used(context: _Context) -> float:
    """Bytes the run's own report shows: all but the CUDA context; engines that split by layers sum all GPUs.

    llama.cpp prints buffers, PyTorch its allocator; neither sees the context.
    """
    if context.deployment.engine.split == "layers":
        return context.total("weights", "kv", "activation", "overhead", without=("CUDA context",))
    return float(context.report.needed_bytes)


def _params(deployment: Deployment) -> int:
    """Parameters an engine prints: without the encoders where they are a file of their own."""
    arch = deployment.architecture
    return params_total(arch) - (
        shape_of(arch).tower_elements if deployment.engine.towers == "separate" else 0
    )


_PREDICTORS: dict[str, Callable[[_Context], float]] = {
    "weights_gib_per_gpu": lambda c: float(c.report.weights_bytes) / GIB,
    "kv_cache_gib_per_gpu": lambda c: float(cache_pool_bytes(c.deployment)) / GIB,
    "kv_cache_tokens": lambda c: float(reported_tokens(c.deployment, cache_pool_bytes(c.deployment))),
    "activation_peak_gib": lambda c: float(c.report.activation_bytes) / GIB,
    "non_torch_gib": lambda c: c.named("non-torch", "communication") / GIB,
    "cudagraph_gib": lambda c: c.named("CUDA graphs") / GIB,
    "compute_buffer_mib": lambda c: c.named("compute buffer") / MIB,
    "kv_mib": lambda c: c.total("kv", without=_STATES) / MIB,
    "params_b": lambda c: _params(c.deployment) / 1e9,
    "model_size_gib": lambda c: (
        stored_bytes(c.deployment.architecture, c.deployment.weight_format, c.deployment.engine) / GIB
    ),
    "total_used_mib": lambda c: _used(c) / MIB,
    "total_used_gb": lambda c: _used(c) / GIB,
}


def predict_row(row: MeasuredRow, configs: Path) -> RowResult:
    """A line for every measured quantity of a row; predictions use the input columns only."""
    quantities = [name for name in QUANTITIES if row.text(name)]
    part = "suspect" if row.text("suspect") else "counted"
    try:
        prepared = prepare(row, configs)
    except RowRefused as error:
        lines = tuple(_refused(row, name, str(error)) for name in quantities)
        return RowResult(lines, part, ())
    if prepared.partial:
        part = "partial"
    deployment = prepared.deployment
    context = _Context(deployment, estimate(deployment), pieces_of(deployment))
    lines = tuple(_line(prepared, context, name) for name in quantities)
    setup = (deployment.engine.family, row.text("model_hf_id"), deployment.weight_format.id)
    report = context.report
    if deployment.engine.split == "layers":
        cache, work = context.total("kv"), context.total("activation", "overhead", without=("CUDA context",))
    else:
        cache, work = float(report.kv_bytes), float(report.activation_bytes) + float(report.overhead_bytes)
    family = deployment.engine.family
    return RowResult(
        lines, part, prepared.assumptions, family, setup, deployment.band, cache / GIB, work / GIB
    )


def _refused(row: MeasuredRow, quantity: str, reason: str) -> Line:
    return Line(row.id, quantity, None, row.text(quantity), None, reason)


def _line(prepared: PreparedRow, context: _Context, quantity: str) -> Line:
    row = prepared.row
    if quantity in _NEEDS_CAPACITY and not prepared.capacity_known:
        return _refused(row, quantity, prepared.gpu.refused)
    if quantity == "fits":
        text = row.text("fits").lower()
        if text not in _RAN:
            return _refused(row, quantity, f"fits: {row.text('fits')!r} is neither yes nor no")
        report = context.report
        # A row was tried with its split, so memory alone decides, even where today's engine would refuse it.
        state = verdict_of(report.budget_bytes, report.need_low_bytes, report.need_high_bytes)
        verdict = VERDICTS[int(state)]
        return Line(row.id, quantity, verdict, row.text("fits"), None, None)
    try:
        measured = row.number(quantity)
    except RowRefused as error:
        return _refused(row, quantity, str(error))
    predicted = _PREDICTORS[quantity](context)
    error = 100 * (predicted - measured) / abs(measured) if measured else None
    return Line(
        row.id, quantity, round(predicted, 4), measured, None if error is None else round(error, 3), None
    )


def predict_file(path: Path, configs: Path) -> Iterator[RowResult]:
    """Results of all rows of a file. Raises RowRefused when the file cannot be read."""
    for row in read_rows(path):
        yield predict_row(row, configs)


# ---------------------------------------------------------------- summary


def summarise(results: Iterable[RowResult]) -> dict[str, Any]:
    """Numbers, refusals and errors per quantity, verdicts; suspect and partial rows apart."""
    kept = list(results)
    summary = {"rows": len(kept), **_part([r for r in kept if r.part == "counted"])}
    summary["apart"] = {
        name: {"rows": sum(r.part == name for r in kept), **_part([r for r in kept if r.part == name])}
        for name in ("suspect", "partial")
    }
    return summary


def _part(results: list[RowResult]) -> dict[str, Any]:
    lines = [line for result in results for line in result.lines]
    quantities = {}
    for name in QUANTITIES[:-1]:
        mine = [line for line in lines if line.quantity == name]
        if mine:
            quantities[name] = _errors(mine)
    return {
        "quantities": quantities,
        "verdicts": _verdicts([line for line in lines if line.quantity == "fits"]),
        **_coverage(results),
    }


def _coverage(results: list[RowResult]) -> dict[str, Any]:
    """How many rows that measured their need lie inside the error band their verdict uses.

    The band's ends are measured errors themselves, so a rounding step more counts as inside.
    """
    needs = [r.need for r in results if r.need is not None and r.band is not None]
    return {
        "band_rows": len(needs),
        "band_coverage_pct": round(100 * sum(map(inside, needs)) / len(needs), 1) if needs else None,
    }


def inside(need: Need) -> bool:
    """Whether a measured need lies in its band, a rounding step more included."""
    step = 1e-3 * need.predicted
    return need.low - step <= need.measured <= need.high + step


def _errors(lines: list[Line]) -> dict[str, Any]:
    errors = [abs(line.error_pct) for line in lines if line.error_pct is not None]
    return {
        "n": len(lines),
        "refused": sum(line.refused is not None for line in lines),
        "median_abs_error_pct": round(float(np.median(errors)), 3) if errors else None,
        "p90_abs_error_pct": round(float(np.percentile(errors, 90)), 3) if errors else None,
    }


def _verdicts(lines: list[Line]) -> dict[str, int]:
    found = {"n": len(lines), "right": 0, "tight": 0, "wrong": 0, "refused": 0}
    for line in lines:
        found[verdict_grade(line)] += 1
    return found


def verdict_grade(line: Line) -> str:
    """right, tight, wrong or refused."""
    if line.refused is not None:
        return "refused"
    if line.predicted == "tight":
        return "tight"
    return "right" if (line.predicted == "fits") == _RAN[str(line.measured).lower()] else "wrong"


def as_json(line: Line) -> dict[str, Any]:
    """The line as the command prints it."""
    return asdict(line)
