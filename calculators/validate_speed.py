"""What the speed tables of measured rows share: names to models, GPUs and formats, bands and verdicts."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from calculators.architecture import Architecture, ConfigRefused, read_config
from calculators.formats import FormatRefused, weights_bytes
from calculators.memory import Deployment, GpuMemory
from calculators.speed.bands import band_for, multiples
from calculators.speed.rates import GpuRates, SpeedRefused, gpu_rates
from calculators.speed.work import ModelWork, model_work
from calculators.validate_gpu import match_gpu
from calculators.validate_rows import MeasuredRow, RowRefused
from calculators.validate_runs import Line, RowResult, refused_line
from calculators.validate_runs import read_rows as read_table
from gpu_data.format_schemas import KvFormat, WeightFormat
from gpu_data.formats import parse_quantization_label, weight_format
from gpu_data.speed import gpu_aliases, measured_gpus, measured_models, model_aliases, speed_bands
from gpu_data.speed_schemas import Load, Quantity, SpeedBand, SpeedEngine

__all__ = ["Line", "MeasuredRow", "RowRefused", "RowResult", "read_table", "refused_line"]

_SUFFIXES = re.compile(r"(instruct|chat|it|hf|gguf|fp8|fp4|nvfp4|awq|gptq|v01|hybrid|moe|2512|2507)$")


@dataclass(frozen=True)
class Subject:
    """A model in its formats on one kind of GPU under one engine."""

    architecture: Architecture
    weight_format: WeightFormat
    kv_format: KvFormat
    work: ModelWork
    rates: GpuRates
    engine: SpeedEngine
    spec: Mapping[str, Any]
    gpu_name: str
    model_name: str
    assumptions: tuple[str, ...]


# ---------------------------------------------------------------- names


def _letters(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _plain(name: str) -> str:
    """A model's name as letters and digits, without owner, fine-tune and format suffixes."""
    text = _letters(re.sub(r"\([^)]*\)", "", name.split("/")[-1]))
    text = text.removeprefix("meta") if text.startswith("metallama") else text
    while True:
        shorter = _SUFFIXES.sub("", text)
        if shorter == text or not shorter:
            return text
        text = shorter


@lru_cache(maxsize=1)
def _catalogue() -> Mapping[str, str]:
    from gpu_data.models import model, model_ids

    found: dict[str, str] = {}
    for model_id in model_ids():
        known = model(model_id)
        for name in (model_id, known.name, known.hf_id or ""):
            if name:
                found.setdefault(_plain(name), model_id)
                found.setdefault(_letters(name.split("/")[-1]), model_id)
    return found


@lru_cache(maxsize=256)
def architecture_of(name: str) -> tuple[Architecture, str]:
    """(architecture, the catalogue's model) of a model named as in measured tables. Raises RowRefused."""
    from gpu_data.models import model_config

    if not name:
        raise RowRefused("model: is empty")
    for key in (_letters(name), _plain(name)):
        if key in measured_models():
            return read_config(measured_models()[key].config), name
        found = model_aliases().get(key) or _catalogue().get(key)
        if found is not None:
            try:
                return read_config(model_config(found)), found
            except ConfigRefused as error:
                raise RowRefused(f"model: config of {found} refused, {error}") from None
    raise RowRefused(f"model: {name!r} is not in the catalogue")


@lru_cache(maxsize=256)
def spec_of(name: str) -> tuple[Mapping[str, Any], str]:
    """(data sheet, assumption) of a GPU named as in measured tables. Raises RowRefused."""
    from gpu_data import spec_frame

    text = name.strip().lower()
    if text in measured_gpus():
        return measured_gpus()[text].spec, ""
    frame = spec_frame()
    if text in gpu_aliases():
        return dict(frame.loc[gpu_aliases()[text]]), f"gpu: {name!r} taken as {gpu_aliases()[text]}"
    found = match_gpu(name)
    if found.gpu_id is None:
        raise RowRefused(f"gpu: {name!r} is not in the GPU table")
    return dict(frame.loc[found.gpu_id]), found.assumption


def format_of(label: str, column: str) -> tuple[WeightFormat, str]:
    """(weight format, assumption) of a label. Raises RowRefused naming the column."""
    if not label:
        raise RowRefused(f"{column}: is empty")
    inside = re.search(r"\(([^)]+)\)", label)
    parsed = parse_quantization_label(label)
    if parsed.format is None and inside:
        parsed = parse_quantization_label(inside.group(1))
    if parsed.format is None:
        raise RowRefused(f"{column}: {parsed.refused or f'{label!r} is unknown'}")
    return weight_format(parsed.format), parsed.assumption


def subject(
    row: MeasuredRow, engine: SpeedEngine, fmt: WeightFormat, kv_format: KvFormat, assumptions: Iterable[str]
) -> Subject:
    """Model, GPU and formats of a row under an engine. Raises RowRefused."""
    arch, model_name = architecture_of(row.text("model"))
    spec, assumed_gpu = spec_of(row.text("gpu"))
    try:
        work = _work(arch, fmt, kv_format)
        rates = gpu_rates(spec, fmt, arch, engine.half_accumulate)
    except FormatRefused as error:
        raise RowRefused(f"precision: {error}") from None
    except SpeedRefused as error:
        raise RowRefused(f"gpu: {error}") from None
    notes = (*assumptions, assumed_gpu, *arch.assumptions)
    return Subject(
        arch,
        fmt,
        kv_format,
        work,
        rates,
        engine,
        spec,
        str(spec.get("name")),
        model_name,
        tuple(note for note in notes if note),
    )


_WORKS: dict[tuple[int, str, str], tuple[Architecture, ModelWork]] = {}


def _work(arch: Architecture, fmt: WeightFormat, kv_format: KvFormat) -> ModelWork:
    key = (id(arch), fmt.id, kv_format.id)
    if key not in _WORKS:
        _WORKS[key] = (arch, model_work(arch, fmt, kv_format))
    return _WORKS[key][1]


def usable_bytes(spec: Mapping[str, Any]) -> float:
    """Memory a program sees on the GPU [byte]; NaN when unknown."""
    for column in ("usable_bytes", "cuda_total_bytes", "visible_bytes"):
        value = spec.get(column)
        try:
            if value is not None and float(value) > 0:
                return float(value)
        except (TypeError, ValueError):
            continue
    return float("nan")


def deployment_of(found: Subject, tp: int, pp: int, max_model_len: int, **fields: Any) -> Deployment:
    """The memory function's view of a subject."""
    from gpu_data.engines import engine, error_band

    chosen = fields.pop("engine", None) or engine(found.engine.memory_engine)
    return Deployment(
        found.architecture,
        found.weight_format,
        found.kv_format,
        chosen,
        GpuMemory(found.gpu_name, usable_bytes(found.spec)),
        tensor_parallel_size=tp,
        pipeline_parallel_size=pp,
        max_model_len=max_model_len,
        band=error_band(chosen.family),
        **fields,
    )


def stored_bytes_of(found: Subject) -> float:
    """Bytes of all weights of a subject [byte]."""
    return weights_bytes(found.architecture, found.weight_format).total_bytes


# ---------------------------------------------------------------- lines


def band_of(engine_id: str, quantity: Quantity, load: Load) -> SpeedBand | None:
    """The band of an engine's quantity under a load, or the next wider one."""
    return band_for(speed_bands(), engine_id, quantity, load)


def predicted_line(
    row: MeasuredRow, quantity: str, value: float, engine_id: str, kind: Quantity, load: Load
) -> Line:
    """The line of a prediction with the band of its kind, refused when either side is no number."""
    if not math.isfinite(value):
        return refused_line(row, quantity, "no finite prediction: a figure of the GPU is missing")
    try:
        return measured_line(row, quantity, value, band_of(engine_id, kind, load))
    except RowRefused as error:
        return refused_line(row, quantity, str(error))


def measured_line(row: MeasuredRow, quantity: str, predicted: float, band: SpeedBand | None) -> Line:
    """A line of one predicted quantity with its band."""
    measured = row.number(quantity)
    error = 100 * (predicted - measured) / abs(measured) if measured else None
    low, high = multiples(band, quantity.endswith("per_s")) if band else (1.0, 1.0)
    return Line(
        row.id,
        quantity,
        _rounded(predicted),
        _rounded(predicted * low),
        _rounded(predicted * high),
        measured,
        None if error is None else round(error, 3),
        None,
    )


def _rounded(value: float) -> float:
    return float(f"{value:.6g}")


def verdicts(results: Iterable[RowResult], part: str) -> dict[str, int]:
    """How many out-of-memory verdicts of one part of the rows are right."""
    lines = [x for r in results if r.part == part for x in r.lines if x.quantity == "oom"]
    told = [x for x in lines if x.refused is None]
    return {
        "n": len(lines),
        "right": sum(x.predicted == x.measured for x in told),
        "wrong": sum(x.predicted != x.measured for x in told),
        "refused": len(lines) - len(told),
    }
