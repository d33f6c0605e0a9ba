"""The Recommend page as a whole, without a browser: purposes, views, presets, hostile links."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from calculators.scenario import Scenario
from pages.ui import catalogue, link, recommend_draw, recommend_fields, recommend_text, state, told, words
from pages.ui.recommend_load import PURPOSES, recommend
from pages.ui.recommend_presets import PRESETS, PUT_BACK

TODAY = date(2026, 11, 30)
APP = Path(__file__).parents[2] / "app.py"


def opened(**query: str) -> AppTest:
    """The Recommend page at a link."""
    app = AppTest.from_file(str(APP), default_timeout=60)
    for name, value in query.items():
        app.query_params[name] = value
    app.run()
    app.switch_page("pages/recommend.py")
    for name, value in query.items():
        app.query_params[name] = value
    return app.run()


def verdict(app: AppTest) -> str:
    return app.markdown[0].value


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ({}, "Cheapest for one user of Llama 3.3 70B Instruct"),
        ({"users": "20"}, "Cheapest for 20 users of Llama 3.3 70B"),
        ({"users": "20", "goal": "power"}, "Least power for 20 users"),
        ({"users": "20", "goal": "gpus", "mig": "1"}, "Fewest GPUs for 20 users"),
        ({"users": "20", "budget": "5000", "goal": "fastest"}, "Fastest for 20 users"),
        ({"model": "llama-3.1-8b", "serving": "batch", "reqs": "5000"}, "5k requests to Llama 3.1 8B"),
        ({"task": "finetune", "model": "llama-3.1-8b"}, "Cheapest for QLoRA of Llama 3.1 8B"),
        ({"task": "train", "model": "llama-2-7b", "days": "30"}, "done in 30 days"),
        ({"serving": "images"}, "Cheapest for Stable Diffusion XL, measured"),
        ({"users": "20", "free": "any"}, "Cheapest for 20 users"),
        ({"tier": "own", "model": "llama-3.1-8b"}, "owned: "),
    ],
    ids=str,
)
def test_the_verdict_comes_first_with_its_reasons(query: dict[str, str], said: str) -> None:
    app = opened(**query)
    assert not app.exception
    assert not app.warning
    assert said in verdict(app)
    for part in ("**Why.**", "**How sure.**"):
        assert part in verdict(app)
    assert "$" not in verdict(app).replace("\\$", ""), "a bare dollar sign would begin a formula"


@pytest.mark.parametrize(
    ("view", "said"),
    [
        ("purposes", "Cheapest: "),
        ("duel", "H100 SXM5 80GB or GeForce RTX 4090 24GB"),
        ("judgements", "of 7 judgements hold"),
    ],
)
def test_every_view_has_its_first_line(view: str, said: str) -> None:
    app = opened(look=view, model="llama-3.1-8b", users="16")
    assert not app.exception
    assert said in verdict(app)


@pytest.mark.parametrize("view", ["ranking", "purposes", "duel", "judgements"])
def test_at_most_four_sentences_stand_above_the_controls(view: str) -> None:
    assert verdict(opened(look=view, users="32")).count("\n- ") <= 4


def test_ready_duels_and_four_cards() -> None:
    app = opened(look="duel", duel="h100-sxm5-80gb.a100-sxm4-80gb.rtx-a6000-48gb.l40s-48gb")
    assert not app.exception
    assert "Take " in verdict(app)
    app = opened(look="duel", duel="l4-24gb")
    assert not app.exception


@pytest.mark.parametrize(
    "query",
    [
        {"goal": "best", "free": "all", "place": "moon", "maker": "nobody", "look": "around"},
        {"ttft": "-1", "budget": "many", "watts": "0", "most": "1e9", "reqs": "x"},
        {"nvlink": "2", "mig": "yes", "ecc": "", "duel": "nope.nothing", "serving": "tea"},
        {"duel": ".".join(["h100-sxm5-80gb", "l4-24gb", "l40s-48gb", "a10-24gb", "t4-16gb"])},
    ],
    ids=str,
)
def test_hostile_links_are_named_and_never_break_the_page(query: dict[str, str]) -> None:
    app = opened(**query)
    assert not app.exception
    (warning,) = app.warning
    for name in query:
        assert f"`{name}`" in warning.value
    assert "Cheapest for" in verdict(app)


@pytest.mark.parametrize(
    "query",
    [
        {"engine": "transformers", "weights": "awq-int4", "users": "900"},
        {"in": "9000"},
        {"least": "9999"},
        {"budget": "0"},
        {"watts": "1"},
        {"task": "finetune", "tp": "3"},
        {"task": "train", "days": "0.01"},
        {"config": link.pack_config('{"model_type": "unheard-of"}')},
    ],
    ids=str,
)
def test_no_answer_is_a_sentence(query: dict[str, str]) -> None:
    app = opened(**query)
    assert not app.exception
    text = " ".join(str(e.value) for e in (*app.markdown, *app.error))
    assert any(said in text for said in ("no answer", "nothing here does it", "cannot be computed"))


@pytest.mark.parametrize("name", PRESETS)
def test_every_field_of_a_preset_is_shown_and_open_to_change(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    put: dict[str, Any] = {}
    monkeypatch.setattr(state, "put", lambda **fields: put.update(fields))
    monkeypatch.setattr(state, "last", Scenario)
    monkeypatch.setattr(told, "keep", lambda text: put.setdefault("told", text))
    recommend_draw._preset({"id": name})
    changed = put.pop("told")
    assert ("the model is now" in changed) == (PRESETS[name].fields["model"] != Scenario().model)
    assert put == {**PUT_BACK, **PRESETS[name].fields}
    s = Scenario.model_validate(put)
    shown = {field["field"] for group in recommend_fields.form(s)["groups"] for field in group["fields"]}
    on_the_side = {"task", "serving", "method", "model", "weight_format", "engine"}  # purpose and sidebar
    one_user = {"concurrency"} if s.concurrency == 1 else set()
    assert set(PRESETS[name].fields) - on_the_side - one_user <= shown


@pytest.mark.parametrize("asked", PURPOSES)
def test_a_purpose_is_pressed(asked: str, monkeypatch: pytest.MonkeyPatch) -> None:
    put: dict[str, Any] = {}
    monkeypatch.setattr(state, "put", lambda **fields: put.update(fields))
    monkeypatch.setattr(state, "last", Scenario)
    recommend_draw._purpose({"id": asked})
    s = Scenario.model_validate(put)
    form = recommend_fields.form(s)
    assert form["purpose"] == asked
    names = {field["field"] for group in form["groups"] for field in group["fields"]}
    assert all(field["help"] for group in form["groups"] for field in group["fields"]), "a tooltip for each"
    assert {link.BY_FIELD[field].name for field in names} <= set(recommend_fields.live(s))


@pytest.mark.parametrize(
    ("typed", "kept"),
    [
        (("concurrency", "12"), {"concurrency": 12}),
        (("concurrency", "0"), {}),
        (("concurrency", "x"), {}),
        (("max_ttft_s", "1.5"), {"max_ttft_s": 1.5}),
        (("max_ttft_s", ""), {"max_ttft_s": None}),
        (("cost_ceiling", "inf"), {}),
        (("objective", "fastest"), {"objective": "fastest"}),
        (("objective", "prettiest"), {}),
        (("maker", "amd"), {"maker": "amd"}),
        (("maker", ""), {"maker": ""}),
        (("need_mig", True), {"need_mig": True}),
        (("card-1", "l40s-48gb"), {"duel_gpus": ("h100-sxm5-80gb", "l40s-48gb")}),
        (("card-3", "l40s-48gb"), {"duel_gpus": ("h100-sxm5-80gb", "rtx-4090-24gb", "l40s-48gb")}),
        (("card-0", "nope"), {}),
        (("card-9", "l40s-48gb"), {}),
        (("model", "x"), {}),
    ],
    ids=str,
)
def test_what_is_typed_is_kept_when_it_can_be(typed: tuple[str, Any], kept: dict[str, Any]) -> None:
    assert recommend_fields.taken(Scenario(concurrency=20), *typed) == kept


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (("concurrency", "5000"), ("users at once", "5000", "above the largest value, 1024")),
        (("concurrency", "0"), ("users at once", "below the smallest value, 1")),
        (("busy_share", "3"), ("share of the hours at work", "above the largest value, 1")),
        (("max_gpus", "x"), ("GPUs at most", "it takes a whole number")),
    ],
    ids=str,
)
def test_what_is_not_taken_is_named_with_its_limit(typed: tuple[str, str], said: tuple[str, ...]) -> None:
    s = Scenario(concurrency=20, price_basis="own")
    assert recommend_fields.taken(s, *typed) == {}
    text = recommend_fields.refusal(s, *typed)
    assert all(part in text for part in said), text


def test_a_limit_is_named_in_the_unit_of_its_box() -> None:
    s = Scenario(task="train", model="llama-2-7b")
    assert "largest value, 1,000,000" in recommend_fields.refusal(s, "train_tokens", "1e12")


def test_what_is_taken_has_no_refusal() -> None:
    for asked in PURPOSES:
        s = Scenario()
        s = s.model_copy(update=recommend_draw.with_purpose(s, asked))
        for name, one in recommend_fields.WORK[asked].items():
            assert recommend_fields.refusal(s, name, 1 if one.unit == 1 else 2) == ""


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_is_shown_as_chosen_while_its_fields_hold(name: str) -> None:
    def on(s: Scenario) -> list[str]:
        return [one["id"] for one in recommend_fields.form(s)["presets"] if one["on"]]

    s = Scenario.model_validate({**PUT_BACK, **PRESETS[name].fields})
    assert on(s) == [name]
    assert on(s.model_copy(update={"max_model_len": 4000})) == []
    assert on(Scenario()) == []


def test_another_purpose_takes_off_the_ceiling_of_another_unit_and_says_what_stays(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    put: dict[str, Any] = {}
    said: list[str] = []
    monkeypatch.setattr(state, "put", lambda **fields: put.update(fields))
    monkeypatch.setattr(told, "keep", said.append)
    before = Scenario(cost_ceiling=5000.0, max_gpus=1, need_mig=True, concurrency=20, engine="llama.cpp")
    monkeypatch.setattr(state, "last", lambda: before)
    recommend_draw._purpose({"id": "qlora"})
    assert put["cost_ceiling"] is None
    assert "ceiling of $5,000 a month is taken off" in said[-1]
    assert "GPUs at most 1" in said[-1]
    assert "MIG" in said[-1]
    put.clear()
    recommend_draw._purpose({"id": "one"})
    assert "cost_ceiling" not in put, "still dollars a month"
    assert "engine llama.cpp" in said[-1]
    recommend_draw._purpose({"id": "images"})
    assert "engine" not in said[-1], "no engine makes images here"
    assert "GPUs at most" not in said[-1]
    assert "MIG" in said[-1]


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_replaces_every_limit_and_says_which_hold(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    put: dict[str, Any] = {}
    said: list[str] = []
    before = Scenario(
        need_mig=True, need_ecc=True, need_nvlink=True, place="datacentre", maker="amd", max_power_w=500,
        max_gpus=3, cost_ceiling=7.0, max_ttft_s=0.1, deadline_days=3, concurrency=20,
    )  # fmt: skip
    monkeypatch.setattr(state, "put", lambda **fields: put.update(fields))
    monkeypatch.setattr(state, "last", lambda: before)
    monkeypatch.setattr(told, "keep", said.append)
    recommend_draw._preset({"id": name})
    after = before.model_copy(update=put)
    assert after == Scenario().model_copy(update={**PUT_BACK, **PRESETS[name].fields})
    limits = recommend_fields.limits_words(after)
    assert f"Limits now: {words.listed(limits, 9) or 'none'}." in said[-1]


def test_who_buys_states_a_budget_in_purchase_dollars() -> None:
    own: dict[str, Any] = {"model": "llama-3.1-8b", "price_basis": "own", "engine": "llama.cpp",
                           "weight_format": "gguf-q4_k_m"}  # fmt: skip
    s = Scenario(**own, objective="fastest")
    free = recommend(s, TODAY)
    assert free.best is not None
    most = next(one.buy_usd for one in free.ranked if one.rent.known) * 0.9
    found = recommend(s.model_copy(update={"purchase_ceiling": most}), TODAY)
    assert found.best is not None
    assert len(found.ranked) < len(free.ranked)
    assert all(one.buy_usd <= most for one in found.ranked)
    assert "to buy)" in recommend_text.headline(found)
    assert any(one.reason == "dearer to buy than allowed" for one in found.choices)
    rented = recommend(s.model_copy(update={"purchase_ceiling": most, "price_basis": "median"}), TODAY)
    plain = recommend(s.model_copy(update={"price_basis": "median"}), TODAY)
    assert [one.gpu for one in rented.ranked] == [one.gpu for one in plain.ranked], "nobody buys"


def test_no_answer_names_the_limits() -> None:
    found = recommend(Scenario(cost_ceiling=1.0, need_mig=True, place="workstation"), TODAY)
    text = recommend_text.headline(found)
    assert "at most USD a month 1" in text
    assert "MIG" in text
    assert "stands in Workstation" in text


def test_images_have_no_controls_of_a_language_model() -> None:
    app = opened(serving="images")
    labels = {box.label for box in app.sidebar.selectbox}
    assert not labels & {"Model", "Engine", "Weight format"}


def test_lists_offer_what_the_link_takes() -> None:
    for asked in PURPOSES:
        s = Scenario()
        s = s.model_copy(update=recommend_draw.with_purpose(s, asked))
        for field, names in recommend_fields.choices(s).items():
            for value in names:
                assert link.takes(field, value), (field, value)
    assert set(recommend_fields.choices(Scenario())["maker"]) - {""} == set(catalogue.known()["vendors"])
