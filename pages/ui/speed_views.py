"""How fast the model runs on the pinned GPUs, as plain data: rows in words, and the formulas of one GPU."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, fields, replace
from typing import Any, Final

import numpy as np

from calculators.scenario import Scenario
from calculators.speed import BINDS, GpuRates, ServingSpeed, Split, Step
from calculators.speed.bands import Estimate
from calculators.speed.explain import SpeedTerm, decode_terms, prompt_terms
from gpu_data.speed_schemas import SpeedEngine
from pages.ui import speed_load, words, workload
from pages.ui.compare_text import DASH

TITLES: Final = ("GPU", "Each user", "All users", "First token after", "Held back by", "At most")
MUCH = 0.25  # of a user's time per token: said beside what holds it back
MOST = 0.5  # from here on it is what holds back
HELD: Final = {
    "moving": "memory bandwidth",
    "computing": "computing",
    "communication": "the link between GPUs",
    "fixed cost": "the engine's fixed time per step, not the card",
}


@dataclass(frozen=True)
class SpeedRows:
    """What the table says; `rows` go with TITLES, `notes` stand below; `reason` instead of all of it."""

    caption: str
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...]
    reason: str = ""


def speed_rows(
    load: workload.Workload, too_small: Collection[str] = (), found: speed_load.Speeds | str | None = None
) -> SpeedRows:
    """Speed of every pinned GPU in words, each figure with its 80 % band.

    `too_small` names GPUs that cannot hold the context and users asked for: they have no speed here, though
    a server could take shorter requests or let users wait. `found`: the speeds, where they are known already.
    """
    found = speed_load.speeds(load) if found is None else found
    if isinstance(found, str):
        return SpeedRows("", (), (), f"No speed: {words.plain(found)}.")
    s, speed = load.scenario, found.speed
    rows = []
    for i, gpu in enumerate(found.gpus):
        small = "does not fit with this context and these users" if gpu.id in too_small else ""
        if reason := found.refused[i] or small:
            rows.append((gpu.title, DASH, DASH, DASH, reason, DASH))
            continue
        most = int(speed.users_at_most[i])
        rows.append(
            (
                gpu.title,
                f"{_figure(speed.tokens_per_s, i)} tokens/s",
                f"{_figure(speed.output_tokens_per_s, i)} tokens/s",
                _time(speed.ttft_s, i),
                _held(speed, i) + _waiting(s.concurrency, float(speed.running[i])),
                f"{_figure(speed.max_output_tokens_per_s, i)} tokens/s, {words.count(most, 'user')}",
            )
        )
    users = "one user" if s.concurrency == 1 else f"{s.concurrency:,} users at once"
    caption = (
        f"{load.title} under {found.engine.label} with {users}: prompts of "
        f"{words.count(s.prompt_tokens, 'token')}, answers of {s.output_tokens:,}, not the full context: set "
        "their lengths beside the model, longer ones are slower. Brackets hold four of five measurements."
    )
    return SpeedRows(caption, tuple(rows), tuple(f"{note}." for note in found.assumptions))


def term_rows(
    load: workload.Workload, gpu_id: str = "", found: speed_load.Speeds | str | None = None
) -> tuple[str, tuple[str, ...], list[tuple[str, ...]], tuple[str, ...]]:
    """(caption, titles, rows, notes) of the formulas on one pinned GPU, the first with a speed when none is
    named.
    """
    titles = ("Addend", "ms", "Formula", "With numbers", "Source")
    found = speed_load.speeds(load) if found is None else found
    able = [] if isinstance(found, str) else [i for i, why in enumerate(found.refused) if why is None]
    if isinstance(found, str) or not able:
        return "No pinned GPU has a speed.", titles, [], ()
    named = next((i for i, gpu in enumerate(found.gpus) if gpu.id == gpu_id), able[0])
    if named not in able:
        return f"{found.gpus[named].title} has no speed: {found.refused[named]}.", titles, [], ()
    chosen = named
    s, work, engine = load.scenario, speed_load.work_of(load), found.engine
    rates, split = one_gpu(found.rates, chosen), one_split(found.split, chosen)
    stages = 1.0 if engine.splits_by_layers else float(np.asarray(split.layer_gpus))
    running = float(found.speed.running[chosen])
    group = max(running / stages, 1.0)
    step, prompt = one_step(found.speed.step, chosen), one_step(found.speed.prompt, chosen)
    context = s.prompt_tokens + s.output_tokens / 2
    others = float(_at(found.speed.token.prompts_s, chosen))
    rows = [
        *_lines("Decode: ", decode_terms(work, rates, engine, group, context, split, step)),
        _sum("Decode step", step),
        *_per_token(found.engine, float(step.total), others, group, s),
        *_lines("Prompt: ", prompt_terms(work, rates, engine, s.prompt_tokens, split, prompt)),
        _sum("Prompt read", prompt),
    ]
    caption = (
        f"{found.gpus[chosen].title}: one decode step of {words.count(round(group), 'sequence')} at a mean "
        f"context of {context:,.0f} tokens, and one prompt of {s.prompt_tokens:,} read alone."
    )
    return caption, titles, rows, ()


def _per_token(
    engine: SpeedEngine, step_s: float, others_s: float, group: float, s: Scenario
) -> list[tuple[str, ...]]:
    """What a user waits for from token to token: the step, and the prompts of those who come meanwhile."""
    total = "Time per token", f"{(step_s + others_s) * 1e3:,.3f}"
    step, others = f"{step_s * 1e3:,.3f}", f"{others_s * 1e3:,.3f}"
    if others_s <= 0:
        return [(*total, "decode step", step, "sum")]
    how = "read in the same steps" if engine.mixes_prefill else "read between the steps"
    prompts = f"{group:,.0f} prompts of {s.prompt_tokens:,} tokens every {s.output_tokens:,} steps, {how}"
    return [
        ("Prompts of other users", others, "sequences ÷ answer length × prompt", prompts,
         "every answer that ends makes room for a next prompt"),
        (*total, "decode step + prompts of other users", f"{step} + {others}", "sum"),
    ]  # fmt: skip


TOTAL: Final = (
    "the larger of reading and multiplying (weights, then experts) + the larger of reading and computing "
    "(attention) + the rest"
)


def _sum(name: str, step: Step) -> tuple[str, ...]:
    """The line of a whole step: what of its addends counts."""
    pairs = (
        (step.read_weights, step.multiply),
        (step.read_experts, step.multiply_experts),
        (step.read_cache, step.attend),
    )
    parts = [max(float(a), float(b)) for a, b in pairs]
    parts += [float(np.asarray(part)) for part in (step.unpack, step.communication, step.fixed)]
    shown = " + ".join(f"{part * 1e3:,.3f}" for part in parts if part > 0)
    return name, f"{float(step.total) * 1e3:,.3f}", TOTAL, shown, "sum"


def _lines(prefix: str, terms: tuple[SpeedTerm, ...]) -> list[tuple[str, ...]]:
    return [
        (
            f"{prefix}{term.name.lower()}",
            f"{term.seconds * 1e3:,.3f}",
            term.formula,
            term.substituted,
            term.source,
        )
        for term in terms
    ]


def _at(values: Any, i: int) -> Any:
    array = np.asarray(values)
    return array if array.ndim == 0 else array[i]


def one_gpu(rates: GpuRates, i: int) -> GpuRates:
    """One GPU of several."""
    words_of = ("computed_in", "assumptions")
    changed = {f.name: _at(getattr(rates, f.name), i) for f in fields(rates) if f.name not in words_of}
    return replace(rates, **changed, computed_in=rates.computed_in[i])


def one_split(split: Split, i: int) -> Split:
    """The split of one GPU of several."""
    return Split(**{f.name: _at(getattr(split, f.name), i) for f in fields(split)})


def one_step(step: Step, i: int) -> Step:
    """The step of one GPU of several."""
    return Step(**{f.name: _at(getattr(step, f.name), i) for f in fields(step)})


def _number(value: float) -> str:
    return f"{value:#.2g}" if value < 9.95 else f"{value:,.0f}"


def _figure(estimate: Estimate, i: int) -> str:
    """Value and band: 73 (63 to 81)."""
    return f"{_number(estimate.value[i])} ({_number(estimate.low[i])} to {_number(estimate.high[i])})"


def _time(estimate: Estimate, i: int) -> str:
    """The same of seconds, in ms when short."""
    factor, unit = (1e3, "ms") if estimate.value[i] < 1 else (1.0, "s")
    parts = [_number(float(values[i]) * factor) for values in (estimate.value, estimate.low, estimate.high)]
    return f"{parts[0]} ({parts[1]} to {parts[2]}) {unit}"


def _held(speed: ServingSpeed, i: int) -> str:
    """What takes most of a user's time per token first: a step's own limit, or the prompts of others."""
    step = HELD[BINDS[int(speed.binds[i])]]
    share = float(_at(speed.token.prompts_s, i)) / float(_at(speed.token.total, i))
    percent = f"{100 * share:.0f} % of the time"
    if share >= MOST:
        return f"prompts of others, {percent}; in the rest {step}"
    return f"{step}; {percent} goes to prompts of others" if share >= MUCH else step


def _waiting(users: int, running: float) -> str:
    """How many users wait for room."""
    waits = users - int(running)
    return f"; {waits:,} of {users:,} users wait" if waits >= 1 and running < users else ""
