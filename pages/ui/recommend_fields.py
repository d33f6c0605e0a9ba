"""What the Recommend page asks for: the fields of each purpose, and how each is shown and taken."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from calculators.scenario import Scenario
from pages.ui import asked as typed
from pages.ui import catalogue, glossary, link, price_load
from pages.ui.asked import Asked
from pages.ui.recommend_load import PURPOSES, purpose
from pages.ui.recommend_presets import PRESETS, PUT_BACK

VIEWS = {
    "ranking": "Which to take",
    "purposes": "Training or inference",
    "duel": "Duel",
    "judgements": "Common wisdom, checked",
}
OBJECTIVES = {
    "cheapest": "Cheapest that does it",
    "fastest": "Fastest within the budget",
    "power": "Least power",
    "gpus": "Fewest GPUs",
}
FREEDOM = {"this": "Only the one chosen", "8bit": "Also others of 8 bits or more", "any": "Also 4 bits"}
PLACE = {"any": "Anywhere", "workstation": "Workstation", "datacentre": "Data centre"}


_CEILING = Asked("at most USD a month", empty="no limit", help="Of all GPUs together, 730 hours.")
_RUN = Asked("at most USD a run", empty="no limit", help="GPU-hours times the price.")
_DAYS = Asked("finish in (days)", empty="no limit", help="Decides how many GPUs it takes.")
_LOAD = {
    "max_model_len": Asked("context, tokens", help="Room for each user: prompt and answer (max_model_len)."),
    "prompt_tokens": Asked("prompt, tokens", help="Read for each request."),
    "output_tokens": Asked("answer, tokens", help="Written for each request."),
}
_LIVE = {
    "least_tokens_per_s": Asked(
        "least tokens/s for each", help="Of one user while the answer is written: 1 / TPOT."
    ),
    "max_ttft_s": Asked("first token within (s)", empty="no limit", help="TTFT, waiting for room included."),
    "cost_ceiling": _CEILING,
}
_TUNE = {
    "samples": Asked("samples", help="Examples that the fine-tune goes through."),
    "sample_tokens": Asked("tokens of each", help="Of one sample on average."),
    "epochs": Asked("epochs", help="How often the samples are gone through."),
    "seq_len": Asked("sequence length", empty="2,048", help="Tokens that are trained on at once."),
    "micro_batch": Asked("micro-batch", help="Sequences on one GPU at the same time."),
    "deadline_days": _DAYS,
    "cost_ceiling": _RUN,
}
WORK: Mapping[str, Mapping[str, Asked]] = {
    "one": {**_LOAD, **_LIVE},
    "many": {
        "concurrency": Asked("users at once", help="Each sends the next request when answered."),
        **_LOAD,
        **_LIVE,
    },
    "batch": {
        "batch_requests": Asked("requests", help="Of the whole batch, answered as many at once as fit."),
        **_LOAD,
        "deadline_days": _DAYS,
        "cost_ceiling": Asked("at most USD", empty="no limit", help="Of the whole batch."),
    },
    "qlora": _TUNE,
    "lora": _TUNE,
    "full": _TUNE,
    "train": {
        "train_tokens": Asked("tokens, billions", 10**9, help="Of the whole run."),
        "deadline_days": _DAYS,
        "train_gpus": Asked(
            "GPUs, if no days are set", help="How many are compared when no deadline is set."
        ),
        "seq_len": Asked("sequence length", empty="4,096", help="Tokens that are trained on at once."),
        "micro_batch": Asked("micro-batch", help="Sequences on one GPU at the same time."),
        "cost_ceiling": _RUN,
    },
    "images": {},
}
ALL_LOADS: Mapping[str, Asked] = {  # of the view that compares purposes
    name: one
    for purpose_id in ("many", "batch", "qlora", "train")
    for name, one in WORK[purpose_id].items()
    if name not in ("max_ttft_s", "cost_ceiling", "deadline_days")
}
LIMITS: Mapping[str, Asked] = {
    "max_gpus": Asked("GPUs at most", empty="no limit", help="All copies together."),
    "max_power_w": Asked("W at most", empty="no limit", help="Board power of all GPUs together."),
}
OWNED: Mapping[str, Asked] = {  # asked when GPUs are bought
    "purchase_ceiling": Asked("at most USD to buy", empty="no limit", help="Of all cards together."),
    "own_years": Asked("years of use", help="The purchase is spread over them."),
    "busy_share": Asked("share of the hours at work", help="Idle hours of an owned GPU are paid as well."),
    "usd_per_kwh": Asked("USD per kWh", help="0.13: about what US commercial customers pay (EIA)."),
    "power_usage_effectiveness": Asked("PUE", help="Energy of the building over the computers'; 1 at home."),
    "host_usd": Asked("computer and room, USD per GPU", help="A purchase price is of the card alone."),
}
SWITCHES: Mapping[str, tuple[str, str]] = {
    "need_nvlink": ("NVLink or alike", "A fast link between the GPUs of one copy (bridges join two)."),
    "need_mig": ("MIG", "Can be cut into slices, each with memory of its own."),
    "need_ecc": ("ECC", "Recorded for the card, or HBM, which carries the check bits."),
}


def choices(s: Scenario) -> dict[str, dict[str, str]]:
    """The lists: id to name, by field."""
    found: dict[str, dict[str, str]] = {"objective": dict(OBJECTIVES)}
    if purpose(s) in ("one", "many", "batch"):
        found["format_freedom"] = dict(FREEDOM)
    found["price_basis"] = dict(price_load.BASES)
    found["place"] = dict(PLACE)
    found["maker"] = {"": "Any vendor", **catalogue.named_values("vendor")}
    return found


CARD = "card-"  # and its place in the duel
MOST_IN_DUEL = 4
_LIST_HELP = {
    "objective": "What comes first among the GPUs that meet every target and limit.",
    "format_freedom": "Which other weight formats the engine reads may be chosen; quality is not compared.",
    "price_basis": "What an hour of a GPU costs: quotes, or the purchase over its life and power.",
    "place": "Workstation: cards for desktops. Data centre: modules and passive cards.",
    "maker": "Only GPUs of one vendor.",
}
_LIST_LABELS = {
    "objective": "Take the",
    "format_freedom": "Weight formats",
    "price_basis": "Paid how",
    "place": "Stands in",
    "maker": "Vendor",
}


def form(s: Scenario) -> dict[str, Any]:
    """Everything that can be set on the page, as the browser takes it."""
    asked = purpose(s)
    return {
        "presets": [
            {"id": name, "label": one.label, "help": one.help, "on": holds(s, {**PUT_BACK, **one.fields})}
            for name, one in PRESETS.items()
        ],
        "purposes": _buttons(PURPOSES),
        "purpose": asked,
        "views": _buttons(VIEWS),
        "view": s.recommend_view,
        "groups": _groups(s, asked),
    }


def holds(s: Scenario, fields: Mapping[str, Any]) -> bool:
    """Whether a scenario is one of a preset."""
    return all(getattr(s, name) == value for name, value in fields.items())


def refusal(s: Scenario, name: str, value: Any) -> str:
    """Which box does not take what was typed, and why."""
    asked = _asked(s, name)
    return typed.refusal(asked, name, value) if asked else ""


def _asked(s: Scenario, name: str) -> Asked | None:
    """The number of that name that the page asks for."""
    return {**ALL_LOADS, **WORK[purpose(s)], **LIMITS, **OWNED}.get(name)


def limits_words(s: Scenario) -> list[str]:
    """The limits that a reader has set and that the purpose has, as they stand in the form."""
    asked = {**WORK[purpose(s)], **_hardware(s)}
    said = []
    for name in _LIMITING:
        value, default = getattr(s, name), Scenario.model_fields[name].default
        if name in asked and value != default and value is not None:
            said.append(f"{asked[name].label} {value / asked[name].unit:,.10g}")
    said += [label for name, (label, _) in SWITCHES.items() if getattr(s, name)]
    lists = choices(s)
    said += [
        f"{_LIST_LABELS[name].lower()} {lists[name][getattr(s, name)]}"
        for name in ("place", "maker")
        if getattr(s, name) != Scenario.model_fields[name].default
    ]
    return said


_LIMITING = (
    "least_tokens_per_s", "max_ttft_s", "deadline_days", "cost_ceiling", "purchase_ceiling", "max_gpus",
    "max_power_w",
)  # fmt: skip


def _buttons(names: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"id": name, "label": label, "help": glossary.of_choice(label)} for name, label in names.items()]


def _groups(s: Scenario, asked: str) -> list[dict[str, Any]]:
    if s.recommend_view == "judgements":
        return []
    if s.recommend_view == "duel":
        return [{"legend": "Two to four cards", "fields": [_card(s, place) for place in range(MOST_IN_DUEL)]}]
    if s.recommend_view == "purposes":
        return [_group("The loads that are compared", s, ALL_LOADS, None)]
    return [_group("The work and its target", s, WORK[asked]), _group("The hardware", s, _hardware(s), True)]


def _hardware(s: Scenario) -> Mapping[str, Asked]:
    """The numbers that are asked about the hardware; of images one GPU's results are compared."""
    asked = LIMITS if purpose(s) != "images" else {"max_power_w": LIMITS["max_power_w"]}
    return {**asked, **OWNED} if s.price_basis == price_load.OWN_BASIS else asked


def _card(s: Scenario, place: int) -> dict[str, Any]:
    """The list of one card of the duel; the first two cannot be left out."""
    hidden = frozenset() if s.pre_release else catalogue.pre_release_gpus()
    shown = [str(gpu) for gpu in catalogue.gpus().index if gpu not in hidden]
    none = [["", "none"]] if place > 1 else []
    return {
        "kind": "select",
        "field": f"{CARD}{place}",
        "label": f"Card {place + 1}",
        "value": s.duel_gpus[place] if place < len(s.duel_gpus) else "",
        "options": none + [[gpu, catalogue.gpu_name(gpu)] for gpu in shown],
        "help": "One of the two to four cards that are compared.",
    }


def _group(
    legend: str, s: Scenario, asked: Mapping[str, Asked], hardware: bool | None = False
) -> dict[str, Any]:
    fields = [{"kind": "number", **typed.box(one, name, s)} for name, one in asked.items()]
    lists = [
        {
            "kind": "select",
            "field": name,
            "label": _LIST_LABELS[name],
            "value": getattr(s, name),
            "options": [[key, label] for key, label in options.items()],
            "help": _LIST_HELP[name],
        }
        for name, options in choices(s).items()
        if (name in ("place", "maker", "price_basis")) == hardware
    ]
    checks = [
        {"kind": "check", "field": name, "label": label, "value": bool(getattr(s, name)), "help": help}
        for name, (label, help) in SWITCHES.items()
        if hardware
    ]
    return {"legend": legend, "fields": [*lists, *fields, *checks]}


def live(s: Scenario) -> tuple[str, ...]:
    """The link's parameters that are set on the page itself, not in the sidebar."""
    names = dict.fromkeys(
        (
            *ALL_LOADS,
            *WORK[purpose(s)],
            *LIMITS,
            *OWNED,
            *SWITCHES,
            *choices(s),
            "recommend_view",
            "duel_gpus",
        )
    )
    return tuple(link.BY_FIELD[name].name for name in names)


def taken(s: Scenario, name: str, value: Any) -> dict[str, Any]:
    """The field of the Scenario that a change in the form sets; nothing when it is not one that it takes.

    An emptied box is the default again.
    """
    if name in SWITCHES:
        return {name: bool(value)}
    if name.startswith(CARD):
        return _with_card(s, name.removeprefix(CARD), value)
    lists = choices(s)
    if name in lists:
        return {name: value} if value in lists[name] else {}
    asked = _asked(s, name)
    return typed.taken(asked, name, value) if asked else {}


def _with_card(s: Scenario, place: str, gpu: Any) -> dict[str, Any]:
    """The duel with another card at one place."""
    if place not in tuple(map(str, range(MOST_IN_DUEL))) or (gpu and gpu not in catalogue.known()["gpus"]):
        return {}
    cards = [*s.duel_gpus, *[""] * MOST_IN_DUEL][:MOST_IN_DUEL]
    cards[int(place)] = gpu or ""
    return {"duel_gpus": tuple(dict.fromkeys(card for card in cards if card))}
