"""An expander whose content is drawn only while it is open: what nobody sees costs no time."""

from __future__ import annotations

import streamlit as st
from streamlit.delta_generator import DeltaGenerator


def folded(label: str, key: str) -> DeltaGenerator | None:
    """The place to draw in, or None while it is shut."""
    box = st.expander(label, on_change="rerun", key=key)
    return box if box.open else None
