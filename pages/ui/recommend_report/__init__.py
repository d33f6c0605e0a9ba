"""The Recommend page's form and its report: two components, because each Streamlit element costs a redraw."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pages.ui import mounted, plain_table

_FOLDER = Path(__file__).parent
FORM_KEY, REPORT_KEY = "recommend-form", "recommend-report"


def _text(name: str) -> str:
    return (_FOLDER / name).read_text(encoding="utf-8")


_form = mounted.component(
    "recommend_form",
    html=_text("form.html"),
    css=_text("form.css"),
    js="\n".join((plain_table.SCRIPT, _text("form.js"))),
)
_report = mounted.component(
    "recommend_report",
    html='<div class="recommend">'
    '<div class="chart"><div class="legend"></div><div class="picture"></div></div>'
    f'<div class="parts">{plain_table.HTML}<button type="button" class="more"></button></div></div>',
    css="\n".join((plain_table.CSS, _text("report.css"), _text("chart.css"))),
    js="\n".join((plain_table.SCRIPT, _text("chart.js"), _text("report.js"))),
)


def form(data: Mapping[str, Any], told: Mapping[str, Callable[[Any], None]]) -> None:
    """Mount the form. `told`: what happens when something is "entered" ({field, value}) or a "preset", a
    "purpose", a "view" or a "duel" is pressed ({id}).
    """

    _form(key=FORM_KEY, data=data, told=told)


def report(parts: list[dict[str, Any]], chart: Mapping[str, Any] | None = None) -> None:
    """Mount the report: a chart of `figures_recommend`, then tables with an id, a title and rows shown."""
    _report(key=REPORT_KEY, data={"chart": chart, "parts": parts})
