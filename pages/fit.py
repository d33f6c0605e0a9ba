"""Does my model fit, and on which GPU: to serve, to fine-tune, to train; the verdict first."""

import streamlit as st

from calculators.architecture.layout import ConfigRefused
from calculators.formats import FormatRefused
from calculators.scenario import Scenario
from pages.ui import (
    fit_views,
    scrubber,
    shell,
    tracks,
    training_controls,
    training_views,
    words,
    workload,
)
from pages.ui.link import code


def serve(scenario: Scenario) -> None:
    """The page of a model that answers users."""
    try:
        load = workload.load(scenario)
        live = tracks.build(load)
    except (ConfigRefused, FormatRefused) as refused:
        st.error(f"This cannot be computed. Field {code(refused.field)}: {words.plain(refused.reason)}")
        return

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


scenario = shell.view()
training_controls.task_switch()
if scenario.task == "serve":
    serve(scenario)
else:
    training_views.page(scenario)
