"""Does my model fit, and on which GPU: the verdict, then what it rests on."""

import streamlit as st

from calculators.architecture.layout import ConfigRefused
from pages.ui import fit_views, scrubber, shell, tracks, workload
from pages.ui.link import code

scenario = shell.view()
try:
    load = workload.load(scenario)
except ConfigRefused as refused:
    st.error(f"This model cannot be computed. Field {code(refused.field)}: {refused.reason}")
    st.stop()

live = tracks.build(load)
scrubber.draw(live.data)
fit_views.badges(load)

st.header("In detail", anchor=False)
gpu = fit_views.detail_gpu(load, live.verdict_gpu)
if gpu is not None:
    fit_views.context_map(load, gpu)
    fit_views.computed(load, gpu)
