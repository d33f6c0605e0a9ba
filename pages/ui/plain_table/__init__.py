"""A table of words that a phone can show: where it is narrow each row is a card, nothing scrolls sideways."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pages.ui import glossary, mounted

_FOLDER = Path(__file__).parent
HTML = (
    '<div class="plain"><table>\n<caption></caption><thead></thead><tbody></tbody></table>'
    '<ul class="notes"></ul></div>'
)
CSS = (_FOLDER / "plain_table.css").read_text(encoding="utf-8")
SCRIPT = (_FOLDER / "plain_table.js").read_text(encoding="utf-8")  # defines plainTable(root, data)

_component = mounted.component(
    "plain_table",
    html=HTML,
    css=CSS,
    js=f"{SCRIPT}\nconst mount = ({{ parentElement, data }}) => plainTable(parentElement, data);",
)


def table(
    caption: str, titles: Sequence[str], rows: Sequence[Sequence[str]], notes: Sequence[str] = ()
) -> dict[str, Any]:
    """What the browser takes; the first cell of a row names it, `notes` stand below as a list.

    A title that the glossary knows has its sentence as a tooltip.
    """
    hints = [glossary.of_column(title) or "" for title in titles]
    return {"caption": caption, "titles": titles, "hints": hints, "rows": rows, "notes": notes}


def draw(
    key: str, caption: str, titles: Sequence[str], rows: Sequence[Sequence[str]], notes: Sequence[str] = ()
) -> None:
    """Mount the table as an element of its own."""
    _component(key=key, data=table(caption, titles, rows, notes))
