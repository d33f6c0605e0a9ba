"""Everything below the verdict of the Cost page as one component: each element costs a redraw of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from pages.ui import glossary, mounted, plain_table

_FOLDER = Path(__file__).parent
KEY = "cost-report"


def _text(name: str) -> str:
    return (_FOLDER / name).read_text(encoding="utf-8")


_component = mounted.component(
    "cost_report",
    html=_text("cost_report.html"),
    css="\n".join((_text("cost_report.css"), plain_table.CSS, _text("price_table.css"))),
    js="\n".join((plain_table.SCRIPT, _text("price_table.js"), _text("cost_report.js"))),
)


@dataclass(frozen=True, slots=True)
class Row:
    """One GPU: its price [USD, None when nobody quoted one], and cells of text.

    mark: a few words under the name, or none; bar: (low, value, high) as shares of the widest. Strong rows
    are never hidden behind the button.
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


_NAMES = tuple(field.name for field in fields(Row))


def price_table(
    caption: str, titles: Sequence[str], rows: Sequence[Row], *, price_of: str, most: int
) -> dict[str, Any]:
    """A ranked table with one price a row that the reader may type over; on a phone each row is a card.

    `titles` are those of name, price and cells; rows beyond `most` wait behind a button. price_of: what a
    price is of, for readers who do not see the table.
    """
    return {
        "caption": caption,
        "titles": list(titles),
        "hints": [glossary.of_column(title) or "" for title in titles],
        "price_of": price_of,
        "most": most,
        "rows": [{name: getattr(row, name) for name in _NAMES} for row in rows],
    }


@dataclass(frozen=True, slots=True)
class Typed:
    """What the reader did: `edit` a price (table, GPU, USD or None), `choose` a GPU, `type` a number, `press`
    a button of a row (row, id).
    """

    edit: Callable[[str, str, float | None], None]
    choose: Callable[[str], None]
    type: Callable[[str, float | None], None]
    press: Callable[[str, str], None]


def _number(told: Mapping[str, Any]) -> float | None:
    """The number typed; None when the field was emptied. Raises ValueError for anything else."""
    text = str(told.get("value", "")).strip()
    return float(text) if text else None


def draw(data: Mapping[str, Any], typed: Typed) -> None:
    """Mount the report."""

    def edited(one: Any) -> None:
        try:
            typed.edit(str(one.get("table")), str(one.get("id")), _number(one))
        except ValueError:
            return

    def entered(one: Any) -> None:
        try:
            typed.type(str(one.get("field")), _number(one))
        except ValueError:
            return

    def chosen(one: Any) -> None:
        typed.choose(str(one.get("gpu")))

    def pressed(one: Any) -> None:
        typed.press(str(one.get("name")), str(one.get("id")))

    _component(
        key=KEY,
        data=data,
        told={"edited": edited, "entered": entered, "chosen": chosen, "pressed": pressed},
    )
