"""The questions behind a verdict: how much context, how many users, how many GPUs, and what to change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from calculators.formats import kv_bytes_per_element, weights_bytes
from calculators.memory.deployment import FITS, Deployment, Report
from calculators.memory.report import estimate
from calculators.memory.split import refusal
from gpu_data.format_schemas import KvFormat, WeightFormat

CONTEXT_LIMIT = 2**24  # tokens; longer than any model's window
CONCURRENCY_LIMIT = 2**16
LARGEST_TENSOR_PARALLEL = 8  # GPUs of one server joined by NVLink or PCIe; more servers go by pipeline


@dataclass(frozen=True)
class Fleet:
    """GPUs working together: how many, and how they share the model."""

    gpus: int
    tensor_parallel_size: int
    pipeline_parallel_size: int


@dataclass(frozen=True)
class Change:
    """One thing changed, and the report after it.

    kind: weight_format, kv_format, max_model_len, gpus, concurrency; value: the new id or number.
    """

    kind: str
    label: str
    value: str | int
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
    """Largest value of one field with the verdict: a coarse scale first, then bisection.

    The coarse scale finds the last step that fits even where an engine's need drops again with more context
    (vLLM V0 switches chunked prefill on).
    """
    other = "concurrency" if name == "max_model_len" else "max_model_len"
    shape = np.broadcast_shapes(np.shape(getattr(deployment, other)), np.shape(deployment.gpu.capacity_bytes))
    steps = np.unique(np.round(np.geomspace(1, limit, 49)).astype(np.int64))
    grid = steps.reshape(-1, *(1,) * len(shape))
    good = np.asarray(estimate(deployment.but(**{name: grid})).verdict) >= verdict
    good = np.broadcast_to(good, (len(steps), *shape))
    last = np.where(good.any(axis=0), len(steps) - 1 - np.argmax(good[::-1], axis=0), -1)
    low = np.where(last >= 0, steps[last], 0)
    high = np.where(last + 1 < len(steps), steps[np.minimum(last + 1, len(steps) - 1)], limit + 1)
    while np.any(high - low > 1):
        middle = (low + high) // 2
        ok = np.asarray(estimate(deployment.but(**{name: np.maximum(middle, 1)})).verdict) >= verdict
        ok &= middle >= 1
        low, high = np.where(ok, middle, low), np.where(ok, high, middle)
    return int(low) if low.ndim == 0 else low.astype(np.int64)


def fleets(deployment: Deployment, max_gpus: int) -> list[Fleet]:
    """Ways to use up to max_gpus GPUs that the engine accepts: fewest GPUs, then widest tensor split."""
    found = []

    def accepted(tp: int, pp: int) -> bool:
        arch, split = deployment.architecture, deployment.engine.split
        return refusal(arch, split, tp, pp, deployment.weight_format, deployment.expert_parallel) is None

    for gpus in range(1, max_gpus + 1):
        if deployment.engine.split == "layers":
            if accepted(gpus, 1):
                found.append(Fleet(gpus, gpus, 1))
            continue
        for tp in range(min(gpus, LARGEST_TENSOR_PARALLEL), 0, -1):
            if gpus % tp == 0 and accepted(tp, gpus // tp):
                found.append(Fleet(gpus, tp, gpus // tp))
    return found


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
) -> tuple[Change, ...]:
    """Single changes that make a deployment fit, in the order people try them (scalar inputs).

    Next weight precision down among `weight_formats`, next cache precision down among `kv_formats`, less
    context, more GPUs, fewer sequences. Empty when no single change is enough. Formats the engine does not
    read are left out; whether the GPU runs one is for the caller to decide, who knows the GPU. A changed
    weight format is counted as the checkpoint stores it.
    """
    found = [
        _first(_lower_weights(deployment, weight_formats)),
        _first(_lower_cache(deployment, kv_formats)),
        _less(deployment, "max_model_len", "context of {:,} tokens", 256),
        _first(_more_gpus(deployment, max_gpus)),
        _less(deployment, "concurrency", "{:,} sequences at once", 1),
    ]
    return tuple(change for change in found if change is not None)


def first_change_that_fits(
    deployment: Deployment,
    weight_formats: Sequence[WeightFormat] = (),
    kv_formats: Sequence[KvFormat] = (),
    max_gpus: int = 16,
) -> Change | None:
    """The first single change that makes a deployment fit; None when it fits already or none is enough."""
    if estimate(deployment).verdict == FITS:
        return None
    return next(iter(changes_that_fit(deployment, weight_formats, kv_formats, max_gpus)), None)


def _first(candidates: list[tuple[str, str, str | int, Deployment]]) -> Change | None:
    for kind, label, value, changed in candidates:
        report = estimate(changed)
        if report.verdict == FITS:
            return Change(kind, label, value, changed, report)
    return None


def _lower_weights(
    deployment: Deployment, formats: Sequence[WeightFormat]
) -> list[tuple[str, str, str | int, Deployment]]:
    arch = deployment.architecture
    now = weights_bytes(arch, deployment.weight_format).total_bytes
    sized = [(weights_bytes(arch, fmt).total_bytes, fmt) for fmt in formats if _reads(deployment, fmt)]
    smaller = sorted((row for row in sized if row[0] < now * 0.99), key=lambda row: -row[0])
    return [
        ("weight_format", f"weights in {fmt.label}", fmt.id, deployment.but(weight_format=fmt, layout=None))
        for _, fmt in smaller
    ]


def _reads(deployment: Deployment, fmt: WeightFormat | KvFormat) -> bool:
    """Whether the engine loads a format; a format that names no engine is for all."""
    return not fmt.engines or deployment.engine.algorithm in fmt.engines


def _lower_cache(
    deployment: Deployment, formats: Sequence[KvFormat]
) -> list[tuple[str, str, str | int, Deployment]]:
    head_dim = deployment.architecture.head_dim or 1
    now = kv_bytes_per_element(deployment.kv_format, head_dim)
    sized = [(kv_bytes_per_element(fmt, head_dim), fmt) for fmt in formats if _reads(deployment, fmt)]
    smaller = sorted((row for row in sized if row[0] < now), key=lambda row: -row[0])
    return [
        ("kv_format", f"KV cache in {fmt.label}", fmt.id, deployment.but(kv_format=fmt, v_format=None))
        for _, fmt in smaller
    ]


def _more_gpus(deployment: Deployment, max_gpus: int) -> list[tuple[str, str, str | int, Deployment]]:
    """The widest tensor split of every count: what a person gets who only says how many GPUs."""
    widest: dict[int, Fleet] = {}
    for fleet in fleets(deployment, max_gpus):
        widest.setdefault(fleet.gpus, fleet)
    return [
        ("gpus", f"{gpus} GPUs", gpus, on_fleet(deployment, fleet))
        for gpus, fleet in widest.items()
        if gpus > deployment.gpus
    ]


def _less(deployment: Deployment, name: str, label: str, least: int) -> Change | None:
    now = int(getattr(deployment, name))
    most = int(_largest(deployment, name, now, FITS))
    if most < least or most >= now:
        return None
    changed = deployment.but(**{name: most})
    return Change(name, label.format(most), most, changed, estimate(changed))
