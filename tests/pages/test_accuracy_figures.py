"""The figures of the page "How far off are we?" as dicts."""

from __future__ import annotations

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pages.ui.figures_accuracy import Dot, Group, errors, percent, scatter, short

DOTS = [
    Dot(10.0, 10.0, True, "a"),
    Dot(10.0, 20.0, False, "b"),
    Dot(100.0, 90.0, True, "c"),
]
BAND = (0.9, 1.2)


def drawn(band: tuple[float, float] | None = BAND, several: bool = False) -> dict:
    return scatter(DOTS, "GiB", band, several, "Points.")


def legend(figure: dict) -> list[str]:
    return [re.sub(r" \(\d.*", "", item["text"]) for item in figure["legend"]]


def test_measured_lies_along_and_predicted_upwards() -> None:
    inside, outside = drawn()["groups"]
    assert [spot[4] for spot in inside["spots"]] == ["a", "c"]
    ((x, y, *_, name),) = outside["spots"]
    assert name == "b"
    assert y > x, "twice as much was predicted"


def test_the_band_s_lines_are_where_the_measured_value_would_leave_it() -> None:
    """measured = 1.2 x predicted is the upper end: predicted = measured / 1.2."""
    low, high = 10 / 1.25, 100 * 1.25
    exact, *band = drawn()["lines"]
    assert exact == [0, 0, 1, 1, "dash"]
    whole = math.log(high / low)
    slopes = sorted(math.exp((y - x) * whole) for x, y, *_ in band)
    assert slopes == pytest.approx(sorted([1 / 0.9, 1 / 1.2]), rel=1e-3)
    assert {look for *_, look in band} == {"dot"}


def test_several_bands_are_called_so() -> None:
    assert legend(drawn()) == ["Inside its band", "Outside its band", "Exact", "Band"]
    assert "Widest of the bands" in legend(drawn(several=True))
    assert "Band" not in legend(drawn(None))


def test_inside_and_outside_differ_by_mark_and_are_counted_in_words() -> None:
    figure = drawn()
    inside, outside = figure["groups"]
    assert inside["symbol"] != outside["symbol"]
    assert [item["text"][-3:] for item in figure["legend"][:2]] == ["(2)", "(1)"]


positive = st.floats(1e-3, 1e7)


@given(st.lists(st.tuples(positive, positive), min_size=1, max_size=30))
def test_every_dot_lies_inside_two_equal_axes(pairs: list[tuple[float, float]]) -> None:
    figure = scatter([Dot(m, p, None, "x") for m, p in pairs], "ms", None, False, "Points.")
    assert figure["x"]["ticks"] == figure["y"]["ticks"]
    (group,) = figure["groups"]
    assert len(group["spots"]) == len(pairs)
    assert all(0 <= share <= 1 for spot in group["spots"] for share in spot[:2])
    assert all(0 <= share <= 1 for share, _ in figure["x"]["ticks"])


GROUPS = [Group("RTX 4090", 4.0, 12.0, 40), Group("A very long name of an engine (V1)", 30.0, 900.0, 3)]


def test_each_group_says_its_numbers_beside_its_line() -> None:
    first, last = errors(GROUPS, 100, "Dots.")["rows"]
    assert (first["name"], first["text"]) == ("RTX 4090", "4.0 % · 12 % (n 40)")
    assert last["text"] == "30 % · 900 % (n 3)"
    room = 1.75
    assert first["dot"] == pytest.approx(0.04 / room, abs=1e-4)
    assert first["span"] == pytest.approx([0.04 / room, 0.12 / room], abs=1e-4)
    assert last["span"][1] == pytest.approx(1 / room, abs=1e-4), "cut at the end of the axis"


@pytest.mark.parametrize(
    ("value", "text"), [(0.5, "0.5"), (200, "200"), (1000, "1,000"), (1e4, "10k"), (1e6, "1M"), (2e9, "2G")]
)
def test_ticks_are_short(value: float, text: str) -> None:
    assert short(value) == text


@pytest.mark.parametrize(
    ("value", "text"), [(0.04, "under 0.1 %"), (4.26, "4.3 %"), (9.96, "10 %"), (1234, "1,234 %")]
)
def test_errors_have_two_figures_or_so(value: float, text: str) -> None:
    assert percent(value) == text
