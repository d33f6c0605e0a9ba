"""A table of words that a phone can show: where it is narrow each row is a card, nothing scrolls sideways."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import streamlit as st

_FOLDER = Path(__file__).parent

_component = st.components.v2.component(
    "headroom.plain_table",
    html="<div><table>\n<caption></caption><thead></thead><tbody></tbody></table><ul></ul></div>",
    css=(_FOLDER / "plain_table.css").read_text(encoding="utf-8"),
    js=(_FOLDER / "plain_table.js").read_text(encoding="utf-8"),
)


def draw(
    key: str,
    caption: str,
    titles: Sequence[str],
    rows: Sequence[Sequence[str]],
    notes: Sequence[str] = (),
) -> None:
    """Mount the table; the first cell of a row names it, `notes` stand below as a list."""
    _component(
        key=key,
        data={
            "caption": caption,
            "titles": list(titles),
            "rows": [list(row) for row in rows],
            "notes": list(notes),
        },
    )
