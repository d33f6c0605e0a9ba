"""Draws the parts of the Compare page; computes nothing."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import partial

import pandas as pd
import streamlit as st

from calculators.scenario import FIRST_YEAR, LAST_YEAR, MAX_MEMORY_GB, Scenario
from pages.ui import board, catalogue, compare_sources, compare_table, export, link, state
from pages.ui.compare_choices import FORMS, PRECISIONS, VIEWS
from pages.ui.compare_select import Choice, Filters
from pages.ui.compare_text import listed
from pages.ui.compare_views import ChartView
from pages.ui.folded import folded
from pages.ui.sheets import Column, sheet

BOARD_KEY = "compare-board"
PRESSED_KEY = "_compare_pressed"  # (GPU, column)
NAME_ID = "name"
HOW_TO_ASK = "Press a cell to see where its number is from, or a card's name for every source of that card."


def view_picker() -> None:
    """Which view; one at a time, so that at most one chart is mounted."""
    state.control(
        st.segmented_control,
        "View",
        "compare_view",
        options=list(VIEWS),
        format_func=VIEWS.__getitem__,
        required=True,
    )


def filter_controls() -> None:
    """The filters, folded away."""
    if box := folded("Filters", "compare-filters"):
        with box:
            _filter_fields()


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


def chart(choice: Choice, filters: Filters, view: ChartView) -> None:
    """What is shown, heading, takeaway, chart, caveats and the numbers of one chart view."""
    shown = [view.figure, board.text(*view.notes, look="small")] if view.figure is not None else []
    if view.figure is None and view.notes:
        shown = [board.text(*view.notes, look="small")]
    board.draw(
        BOARD_KEY,
        [
            board.text(_filter_line(choice, filters), look="small"),
            board.heading(view.title),
            board.text(view.takeaway),
            *shown,
            *(
                [board.fold("numbers", "The numbers", board.numbers(view.numbers))]
                if len(view.numbers)
                else []
            ),
            *_nothing_left(choice),
        ],
    )


def spec_table(choice: Choice, filters: Filters, groups: Collection[str]) -> None:
    """The spec table; a pressed cell or name tells below it where the numbers are from."""
    columns = compare_table.columns_of(groups)
    cells = compare_table.table(choice, columns)
    relative = choice.baseline is not None
    styles = [compare_table.number_format(column, relative) for column in columns]
    ids = [str(i) for i in choice.rows.index]
    titles = [NAME_ID, *(column.id for column in columns)]
    gpu, wanted = st.session_state.get(PRESSED_KEY) or ("", "")
    chosen = (ids.index(gpu), titles.index(wanted)) if gpu in ids and wanted in titles else None

    def press(cell: dict[str, str]) -> None:
        st.session_state[PRESSED_KEY] = (str(cell["row"]), str(cell["column"]))

    def act(button: str) -> None:
        match button:
            case "pin" | "unpin":
                _pin(gpu, button == "unpin")
            case "absolute":
                state.put(baseline="")
            case "baseline":
                state.put(baseline=gpu)

    parts = [board.text(_filter_line(choice, filters), HOW_TO_ASK, look="small")]
    if relative:
        parts.append(board.text(_relative_line(choice, columns, cells), look="small"))
    if ids:
        described = [
            Column(c.title, style, c.help, c.group) for c, style in zip(columns, styles, strict=True)
        ]
        parts.append(
            sheet(
                "gpus",
                f"Specifications of {len(ids)} cards",
                cells,
                [Column(compare_table.NAME, help="★ pinned"), *described],
                ids=(ids, titles),
                chosen=chosen,
            )
        )
    if chosen is not None and wanted == NAME_ID:
        first, *rest = _card_sources(gpu)
        parts += [first, _actions(choice, gpu), *rest]
    elif chosen is not None:
        column = next(column for column in columns if column.id == wanted)
        parts += [*_cell_sources(gpu, column), _actions(choice, gpu)]
    board.draw(BOARD_KEY, [*parts, *_nothing_left(choice)], {"cell": press, "button": act})


def export_buttons(choice: Choice, scenario: Scenario) -> None:
    """The chosen cards as a file. Made when asked for, not on every run."""
    box = folded(f"Export these {len(choice.rows)} cards with the source of every figure", "compare-export")
    if box is None:
        return
    try:
        query = link.query_string(scenario)
    except link.LinkError:
        query = ""
    bundle = export.Export(choice.rows, f"compare?{query}" if query else "compare")
    with box.container(horizontal=True):
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


def _nothing_left(choice: Choice) -> list[board.Part]:
    words = "No card passes the filters. Loosen one, or pin a card in the sidebar."
    return [] if len(choice.rows) else [board.text(words, look="notice")]


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


def _actions(choice: Choice, gpu_id: str) -> board.Part:
    """Pin or unpin the pressed card, or compare the others with it."""
    return board.buttons(
        ("unpin", "Unpin") if gpu_id in choice.pinned else ("pin", "Pin"),
        ("absolute", "Show absolute figures")
        if gpu_id == choice.baseline
        else ("baseline", "Compare others with it"),
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


def _relative_line(
    choice: Choice,
    columns: Sequence[compare_table.TableColumn],
    cells: Mapping[str, compare_table.Cells],
) -> str:
    """Which card is 1.00 ×, and which columns have no multiple because that card lacks the figure."""
    name = catalogue.gpu_name(str(choice.baseline))
    position = list(choice.rows.index).index(choice.baseline)
    empty = [c.title for c in columns if c.ratio and pd.isna(cells[c.title][position])]
    text = f"Figures with × are multiples of the {name} (1.00 ×); text and years stay as they are."
    if empty:
        text += f" No multiple, because the {name} has no such figure: {listed(empty, 6)}."
    return text


def _cell_sources(gpu_id: str, column: compare_table.TableColumn) -> list[board.Part]:
    found = compare_sources.cell(gpu_id, column)
    parts = [
        board.heading(f"Where is this number from? {found.gpu} · {found.title}"),
        board.text(found.help, look="small"),
    ]
    if not found.origins:
        parts.append(
            board.text("No published figure was found, so the table shows a dash. It does not mean 0.")
        )
    elif found.formula:
        parts.append(board.text(["Computed as ", board.code(found.formula), " from:"]))
    if found.origins:
        parts.append(board.text(*map(_origin, found.origins), look="list"))
    if found.notes:
        parts.append(board.text([board.bold("About this card. "), found.notes]))
    return parts


def _origin(origin: compare_sources.Origin) -> list[board.Span]:
    """One source as a line: figure, title with its address, formula or how it was verified, remark."""
    how = board.code(origin.formula) if origin.formula else f"{origin.verified_by} ({origin.evidence})"
    line = [
        f"{origin.field} ",
        board.bold(origin.value),
        ": ",
        board.link(origin.title, origin.url or ""),
        "; ",
        how,
    ]
    return [*line, f"; {origin.note}"] if origin.note else line


def _card_sources(gpu_id: str) -> list[board.Part]:
    frame = compare_sources.card(gpu_id)
    wide = {"Note", "Evidence", "Source"}
    columns = [Column(name, link=name == "Link", wide=name in wide) for name in frame]
    notes = compare_sources.card_notes(gpu_id)
    return [
        board.heading(f"Every figure of the {catalogue.gpu_name(gpu_id)} and its sources"),
        *([board.text(notes)] if notes else []),
        sheet("sources", f"{len(frame)} figures, each with its source", frame, columns),
    ]
