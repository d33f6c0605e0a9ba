"""All GPUs x counts x weight formats for one model at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from calculators.architecture.layout import Architecture
from calculators.memory.cache import cache_pieces
from calculators.memory.deployment import (
    DOES_NOT_FIT,
    Deployment,
    GpuMemory,
    Options,
    Piece,
    total_of,
    with_dims,
)
from calculators.memory.report import _budget, band_ends, verdict_of
from calculators.memory.search import LARGEST_TENSOR_PARALLEL, Fleet, on_fleet
from calculators.memory.split import refusal
from calculators.memory.weights import device_weights
from calculators.memory.work import held_pieces, work_pieces
from gpu_data.engine_schemas import Engine, ErrorBand
from gpu_data.format_schemas import EngineLayout, KvFormat, WeightFormat


@dataclass(frozen=True)
class FitMatrix:
    """Results for every [gpu, count, format]; bytes are those of the fullest GPU.

    `fleets[count][format]` says how the GPUs are used; None where the engine accepts no split, and
    `refused[count][format]` says why.
    """

    needed_bytes: NDArray[np.float64]
    budget_bytes: NDArray[np.float64]
    verdict: NDArray[np.int8]
    fleets: tuple[tuple[Fleet | None, ...], ...]
    refused: tuple[tuple[str | None, ...], ...]

    @property
    def headroom_bytes(self) -> NDArray[np.float64]:
        """Budget less need."""
        return self.budget_bytes - self.needed_bytes


def best_fleet(
    arch: Architecture, engine: Engine, gpus: int, weight_format: WeightFormat | None = None
) -> tuple[Fleet | None, str | None]:
    """How to use this many GPUs: the widest tensor split the engine accepts, pipeline stages for the rest."""
    if engine.split == "layers":
        reason = refusal(arch, engine.split, gpus, 1)
        return (None, reason) if reason else (Fleet(gpus, gpus, 1), None)
    first = None
    for tp in range(min(gpus, LARGEST_TENSOR_PARALLEL), 0, -1):
        if gpus % tp:
            continue
        reason = refusal(arch, engine.split, tp, gpus // tp, weight_format)
        if reason is None:
            return Fleet(gpus, tp, gpus // tp), None
        first = first or reason
    return None, first


def fit_matrix(
    arch: Architecture,
    kv_format: KvFormat,
    engine: Engine,
    capacities: NDArray[np.float64],
    counts: Sequence[int],
    formats: Sequence[WeightFormat],
    max_model_len: int = 8192,
    concurrency: int = 1,
    options: Options | None = None,
    band: ErrorBand | None = None,
    names: Sequence[str] = (),
    layouts: Sequence[Sequence[EngineLayout | None]] = (),
) -> FitMatrix:
    """Need, budget and verdict of every GPU (by capacity in bytes), count and format, equal to `estimate`.

    `names` are the GPUs' names (some engines' defaults depend on them); `layouts[format][gpu]` is how the
    engine keeps a format on a GPU. Cache, activations and overhead do not depend on the weight format, so
    they are computed once per count.
    """
    capacity = np.asarray(capacities, dtype=np.float64)
    shape = (len(capacity), len(counts), len(formats))
    needed, budget = np.zeros(shape), np.zeros(shape)
    verdict = np.zeros(shape, np.int8)
    gpus = GpuMemory("all", capacity, names=tuple(names))
    base = Deployment(
        arch, formats[0], kv_format, engine, gpus, options or Options(),
        max_model_len=max_model_len, concurrency=concurrency,
    )  # fmt: skip
    distinct = [_distinct(row) for row in layouts] or [((None,), [])] * len(formats)
    fleets: list[tuple[Fleet | None, ...]] = []
    reasons: list[tuple[str | None, ...]] = []
    for j, count in enumerate(counts):
        ways = [best_fleet(arch, engine, count, fmt) for fmt in formats]
        fleets.append(tuple(fleet for fleet, _ in ways))
        reasons.append(tuple(reason for _, reason in ways))
        for fleet in dict.fromkeys(fleets[-1]):
            columns = [k for k, other in enumerate(fleets[-1]) if other == fleet]
            if fleet is None:
                needed[:, j, columns], budget[:, j, columns] = np.inf, capacity[:, None]
                verdict[:, j, columns] = DOES_NOT_FIT
                continue
            kept = [distinct[k] for k in columns]
            plane = _plane(on_fleet(base, fleet), capacity, [formats[k] for k in columns], kept)
            needed[:, j, columns], budget[:, j, columns], weights, work = plane
            ends = band_ends(band, plane[0], weights, work)
            verdict[:, j, columns] = verdict_of(plane[1], *ends)
    return FitMatrix(needed, budget, verdict, tuple(fleets), tuple(reasons))


_Layouts = tuple[tuple[EngineLayout | None, ...], list[int]]


def _plane(
    deployment: Deployment,
    capacity: NDArray[np.float64],
    formats: Sequence[WeightFormat],
    layouts: Sequence[_Layouts],
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """(needed, budget, weights in the need, work in the need) of [gpu, format] for one count."""
    engine = deployment.engine
    weights = _weights(deployment, len(capacity), formats, layouts)  # [device, gpu, format]
    for piece in held_pieces(deployment):
        weights = weights + with_dims(piece.bytes, 2)
    cache = _per_device(cache_pieces(deployment), weights.shape[0], len(capacity))
    if "fused_qkv_copy" in engine.parameters:
        work = np.stack(
            [
                _per_device(work_pieces(deployment.but(weight_format=fmt)), weights.shape[0], len(capacity))
                for fmt in formats
            ],
            axis=-1,
        )
        outside = np.zeros((weights.shape[0], len(capacity), 1))
    else:
        pieces = work_pieces(deployment)
        work = _per_device(pieces, weights.shape[0], len(capacity))[..., None]
        outside = _per_device([p for p in pieces if not p.inside], weights.shape[0], len(capacity))[..., None]
    total = weights + cache[..., None] + work
    device = np.argmax(total, axis=0)[None]

    def fullest(values: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.take_along_axis(np.broadcast_to(values, total.shape), device, axis=0)[0]

    needed = fullest(total)
    column = deployment.but(gpu=GpuMemory("all", capacity[:, None], names=deployment.gpu.names))
    budget, _ = _budget(column, capacity[:, None], needed, fullest(cache[..., None]), fullest(outside))
    return needed, np.asarray(budget), fullest(weights), fullest(work)


def _weights(
    deployment: Deployment,
    gpus: int,
    formats: Sequence[WeightFormat],
    layouts: Sequence[_Layouts],
) -> NDArray[np.float64]:
    """Bytes of weights [device, gpu, format]; one column per layout in use."""
    arch, engine = deployment.architecture, deployment.engine
    tp, pp = deployment.tensor_parallel_size, deployment.pipeline_parallel_size
    on_cpu = deployment.options.experts_on_cpu
    planes = []
    for fmt, (distinct, columns) in zip(formats, layouts, strict=True):
        sizes = [device_weights(arch, fmt, engine, tp, pp, False, layout, on_cpu) for layout in distinct]
        plane = sizes[0][:, None] if len(sizes) == 1 else np.stack(sizes, axis=-1)[:, columns]
        planes.append(plane)
    found = np.empty((len(planes[0]), gpus, len(planes)))
    for k, plane in enumerate(planes):
        found[:, :, k] = plane
    return found


def _distinct(kept: Sequence[EngineLayout | None]) -> _Layouts:
    """(different layouts of one format, which of them each GPU has)."""
    places: dict[int, int] = {}
    columns = [places.setdefault(id(layout), len(places)) for layout in kept]
    return tuple(kept[columns.index(j)] for j in range(len(places))), columns


def _per_device(pieces: list[Piece], devices: int, gpus: int) -> NDArray[np.float64]:
    """Sum of pieces as [device, gpu]."""
    return np.zeros((devices, gpus)) + with_dims(total_of(pieces), 1)
