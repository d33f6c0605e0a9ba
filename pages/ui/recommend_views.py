"""Training against inference as plain tables: each card by purpose, and what the link between GPUs costs."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from functools import lru_cache
from typing import Any

import numpy as np

from calculators.scenario import Scenario
from gpu_data import mig
from pages.ui import (
    catalogue,
    cost_text,
    plain_table,
    price_load,
    recommend_load,
    recommend_slices,
    recommend_text,
    words,
    workload,
)
from pages.ui.gpu_counts import COUNTS, fast_link_gpus
from pages.ui.recommend_load import Choice, Recommendation, recommend, with_purpose

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
_FREE = (
    "max_ttft_s", "cost_ceiling", "purchase_ceiling", "max_power_w", "max_gpus",
    "need_nvlink", "need_mig", "need_ecc", "place", "maker", "deadline_days", "objective", "format_freedom",
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


def without_limits(s: Scenario) -> Scenario:
    """The scenario without limits: every card is compared, by cost."""
    return _put_back(s, (*_FREE, "gpus", "duel_gpus", "recommend_view"))


def by_purpose(s: Scenario, today: date) -> dict[str, Recommendation]:
    """Every purpose for the model and load of the scenario."""
    free = without_limits(s)
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
    peak = number(row["dense_fp16_tflops"], " TFLOPS FP16")
    eight = number(row["dense_fp8_tflops"], " FP8")
    cut = mig.cards().get(gpu)
    most = f"up to {cut.slices[0].most} × {cut.slices[0].name}" if cut else recommend_slices.slices_words(gpu)
    parts = [
        f"{float(row['memory_gb']):g} GB",
        number(row["bandwidth_gb_per_s"], " GB/s"),
        f"{peak}{', ' + eight if eight else ''}",
        joined,
        f"MIG: {most}" if most else "",
        "ECC" if recommend_load.has_ecc(row) else "",
        price_words(gpu, s, today),
    ]
    return "; ".join(part for part in parts if part)


def number(value: Any, unit: str) -> str:
    """A whole figure of the spec frame with its unit; nothing where it is not known."""
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
    number = words.setup(one.boards, one.copies, "", one.cut if one.users_each else "")
    if not place or one.usd is None:
        return f"does it with {number}, no price"
    against = (", tight" if one.tight else "") + ("" if one.offered else ", no quote together")
    against += f", {one.unseen} measured" if one.unseen else ""
    against += ", stale price" if one.shaky else ""
    return f"no. {place}: {usd(float(one.usd.value))}, {number}{against}"


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
            thin = price_load.thin(one.best.rent)
            name = f"{one.best.name} (its price is {thin})" if thin else one.best.name
            first.setdefault(name, []).append(_SHORT[p])
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
        if recommend_text.waits(one):
            said += f"; {recommend_text.WAITS}"
    return said + "."


# ---------------------------------------------------------------- the link between GPUs


def link_shares(s: Scenario, gpus: Sequence[str]) -> dict[str, dict[int, tuple[float, float]]]:
    """Share of the time in which tensor-parallel GPUs exchange layers: {gpu: {count: (answer, prompt)}}."""
    alone = s.model_copy(update={**with_purpose(s, "one"), "format_freedom": "this"})
    table = recommend_load.stacked(alone)
    if isinstance(table, str):
        return {}
    row = {gpu: i for i, gpu in enumerate(table.cards.ids)}
    served = table.formats[0]
    told: dict[str, dict[int, tuple[float, float]]] = {}
    for gpu in gpus:
        if gpu not in row:
            continue
        by_count = {}
        for k, count in enumerate(COUNTS[:4]):
            i = row[gpu]
            shares = served.use_at(i, 0, k).link, served.prompt_link_at(i, k)  # for one user
            if count > 1 and shares[0] == shares[0]:
                by_count[count] = shares
        told[gpu] = by_count
    return told


def link_table(s: Scenario) -> dict[str, Any] | None:
    """What splitting by tensor parallel costs each pinned card for this model."""
    shares = link_shares(s, tuple(dict.fromkeys((*s.gpus, *LINKED))))
    pinned = {gpu: by_count for gpu, by_count in shares.items() if gpu in s.gpus}
    if not pinned:
        return None
    rows = [
        (
            f"{catalogue.gpu_name(gpu)}, {workload.load(s).title}",
            _link_name(gpu),
            *(_link_cell(by_count, n) for n in COUNTS[1:4]),
        )
        for gpu, by_count in pinned.items()
    ]
    return plain_table.table(
        f"{workload.load(s).title}, one user, tensor parallel: share of the time in which the GPUs exchange "
        f"parts of every layer, of a whole request (prompt and answer), and of reading its "
        f"{s.prompt_tokens:,}-token prompt. Bridges join two GPUs; beyond that PCIe counts.",
        ("GPU", "Link", "2 GPUs: request, prompt", "4 GPUs", "8 GPUs"),
        rows,
        [note for note in (_need_link(s, shares), _SLOW_CARDS) if note],
    )


LINKED = ("l40s-48gb", "a100-sxm4-80gb")  # one without a fast link, one with it
_SLOW_CARDS = (
    "A slower card shows a lower share of exchange because it computes and reads longer, not because its "
    "link is better: so does an L40S against an A100 over a whole answer."
)
MUCH = 0.1  # of the time: a difference that is worth a link


def _link_name(gpu: str) -> str:
    row = catalogue.spec_row(gpu)
    return (
        str(row["interconnect"])
        if fast_link_gpus(row)
        else f"PCIe {number(row['pcie_gen'], '') or '4 assumed'}"
    )


def _link_cell(by_count: dict[int, tuple[float, float]], gpus: int) -> str:
    if gpus not in by_count:
        return "does not fit"
    return ", ".join(f"{100 * share:.0f}\u00a0%" for share in by_count[gpus])


def _need_link(s: Scenario, shares: dict[str, dict[int, tuple[float, float]]]) -> str:
    """Whether this model needs a fast link, from the shares of a card without one and one with it."""
    without, joined = (shares.get(gpu, {}) for gpu in LINKED)
    both = [n for n in COUNTS[1:4] if n in without and n in joined]
    if not both:
        return ""
    differ = [[n for n in both if without[n][what] - joined[n][what] > MUCH] for what in (0, 1)]
    answers, prompts = (
        f"yes on {words.listed([str(n) for n in some])} GPUs" if some else "hardly" for some in differ
    )
    return (
        f"Do I need NVLink for {workload.load(s).title}? To read prompts fast: {prompts}. For whole "
        f"answers: {answers}. Of a prompt's time the exchange takes {_shares(both, 1, without, joined)}, of "
        f"a whole request's {_shares(both, 0, without, joined)}."
    )


def _shares(counts: Sequence[int], what: int, *cards: dict[int, tuple[float, float]]) -> str:
    """38, 64 and 81 % on 2, 4 and 8 × L40S 48GB against 3, 10 and 21 % on A100 SXM4 80GB."""
    gpus = words.listed([str(n) for n in counts])
    without, joined = (words.listed([f"{100 * card[n][what]:.0f}" for n in counts]) for card in cards)
    names = [catalogue.gpu_name(gpu) for gpu in LINKED]
    return f"{without}\u00a0% on {gpus} × {names[0]} against {joined}\u00a0% on {names[1]}"
