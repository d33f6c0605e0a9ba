"""Everything below the verdict of a fine-tune or training run as one component; elements cost redraws."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pages.ui import mounted, report

_FOLDER = Path(__file__).parent
_KEY = "training-report"


def _text(name: str) -> str:
    return (_FOLDER / name).read_text(encoding="utf-8")


_component = mounted.component(
    "training_report",
    html=_text("training_report.html"),
    css="\n".join((report.CSS, _text("training_report.css"))),
    js="\n".join((report.SCRIPT, _text("training_report.js"))),
)


def draw(data: Mapping[str, Any], pressed: Mapping[str, Callable[[Any], None]]) -> None:
    """Mount the report.

    `pressed` says what happens when a change is applied ("apply", a GPU's id) or another GPU is shown in
    detail ("detail", {gpu}).
    """

    _component(key=_KEY, data=data, told=pressed)
