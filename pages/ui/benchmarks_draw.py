"""Draws the parts of the Benchmarks page; computes nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import streamlit as st

from calculators.scenario import Scenario
from pages.ui import benchmarks_choices as choices
from pages.ui import board, state
from pages.ui.benchmarks_choices import ANY, INFERENCE, LANES, LLAMACPP, TRAINING
from pages.ui.benchmarks_select import Selected, active
from pages.ui.benchmarks_views import Section, different_units
from pages.ui.compare_text import listed
from pages.ui.folded import folded
from pages.ui.sheets import sheet

NOBODY = "Nobody published a result for this question. Choose another one above, or other rounds."
NOTHING = "No result passes the filters. Loosen one, or ask another question above."
WIDE_PX, NARROW_PX = 300, 200


def lane_picker() -> None:
    """Which kind of result; one at a time."""
    state.control(
        st.segmented_control,
        "Results",
        "bench_lane",
        options=list(LANES),
        format_func=LANES.__getitem__,
        required=True,
    )


def question(lane: str, scenario: Scenario) -> None:
    """What the results must have in common to be ranked."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        if lane == LLAMACPP:
            _select("Model", "bench_model", choices.model_names(), "any model", WIDE_PX)
            formats = choices.named(LLAMACPP, "quant", "format_key")
            _select("Format", "bench_format", formats, "any format", NARROW_PX)
            _select("Test", "bench_test", choices.named(LLAMACPP, "test", "test_key"), "any test", NARROW_PX)
        elif lane == INFERENCE:
            benchmarks = choices.named(INFERENCE, "benchmark", "benchmark_key")
            _select("Benchmark", "infer_benchmark", benchmarks, "any benchmark", WIDE_PX)
            scenarios = choices.named(INFERENCE, "scenario", "scenario_key")
            _select("Scenario", "infer_scenario", scenarios, "any scenario", NARROW_PX)
        else:
            benchmarks = choices.named(TRAINING, "benchmark", "benchmark_key")
            _select("Benchmark", "train_benchmark", benchmarks, "any benchmark", WIDE_PX)
    if lane == INFERENCE and ANY not in (scenario.infer_benchmark, scenario.infer_scenario):
        _segments("Bars show", "infer_measure", choices.INFERENCE_MEASURES)
    elif lane == TRAINING and scenario.train_benchmark != ANY:
        _segments("Bars show", "train_measure", choices.TRAINING_MEASURES)


def filters(selected: Selected) -> None:
    """Narrower filters, folded away."""
    if box := folded("Filters", "benchmark-filters"):
        with box:
            _filter_fields(selected)


def _filter_fields(selected: Selected) -> None:
    scope = selected.scope
    names = choices.gpu_names()
    if selected.lane != LLAMACPP:
        keys = choices.rounds(selected.lane)
        _pills("Round (none pressed: the newest that has results)", "mlperf_rounds", keys, choices.round_name)
    _pills("GPU", "bench_gpus", _present(scope["gpu_key"]), lambda key: names[key])
    field = "bench_gpu_count" if selected.lane == LLAMACPP else "mlperf_gpu_count"
    counts = sorted({0, *(int(n) for n in scope["n_gpus"].dropna().unique())})
    with st.container(horizontal=True, vertical_alignment="bottom"):
        state.control(
            st.selectbox,
            "GPUs in the system",
            field,
            options=counts,
            format_func=lambda count: str(count) if count else "any number",
            width=NARROW_PX,
        )
        if selected.lane == LLAMACPP:
            state.control(
                st.toggle,
                "Unverified results too",
                "unverified",
                help="Numbers that users typed in and nobody checked.",
            )
    if selected.lane != LLAMACPP:
        submitters = choices.named(selected.lane, "submitter", "submitter_key")
        _pills("Submitter", "mlperf_submitters", _present(scope["submitter_key"]), submitters.__getitem__)
        held = _present(choices.results(selected.lane)["category"])
        _pills("Category", "mlperf_categories", held, choices.CATEGORIES.__getitem__)
        available = choices.named(selected.lane, "availability", "availability_key")
        _pills(
            "Availability",
            "mlperf_availability",
            _present(scope["availability_key"]),
            available.__getitem__,
        )


def results(selected: Selected, scenario: Scenario, parts: Sequence[Section]) -> None:
    """What is shown and why, then every section; or a word about why there is none."""
    shown = [board.text(_line(selected, scenario), look="small")]
    if notice := different_units(selected):
        shown.append(board.text(notice, look="notice"))
    for place, part in enumerate(parts):
        shown += _section(part, place)
    if selected.scope.empty:
        shown.append(board.text(NOBODY, look="notice"))
    elif selected.rows.empty:
        shown.append(board.text(NOTHING, look="notice"))
    board.draw("benchmarks-board", shown)


def _section(part: Section, place: int) -> list[board.Part]:
    """Heading, takeaway, chart, caveats, numbers and the table of results with their sources."""
    parts = [board.heading(part.title), board.text(part.takeaway)]
    if part.figure is not None:
        parts.append(part.figure)
    if part.notes:
        parts.append(board.text(*part.notes, look="small"))
    if part.figure is not None:
        parts.append(board.fold(f"numbers-{place}", "The numbers of the chart", board.numbers(part.numbers)))
    if rows := len(part.table.frame):
        label = f"{rows:,} {'result' if rows == 1 else 'results'}, each with its source"
        parts.append(sheet(f"results-{part.key}", label, part.table.frame, part.table.columns))
    return parts


def _line(selected: Selected, scenario: Scenario) -> str:
    """What is shown and why, for readers who have not unfolded the filters."""
    words = active(scenario, selected.lane)
    text = f"{len(selected.rows):,} of {selected.total:,} results"
    if selected.lane != LLAMACPP:
        rounds = listed([choices.round_name(key) for key in selected.rounds], 8)
        if selected.newest_only:
            reason = "the newest with this benchmark" if selected.one_question else "the newest"
            text += f", round {rounds} ({reason})" if rounds else ""
        else:
            text += f", {'rounds' if len(selected.rounds) > 1 else 'round'} {rounds}"
    return f"{text}; filters: {', '.join(words)}." if words else f"{text}; no filter set."


def _present(keys: Any) -> tuple[str, ...]:
    """The keys that occur, most results first."""
    return tuple(str(key) for key in keys.value_counts().index)


def _select(label: str, field: str, names: Mapping[str, str], nothing: str, width: int) -> None:
    state.control(
        st.selectbox,
        label,
        field,
        options=[ANY, *names],
        format_func=lambda key: nothing if key == ANY else names[key],
        filter_mode="fuzzy",
        width=width,
    )


def _segments(label: str, field: str, names: Mapping[str, str]) -> None:
    state.control(
        st.segmented_control,
        label,
        field,
        options=list(names),
        format_func=names.__getitem__,
        required=True,
    )


def _pills(label: str, field: str, keys: Iterable[str], name: Any) -> None:
    state.control(st.pills, label, field, options=list(keys), selection_mode="multi", format_func=name)
