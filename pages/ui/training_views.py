"""The Fit page for fine-tuning and training: verdict, what would help, how long, what it rests on."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from calculators import training
from calculators.architecture import ConfigRefused, params_total
from calculators.formats import FormatRefused
from calculators.memory import FITS, TIGHT, GpuMemory
from calculators.scenario import Scenario
from gpu_data.accuracy import accuracy_frame
from gpu_data.training import finetune_runs, training_runs, training_tables
from pages.ui import (
    catalogue,
    glossary,
    plain_table,
    scrubber,
    state,
    training_report,
    training_tracks,
    words,
    workload,
)
from pages.ui.link import code
from pages.ui.training_changes import first_changes
from pages.ui.training_load import (
    CHECKPOINTING_WORDS,
    METHOD_NAMES,
    Runs,
    TrainingLoad,
    load,
    split_words,
    too_large_batch,
)

MOST_FINETUNES = 20  # measured fine-tunes shown


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
    scrubber.draw(live.data, found.scenario)
    draw(found, live, scrubber.drawn())


def draw(found: TrainingLoad, live: training_tracks.Tracks, whole: bool) -> None:
    """The report below the verdict; `whole` is False while only the verdict is to be seen first."""
    runs = found.runs(known=live.many)
    rows, fields_of = changes(found, runs)

    def apply(gpu: Any) -> None:
        if gpu in fields_of:
            state.put(**fields_of[gpu])

    def show(choice: Any) -> None:
        gpu = choice.get("gpu") if isinstance(choice, dict) else None
        if isinstance(gpu, str) and (not gpu or gpu in found.scenario.gpus):
            state.put(map_gpu=gpu)

    enough = in_time(found)
    data = {
        "deadline": deadline_words(found, enough),
        "chosen": chosen(found, runs),
        "changes": rows,
        "views": views(found, runs, live.verdict_gpu, enough) if whole else None,
    }
    training_report.draw(data, {"apply": apply, "detail": show})


Enough = list[tuple[int | None, int | None]]  # GPUs in time as expected, and at the slow end of the range


def in_time(found: TrainingLoad) -> Enough | None:
    """How many of each pinned GPU meet the deadline; None without one."""
    days = found.scenario.deadline_days if found.trains else None
    return found.gpus_for_deadline(days) if days else None


def deadline_words(found: TrainingLoad, enough: Enough | None) -> str:
    """The answer to a deadline in one sentence."""
    if not enough:
        return ""
    able = [
        f"{count:,} × {gpu.name}"
        for gpu, (count, _) in zip(found.pinned, enough, strict=True)
        if count is not None
    ]
    says = words.listed(able) if able else "no number of the pinned GPUs is enough"
    return f"To finish in {_days(found)}: {says}."


def _days(found: TrainingLoad) -> str:
    days = found.scenario.deadline_days
    return f"{days:g} {'day' if days == 1 else 'days'}"


def views(
    found: TrainingLoad, runs: Runs, best: workload.PinnedGpu | None, enough: Enough | None
) -> dict[str, Any]:
    """What stands below the changes."""
    published = published_rows(found)
    if best is None:
        return {"times": None, "detail": None, "terms": None, "published": published}
    own = next((gpu for gpu in found.pinned if gpu.id == found.scenario.map_gpu), None)
    names = [["", "The one of the verdict"], *([gpu.id, gpu.name] for gpu in found.pinned)]
    return {
        "times": times(found, runs, enough),
        "detail": {"options": names, "chosen": own.id if own else ""},
        "terms": computed(found, own or best, runs),
        "published": published,
    }


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


def checkpointing_words(found: TrainingLoad, runs: Runs) -> str:
    """What is computed again on every pinned GPU; an automatic plan may do it on some of them only."""
    ways = zip(runs.ways, runs.refused, strict=True)
    used = {way.checkpointing for way, refused in ways if way is not None and not refused}
    if len(used) > 1:
        return "checkpointing: automatic"
    return CHECKPOINTING_WORDS[used.pop() if used else found.checkpointing]


def chosen(found: TrainingLoad, runs: Runs) -> list[str]:
    """The choices in force in a few words each, for a phone whose sidebar is shut; usual ones as well."""
    run = found.run
    said = [
        METHOD_NAMES[found.method] if not found.trains else f"{words.large(found.tokens)} tokens",
        found.optimizer.label,
        found.precision.label,
        found.framework.label,
        checkpointing_words(found, runs),
    ]
    if found.method != "full":
        targets = ", ".join(run.targets or found.framework.lora_targets)
        said.insert(1, f"rank {run.rank} on {targets}")
    if not found.trains:
        said.append(words.count(found.boards, "GPU") + " of each kind")
    if found.scenario.fused_loss != "auto":
        said.append({"on": "fused loss", "off": "all logits at once"}[found.scenario.fused_loss])
    if found.scenario.offload != "none":
        said.append(f"CPU offload: {found.scenario.offload}")
    if not run.flash_attention:
        said.append("no flash attention")
    return said


def changes(found: TrainingLoad, runs: Runs) -> tuple[list[dict[str, Any]], dict[str, dict[str, Any]]]:
    """For each pinned GPU that is too small the first single change that makes it fit, and its fields."""
    small = [i for i in range(len(runs.gpus)) if runs.verdict[i] != FITS or runs.refused[i]]
    possible = [i for i in small if runs.refused[i] is None]
    advice = first_changes(
        found,
        [runs.gpus[i] for i in possible],
        [int(runs.verdict[i]) for i in possible],
        [float(runs.headroom_bytes[i]) for i in possible],
    )
    able = dict(zip(possible, advice, strict=True))
    rows, fields_of = [], {}
    for i in small:
        gpu, change = runs.gpus[i], able[i].change if i in able else None
        text = f"not possible: {runs.refused[i]}" if runs.refused[i] else "no single change is enough."
        if change is not None:
            then = "then" if change.verdict == FITS else "then tight,"
            text = f"{change.label}, {then} {words.room(change.verdict, change.headroom_bytes)}"
            fields_of[gpu.id] = change.fields
        if i in able and (room := able[i].roomier):
            spare = words.room(TIGHT, room.headroom_bytes)
            text += f"; with the same GPUs, {room.label} leaves it tight with {spare}"
        rows.append({"gpu": gpu.id, "title": gpu.title, "text": text, "able": change is not None})
    return rows, fields_of


def _band(value: float, low: float, high: float) -> str:
    return f"{words.three(value)} ({words.three(low)} to {words.three(high)})"


def times(found: TrainingLoad, runs: Runs, enough: Enough | None) -> dict[str, Any]:
    """Speed, time and energy on every pinned GPU, and how many meet the deadline."""
    titles = ["GPUs", "Tokens/s per GPU", "MFU", "Time", "GPU-hours", "Energy"]
    if enough:
        titles.append(f"GPUs for {_days(found)}")
    titles.append("How")
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
                "–" if np.isnan(runs.energy_kwh[i]) else f"{words.three(float(runs.energy_kwh[i]))}\u00a0kWh",
            ]
        if enough:
            cells.append(_enough(*enough[i]))
        rows.append([*cells, split_words(way) if way else "not possible"])
    return plain_table.table(
        f"{found.work}: {words.large(found.tokens)} tokens in all. Ranges hold 80 % of what was measured.",
        titles,
        rows,
        time_notes(found, runs, bool(enough)),
    )


def _enough(count: int | None, slow: int | None) -> str:
    if count is None:
        return "no number is enough"
    return f"{count:,}" + ("" if slow is None else f" ({slow:,} to be nearly sure)")


def time_notes(found: TrainingLoad, runs: Runs, deadline: bool) -> list[str]:
    """What the times rest on."""
    tables = training_tables()
    if found.trains:
        band = tables.bands["gpu_hours"]
        notes = [
            f"Time and GPU-hours: range from {band.rows} published whole runs, which also restart, test "
            "and wait; the speed's range is from steady measurements."
        ]
    else:
        notes = ["Samples are packed to full sequences; loading, evaluation and saving are not counted."]
        if found.method != "full":
            notes.append(
                "Too few LoRA and QLoRA speeds were measured for a range of their own: it is full training's."
            )
        if found.method == "qlora":
            notes.append(
                "Unpacking 4-bit weights: counted as traffic over the memory bus in every pass; real kernels "
                "take longer (torchtune measured QLoRA 22 % slower than LoRA: Llama 3.1 8B on a GeForce RTX "
                "4090)."
            )
    if deadline:
        notes.append(
            "GPUs for the deadline: at the expected time, then at the slow end of its range; "
            "multiples of 8 above 8."
        )
    notes.append(
        "MFU counts as published figures do: no recomputation, attention to what a layer's window, chunk or "
        "selection lets it see"
        + ("" if found.method == "full" else ", no gradients of frozen weights")
        + ", over the dense 16-bit peak. No speed lies above the best matrix product that anyone measured."
    )
    notes += batch_notes(runs)
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


def batch_notes(runs: Runs) -> list[str]:
    """A caution where a step takes more tokens than any published run's."""
    ways = [way for way in runs.ways if way is not None]
    most = max((too_large_batch(way) for way in ways), default=0.0)
    if not most:
        return []
    known = words.large(training_tables().number("largest_batch_tokens"))
    return [
        f"Steps of up to {words.large(most)} tokens: published runs took 16 million (Llama 3 405B) to "
        f"{known} (DeepSeek-V3). With larger batches the same tokens teach less, so more GPUs than such a "
        "batch feeds hardly finish sooner."
    ]


def computed(found: TrainingLoad, gpu: workload.PinnedGpu, runs: Runs) -> dict[str, Any]:
    """Every term of the memory estimate with its formula and the numbers put in."""
    i = next(i for i, one in enumerate(runs.gpus) if one.id == gpu.id)
    way = runs.ways[i]
    if way is None or runs.refused[i]:
        why = runs.refused[i] or "no split exists"
        return {"impossible": f"Not possible on {gpu.title}: {why}", "table": None}
    tables = training_tables()
    band = tables.bands["peak_gib_per_gpu"]
    memory = GpuMemory(gpu.name, gpu.capacity_bytes, gpu.basis, gpu.unified)
    report = training.estimate(way, memory, dict(tables.constants), band)
    moment = training.MOMENTS[int(report.moment)]
    needed = float(report.needed_bytes)
    table = plain_table.table(
        f"{gpu.title}: the GPU that holds most, {split_words(way)}.",
        ("Term", "GiB", "Formula", "With numbers", "Source"),
        [
            (term.name, f"{float(term.bytes) / words.GIB:,.3f}", term.formula, term.substituted, term.source)
            for term in report.terms
        ],
        [
            f"Needed at the fullest moment, {_MOMENTS[moment]}: {words.gib(needed)} "
            f"of {words.gib(gpu.capacity_bytes)}.",
            f"Error band of the need: {words.gib(needed * (1 + band.low))} to "
            f"{words.gib(needed * (1 + band.high))}, in which 80 % of {band.rows} measured peaks lay. "
            "“Tight” means that the capacity lies inside.",
            *(f"Assumed: {words.cut(text, words.MOST_SAID)}" for text in report.assumptions),
        ],
    )
    return {"impossible": "", "table": table}


_MOMENTS = {
    "loss": "when the loss is computed",
    "backward": "in the backward pass",
    "step": "when the optimiser steps",
}


@dataclass(frozen=True)
class Row:
    """One published or measured run as shown, and what it is found by."""

    cells: tuple[str, ...]
    size: float  # billion parameters
    method: str = ""


_RUN_TITLES = (
    "Run",
    "GPU-hours",
    "Predicted",
    "80 % range",
    "Off",
    "GPUs",
    "Tokens",
    "Setup",
)  # and the source's address
_PEAK_TITLES = ("Model", "GiB", "Predicted", "80 % range", "Off", "GPUs", "Kind", "Setup")
_MEASURED = ("measured", "upper bound")  # kinds of row that are not a vendor's own estimate
_NUMBERS = (1, 2, 3, 4)  # columns of figures in both


def _rows_of(table: str, quantity: str) -> list[Any]:
    frame = accuracy_frame()
    frame = frame[(frame["table"] == table) & (frame["quantity"] == quantity) & frame["refused"].isna()]
    return list(frame.itertuples())


def _figures(row: Any, form: str) -> tuple[str, ...]:
    """Measured, predicted, range and error of a row of the accuracy tables."""
    return (
        format(row.measured, form),
        format(row.predicted, form),
        f"{row.low:{form}} to {row.high:{form}}",
        f"{row.error_pct:+.0f} %",
    )


@cache
def _published_runs() -> tuple[Row, ...]:
    """Published whole runs beside their prediction."""
    runs = {row["id"]: row for row in training_runs()}
    return tuple(
        Row(
            (
                f"{runs[row.id]['run']} ({runs[row.id]['org']})",
                *_figures(row, ",.0f"),
                _on(row),
                _tokens(runs[row.id]["tokens_b"]),
                _run_setup(runs[row.id]),
                str(row.source_url),
            ),
            _size(runs[row.id]),
        )
        for row in _rows_of("training", "gpu_hours")
        if row.part == "counted"
    )


@cache
def measured_finetunes() -> tuple[Row, ...]:
    """Measured peaks of fine-tuning beside their prediction."""
    runs = {row["id"]: row for row in finetune_runs()}
    return tuple(
        Row(
            (
                str(row.model),
                *_figures(row, ",.1f"),
                _on(row),
                runs[row.id]["kind"],
                _setup(runs[row.id]),
                str(row.source_url),
            ),
            _size(runs[row.id]),
            runs[row.id]["method"].lower(),
        )
        for row in _rows_of("finetune", "peak_gib_per_gpu")
        if runs[row.id]["kind"].startswith(_MEASURED)
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


def _run_setup(row: Any) -> str:
    """What is known of how a published run was set up."""
    parts = (
        row["precision"],
        f"sequence {row['seq_len']}" if row["seq_len"] else "",
        f"micro-batch {row['micro_batch']}" if row["micro_batch"] else "",
        f"batch {row['global_batch']}" if row["global_batch"] else "",
        row["parallelism"],
    )
    return ", ".join(part for part in parts if part) or "not stated"


def published_rows(found: TrainingLoad) -> dict[str, Any] | None:
    """What others measured, the models nearest in size first, beside what is predicted for their setup."""
    size = np.log(params_total(found.architecture) / 1e9)
    if found.trains:
        title, titles, rows = "Published training runs", _RUN_TITLES, _published_runs()
        said = (
            "GPU-hours as published beside what is predicted for the run as it was published, with the usual "
            "choice for what its “Setup” leaves out; none was fitted to. Above stands your own setup: "
            f"{found.precision.label}, sequences of {found.seq_len:,}, micro-batch "
            f"{found.scenario.micro_batch:,}, split as said there, so the two differ."
        )
    else:
        title, titles = f"Measured {METHOD_NAMES[found.method]} runs", _PEAK_TITLES
        rows = tuple(row for row in measured_finetunes() if row.method.startswith(found.method))
        said = (
            "Peak memory of one GPU beside what is predicted for the same setup; “Kind” says who states it."
        )
    order = sorted(rows, key=lambda row: (np.isnan(row.size), abs(np.log(row.size) - size)))
    if not order:
        return None
    return {
        "title": title,
        "note": f"{said} Models nearest in size to yours first, each name leads to its source; "
        "all others on the page How far off?.",
        "titles": titles,
        "hints": [glossary.of_column(title) or "" for title in titles],
        "numbers": _NUMBERS,
        "rows": [row.cells for row in (order if found.trains else order[:MOST_FINETUNES])],
    }
