"""Fits the speed constants of training.toml, and the error bands, on measured rows.

python -m calculators.validate_training_fit constants TRAINING.csv
python -m calculators.validate_training_fit bands TRAINING.csv FINETUNE.csv   (gpu_data/training_bands.toml)

The loss is the weighted mean of the absolute logarithm of predicted / measured; a row weighs one over the
root of its source's number of rows. Cross-validation leaves out whole GPUs, whole sources, or a random tenth.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calculators.training.flops import StepFlops, model_flops_per_token
from calculators.training.speed import (
    POWER_ASSUMED_W,
    TERA,
    Work,
    matmul_dtype,
    seconds_per_token,
    sustained_tflops,
    work,
)
from calculators.validate_finetune import predict_file as predict_finetune
from calculators.validate_rows import MeasuredRow, RowRefused, read_rows
from calculators.validate_runs import measured_value
from calculators.validate_training import COLUMNS, PreparedTraining, prepare
from calculators.validate_training import predict_row as predict_training_row
from gpu_data.training import training_tables
from gpu_data.training_schemas import TrainingBand

Floats = NDArray[np.float64]
_BOUNDS = {
    "matmul_efficiency": (0.5, 1.0),
    "power_exponent": (0.001, 0.5),
    "attention_efficiency": (0.2, 1.0),
    "bus_passes": (0.2, 20.0),
    "exposed_communication": (0.02, 1.0),
    "loss_per_doubling": (0.001, 0.1),
    "host_optimizer_gb_per_s": (1.0, 200.0),
}
_STEPS = (0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.003) * 3
SOFT = 0.03  # below this error the loss is a square, above it an absolute value
PARTS = 10  # of rows left out together at random
_DOUBTFUL = re.compile(r"do not use|not meaningful|include the base model", re.IGNORECASE)
TAIL = 0.1  # left out on either side of an 80 % band


@dataclass(frozen=True)
class Point:
    """One measured row with everything its prediction needs besides the fitted constants."""

    id: str
    gpu: str
    source: str
    measured: float  # tokens per second and GPU
    work: Work
    peak: float
    ceiling: float
    plain_peak: float
    plain_ceiling: float
    bandwidth: float
    power: float
    split: int


def _source(row: MeasuredRow) -> str:
    """The repository or site a row is from."""
    return "/".join(re.sub(r"^https?://", "", row.text("source_url")).split("/")[:3])


def _point(row: MeasuredRow, prepared: PreparedTraining) -> Point:
    training, gpu, tables = prepared.training, prepared.gpu, training_tables()
    dtype, _ = matmul_dtype(training, gpu)
    plain = "bf16" if "bf16" in gpu.tflops else "fp16"
    if row.text("tokens_per_s_per_gpu"):
        measured = measured_value(row, "tokens_per_s_per_gpu")
    else:
        mfu = measured_value(row, "mfu_pct_reported") / 100
        model = model_flops_per_token(training.architecture, training.seq_len)
        measured = float(mfu * gpu.tflops[plain] * TERA / model)
    return Point(
        row.id,
        prepared.gpu_id,
        _source(row),
        measured,
        work(training, gpu, tables),
        gpu.tflops[dtype],
        gpu.ceilings_tflops.get(dtype, np.inf),
        gpu.tflops[plain],
        gpu.ceilings_tflops.get(plain, np.inf),
        gpu.bandwidth_gb_per_s,
        gpu.power_w or POWER_ASSUMED_W,
        training.parallel.tensor * training.parallel.pipeline,
    )


def points(path: Path) -> list[Point]:
    """Benchmark rows that print a rate or an MFU and can be prepared."""
    found = []
    for row in read_rows(path, COLUMNS):
        if row.text("kind").lower() != "benchmark":
            continue
        try:
            found.append(_point(row, prepare(row)))
        except RowRefused:
            continue
    return found


def _stack(rows: Sequence[Point], read: Callable[[Point], Any]) -> Floats:
    return np.array([float(read(row)) for row in rows])


def stacked(rows: Sequence[Point]) -> Work:
    """The work of many rows as arrays."""
    flops = StepFlops(
        *(_stack(rows, lambda r, n=n: getattr(r.work.flops, n)) for n in ("layers", "head", "attention"))
    )
    names = [name for name in Work.__dataclass_fields__ if name != "flops"]
    return Work(flops, *(_stack(rows, lambda r, n=n: getattr(r.work, n)) for n in names))


@dataclass(frozen=True)
class Columns:
    """All rows as arrays."""

    work: Work
    measured: Floats
    peak: Floats
    ceiling: Floats
    plain_peak: Floats
    plain_ceiling: Floats
    bandwidth: Floats
    power: Floats
    split: Floats
    weights: Floats


def columns(rows: Sequence[Point]) -> Columns:
    """Arrays of rows; a row weighs one over the root of its source's number of rows."""
    names = (
        "measured",
        "peak",
        "ceiling",
        "plain_peak",
        "plain_ceiling",
        "bandwidth",
        "power",
        "split",
    )
    counts = {s: sum(r.source == s for r in rows) for s in {r.source for r in rows}}
    weights = np.array([1 / counts[r.source] ** 0.5 for r in rows])
    return Columns(
        stacked(rows),
        *(_stack(rows, lambda r, n=n: getattr(r, n)) for n in names),
        weights / weights.sum(),
    )


def predicted(c: Columns, values: dict[str, float]) -> Floats:
    """Tokens per second and GPU of all rows with these constants."""
    seconds = seconds_per_token(
        c.work,
        sustained_tflops(c.peak, c.ceiling, c.power, values),
        sustained_tflops(c.plain_peak, c.plain_ceiling, c.power, values),
        c.bandwidth,
        values,
    )
    return 1 / (sum(seconds.values(), 0.0) * c.split)


def loss(c: Columns, values: dict[str, float]) -> float:
    """Weighted mean of |log(predicted / measured)|, rounded off near zero (pseudo-Huber)."""
    off = np.log(predicted(c, values) / c.measured)
    return float(np.sum(c.weights * (np.sqrt(off**2 + SOFT**2) - SOFT)))


def start() -> dict[str, float]:
    """Where every fit begins: the geometric middle of the bounds."""
    return {name: float(np.sqrt(low * high)) for name, (low, high) in _BOUNDS.items()}


def stated() -> dict[str, float]:
    """The constants as they stand in training.toml."""
    return {name: training_tables().number(name) for name in _BOUNDS}


def fit(c: Columns, values: dict[str, float]) -> dict[str, float]:
    """Coordinate search in the logarithm of each constant, inside its bounds."""
    best, least = dict(values), loss(c, values)
    for step in _STEPS:
        improved = True
        while improved:
            improved = False
            for name in best:
                low, high = _BOUNDS[name]
                for factor in (1 + step, 1 / (1 + step)):
                    tried = best | {name: min(max(best[name] * factor, low), high)}
                    found = loss(c, tried)
                    if found < least - 1e-7:
                        best, least, improved = tried, found, True
    return best


def held_out(rows: Sequence[Point], group: Callable[[Point], str]) -> dict[str, float]:
    """Predicted / measured of every row, with the row's whole group left out of the fit."""
    ratios: dict[str, float] = {}
    begin = start()
    for name in sorted({group(row) for row in rows}):
        kept = [row for row in rows if group(row) != name]
        out = [row for row in rows if group(row) == name]
        values = fit(columns(kept), begin)
        found = predicted(columns(out), values)
        ratios |= {row.id: float(p / row.measured) for row, p in zip(out, found, strict=True)}
    return ratios


def random_part(row: Point) -> str:
    """One of ten parts, by the digits of the row's id: rows of known GPUs and sources."""
    return str(int(re.sub(r"\D", "", row.id) or 0) % PARTS)


def band(quantity: str, ratios: Sequence[float], note: str, gpu_ids: tuple[str, ...] = ()) -> TrainingBand:
    """The band that leaves TAIL of measured / predicted - 1 out on either side."""
    low, high = np.quantile(np.asarray(ratios), [TAIL, 1 - TAIL])
    return TrainingBand(
        quantity=quantity,
        gpu_ids=gpu_ids,
        low=round(float(low), 4),
        high=round(float(high), 4),
        rows=len(ratios),
        note=note,
    )


def speed_bands(path: Path) -> list[TrainingBand]:
    """Bands of tokens per second: for measured GPUs from rows left out at random, for others with whole GPUs
    left out."""
    rows = points(path)
    ids = tuple(sorted({row.gpu for row in rows}))
    found = []
    for quantity, group, note, gpu_ids in (
        ("tokens_per_s_per_gpu", random_part, "a random tenth of the rows", ids),
        ("tokens_per_s_per_unmeasured_gpu", lambda row: row.gpu, "the whole GPU", ()),
    ):
        ratios = [1 / ratio - 1 for ratio in held_out(rows, group).values()]
        found.append(band(quantity, ratios, f"measured / predicted with {note} left out of the fit", gpu_ids))
    return found


def run_band(path: Path) -> TrainingBand:
    """Band of the GPU-hours of whole published runs, which also contain restarts, tests and waiting."""
    ratios = [
        found.measured / found.predicted - 1
        for row in read_rows(path, COLUMNS)
        if row.text("kind").lower().startswith("pretraining") and not _DOUBTFUL.search(row.text("notes"))
        for found in predict_training_row(row).lines
        if found.quantity == "gpu_hours"
        and isinstance(found.predicted, float)
        and isinstance(found.measured, float)
    ]
    return band("gpu_hours", ratios, "published GPU-hours of whole runs / predicted; none was fitted to")


def memory_band(path: Path) -> TrainingBand:
    """Band of fine-tuning peaks, from all measured rows that are predicted."""
    ratios = [
        found.measured / found.predicted - 1
        for result in predict_finetune(path)
        if result.part == "counted"
        for found in result.lines
        if isinstance(found.predicted, float) and isinstance(found.measured, float)
    ]
    return band("peak_gib_per_gpu", ratios, "measured / predicted; the formulas hold few fitted numbers")


def bands_toml(found: Sequence[TrainingBand]) -> str:
    """The bands as they stand in gpu_data/training_bands.toml."""
    blocks = [
        f'[[band]]\nquantity = "{b.quantity}"\n'
        + (f"gpu_ids = {json.dumps(list(b.gpu_ids))}\n" if b.gpu_ids else "")
        + f"low = {b.low}\nhigh = {b.high}\nrows = {b.rows}\n"
        f'note = "{b.note}"\n'
        for b in found
    ]
    return "\n".join(blocks)


def _errors(ratios: Sequence[float]) -> str:
    off = np.abs(np.asarray(ratios) - 1) * 100
    return f"median {np.median(off):.1f} %, 90th percentile {np.percentile(off, 90):.1f} %"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if len(words) == 3 and words[0] == "bands":
        found = [memory_band(Path(words[2])), *speed_bands(Path(words[1])), run_band(Path(words[1]))]
        sys.stdout.write(bands_toml(found))
        return 0
    if len(words) != 2 or words[0] != "constants":
        sys.stderr.write(f"{__doc__}\n")
        return 2
    rows = points(Path(words[1]))
    c = columns(rows)
    values = fit(c, start())
    for name, value in values.items():
        sys.stdout.write(f"{name} = {value:.3g}\n")
    sys.stdout.write(f"all rows: {_errors(list(predicted(c, values) / c.measured))}\n")
    bands = training_tables().bands
    known, unknown = bands["tokens_per_s_per_gpu"], bands["tokens_per_s_per_unmeasured_gpu"]
    groups = (
        ("GPU", lambda r: r.gpu, unknown),
        ("source", lambda r: r.source, unknown),
        ("tenth", random_part, known),
    )
    for label, group, limits in groups:
        ratios = held_out(rows, group)
        inside = [limits.low <= 1 / ratio - 1 <= limits.high for ratio in ratios.values()]
        sys.stdout.write(
            f"leaving each {label} out: {_errors(list(ratios.values()))}, {np.mean(inside):.0%} in the band\n"
        )
        for name in sorted({group(row) for row in rows}):
            mine = [ratios[row.id] for row in rows if group(row) == name]
            bias = 100 * (np.median(mine) - 1)
            sys.stdout.write(f"  {name:40} {len(mine):4} rows, {_errors(mine)}, bias {bias:+.1f} %\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
