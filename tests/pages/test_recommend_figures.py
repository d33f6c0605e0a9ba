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
    points += [point("beaten", 500, 9), point("apart", 50, 90, sure=False)]
    figure = pareto(points, "USD a month", "Tokens/s", less_is_better=False)
    by_name = {trace["name"].partition(":")[0]: trace for trace in figure["data"]}
    line = by_name["Frontier"]
    assert line["x"] == [100, 900]
    assert line["text"] == ["cheap", "fast"]
    assert line["line"]["shape"] == "hv"
    assert line["error_y"]["array"] == [5, 40]
    assert line["error_x"]["array"] == [0, 0], "an open end is not drawn"
    symbols = [trace["marker"]["symbol"] for trace in figure["data"]]
    assert len(set(symbols)) == len(symbols) == 4
    assert "color" not in str(figure), "colours are the theme's"


def test_times_run_downwards_and_ticks_are_round() -> None:
    points = [point("a", 120, 3, frontier=True), point("b", 4000, 0.4, frontier=True)]
    figure = pareto(points, "USD", "Days", less_is_better=True)
    assert figure["layout"]["yaxis"]["autorange"] == "reversed"
    assert {"$100", "$200", "$500", "$1k", "$5k"} <= set(figure["layout"]["xaxis"]["ticktext"])


def test_a_crowded_frontier_names_few() -> None:
    points = [point(f"gpu {i}", 100 * (i + 1), 10 * (i + 1), frontier=True) for i in range(20)]
    (line,) = pareto(points, "USD", "Tokens/s", less_is_better=False)["data"]
    assert 1 < sum(bool(text) for text in line["text"]) <= MOST_NAMED
