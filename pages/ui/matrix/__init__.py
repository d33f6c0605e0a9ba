"""The fit matrix: every GPU against every weight format, as one accessible table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import streamlit as st

from pages.ui import catalogue, state

_FOLDER = Path(__file__).parent
_KEY = "matrix"

_component = st.components.v2.component(
    "headroom.matrix",
    html=(_FOLDER / "matrix.html").read_text(encoding="utf-8"),
    css=(_FOLDER / "matrix.css").read_text(encoding="utf-8"),
    js=(_FOLDER / "matrix.js").read_text(encoding="utf-8"),
)


def _chosen() -> None:
    """A cell was pressed: its GPU is pinned and its format used."""
    chosen = st.session_state[_KEY].get("chosen") or {}
    gpu, weights = chosen.get("gpu"), chosen.get("format")
    if gpu in catalogue.gpus().index and weights in catalogue.weight_formats():
        state.put(weight_format=weights, gpus=tuple(dict.fromkeys((*state.last().gpus, gpu))))


def draw(data: dict[str, Any]) -> None:
    """Mount the table."""
    _component(key=_KEY, data=data, on_chosen_change=_chosen)
