"""Numbers typed in a component of ours: taken, put back to the default, or refused in words."""

from __future__ import annotations

from typing import Any

import pytest

from calculators.scenario import MAX_GPUS, Scenario
from pages.ui import asked, fit_numbers, glossary, link
from pages.ui.asked import Asked

COUNT = Asked("GPUs of each kind")
DAYS = Asked("Finish in (days)", empty="no deadline")
TOKENS = Asked("Tokens (billions)", 10**9)


@pytest.mark.parametrize(
    ("one", "field", "typed", "fields"),
    [
        (COUNT, "gpu_count", "4", {"gpu_count": 4}),
        (COUNT, "gpu_count", "4.4", {}),
        (COUNT, "gpu_count", "4.0", {"gpu_count": 4}),
        (COUNT, "gpu_count", "", {"gpu_count": 1}),
        (COUNT, "gpu_count", None, {"gpu_count": 1}),
        (DAYS, "deadline_days", "", {"deadline_days": None}),
        (DAYS, "deadline_days", "2.5", {"deadline_days": 2.5}),
        (TOKENS, "train_tokens", "0.5", {"train_tokens": 500_000_000}),
        (COUNT, "gpu_count", "0", {}),
        (COUNT, "gpu_count", "1e9", {}),
        (COUNT, "gpu_count", "1e999", {}),
        (COUNT, "gpu_count", "nan", {}),
        (COUNT, "gpu_count", "four", {}),
        (COUNT, "gpu_count", ["4"], {}),
    ],
    ids=str,
)
def test_what_becomes_of_what_was_typed(one: Asked, field: str, typed: Any, fields: dict[str, Any]) -> None:
    assert asked.taken(one, field, typed) == fields
    if not fields:
        refusal = asked.refusal(one, field, typed)
        assert refusal.startswith(f"“{one.label}” keeps its value: ")
        assert refusal.endswith(".")


def test_a_refusal_says_what_the_box_takes() -> None:
    assert (
        asked.refusal(COUNT, "gpu_count", "2.5")
        == "“GPUs of each kind” keeps its value: it takes a whole number."
    )
    assert asked.refusal(DAYS, "deadline_days", "soon").endswith("it takes a number.")


def test_a_refusal_names_the_limit() -> None:
    assert f"{MAX_GPUS}" in asked.refusal(COUNT, "gpu_count", "1e9").replace(",", "")


@pytest.mark.parametrize("task", fit_numbers.NUMBERS)
def test_every_number_of_a_task_is_in_the_link_and_explained(task: str) -> None:
    scenario = Scenario(task=task)
    fields = [*fit_numbers.NUMBERS[task], *fit_numbers.SCRUBBERS[task].values()]
    assert len(set(fields)) == len(fields)
    assert {link.BY_FIELD[field].name for field in fields} <= set(fit_numbers.live(scenario))
    assert all(glossary.of_field(field) for field in fields)
    boxes = [asked.box(one, field, scenario) for field, one in fit_numbers.NUMBERS[task].items()]
    assert all(box["value"] or box["empty"] for box in boxes)
