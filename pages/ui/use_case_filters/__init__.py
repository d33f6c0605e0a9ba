"""The filters of the Use cases page, and a sentence and a chart of what they leave, as one component.

The component shows a press at once and sends the whole choice of that group, numbered; until the number comes
back it keeps what the reader pressed, so that quick presses never undo each other.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import streamlit as st

from calculators.scenario import FIRST_USE_YEAR, LAST_USE_YEAR, Scenario
from pages.ui import glossary, link, mounted, plain_table, state
from pages.ui.use_cases_choices import GROUPS, YEARS

_FOLDER = Path(__file__).parent
_KEY = "use-case-filters"
_SEEN = "_use_case_filters_seen"

_component = mounted.component(
    "use_case_filters",
    html=(
        '<div class="filters"><details><summary></summary><div class="groups"></div></details>'
        '<p data-sentence aria-live="polite"></p><div class="chart" role="img"></div></div>'
    ),
    css=(_FOLDER / "use_case_filters.css").read_text(encoding="utf-8"),
    js=f"{plain_table.SCRIPT}\n{(_FOLDER / 'use_case_filters.js').read_text(encoding='utf-8')}",
)


def taken(field: str, value: Any) -> dict[str, Any]:
    """The fields of the Scenario that a press changes; none where it is not one that the page offers."""
    if field in YEARS and isinstance(value, int | float):
        fields: dict[str, Any] = {field: int(value)}
    elif field in GROUPS and isinstance(value, list):
        fields = {field: tuple(key for key in GROUPS[field][1]() if key in value)}
    elif field == "all":
        fields = {name: link.BY_FIELD[name].default for name in (*GROUPS, *YEARS)}
    else:
        return {}
    return fields if all(link.takes(name, one) for name, one in fields.items()) else {}


def _filtered(sent: Any) -> None:
    st.session_state[_SEEN] = sent.get("at")
    if fields := taken(sent.get("field", ""), sent.get("value")):
        state.put(**fields)


def groups(scenario: Scenario) -> list[dict[str, Any]]:
    """The groups of choices as the browser takes them."""
    return [
        {
            "field": field,
            "label": label,
            "hint": glossary.FIELDS[field],
            "options": list(options().items()),
            "chosen": list(getattr(scenario, field)),
        }
        for field, (label, options) in GROUPS.items()
    ]


def draw(
    scenario: Scenario,
    sentence: str,
    chart: Mapping[str, Any] | None,
    alt: str,
    meanings: Mapping[str, str],
) -> None:
    """Mount the filters, the sentence and the chart."""
    _component(
        key=_KEY,
        data={
            "groups": groups(scenario),
            "years": {field: getattr(scenario, field) for field in YEARS},
            "span": [FIRST_USE_YEAR, LAST_USE_YEAR],
            "yearHint": glossary.FIELDS["use_since"],
            "meanings": meanings,
            "sentence": sentence,
            "chart": chart,
            "alt": alt,
            "seen": st.session_state.get(_SEEN),
            "session": state.session(),
        },
        told={"filter": _filtered},
    )
