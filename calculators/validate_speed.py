"""What the speed tables of measured rows share: names to models, GPUs and formats, bands and verdicts."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from calculators.architecture import Architecture, ConfigRefused, read_config
from calculators.formats import FormatRefused, support, weights_bytes
from calculators.memory import Deployment, GpuMemory
from calculators.speed.bands import band_for, multiples
from calculators.speed.rates import GpuRates, SpeedRefused, gpu_rates
from calculators.speed.work import ModelWork, model_work
from calculators.validate_cells import as_number
from calculators.validate_gpu import match_gpu
from calculators.validate_rows import MeasuredRow, RowRefused, nearest_format
from calculators.validate_rows import read_rows as read_table
from calculators.validate_runs import (
    Line,
    RowResult,
    find_architecture,
    find_gpu,
    measured_value,
    refused_line,
)
from gpu_data.format_schemas import KvFormat, WeightFormat
from gpu_data.formats import kv_format, parse_kv_label, parse_quantization_label, weight_format
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


@lru_cache(maxsize=512)
def architecture_of(name: str, params_b: float | None = None) -> tuple[Architecture, str, str]:
    """(architecture, the catalogue's model, assumption) of a model named as in measured tables.

    Else any model that training tables know, else a dense one of the row's size. Raises RowRefused.
    """
    from gpu_data.models import model_config

    if not name:
        raise RowRefused("model: is empty")
    for key in (_letters(name), _plain(name)):
        if key in measured_models():
            return read_config(measured_models()[key].config), name, ""
        found = model_aliases().get(key) or _catalogue().get(key)
        if found is not None:
            try:
                return read_config(model_config(found)), found, ""
            except ConfigRefused as error:
                raise RowRefused(f"model: config of {found} refused, {error}") from None
    arch, assumption = find_architecture(name, params_b)
    return arch, name, assumption


@lru_cache(maxsize=512)
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
    if found.gpu_id is not None:
        return dict(frame.loc[found.gpu_id]), found.assumption
    if "+" in name:
        raise RowRefused(f"gpu: {name!r} names cards of several kinds, which the speed model does not mix")
    other, assumption = find_gpu(name)
    if other is None:
        raise RowRefused(assumption)
    return dict(frame.loc[other]), assumption


_KV_SAID = re.compile(r"(?:fp8|int8|e4m3)[\w ]*kv|kv[ _-]?(?:cache)?[ _=:-]*(?:dtype)?[ _=:-]*(?:fp8|int8)")
_AS_RELEASED = ("auto", "native", "default", "compressed-tensors", "modelopt", "mixed", "original")


def kv_of(row: MeasuredRow, *columns: str) -> tuple[KvFormat | None, str]:
    """(format of the cache that a row states in its own column or beside the weights', assumption)."""
    stated = row.text("kv_dtype").lower()
    if stated and stated not in ("auto", "none"):
        parsed = parse_kv_label(stated)
        if parsed.format is None:
            raise RowRefused(f"kv_dtype: {stated!r} is unknown")
        return kv_format(parsed.format), ""
    found = next((m for c in columns if (m := _KV_SAID.search(row.text(c).lower()))), None)
    if found is None:
        return None, ""
    fmt = kv_format("int8" if "int8" in found.group() else "fp8")
    return fmt, f"KV cache in {fmt.id}, as the row says"


def format_of(label: str, column: str) -> tuple[WeightFormat, str]:
    """(weight format, assumption) of a label, its first part that is known, or the nearest by its bits.

    Raises RowRefused naming the column.
    """
    if not label:
        raise RowRefused(f"{column}: is empty")
    if label.lower() in _AS_RELEASED:
        return weight_format("native"), f"{column}: {label!r} taken as the checkpoint was released"
    plain = re.sub(r"\([^)]*\)", " ", label).strip()
    inside = re.findall(r"\(([^)]+)\)", label)
    parts = [part.strip() for part in re.split(r"[/+,;]|\bwith\b", plain) if part.strip()]
    words = re.sub(
        r"\b(weight[ -]only|weights?|quantized|quantised|kv.*|group.*|[a-z]*wise|mostly|all)\b",
        " ",
        plain,
        flags=re.I,
    )
    words = re.sub(r"[-_]g\d+$", "", words.strip())
    for text in dict.fromkeys((label, plain, *inside, words.strip(), *parts)):
        parsed = parse_quantization_label(text)
        if parsed.format is not None and text and not _KV_SAID.search(text.lower()):
            note = "" if text in (label, plain, *inside) else f"{column}: {label!r} counted as {text}"
            return weight_format(parsed.format), "; ".join(n for n in (note, parsed.assumption) if n)
    found = _nearest(label)
    if found is None:
        parsed = parse_quantization_label(label)
        raise RowRefused(f"{column}: {parsed.refused or f'{label!r} is unknown'}")
    return weight_format(
        found
    ), f"{column}: {label!r} counted as {weight_format(found).label}, nearest by its bits"


_BITS_SAID = (
    (r"w4a(?:fp)?8|q4f16|q4f32|w4\b|\b4[.]\d+ ?bpw", "awq-int4"),
    (r"mxfp8", "fp8"),
    (r"tf32|fp32|f32", "fp32"),
    (r"\bq4[_ ]?k", "gguf-q4_k_m"),
    (r"\bq8\b", "gguf-q8_0"),
    (r"\bq4\b", "gguf-q4_k_m"),
    (r"\bq6\b", "gguf-q6_k"),
)


def _nearest(label: str) -> str | None:
    text = label.lower()
    known = next((fmt for pattern, fmt in _BITS_SAID if re.search(pattern, text)), None)
    return known or nearest_format(label)


# llama.cpp reads GGUF files: what their format is called there.
_GGUF = {
    "fp16": "gguf-f16",
    "bf16": "gguf-f16",
    "fp8": "gguf-q8_0",
    "int8": "gguf-q8_0",
    "gptq-int8": "gguf-q8_0",
    "mxfp4": "gguf-mxfp4",
    "awq-int4": "gguf-q4_k_m",
    "gptq-int4": "gguf-q4_k_m",
    "bnb-nf4": "gguf-q4_k_m",
}


def gguf_of(fmt: WeightFormat) -> WeightFormat:
    """The GGUF format that llama.cpp would use for one of another engine; GGUF formats as they are."""
    return weight_format(_GGUF.get(fmt.id, fmt.id))


# What stands for a format that a GPU cannot run: as many bits, other kernels.
_INSTEAD = {"bf16": "fp16", "awq-int4": "gptq-int4"}


def subject(
    row: MeasuredRow, engine: SpeedEngine, fmt: WeightFormat, kv_format: KvFormat, assumptions: Iterable[str]
) -> Subject:
    """Model, GPU and formats of a row under an engine. Raises RowRefused."""
    arch, model_name, assumed_model = architecture_of(row.text("model"), _size(row))
    spec, assumed_gpu = spec_of(row.text("gpu"))
    instead = _INSTEAD.get(fmt.id)
    assumed_format = ""
    if instead and support(spec, fmt, arch).state == "no":
        other = weight_format(instead)
        assumed_format = f"{spec.get('name')} does not run {fmt.label}: counted as {other.label}"
        fmt = other
    try:
        work = _work(arch, fmt, kv_format)
        rates = gpu_rates(spec, fmt, arch, engine.half_accumulate)
    except FormatRefused as error:
        raise RowRefused(f"precision: {error}") from None
    except SpeedRefused as error:
        raise RowRefused(f"gpu: {error}") from None
    notes = (*assumptions, assumed_format, assumed_model, assumed_gpu, *arch.assumptions)
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


def _size(row: MeasuredRow) -> float | None:
    """Billions of parameters that the row states, None when it states none that can be read."""
    value = as_number(row.text("params_b"))
    return value if value is not None and value > 0 else None


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


STAND_IN = "stand-in"  # in place of an engine's id: another engine stands for the row's


def band_of(engine_id: str, quantity: Quantity, load: Load) -> SpeedBand | None:
    """The band of an engine's quantity under a load, or the next wider one; of a stand-in the ends of all."""
    if engine_id != STAND_IN:
        return band_for(speed_bands(), engine_id, quantity, load)
    found = [b for b in speed_bands() if b.quantity == quantity and b.load in (load, "any")]
    if not found:
        return None
    ends = {"low": min(b.low for b in found), "high": max(b.high for b in found)}
    return found[0].model_copy(update={"engine": STAND_IN, **ends})


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
    measured = measured_value(row, quantity)
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
