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


# Files that lie beside a config.json: a key that only they have, and what they describe.
_OTHER_FILES = {
    "tokenizer_class": "a tokenizer_config.json",
    "peft_type": "an adapter_config.json of a LoRA",
    "weight_map": "the index of the weight files",
    "do_sample": "a generation_config.json",
    "image_processor_type": "a preprocessor_config.json",
}
_MODEL_KEYS = ("hidden_size", "num_hidden_layers", "text_config", "n_embd", "d_model", "architectures")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object whose keys are all different. Raises ValueError with the first that is not."""
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"The key {code(key)} stands twice in one object; which one counts is unclear.")
        found[key] = value
    return found


def _whole(digits: str) -> int:
    if len(digits) > 30:
        raise ValueError(f"The number {code(digits, 20)} has {len(digits):,} digits.")
    return int(digits)


def _parsed(text: str) -> Any:
    """The JSON value of a text. Raises ValueError in a reader's words."""
    try:
        return json.loads(text, object_pairs_hook=_once, parse_int=_whole)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise ValueError(f"Not valid JSON: {error.msg} at {place}.") from error
    except RecursionError as error:
        raise ValueError("Not a config.json: nested too deeply.") from error


def checked(text: str) -> str:
    """A config.json as the Scenario keeps it. Raises ValueError with a sentence that names the field."""
    if len(text) > 10 * MAX_CONFIG_CHARS:
        raise ValueError(f"The file has {len(text):,} characters; a config.json has a few thousand.")
    config = _parsed(text)
    if not isinstance(config, dict):
        raise ValueError(f"A config.json is an object in curly brackets; this is a {type(config).__name__}.")
    if not any(key in config for key in _MODEL_KEYS):
        other = next((name for key, name in _OTHER_FILES.items() if key in config), None)
        if other:
            raise ValueError(f"This is {other}, not a model's config.json.")
    try:
        read_config(config)
    except ConfigRefused as refused:
        raise ValueError(f"Field {code(refused.field)}: {words.plain(refused.reason)}") from refused
    kept = {key: value for key, value in config.items() if key not in _NOT_NEEDED}
    compact = json.dumps(kept, separators=(",", ":"), sort_keys=True, ensure_ascii=False)
    try:
        compact.encode()
    except UnicodeEncodeError as error:
        broken = next(key for key in kept if not _is_text(json.dumps({key: kept[key]}, ensure_ascii=False)))
        raise ValueError(
            f"Field {code(broken)} holds half a character (a lone surrogate), which is no text."
        ) from error
    if len(compact) > MAX_CONFIG_CHARS:
        raise ValueError(f"The config has {len(compact):,} characters; the limit is {MAX_CONFIG_CHARS:,}.")
    return compact


def _is_text(text: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in text)


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
        st.error(f"{error.rstrip('.')}. The model shown is the one from before.")
    box = st.expander("Use your own config.json", on_change="rerun", key="own-config")
    if not box.open:
        return
    with box:
        with st.container(key="config-paste"):  # the shell hides its hint: the button below applies it
            st.text_area(
                "Paste a config.json",
                key="config-text",
                height=140,
                placeholder='{"model_type": "llama", "hidden_size": 4096, …}',
                persist_state="session",
                help="The file beside a model's weights on Hugging Face: how many layers, of which size.",
            )
        st.button("Use the pasted config", on_click=_pasted, key="config-use")
        st.file_uploader("or upload it", type=["json"], key="config-file", on_change=_uploaded)
