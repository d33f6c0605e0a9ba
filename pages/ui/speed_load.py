"""How fast a scenario runs on many GPUs: looks up what `calculators.speed` takes and hands it over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calculators.kept import kept_by_identity
from calculators.memory.cache import batch_tokens
from calculators.scenario import Scenario
from calculators.speed import (
    GpuRates,
    ModelWork,
    ServingSpeed,
    SpeedRefused,
    Split,
    gpu_rates,
    model_work,
    serving_speed,
)
from calculators.speed.rates import UNKNOWN, stack
from calculators.speed.room import held_tokens, resident_sequences
from gpu_data.speed import speed_bands, speed_engine_like, speed_engines
from gpu_data.speed_schemas import SpeedEngine
from pages.ui import catalogue, words, workload

_work = kept_by_identity(256)(model_work)


def work_of(load: workload.Workload) -> ModelWork:
    """Bytes and operations of the workload's model in its formats."""
    return _work(load.architecture, load.weight_format, load.kv_format)


@dataclass(frozen=True)
class Speeds:
    """Speed of GPUs in the order given: `speed` has one value each, NaN where `refused` says why."""

    gpus: tuple[workload.PinnedGpu, ...]
    speed: ServingSpeed
    split: Split
    rates: GpuRates
    refused: tuple[str | None, ...]
    engine: SpeedEngine
    assumptions: tuple[str, ...]


def speeds(
    load: workload.Workload,
    gpus: Sequence[workload.PinnedGpu] | None = None,
    users: Any = None,
    streamed: bool = True,
) -> Speeds | str:
    """Speed of the workload on these GPUs (those pinned when None), or why there is none at all.

    One vectorised call for any mix of GPUs and counts: give `workload.pinned(gpu_id, boards)` for each pair.
    `users` replaces the scenario's concurrency; `streamed` is False for offline batches. A GPU on which the
    model does not fit or cannot run is NaN.
    """
    chosen = tuple(load.pinned if gpus is None else gpus)
    s = load.scenario
    engine = speed_engine_like(load.engine.id, load.engine.family)
    if engine is None:
        others = words.either([known.label for known in speed_engines()])
        return f"the speed of {load.engine.label} is not modelled: choose {others}"
    if not load.architecture.generates:
        return "the model is an encoder: it writes no tokens"
    if not chosen:
        return "no GPU is chosen"
    longest = s.prompt_tokens + s.output_tokens
    if longest > s.max_model_len:
        asked = f"a prompt of {words.count(s.prompt_tokens, 'token')} and an answer of {s.output_tokens:,}"
        return f"{asked} are longer than the context of {words.count(s.max_model_len, 'token')}"
    room = _room(s.model_copy(update=_NO_ROOM), chosen)
    resident, refused = room.resident, list(room.refused)
    key = (s.model, s.config_json) if load.weight_format.kind == "native" else ("", "")
    found: list[GpuRates] = []
    for i, gpu in enumerate(chosen):
        rates = _rates(gpu.id, load.weight_format.id, engine.half_accumulate, *key)
        if isinstance(rates, str):
            refused[i] = refused[i] or rates
            rates = UNKNOWN
        elif refused[i] is None and resident[i] < 1:
            refused[i] = "does not fit"
        found.append(UNKNOWN if refused[i] else rates)
    split, fleet = room.split, stack(found)
    speed = serving_speed(
        work_of(load),
        fleet,
        engine,
        speed_bands(),
        s.prompt_tokens,
        s.output_tokens,
        s.concurrency if users is None else users,
        resident,
        split,
        room.step_tokens,
        float(streamed),
    )
    notes = (*_assumptions(engine, speed), *fleet.assumptions)
    return Speeds(chosen, speed, split, fleet, tuple(refused), engine, notes)


@dataclass(frozen=True)
class _Room:
    """Requests that are held at once, tokens of a step, the split and why there is none, of GPUs in order."""

    resident: NDArray[np.float64]
    step_tokens: NDArray[np.float64]
    split: Split
    refused: tuple[str | None, ...]


_NO_ROOM = {  # no room depends on these: the same GPUs are asked again with other users
    name: Scenario.model_fields[name].default for name in ("concurrency", "map_gpu", "least_tokens_per_s")
}


@lru_cache(maxsize=64)
def _room(scenario: Scenario, chosen: tuple[workload.PinnedGpu, ...]) -> _Room:
    load = workload.load(scenario)
    engine = speed_engine_like(load.engine.id, load.engine.family)
    assert engine is not None
    held = held_tokens(engine, scenario.prompt_tokens, scenario.output_tokens)
    resident, step_tokens = np.zeros(len(chosen)), np.full(len(chosen), float(engine.chunk_tokens))
    tensor, layers = np.ones(len(chosen)), np.ones(len(chosen))
    refused: list[str | None] = [None] * len(chosen)
    place = {gpu: i for i, gpu in enumerate(chosen)}
    for group in load.alike(chosen):
        at = [place[gpu] for gpu in group]
        deployment = load.deployment(group, users=1)
        if isinstance(deployment, str):
            for i in at:
                refused[i] = deployment
            continue
        resident[at] = resident_sequences(deployment, engine, held)
        if deployment.engine.batch_defaults:
            step_tokens[at] = batch_tokens(deployment)
        parallel = deployment.tensor_parallel_size, deployment.pipeline_parallel_size
        tensor[at], layers[at] = (1, deployment.gpus) if engine.splits_by_layers else parallel
    return _Room(resident, step_tokens, Split(tensor, layers), tuple(refused))


def _assumptions(engine: SpeedEngine, speed: ServingSpeed) -> tuple[str, ...]:
    borrowed = [e.band is None or e.band.engine == "any" for e in (speed.tpot_s, speed.ttft_s)]
    notes = [f"{engine.label}: {engine.note}" if engine.note else ""]
    if any(borrowed):
        notes.append(f"Too few measurements of {engine.label} for a band of its own: that of all engines")
    return tuple(note for note in notes if note)


@lru_cache(maxsize=16384)
def _rates(gpu_id: str, format_id: str, half: bool, model: str, config_json: str) -> GpuRates | str:
    fmt = catalogue.weight_formats()[format_id]
    arch = workload.checkpoint(model, config_json)
    try:
        return gpu_rates(catalogue.spec_row(gpu_id), fmt, arch, half)
    except SpeedRefused as error:
        return error.reason
