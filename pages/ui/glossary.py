"""One table of terms, `glossary.toml`: a sentence each, for tooltips and for the Learn page."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any, Final

_TABLE: Final[dict[str, list[dict[str, Any]]]] = tomllib.loads(
    (Path(__file__).parent / "glossary.toml").read_text(encoding="utf-8")
)
_ROWS: Final = _TABLE["term"]
TERMS: Final[Mapping[str, str]] = {row["term"]: row["says"] for row in _ROWS}
FIELDS: Final[Mapping[str, str]] = {
    field: row["says"] for row in _ROWS for field in row.get("fields", ())
}  # a field of the Scenario -> the tooltip of its control
COLUMNS: Final[Mapping[str, str]] = {
    title: row["says"] for row in _TABLE["column"] for title in row["titles"]
}
_PATTERNS: Final = tuple((title, says) for title, says in COLUMNS.items() if "*" in title)
CHOICES: Final[Mapping[str, str]] = {name: row["says"] for row in _TABLE["choice"] for name in row["names"]}


def of_field(field: str) -> str | None:
    """The tooltip of the control of one field of the Scenario."""
    return FIELDS.get(field)


@cache
def of_column(title: str) -> str | None:
    """The tooltip of a column of a table; a title with * stands for several."""
    said = COLUMNS.get(title)
    return said or next((says for like, says in _PATTERNS if fnmatchcase(title, like)), None)


def of_choice(label: str) -> str:
    """The tooltip of a button that stands for one of several choices."""
    return CHOICES.get(label, "")
