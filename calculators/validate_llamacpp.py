"""Predicts measured llama.cpp rows: tokens/s of prompts and answers, and whether they run out of memory.

python -m calculators.validate llamacpp FILE.csv [--json]
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from calculators.memory import DOES_NOT_FIT, Options, estimate
from calculators.speed.latency import decode_step, prompt_step
from calculators.speed.rates import stack
from calculators.speed.step import Split
from calculators.validate_runs import summarise as summarise_runs
from calculators.validate_speed import (
    Line,
    MeasuredRow,
    RowRefused,
    RowResult,
    Subject,
    deployment_of,
    format_of,
    predicted_line,
    read_table,
    refused_line,
    subject,
    usable_bytes,
    verdicts,
)
from gpu_data.engines import engine_for
from gpu_data.formats import kv_format, weight_format
from gpu_data.speed import speed_engine
from gpu_data.speed_schemas import SpeedEngine

Floats = NDArray[np.float64]

QUANTITIES = ("tokens_per_s",)
COLUMNS = ("id", "gpu", "model", "quant", "test")
TRUSTED_KIND = "llama-bench community table"
_PLAIN = {"fp16": "gguf-f16", "bf16": "gguf-f16", "mxfp4": "gguf-mxfp4", "awq-int4": "gguf-q4_k_m"}
_NO = ("no", "false", "0", "")
_SHORT_PROMPT, _SHORT_ANSWER = 8, 128  # tokens of tests that do not say


@dataclass(frozen=True)
class BenchCase:
    """A llama.cpp row ready to be computed; nothing in it depends on the constants of the speed model."""

    row: MeasuredRow
    subject: Subject
    kind: Literal["decode", "prefill"]
    tokens: float  # read or written
    context: float  # held on average
    longest: int  # tokens the cache must hold
    gpus: int
    trusted: bool
    assumptions: tuple[str, ...]


def _test(text: str) -> tuple[Literal["decode", "prefill"], float, float, int, str]:
    """(kind, tokens, mean context, longest context, assumption) of a test's name."""
    plain = text.lower()
    found = re.match(r"(pp|tg)\s*(\d+)?", plain)
    if found is None:
        raise RowRefused(f"test: {text!r} is neither pp (prompt) nor tg (answer)")
    prompt = re.search(r"prompt (\d+)", plain)
    output = re.search(r"output (\d+)", plain)
    size = float(found.group(2)) if found.group(2) else None
    if found.group(1) == "pp":
        tokens = size or (float(prompt.group(1)) if prompt else None)
        assumed = "" if tokens else "test: prompt length not given, 512 tokens assumed"
        tokens = tokens or 512.0
        return "prefill", tokens, tokens / 2, int(tokens), assumed
    tokens = size or (float(output.group(1)) if output else None)
    assumed = "" if tokens else f"test: length not given, {_SHORT_ANSWER} tokens assumed"
    tokens = tokens or float(_SHORT_ANSWER)
    before = float(prompt.group(1)) if prompt else (_SHORT_PROMPT if "short" in plain else 0.0)
    return "decode", tokens, before + tokens / 2, int(before + tokens), assumed


def _excluded(row: MeasuredRow) -> bool:
    """Rows of the trusted table that its own neighbours contradict.

    F16 prompts on A100 SXM and L40S, and on four RTX 5000 Ada, reach 3 to 15 % of peak while the same cards
    read 4-bit prompts at the usual rate.
    """
    gpu, prompt = row.text("gpu"), row.text("test").startswith("pp")
    slow = gpu.startswith(("A100-SXM", "L40S")) or (gpu == "RTX 5000 Ada" and row.text("n_gpus") == "4")
    return prompt and row.text("quant") == "F16" and slow


def prepare(row: MeasuredRow) -> BenchCase:
    """A row's case, from its input columns only. Raises RowRefused naming what is missing."""
    engine = speed_engine("llama.cpp")
    kind, tokens, context, longest, assumed_test = _test(row.text("test"))
    fmt, assumed = format_of(row.text("quant"), "quant")
    fmt = weight_format(_PLAIN.get(fmt.id, fmt.id))
    found = subject(row, engine, fmt, kv_format("bf16"), (assumed, assumed_test))
    trusted = row.text("kind") == TRUSTED_KIND and not _excluded(row)
    return BenchCase(
        row,
        found,
        kind,
        tokens,
        context,
        max(longest, 1),
        row.count("n_gpus", 4096) or 1,
        trusted,
        found.assumptions,
    )


def predict_cases(cases: Sequence[BenchCase], engine: SpeedEngine | None = None) -> Floats:
    """Tokens per second of many cases."""
    found = np.empty(len(cases))
    groups: dict[tuple[int, str], list[int]] = {}
    for i, case in enumerate(cases):
        groups.setdefault((id(case.subject.work), case.kind), []).append(i)
    for (_, kind), indices in groups.items():
        mine = [cases[i] for i in indices]
        work = mine[0].subject.work
        rates = stack([case.subject.rates for case in mine])
        chosen = engine or mine[0].subject.engine
        tokens = np.array([case.tokens for case in mine])
        gpus = np.array([case.gpus for case in mine], dtype=np.float64)
        if kind == "decode":
            context = np.array([case.context for case in mine])
            found[indices] = 1 / decode_step(work, rates, chosen, 1.0, context).total
        else:
            step = prompt_step(work, rates, chosen, tokens, split=Split(layer_gpus=gpus))
            found[indices] = tokens / step.total
    return found


def runs_out_of_memory(case: BenchCase) -> tuple[bool, str]:
    """(whether the memory function says it does not fit, why it cannot be told)."""
    if not usable_bytes(case.subject.spec) > 0:
        return False, "gpu: memory is unknown"
    build = re.search(r"\bb(?:uild )?(\d{3,5})", case.row.text("build"))
    chosen, _ = engine_for("llama.cpp", build.group(1) if build else "2800")
    deployment = deployment_of(
        case.subject, case.gpus, 1, case.longest, engine=chosen, options=Options(flash_attention=False)
    )
    report = estimate(deployment)
    if report.refused:
        return False, f"n_gpus: {report.refused}"
    return bool(np.asarray(report.headroom_bytes) < 0) or int(report.verdict) == DOES_NOT_FIT, ""


def predict_row(row: MeasuredRow) -> RowResult:
    """A line for the rate, when measured, and one for out-of-memory; only input columns are used."""
    quantities = [name for name in ("tokens_per_s", "oom") if row.text(name)]
    part = "counted" if row.text("kind") in (TRUSTED_KIND, "") else "other kinds"
    try:
        case = prepare(row)
    except RowRefused as error:
        return RowResult(tuple(refused_line(row, name, str(error)) for name in quantities), part, ())
    if part == "counted" and not case.trusted and row.text("kind"):
        part = "contradicted by neighbours"
    lines: list[Line] = []
    if "tokens_per_s" in quantities:
        value = float(predict_cases([case])[0])
        lines.append(predicted_line(row, "tokens_per_s", value, case.subject.engine.id, case.kind, "single"))
    if "oom" in quantities:
        out, reason = runs_out_of_memory(case)
        measured = "no" if row.text("oom").lower() in _NO else "yes"
        predicted = "yes" if out else "no"
        line = Line(row.id, "oom", predicted, None, None, measured, None, None)
        lines.append(refused_line(row, "oom", reason) if reason else line)
    return RowResult(tuple(lines), part, case.assumptions)


def predict_file(path: Path) -> Iterator[RowResult]:
    """Results of all rows of a file. Raises RowRefused when the file cannot be read."""
    for row in read_table(path, COLUMNS):
        yield predict_row(row)


def summarise(results: Sequence[RowResult], quantities: tuple[str, ...] = QUANTITIES) -> dict[str, Any]:
    """Numbers, refusals, errors, band coverage, and out-of-memory verdicts of each part."""
    summary = summarise_runs(results, quantities)
    summary["verdicts"] = verdicts(results, "counted")
    for part, found in summary["apart"].items():
        found["verdicts"] = verdicts(results, part)
    return summary
