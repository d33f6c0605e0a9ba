"""What the Cost page asks for under its verdict, and how each is shown and taken."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from calculators.scenario import Scenario
from pages.ui import asked, glossary, link
from pages.ui.asked import Asked
from pages.ui.cost_presets import PRESETS, PUT_BACK
from pages.ui.cost_text import VIEWS
from pages.ui.training_controls import TASKS

WORK: Mapping[str, Mapping[str, Asked]] = {
    "serve": {
        "concurrency": Asked("users at once"),
        "max_model_len": Asked("context, tokens"),
        "prompt_tokens": Asked("prompt, tokens"),
        "output_tokens": Asked("answer, tokens"),
        "least_tokens_per_s": Asked("least tokens/s for each"),
        "busy_share": Asked("share of the hours in use"),
    },
    "finetune": {
        "samples": Asked("samples"),
        "sample_tokens": Asked("tokens of each"),
        "epochs": Asked("epochs"),
        "seq_len": Asked("sequence length", empty="2,048"),
        "micro_batch": Asked("micro-batch"),
        "runs_per_month": Asked("runs a month"),
        "deadline_days": Asked("finish in (days)", empty="no deadline"),
    },
    "train": {
        "train_tokens": Asked("tokens, billions", 10**9),
        "deadline_days": Asked("finish in (days)", empty="no deadline"),
        "train_gpus": Asked("GPUs, when no days are set"),
        "seq_len": Asked("sequence length", empty="4,096"),
        "micro_batch": Asked("micro-batch"),
    },
}
PEOPLE: Mapping[str, Asked] = {
    "lost_hours_per_week": Asked("hours a week"),
    "small_memory_gb": Asked("on cards below, GB"),
    "usd_per_person_hour": Asked("USD for an hour"),
}
_TITLES = {"serve": "The load", "finetune": "The fine-tune", "train": "The run"}
_LOST = "Time that people lose on a card too small: nobody can estimate it for you"


def rows(scenario: Scenario) -> list[dict[str, Any]]:
    """The rows of buttons: the task, for serving what counts as cheap, and the presets."""
    views = VIEWS if scenario.task == "serve" else {}
    return [
        {"name": "task", "options": _options(TASKS), "chosen": scenario.task},
        {"name": "view", "options": _options(views), "chosen": scenario.cost_view},
        {
            "name": "preset",
            "options": [{"id": name, "label": one.label, "help": one.help} for name, one in PRESETS.items()],
            "chosen": next((name for name in PRESETS if _holds(scenario, pressed("preset", name))), ""),
        },
    ]


def _holds(scenario: Scenario, fields: Mapping[str, Any]) -> bool:
    """Whether a scenario is one of a preset."""
    return all(getattr(scenario, name) == value for name, value in fields.items())


def _asked(scenario: Scenario, field: str) -> Asked | None:
    """The number of that field, when the page asks for it."""
    return {**WORK[scenario.task], **PEOPLE}.get(field)


def refusal(scenario: Scenario, field: str, typed: Any) -> str:
    """Which box does not take what was typed, and why."""
    one = _asked(scenario, field)
    return asked.refusal(one, field, typed) if one else ""


def _options(names: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"id": name, "label": label, "help": glossary.of_choice(label)} for name, label in names.items()]


def pressed(row: str, choice: str) -> dict[str, Any]:
    """The fields of the Scenario that a button changes; nothing when it is not one of the page's."""
    if row == "preset" and choice in PRESETS:
        return {**PUT_BACK, **PRESETS[choice].fields}
    if row == "task" and choice in TASKS:
        return {"task": choice}
    if row == "view" and choice in VIEWS:
        return {"cost_view": choice}
    return {}


def groups(scenario: Scenario) -> list[dict[str, Any]]:
    """The groups of numbers of the task, as the browser takes them: the work, then people's time."""
    return [
        _group("work", _TITLES[scenario.task], scenario, WORK[scenario.task]),
        _group("people", _LOST, scenario, PEOPLE),
    ]


def _group(name: str, legend: str, scenario: Scenario, numbers: Mapping[str, Asked]) -> dict[str, Any]:
    fields = [asked.box(one, field, scenario) for field, one in numbers.items()]
    return {"name": name, "legend": legend, "fields": fields}


def live(scenario: Scenario) -> tuple[str, ...]:
    """The link's parameters that are set on the page itself, not in the sidebar."""
    fields = (*WORK[scenario.task], *PEOPLE, "price_edits", "purchase_edits", "cost_view", "cost_gpu")
    return tuple(link.BY_FIELD[field].name for field in fields)


def taken(scenario: Scenario, field: str, typed: Any) -> dict[str, Any]:
    """The field of the Scenario that a typed number changes; nothing when it is not one that it takes.

    An emptied box is the default again.
    """
    one = _asked(scenario, field)
    return asked.taken(one, field, typed) if one else {}
