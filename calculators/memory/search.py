"""The questions behind a verdict: how much context, how many users, how many GPUs, and what to change."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from calculators.formats import kv_bytes_per_element, weights_bytes
from calculators.memory.deployment import FITS, Deployment, Report
from calculators.memory.report import estimate, memory_share
from calculators.memory.split import refusal
from calculators.memory.weights import device_weights
from gpu_data.format_schemas import EngineLayout, KvFormat, WeightFormat

CONTEXT_LIMIT = 2**24  # tokens; longer than any model's window
CONCURRENCY_LIMIT = 2**16
LARGEST_SHARE_PCT = 97  # of the memory: a few per cent stay for the context and for the library's own use
LEAST_CONTEXT = 2**11  # tokens; less leaves no room for a prompt and its answer
_VALUES_A_ROUND = 256
LARGEST_TENSOR_PARALLEL = 8  # GPUs of one server joined by NVLink or PCIe; more servers go by pipeline

_SHARE_NAMES = {
    "vllm": "gpu_memory_utilization",
    "sglang": "mem_fraction_static",
    "tensorrt-llm": "free_gpu_memory_fraction",
}


@dataclass(frozen=True)
class Fleet:
    """GPUs working together: how many, and how they share the model."""

    gpus: int
    tensor_parallel_size: int
    pipeline_parallel_size: int


@dataclass(frozen=True)
class Change:
    """One thing changed, and the report after it.

    kind: gpu_memory_utilization, kv_format, weight_format, max_model_len, concurrency, gpus; value: the new
    id or number. `deployment` is the changed one: for more GPUs it also says how they share the model.
    """

    kind: str
    label: str
    value: str | float
    deployment: Deployment
    report: Report


def max_model_len_that_fits(
    deployment: Deployment, limit: int = CONTEXT_LIMIT, verdict: int = FITS
) -> NDArray[np.int64] | int:
    """Largest max_model_len with this verdict or better at this concurrency; 0 when none [token].

    An array when concurrency or capacity is one. The model's own window is not a limit here.
    """
    return _largest(deployment, "max_model_len", limit, verdict)


def max_concurrency_that_fits(
    deployment: Deployment, limit: int = CONCURRENCY_LIMIT, verdict: int = FITS
) -> NDArray[np.int64] | int:
    """Most sequences of max_model_len tokens with this verdict or better; 0 when none."""
    return _largest(deployment, "concurrency", limit, verdict)


def _largest(deployment: Deployment, name: str, limit: int, verdict: int) -> NDArray[np.int64] | int:
    """Largest value of one field with the verdict: rounds of many values at once, each inside the last's gap.

    The first round spans the whole scale and finds the last value that fits even where an engine's need drops
    again with more context (vLLM V0 switches chunked prefill on).
    """
    other = "concurrency" if name == "max_model_len" else "max_model_len"
    shape = np.broadcast_shapes(np.shape(getattr(deployment, other)), np.shape(deployment.gpu.capacity_bytes))
    low, high = np.zeros(shape, np.int64), np.full(shape, limit + 1)
    axis = (-1, *(1,) * len(shape))
    grid = np.unique(np.geomspace(1, limit, _VALUES_A_ROUND).round().astype(np.int64)).reshape(axis)
    parts = np.arange(1, _VALUES_A_ROUND + 1).reshape(axis)
    while True:
        good = np.asarray(estimate(deployment.but(**{name: grid})).verdict) >= verdict
        grid, good = (np.broadcast_to(values, (len(grid), *shape)) for values in (grid, good))
        # The first axis rises, so the last good value is the largest, and the next one is bad.
        last = len(grid) - 1 - np.argmax(good[::-1], axis=0)
        best = np.take_along_axis(grid, last[None], axis=0)[0]
        after = np.take_along_axis(grid, np.minimum(last + 1, len(grid) - 1)[None], axis=0)[0]
        some = good.any(axis=0)
        high = np.where(some, np.where(last + 1 < len(grid), after, high), grid[0])
        low = np.where(some, best, low)
        gap = high - low
        if (gap <= 1).all():
            return int(low) if low.ndim == 0 else low
        # Whole values strictly between low and high where there are any (repeated when there are few).
        grid = np.clip(low + gap * parts // (_VALUES_A_ROUND + 1), np.maximum(low, 1), high)


def fleets(deployment: Deployment, max_gpus: int) -> list[Fleet]:
    """Ways to use up to max_gpus GPUs that the engine accepts: fewest GPUs, then widest tensor split."""
    return [fleet for gpus in range(1, max_gpus + 1) for fleet in _fleets_of(deployment, gpus)]


def _fleets_of(deployment: Deployment, gpus: int) -> Iterator[Fleet]:
    """Ways to use exactly so many GPUs, the widest tensor split first."""
    arch, split = deployment.architecture, deployment.engine.split
    widths = range(min(gpus, LARGEST_TENSOR_PARALLEL), 0, -1) if split != "layers" else (gpus,)
    for tp in widths:
        if gpus % tp:
            continue
        pp = gpus // tp
        if refusal(arch, split, tp, pp, deployment.weight_format, deployment.expert_parallel) is None:
            yield Fleet(gpus, tp, pp)


def on_fleet(deployment: Deployment, fleet: Fleet) -> Deployment:
    """The same deployment on other GPUs of the same kind."""
    return deployment.but(
        tensor_parallel_size=fleet.tensor_parallel_size, pipeline_parallel_size=fleet.pipeline_parallel_size
    )


def gpus_needed(deployment: Deployment, max_gpus: int = 16, verdict: int = FITS) -> Fleet | None:
    """The fewest of these GPUs with this verdict or better, None if max_gpus are too few (scalar inputs)."""
    for fleet in fleets(deployment, max_gpus):
        if estimate(on_fleet(deployment, fleet)).verdict >= verdict:
            return fleet
    return None


def changes_that_fit(
    deployment: Deployment,
    weight_formats: Sequence[WeightFormat] = (),
    kv_formats: Sequence[KvFormat] = (),
    max_gpus: int = 16,
    layouts: Mapping[str, EngineLayout | None] | None = None,
) -> tuple[Change, ...]:
    """Single changes that make a deployment fit, cheapest for the reader first (scalar inputs).

    What costs nothing comes first: a larger share of the memory for the engine (at most 0.97, where it has
    such a share). Then what costs a little quality: the next cache precision down among `kv_formats`, the
    next weight precision down among `weight_formats`. Then what the reader gives up: context (the largest
    power of two, from 2,048 tokens), users. Last what costs money: more GPUs, by counts that servers are
    sold with (1, 2, 4, 8, 16 ...) unless the engine splits by layers and takes any, with the widest tensor
    split that `best_fleet` finds.

    Empty when no single change is enough. Formats the engine does not read are left out; whether the GPU
    runs one is for the caller to decide, who knows the GPU. `layouts`: how the engine keeps a weight format
    on this GPU, by its id (`calculators.formats.engine_layout`); others are counted as the checkpoint stores
    them.
    """
    return tuple(_changes(deployment, weight_formats, kv_formats, max_gpus, layouts))


def first_change_that_fits(
    deployment: Deployment,
    weight_formats: Sequence[WeightFormat] = (),
    kv_formats: Sequence[KvFormat] = (),
    max_gpus: int = 16,
    layouts: Mapping[str, EngineLayout | None] | None = None,
    now: Report | None = None,
) -> Change | None:
    """The first single change that makes a deployment fit; None when it fits already or none is enough.

    `now` is the deployment's own report where it is known already.
    """
    if (now or estimate(deployment)).verdict == FITS:
        return None
    return next(_changes(deployment, weight_formats, kv_formats, max_gpus, layouts), None)


def _changes(
    deployment: Deployment,
    weight_formats: Sequence[WeightFormat],
    kv_formats: Sequence[KvFormat],
    max_gpus: int,
    layouts: Mapping[str, EngineLayout | None] | None,
) -> Iterator[Change]:
    """The first change that is enough of every kind, worked out only when asked for."""
    room = _has_room(deployment)  # without, nothing helps that leaves the weights where they are
    kinds = (
        (room, lambda: _larger_share(deployment)),
        (room, lambda: _lower_cache(deployment, kv_formats)),
        (True, lambda: _lower_weights(deployment, weight_formats, layouts or {})),
        (room, lambda: _less_context(deployment)),
        (room, lambda: _fewer_users(deployment)),
        (True, lambda: _more_gpus(deployment, max_gpus)),
    )
    for possible, candidates in kinds:
        change = _first(candidates()) if possible else None
        if change is not None:
            yield change


Candidate = tuple[str, str, str | float, Deployment]


def _first(candidates: Iterable[Candidate]) -> Change | None:
    for kind, label, value, changed in candidates:
        report = estimate(changed) if _has_room(changed) else None
        if report is not None and report.verdict == FITS:
            return Change(kind, label, value, changed, report)
    return None


def _has_room(deployment: Deployment) -> bool:
    """Whether the weights alone are no larger than the memory: a quick no for what can never fit."""
    d = deployment
    sizes = device_weights(
        d.architecture, d.weight_format, d.engine, d.tensor_parallel_size, d.pipeline_parallel_size,
        d.expert_parallel, d.layout, d.options.experts_on_cpu,
    )  # fmt: skip
    return float(sizes.max()) <= float(d.gpu.capacity_bytes)


def _larger_share(deployment: Deployment) -> Iterator[Candidate]:
    """The smallest hundredth above the engine's share with which it fits, else the largest allowed."""
    if "memory_share" not in deployment.engine.parameters and deployment.engine.algorithm != "sglang":
        return
    now = float(memory_share(deployment))
    steps = [n / 100 for n in range(int(now * 100 + 1e-9) + 1, LARGEST_SHARE_PCT + 1)]
    if not steps:
        return

    def at(share: float) -> Deployment:
        return deployment.but(options=replace(deployment.options, memory_share=share))

    if estimate(at(steps[-1])).verdict < FITS:
        return
    share = steps[bisect_left(steps, FITS, key=lambda step: int(estimate(at(step)).verdict))]
    name = _SHARE_NAMES.get(deployment.engine.algorithm, "memory share")
    yield "gpu_memory_utilization", f"{name} of {share:.2f}", share, at(share)


def _lower_weights(
    deployment: Deployment, formats: Sequence[WeightFormat], layouts: Mapping[str, EngineLayout | None]
) -> Iterator[Candidate]:
    arch = deployment.architecture
    now = weights_bytes(arch, deployment.weight_format).total_bytes
    sized = [(weights_bytes(arch, fmt).total_bytes, fmt) for fmt in formats if _reads(deployment, fmt)]
    smaller = sorted((row for row in sized if row[0] < now * 0.99), key=lambda row: -row[0])
    for _, fmt in smaller:
        changed = deployment.but(weight_format=fmt, layout=layouts.get(fmt.id))
        yield "weight_format", f"weights in {fmt.label}", fmt.id, changed


def _reads(deployment: Deployment, fmt: WeightFormat | KvFormat) -> bool:
    """Whether the engine loads a format; a format that names no engine is for all."""
    return not fmt.engines or deployment.engine.algorithm in fmt.engines


def _lower_cache(deployment: Deployment, formats: Sequence[KvFormat]) -> Iterator[Candidate]:
    head_dim = deployment.architecture.head_dim or 1
    now = kv_bytes_per_element(deployment.kv_format, head_dim)
    sized = [(kv_bytes_per_element(fmt, head_dim), fmt) for fmt in formats if _reads(deployment, fmt)]
    smaller = sorted((row for row in sized if row[0] < now), key=lambda row: -row[0])
    for _, fmt in smaller:
        yield "kv_format", f"KV cache in {fmt.label}", fmt.id, deployment.but(kv_format=fmt, v_format=None)


def _less_context(deployment: Deployment) -> Iterator[Candidate]:
    """The largest power of two below the context now that fits."""
    now = int(deployment.max_model_len)
    powers = 2 ** np.arange(int(LEAST_CONTEXT).bit_length() - 1, max(now - 1, 1).bit_length())
    if not len(powers):
        return
    verdicts = estimate(deployment.but(max_model_len=powers)).verdict
    good = np.broadcast_to(verdicts, powers.shape) == FITS
    if good.any():
        most = int(powers[good].max())
        yield "max_model_len", f"context of {most:,} tokens", most, deployment.but(max_model_len=most)


def _fewer_users(deployment: Deployment) -> Iterator[Candidate]:
    now = int(deployment.concurrency)
    most = int(max_concurrency_that_fits(deployment, now - 1)) if now > 1 else 0
    if most:
        label = f"{most:,} sequence{'s' if most > 1 else ''} at once"
        yield "concurrency", label, most, deployment.but(concurrency=most)


def _more_gpus(deployment: Deployment, max_gpus: int) -> Iterator[Candidate]:
    """The widest tensor split of every count: what a person gets who only says how many GPUs."""
    any_count = deployment.engine.split == "layers"
    for gpus in range(deployment.gpus + 1, max_gpus + 1):
        widest = next(_fleets_of(deployment, gpus), None) if _sold(gpus, any_count) else None
        if widest is not None:
            yield "gpus", f"{gpus} GPUs", gpus, on_fleet(deployment, widest)


def _sold(gpus: int, any_count: bool) -> bool:
    """Whether a server or servers come with so many GPUs: 1, 2, 4, 8, then whole servers of 8."""
    return gpus % 8 == 0 if gpus > 8 else any_count or gpus in (1, 2, 4, 8)
