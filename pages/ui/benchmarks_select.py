"""Which results the Benchmarks page shows: filters applied, and what the page has to say about them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

import pandas as pd

from calculators.scenario import Scenario
from pages.ui.benchmarks_choices import ANY, INFERENCE, LLAMACPP, results, rounds
from pages.ui.words import count as counted

UNVERIFIED: Final = "unverified"


@dataclass(frozen=True)
class Selected:
    """The results that pass, those of the same question before the narrower filters, and the choices.

    `rows` pass every filter. `scope` has the same model, format and test, or the same benchmark, scenario and
    rounds: it fixes the axis of a chart and what the filters can offer. `one_question` is True when all of
    `rows` answer one question, so that they can be ranked. `rounds` are link spellings, newest first.
    """

    lane: str
    rows: pd.DataFrame
    scope: pd.DataFrame
    total: int
    one_question: bool
    rounds: tuple[str, ...] = ()
    newest_only: bool = False
    hidden_unverified: int = 0


def select(scenario: Scenario) -> Selected:
    """The results of the lane that the scenario asks for."""
    return _llamacpp(scenario) if scenario.bench_lane == LLAMACPP else _mlperf(scenario, scenario.bench_lane)


def _llamacpp(scenario: Scenario) -> Selected:
    frame = results(LLAMACPP)
    choices = (
        ("model_key", scenario.bench_model),
        ("format_key", scenario.bench_format),
        ("test_key", scenario.bench_test),
    )
    scope = frame
    for column, value in choices:
        if value != ANY:
            scope = _among(scope, column, (value,))
    doubtful = (scope["trust"] == UNVERIFIED).to_numpy(dtype=bool)
    hidden = 0 if scenario.unverified else int(doubtful.sum())
    if hidden:
        scope = scope[~doubtful]
    rows = _common(scope, scenario, scenario.bench_gpu_count)
    one = all(value != ANY for _, value in choices)
    return Selected(LLAMACPP, rows, scope, len(frame), one, hidden_unverified=hidden)


def _mlperf(scenario: Scenario, lane: str) -> Selected:
    frame = results(lane)
    benchmark = scenario.infer_benchmark if lane == INFERENCE else scenario.train_benchmark
    choices = [("benchmark_key", benchmark)]
    if lane == INFERENCE:
        choices.append(("scenario_key", scenario.infer_scenario))
    scope = frame
    for column, value in choices:
        if value != ANY:
            scope = _among(scope, column, (value,))
    chosen = tuple(key for key in rounds(lane) if key in scenario.mlperf_rounds)
    held = set(scope["round_key"].unique())
    newest = not chosen
    if newest:
        chosen = tuple(key for key in rounds(lane) if key in held)[:1]
    scope = _among(scope, "round_key", chosen)
    rows = _common(scope, scenario, scenario.mlperf_gpu_count)
    rows = _among(rows, "submitter_key", scenario.mlperf_submitters)
    rows = _among(rows, "category", scenario.mlperf_categories)
    rows = _among(rows, "availability_key", scenario.mlperf_availability)
    one = all(value != ANY for _, value in choices)
    return Selected(lane, rows, scope, len(frame), one, chosen, newest)


def _common(frame: pd.DataFrame, scenario: Scenario, gpu_count: int) -> pd.DataFrame:
    """The filters of every lane: kinds of GPU and how many of them."""
    frame = _among(frame, "gpu_key", scenario.bench_gpus)
    if gpu_count:
        frame = frame[(frame["n_gpus"] == gpu_count).to_numpy(dtype=bool, na_value=False)]
    return frame


def _among(frame: pd.DataFrame, column: str, values: Collection[str]) -> pd.DataFrame:
    """Rows with one of the values; every row when no value is asked for."""
    return frame[frame[column].isin(list(values)).to_numpy(dtype=bool)] if values else frame


def active(scenario: Scenario, lane: str) -> list[str]:
    """The reader's narrower filters in words."""
    count = scenario.bench_gpu_count if lane == LLAMACPP else scenario.mlperf_gpu_count
    words = [
        counted(count, "GPU") if count else "",
        counted(len(scenario.bench_gpus), "chosen card") if scenario.bench_gpus else "",
    ]
    if lane != LLAMACPP:
        words += [
            " and ".join(scenario.mlperf_categories),
            counted(len(scenario.mlperf_submitters), "submitter") if scenario.mlperf_submitters else "",
            "availability" if scenario.mlperf_availability else "",
        ]
    return [word for word in words if word]
