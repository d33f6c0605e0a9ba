"""What a component of our own told with a press."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import streamlit as st


def told(key: str, name: str, pressed: Mapping[str, Callable[[Any], None]]) -> Callable[[], None]:
    """A callback for one trigger of the component `key`: hands its value on."""

    def tell() -> None:
        value = (st.session_state.get(key) or {}).get(name)
        if value is not None:
            pressed[name](value)

    return tell
