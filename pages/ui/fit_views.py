"""The views of the Fit page around and below the live component."""

from __future__ import annotations

from typing import Any

import numpy as np
import streamlit as st

from calculators import memory
from pages.ui import catalogue, grid, plain_table, state, tracks, words, workload
from pages.ui.cells import Row, context_rows, format_cells

MAP_CONTEXTS = tuple(1024 * 2**k for k in range(11))
MAP_USERS = tuple(2**k for k in range(11))


def badges(load: workload.Workload) -> None:
    """The choices in force in one line, for a phone whose sidebar is shut."""
    s = load.scenario
    parallel = load.parallel(s.gpu_count)
    tensor, stages = parallel if isinstance(parallel, tuple) else (1, 1)
    chosen = [
        "weights as released"
        if load.weight_format.kind == "native"
        else f"{load.weight_format.label} weights",
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
    if why := reserve_words(load):
        st.caption(why)


def reserve_words(load: workload.Workload) -> str:
    """Why the engine takes more than the model needs; nothing where it takes what it needs."""
    engine, share = load.engine, load.scenario.gpu_memory_utilization
    if engine.split == "layers":
        return ""
    if share is None and "memory_share" in engine.parameters:
        share = engine.number("memory_share")
    part = "most" if share is None else f"{100 * share:.0f} %"
    if engine.share_of == "free":
        return (
            f"{engine.label} fills {part} of the memory that is free once the model is loaded with KV cache."
        )
    rest = "fills what the model does not need with KV cache"
    return f"{engine.label} takes {part} of the card at start and {rest}."


def cautions(load: workload.Workload) -> None:
    """What the reader asked for that cannot be, or was assumed."""
    longest = load.architecture.max_position_embeddings
    if longest and load.scenario.max_model_len > longest:
        asked = words.count(load.scenario.max_model_len, "token")
        st.warning(f"The model's own window is {words.count(longest, 'token')}; {asked} are asked for.")
    if load.scenario.config_json and load.architecture.assumptions:
        lines = "\n".join(f"- {words.plain(text)}" for text in load.architecture.assumptions)
        st.info(f"Assumed about your config:\n\n{lines}")
    if not load.architecture.generates:
        st.info("This model is an encoder: it keeps no KV cache.")


_FIELD_OF_CHANGE = {
    "gpu_memory_utilization": "gpu_memory_utilization",
    "weight_format": "weight_format",
    "kv_format": "kv_cache_dtype",
    "max_model_len": "max_model_len",
    "concurrency": "concurrency",
    "gpus": "gpu_count",
}


def _applied(load: workload.Workload, gpu: workload.PinnedGpu, change: memory.Change) -> dict[str, Any]:
    """The fields of the Scenario that stand for a change."""
    if change.kind != "gpus":
        return {_FIELD_OF_CHANGE[change.kind]: change.value}
    per_board = gpu.devices // max(1, load.scenario.gpu_count)
    # the change was found with the engine's own way of using so many GPUs
    return {"gpu_count": -(-int(change.value) // per_board), "split": "auto"}


def _promised(
    load: workload.Workload, gpu: workload.PinnedGpu, fields: dict[str, Any]
) -> memory.Report | None:
    """What the page will show after a change; None when it would not fit after all."""
    then = workload.changed(load, **fields)
    report = estimated(then, workload.pinned(gpu.id, then.scenario.gpu_count))
    return None if isinstance(report, str) or report.verdict != memory.FITS else report


def _readable(
    load: workload.Workload, gpu: workload.PinnedGpu
) -> tuple[str, dict[str, Any], memory.Report | None]:
    """The nearest formats that engine and GPU can run and with which it fits: (words, fields, report)."""
    caches = [load.kv_format] if load.loads(load.kv_format) else load.near_caches()[:1]
    runs = load.loads(load.weight_format) and load.support(gpu.id, load.weight_format).state != "no"
    weights = [load.weight_format] if runs else load.near_weights([gpu])
    for fmt in weights:
        for cache in caches:
            fields = {"weight_format": fmt.id, "kv_cache_dtype": cache.id}
            if report := _promised(load, gpu, fields):
                said = [f"weights in {fmt.label}"] if fmt.id != load.weight_format.id else []
                said += [f"KV cache in {cache.label}"] if cache.id != load.kv_format.id else []
                return " and ".join(said), fields, report
    return "", {}, None


def changes(load: workload.Workload) -> None:
    """For each pinned GPU that is too small: the first single change that makes it fit."""
    caches = [fmt for fmt in catalogue.kv_formats().values() if load.loads(fmt)]
    lines = []
    for gpu in load.pinned:
        if load.barred(gpu):
            lines.append((gpu, *_readable(load, gpu)))
            continue
        deployment = load.deployment([gpu])
        if isinstance(deployment, str) or memory.estimate(deployment).verdict == memory.FITS:
            continue
        able = [fmt for fmt in load.formats() if load.support(gpu.id, fmt).state != "no"]
        change = memory.first_change_that_fits(deployment, able, caches)
        fields = _applied(load, gpu, change) if change else {}
        report = _promised(load, gpu, fields) if change else None
        lines.append((gpu, change.label if change else "", fields, report))
    if not lines:
        return
    st.header("What would make it fit", anchor=False)
    for gpu, label, fields, report in lines:
        with st.container(
            horizontal=True, wrap=False, vertical_alignment="center", gap="small", key=f"change-{gpu.id}"
        ):
            if report is None:
                st.markdown(f"**{gpu.title}:** no single change is enough.")
                continue
            spare = words.gib(float(report.headroom_bytes))
            st.markdown(f"**{gpu.title}:** {label}, then {spare} to spare")
            st.button(
                "Apply",
                key=f"apply-{gpu.id}",
                help=f"Change the scenario: {label}",
                on_click=state.put,
                kwargs=fields,
            )


def _use_format(gpu: str, weight_format: str) -> None:
    state.put(weight_format=weight_format, gpus=tuple(dict.fromkeys((*state.last().gpus, gpu))))


_Found = dict[str, tuple[list[int], list[float], list[str]]]  # GPU: verdict, bytes to spare, why not


def _at_once(load: workload.Workload, gpus: list[workload.PinnedGpu], formats: list[Any]) -> _Found:
    """Every GPU and format in one call, split as the engine does by default."""
    scenario, found = load.scenario, {}
    layouts = {gpu.id: [load.layout(gpu.id, fmt) for fmt in formats] for gpu in gpus}
    for group in load.same_devices(gpus):
        matrix = memory.fit_matrix(
            load.architecture,
            load.kv_format,
            load.engine,
            np.array([gpu.capacity_bytes for gpu in group]),
            (group[0].devices,),
            formats,
            scenario.max_model_len,
            scenario.concurrency,
            load.options(),
            load.band,
            [gpu.name for gpu in group],
            list(zip(*(layouts[gpu.id] for gpu in group), strict=True)),
        )
        reasons = [reason or "" for reason in matrix.refused[0]]
        for i, gpu in enumerate(group):
            found[gpu.id] = (matrix.verdict[i, 0], matrix.headroom_bytes[i, 0], reasons)
    return found


def _one_by_one(load: workload.Workload, gpus: list[workload.PinnedGpu], formats: list[Any]) -> _Found:
    """The same with a split of the reader's own, format by format."""
    found: _Found = {gpu.id: ([], [], []) for gpu in gpus}
    for fmt in formats:
        then = workload.changed(load, weight_format=fmt.id)
        for column in tracks.columns_of(then, gpus, load.scenario.max_model_len, load.scenario.concurrency):
            verdict, spare, reasons = found[column.gpu.id]
            verdict.append(int(column.verdict))
            spare.append(-np.inf if column.refused else float(column.headroom))
            reasons.append(column.refused or "")
    return found


def format_matrix(load: workload.Workload) -> None:
    """Every GPU against every weight format that the engine reads; the reader's own choices stand first."""
    scenario = load.scenario
    ids = [g for g in catalogue.gpus().index if scenario.pre_release or g not in catalogue.pre_release_gpus()]
    gpus = sorted(
        (workload.pinned(g, scenario.gpu_count) for g in ids),
        key=lambda gpu: (gpu.id not in scenario.gpus, -gpu.capacity_bytes),
    )
    formats = sorted(load.formats(), key=lambda fmt: fmt.id != scenario.weight_format)
    own = scenario.expert_parallel or (scenario.split != "auto" and load.engine.split != "layers")
    blocked = not load.loads(load.kv_format) or not load.loads(load.weight_format)
    numbers = (_one_by_one if own or blocked else _at_once)(load, gpus, formats)
    st.header("All GPUs by weight format", anchor=False)
    st.caption(
        f"{words.count(scenario.gpu_count, 'GPU')} of each kind, "
        f"{words.count(scenario.max_model_len, 'token')} for {words.count(scenario.concurrency, 'user')}, "
        f"formats that {load.engine.label} reads; yours and your pinned GPUs first, scroll for the others. "
        "✓ fits, ≈ tight, ✕ does not, with GiB to spare or short. "
        "Hatched with an s: the GPU only stores the format and computes in 16 bits. "
        "A dash: not possible. Press a cell to use that GPU and format."
    )
    grid.draw(
        "matrix",
        "All GPUs by weight format, scrollable",
        "GPU",
        [(fmt.id, fmt.label) for fmt in formats],
        [
            Row(
                gpu.id,
                gpu.name,
                words.gib(gpu.capacity_bytes),
                gpu.id in scenario.gpus,
                format_cells(
                    [load.support(gpu.id, fmt) for fmt in formats],
                    np.asarray(numbers[gpu.id][0]),
                    np.asarray(numbers[gpu.id][1]),
                    0 if gpu.id in scenario.gpus and formats[0].id == scenario.weight_format else None,
                    numbers[gpu.id][2],
                ),
            )
            for gpu in gpus
        ],
        _use_format,
    )


def detail_gpu(load: workload.Workload, best: workload.PinnedGpu | None) -> workload.PinnedGpu | None:
    """The GPU that the detailed views are about: the reader's choice, else the one of the verdict."""
    if best is None:
        return None
    # the label says nothing that changes: a browser remembers the chosen label, not the id behind it
    names = {"": "The one of the verdict"} | {gpu.id: gpu.name for gpu in load.pinned}
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


def _use_cell(users: str, tokens: str) -> None:
    state.put(max_model_len=int(tokens), concurrency=int(users))


def context_map(load: workload.Workload, gpu: workload.PinnedGpu) -> None:
    """Context × users on one GPU, with the frontier of what fits."""
    tokens = np.array(MAP_CONTEXTS, dtype=np.int64)[None, :]
    users = np.array(MAP_USERS, dtype=np.int64)[:, None]
    st.header(f"Context and users on {gpu.title}", anchor=False)
    report = estimated(load, gpu, tokens, users)
    if isinstance(report, str):
        st.info(f"Not possible: {words.plain(report)}")
        return
    st.caption(
        "✓ fits, ≈ tight, ✕ does not: GiB to spare or short below 1,000. The thick edge is the frontier, "
        "the outlined cell is where you are. Press a cell to go there."
    )
    shape = (len(MAP_USERS), len(MAP_CONTEXTS))
    grid.draw(
        "context-map",
        "Users at once by context per user",
        "Users",
        [(str(t), words.short_count(t)) for t in MAP_CONTEXTS],
        context_rows(
            MAP_CONTEXTS,
            MAP_USERS,
            np.broadcast_to(report.verdict, shape),
            np.broadcast_to(report.headroom_bytes, shape),
            (load.scenario.max_model_len, load.scenario.concurrency),
        ),
        _use_cell,
        wide=True,
    )


def computed(load: workload.Workload, gpu: workload.PinnedGpu) -> None:
    """Every term of the estimate with its formula and the numbers put in."""
    st.header("How this was computed", anchor=False)
    report = estimated(load, gpu)
    if isinstance(report, str):
        st.info(f"Not possible on {gpu.title}: {words.plain(report)}")
        return
    plain_table.draw(
        "terms",
        f"{gpu.title}: the GPU that holds most, at the context and users chosen."
        if gpu.devices > 1
        else f"{gpu.title}, at the context and users chosen.",
        ("Term", "GiB", "Formula", "With numbers", "Source"),
        [
            (term.name, f"{float(term.bytes) / words.GIB:,.3f}", term.formula, term.substituted, term.source)
            for term in report.terms
        ],
        (
            f"Needed: {words.gib(float(report.needed_bytes))}; reserved by the engine in the end: "
            f"{words.gib(float(report.reserved_bytes))} of {words.gib(gpu.capacity_bytes)}.",
            f"Error band of the need: {words.gib(float(report.need_low_bytes))} to "
            f"{words.gib(float(report.need_high_bytes))}, {band_words(load)}. The cache is counted; weights "
            "and work are estimated. “Tight” means that the limit lies inside the band.",
            f"Capacity: {words.gib(gpu.capacity_bytes)} ({basis_words(gpu.basis)}).",
            *(f"Assumed: {words.cut(text, words.MOST_SAID)}" for text in report.assumptions),
        ),
    )


def band_words(load: workload.Workload) -> str:
    """What an error band rests on; an engine with few measured runs borrows that of all engines."""
    band, engine = load.band, load.engine
    setups = words.count(band.rows, "measured setup")
    if band.family == engine.family:
        return f"from {setups} of {engine.label}, two of three of which lie inside"
    return f"from {setups} of all engines, because too few of {engine.label} were measured"


def basis_words(basis: str) -> str:
    """Where a capacity comes from."""
    return {
        "cuda_total_bytes": "the total that CUDA reports on this card",
        "visible_bytes": "the total that the driver shows on this card",
    }.get(basis, "assumed from the label: no device log of this card was found")
