"""Predicts the peak memory of measured fine-tuning runs, row by row.

python -m calculators.validate finetune FILE.csv [--json]
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from calculators.memory import VERDICTS, GpuMemory
from calculators.training.memory import GIB, TrainingReport, estimate
from calculators.training.setup import Parallel, Training
from calculators.validate_cells import Sizes, split_sizes, tokens_in
from calculators.validate_gpu import gpus_named, match_gpu
from calculators.validate_rows import MeasuredRow, RowRefused, read_rows
from calculators.validate_runs import (
    Line,
    RowResult,
    find_architecture,
    find_gpu,
    line,
    measured_value,
    refused_line,
)
from gpu_data.format_schemas import WeightFormat
from gpu_data.formats import weight_format
from gpu_data.training import (
    framework_named,
    optimizer_named,
    precision_named,
    published_config,
    training_tables,
)
from gpu_data.training_schemas import Checkpointing, Framework, PublishedConfig

STAGES: tuple[Literal[0, 1, 2, 3], ...] = (0, 1, 2, 3)
UNSAID = ("", "auto", "default", "-", "?", "n/a", "not stated")
QUANTITIES = ("peak_gib_per_gpu", "oom")
COLUMNS = ("id", "method", "model", "precision", "peak_gib_per_gpu")
GB = 1e9
PLAIN_LOGIT_BYTES = 14  # of a loss that is neither chunked nor fused: 16-bit, fp32, its softmax, its gradient

# First pattern found decides; the order puts the longer word first.
_METHODS = (
    (r"adapter-?v2", "adapter-v2"),
    (r"adapter", "adapter"),
    (r"q-?[dl]ora|qoft", "qlora"),
    (r"[dl]ora|pissa|oft", "lora"),
    (r"full|pretrain|^(sft|supervised)", "full"),
)
_CHECKPOINTING: tuple[tuple[str, Checkpointing], ...] = (
    (r"^(no|false|none|off)$", "none"),
    (r"selective|\bop\b", "selective"),
    (r"^(yes|true|full|on|unsloth)$", "full"),
)
_BASES = (
    (r"nf4|fp4|4.?bit|int4|gptq|awq", "bnb-nf4"),
    (r"int8|(?<!\d)8.?bit", "bnb-int8"),
)
_UNKNOWN_BASE = re.compile(r"(?<!\d)[23567]-?bit|aqlm|hqq|exl2|gguf")
# Words of the free-text column that name a technique -> how the run changes; the later ones give way.
_TECHNIQUES: tuple[tuple[str, dict[str, object]], ...] = (
    (r"cut cross|fused (linear )?(cross|loss)|liger", {"logit_bytes": 0.5}),
    (r"optimi[sz]er (step )?in(to)? (the )?backward|fused optimi[sz]er", {"fused_step": True}),
    (r"activation offload", {"offload_activations": True}),
    (r"packed dataset|baseline|\+ ?compile", {"logit_bytes": PLAIN_LOGIT_BYTES}),
    (r"zero-?3 with cpu offload|cpu offload with", {"offload": "all"}),
    (r"cpu offload", {"offload": "optimizer"}),
)


@dataclass(frozen=True)
class PreparedRun:
    """What a row trains, and what had to be assumed."""

    training: Training
    gpu: GpuMemory | None
    assumptions: tuple[str, ...]


def first_match(text: str, table: tuple[tuple[str, str], ...]) -> str | None:
    """The value of the first pattern found in a text."""
    lowered = text.lower().strip()
    return next((value for pattern, value in table if re.search(pattern, lowered)), None)


def _base(row: MeasuredRow, method: str) -> tuple[WeightFormat | None, str]:
    """(format of the frozen base when it is stored packed, assumption). Raises RowRefused."""
    precision = row.text("precision")
    said = f"{precision} {row.text('method')}".lower()
    if method == "full":
        return None, ""
    if "nvfp4" in said:
        return weight_format("nvfp4"), ""
    if _UNKNOWN_BASE.search(said):
        raise RowRefused(f"precision: {precision!r} is no format known here for a frozen base")
    found = first_match(said, _BASES)
    if found is None and method == "qlora":
        found = "bnb-nf4"
    if found is None:
        return None, ""
    near = found == "bnb-nf4" and re.search(r"mxfp4|int4|gptq|awq", said)
    return weight_format(
        found
    ), f"precision: {precision!r} counted as NF4, which takes as much" if near else ""


def sequence_length(row: MeasuredRow, framework: Framework) -> tuple[int, str]:
    """(tokens, assumption): the first number of the cell, else the framework's."""
    text = row.text("seq_len")
    number = tokens_in(text) if re.match(r"[\s~]*-?[\d.]", text) and "^" not in text else None
    if number is not None:
        if not 1 <= number <= 2**24:
            raise RowRefused(f"seq_len: {text!r} is no number of tokens")
        return int(number), ""
    return (
        framework.default_seq_len,
        f"seq_len: {text or 'empty'}, {framework.default_seq_len} tokens assumed",
    )


def row_framework(row: MeasuredRow) -> tuple[Framework, str]:
    """(framework, assumption) of a row: named by its source or notes, else transformers."""
    text = " ".join(
        row.text(c) for c in ("source_url", "extra", "run", "org", "notes", "kind", "date", "method")
    )
    found = framework_named(text)
    if found is not None:
        return found, ""
    return training_tables().frameworks["transformers"], "framework: not named, transformers assumed"


def stated_checkpointing(text: str) -> Checkpointing | None:
    """What a cell says about checkpointing; None when it says nothing that can be read."""
    lowered = text.lower().strip()
    return next((value for pattern, value in _CHECKPOINTING if re.search(pattern, lowered)), None)


def _checkpointing(row: MeasuredRow, framework: Framework, gpus: int) -> tuple[Checkpointing, str]:
    stated = stated_checkpointing(row.text("grad_ckpt"))
    if stated is not None:
        return stated, ""
    usual = framework.checkpointing
    if gpus > 1 and framework.checkpointing_sharded is not None:
        usual = framework.checkpointing_sharded
    return usual, f"grad_ckpt: {row.text('grad_ckpt') or 'empty'}, {usual} as usual with {framework.label}"


def _parallel(row: MeasuredRow, framework: Framework, gpus: int) -> Parallel:
    named = re.findall(r"(?<![a-z])[tpce]p[ =]?\d+", row.text("extra").lower())
    sizes = split_sizes(" ".join(named)) or Sizes()
    if gpus == 1:
        return Parallel()
    zero = re.search(r"zero[-_ ]?(?:stage)?[-_= ]?([0-3])", row.text("extra").lower())
    return Parallel(
        gpus,
        tensor=sizes.tensor,
        pipeline=sizes.pipeline,
        context=sizes.context,
        expert=sizes.expert,
        zero_stage=STAGES[int(zero.group(1))] if zero else framework.zero_stage,
        sequence_parallel=True,
    )


def prepare(row: MeasuredRow) -> PreparedRun:
    """The run a row describes, from its input columns. Raises RowRefused naming what is missing."""
    framework, assumed_framework = row_framework(row)
    method = first_match(row.text("method"), _METHODS)
    if method is None:
        raise RowRefused(f"method: {row.text('method')!r} is not known")
    arch, assumed_model = find_architecture(row.text("model"), row.number("params_b"))
    notes = [assumed_framework, assumed_model]
    gpus = row.count("n_gpus", 2**20) or gpus_named(row.text("gpu"))
    config = published_config(row.text("extra"), row.text("source_url"))
    if config is not None and config.devices and config.devices < gpus:
        notes.append(f"n_gpus: {gpus} in the machine, but {config.name} asks for {config.devices}")
        gpus = config.devices
    elif gpus > 1 and method in framework.one_gpu_methods:
        notes.append(f"n_gpus: {gpus} in the machine, but {framework.note}")
        gpus = 1
    stated = precision_named(row.text("precision"))
    precision = stated or training_tables().precisions[framework.precision]
    autocast = re.search(r"amp|mixed", row.text("precision").lower())
    if method != "full" and not autocast and stated is not None and stated.id in ("fp16-mixed", "mixed-fp8"):
        # Adapters are trained beside a base that is loaded in 16 bits and never changed.
        precision = training_tables().precisions["bf16"]
        notes.append(f"precision: {row.text('precision')}, frozen weights counted in 16 bits")
    elif stated is None:
        notes.append(f"precision: {row.text('precision') or 'empty'}, {precision.label} assumed")
    named = optimizer_named(row.text("optimizer"))
    optimizer = named or training_tables().optimizers[framework.optimizer]
    if named is None:
        notes.append(f"optimizer: {row.text('optimizer') or 'empty'}, {optimizer.label} assumed")
    length, assumed_length = sequence_length(row, framework)
    checkpointing, assumed_checkpointing = _checkpointing(row, framework, gpus)
    batch = None if row.text("micro_batch").lower() in UNSAID else row.count("micro_batch", 2**20)
    if batch is None:
        notes.append(f"micro_batch: {row.text('micro_batch') or 'empty'}, 1 assumed")
    rank = re.search(r"(?:lora_r|lora rank|\brank|\br)[ =:]{1,3}(\d{1,4})(?!\d)", row.text("extra").lower())
    base, assumed_base = _base(row, method)
    notes.append(assumed_base)
    training = Training(
        arch,
        framework,
        precision,
        optimizer,
        training_tables().lora_targets,
        method,
        base,
        lora_rank=max(int(rank.group(1)), 1) if rank else None,
        seq_len=length,
        micro_batch=batch or 1,
        accumulation=2 if framework.accumulates else 1,
        checkpointing=checkpointing,
        parallel=_parallel(row, framework, gpus),
    )
    if config is not None:
        notes.append(f"rank, targets and loss as {config.name} of {framework.label} sets them")
        training = _configured(training, config)
    for pattern, changes in reversed(_TECHNIQUES):
        if re.search(pattern, row.text("extra").lower()):
            training = training.but(**changes)
    if training.method == "qlora" and training.base_format is not None and training.base_format.id == "nvfp4":
        training = training.but(method="lora")
    notes += [assumed_length, assumed_checkpointing]
    return PreparedRun(training, _gpu(row), tuple(note for note in notes if note))


def _is_bitsandbytes(training: Training) -> bool:
    return training.base_format is not None and training.base_format.id.startswith("bnb")


def _configured(training: Training, config: PublishedConfig) -> Training:
    """The run with what its published configuration sets."""
    return training.but(
        lora_rank=training.lora_rank or config.lora_rank,
        targets=config.lora_targets,
        accumulation=config.accumulation or training.accumulation,
        quantized_experts=config.quantizes_experts or not _is_bitsandbytes(training),
        offload_activations=config.offload_activations,
        logit_bytes=PLAIN_LOGIT_BYTES if config.fused_loss is False else None,
    )


def _gpu(row: MeasuredRow) -> GpuMemory | None:
    gpu_id, _ = find_gpu(row.text("gpu"))
    if gpu_id is None:
        return None
    known = match_gpu(gpu_id.replace("-", " "))
    return None if known.capacity_bytes is None else GpuMemory(known.name, known.capacity_bytes, known.basis)


UNITS = {"kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40, "mb": 1e6, "gb": GB, "tb": 1e12}


def unit_bytes(row: MeasuredRow) -> float:
    """Bytes of the unit the row's peak is printed in: as it says, else 2^30."""
    for text in (row.text("peak_gib_per_gpu"), row.text("unit_as_reported")):
        found = re.search(r"(?<![a-z])([kmgt]ib|[mgt]b)(?![a-z])", text.lower())
        if found:
            return float(UNITS[found.group(1)])
    return float(GIB)


def predicted_peak_bytes(prepared: PreparedRun) -> float:
    """The peak as the framework prints it [byte]: its tensors, or what its allocator reserves."""
    report = estimate(prepared.training)
    return float(report.allocated_bytes) * prepared.training.framework.reserved_factor


def _part(row: MeasuredRow) -> str:
    kind = row.text("kind").lower()
    return "counted" if kind in ("", "measured") else kind


def predict_row(row: MeasuredRow) -> RowResult:
    """A line for the measured peak, or for running out of memory; predictions use the input columns only."""
    quantities = [name for name in ("peak_gib_per_gpu",) if row.text(name)]
    if not quantities and row.text("oom").lower() in ("yes", "true", "1", "oom"):
        quantities = ["oom"]
    try:
        prepared = prepare(row)
        report = estimate(prepared.training, prepared.gpu, dict(training_tables().constants))
        if report.refused:
            raise RowRefused(report.refused)
        lines = tuple(_line(row, prepared, report, name) for name in quantities)
    except RowRefused as error:
        return RowResult(tuple(refused_line(row, name, str(error)) for name in quantities), _part(row), ())
    return RowResult(lines, _part(row), prepared.assumptions)


def _line(row: MeasuredRow, prepared: PreparedRun, report: TrainingReport, quantity: str) -> Line:
    if quantity == "oom":
        if prepared.gpu is None:
            return refused_line(row, quantity, f"gpu: {row.text('gpu')!r} has no known capacity")
        return Line(row.id, quantity, VERDICTS[int(report.verdict)], None, None, row.text("oom"), None, None)
    band = training_tables().bands["peak_gib_per_gpu"]
    predicted = predicted_peak_bytes(prepared) / unit_bytes(row)
    return line(row, quantity, predicted, measured_value(row, quantity), (band.low, band.high))


def predict_file(path: Path) -> Iterator[RowResult]:
    """Results of all rows of a file. Raises RowRefused when the file cannot be read."""
    for row in read_rows(path, COLUMNS):
        yield predict_row(row)
