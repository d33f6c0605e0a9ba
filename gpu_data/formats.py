"""Loads the number formats from their TOML tables into frozen types."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from gpu_data.format_schemas import Storage, WeightFormat

FOLDER = Path(__file__).parent


def _read(name: str) -> dict[str, Any]:
    return tomllib.loads((FOLDER / name).read_text(encoding="utf-8"))


def _expand(names: Iterable[str], groups: Mapping[str, list[str]]) -> tuple[str, ...]:
    """Role names with group names replaced by their members."""
    found: list[str] = []
    for name in names:
        found.extend(_expand(groups[name], groups) if name in groups else (name,))
    return tuple(found)


@cache
def _storages() -> dict[str, Storage]:
    """Every storage by id, fallbacks linked."""
    raw = _read("formats.toml")["storage"]
    built: dict[str, Storage] = {}

    def build(name: str) -> Storage:
        if name not in built:
            values = dict(raw[name])
            if "fallback" in values:
                values["fallback"] = build(values["fallback"])
            built[name] = Storage(id=name, **values)
        return built[name]

    return {name: build(name) for name in raw}


def _rule(values: Mapping[str, Any], groups: Mapping[str, list[str]]) -> dict[str, Any]:
    storages = _storages()
    rule = dict(values)
    rule["roles"] = _expand(rule["roles"], groups)
    for key in ("storage", "fallback"):
        if key in rule:
            rule[key] = storages[rule[key]]
    return rule


@cache
def _weight_formats() -> dict[str, WeightFormat]:
    tables = _read("formats.toml")
    groups = tables["groups"]
    found: dict[str, WeightFormat] = {}
    for values in tables["format"]:
        fields = dict(values)
        fields["rest"] = _storages()[fields["rest"]]
        fields["rules"] = tuple(_rule(rule, groups) for rule in fields.get("rules", ()))
        found[fields["id"]] = WeightFormat(**fields)
    return found


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
