"""Exports read back: the same figures, every one with its sources, nothing unknown turned into zero."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from typing import Any
from xml.etree import ElementTree

import pandas as pd
import pytest

from gpu_data import GPU_COLUMNS, spec_frame
from pages.ui.compare_select import Filters, choose
from pages.ui.export import FORMATS, Export, to_csv, to_excel, to_json

NAMESPACE = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"


@pytest.fixture(scope="module")
def export() -> Export:
    return Export(choose(("l40s-48gb", "mi350p-144gb"), Filters(pinned_only=True)).rows, "compare?only=1")


def sheet(book: bytes, number: int) -> list[list[Any]]:
    """One sheet of a workbook as rows of values, None where the cell is empty."""
    with zipfile.ZipFile(io.BytesIO(book)) as archive:
        texts = [
            "".join(t.text or "" for t in item.iter(f"{NAMESPACE}t"))
            for item in ElementTree.fromstring(archive.read("xl/sharedStrings.xml"))
        ]
        rows = []
        for row in ElementTree.fromstring(archive.read(f"xl/worksheets/sheet{number}.xml")).iter(
            f"{NAMESPACE}row"
        ):
            values: dict[str, Any] = {}
            for cell in row:
                raw = cell.findtext(f"{NAMESPACE}v")
                column = "".join(c for c in cell.get("r", "") if c.isalpha())
                if raw is not None:
                    values[column] = texts[int(raw)] if cell.get("t") == "s" else float(raw)
            rows.append(values)
    columns = list(dict.fromkeys(c for row in rows for c in row))
    return [[row.get(c) for c in columns] for row in rows]


def test_csv_holds_each_figure_beside_its_sources(export: Export) -> None:
    rows = list(csv.DictReader(io.StringIO(to_csv(export).decode("utf-8-sig"))))
    assert [row["gpu_id"] for row in rows] == ["l40s-48gb", "mi350p-144gb"]
    truth = spec_frame()
    for row in rows:
        for column in GPU_COLUMNS:
            value = truth.at[row["gpu_id"], column]
            if pd.isna(value):
                assert row[column] == ""
                assert row[f"{column}__sources"] == ""
            else:
                assert row[column] == str(value)
                assert row[f"{column}__sources"], (row["gpu_id"], column)
    assert "data" in rows[0]["bandwidth_gb_per_s__sources"].lower()


def test_json_reads_back(export: Export) -> None:
    document = json.loads(to_json(export))
    assert document["link"] == "compare?only=1"
    l40s, mi350p = document["gpus"]
    figure = l40s["figures"]["bandwidth_gb_per_s"]
    assert (figure["value"], figure["unit"]) == (864, "GB/s")
    assert all({"source_title", "verified_by", "evidence"} <= set(source) for source in figure["sources"])
    assert "bandwidth_gb_per_s" not in mi350p["figures"]
    assert all(figure["sources"] for gpu in document["gpus"] for figure in gpu["figures"].values())


def test_excel_has_cards_and_sources_on_two_sheets(export: Export) -> None:
    book = to_excel(export)
    cards, sources = sheet(book, 1), sheet(book, 2)
    header = cards[0]
    assert header[0] == "Id"
    assert set(header[1:]) == {column.title for column in GPU_COLUMNS.values()}
    row = dict(zip(header, cards[1], strict=True))
    assert row["Memory bandwidth (GB/s)"] == 864
    assert dict(zip(header, cards[2], strict=True))["Memory bandwidth (GB/s)"] is None
    assert len(sources) - 1 == len(export.sources())
    assert sources[0][:4] == ["gpu_id", "field", "value", "source_title"]


def test_sources_follow_the_order_of_the_rows(export: Export) -> None:
    ids = list(dict.fromkeys(export.sources()["gpu_id"]))
    assert ids == ["l40s-48gb", "mi350p-144gb"]


@pytest.mark.parametrize("ending", list(FORMATS))
def test_nothing_chosen_still_makes_a_file(ending: str) -> None:
    empty = Export(choose((), Filters(pinned_only=True)).rows, "")
    assert FORMATS[ending][2](empty)
