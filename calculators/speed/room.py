"""How many requests run at once: the memory function's cache pool over what one request keeps in it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calculators.memory import Deployment, FitMatrix, cache_pool_bytes, estimate, on_fleet
from calculators.memory.cache import batch_defaults
from gpu_data.speed_schemas import SpeedEngine

Floats = NDArray[np.float64]
NO_LIMIT = 1e9  # sequences of a model without a cache


def held_tokens(engine: SpeedEngine, prompt_tokens: float, output_tokens: float) -> float:
    """Tokens a request keeps in the cache on average: engines that reserve room hold its whole answer."""
    return prompt_tokens + (output_tokens if engine.reserves_answer else output_tokens / 2)


def sequence_limit(deployment: Deployment, engine: SpeedEngine) -> ArrayLike:
    """Most sequences the engine runs at once by its own settings (max_num_seqs)."""
    asked = deployment.options.max_num_seqs
    if asked is not None:
        return float(asked)
    if engine.limited_by_memory_only or not deployment.engine.batch_defaults:
        return float(engine.max_num_seqs)
    return batch_defaults(deployment, "max_num_seqs")


def sequences_that_fit(pool_bytes: ArrayLike, bytes_each: ArrayLike, limit: ArrayLike = NO_LIMIT) -> Floats:
    """Sequences whose caches fit the pool, no more than the limit; may be a fraction, 0 for no pool."""
    pool, each = np.asarray(pool_bytes, dtype=np.float64), np.asarray(bytes_each, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        count = np.where(each > 0, np.maximum(pool, 0) / each, np.where(pool >= 0, NO_LIMIT, 0.0))
    return np.minimum(count, limit)


def resident_sequences(
    deployment: Deployment, engine: SpeedEngine, tokens: float, limit: ArrayLike | None = None
) -> Floats:
    """Sequences of so many tokens that run at once; below 1 where not even one has room.

    The pool is that of the deployment as it starts; arrays of capacities give arrays.
    """
    pool = cache_pool_bytes(deployment)
    each = estimate(deployment.but(max_model_len=max(int(tokens), 1), concurrency=1)).kv_bytes
    return sequences_that_fit(pool, each, sequence_limit(deployment, engine) if limit is None else limit)


def matrix_residents(
    matrix: FitMatrix, base: Deployment, engine: SpeedEngine, tokens: float, limit: ArrayLike | None = None
) -> Floats:
    """The same for every [gpu, count, format] of a fit matrix that was made for `base`.

    `base` is the deployment of the matrix at its max_model_len and concurrency, with the GPUs' capacities; a
    sequence's share on the fullest GPU is that of its weight format (with layers split, another format may
    fill another GPU most, where a sequence takes a layer more or less).
    """
    room = np.zeros(matrix.needed_bytes.shape)
    most = np.asarray(sequence_limit(base, engine) if limit is None else limit, dtype=np.float64)
    most = most[:, None] if most.ndim else most
    alone = replace(base.gpu, capacity_bytes=float(np.max(base.gpu.capacity_bytes)), names=())
    for j, ways in enumerate(matrix.fleets):
        for fleet in dict.fromkeys(ways):
            if fleet is None:
                continue
            columns = [k for k, other in enumerate(ways) if other == fleet]
            one = on_fleet(base.but(gpu=alone), fleet)
            kept, each = (
                estimate(one.but(max_model_len=length, concurrency=count)).kv_bytes
                for length, count in (
                    (base.max_model_len, base.concurrency),
                    (max(int(tokens), 1), 1),
                )
            )
            pool = matrix.headroom_bytes[:, j, columns] + kept
            room[:, j, columns] = sequences_that_fit(pool, each, most)
    return room
