"""Loads the number formats from their TOML tables into frozen types."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from gpu_data.format_schemas import (
    EngineLayout,
    FormatLabel,
    KvFormat,
    LabelRule,
    ModuleNames,
    NativeRecipe,
    RoleAlias,
    Rule,
    Storage,
    SupportRule,
    TraitRule,
    WeightFormat,
)

T = TypeVar("T", bound=BaseModel)
T2 = TypeVar("T2")
FOLDER = Path(__file__).parent
GGUF_SOURCE = "llama.cpp src/llama-quant.cpp (llama_tensor_get_type_impl); block sizes of ggml"


@cache
def _read(name: str) -> dict[str, Any]:
    return tomllib.loads((FOLDER / name).read_text(encoding="utf-8"))


class FormatTableError(ValueError):
    """A table that cannot be read; the message names file, row and field."""


def _make(model: type[T], where: str, fields: Mapping[str, Any]) -> T:
    """One row as its type; a wrong one is refused by file, row and field."""
    try:
        return model.model_validate(fields)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"])
        raise FormatTableError(f"gpu_data/{where}, {field}: {first['msg']}") from None


def _named(table: Mapping[str, T2], name: str, what: str) -> T2:
    """An entry of a table that a row refers to; a missing one is refused by name."""
    if name not in table:
        raise FormatTableError(f"gpu_data: no {what} named {name!r}")
    return table[name]


def _expand(names: Iterable[str], groups: Mapping[str, list[str]]) -> tuple[str, ...]:
    """Role names with group names replaced by their members."""
    found: list[str] = []
    for name in names:
        # a group may be named like the role it starts with
        members = [m for m in groups.get(name, ()) if m != name]
        found.extend(_expand(members, groups))
        if not members or name in groups[name]:
            found.append(name)
    return tuple(found)


@cache
def _support_rules() -> dict[str, tuple[SupportRule, ...]]:
    return {
        name: tuple(_make(SupportRule, f"format_support.toml [[{name}]]", rule) for rule in rules)
        for name, rules in _read("format_support.toml").items()
    }


def _support(names: Iterable[str]) -> tuple[SupportRule, ...]:
    """The rule lists of these names, one after the other."""
    return tuple(rule for name in names for rule in _named(_support_rules(), name, "support"))


# ---------------------------------------------------------------- formats.toml


@cache
def _storages() -> dict[str, Storage]:
    """Storages of formats.toml by id."""
    return {
        name: _make(Storage, f"formats.toml [storage.{name}]", {"id": name, **values})
        for name, values in _read("formats.toml")["storage"].items()
    }


def _plain_formats() -> Iterable[WeightFormat]:
    """Every format that is not GGUF."""
    tables, storages = _read("formats.toml"), _storages()
    groups = tables["groups"]
    for values in tables["format"]:
        fields = dict(values)
        where = f"formats.toml [[format]] {fields['id']}"
        fields["rest"] = storages[fields["rest"]]
        fields["rules"] = tuple(
            _make(Rule, where, _linked(rule, groups, storages)) for rule in fields.get("rules", ())
        )
        fields["layouts"] = tuple(_layout(name) for name in fields.get("layouts", ()))
        fields["support"] = _support(fields["support"])
        if fields["kind"] == "native":
            fields |= _native_tables(tables, storages)
        yield _make(WeightFormat, where, fields)


def _linked(
    values: Mapping[str, Any], groups: Mapping[str, list[str]], storages: Mapping[str, Storage]
) -> dict[str, Any]:
    """A row with its role groups spelt out and its storages put in."""
    fields: dict[str, Any] = {**values, "roles": _expand(values["roles"], groups)}
    for key in ("storage", "block_storage", "fallback"):
        if key in fields:
            fields[key] = _named(storages, fields[key], "storage")
    return fields


def _layout(name: str) -> EngineLayout:
    fields: dict[str, Any] = {"id": name, **_read("formats.toml")["layout"][name]}
    if "replace" in fields:
        fields["replace"] = _storages()[fields["replace"]]
    return _make(EngineLayout, f"formats.toml [layout.{name}]", fields)


def _native_tables(tables: Mapping[str, Any], storages: Mapping[str, Storage]) -> dict[str, Any]:
    """What only the format of native checkpoints has."""
    return {
        "recipes": tuple(
            _make(
                NativeRecipe,
                "formats.toml [[recipe]]",
                {**_linked(values, tables["groups"], storages), "support": _support(values["support"])},
            )
            for values in tables["recipe"]
        ),
        "modules": tuple(_make(ModuleNames, "formats.toml [[modules]]", v) for v in tables["modules"]),
        "dtypes": {name: storages[storage] for name, storage in tables["dtypes"].items()},
    }


# ---------------------------------------------------------------- gguf_formats.toml


@cache
def ggml_types() -> dict[str, Storage]:
    """GGML tensor types by name, fallbacks linked."""
    tables = _read("gguf_formats.toml")
    built: dict[str, Storage] = {}

    def build(name: str) -> Storage:
        if name not in built:
            block, size = tables["types"][name]
            fallback = tables["fallback"].get(name)
            built[name] = Storage(
                id=name,
                block=(1, block),
                block_bytes=size,
                row_multiple=block,
                fallback=build(fallback) if fallback else None,
                source="ggml: GGML_QUANT_SIZES",
            )
        return built[name]

    return {name: build(name) for name in tables["types"]}


def _gguf_formats() -> Iterable[WeightFormat]:
    """Every llama.cpp mixture."""
    tables, types = _read("gguf_formats.toml"), ggml_types()
    groups = tables["groups"]
    aliases = tuple(_make(RoleAlias, "gguf_formats.toml [[alias]]", v) for v in tables["alias"])
    traits = tuple(_make(TraitRule, "gguf_formats.toml [[trait]]", v) for v in tables["trait"])

    for values in tables["format"]:
        fields = dict(values)
        base = fields.pop("type")
        head = fields.pop("head", "Q6_K")
        last = [
            {"roles": ["head"], "type": head, "fallback": "Q8_0"},
            {"roles": ["embedding"], "type": head, "fallback": "Q8_0", "when": ["tied"]},
            {"roles": ["embedding"], "type": fields.pop("embedding", base)},
            {"roles": ["matrices"], "type": base},
        ]
        family = fields.pop("family", None)
        rules = (
            *tables["rules"]["all"],
            *(tables["rules"][family] if family else ()),
            *fields.pop("rules", ()),
            *last,
        )
        where = f"gguf_formats.toml [[format]] {fields['id']}"
        made = []
        for row in rules:
            named = {**row, "storage": row["type"]}
            del named["type"]
            made.append(_make(Rule, where, _linked(named, groups, types)))
        fields |= {
            "kind": "gguf",
            "compute_dtype": "fp16",
            "rest": types["F32"],
            "rules": tuple(made),
            "aliases": aliases,
            "traits": traits,
            "engines": ("llama.cpp",),
            "support": _support(["gguf-f16" if base == "F16" else "gguf"]),
            "source": GGUF_SOURCE,
        }
        yield _make(WeightFormat, where, fields)


# ---------------------------------------------------------------- kv_formats.toml, format_labels.toml


@cache
def _kv_formats() -> dict[str, KvFormat]:
    rows = _read("kv_formats.toml")["format"]
    return {
        row["id"]: _make(
            KvFormat,
            f"kv_formats.toml [[format]] {row['id']}",
            {**row, "support": _support([row["support"]])},
        )
        for row in rows
    }


@cache
def _label_rules(table: str) -> tuple[tuple[re.Pattern[str], LabelRule], ...]:
    rows = list(_read("format_labels.toml")[table])
    rules = [_make(LabelRule, f"format_labels.toml [[{table}]] {row['pattern']}", row) for row in rows]
    return tuple((re.compile(rule.pattern), rule) for rule in rules)


@cache
def _gguf_names() -> dict[str, str]:
    return {name: fmt for fmt, names in _read("format_labels.toml")["gguf"].items() for name in names}


def parse_quantization_label(text: str) -> FormatLabel:
    """The weight format that a label such as "GGUF Q4_K - Medium", "awq int4" or "none" means.

    An unknown label is refused by name; `assumption` says what was taken for granted.
    """
    label = " ".join(text.lower().split())
    gguf = re.fullmatch(r"(gguf )?(?P<name>.*?)(?P<marked> \(gguf\))?( - [\d.]+ ?bpw)?", label)
    name = gguf["name"] if gguf else label
    is_gguf = bool(gguf and (gguf[1] or gguf["marked"]))
    # "f16" and "mxfp4" without the word GGUF are not llama.cpp's
    if name in _gguf_names() and (is_gguf or name not in ("f16", "fp16", "mxfp4")):
        return FormatLabel(label=text, format=_gguf_names()[name])
    return _parse(text, label, "weight", "weight format")


def parse_kv_label(text: str) -> FormatLabel:
    """The KV cache format that a label such as "auto", "fp8_e5m2" or "q8_0" means, or why it is refused."""
    return _parse(text, " ".join(text.lower().split()), "kv", "KV cache format")


def _parse(text: str, label: str, table: str, what: str) -> FormatLabel:
    for pattern, rule in _label_rules(table):
        if pattern.fullmatch(label):
            return FormatLabel(
                label=text, format=rule.format, assumption=rule.assumption, refused=rule.refused
            )
    return FormatLabel(label=text, format=None, refused=f"unknown {what} {text!r}")


# ---------------------------------------------------------------- lookup


@cache
def _weight_formats() -> dict[str, WeightFormat]:
    return {fmt.id: fmt for fmt in (*_plain_formats(), *_gguf_formats())}


def weight_formats() -> tuple[WeightFormat, ...]:
    """All weight formats, in the order of the tables."""
    return tuple(_weight_formats().values())


def weight_format(format_id: str) -> WeightFormat:
    """The weight format of this id.

    Raises KeyError naming the id when there is none.
    """
    found = _weight_formats().get(format_id)
    if found is None:
        raise KeyError(f"unknown weight format {format_id!r}")
    return found


def kv_formats() -> tuple[KvFormat, ...]:
    """All KV cache formats, in the order of the table."""
    return tuple(_kv_formats().values())


def kv_format(format_id: str) -> KvFormat:
    """The KV cache format of this id.

    Raises KeyError naming the id when there is none.
    """
    found = _kv_formats().get(format_id)
    if found is None:
        raise KeyError(f"unknown KV cache format {format_id!r}")
    return found
