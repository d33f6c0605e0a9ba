"""A table of states that can be pressed: the fit matrix, and the map of context and users."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import streamlit as st

from pages.ui.cells import Row

_FOLDER = Path(__file__).parent
_HOWS = {"native": "n", "storage": "s", "no": "-"}  # one letter a cell: a message holds over a thousand

_component = st.components.v2.component(
    "headroom.grid",
    html=(_FOLDER / "grid.html").read_text(encoding="utf-8"),
    css=(_FOLDER / "grid.css").read_text(encoding="utf-8"),
    js=(_FOLDER / "grid.js").read_text(encoding="utf-8"),
)


def draw(
    key: str,
    label: str,
    corner: str,
    columns: Sequence[tuple[str, str]],
    rows: Sequence[Row],
    choose: Callable[[str, str], None],
    *,
    wide: bool = False,
) -> None:
    """Mount the table. `columns` are (id, title); a pressed cell calls `choose(row id, column id)`.

    `wide` gives all columns the same width and no scrolling.
    """
    reasons = sorted({cell.why for row in rows for cell in row.cells})
    number = {why: i for i, why in enumerate(reasons)}

    def pressed() -> None:
        chosen: dict[str, Any] = st.session_state[key].get("chosen") or {}
        row, column = chosen.get("row"), chosen.get("column")
        if row in {r.id for r in rows} and column in {c for c, _ in columns}:
            choose(row, column)

    _component(
        key=key,
        data={
            "label": label,
            "titles": [corner, *(title for _, title in columns)],
            "columns": [column for column, _ in columns],
            "wide": wide,
            "reasons": reasons,
            "rows": [
                {
                    "id": row.id,
                    "name": row.name,
                    "note": row.note,
                    "strong": row.strong,
                    "states": [cell.state for cell in row.cells],
                    "hows": "".join(_HOWS[cell.how] for cell in row.cells),
                    "texts": [cell.text for cell in row.cells],
                    "whys": [number[cell.why] for cell in row.cells],
                    "edges": [cell.edge for cell in row.cells] if any(c.edge for c in row.cells) else None,
                    "here": next((k for k, cell in enumerate(row.cells) if cell.here), -1),
                }
                for row in rows
            ],
        },
        on_chosen_change=pressed,
    )
