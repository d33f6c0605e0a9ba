"""Predicts what engines printed, row by row, and sums up how far off the predictions are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from calculators.architecture import params_total
from calculators.memory import VERDICTS, Deployment, Piece, Report, cache_pool_bytes, estimate, verdict_of
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

# What a row measured of the need, the most complete first: the figures, all of which must be printed; the
# factor to GiB; whether the cache is in them. It is taken out, because it is counted and not estimated.
_NEEDS = (
    (("total_used_mib",), 1 / 1024, True),
    (("total_used_gb",), 1.0, True),
    (("weights_gib_per_gpu", "activation_peak_gib", "non_torch_gib"), 1.0, False),
    (("weights_gib_per_gpu", "activation_peak_gib"), 1.0, False),
    (("weights_gib_per_gpu",), 1.0, False),
    (("model_size_gib",), 1.0, False),
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
class RowResult:
    """All lines of one row, and in which part of the summary they count."""

    lines: tuple[Line, ...]
    part: str  # "counted", "suspect" or "partial"
    assumptions: tuple[str, ...]
    family: str = ""  # of the engine
    setup: tuple[str, ...] = ()  # engine family, model and format
    band: ErrorBand | None = None  # of the engine family
    cache_gib: float = 0.0  # counted, not estimated: cache inside a printed total

    @property
    def need_gib(self) -> tuple[float, float] | None:
        """(predicted, measured) need without its cache [GiB], None when the row printed none of it."""
        lines = {line.quantity: line for line in self.lines if line.refused is None}
        for names, to_gib, cached in _NEEDS:
            if all(name in lines for name in names):
                taken = self.cache_gib if cached else 0.0
                predicted = sum(float(lines[name].predicted or 0) for name in names) * to_gib - taken
                measured = sum(float(lines[name].measured or 0) for name in names) * to_gib - taken
                return (predicted, measured) if predicted > 0 and measured > 0 else None
        return None

    @property
    def need_ratio(self) -> float | None:
        """Measured over predicted need without the cache, None when the row printed none of it."""
        need = self.need_gib
        return need[1] / need[0] if need else None


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
    cache = context.total("kv") if deployment.engine.split == "layers" else float(context.report.kv_bytes)
    return RowResult(
        lines, part, prepared.assumptions, deployment.engine.family, setup, deployment.band, cache / GIB
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
        state = verdict_of(
            report.needed_bytes, report.budget_bytes, report.band_low, report.band_high, report.kv_bytes
        )
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
    errors = [(r.need_ratio - 1, r.band) for r in results if r.need_ratio is not None and r.band is not None]
    inside = sum(band.low - 1e-3 <= error <= band.high + 1e-3 for error, band in errors)
    return {
        "band_rows": len(errors),
        "band_coverage_pct": round(100 * inside / len(errors), 1) if errors else None,
    }


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
