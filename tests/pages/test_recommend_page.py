"""The Recommend page as a whole, without a browser: purposes, views, presets, hostile links."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from calculators.scenario import Scenario
from pages.ui import catalogue, link, recommend_draw, recommend_fields, state
from pages.ui.recommend_load import PURPOSES
from pages.ui.recommend_presets import PRESETS, PUT_BACK

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
    told = " ".join(str(e.value) for e in (*app.markdown, *app.error))
    assert any(said in told for said in ("no answer", "nothing here does it", "cannot be computed"))


@pytest.mark.parametrize("name", PRESETS)
def test_every_field_of_a_preset_is_shown_and_open_to_change(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    put: dict[str, Any] = {}
    monkeypatch.setattr(state, "put", lambda **fields: put.update(fields))
    recommend_draw._preset({"id": name})
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
    ("told", "kept"),
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
def test_what_is_typed_is_kept_when_it_can_be(told: tuple[str, Any], kept: dict[str, Any]) -> None:
    assert recommend_fields.taken(Scenario(concurrency=20), *told) == kept


def test_lists_offer_what_the_link_takes() -> None:
    for asked in PURPOSES:
        s = Scenario()
        s = s.model_copy(update=recommend_draw.with_purpose(s, asked))
        for field, names in recommend_fields.choices(s).items():
            for value in names:
                assert link.takes(field, value), (field, value)
    assert set(recommend_fields.choices(Scenario())["maker"]) - {""} == set(catalogue.known()["vendors"])
