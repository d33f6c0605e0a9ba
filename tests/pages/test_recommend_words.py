"""What the Recommend page says: splits, ties, what binds, thin prices, switch points, slices."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date
from typing import Any

import pytest

from calculators.scenario import Scenario
from gpu_data import mig
from pages.ui import (
    catalogue,
    cost_text,
    price_load,
    recommend_duel,
    recommend_slices,
    recommend_text,
    recommend_views,
    words,
    workload,
)
from pages.ui.recommend_load import Recommendation, Turn, recommend
from pages.ui.recommend_presets import PRESETS, PUT_BACK

TODAY = date(2026, 11, 30)
H100, A100, A6000, L40S, RTX_4090 = recommend_duel.DUELS["The four of the article"] + ("rtx-4090-24gb",)


def found(**fields: Any) -> Recommendation:
    return recommend(Scenario(**fields), TODAY)


def said(result: Recommendation) -> str:
    return " ".join((recommend_text.headline(result), *recommend_text.details(result)))


def duel(*gpus: str, **fields: Any) -> recommend_duel.Duel:
    return recommend_duel.duel(Scenario(duel_gpus=gpus, **fields), TODAY)


def row(table: dict[str, Any], start: str) -> list[str]:
    return next(list(cells[1:]) for cells in table["rows"] if cells[0].startswith(start))


# ---------------------------------------------------------------- the duel


@pytest.mark.parametrize("gpus", recommend_duel.DUELS.values(), ids=recommend_duel.DUELS)
@pytest.mark.parametrize("fields", [{}, {"model": "llama-3.1-8b", "concurrency": 20}], ids=str)
def test_a_duel_never_says_that_something_is_once_cheaper(gpus: tuple[str, ...], fields: Any) -> None:
    text = " ".join((*duel(*gpus, **fields).sentences, str(duel(*gpus, **fields).takes["rows"])))
    assert "1.0 times as" not in text
    assert "1.0 times cheaper" not in text
    assert "nan" not in text.split()


def test_costs_inside_each_others_bands_and_costs_that_prices_cannot_tell_apart_are_ties() -> None:
    """A100 and two A6000 are 2 % apart; a batch on L40S and A6000 differs by less than its bands."""
    told = duel(H100, A100, A6000, L40S)
    takes = told.takes
    assert row(takes, "Serve one user")[0] == "A100 SXM4 80GB or RTX A6000 48GB"
    assert "2 % apart" in row(takes, "Serve one user")[2]
    assert "inside each other's bands" in row(takes, "Batch inference")[2]
    assert any("tied on cost" in line and line.startswith("To answer a batch") for line in told.sentences)
    winners = [line for line in told.sentences if line.startswith("Take ")]
    assert not any("answer a batch" in line for line in winners)


def test_each_side_of_a_duel_names_how_many_and_how_they_are_split() -> None:
    told = duel(H100, RTX_4090)
    for cells in told.table["rows"]:
        for cell in cells[1:]:
            number = cell.split(" GPU")[0]
            if " GPUs" in cell and number.isdigit() and "does not fit" not in cell:
                assert f"{number} GPUs (" in cell, cell
    assert row(told.table, "Llama 3.1 405B")[0].startswith("4 GPUs (TP4)")
    assert "2 × GeForce RTX 4090 24GB (PP2, memory is tight" in row(told.takes, "Serve one user")[3]


def test_what_is_quoted_and_surely_fits_is_taken_first_as_in_the_ranking() -> None:
    """A 70B model: no machine of several RTX 4090 is quoted; an 8B model needs one of them."""
    large, small = duel(H100, RTX_4090), duel(H100, RTX_4090, model="llama-3.1-8b")
    assert row(large.takes, "Serve one user")[0] == "H100 SXM5 80GB"
    assert any(line.startswith("GeForce RTX 4090 24GB would cost less") for line in large.sentences)
    assert row(small.takes, "Serve one user")[0] == "GeForce RTX 4090 24GB"
    assert re.search(r"times as much but is 1\.\d times as fast", row(small.takes, "Serve one user")[2])


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"concurrency": 20},
        {"concurrency": 64, "need_nvlink": True, "maker": "nvidia"},
        {"model": "llama-3.1-8b", "price_basis": "own"},
        {"task": "finetune"},
    ],
    ids=str,
)
def test_an_answer_names_what_is_no_dearer_than_quotes_differ(fields: dict[str, Any]) -> None:
    result = found(**fields)
    best = result.best
    assert best is not None
    assert best.usd is not None
    near = [
        one.name
        for one in result.ranked[1:]
        if one.usd is not None
        and float(one.usd.value) <= 1.05 * float(best.usd.value)
        and (one.firm, one.tied) == (best.firm, False)
    ]
    text = said(result)
    assert all(name in text.split("**How sure.**")[1].split("**Use.**")[0] for name in near)
    tied = any(one.tied for one in result.ranked)
    assert ("nothing ties with it" in text.lower()) == (not near and not tied and best.founded)


# ---------------------------------------------------------------- what binds


def test_equal_speeds_are_explained_by_the_engine_s_fixed_time() -> None:
    """An 8B model in 4 bits: H100 and A100 wait for the engine, RTX 4090 and L40S for their memory."""
    result = found(model="llama-3.1-8b", concurrency=1)
    waits = {
        gpu: recommend_text.waits(one) for gpu in (H100, A100, RTX_4090, L40S) if (one := result.of(gpu))
    }
    assert waits == {H100: True, A100: True, RTX_4090: False, L40S: False}
    speeds = {gpu: one.seconds for gpu in (H100, A100) if (one := result.of(gpu))}
    assert float(speeds[H100].value) == float(speeds[A100].value)  # ty: ignore
    rows = {cells[0].split(". ")[1]: cells[3] for cells in recommend_text.rows(result)}
    assert rows["H100 SXM5 80GB"].endswith(recommend_text.HELD)
    assert not rows["L40S 48GB"].endswith(recommend_text.HELD)
    assert recommend_text.held(result).startswith(f"{recommend_text.HELD} Held by the engine's fixed time")
    assert f"{rows['H100 SXM5 80GB'].partition(' (')[0]} of " in recommend_text.held(result)
    assert recommend_text.held(found(concurrency=256, model="llama-3.1-8b")) == ""
    told = duel(H100, A100, L40S)
    cells = row(told.table, "Llama 3.1 8B Instruct: one user")
    assert [recommend_text.WAITS in cell for cell in cells] == [True, True, False]
    assert any("equally fast, because the engine's fixed time" in line for line in told.sentences)


def test_an_answer_that_the_engine_binds_says_so_and_names_the_cheapest_of_those_tied() -> None:
    result = found(model="llama-3.2-1b", weight_format="bf16", objective="fastest")
    assert "a faster one would write no faster" in said(result)
    assert "least of them" in said(result)
    assert result.best is not None
    assert result.best.gpu != "b200-sxm-180gb", "a rounding decided between cards that are equally fast"


def test_with_many_users_the_card_binds() -> None:
    result = found(model="llama-3.1-8b", concurrency=256)
    assert not any(recommend_text.waits(one) for one in result.ranked if one.gpu in (H100, A100))


# ---------------------------------------------------------------- prices


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"concurrency": 20},
        {**PUT_BACK, **PRESETS["startup"].fields},
        {**PUT_BACK, **PRESETS["solo"].fields},
        {"task": "train", "model": "llama-2-7b", "deadline_days": 30},
        {"task": "finetune", "method": "lora", "model": "llama-3.1-8b"},
        {"serving": "batch", "model": "llama-3.1-8b"},
    ],
    ids=str,
)
def test_what_nobody_measured_or_quoted_lately_is_no_winner_but_is_named_beside_it(
    fields: dict[str, Any],
) -> None:
    result = found(**fields)
    best = result.best
    assert best is not None
    assert best.firm
    paper = recommend_text.unproven(result)
    cheaper = [
        one for one in result.ranked
        if not one.founded and one.offered and not one.tight and float(one.usd.value) < float(best.usd.value)  # ty: ignore
    ]  # fmt: skip
    assert (paper in cheaper) == bool(cheaper)
    assert ("on paper" in recommend_text.headline(result)) == bool(cheaper)
    if paper is not None:
        assert paper.name in recommend_text.headline(result)
        told = said(result)
        assert "**Only on paper.**" in told
        assert paper.unseen in told
        assert paper.shaky in told


def test_where_nothing_measured_does_it_the_first_sentence_and_how_sure_say_so() -> None:
    for fields in ({}, {"task": "train", "model": "llama-2-7b"}):
        result = found(maker="amd", price_edits=(("mi300x-192gb", 2.0),), **fields)
        assert result.best is not None
        assert result.best.unseen == "no AMD card"
        assert "its speed is not measured on any such card: no AMD card" in recommend_text.headline(result)
        assert "**How sure.** No speed was measured on such a card: No AMD card" in said(result)
        assert "nothing ties" not in said(result).lower()


def test_a_band_is_wider_where_nobody_measured() -> None:
    """Same estimate, same engine: an end of the AMD card's band is further off than that of an H100's."""
    result = found(concurrency=20)
    width = {}
    for gpu in ("mi300x-192gb", H100):
        one = result.of(gpu)
        assert one is not None
        assert one.seconds is not None
        width[gpu] = float(one.seconds.high) / float(one.seconds.low)
    assert width["mi300x-192gb"] > 1.05 * width[H100]


def test_a_price_of_the_reader_s_own_or_of_several_recent_quotes_is_not_marked() -> None:
    assert price_load.thin(price_load.rent(Scenario(), H100, TODAY)) == ""
    assert price_load.thin(price_load.rent(Scenario(), "rtx-5090-32gb", TODAY)).startswith("one quote")
    own = Scenario(price_edits=(("rtx-5090-32gb", 0.5),))
    assert price_load.thin(price_load.rent(own, "rtx-5090-32gb", TODAY)) == ""
    assert price_load.thin(price_load.rent(Scenario(price_basis="own"), "rtx-5090-32gb", TODAY)) == ""


# ---------------------------------------------------------------- switch points and presets


def test_a_window_between_two_setups_of_one_card_is_one_sentence() -> None:
    """Three of another card below the answer's few users, four of them above."""
    result = recommend(Scenario.model_validate({**PUT_BACK, **PRESETS["platform"].fields}), TODAY)
    other = next(one for one in result.ranked[1:] if one.offered)
    for tied in (True, False):
        choices = tuple(replace(one, tied=tied) if one is other else one for one in result.choices)
        below, above = Turn(192, other.gpu, 1, 3, last=193), Turn(256, other.gpu, 1, 4, last=230)
        text = said(replace(result, choices=choices, below=below, above=above))
        few, many = (f"{n} × {other.name} (a copy on each)" for n in (3, 4))
        window = f"comes first with 192 users, {few}, and somewhere between 231 and 256 users, {many}"
        assert f"{other.name} {window}" in text
        assert ("the number of users does not decide" in text) == tied


@pytest.mark.parametrize("users", [1, 20, 32, 40])
def test_the_number_of_users_at_which_another_comes_first_is_the_exact_one(users: int) -> None:
    result = found(concurrency=users)
    assert result.best is not None
    for turn in (result.below, result.above):
        if turn is None or turn.at > 64:
            continue
        assert abs(turn.at - turn.last) == 1, "not every number up to 64 was tried"
        other, own = (found(concurrency=int(at)).best for at in (turn.at, turn.last))
        assert other is not None
        assert own is not None
        assert (own.gpu == result.best.gpu, other.gpu) == (True, turn.gpu)
        assert f"with {words.count(turn.at, 'user')} " in said(result).lower()


@pytest.mark.parametrize(
    "fields",
    [{"concurrency": 32}, {"concurrency": 40}, PRESETS["startup"].fields],
    ids=["32", "40", "startup"],
)
def test_what_a_smaller_kv_cache_would_save_is_the_ranking_with_it(fields: dict[str, Any]) -> None:
    result, other = found(**fields), found(**{**fields, "kv_cache_dtype": "fp8"}).best
    turn = result.cached
    assert turn is not None
    assert other is not None
    assert other.usd is not None
    assert (turn.gpu, turn.boards, turn.copies, turn.cut) == (
        other.gpu, other.boards, other.copies, other.cut
    )  # fmt: skip
    assert turn.usd == pytest.approx(float(other.usd.value), rel=1e-12)
    assert f"with an 8-bit kv cache (fp8) {recommend_text.setup(other)}".lower() in said(result).lower()
    assert f"{cost_text.usd(turn.usd)} a month" in said(result)
    assert "quality may suffer" in said(result)


def test_a_batch_is_told_as_well_what_a_smaller_kv_cache_saves() -> None:
    result, other = found(serving="batch"), found(serving="batch", kv_cache_dtype="fp8").best
    turn, best = result.cached, result.best
    assert turn is not None
    assert best is not None
    assert best.usd is not None
    assert other is not None
    assert other.usd is not None
    assert (turn.gpu, turn.usd) == (other.gpu, float(other.usd.value))
    saves = turn.usd < float(best.usd.value) * 0.95
    assert ("with an 8-bit kv cache (fp8)" in said(result).lower()) == saves


@pytest.mark.parametrize(
    "fields",
    [{"kv_cache_dtype": "fp8", "concurrency": 32}, {}, {"objective": "fastest", "concurrency": 32}],
    ids=["it is 8-bit already", "saves nothing", "money is not asked for"],
)
def test_a_smaller_kv_cache_that_saves_nothing_is_not_named(fields: dict[str, Any]) -> None:
    assert "8-bit kv cache" not in said(found(**fields)).lower()


def test_a_run_of_minutes_says_what_is_not_counted_and_what_one_gpu_takes() -> None:
    result = recommend(Scenario.model_validate({**PUT_BACK, **PRESETS["researcher"].fields}), TODAY)
    best, single = result.best, result.single
    assert best is not None
    assert best.usd is not None
    assert single is not None
    assert single.boards == 1
    assert single.usd <= float(best.usd.value) * 1.05
    text = " ".join(recommend_text.above(result))
    assert "**A short run.**" in text
    assert f"1 × {catalogue.gpu_name(str(single.gpu))}, {words.span(single.seconds / 86400)}" in text
    assert "A short run" not in said(found(task="train", model="llama-2-7b"))


@pytest.mark.parametrize("name", PRESETS)
def test_at_most_four_sentences_stand_above_the_controls_and_none_is_lost(name: str) -> None:
    result = recommend(Scenario.model_validate({**PUT_BACK, **PRESETS[name].fields}), TODAY)
    above, beneath = recommend_text.above(result), recommend_text.beneath(result)
    assert len(above) <= 4
    assert [*above, *beneath] == recommend_text.details(result)
    for start in ("**Why.**", "**What would change it.**", "**How sure.**"):
        assert any(line.startswith(start) for line in above)
    assert any(line.startswith("**Use.**") for line in beneath)


def test_who_asks_for_mig_is_told_the_slices_of_the_answer() -> None:
    result = recommend(Scenario.model_validate({**PUT_BACK, **PRESETS["platform"].fields}), TODAY)
    assert result.best is not None
    assert mig.profiles(result.best.gpu), "an answer that cannot be cut"
    assert f"**Slices of one {result.best.name}.** At most {mig.profiles(result.best.gpu)}" in said(result)


def test_fastest_within_a_budget_says_what_less_money_buys() -> None:
    result = recommend(Scenario.model_validate({**PUT_BACK, **PRESETS["researcher"].fields}), TODAY)
    best = result.best
    assert best is not None
    assert best.usd is not None
    assert f"with less than ${float(best.usd.value):.2f} in all to spend" in said(result).lower()
    poorer = recommend(
        result.scenario.model_copy(update={"cost_ceiling": float(best.usd.value) * 0.99}), TODAY
    ).best
    assert poorer is not None
    assert f"to spend it is {recommend_text.setup(poorer)}" in said(result)


@pytest.mark.parametrize("name", PRESETS)
def test_sentences_of_presets_hold_no_slip(name: str) -> None:
    text = said(recommend(Scenario.model_validate({**PUT_BACK, **PRESETS[name].fields}), TODAY))
    for slip in (
        " in as released",
        "copies of 1 ×",
        " of the time of",
        "takes 1.00",
        "nan ",
        ") (",
        "your constraints",
    ):
        assert slip not in text, slip
    assert "**What would change it.**" in text


@pytest.mark.parametrize(
    ("name", "inside"),
    [("Training Llama 2 7B", "training Llama 2 7B"), ("LoRA of X", "LoRA of X"), ("QLoRA of X", "QLoRA of X"),
     ("Full fine-tuning of X", "full fine-tuning of X")],
)  # fmt: skip
def test_only_an_ordinary_word_loses_its_capital(name: str, inside: str) -> None:
    assert cost_text.lowered(name) == inside


@pytest.mark.parametrize(
    ("fields", "gpu", "reason"),
    [
        ({"place": "workstation"}, H100, "not for a workstation"),
        ({"need_mig": True}, L40S, "no MIG"),
        ({"need_nvlink": True}, RTX_4090, "no fast link between GPUs"),
        ({"maker": "amd"}, A100, "another vendor"),
        ({"place": "datacentre", "need_mig": True}, RTX_4090, "not for a data centre, no MIG"),
        ({"cost_ceiling": 1000.0}, H100, "above your ceiling"),
        ({"cost_ceiling": 90_000.0}, "gb300-288gb", "no price"),
        ({"max_power_w": 300}, H100, "more power than allowed"),
    ],
    ids=str,
)
def test_a_card_that_is_not_wanted_is_told_why(fields: dict[str, Any], gpu: str, reason: str) -> None:
    one = found(concurrency=20, **fields).of(gpu)
    assert one is not None
    assert one.reason == reason


# ---------------------------------------------------------------- slices


def test_a_duel_shows_real_slices_and_which_holds_the_model() -> None:
    """NVIDIA's guide: an H100 80GB is cut into at most 7 × 1g.10gb; an L40S cannot be cut."""
    told = duel(H100, L40S, model="llama-3.1-8b", weight_format="awq-int4", max_model_len=4096).table
    h100, l40s = row(told, "MIG slices")
    assert h100.startswith("7 × 1g.10gb (9.75 GiB)")
    assert all(one.name in h100 for one in mig.cards()[H100].slices)
    assert l40s == "cannot be cut"
    assert row(told, "Smallest slice for one user of Llama 3.1 8B") == ["1g.10gb, 7 at once", "cannot be cut"]
    assert any("#h100-mig-profiles" in note for note in told["notes"])


def test_a_card_that_can_be_cut_is_never_said_not_to_be() -> None:
    """Also where only the number of its slices is known."""
    rows = catalogue.gpus()
    able = [str(gpu) for gpu in rows.index[rows["mig_max_instances"].fillna(0) > 0]]
    unlisted = [gpu for gpu in able if gpu not in mig.cards()]
    assert unlisted, "nothing left to test"
    for gpu in able:
        assert recommend_slices.slices_words(gpu)
        assert recommend_slices.holds(Scenario(), gpu) != "cannot be cut"
    told = row(duel(unlisted[0], L40S).table, "MIG slices")
    assert told == [recommend_slices.slices_words(unlisted[0]), "cannot be cut"]


def size_of(rows: list[recommend_slices.Row]) -> float:
    return min(one.memory_bytes for one in rows)


def test_a_slice_that_is_tight_is_named_beside_the_one_that_surely_fits() -> None:
    s = Scenario(model="llama-3.1-8b", weight_format="bf16", need_mig=True, concurrency=8)
    rows = recommend_slices.rows_of(s, (H100,))
    tight = {one.name for one in rows if one.verdict == 1}
    assert tight, "none is tight: nothing is tested"
    assert "would be tight" in recommend_slices.holds(s, H100)
    assert any(name in recommend_slices.holds(s, H100) for name in tight)
    assert "No slice's speed is estimated" in said(recommend(s, TODAY))


def test_the_smallest_slice_named_holds_the_model_and_no_smaller_one_does() -> None:
    for model, fmt in (("llama-3.1-8b", "bf16"), ("qwen2.5-32b", "awq-int4"), ("llama-3.3-70b", "awq-int4")):
        s = Scenario(model=model, weight_format=fmt)
        assert workload.load(s)
        for gpu in (H100, A100, "h200-sxm-141gb", "a30-24gb"):
            rows = recommend_slices.rows_of(s, (gpu,))
            text = recommend_slices.holds(s, gpu)
            able = [one for one in rows if one.fits]
            if not able:
                assert text.startswith("none: even ")
                continue
            assert ("tight" in text) == any(
                one.verdict == 1 and one.memory_bytes < size_of(able) for one in rows
            )
            name = text.split(",")[0]
            size = next(one.memory_bytes for one in rows if one.name == name)
            assert size == min(one.memory_bytes for one in able)


# ---------------------------------------------------------------- the link


def test_the_link_table_names_the_work_and_answers_whether_it_needs_nvlink() -> None:
    s = Scenario(gpus=(L40S, H100))
    table = recommend_views.link_table(s)
    assert table is not None
    title = workload.load(s).title
    assert table["caption"].startswith(title)
    assert [cells[0] for cells in table["rows"]] == [
        f"{catalogue.gpu_name(gpu)}, {title}" for gpu in (L40S, H100)
    ]
    answer, warning = table["notes"]
    assert answer.startswith(f"Do I need NVLink for {title}?")
    shares = recommend_views.link_shares(s, recommend_views.LINKED)
    for by_count in shares.values():
        for what in (0, 1):
            assert words.listed([f"{100 * by_count[n][what]:.0f}" for n in (2, 4, 8)]) in answer
    assert "not because its link is better" in warning


def test_a_percentage_never_breaks_between_its_number_and_its_sign() -> None:
    for row in recommend_text.rows(found(concurrency=32)):
        assert not re.search(r"\d %", row[6])
        assert re.search("\\d\u00a0%", row[6])


def test_a_million_tokens_counts_the_prompt_and_says_so() -> None:
    for cell in row(duel(H100, L40S).table, "A million tokens"):
        assert "prompt tokens counted as well" in cell
