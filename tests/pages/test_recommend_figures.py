"""The chart of cost against speed: what it must show whatever the colours."""

from __future__ import annotations

import numpy as np

from calculators.ranking import Measure
from pages.ui.figures_recommend import MOST_NAMED, Point, pareto


def point(name: str, usd: float, speed: float, **flags: bool) -> Point:
    band = Measure(np.array(speed), np.array(speed * 0.8), np.array(speed * 1.5))
    marks = {"frontier": False, "tied": False, "best": False, **flags}
    return Point(name, Measure(np.array(usd), np.array(usd), np.array(np.inf)), band, **marks)


def test_the_frontier_is_a_named_line_with_bands_and_the_rest_is_hollow() -> None:
    points = [point("cheap", 100, 10, frontier=True, best=True), point("fast", 900, 80, frontier=True)]
    points += [
        point("beaten", 500, 9),
        point("apart", 50, 90, sure=False),
        point("equal", 105, 10, tied=True),
    ]
    figure = pareto(points, "USD a month", "Tokens/s", less_is_better=False)
    drawn = {p["name"]: p for p in figure["points"]}
    assert [p["kind"] for p in figure["points"]] == ["best", "frontier", "beaten", "unsure", "tied"]
    assert {kind for kind, _ in figure["legend"]} == {"best", "frontier", "beaten", "unsure", "tied"}
    assert [name for name, p in drawn.items() if p["label"]] == ["cheap", "fast"]
    assert figure["line"] == [[drawn[name]["x"], drawn[name]["y"]] for name in ("cheap", "fast")]
    assert drawn["beaten"]["ys"] is None
    assert drawn["cheap"]["ys"][0] < drawn["cheap"]["y"] < drawn["cheap"]["ys"][1]
    assert drawn["cheap"]["xs"] == [drawn["cheap"]["x"], 1], "an open end goes to the edge"
    assert drawn["apart"]["x"] < drawn["cheap"]["x"] < drawn["fast"]["x"]
    assert drawn["beaten"]["y"] < drawn["cheap"]["y"] < drawn["fast"]["y"]
    assert "color" not in str(figure)


def test_times_run_downwards_and_ticks_are_round() -> None:
    points = [point("a", 120, 3, frontier=True), point("b", 4000, 0.4, frontier=True)]
    figure = pareto(points, "USD", "Days", less_is_better=True)
    slow, fast = (p["y"] for p in figure["points"])
    assert fast > slow
    assert {"$200", "$500", "$1k", "$2k"} <= {label for _, label in figure["x"]["ticks"]}
    for axis in ("x", "y"):
        assert all(0 <= place <= 1 for place, _ in figure[axis]["ticks"])


def test_one_value_for_all_is_drawn_too() -> None:
    figure = pareto([point("a", 100, 10), point("b", 100, 10)], "USD", "Tokens/s", less_is_better=False)
    assert [p["x"] for p in figure["points"]] == [0.5, 0.5]
    assert figure["line"] == []


def test_a_crowded_frontier_names_few() -> None:
    points = [point(f"gpu {i}", 100 * (i + 1), 10 * (i + 1), frontier=True) for i in range(20)]
    figure = pareto(points, "USD", "Tokens/s", less_is_better=False)
    assert 1 < sum(bool(p["label"]) for p in figure["points"]) <= MOST_NAMED
