"""Reads measured rows: the columns of a memory table, and what each row deploys."""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from calculators.architecture import read_config
from calculators.architecture.layout import Architecture, CacheKind, ConfigRefused, Shard
from calculators.formats import FormatRefused, engine_layout, weights_bytes
from calculators.memory import Deployment, GpuMemory, Options
from calculators.validate_gpu import MatchedGpu, match_gpu
from gpu_data.engine_schemas import Engine
from gpu_data.engines import engine, engine_for, error_band, version_numbers
from gpu_data.format_schemas import EngineLayout, KvFormat, WeightFormat
from gpu_data.formats import kv_format, parse_kv_label, parse_quantization_label, weight_format

QUANTITIES = (
    "weights_gib_per_gpu",
    "kv_cache_gib_per_gpu",
    "kv_cache_tokens",
    "activation_peak_gib",
    "non_torch_gib",
    "cudagraph_gib",
    "compute_buffer_mib",
    "kv_mib",
    "params_b",
    "model_size_gib",
    "total_used_mib",
    "total_used_gb",
    "fits",
)
UNKNOWN_CAPACITY = 80 * 2**30  # stands in where no printed quantity depends on the capacity

# A GGUF mixture to stand for a type that is not llama.cpp's own, by the bits of its main tensor type.
_NEAREST_GGUF = (
    (2.3125, "gguf-iq2_m"),
    (2.625, "gguf-q2_k"),
    (3.0625, "gguf-iq3_xxs"),
    (3.4375, "gguf-q3_k_m"),
    (4.25, "gguf-iq4_xs"),
    (4.5, "gguf-q4_k_m"),
    (5.5, "gguf-q5_k_m"),
    (6.5625, "gguf-q6_k"),
    (8.5, "gguf-q8_0"),
)
_DTYPES = {"float32": "fp32", "fp32": "fp32", "float16": "fp16", "fp16": "fp16"}


class RowRefused(ValueError):
    """A row that cannot be computed; the message names the column."""


@dataclass(frozen=True)
class MeasuredRow:
    """One row of a memory table: its cells as text, and numbers where columns hold numbers."""

    cells: Mapping[str, str]

    @property
    def id(self) -> str:
        """Name of the row."""
        return self.text("id")

    def text(self, column: str) -> str:
        """A cell, "" when empty or absent."""
        return (self.cells.get(column) or "").strip()

    def number(self, column: str) -> float | None:
        """A cell as a number, None when empty. Raises RowRefused naming the column."""
        text = self.text(column)
        if not text:
            return None
        try:
            value = float(text)
        except ValueError:
            raise RowRefused(f"{column}: {text!r} is not a number") from None
        if not math.isfinite(value):
            raise RowRefused(f"{column}: {text!r} is not a finite number")
        return value

    def count(self, column: str, high: int = 2**31) -> int | None:
        """A cell as a whole number of at least 1, None when empty. Raises RowRefused naming the column."""
        value = self.number(column)
        if value is None:
            return None
        if value != int(value) or not 1 <= value <= high:
            raise RowRefused(f"{column}: {self.text(column)!r} is not a whole number from 1 to {high}")
        return int(value)


@dataclass(frozen=True)
class PreparedRow:
    """A row's deployment, and what had to be assumed for it."""

    row: MeasuredRow
    deployment: Deployment
    gpu: MatchedGpu
    partial: bool
    assumptions: tuple[str, ...] = field(default=())

    @property
    def capacity_known(self) -> bool:
        """Whether the memory of the GPU is known."""
        return self.gpu.capacity_bytes is not None


def read_rows(path: Path) -> Iterator[MeasuredRow]:
    """The rows of a CSV file with a header. Raises RowRefused when it has none of the expected columns."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise RowRefused(f"{path}: cannot be read ({error})") from None
    reader = csv.DictReader(text.splitlines(keepends=True))
    missing = [name for name in ("id", "engine", "model_hf_id") if name not in (reader.fieldnames or ())]
    if missing:
        raise RowRefused(f"{path}: has no column {', '.join(missing)}")
    for cells in reader:
        yield MeasuredRow({k: v for k, v in cells.items() if k is not None and isinstance(v, str)})


@lru_cache(maxsize=512)
def _config(model_hf_id: str, folder: Path) -> tuple[Mapping[str, Any], str]:
    """(config, assumption) of a model: its file, or the catalogue's model of that name."""
    path = folder / (model_hf_id.replace("/", "--") + ".json")
    if path.is_file():
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise RowRefused(f"model_hf_id: {path.name} is not JSON ({error})") from None
        if not isinstance(found, dict):
            raise RowRefused(f"model_hf_id: {path.name} does not hold an object")
        return found, ""
    return _known_config(model_hf_id)


def _plain_name(name: str) -> str:
    """A model's name without owner, quantisation and other suffixes, to find its unquantised twin."""
    name = name.split("/")[-1].lower()
    suffix = (
        r"[-_.](fp8|fp4|nvfp4|mxfp4|awq|gptq|int4|int8|w4a16|w8a8|bnb|4bit|8bit|unsloth|gguf|dynamic|block|bf16|hf|"
        r"quantized|channel)"
    )
    while True:
        shorter = re.sub(rf"{suffix}$", "", name)
        if shorter == name:
            return name
        name = shorter


@lru_cache(maxsize=1)
def _known_models() -> Mapping[str, str]:
    from gpu_data.models import model, model_ids

    return {_plain_name(model(model_id).hf_id or model_id): model_id for model_id in model_ids()}


@lru_cache(maxsize=1)
def _validation_models() -> Mapping[str, Mapping[str, Any]]:
    import gpu_data

    text = (Path(gpu_data.__file__).parent / "validation_models.json").read_text(encoding="utf-8")
    return {_plain_name(name): config for name, config in json.loads(text).items()}


def _known_config(model_hf_id: str) -> tuple[Mapping[str, Any], str]:
    from gpu_data.models import model_config

    named = _validation_models().get(_plain_name(model_hf_id))
    if named is not None:
        return named, f"model_hf_id: no config file for {model_hf_id!r}, taken from {named['_source']}"
    found = _known_models().get(_plain_name(model_hf_id))
    if found is None:
        raise RowRefused(f"model_hf_id: no config file and no known model for {model_hf_id!r}")
    return model_config(found), f"model_hf_id: no config file for {model_hf_id!r}, taken as {found}"


@lru_cache(maxsize=512)
def _architecture(model_hf_id: str, folder: Path) -> tuple[Architecture, bool, str]:
    """(architecture, partial, assumption). Raises RowRefused."""
    config, assumption = _config(model_hf_id, folder)
    partial = bool(config.get("_partial"))
    try:
        return read_config(config), partial, assumption
    except (ArithmeticError, LookupError, RecursionError, TypeError) as error:
        raise RowRefused(f"model_hf_id: config cannot be read ({type(error).__name__}: {error})") from None
    except ConfigRefused as error:
        if not partial:
            raise RowRefused(f"model_hf_id: config refused, {error}") from None
        known, assumed = _known_config(model_hf_id)
        return read_config(known), True, assumed


def _engine(row: MeasuredRow, arch: Architecture) -> tuple[Engine, str]:
    name, version = row.text("engine"), row.text("engine_version")
    found, assumption = engine_for(name, version)
    if found is None:
        return engine("transformers"), f"{assumption}; computed as transformers"
    if found.id == "vllm" and not version:
        # Logs without a version are mostly old: V0 where it could run the model, else the first V1 set.
        taken = engine("vllm-0.8" if _needs_v1(row, arch) else "vllm-v0")
        return taken, f"engine_version: not given, taken as {taken.label}"
    return found, assumption


def _layout(
    arch: Architecture, fmt: WeightFormat, chosen: Engine, gpu: MatchedGpu, version: str
) -> EngineLayout | None:
    """How this version of the engine keeps the format on this GPU; unknown GPUs: as in the checkpoint.

    A row without a version gets what its parameter set had first (V0: nothing unpacked).
    """
    if chosen.algorithm != "vllm" or not fmt.layouts:
        return None
    from gpu_data import spec_frame

    spec = {} if gpu.gpu_id is None else spec_frame().loc[gpu.gpu_id]
    return engine_layout(spec, fmt, "vllm", arch, version_numbers(version))


def _needs_v1(row: MeasuredRow, arch: Architecture) -> bool:
    """Layers of several kinds, recurrent state, 4-bit floats: V0 had none of them."""
    kinds = {c.kind for layer in {id(x): x for x in arch.layers}.values() for c in layer.caches}
    mixed = CacheKind.STATE in kinds or (CacheKind.FULL in kinds and len(kinds) > 1)
    return mixed or "fp4" in row.text("quantization").lower()


def _weight_format(row: MeasuredRow, arch: Architecture, chosen: Engine) -> tuple[WeightFormat, str]:
    label = row.text("quantization")
    parsed = parse_quantization_label(label)
    if parsed.format is None:
        nearest = _nearest_gguf(label)
        if nearest is None:
            raise RowRefused(f"quantization: {parsed.refused}")
        return weight_format(nearest), f"quantization: {label!r} counted as {weight_format(nearest).label}"
    fmt = weight_format(parsed.format)
    if fmt.kind == "plain" and not label and arch.quantization is not None:
        fmt = weight_format("native")
    elif fmt.kind == "plain":
        fmt = weight_format(_DTYPES.get(row.text("dtype").lower(), fmt.id))
    elif arch.quantization is not None and fmt.kind != "gguf" and _same_kind(fmt, arch):
        fmt = weight_format("native")
    if chosen.algorithm == "llama.cpp" and fmt.id == "mxfp4":
        fmt = weight_format("gguf-mxfp4")
    try:
        weights_bytes(arch, fmt)
    except FormatRefused as error:
        fallback = parsed.format if fmt.id == "native" and label else None
        if fallback is None:
            raise RowRefused(f"quantization: {error}") from None
        return weight_format(fallback), f"quantization: {error}; counted as {label}"
    return fmt, parsed.assumption


def _same_kind(fmt: WeightFormat, arch: Architecture) -> bool:
    """Whether a row's label and the checkpoint's own configuration speak of the same number format."""
    kind = arch.quantization.kind.lower() if arch.quantization is not None else ""
    family = re.sub(r"[^a-z]", "", fmt.id.split("-")[0])
    return bool(kind) and (
        family in re.sub(r"[^a-z]", "", kind) or kind in ("compressed-tensors", "modelopt")
    )


def _nearest_gguf(label: str) -> str | None:
    """The llama.cpp mixture nearest to a GGUF type of a fork, by stated bits or by the digit in its name."""
    text = label.lower()
    stated = re.search(r"([\d.]+) ?bpw", text)
    digit = re.search(r"\b(?:ud-)?i?q([2-8])(?:_|\b)", text)
    if stated:
        bits = float(stated.group(1))
    elif digit and ("gguf" in text or "ud-" in text or text.startswith(("iq", "q"))):
        bits = float(digit.group(1)) + 0.5
    else:
        return None
    return min(_NEAREST_GGUF, key=lambda pair: abs(pair[0] - bits))[1]


def _kv_formats(row: MeasuredRow) -> tuple[KvFormat, KvFormat | None, str]:
    """(keys, values when stored otherwise, assumption)."""
    labels = row.text("kv_dtype").split("/")
    parsed = [parse_kv_label(label) for label in labels[:2]]
    for found in parsed:
        if found.format is None:
            raise RowRefused(f"kv_dtype: {found.refused}")
    formats = [kv_format(found.format or "bf16") for found in parsed]
    assumption = "; ".join(found.assumption for found in parsed if found.assumption)
    return formats[0], formats[1] if len(formats) > 1 else None, assumption


def _length(row: MeasuredRow, arch: Architecture, chosen: Engine) -> tuple[int, str]:
    """(tokens a sequence may hold, assumption)."""
    written = (row.count("input_len") or 0) + (row.count("output_len") or 0)
    found = row.count("max_model_len") or row.count("n_ctx") or row.count("derived_ctx") or written or None
    if found is not None:
        return found, ""
    if chosen.algorithm == "transformers":
        return 1, "context: not given, only the loaded model counted"
    window = arch.max_position_embeddings or 2048
    if chosen.algorithm != "vllm":
        # Only vLLM refuses to start when its cache is smaller than the model's window.
        window = min(window, 8192)
    return window, f"context: not given, {window:,} tokens assumed"


def _experts_on_cpu(deployment: Deployment) -> tuple[Deployment, str]:
    """Routed experts on the CPU, for engines made for it, when the weights are larger than all GPUs."""
    arch, engine_ = deployment.architecture, deployment.engine
    stored = weights_bytes(arch, deployment.weight_format)
    if "experts_on_cpu" not in engine_.parameters or Shard.EXPERT not in stored.layers_by_shard:
        return deployment, ""
    if stored.total_bytes <= float(deployment.gpu.capacity_bytes) * deployment.gpus:
        return deployment, ""
    moved = replace(deployment.options, experts_on_cpu=True)
    return deployment.but(options=moved), "weights larger than the GPUs: routed experts counted on the CPU"


def prepare(row: MeasuredRow, configs: Path) -> PreparedRow:
    """The deployment a row describes, from its input columns. Raises RowRefused naming what is missing."""
    model = row.text("model_hf_id")
    if not model:
        raise RowRefused("model_hf_id: is empty")
    arch, partial, assumed_model = _architecture(model, configs)
    chosen, assumed_engine = _engine(row, arch)
    fmt, assumed_format = _weight_format(row, arch, chosen)
    keys, values, assumed_kv = _kv_formats(row)
    length, assumed_length = _length(row, arch, chosen)
    gpu = match_gpu(row.text("gpu"), row.number("gpu_mem_gib"))
    share = row.number("gpu_mem_util")
    if share is not None and not 0 < share <= 1:
        raise RowRefused(f"gpu_mem_util: {row.text('gpu_mem_util')!r} is not between 0 and 1")
    prompt = row.count("input_len")
    steady = chosen.algorithm == "transformers" and "fused_qkv_copy" not in chosen.parameters
    options = Options(
        memory_share=share,
        max_num_seqs=row.count("max_num_seqs"),
        max_num_batched_tokens=row.count("max_num_batched_tokens"),
        # The tables of transformers runs are read while tokens are generated: the prompt's pass is over.
        prompt_tokens=1 if steady else prompt,
        # AutoAWQ's runs have no flash-attn package (Qwen speed benchmark, "Software for AutoAWQ").
        flash_attention=fmt.id != "awq-int4" if steady else None,
    )
    layout = _layout(arch, fmt, chosen, gpu, row.text("engine_version"))
    deployment = Deployment(
        arch,
        fmt,
        keys,
        chosen,
        GpuMemory(
            gpu.name, UNKNOWN_CAPACITY if gpu.capacity_bytes is None else gpu.capacity_bytes, gpu.basis
        ),
        options=options,
        tensor_parallel_size=row.count("n_gpus_tp", 4096) or 1,
        pipeline_parallel_size=row.count("pp", 4096) or 1,
        max_model_len=length,
        concurrency=row.count("batch") or 1,
        v_format=values,
        band=error_band(chosen.family),
        layout=layout,
    )
    deployment, assumed_place = _experts_on_cpu(deployment)
    notes = (
        assumed_model,
        assumed_engine,
        assumed_format,
        assumed_kv,
        assumed_length,
        gpu.assumption,
        assumed_place,
        *arch.assumptions,
    )
    return PreparedRow(row, deployment, gpu, partial, tuple(note for note in notes if note))
