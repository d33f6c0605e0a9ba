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
    scrubber.draw(live.data, scenario)
    fit_views.draw(load, live.verdict_gpu, scrubber.drawn())


scenario = shell.view()
if scenario.task == "serve":
    serve(scenario)
else:
    training_views.page(scenario)
