"""Draws the parts of the page "How far off are we?"; computes nothing."""

from __future__ import annotations

from functools import partial

import pandas as pd
import streamlit as st

from pages.ui import accuracy_views as views
from pages.ui import glossary, plain_table, state
from pages.ui.accuracy_choices import KINDS, VIEWS, Quantity, of_kind
from pages.ui.accuracy_views import Gaps, Summary, View
from pages.ui.compare_text import DASH
from pages.ui.figure_parts import CONFIG
from pages.ui.folded import folded
from pages.ui.themed import themed

ROW_PX, HEADER_PX, MOST_PX = 35, 38, 560
WIDE_PX = 380
NUMBERS = ("Predicted", "Measured", "Band from", "Band to", "GPUs")


def kind_picker() -> None:
    """Which kind of estimate; one at a time."""
    state.control(
        st.segmented_control,
        "Estimate",
        "accuracy_kind",
        options=list(KINDS),
        format_func=KINDS.__getitem__,
        required=True,
        label_visibility="collapsed",
    )


def controls(kind: str, quantity: Quantity) -> None:
    """Which quantity of the kind, and which chart of it."""
    names = {q.key: q.label for q in of_kind(kind)}
    if len(names) > 1:
        st.selectbox(
            "Quantity",
            list(names),
            index=list(names).index(quantity.key),
            format_func=names.__getitem__,
            key=f"pick-{kind}",
            on_change=_pick,
            args=(kind,),
            width=WIDE_PX,
        )


def _pick(kind: str) -> None:
    state.put(accuracy_quantity=st.session_state[f"pick-{kind}"])


def view_picker() -> None:
    """Which chart; one at a time, so that at most one is mounted."""
    state.control(
        st.segmented_control,
        "Chart",
        "accuracy_view",
        options=list(VIEWS),
        format_func=VIEWS.__getitem__,
        required=True,
        label_visibility="collapsed",
    )


def headline(found: Summary, verdicts: str) -> None:
    """The figures in words."""
    said = [views.headline(found), verdicts, *(f":small[{note}]" for note in views.notes(found))]
    st.markdown("\n\n".join(filter(None, said)))  # one element: each costs time on every change


def chart(part: View) -> None:
    """Heading, takeaway, chart, notes and its numbers."""
    st.subheader(part.title, anchor=False)
    if part.figure is None:
        st.info("Nothing to draw: no measurement of this quantity can be set beside an estimate.")
        return
    st.markdown(part.takeaway)
    st.plotly_chart(themed(part.figure), key="accuracy-chart", alt=part.alt, config=CONFIG)
    if part.notes:
        st.caption("\n\n".join(part.notes))  # one element: each costs time on every change
    if box := folded("The numbers of the chart", "accuracy-numbers"):
        box.table(part.numbers)


def worst(table: pd.DataFrame, unit: str) -> None:
    """The ten estimates that are furthest off."""
    if len(table):
        st.subheader("The ten furthest off", anchor=False)
        _frame(
            "worst", table, f"The ten estimates furthest off, in {unit}, with the reason when it is known."
        )


def wrong_verdicts(table: pd.DataFrame) -> None:
    """Runs that we called wrongly."""
    if len(table) and (box := folded(f"The {len(table)} wrong verdicts", "accuracy-wrong")):
        with box:
            _frame("verdicts", table, "Runs whose verdict was wrong.")


def apart(table: pd.DataFrame, found: Summary) -> None:
    """What does not count, and why."""
    if len(table):
        label = f"Shown apart: {found.apart:,} rows that do not count, {found.refused:,} without a prediction"
        if box := folded(label, "accuracy-apart"):
            box.table(table)


def rows(quantity: Quantity, table: pd.DataFrame) -> None:
    """Every row with its source, and the files."""
    if len(table) and (box := folded(f"Every row, with its source: {len(table):,}", "accuracy-rows-fold")):
        with box:
            _frame("rows", table, f"All rows of {quantity.label}, one each, with a link to the source.")
    with st.container(horizontal=True, vertical_alignment="center", key="accuracy-files"):
        st.download_button(
            "These rows (CSV)",
            data=partial(_csv, quantity),
            file_name=f"headroom-accuracy-{quantity.key}.csv",
            mime="text/csv",
            key="accuracy-these",
            on_click="ignore",
            disabled=not len(table),
        )
        st.download_button(
            "All estimates (CSV)",
            data=partial(_csv, None),
            file_name="headroom-accuracy.csv",
            mime="text/csv",
            key="accuracy-all",
            on_click="ignore",
        )


def _csv(quantity: Quantity | None) -> bytes:
    from gpu_data.accuracy import accuracy_frame

    frame = accuracy_frame() if quantity is None else views.rows_of(quantity)
    return b"\xef\xbb\xbf" + frame.to_csv(index=False).encode()


def gaps(found: Gaps) -> None:
    """Where nobody has measured."""
    st.subheader("Where we have no data", anchor=False)
    st.markdown("\n".join(f"- {line}" for line in found.lines))
    if found.cards:
        label = (
            f"{len(found.cards)} of {found.of} cards have no measurement of this kind: predicted from their "
            "data sheets alone"
        )
        if box := folded(label, "accuracy-cards"):
            box.markdown(", ".join(found.cards))


def glance() -> None:
    """All estimates that carry a band, in one table."""
    st.subheader("Every estimate at a glance", anchor=False)
    plain_table.draw(
        "accuracy-glance",
        "Error of every estimate that carries a band",
        ("Estimate", "Measurements", "Median error", "90th percentile", "Inside the band"),
        views.glance(),
    )


def _frame(key: str, table: pd.DataFrame, alt: str) -> None:
    make = st.column_config
    config = {name: make.Column(name, help=glossary.of_column(name)) for name in table}
    config |= {
        name: make.NumberColumn(name, format="localized", help=glossary.of_column(name))
        for name in NUMBERS
        if name in table
    }
    if "Error %" in table:
        config["Error %"] = make.NumberColumn("Error %", format="%+.1f", help=glossary.of_column("Error %"))
    if views.REASON_COLUMN in table:
        config[views.REASON_COLUMN] = make.TextColumn(
            views.REASON_COLUMN, width=520, help=glossary.of_column(views.REASON_COLUMN)
        )
    config["Source"] = make.LinkColumn("Source", display_text="open", help=glossary.of_column("Source"))
    st.dataframe(
        table,
        key=f"accuracy-{key}",
        hide_index=True,
        placeholder=DASH,
        height=min(MOST_PX, HEADER_PX + ROW_PX * len(table) + 3),
        column_config=config,
        alt=alt,
    )
