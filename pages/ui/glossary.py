"""One table of terms, `glossary.toml`: a sentence each, for tooltips and for the Learn page."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

_ROWS: Final[list[dict[str, Any]]] = tomllib.loads(
    (Path(__file__).parent / "glossary.toml").read_text(encoding="utf-8")
)["term"]
TERMS: Final[Mapping[str, str]] = {row["term"]: row["says"] for row in _ROWS}
FIELDS: Final[Mapping[str, str]] = {
    field: row["says"] for row in _ROWS for field in row.get("fields", ())
}  # a field of the Scenario -> the tooltip of its control


def of_field(field: str) -> str | None:
    """The tooltip of the control of one field of the Scenario."""
    return FIELDS.get(field)
