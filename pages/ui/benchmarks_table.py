"""The result tables of the Benchmarks page: which columns, in which order, a column per unit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import pandas as pd

from pages.ui.benchmarks_choices import INFERENCE, LLAMACPP
from pages.ui.sheets import LOCALIZED, Column

UNITS: Final = ("Tokens/s", "Samples/s", "Queries/s", "Latency (ms)", "Latency (s)")


@dataclass(frozen=True)
class Table:
    """A frame to draw, its columns described in the same order."""

    frame: pd.DataFrame
    columns: tuple[Column, ...]


# Header and column of the results. What a phone shows first: the card, the figure, its source.
_GPU: Final = (
    (Column("GPU", help="As reported"), "gpu"),
    (Column("GPUs", LOCALIZED, "Of the whole system"), "n_gpus"),
)
_SOURCE: Final = (Column("Source", help="Where the result is published", link=True), "source_url")
_LLAMACPP: Final = (
    *_GPU,
    (Column("Tokens/s", LOCALIZED, "Empty when it ran out of memory"), "tokens_per_s"),
    (Column("Outcome"), "outcome"),
    _SOURCE,
    (Column("Trust", help="trusted: one large table by one hand; unverified: nobody checked it"), "trust"),
    (Column("Model", help="As reported"), "model"),
    (Column("Format", help="As reported"), "quant"),
    (Column("Test", help="pp512 reads a prompt of 512 tokens, tg128 generates 128"), "test"),
    (Column("Measured by"), "kind"),
    (Column("Build"), "build"),
    (Column("Source without an address"), "log"),
    (Column("Remark", wide=True), "note"),
)
_MLPERF: Final = (
    (Column("Round"), "round"),
    (Column("Category"), "category"),
    (Column("Availability"), "availability"),
    (Column("System"), "system"),
    (Column("Benchmark"), "benchmark"),
)
_INFERENCE: Final = (
    *_MLPERF,
    (Column("Scenario"), "scenario"),
    (Column("TTFT mean (ms)", LOCALIZED, "From the log of the run, under its full load"), "ttft_mean_ms"),
    (Column("TTFT p99 (ms)", LOCALIZED), "ttft_p99_ms"),
    (Column("TPOT mean (ms)", LOCALIZED, "From the log of the run, under its full load"), "tpot_mean_ms"),
    (Column("TPOT p99 (ms)", LOCALIZED), "tpot_p99_ms"),
    (Column("Weights as", help="As reported"), "weight_dtype"),
    (Column("Software"), "software"),
    (Column("Suite"), "suite"),
)
_TRAINING: Final = (
    (Column("Minutes to train", LOCALIZED, "Mean of the runs without best and worst"), "minutes_to_train"),
    (Column("GPU-hours", LOCALIZED, "Our product: minutes × GPUs / 60"), "gpu_hours"),
    (Column("Tokens/s per GPU", LOCALIZED, "Steady speed, from the log"), "tokens_per_s_per_gpu"),
    _SOURCE,
    *_MLPERF,
    (Column("Runs", LOCALIZED), "n_runs"),
    (Column("Global batch", LOCALIZED), "global_batch_size"),
    (Column("Framework"), "framework"),
)
_QUESTION: Final = {"model", "quant", "test", "benchmark", "scenario", "round"}
_SUBMITTER: Final = (Column("Submitter"), "submitter")


def table(lane: str, rows: pd.DataFrame, question_first: bool = False) -> Table:
    """The results as a table in the order given; MLPerf Inference has a column for each unit in it.

    `question_first` puts what was asked before what came out, for results of several questions.
    """
    if lane == LLAMACPP:
        outcome = rows["out_of_memory"].map({True: "out of memory", False: "ran"})
        log = rows["source"].where(rows["source_url"].isna())
        return _picked(rows.assign(outcome=outcome, log=log), _LLAMACPP, question_first)
    if lane != INFERENCE:
        return _picked(rows, (*_GPU, _SUBMITTER, *_TRAINING), question_first)
    units: list[tuple[Column, str]] = []
    added = {}
    present = set(rows["unit"].unique())
    for unit in (unit for unit in UNITS if unit in present):
        has = rows["unit"] == unit
        added[unit] = rows["value"].where(has)
        units.append((Column(unit, LOCALIZED, "Of the whole system"), unit))
        if not unit.startswith("Latency"):
            added[f"{unit} per GPU"] = rows["value_per_gpu"].where(has)
            title = f"{unit} per GPU"
            units.append((Column(title, LOCALIZED, "Our division; MLPerf reports whole systems"), title))
    return _picked(rows.assign(**added), (*_GPU, _SUBMITTER, *units, _SOURCE, *_INFERENCE), question_first)


def _picked(rows: pd.DataFrame, columns: Sequence[tuple[Column, str]], question_first: bool) -> Table:
    """The columns that hold anything at all, under their headers."""
    if question_first:
        rest = columns[len(_GPU) :]
        columns = (*_GPU, *sorted(rest, key=lambda column: column[1] not in _QUESTION))
    kept = [(column, name) for column, name in columns if rows[name].notna().any() or column.link]
    frame = rows[[name for _, name in kept]].set_axis([column.title for column, _ in kept], axis=1)
    return Table(frame, tuple(column for column, _ in kept))
