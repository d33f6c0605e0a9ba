"""The lessons of the Learn page: prose from `lessons.toml`, pictures computed along one slider each."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from pages.ui import glossary
from pages.ui.lesson_pictures import PICTURES

TEXT: Final = Path(__file__).parent / "lessons.toml"


@dataclass(frozen=True)
class Prose:
    """What stands beside a picture."""

    id: str
    title: str
    text: tuple[str, ...]
    slider: str
    about: str


@cache
def prose() -> Mapping[str, Prose]:
    """Every lesson's text by id, in the order of the page."""
    rows = tomllib.loads(TEXT.read_text(encoding="utf-8"))["lesson"]
    return {row["id"]: Prose(**row | {"text": tuple(row["text"])}) for row in rows}


@cache
def lessons() -> tuple[dict[str, Any], ...]:
    """Every lesson as the browser takes it; computed once per process."""
    return tuple(
        {
            "id": one.id,
            "title": one.title,
            "text": one.text,
            "slider": one.slider,
            "about": one.about,
            **(data := PICTURES[one.id]().data()),
            "hints": [glossary.TERMS.get(part, "") for part in data["parts"]],
        }
        for one in prose().values()
    )
