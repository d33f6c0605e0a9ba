"""The views of the Fit page around and below the live component."""

from __future__ import annotations

from typing import Any

import numpy as np
import streamlit as st

from calculators import memory
from pages.ui import figures_fit, state, words, workload

MAP_CONTEXTS = tuple(1024 * 2**k for k in range(11))
MAP_USERS = tuple(2**k for k in range(11))


def badges(load: workload.Workload) -> None:
    """The choices in force in one line, for a phone whose sidebar is shut."""
    s = load.scenario
    parallel = load.parallel(s.gpu_count)
    tensor, stages = parallel if isinstance(parallel, tuple) else (1, 1)
    chosen = [
        f"{load.weight_format.label} weights",
        f"{load.kv_format.label} KV cache",
        load.engine.label,
        words.count(s.gpu_count, "GPU") + " of each kind",
    ]
    if tensor > 1:
        chosen.append(f"tensor parallel {tensor}")
    if stages > 1:
        chosen.append(f"{stages} pipeline stages")
    if s.gpu_memory_utilization is not None:
        chosen.append(f"utilisation {s.gpu_memory_utilization:g}")
    st.markdown(" ".join(f":gray-badge[{text}]" for text in chosen))


def detail_gpu(load: workload.Workload, best: workload.PinnedGpu | None) -> workload.PinnedGpu | None:
    """The GPU that the detailed views are about: the reader's choice, else the one of the verdict."""
    if best is None:
        return None
    names = {"": f"The one of the verdict ({best.name})"} | {gpu.id: gpu.name for gpu in load.pinned}
    state.control(
        st.selectbox, "GPU shown in detail", "map_gpu", options=list(names), format_func=names.__getitem__
    )
    return next((gpu for gpu in load.pinned if gpu.id == load.scenario.map_gpu), best)


def estimated(
    load: workload.Workload, gpu: workload.PinnedGpu, tokens: Any = None, users: Any = None
) -> memory.Report | str:
    """The estimate on one GPU, or why there is none."""
    deployment = load.deployment([gpu], tokens, users)
    if isinstance(deployment, str):
        return deployment
    report = memory.estimate(deployment)
    return report.refused or report


def context_map(load: workload.Workload, gpu: workload.PinnedGpu) -> None:
    """Context × users on one GPU, with the line up to which it fits."""
    tokens = np.array(MAP_CONTEXTS, dtype=np.int64)[None, :]
    users = np.array(MAP_USERS, dtype=np.int64)[:, None]
    st.subheader(f"Context and users on {gpu.title}", anchor=False)
    report = estimated(load, gpu, tokens, users)
    if isinstance(report, str):
        st.info(f"Not possible: {report}")
        return
    figure = figures_fit.context_by_users(
        MAP_CONTEXTS,
        MAP_USERS,
        np.asarray(report.verdict),
        np.asarray(report.headroom_bytes) / words.GIB,
        (load.scenario.max_model_len, load.scenario.concurrency),
        [words.short_count(t) for t in MAP_CONTEXTS],
    )
    st.caption(
        "GiB to spare or short in each cell: ✓ fits, ≈ tight (inside the estimate's error), ✕ does not fit. "
        "The line is the frontier."
    )
    st.plotly_chart(
        figure,
        key="context-map",
        config={"displayModeBar": False, "responsive": True},
        alt="Heat map of context length against users at once: which combinations fit on the GPU",
    )


def computed(load: workload.Workload, gpu: workload.PinnedGpu) -> None:
    """Every term of the estimate with its formula and the numbers put in."""
    st.subheader("How this was computed", anchor=False)
    report = estimated(load, gpu)
    if isinstance(report, str):
        st.info(f"Not possible on {gpu.title}: {report}")
        return
    st.caption(f"For the fullest of {gpu.title}, at the context and users chosen.")
    st.table(
        [
            {
                "Term": term.name,
                "GiB": f"{float(term.bytes) / words.GIB:,.3f}",
                "Formula": term.formula,
                "With numbers": term.substituted,
                "Source": term.source,
            }
            for term in report.terms
        ],
        alt="Every term of the estimate with formula, numbers and source",
    )
    st.markdown(
        "\n".join(
            f"- {line}"
            for line in (
                f"Needed: {words.gib(float(report.needed_bytes))}; reserved by the engine in the end: "
                f"{words.gib(float(report.reserved_bytes))} of {words.gib(gpu.capacity_bytes)}.",
                f"Error band of the need: {report.band_low:+.1%} to {report.band_high:+.1%}, from measured "
                f"runs of {load.engine.family}. “Tight” means that the limit lies inside it.",
                f"Capacity: {words.gib(gpu.capacity_bytes)} ({basis_words(gpu.basis)}).",
                *(f"Assumed: {text}" for text in (*load.architecture.assumptions, *report.assumptions)),
            )
        )
    )


def basis_words(basis: str) -> str:
    """Where a capacity comes from."""
    return {
        "cuda_total_bytes": "the total that CUDA reports on this card",
        "visible_bytes": "the total that the driver shows on this card",
    }.get(basis, "assumed from the label: no device log of this card was found")
