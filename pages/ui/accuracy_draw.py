"""Draws the parts of the page "How far off are we?"; computes nothing."""

from __future__ import annotations

from functools import partial

import pandas as pd
import streamlit as st

from pages.ui import accuracy_views as views
from pages.ui import board, glossary, state
from pages.ui.accuracy_choices import KINDS, VIEWS, Quantity, of_kind
from pages.ui.accuracy_views import Gaps, Summary, View
from pages.ui.folded import folded
from pages.ui.sheets import LOCALIZED, Column, Format, sheet

WIDE_PX = 380
GLANCE = ("Estimate", "Measurements", "Median error", "90th percentile", "Inside the band")
NOTHING = "Nothing to draw: no measurement of this quantity can be set beside an estimate."
FORMATS = dict.fromkeys(("Predicted", "Measured", "Band from", "Band to", "GPUs"), LOCALIZED) | {
    "Error %": Format(least=1, most=1, signed=True)
}


def kind_picker() -> None:
    """Which kind of estimate; one at a time."""
    state.control(
        st.segmented_control,
        "Estimate",
        "accuracy_kind",
        options=list(KINDS),
        format_func=KINDS.__getitem__,
        required=True,
    )


def controls(quantity: Quantity) -> None:
    """Which quantity of the kind, and which chart of it; one chart at a time."""
    kind, names = quantity.kind, {q.key: q.label for q in of_kind(quantity.kind)}
    if len(names) > 1:
        st.selectbox(
            "Quantity",
            list(names),
            index=list(names).index(quantity.key),
            format_func=names.__getitem__,
            key=f"pick-{kind}",
            on_change=_pick,
            args=(kind,),
            help=glossary.of_field("accuracy_quantity"),
            width=WIDE_PX,
        )
    state.control(
        st.segmented_control,
        "Chart",
        "accuracy_view",
        options=list(VIEWS),
        format_func=VIEWS.__getitem__,
        required=True,
    )


def _pick(kind: str) -> None:
    state.put(accuracy_quantity=st.session_state[f"pick-{kind}"])


def answer(quantity: Quantity, found: Summary, part: View) -> None:
    """Everything but the single rows, as one board."""
    first, rest = views.headline(found)
    parts = [board.text([board.bold(first), rest], *filter(None, [views.verdict_line(quantity.kind)]))]
    if said := views.notes(found):
        parts.append(board.text(*said, look="small"))
    board.draw(
        "accuracy-board",
        [
            *parts,
            *_chart(part),
            *_worst(views.worst(quantity)),
            *_wrong_verdicts(views.wrong_verdicts(quantity.kind)),
            *_apart(views.apart(quantity), found),
            *_gaps(views.gaps(quantity.kind)),
            board.heading("Every estimate at a glance"),
            board.table("Error of every estimate that carries a band", GLANCE, views.glance()),
        ],
    )


def _chart(part: View) -> list[board.Part]:
    """Heading, takeaway, chart, notes and its numbers."""
    title = board.heading(part.title)
    if part.figure is None:
        return [title, board.text(NOTHING, look="notice")]
    notes = [board.text(*part.notes, look="small")] if part.notes else []
    numbers = board.fold("numbers", "The numbers of the chart", board.numbers(part.numbers))
    return [title, board.text(part.takeaway), part.figure, *notes, numbers]


def _worst(table: pd.DataFrame) -> list[board.Part]:
    """The ten estimates that are furthest off."""
    label = "The ten furthest off, with the reason when it is known"
    return [_sheet("worst", label, table)] if len(table) else []


def _wrong_verdicts(table: pd.DataFrame) -> list[board.Part]:
    """Runs that we called wrongly."""
    if not len(table):
        return []
    label = f"The {len(table)} wrong verdicts"
    return [board.fold("wrong", label, _sheet("verdicts", label, table))]


def _apart(table: pd.DataFrame, found: Summary) -> list[board.Part]:
    """What does not count, and why."""
    label = f"Shown apart: {found.apart:,} rows that do not count, {found.refused:,} without a prediction"
    return [board.fold("apart", label, board.numbers(table))] if len(table) else []


def rows(quantity: Quantity) -> None:
    """Every row with its source, and the files; thousands of rows are sent only when asked for."""
    table = views.every_row(quantity)
    box = folded(f"Every row with its source, and as a file: {len(table):,}", "accuracy-rows-fold")
    if box is None:
        return
    with box.container(horizontal=True, vertical_alignment="center", key="accuracy-files"):
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
    if len(table):
        with box:
            board.draw("accuracy-rows", [_sheet("rows", f"All rows of {quantity.label}", table)])


def _csv(quantity: Quantity | None) -> bytes:
    from gpu_data.accuracy import accuracy_frame

    frame = accuracy_frame() if quantity is None else views.rows_of(quantity)
    for name in frame.select_dtypes(exclude="number"):
        # a spreadsheet would take these for formulas
        frame = frame.assign(
            **{name: frame[name].astype("string").str.replace(r"^(?=[=+@-])", "'", regex=True)}
        )
    return b"\xef\xbb\xbf" + frame.to_csv(index=False).encode()


def _gaps(found: Gaps) -> list[board.Part]:
    """Where nobody has measured."""
    parts = [board.heading("Where we have no data"), board.text(*found.lines, look="list")]
    if found.cards:
        label = (
            f"{len(found.cards)} of {found.of} cards have no measurement of this kind: predicted from their "
            "data sheets alone"
        )
        parts.append(board.fold("cards", label, board.text(", ".join(found.cards))))
    return parts


def _sheet(key: str, label: str, table: pd.DataFrame) -> board.Part:
    columns = [
        Column(
            name,
            FORMATS.get(name),
            link=name == "Source",
            wide=name in (views.REASON_COLUMN, "Note"),
        )
        for name in table
    ]
    return sheet(key, label, table, columns)
