"""The live part of the Fit page: two scrubbers, numbers, the verdict and the bars, as one component.

The component only looks up what `tracks.build` computed; it sends one value when a thumb is let go or a
number is entered. Each has a state value of its own, so that two in quick succession never replace each
other; what was sent is numbered, and the number comes back, so that none jumps to an answer that is older
than itself.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import streamlit as st

from calculators.scenario import Scenario
from pages.ui import asked, glossary, link, mounted, state, told
from pages.ui.asked import Asked
from pages.ui.fit_numbers import NUMBERS, SCRUBBERS

_FOLDER = Path(__file__).parent
_KEY = "scrubber"
_DRAWN = "_verdict_drawn"

_component = mounted.component(
    "scrubber",
    html=(_FOLDER / "scrubber.html").read_text(encoding="utf-8"),
    css=(_FOLDER / "scrubber.css").read_text(encoding="utf-8"),
    js=(_FOLDER / "scrubber.js").read_text(encoding="utf-8"),
)


def _sent(key: str, field: str) -> dict[str, Any]:
    """What a thumb or number sent last: `value`, and the number `at` of the message."""
    return (st.session_state.get(key) or {}).get(field) or {}


def _moved(key: str, field: str) -> None:
    """A thumb was let go or a number was typed: its value goes to the link."""
    value = _sent(key, field).get("value")
    if isinstance(value, int) and link.takes(field, value):
        state.put(**{field: value})


def _entered(key: str, field: str, one: Asked) -> None:
    """A number was entered: its value goes to the link, or the next answer says why not."""
    typed = _sent(key, field).get("value")
    fields = asked.taken(one, field, typed)
    if fields:
        state.put(**fields)
    else:
        told.keep(asked.refusal(one, field, typed))


def _drawn(_: Any) -> None:
    st.session_state[_DRAWN] = True


def drawn() -> bool:
    """Whether this reader has seen a verdict; until then heavy views wait, to let nothing come before it."""
    return st.session_state.get(_DRAWN, False)


def draw(data: dict[str, Any], scenario: Scenario, key: str = _KEY) -> None:
    """Mount the component with the tracks of this scenario, and the numbers of its task."""
    thumbs, numbers = SCRUBBERS[scenario.task], NUMBERS[scenario.task]
    callbacks: dict[str, Any] = {
        f"on_{field}_change": partial(_moved, key, field) for field in thumbs.values()
    } | {f"on_{field}_change": partial(_entered, key, field, one) for field, one in numbers.items()}
    _component(
        key=key,
        data=data
        | {
            "hints": [glossary.TERMS.get(part, "") for part in data["parts"]],
            "fields": thumbs,
            "about": {name: glossary.of_field(field) or "" for name, field in thumbs.items()},
            "numbers": [asked.box(one, field, scenario) for field, one in numbers.items()],
            "notice": told.taken(),
            "session": state.session(),
            "tellWhenDrawn": not drawn(),
            "seen": {field: _sent(key, field).get("at") for field in (*thumbs.values(), *numbers)},
        },
        told={"drawn": _drawn},
        **callbacks,
    )
