"""A sentence that the next run of the page shows once: what was not taken, or what else a press changed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from calculators.scenario import Scenario
from pages.ui import catalogue, link, words

_KEY = "told"


def keep(text: str) -> None:
    """Have the next run say it."""
    st.session_state[_KEY] = text


def taken() -> str:
    """What is to be said in this run; nothing from then on."""
    return str(st.session_state.pop(_KEY, ""))


def not_taken(field: str, label: str, value: Any, unit: float = 1, shown: Any = None) -> str:
    """Which field does not take what was typed, and what it takes; one of its numbers means `unit`."""
    reason = link.refusal(field, value, unit)
    typed = words.cut(str(value if shown is None else shown), 20)
    return f"“{label}” keeps its value: {typed} {reason}." if reason else ""


def also_changed(before: Scenario, fields: Mapping[str, Any]) -> str:
    """What a preset replaces that stands elsewhere on the page: the model, the pinned GPUs, typed configs."""
    said = []
    model = fields.get("model", before.model)
    name = catalogue.model_names()[model].partition(" · ")[0]
    if before.config_json and not fields.get("config_json", before.config_json):
        said.append(f"your pasted config gives way to {name}")
    elif model != before.model:
        said.append(f"the model is now {name}")
    gpus = tuple(fields.get("gpus", before.gpus))
    if gpus != before.gpus:
        said.append(f"the pinned GPUs are now {words.listed([catalogue.gpu_name(gpu) for gpu in gpus], 8)}")
    return f"Also changed: {'; '.join(said)}." if said else ""
