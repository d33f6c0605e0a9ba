"""Everything the live component looks up: every stop of both scrubbers, for every pinned GPU.

Numbers come from `calculators.memory`, one vectorised call per GPU and scrubber; this module arranges them
and puts them into sentences.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from calculators import memory
from calculators.scenario import MAX_CONCURRENCY, MAX_MODEL_LEN, Scenario
from pages.ui import words, workload

CONTEXT_STOPS = (
    *(256 * 2**octave * quarter for octave in range(10) for quarter in (4, 5, 6, 7)),
    MAX_MODEL_LEN,
)
USER_STOPS = (
    1,
    2,
    3,
    4,
    5,
    6,
    8,
    10,
    12,
    16,
    20,
    24,
    32,
    48,
    64,
    96,
    128,
    192,
    256,
    384,
    512,
    768,
    MAX_CONCURRENCY,
)
KEPT = 128  # scenarios: readers go back and forth
PARTS = ("Weights", "KV cache", "Activations", "Overhead")
HEADROOM_OF_SCALE = (
    1.3  # the bars' scale reaches past the largest capacity, so that what does not fit is seen
)
_NO_LIMIT = ("too small even", "tight even")
_STATES = ("does not fit", "tight", "fits")


@dataclass(frozen=True, slots=True)
class Column:
    """One GPU along one scrubber; arrays over the stops, bytes on the fullest GPU."""

    gpu: workload.PinnedGpu
    parts: np.ndarray  # [part, stop]
    needed: np.ndarray
    reserved: np.ndarray
    budget: np.ndarray
    headroom: np.ndarray
    verdict: np.ndarray  # 0 does not fit, 1 tight, 2 fits
    refused: str | None = None


def with_stop(stops: Sequence[int], value: int) -> tuple[int, ...]:
    """The stops and the value in use, which a link may have set between two of them."""
    return tuple(sorted({*stops, value}))


def columns_of(
    load: workload.Workload, gpus: Sequence[workload.PinnedGpu], tokens: Any, users: Any
) -> list[Column]:
    """Every GPU over the broadcast of `tokens` and `users`, in the order given."""
    shape = np.broadcast_shapes(np.shape(tokens), np.shape(users))
    found: dict[str, Column] = {}
    for group in load.alike(gpus):
        deployment = load.deployment(group, tokens, users)
        report = None if isinstance(deployment, str) else memory.estimate(deployment)
        refused = deployment if isinstance(deployment, str) else report.refused if report else None
        if report is None or refused:
            zero = np.zeros(shape)
            for gpu in group:
                parts, full = np.zeros((len(PARTS), *shape)), np.full(shape, gpu.capacity_bytes)
                found[gpu.id] = Column(gpu, parts, zero, zero, full, zero, zero.astype(int), refused)
            continue
        rows = (len(group), *shape)

        def spread(value: Any, rows: tuple[int, ...] = rows) -> np.ndarray:
            return np.broadcast_to(np.asarray(value), rows)

        parts = [
            spread(value)
            for value in (
                report.weights_bytes,
                report.kv_bytes,
                report.activation_bytes,
                report.overhead_bytes,
            )
        ]
        needed, reserved = spread(report.needed_bytes), spread(report.reserved_bytes)
        budget, headroom = spread(report.budget_bytes), spread(report.headroom_bytes)
        verdict = spread(report.verdict)
        for i, gpu in enumerate(group):
            stack = np.stack([part[i] for part in parts])
            found[gpu.id] = Column(gpu, stack, needed[i], reserved[i], budget[i], headroom[i], verdict[i])
    return [found[gpu.id] for gpu in gpus]


def limits_of(
    load: workload.Workload,
    gpus: Sequence[workload.PinnedGpu],
    largest: Callable[[memory.Deployment], Any],
) -> dict[str, int]:
    """The largest value of one scrubber that surely fits on each GPU, as `largest` finds it; 0 for none."""
    found: dict[str, int] = {}
    for group in load.alike(gpus):
        deployment = load.deployment(group)
        if not isinstance(deployment, str):
            values = np.broadcast_to(largest(deployment), len(group)).tolist()
            found |= {gpu.id: value for gpu, value in zip(group, values, strict=True)}
    return found


def _safe_tokens(tokens: int, shortest: int, window: int | None) -> str:
    """How long a context is sure to fit; `shortest` is the verdict at the shortest stop."""
    if not tokens:
        return f"{_NO_LIMIT[shortest > 0]} at the shortest context"
    if window and tokens >= window:
        return f"safe up to its whole window of {words.count(window, 'token')}"
    return f"safe up to {words.count(tokens, 'token')}"


def _safe_users(users: int, alone: int) -> str:
    """How many users are sure to fit; `alone` is the verdict for one."""
    if not users:
        return f"{_NO_LIMIT[alone > 0]} for one user"
    return f"safe up to {words.count(users, 'user')}"


def best_gpu(columns: Sequence[Column], stop: int) -> int:
    """The GPU of the sentence: the smallest that fits, else the smallest that is tight, else the nearest."""
    order = range(len(columns))
    for state in (2, 1):
        able = [i for i in order if columns[i].verdict[stop] == state and not columns[i].refused]
        if able:
            return min(able, key=lambda i: columns[i].gpu.capacity_bytes)
    possible = [i for i in order if not columns[i].refused] or list(order)
    return max(possible, key=lambda i: columns[i].headroom[stop])


def sentence(
    load: workload.Workload, columns: Sequence[Column], stop: int, reach: Mapping[str, str], each: str
) -> tuple[int, str]:
    """The verdict at one stop, for the GPU that matters most: (state, words).

    `reach` says for each GPU how far it goes; `each` names the users when there are several.
    """
    if not columns:
        return 0, "Pin a GPU to see whether the model fits."
    best = columns[best_gpu(columns, stop)]
    what, where = load.title, best.gpu.title
    if best.refused:
        return 0, f"{what} cannot run on {where}: {best.refused}"
    state = int(best.verdict[stop])
    spare = words.gib(abs(best.headroom[stop]))
    if state == 2:
        far = reach[best.gpu.id].replace("safe up", "safely up", 1)
        return 2, f"{what} fits on {where} with {spare} to spare, {far}{each}"
    if state == 1:
        sign = "left" if best.headroom[stop] >= 0 else "too little"
        return 1, f"{what} is tight on {where}{each}: {spare} {sign}, less than the estimate can tell"
    only = where if len(columns) == 1 else f"any pinned GPU{each}; {where} comes nearest"
    return 0, f"{what} does not fit on {only}, {spare} short"


def also(columns: Sequence[Column], stop: int) -> str:
    """What holds for all pinned GPUs at one stop."""
    if len(columns) < 2:
        return ""
    groups = [
        (label, [c.gpu.name for c in columns if not c.refused and c.verdict[stop] == state])
        for state, label in ((2, "Fits on"), (1, "Tight on"), (0, "Does not fit on"))
    ]
    refused = [c.gpu.name for c in columns if c.refused]
    said = [
        f"{label} {words.listed(names)}." for label, names in [*groups, ("Not possible on", refused)] if names
    ]
    return " ".join(said)


def zones(columns: Sequence[Column], stops: int) -> list[tuple[str, int, int]]:
    """Stretches of a track in which the same holds: (all | some | tight | none, first, last stop)."""
    found: list[tuple[str, int, int]] = []
    for stop in range(stops):
        states = [0 if c.refused else int(c.verdict[stop]) for c in columns]
        best, worst = max(states, default=0), min(states, default=0)
        zone = "all" if worst == 2 else "some" if best == 2 else "tight" if best == 1 else "none"
        if found and found[-1][0] == zone:
            found[-1] = (zone, found[-1][1], stop)
        else:
            found.append((zone, stop, stop))
    return found


def zone_words(found: Sequence[tuple[str, int, int]], texts: Sequence[str], several: bool) -> str:
    """The zones of a track in words."""
    said = {
        "all": "fits on every pinned GPU",
        "some": "fits on some",
        "tight": "tight",
        "none": "fits on none",
    }
    if not several:
        said |= {"all": "fits", "none": "does not fit"}
    last = len(texts) - 1
    parts = []
    for zone, first, end in found:
        if first == 0 and end == last:
            parts.append(f"{said[zone]} at every stop")
        elif end == last:
            parts.append(f"{said[zone]} from {texts[first]}")
        else:
            parts.append(f"{said[zone]} up to {texts[end]}")
    text = ", ".join(parts)
    return f"{text[0].upper()}{text[1:]}."


def _ticks(stops: Sequence[int], wanted: Sequence[int]) -> Iterator[tuple[int, str]]:
    for value in wanted:
        if value in stops:
            yield stops.index(value), words.short_count(value)


def track(
    load: workload.Workload,
    columns: Sequence[Column],
    *,
    label: str,
    exact: str,
    step: int,
    stops: tuple[int, ...],
    noun: str,
    reach: Mapping[str, str],
    each: str,
    ticks: Sequence[int],
    remark: str = "",
) -> dict[str, Any]:
    """One scrubber's whole track, ready to be looked up; it is the same wherever the scrubber stands.

    `reach` says how far each GPU goes along this scrubber; `each` is the ending of its sentences.
    """
    every = range(len(stops))
    sentences = [sentence(load, columns, i, reach, each) for i in every]
    texts = [words.count(value, noun) for value in stops]
    found = zones(columns, len(stops))
    return {
        "label": label,
        "exact": exact,
        "unit": f"{noun}s",
        "step": step,
        "most": stops[-1],
        "stops": list(stops),
        "texts": texts,
        "ticks": list(_ticks(stops, ticks)),
        "zones": found if columns else [],
        "note": (zone_words(found, texts, len(columns) > 1) if columns else "") + remark,
        "sentences": [text for _, text in sentences],
        "best": [state for state, _ in sentences],
        "also": [also(columns, i) for i in every],
        "gib": _gib_by_stop([c.parts for c in columns], len(stops)),
        "needed": _gib_by_stop([c.needed for c in columns], len(stops)),
        "reserved": _gib_by_stop([c.reserved for c in columns], len(stops)),
        "verdicts": [[0 if c.refused else int(c.verdict[i]) for c in columns] for i in every],
        "said": [[_said(c, i) for c in columns] for i in every],
        "more": [[_more(c, i, reach) for c in columns] for i in every],
    }


def _gib_by_stop(columns: Sequence[np.ndarray], stops: int) -> list[list[Any]]:
    """Bytes of every GPU, stops on the last axis, as GiB with the stops first."""
    if not columns:
        return [[] for _ in range(stops)]
    return np.round(np.moveaxis(np.stack(columns), -1, 0) / words.GIB, 3).tolist()


def _said(c: Column, stop: int) -> str:
    if c.refused:
        return "not possible"
    state = int(c.verdict[stop])
    return f"{_STATES[state]}, {words.room(state, float(c.headroom[stop]))}"


def _more(c: Column, stop: int, reach: Mapping[str, str]) -> str:
    if c.refused:
        return c.refused
    return f"needs {words.gib(c.needed[stop])} · {reach[c.gpu.id]}"


@dataclass(frozen=True, slots=True)
class Along:
    """One scrubber: GPUs along its stops, the largest value that surely fits on each, in words, its track."""

    stops: tuple[int, ...]
    columns: tuple[Column, ...]
    limits: Mapping[str, int]
    reach: Mapping[str, str]
    track: Mapping[str, Any]

    def at(self, value: int, reach_here: Mapping[str, str]) -> dict[str, Any]:
        """The track with its scrubber at a value; there `reach_here` says how far each GPU goes."""
        here = self.stops.index(value)
        more = list(self.track["more"])
        more[here] = [_more(column, here, reach_here) for column in self.columns]
        return {**self.track, "index": here, "more": more}


@lru_cache(maxsize=KEPT)
def _by_tokens(scenario: Scenario, stops: tuple[int, ...]) -> Along:
    """Along the context, at the scenario's users; its own context plays no part."""
    load = workload.load(scenario)
    gpus, users = load.pinned, scenario.concurrency
    columns = columns_of(load, gpus, np.array(stops, dtype=np.int64), users)
    limits = limits_of(load, gpus, memory.max_model_len_that_fits)
    window = load.architecture.max_position_embeddings
    shortest = {c.gpu.id: int(c.verdict[0]) for c in columns}
    reach = {gpu: _safe_tokens(limit, shortest[gpu], window) for gpu, limit in limits.items()}
    found = track(
        load,
        columns,
        label="Context per user (max_model_len)",
        exact="Context (max_model_len)",
        step=1024,
        stops=stops,
        noun="token",
        reach=reach,
        each=f" for each of {users:,} users" if users > 1 else "",
        ticks=(1024, 4096, 16384, 65536, 262144, MAX_MODEL_LEN),
        remark=f" The model's own window: {words.count(window, 'token')}." if window else "",
    )
    return Along(stops, tuple(columns), limits, reach, found)


@lru_cache(maxsize=KEPT)
def _by_users(scenario: Scenario, stops: tuple[int, ...]) -> Along:
    """Along the users, at the scenario's context; its own users play no part."""
    load = workload.load(scenario)
    gpus, tokens = load.pinned, scenario.max_model_len
    columns = columns_of(load, gpus, tokens, np.array(stops, dtype=np.int64))
    limits = limits_of(load, gpus, memory.max_concurrency_that_fits)
    alone = {c.gpu.id: int(c.verdict[0]) for c in columns}
    reach = {gpu: _safe_users(limit, alone[gpu]) for gpu, limit in limits.items()}
    found = track(
        load,
        columns,
        label="Users at once",
        exact="Users at once",
        step=1,
        stops=stops,
        noun="user",
        reach=reach,
        each=f" at {words.count(tokens, 'token')} each",
        ticks=(1, 4, 16, 64, 256, MAX_CONCURRENCY),
    )
    return Along(stops, tuple(columns), limits, reach, found)


def without(scenario: Scenario, *fields: str) -> Scenario:
    """The scenario with some fields back at their defaults: the key of what does not depend on them."""
    return scenario.model_copy(update={name: Scenario.model_fields[name].default for name in fields})


@dataclass(frozen=True, slots=True)
class Tracks:
    """What the live component takes, and the GPU that its sentence is about."""

    data: dict[str, Any]
    verdict_gpu: workload.PinnedGpu | None


def build(load: workload.Workload) -> Tracks:
    """Both tracks, and what does not change along them."""
    gpus, scenario = load.pinned, load.scenario
    tokens, users = scenario.max_model_len, scenario.concurrency
    by_tokens = _by_tokens(without(scenario, "max_model_len", "map_gpu"), with_stop(CONTEXT_STOPS, tokens))
    by_users = _by_users(without(scenario, "concurrency", "map_gpu"), with_stop(USER_STOPS, users))
    both = {
        gpu: f"{reach} or {words.count(by_users.limits[gpu], 'user')}"
        if by_users.limits[gpu] and by_tokens.limits[gpu]
        else reach
        for gpu, reach in by_tokens.reach.items()
    }
    largest = max((gpu.capacity_bytes for gpu in gpus), default=words.GIB)
    columns = by_tokens.columns
    best = columns[best_gpu(columns, by_tokens.stops.index(tokens))].gpu if columns else None
    data = {
        "parts": list(PARTS),
        "marks": [
            ["line", "what the GPU has"],
            ["dash", "what the engine may use"],
            ["held", "what the engine reserves"],
        ],
        "scale": round(HEADROOM_OF_SCALE * largest / words.GIB, 3),
        "gpus": [
            {
                "name": c.gpu.title,
                "memory": words.gib(c.gpu.capacity_bytes) + (" each" if c.gpu.devices > 1 else ""),
                "remark": "stored smaller, computed in 16-bit"
                if not c.refused and load.support(c.gpu.id, load.weight_format).state == "storage"
                else "",
                "capacity": round(c.gpu.capacity_bytes / words.GIB, 3),
                "budget": round(float(c.budget[0]) / words.GIB, 3),
            }
            for c in columns
        ],
        "tracks": {"context": by_tokens.at(tokens, both), "users": by_users.at(users, both)},
    }
    return Tracks(data, best)
