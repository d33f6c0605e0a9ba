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
from calculators.validate_cells import (
    Sizes,
    as_number,
    first_number,
    is_endless,
    split_sizes,
    tokens_in,
)
from calculators.validate_gpu import gpus_named
from calculators.validate_speed import (
    STAND_IN,
    MeasuredRow,
    RowRefused,
    RowResult,
    Subject,
    deployment_of,
    format_of,
    gguf_of,
    kv_of,
    predicted_line,
    read_table,
    refused_line,
    stored_bytes_of,
    subject,
    usable_bytes,
)
from gpu_data.engines import engine_for
from gpu_data.formats import kv_format, weight_format
from gpu_data.speed import speed_engine_for, stand_in_for, workloads
from gpu_data.speed_schemas import Load as BandLoad
from gpu_data.speed_schemas import Quantity, SpeedEngine, Workload

Floats = NDArray[np.float64]

QUANTITIES = ("output_tokens_per_s", "ttft_ms", "tpot_ms")
COLUMNS = ("id", "engine", "gpu", "model", "precision", "input_len", "output_len")
MS = 1000.0
_MANY = 1e9  # requests or sequences without limit
_DEFAULT_REQUESTS = 500  # of an online run whose protocol is unknown
_MOST_GPUS = 4096
_ALONE = 256.0  # tokens of prompt or answer of a single request that does not say
# Mean tokens of prompt and answer: gpustack docs/performance-lab, whose runs print them for this data set.
_DATA_SETS: Mapping[str, tuple[float, float]] = {"sharegpt": (215.0, 200.0)}
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
    copies: int  # of the model, each on GPUs of its own, that share the requests
    band_engine: str  # whose bands hold
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
        not pattern or re.search(pattern, row.text(column), re.IGNORECASE)
        for column, pattern in (
            ("scenario", workload.scenario),
            ("notes", workload.notes),
            ("input_len", workload.input_len),
            ("output_len", workload.output_len),
            ("model", workload.model),
        )
    )


_SINGLE = re.compile(
    r"batch[ _-]?(?:size)?[ =_-]?1(?!\d)|\bbs ?= ?1(?!\d)|single|latency|interactive|ttft|first[ -]token"
)
_ALL_AT_ONCE = re.compile(r"offline|max|throughput|burst|peak|saturat|batch|unlimited|infinite|inf\b")


def _clients(row: MeasuredRow) -> float | None:
    """Requests in flight, infinite when as many as there are; None when the row does not say."""
    text = row.text("concurrency")
    if not text:
        return None
    if is_endless(text):
        return _MANY
    value = as_number(text)
    if value is None and not re.search(r"\d\s*[-–/]\s*\d", text):
        value = first_number(text)
    if value is None or value <= 0:
        raise RowRefused(f"concurrency: {text!r} is no number of requests in flight")
    return min(value, _MANY)


def _rate(row: MeasuredRow) -> float | None:
    """Requests per second, None when the row does not say or they all come at once."""
    text = row.text("qps")
    if not text or is_endless(text):
        return None
    value = first_number(text)
    if value is None or not 0 < value < _MANY:
        raise RowRefused(f"qps: {text!r} is no rate of requests")
    return value


def _workload(row: MeasuredRow) -> tuple[Workload, str]:
    """What is asked of the server: by a benchmark's protocol, else by the words and numbers of the row."""
    clients, rate = _clients(row), _rate(row)
    found = next((w for w in workloads() if _matches(w, row)), None)
    if found is not None and found.traffic == "open" and rate is None and clients is not None:
        return found.model_copy(
            update={"traffic": "closed"}
        ), "qps: is empty, so the requests in flight count"
    if found is not None and (found.traffic != "single" or clients in (None, 1.0, _MANY)):
        return found, ""
    text = row.text("scenario").lower()
    source = "words of the scenario"
    if rate is not None:
        kind, note = "open", f"scenario: {text!r} taken as requests at a rate, {_DEFAULT_REQUESTS} in all"
        return Workload(traffic=kind, requests=_DEFAULT_REQUESTS, statistic="median", source=source), note
    if clients is not None and clients < _MANY:
        kind = "single" if clients == 1 else "static" if "static" in text else "closed"
        return Workload(traffic=kind, source=source), ""
    if "static" in text and first_number(text):
        return Workload(traffic="static", source=source), ""
    batch = re.search(
        r"(?:batch(?:[ _-]?size)?|\bbs|concurrency|users?|clients?)[ =:_-]*(\d+)|(\d+) (?:users|clients)",
        text,
    )
    size = int(batch.group(1) or batch.group(2)) if batch else 0
    if size > 1:
        return Workload(traffic="closed", source=source), f"concurrency: empty, {size} by the scenario"
    if size == 1 or (clients is None and _SINGLE.search(text)):
        note = "" if row.text("concurrency") else "concurrency: empty, one request at a time by the scenario"
        return Workload(traffic="single", source=source), note
    if clients == _MANY or is_endless(row.text("qps")) or _ALL_AT_ONCE.search(text):
        return Workload(traffic="burst", requests=1000, source=source), "requests: 1,000 assumed, all at once"
    raise RowRefused(f"scenario: {row.text('scenario')!r} says neither load nor concurrency")


def _tokens(row: MeasuredRow, column: str, stated: float | None, single: bool) -> tuple[float, str]:
    """(tokens, assumption): the protocol's, the cell's, or the mean of the data set it names."""
    text = row.text(column)
    value = stated if stated is not None else None if "^" in text else tokens_in(text)
    if value is None and not text and single and (column == "output_len" or not row.text("ttft_ms")):
        return _ALONE, f"{column}: empty, {_ALONE:g} tokens assumed, which hardly matter for one request"
    if value is None:
        for name, lengths in _DATA_SETS.items():
            if name in f"{text} {row.text('input_len')} {row.text('scenario')}".lower():
                mean = lengths[column == "output_len"]
                return mean, f"{column}: {text or 'empty'}, {mean:g} tokens, the mean of {name}"
    if value is None or not 1 <= value <= 2**24:
        raise RowRefused(f"{column}: {text!r} is not a number of tokens")
    return value, ""


def _gpus(row: MeasuredRow, fits_on_one: bool, engine: SpeedEngine) -> tuple[Sizes, str]:
    """(how the GPUs share the model, assumption)."""
    text, total = row.text("tp"), row.count("n_gpus", _MOST_GPUS)
    named = gpus_named(row.text("gpu"))
    if total is None and named > 1:
        total = named
    if not text:
        count = total or 1
        if engine.splits_by_layers:
            return Sizes(pipeline=count), f"tp: empty, layers split over {count}" if count > 1 else ""
        count = 1 if fits_on_one else count
        return Sizes(tensor=count), f"tp: empty, taken as {count}"
    sizes = split_sizes(text)
    if sizes is None or sizes.gpus > _MOST_GPUS:
        raise RowRefused(f"tp: {text!r} is not a tensor-parallel size")
    notes = ""
    if sizes.context > 1:
        sizes = replace(sizes, tensor=sizes.tensor * sizes.context, context=1)
        notes = "tp: context parallelism counted as tensor parallelism"
    if engine.splits_by_layers and sizes.tensor > 1:
        sizes = replace(sizes, tensor=1, pipeline=sizes.tensor * sizes.pipeline)
        notes = "tp: this engine splits by layers"
    if sizes.pipeline == 1 and sizes.data == 1 and total and total > sizes.gpus and total % sizes.gpus == 0:
        stages = total // sizes.gpus
        return replace(sizes, pipeline=stages), f"n_gpus: {stages} pipeline stages of {sizes.gpus} GPUs"
    return sizes, notes


def _subject(row: MeasuredRow) -> Subject:
    engine = speed_engine_for(row.text("engine"), row.text("date"))
    fmt, assumed = format_of(row.text("precision"), "precision")
    notes = [assumed]
    if engine is None:
        near = stand_in_for(row.text("engine"))
        if near is None:
            raise RowRefused(f"engine: {row.text('engine')!r} is not modelled")
        engine = near[0]
        notes.append(f"engine: {row.text('engine')!r} taken as {engine.label}: {near[1]}")
    kv, assumed_kv = kv_of(row, "precision", "notes")
    notes.append(assumed_kv)
    if kv is None and engine.id == "tensorrt-llm" and fmt.id in _FP8_CACHE:
        kv = kv_format("fp8")
        notes.append("KV cache in FP8, as TensorRT-LLM does with FP8 and FP4 checkpoints")
    kv = kv or kv_format("bf16")
    if engine.id == "llama.cpp":
        fmt = gguf_of(fmt)
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
        return float(resident_sequences(deployment, found.engine, tokens)) * copies

    admitted = held if found.engine.reserves_answer else case.input_tokens
    known = deployment.engine.batch_defaults
    step_tokens = float(batch_tokens(deployment)) if known else float(found.engine.chunk_tokens)
    return room(held), room(admitted), step_tokens * copies


def prepare(row: MeasuredRow) -> Case:
    """A row's case, from its input columns only. Raises RowRefused naming what is missing."""
    found = _subject(row)
    workload, assumed = _workload(row)
    capacity = usable_bytes(found.spec)
    fits_on_one = bool(stored_bytes_of(found) < 0.85 * capacity)
    sizes, assumed_gpus = _gpus(row, fits_on_one, found.engine)
    prompt, assumed_prompt = _tokens(row, "input_len", workload.input_tokens, workload.traffic == "single")
    output, assumed_output = _tokens(row, "output_len", workload.output_tokens, workload.traffic == "single")
    clients = _clients(row) or _MANY
    rate = _rate(row) if workload.traffic == "open" else None
    if workload.traffic == "open" and rate is None:
        raise RowRefused("qps: is empty, so the request rate is unknown")
    if workload.traffic in ("closed", "static") and clients >= _MANY:
        stated = first_number(row.text("scenario"))
        if stated is None or stated < 1:
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
        sizes.tensor,
        sizes.pipeline,
        sizes.apart,
        prompt,
        output,
        max(workload.output_tokens_max or output, output),
        max(requests / sizes.data, 1.0),
        1.0,
        1.0,
        float(found.engine.chunk_tokens),
        max(clients / sizes.data, 1.0),
        (rate or 0.0) / sizes.data,
        sizes.data if traffic != "single" else 1,
        found.engine.id if speed_engine_for(row.text("engine")) else STAND_IN,
        (),
    )
    notes = (*found.assumptions, assumed, assumed_gpus, assumed_prompt, assumed_output)
    if traffic in ("single", "static"):
        return replace(case, assumptions=tuple(n for n in notes if n))
    resident, admitted, tokens = _resident(row, found, case, workload)
    short = "" if resident >= 1 else "gpu: by our memory estimate not one such request fits; one counted"
    return replace(
        case,
        resident=max(resident, 1.0),
        admitted=max(admitted, 1.0),
        step_tokens=tokens,
        assumptions=tuple(n for n in (*notes, short) if n),
    )


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
        engine = case.subject.engine
        way = (engine.id, engine.graph_context_tokens, engine.splits_by_layers)
        key = (id(case.subject.work), way, case.traffic, case.statistic)
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
        found["output_tokens_per_s"][indices] = load.output_tokens_per_s * _column(mine, "copies")
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


def predict_rows(rows: Sequence[MeasuredRow]) -> Iterator[RowResult]:
    """A line for every measured quantity of each row; predictions use the input columns only.

    Rows of one model, engine and kind of traffic are computed together.
    """
    cases: list[Case | str] = []
    for row in rows:
        try:
            cases.append(prepare(row))
        except RowRefused as error:
            cases.append(str(error))
    known = [case for case in cases if isinstance(case, Case)]
    values = predict(known)
    at = 0
    for row, case in zip(rows, cases, strict=True):
        quantities = [name for name in QUANTITIES if row.text(name)]
        if isinstance(case, str):
            yield RowResult(tuple(refused_line(row, name, case) for name in quantities), "counted", ())
            continue
        yield RowResult(
            tuple(
                predicted_line(
                    row,
                    name,
                    float(values[name][at]),
                    case.band_engine,
                    band_name(name, case.load),
                    "closed" if case.traffic == "closed" else case.load,
                )
                for name in quantities
            ),
            "counted",
            case.assumptions,
        )
        at += 1


def predict_row(row: MeasuredRow) -> RowResult:
    """`predict_rows` of one row."""
    return next(predict_rows([row]))


def predict_file(path: Path) -> Iterator[RowResult]:
    """Results of all rows of a file. Raises RowRefused when the file cannot be read."""
    yield from predict_rows(list(read_table(path, COLUMNS)))
