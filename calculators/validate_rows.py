"""Reads measured rows: the columns of a memory table, and what each row deploys."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from calculators.architecture import read_config
from calculators.architecture.layout import Architecture, CacheKind, ConfigRefused, Shard
from calculators.formats import FormatRefused, engine_layout, weights_bytes
from calculators.memory import Deployment, GpuMemory, Options
from calculators.validate_cells import CellRefused, as_number, table_rows
from calculators.validate_gpu import MatchedGpu, gpus_named, match_gpu
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
_NEEDED = ("id", "engine", "model_hf_id")
SMALLEST_GIB = 0.1
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
        value = as_number(text)
        if value is None:
            endless = re.fullmatch(r"[+-]?(nan|inf(inity)?|\d+e\d+)", text.lower())
            kind = "finite number" if endless else "number"
            raise RowRefused(f"{column}: {text!r} is not a {kind}")
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


def read_rows(path: Path, columns: Sequence[str] = _NEEDED) -> Iterator[MeasuredRow]:
    """The rows of a table with a header; columns it does not know are left alone.

    Raises RowRefused when the file cannot be read or lacks one of the columns.
    """
    try:
        for cells in table_rows(path, columns):
            yield MeasuredRow(cells)
    except CellRefused as error:
        raise RowRefused(str(error)) from None


@lru_cache(maxsize=512)
def _config(model_hf_id: str, folder: Path) -> tuple[Mapping[str, Any], str]:
    """(config, assumption) of a model: its file, or the known model nearest by name."""
    path = folder / _file_name(model_hf_id)
    try:
        there = path.is_file()
    except (OSError, ValueError):  # a name no file can have
        there = False
    return (_read_config_file(path), "") if there else known_config(model_hf_id, folder)


def _file_name(model_hf_id: str) -> str:
    return model_hf_id.replace("/", "--") + ".json"


def _read_config_file(path: Path) -> Mapping[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise RowRefused(f"model_hf_id: {path.name} is not JSON ({error})") from None
    if not isinstance(found, dict):
        raise RowRefused(f"model_hf_id: {path.name} does not hold an object")
    return found


# Words that say how a checkpoint is stored or tuned: they change no tensor's shape.
_STORED = (
    "fp8|fp4|nvfp4|mxfp4|awq|gptq|int4|int8|w4a16|w8a8|w8a16|bnb|4bit|8bit|unsloth|gguf|dynamic|block|bf16|hf|"
    "quantized|channel|qat|autoround|marlin|instruct|chat|it"
)
_TUNED = frozenset(
    ["base", "text", "meta", "nvidia", "preview", "pt", "thinking", "latest", "v0.1", "v0.2", "v0.3", "v1"]
)
_DATE = re.compile(r"2[3-7](0[1-9]|1[0-2])|(0[1-9]|1[0-2])[0-3]\d")


def _plain_name(name: str) -> str:
    """A model's name without owner and words of storage and tuning at its end: its unquantised twin."""
    name = name.split("/")[-1].lower()
    while True:
        shorter = re.sub(rf"[-_.:]({_STORED}|q\d_\w+)$", "", name)
        if shorter == name:
            return name
        name = shorter


def _loose_name(name: str) -> str:
    """Family and size of a model: its name also without tuning, date and separators."""
    plain = re.sub(r"(?<=\d)_(?=\d)", ".", _plain_name(name))
    words = re.split(r"[-_:\s]+", plain)
    stored = _STORED.split("|")
    return "".join(w for w in words if w not in stored and w not in _TUNED and not _DATE.fullmatch(w))


Names = Callable[[str], str]


@lru_cache(maxsize=4)
def _known_models(key: Names) -> Mapping[str, str]:
    from gpu_data.models import model, model_ids

    found: dict[str, str] = {}
    for model_id in model_ids():
        found.setdefault(key(model(model_id).hf_id or model_id), model_id)
    return found


@lru_cache(maxsize=1)
def _validation_models() -> Mapping[str, Mapping[str, Any]]:
    import gpu_data

    text = (Path(gpu_data.__file__).parent / "validation_models.json").read_text(encoding="utf-8")
    return {_plain_name(name): config for name, config in json.loads(text).items()}


@lru_cache(maxsize=16)
def _files(folder: Path, key: Names) -> Mapping[str, Path]:
    """Config files of a folder by their models' names."""
    found: dict[str, Path] = {}
    for path in sorted(folder.glob("*.json")):
        found.setdefault(key(path.stem.split("--")[-1]), path)
    return found


def known_config(model_hf_id: str, folder: Path | None) -> tuple[Mapping[str, Any], str]:
    """The config of a model known under another name: first the same name in another format, then the same
    family and size. Raises RowRefused when neither is known."""
    from gpu_data.models import model_config

    missing = f"model_hf_id: no config file for {model_hf_id!r}, taken"
    for key, remark in ((_plain_name, ""), (_loose_name, ", by family and size in the name")):
        name = key(model_hf_id)
        if key is _plain_name and name in _validation_models():
            config = _validation_models()[name]
            return config, f"{missing} from {config['_source']}"
        if name in _known_models(key):
            found = _known_models(key)[name]
            return model_config(found), f"{missing} as {found}{remark}"
        files = _files(folder, key) if folder is not None else {}
        if name in files:
            return _read_config_file(files[name]), f"{missing} from {files[name].name}{remark}"
    raise RowRefused(f"model_hf_id: no config file and no known model for {model_hf_id!r}")


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
        known, assumed = known_config(model_hf_id, None)
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


# Formats a checkpoint's name states, for rows that leave the format out.
_NAMED_FORMATS = (
    (r"bnb-4bit|4bit-bnb", "bnb-nf4"),
    (r"gptq.*int8|gptq.*8bit", "gptq-int8"),
    (r"gptq", "gptq-int4"),
    (r"awq|w4a16|int4", "awq-int4"),
    (r"nvfp4|[-_]fp4", "nvfp4"),
    (r"fp8", "fp8"),
    (r"w8a8|int8", "int8"),
)
_UNSAID = frozenset(["", "auto", "default"])
_BITS = {2: "gguf-q2_k", 3: "gguf-q3_k_m", 4: "awq-int4", 5: "gguf-q5_k_m", 6: "gguf-q6_k", 8: "int8"}


def _format_in_name(model_hf_id: str) -> str | None:
    name = model_hf_id.split("/")[-1].lower()
    return next((fmt for pattern, fmt in _NAMED_FORMATS if re.search(pattern, name)), None)


def nearest_format(label: str) -> str | None:
    """A format to stand for one that no table knows, by its GGUF type or its stated bits."""
    bits = re.search(r"(?<![\d.])([2-8])[- ]?bits?\b", label.lower())
    return _nearest_gguf(label) or (_BITS.get(int(bits.group(1))) if bits else None)


def _weight_format(row: MeasuredRow, arch: Architecture, chosen: Engine) -> tuple[WeightFormat, str]:
    label = row.text("quantization")
    label = "" if label.lower() in _UNSAID else label
    named = _format_in_name(row.text("model_hf_id")) if not label and arch.quantization is None else None
    if named is not None:
        return weight_format(named), f"quantization: not given, {weight_format(named).label} by the name"
    parsed = parse_quantization_label(label)
    if parsed.format is None:
        nearest = nearest_format(label)
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
    stated = row.number("gpu_mem_gib")
    if stated is not None and not stated >= SMALLEST_GIB:
        raise RowRefused(f"gpu_mem_gib: {row.text('gpu_mem_gib')!r} is no memory of a GPU")
    gpu = match_gpu(row.text("gpu"), stated)
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
    stages = row.count("pp", 4096) or 1
    stated = row.count("n_gpus_tp", 4096)
    ways = stated or max(1, gpus_named(row.text("gpu")) // stages)
    assumed_gpus = f"n_gpus_tp: not given, {ways} by the gpu column" if not stated and ways > 1 else ""
    deployment = Deployment(
        arch,
        fmt,
        keys,
        chosen,
        GpuMemory(
            gpu.name, UNKNOWN_CAPACITY if gpu.capacity_bytes is None else gpu.capacity_bytes, gpu.basis
        ),
        options=options,
        tensor_parallel_size=ways,
        pipeline_parallel_size=stages,
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
        assumed_gpus,
        assumed_place,
        *arch.assumptions,
    )
    return PreparedRow(row, deployment, gpu, partial, tuple(note for note in notes if note))
