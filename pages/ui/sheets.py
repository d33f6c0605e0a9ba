"""Data tables for the board: many rows, sorted and saved in the browser, a page of rows at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd

from pages.ui import glossary


@dataclass(frozen=True)
class Format:
    """How the browser writes a column's numbers: decimals at least and at most, thousands, sign, unit."""

    least: int = 0
    most: int = 3
    grouped: bool = True
    signed: bool = False
    after: str = ""


LOCALIZED: Final = Format()
YEAR: Final = Format(most=0, grouped=False)
TIMES: Final = Format(least=2, most=2, after=" ×")


@dataclass(frozen=True)
class Column:
    """One column: header, how numbers are written (none: text), a sentence about it, its group above.

    `link`: cells hold web addresses, shown as "open"; `wide`: sentences, which take several lines.
    """

    title: str
    format: Format | None = None
    help: str = ""
    group: str = ""
    link: bool = False
    wide: bool = False


def sheet(
    key: str,
    label: str,
    cells: pd.DataFrame | Mapping[str, Any],
    columns: Sequence[Column],
    *,
    ids: tuple[Sequence[str], Sequence[str]] | None = None,
    chosen: tuple[int, int] | None = None,
) -> dict[str, Any]:
    """A frame, or cells by column, as a part of a board; a Column for each in order, the first names the row.

    `ids` of its rows and columns: cells can be pressed, and a press tells what was on the screen by them;
    `chosen` is the place of the one that was, (row, column).
    """
    values = [given for _, given in cells.items()]
    return {
        "kind": "sheet",
        "id": key,
        "label": label,
        "count": len(values[0]),
        "pressed": ids is not None,
        "rowIds": ids and list(ids[0]),
        "columnIds": ids and list(ids[1]),
        "chosen": chosen,
        "columns": [_column(*one) for one in zip(columns, values, strict=True)],
    }


def _column(column: Column, values: Any) -> dict[str, Any]:
    found: dict[str, Any] = {
        "title": column.title,
        "hint": column.help or glossary.of_column(column.title) or "",
        "group": column.group,
        "link": column.link,
        "wide": column.wide,
    }
    if column.format is not None:
        numbers = (
            values.to_numpy(dtype=float, na_value=np.nan)
            if isinstance(values, pd.Series)
            else np.asarray(values, dtype=float)
        )
        known = np.isfinite(numbers).tolist()
        cells = [value if there else None for value, there in zip(numbers.tolist(), known, strict=True)]
        style = column.format
        found["format"] = [style.least, style.most, style.grouped, style.signed, style.after]
        return {**found, "numbers": cells}
    # a table repeats few texts many times: each is sent once
    texts: dict[str, int] = {}
    written = np.asarray(values, dtype=object)
    cells = zip(written.tolist(), pd.notna(written).tolist(), strict=True)
    places = [texts.setdefault(str(cell), len(texts)) if there else -1 for cell, there in cells]
    return {**found, "texts": list(texts), "places": places}
