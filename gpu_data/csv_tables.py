"""CSV tables of thousands of dated rows: read into typed frames, and checked row by row.

A TOML file suits a few figures with a source each; measured results and prices are long lists of one shape
where every row carries its own source, so they are plain CSV that a spreadsheet or a text editor can edit.
Reading does not validate; `problems` does, in the tests and for people who edit a file.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pandas as pd
from pydantic import BaseModel, ConfigDict, ValidationError, model_validator


class CsvRow(BaseModel):
    """One row of a CSV table: an empty cell is "not known", never 0."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _empty_is_missing(cls, cells: Any) -> Any:
        if not isinstance(cells, dict):
            return cells
        return {name: cell for name, cell in cells.items() if cell not in ("", None)}


def read(path: Path, row: type[CsvRow]) -> pd.DataFrame:
    """The table as a frame with the schema's columns; dtypes are nullable and a missing cell is NA."""
    dtypes: dict[Any, Any] = {name: _dtype(field.annotation) for name, field in row.model_fields.items()}
    return pd.read_csv(path, dtype=dtypes, keep_default_na=False, na_values=[""], encoding="utf-8")


def problems(path: Path, row: type[CsvRow]) -> Iterator[str]:
    """Every fault of a table, a line each: "file: line 7 (first cell): field: what is wrong"."""
    with path.open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file, strict=True)
        header = reader.fieldnames or []
        wrong = [f"unknown column {name!r}" for name in header if name not in row.model_fields]
        wrong += [f"column {name!r} is missing" for name in row.model_fields if name not in header]
        if wrong:
            yield from (f"{path.name}: line 1: {fault}" for fault in wrong)
            return
        for cells in reader:
            where = f"{path.name}: line {reader.line_num} ({cells[header[0]] or 'empty'})"
            if None in cells or None in cells.values():
                yield f"{where}: has {'more' if None in cells else 'fewer'} cells than the header"
                continue
            try:
                row.model_validate(cells)
            except ValidationError as error:
                for fault in error.errors(include_url=False):
                    field = ".".join(str(part) for part in fault["loc"])
                    message = "missing" if fault["type"] == "missing" else fault["msg"]
                    message = message.removeprefix("Value error, ")
                    found = "" if fault["type"] == "missing" else f" (found {fault['input']!r:.60})"
                    yield ": ".join(
                        part for part in (where, field, message + (found if field else "")) if part
                    )


def _dtype(annotation: Any) -> str:
    """The nullable pandas dtype of a schema field."""
    kinds = {annotation, *get_args(annotation)}
    kinds |= {inner for kind in kinds for inner in get_args(kind)}
    if int in kinds:
        return "Int64"
    return "Float64" if float in kinds else "string"
