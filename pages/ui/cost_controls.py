"""The sidebar of the Cost page: model, method and payment. What else is asked stands on the page itself."""

from __future__ import annotations

import streamlit as st

from calculators.scenario import Scenario
from pages.ui import controls, price_load, state, training_controls


def sidebar(scenario: Scenario) -> None:
    """Model and method by task, then what it is paid with; the numbers of the work stand on the page."""
    controls.model(scenario)
    if scenario.task == "serve":
        controls.formats(scenario)
        controls.engine(scenario)
    else:
        if scenario.task == "finetune":
            training_controls.tuning()
        training_controls.method(scenario)
    _money(scenario)


def _number(label: str, field: str, low: float, high: float, step: float, help: str) -> None:
    state.control(st.number_input, label, field, min_value=low, max_value=high, step=step, help=help)


def _money(scenario: Scenario) -> None:
    bases = price_load.BASES
    state.control(st.selectbox, "Paid how", "price_basis", options=list(bases), format_func=bases.__getitem__)
    box = st.expander("Power and ownership", on_change="rerun", key="cost-power")
    if not box.open:
        return
    with box:
        if scenario.task != "serve":
            _number(
                "Share of the hours an owned GPU works",
                "busy_share",
                0.01,
                1.0,
                0.05,
                help="Its idle hours are paid as well.",
            )
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
