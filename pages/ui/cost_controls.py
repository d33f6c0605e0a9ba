"""The controls of the Cost page: what is asked in the sidebar, presets and people's time on the page."""

from __future__ import annotations

from typing import Any

import streamlit as st

from calculators.scenario import MAX_MODEL_LEN, Scenario
from pages.ui import controls, cost_text, price_load, state, training_controls
from pages.ui.cost_presets import PRESETS, PUT_BACK


def sidebar(scenario: Scenario) -> None:
    """Model and work by task, then what it is paid with."""
    controls.model(scenario)
    if scenario.task == "serve":
        controls.formats(scenario)
        controls.load()
        _serving()
        controls.engine(scenario)
    else:
        training_controls.work(scenario)
        if scenario.task == "finetune":
            _pace()
        training_controls.method(scenario)
    _money(scenario)


def _number(label: str, field: str, low: float, high: float, step: float, **options: Any) -> None:
    state.control(st.number_input, label, field, min_value=low, max_value=high, step=step, **options)


def _serving() -> None:
    with st.container(horizontal=True):
        _number("Prompt tokens", "prompt_tokens", 1, MAX_MODEL_LEN, 256, help="Read per request.")
        _number("Answer tokens", "output_tokens", 1, MAX_MODEL_LEN, 64, help="Written per request.")
    _number(
        "Least tokens/s for each user",
        "least_tokens_per_s",
        0.0,
        10_000.0,
        1.0,
        help="Slower setups do not count as serving. People read 5 to 10 tokens a second.",
    )


def _pace() -> None:
    """How often a fine-tune runs, and how long one may take."""
    with st.container(horizontal=True):
        _number("Runs a month", "runs_per_month", 0.01, 10_000.0, 1.0, help="Every week is 4.33.")
        _number("Finish in (days)", "deadline_days", 0.01, 36_500.0, 1.0, placeholder="no deadline")


def _money(scenario: Scenario) -> None:
    bases = price_load.BASES
    state.control(st.selectbox, "Paid how", "price_basis", options=list(bases), format_func=bases.__getitem__)
    if scenario.task == "serve" or scenario.price_basis == price_load.OWN_BASIS:
        _number(
            "Share of the hours in use",
            "busy_share",
            0.01,
            1.0,
            0.05,
            help="Every hour is paid; in this share of them the GPUs work at the full load.",
        )
    box = st.expander("Power and ownership", on_change="rerun", key="cost-power")
    if not box.open:
        return
    with box:
        _number("Years of use", "own_years", 0.1, 20.0, 0.5, help="The purchase is spread over them.")
        _number(
            "USD per kWh",
            "usd_per_kwh",
            0.0,
            10.0,
            0.01,
            help="0.13: about what US commercial customers pay (EIA).",
        )
        _number(
            "PUE",
            "power_usage_effectiveness",
            1.0,
            3.0,
            0.05,
            help="All energy of the building over that of the computers; 1.54 on average in 2025 "
            "(Uptime Institute survey). At home it is 1.",
        )
        _number(
            "Server and room, USD per GPU bought",
            "host_usd",
            0.0,
            10_000_000.0,
            500.0,
            help="A purchase price is of the card alone unless its kind says otherwise.",
        )


# ---------------------------------------------------------------- on the page


def use_preset(name: str) -> None:
    """Fill the fields of a preset. A callback."""
    state.put(**{**PUT_BACK, **PRESETS[name].fields})


def top(scenario: Scenario) -> None:
    """The task, the presets, and for serving what counts as cheap."""
    with st.container(horizontal=True, vertical_alignment="bottom", key="cost-top"):
        state.control(
            st.segmented_control,
            "Task",
            "task",
            options=list(training_controls.TASKS),
            format_func=training_controls.TASKS.__getitem__,
            required=True,
        )
        if scenario.task == "serve":
            state.control(
                st.segmented_control,
                "Cheapest by",
                "cost_view",
                options=list(cost_text.VIEWS),
                format_func=cost_text.VIEWS.__getitem__,
                required=True,
            )
    with st.container(horizontal=True, key="cost-presets"):
        for name, preset in PRESETS.items():
            st.button(
                preset.label,
                key=f"preset-{name}",
                help=preset.help,
                on_click=use_preset,
                args=(name,),
                icon=":material/bolt:",
            )
