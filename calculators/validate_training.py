"""Predicts speed, MFU and GPU-hours of measured training runs, row by row.

python -m calculators.validate training FILE.csv [--json]
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from calculators.architecture import Architecture, params_active
from calculators.training.gpu import GpuRefused, gpu_speed_of
from calculators.training.plan import planned, squeezed
from calculators.training.setup import Parallel, Training, refusal
from calculators.training.speed import GpuSpeed, Speed, speed
from calculators.validate_cells import Sizes, split_sizes, ungrouped
from calculators.validate_finetune import (
    STAGES,
    UNSAID,
    row_framework,
    sequence_length,
    stated_checkpointing,
)
from calculators.validate_gpu import gpus_named
from calculators.validate_rows import MeasuredRow, RowRefused, read_rows
from calculators.validate_runs import (
    MOST,
    Line,
    RowResult,
    find_architecture,
    find_gpu,
    line,
    measured_value,
    refused_line,
)
from gpu_data.training import optimizer_named, precision_named, training_tables
from gpu_data.training_schemas import Framework

QUANTITIES = ("tokens_per_s_per_gpu", "mfu_pct_reported", "gpu_hours")
COLUMNS = ("id", "model", "gpu", "n_gpus")
GPUS_ASSUMED = 512
TOKENS_ASSUMED = 8192  # of a micro-batch


@dataclass(frozen=True)
class PreparedTraining:
    """What a row trains on what, and what had to be assumed."""

    training: Training
    gpu: GpuSpeed
    gpu_id: str
    tokens: float | None  # of the whole run
    assumptions: tuple[str, ...]


@cache
def gpu_speed(gpu_id: str) -> GpuSpeed:
    """What a GPU of the table can do. Raises RowRefused when its row lacks bandwidth or every peak."""
    from gpu_data import spec_frame

    try:
        return gpu_speed_of(gpu_id, spec_frame().loc[gpu_id].to_dict(), training_tables())
    except GpuRefused as error:
        raise RowRefused(str(error)) from None


def capacity_bytes(gpu_id: str) -> float:
    """Memory a program sees on a GPU [byte]."""
    from gpu_data import spec_frame

    return float(spec_frame().loc[gpu_id, "usable_bytes"])


def _global_tokens(row: MeasuredRow, seq_len: int) -> float | None:
    text = ungrouped(row.text("global_batch").lower())
    found = re.match(r"[\s~]*(\d+(?:\.\d+)?(?:e\d+)?)\s*([mk]?)\s*(tok|seq)?", text)
    if not found:
        return None
    value = float(found.group(1)) * {"m": 1e6, "k": 1e3, "": 1.0}[found.group(2)]
    tokens = value * (seq_len if found.group(3) == "seq" else 1)
    if not 0 < tokens < MOST:
        raise RowRefused(f"global_batch: {row.text('global_batch')!r} is no number of tokens")
    return tokens


def _stated_parallel(row: MeasuredRow, framework: Framework, gpus: int) -> Parallel | None:
    """The split the row names; None when it names none."""
    text = row.text("parallelism").lower()
    if gpus == 1:
        return Parallel()
    named = re.findall(r"(?<![a-z])[tpce]p[ =:_-]?\d+", text)
    sizes = split_sizes(" ".join(named)) if named else Sizes()
    if sizes is None:
        raise RowRefused(f"parallelism: {row.text('parallelism')!r} names a size that no GPUs can have")
    stage = 3 if re.search(r"fsdp|full_shard|zero-?3|hsdp", text) else None
    told = re.search(r"zero[-_ ]?(?:stage)?[-_= ]?([0-3])", text)
    plain = re.search(r"\bddp\b|no_shard", text)
    if stage is None and (told or plain or "shard_grad_op" in text):
        stage = int(told.group(1)) if told else 0 if plain else 2
    if not named and stage is None:
        return None
    whole = sizes.tensor * sizes.pipeline * sizes.context
    if gpus % whole:
        raise RowRefused(
            f"parallelism: {row.text('parallelism')!r} takes {whole} GPUs at a time, not of {gpus}"
        )
    zero = stage if stage is not None else min(framework.zero_stage, 3 if sizes.pipeline == 1 else 1)
    return Parallel(
        gpus,
        sizes.tensor,
        sizes.pipeline,
        sizes.context,
        sizes.expert,
        STAGES[zero],
        True,
        2 if "interleaved" in text else 1,
    )


def prepare(row: MeasuredRow) -> PreparedTraining:
    """The run a row describes, from its input columns. Raises RowRefused naming what is missing."""
    gpu_id, gpu_note = find_gpu(row.text("gpu"))
    if gpu_id is None:
        raise RowRefused(gpu_note)
    gpu = gpu_speed(gpu_id)
    framework, framework_note = row_framework(row)
    arch, model_note = find_architecture(row.text("model"), row.number("params_b"))
    notes = [gpu_note, framework_note, model_note, *arch.assumptions]
    gpus = row.count("n_gpus", 2**22) or (
        gpus_named(row.text("gpu")) if gpus_named(row.text("gpu")) > 1 else None
    )
    if gpus is None:
        gpus = GPUS_ASSUMED
        notes.append(f"n_gpus: empty, {gpus} assumed")
    tables = training_tables()
    precision = precision_named(row.text("precision"))
    if precision is None:
        precision = tables.precisions["mixed"]
        notes.append(f"precision: {row.text('precision') or 'empty'}, {precision.label} assumed")
    if precision.matmul == "fp8" and framework.precision == "bf16":
        precision = tables.precisions["bf16-fp8"]
    optimizer = optimizer_named(row.text("optimizer")) or tables.optimizers["adamw"]
    length, length_note = sequence_length(row, framework)
    batch = None if row.text("micro_batch").lower() in UNSAID else row.count("micro_batch", 2**20)
    if batch is None:
        batch = max(TOKENS_ASSUMED // length, 1)
        notes.append(f"micro_batch: {row.text('micro_batch') or 'empty'}, {batch} assumed")
    method = "lora" if re.search(r"\bq?lora\b", f"{row.text('kind')} {row.text('run')}".lower()) else "full"
    checkpointing = stated_checkpointing(row.text("act_ckpt"))
    offload = (
        "optimizer"
        if re.search(r"cpu[ _-]?offload|zero.*offload", row.text("parallelism").lower())
        else "none"
    )
    training = Training(
        arch,
        framework,
        precision,
        optimizer,
        tables.lora_targets,
        method,
        seq_len=length,
        micro_batch=batch,
        offload=offload,
        checkpointing=checkpointing or framework.checkpointing,
    )
    memory = capacity_bytes(gpu_id)
    stated = _stated_parallel(row, framework, gpus)
    if stated is not None:
        training = training.but(parallel=stated)
    elif gpus > 1:
        training, plan_note = planned(training, gpus, memory)
        notes.append(plan_note)
    if row.text("micro_batch").lower() in UNSAID and training.parallel.pipeline > 1:
        training = training.but(micro_batch=1)
    refused = refusal(training)
    if refused:
        raise RowRefused(refused)
    training, accumulation_note = _accumulated(training, _global_tokens(row, length))
    training, fit_note = squeezed(training, memory, checkpointing is None)
    tokens, tokens_note = _run_tokens(row, arch)
    notes.append(tokens_note)
    notes += [length_note, accumulation_note, fit_note]
    return PreparedTraining(
        training,
        gpu,
        gpu_id,
        tokens,
        tuple(note for note in notes if note),
    )


def _run_tokens(row: MeasuredRow, arch: Architecture) -> tuple[float | None, str]:
    """(tokens of the whole run, assumption): stated, or from the compute a note states over 6 N."""
    stated = row.number("tokens_b")
    if stated is not None:
        if stated <= 0:
            raise RowRefused(f"tokens_b: {stated:g} is no number of tokens")
        return stated * 1e9, ""
    noted = re.search(r"training compute ([\d.]+e\+?\d+) flop", row.text("notes").lower())
    if noted is None:
        return None, ""
    tokens = float(noted.group(1)) / (6 * params_active(arch))
    return tokens, f"tokens_b: empty, {tokens / 1e9:,.0f} B from the stated compute over 6 N"


def _accumulated(training: Training, global_tokens: float | None) -> tuple[Training, str]:
    """With the micro-batches per step that the global batch asks for."""
    p = training.parallel
    at_once = int(training.seq_len) * int(training.micro_batch) * int(p.data)
    if global_tokens is None:
        steps = 8 * p.pipeline if p.pipeline > 1 else 1
        return training.but(
            accumulation=steps
        ), f"global_batch: empty, {steps} micro-batches per step assumed"
    return training.but(accumulation=max(round(global_tokens / at_once), 1)), ""


def _part(row: MeasuredRow) -> str:
    kind = row.text("kind").lower()
    return "counted" if kind in ("", "benchmark") else kind


def predict(prepared: PreparedTraining) -> Speed:
    """The speed of a prepared row, with its band."""
    tables = training_tables()
    return speed(prepared.training, prepared.gpu, tables, tables.speed_band(prepared.gpu_id))


def predict_row(row: MeasuredRow) -> RowResult:
    """A line for every measured quantity of a row; predictions use the input columns only."""
    quantities = [name for name in QUANTITIES if row.text(name)]
    try:
        prepared = prepare(row)
        found = predict(prepared)
        if found.refused:
            raise RowRefused(found.refused)
    except RowRefused as error:
        return RowResult(tuple(refused_line(row, name, str(error)) for name in quantities), _part(row), ())
    lines = []
    for name in quantities:
        try:
            lines.append(_line(row, prepared, found, name))
        except RowRefused as error:
            lines.append(refused_line(row, name, str(error)))
    return RowResult(tuple(lines), _part(row), (*prepared.assumptions, *found.assumptions))


def _line(row: MeasuredRow, prepared: PreparedTraining, found: Speed, quantity: str) -> Line:
    band = training_tables().speed_band(prepared.gpu_id)
    measured = measured_value(row, quantity)
    if quantity == "tokens_per_s_per_gpu":
        return line(row, quantity, float(found.tokens_per_s_per_gpu), measured, (band.low, band.high))
    if quantity == "mfu_pct_reported":
        return line(row, quantity, 100 * float(found.mfu), measured, (band.low, band.high))
    if prepared.tokens is None:
        raise RowRefused("tokens_b: is empty, so the GPU-hours are unknown")
    hours = prepared.tokens / float(found.tokens_per_s_per_gpu) / 3600
    whole = training_tables().bands["gpu_hours"]
    return line(row, quantity, hours, measured, (whole.low, whole.high))


def predict_file(path: Path) -> Iterator[RowResult]:
    """Results of all rows of a file. Raises RowRefused when the file cannot be read."""
    for row in read_rows(path, COLUMNS):
        yield predict_row(row)
