"""Which results the Benchmarks page shows: filters applied, and what the page has to say about them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

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
    question = (
        ("model_key", scenario.bench_model),
        ("format_key", scenario.bench_format),
        ("test_key", scenario.bench_test),
    )
    scope = _asked(LLAMACPP, question)
    doubtful = (scope["trust"] == UNVERIFIED).to_numpy(dtype=bool)
    hidden = 0 if scenario.unverified else int(doubtful.sum())
    if hidden:
        scope = scope[~doubtful]
    rows = scope[_common(scope, scenario, scenario.bench_gpu_count)]
    total = len(results(LLAMACPP))
    return Selected(LLAMACPP, rows, scope, total, _is_one(question), hidden_unverified=hidden)


def _mlperf(scenario: Scenario, lane: str) -> Selected:
    if lane == INFERENCE:
        question: tuple[tuple[str, str], ...] = (
            ("benchmark_key", scenario.infer_benchmark),
            ("scenario_key", scenario.infer_scenario),
        )
    else:
        question = (("benchmark_key", scenario.train_benchmark),)
    scope = _asked(lane, question)
    chosen = tuple(key for key in rounds(lane) if key in scenario.mlperf_rounds)
    held = set(scope["round_key"].unique())
    newest = not chosen
    if newest:
        chosen = tuple(key for key in rounds(lane) if key in held)[:1]
    if chosen:
        scope = scope[_among(scope, "round_key", chosen)]
    wanted = _common(scope, scenario, scenario.mlperf_gpu_count)
    for column, values in (
        ("submitter_key", scenario.mlperf_submitters),
        ("category", scenario.mlperf_categories),
        ("availability_key", scenario.mlperf_availability),
    ):
        wanted = wanted & _among(scope, column, values)
    total = len(results(lane))
    return Selected(lane, scope[wanted], scope, total, _is_one(question), chosen, newest)


def _is_one(question: tuple[tuple[str, str], ...]) -> bool:
    return all(value != ANY for _, value in question)


@lru_cache(maxsize=256)
def _asked(lane: str, question: tuple[tuple[str, str], ...]) -> pd.DataFrame:
    """The results that answer a question, (column, value) each. Do not change it."""
    frame = results(lane)
    wanted = np.ones(len(frame), dtype=bool)
    for column, value in question:
        if value != ANY:
            wanted = wanted & _among(frame, column, (value,))
    return frame[wanted]


def _common(frame: pd.DataFrame, scenario: Scenario, gpu_count: int) -> NDArray[np.bool_]:
    """The filters of every lane: kinds of GPU and how many of them."""
    wanted = _among(frame, "gpu_key", scenario.bench_gpus)
    if gpu_count:
        wanted = wanted & (frame["n_gpus"] == gpu_count).to_numpy(dtype=bool, na_value=False)
    return wanted


def _among(frame: pd.DataFrame, column: str, values: Collection[str]) -> NDArray[np.bool_]:
    """Which rows have one of the values; every row when no value is asked for."""
    return (
        frame[column].isin(list(values)).to_numpy(dtype=bool) if values else np.ones(len(frame), dtype=bool)
    )


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
