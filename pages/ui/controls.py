"""The controls in the sidebar, page by page. Each writes to the link; none computes anything."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from calculators.scenario import MAX_MODEL_LEN, Scenario
from pages.ui import catalogue, pasted, state, workload

SPLITS = {
    "auto": "As the engine does by default",
    "tensor": "Tensor parallel",
    "pipeline": "Pipeline (by layers)",
    "pp2": "2 pipeline stages × tensor parallel",
    "pp4": "4 pipeline stages × tensor parallel",
    "pp8": "8 pipeline stages × tensor parallel",
}
SWITCHES = {"auto": "Engine default", "on": "On", "off": "Off"}


def fit_sidebar(scenario: Scenario) -> None:
    """Model, formats, GPUs and engine; the numbers stand beside the verdict."""
    model(scenario)
    formats(scenario)
    gpu_picker(scenario)
    engine(scenario)


def compare_sidebar(scenario: Scenario) -> None:
    """The pinned GPUs; filters stand on the page itself."""
    gpu_picker(scenario)


def model(scenario: Scenario) -> None:
    """A model of the catalogue, or one's own config.json."""
    names = catalogue.model_names()
    if scenario.config_json:
        pasted.current(scenario)
    else:
        state.control(
            st.selectbox,
            "Model",
            "model",
            options=list(names),
            format_func=names.__getitem__,
            filter_mode="fuzzy",
            help="Type any part of the name or the size, for example “qwen 32”.",
        )
    facts = workload.model_facts(scenario)
    st.caption(" · ".join(f"{name}: {value}" for name, value in facts.items()))
    pasted.editor()


def formats(scenario: Scenario) -> None:
    """How the weights and the cache are stored; what the engine reads stands first."""
    engine = catalogue.engines()[scenario.engine]

    def offer(label: str, field: str, table: Mapping[str, Any]) -> None:
        def reads(key: str) -> bool:
            return not table[key].engines or engine.algorithm in table[key].engines

        state.control(
            st.selectbox,
            label,
            field,
            variant="" if reads(getattr(scenario, field)) else engine.id,
            options=sorted(table, key=reads, reverse=True),
            format_func=lambda key: (
                table[key].label + ("" if reads(key) else f" (not read by {engine.label})")
            ),
            filter_mode="contains",
        )

    offer("Weight format", "weight_format", catalogue.weight_formats())
    offer("KV cache format (kv_cache_dtype)", "kv_cache_dtype", catalogue.kv_formats())


def _add_gpu() -> None:
    chosen = st.session_state["add-gpu"]
    st.session_state["add-gpu"] = None
    if chosen:
        state.put(gpus=tuple(dict.fromkeys((*state.last().gpus, chosen))))


def gpu_picker(scenario: Scenario) -> None:
    """Pinned GPUs: search to add one, press one to unpin it."""
    frame = catalogue.gpus()
    shown = [
        gpu
        for gpu in frame.index
        if gpu not in scenario.gpus and (scenario.pre_release or gpu not in catalogue.pre_release_gpus())
    ]
    st.selectbox(
        "Add a GPU",
        shown,
        index=None,
        key="add-gpu",
        on_change=_add_gpu,
        format_func=catalogue.gpu_label,
        filter_mode="fuzzy",
        placeholder="Name, vendor or memory",
        help="Pins a card: every page then shows it, and the link carries it.",
    )
    if scenario.gpus:
        state.control(
            st.pills,
            "Pinned GPUs (press one to unpin it)",
            "gpus",
            options=list(scenario.gpus),
            selection_mode="multi",
            format_func=catalogue.gpu_name,
        )
    state.control(
        st.toggle,
        "Show announced GPUs",
        "pre_release",
        help="Cards that cannot be bought yet; their figures are announcements.",
    )


def engine(scenario: Scenario) -> None:
    """The program that serves the model, and its options."""
    engines = catalogue.engines()
    state.control(
        st.selectbox,
        "Engine",
        "engine",
        options=list(engines),
        format_func=lambda key: engines[key].label,
    )
    options = st.expander("Engine and parallelism options", on_change="rerun", key="engine-options")
    if not options.open:  # nine controls that most readers never see cost time on every change
        return
    with options:
        state.control(
            st.selectbox,
            "Split over several GPUs",
            "split",
            options=list(SPLITS),
            format_func=SPLITS.__getitem__,
        )
        state.control(st.toggle, "Expert parallel", "expert_parallel", help="Whole experts per GPU (MoE).")
        state.control(
            st.number_input,
            "gpu_memory_utilization",
            "gpu_memory_utilization",
            min_value=0.05,
            max_value=1.0,
            step=0.01,
            placeholder="engine default",
            help="Share of the GPU that the engine may take.",
        )
        for field in ("max_num_seqs", "max_num_batched_tokens", "n_ubatch"):
            state.control(
                st.number_input,
                field,
                field,
                min_value=1,
                max_value={"max_num_seqs": 8192, "n_ubatch": 65536}.get(field, MAX_MODEL_LEN),
                step=1,
                placeholder="engine default",
            )
        state.control(
            st.selectbox,
            "Flash attention",
            "flash_attention",
            options=list(SWITCHES),
            format_func=SWITCHES.get,
        )
        state.control(st.toggle, "enforce_eager (no CUDA graphs)", "enforce_eager")
        state.control(
            st.toggle,
            "swa_full (full cache for sliding layers)",
            "swa_full",
            help="Some engines keep the whole context for sliding-window layers.",
        )
