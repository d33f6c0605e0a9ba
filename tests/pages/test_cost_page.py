"""The Cost page as a whole, without a browser: each task, presets, typed prices, hostile links."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from calculators.cost import Money
from calculators.scenario import Scenario
from gpu_data.models import model_ids
from pages.ui import catalogue, cost_draw, cost_fields, cost_text, link, state, told
from pages.ui.cost_presets import PRESETS, PUT_BACK
from tests.pages.apps import opened as opened_page

opened = partial(opened_page, "cost")


def verdict(app: AppTest) -> str:
    return app.markdown[0].value


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ({"users": "20"}, "Cheapest way to serve Llama 3.3 70B Instruct in AWQ INT4 to 20 users"),
        ({"users": "20", "cost": "tokens"}, "per million tokens"),
        ({"task": "finetune", "model": "llama-3.1-8b"}, "Cheapest QLoRA of Llama 3.1 8B Instruct, 76.8M"),
        ({"task": "train", "model": "llama-2-7b", "days": "30"}, "done in 30 days"),
        ({"tier": "own"}, "owned: "),
        ({"price": "h100-sxm5-80gb~0.01"}, "H100 SXM5 80GB"),
        ({"lost": "5", "small": "512"}, "of people's lost time"),
    ],
    ids=str,
)  # fmt: skip
def test_the_verdict_comes_first(query: dict[str, str], said: str) -> None:
    app = opened(**query)
    assert not app.exception
    assert not app.warning
    assert said in verdict(app)
    assert "80 % band" in verdict(app)
    assert "$" not in verdict(app).replace("\\$", ""), "a bare dollar sign would begin a formula"


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_fills_fields_that_stay_open_to_change(put: dict[str, Any], name: str) -> None:
    cost_draw.press("preset", name)
    assert put == {**PUT_BACK, **PRESETS[name].fields}
    app = opened(**link.encode(Scenario(**put)))
    assert not app.exception
    assert not app.warning
    assert "no GPU" not in verdict(app)
    drawn = {w.key for w in (*app.number_input, *app.selectbox, *app.get("button_group"))}
    asked = {*cost_fields.WORK[PRESETS[name].fields["task"]], *cost_fields.PEOPLE, "task"}
    on_the_page = {f"ui-{field}" for field in asked}
    assert {f"ui-{field}" for field in set(PRESETS[name].fields) - {"gpus"}} <= drawn | on_the_page


@pytest.mark.parametrize(
    ("pressed", "kept"),
    [
        (("task", "train"), {"task": "train"}),
        (("task", "sell"), {}),
        (("view", "tokens"), {"cost_view": "tokens"}),
        (("view", "total"), {}),
        (("preset", "nope"), {}),
        (("model", "serve"), {}),
    ],
    ids=str,
)
def test_a_pressed_button_changes_its_field(
    put: dict[str, Any], pressed: tuple[str, str], kept: dict[str, Any]
) -> None:
    cost_draw.press(*pressed)
    assert put == kept


def test_only_serving_asks_what_counts_as_cheap() -> None:
    for task, views in (("serve", ["month", "tokens"]), ("train", []), ("finetune", [])):
        by_name = {row["name"]: row for row in cost_fields.rows(Scenario(task=task))}
        assert [option["id"] for option in by_name["view"]["options"]] == views
        assert by_name["task"]["chosen"] == task


def test_presets_are_sound() -> None:
    for preset in PRESETS.values():
        assert preset.fields["model"] in model_ids()
        assert set(preset.fields["gpus"]) <= catalogue.known()["gpus"]
        Scenario.model_validate({**PUT_BACK, **preset.fields})


@pytest.mark.parametrize(
    "query",
    [
        {"price": "nope~1_h100-sxm5-80gb~-4_l4-24gb~x", "buy": "~", "tier": "free", "cost": "total"},
        {"busy": "0", "kwh": "-1", "pue": "0.2", "years": "0", "wage": "1e9", "lost": "many", "least": "nan"},
        {"task": "sell", "runs": "0", "days": "0", "cgpu": "../../x", "small": "9999"},
        {"price": "_".join(f"l4-24gb~{n}" for n in range(300))},
    ],
    ids=str,
)
def test_hostile_links_are_named_and_never_break_the_page(query: dict[str, str]) -> None:
    app = opened(**query)
    assert not app.exception
    (warning,) = app.warning
    for name in query:
        assert f"`{name}`" in warning.value
    assert "Cheapest" in verdict(app)


@pytest.mark.parametrize(
    "query",
    [
        {"engine": "transformers", "weights": "bf16"},
        {"model": "bert-base", "weights": "native"},
        {"in": "9000"},
        {"least": "9999"},
        {"task": "finetune", "tp": "3"},
        {"config": link.pack_config('{"model_type": "unheard-of"}')},
    ],
    ids=str,
)
def test_no_answer_is_a_sentence(query: dict[str, str]) -> None:
    if query.get("model") and query["model"] not in model_ids():
        query = {**query, "model": next(one for one in model_ids() if "bert" in one)}
    app = opened(**query)
    assert not app.exception
    told = " ".join(str(e.value) for e in (*app.markdown, *app.error))
    assert "no answer" in told or "no GPU here does it" in told or "cannot be computed" in told


@pytest.fixture
def put(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What callbacks put, where the reader has one price of his own."""
    found: dict[str, Any] = {}
    monkeypatch.setattr(state, "last", lambda: Scenario(price_edits=(("l4-24gb", 0.5),)))
    monkeypatch.setattr(state, "put", lambda **fields: found.update(fields))
    return found


@pytest.mark.parametrize(
    ("told", "kept"),
    [
        (("rent", "h100-sxm5-80gb", 2.5), {"price_edits": (("h100-sxm5-80gb", 2.5), ("l4-24gb", 0.5))}),
        (("rent", "l4-24gb", None), {"price_edits": ()}),
        (("buy", "l4-24gb", 1500.0), {"purchase_edits": (("l4-24gb", 1500.0),)}),
        (("rent", "l4-24gb", -1.0), {}),
        (("rent", "l4-24gb", 0.0), {}),
        (("buy", "l4-24gb", 0.0), {"purchase_edits": (("l4-24gb", 0.0),)}),
        (("rent", "l4-24gb", 1e9), {}),
        (("rent", "l4-24gb", float("nan")), {}),
        (("rent", "nope", 1.0), {}),
        (("model", "l4-24gb", 1.0), {}),
    ],
    ids=str,
)
def test_a_typed_price_is_kept_when_it_is_one(
    put: dict[str, Any], told: tuple[str, str, float | None], kept: dict[str, Any]
) -> None:
    cost_draw.edit_price(*told)
    assert put == kept


@pytest.mark.parametrize(
    ("told", "kept"),
    [
        (("lost_hours_per_week", 3.0), {"lost_hours_per_week": 3.0}),
        (("lost_hours_per_week", None), {"lost_hours_per_week": 0.0}),
        (("small_memory_gb", 80.0), {"small_memory_gb": 80}),
        (("small_memory_gb", float("inf")), {}),
        (("usd_per_person_hour", -1.0), {}),
        (("concurrency", 20.0), {"concurrency": 20}),
        (("concurrency", 0.0), {}),
        (("busy_share", 0.3), {"busy_share": 0.3}),
        (("train_gpus", 8.0), {}),  # not asked when serving
        (("model", 1.0), {}),
    ],
    ids=str,
)
def test_a_typed_number_is_kept_when_it_is_one(
    put: dict[str, Any], told: tuple[str, float | None], kept: dict[str, Any]
) -> None:
    cost_draw.type_number(*told)
    assert put == kept


def test_tokens_are_typed_in_billions_and_no_deadline_is_an_empty_box() -> None:
    train = Scenario(task="train", deadline_days=30)
    assert cost_fields.taken(train, "train_tokens", 300) == {"train_tokens": 300_000_000_000}
    assert cost_fields.taken(train, "deadline_days", None) == {"deadline_days": None}
    assert cost_fields.taken(train, "deadline_days", 0.5) == {"deadline_days": 0.5}
    work, people = cost_fields.groups(train)
    assert [field["value"] for field in work["fields"]] == ["1000", "30", "64", "", "1"]
    assert people["fields"][0]["value"] == "0"
    assert {"users", "price", "buy", "lost"} <= set(cost_fields.live(Scenario()))
    assert {"tokens", "days"} <= set(cost_fields.live(train))


@pytest.mark.parametrize(
    ("value", "low", "high", "said"),
    [
        (76_446, 27_302, 1_090_000, "$76,446 ($27,302 to $1,090,000)"),
        (1.5e6, 0.54e6, 3e6, "$1.5M ($0.54M to $3M)"),
        (993, 993, 993, "$993"),
        (50.0, 40.0, float("inf"), "$50.00 ($40.00 to more than is known)"),
    ],
    ids=str,
)
def test_a_band_is_told_in_the_unit_of_its_value(value: float, low: float, high: float, said: str) -> None:
    assert cost_text.banded(Money(*(np.float64(one) for one in (value, low, high)))) == said


def test_a_preset_says_what_else_it_replaces() -> None:
    before = Scenario(model="llama-3.1-8b", gpus=("l4-24gb",))
    text = told.also_changed(before, cost_fields.pressed("preset", "train"))
    assert "the model is now Llama 2 7B" in text
    assert "the pinned GPUs are now H100 SXM5 80GB, A100 SXM4 80GB" in text
    assert told.also_changed(before, cost_fields.pressed("view", "tokens")) == ""


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_is_shown_as_chosen_while_its_fields_hold(name: str) -> None:
    def chosen(s: Scenario) -> str:
        return next(row["chosen"] for row in cost_fields.rows(s) if row["name"] == "preset")

    s = Scenario(**cost_fields.pressed("preset", name))
    assert chosen(s) == name
    assert chosen(s.model_copy(update={"busy_share": 0.5})) == ""


def test_a_number_that_is_not_taken_is_named_with_its_limit() -> None:
    text = cost_fields.refusal(Scenario(), "concurrency", 5000.0)
    assert "users at once" in text
    assert "above the largest value, 1024" in text
    assert cost_fields.refusal(Scenario(), "concurrency", 5.0) == ""
