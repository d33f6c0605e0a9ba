"""How fast a scenario runs on many GPUs: looks up what `calculators.speed` takes and hands it over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calculators import memory
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
from calculators.speed.room import held_tokens, sequence_limit, sequences_that_fit
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


@dataclass(frozen=True)
class Deployed:
    """A model on GPUs of any kind and count: arrays [gpu], in the order given.

    verdict: memory for each number of users asked about [users, gpu], filled: the need over the capacity;
    resident: requests that are held at once; step_tokens: of one step; refused: why a GPU has no speed.
    """

    gpus: tuple[workload.PinnedGpu, ...]
    verdict: NDArray[np.int8]
    filled: NDArray[np.float64]
    resident: NDArray[np.float64]
    step_tokens: NDArray[np.float64]
    split: Split
    rates: GpuRates
    refused: tuple[str | None, ...]

    def only(self, at: NDArray[np.int64]) -> Deployed:
        """Some of the GPUs, by their places."""
        split = self.split
        return Deployed(
            tuple(self.gpus[i] for i in at),
            self.verdict[:, at],
            self.filled[:, at],
            self.resident[at],
            self.step_tokens[at],
            Split(np.asarray(split.tensor_parallel_size)[at], np.asarray(split.layer_gpus)[at]),
            _rates_at(self.rates, at),
            tuple(self.refused[i] for i in at),
        )

    def beside(self, other: Deployed) -> Deployed:
        """These GPUs, and others behind them."""

        def both(name: str, of: Any = self, more: Any = other) -> NDArray[Any]:
            return np.concatenate((getattr(of, name), getattr(more, name)), axis=-1)

        splits = (self.split, other.split)
        arrays = {name: both(name, self.rates, other.rates) for name in _RATES}
        return Deployed(
            self.gpus + other.gpus,
            both("verdict"),
            both("filled"),
            both("resident"),
            both("step_tokens"),
            Split(both("tensor_parallel_size", *splits), both("layer_gpus", *splits)),
            replace(
                self.rates,
                **arrays,
                computed_in=(*self.rates.computed_in, *other.rates.computed_in),
                assumptions=tuple(dict.fromkeys(self.rates.assumptions + other.rates.assumptions)),
            ),
            self.refused + other.refused,
        )


_RATES = tuple(field.name for field in fields(GpuRates) if field.name not in ("computed_in", "assumptions"))


def _rates_at(rates: GpuRates, at: NDArray[np.int64]) -> GpuRates:
    """Rates of some places of a stack; the notes of all."""
    arrays = {name: np.asarray(getattr(rates, name))[at] for name in _RATES}
    return replace(rates, **arrays, computed_in=tuple(rates.computed_in[i] for i in at))


def unmodelled(load: workload.Workload, gpus: Sequence[workload.PinnedGpu]) -> str | None:
    """Why the workload has no speed on any of the GPUs; None when it may have one."""
    s = load.scenario
    if speed_engine_like(load.engine.id, load.engine.family) is None:
        others = words.either([known.label for known in speed_engines()])
        return f"the speed of {load.engine.label} is not modelled: choose {others}"
    if not load.architecture.generates:
        return "the model is an encoder: it writes no tokens"
    if not gpus:
        return "no GPU is chosen"
    if s.prompt_tokens + s.output_tokens > s.max_model_len:
        asked = f"a prompt of {words.count(s.prompt_tokens, 'token')} and an answer of {s.output_tokens:,}"
        return f"{asked} are longer than the context of {words.count(s.max_model_len, 'token')}"
    return None


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
    if why := unmodelled(load, chosen):
        return why
    return speeds_of(load, deployed(load, chosen), users, streamed)


def speeds_of(load: workload.Workload, on: Deployed, users: Any = None, streamed: bool = True) -> Speeds:
    """Speed of a workload that is not `unmodelled`, as it is `deployed`."""
    s, engine = load.scenario, _engine(load)
    speed = serving_speed(
        work_of(load),
        on.rates,
        engine,
        speed_bands(),
        s.prompt_tokens,
        s.output_tokens,
        s.concurrency if users is None else users,
        on.resident,
        on.split,
        on.step_tokens,
        float(streamed),
    )
    notes = (*_assumptions(engine, speed), *on.rates.assumptions)
    return Speeds(on.gpus, speed, on.split, on.rates, on.refused, engine, notes)


def deployed(
    load: workload.Workload, gpus: Sequence[workload.PinnedGpu], users: Sequence[int] = ()
) -> Deployed:
    """The workload on these GPUs, and its memory for each number of `users`.

    What does not depend on the tokens or the users is kept: the same GPUs are asked again with others.
    """
    s = load.scenario
    placed = _placed(s.model_copy(update=_UNUSED), tuple(gpus))
    room = _room(placed, s.max_model_len, tuple(users))
    held = held_tokens(placed.engine, s.prompt_tokens, s.output_tokens)
    each = _request_bytes(placed, max(int(held), 1))
    resident = sequences_that_fit(room.pool_bytes, each, room.most_sequences)
    few = resident < 1
    refused = tuple(
        why or ("does not fit" if no_room else None)
        for why, no_room in zip(placed.refused, few.tolist(), strict=True)
    )
    known = ~few & placed.known
    notes = dict.fromkeys(text for i, texts in placed.notes.items() if known[i] for text in texts)
    rates = _rates_at(placed.rates, np.where(known, np.arange(len(known)), -1))
    return Deployed(
        placed.gpus,
        room.verdict,
        room.filled,
        resident,
        room.step_tokens,
        placed.split,
        replace(rates, assumptions=tuple(notes)),
        refused,
    )


_UNUSED = {  # what `deployed` does not depend on, or is told beside the scenario
    name: Scenario.model_fields[name].default
    for name in (
        "concurrency", "max_model_len", "prompt_tokens", "output_tokens", "map_gpu", "least_tokens_per_s",
    )
}  # fmt: skip
_Gpus = tuple[workload.PinnedGpu, ...]


@dataclass(frozen=True, eq=False)
class _Placed:
    """How a model is cut over GPUs in order, or why not, whatever the tokens and users.

    groups: places of GPUs that one call can take, and the call, with an axis for users; not of those refused.
    rates: of all, and behind them that of a GPU without any; notes: on those of some, by place. known: which
    are not refused.
    """

    gpus: _Gpus
    engine: SpeedEngine
    groups: tuple[tuple[NDArray[np.int64], memory.Deployment], ...]
    split: Split
    rates: GpuRates
    notes: dict[int, tuple[str, ...]]
    refused: tuple[str | None, ...]
    known: NDArray[np.bool_]


@lru_cache(maxsize=64)
def _placed(scenario: Scenario, chosen: _Gpus) -> _Placed:
    load = workload.load(scenario)
    engine = _engine(load)
    tensor, layers = np.ones(len(chosen)), np.ones(len(chosen))
    refused: list[str | None] = [None] * len(chosen)
    place = {gpu: i for i, gpu in enumerate(chosen)}
    groups = []
    for group in load.alike(chosen):
        at = np.array([place[gpu] for gpu in group])
        deployment = load.deployment(group, users=np.ones(1))
        if isinstance(deployment, str):
            for i in at:
                refused[i] = deployment
            continue
        groups.append((at, deployment))
        parallel = deployment.tensor_parallel_size, deployment.pipeline_parallel_size
        tensor[at], layers[at] = (1, deployment.gpus) if engine.splits_by_layers else parallel
    key = (scenario.model, scenario.config_json) if load.weight_format.kind == "native" else ("", "")
    rates = []
    for i, gpu in enumerate(chosen):
        found = _rates(gpu.id, load.weight_format.id, engine.half_accumulate, *key)
        if isinstance(found, str):
            refused[i] = refused[i] or found
            found = UNKNOWN
        rates.append(found)
    return _Placed(
        chosen,
        engine,
        tuple(groups),
        Split(tensor, layers),
        stack((*rates, UNKNOWN)),
        {i: one.assumptions for i, one in enumerate(rates) if one.assumptions},
        tuple(refused),
        np.array([why is None for why in refused], dtype=bool),
    )


@dataclass(frozen=True)
class _Room:
    """Memory of GPUs in order: what is left for the cache, most sequences at once, tokens of a step.

    Nothing on those that are refused. verdict, filled (need over capacity): for each number of users asked
    about [users, gpu].
    """

    verdict: NDArray[np.int8]
    filled: NDArray[np.float64]
    pool_bytes: NDArray[np.float64]
    most_sequences: NDArray[np.float64]
    step_tokens: NDArray[np.float64]


@lru_cache(maxsize=64)
def _room(placed: _Placed, max_model_len: int, users: tuple[int, ...]) -> _Room:
    engine, count = placed.engine, len(placed.gpus)
    asked = np.array((1, *users))  # the pool is that of a server as it starts, with one user
    verdict, filled = np.zeros((len(users), count), np.int8), np.full((len(users), count), np.nan)
    pool, most = np.zeros(count), np.zeros(count)
    step_tokens = np.full(count, float(engine.chunk_tokens))
    for at, group in placed.groups:
        deployment = group.but(max_model_len=max_model_len, concurrency=asked)
        report = memory.estimate(deployment)
        pool[at] = _first(memory.pool_bytes(report))
        most[at] = _first(sequence_limit(deployment, engine))
        if deployment.engine.batch_defaults:
            step_tokens[at] = _first(batch_tokens(deployment))
        if report.refused is None:
            shape = (len(at), len(asked))
            verdict[:, at] = np.broadcast_to(report.verdict, shape)[:, 1:].T
            share = np.asarray(report.needed_bytes) / np.asarray(report.capacity_bytes)
            filled[:, at] = np.broadcast_to(share, shape)[:, 1:].T
    return _Room(verdict, filled, pool, most, step_tokens)


@lru_cache(maxsize=64)
def _request_bytes(placed: _Placed, tokens: int) -> NDArray[np.float64]:
    """What one request of so many tokens keeps in the cache of each GPU [byte]."""
    found = np.zeros(len(placed.gpus))
    for at, group in placed.groups:
        found[at] = _first(memory.estimate(group.but(max_model_len=tokens)).kv_bytes)
    return found


def _first(values: Any) -> Any:
    """What holds for the first number of users: of values [gpu, users], or of one for all."""
    values = np.asarray(values)
    return values[..., 0] if values.ndim else values


def _engine(load: workload.Workload) -> SpeedEngine:
    engine = speed_engine_like(load.engine.id, load.engine.family)
    assert engine is not None
    return engine


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
