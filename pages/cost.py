"""What does it cost, on which GPU: the verdict, every GPU with its price, rent or buy, formulas."""

from datetime import date

import streamlit as st

from calculators.architecture.layout import ConfigRefused
from calculators.formats import FormatRefused
from calculators.scenario import Scenario
from pages.ui import cost_draw, shell, words
from pages.ui.cost_load import costs
from pages.ui.link import code


def page(scenario: Scenario, today: date) -> None:
    """The page of one scenario, or why there is none."""
    try:
        found = costs(scenario, today)
    except (ConfigRefused, FormatRefused) as refused:
        found = None
        st.error(f"This cannot be computed. Field {code(refused.field)}: {words.plain(refused.reason)}")
    else:
        cost_draw.verdict(found)
    cost_draw.report(scenario, found, today)


page(shell.view(), date.today())
