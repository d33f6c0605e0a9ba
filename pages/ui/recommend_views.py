"""The other views of the Recommend page as plain tables: each card by purpose, slices, the link, the duel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from typing import Any

import numpy as np

from calculators import cost, memory
from calculators.scenario import Scenario
from gpu_data import mig
from pages.ui import (
    catalogue,
    cost_text,
    plain_table,
    price_load,
    recommend_load,
    recommend_text,
    words,
    workload,
)
from pages.ui.gpu_counts import COUNTS, TOGETHER, fast_link_gpus
from pages.ui.recommend_load import PURPOSES, Choice, Recommendation, recommend, with_purpose

usd = cost_text.usd
COMPARED = ("one", "many", "batch", "qlora", "lora", "full", "train")
_SHORT = {
    "one": "Serve one",
    "many": "Serve many",
    "batch": "Batch",
    "qlora": "QLoRA",
    "lora": "LoRA",
    "full": "Full fine-tune",
    "train": "Train",
}
DUELS: dict[str, tuple[str, ...]] = {
    "H100 or RTX 4090": ("h100-sxm5-80gb", "rtx-4090-24gb"),
    "H100, A100 or L40S": ("h100-sxm5-80gb", "a100-sxm4-80gb", "l40s-48gb"),
    "RTX 4090, A6000 or 3090": ("rtx-4090-24gb", "rtx-a6000-48gb", "rtx-3090-24gb"),
    "The four of the article": ("h100-sxm5-80gb", "a100-sxm4-80gb", "rtx-a6000-48gb", "l40s-48gb"),
}
SIZES = ("llama-3.1-8b", "qwen2.5-32b", "llama-3.3-70b", "llama-3.1-405b")
_FREE = (
    "max_ttft_s", "cost_ceiling", "max_power_w", "max_gpus", "need_nvlink", "need_mig", "need_ecc", "place",
    "maker", "deadline_days", "objective", "format_freedom",
)  # fmt: skip


_SERVING = ("concurrency", "max_model_len", "prompt_tokens", "output_tokens", "least_tokens_per_s")
_TUNING = ("samples", "sample_tokens", "epochs", "seq_len", "micro_batch")
_TRAINING = ("train_tokens", "train_gpus", "seq_len", "micro_batch")
# what a purpose does not depend on, so that a change of it asks nothing anew
_IDLE: dict[str, tuple[str, ...]] = {
    "one": (*_TUNING, *_TRAINING, "batch_requests"),
    "many": (*_TUNING, *_TRAINING, "batch_requests"),
    "batch": (*_TUNING, *_TRAINING, "concurrency", "least_tokens_per_s"),
    **dict.fromkeys(("qlora", "lora", "full"), (*_SERVING, "train_tokens", "train_gpus", "batch_requests")),
    "train": (*_SERVING, "samples", "sample_tokens", "epochs", "batch_requests", "method"),
}


def _put_back(s: Scenario, names: Sequence[str]) -> Scenario:
    return s.model_copy(update={name: Scenario.model_fields[name].default for name in names})


def _plain(s: Scenario) -> Scenario:
    """The scenario without limits: every card is compared, by cost."""
    return _put_back(s, (*_FREE, "gpus", "duel_gpus", "recommend_view"))


def by_purpose(s: Scenario, today: date) -> dict[str, Recommendation]:
    """Every purpose for the model and load of the scenario."""
    free = _plain(s)
    found = {}
    for p in COMPARED:
        asked = free.model_copy(update=with_purpose(free, p))
        found[p] = recommend(_put_back(asked, _IDLE[p]), today)
    return found


def facts(gpu: str, s: Scenario, today: date) -> str:
    """What decides about a card, from its row."""
    row = catalogue.spec_row(gpu)
    link = fast_link_gpus(row)
    joined = (
        f"{row['interconnect']}, {float(row['interconnect_gb_per_s']):g} GB/s"
        if link
        else "no fast link known"
    )
    peak = _number(row["dense_fp16_tflops"], " TFLOPS FP16")
    eight = _number(row["dense_fp8_tflops"], " FP8")
    cut = mig.cards().get(gpu)
    parts = [
        f"{float(row['memory_gb']):g} GB",
        _number(row["bandwidth_gb_per_s"], " GB/s"),
        f"{peak}{', ' + eight if eight else ''}",
        joined,
        f"MIG {max(one.most for one in cut.slices)}" if cut else "",
        "ECC" if recommend_load.has_ecc(row) else "",
        price_words(gpu, s, today),
    ]
    return "; ".join(part for part in parts if part)


def _number(value: Any, unit: str) -> str:
    return f"{float(value):,.0f}{unit}" if str(value) not in ("<NA>", "nan", "None") else ""


def price_words(gpu: str, s: Scenario, today: date) -> str:
    """Its price for an hour."""
    rent = price_load.rent(s, gpu, today)
    return f"{usd(rent.usd)}/h" if rent.known else "no price"


def _places(found: Recommendation) -> dict[str, int]:
    """Place of each card by cost among those with a price."""
    priced = [one for one in found.ranked if one.usd is not None and np.isfinite(float(one.usd.value))]
    return {one.gpu: place + 1 for place, one in enumerate(priced)}


def _cell(found: Recommendation, one: Choice | None, place: int | None) -> str:
    if found.refused or one is None:
        return "not known"
    if one.reason:
        return words.cut(one.reason.rstrip("."), 40)
    number = f"{one.gpus} GPU{'s' if one.gpus > 1 else ''}"
    if not place or one.usd is None:
        return f"does it with {number}, no price"
    apart = "" if one.offered else ", not quoted together"
    return f"no. {place}: {usd(float(one.usd.value))}, {number}{apart}"


@lru_cache(maxsize=8)
def purpose_table(s: Scenario, today: date) -> dict[str, Any]:
    """Every card by every purpose: its place by cost, the cost, how many of it."""
    found = by_purpose(s, today)
    places = {p: _places(one) for p, one in found.items()}
    choices = {p: {one.gpu: one for one in each.choices} for p, each in found.items()}
    gpus = list(choices["one"]) or [str(gpu) for gpu in catalogue.gpus().index]
    best = {gpu: min((places[p].get(gpu, 999) for p in COMPARED), default=999) for gpu in gpus}
    ordered = sorted(gpus, key=lambda gpu: (gpu not in s.gpus, best[gpu], catalogue.gpu_name(gpu)))
    rows = [
        (
            catalogue.gpu_name(gpu),
            facts(gpu, s, today),
            *(_cell(found[p], choices[p].get(gpu), places[p].get(gpu)) for p in COMPARED),
        )
        for gpu in ordered
    ]
    notes = [_first(found), *(_reason(gpu, found, places) for gpu in s.gpus if gpu in best)]
    work = found["one"].work
    caption = (
        f"{work}: place of each card by cost, without your limits. Serving: USD a month; batch, fine-tune "
        f"and training: USD in all, training with {s.train_gpus:,} GPUs. Pinned cards first."
    )
    return plain_table.table(caption, ("GPU", "What decides", *(_SHORT[p] for p in COMPARED)), rows, notes)


def _first(found: dict[str, Recommendation]) -> str:
    """The cheapest card of each purpose."""
    first: dict[str, list[str]] = {}
    for p, one in found.items():
        if one.best is not None and one.best.rent.known:
            first.setdefault(f"{one.best.name}", []).append(_SHORT[p])
    return "Cheapest: " + "; ".join(f"{name} to {', '.join(what)}" for name, what in first.items()) + "."


def _reason(gpu: str, found: dict[str, Recommendation], ranks: dict[str, dict[str, int]]) -> str:
    """What a card is best and worst at, in its own numbers."""
    places = {p: by_gpu[gpu] for p, by_gpu in ranks.items() if gpu in by_gpu}
    name = catalogue.gpu_name(gpu)
    if not places:
        return f"{name}: nobody quotes a price, so it has no place."
    best, worst = min(places, key=lambda p: places[p]), max(places, key=lambda p: places[p])
    said = f"{name}: best at {_SHORT[best]} (no. {places[best]})"
    if places[worst] > places[best]:
        said += f", worst at {_SHORT[worst]} (no. {places[worst]})"
    one = found["one"].of(gpu)
    if one is not None and one.reason is None:
        use = one.use
        said += f"; one user keeps its memory {100 * use.bandwidth:.0f} % busy"
        said += f", its tensor cores {100 * use.compute:.0f} %"
        if word := recommend_text.overkill(one):
            said += f" ({word})"
    return said + "."


# ---------------------------------------------------------------- the link between GPUs


def link_shares(s: Scenario, gpus: Sequence[str]) -> dict[str, dict[int, tuple[float, float]]]:
    """Share of the time in which tensor-parallel GPUs exchange layers: {gpu: {count: (answer, prompt)}}."""
    alone = s.model_copy(update={**with_purpose(s, "one"), "format_freedom": "this"})
    table = recommend_load.stacked(alone)
    if isinstance(table, str):
        return {}
    row = {gpu: i for i, gpu in enumerate(table.cards.ids)}
    prompt = table.ways[0].prompt_link[0]  # [card, count] for one user
    told: dict[str, dict[int, tuple[float, float]]] = {}
    for gpu in gpus:
        if gpu not in row:
            continue
        by_count = {}
        for k, count in enumerate(COUNTS[:4]):
            at = np.flatnonzero((table.way == 0) & (table.users == 1) & (table.boards == count))[0]
            shares = float(table.use.link[row[gpu], at]), float(prompt[row[gpu], k])
            if count > 1 and shares[0] == shares[0]:
                by_count[count] = shares
        told[gpu] = by_count
    return told


def link_table(s: Scenario) -> dict[str, Any] | None:
    """What splitting by tensor parallel costs each pinned card for this model."""
    rows = []
    for gpu, by_count in link_shares(s, s.gpus).items():
        row = catalogue.spec_row(gpu)
        fast = fast_link_gpus(row)
        name = f"{row['interconnect']}" if fast else f"PCIe {_number(row['pcie_gen'], '') or '4 assumed'}"
        cells = [
            f"{100 * by_count[n][0]:.0f} %, {100 * by_count[n][1]:.0f} %" if n in by_count else "does not fit"
            for n in COUNTS[1:4]
        ]
        rows.append((catalogue.gpu_name(gpu), name, *cells))
    if not rows:
        return None
    return plain_table.table(
        "What the link costs in tensor parallel: share of the time in which the GPUs exchange parts of every "
        f"layer, of a whole request (prompt and answer), and of reading its "
        f"{s.prompt_tokens:,}-token prompt. "
        "Bridges join two GPUs; beyond that PCIe counts.",
        ("GPU", "Link", "2 GPUs: request, prompt", "4 GPUs", "8 GPUs"),
        rows,
    )


# ---------------------------------------------------------------- slices


@dataclass(frozen=True, slots=True)
class SliceRow:
    """One kind of slice and whether the scenario's model fits it for one user."""

    gpu: str
    name: str
    most: int
    memory_bytes: float
    measured: bool
    verdict: int

    @property
    def fits(self) -> bool:
        """Whether it surely fits."""
        return self.verdict == memory.FITS


@lru_cache(maxsize=32)
def slice_rows(s: Scenario, gpus: tuple[str, ...]) -> tuple[SliceRow, ...]:
    """Every slice of these GPUs; memory as listed, else the share of the GPU's usable memory."""
    load = workload.load(s)
    rows = []
    for gpu in gpus:
        card = mig.cards().get(gpu)
        for one in card.slices if card else ():
            whole = workload.pinned(gpu, 1)
            size = (
                one.gib * 2**30
                if one.gib
                else whole.capacity_bytes * one.memory / card.parts
                if card
                else 0.0
            )
            cut = workload.PinnedGpu(gpu, f"{whole.name} {one.name}", 1, size, "visible_bytes", False)
            deployment = load.deployment([cut], users=1)
            verdict = 0 if isinstance(deployment, str) else int(np.max(memory.estimate(deployment).verdict))
            rows.append(SliceRow(gpu, one.name, one.most, size, one.gib is not None, verdict))
    return tuple(rows)


def slice_table(s: Scenario, gpus: Sequence[str]) -> dict[str, Any] | None:
    """The slices of the cards that can be cut."""
    rows = [
        (
            f"{catalogue.gpu_name(row.gpu)} {row.name}",
            words.gib(row.memory_bytes) + ("" if row.measured else " (share of the GPU)"),
            f"{row.most}",
            ("does not fit", "tight", "fits")[row.verdict],
        )
        for row in slice_rows(s, tuple(gpus))
    ]
    if not rows:
        return None
    load = workload.load(s)
    notes = [f"Profiles: {mig.guide()[0]}. Memory: {card.memory_source}." for card in _sources(gpus)]
    return plain_table.table(
        f"MIG slices as small GPUs: {load.title} with one user of {s.max_model_len:,} tokens "
        f"in each. A slice "
        "has its share of memory and bandwidth to itself; slices cannot be joined.",
        ("Slice", "Memory a program sees", "At most", "Fits"),
        rows,
        list(dict.fromkeys(notes)),
    )


def _sources(gpus: Sequence[str]) -> list[mig.Card]:
    return [card for gpu in gpus if (card := mig.cards().get(gpu)) and card.memory_source]


# ---------------------------------------------------------------- the duel


@lru_cache(maxsize=8)
def duel_table(s: Scenario, today: date) -> dict[str, Any]:
    """Two to four cards side by side: specs, fit at four sizes, speed, cost, who should take which."""
    gpus = s.duel_gpus or Scenario.model_fields["duel_gpus"].default
    names = [catalogue.gpu_name(gpu) for gpu in gpus]
    rows: list[tuple[str, ...]] = []

    def add(title: str, cells: Sequence[str]) -> None:
        rows.append((title, *cells))

    specs = [catalogue.spec_row(gpu) for gpu in gpus]
    for title, column, unit in _SPECS:
        add(title, [_number(row[column], unit) or "not known" for row in specs])
    add(
        "Link",
        [str(row["interconnect"]) if fast_link_gpus(row) else "none known" for row in specs],
    )
    add(
        "MIG slices",
        [str(max(o.most for o in mig.cards()[g].slices)) if g in mig.cards() else "none" for g in gpus],
    )
    add("Price", [_price_with_quotes(gpu, s, today) for gpu in gpus])
    for model in SIZES:
        label = catalogue.model_names()[model].partition(" · ")[0]
        found = _sized(s, model, today)
        add(f"{label}: one user", [_duel_cell(found, gpu) for gpu in gpus])
    purposes = by_purpose(s, today)
    name = workload.load(s).name
    for p in COMPARED[1:]:
        add(f"{PURPOSES[p]}, {name}", [_duel_cell(purposes[p], gpu) for gpu in gpus])
    add(f"A million tokens, {name}", [_per_million(purposes["many"], gpu) for gpu in gpus])
    add(f"Holds back one user, {name}", [_held_back(purposes["one"], gpu) for gpu in gpus])
    for title, cells in measured(tuple(gpus)):
        add(title, cells)
    return plain_table.table(
        f"Side by side. Fit, speed and cost in {catalogue.weight_formats()[s.weight_format].label} with "
        f"{s.max_model_len:,} tokens of context; the fewest dollars that do it.",
        ("", *names),
        rows,
        takes(purposes, gpus),
    )


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
    return f"{cost_text.banded(money)} with {s.concurrency:,} users"


def _held_back(found: Recommendation, gpu: str) -> str:
    """Shares of the time of one user's request."""
    one = found.of(gpu)
    if one is None or one.reason:
        return "not known"
    use = one.use
    parts = [f"reading memory {100 * use.bandwidth:.0f} %", f"computing {100 * use.compute:.0f} %"]
    if use.link > 0.005:
        parts.append(f"between GPUs {100 * use.link:.0f} %")
    return ", ".join(parts)


_SPECS = (
    ("Memory", "memory_gb", " GB"),
    ("Bandwidth", "bandwidth_gb_per_s", " GB/s"),
    ("Dense FP16", "dense_fp16_tflops", " TFLOPS"),
    ("Dense FP8", "dense_fp8_tflops", " TFLOPS"),
    ("Board power", "tdp_w", " W"),
)


def _sized(s: Scenario, model: str, today: date) -> Recommendation:
    free = _plain(s).model_copy(update={"model": model, "config_json": "", **with_purpose(s, "one")})
    return recommend(free.model_copy(update={"least_tokens_per_s": 0.0}), today)


def _duel_cell(found: Recommendation, gpu: str) -> str:
    one = found.of(gpu)
    if found.refused:
        return words.cut(found.refused, 60)
    if one is None or one.reason:
        return words.cut(one.reason if one and one.reason else "not compared", 60)
    assert one.usd is not None
    money = f"{usd(float(one.usd.value))}{recommend_text.money_of(found.scenario)}"
    money = money if np.isfinite(one.usd.value) else "no price"
    apart = "" if one.offered else "; nobody quotes so many together"
    number = f"{one.gpus} GPU{'s' if one.gpus > 1 else ''}"
    return f"{number}: {recommend_text.speed_words(found.scenario, one)}, {money}{apart}"


def takes(purposes: dict[str, Recommendation], gpus: Sequence[str]) -> list[str]:
    """Who should take which card: the cheapest for each purpose, by how much, and what speaks against it."""
    won: dict[str, list[str]] = {}
    for p, found in purposes.items():
        known = sorted(
            (float(one.usd.value), k, one)
            for k, gpu in enumerate(gpus)
            if (one := found.of(gpu))
            and not one.reason
            and one.usd is not None
            and np.isfinite(one.usd.value)
        )
        if not known:
            continue
        first = known[0][2]
        if len(known) == 1:
            by = "the only one that does it at a known price"
        else:
            second = known[1][2]
            assert first.seconds is not None
            assert second.seconds is not None
            slower = float(first.seconds.value) / float(second.seconds.value)
            by = f"{known[1][0] / known[0][0]:.1f} times cheaper" if known[0][0] > 0 else "for nothing"
            by += f" than {second.name}" if len(gpus) > 2 and known[0][0] > 0 else ""
            by += f", {slower:.1f} times as slow" if slower > 1.5 else ""
        together = min(first.boards, TOGETHER.get(found.scenario.task, first.boards))
        by += "" if first.offered else f"; {together} in one machine, which nobody quotes"
        won.setdefault(first.gpu, []).append(f"{PURPOSES[p][:1].lower()}{PURPOSES[p][1:]} ({by})")
    return [f"Take {catalogue.gpu_name(gpu)} to: {'; '.join(what)}." for gpu, what in won.items()]


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
