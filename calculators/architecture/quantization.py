"""Reads a checkpoint's own `quantization_config` into `NativeQuantization`.

Spellings: transformers `utils/quantization_config.py` (fp8, gptq, awq, bitsandbytes, mxfp4, quanto),
compressed-tensors `QuantizationConfig` (config_groups, ignore), NVIDIA Model Optimizer `hf_quant_config.json`
(quant_algo, exclude_modules, quantized_layers), AutoRound, AMD Quark.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from calculators.architecture.layout import ConfigRefused, NativeQuantization, QuantGroup

#: Keys that list the modules left in 16 bits.
IGNORE_KEYS: Final = (
    "modules_to_not_convert",
    "ignore",
    "ignored_layers",
    "exclude_modules",
    "llm_int8_skip_modules",
    "exclude",
)
#: Model Optimizer's `quant_algo` -> (kind, bits, group size, block).
ALGORITHMS: Final[dict[str, tuple[str, int, int | None, tuple[int, int] | None]]] = {
    "fp8": ("float", 8, None, None),
    "fp8_per_channel_per_token": ("float", 8, None, None),
    "fp8_pb_wo": ("float", 8, None, (128, 128)),
    "fp8_pb_real": ("float", 8, None, (128, 128)),
    "mxfp8": ("mxfp8", 8, 32, None),
    "nvfp4": ("nvfp4", 4, 16, None),
    "nvfp4_awq": ("nvfp4", 4, 16, None),
    "w4a8_nvfp4_fp8": ("nvfp4", 4, 16, None),
    "w4a16_nvfp4": ("nvfp4", 4, 16, None),
    "mxfp4": ("mxfp4", 4, 32, None),
    "w4a8_mxfp4_fp8": ("mxfp4", 4, 32, None),
    "w4a16_awq": ("int", 4, 128, None),
    "w4a8_awq": ("int", 4, 128, None),
    "w8a8_sq_per_channel": ("int", 8, None, None),
}
#: Methods whose meaning needs no more than their name -> (kind, bits, group size).
FIXED: Final[dict[str, tuple[str, int, int | None]]] = {
    "mxfp4": ("mxfp4", 4, 32),
    "fbgemm_fp8": ("float", 8, None),
    "fp8": ("float", 8, None),
}


def read_quantization(config: Mapping[str, Any]) -> NativeQuantization | None:
    """The checkpoint's own quantisation, from the root or the text part of a config.json; None without one.

    Raises ConfigRefused when the entry cannot be read.
    """
    found = _find(config)
    if found is None:
        return None
    where, values = found
    if not isinstance(values, Mapping):
        raise ConfigRefused(where, "must be a mapping")
    if isinstance(values.get("quantization"), Mapping):  # hf_quant_config.json nests it
        values = {**values, **values["quantization"]}
    native = _read(where, values)
    # DeepSeek-V4: experts in FP4 beside a block-FP8 rest
    if str(_text(config, "expert_dtype") or "").lower() == "fp4":
        experts = QuantGroup(("experts",), "mxfp4", 4, 32)
        return NativeQuantization(
            native.method,
            native.bits,
            native.group_size,
            native.block_size,
            native.not_converted,
            native.kind,
            (experts, *native.groups),
        )
    return native


def _parts(config: Mapping[str, Any]) -> Iterable[tuple[str, Mapping[str, Any]]]:
    yield "", config
    for key in ("text_config", "llm_config", "language_config", "thinker_config"):
        part = config.get(key)
        if isinstance(part, Mapping):
            yield f"{key}.", part


def _text(config: Mapping[str, Any], key: str) -> object:
    return next((part[key] for _, part in _parts(config) if part.get(key) is not None), None)


def _find(config: Mapping[str, Any]) -> tuple[str, Any] | None:
    for prefix, part in _parts(config):
        for key in ("quantization_config", "compression_config"):
            if part.get(key):
                return prefix + key, part[key]
    return None


def _int(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def _block(value: object) -> tuple[int, int] | None:
    if isinstance(value, list | tuple) and len(value) == 2 and all(_int(v) for v in value):
        return int(value[0]), int(value[1])
    return None


def _names(values: Mapping[str, Any]) -> tuple[str, ...]:
    found: list[str] = []
    for key in IGNORE_KEYS:
        listed = values.get(key)
        if isinstance(listed, str):
            listed = [listed]
        if isinstance(listed, list | tuple):
            found.extend(str(name) for name in listed)
    dynamic = values.get("dynamic")  # GPTQModel: "-:pattern" leaves modules out
    if isinstance(dynamic, Mapping):
        found.extend(f"re:{name[2:]}" for name in dynamic if isinstance(name, str) and name.startswith("-:"))
    return tuple(found)


def _read(where: str, values: Mapping[str, Any]) -> NativeQuantization:
    method = values.get("quant_method") or values.get("quantization_method")
    algorithm = values.get("quant_algo")
    if not method:
        if not algorithm:
            raise ConfigRefused(f"{where}.quant_method", "is missing, so the checkpoint's format is unknown")
        method = "modelopt"
    method = str(method).lower()
    names = _names(values)
    if isinstance(values.get("config_groups"), Mapping):
        return _from_groups(where, method, values, names)
    if algorithm:
        return _from_algorithm(where, method, str(algorithm).lower(), values, names)
    if method == "bitsandbytes":
        if not (values.get("load_in_4bit") or values.get("_load_in_4bit")):
            return NativeQuantization(method, 8, None, None, names, "int")
        kind = "nf4-double" if values.get("bnb_4bit_use_double_quant") else "nf4"
        return NativeQuantization(method, 4, 64, None, names, kind)
    block = _block(values.get("weight_block_size"))
    if method in FIXED:
        kind, bits, group = FIXED[method]
        return NativeQuantization(method, bits, group, block, names, kind)
    bits = next((b for k in ("bits", "w_bit", "nbits", "num_bits") if (b := _int(values.get(k)))), None)
    group = next((values[k] for k in ("group_size", "q_group_size") if values.get(k) is not None), 128)
    group = _int(group)  # -1 means one group for the whole row
    kind = "float" if "fp" in str(values.get("data_type") or values.get("fmt") or "") else "int"
    weights = values.get("weights")  # quanto
    if isinstance(weights, str):
        bits = {"int8": 8, "float8": 8, "int4": 4, "int2": 2}.get(weights, bits)
        kind = "float" if weights.startswith("float") else "int"
    return NativeQuantization(method, bits, group, block, names, kind)


def _group(targets: Iterable[str], scheme: Mapping[str, Any], form: str) -> QuantGroup:
    """One compressed-tensors scheme."""
    bits = _int(scheme.get("num_bits")) or 16
    kind = str(scheme.get("type") or "int")
    group = _int(scheme.get("group_size"))
    block = _block(scheme.get("block_structure"))
    if kind == "float" and bits == 4:
        kind = "mxfp4" if "mxfp4" in form or group == 32 else "nvfp4"
    return QuantGroup(tuple(targets), kind, bits, group, block)


def _from_groups(
    where: str, method: str, values: Mapping[str, Any], names: tuple[str, ...]
) -> NativeQuantization:
    """compressed-tensors: groups by target; a group that targets Linear is the default of the rest."""
    groups: list[QuantGroup] = []
    default: QuantGroup | None = None
    for entry in values["config_groups"].values():
        if not isinstance(entry, Mapping) or not isinstance(entry.get("weights"), Mapping):
            continue
        targets = [str(t) for t in entry.get("targets") or ["Linear"]]
        form = str(entry.get("format") or values.get("format") or "")
        group = _group(targets, entry["weights"], form)
        if default is None and "Linear" in targets:
            default = group
        else:
            groups.append(group)
    if default is None and not groups:
        raise ConfigRefused(f"{where}.config_groups", "holds no weight scheme that can be read")
    if default is None:  # only named modules are converted
        return NativeQuantization(method, 16, None, None, names, "none", tuple(groups))
    return NativeQuantization(
        method, default.bits, default.group_size, default.block_size, names, default.kind, tuple(groups)
    )


def _from_algorithm(
    where: str, method: str, algorithm: str, values: Mapping[str, Any], names: tuple[str, ...]
) -> NativeQuantization:
    """Model Optimizer: one algorithm, or MIXED_PRECISION with one per layer."""
    if algorithm == "mixed_precision":
        layers = values.get("quantized_layers")
        if not isinstance(layers, Mapping):
            raise ConfigRefused(f"{where}.quantized_layers", "is missing, so MIXED_PRECISION cannot be read")
        groups = []
        for name, entry in layers.items():
            scheme = str(entry.get("quant_algo", "") if isinstance(entry, Mapping) else "").lower()
            if scheme not in ALGORITHMS:
                raise ConfigRefused(f"{where}.quantized_layers.{name}", f"unknown quant_algo {scheme!r}")
            kind, bits, group, block = ALGORITHMS[scheme]
            groups.append(QuantGroup((str(name),), kind, bits, group, block))
        return NativeQuantization(method, 16, None, None, names, "none", tuple(groups))
    if algorithm not in ALGORITHMS:
        raise ConfigRefused(f"{where}.quant_algo", f"unknown quant_algo {algorithm!r}")
    kind, bits, group, block = ALGORITHMS[algorithm]
    group = _int(values.get("group_size")) or group
    return NativeQuantization(method, bits, group, block, names, kind)
