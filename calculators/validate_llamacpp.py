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
from calculators.validate_cells import ungrouped
from calculators.validate_gpu import gpus_named
from calculators.validate_runs import summarise as summarise_runs
from calculators.validate_speed import (
    Line,
    MeasuredRow,
    RowRefused,
    RowResult,
    Subject,
    deployment_of,
    format_of,
    gguf_of,
    predicted_line,
    read_table,
    refused_line,
    subject,
    usable_bytes,
    verdicts,
)
from gpu_data.engines import engine_for
from gpu_data.formats import kv_format
from gpu_data.speed import speed_engine
from gpu_data.speed_schemas import SpeedEngine

Floats = NDArray[np.float64]

QUANTITIES = ("tokens_per_s",)
COLUMNS = ("id", "gpu", "model", "quant", "test")
TRUSTED_KIND = "llama-bench community table"
CONTRADICTED = "contradicted by neighbours"
RECENT_KINDS = (TRUSTED_KIND, "llama-bench", "ollama community")  # of builds since June 2024
_NO, _YES = ("no", "false", "0"), ("yes", "true", "1", "oom")
_SHORT_PROMPT, _SHORT_ANSWER = 8, 128  # tokens of tests that do not say


@dataclass(frozen=True)
class BenchCase:
    """A llama.cpp row ready to be computed; nothing in it depends on the constants of the speed model."""

    row: MeasuredRow
    subject: Subject
    test: Test
    gpus: int
    apart: str  # why the row does not steer the fit; "" when it does
    assumptions: tuple[str, ...]

    @property
    def trusted(self) -> bool:
        """Whether the row steers the fit and counts."""
        return not self.apart

    @property
    def kind(self) -> Literal["decode", "prefill"]:
        """Whether answers are written or a prompt is read."""
        return self.test.kind


_PROMPT = re.compile(r"^(pp|prefill|prompt)")
_ANSWER = re.compile(r"^(tg|decode|eval|(text )?generation)")
_MOST_TOKENS = 2**24


@dataclass(frozen=True)
class Test:
    """What one llama-bench test runs: tokens read or written after `depth` tokens already in the cache."""

    kind: Literal["decode", "prefill"]
    tokens: float
    depth: float
    assumption: str

    @property
    def context(self) -> float:
        """Tokens held on average."""
        return self.depth + self.tokens / 2

    @property
    def longest(self) -> int:
        """Tokens the cache must hold."""
        return max(int(self.depth + self.tokens), 1)


def read_test(text: str) -> Test:
    """A test by its name: "pp512", "tg128 @ d4096", "prompt eval". Raises RowRefused."""
    plain = ungrouped(text.lower().strip())
    reads, writes = _PROMPT.match(plain), _ANSWER.match(plain)
    if re.match(r"(pp\s*\d+\s*\+\s*tg|pg)", plain):
        raise RowRefused(f"test: {text!r} is prompt and answer in one figure")
    if not (reads or writes):
        raise RowRefused(f"test: {text!r} is neither pp (prompt) nor tg (answer)")
    name = (reads or writes or [""])[0]
    size = re.match(r"[\s_-]*(\d+(?:e\d+)?)", plain[len(name) :])
    told = re.search(r"prompt (\d+)" if reads else r"output (\d+)", plain)
    tokens = float(size.group(1)) if size else float(told.group(1)) if told else None
    deep = re.search(r"(?:@\s*(?:d|depth)?|\bd\s*=|\bdepth)\s*=?\s*(\d+)\s*(k?)", plain)
    depth = float(deep.group(1)) * (1024 if deep.group(2) else 1) if deep else 0.0
    if writes and not deep:
        before = re.search(r"prompt (\d+)", plain)
        depth = float(before.group(1)) if before else (_SHORT_PROMPT if "short" in plain else 0.0)
    assumed = "" if tokens else "test: prompt length not given, 512 tokens assumed"
    if writes and not tokens:
        assumed = f"test: length not given, {_SHORT_ANSWER} tokens assumed"
    if tokens == 0 or (tokens or 0) + depth > _MOST_TOKENS:
        raise RowRefused(f"test: {text!r} is no number of tokens")
    tokens = tokens or (512.0 if reads else float(_SHORT_ANSWER))
    return Test("prefill" if reads else "decode", tokens, depth, assumed)


_BUILD = re.compile(r"\bb(?:uild )?[ :]*(\d{3,5})\b")
_RECENT_BUILD, _RECENT_DATE = 3100, "2024-06"
_BATCHED_BUILD, _BATCHED_DATE = 5300, "2025-05"
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


def is_recent(build: str) -> bool:
    """Whether a build is of June 2024 or later (b3100): packed weights multiplied as they are, CUDA graphs.

    By its number, else by its date; builds that say neither count as old.
    """
    text = build.lower()
    number = _BUILD.search(text)
    if number and "before" not in text:
        return int(number.group(1)) >= _RECENT_BUILD or bool(re.search(r"\b202[5-9]", text))
    return _month_of(text) >= _RECENT_DATE


def _batches_experts(build: str) -> bool:
    """Whether a build multiplies all experts of a layer in one kernel (pull request 13199, April 2025).

    Before, the host fetched the routing and launched one product per expert. 512 tokens of DeepSeek-V2-Lite
    took 0.15 s longer on an RTX 3090 than in August 2025 (pull requests 13014 and 15525): 30 us for each of
    its 26 x 64 x 3 products. At that pace the 58 x 256 x 3 of DeepSeek-V3 add 1.3 s to a step.
    """
    text = build.lower()
    number = _BUILD.search(text)
    return int(number.group(1)) >= _BATCHED_BUILD if number else _month_of(text) >= _BATCHED_DATE


def _month_of(text: str) -> str:
    """Year and month that a build's text says, January when it says only the year; "" without one."""
    dated = re.search(r"\b(20\d\d)(?:-(\d\d))?", text)
    if dated is None or "before" in text:
        return ""
    named = next((i + 1 for i, m in enumerate(_MONTHS) if re.search(rf"\b{m}", text)), None)
    month = int(dated.group(2)) if dated.group(2) else named or 1
    return f"{dated.group(1)}-{month:02d}"


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
    engine = speed_engine("llama.cpp-2025" if is_recent(row.text("build")) else "llama.cpp")
    test = read_test(row.text("test"))
    fmt, assumed = format_of(row.text("quant"), "quant")
    fmt = gguf_of(fmt)
    found = subject(row, engine, fmt, kv_format("bf16"), (assumed, test.assumption))
    return BenchCase(
        row,
        found,
        test,
        row.count("n_gpus", 4096) or gpus_named(row.text("gpu")),
        _apart(row, engine, test, found),
        found.assumptions,
    )


def _apart(row: MeasuredRow, engine: SpeedEngine, test: Test, found: Subject) -> str:
    """Why a row does not steer the fit; "" when it does."""
    recent = engine.id != "llama.cpp" and row.text("kind") in RECENT_KINDS
    if not recent and row.text("kind") != TRUSTED_KIND:
        return "other kinds"
    if not recent and _excluded(row):
        return CONTRADICTED
    if recent and _odd_chunk(row):
        return "read in other steps than the default"
    if (
        recent
        and test.kind == "prefill"
        and found.work.moe_layers
        and not _batches_experts(row.text("build"))
    ):
        return "experts one by one, as builds before May 2025 multiply them"
    return ""


def _odd_chunk(row: MeasuredRow) -> bool:
    """Whether a test reads its prompt in other steps than the default of 512 tokens."""
    return "ubatch" in row.text("test") and "ubatch 512" not in row.text("test")


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
        tokens = np.array([case.test.tokens for case in mine])
        depth = np.array([case.test.depth for case in mine])
        gpus = np.array([case.gpus for case in mine], dtype=np.float64)
        if kind == "decode":
            context = np.array([case.test.context for case in mine])
            found[indices] = 1 / decode_step(work, rates, chosen, 1.0, context).total
        else:
            split = Split(layer_gpus=gpus)
            seconds = prompt_step(work, rates, chosen, tokens, split=split).total
            if depth.any():  # what follows a prompt costs what both take together, less the first
                both = prompt_step(work, rates, chosen, tokens + depth, split=split).total
                first = prompt_step(work, rates, chosen, np.maximum(depth, 1.0), split=split).total
                seconds = np.where(depth > 0, both - first, seconds)
            found[indices] = tokens / seconds
    return found


def runs_out_of_memory(case: BenchCase) -> tuple[bool, str]:
    """(whether the memory function says it does not fit, why it cannot be told)."""
    if not usable_bytes(case.subject.spec) > 0:
        return False, "gpu: memory is unknown"
    build = re.search(r"\bb(?:uild )?(\d{3,5})", case.row.text("build"))
    chosen, _ = engine_for("llama.cpp", build.group(1) if build else "2800")
    deployment = deployment_of(
        case.subject, case.gpus, 1, case.test.longest, engine=chosen, options=Options(flash_attention=False)
    )
    report = estimate(deployment)
    if report.refused:
        return False, f"n_gpus: {report.refused}"
    return bool(np.asarray(report.headroom_bytes) < 0) or int(report.verdict) == DOES_NOT_FIT, ""


def predict_row(row: MeasuredRow) -> RowResult:
    """A line for the rate, when measured, and one for out-of-memory; only input columns are used."""
    quantities = [name for name in ("tokens_per_s", "oom") if row.text(name)]
    recent = row.text("kind") in RECENT_KINDS and is_recent(row.text("build"))
    part = "counted" if recent or row.text("kind") in (TRUSTED_KIND, "") else "other kinds"
    try:
        case = prepare(row)
    except RowRefused as error:
        return RowResult(tuple(refused_line(row, name, str(error)) for name in quantities), part, ())
    if part == "counted" and not case.trusted and row.text("kind"):
        part = case.apart
    lines: list[Line] = []
    if "tokens_per_s" in quantities:
        value = float(predict_cases([case])[0])
        lines.append(predicted_line(row, "tokens_per_s", value, case.subject.engine.id, case.kind, "single"))
    if "oom" in quantities and row.text("oom").lower() not in (*_NO, *_YES):
        lines.append(refused_line(row, "oom", f"oom: {row.text('oom')!r} is neither yes nor no"))
    elif "oom" in quantities:
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
