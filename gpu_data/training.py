"""Loads the training tables from TOML into frozen types, and the labels people write for their rows."""

from __future__ import annotations

import csv
import json
import re
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from gpu_data.training_schemas import (
    Constant,
    Framework,
    MatmulCeiling,
    Optimizer,
    Precision,
    PublishedConfig,
    TrainingBand,
    TrainingTables,
)

FOLDER = Path(__file__).parent
RUNS_PATH = FOLDER / "training_runs.csv"  # measured and published training runs, each with its source
FINETUNE_PATH = FOLDER / "finetune_memory.csv"  # measured peaks of fine-tuning
Row = TypeVar("Row", Precision, Optimizer, Framework)


def _read(name: str) -> dict[str, Any]:
    return tomllib.loads((FOLDER / name).read_text(encoding="utf-8"))


@cache
def training_runs() -> tuple[Mapping[str, str], ...]:
    """Measured and published training runs as tabled: `kind` says which, `source_url` where from."""
    return _rows(RUNS_PATH)


@cache
def finetune_runs() -> tuple[Mapping[str, str], ...]:
    """Measured peaks of fine-tuning as their table has them; `unit_as_reported` is the unit of the peak."""
    return _rows(FINETUNE_PATH)


def _rows(path: Path) -> tuple[Mapping[str, str], ...]:
    with path.open(encoding="utf-8", newline="") as file:
        return tuple(csv.DictReader(file))


@cache
def training_tables() -> TrainingTables:
    """All tables, read once per process."""
    tables = _read("training.toml")
    return TrainingTables(
        precisions={row["id"]: Precision(**row) for row in tables["precision"]},
        optimizers={row["id"]: Optimizer(**row) for row in tables["optimizer"]},
        frameworks={row["id"]: Framework(**row) for row in tables["framework"]},
        constants={name: Constant(**row) for name, row in tables["constant"].items()},
        lora_targets={name: tuple(roles) for name, roles in tables["lora_targets"].items()},
        bands={row["quantity"]: TrainingBand(**row) for row in _read("training_bands.toml")["band"]},
        ceilings=tuple(MatmulCeiling(**row) for row in _read("matmul_ceilings.toml")["ceiling"]),
    )


def _named(rows: Mapping[str, Row], text: str) -> Row | None:
    """The first row one of whose patterns is found in a text."""
    lowered = text.lower()
    for row in rows.values():
        if any(re.search(pattern, lowered) for pattern in row.matches):
            return row
    return None


def precision_named(text: str) -> Precision | None:
    """The number format a text means ("bf16-mixed", "bf16 params/fp32 master"), None when it is unknown."""
    return _named(training_tables().precisions, text)


def optimizer_named(text: str) -> Optimizer | None:
    """The optimiser a text means ("adamw_bnb_8bit"), None when it is unknown."""
    return _named(training_tables().optimizers, text)


def framework_named(text: str) -> Framework | None:
    """The training stack a source or note names, None when it names none."""
    return _named(training_tables().frameworks, text)


@cache
def _published_configs() -> tuple[PublishedConfig, ...]:
    return tuple(PublishedConfig(**row) for row in _read("training_configs.toml")["config"])


def published_config(text: str, source: str = "") -> PublishedConfig | None:
    """The published configuration that a note names ("config phi-2/full.yaml"), None when it names none.

    Where several have the name, `source` must contain the folder.
    """
    words = set(re.split(r"[\s;,]+", text))
    found = [c for c in _published_configs() if c.name in words]
    if len(found) > 1:
        found = [c for c in found if c.folder and c.folder in source]
    return found[0] if len(found) == 1 else None


@cache
def model_aliases() -> Mapping[str, str]:
    """Names in published training tables -> id of the catalogue's model of the same architecture."""
    return dict(_read("training.toml")["model_aliases"])


@cache
def _training_models() -> Mapping[str, Mapping[str, Any]]:
    return json.loads((FOLDER / "training_models.json").read_text(encoding="utf-8"))


def training_model_names() -> tuple[str, ...]:
    """Names of models known from published training tables only, not in the catalogue."""
    return tuple(_training_models())


def training_model_config(name: str) -> dict[str, Any]:
    """The config of one of them in Hugging Face form, with `_source`. Raises KeyError naming it."""
    try:
        return dict(_training_models()[name])
    except KeyError:
        raise KeyError(f"no training model named {name!r}") from None
