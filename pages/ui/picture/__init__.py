"""The lessons as one component: prose, and a picture that follows its slider. Nothing is ever sent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pages.ui import mounted

_FOLDER = Path(__file__).parent

_component = mounted.component(
    "picture",
    html='<div class="lessons"></div>',
    css=(_FOLDER / "picture.css").read_text(encoding="utf-8"),
    js=(_FOLDER / "picture.js").read_text(encoding="utf-8"),
)


def draw(lessons: Sequence[Mapping[str, Any]], glossary: Mapping[str, str]) -> None:
    """Mount the lessons, and below them every term with its sentence."""
    _component(key="lessons", data={"lessons": lessons, "glossary": list(glossary.items())})
