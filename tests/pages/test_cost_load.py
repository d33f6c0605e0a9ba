"""Costs of a scenario on every GPU: counted by hand where that can be done, then laws."""

from __future__ import annotations

import math
import re
from datetime import date
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calculators import memory
from calculators.scenario import Scenario
from gpu_data.prices import price_summary
from pages.ui import cost_buy, cost_rows, cost_terms, cost_text, gpu_counts, price_load, workload
from pages.ui.cost_load import Costs, Option, costs

TODAY = date(2026, 11, 30)
SERVE = Scenario(concurrency=20)
TUNE = Scenario(task="finetune", model="llama-3.1-8b")
TRAIN = Scenario(task="train", model="llama-2-7b", deadline_days=30)


def of(scenario: Scenario, **changes: Any) -> Costs:
    return costs(scenario.model_copy(update=changes), TODAY)


def option(found: Costs, gpu: str) -> Option:
    one = found.option(gpu)
    assert one is not None
    return one


def value(money: Any) -> float:
    return float(money.value)


@pytest.mark.parametrize("scenario", [SERVE, TUNE, TRAIN], ids=["serve", "finetune", "train"])
def test_ranked_by_cost_then_what_is_not_sure_then_without_a_price_then_impossible(
    scenario: Scenario,
) -> None:
    found = of(scenario)
    order = [
        3 if not o.possible else 2 if not o.rent.known else 1 if not o.sure else 0 for o in found.options
    ]
    assert order == sorted(order)
    for sure in (True, False):
        ranks = [value(o.rank) for o in found.ranked if o.sure is sure]
        assert ranks == sorted(ranks)
    assert found.best is found.ranked[0]
    assert len(found.ranked) > 10


def test_a_month_is_the_median_quote_times_gpus_times_730_hours() -> None:
    found = of(SERVE)
    for gpu in ("h100-sxm5-80gb", "a100-sxm4-80gb", "l40s-48gb"):
        one = option(found, gpu)
        assert value(one.month) == pytest.approx(price_summary(TODAY).at[gpu, "median"] * one.gpus * 730)
        assert one.gpus == one.copies * one.boards
        assert one.copies * one.users_each >= 20


@pytest.mark.parametrize("gpu", ["h100-sxm5-80gb", "rtx-a6000-48gb", "rtx-4090-24gb"])
def test_the_setup_is_the_fewest_gpus_that_hold_the_users_at_the_speed_asked_for(gpu: str) -> None:
    """Compared with the Fit page's own estimate, one setup at a time."""
    one = option(of(SERVE, least_tokens_per_s=0.0), gpu)
    load = workload.load(SERVE)
    best = None
    for boards in gpu_counts.COUNTS:
        for copies in range(1, 21):
            users = -(-20 // copies)
            deployment = load.deployment([workload.pinned(gpu, boards)], users=users)
            if not isinstance(deployment, str) and memory.estimate(deployment).verdict == memory.FITS:
                best = min(best or boards * copies, boards * copies)
    assert one.gpus == best


def test_tokens_of_a_month_cost_the_month() -> None:
    """A million tokens times the tokens of a month is the month."""
    for busy in (1.0, 0.25):
        one = option(of(SERVE, busy_share=busy), "h100-sxm5-80gb")
        assert one.output_tokens_per_s is not None
        out = value(one.output_tokens_per_s)
        tokens = out * (1024 + 256) / 256 * 3600 * 730 * busy
        assert value(one.unit) * tokens / 1e6 == pytest.approx(value(one.month))
        assert one.unit_in * 1024 + one.unit_out * 256 == pytest.approx(value(one.unit) * 1280)


def test_a_run_is_gpu_hours_times_price_and_a_month_its_runs() -> None:
    one = option(of(TUNE, runs_per_month=4.0), "rtx-4090-24gb")
    assert value(one.unit) == pytest.approx(value(one.gpu_hours) * 0.365)
    assert value(one.month) == pytest.approx(4 * value(one.unit))


def test_one_user_and_many_and_nothing_to_pay_are_said_in_whole_sentences() -> None:
    many = cost_text.details(of(SERVE))[1]
    assert many.startswith("Each user gets")
    assert "while all 20 write, with 1,024 tokens in" in many
    free = of(
        SERVE, concurrency=1, price_basis="own", usd_per_kwh=0.0, purchase_edits=(("h100-sxm5-80gb", 0.0),)
    )
    band, one, *_ = cost_text.details(free)
    assert "80 % band: $0.00 per million tokens" in band
    assert one.startswith("The user gets")
    assert "while all" not in one


def test_a_deadline_gives_the_number_of_each_gpu() -> None:
    loose, tight = of(TRAIN), of(TRAIN, deadline_days=10)
    for gpu in ("h100-sxm5-80gb", "a100-sxm4-80gb", "b200-sxm-180gb"):
        one = option(loose, gpu)
        assert one.days is not None
        assert value(one.days) <= 30
        assert one.gpus_low <= one.gpus <= one.gpus_high
        assert option(tight, gpu).gpus > one.gpus
    assert option(loose, "b200-sxm-180gb").gpus < option(loose, "h100-sxm5-80gb").gpus
    free = of(TRAIN, deadline_days=None, train_gpus=128)
    assert {o.gpus for o in free.options if o.possible} == {128}


def test_lost_time_counts_on_small_cards_alone_and_is_shown() -> None:
    lost = of(SERVE, lost_hours_per_week=2.0, small_memory_gb=48)
    plain = of(SERVE)
    per_month = 2 * 52 / 12 * 69.5
    for gpu, more in (("rtx-4090-24gb", per_month), ("rtx-a6000-48gb", 0.0), ("h100-sxm5-80gb", 0.0)):
        assert value(option(lost, gpu).month) - value(option(plain, gpu).month) == pytest.approx(more)
    names = [name for name, *_ in cost_terms.terms(lost, option(lost, "rtx-4090-24gb"))]
    assert "People's lost time" in names
    assert all(o.people_usd == 0 for o in plain.options)


def test_what_nobody_quotes_in_one_machine_stands_after_the_rest() -> None:
    """RTX 3090: quotes of single cards only, and the model needs eight of them at once."""
    found = of(SERVE)
    one = option(found, "rtx-3090-24gb")
    assert one.boards > one.rent.largest_machine
    assert not one.together
    assert found.best is not None
    assert found.best.together
    mine = of(SERVE, price_edits=(("rtx-3090-24gb", 0.17),))
    assert option(mine, "rtx-3090-24gb").together  # the reader has a price, so knows a lender


def test_edited_prices_stand_before_quotes_and_change_the_order() -> None:
    found = of(SERVE, price_edits=(("h100-sxm5-80gb", 0.1), ("rtx-4500-ada-24gb", 0.2)))
    assert found.best is not None
    assert found.best.gpu == "h100-sxm5-80gb"
    assert found.best.rent.edited
    assert option(found, "rtx-4500-ada-24gb").priced
    assert not option(of(SERVE), "rtx-4500-ada-24gb").priced


def test_prices_by_basis() -> None:
    def usd(basis: str, gpu: str = "h100-sxm5-80gb") -> float:
        return price_load.rent(SERVE.model_copy(update={"price_basis": basis}), gpu, TODAY).usd

    row = price_summary(TODAY).loc["h100-sxm5-80gb"]
    assert [usd(b) for b in ("low", "median", "high", "spot")] == [
        row["low"], row["median"], row["high"], row["spot_median"],
    ]  # fmt: skip
    # 30,000 USD over 4 years of 8,760 hours, and 700 W x 1.54 x 0.13 USD/kWh
    assert usd("own") == pytest.approx(30_000 / 35_040 + 0.7 * 1.54 * 0.13)
    assert math.isnan(usd("spot", "l4-24gb"))


def test_old_prices_say_so() -> None:
    assert "stale" in price_load.rent(SERVE, "rtx-4090-24gb", TODAY).note
    assert "stale" not in price_load.rent(SERVE, "h100-pcie-80gb", TODAY).note
    assert "stale" in price_load.rent(SERVE, "h100-pcie-80gb", date(2027, 3, 1)).note


@pytest.mark.parametrize(
    ("price", "quotes", "days"),
    [
        (1.99, [(3.45, 60), (1.99, 186), (1.99, 186)], 186),
        (1.99, [(3.45, 60), (1.99, 186), (1.99, 30)], 30),
        (2.0, [(1.0, 5), (2.0, 90), (3.0, 5)], 90),
        (0.565, [(0.23, 3), (0.34, 66), (0.79, 71), (0.9, 3)], 71),
        (1.0, [(1.0, 7), (2.0, 90)], 7),
    ],
    ids=["MI300X", "of equal quotes the newest", "the middle one", "the older of two", "the cheapest"],
)
def test_a_price_is_as_old_as_the_quotes_that_decide_it(
    price: float, quotes: list[tuple[float, int]], days: int
) -> None:
    usd, ages = (np.array(column, dtype=float) for column in zip(*quotes, strict=True))
    assert price_load.decided_days_ago(price, usd, ages) == days


def test_the_age_of_a_price_is_said_by_basis() -> None:
    """MI300X: USD 1.99 twice in a list of 28 May 2026, USD 3.45 in one of 1 October."""
    notes = {}
    for basis in ("median", "low", "high"):
        rent = price_load.rent(SERVE.model_copy(update={"price_basis": basis}), "mi300x-192gb", TODAY)
        notes[basis] = (rent.age_days, rent.note)
    assert notes["median"] == (186, "3 quotes, 1.99 to 3.45, this price 186 days old, stale")
    assert notes["low"] == notes["median"]
    assert notes["high"] == (60, "3 quotes, 1.99 to 3.45, this price 60 days old")
    mine = price_load.rent(
        SERVE.model_copy(update={"price_edits": (("mi300x-192gb", 2.0),)}), "mi300x-192gb", TODAY
    )
    assert mine.age_days is None


def test_quotes_are_listed_with_tier_date_and_source() -> None:
    rows = price_load.quote_rows("l40s-48gb", TODAY)
    assert len(rows) == 9
    assert all(len(row) == 5 and all(row) for row in rows)


def test_rent_or_buy_by_hand() -> None:
    """A100 SXM4 80GB: 15,000 / (1.87 - 0.4 x 1.54 x 0.13) hours."""
    rows = {row.id: row for row in cost_buy.rows(of(SERVE), most=100)}
    assert rows["a100-sxm4-80gb"].cells[0].startswith("8,380 hours")
    assert rows["a100-sxm4-80gb"].cells[1] == "24 %"
    assert rows["a100-sxm4-80gb"].cells[2] == "pays back in 11 months"  # 8,380 / 730
    assert rows["b200-sxm-180gb"].price == 40_000
    dear = {row.id: row for row in cost_buy.rows(of(SERVE, usd_per_kwh=10.0), most=100)}
    assert dear["a100-sxm4-80gb"].cells[0].startswith("never")


def test_buying_pays_or_not_at_the_use_of_the_scenario() -> None:
    assert cost_buy.headline(of(SERVE)).startswith("Buy ")  # day and night for four years
    assert cost_buy.headline(of(TUNE)).startswith("Rent ")  # some hours a week
    assert cost_buy.headline(of(TRAIN)).startswith("Rent ")  # one month
    assert "cheaper for all of" in cost_buy.headline(of(SERVE, own_years=0.1))


def test_ties_are_said() -> None:
    """The two forms of one card, equally fast, at nearly the same price."""
    prices = (("a100-pcie-80gb", 0.10), ("a100-sxm4-80gb", 0.101))
    found = of(SERVE, cost_view="tokens", price_edits=prices)
    assert found.best is not None
    assert {found.best.gpu, *found.tied} >= {"a100-pcie-80gb", "a100-sxm4-80gb"}
    assert any(line.startswith("**Tied with it") for line in cost_text.details(found))
    marks = {row.id: row.mark for row in cost_rows.rows(found)}
    assert all("tied" in marks[gpu] for gpu in found.tied)


@pytest.mark.parametrize(
    ("fields", "unit"),
    [
        ({"task": "finetune", "model": "llama-3.1-8b"}, "hours"),
        ({"task": "finetune", "model": "llama-3.2-1b", "samples": 10_000}, "minutes"),
        ({"task": "train", "model": "llama-2-7b", "deadline_days": 30}, "days"),
        ({"task": "train", "model": "llama-2-7b", "train_gpus": 2, "train_tokens": 10**13}, "years"),
    ],
    ids=str,
)
def test_a_time_is_what_its_formula_gives_and_its_band_has_its_unit(
    fields: dict[str, Any], unit: str
) -> None:
    """Also on a card of two chips, whose GPU-hours are hours of a chip."""
    found = costs(Scenario(**fields), TODAY)
    units = []
    for one in (found.ranked[0], option(found, "mi250x-128gb")):
        terms = {name: rest for name, *rest in cost_terms.terms(found, one)}
        shown, _, numbers, _ = terms["Time"]
        value, noun = shown.split()
        hours, *steps = re.split(r" (?=[/×])", numbers.replace(",", ""))
        factor = {"k": 1e3, "M": 1e6}
        result = float(hours.rstrip("kM")) * factor.get(hours[-1], 1.0)
        for sign, number in (step.split() for step in steps):
            result = result * float(number) if sign == "×" else result / float(number)
        assert result == pytest.approx(float(value), rel=0.02)
        units.append(noun)
        assert one.days is not None
        words_of_row = " ".join(cost_rows._cells(found.scenario, one))
        assert words_of_row.count(noun) == 1  # the band in brackets has the unit of the value
    assert units[0] == unit


def test_formulas_hold_the_numbers_they_promise() -> None:
    for scenario in (SERVE, TUNE, TRAIN, SERVE.model_copy(update={"price_basis": "own"})):
        found = of(scenario)
        assert found.best is not None
        for name, shown, formula, numbers, source in cost_terms.terms(found, found.best):
            assert all((name, shown, formula, numbers, source)), name
            assert "nan" not in f"{shown} {numbers}".lower().split()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"engine": "transformers", "weight_format": "bf16"}, "is not modelled"),
        ({"prompt_tokens": 8000, "output_tokens": 8000}, "longer than the context"),
        ({"least_tokens_per_s": 5000.0}, "no GPU here does it"),
        ({"task": "finetune", "train_tensor": 3}, "cannot be split over 3"),
        ({"task": "train", "deadline_days": 0.01}, "no GPU here does it"),
    ],
    ids=str,
)
def test_no_answer_says_why(changes: dict[str, Any], said: str) -> None:
    assert said in cost_text.headline(of(SERVE, **changes))


@settings(max_examples=15, deadline=None)
@given(
    st.sampled_from([SERVE, TUNE, TRAIN]),
    st.sampled_from(["h100-sxm5-80gb", "a100-sxm4-80gb", "l40s-48gb"]),
    st.floats(0.01, 50),
    st.floats(0.01, 1),
)
def test_a_cheaper_price_never_raises_a_cost(scenario: Scenario, gpu: str, usd: float, part: float) -> None:
    dear = option(of(scenario, price_edits=((gpu, usd),)), gpu)
    cheap = option(of(scenario, price_edits=((gpu, usd * part),)), gpu)
    assert value(cheap.rank) <= value(dear.rank) * (1 + 1e-9)
    assert value(cheap.unit) <= value(dear.unit) * (1 + 1e-9)


@settings(max_examples=15, deadline=None)
@given(st.floats(0.01, 1), st.floats(0.01, 1), st.sampled_from(["median", "own"]))
def test_more_use_never_raises_the_cost_of_a_token(one: float, other: float, basis: str) -> None:
    idle, busy = sorted((one, other))
    less = option(of(SERVE, busy_share=idle, price_basis=basis), "h100-sxm5-80gb")
    more = option(of(SERVE, busy_share=busy, price_basis=basis), "h100-sxm5-80gb")
    assert value(more.unit) <= value(less.unit) * (1 + 1e-9)


@settings(max_examples=10, deadline=None)
@given(st.integers(1, 200), st.integers(1, 200))
def test_more_users_never_need_fewer_gpus(one: int, other: int) -> None:
    few, many = sorted((one, other))
    a, b = (option(of(SERVE, concurrency=n), "h100-sxm5-80gb") for n in (few, many))
    assert a.gpus <= b.gpus


@pytest.mark.parametrize("scenario", [SERVE, TUNE, TRAIN], ids=["serve", "finetune", "train"])
def test_bands_hold_their_values(scenario: Scenario) -> None:
    for one in of(scenario).ranked:
        for money in (one.month, one.unit, one.rank, one.tokens_per_s, one.days):
            if money is not None:
                assert float(money.low) <= value(money) <= float(money.high)


def test_who_rents_only_in_the_hours_in_use_is_told_so() -> None:
    """A tenth of four years is fewer hours than it takes to pay for the card; all of them are more."""
    always = cost_buy.headline(costs(Scenario(), TODAY))
    seldom = cost_buy.headline(costs(Scenario(busy_share=0.1), TODAY))
    assert always.startswith("Buy ")
    assert "in use" not in always
    assert "rented day and night, take 35,040" in always
    assert "Buy it if you would rent it day and night (35,040 hours)" in seldom
    assert seldom.endswith("rent it if you pay only for the 10 % of the hours in use (3,504).")


def test_a_server_seldom_in_use_is_told_both_ways_of_renting() -> None:
    said = [row.cells[2] for row in cost_buy.rows(costs(Scenario(busy_share=0.05), TODAY)) if row.cells[2]]
    assert said
    for text in said:
        always, by_hour = text.removeprefix("rented all day: ").split("; by the hour in use: ")
        assert "pays back" in always or "rent" in always
        assert by_hour.startswith("36.5 hours a month: rent")
    always = [row.cells[2] for row in cost_buy.rows(costs(Scenario(), TODAY)) if row.cells[2]]
    assert all("by the hour" not in text for text in always)
