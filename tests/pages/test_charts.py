"""The charts as places: right values first, then laws."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pages.ui.charts import Axis, Group, Label, Line, Row, Spot, even_ticks, plane, rows


def test_a_row_s_parts_stand_at_their_shares_of_the_width() -> None:
    given_rows = [
        Row("a", "80 (3)", bar=80, span=(60, 100), estimate=(90, 70, 120), hatch=9),
        Row("b", "out of memory", bar=0),
        Row("c", "5 %", dot=20),
    ]
    chart = rows(given_rows, title="tokens/s", top=100, room=2, alt="Bars.")
    first, second, third = chart["rows"]
    assert (first["bar"], first["span"], first["estimate"]) == (0.4, [0.3, 0.5], [0.45, 0.35, 0.6])
    assert first["end"] == 0.6, "the text stands right of everything that is drawn"
    assert first["hatch"] == 1, "there are eight patterns"
    assert (second["bar"], second["end"]) == (0, 0)
    assert (third["bar"], third["dot"]) == (None, 0.1)
    assert chart["ticks"] == [[0, "0"], [0.25, "50"], [0.5, "100"]]


def test_points_lines_and_labels_stand_where_the_axes_put_them() -> None:
    x, y = Axis("GB/s", 1, 100), Axis("TFLOPS", 10, 1000)
    chart = plane(
        [Group("A", "square", 3, [Spot(10, 100, "card", 9)]), Group("none", "circle", 4, [])],
        x,
        y,
        height_px=100,
        alt="Points.",
        ticks=([(10, "10")], [(1000, "1k")]),
        labels=[Label(100, 10, "card", (-1, 0), 4)],
        lines=[Line((1, 10), (100, 1000), "dash", "Exact")],
    )
    assert chart["groups"] == [{"symbol": "square", "tone": 3, "spots": [[0.5, 0.5, 9, 0, "card"]]}]
    assert chart["labels"] == [[1, 0, "card", -1, 0, 4]]
    assert chart["lines"] == [[0, 0, 1, 1, "dash"]]
    assert [item["text"] for item in chart["legend"]] == ["A", "Exact"], "an empty group needs no legend"
    assert (chart["x"]["ticks"], chart["y"]["ticks"]) == ([[0.5, "10"]], [[1, "1k"]])


@pytest.mark.parametrize(
    ("most", "ticks"),
    [(3350, [0, 1000, 2000, 3000]), (1, [0, 0.5, 1]), (100, [0, 50, 100]), (7, [0, 2, 4, 6])],
)
def test_even_ticks_are_round(most: float, ticks: list[float]) -> None:
    assert even_ticks(most) == pytest.approx(ticks)


@given(st.floats(1e-6, 1e12))
def test_even_ticks_are_few_and_within(most: float) -> None:
    found = even_ticks(most)
    assert 2 <= len(found) <= 6
    assert found[0] == 0
    assert found[-1] <= most * (1 + 1e-9)


@given(st.floats(1e-3, 1e6), st.floats(1.5, 1e6))
def test_ticks_of_a_log_axis_lie_on_it_and_their_places_rise(low: float, factor: float) -> None:
    axis = Axis("x", low, low * factor)
    places = [axis.place(tick) for tick in axis.ticks()]
    assert places == sorted(places)
    assert all(-1e-9 <= place <= 1 + 1e-9 for place in places)
    assert axis.place(low) == 0
    assert math.isclose(axis.place(low * factor), 1)


@given(st.lists(st.tuples(st.floats(0, 1e6), st.floats(0, 1e6), st.floats(0, 1e6)), min_size=1, max_size=20))
def test_nothing_drawn_leaves_the_axis_and_every_row_is_kept(values: list[tuple[float, ...]]) -> None:
    top = max(max(v) for v in values) or 1.0
    chart = rows(
        [Row(str(i), "", bar=a, span=(min(b, c), max(b, c))) for i, (a, b, c) in enumerate(values)],
        title="x", top=top, room=1.5, alt="Bars.",
    )  # fmt: skip
    assert len(chart["rows"]) == len(values)
    for row in chart["rows"]:
        assert 0 <= row["bar"] <= row["end"] <= 1 / 1.5 + 1e-3
        assert 0 <= row["span"][0] <= row["span"][1] <= row["end"]
