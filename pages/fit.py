"""Does my model fit, and on which GPU: the verdict, then what it rests on."""

import streamlit as st

from calculators.architecture.layout import ConfigRefused
from calculators.formats import FormatRefused
from pages.ui import fit_views, scrubber, shell, tracks, words, workload
from pages.ui.link import code

scenario = shell.view()
try:
    load = workload.load(scenario)
    live = tracks.build(load)
except (ConfigRefused, FormatRefused) as refused:
    st.error(f"This cannot be computed. Field {code(refused.field)}: {words.plain(refused.reason)}")
    st.stop()

fit_views.cautions(load)
scrubber.draw(live.data)
fit_views.badges(load)
fit_views.changes(load)
if scrubber.drawn():
    fit_views.format_matrix(load)
    gpu = fit_views.detail_gpu(load, live.verdict_gpu)
    if gpu is not None:
        fit_views.context_map(load, gpu)
        fit_views.computed(load, gpu)
