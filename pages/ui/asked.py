"""A number that the reader types in a component of ours: how it is shown, what becomes of what was typed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from calculators.scenario import Scenario
from pages.ui import glossary, link, told


@dataclass(frozen=True, slots=True)
class Asked:
    """One number: its label, the unit it is shown in, what an empty box shows, and a sentence about it.

    Without `help` it is the glossary's sentence for the field.
    """

    label: str
    unit: float = 1
    empty: str = ""
    help: str = ""


def box(asked: Asked, field: str, scenario: Scenario) -> dict[str, str]:
    """The box as the browser takes it."""
    value = getattr(scenario, field)
    return {
        "field": field,
        "label": asked.label,
        "value": "" if value is None else f"{value / asked.unit:.10g}",
        "empty": asked.empty,
        "help": asked.help or glossary.of_field(field) or "",
    }


def _number(asked: Asked, field: str, typed: Any) -> float | int | None:
    """What was typed in the field's own unit and type; None when it is no such number."""
    try:
        value = float(typed) * asked.unit
    except (TypeError, ValueError):
        return None
    if not math.isfinite(value):
        return None
    if not _whole(field):
        return value
    return round(value) if math.isclose(value, round(value), rel_tol=1e-9) else None


def _whole(field: str) -> bool:
    return "int" in str(Scenario.model_fields[field].annotation)


def taken(asked: Asked, field: str, typed: Any) -> dict[str, Any]:
    """The field of the Scenario that it changes; nothing when it is not one that the field takes.

    An emptied box is the default again.
    """
    if typed is None or typed == "":
        return {field: Scenario.model_fields[field].default}
    number = _number(asked, field, typed)
    return {field: number} if number is not None and link.takes(field, number) else {}


def refusal(asked: Asked, field: str, typed: Any) -> str:
    """Which box does not take what was typed, and why."""
    number = _number(asked, field, typed)
    if number is None:
        kind = "a whole number" if _whole(field) and asked.unit == 1 else "a number"
        return f"“{asked.label}” keeps its value: it takes {kind}."
    return told.not_taken(field, asked.label, number, asked.unit, typed)
