"""The Streamlit floor: one slider and one dict-built Plotly stacked bar, and nothing else.

Runs with the app's own settings (configuration file, frozen garbage collector, uvloop), so that the bench
compares pages and not processes.
"""

import gc

import streamlit as st

STOPS = [1024 * 2**k for k in range(11)]
CARDS = ["H100", "A100", "A6000", "L40S", "4090"]


@st.cache_resource
def _freeze() -> bool:
    gc.collect()
    gc.freeze()
    return True


_freeze()
st.set_page_config(page_title="Floor", layout="wide")
context = st.select_slider("Context", STOPS, 8192, key="ctx", bind="query-params")
bars = [
    {"type": "bar", "orientation": "h", "name": part, "y": CARDS, "x": [share + context / 65536] * len(CARDS)}
    for part, share in (("weights", 16), ("KV cache", 1), ("activations", 2), ("overhead", 1), ("reserve", 3))
]
layout = {"barmode": "stack", "height": 320, "xaxis": {"range": [0, 120], "title": {"text": "GiB"}}}
st.plotly_chart(
    {"data": bars, "layout": layout}, key="bars", config={"displayModeBar": False}, alt="Floor chart"
)
