"""Two to four cards against each other: who should take which, with every setup, and all side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from typing import Any

import numpy as np

from calculators import cost
from calculators.scenario import Scenario
from pages.ui import (
    catalogue,
    cost_text,
    plain_table,
    price_load,
    recommend_slices,
    recommend_text,
    words,
    workload,
)
from pages.ui import recommend_views as views
from pages.ui.gpu_counts import fast_link_gpus
from pages.ui.recommend_load import PURPOSES, Choice, Recommendation, recommend, with_purpose

usd = cost_text.usd
DUELS: dict[str, tuple[str, ...]] = {
    "H100 or RTX 4090": ("h100-sxm5-80gb", "rtx-4090-24gb"),
    "H100, A100 or L40S": ("h100-sxm5-80gb", "a100-sxm4-80gb", "l40s-48gb"),
    "RTX 4090, A6000 or 3090": ("rtx-4090-24gb", "rtx-a6000-48gb", "rtx-3090-24gb"),
    "The four of the article": ("h100-sxm5-80gb", "a100-sxm4-80gb", "rtx-a6000-48gb", "l40s-48gb"),
}
SIZES = ("llama-3.1-8b", "qwen2.5-32b", "llama-3.3-70b", "llama-3.1-405b")


@dataclass(frozen=True, slots=True)
class Duel:
    """Two to four cards: who should take which, in sentences and with every setup, and all side by side."""

    sentences: tuple[str, ...]
    takes: dict[str, Any]
    table: dict[str, Any]


@lru_cache(maxsize=8)
def duel(s: Scenario, today: date) -> Duel:
    """Specs, slices, fit at four sizes, speed, cost, what others measured, who should take which."""
    gpus = s.duel_gpus or Scenario.model_fields["duel_gpus"].default
    names = [catalogue.gpu_name(gpu) for gpu in gpus]
    rows: list[tuple[str, ...]] = []

    def add(title: str, cells: Sequence[str]) -> None:
        rows.append((title, *cells))

    specs = [catalogue.spec_row(gpu) for gpu in gpus]
    for title, column, unit in _SPECS:
        add(title, [views.number(row[column], unit) or "not known" for row in specs])
    add(
        "Link",
        [str(row["interconnect"]) if fast_link_gpus(row) else "none known" for row in specs],
    )
    add("MIG slices, at most", [recommend_slices.slices_words(gpu) or "cannot be cut" for gpu in gpus])
    add(
        f"Smallest slice for one user of {workload.load(s).title}",
        [recommend_slices.holds(s, gpu) for gpu in gpus],
    )
    add("Price", [_price_with_quotes(gpu, s, today) for gpu in gpus])
    alike = []
    for model in SIZES:
        label = catalogue.model_names()[model].partition(" · ")[0]
        found = _sized(s, model, today)
        add(f"{label}: one user", [_duel_cell(found, gpu) for gpu in gpus])
        alike += _alike(f"One user of {label}", found, gpus)
    purposes = views.by_purpose(s, today)
    name = workload.load(s).name
    for p in views.COMPARED[1:]:
        add(f"{PURPOSES[p]}, {name}", [_duel_cell(purposes[p], gpu) for gpu in gpus])
    add(f"A million tokens, {name}", [_per_million(purposes["many"], gpu) for gpu in gpus])
    add(f"Holds back one user, {name}", [_held_back(purposes["one"], gpu) for gpu in gpus])
    for title, cells in measured(tuple(gpus)):
        add(title, cells)
    told = verdicts(purposes, gpus)
    table = plain_table.table(
        f"Fit, speed and cost in {catalogue.weight_formats()[s.weight_format].label} with "
        f"{s.max_model_len:,} tokens of context; the fewest dollars that do it.",
        ("", *names),
        rows,
        [recommend_slices.sources(card) for card in recommend_slices.cut_alike(gpus)],
    )
    table["hints"] = ["", *(views.facts(gpu, s, today) for gpu in gpus)]
    return Duel((*takes(told), *alike), take_table(told, name), table)


def _alike(what: str, found: Recommendation, gpus: Sequence[str]) -> list[str]:
    """That cards are equally fast because they wait for the engine, and not for lack of a difference."""
    able = [one for gpu in gpus if (one := found.of(gpu)) and one.reason is None]
    waiting = [one for one in able if recommend_text.waits(one)]
    if len(waiting) < 2:
        return []
    names = words.listed([one.name for one in waiting])
    return [f"{what}: {names} are equally fast, because {recommend_text.WAITS}."]


def _price_with_quotes(gpu: str, s: Scenario, today: date) -> str:
    """The price of an hour and what it rests on."""
    rent = price_load.rent(s, gpu, today)
    return f"{usd(rent.usd)}/h ({rent.note})" if rent.known else rent.note


def _per_million(found: Recommendation, gpu: str) -> str:
    """USD per million tokens read and written, with its users."""
    one, s = found.of(gpu), found.scenario
    if one is None or one.reason or one.output_per_s is None or one.usd is None:
        return "not known"
    rates = [
        cost.all_tokens_per_s(float(getattr(one.output_per_s, side)), s.prompt_tokens, s.output_tokens)
        for side in ("value", "high", "low")
    ]
    hour = float(one.usd.value) / cost.HOURS_PER_MONTH
    money = cost.Money(*(cost.usd_per_million_tokens(hour, rate) for rate in rates))
    return f"{cost_text.banded(money)} with {s.concurrency:,} users, prompt tokens counted as well"


def _held_back(found: Recommendation, gpu: str) -> str:
    """Shares of the time of one user's request, and what binds where that is not the card."""
    one = found.of(gpu)
    if one is None or one.reason:
        return "not known"
    use = one.use
    parts = [f"reading memory {100 * use.bandwidth:.0f} %", f"computing {100 * use.compute:.0f} %"]
    if use.link > recommend_text.SHOWN:
        parts.append(f"between GPUs {100 * use.link:.0f} %")
    parts.append(f"the engine's fixed time {100 * use.fixed:.0f} %")
    return ", ".join(parts) + (f": {recommend_text.WAITS}" if recommend_text.waits(one) else "")


_SPECS = (
    ("Memory", "memory_gb", " GB"),
    ("Bandwidth", "bandwidth_gb_per_s", " GB/s"),
    ("Dense FP16", "dense_fp16_tflops", " TFLOPS"),
    ("Dense FP8", "dense_fp8_tflops", " TFLOPS"),
    ("Board power", "tdp_w", " W"),
)


def _sized(s: Scenario, model: str, today: date) -> Recommendation:
    free = views.without_limits(s).model_copy(
        update={"model": model, "config_json": "", **with_purpose(s, "one")}
    )
    return recommend(free.model_copy(update={"least_tokens_per_s": 0.0}), today)


def _duel_cell(found: Recommendation, gpu: str) -> str:
    """The setup with its split, how fast it is, what it costs, what speaks against it, what binds."""
    one = found.of(gpu)
    if found.refused:
        return words.cut(found.refused, 60)
    if one is None or one.reason:
        return words.cut(one.reason if one and one.reason else "not compared", 60)
    waits = [recommend_text.WAITS] if recommend_text.waits(one) else []
    against = "; ".join(["", *recommend_text.doubts(one), *waits])
    speed = recommend_text.speed_words(found.scenario, one)
    return f"{recommend_text.count_of(one)}: {speed}, {_paid(found, one)}{against}"


def _paid(found: Recommendation, one: Choice) -> str:
    assert one.usd is not None
    known = bool(np.isfinite(one.usd.value))
    return f"{usd(float(one.usd.value))}{recommend_text.money_of(found.scenario)}" if known else "no price"


TAKE_TITLES = ("For", "Take", "With", "Against the others", "Cheaper if you find it")


@dataclass(frozen=True, slots=True)
class Verdict:
    """Which card to take for a purpose: `equal` are those that cannot be told apart, the cheapest first.

    others: cards that do it too, cheapest first. Empty where no card does it at a known price.
    """

    purpose: str
    found: Recommendation
    equal: tuple[Choice, ...]
    others: tuple[Choice, ...]

    @property
    def name(self) -> str:
        """The purpose inside a sentence."""
        return _DOES[self.purpose]

    @property
    def cheaper(self) -> Choice | None:
        """The cheapest that does it for less, but not surely, or that nobody quotes."""
        first = self.equal[0] if self.equal else None
        able = [one for one in self.others if first and not _sure(one) and _value(one) < _value(first)]
        return min(able, key=_value, default=None)


_DOES = {
    "one": "serve one user",
    "many": "serve many users",
    "batch": "answer a batch",
    "qlora": "fine-tune by QLoRA",
    "lora": "fine-tune by LoRA",
    "full": "fine-tune all weights",
    "train": "train from scratch",
}


def verdicts(purposes: dict[str, Recommendation], gpus: Sequence[str]) -> list[Verdict]:
    """Who should take which card for each purpose.

    As in the ranking, what surely fits and is quoted stands before what is not.
    """
    told = []
    for p, found in purposes.items():
        known = [one for gpu in gpus if (one := found.of(gpu)) and not one.reason and _priced(one)]
        ordered = sorted(known, key=lambda one: (not _sure(one), _value(one)))
        advised = [one for one in ordered if not one.endless]
        equal = [one for one in advised if _sure(one) == _sure(advised[0]) and _tied(advised[0], one)]
        told.append(Verdict(p, found, tuple(equal), tuple(one for one in ordered if one not in equal)))
    return told


def takes(told: Sequence[Verdict]) -> list[str]:
    """The verdicts in short sentences."""
    won: dict[str, list[str]] = {}
    less: dict[str, list[str]] = {}
    doubts: dict[str, list[str]] = {}
    for one in told:
        if len(one.equal) == 1:
            won.setdefault(one.equal[0].name, []).append(one.name)
        if one.cheaper is not None:
            less.setdefault(one.cheaper.name, []).append(one.name)
            doubts.setdefault(one.cheaper.name, []).extend(recommend_text.doubts(one.cheaper))
    said = [f"Take {name} to {words.listed(what, 7)}." for name, what in won.items()]
    said += [
        f"To {one.name}, {_names(one)} are tied on cost{_faster(one.equal)}."
        for one in told
        if len(one.equal) > 1
    ]
    for name, what in less.items():
        but = words.either(list(dict.fromkeys(doubts[name])))
        said.append(f"{name} would cost less to {words.listed(what, 7)}, but {but}: the table says which.")
    nobody = [one.name for one in told if not one.equal]
    late = [one.name for one in told if not one.equal and one.others]
    nobody = [name for name in nobody if name not in late]
    said += [f"None of them is advisable to {words.either(late)}: longer than a year."] if late else []
    return said + ([f"None of them does it at a known price: {words.listed(nobody, 7)}."] if nobody else [])


def take_table(told: Sequence[Verdict], work: str) -> dict[str, Any]:
    """The verdicts with the setup of each side."""
    rows = [
        (
            PURPOSES[one.purpose],
            words.either([each.name for each in one.equal]) if one.equal else "none of them",
            "; ".join(_setup_paid(one.found, each) for each in one.equal),
            _against(one),
            _setup_paid(one.found, one.cheaper) if one.cheaper else "",
        )
        for one in told
    ]
    caption = (
        f"{work}: the fewest dollars that do it, without your limits. TP: GPUs that share every layer; PP: "
        "that hold some layers each; DP: that hold a copy each."
    )
    some = len(TAKE_TITLES) if any(row[-1] for row in rows) else len(TAKE_TITLES) - 1
    return plain_table.table(caption, TAKE_TITLES[:some], [row[:some] for row in rows])


def _names(told: Verdict) -> str:
    return words.listed([one.name for one in told.equal])


def _value(one: Choice) -> float:
    assert one.usd is not None
    return float(one.usd.value)


def _priced(one: Choice) -> bool:
    return one.usd is not None and bool(np.isfinite(one.usd.value))


def _sure(one: Choice) -> bool:
    return one.firm


def _tied(first: Choice, other: Choice) -> bool:
    """Whether each cost lies in the other's band, or they differ by less than prices do."""
    return first is other or _in_bands(first, other) or _near(first, other)


def _in_bands(first: Choice, other: Choice) -> bool:
    assert first.usd is not None
    assert other.usd is not None
    sides = ("value", "low", "high")
    pair = cost.Money(*(np.array([float(getattr(m, x)) for m in (first.usd, other.usd)]) for x in sides))
    return bool(cost.tied(pair, 0)[1])


def _near(first: Choice, other: Choice) -> bool:
    return _value(first) > 0 and _value(other) <= _value(first) * (1 + recommend_text.SAME)


def _setup_paid(found: Recommendation, one: Choice) -> str:
    return f"{recommend_text.cut_setup(one, *recommend_text.doubts(one))}, {_paid(found, one)}"


def _faster(equal: Sequence[Choice]) -> str:
    """Which of several that cost the same is faster, where that can be told."""
    fast, second = sorted(equal, key=_seconds)[:2]
    assert fast.seconds is not None
    assert second.seconds is not None
    if float(fast.seconds.high) >= float(second.seconds.low):
        return ""
    return f"; {fast.name} is {_seconds(second) / _seconds(fast):.1f} times as fast"


def _seconds(one: Choice) -> float:
    assert one.seconds is not None
    return float(one.seconds.value)


def _against(told: Verdict) -> str:
    """Why it is that card: what the next one costs, or why several are the same."""
    if not told.equal:
        return "; ".join(_setup_paid(told.found, one) for one in told.others[:1])
    first, *same = told.equal
    if same:
        bands = all(_in_bands(first, one) for one in same)
        apart = f"{100 * (_value(same[-1]) / _value(first) - 1):.0f} % apart, less than quotes differ"
        return ("inside each other's bands" if bands else apart) + _faster(told.equal)
    second = next((one for one in told.others if _sure(one) == _sure(first)), None)
    if second is None:
        return "" if told.others else "the only one that does it at a known price"
    if not _value(first) > 0:
        return f"for nothing; {_setup_paid(told.found, second)}"
    ratio, slower = _value(second) / _value(first), _seconds(second) / _seconds(first)
    cost, be = ("cost", "are") if second.gpus > 1 else ("costs", "is")
    speed = f" and {be} {slower:.1f} times as slow" if slower > 1 + recommend_text.SAME else ""
    speed = f" but {be} {1 / slower:.1f} times as fast" if slower < 1 / (1 + recommend_text.SAME) else speed
    return f"{recommend_text.cut_setup(second)} {cost} {ratio:.1f} times as much{speed}"


@lru_cache(maxsize=32)
def measured(gpus: tuple[str, ...]) -> list[tuple[str, list[str]]]:
    """Results of others that all the cards have: llama.cpp's tables and MLPerf Inference, never mixed."""
    from gpu_data.benchmarks import inference_frame, llamacpp_frame  # only the duel needs them

    rows = []
    llama = llamacpp_frame()
    llama = llama[(llama["n_gpus"] == 1) & llama["gpu_id"].isin(gpus) & llama["tokens_per_s"].notna()]
    rows += _shared(llama, ["model", "quant", "test"], "tokens_per_s", gpus, "llama.cpp", " tokens/s")
    mlperf = inference_frame()
    mlperf = mlperf[
        mlperf["gpu_id"].isin(gpus) & (mlperf["category"] == "closed") & mlperf["value_per_gpu"].notna()
    ]
    rows += _shared(
        mlperf,
        ["benchmark", "scenario", "unit"],
        "value_per_gpu",
        gpus,
        "MLPerf per GPU, best of all rounds",
        "",
    )
    lanes = ("llama.cpp", "MLPerf")
    rows += [
        (lane, ["no result that all of them have"] * len(gpus))
        for lane in lanes
        if not any(title.startswith(lane) for title, _ in rows)
    ]
    return rows


_LANGUAGE = ("llama", "LLaMA", "Llama", "gpt", "mixtral", "deepseek", "diffusion")  # these stand first


def _shared(
    frame: Any, keys: list[str], value: str, gpus: tuple[str, ...], lane: str, unit: str, most: int = 4
) -> list[tuple[str, list[str]]]:
    table = frame.groupby([*keys, "gpu_id"])[value].max().unstack("gpu_id")
    if any(gpu not in table.columns for gpu in gpus):
        return []
    table = table.dropna(subset=list(gpus))
    rows = []
    ordered = sorted(table.iterrows(), key=lambda pair: not any(w in str(pair[0]) for w in _LANGUAGE))
    for key, row in ordered[:most]:
        title = f"{lane}: {', '.join(str(part) for part in key)}"
        rows.append((title, [f"{float(row[gpu]):,.4g}{unit}" for gpu in gpus]))
    return rows
