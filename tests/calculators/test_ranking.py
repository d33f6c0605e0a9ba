"""Ranking: laws on generated options, small cases counted by hand."""

from __future__ import annotations

from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calculators import ranking
from calculators.ranking import Limit, Measure, Objective, Options

OBJECTIVES = get_args(Objective)
FIELDS = ("usd", "seconds", "power_w", "gpus")


def options(rows: list[tuple[float, float, float, float]], verdict: Any = 2, band: float = 0.2) -> Options:
    """Options [card] from (usd, seconds, power, gpus); seconds and usd carry a band."""
    usd, seconds, power, gpus = (np.array(column, dtype=float) for column in zip(*rows, strict=True))

    def wide(value: Any) -> Measure:
        return Measure(value, value * (1 - band), value * (1 + band))

    yes = np.ones(len(rows), dtype=bool)
    memory = np.broadcast_to(np.asarray(verdict, np.int8), len(rows)).copy()
    return Options(memory, wide(usd), wide(seconds), power, gpus, yes, yes)


number = st.integers(1, 6).map(float)  # few values: ties are common
rows = st.lists(st.tuples(number, number, number, number), min_size=1, max_size=8)
verdicts = st.integers(0, 2)


@given(rows, st.data(), st.sampled_from(OBJECTIVES))
@settings(max_examples=50)
def test_an_option_that_is_nowhere_worse_and_somewhere_better_stands_first(
    given_rows: list[Any], data: Any, objective: Objective
) -> None:
    one = data.draw(st.sampled_from(given_rows))
    better = tuple(value - data.draw(st.sampled_from([0.0, 0.5])) for value in one)
    found = options([*given_rows, one, better])
    ranks = ranking.order(found, ranking.grades(found), objective).tolist()
    if better != one:
        assert ranks.index(len(given_rows) + 1) < ranks.index(len(given_rows))


@given(rows, st.permutations(range(8)), st.sampled_from(OBJECTIVES))
@settings(max_examples=50)
def test_neither_names_nor_the_order_of_rows_decide(
    given_rows: list[Any], shuffle: list[int], objective: Objective
) -> None:
    places = [i for i in shuffle if i < len(given_rows)]
    straight, mixed = options(given_rows), options([given_rows[i] for i in places])
    first = ranking.order(
        straight, ranking.grades(straight), objective, [f"a{i}" for i in range(8)][: len(places)]
    )
    other = ranking.order(
        mixed, ranking.grades(mixed), objective, [f"z{9 - i}" for i in range(8)][: len(places)]
    )
    assert [given_rows[i] for i in first] == [given_rows[places[i]] for i in other]


@given(rows, st.lists(verdicts, min_size=8, max_size=8), st.tuples(number, number), st.tuples(number, number))
@settings(max_examples=50)
def test_a_relaxed_constraint_loses_no_option(
    given_rows: list[Any], verdict: list[int], strict: tuple[float, float], more: tuple[float, float]
) -> None:
    found = options(given_rows, verdict[: len(given_rows)])

    def grade(usd: float, seconds: float) -> Any:
        limits = [Limit("usd", found.usd, usd), Limit("seconds", found.seconds, seconds)]
        return ranking.grades(found, limits)

    before, after = grade(*strict), grade(strict[0] + more[0], strict[1] + more[1])
    free = ranking.grades(found)
    assert (after >= before).all()
    assert (free >= after).all()


@given(rows)
@settings(max_examples=50)
def test_nothing_beats_the_frontier_and_something_beats_the_rest(given_rows: list[Any]) -> None:
    usd, seconds = (np.array([row[k] for row in given_rows]) for k in (0, 1))
    on = ranking.frontier(usd, seconds)
    for i in range(len(usd)):
        beaten = (usd <= usd[i]) & (seconds <= seconds[i]) & ((usd < usd[i]) | (seconds < seconds[i]))
        assert on[i] == (not beaten.any())


@given(rows, st.sampled_from(OBJECTIVES))
@settings(max_examples=50)
def test_the_best_setup_of_a_card_is_the_first_of_all_its_setups(
    given_rows: list[Any], objective: Objective
) -> None:
    flat = options(given_rows)
    card = flat.at(None)  # one card whose setups they are
    (best,) = ranking.best_setups(card, ranking.grades(card), objective)
    first = ranking.order(flat, ranking.grades(flat), objective)[0]
    assert given_rows[best] == given_rows[first]


def test_what_surely_fits_stands_before_what_may_fit_and_the_rest_is_left_out() -> None:
    found = options([(9, 1, 1, 1), (1, 1, 1, 1), (2, 1, 1, 1)], verdict=[2, 1, 0])
    assert ranking.order(found, ranking.grades(found), "cheapest").tolist() == [0, 1]


def test_the_unknown_stands_last_and_never_on_the_frontier() -> None:
    found = options([(np.nan, 1, 1, 1), (5, 2, 2, 1)])
    assert ranking.order(found, ranking.grades(found), "cheapest").tolist() == [1, 0]
    assert ranking.order(found, ranking.grades(found), "fastest").tolist() == [0, 1]
    assert ranking.frontier(found.usd.value, found.seconds.value).tolist() == [False, True]
    ceiling = [Limit("usd", found.usd, 10.0)]
    assert ranking.order(found, ranking.grades(found, ceiling), "fastest").tolist() == [1]


def test_a_card_without_a_price_never_stands_first_among_the_cheapest_however_surely_it_fits() -> None:
    found = options([(np.nan, 1, 1, 1), (5, 2, 2, 1), (7, 2, 2, 1)], verdict=[2, 1, 2])
    assert ranking.order(found, ranking.grades(found), "cheapest").tolist() == [2, 1, 0]
    assert ranking.order(found, ranking.grades(found), "fastest").tolist() == [0, 2, 1]


@pytest.mark.parametrize(
    ("usd", "expected"),
    [((100, 110), [True, True]), ((100, 130), [True, False])],
    ids=["10 % apart with 20 % bands: tied", "30 % apart: not"],
)
def test_options_within_each_others_bands_are_tied(usd: tuple[float, float], expected: list[bool]) -> None:
    found = options([(usd[0], 1, 1, 1), (usd[1], 1, 1, 1)])
    assert ranking.tied(found, "cheapest", ranking.grades(found), 0).tolist() == expected


@given(
    st.lists(st.tuples(number, number, number, st.integers(1, 2)), min_size=1, max_size=8),
    st.sampled_from(["cheapest", "fastest"]),
)
def test_the_tied_lie_in_each_others_bands_and_none_that_is_closer_is_left_out(
    given_rows: list[tuple[float, float, float, int]], objective: Objective
) -> None:
    value, below, above, verdict = (np.array(column, dtype=float) for column in zip(*given_rows, strict=True))
    band = Measure(value, np.maximum(value - below + 1, 0), value + above - 1)
    yes = np.ones(len(value), dtype=bool)
    found = Options(verdict.astype(np.int8), band, band, value, value, yes, yes)
    grade = ranking.grades(found)
    best = int(ranking.order(found, grade, objective)[0])
    same = ranking.tied(found, objective, grade, best)
    assert same[best]
    for i in np.flatnonzero(same):
        assert band.low[i] <= value[best] <= band.high[i]
        assert band.low[best] <= value[i] <= band.high[best]
        closer = (value < value[i]) & (grade == grade[best])
        assert same[closer].all()
    assert (grade[same] == grade[best]).all()


def test_equal_counts_of_gpus_are_tied_and_only_equal_ones() -> None:
    found = options([(1, 1, 1, 2), (9, 1, 1, 2), (1, 1, 1, 3)])
    assert ranking.tied(found, "gpus", ranking.grades(found), 0).tolist() == [True, True, False]


def test_the_first_hurdle_that_nothing_passes_is_named() -> None:
    usd = Measure.exact([[5.0, 50.0], [5.0, 5.0], [500.0, 500.0], [5.0, 5.0]])
    seconds = Measure.exact([[9.0, 1.0], [1.0, 1.0], [1.0, 1.0], [1.0, 1.0]])
    verdict = np.array([[2, 2], [0, 0], [2, 2], [2, 1]], np.int8)
    yes, one = np.ones((4, 2), dtype=bool), np.ones((4, 2))
    found = Options(verdict, usd, seconds, one, one, yes, yes)
    limits = [Limit("time", seconds, 2.0), Limit("money", usd, 10.0)]
    # the first card: one setup is too slow, the other too dear; together nothing is left
    assert ranking.first_failing(found, limits) == ["money", "memory", "money", None]


def test_the_nearest_switch_points_on_both_sides() -> None:
    def winner(users: float) -> str | None:
        return None if users > 40 else "pair" if users > 14 else "one card"

    stops = (1, 2, 4, 8, 15, 32, 64)
    below, above = ranking.switch_points(stops, 8, winner)
    assert below is None
    assert above == ranking.Switch(15, "pair", 8)
    assert ranking.switch_points(stops, 32, winner) == (
        ranking.Switch(8, "one card", 15),
        ranking.Switch(64, None, 32),
    )


@given(st.integers(2, 200), st.integers(1, 200))
@settings(max_examples=50)
def test_between_stops_the_exact_number_is_found(change: int, now: int) -> None:
    """One winner below `change` users, another from there on."""

    def between(low: float, high: float) -> float | None:
        return None if abs(high - low) <= 1 else (int(low) + int(high)) // 2

    below, above = ranking.switch_points(
        (1, 10, 50, 201), now, lambda users: "large" if users >= change else "small", between
    )
    if now < change:
        assert (below, above) == (None, ranking.Switch(change, "large", change - 1))
    else:
        assert (below, above) == (ranking.Switch(change - 1, "small", change), None)
