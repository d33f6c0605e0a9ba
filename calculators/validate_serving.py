"""Predicts measured serving rows: output tokens/s, time to first token, time per output token.

python -m calculators.validate serving FILE.csv [--json]
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calculators.memory import Options
from calculators.memory.cache import batch_tokens
from calculators.speed.latency import decode_step, time_to_first_token
from calculators.speed.rates import stack
from calculators.speed.room import held_tokens, resident_sequences
from calculators.speed.serving import Load, Server, burst, closed_loop, open_loop, static_batch
from calculators.speed.step import Split
from calculators.validate_speed import (
    MeasuredRow,
    RowRefused,
    RowResult,
    Subject,
    deployment_of,
    format_of,
    predicted_line,
    read_table,
    refused_line,
    stored_bytes_of,
    subject,
    usable_bytes,
)
from gpu_data.engines import engine_for
from gpu_data.formats import kv_format, weight_format
from gpu_data.speed import speed_engine_for, workloads
from gpu_data.speed_schemas import Load as BandLoad
from gpu_data.speed_schemas import Quantity, SpeedEngine, Workload

Floats = NDArray[np.float64]

QUANTITIES = ("output_tokens_per_s", "ttft_ms", "tpot_ms")
COLUMNS = ("id", "engine", "gpu", "model", "precision", "input_len", "output_len", "scenario")
MS = 1000.0
_MANY = 1e9  # requests or sequences without limit
_DEFAULT_REQUESTS = 500  # of an online run whose protocol is unknown
_FP8_CACHE = ("fp8", "nvfp4")  # TensorRT-LLM keeps the cache in FP8 for these checkpoints (perf-overview.md)
_BATCH_OF: Mapping[str, BandLoad] = {
    "static": "batch",
    "burst": "batch",
    "open": "batch",
    "closed": "batch",
    "single": "single",
}


@dataclass(frozen=True)
class Case:
    """A serving row ready to be computed; nothing in it depends on the constants of the speed model."""

    row: MeasuredRow
    subject: Subject
    traffic: str
    statistic: str
    tensor_parallel_size: int
    layer_gpus: int
    data_parallel_attention: bool
    input_tokens: float
    output_tokens: float
    output_tokens_max: float
    requests: float
    resident: float
    admitted: float
    step_tokens: float
    concurrency: float
    rate: float
    assumptions: tuple[str, ...]

    @property
    def streamed(self) -> bool:
        """Whether tokens are sent to clients one by one."""
        scenario = self.row.text("scenario")
        return self.traffic in ("open", "closed", "single") or "serve" in scenario or "online" in scenario

    @property
    def load(self) -> BandLoad:
        """single or batch, as the bands tell them apart."""
        return _BATCH_OF[self.traffic]


# ---------------------------------------------------------------- reading a row


def _matches(workload: Workload, row: MeasuredRow) -> bool:
    return all(
        not pattern or re.search(pattern, row.text(column))
        for column, pattern in (
            ("scenario", workload.scenario),
            ("notes", workload.notes),
            ("input_len", workload.input_len),
            ("output_len", workload.output_len),
            ("model", workload.model),
        )
    )


def _workload(row: MeasuredRow) -> tuple[Workload, str]:
    found = next((w for w in workloads() if _matches(w, row)), None)
    if found is not None:
        return found, ""
    text = row.text("scenario").lower()
    source = "words of the scenario"
    if row.number("qps") is not None:
        kind, note = "open", f"scenario: {text!r} taken as requests at a rate, {_DEFAULT_REQUESTS} in all"
        return Workload(traffic=kind, requests=_DEFAULT_REQUESTS, statistic="median", source=source), note
    concurrency = row.text("concurrency")
    if "batch 1" in text or concurrency == "1" or "single" in text or "latency" in text:
        return Workload(traffic="single", source=source), ""
    if concurrency in ("", "inf"):
        if "offline" not in text and "max" not in text:
            raise RowRefused(f"scenario: {row.text('scenario')!r} says neither load nor concurrency")
        return Workload(traffic="burst", requests=1000, source=source), "requests: 1,000 assumed"
    if "static" in text:
        return Workload(traffic="static", source=source), ""
    return Workload(traffic="closed", source=source), ""


def _first_number(text: str) -> float | None:
    found = re.search(r"-?\d+(?:\.\d+)?", text.replace(",", ""))
    return float(found.group()) if found else None


def _tokens(row: MeasuredRow, column: str, stated: float | None) -> float:
    value = stated if stated is not None else _first_number(row.text(column))
    if value is None or not 0 < value <= 2**24:
        raise RowRefused(f"{column}: {row.text(column)!r} is not a number of tokens")
    return value


def _gpus(row: MeasuredRow, fits_on_one: bool) -> tuple[int, int, bool, str]:
    """(GPUs of the tensor split, pipeline stages, attention data-parallel, assumption)."""
    text, total = row.text("tp").upper(), row.count("n_gpus", 4096)
    if not text:
        tp = 1 if fits_on_one or total is None else total
        return tp, 1, False, f"tp: empty, taken as {tp}"
    pipeline = re.search(r"PP(\d+)", text)
    apart = re.search(r"DEP(\d+)", text)
    tensor = apart or re.search(r"TP(\d+)", text) or re.match(r"(\d+)", text)
    if tensor is None:
        raise RowRefused(f"tp: {row.text('tp')!r} is not a tensor-parallel size")
    tp, pp = int(tensor.group(1)), int(pipeline.group(1)) if pipeline else 1
    if tp < 1 or pp < 1:
        raise RowRefused(f"tp: {row.text('tp')!r} is not a tensor-parallel size")
    if pp == 1 and total is not None and total > tp and total % tp == 0:
        return tp, total // tp, bool(apart), f"n_gpus: {total // tp} pipeline stages of {tp} GPUs"
    return tp, pp, bool(apart), ""


def _subject(row: MeasuredRow) -> Subject:
    engine = speed_engine_for(row.text("engine"))
    if engine is None:
        raise RowRefused(f"engine: {row.text('engine')!r} is not modelled")
    fmt, assumed = format_of(row.text("precision"), "precision")
    notes = [assumed]
    kv = kv_format("bf16")
    if engine.id == "tensorrt-llm" and fmt.id in _FP8_CACHE:
        kv = kv_format("fp8")
        notes.append("KV cache in FP8, as TensorRT-LLM does with FP8 and FP4 checkpoints")
    found = subject(row, engine, fmt, kv, notes)
    native = found.architecture.quantization
    if native is not None and native.kind == "mxfp4" and fmt.id in ("nvfp4", "mxfp4"):
        found = subject(row, engine, weight_format("native"), kv, [*notes, "weights as released (MXFP4)"])
    return found


def _memory_engine(row: MeasuredRow, found: Subject) -> Any:
    """The memory function's engine for the version in the row's engine name."""
    text = row.text("engine")
    version = re.search(r"\d+(?:\.\d+)+\S*", text)
    name = text[: version.start()] if version else text
    chosen, _ = engine_for(name.strip(), version.group() if version else "")
    return chosen if chosen is not None and chosen.id.startswith(found.engine.id.split("-")[0]) else None


def _resident(row: MeasuredRow, found: Subject, case: Case, workload: Workload) -> tuple[float, float, float]:
    """(sequences that fit while they decode, those whose prompts fit, tokens of one step)."""
    longest = int(case.input_tokens + case.output_tokens_max)
    if not usable_bytes(found.spec) > 0:
        limit = float(workload.max_num_seqs or found.engine.max_num_seqs)
        return limit, limit, float(found.engine.chunk_tokens)
    options = Options(max_num_seqs=workload.max_num_seqs)
    deployment = deployment_of(
        found,
        case.tensor_parallel_size,
        case.layer_gpus,
        max(workload.max_model_len or 0, longest),
        engine=_memory_engine(row, found),
        options=options,
        expert_parallel=case.data_parallel_attention,
    )
    held = held_tokens(found.engine, case.input_tokens, case.output_tokens)
    copies = case.tensor_parallel_size if case.data_parallel_attention else 1

    def room(tokens: float) -> float:
        return max(float(resident_sequences(deployment, found.engine, tokens)) * copies, 1.0)

    admitted = held if found.engine.reserves_answer else case.input_tokens
    return room(held), room(admitted), float(batch_tokens(deployment)) * copies


def prepare(row: MeasuredRow) -> Case:
    """A row's case, from its input columns only. Raises RowRefused naming what is missing."""
    found = _subject(row)
    workload, assumed = _workload(row)
    capacity = usable_bytes(found.spec)
    fits_on_one = bool(stored_bytes_of(found) < 0.85 * capacity)
    tp, pp, apart, assumed_gpus = _gpus(row, fits_on_one)
    prompt = _tokens(row, "input_len", workload.input_tokens)
    output = _tokens(row, "output_len", workload.output_tokens)
    concurrency = row.text("concurrency")
    clients = _MANY if concurrency in ("", "inf") else (row.number("concurrency") or 1.0)
    rate = row.number("qps") if workload.traffic == "open" else None
    if workload.traffic == "open" and not (rate and rate > 0):
        raise RowRefused("qps: is empty, so the request rate is unknown")
    if workload.traffic in ("closed", "static") and clients >= _MANY:
        stated = _first_number(row.text("scenario"))
        if stated is None:
            raise RowRefused("concurrency: is empty")
        clients = stated
    requests = float(workload.requests or 1)
    traffic = workload.traffic
    if traffic == "burst" and clients < requests and "engine batches" not in row.text("scenario"):
        traffic = "closed"
    case = Case(
        row,
        found,
        traffic,
        workload.statistic,
        tp,
        pp,
        apart,
        prompt,
        output,
        max(workload.output_tokens_max or output, output),
        requests,
        1.0,
        1.0,
        float(found.engine.chunk_tokens),
        clients,
        rate or 0.0,
        tuple(n for n in (*found.assumptions, assumed, assumed_gpus) if n),
    )
    if traffic in ("single", "static"):
        return case
    resident, admitted, tokens = _resident(row, found, case, workload)
    return replace(case, resident=resident, admitted=admitted, step_tokens=tokens)


# ---------------------------------------------------------------- predicting


def _column(cases: Sequence[Case], name: str) -> Floats:
    return np.array([getattr(case, name) for case in cases], dtype=np.float64)


def _server(cases: Sequence[Case], engine: SpeedEngine) -> Server:
    return Server(
        cases[0].subject.work,
        stack([case.subject.rates for case in cases]),
        engine,
        _column(cases, "input_tokens"),
        _column(cases, "output_tokens"),
        _column(cases, "output_tokens_max"),
        _column(cases, "resident"),
        _column(cases, "admitted"),
        Split(
            _column(cases, "tensor_parallel_size"),
            _column(cases, "layer_gpus"),
            _column(cases, "data_parallel_attention"),
        ),
        np.array([float(case.streamed) for case in cases]),
        _column(cases, "step_tokens"),
    )


def _single(server: Server) -> Load:
    step = decode_step(server.work, server.rates, server.engine, 1.0, server.context, server.split)
    first = time_to_first_token(server.work, server.rates, server.engine, server.prompt_tokens, server.split)
    return Load(1 / step.total, first, step.total, np.ones_like(first))


def _loads(cases: Sequence[Case], engine: SpeedEngine) -> Load:
    server = _server(cases, engine)
    first = cases[0]
    median = first.statistic == "median"
    match first.traffic:
        case "single":
            return _single(server)
        case "static":
            return static_batch(server, _column(cases, "concurrency"))
        case "closed":
            return closed_loop(server, _column(cases, "concurrency"))
        case "open":
            return open_loop(server, _column(cases, "rate"), _column(cases, "requests"), median)
    return burst(server, _column(cases, "requests"), median)


def grouped(cases: Sequence[Case]) -> list[list[int]]:
    """Indices of cases that can be computed as one array: same model work, engine, traffic and statistic."""
    groups: dict[tuple[Any, ...], list[int]] = {}
    for i, case in enumerate(cases):
        key = (id(case.subject.work), case.subject.engine.id, case.traffic, case.statistic)
        groups.setdefault(key, []).append(i)
    return list(groups.values())


def predict(
    cases: Sequence[Case],
    engines: Mapping[str, SpeedEngine] | None = None,
    groups: list[list[int]] | None = None,
) -> dict[str, Floats]:
    """Predictions of all quantities for many cases; `engines` replaces engines by id (for the fit)."""
    found = {name: np.empty(len(cases)) for name in QUANTITIES}
    for indices in groups if groups is not None else grouped(cases):
        mine = [cases[i] for i in indices]
        engine = mine[0].subject.engine
        load = _loads(mine, (engines or {}).get(engine.id, engine))
        found["output_tokens_per_s"][indices] = load.output_tokens_per_s
        found["ttft_ms"][indices] = load.ttft_s * MS
        found["tpot_ms"][indices] = load.tpot_s * MS
    return found


def band_name(quantity: str, load: str) -> Quantity:
    """The band's quantity of a serving quantity under a load."""
    if quantity == "output_tokens_per_s":
        return "decode" if load == "single" else "throughput"
    if quantity == "ttft_ms":
        return "prefill" if load == "single" else "ttft"
    return "decode" if load == "single" else "tpot"


def predict_row(row: MeasuredRow) -> RowResult:
    """A line for every measured quantity of a row; predictions use the input columns only."""
    quantities = [name for name in QUANTITIES if row.text(name)]
    try:
        case = prepare(row)
        values = predict([case])
        engine_id, load = case.subject.engine.id, case.load
        lines = tuple(
            predicted_line(row, name, float(values[name][0]), engine_id, band_name(name, load), load)
            for name in quantities
        )
    except RowRefused as error:
        return RowResult(tuple(refused_line(row, name, str(error)) for name in quantities), "counted", ())
    return RowResult(lines, "counted", case.assumptions)


def predict_file(path: Path) -> Iterator[RowResult]:
    """Results of all rows of a file. Raises RowRefused when the file cannot be read."""
    for row in read_table(path, COLUMNS):
        yield predict_row(row)
