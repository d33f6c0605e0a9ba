"""The live part of the Fit page: two scrubbers, the verdict and the bars, as one component.

The component only looks up what `tracks.build` computed; it sends one value when a thumb is let go.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import streamlit as st

from pages.ui import state

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


def _moved() -> None:
    """A thumb was let go: its value goes to the link."""
    moved = st.session_state[_KEY].get("moved") or {}
    field = _FIELDS.get(moved.get("name"))
    if field and isinstance(moved.get("value"), int):
        state.put(**{field: moved["value"]})


def _drawn() -> None:
    st.session_state[_DRAWN] = True


def drawn() -> bool:
    """Whether this reader has seen a verdict; until then heavy views wait, to let nothing come before it."""
    return st.session_state.get(_DRAWN, False)


def draw(data: dict[str, Any]) -> None:
    """Mount the component with the tracks of this scenario."""
    _component(
        key=_KEY,
        data=data | {"tellWhenDrawn": not drawn()},
        on_moved_change=_moved,
        on_drawn_change=_drawn,
    )
