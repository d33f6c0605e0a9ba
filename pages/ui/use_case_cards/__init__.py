"""The use cases as one list of cards; text only, links only to addresses that Python made or checked."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pages.ui import mounted

_FOLDER = Path(__file__).parent

_component = mounted.component(
    "use_case_cards",
    html='<ul class="cards" aria-label="Use cases"></ul>',
    css=(_FOLDER / "use_case_cards.css").read_text(encoding="utf-8"),
    js=(_FOLDER / "use_case_cards.js").read_text(encoding="utf-8"),
)


def draw(cards: Sequence[dict[str, Any]]) -> None:
    """Mount the list."""
    _component(key="use-cases", data={"cards": cards})
