"""Loads engine parameter sets and error bands from their TOML tables into frozen types."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

from gpu_data.engine_schemas import Engine, ErrorBand, NoBackend, VersionRule

FOLDER = Path(__file__).parent


def _read(name: str) -> dict[str, Any]:
    return tomllib.loads((FOLDER / name).read_text(encoding="utf-8"))


@cache
def _engines() -> dict[str, Engine]:
    tables = _read("engines.toml")
    shared, batches = tables.get("shared", {}), tables.get("batch_defaults", {})
    found: dict[str, Engine] = {}
    for row in tables["engine"]:
        fields = dict(row)
        # "family.name" stands for the parameter `name` as that family has it.
        common = {name.rsplit(".", 1)[-1]: shared[name] for name in fields.pop("shared", [])}
        fields["parameters"] = common | fields.get("parameters", {})
        if isinstance(fields.get("batch_defaults"), str):
            fields["batch_defaults"] = batches[fields["batch_defaults"]]
        found[fields["id"]] = Engine(**fields)
    return found


def engines() -> tuple[Engine, ...]:
    """All parameter sets, in the order of the table."""
    return tuple(_engines().values())


def engine(engine_id: str) -> Engine:
    """The parameter set of this id.

    Raises KeyError naming the id when there is none.
    """
    try:
        return _engines()[engine_id]
    except KeyError:
        raise KeyError(f"unknown engine {engine_id!r}; known: {', '.join(_engines())}") from None


@cache
def _without_backend() -> dict[tuple[str, str], NoBackend]:
    rows = [NoBackend(**row) for row in _read("engines.toml")["no_backend"]]
    return {(one, vendor): row for row in rows for one in row.algorithms for vendor in row.vendors}


def no_backend(algorithm: str, vendor: str) -> NoBackend | None:
    """Why an engine does not run on the GPUs of a vendor; None when it does."""
    return _without_backend().get((algorithm, vendor))


def version_numbers(text: str) -> tuple[int, ...]:
    """The first version number in a text: "0.8.5.post1" -> (0, 8, 5); "1691 (7082d24)" -> (1691,)."""
    found = re.search(r"\d+(?:\.\d+)*", text)
    return tuple(int(part) for part in found.group().split(".")) if found else ()


def _selects(rule: VersionRule, name: str, version: str) -> bool:
    if not re.search(rule.engine, name):
        return False
    if rule.version and not re.search(rule.version, version):
        return False
    if rule.below is None:
        return True
    numbers = version_numbers(version)
    return bool(numbers) and numbers < rule.below


def engine_for(name: str, version: str = "") -> tuple[Engine | None, str]:
    """The parameter set for an engine name and version as people write them.

    Returns (set, assumption): the first set of the table with a matching rule, and what had to be assumed
    ("" when nothing). (None, reason) when no rule matches the name.
    """
    lowered, version_text = name.strip().lower(), version.strip().lower()
    for found in engines():
        for rule in found.matches:
            if _selects(rule, lowered, version_text):
                assumed = (
                    "" if version_text or len(found.matches) == 0 else f"version not given: {found.versions}"
                )
                return found, assumed
    return None, f"engine: {name!r} is none of the engines known ({', '.join(e.label for e in engines())})"


@cache
def _bands() -> dict[str, ErrorBand]:
    return {row["family"]: ErrorBand(**row) for row in _read("error_bands.toml")["band"]}


def error_band(family: str) -> ErrorBand:
    """The error band of an engine family, or the fallback over all measured rows."""
    bands = _bands()
    return bands.get(family, bands["all"])
