"""Who really uses which GPU for what: planned, announced, running or trained, each with its source."""

import streamlit as st

from pages.ui import shell, use_case_cards, use_cases_draw
from pages.ui.use_cases_views import ALT, cards, chart, selected, sentence

scenario = shell.view()
rows = selected(scenario)
st.markdown(sentence(rows))
if rows["count"].notna().any():
    use_cases_draw.chart(chart(rows, scenario), ALT)
use_case_cards.draw(cards(rows))
