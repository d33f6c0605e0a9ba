"""Which GPU should I take: the answer with its reasons, every GPU ranked, purposes, duel, judgements."""

from datetime import date

import streamlit as st

from calculators.architecture.layout import ConfigRefused
from calculators.formats import FormatRefused
from pages.ui import recommend_draw, shell, words
from pages.ui.link import code
from pages.ui.recommend_load import recommend

scenario = shell.view()
today = date.today()
view = scenario.recommend_view
try:
    if view == "ranking":
        found = recommend(scenario, today)
        recommend_draw.verdict(found)
        recommend_draw.form(scenario)
        recommend_draw.ranking(found)
    else:
        recommend_draw.title(scenario, today)
        recommend_draw.form(scenario)
        if view == "purposes":
            recommend_draw.purposes(scenario, today)
        elif view == "duel":
            recommend_draw.duel(scenario, today)
        else:
            recommend_draw.wisdom(today)
except (ConfigRefused, FormatRefused) as refused:
    st.error(f"This cannot be computed. Field {code(refused.field)}: {words.plain(refused.reason)}")
