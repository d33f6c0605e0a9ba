"""The chosen cards as a file: CSV, Excel or JSON, every figure with its sources.

Raw figures, never multiples of a baseline; a missing figure is an empty cell or absent key, never 0.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pandas as pd

from gpu_data import GPU_COLUMNS, provenance_frame

ABOUT: Final = (
    "Tensor peaks are dense and with FP32 accumulate unless the name says otherwise.",
    "An empty cell means that no published figure is known; it is never 0.",
    "Memory label is what the box says; usable bytes are what a program can get on one GPU.",
)
SOURCE_COLUMNS: Final = (
    "gpu_id",
    "field",
    "value",
    "source_title",
    "source_url",
    "verified_by",
    "evidence",
    "formula",
    "note",
    "source_note",
)


@dataclass(frozen=True)
class Export:
    """What goes into a file: rows of the spec frame and the address that reopens the same view."""

    rows: pd.DataFrame
    link: str

    def sources(self) -> pd.DataFrame:
        """The provenance of these rows, in the order of the rows and of the columns."""
        frame = provenance_frame()
        frame = frame[frame["gpu_id"].isin(list(self.rows.index)) & frame["field"].isin(list(GPU_COLUMNS))]
        place = {gpu: i for i, gpu in enumerate(self.rows.index)}
        order = {field: i for i, field in enumerate(GPU_COLUMNS)}
        keys = [(place[g], order[f]) for g, f in zip(frame["gpu_id"], frame["field"], strict=True)]
        return frame.iloc[sorted(range(len(keys)), key=keys.__getitem__)]


def to_csv(export: Export) -> bytes:
    """One row per card; beside each figure a column `<figure>__sources`. UTF-8 with a byte order mark."""
    named = _sources_by_cell(export)
    header = ["gpu_id"]
    for column in GPU_COLUMNS:
        header += [column, f"{column}__sources"]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(header)
    for gpu_id, cells in _cells(export.rows):
        row: list[Any] = [gpu_id]
        for column, value in cells.items():
            row += [
                "" if value is None else value,
                "; ".join(_name(source) for source in named.get((gpu_id, column), ())),
            ]
        writer.writerow(row)
    return b"\xef\xbb\xbf" + text.getvalue().encode()


def to_json(export: Export) -> bytes:
    """`{"about", "link", "columns", "gpus"}`; each figure of a card has value, unit and sources."""
    named = _sources_by_cell(export)
    gpus = []
    for gpu_id, cells in _cells(export.rows):
        figures = {
            column: {
                "value": value,
                "unit": GPU_COLUMNS[column].unit,
                "sources": named.get((gpu_id, column), []),
            }
            for column, value in cells.items()
            if value is not None
        }
        gpus.append({"id": gpu_id, "figures": figures})
    columns = {
        name: {"label": c.label, "unit": c.unit, "group": c.group, "help": c.help}
        for name, c in GPU_COLUMNS.items()
    }
    document = {"about": list(ABOUT), "link": export.link, "columns": columns, "gpus": gpus}
    return json.dumps(document, indent=1, ensure_ascii=False).encode()


def to_excel(export: Export) -> bytes:
    """A workbook of three sheets: the cards, one row per figure and source, and what both mean."""
    import xlsxwriter  # only when somebody asks for a workbook

    stream = io.BytesIO()
    options = {"in_memory": True, "strings_to_formulas": False, "strings_to_urls": False}
    with xlsxwriter.Workbook(stream, options) as book:
        bold = book.add_format({"bold": True, "text_wrap": True, "valign": "top"})
        cards = book.add_worksheet("GPUs")
        header = ["Id", *(column.title for column in GPU_COLUMNS.values())]
        rows = [[gpu_id, *cells.values()] for gpu_id, cells in _cells(export.rows)]
        _write(cards, header, rows, bold)
        cards.freeze_panes(1, 2)
        cards.set_column(1, 1, 40)
        sources = book.add_worksheet("Sources")
        frame = export.sources()
        lines = [[_plain(value) for value in line] for line in frame[list(SOURCE_COLUMNS)].to_numpy(object)]
        _write(sources, list(SOURCE_COLUMNS), lines, bold)
        sources.freeze_panes(1, 2)
        sources.set_column(0, 9, 22)
        about = book.add_worksheet("About")
        about.set_column(0, 0, 100)
        for i, line in enumerate([*ABOUT, f"This view: {export.link}"]):
            about.write_string(i, 0, line)
    return stream.getvalue()


FORMATS: Final = {
    "csv": ("CSV", "text/csv", to_csv),
    "xlsx": ("Excel", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", to_excel),
    "json": ("JSON", "application/json", to_json),
}


def _write(sheet: Any, header: Sequence[str], rows: Sequence[Sequence[Any]], bold: Any) -> None:
    for j, title in enumerate(header):
        sheet.write_string(0, j, title, bold)
    for i, row in enumerate(rows, start=1):
        for j, value in enumerate(row):
            if isinstance(value, bool):
                sheet.write_boolean(i, j, value)
            elif isinstance(value, int | float):
                sheet.write_number(i, j, value)
            elif value is not None:
                sheet.write_string(i, j, str(value))
    sheet.autofilter(0, 0, max(len(rows), 1), len(header) - 1)


def _cells(rows: pd.DataFrame) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each card's figures as plain Python values, None where nothing is known."""
    table = rows[list(GPU_COLUMNS)].to_numpy(dtype=object)
    for gpu_id, values in zip(rows.index, table, strict=True):
        yield str(gpu_id), dict(zip(GPU_COLUMNS, map(_plain, values), strict=True))


def _sources_by_cell(export: Export) -> dict[tuple[str, str], list[dict[str, Any]]]:
    named: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for line in export.sources()[list(SOURCE_COLUMNS)].to_dict("records"):
        source = {key: _plain(line[key]) for key in SOURCE_COLUMNS[3:]}
        known = {key: value for key, value in source.items() if value is not None}
        named.setdefault((line["gpu_id"], line["field"]), []).append(known)
    return named


def _name(source: dict[str, Any]) -> str:
    """A source in one line: title, address, formula, and how it was verified."""
    parts = [source["source_title"], source.get("source_url"), source.get("formula")]
    return f"{' '.join(str(part) for part in parts if part)} [{source['verified_by']}, {source['evidence']}]"


def _plain(value: Any) -> Any:
    """A value of a frame as Python's own type; None where nothing is known."""
    if pd.isna(value):
        return None
    return value.item() if hasattr(value, "item") else value
