"""The figures of the page "How far off are we?" as dicts."""

from __future__ import annotations

import json
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


def traces(figure: dict) -> dict[str, dict]:
    return {re.sub(r" \(\d.*", "", t["name"]): t for t in figure["data"]}


def test_measured_lies_along_and_predicted_upwards() -> None:
    found = traces(scatter(DOTS, "GiB", (0.9, 1.2), False))
    assert (found["Outside its band"]["x"], found["Outside its band"]["y"]) == ([10.0], [20.0])
    assert found["Inside its band"]["customdata"] == ["a", "c"]


def test_the_band_s_lines_are_where_the_measured_value_would_leave_it() -> None:
    """measured = 1.2 x predicted is the upper end: predicted = measured / 1.2."""
    line = traces(scatter(DOTS, "GiB", (0.9, 1.2), False))["Band"]
    slopes = {round(y / x, 6) for x, y in zip(line["x"], line["y"], strict=True) if x is not None}
    assert slopes == {round(1 / 0.9, 6), round(1 / 1.2, 6)}


def test_exact_predictions_lie_on_the_dashed_line() -> None:
    line = traces(scatter(DOTS, "GiB", None, False))["Exact"]
    assert line["x"] == line["y"]
    assert line["line"]["dash"] == "dash"


def test_several_bands_are_called_so() -> None:
    assert "Widest of the bands" in traces(scatter(DOTS, "GiB", (0.9, 1.2), True))


def test_inside_and_outside_differ_by_mark_and_are_counted_in_words() -> None:
    inside, outside = scatter(DOTS, "GiB", (0.9, 1.2), False)["data"][:2]
    assert inside["marker"]["symbol"] != outside["marker"]["symbol"]
    assert inside["name"].endswith("(2)")
    assert outside["name"].endswith("(1)")


positive = st.floats(1e-3, 1e7)


@given(st.lists(st.tuples(positive, positive), min_size=1, max_size=30))
def test_every_dot_lies_inside_two_equal_axes(pairs: list[tuple[float, float]]) -> None:
    figure = scatter([Dot(m, p, None, "x") for m, p in pairs], "ms", None, False)
    x, y = figure["layout"]["xaxis"], figure["layout"]["yaxis"]
    assert x["range"] == y["range"]
    assert all(x["range"][0] <= math.log10(v) <= x["range"][1] for pair in pairs for v in pair)
    assert all(x["range"][0] - 1e-9 <= math.log10(t) <= x["range"][1] + 1e-9 for t in x["tickvals"])


GROUPS = [Group("RTX 4090", 4.0, 12.0, 40), Group("A very long name of an engine (V1)", 30.0, 900.0, 3)]


def test_each_group_says_its_numbers_beside_its_line() -> None:
    dots, texts = errors(GROUPS, 100)["data"]
    assert texts["text"] == ["  4.0 % · 12 % (n 40)", "  30 % · 900 % (n 3)"]
    assert dots["x"] == [4.0, 30.0]
    assert dots["error_x"]["array"] == [8.0, 70.0]  # up to the 90th percentile, or to the end of the axis


def test_the_first_group_stands_on_top() -> None:
    axis = errors(GROUPS, 100)["layout"]["yaxis"]
    assert axis["categoryarray"][-1] == "RTX 4090"
    assert all(line.count("<br>") <= 1 for line in axis["ticktext"])


def test_no_colour_is_written() -> None:
    for figure in (scatter(DOTS, "GiB", (0.9, 1.2), True), errors(GROUPS, 100)):
        assert not re.search(r'#[0-9a-f]{3,8}\b|rgb|"color"', json.dumps(figure), re.IGNORECASE)


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
