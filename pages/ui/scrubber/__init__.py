"""The live part of the Fit page: two scrubbers, the verdict and the bars, as one component.

The component only looks up what `tracks.build` computed; it sends one value when a thumb is let go. Each
thumb has a state value of its own, so that two in quick succession never replace each other; what was sent is
numbered, and the number comes back, so that a thumb never jumps to an answer that is older than itself.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import streamlit as st

from pages.ui import link, state

_FOLDER = Path(__file__).parent
_FIELDS = {"context": "max_model_len", "users": "concurrency"}
_KEY = "scrubber"
_DRAWN = "_verdict_drawn"

_component = st.components.v2.component(
    "headroom.scrubber",
    html=(_FOLDER / "scrubber.html").read_text(encoding="utf-8"),
    css=(_FOLDER / "scrubber.css").read_text(encoding="utf-8"),
    js=(_FOLDER / "scrubber.js").read_text(encoding="utf-8"),
)


def _sent() -> dict[str, dict[str, Any]]:
    """What each thumb sent last: `value`, and the number `at` of the message."""
    held = st.session_state.get(_KEY) or {}
    return {name: held.get(name) or {} for name in _FIELDS}


def _moved(name: str) -> None:
    """A thumb was let go: its value goes to the link."""
    value = _sent()[name].get("value")
    if isinstance(value, int) and link.takes(_FIELDS[name], value):
        state.put(**{_FIELDS[name]: value})


def _drawn() -> None:
    st.session_state[_DRAWN] = True


def drawn() -> bool:
    """Whether this reader has seen a verdict; until then heavy views wait, to let nothing come before it."""
    return st.session_state.get(_DRAWN, False)


def draw(data: dict[str, Any]) -> None:
    """Mount the component with the tracks of this scenario."""
    _component(
        key=_KEY,
        data=data
        | {
            "session": state.session(),
            "tellWhenDrawn": not drawn(),
            "seen": {name: sent.get("at") for name, sent in _sent().items()},
        },
        on_context_change=partial(_moved, "context"),
        on_users_change=partial(_moved, "users"),
        on_drawn_change=_drawn,
    )
