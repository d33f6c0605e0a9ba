"""Everything below the verdict of the Fit page as one component: each element costs a redraw."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pages.ui import mounted, plain_table

_FOLDER = Path(__file__).parent
_KEY = "report"


def _text(name: str) -> str:
    return (_FOLDER / name).read_text(encoding="utf-8")


CSS = "\n".join((_text("report.css"), plain_table.CSS))
SCRIPT = "\n".join((plain_table.SCRIPT, _text("parts.js")))  # defines changes, choices and what they need

_component = mounted.component(
    "report",
    html=_text("report.html"),
    css="\n".join((CSS, _text("grid.css"))),
    js="\n".join((SCRIPT, _text("grid.js"), _text("report.js"))),
)


def draw(data: Mapping[str, Any], pressed: Mapping[str, Callable[[Any], None]]) -> None:
    """Mount the report.

    `pressed` says what happens when a change is applied ("apply", a GPU's id), a cell of the matrix
    ("format") or of the map ("place") is pressed ({row, column}), or another GPU is shown in detail
    ("detail", {gpu}).
    """

    _component(key=_KEY, data=data, told=pressed)
