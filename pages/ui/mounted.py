"""The one way to make a component of our own: no answer is replaced by an older one, and no press is lost.

Streamlit imports a component's script anew for every change of its data and calls it when the import has
ended. While the script loads for the first time several imports wait for it, and a browser may end them in
any order (Chromium swapped two of them in 133 of 300 loads), so an older answer could have the last word.
Data are therefore numbered here, and the script passes over what is older than what it shows.

A trigger of Streamlit's is lost when the next one comes before the server has begun with it. What a script
tells is therefore a list of numbered messages that stay in it until an answer says that they were heard.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import streamlit as st

from pages.ui import state

_NUMBERS = "_component_numbers"
_HEARD = "_component_heard"

# `mount` is the script's own function; a session of another server counts anew and has heard nothing.
IN_ORDER = """
export default (() => {
  const places = new WeakMap(); // place -> the order of what it shows, the messages not heard yet
  return (call) => {
    const { parentElement, data: { order, heard }, setStateValue } = call;
    const place = places.get(parentElement) ?? { order: [], sent: 0, waiting: [] };
    places.set(parentElement, place);
    const [session, number] = place.order;
    if (session === order[0] && order[1] < number) return;
    place.order = order;
    place.send = () => setStateValue("told", place.waiting);
    if (session === undefined || session === order[0]) {
      place.sent = Math.max(place.sent, heard);
      place.waiting = place.waiting.filter(({ at }) => at > heard);
    } else if (place.waiting.length) {
      place.waiting = place.waiting.map((message) => ({ ...message, at: ++place.sent }));
      setTimeout(place.send); // a new server knows no callback before its first answer
    }
    const tell = (name, value) => {
      place.waiting = [...place.waiting, { at: ++place.sent, name, value }];
      place.send();
    };
    return mount({ ...call, tell });
  };
})();
"""


class Draw(Protocol):
    """What mounts a component.

    `told` says for each name what happens when its script calls `tell(name, value)`; `on_<name>_change` are
    the callbacks of values that the script keeps with `setStateValue`.
    """

    def __call__(
        self,
        *,
        key: str,
        data: Mapping[str, Any],
        told: Mapping[str, Callable[[Any], None]] | None = None,
        **options: Any,
    ) -> Any: ...


def _number(key: str, data: Mapping[str, Any]) -> int:
    """How often this component's data changed; the same data keep their number, and are not drawn again."""
    numbers: dict[str, tuple[int, Mapping[str, Any]]] = st.session_state.setdefault(_NUMBERS, {})
    number, before = numbers.get(key, (0, None))
    if before != data:
        number += 1
    numbers[key] = number, data
    return number


def _heard(key: str) -> int:
    """The number of the last message that was heard."""
    return st.session_state.setdefault(_HEARD, {}).get(key, 0)


def hear(key: str, messages: Any, told: Mapping[str, Callable[[Any], None]]) -> None:
    """Do what the messages say that were not heard before, one after the other; pass over anything else."""
    new = [
        one
        for one in (messages if isinstance(messages, list) else ())
        if isinstance(one, dict) and isinstance(one.get("at"), int) and one["at"] > _heard(key)
    ]
    for place, message in enumerate(new):
        if place:
            state.catch_up()  # a message may change what the one before it changed
        st.session_state[_HEARD][key] = message["at"]
        handler = told.get(str(message.get("name")))
        if handler is not None and message.get("value") is not None:
            handler(message["value"])


def component(name: str, *, html: str, css: str, js: str) -> Draw:
    """Register a component; its script defines `mount`, which takes what Streamlit calls a script with, and
    `tell(name, value)` in the place of triggers.
    """
    made = st.components.v2.component(f"headroom.{name}", html=html, css=css, js=f"{js}\n{IN_ORDER}")

    def draw(
        *,
        key: str,
        data: Mapping[str, Any],
        told: Mapping[str, Callable[[Any], None]] | None = None,
        **options: Any,
    ) -> Any:
        if told is not None:
            handlers = told
            options["on_told_change"] = lambda: hear(
                key, (st.session_state.get(key) or {}).get("told"), handlers
            )
        whole = {**data, "heard": _heard(key)}
        return made(key=key, data={**whole, "order": [state.session(), _number(key, whole)]}, **options)

    return draw
