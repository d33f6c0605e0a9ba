"""How a link becomes the reader's Scenario, and how a control changes it.

Each link parameter is owned by one text input bound to the query string; the owners are drawn by the shell
on every page and hidden by CSS. They hold the parameter exactly as it stands in the address, so nothing is
dropped before `link.parse` has seen and named it. What a reader sees are ordinary controls that write to an
owner: they may live on one page only, and have labels without putting them in the address.
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


def owners() -> dict[str, str]:
    """Draw the bound inputs; what each holds. On every page, after `st.navigation`."""
    with st.container(key=_OWNERS):
        held = {
            param.name: st.text_input(
                param.name, key=param.name, bind="query-params", label_visibility="collapsed"
            )
            for param in link.CONTRACT
        }
    return {name: text or "" for name, text in held.items()}


def read() -> tuple[Scenario, tuple[link.Notice, ...]]:
    """The address as a Scenario and what in it was not used as it stood. Draws the owners."""
    held = owners()
    query: dict[str, list[str]] = {name: [text] for name, text in held.items() if text}
    for name in st.query_params:
        given = st.query_params.get_all(name)
        if name not in link.PARAMS or (len(given) > 1 and given[-1] == held[name]):
            query[name] = given
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
    """Change fields of the scenario. For callbacks: the owners must follow before they are drawn."""
    for field, value in fields.items():
        param = link.BY_FIELD[field]
        if field == "config_json":
            st.session_state.pop(_LARGE_CONFIG, None)
            try:
                st.session_state[param.name] = param.encode(value)
            except link.LinkError:
                st.session_state[param.name] = ""
                st.session_state[_LARGE_CONFIG] = value
        else:
            st.session_state[param.name] = param.encode(value)


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
    if key not in st.session_state or st.session_state[key] != value:
        st.session_state[key] = value
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
    if key not in st.session_state or tuple(st.session_state[key]) != value:
        st.session_state[key] = value
    return widget(label, key=key, on_change=_write_range, args=(low, high, key), **options)
