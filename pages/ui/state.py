"""How a link becomes the reader's Scenario, and how a control changes it.

The text of every link parameter is kept here, as it stands in the address, so that nothing is dropped before
`link.parse` has seen and named it. Callbacks change it with `put`; opening, reloading, going back and forward
replace it by the address. Streamlit's part is to write changes to the address: for each parameter that has a
value the shell draws one text input bound to the query string, hidden by CSS, on every page.

What a reader sees are ordinary controls that call `put`: they may live on one page only, and have labels
without putting them in the address.

A reader is quicker than a run: the next request may leave the browser before it has taken in the last answer,
and then brings an old address and old values of controls. So the bound inputs are only written, never
believed; an address that the session had before is believed only when the reader went back or forward; and
a control that is being made to show something else cannot bring its old value back until the browser has
taken in a run that said so. A hidden input tells which: it holds the number of the last whole run.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar
from uuid import uuid4

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from calculators.scenario import Scenario
from pages.ui import catalogue, glossary, link

T = TypeVar("T")
_VIEW = "_scenario"
_LARGE_CONFIG = "_large_config"
_OWNERS = "link-owners"
_READ = "_link_read"
_TOLD = "_link_told"
_KNOWN = "_link_addresses"
_TEXTS = "_link_texts"
_DRAWN = "_link_inputs"
_GIVEN = "_link_given"
_SETTLING = "_controls_settling"
_MOST_KNOWN = 64  # addresses; a browser is a few behind at most
_RUN = "_run"
_SESSION = "_session"
_TAKEN_IN = "last-run"
_LIVE_TAKEN_IN = "last-live-run"
_WHOLE = "_whole_run"


@dataclass(frozen=True, slots=True)
class _Read:
    """What the last whole run read: texts (kept up to date), names in notices, the page's own parameters."""

    texts: dict[str, str]
    noted: frozenset[str]
    live: frozenset[str]


def _address() -> dict[str, str]:
    """The link's parameters as they stand in the address; the last of repeated ones."""
    given = st.query_params.to_dict()
    return {name: given.get(name, "") for name in link.PARAMS}


def _went_back_or_forward() -> bool:
    context = get_script_run_ctx()
    return context is not None and context.is_history_navigation


def _expect(start: Mapping[str, str], end: Mapping[str, str]) -> None:
    """Know every address between two: parameters change one by one as the bound inputs do it."""
    steps = [dict(start)]
    for name in end:
        if end[name] != steps[-1][name]:
            steps.append(steps[-1] | {name: end[name]})
    known: list[dict[str, str]] = st.session_state[_KNOWN]
    st.session_state[_KNOWN] = ([old for old in known if old not in steps] + steps)[-_MOST_KNOWN:]


def _follow() -> tuple[dict[str, str], dict[str, str], dict[str, str] | None]:
    """(address, texts in force, texts last told whole): believes the address or what callbacks put."""
    address = _address()
    known: list[dict[str, str]] = st.session_state.setdefault(_KNOWN, [])
    told = st.session_state.get(_TOLD)  # none while a run that was cut short left it open
    if _TEXTS not in st.session_state or _went_back_or_forward() or address not in known:
        st.session_state[_TEXTS] = told = address
        given = {name: st.query_params.get_all(name) for name in link.PARAMS}
        st.session_state[_GIVEN] = {
            name: values for name, values in given.items() if len(values) > 1 or values == [""]
        }
    texts: dict[str, str] = st.session_state[_TEXTS]
    st.session_state[_TOLD] = None
    return address, texts, told


def _draw_owners(address: Mapping[str, str], texts: Mapping[str, str]) -> None:
    """The bound inputs. Only parameters with a value need one: an absent one has nothing to lose.

    Always in the same place: an input that moves is forgotten by the browser, and with it the parameter. The
    key of every one that was drawn is kept as ordinary state, because Streamlit writes a value to the address
    only if the key was there before; the first value is written here. Keys of all others would cost time:
    Streamlit goes through the whole state for every control it draws.
    """
    drawn: set[str] = st.session_state.setdefault(_DRAWN, set())
    with st.container(key=_OWNERS):
        for name, text in texts.items():
            needed = bool(text or address[name])
            if needed and name not in drawn:
                drawn.add(name)
                if text != address[name]:
                    st.query_params[name] = text
            if name in drawn:
                st.session_state[name] = text
            if needed:
                st.text_input(name, key=name, bind="query-params", label_visibility="collapsed")


def _told(address: Mapping[str, str], texts: dict[str, str], told: Mapping[str, str] | None) -> None:
    """All owners of this run are drawn."""
    if texts == address != told:
        st.query_params.update({})  # an old address that is right again: only the browser knows another
    st.session_state[_TOLD] = texts


def read(
    live: Callable[[Scenario], Collection[str]] = lambda _: (),
) -> tuple[Scenario, tuple[link.Notice, ...]]:
    """The address as a Scenario and what in it was not used as it stood.

    `live` names the parameters that the page's own fragment changes.
    """
    address, texts, told = _follow()
    query: dict[str, list[str]] = {name: [text] for name, text in texts.items() if text}
    query |= st.session_state[_GIVEN]  # Streamlit shortens these in the address at once
    query |= {name: st.query_params.get_all(name) for name in st.query_params if name not in link.PARAMS}
    scenario, notices = link.parse(query, catalogue.known())
    hidden = [gpu for gpu in scenario.gpus if gpu in catalogue.pre_release_gpus()]
    if hidden and not scenario.pre_release:
        scenario = changed(scenario, gpus=tuple(gpu for gpu in scenario.gpus if gpu not in hidden))
        reason = "is not released yet"
        notices += tuple(
            link.Notice("gpus", gpu, reason, "left out until it is switched on") for gpu in hidden
        )
    scenario = _with_large_config(scenario)
    _expect(address, texts)
    st.session_state[_TOLD] = told  # the owners are drawn in the fragment
    noted = frozenset(notice.param for notice in notices)
    st.session_state[_READ] = _Read(dict(texts), noted, frozenset(live(scenario)))
    return scenario, notices


def _with_large_config(scenario: Scenario) -> Scenario:
    """With the config that no link can carry, if there is one."""
    large = st.session_state.get(_LARGE_CONFIG)
    return changed(scenario, config_json=large) if large and not scenario.config_json else scenario


def read_live() -> Scenario:
    """The scenario inside the page's fragment. Draws the owners.

    Where anything else changed, or something that was named in a notice, the whole page is run again.
    """
    if not st.session_state.pop(_WHOLE, False):
        _next_run()  # of the fragment alone
    last_read: _Read = st.session_state[_READ]
    address, texts, told = _follow()
    moved = {name for name, text in texts.items() if text != last_read.texts[name]}
    _expect(address, texts)
    if moved - last_read.live or moved & last_read.noted:
        st.rerun()
    _draw_owners(address, texts)
    _told(address, texts, told)
    if moved:
        fields = {}
        for name in moved:
            param = link.PARAMS[name]
            known = catalogue.known().get(param.choices) if param.choices else None
            fields[param.field], _ = (
                link.read(param, texts[name], known) if texts[name] else (param.default, [])
            )
        remember(changed(last(), **fields))
        last_read.texts.update({name: texts[name] for name in moved})
    return last()


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
        st.session_state.get(_GIVEN, {}).pop(param.name, None)
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
    for name in [name for name, text in st.query_params.items() if name not in link.PARAMS or not text]:
        del st.query_params[name]


def remember(scenario: Scenario) -> None:
    """Keep the scenario for callbacks, which run before the next one is read."""
    st.session_state["_last_scenario"] = scenario


def catch_up() -> None:
    """Let the next callback see what the ones before it changed."""
    query = {name: [text] for name, text in st.session_state[_TEXTS].items() if text}
    scenario, _ = link.parse(query, catalogue.known())
    remember(_with_large_config(scenario))


def last() -> Scenario:
    """The scenario of the run before and of what callbacks caught up with; for callbacks."""
    return st.session_state.get("_last_scenario") or Scenario()


@dataclass(frozen=True, slots=True)
class _Settling:
    """A control on its way to another value: since which run it is told, what it may repeat until then."""

    since: int
    old: tuple[Any, ...]


def _next_run() -> None:
    st.session_state[_RUN] = st.session_state.get(_RUN, 0) + 1


def start_run() -> None:
    """Number this run; the browser says with its next request which one it has taken in."""
    st.session_state[_WHOLE] = True
    _next_run()
    st.session_state.setdefault(_SESSION, uuid4().hex)


def session() -> str:
    """A name for this reader's session with this server; a server that was started again gives another."""
    return st.session_state[_SESSION]


def end_run(key: str = _TAKEN_IN) -> None:
    """The run was sent: let the browser say so."""
    st.session_state[key] = f"{st.session_state[_SESSION]} {st.session_state[_RUN]}"
    st.text_input("Last run", key=key, label_visibility="collapsed")


def end_live() -> None:
    """The fragment was sent, in a whole run or alone."""
    with st.container(key="link-live-run"):
        end_run(_LIVE_TAKEN_IN)


def _taken_in() -> int:
    """The last run that the browser had taken in whole when it sent this request."""
    told = [str(st.session_state.get(key, "")).partition(" ") for key in (_TAKEN_IN, _LIVE_TAKEN_IN)]
    return max(int(run) if session == st.session_state.get(_SESSION) else 0 for session, _, run in told)


def _plain(value: Any) -> Any:
    """Values that compare alike, whichever sequence a widget makes of them."""
    return tuple(value) if isinstance(value, (list, tuple)) else value


def _write(field: str, key: str, options: tuple[Any, ...] | None) -> None:
    """A control was moved: its value goes to the owner, in the field's own type.

    A value that is none of the options, or that the field does not take, is not the reader's.
    """
    value = st.session_state[key]
    if _is_old(key, value):
        return
    default = link.BY_FIELD[field].default
    if value is None and default is not None:
        value = default  # an emptied control goes back to the default
    elif isinstance(default, tuple):
        value = tuple(v for v in value if options is None or v in options)
    elif options is not None and value is not None and value not in options:
        return
    if link.takes(field, value):
        put(**{field: value})


def _is_old(key: str, value: Any) -> bool:
    """Whether a control only repeats what it showed before it was told another value."""
    one: _Settling | None = st.session_state.get(_SETTLING, {}).get(key)
    return one is not None and _taken_in() < one.since and _plain(value) in one.old


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

    The value is sent with every run until the browser has taken one in, for the same reason as in `_initial`.
    """
    settling: dict[str, _Settling] = st.session_state.setdefault(_SETTLING, {})
    if key not in st.session_state or (key in settling and _taken_in() >= settling[key].since):
        settling.pop(key, None)
    if key not in st.session_state:
        return False
    shown = _plain(st.session_state[key])
    if shown != _plain(value):
        before = settling[key].old if key in settling else ()
        old = tuple(v for v in (*before, shown) if v != _plain(value))
        settling[key] = _Settling(st.session_state[_RUN], old)
    if key not in settling:
        return False
    st.session_state[key] = value
    return True


def control(widget: Callable[..., T], label: str, field: str, *, variant: str = "", **options: Any) -> T:
    """Draw `widget` for one field of the Scenario: it shows the link's value and writes changes to the link.

    Works for number_input, text_input, toggle, checkbox, selectbox, radio, segmented_control, pills (single
    or multi), slider and select_slider. Options are the ids themselves; put names on them with `format_func`.
    Without `help` the glossary's sentence for the field is the tooltip. `variant` names what the words of the
    options depend on: a browser keeps the old words of the option in use unless the control is another.
    """
    key = f"ui-{field}" + (f"-{variant}" if variant else "")
    options["help"] = options.get("help") or glossary.of_field(field)
    value: Any = getattr(held() or last(), field)
    if isinstance(value, tuple):
        value = [v for v in value if v in options["options"]] if "options" in options else list(value)
    elif "options" in options and value not in options["options"]:
        value = None
    if not _show(key, value):
        options |= _initial(widget, value, options)
    elif getattr(widget, "__name__", "") == "number_input":
        options["value"] = None  # not "min", which would decide the type
    allowed = tuple(options["options"]) if "options" in options else None
    return widget(label, key=key, on_change=_write, args=(field, key, allowed), **options)
