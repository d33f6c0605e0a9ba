"""Draws the parts of the Compare page; computes nothing."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import partial
from typing import Any

import streamlit as st

from calculators.scenario import FIRST_YEAR, LAST_YEAR, MAX_MEMORY_GB, Scenario
from pages.ui import catalogue, compare_sources, compare_table, export, link, state
from pages.ui.compare_choices import FORMS, PRECISIONS, VIEWS
from pages.ui.compare_select import Choice, Filters
from pages.ui.compare_text import DASH, listed
from pages.ui.compare_views import ChartView
from pages.ui.figure_parts import CONFIG
from pages.ui.folded import folded
from pages.ui.themed import themed

TABLE_KEY = "compare-table"
NAME_PX = 168  # of the pinned first column, so that a phone still shows two more
ROW_LIMIT_PX = 560


def view_picker() -> None:
    """Which view; one at a time, so that at most one chart is mounted."""
    state.control(
        st.segmented_control,
        "View",
        "compare_view",
        options=list(VIEWS),
        format_func=VIEWS.__getitem__,
        required=True,
        label_visibility="collapsed",
    )


def filter_controls(choice: Choice, filters: Filters) -> None:
    """The filters, folded away, and a line that says what they leave."""
    if box := folded("Filters", "compare-filters"):
        with box:
            _filter_fields()
    _small(_filter_line(choice, filters))


def _filter_fields() -> None:
    _pills("Vendor", "vendors", catalogue.named_values("vendor"))
    _pills("Kind of card", "form_factors", FORMS)
    _pills("Architecture", "architectures", catalogue.named_values("architecture"))
    with st.container(horizontal=True):
        for label, field in (("Memory from (GB)", "min_memory_gb"), ("Memory to (GB)", "max_memory_gb")):
            state.control(
                st.number_input, label, field, min_value=0, max_value=MAX_MEMORY_GB, step=8, width=160
            )
        for label, field in (("Released from", "since_year"), ("Released to", "until_year")):
            state.control(
                st.number_input,
                label,
                field,
                min_value=FIRST_YEAR,
                max_value=LAST_YEAR,
                step=1,
                width=160,
            )
    with st.container(horizontal=True):
        state.control(st.toggle, "Price known", "priced")
        state.control(st.toggle, "Pinned cards only", "pinned_only")


def table_controls(choice: Choice) -> None:
    """Baseline and column groups of the table."""
    _baseline(choice)
    _pills("Columns (none pressed: the essentials)", "column_groups", compare_table.groups())


def chart_controls(
    choice: Choice, *, baseline: bool = True, precision: bool = False, sparse: bool = False
) -> None:
    """The controls a chart needs; rows wrap on a phone."""
    if precision:
        state.control(
            st.segmented_control,
            "Number type",
            "precision",
            options=list(PRECISIONS),
            format_func=lambda key: PRECISIONS[key].label,
            required=True,
        )
    with st.container(horizontal=True, vertical_alignment="bottom"):
        if baseline:
            _baseline(choice)
        if sparse:
            state.control(
                st.toggle,
                "2:4 sparse peaks instead of dense",
                "sparse",
                help="Only for weights pruned to two non-zeros in four. Never shown beside dense peaks.",
            )


def chart(view: ChartView) -> None:
    """Heading, takeaway, figure, caveats and the numbers of one chart view."""
    st.subheader(view.title, anchor=False)
    st.markdown(view.takeaway)
    if view.figure is not None:
        st.plotly_chart(themed(view.figure), key="compare-chart", alt=view.alt, config=CONFIG)
    if view.notes:
        _small("\n\n".join(view.notes))  # one element: each costs time on every change
    if box := folded("The numbers", "compare-numbers"):
        box.table(view.numbers)


def spec_table(choice: Choice, groups: Collection[str]) -> None:
    """The spec table; a click on a cell or a ticked row tells below it where the numbers are from."""
    columns = compare_table.columns_of(groups)
    relative = choice.baseline is not None
    frame = compare_table.table(choice, columns)
    if relative:
        _say_relative(choice, columns, frame)
    selected = st.dataframe(
        frame,
        key=TABLE_KEY,
        on_select="rerun",
        selection_mode=["single-row", "single-cell"],
        placeholder=DASH,
        hide_index=True,
        height=min(ROW_LIMIT_PX, 35 * (len(frame) + 2) + 3),
        column_config=_column_config(columns, relative),
        alt="Specifications of the chosen GPUs, one row per card, columns in groups.",
    ).selection
    ids = [str(i) for i in choice.rows.index]
    if cells := [c for c in selected["cells"] if c[0] < len(ids)]:
        row, title = cells[0]
        column = compare_table.clicked_column(title, columns)
        _card_sources(choice, ids[row]) if column is None else _cell_sources(choice, ids[row], column)
    elif rows := [r for r in selected["rows"] if r < len(ids)]:
        _card_sources(choice, ids[rows[0]])
    else:
        _small("Click a cell to see where its number is from; tick a row for every source of that card.")


def export_buttons(choice: Choice, scenario: Scenario) -> None:
    """The chosen cards as a file. Made when asked for, not on every run."""
    try:
        query = link.query_string(scenario)
    except link.LinkError:
        query = ""
    bundle = export.Export(choice.rows, f"compare?{query}" if query else "compare")
    with st.container(horizontal=True, vertical_alignment="center", key="compare-export"):
        st.markdown(
            f"Export these {len(choice.rows)} cards with the source of every figure:", width="content"
        )
        for ending, (name, mime, make) in export.FORMATS.items():
            st.download_button(
                name,
                data=partial(make, bundle),
                file_name=f"headroom-gpus.{ending}",
                mime=mime,
                key=f"export-{ending}",
                on_click="ignore",
                disabled=not len(choice.rows),
            )


def _small(text: str) -> None:
    """A line in small type. Streamlit's captions reach 4.48:1 on our white; AA asks for 4.5:1."""
    st.markdown("\n\n".join(f":small[{part}]" for part in text.split("\n\n")))


def _filter_line(choice: Choice, filters: Filters) -> str:
    """What is shown and why, for readers who have not unfolded the filters."""
    pinned = f"★ {len(choice.pinned)} pinned, always shown"
    if filters.pinned_only:
        return f"{pinned}; every other card is left out (pinned cards only)."
    cards = f"{choice.matching} of {len(choice.everything)} cards"
    active = ", ".join(filters.active())
    return (
        f"{pinned}; {cards} pass the filters ({active})." if active else f"{pinned}; {cards}, no filter set."
    )


def _pin(gpu_id: str, pinned: bool) -> None:
    others = tuple(gpu for gpu in state.last().gpus if gpu != gpu_id)
    state.put(gpus=others if pinned else (*others, gpu_id))


def _card_actions(choice: Choice, gpu_id: str) -> None:
    """Pin or unpin the selected card, or compare the others with it."""
    pinned = gpu_id in choice.pinned
    with st.container(horizontal=True):
        st.button("Unpin" if pinned else "Pin", key="pin-card", on_click=_pin, args=(gpu_id, pinned))
        if gpu_id == choice.baseline:
            st.button("Show absolute figures", key="drop-baseline", on_click=partial(state.put, baseline=""))
        else:
            st.button(
                "Compare others with it", key="set-baseline", on_click=partial(state.put, baseline=gpu_id)
            )


def _pills(label: str, field: str, names: Mapping[str, str]) -> None:
    state.control(
        st.pills,
        label,
        field,
        options=list(names),
        selection_mode="multi",
        format_func=names.__getitem__,
    )


def _baseline(choice: Choice) -> None:
    state.control(
        st.selectbox,
        "Relative to",
        "baseline",
        options=["", *(str(i) for i in choice.everything.index)],
        format_func=lambda gpu: catalogue.gpu_name(gpu) if gpu else "nothing (absolute figures)",
        filter_mode="fuzzy",
        width=300,
    )


def _column_config(columns: list[compare_table.TableColumn], relative: bool) -> dict[Any, Any]:
    config: dict[Any, Any] = {1: st.column_config.TextColumn(compare_table.NAME, width=NAME_PX, pinned=True)}
    for i, column in enumerate(columns, start=2):
        style = compare_table.number_format(column, relative)
        if style is None:
            config[i] = st.column_config.TextColumn(column.title, help=column.help)
        else:
            config[i] = st.column_config.NumberColumn(column.title, help=column.help, format=style)
    return config


def _say_relative(choice: Choice, columns: list[compare_table.TableColumn], frame: Any) -> None:
    """Which card is 1.00 ×, and which columns have no multiple because that card lacks the figure."""
    name = catalogue.gpu_name(str(choice.baseline))
    position = list(choice.rows.index).index(choice.baseline)
    empty = [c.title for c in columns if c.ratio and frame.iloc[position].isna()[(c.group, c.title)]]
    text = f"Figures with × are multiples of the {name} (1.00 ×); text and years stay as they are."
    if empty:
        text += f" No multiple, because the {name} has no such figure: {listed(empty, 6)}."
    _small(text)


def _cell_sources(choice: Choice, gpu_id: str, column: compare_table.TableColumn) -> None:
    found = compare_sources.cell(gpu_id, column)
    with st.container(border=True, key="cell-sources"):
        st.markdown(f"**Where is this number from?** {_plain(found.gpu)} · {_plain(found.title)}")
        _small(_plain(found.help))
        if not found.origins:
            st.markdown("No published figure was found, so the table shows a dash. It does not mean 0.")
        if found.formula and found.origins:
            st.markdown(f"Computed as `{found.formula}` from:")
        for origin in found.origins:
            st.markdown(f"- {_plain(origin.field)} **{_plain(origin.value)}**: {_origin(origin)}")
        if found.notes:
            st.markdown(f"**About this card.** {_plain(found.notes)}")
        _card_actions(choice, gpu_id)


def _origin(origin: compare_sources.Origin) -> str:
    """One source as a line of Markdown: title with its address, or the formula, and how it was verified."""
    title = f"[{_plain(origin.title)}]({origin.url})" if origin.url else _plain(origin.title)
    how = f"`{origin.formula}`" if origin.formula else f"{origin.verified_by} ({origin.evidence})"
    return "; ".join(filter(None, [title, how, _plain(origin.note) if origin.note else None]))


def _card_sources(choice: Choice, gpu_id: str) -> None:
    with st.container(border=True, key="card-sources"):
        st.markdown(f"**Every figure of the {_plain(catalogue.gpu_name(gpu_id))} and its sources**")
        if notes := compare_sources.card_notes(gpu_id):
            st.markdown(_plain(notes))
        st.dataframe(
            compare_sources.card(gpu_id),
            hide_index=True,
            placeholder=DASH,
            column_config={"Link": st.column_config.LinkColumn("Link", display_text="open")},
            alt="Sources of every figure of the selected card.",
        )
        _card_actions(choice, gpu_id)


def _plain(text: str) -> str:
    """Catalogue text for Markdown: what would be read as markup is shown as it stands."""
    return "".join(f"\\{c}" if c in "\\`*_[]<>$~#:" else c for c in text)
