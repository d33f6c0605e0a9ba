"""What the charts of a board show, read back from the places that were sent."""

from __future__ import annotations

from typing import Any


def bars(chart: dict[str, Any] | None) -> dict[str, float]:
    """Name -> length in the unit of the axis, from top to bottom; exact to a thousandth of the axis."""
    assert chart is not None
    assert chart["kind"] == "rows"
    share, text = chart["ticks"][-1]
    whole = float(text.replace(",", "")) / share
    return {row["name"]: row["bar"] * whole for row in chart["rows"]}


def texts(chart: dict[str, Any]) -> dict[str, str]:
    """Name -> the text right of the bar."""
    return {row["name"]: row["text"] for row in chart["rows"]}


def spots(chart: dict[str, Any]) -> list[list[Any]]:
    """All points of a plane: across, up, size, hollow, name."""
    assert chart["kind"] == "plane"
    return [spot for group in chart["groups"] for spot in group["spots"]]
