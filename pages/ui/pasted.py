"""A config.json of one's own: pasted or uploaded, checked, and carried by the link."""

from __future__ import annotations

import json
from typing import Any

import streamlit as st

from calculators.architecture import read_config
from calculators.architecture.layout import ConfigRefused
from calculators.scenario import MAX_CONFIG_CHARS, Scenario
from pages.ui import state, words
from pages.ui.link import code

_ERROR = "_config_error"
# Long lists and labels that say nothing about memory; leaving them out keeps links short.
_NOT_NEEDED = ("id2label", "label2id", "_name_or_path", "transformers_version", "auto_map")


def checked(text: str) -> str:
    """A config.json as the Scenario keeps it. Raises ValueError with a sentence that names the field."""
    if len(text) > 10 * MAX_CONFIG_CHARS:
        raise ValueError(f"The file has {len(text):,} characters; a config.json has a few thousand.")
    try:
        config: Any = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(
            f"Not valid JSON: {error.msg} at line {error.lineno}, column {error.colno}."
        ) from error
    except RecursionError as error:
        raise ValueError("Not a config.json: nested too deeply.") from error
    if not isinstance(config, dict):
        raise ValueError(f"A config.json is an object in curly brackets; this is a {type(config).__name__}.")
    try:
        read_config(config)
    except ConfigRefused as refused:
        raise ValueError(f"Field {code(refused.field)}: {words.plain(refused.reason)}") from refused
    kept = {key: value for key, value in config.items() if key not in _NOT_NEEDED}
    compact = json.dumps(kept, separators=(",", ":"), sort_keys=True, ensure_ascii=False)
    if len(compact) > MAX_CONFIG_CHARS:
        raise ValueError(f"The config has {len(compact):,} characters; the limit is {MAX_CONFIG_CHARS:,}.")
    return compact


def _use(text: str) -> None:
    try:
        compact = checked(text)
    except ValueError as error:
        st.session_state[_ERROR] = str(error)
        return
    st.session_state.pop(_ERROR, None)
    state.put(config_json=compact)


def _pasted() -> None:
    if text := (st.session_state["config-text"] or "").strip():
        _use(text)


def _uploaded() -> None:
    if (file := st.session_state["config-file"]) is not None:
        try:
            _use(file.getvalue().decode("utf-8-sig"))
        except UnicodeDecodeError:
            st.session_state[_ERROR] = "The file is not UTF-8 text."


def _back() -> None:
    st.session_state.pop(_ERROR, None)
    state.put(config_json="")


def current(scenario: Scenario) -> None:
    """What is used in place of a model of the catalogue."""
    model_type = str(json.loads(scenario.config_json).get("model_type", "no model_type"))
    st.markdown(f"**Model:** your own config.json, {code(model_type)}")
    if not state.config_travels():
        st.warning("This config is too large to travel in a link: a shared link opens without it.")
    st.button("Back to the catalogue", on_click=_back, key="config-back")


def editor() -> None:
    """Paste or upload; an error names the field and leaves everything as it was."""
    error = st.session_state.get(_ERROR)
    if error:
        st.error(f"{error} The model shown is the one from before.")
    box = st.expander("Use your own config.json", on_change="rerun", key="own-config")
    if not box.open:
        return
    with box:
        st.text_area(
            "Paste a config.json",
            key="config-text",
            height=140,
            placeholder='{"model_type": "llama", "hidden_size": 4096, …}',
            persist_state="session",
        )
        st.button("Use the pasted config", on_click=_pasted, key="config-use")
        st.file_uploader("or upload it", type=["json"], key="config-file", on_change=_uploaded)
