"""Benchmarks: what others measured, each result with its source, one question and one unit at a time."""

import streamlit as st

from pages.ui import benchmarks_draw, shell
from pages.ui.benchmarks_select import select
from pages.ui.benchmarks_views import different_units, sections

scenario = shell.view()
lane = scenario.bench_lane

benchmarks_draw.lane_picker()
benchmarks_draw.question(lane, scenario)
selected = select(scenario)
benchmarks_draw.filters(selected, scenario)
if notice := different_units(selected):
    st.info(notice)
for place, part in enumerate(sections(selected, scenario)):
    benchmarks_draw.section(part, place)
if selected.scope.empty:
    st.info("Nobody published a result for this question. Choose another one above, or other rounds.")
elif selected.rows.empty:
    st.info("No result passes the filters. Loosen one, or ask another question above.")
