"""The Fit page for fine-tuning and training: verdict, what would help, how long, what it rests on."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from calculators import training
from calculators.architecture import ConfigRefused, params_total
from calculators.formats import FormatRefused
from calculators.memory import FITS, GpuMemory
from calculators.scenario import Scenario
from gpu_data.accuracy import accuracy_frame
from gpu_data.training import finetune_runs, training_runs, training_tables
from pages.ui import catalogue, plain_table, scrubber, state, training_tracks, words, workload
from pages.ui.link import code
from pages.ui.training_changes import first_changes
from pages.ui.training_load import METHOD_NAMES, Runs, TrainingLoad, load, split_words

MOST_FINETUNES = 20  # measured fine-tunes shown
_ROWS_PX = 9  # of the table of published runs, before it scrolls


def page(scenario: Scenario) -> None:
    """The whole page of either task."""
    try:
        found = load(scenario)
        if found.refused:
            field, _, reason = found.refused.partition(": ")
            st.error(f"This cannot be computed. Field {code(field)}: {words.plain(reason)}")
            return
        live = training_tracks.build(found)
    except (ConfigRefused, FormatRefused) as refused:
        st.error(f"This cannot be computed. Field {code(refused.field)}: {words.plain(refused.reason)}")
        return
    cautions(found)
    scrubber.draw(live.data, training_tracks.FIELDS[found.task], f"scrubber-{found.task}")
    badges(found)
    runs = found.runs()
    changes(found, runs)
    if not scrubber.drawn():
        return
    if found.pinned:
        times(found, runs)
    gpu = detail_gpu(found, live.verdict_gpu)
    if gpu is not None:
        computed(found, gpu, runs)
    published(found)


def cautions(found: TrainingLoad) -> None:
    """What the reader asked for that cannot be, or was assumed."""
    longest = found.architecture.max_position_embeddings
    if longest and found.seq_len > longest:
        asked = words.count(found.seq_len, "token")
        st.warning(f"The model's own window is {words.count(longest, 'token')}; {asked} are asked for.")
    if not found.architecture.generates:
        st.info("This model is an encoder: its logits are counted as for masked language modelling.")
    if found.scenario.config_json and found.architecture.assumptions:
        lines = "\n".join(f"- {words.plain(text)}" for text in found.architecture.assumptions)
        st.info(f"Assumed about your config:\n\n{lines}")


def badges(found: TrainingLoad) -> None:
    """The choices in force in one line, for a phone whose sidebar is shut; usual ones as well."""
    run = found.run
    chosen = [
        METHOD_NAMES[found.method] if not found.trains else f"{words.large(found.tokens)} tokens",
        found.optimizer.label,
        found.precision.label,
        found.framework.label,
        f"{found.checkpointing} checkpointing",
    ]
    if found.method != "full":
        targets = ", ".join(run.targets or found.framework.lora_targets)
        chosen.insert(1, f"rank {run.rank} on {targets}")
    if found.scenario.fused_loss != "auto":
        chosen.append({"on": "fused loss", "off": "all logits at once"}[found.scenario.fused_loss])
    if found.scenario.offload != "none":
        chosen.append(f"CPU offload: {found.scenario.offload}")
    if not run.flash_attention:
        chosen.append("no flash attention")
    st.markdown(" ".join(f":gray-badge[{text}]" for text in chosen))


def changes(found: TrainingLoad, runs: Runs) -> None:
    """For each pinned GPU that is too small: the first single change that makes it fit."""
    small = [i for i in range(len(runs.gpus)) if runs.verdict[i] != FITS or runs.refused[i]]
    if not small:
        return
    possible = [i for i in small if runs.refused[i] is None]
    verdicts = [int(runs.verdict[i]) for i in possible]
    found_changes = dict(
        zip(possible, first_changes(found, [runs.gpus[i] for i in possible], verdicts), strict=True)
    )
    st.header("What would make it fit", anchor=False)
    for i in small:
        gpu, change = runs.gpus[i], found_changes.get(i)
        with st.container(
            horizontal=True, wrap=False, vertical_alignment="center", gap="small", key=f"change-{gpu.id}"
        ):
            if reason := runs.refused[i]:
                st.markdown(f"**{gpu.title}:** not possible: {words.plain(reason)}")
                continue
            if change is None:
                st.markdown(f"**{gpu.title}:** no single change is enough.")
                continue
            side = "to spare" if change.headroom_bytes >= 0 else "short"
            spare = f"{words.gib(abs(change.headroom_bytes))} {side}"
            then = f"then {spare}" if change.verdict == FITS else f"then tight, {spare}"
            st.markdown(f"**{gpu.title}:** {change.label}, {then}")
            st.button(
                "Apply",
                key=f"apply-{gpu.id}",
                help=f"Change the scenario: {change.label}",
                on_click=state.put,
                kwargs=change.fields,
            )


def _band(value: float, low: float, high: float) -> str:
    return f"{words.three(value)} ({words.three(low)} to {words.three(high)})"


def times(found: TrainingLoad, runs: Runs) -> None:
    """Speed, time and energy on every pinned GPU, and how many meet the deadline."""
    deadline = found.scenario.deadline_days if found.trains else None
    titles = ["GPUs", "Tokens/s per GPU", "MFU", "Time", "GPU-hours", "Energy"]
    if deadline:
        titles.append(f"GPUs for {deadline:g} {'day' if deadline == 1 else 'days'}")
    titles.append("How")
    needed = found.gpus_for_deadline(deadline) if deadline else [None] * len(runs.gpus)
    rows = []
    for i, gpu in enumerate(runs.gpus):
        way = runs.ways[i]
        cells = [gpu.title]
        if way is None or runs.refused[i] or not runs.verdict[i] or np.isnan(runs.days[i]):
            why = (
                runs.refused[i]
                or (runs.speed_refused[i] if runs.verdict[i] else "does not fit")
                or "not known"
            )
            cells += [why, "–", "–", "–", "–"]
        else:
            cells += [
                _band(float(runs.tokens_per_s_per_gpu[i]), float(runs.low[i]), float(runs.high[i])),
                f"{100 * runs.mfu[i]:.0f}\u00a0%",
                words.span_band(float(runs.days[i]), float(runs.days_low[i]), float(runs.days_high[i])),
                _band(float(runs.gpu_hours[i]), float(runs.gpu_hours_low[i]), float(runs.gpu_hours_high[i])),
                "–" if np.isnan(runs.energy_kwh[i]) else f"{words.three(float(runs.energy_kwh[i]))} kWh",
            ]
        if deadline:
            cells.append(_enough(needed[i]))
        rows.append([*cells, split_words(way) if way else "not possible"])
    st.header("How long it takes", anchor=False)
    plain_table.draw(
        "times",
        f"{found.work}: {words.large(found.tokens)} tokens in all. Ranges hold 80 % of what was measured.",
        titles,
        rows,
        time_notes(found, runs, deadline),
    )


def _enough(count: tuple[int | None, int | None] | None) -> str:
    if count is None or count[0] is None:
        return "more than can be counted on, or it does not fit"
    sure = "" if count[1] is None else f"; {count[1]:,} to be nearly sure"
    return f"{count[0]:,}{sure}"


def time_notes(found: TrainingLoad, runs: Runs, deadline: float | None) -> list[str]:
    """What the times rest on."""
    tables = training_tables()
    if found.trains:
        band = tables.bands["gpu_hours"]
        notes = [
            f"Time and GPU-hours: range from {band.rows} published whole runs, which also restart, test "
            "and wait; the speed's range is from steady measurements."
        ]
    else:
        notes = [
            "Samples are packed to full sequences; loading, evaluation and saving are not counted.",
        ]
        if found.method == "qlora":
            notes.append("Unpacking 4-bit weights is not counted: QLoRA is usually slower than shown.")
    if deadline:
        notes.append(
            "GPUs for the deadline: at the expected time, then at the slow end of its range; "
            "multiples of 8 above 8."
        )
    notes.append(
        "MFU counts as published figures do: no recomputation"
        + ("" if found.method == "full" else ", no gradients of frozen weights")
        + ", over the dense 16-bit peak. No speed lies above the best matrix product that anyone measured."
    )
    notes.append("Energy: board power for all GPU-hours; the rest of the machine and cooling come on top.")
    kinds = found.kinds(runs.gpus)
    assumed = dict.fromkeys(text for kind in kinds if kind.speed for text in kind.speed.assumptions)
    for way, kind in zip(runs.ways, kinds, strict=True):
        if way is not None and kind.speed is not None:
            assumed[training.matmul_dtype(way, kind.speed)[1]] = None
    notes += [f"Assumed: {text}" for text in assumed if text]
    early = [gpu.name for gpu in runs.gpus if gpu.id in catalogue.pre_release_gpus()]
    if early:
        notes.append(f"Announced figures, nothing measured: {words.listed(early)}.")
    return notes


def detail_gpu(found: TrainingLoad, best: workload.PinnedGpu | None) -> workload.PinnedGpu | None:
    """The GPU that the computation is shown for: the reader's choice, else the one of the verdict."""
    if best is None:
        return None
    names = {"": "The one of the verdict"} | {gpu.id: gpu.name for gpu in found.pinned}
    state.control(
        st.selectbox, "GPU shown in detail", "map_gpu", options=list(names), format_func=names.__getitem__
    )
    return next((gpu for gpu in found.pinned if gpu.id == found.scenario.map_gpu), best)


def computed(found: TrainingLoad, gpu: workload.PinnedGpu, runs: Runs) -> None:
    """Every term of the memory estimate with its formula and the numbers put in."""
    st.header("How this was computed", anchor=False)
    i = next(i for i, one in enumerate(runs.gpus) if one.id == gpu.id)
    way = runs.ways[i]
    if way is None or runs.refused[i]:
        st.info(f"Not possible on {gpu.title}: {words.plain(runs.refused[i] or 'no split exists')}")
        return
    tables = training_tables()
    band = tables.bands["peak_gib_per_gpu"]
    memory = GpuMemory(gpu.name, gpu.capacity_bytes, gpu.basis, gpu.unified)
    report = training.estimate(way, memory, dict(tables.constants), band)
    moment = training.MOMENTS[int(report.moment)]
    needed = float(report.needed_bytes)
    plain_table.draw(
        "training-terms",
        f"{gpu.title}: the GPU that holds most, {split_words(way)}.",
        ("Term", "GiB", "Formula", "With numbers", "Source"),
        [
            (term.name, f"{float(term.bytes) / words.GIB:,.3f}", term.formula, term.substituted, term.source)
            for term in report.terms
        ],
        (
            f"Needed at the fullest moment, {_MOMENTS[moment]}: {words.gib(needed)} "
            f"of {words.gib(gpu.capacity_bytes)}.",
            f"Error band of the need: {words.gib(needed * (1 + band.low))} to "
            f"{words.gib(needed * (1 + band.high))}, in which 80 % of {band.rows} "
            "measured peaks lay. “Tight” means that the capacity lies inside.",
            *(f"Assumed: {words.cut(text, words.MOST_SAID)}" for text in report.assumptions),
        ),
    )


_MOMENTS = {
    "loss": "when the loss is computed",
    "backward": "in the backward pass",
    "step": "when the optimiser steps",
}


@cache
def _published_runs() -> pd.DataFrame:
    """Published whole runs beside their prediction."""
    frame = accuracy_frame()
    frame = frame[
        (frame["table"] == "training") & (frame["quantity"] == "gpu_hours") & frame["refused"].isna()
    ]
    frame = frame[frame["part"] == "counted"]
    runs = {row["id"]: row for row in training_runs()}
    return pd.DataFrame(
        {
            "Run": [f"{runs[i]['run']} ({runs[i]['org']})" for i in frame["id"]],
            "GPU-hours": frame["measured"].astype(float).round(0).to_numpy(),
            "Predicted": frame["predicted"].astype(float).round(0).to_numpy(),
            "Off %": frame["error_pct"].astype(float).round(0).to_numpy(),
            "Source": frame["source_url"].astype(str).to_numpy(),
            "80 % range": [
                f"{low:,.0f} to {high:,.0f}" for low, high in zip(frame["low"], frame["high"], strict=True)
            ],
            "GPUs": [_on(row) for row in frame.itertuples()],
            "Tokens": [_tokens(runs[i]["tokens_b"]) for i in frame["id"]],
            "size": [_size(runs[i]) for i in frame["id"]],
        }
    )


@cache
def _measured_finetunes() -> pd.DataFrame:
    """Measured peaks of fine-tuning beside their prediction."""
    frame = accuracy_frame()
    frame = frame[
        (frame["table"] == "finetune") & (frame["quantity"] == "peak_gib_per_gpu") & frame["refused"].isna()
    ]
    runs = {row["id"]: row for row in finetune_runs()}
    return pd.DataFrame(
        {
            "Model": frame["model"].astype(str).to_numpy(),
            "Method": [runs[i]["method"] for i in frame["id"]],
            "Measured GiB": frame["measured"].astype(float).round(1).to_numpy(),
            "Predicted": frame["predicted"].astype(float).round(1).to_numpy(),
            "Off %": frame["error_pct"].astype(float).round(0).to_numpy(),
            "Source": frame["source_url"].astype(str).to_numpy(),
            "80 % range": [
                f"{low:,.1f} to {high:,.1f}" for low, high in zip(frame["low"], frame["high"], strict=True)
            ],
            "Kind": [runs[i]["kind"] for i in frame["id"]],
            "GPUs": [_on(row) for row in frame.itertuples()],
            "Setup": [_setup(runs[i]) for i in frame["id"]],
            "size": [_size(runs[i]) for i in frame["id"]],
        }
    )


def _on(row: Any) -> str:
    count = "" if pd.isna(row.n_gpus) else f"{int(row.n_gpus):,} × "
    return f"{count}{str(row.gpu).removeprefix('NVIDIA ')}"


def _tokens(billions: str) -> str:
    return words.large(float(billions) * 1e9) if billions else "not stated"


def _size(row: Any) -> float:
    return float(row["params_b"] or "nan")


def _setup(row: Any) -> str:
    parts = (
        row["precision"],
        row["optimizer"],
        f"sequence {row['seq_len']}" if row["seq_len"] else "",
        f"micro-batch {row['micro_batch']}" if row["micro_batch"] else "",
        f"checkpointing {row['grad_ckpt']}" if row["grad_ckpt"] else "",
    )
    return ", ".join(part for part in parts if part)


def published(found: TrainingLoad) -> None:
    """What others measured, the models nearest in size first, beside what is predicted for their setup."""
    size = params_total(found.architecture) / 1e9
    if found.trains:
        title, frame = "Published training runs", _published_runs()
        said = (
            "GPU-hours as published beside what is predicted from model, tokens and GPUs; none was fitted to."
        )
    else:
        title, frame = f"Measured {METHOD_NAMES[found.method]} runs", _measured_finetunes()
        frame = frame[frame["Method"].str.lower().str.startswith(found.method)]
        said = (
            "Peak memory of one GPU beside what is predicted for the same setup; “Kind” says who states it."
        )
    if frame.empty:
        return
    order = (np.log(frame["size"]) - np.log(size)).abs().sort_values(kind="stable").index
    shown = frame.loc[order].head(None if found.trains else MOST_FINETUNES).drop(columns="size")
    st.header(title, anchor=False)
    st.caption(f"{said} Models nearest in size to yours first; all others on the page How far off?.")
    make = st.column_config
    st.dataframe(
        shown,
        key=f"published-{found.task}",
        hide_index=True,
        placeholder="–",
        height=36 + 35 * min(len(shown), _ROWS_PX) + 3,
        column_config={
            "GPU-hours": make.NumberColumn("GPU-hours", format="localized", help="As published"),
            "Predicted": make.NumberColumn("Predicted", format="localized"),
            "Off %": make.NumberColumn("Off %", format="%+.0f"),
            "Source": make.LinkColumn("Source", display_text="open"),
        },
        alt=f"{title}: published and predicted, with sources",
    )
