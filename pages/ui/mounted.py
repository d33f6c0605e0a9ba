"""The one way to make a component of our own: what arrives late never replaces what is newer.

Streamlit imports a component's script anew for every change of its data and calls it when the import has
ended. While the script loads for the first time several imports wait for it, and a browser may end them in
any order (Chromium swapped two of them in 133 of 300 loads), so an older answer could have the last word.
Data are therefore numbered here, and the script passes over what is older than what it shows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import streamlit as st

from pages.ui import state

_NUMBERS = "_component_numbers"

# `mount` is the script's own function; a session of another server counts anew.
NEWEST = """
export default (() => {
  const shown = new WeakMap(); // place -> the order of what it shows
  return (call) => {
    const { parentElement, data: { order } } = call;
    const [session, number] = shown.get(parentElement) ?? [];
    if (session === order[0] && order[1] < number) return;
    shown.set(parentElement, order);
    return mount(call);
  };
})();
"""


class Draw(Protocol):
    """What mounts a component: `on_<name>_change` are the callbacks of what its script tells."""

    def __call__(self, *, key: str, data: Mapping[str, Any], **options: Any) -> Any: ...


def _number(key: str, data: Mapping[str, Any]) -> int:
    """How often this component's data changed; the same data keep their number, and are not drawn again."""
    numbers: dict[str, tuple[int, Mapping[str, Any]]] = st.session_state.setdefault(_NUMBERS, {})
    number, before = numbers.get(key, (0, None))
    if before != data:
        number += 1
    numbers[key] = number, data
    return number


def component(name: str, *, html: str, css: str, js: str) -> Draw:
    """Register a component; its script defines `mount`, which takes what Streamlit calls a script with."""
    made = st.components.v2.component(f"headroom.{name}", html=html, css=css, js=f"{js}\n{NEWEST}")

    def draw(*, key: str, data: Mapping[str, Any], **options: Any) -> Any:
        return made(key=key, data={**data, "order": [state.session(), _number(key, data)]}, **options)

    return draw
