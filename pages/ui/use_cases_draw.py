"""Draws the Use cases page and its filters; computes nothing."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from calculators.scenario import FIRST_USE_YEAR, LAST_USE_YEAR, Scenario
from pages.ui import state
from pages.ui.figure_parts import CONFIG
from pages.ui.figures_use_cases import Figure
from pages.ui.themed import themed
from pages.ui.use_cases_choices import ORGANISATIONS, PURPOSES, STATUSES, kinds


def sidebar(scenario: Scenario) -> None:
    """The filters; a kind that is pressed narrows, several of one kind widen."""
    _pills("GPU", "use_gpus", kinds())
    _pills("What for", "use_purposes", PURPOSES)
    _pills("Status", "use_statuses", STATUSES)
    _pills("Organisation", "use_organisations", ORGANISATIONS)
    state.range_control(
        st.slider, "Year", "use_since", "use_until", min_value=FIRST_USE_YEAR, max_value=LAST_USE_YEAR
    )


def _pills(label: str, field: str, names: Mapping[str, str]) -> None:
    state.control(
        st.pills, label, field, options=list(names), selection_mode="multi", format_func=names.__getitem__
    )


def chart(figure: Figure, alt: str) -> None:
    """Count against year."""
    st.plotly_chart(themed(figure), key="use-case-chart", alt=alt, config=CONFIG)
