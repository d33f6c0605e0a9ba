"""Checks of the model catalogue, for the tests and for people who edit the files by hand."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

from pydantic import ValidationError

from gpu_data.model_schemas import Model
from gpu_data.models import FOLDER


def check_models(folder: Path = FOLDER) -> list[str]:
    """Everything wrong with a catalogue folder, one line each: file, row and field, and what is wrong.

    Checks the schema of every row, ids (unique, and the name of exactly one config file) and every config
    (strict JSON, an object with a `model_type`). An empty list means the folder is sound.
    """
    problems: list[str] = []
    seen: dict[str, str] = {}
    for path in sorted(folder.glob("*.toml")):
        try:
            table = tomllib.loads(path.read_text(encoding="utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            problems.append(f"{path.name}: not TOML: {error}")
            continue
        problems += [f"{path.name}: {key}: unknown key" for key in table if key not in {"family", "model"}]
        rows = table.get("model")
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            problems.append(f"{path.name}: model: write each row as a [[model]] table")
            continue
        for number, row in enumerate(rows, start=1):
            where = f"{path.name}: row {number} ({row.get('id', 'no id')})"
            problems += [f"{where}: {problem}" for problem in _row_problems(table.get("family"), row)]
            row_id = row.get("id")
            if not isinstance(row_id, str):
                continue
            if row_id in seen:
                problems.append(f"{where}: id: already used by {seen[row_id]}")
            else:
                problems += [f"{where}: {problem}" for problem in _config_problems(folder, row)]
            seen.setdefault(row_id, f"{path.name} row {number}")
    problems += [
        f"{path.name}: id: no row named {path.stem!r} in any TOML file"
        for path in sorted(folder.glob("*.json"))
        if path.stem not in seen
    ]
    return problems


def _row_problems(family: object, row: dict[str, Any]) -> Iterator[str]:
    """What the schema says against one row, as `field: message`."""
    if "family" in row:
        yield "family: belongs at the top of the file, once for all rows"
    try:
        Model.model_validate({"family": family, **row})
    except ValidationError as error:
        for item in error.errors():
            field = ".".join(str(part) for part in item["loc"])
            yield f"{field}: {item['msg']} (found {item['input']!r:.60})"


def _config_problems(folder: Path, row: dict[str, Any]) -> Iterator[str]:
    """What is wrong with the config file of one row, as `file: message`."""
    path = folder / f"{row['id']}.json"
    if not path.is_file():
        yield f"id: no config file {path.name}"
        return
    try:
        config = json.loads(
            path.read_text(encoding="utf-8"), parse_constant=_no_constant, object_pairs_hook=_no_twins
        )
    except ValueError as error:
        yield f"{path.name}: not strict JSON: {error}"
        return
    if not isinstance(config, dict):
        yield f"{path.name}: is a {type(config).__name__}, not an object"
        return
    if not isinstance(config.get("model_type"), str):
        yield f"{path.name}: model_type: missing"
        return
    if "vision_config" in config and row.get("kind") != "vision-language":
        yield f"kind: {path.name} has a vision_config, so the kind is 'vision-language'"
    text = config.get("text_config")
    parts = [config, text] if isinstance(text, dict) else [config]
    quantised = any(part.get("quantization_config") for part in parts)
    if quantised != (row.get("native_weight_dtype") != "bf16"):
        says = "a" if quantised else "no"
        yield f"native_weight_dtype: {path.name} has {says} quantization_config"


def _no_constant(token: str) -> NoReturn:
    raise ValueError(f"{token} is no number in JSON")


def _no_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    keys = [key for key, _ in pairs]
    if len(keys) != len(set(keys)):
        raise ValueError(f"key {next(k for k in keys if keys.count(k) > 1)!r} is given twice")
    return dict(pairs)
