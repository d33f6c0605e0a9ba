"""Predicts speed, MFU and GPU-hours of measured training runs, row by row.

python -m calculators.validate training FILE.csv [--json]
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from calculators.architecture.layout import Architecture
from calculators.training.memory import estimate, gradient_bytes_held
from calculators.training.setup import Parallel, Training, refusal
from calculators.training.speed import GpuSpeed, Speed, speed
from calculators.validate_finetune import (
    _CHECKPOINTING,
    row_framework,
    sequence_length,
)
from calculators.validate_rows import MeasuredRow, RowRefused
from calculators.validate_runs import (
    Line,
    RowResult,
    find_architecture,
    find_gpu,
    line,
    measured_value,
    read_rows,
    refused_line,
)
from gpu_data.training import optimizer_named, precision_named, training_tables
from gpu_data.training_schemas import Checkpointing, Framework

QUANTITIES = ("tokens_per_s_per_gpu", "mfu_pct_reported", "gpu_hours")
COLUMNS = ("id", "model", "gpu", "n_gpus")
GPUS_ASSUMED = 512
TOKENS_ASSUMED = 8192  # of a micro-batch
_PCIE_GB_PER_S = {3: 16.0, 4: 32.0, 5: 64.0, 6: 128.0}  # 16 lanes, one way
_PEAKS = {"bf16": "dense_bf16_tflops", "fp16": "dense_fp16_tflops", "fp8": "dense_fp8_tflops"}
_PEAKS |= {"tf32": "dense_tf32_tflops", "fp32": "fp32_tflops"}


@dataclass(frozen=True)
class PreparedTraining:
    """What a row trains on what, and what had to be assumed."""

    training: Training
    gpu: GpuSpeed
    gpu_id: str
    tokens: float | None  # of the whole run
    assumptions: tuple[str, ...]


def _number(value: Any) -> float | None:
    return None if value is None or str(value) in ("<NA>", "nan", "") else float(value)


@cache
def gpu_speed(gpu_id: str) -> GpuSpeed:
    """What a GPU of the table can do. Raises RowRefused when its row lacks bandwidth or every peak."""
    from gpu_data import spec_frame

    row = spec_frame().loc[gpu_id]
    tables = training_tables()
    peaks = {name: _number(row[column]) for name, column in _PEAKS.items()}
    bandwidth = _number(row["bandwidth_gb_per_s"])
    if bandwidth is None or not any(peaks.get(name) for name in ("bf16", "fp16")):
        raise RowRefused(f"gpu: {row['name']} has no known bandwidth or 16-bit peak")
    pcie = _PCIE_GB_PER_S.get(int(_number(row["pcie_gen"]) or 4), 32.0)
    both_ways = _number(row["interconnect_gb_per_s"]) or 0.0
    bridged = "bridge" in str(row["interconnect"]).lower()
    ceilings = {c.dtype: c.max_tflops for c in tables.ceilings if gpu_id in c.gpu_ids}
    return GpuSpeed(
        str(row["name"]),
        {name: peak for name, peak in peaks.items() if peak},
        bandwidth,
        both_ways / 2 if both_ways and not bridged else pcie,
        pcie * tables.number("network_share_of_pcie"),
        pcie,
        {str(k): v for k, v in ceilings.items()},
        power_w=_number(row["tdp_w"]),
    )


def capacity_bytes(gpu_id: str) -> float:
    """Memory a program sees on a GPU [byte]."""
    from gpu_data import spec_frame

    return float(spec_frame().loc[gpu_id, "usable_bytes"])


def _stated_checkpointing(row: MeasuredRow) -> Checkpointing | None:
    text = row.text("act_ckpt").lower()
    return next((value for pattern, value in _CHECKPOINTING if re.search(pattern, text)), None)


def _global_tokens(row: MeasuredRow, seq_len: int) -> float | None:
    text = row.text("global_batch").lower()
    found = re.match(r"([\d.]+)\s*([mk]?)\s*(tok|seq)?", text)
    if not found or not found.group(1).strip("."):
        return None
    value = float(found.group(1)) * {"m": 1e6, "k": 1e3, "": 1.0}[found.group(2)]
    return value * (seq_len if found.group(3) == "seq" else 1)


def _stated_parallel(row: MeasuredRow, framework: Framework, gpus: int) -> Parallel | None:
    """The split the row names; None when it names none."""
    text = row.text("parallelism").lower()
    if gpus == 1:
        return Parallel()
    sizes = {name: int(n) for name, n in re.findall(r"\b(tp|pp|cp|ep)(\d+)", text)}
    stage = 3 if re.search(r"fsdp|full_shard|zero-?3|hsdp", text) else None
    named = re.search(r"zero-?([0-3])", text)
    if stage is None and named:
        stage = int(named.group(1))
    if not sizes and stage is None:
        return None
    whole = np.prod([sizes.get(name, 1) for name in ("tp", "pp", "cp")])
    if gpus % whole:
        return None
    zero = stage if stage is not None else framework.zero_stage
    return Parallel(
        gpus,
        sizes.get("tp", 1),
        sizes.get("pp", 1),
        sizes.get("cp", 1),
        sizes.get("ep", 1),
        {0: 0, 1: 1, 2: 2, 3: 3}[zero],
        True,
        2 if "interleaved" in text else 1,
    )


def _plans(framework: Framework, gpus: int, arch: Architecture) -> Iterator[Parallel]:
    """Splits from the simplest to the finest; models with experts deal them out first."""
    heads, layers = arch.num_attention_heads, len(arch.layers)
    if framework.zero_stage == 3:
        yield Parallel(gpus, zero_stage=3)
    if any(layer.mlp == "moe" for layer in arch.layers):
        for stages, experts in ((1, 8), (1, 64), (4, 8), (4, 64), (8, 64), (16, 64)):
            if gpus % (stages * experts) == 0 and stages <= layers:
                yield Parallel(gpus, pipeline=stages, expert=experts, zero_stage=1, virtual_stages=2)
        return
    for stages in (1, 2, 4, 8, 12, 16, 24, 32, 64):
        for tensor in (1, 2, 4, 8) if stages == 1 else (8,):
            if gpus % (tensor * stages) == 0 and stages <= layers and heads % tensor == 0:
                yield Parallel(
                    gpus, tensor, stages, zero_stage=1, sequence_parallel=True, virtual_stages=min(stages, 2)
                )


def _planned(training: Training, gpus: int, memory: float) -> tuple[Training, str]:
    """The first split whose estimate fits the GPU, else the finest."""
    chosen = training
    for parallel in _plans(training.framework, gpus, training.architecture):
        chosen = training.but(parallel=parallel, accumulation=4 * parallel.pipeline)
        if float(estimate(chosen).allocated_bytes) <= 0.9 * memory:
            break
    p = chosen.parallel
    return (
        chosen,
        f"parallelism: not given, ZeRO-{p.zero_stage}, tensor {p.tensor}, pipeline {p.pipeline}, "
        f"expert {p.expert} assumed",
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
    gpus = row.count("n_gpus", 2**22)
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
    batch = row.count("micro_batch", 2**20)
    if batch is None:
        batch = max(TOKENS_ASSUMED // length, 1)
        notes.append(f"micro_batch: empty, {batch} assumed")
    method = "lora" if re.search(r"\bq?lora\b", f"{row.text('kind')} {row.text('run')}".lower()) else "full"
    offload = "optimizer" if re.search(r"cpu offload", row.text("parallelism").lower()) else "none"
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
        checkpointing=_stated_checkpointing(row) or framework.checkpointing,
    )
    memory = capacity_bytes(gpu_id)
    stated = _stated_parallel(row, framework, gpus)
    if stated is not None:
        training = training.but(parallel=stated)
    elif gpus > 1:
        training, plan_note = _planned(training, gpus, memory)
        notes.append(plan_note)
    if not row.text("micro_batch") and training.parallel.pipeline > 1:
        training = training.but(micro_batch=1)
    refused = refusal(training)
    if refused:
        raise RowRefused(refused)
    training, accumulation_note = _accumulated(training, _global_tokens(row, length))
    training, fit_note = _squeezed(training, memory, _stated_checkpointing(row) is None)
    tokens = row.number("tokens_b")
    notes += [length_note, accumulation_note, fit_note]
    return PreparedTraining(
        training,
        gpu,
        gpu_id,
        None if tokens is None else tokens * 1e9,
        tuple(note for note in notes if note),
    )


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


def _squeezed(training: Training, memory: float, may_checkpoint: bool) -> tuple[Training, str]:
    """With full checkpointing where nothing is said and it does not fit without, and CPU offload where the
    model's own states cannot fit."""
    found = estimate(training)
    note = ""
    if float(found.allocated_bytes) > memory and may_checkpoint and training.checkpointing == "none":
        training = training.but(checkpointing="full")
        note = "act_ckpt: not given, full checkpointing assumed because it does not fit without"
    if training.parallel.gpus > 8 or training.offload != "none":
        return training, note
    states = found.weights_bytes + found.optimizer_bytes + gradient_bytes_held(training)
    if float(states) <= memory:
        return training, note
    moved = training.but(offload="optimizer")
    if float(estimate(moved).allocated_bytes) > memory:
        moved = training.but(offload="all")
    return moved, f"the run's states do not fit the GPUs: offload of {moved.offload} to the CPU assumed"


def _part(row: MeasuredRow) -> str:
    kind = row.text("kind").lower()
    return "counted" if kind in ("", "benchmark") else kind


def predict(prepared: PreparedTraining) -> Speed:
    """The speed of a prepared row, with its band."""
    tables = training_tables()
    return speed(prepared.training, prepared.gpu, tables, tables.bands["tokens_per_s_per_gpu"])


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
    band = training_tables().bands["tokens_per_s_per_gpu"]
    measured = measured_value(row, quantity)
    if quantity == "tokens_per_s_per_gpu":
        return line(row, quantity, float(found.tokens_per_s_per_gpu), measured, (band.low, band.high))
    if quantity == "mfu_pct_reported":
        return line(row, quantity, 100 * float(found.mfu), measured, (band.low, band.high))
    if prepared.tokens is None:
        raise RowRefused("tokens_b: is empty, so the GPU-hours are unknown")
    hours = prepared.tokens / float(found.tokens_per_s_per_gpu) / 3600
    return line(row, quantity, hours, measured, (1 / (1 + band.high) - 1, 1 / (1 + band.low) - 1))


def predict_file(path: Path) -> Iterator[RowResult]:
    """Results of all rows of a file. Raises RowRefused when the file cannot be read."""
    for row in read_rows(path, COLUMNS):
        yield predict_row(row)
