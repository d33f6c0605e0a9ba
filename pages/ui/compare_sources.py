"""Where a number of the Compare page comes from: the provenance of one cell, or of a whole card."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import pandas as pd

from gpu_data import GPU_COLUMNS, provenance_frame, spec_frame
from pages.ui.compare_table import UNGROUPED_NUMBERS, TableColumn
from pages.ui.compare_text import number

VERIFIED: Final = {
    "datasheet": "from the vendor's data sheet or documentation",
    "whitepaper": "from a vendor white paper",
    "secondary": "from a secondary source",
    "arithmetic": "computed from other figures",
    "label": "as this project files the card",
    "assumption": "an assumption of this project",
}


@dataclass(frozen=True)
class Origin:
    """One source of one figure; `url` is None when the address was not kept."""

    field: str
    value: str
    title: str
    url: str | None
    verified_by: str
    evidence: str
    formula: str | None
    note: str | None


@dataclass(frozen=True)
class Cell:
    """What there is to say about one cell: the card, the column, how it was computed, and its sources."""

    gpu: str
    title: str
    help: str
    formula: str | None
    origins: tuple[Origin, ...]
    notes: str | None


@cache
def _by_gpu() -> dict[str, pd.DataFrame]:
    """The provenance frame cut by card, so that one look-up does not search five thousand rows."""
    return {str(gpu): part for gpu, part in provenance_frame().groupby("gpu_id", sort=False)}


@cache
def _by_cell() -> dict[tuple[str, str], list[dict[str, Any]]]:
    """The provenance of every cell by card and field."""
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in provenance_frame().to_dict("records"):
        found.setdefault((str(row["gpu_id"]), str(row["field"])), []).append(row)
    return found


def origins(gpu_id: str, fields: Sequence[str]) -> tuple[Origin, ...]:
    """Every source of those fields of a card, in the order of the fields."""
    found = []
    for field in fields:
        for row in _by_cell().get((gpu_id, field), ()):
            notes = [_text(row["note"]), _text(row["source_note"])]
            found.append(
                Origin(
                    GPU_COLUMNS[field].title,
                    value_text(row["value"], field),
                    str(row["source_title"]),
                    _text(row["source_url"]),
                    VERIFIED.get(str(row["verified_by"]), str(row["verified_by"])),
                    str(row["evidence"]),
                    _text(row["formula"]),
                    "; ".join(note for note in notes if note) or None,
                )
            )
    return tuple(found)


def cell(gpu_id: str, column: TableColumn) -> Cell:
    """One cell's origins: of the figure itself, or of all figures it was computed from."""
    card = spec_frame().loc[gpu_id]
    return Cell(
        str(card["name"]),
        column.title,
        column.help,
        column.formula,
        origins(gpu_id, column.fields),
        _text(card["notes"]),
    )


def card(gpu_id: str) -> pd.DataFrame:
    """Every figure of a card with its sources, one row per figure and source, for a table."""
    rows = _by_gpu()[gpu_id]
    labels = [GPU_COLUMNS[field].title for field in rows["field"]]
    return pd.DataFrame(
        {
            "Figure": labels,
            "Value": [
                value_text(value, str(field))
                for value, field in zip(rows["value"], rows["field"], strict=True)
            ],
            "Source": rows["source_title"].to_numpy(),
            "Link": rows["source_url"].to_numpy(dtype=object, na_value=None),
            "How verified": [VERIFIED.get(str(v), str(v)) for v in rows["verified_by"]],
            "Evidence": rows["evidence"].to_numpy(),
            "Formula": rows["formula"].to_numpy(dtype=object, na_value=None),
            "Note": rows["note"].fillna(rows["source_note"]).to_numpy(dtype=object, na_value=None),
        }
    )


def card_notes(gpu_id: str) -> str | None:
    """What a buyer must know about the card."""
    return _text(spec_frame().at[gpu_id, "notes"])


def value_text(value: object, field: str = "") -> str:
    """A value of any type as text; numbers with their thousands separated, but not years and the like."""
    if field in UNGROUPED_NUMBERS and not isinstance(value, bool) and isinstance(value, int | float):
        return f"{value:g}"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return f"{value:,}" if isinstance(value, int) else number(value) if value < 1000 else f"{value:,g}"
    return str(value)


def _text(value: object) -> str | None:
    return None if pd.isna(value) else str(value)
