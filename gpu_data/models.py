"""The model catalogue: rows of `gpu_data/models/*.toml` and the `config.json` beside each.

Rows are read once per process and configs only when asked for. Nothing is validated at the start of the
app; `gpu_data.model_checks` does that in the tests.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

from gpu_data.model_schemas import Model

FOLDER = Path(__file__).parent / "models"
LABEL_COLUMNS = tuple(name for name in Model.model_fields if name not in {"id", "source_disagreements"})


class UnknownModel(LookupError):
    """No model of this id in the catalogue."""

    def __init__(self, model_id: str):
        super().__init__(f"model: no model named {model_id!r} in the catalogue")
        self.model_id = model_id


@cache
def _rows() -> Mapping[str, dict[str, Any]]:
    """Every row by id, families in file order; each row also carries its file's `family`."""
    rows: dict[str, dict[str, Any]] = {}
    for path in sorted(FOLDER.glob("*.toml")):
        table = tomllib.loads(path.read_text(encoding="utf-8"))
        for row in table["model"]:
            rows[row["id"]] = {"family": table["family"], **row}
    return rows


def model_ids() -> list[str]:
    """Ids of all models, family by family."""
    return list(_rows())


@cache
def model(model_id: str) -> Model:
    """One model's labels. Raises `UnknownModel`."""
    if model_id not in _rows():
        raise UnknownModel(model_id)
    return Model.model_validate(_rows()[model_id])


def model_config(model_id: str) -> dict[str, Any]:
    """The model's `config.json`, a fresh copy on every call. Raises `UnknownModel`."""
    if model_id not in _rows():
        raise UnknownModel(model_id)
    return json.loads((FOLDER / f"{model_id}.json").read_text(encoding="utf-8"))


@cache
def _frame() -> pd.DataFrame:
    models = [model(model_id) for model_id in model_ids()]
    columns: dict[str, Any] = {name: [getattr(m, name) for m in models] for name in LABEL_COLUMNS}
    columns["sources"] = [m.source for m in models]
    columns["search_text"] = [m.search_text for m in models]
    frame = pd.DataFrame(columns, index=pd.Index(model_ids(), name="model_id"))
    return frame.astype({name: "boolean" if name == "gated" else "string" for name in frame.columns})


def model_frame() -> pd.DataFrame:
    """One row per model, index `model_id`: the labels of `Model` and `search_text`.

    All columns are `string` except `gated` (`boolean`); `sources` is joined to one line; missing is NA.
    Sizes and caches are not here: they are computed from the config.
    """
    return _frame().copy(deep=False)
