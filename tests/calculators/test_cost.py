"""Costs: published examples first, then laws."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calculators import cost
from calculators.training import energy_kwh

positive = st.floats(0.001, 1e5)
shares = st.floats(0.01, 1.0)


@pytest.mark.parametrize(
    ("usd_per_hour", "tokens_per_s", "expected"),
    [
        pytest.param(10.0, 3400, 0.82, id="4 H100 on demand, kshirol-dev learnAI inference infrastructure"),
        pytest.param(6.4, 3400, 0.52, id="4 H100 reserved, kshirol-dev learnAI inference infrastructure"),
        pytest.param(2.0, 1111, 0.50, id="H100 full, blog.rajpoot.dev self-host economics 2026"),
    ],
)
def test_published_costs_per_million_tokens(
    usd_per_hour: float, tokens_per_s: float, expected: float
) -> None:
    assert cost.usd_per_million_tokens(usd_per_hour, tokens_per_s) == pytest.approx(expected, abs=0.005)


def test_ten_per_cent_use_costs_ten_times_as_much() -> None:
    """blog.rajpoot.dev, self-host economics 2026: 0.50 per million at 100 % use, 5 at 10 %."""
    assert cost.usd_per_million_tokens(2.0, 1111, 0.1) == pytest.approx(5.0, abs=0.05)


@pytest.mark.parametrize(
    ("gpu_hours", "usd", "expected"),
    [
        pytest.param(2_788_000, 2.0, 5_576_000, id="DeepSeek-V3, arXiv 2412.19437 table 1"),
        pytest.param(2_664_000, 2.0, 5_328_000, id="DeepSeek-V3 pre-training, arXiv 2412.19437 table 1"),
        pytest.param(440 * 9.5 * 24, 2.0, 200_000, id="MPT-7B, 9.5 days on 440 A100: about 200,000 USD"),
    ],
)
def test_published_costs_of_runs(gpu_hours: float, usd: float, expected: float) -> None:
    assert cost.usd_per_run(gpu_hours, usd) == pytest.approx(expected, rel=0.005)


def test_a_published_fine_tune_costs_less_than_100_dollars() -> None:
    """Stanford Alpaca 7B: 3 hours on 8 A100 80GB, under 100 USD at most clouds (its README, 2023)."""
    assert cost.usd_per_run(3 * 8, 4.0) < 100


def test_published_energy() -> None:
    """LLaMA-65B: 1,022,362 hours at 400 W and PUE 1.1 are 449 MWh (arXiv 2302.13971, table 15)."""
    hours = 1_022_362
    assert cost.power_usd_per_hour(400, 1.0, 1.1) * hours / 1000 == pytest.approx(449, rel=0.003)
    assert cost.power_usd_per_hour(400, 1.0, 1.1) * hours == pytest.approx(energy_kwh(hours, 400, 1.1))


def test_a_published_break_even() -> None:
    """legitlads.com accelerator ROI console: 64 accelerators, 2,648,681 USD owned over 4 years against 2.00
    USD an hour rented: the break-even is 59 % use."""
    hours = cost.break_even_hours(2_648_681 / 64, 2.0)
    assert cost.break_even_share(hours, 4) == pytest.approx(0.59, abs=0.005)


def test_a_month_is_730_hours_as_price_lists_count_it() -> None:
    """AWS pricing calculator: a p5.48xlarge at 55.04 USD an hour is 40,179.20 USD a month."""
    assert cost.usd_per_month(55.04 / 8, 8) == pytest.approx(40_179.20)


@pytest.mark.parametrize(
    ("users", "each", "copies"), [(20, 20, 1), (20, 7, 3), (1, 64, 1), (20, 0, math.inf)]
)
def test_copies(users: int, each: int, copies: float) -> None:
    assert cost.replicas_needed(users, each) == copies


@pytest.mark.parametrize(
    ("hours", "days", "gpus"),
    [(1_022_362, 21, 2029), (24, 1, 1), (25, 1, 2), (1, 30, 1)],
    ids=["LLaMA-65B: 2,048 GPUs took about 21 days (arXiv 2302.13971)", "a day", "an hour more", "least"],
)
def test_gpus_for_a_deadline(hours: float, days: float, gpus: int) -> None:
    assert cost.gpus_for_days(hours, days) == gpus


@pytest.mark.parametrize(
    ("first", "other", "same"),
    [
        ((1.0, 0.8, 1.5), (1.2, 0.9, 2.0), True),
        ((1.0, 0.8, 1.5), (1.6, 0.9, 2.0), False),  # too dear for the first one's band
        ((1.0, 0.8, 1.5), (1.2, 1.1, 2.0), False),  # surely dearer
        ((1.0, 1.0, 1.5), (1.4, 1.4, 1.4), False),  # exact: it can never cost as little
        ((1.0, 1.0, 1.0), (1.2, 0.9, 2.0), False),
        ((1.0, 1.0, 1.0), (1.0, 1.0, 1.0), True),
        ((1.0, 1.0, 1.0), (1.1, 1.1, 1.1), False),
    ],
)
def test_tied_when_each_lies_in_the_others_band(
    first: tuple[float, float, float], other: tuple[float, float, float], same: bool
) -> None:
    money = cost.Money(*(np.array(side) for side in zip(first, other, strict=True)))
    assert cost.tied(money, 0).tolist() == [True, same]
    assert cost.tied(money, 1).tolist() == [same, True]


# ---------------------------------------------------------------- laws


@given(positive, positive, positive, shares, shares)
def test_a_cheaper_hour_or_more_use_never_raises_the_cost_of_a_token(
    usd: float, less: float, rate: float, use: float, more: float
) -> None:
    low, high = sorted((usd, less))
    few, many = sorted((use, more))
    price = cost.usd_per_million_tokens
    assert price(low, rate, few) <= price(high, rate, few)
    assert price(high, rate, many) <= price(high, rate, few)


@given(positive, positive, st.integers(1, 100_000), st.integers(1, 100_000), positive, shares)
def test_input_and_output_add_up_to_the_blend(
    usd: float, rate: float, prompt: int, output: int, reading: float, busy: float
) -> None:
    into, out = cost.input_output_usd_per_million(usd, rate, prompt, output, reading, busy)
    blend = cost.usd_per_million_tokens(usd, cost.all_tokens_per_s(rate, prompt, output), busy)
    assert into * prompt + out * output == pytest.approx(blend * (prompt + output))
    assert into >= 0
    assert out >= 0


@given(positive, positive, positive)
def test_a_cheaper_purchase_or_dearer_rent_never_lengthens_the_break_even(
    purchase: float, rent: float, power: float
) -> None:
    hours = cost.break_even_hours(purchase, rent, power)
    assert cost.break_even_hours(purchase / 2, rent, power) <= hours
    assert cost.break_even_hours(purchase, 2 * rent, power) <= hours
    if rent <= power:
        assert hours == math.inf
    else:
        own = purchase + power * hours
        assert own == pytest.approx(rent * hours, rel=1e-6)


@given(positive, st.floats(0.1, 20), positive, shares)
def test_owning_costs_the_same_over_a_life_however_it_is_counted(
    purchase: float, years: float, power: float, busy: float
) -> None:
    paid = cost.ownership_usd_per_hour(purchase, years, power * busy)
    life = years * cost.HOURS_PER_YEAR
    assert paid * life == pytest.approx(purchase + power * busy * life)
    assert cost.usd_per_busy_hour(paid, busy) * life * busy == pytest.approx(purchase + power * busy * life)


@given(st.integers(1, 1024), st.integers(1, 1024))
def test_copies_hold_all_users_and_none_is_spare(users: int, each: int) -> None:
    copies = float(cost.replicas_needed(users, each))
    assert copies * each >= users
    assert (copies - 1) * each < users


@given(positive, st.floats(0.2, 1), st.floats(1, 5))
def test_bands_keep_their_order(value: float, low: float, high: float) -> None:
    falls = cost.over_rate(lambda rate: 1 / np.asarray(rate), value, value * low, value * high)
    rises = cost.of_time(lambda hours: 2 * np.asarray(hours), value, value * low, value * high)
    for money in (falls, rises, falls.plus(1.0)):
        assert money.low <= money.value <= money.high


@given(positive, positive, st.floats(0, 100))
def test_lost_time_is_never_hidden_in_a_run(run: float, runs: float, lost: float) -> None:
    people = cost.lost_usd_per_month(lost, 69.5)
    assert cost.runs_usd_per_month(run, runs, people) - people == pytest.approx(
        cost.runs_usd_per_month(run, runs), rel=1e-6, abs=1e-4
    )


def test_everything_broadcasts() -> None:
    prices, rates = np.array([1.0, 2.0])[:, None], np.array([10.0, 20.0, 30.0])
    assert cost.usd_per_million_tokens(prices, rates).shape == (2, 3)
    assert cost.break_even_hours(np.array([1e4, 2e4]), 2.0, np.array([0.1, 3.0])).tolist() == [
        1e4 / 1.9,
        math.inf,
    ]
