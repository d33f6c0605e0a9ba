"""A ranked table with one price a row that the reader may type over; on a phone each row is a card."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import streamlit as st

_FOLDER = Path(__file__).parent

_component = st.components.v2.component(
    "headroom.price_table",
    html="<div><table>\n<caption></caption><thead></thead><tbody></tbody></table>"
    '<button type="button" class="more"></button></div>',
    css=(_FOLDER / "price_table.css").read_text(encoding="utf-8"),
    js=(_FOLDER / "price_table.js").read_text(encoding="utf-8"),
)


@dataclass(frozen=True, slots=True)
class Row:
    """One GPU: its price [USD, None when nobody quoted one], and cells of text.

    mark: a few words under the name, or none; bar: (low, value, high) as shares of the widest.
    """

    id: str
    name: str
    mark: str
    price: float | None
    edited: bool
    note: str
    cells: tuple[str, ...]
    bar: tuple[float, float, float] | None = None
    strong: bool = False


def draw(
    key: str,
    caption: str,
    titles: Sequence[str],
    rows: Sequence[Row],
    edit: Callable[[str, float | None], None],
    choose: Callable[[str], None],
    *,
    price_of: str,
    most: int = 12,
) -> None:
    """Mount the table. `titles` are those of name, price and cells; rows beyond `most` wait behind a button
    unless they are `strong`.

    A price typed in calls `edit(row id, USD)`, an emptied one `edit(row id, None)`; a name that is pressed
    calls `choose(row id)`. price_of: what a price is of, for readers who do not see the table.
    """
    ids = {row.id for row in rows}

    def edited() -> None:
        told: dict[str, Any] = st.session_state[key].get("edited") or {}
        text = str(told.get("value", "")).strip()
        try:
            usd = float(text) if text else None
        except ValueError:
            return
        if told.get("id") in ids:
            edit(told["id"], usd)

    def chosen() -> None:
        told = st.session_state[key].get("chosen")
        if told in ids:
            choose(told)

    _component(
        key=key,
        data={
            "caption": caption,
            "titles": list(titles),
            "price_of": price_of,
            "most": most,
            "rows": [
                {
                    "id": row.id,
                    "name": row.name,
                    "mark": row.mark,
                    "price": row.price,
                    "edited": row.edited,
                    "note": row.note,
                    "cells": list(row.cells),
                    "bar": list(row.bar) if row.bar else None,
                    "strong": row.strong,
                }
                for row in rows
            ],
        },
        on_edited_change=edited,
        on_chosen_change=chosen,
    )
