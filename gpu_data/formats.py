"""Loads the number formats from their TOML tables into frozen types."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from gpu_data.format_schemas import (
    EngineLayout,
    ModuleNames,
    NativeRecipe,
    RoleAlias,
    Rule,
    Storage,
    TraitRule,
    WeightFormat,
)

T = TypeVar("T", bound=BaseModel)
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
            fields[key] = storages[fields[key]]
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
            _make(NativeRecipe, "formats.toml [[recipe]]", _linked(values, tables["groups"], storages))
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
            "source": GGUF_SOURCE,
        }
        yield _make(WeightFormat, where, fields)


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
    try:
        return _weight_formats()[format_id]
    except KeyError:
        raise KeyError(f"unknown weight format {format_id!r}") from None
