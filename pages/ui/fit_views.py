"""The views of the Fit page around and below the live component."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from calculators import memory
from calculators.formats import engine_layout
from gpu_data import models as model_data
from pages.ui import (
    catalogue,
    gpu_counts,
    link,
    plain_table,
    report,
    speed_load,
    speed_views,
    state,
    tracks,
    words,
    workload,
)
from pages.ui.cells import Row, Ways, context_cells, format_cells, ways_of

UNQUANTISED = frozenset({"bf16", "bfloat16", "fp16", "float16", "fp32", "float32"})
MAP_CONTEXTS = tuple(1024 * 2**k for k in range(11))
MAP_USERS = tuple(2**k for k in range(11))


def chosen(load: workload.Workload) -> list[str]:
    """The choices in force in a few words each, for a phone whose sidebar is shut."""
    s = load.scenario
    parallel = load.parallel(s.gpu_count)
    tensor, stages = parallel if isinstance(parallel, tuple) else (1, 1)
    said = [
        "weights as released"
        if load.weight_format.kind == "native"
        else f"{load.weight_format.label} weights",
        f"{load.kv_format.label} KV cache",
        load.engine.label,
        words.count(s.gpu_count, "GPU") + " of each kind",
    ]
    if load.engine.split == "layers":
        said += [cut] if (cut := gpu_counts.layers_words(s.gpu_count)) else []
        tensor, stages = 1, 1
    if tensor > 1:
        said.append(f"tensor parallel {tensor}")
    if stages > 1:
        said.append(f"{stages} pipeline stages")
    if s.gpu_memory_utilization is not None:
        said.append(f"utilisation {s.gpu_memory_utilization:g}")
    return said


def stages_words(load: workload.Workload) -> str:
    """Why the engine's own split falls back to pipeline stages, and which numbers of GPUs need none."""
    n = load.scenario.gpu_count
    found = load.parallel(n)
    if load.scenario.split != "auto" or load.engine.split == "layers" or isinstance(found, str):
        return ""
    if found[1] == 1:
        return ""
    allowed = memory.allowed_tensor_parallel_sizes(
        load.architecture, max(gpu_counts.SERVER, n), load.weight_format, load.scenario.expert_parallel
    )
    good = [size for size, why in allowed.items() if why is None]
    near = {max((k for k in good if k < n), default=1), min((k for k in good if k > n), default=1)} - {1}
    better = f"; tensor parallel on {words.either([str(k) for k in sorted(near)])} would be" if near else ""
    why = allowed.get(n) or f"tensor parallel is not possible on {n} GPUs"
    return f"{why[0].upper()}{why[1:]}: pipeline stages, no faster for one user{better}."


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
    if released := released_as(load):
        st.info(released)


def released_as(load: workload.Workload) -> str:
    """What a model that is released quantised should be counted as; nothing for any other or for its own."""
    if load.scenario.config_json or load.weight_format.kind == "native":
        return ""
    dtype = model_data.model(load.scenario.model).native_weight_dtype
    if dtype.lower() in UNQUANTISED:
        return ""
    native = catalogue.weight_formats()["native"].label
    return (
        f"{load.name} is released in {dtype}. To count the files as you download them, choose the weight "
        f"format “{native}”; {load.weight_format.label} would be a conversion."
    )


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


def _told(load: workload.Workload, change: memory.Change) -> str:
    """A change in words; a number of GPUs with the split that it holds for, and where another needs fewer."""
    if change.kind != "gpus":
        return change.label
    d = change.deployment
    cut = gpu_counts.split_words(d.tensor_parallel_size, d.pipeline_parallel_size)
    if load.engine.split == "layers" or not cut:
        return change.label
    fewer = [n for n in gpu_counts.COUNTS if 1 < n < d.gpus and _fits(d, stages=n)]
    more = f"; {fewer[0]} are enough as pipeline stages (PP{fewer[0]})" if fewer else ""
    return f"{change.label} ({cut}{more})"


def _fits(deployment: memory.Deployment, stages: int) -> bool:
    """Whether it fits so many pipeline stages."""
    found = memory.estimate(deployment.but(tensor_parallel_size=1, pipeline_parallel_size=stages))
    return found.refused is None and int(np.max(found.verdict)) == memory.FITS


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


Fields = dict[str, Any]


def changes(load: workload.Workload) -> tuple[list[dict[str, Any]], dict[str, Fields]]:
    """For each pinned GPU that is too small the first single change that makes it fit, and its fields."""
    caches = [fmt for fmt in catalogue.kv_formats().values() if load.loads(fmt)]
    rows, fields_of = [], {}
    for gpu in load.pinned:
        text = "no single change is enough."
        if barred := load.barred(gpu):
            text = f"{barred}."
            label, fields, found = _readable(load, gpu)
        else:
            deployment = load.deployment([gpu])
            if isinstance(deployment, str):
                continue
            now = memory.estimate(deployment)
            if now.verdict == memory.FITS:
                continue
            able = [fmt for fmt in load.formats() if load.support(gpu.id, fmt).state != "no"]
            change = memory.first_change_that_fits(deployment, able, caches, now=now)
            label, fields = (_told(load, change), _applied(load, gpu, change)) if change else ("", {})
            found = _promised(load, gpu, fields) if change else None
        if found is not None:
            text = f"{label}, then {words.gib(float(found.headroom_bytes))} to spare"
            fields_of[gpu.id] = fields
        rows.append({"gpu": gpu.id, "title": gpu.title, "text": text, "able": found is not None})
    return rows, fields_of


Numbers = tuple[
    NDArray[Any], NDArray[Any], list[list[str]]
]  # [GPU, format]: verdict, bytes to spare, why not


@lru_cache(maxsize=64)
def _layouts(
    gpus: tuple[str, ...], formats: tuple[str, ...], algorithm: str, model: str, config_json: str
) -> list[list[Any]]:
    """[format][GPU]: how the engine keeps it in memory; model or config decide what a native format means."""
    table = catalogue.weight_formats()
    own = workload.checkpoint(model, config_json)
    return [
        [
            engine_layout(
                catalogue.spec_row(gpu), table[one], algorithm, own if table[one].kind == "native" else None
            )
            for gpu in gpus
        ]
        for one in formats
    ]


def _at_once(load: workload.Workload, gpus: list[workload.PinnedGpu], formats: list[Any]) -> Numbers:
    """Every GPU and format in one call, split as the engine does by default."""
    scenario = load.scenario
    verdict = np.zeros((len(gpus), len(formats)), np.int8)
    spare = np.zeros((len(gpus), len(formats)))
    reasons: list[list[str]] = [[] for _ in gpus]
    place = {gpu.id: i for i, gpu in enumerate(gpus)}
    layouts = _layouts(
        tuple(gpu.id for gpu in gpus),
        tuple(fmt.id for fmt in formats),
        load.engine.algorithm,
        scenario.model,
        scenario.config_json,
    )
    for group in load.same_devices(gpus):
        at = [place[gpu.id] for gpu in group]
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
            [[row[i] for i in at] for row in layouts],
        )
        why = [reason or "" for reason in matrix.refused[0]]
        verdict[at], spare[at] = matrix.verdict[:, 0], matrix.headroom_bytes[:, 0]
        for i in at:
            reasons[i] = why
    return verdict, spare, reasons


def _one_by_one(load: workload.Workload, gpus: list[workload.PinnedGpu], formats: list[Any]) -> Numbers:
    """The same with a split of the reader's own, format by format."""
    verdict = np.zeros((len(gpus), len(formats)), np.int8)
    spare = np.zeros((len(gpus), len(formats)))
    reasons = [["" for _ in formats] for _ in gpus]
    for k, fmt in enumerate(formats):
        then = workload.changed(load, weight_format=fmt.id)
        columns = tracks.columns_of(then, gpus, load.scenario.max_model_len, load.scenario.concurrency)
        for i, column in enumerate(columns):
            verdict[i, k] = int(column.verdict)
            spare[i, k] = -np.inf if column.refused else float(column.headroom)
            reasons[i][k] = column.refused or ""
    return verdict, spare, reasons


@lru_cache(maxsize=64)
def _gpus_shown(pinned: tuple[str, ...], boards: int, pre_release: bool) -> list[workload.PinnedGpu]:
    """Every GPU, the pinned ones first, then the largest."""
    ids = [g for g in catalogue.gpus().index if pre_release or g not in catalogue.pre_release_gpus()]
    return sorted(
        (workload.pinned(g, boards) for g in ids), key=lambda gpu: (gpu.id not in pinned, -gpu.capacity_bytes)
    )


@lru_cache(maxsize=64)
def _ways(
    gpus: tuple[str, ...], formats: tuple[str, ...], algorithm: str, model: str, config_json: str
) -> Ways:
    """How every GPU runs every format; `model` and `config_json` decide what the native format means."""
    table = catalogue.weight_formats()
    return ways_of(
        [
            [workload.support_of(gpu, table[one], algorithm, model, config_json) for one in formats]
            for gpu in gpus
        ]
    )


def format_matrix(load: workload.Workload) -> dict[str, Any]:
    """Every GPU against every weight format that the engine reads; the reader's own choices stand first."""
    scenario = load.scenario
    gpus = _gpus_shown(scenario.gpus, scenario.gpu_count, scenario.pre_release)
    formats = sorted(load.formats(), key=lambda fmt: fmt.id != scenario.weight_format)
    own = scenario.expert_parallel or (scenario.split != "auto" and load.engine.split != "layers")
    blocked = not load.loads(load.kv_format) or not load.loads(load.weight_format)
    verdict, spare, reasons = (_one_by_one if own or blocked else _at_once)(load, gpus, formats)
    chosen_first = formats[0].id == scenario.weight_format
    ways = _ways(
        tuple(gpu.id for gpu in gpus),
        tuple(fmt.id for fmt in formats),
        load.engine.algorithm,
        scenario.model,
        scenario.config_json,
    )
    here = [0 if chosen_first and gpu.id in scenario.gpus else -1 for gpu in gpus]
    return {
        "title": "All GPUs by weight format",
        "note": f"{words.count(scenario.gpu_count, 'GPU')} of each kind, "
        f"{words.count(scenario.max_model_len, 'token')} for {words.count(scenario.concurrency, 'user')}, "
        f"formats that {load.engine.label} reads; yours and your pinned GPUs first, scroll for the others. "
        "✓ fits, ≈ tight, ✕ does not, with GiB to spare or short. "
        "Hatched with an s: the GPU only stores the format and computes in 16 bits. "
        "A dash: not possible. Press a cell to use that GPU and format.",
        "impossible": "",
        "cells": format_cells(ways, verdict, spare, reasons, here).data(
            "All GPUs by weight format, scrollable",
            "GPU",
            [(fmt.id, fmt.label) for fmt in formats],
            [Row(gpu.id, gpu.name, words.gib(gpu.capacity_bytes), gpu.id in scenario.gpus) for gpu in gpus],
        ),
    }


def detail_gpu(load: workload.Workload, best: workload.PinnedGpu | None) -> workload.PinnedGpu | None:
    """The GPU that the detailed views are about: the reader's choice, else the one of the verdict."""
    return next((gpu for gpu in load.pinned if gpu.id == load.scenario.map_gpu), best)


def _detail(load: workload.Workload, gpu: workload.PinnedGpu | None) -> dict[str, Any]:
    """What the reader may choose to see in detail."""
    names = [["", "The one of the verdict"], *([one.id, one.name] for one in load.pinned)]
    own = gpu is not None and gpu.id == load.scenario.map_gpu
    return {"options": names, "chosen": gpu.id if gpu is not None and own else ""}


def estimated(
    load: workload.Workload, gpu: workload.PinnedGpu, tokens: Any = None, users: Any = None
) -> memory.Report | str:
    """The estimate on one GPU, or why there is none."""
    deployment = load.deployment([gpu], tokens, users)
    if isinstance(deployment, str):
        return deployment
    found = memory.estimate(deployment)
    return found.refused or found


def context_map(load: workload.Workload, gpu: workload.PinnedGpu) -> dict[str, Any]:
    """Context × users on one GPU, with the frontier of what fits."""
    tokens = np.array(MAP_CONTEXTS, dtype=np.int64)[None, :]
    users = np.array(MAP_USERS, dtype=np.int64)[:, None]
    title = f"Context and users on {gpu.title}"
    found = estimated(load, gpu, tokens, users)
    if isinstance(found, str):
        return {"title": title, "impossible": f"Not possible: {found}"}
    shape = (len(MAP_USERS), len(MAP_CONTEXTS))
    rows, cells = context_cells(
        MAP_CONTEXTS,
        MAP_USERS,
        np.broadcast_to(found.verdict, shape),
        np.broadcast_to(found.headroom_bytes, shape),
        (load.scenario.max_model_len, load.scenario.concurrency),
    )
    columns = [(str(t), words.short_count(t)) for t in MAP_CONTEXTS]
    return {
        "title": title,
        "note": "✓ fits, ≈ tight, ✕ does not: GiB to spare or short below 1,000. The thick edge is the "
        "frontier, the outlined cell is where you are, or the next below. Press a cell to go there.",
        "impossible": "",
        "cells": cells.data("Users at once by context per user", "Users", columns, rows),
    }


def computed(load: workload.Workload, gpu: workload.PinnedGpu) -> dict[str, Any]:
    """Every term of the estimate with its formula and the numbers put in."""
    found = estimated(load, gpu)
    if isinstance(found, str):
        return {"impossible": f"Not possible on {gpu.title}: {found}", "table": None}
    table = plain_table.table(
        f"{gpu.title}: the GPU that holds most, at the context and users chosen."
        if gpu.devices > 1
        else f"{gpu.title}, at the context and users chosen.",
        ["Term", "GiB", "Formula", "With numbers", "Source"],
        [
            [term.name, f"{float(term.bytes) / words.GIB:,.3f}", term.formula, term.substituted, term.source]
            for term in found.terms
        ],
        [
            f"Needed: {words.gib(float(found.needed_bytes))}; reserved by the engine in the end: "
            f"{words.gib(float(found.reserved_bytes))} of {words.gib(gpu.capacity_bytes)}.",
            f"Error band of the need: {words.gib(float(found.need_low_bytes))} to "
            f"{words.gib(float(found.need_high_bytes))}, {band_words(load)}. The cache is counted; weights "
            "and work are estimated. “Tight” means that the limit lies inside the band.",
            f"Capacity: {words.gib(gpu.capacity_bytes)} ({basis_words(gpu.basis)}).",
            *(f"Assumed: {words.cut(text, words.MOST_SAID)}" for text in found.assumptions),
        ],
    )
    return {"impossible": "", "table": table}


def speed(load: workload.Workload, speeds: speed_load.Speeds | str | None = None) -> dict[str, Any]:
    """How fast each pinned GPU answers that can hold what is asked for."""
    here = tracks.columns_of(load, load.pinned, load.scenario.max_model_len, load.scenario.concurrency)
    too_small = [column.gpu.id for column in here if not column.refused and not int(column.verdict)]
    found = speed_views.speed_rows(load, too_small, speeds)
    table = plain_table.table(found.caption, list(speed_views.TITLES), list(found.rows), list(found.notes))
    return {"impossible": found.reason, "table": None if found.reason else table}


def speed_terms(
    load: workload.Workload, gpu: workload.PinnedGpu, speeds: speed_load.Speeds | str
) -> dict[str, Any] | None:
    """The formulas behind it, on one GPU."""
    caption, titles, rows, notes = speed_views.term_rows(load, gpu.id, speeds)
    return plain_table.table(caption, list(titles), rows, list(notes)) if rows else None


def views(load: workload.Workload, best: workload.PinnedGpu | None) -> dict[str, Any]:
    """What the reader sees after the verdict: every GPU and format, the map, the formulas."""
    gpu = detail_gpu(load, best)
    speeds = speed_load.speeds(load)  # once for the table and its formulas
    return {
        "speed": speed(load, speeds),
        "matrix": format_matrix(load),
        "detail": _detail(load, gpu),
        "map": context_map(load, gpu) if gpu else None,
        "terms": computed(load, gpu) | {"speed": speed_terms(load, gpu, speeds)} if gpu else None,
    }


def use_format(gpus: tuple[str, ...], pressed: Mapping[str, Any]) -> None:
    """A cell of the matrix was pressed: pin its GPU and use its format."""
    gpu, fmt = str(pressed.get("row")), str(pressed.get("column"))
    if gpu in catalogue.gpus().index and fmt in catalogue.weight_formats():
        state.put(weight_format=fmt, gpus=tuple(dict.fromkeys((*gpus, gpu))))


def use_place(pressed: Mapping[str, Any]) -> None:
    """A cell of the map was pressed: go to its context and users."""
    row, column = str(pressed.get("row")), str(pressed.get("column"))
    if row.isdecimal() and column.isdecimal():
        fields = {"max_model_len": int(column), "concurrency": int(row)}
        if all(link.takes(field, value) for field, value in fields.items()):
            state.put(**fields)


def show_detail(pressed: Mapping[str, Any]) -> None:
    """Another GPU is to be shown in detail; none: the one of the verdict."""
    gpu = str(pressed.get("gpu"))
    if gpu == "" or gpu in catalogue.gpus().index:
        state.put(map_gpu=gpu)


def draw(load: workload.Workload, best: workload.PinnedGpu | None, whole: bool) -> None:
    """The report below the verdict; `whole` is False while only the verdict is to be seen first."""
    rows, fields_of = changes(load)

    def apply(gpu: Any) -> None:
        if gpu in fields_of:
            state.put(**fields_of[gpu])

    pressed: Mapping[str, Callable[[Any], None]] = {
        "apply": apply,
        "format": lambda cell: use_format(load.scenario.gpus, cell),
        "place": use_place,
        "detail": show_detail,
    }
    data = {
        "chosen": chosen(load),
        "reserve": " ".join(filter(None, (stages_words(load), reserve_words(load)))),
        "changes": rows,
        "views": views(load, best) if whole else None,
    }
    report.draw(data, pressed)


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
