"""What does it cost, on which GPU: the verdict, every GPU with its price, rent or buy, formulas."""

from datetime import date

import streamlit as st

from calculators.architecture.layout import ConfigRefused
from calculators.formats import FormatRefused
from calculators.scenario import Scenario
from pages.ui import cost_controls, cost_draw, shell, words
from pages.ui.cost_load import costs
from pages.ui.link import code


def page(scenario: Scenario, today: date) -> None:
    """The page of one scenario, or why there is none."""
    cost_controls.top(scenario)
    try:
        found = costs(scenario, today)
    except (ConfigRefused, FormatRefused) as refused:
        st.error(f"This cannot be computed. Field {code(refused.field)}: {words.plain(refused.reason)}")
        return
    cost_draw.verdict(found)
    cost_draw.report(found, today)


page(shell.view(), date.today())
