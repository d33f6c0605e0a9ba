"""Recommendations from the catalogue: laws over whole scenarios, the Cost page's answer, hand counts."""

from __future__ import annotations

import re
from datetime import date
from typing import Any, get_args

import numpy as np
import pytest

from calculators.ranking import Objective
from calculators.scenario import Scenario
from gpu_data.models import model_ids
from pages.ui import catalogue, cost_load, recommend_duel, recommend_load, recommend_text
from pages.ui.recommend_load import PURPOSES, purpose, recommend, with_purpose
from pages.ui.recommend_presets import PRESETS, PUT_BACK

TODAY = date(2026, 11, 30)
SMALL: dict[str, Any] = {"model": "llama-3.1-8b"}


def found(**fields: Any) -> recommend_load.Recommendation:
    return recommend(Scenario(**fields), TODAY)


@pytest.mark.parametrize(
    "fields",
    [
        {"concurrency": 1},
        {"concurrency": 20},
        {**SMALL, "concurrency": 64, "weight_format": "fp8"},
        {**SMALL, "task": "finetune"},
        {"model": "llama-2-7b", "task": "train", "deadline_days": 30},
    ],
    ids=str,
)
def test_the_cheapest_is_the_one_of_the_cost_page(fields: dict[str, Any]) -> None:
    """Same functions, same setups; a pipeline, or copies that fit a quoted machine, only make it cheaper."""
    other = cost_load.costs(Scenario(**fields), TODAY).best
    mine = found(**fields).best
    assert other is not None
    assert mine is not None
    assert mine.usd is not None
    money = other.month if fields.get("task") is None else other.unit
    assert money is not None
    assert float(mine.usd.value) <= float(money.value) * 1.0001
    assert mine.gpu == other.gpu or float(mine.usd.value) < float(money.value)


@pytest.mark.parametrize("asked", PURPOSES)
def test_every_purpose_has_an_answer_for_a_small_model(asked: str) -> None:
    s = Scenario(**SMALL)
    s = s.model_copy(update=with_purpose(s, asked))
    assert purpose(s) == asked
    result = recommend(s, TODAY)
    assert result.best is not None
    assert len(result.ranked) > 5
    assert len(result.choices) == len({one.gpu for one in result.choices}) >= 84
    assert all(one.reason for one in result.choices[len(result.ranked) :])
    assert any(one.frontier for one in result.ranked)


@pytest.mark.parametrize("objective", get_args(Objective))
@pytest.mark.parametrize("fields", [{"concurrency": 20}, {**SMALL, "task": "finetune"}], ids=str)
def test_the_first_is_best_in_what_is_asked_for(objective: Any, fields: dict[str, Any]) -> None:
    result = found(objective=objective, **fields)

    def key(one: recommend_load.Choice) -> float:
        assert one.usd is not None
        assert one.seconds is not None
        asked = {
            "cheapest": one.usd.value,
            "fastest": one.seconds.value,
            "power": one.power_w,
            "gpus": one.gpus,
        }
        return float(asked[objective])

    sure = [key(one) for one in result.ranked if one.firm]
    known = [value for value in sure if value == value]
    assert known == sorted(known)


LIMITS: list[dict[str, Any]] = [
    {"max_ttft_s": 0.3},
    {"cost_ceiling": 3000.0},
    {"max_power_w": 1000},
    {"max_gpus": 2},
    {"place": "workstation"},
    {"maker": "nvidia"},
    {"need_nvlink": True},
    {"need_mig": True},
    {"need_ecc": True},
    {"least_tokens_per_s": 30.0},
]


@pytest.mark.parametrize("limit", LIMITS, ids=str)
def test_a_relaxed_constraint_loses_no_option(limit: dict[str, Any]) -> None:
    strict = {one.gpu for one in found(concurrency=20, **limit).ranked}
    free = {one.gpu for one in found(concurrency=20).ranked}
    assert strict < free
    assert strict, "a limit that nothing meets tests nothing"


def test_limits_are_kept() -> None:
    result = found(concurrency=20, max_ttft_s=0.5, cost_ceiling=4000.0, max_power_w=1500, max_gpus=2)
    assert result.ranked
    for one in result.ranked:
        assert one.first_s is not None
        assert one.usd is not None
        assert one.seconds is not None
        assert float(one.first_s.value) <= 0.5
        assert float(one.usd.value) <= 4000
        assert one.power_w <= 1500
        assert one.gpus <= 2
        assert 1 / float(one.seconds.value) >= 10


def test_a_cut_price_decides_and_is_what_the_switch_point_said() -> None:
    """Below the price that the text names, the next in line comes first."""
    result = found(concurrency=20)
    best, second = result.ranked[:2]
    assert best.usd is not None
    assert second.usd is not None
    price = second.rent.usd * float(best.usd.value) / float(second.usd.value)
    assert result.price is not None
    assert result.price.usd == pytest.approx(price, rel=0.005)


SERVED_32B: dict[str, Any] = {"model": "qwen2.5-32b", "weight_format": "awq-int4", "format_freedom": "any"}
MANY: list[dict[str, Any]] = [
    *({**PRESETS["startup"].fields, "concurrency": n} for n in (2, 7, 25, 26, 32, 45, 193, 202)),
    *({"concurrency": n} for n in (1, 20, 33, 100, 300)),
    *({**SMALL, "concurrency": n, "weight_format": "fp8", "max_ttft_s": 0.5} for n in (5, 64)),
    {**SMALL, "concurrency": 12, "price_basis": "own", "busy_share": 0.3},
    {**SERVED_32B, "concurrency": 16, "objective": "power"},
    {**SERVED_32B, "concurrency": 16, "objective": "fastest", "cost_ceiling": 9000.0},
    PRESETS["platform"].fields,
    PRESETS["solo"].fields,
    PRESETS["researcher"].fields,
    {**SMALL, "task": "finetune"},
    {**SMALL, "task": "finetune", "method": "full", "price_basis": "own"},
    {**SMALL, "serving": "batch", "deadline_days": 1.0},
    *({"task": "train", "model": "llama-2-7b", "deadline_days": days} for days in (7.0, 30.0, 120.0)),
    {"task": "train", "model": "llama-3.1-70b", "deadline_days": 60.0, "maker": "amd"},
]  # fmt: skip


def first(s: Scenario, **fields: Any) -> str | None:
    best = recommend(s.model_copy(update=fields), TODAY).best
    return None if best is None else best.gpu


@pytest.mark.parametrize("fields", MANY, ids=str)
def test_a_switch_point_holds_on_both_sides(fields: dict[str, Any]) -> None:
    """At the point itself the promised one comes first, at the nearest point told apart the old one."""
    s = Scenario(**fields)
    result = recommend(s, TODAY)
    assert result.best is not None
    old = result.best.gpu
    name = "concurrency" if s.task == "serve" and s.serving == "live" else "deadline_days"
    for turn in (result.below, result.above):
        if turn is not None:
            number = int if name == "concurrency" else float
            assert first(s, **{name: number(turn.at)}) == turn.gpu != old
            assert first(s, **{name: number(turn.last)}) == old
    if (price := result.price) is not None:
        edits = "purchase_edits" if price.purchase else "price_edits"
        assert price.usd < price.now, "met already"
        assert first(s, **{edits: ((price.gpu, price.usd * 0.99),)}) == price.gpu != old
        assert first(s, **{edits: ((price.gpu, price.usd * 1.02),)}) == old
        assert catalogue.gpu_name(price.gpu) in " ".join(recommend_text.details(result))
    if (poorer := result.poorer) is not None:
        assert first(s, cost_ceiling=poorer.at * 0.998) == poorer.gpu


@pytest.mark.parametrize("days", [7.0, 14.0, 30.0, 90.0])
def test_a_safe_deadline_is_safe(days: float) -> None:
    """Whose answer is asked with it is done in time at the slow end of its band."""
    s = Scenario(task="train", model="llama-2-7b", deadline_days=days)
    result = recommend(s, TODAY)
    assert result.best is not None
    assert not result.best.sure
    assert result.safe_days is not None
    assert f"ask for {result.safe_days:g} days" in " ".join(recommend_text.details(result))
    safe = recommend(s.model_copy(update={"deadline_days": result.safe_days}), TODAY).best
    assert safe is not None
    assert safe.seconds is not None
    assert float(safe.seconds.high) <= days * 86400


def test_more_formats_never_cost_more() -> None:
    costs = []
    for freedom in ("this", "8bit", "any"):
        best = found(model="qwen2.5-32b", weight_format="bf16", concurrency=8, format_freedom=freedom).best
        assert best is not None
        assert best.usd is not None
        costs.append(float(best.usd.value))
    assert costs == sorted(costs, reverse=True)
    assert costs[2] < costs[0]


def test_copies_are_counted_by_hand() -> None:
    """20 users on A100 80GB with a 70B model in 4 bits: two copies of one, each for ten."""
    one = found(concurrency=20).of("a100-sxm4-80gb")
    assert one is not None
    assert one.usd is not None
    assert (one.boards, one.copies, one.gpus, one.users_each) == (1, 2, 2, 10)
    assert float(one.usd.value) == pytest.approx(2 * one.rent.usd * 730)
    assert one.power_w == 800


def test_images_are_the_measured_rates_and_nothing_else() -> None:
    """MLPerf Inference v5.1, closed, Offline, stable-diffusion-xl: 0.690051 samples/s per L40S."""
    result = found(serving="images")
    one = result.of("l40s-48gb")
    assert one is not None
    assert one.seconds is not None
    assert 1 / float(one.seconds.value) == pytest.approx(0.690051)
    a100 = result.of("a100-sxm4-80gb")
    assert a100 is not None
    assert a100.reason == "no MLPerf result"


def test_an_owned_card_is_paid_in_its_idle_hours() -> None:
    """Half the use makes a fine-tune of an owned card twice as dear, power apart."""
    full, half = (
        found(**SMALL, task="finetune", price_basis="own", busy_share=share, usd_per_kwh=0).of(
            "rtx-4090-24gb"
        )
        for share in (1.0, 0.5)
    )
    assert full is not None
    assert half is not None
    assert full.usd is not None
    assert half.usd is not None
    assert float(half.usd.value) == pytest.approx(2 * float(full.usd.value))


@pytest.mark.parametrize(
    "fields",
    [
        {"concurrency": 20},
        {"task": "finetune"},
        {"task": "train", "model": "llama-2-7b"},
        {"serving": "batch"},
    ],
    ids=str,
)
def test_what_costs_nothing_is_still_put_into_words(fields: dict[str, Any]) -> None:
    """A gift that needs no power: every sentence stands, without a ratio to nothing."""
    free: dict[str, Any] = {
        "price_basis": "own",
        "usd_per_kwh": 0.0,
        "purchase_edits": (("h100-sxm5-80gb", 0.0),),
    }
    result = found(**SMALL | free | fields)
    assert result.best is not None
    assert result.best.usd is not None
    assert float(result.best.usd.value) == 0
    said = " ".join((recommend_text.headline(result), *recommend_text.details(result)))
    assert re.search(r"costs? \$", said)
    assert not {"nan", "inf"} & set(said.split())
    assert recommend_text.rows(result)
    duel = Scenario(**SMALL | free | fields)
    rows = recommend_duel.duel(duel, TODAY).takes["rows"]
    assert any("for nothing" in cell for row in rows for cell in row)


def test_a_run_of_years_is_never_advised() -> None:
    """Unless the reader's own deadline allows it."""
    long: dict[str, Any] = {
        "task": "train",
        "model": "llama-3.3-70b",
        "train_gpus": 64,
        "train_tokens": 10**12,
    }
    for fields in (long, {**long, "train_gpus": 16}, {**SMALL, "task": "train", "train_gpus": 64}):
        result = found(**fields)
        assert result.best is not None
        years = {one.gpu: float(one.seconds.value) > 365 * 86400 for one in result.ranked}  # ty: ignore
        assert {one.gpu: one.endless for one in result.ranked} == years
        assert result.best.endless == all(years[one.gpu] for one in result.ranked if one.founded)
        told = recommend_text.headline(result)
        assert told.startswith("Nothing is advisable") == result.best.endless
        duel = recommend_duel.duel(Scenario(**fields, duel_gpus=("h100-sxm5-80gb", "rtx-4090-24gb")), TODAY)
        if years["h100-sxm5-80gb"] and years.get("rtx-4090-24gb", True):
            assert not any(line.startswith("Take") and "from scratch" in line for line in duel.sentences)
            assert "None of them is advisable to train from scratch: longer than a year." in duel.sentences
        elif years.get("rtx-4090-24gb", True):
            assert not any(
                line.startswith("Take GeForce") and "from scratch" in line for line in duel.sentences
            )
    assert found(**{**long, "train_gpus": 16}).best.endless  # ty: ignore
    assert not found(**{**long, "train_gpus": 2000}).best.endless  # ty: ignore


def test_a_run_on_a_card_without_bf16_says_that_fp16_is_counted() -> None:
    result = found(**SMALL, task="finetune", method="lora", gpus=("v100-pcie-32gb",))
    rows = {cells[0].split(". ")[1]: cells[-1] for cells in recommend_text.rows(result)}
    for one in result.ranked:
        lacks = recommend_load.lacks_bf16(catalogue.spec_row(one.gpu))
        assert one.fp16 == lacks == (recommend_text.FP16 in rows[one.name])
    assert any(one.fp16 for one in result.ranked)
    assert recommend_text.FP16 in " ".join(recommend_text.details(result))


def test_long_spans_and_large_clusters_are_plain_numbers() -> None:
    """Not 3.6e+02 days; thousands are set apart."""
    late = found(task="train", model="llama-2-7b", train_tokens=10**13, deadline_days=400)
    assert late.best is not None
    assert not late.best.sure
    assert "e+" not in " ".join(recommend_text.details(late))
    large = found(task="train", model="llama-3.1-405b", train_tokens=15 * 10**12, deadline_days=60)
    assert large.best is not None
    assert large.best.gpus > 10_000
    assert f"{large.best.gpus:,} × {large.best.name}" in recommend_text.headline(large)


def test_an_answer_has_a_price_or_says_that_nothing_has_one() -> None:
    """An announced card is the only one that surely holds it; nobody quotes it."""
    fields: dict[str, Any] = {
        "task": "train",
        "model": "devstral-2-123b",
        "train_gpus": 8,
        "pre_release": True,
    }
    priced = found(**fields)
    assert priced.best is None or priced.best.endless
    assert priced.best is not None
    assert priced.best.rent.known
    assert any(not one.rent.known and not one.tight for one in priced.ranked)
    none = found(**fields, price_basis="spot", maker="amd")
    assert none.best is not None
    assert not none.best.rent.known
    assert "nothing that does it has a price" in recommend_text.headline(none)
    for result in (priced, none):
        said = " ".join((recommend_text.headline(result), *recommend_text.details(result)))
        assert not {"nan", "inf"} & set(said.split())
        assert "more than is known" not in said
    fast = found(objective="fastest", maker="amd", price_basis="spot", model="llama-3.1-8b")
    assert ("no price" in recommend_text.headline(fast)) == (not fast.ranked[0].rent.known)


def test_what_is_used_lies_between_nothing_and_all() -> None:
    for one in found(concurrency=20).ranked:
        for share in (one.use.memory, one.use.bandwidth, one.use.compute, one.use.link):
            assert 0 <= share <= 1
    big = found(model="llama-3.2-1b", concurrency=1, weight_format="bf16").of("b200-sxm-180gb")
    assert big is not None
    assert "overkill" in recommend_text.overkill(big)
    small = found(concurrency=1).of("rtx-4090-24gb")
    assert small is not None
    assert small.boards == 2, "a 70B model in 4 bits takes about 40 GB"
    assert 1.5 < small.alone < 2.5
    assert "too small alone" in recommend_text.overkill(small)


def test_presets_are_sound_and_answered() -> None:
    for preset in PRESETS.values():
        assert preset.fields["model"] in model_ids()
        result = recommend(Scenario.model_validate({**PUT_BACK, **preset.fields}), TODAY)
        assert result.best is not None, preset.label
        assert result.best.sure or result.best.usd is not None
        assert np.isfinite(result.best.power_w)
        assert recommend_text.headline(result)
        assert all(catalogue.gpu_name(one.gpu) == one.name for one in result.choices)


@pytest.mark.parametrize(
    ("gpu", "place"),
    [
        ("rtx-a6000-48gb", "workstation"),
        ("rtx-6000-ada-48gb", "workstation"),
        ("rtx-pro-6000-ws-96gb", "workstation"),
        ("titan-rtx-24gb", "workstation"),
        ("rtx-4090-24gb", "workstation"),
        ("dgx-spark-gb10", "workstation"),
        ("a40-48gb", "datacentre"),
        ("l40s-48gb", "datacentre"),
        ("rtx-pro-6000-server-96gb", "datacentre"),
        ("mi300a-128gb", "datacentre"),
        ("gh200-96gb", "datacentre"),
        ("h100-sxm5-80gb", "datacentre"),
    ],
)
def test_where_a_card_belongs(gpu: str, place: str) -> None:
    cards = recommend_load._cards(True)
    assert cards.place[cards.ids.index(gpu)] == place


@pytest.mark.parametrize("gpu", ["rtx-pro-6000-server-96gb", "rtx-6000-ada-48gb", "a40-48gb", "mi300x-192gb"])
def test_cards_with_ecc_are_known(gpu: str) -> None:
    assert recommend_load.has_ecc(catalogue.spec_row(gpu))
