"""The memory function: what one deployment needs on its fullest GPU, and whether it fits."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from calculators.memory.cache import batch_defaults, cache_pieces
from calculators.memory.deployment import (
    DOES_NOT_FIT,
    FITS,
    GIB,
    MIB,
    TIGHT,
    Deployment,
    Number,
    Piece,
    Report,
    on_device,
    total_of,
)
from calculators.memory.shape import shape_of
from calculators.memory.split import refusal
from calculators.memory.weights import TOWER_BYTES, device_weights
from calculators.memory.work import held_pieces, work_pieces
from gpu_data.engine_schemas import ErrorBand


def pieces_of(deployment: Deployment) -> tuple[Piece, ...]:
    """All addends on every device [device, ...]."""
    return (*_weight_pieces(deployment), *cache_pieces(deployment), *work_pieces(deployment))


def _weight_pieces(deployment: Deployment) -> list[Piece]:
    arch, fmt, engine = deployment.architecture, deployment.weight_format, deployment.engine
    tp, pp = deployment.tensor_parallel_size, deployment.pipeline_parallel_size
    on_cpu = deployment.options.experts_on_cpu
    sizes = device_weights(arch, fmt, engine, tp, pp, deployment.expert_parallel, deployment.layout, on_cpu)
    place = ", routed experts on the CPU" if on_cpu else ""
    shape = shape_of(arch)
    how = (
        f"{deployment.gpus} GPUs by layers"
        if engine.split == "layers"
        else f"tensor parallel {tp}, pipeline parallel {pp}"
    )
    return [
        Piece(
            f"weights, {fmt.label}",
            "weights",
            sizes,
            "sum over tensors of bytes in the format x share of one GPU",
            lambda: f"{shape.n_layers} layers and tables, {how}{place}: {_list(sizes)}",
            fmt.source,
        ),
        *held_pieces(deployment),
    ]


def _list(sizes: NDArray[np.float64]) -> str:
    shown = ", ".join(f"{size / GIB:,.2f}" for size in sizes[:8])
    return f"{shown}{', ...' if len(sizes) > 8 else ''} GiB"


def memory_share(deployment: Deployment) -> Number:
    """Share of the GPU's memory the engine may fill with what it counts.

    SGLang derives it from the batch it prepares for (server_args.py _handle_gpu_memory_settings).
    """
    engine, options = deployment.engine, deployment.options
    if options.memory_share is not None:
        return options.memory_share
    if engine.algorithm == "sglang":
        chunk = options.max_num_batched_tokens or batch_defaults(deployment, "max_num_batched_tokens")
        graphs = batch_defaults(deployment, "graph_max_batch")
        capacity = np.asarray(deployment.gpu.capacity_bytes, dtype=np.float64) / MIB
        reserved = (
            engine.number("reserved_mib")
            + np.maximum(chunk, 2048) * engine.number("reserved_mib_per_prefill_token")
            + graphs * engine.number("reserved_mib_per_graph_sequence")
            + deployment.gpus * engine.number("reserved_mib_per_gpu")
        )
        large = engine.number("reserved_mib_large_gpu")
        reserved = np.where(capacity > 60 * 1024, np.maximum(reserved, large), reserved)
        return np.clip((capacity - reserved) / capacity, 0, 1)
    return engine.parameters["memory_share"].value if "memory_share" in engine.parameters else 1.0


def cache_pool_bytes(deployment: Deployment) -> Number:
    """Bytes the engine turns into its cache pool on the fullest GPU (vLLM's "Available KV cache memory").

    The memory share less everything it counts but the cache; negative when even that does not fit.
    """
    return pool_bytes(estimate(deployment))


def pool_bytes(report: Report) -> Number:
    """The same of a report that is known already."""
    return report.budget_bytes - (report.needed_bytes - report.kv_bytes)


def estimate(deployment: Deployment) -> Report:
    """Bytes needed on the fullest GPU, what the engine reserves, and the verdict.

    Scalars in, scalars out; arrays of max_model_len, concurrency and capacity broadcast. Raises nothing for a
    split the engine would refuse: the report says so in `refused` and its verdict is "does not fit".
    """
    pieces = pieces_of(deployment)
    device = np.asarray(np.argmax(total_of(pieces), axis=0))
    groups = {
        name: _sum((p for p in pieces if p.group == name), device)
        for name in ("weights", "kv", "activation", "overhead")
    }
    needed = groups["weights"] + groups["kv"] + groups["activation"] + groups["overhead"]
    outside = _sum((p for p in pieces if not p.inside), device)

    capacity = np.asarray(deployment.gpu.capacity_bytes, dtype=np.float64)
    budget, reserved = _budget(deployment, capacity, needed, groups["kv"], outside)
    refused = refusal(
        deployment.architecture,
        deployment.engine.split,
        deployment.tensor_parallel_size,
        deployment.pipeline_parallel_size,
        deployment.weight_format,
        deployment.expert_parallel,
    )
    low, high = band_ends(
        deployment.band, needed, groups["weights"], groups["activation"] + groups["overhead"]
    )
    verdict = verdict_of(budget, low, high)
    if refused:
        verdict = np.full_like(verdict, DOES_NOT_FIT)
    return Report(
        weights_bytes=_plain(groups["weights"]),
        kv_bytes=_plain(groups["kv"]),
        activation_bytes=_plain(groups["activation"]),
        overhead_bytes=_plain(groups["overhead"]),
        needed_bytes=_plain(needed),
        reserved_bytes=_plain(reserved),
        capacity_bytes=_plain(capacity),
        budget_bytes=_plain(budget),
        headroom_bytes=_plain(budget - needed),
        need_low_bytes=_plain(low),
        need_high_bytes=_plain(high),
        verdict=int(verdict) if np.ndim(verdict) == 0 else verdict,
        assumptions=_assumptions(deployment),
        refused=refused,
        device=device,
        pieces=pieces,
    )


def band_ends(band: ErrorBand | None, needed: Number, weights: Number, work: Number) -> tuple[Number, Number]:
    """Ends of the error band of the need [byte]: measured errors of the weights and of the work around them.

    The cache has no error: it is counted, and engines print it to the byte.
    """
    if band is None:
        return needed, needed
    low = needed + band.low * weights + band.work_low * work
    return low, needed + band.high * weights + band.work_high * work


def verdict_of(budget: Number, low: Number, high: Number) -> NDArray[np.int8]:
    """2 fits, 1 tight, 0 does not fit: tight exactly when the budget lies inside the need's error band.

    `low` and `high` are the ends of the band [byte]: low <= budget < high is tight.
    """
    budget = np.asarray(budget)
    return np.where(budget >= high, FITS, np.where(budget >= low, TIGHT, DOES_NOT_FIT)).astype(np.int8)


def _sum(pieces: Iterable[Piece], device: Number) -> Number:
    """The sum of pieces on one device; added up before one is picked, which is done once that way."""
    found = tuple(pieces)
    return on_device(total_of(found), device) if found else 0.0


def _budget(
    deployment: Deployment, capacity: Number, needed: Number, kv: Number, outside: Number
) -> tuple[Number, Number]:
    """(what the need may fill, what the engine takes in the end).

    A share of the total covers what the engine counts, the rest must fit beside it. A share of the free
    memory (TensorRT-LLM) covers the cache only. Engines without a share take what they need.
    """
    engine = deployment.engine
    share = memory_share(deployment)
    if engine.share_of == "free":
        others = needed - kv
        budget = np.where(others < capacity, others + share * (capacity - others), capacity)
        return budget, budget
    if engine.split == "layers":
        return capacity + 0 * needed, needed
    limit = share * capacity
    if engine.algorithm == "sglang":
        limit = share * (capacity - engine.number("context_bytes"))
    budget = np.minimum(capacity, limit + outside)
    return budget, budget


def _plain(value: Number) -> Number:
    return float(value) if np.ndim(value) == 0 else value


def _assumptions(deployment: Deployment) -> tuple[str, ...]:
    arch, gpu = deployment.architecture, deployment.gpu
    found = list(arch.assumptions)
    if gpu.basis == "assumed":
        found.append(f"{gpu.name}: memory a program sees is assumed, not measured")
    if gpu.unified:
        found.append(f"{gpu.name}: memory is shared with the CPU; the operating system's part is not counted")
    found += _default_batch(deployment)
    shape = shape_of(arch)
    towers = shape.tower_elements
    if towers and deployment.engine.towers == "separate" and not deployment.options.images:
        size = towers * TOWER_BYTES / GIB
        found.append(f"text only: the image or audio encoder (mmproj file, {size:.2f} GiB) is not loaded")
    elif towers:
        found.append("activations of image and audio encoders are not counted")
    if shape.open_input:
        found.append("cross-attention cache: an encoded input of max_model_len tokens for every sequence")
    return tuple(found)


def _default_batch(deployment: Deployment) -> list[str]:
    """Which batch was taken because nobody chose one; nothing for many GPUs at once, which differ.

    An engine that profiles whole prompts (vLLM V0) takes its tokens from max_model_len.
    """
    if not deployment.engine.batch_defaults or np.ndim(deployment.gpu.capacity_bytes):
        return []
    whole = "whole_prompt_profile_limit" in deployment.engine.parameters
    fields = ("max_num_seqs",) if whole else ("max_num_seqs", "max_num_batched_tokens")
    left = [name for name in fields if getattr(deployment.options, name) is None]
    values = ", ".join(f"{name} {batch_defaults(deployment, name):,.0f}" for name in left)
    return [f"{values}: defaults of {deployment.engine.label}'s server for this GPU"] if left else []
