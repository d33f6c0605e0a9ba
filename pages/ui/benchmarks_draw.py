"""Draws the parts of the Benchmarks page; computes nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import streamlit as st

from calculators.scenario import Scenario
from pages.ui import benchmarks_choices as choices
from pages.ui import glossary, state
from pages.ui.benchmarks_choices import ANY, INFERENCE, LANES, LLAMACPP, TRAINING
from pages.ui.benchmarks_select import Selected, active
from pages.ui.benchmarks_table import Column, Table
from pages.ui.benchmarks_views import Section
from pages.ui.compare_text import DASH, listed
from pages.ui.figure_parts import CONFIG
from pages.ui.folded import folded
from pages.ui.themed import themed

ROW_PX, HEADER_PX, MOST_PX = 35, 38, 560
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
        label_visibility="collapsed",
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


def filters(selected: Selected, scenario: Scenario) -> None:
    """Narrower filters, folded away, and a line that says what they leave."""
    if box := folded("Filters", "benchmark-filters"):
        with box:
            _filter_fields(selected)
    st.caption(_line(selected, scenario))


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


def section(part: Section, place: int) -> None:
    """Heading, takeaway, chart, caveats, numbers and the table of results with their sources."""
    st.subheader(part.title, anchor=False)
    st.markdown(part.takeaway)
    if part.figure is not None:
        st.plotly_chart(themed(part.figure), key=f"chart-{part.key}", alt=part.alt, config=CONFIG)
    if part.notes:
        st.caption("\n\n".join(part.notes))  # one element: each costs time on every change
    if part.figure is not None and (box := folded("The numbers of the chart", f"benchmark-numbers-{place}")):
        box.table(part.numbers)
    if len(part.table.frame):
        _table(part.key, part.table)


def _table(key: str, table: Table) -> None:
    rows = len(table.frame)
    st.markdown(f"**{rows:,} {'result' if rows == 1 else 'results'}, each with its source**")
    st.dataframe(
        table.frame,
        key=f"table-{key}",
        hide_index=True,
        placeholder=DASH,
        height=min(MOST_PX, HEADER_PX + ROW_PX * rows + 3),
        column_config={column.title: _config(column) for column in table.columns},
        alt="Measured results, one row each, with a link to where it is published.",
    )


def _config(column: Column) -> Any:
    make = st.column_config
    note = column.help or glossary.of_column(column.title)
    if column.kind == "link":
        return make.LinkColumn(column.title, help=note, display_text="open")
    if column.kind in ("number", "count"):
        return make.NumberColumn(column.title, help=note, format="localized")
    return make.TextColumn(column.title, help=note, pinned=column.title == "GPU" or None)


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
