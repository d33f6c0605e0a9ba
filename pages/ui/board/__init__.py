"""A page's answer as one component: texts, charts and tables in a column.

Streamlit redraws every element of a page on every change, and its charts and data tables each take longer
than the rest of a page; a board is one element, keeps what did not change, and draws with plain HTML and SVG.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from pages.ui import mounted, plain_table

_FOLDER = Path(__file__).parent
Part = dict[str, Any]
Span = str | dict[str, str]


def _text(name: str) -> str:
    return (_FOLDER / name).read_text(encoding="utf-8")


_component = mounted.component(
    "board",
    html='<div class="board"></div>',
    css="\n".join((plain_table.CSS, *map(_text, ("board.css", "chart.css", "sheet.css")))),
    js="\n".join(
        (plain_table.SCRIPT, *map(_text, ("rows.js", "plane.js", "sheet.js", "board.js"))),
    ),
)


def bold(text: str) -> Span:
    """A part of a line that stands out."""
    return {"bold": text}


def code(text: str) -> Span:
    """A part of a line that is written as in a program."""
    return {"code": text}


def link(text: str, address: str) -> Span:
    """A part of a line that leads to a web address; anything else is plain text."""
    return {"link": text, "to": address} if address.startswith("https://") else text


def text(*lines: str | Sequence[Span], look: str = "plain") -> Part:
    """Paragraphs. `look`: plain, small, list (with bullets) or notice."""
    return {
        "kind": "text",
        "look": look,
        "lines": [[line] if isinstance(line, str) else list(line) for line in lines],
    }


def heading(words: str) -> Part:
    """A heading of a part of the page."""
    return {"kind": "heading", "text": words}


def numbers(frame: pd.DataFrame) -> Part:
    """A small frame of texts as a table; its index names the rows."""
    titles = [str(frame.index.name), *map(str, frame.columns)]
    lines = [[str(name), *map(str, row)] for name, row in zip(frame.index, frame.to_numpy(), strict=True)]
    return {"kind": "table", **plain_table.table("", titles, lines)}


def table(caption: str, titles: Sequence[str], lines: Sequence[Sequence[str]]) -> Part:
    """Rows of words; the first cell names its row."""
    return {"kind": "table", **plain_table.table(caption, titles, lines)}


def fold(key: str, title: str, *parts: Part) -> Part:
    """Parts behind a line that opens them; the browser keeps whether it is open under `key`."""
    return {"kind": "fold", "id": key, "title": title, "parts": list(parts)}


def buttons(*pressed: tuple[str, str]) -> Part:
    """Buttons: (id, label)."""
    return {"kind": "buttons", "buttons": [list(one) for one in pressed]}


def draw(key: str, parts: Sequence[Part], pressed: Mapping[str, Callable[[Any], None]] | None = None) -> None:
    """Mount the board.

    `pressed` says what happens when a cell of a sheet ("cell", {sheet, row, column} by their ids) or a button
    ("button", its id) is pressed.
    """
    _component(key=key, data={"parts": list(parts)}, told=pressed or {})
