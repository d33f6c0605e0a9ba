"""How a link becomes the reader's Scenario, and how a control changes it.

The text of every link parameter is kept here, as it stands in the address, so that nothing is dropped before
`link.parse` has seen and named it. Callbacks change it with `put`; opening, reloading, going back and forward
replace it by the address. Streamlit's part is to write changes to the address: for each parameter that has a
value the shell draws one text input bound to the query string, hidden by CSS, on every page.

What a reader sees are ordinary controls that call `put`: they may live on one page only, and have labels
without putting them in the address. A browser that is slow to take in one run may report stale values with
the next one; the bound inputs are therefore only written and never believed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import streamlit as st

from calculators.scenario import Scenario
from pages.ui import catalogue, link

T = TypeVar("T")
_VIEW = "_scenario"
_LARGE_CONFIG = "_large_config"
_OWNERS = "link-owners"
_ADDRESS = "_link_address"
_TEXTS = "_link_texts"
_REPEATED = "_link_repeated"
_SETTLING = "_controls_settling"


def _address() -> dict[str, str]:
    """The link's parameters as they stand in the address; the last of repeated ones."""
    return {name: st.query_params.get(name, "") for name in link.PARAMS}


def owners() -> dict[str, str]:
    """The text of every parameter; draws the bound inputs. On every page, after `st.navigation`.

    Only parameters with a value need an input: an absent one has nothing to lose. Its key is kept as ordinary
    state, because Streamlit writes a value to the address only if the key was there before.
    """
    address = _address()
    if address != st.session_state.get(_ADDRESS):
        st.session_state[_TEXTS] = address
        given = {name: st.query_params.get_all(name) for name in link.PARAMS}
        st.session_state[_REPEATED] = {name: values for name, values in given.items() if len(values) > 1}
    texts: dict[str, str] = st.session_state[_TEXTS]
    with st.container(key=_OWNERS):
        for name, text in texts.items():
            st.session_state[name] = text
            if text or address[name]:
                st.text_input(name, key=name, bind="query-params", label_visibility="collapsed")
    st.session_state[_ADDRESS] = _address()
    return texts


def read() -> tuple[Scenario, tuple[link.Notice, ...]]:
    """The address as a Scenario and what in it was not used as it stood. Draws the owners."""
    texts = owners()
    query: dict[str, list[str]] = {name: [text] for name, text in texts.items() if text}
    query |= st.session_state[_REPEATED]  # Streamlit shortens these in the address at once
    query |= {name: st.query_params.get_all(name) for name in st.query_params if name not in link.PARAMS}
    scenario, notices = link.parse(query, catalogue.known())
    hidden = [gpu for gpu in scenario.gpus if gpu in catalogue.pre_release_gpus()]
    if hidden and not scenario.pre_release:
        scenario = changed(scenario, gpus=tuple(gpu for gpu in scenario.gpus if gpu not in hidden))
        reason = "is not released yet"
        notices += tuple(
            link.Notice("gpus", gpu, reason, "left out until it is switched on") for gpu in hidden
        )
    large = st.session_state.get(_LARGE_CONFIG)
    if large and not scenario.config_json:
        scenario = changed(scenario, config_json=large)
    return scenario, notices


def changed(scenario: Scenario, **fields: Any) -> Scenario:
    """The scenario with some fields changed, validated."""
    return Scenario.model_validate({**scenario.model_dump(), **fields})


def hold(scenario: Scenario) -> None:
    """Make the scenario readable for the page that runs next."""
    st.session_state[_VIEW] = scenario


def release() -> None:
    """The page has run; a page opened without the shell must not find it."""
    st.session_state.pop(_VIEW, None)


def held() -> Scenario | None:
    """The scenario that the shell holds for this run, if the shell is running."""
    return st.session_state.get(_VIEW)


def put(**fields: Any) -> None:
    """Change fields of the scenario. For callbacks: the address must follow before the page is drawn."""
    texts = dict(st.session_state.get(_TEXTS) or dict.fromkeys(link.PARAMS, ""))
    for field, value in fields.items():
        param = link.BY_FIELD[field]
        st.session_state.get(_REPEATED, {}).pop(param.name, None)
        if field == "config_json":
            st.session_state.pop(_LARGE_CONFIG, None)
        try:
            texts[param.name] = param.encode(value)
        except link.LinkError:
            texts[param.name] = ""
            st.session_state[_LARGE_CONFIG] = value
    st.session_state[_TEXTS] = texts


def config_travels() -> bool:
    """Whether the link can carry the pasted config."""
    return _LARGE_CONFIG not in st.session_state


def clean_link() -> None:
    """Rewrite every owner to what is really used. A callback."""
    scenario = last()
    put(**{param.field: getattr(scenario, param.field) for param in link.CONTRACT})
    for name in [name for name in st.query_params if name not in link.PARAMS]:
        del st.query_params[name]


def remember(scenario: Scenario) -> None:
    """Keep the scenario for callbacks, which run before the next one is read."""
    st.session_state["_last_scenario"] = scenario


def last() -> Scenario:
    """The scenario of the run before; for callbacks."""
    return st.session_state.get("_last_scenario") or Scenario()


def _write(field: str, key: str) -> None:
    """A control was moved: its value goes to the owner, in the field's own type."""
    value = st.session_state[key]
    default = link.BY_FIELD[field].default
    if value is None and default is not None:
        value = default  # an emptied control goes back to the default
    elif isinstance(default, tuple):
        value = tuple(value)
    put(**{field: value})


def _initial(widget: Callable[..., Any], value: Any, options: dict[str, Any]) -> dict[str, Any]:
    """The argument that makes a control start with a value, without the help of session state.

    A browser that takes in two runs at once looks at the second alone, which would not repeat the value.
    """
    name = getattr(widget, "__name__", "")
    if name in ("selectbox", "radio"):
        choices = options["options"]
        return {"index": choices.index(value) if value in choices else None}
    return {"default" if name in ("pills", "segmented_control") else "value": value}


def _show(key: str, value: Any) -> bool:
    """Make a control that is on the page show a value that something else set; whether it had to.

    The value is sent with two runs, for the same reason as in `_initial`.
    """
    settling: dict[str, int] = st.session_state.setdefault(_SETTLING, {})
    if key not in st.session_state:
        settling.pop(key, None)
        return False
    held = st.session_state[key]
    if (list(held) if isinstance(held, (list, tuple)) else held) != (
        list(value) if isinstance(value, (list, tuple)) else value
    ):
        settling[key] = 2
    if not settling.get(key):
        return False
    settling[key] -= 1
    st.session_state[key] = value
    return True


def control(widget: Callable[..., T], label: str, field: str, **options: Any) -> T:
    """Draw `widget` for one field of the Scenario: it shows the link's value and writes changes to the link.

    Works for number_input, text_input, toggle, checkbox, selectbox, radio, segmented_control, pills (single
    or multi), slider and select_slider. Options are the ids themselves; put names on them with `format_func`.
    """
    key = f"ui-{field}"
    value: Any = getattr(held() or last(), field)
    if isinstance(value, tuple):
        value = [v for v in value if v in options["options"]] if "options" in options else list(value)
    elif "options" in options and value not in options["options"]:
        value = None
    if not _show(key, value):
        options |= _initial(widget, value, options)
    elif getattr(widget, "__name__", "") == "number_input":
        options["value"] = None  # not "min", which would decide the type
    return widget(label, key=key, on_change=_write, args=(field, key), **options)


def _write_range(low: str, high: str, key: str) -> None:
    """Both ends of a range control go to their owners."""
    first, second = st.session_state[key]
    put(**{low: first, high: second})


def range_control(widget: Callable[..., T], label: str, low: str, high: str, **options: Any) -> T:
    """Draw a slider or select_slider with two thumbs for two fields of the Scenario."""
    key = f"ui-{low}-{high}"
    scenario = held() or last()
    value: Any = tuple(sorted((getattr(scenario, low), getattr(scenario, high))))
    if "options" in options:  # off-grid values of a link show at the nearest stop; the link keeps them
        value = tuple(min(options["options"], key=lambda stop, v=v: abs(stop - v)) for v in value)
    if not _show(key, value):
        options["value"] = value
    return widget(label, key=key, on_change=_write_range, args=(low, high, key), **options)
