"""Everything the live component looks up for a fine-tune or a training run: every stop of both scrubbers.

Numbers come from `calculators.training`, one vectorised call per scrubber; this module arranges them and puts
them into sentences. The data has the form that `scrubber.draw` takes for serving.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calculators.memory import FITS, TIGHT
from calculators.scenario import MAX_MICRO_BATCH, Scenario
from calculators.training import MEMORY_PARTS, Many, usual_accumulation
from gpu_data.training import training_tables
from pages.ui import catalogue, words, workload
from pages.ui.tracks import KEPT, without, zone_words
from pages.ui.training_load import TrainingLoad, load, too_large_batch, way_on

SEQ_STOPS = tuple(256 * 2**octave * half // 2 for octave in range(10) for half in (2, 3))  # 256 to 196,608
MICRO_STOPS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128)
GPU_STOPS = (1, 2, 4, *(8 * 2**octave * half // 2 for octave in range(13) for half in (2, 3)))  # to 49,152
_PARTS = {
    "weights": "Weights",
    "gradients": "Gradients",
    "optimizer": "Optimiser",
    "activations": "Activations",
    "logits": "Logits and loss",
    "overhead": "Overhead",
}
PART_NAMES = tuple(_PARTS[part] for part in MEMORY_PARTS)
_FIELDS = {"seq_len": "seq_len", "micro_batch": "micro_batch", "boards": "train_gpus"}  # of the Scenario
_STATES = ("does not fit", "tight", "fits")
_SCALE = 1.3  # the bars reach past the largest capacity, so that what does not fit is seen


@dataclass(frozen=True)
class Axis:
    """One scrubber: what it is called, its stops and where it stands."""

    label: str
    noun: str
    stops: tuple[int, ...]
    current: int
    ticks: tuple[int, ...]
    step: int = 1

    @property
    def index(self) -> int:
        """The stop in use."""
        return self.stops.index(self.current)

    @property
    def texts(self) -> list[str]:
        """Every stop in words."""
        return [words.count(stop, self.noun) for stop in self.stops]


@dataclass(frozen=True)
class Along:
    """A run along one scrubber: arrays [gpu, stop]; `refused` says why a GPU cannot take it at a stop."""

    axis: Axis
    many: Many
    hours: NDArray[np.float64]
    days: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    refused: tuple[tuple[str | None, ...], ...]

    @property
    def states(self) -> NDArray[np.int8]:
        """Verdicts, 0 where the run is refused."""
        return self.many.verdict


def with_stop(stops: Sequence[int], value: int) -> tuple[int, ...]:
    """The stops and the value in use, which a link may have set between two of them."""
    return tuple(sorted({*stops, value}))


def axes(load: TrainingLoad) -> tuple[Axis, Axis]:
    """Both scrubbers of the task."""
    s = load.scenario
    first = Axis(
        "Sequence length",
        "token",
        with_stop(SEQ_STOPS, load.seq_len),
        load.seq_len,
        (512, 2048, 8192, 32768, 131072),
        512,
    )
    if load.trains:
        stops = with_stop(GPU_STOPS, s.train_gpus)
        return first, Axis("GPUs", "GPU", stops, s.train_gpus, (1, 8, 64, 512, 4096, 32768), 8)
    stops = with_stop(MICRO_STOPS, min(s.micro_batch, MAX_MICRO_BATCH))
    return first, Axis("Micro-batch per GPU", "sequence", stops, s.micro_batch, (1, 4, 16, 64))


def along(load: TrainingLoad, gpus: Sequence[workload.PinnedGpu], axis: Axis, field: str) -> Along:
    """The run at every stop of one scrubber."""
    stops = np.array(axis.stops, dtype=np.int64)
    at = {"seq_len": None, "micro_batch": None, "boards": None, field: stops}
    many = load.many(gpus, seq_len=at["seq_len"], micro_batch=at["micro_batch"], boards=at["boards"])
    hours, low, high = load.hours(many)
    refused: list[tuple[str | None, ...]] = []
    for i, gpu in enumerate(gpus):
        barred = load.why_not(gpu) if load.automatic_split else None
        reasons = [barred] * len(axis.stops)
        if not load.automatic_split:
            reasons = [
                load.why_not(gpu, int(n), seq_len)
                for n, seq_len in zip(
                    many.gpus[i], axis.stops if field == "seq_len" else [None] * len(axis.stops), strict=True
                )
            ]
        refused.append(tuple(reasons))
    for i, reasons in enumerate(refused):
        many.verdict[i, [reason is not None for reason in reasons]] = 0
    per_day = 24.0 * many.gpus
    return Along(axis, many, hours, hours / per_day, low / per_day, high / per_day, tuple(refused))


def best(load: TrainingLoad, gpus: Sequence[workload.PinnedGpu], at: Along, stop: int) -> int:
    """The GPU of the sentence: of those that fit the smallest, or for a training run the fastest."""
    order = range(len(gpus))
    state = at.states[:, stop]
    for wanted in (FITS, TIGHT):
        able = [i for i in order if state[i] == wanted]
        if able and load.trains:
            return min(able, key=lambda i: (np.isnan(at.days[i, stop]), at.days[i, stop]))
        if able:
            return min(able, key=lambda i: gpus[i].capacity_bytes)
    possible = [i for i in order if at.refused[i][stop] is None] or list(order)
    return max(possible, key=lambda i: at.many.headroom_bytes[i, stop])


def title(load: TrainingLoad, gpu: workload.PinnedGpu, at: Along, i: int, stop: int) -> str:
    """Count and name of the GPUs at a stop."""
    return replace(gpu, devices=int(at.many.gpus[i, stop])).title


def _time(load: TrainingLoad, at: Along, i: int, stop: int) -> str:
    days = at.days[i, stop]
    if np.isnan(days):
        return ""
    return words.span_band(float(days), float(at.low[i, stop]), float(at.high[i, stop]))


def _batch(load: TrainingLoad, at: Along, i: int, stop: int) -> str:
    """Said of a training run whose steps take more tokens than those of any published one."""
    way = way_on(at.many, int(at.many.option[i, stop]), int(at.many.gpus[i, stop])) if load.trains else None
    if way is None:
        return ""
    if at.axis.noun == "token":
        way = way.but(seq_len=at.axis.stops[stop])
    steps = load.scenario.accumulation or usual_accumulation(way, training_tables())
    tokens = too_large_batch(way.but(accumulation=steps))
    return f"; steps of {words.large(tokens)} tokens, more than any published run took" if tokens else ""


def sentence(
    load: TrainingLoad, gpus: Sequence[workload.PinnedGpu], at: Along, stop: int, reach: Sequence[str]
) -> tuple[int, str]:
    """The verdict at one stop, for the GPU that matters most: (state, words)."""
    if not gpus:
        return 0, "Pin a GPU to see whether the run fits."
    i = best(load, gpus, at, stop)
    where = title(load, gpus[i], at, i, stop)
    if reason := at.refused[i][stop]:
        return 0, f"{load.work} cannot run on {where}: {reason}"
    state = int(at.states[i, stop])
    spare = words.gib(abs(float(at.many.headroom_bytes[i, stop])))
    each = " on each" if at.many.gpus[i, stop] > 1 else ""
    time = _time(load, at, i, stop)
    if state == FITS:
        if load.trains and time:
            batch = _batch(load, at, i, stop)
            return state, f"{load.work} takes {time} on {where}; {spare} to spare{each}{batch}"
        takes = f"; {load.data_words} take {time}" if time else ""
        return state, f"{load.work} fits on {where} with {spare} to spare{each}{reach[i]}{takes}"
    if state == TIGHT:
        sign = "left" if at.many.headroom_bytes[i, stop] >= 0 else "too little"
        takes = f"; it would take {time}" if time else ""
        return (
            state,
            f"{load.work} is tight on {where}: {spare} {sign}{each}, less than the estimate can tell{takes}",
        )
    only = where if len(gpus) == 1 else f"any pinned GPU; {where} comes nearest"
    return 0, f"{load.work} does not fit on {only}, {spare} short{each}"


def also(gpus: Sequence[workload.PinnedGpu], at: Along, stop: int) -> str:
    """What holds for all pinned GPUs at one stop."""
    if len(gpus) < 2:
        return ""
    possible = [i for i in range(len(gpus)) if at.refused[i][stop] is None]
    groups = [
        (label, [gpus[i].name for i in possible if at.states[i, stop] == state])
        for state, label in ((2, "Fits on"), (1, "Tight on"), (0, "Does not fit on"))
    ]
    groups.append(("Not possible on", [gpu.name for i, gpu in enumerate(gpus) if i not in possible]))
    return " ".join(f"{label} {words.listed(names)}." for label, names in groups if names)


def zones(states: NDArray[np.int8]) -> list[tuple[str, int, int]]:
    """Stretches of a track in which the same holds: (all | some | tight | none, first, last stop)."""
    found: list[tuple[str, int, int]] = []
    for stop, column in enumerate(states.T.tolist()):
        top, low = max(column, default=0), min(column, default=0)
        zone = "all" if low == FITS else "some" if top == FITS else "tight" if top == TIGHT else "none"
        first = found.pop()[1] if found and found[-1][0] == zone else stop
        found.append((zone, first, stop))
    return found


def _reach(at: Along, load: TrainingLoad) -> list[str]:
    """How far each GPU goes along a scrubber that takes memory; nothing along the number of GPUs."""
    if at.axis.noun == "GPU":
        return [""] * len(at.states)
    found = []
    for row in at.states:
        sure = np.flatnonzero(row == FITS)
        far = at.axis.stops[int(sure[-1])] if len(sure) else 0
        found.append(f", safely up to {words.count(far, at.axis.noun)}" if far else "")
    return found


def _said(at: Along, i: int, stop: int) -> str:
    if at.refused[i][stop]:
        return "not possible"
    state = int(at.states[i, stop])
    return f"{_STATES[state]}, {words.room(state, float(at.many.headroom_bytes[i, stop]))}"


def _more(load: TrainingLoad, at: Along, i: int, stop: int, unknown: str | None) -> str:
    if reason := at.refused[i][stop]:
        return reason
    said = [f"needs {words.gib(float(at.many.needed_bytes[i, stop]))}"]
    if unknown:
        return f"{said[0]} · speed not known: {unknown}"
    rate = float(at.many.tokens_per_s_per_gpu[i, stop])
    if at.states[i, stop] and not np.isnan(rate):
        said += [f"{words.three(rate)} tokens/s per GPU", words.span(float(at.days[i, stop]))]
    return " · ".join(said)


def _gib(values: NDArray[np.float64]) -> list[Any]:
    """Bytes with the stops on the last axis, as GiB with the stops first."""
    return np.round(np.moveaxis(values, -1, 0) / words.GIB, 3).tolist()


def track(
    load: TrainingLoad, gpus: Sequence[workload.PinnedGpu], at: Along, unknown: Sequence[str | None]
) -> dict[str, Any]:
    """One scrubber's whole track, ready to be looked up; it is the same wherever the scrubber stands."""
    axis = at.axis
    every, each = range(len(axis.stops)), range(len(gpus))
    reach = _reach(at, load)
    sentences = [sentence(load, gpus, at, stop, reach) for stop in every]
    texts, found = axis.texts, zones(at.states) if gpus else []
    window = load.architecture.max_position_embeddings
    remark = (
        f" The model's own window: {words.count(window, 'token')}." if window and axis.noun == "token" else ""
    )
    parts = np.moveaxis(np.where(at.many.option < 0, 0.0, at.many.parts_bytes), 0, 1)
    return {
        "label": axis.label,
        "exact": axis.label,
        "unit": f"{axis.noun}s",
        "step": axis.step,
        "most": axis.stops[-1],
        "stops": list(axis.stops),
        "texts": texts,
        "ticks": [(axis.stops.index(v), words.short_count(v)) for v in axis.ticks if v in axis.stops],
        "zones": found,
        "note": (zone_words(found, texts, len(gpus) > 1) if gpus else "") + remark,
        "sentences": [text for _, text in sentences],
        "best": [state for state, _ in sentences],
        "also": [also(gpus, at, stop) for stop in every],
        "gib": _gib(parts),
        "needed": _gib(at.many.needed_bytes),
        "verdicts": at.states.T.tolist(),
        "said": [[_said(at, i, stop) for i in each] for stop in every],
        "more": [[_more(load, at, i, stop, unknown[i]) for i in each] for stop in every],
    }


@lru_cache(maxsize=KEPT)
def _kept(scenario: Scenario, axis: Axis, field: str) -> tuple[Along, dict[str, Any]]:
    """The run along a scrubber and its track; where the scrubber stands plays no part."""
    found = load(scenario)
    gpus = found.pinned
    at = along(found, gpus, axis, field)
    return at, track(found, gpus, at, [kind.speed_refused for kind in found.kinds(gpus)])


def _walked(found: TrainingLoad, axis: Axis, field: str) -> tuple[Along, dict[str, Any]]:
    """The run along a scrubber, and its track with the stop in use."""
    first = replace(axis, current=axis.stops[0])
    at, body = _kept(without(found.scenario, _FIELDS[field], "map_gpu"), first, field)
    return at, {**body, "index": axis.index}


@dataclass(frozen=True)
class Tracks:
    """What the live component takes, the GPU that its sentence is about, and the run on the pinned GPUs."""

    data: dict[str, Any]
    verdict_gpu: workload.PinnedGpu | None
    many: Many


def build(found: TrainingLoad) -> Tracks:
    """Both tracks, and what does not change along them."""
    gpus = found.pinned
    first, second = axes(found)
    by_length, lengths = _walked(found, first, "seq_len")
    _, others = _walked(found, second, "boards" if found.trains else "micro_batch")
    largest = max((gpu.capacity_bytes for gpu in gpus), default=words.GIB)
    sure = 1 + training_tables().bands["peak_gib_per_gpu"].high
    data = {
        "parts": list(PART_NAMES),
        "marks": [["line", "what the GPU has"], ["dash", "surely fits up to here"]],
        "scale": round(_SCALE * largest / words.GIB, 3),
        "gpus": [
            {
                "name": gpu.name if found.trains else gpu.title,
                "memory": words.gib(gpu.capacity_bytes) + (" each" if gpu.devices > 1 else ""),
                "remark": "announced, not on sale yet" if gpu.id in catalogue.pre_release_gpus() else "",
                "capacity": round(gpu.capacity_bytes / words.GIB, 3),
                "budget": round(gpu.capacity_bytes / sure / words.GIB, 3),
            }
            for gpu in gpus
        ],
        "tracks": {"context": lengths, "users": others},
    }
    chosen = gpus[best(found, gpus, by_length, first.index)] if gpus else None
    return Tracks(data, chosen, by_length.many.at(first.index, seq_len=first.current))
