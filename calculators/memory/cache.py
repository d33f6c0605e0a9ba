"""Bytes of KV cache and recurrent state on each device: one function over layer classes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from calculators.architecture.layout import Cache, CacheKind
from calculators.formats import kv_bytes_per_element
from calculators.kept import kept_by_identity
from calculators.memory.deployment import Deployment, GpuMemory, Number, Piece, total_of
from calculators.memory.shape import LayerClass, Shape, shape_of
from calculators.memory.split import Stages
from calculators.memory.weights import stages_for
from gpu_data.engine_schemas import BatchDefaults, Engine

_REPLICATED = (CacheKind.LATENT, CacheKind.INDEXER)
_NAMES = {
    CacheKind.FULL: "KV cache, full attention",
    CacheKind.SLIDING: "KV cache, sliding window",
    CacheKind.CHUNKED: "KV cache, chunked attention",
    CacheKind.LATENT: "KV cache, MLA latent",
    CacheKind.INDEXER: "KV cache, indexer keys",
    CacheKind.COMPRESSED: "KV cache, compressed attention",
    CacheKind.STATE: "recurrent state",
    CacheKind.CONV: "convolution state",
    CacheKind.CROSS: "KV cache, cross-attention",
}


def cache_element_bytes(deployment: Deployment, cache: Cache) -> float:
    """Bytes of one cached element [byte]: state and convolution have their own, the rest the KV format."""
    engine = deployment.engine
    if cache.kind is CacheKind.STATE:
        return engine.number("state_bytes")
    if cache.kind is CacheKind.CONV:
        return engine.number("conv_state_bytes")
    latent = cache.kind in _REPLICATED
    row = cache.elements_per_cell if latent else deployment.architecture.head_dim
    size = kv_bytes_per_element(deployment.kv_format, row or 1)
    if deployment.v_format is not None and not latent:
        size = (size + kv_bytes_per_element(deployment.v_format, row or 1)) / 2
    return size


def cache_share(cache: Cache, tp: int) -> float:
    """Share of a cache one of tp GPUs holds: ceil(heads / tp) of its heads; latent and indexer are copied."""
    if tp == 1 or cache.kind in _REPLICATED:
        return 1.0
    return -(-cache.kv_heads // tp) / max(cache.kv_heads, 1)


def window_cells(deployment: Deployment, window: int, tokens: NDArray[np.float64]) -> Number:
    """Cells a windowed layer holds for a sequence of `tokens` tokens, by the engine's way of managing them.

    full: all tokens. window: the window. blocks: window - 1 + one batch, rounded up to blocks, and one block
    (vllm/v1/kv_cache_interface.py SlidingWindowSpec). cells: window + n_ubatch rounded up (llama.cpp
    src/llama-kv-cache-iswa.cpp). pool: at least swa_full_tokens_ratio of the tokens (SGLang).
    """
    engine, options = deployment.engine, deployment.options
    match "full" if options.swa_full else engine.windowed_cache:
        case "window":
            return np.minimum(tokens, window)
        case "blocks":
            batch = batch_tokens(deployment)
            return np.minimum(
                _round_up(tokens, engine.number("block_tokens")),
                _round_up(window - 1 + batch, engine.number("block_tokens")) + engine.number("block_tokens"),
            )
        case "cells":
            cells = _round_up(window + ubatch_tokens(deployment), engine.number("context_pad"))
            return np.minimum(_round_up(tokens, engine.number("context_pad")), cells)
        case "pool":
            return np.maximum(np.minimum(tokens, window), engine.number("window_to_full_ratio") * tokens)
    return full_cells(deployment, tokens)


def full_cells(deployment: Deployment, tokens: NDArray[np.float64]) -> Number:
    """Cells a layer without window holds: the tokens, rounded up to the engine's block."""
    parameters = deployment.engine.parameters
    step = parameters.get("block_tokens") or parameters.get("context_pad")
    return _round_up(tokens, step.value) if step else tokens


def _round_up(tokens: Number, step: float) -> Number:
    return np.ceil(np.asarray(tokens) / step) * step


def ubatch_tokens(deployment: Deployment) -> float:
    """Tokens of one llama.cpp compute graph (n_ubatch)."""
    chosen = deployment.options.ubatch_tokens
    return chosen if chosen is not None else deployment.engine.number("ubatch_tokens")


def batch_defaults(deployment: Deployment, field: str) -> Number:
    """The engine's default batch for the GPU's memory (an array when capacities are)."""
    rows = deployment.engine.batch_defaults
    chosen = _batch_row(deployment.engine, deployment.gpu)
    if isinstance(chosen, int):
        return _batch_value(rows[chosen], field)
    return np.array([_batch_value(row, field) for row in rows])[chosen]


def _batch_value(row: BatchDefaults, field: str) -> float:
    return float(getattr(row, field) or row.max_num_seqs)


@kept_by_identity(64)
def _batch_row(engine: Engine, gpu: GpuMemory) -> int | NDArray[np.int64]:
    """Which row of the engine's default batches holds for a GPU: the first that applies, else the last."""
    rows, capacity = engine.batch_defaults, np.asarray(gpu.capacity_bytes, dtype=np.float64) / 2**30
    applies = [_applies(row, gpu, capacity) for row in rows]
    chosen = np.select(applies, list(range(len(rows))), default=len(rows) - 1)
    return int(chosen) if chosen.ndim == 0 else chosen.astype(np.int64)


def _applies(row: BatchDefaults, gpu: GpuMemory, capacity: NDArray[np.float64]) -> NDArray[np.bool_]:
    fits = np.asarray(capacity < row.below_gib)
    if not row.not_named:
        return fits
    names = gpu.names or (gpu.name,)
    named = np.array([any(word in name.lower() for word in row.not_named) for name in names])
    # Several names stand for the first axis of the capacities.
    shape = (len(names), *(1,) * (capacity.ndim - 1)) if capacity.ndim else ()
    return fits & ~named.reshape(shape)


def batch_tokens(deployment: Deployment) -> Number:
    """Tokens one forward pass takes at most (max_num_batched_tokens)."""
    options, engine = deployment.options, deployment.engine
    if options.max_num_batched_tokens is not None:
        return float(options.max_num_batched_tokens)
    chosen = batch_defaults(deployment, "max_num_batched_tokens")
    limit = engine.parameters.get("whole_prompt_profile_limit")
    if limit is not None:
        length = np.asarray(deployment.max_model_len, dtype=np.float64)
        return np.where(length > limit.value, engine.number("chunk_tokens"), np.maximum(length, chosen))
    return chosen


def padded_layers(deployment: Deployment, classes: tuple[LayerClass, ...]) -> dict[int, float]:
    """Layers each class counts for, padding included, by position in `classes`.

    vLLM V1 cuts layers of one kind into groups of equal size, fills the last group with padding layers and
    shares one pool between groups (vllm/v1/core/kv_cache_utils.py). Other engines: the layers themselves.
    """
    counts = {i: float(len(c.indices)) for i, c in enumerate(classes)}
    limit = deployment.engine.parameters.get("group_padding_limit")
    if limit is None or len(classes) < 2:
        return counts
    low, high = min(counts.values()), max(counts.values())
    size = high if high < low * limit.value else low
    return {i: np.ceil(n / size) * size for i, n in counts.items()}


@dataclass(frozen=True)
class _Part:
    """One cache of one layer class."""

    layer_class: LayerClass
    cache: Cache
    padding: float  # padded layers / layers


def _parts(deployment: Deployment, shape: Shape) -> list[_Part]:
    padded = padded_layers(deployment, shape.classes)
    return [
        _Part(layer_class, cache, padded[i] / len(layer_class.indices))
        for i, layer_class in enumerate(shape.classes)
        for cache in layer_class.caches
    ]


def _layers_on_device(stages: Stages, layer_class: LayerClass) -> NDArray[np.float64]:
    return stages.layer_of_stage[:, layer_class.indices].sum(axis=1)


def _fixed_elements(part: _Part) -> float:
    cache, kernel = part.cache, part.layer_class.conv_kernel
    if cache.kind is CacheKind.CONV and kernel > 1:
        # Engines keep the kernel - 1 columns that the next token needs.
        return cache.fixed_elements * (kernel - 1) / kernel
    return cache.fixed_elements


def cells_of(deployment: Deployment, cache: Cache, tokens: NDArray[np.float64]) -> Number:
    """Cells one layer holds for one sequence of `tokens` tokens.

    Cross-attention holds the encoded input: as many tokens as the encoder always makes, else one input of
    max_model_len tokens.
    """
    if cache.kind is CacheKind.CROSS:
        fixed = cache.window_tokens
        return full_cells(deployment, tokens if fixed is None else np.full_like(tokens, fixed))
    if cache.tokens_per_cell > 1:
        tokens = tokens // cache.tokens_per_cell
    if cache.window_tokens is None:
        return full_cells(deployment, tokens)
    return window_cells(deployment, cache.window_tokens, tokens)


def cache_pieces(deployment: Deployment) -> list[Piece]:
    """KV cache and state of all sequences, one piece for each kind of layer [device, ...]."""
    shape = shape_of(deployment.architecture)
    engine = deployment.engine
    tp, pp = deployment.tensor_parallel_size, deployment.pipeline_parallel_size
    stages = stages_for(shape, engine, tp, pp)
    ways = 1 if engine.split == "layers" else tp
    tokens = np.asarray(deployment.max_model_len, dtype=np.float64)
    sequences = np.asarray(deployment.concurrency, dtype=np.float64)
    copies = engine.parameters["cache_copies"].value if "cache_copies" in engine.parameters else 1.0
    pieces = []
    for part in _parts(deployment, shape):
        cache = part.cache
        width = cache_element_bytes(deployment, cache)
        cells = cells_of(deployment, cache, tokens) if cache.elements_per_cell else np.zeros_like(tokens)
        fixed = _fixed_elements(part)
        share = cache_share(cache, ways)
        one_layer = (cells * cache.elements_per_cell + fixed) * sequences * width * share * copies
        layers = _layers_on_device(stages, part.layer_class)
        size = _outer(layers * part.padding, one_layer)
        pieces.append(_piece(deployment, part, size, cells, fixed, width, share, copies))
    return pieces


def _outer(per_device: NDArray[np.float64], values: Number) -> NDArray[np.float64]:
    """[device, ...] = per_device x values."""
    values = np.asarray(values)
    return per_device.reshape(-1, *(1,) * values.ndim) * values


def _piece(
    deployment: Deployment,
    part: _Part,
    size: NDArray[np.float64],
    cells: Number,
    fixed: float,
    width: float,
    share: float,
    copies: float,
) -> Piece:
    cache, layers = part.cache, len(part.layer_class.indices)
    name = _NAMES[cache.kind]
    if cache.window_tokens is not None:
        name += f" {cache.window_tokens:,}"
    formula = "layers x (cells x elements per cell + fixed elements) x bytes x sequences x share of one GPU"

    def substituted() -> str:
        text = f"{layers * part.padding:g} layers x ({_text(cells)} x {cache.elements_per_cell:,}"
        if fixed:
            text += f" + {fixed:,.0f}"
        text += f") x {width:g} B x {_text(deployment.concurrency)} x {share:g}"
        return text + (f" x {copies:g} copies" if copies != 1 else "")

    engine = deployment.engine
    source = f"layer layout of the model; {deployment.kv_format.label}; {engine.label}: {engine.source}"
    return Piece(f"{name} ({layers} layers)", "kv", size, formula, substituted, source)


def _text(value: Number) -> str:
    values = np.asarray(value)
    if values.ndim == 0:
        return f"{float(values):,.0f}"
    return f"[{float(values.min()):,.0f} to {float(values.max()):,.0f}]"


def bytes_per_token(deployment: Deployment) -> float:
    """Cache bytes one token takes on the fullest device while every layer still grows [byte].

    In models that mix kinds of layers, vLLM's pool counts every layer (padding included) at the width of its
    attention layers: that is the figure behind its "GPU KV cache size" line. Cross-attention shares the
    blocks and is not in it (github.com/mlcommons/inference_results_v5.1, Whisper: 163,840 B a token).
    """
    shape = shape_of(deployment.architecture)
    engine = deployment.engine
    ways = 1 if engine.split == "layers" else deployment.tensor_parallel_size
    stages = stages_for(shape, engine, deployment.tensor_parallel_size, deployment.pipeline_parallel_size)
    padded = padded_layers(deployment, shape.classes)
    per_layer = []
    for layer_class in shape.classes:
        size = sum(
            c.elements_per_cell
            / c.tokens_per_cell
            * cache_element_bytes(deployment, c)
            * cache_share(c, ways)
            for c in layer_class.caches
            if c.kind is not CacheKind.CROSS
        )
        per_layer.append(size)
    pooled = "group_padding_limit" in engine.parameters
    widest = max(per_layer, default=0.0)
    total = np.zeros(stages.count)
    for i, (layer_class, size) in enumerate(zip(shape.classes, per_layer, strict=True)):
        layers = _layers_on_device(stages, layer_class) * padded[i] / len(layer_class.indices)
        if layer_class.window is not None and engine.windowed_cache == "pool":
            size *= engine.number("window_to_full_ratio")
        total += layers * (widest if pooled else size)
    return float(total.max(initial=0.0))


def state_bytes(deployment: Deployment) -> float:
    """Recurrent and convolution state of one sequence on the fullest device [byte]."""
    one = deployment.but(concurrency=1, max_model_len=1)
    kept = [
        p for p in cache_pieces(one) if p.name.startswith((_NAMES[CacheKind.STATE], _NAMES[CacheKind.CONV]))
    ]
    return float(total_of(kept).max())


def reported_tokens(deployment: Deployment, pool_bytes: Number) -> Number:
    """Tokens an engine prints for a cache pool of this size: pool bytes / bytes per token, whole blocks.

    SGLang first gives recurrent layers their pool: max_running_requests sequences when that is set, else a
    share of the memory (mamba_full_memory_ratio).
    """
    engine = deployment.engine
    per_token = bytes_per_token(deployment)
    if not per_token:
        return np.zeros_like(np.asarray(pool_bytes, dtype=np.float64))
    shape = shape_of(deployment.architecture)
    pool = np.maximum(np.asarray(pool_bytes, dtype=np.float64), 0)
    ratio = engine.parameters.get("state_to_cache_ratio")
    if ratio is not None and any(c.keeps_state for c in shape.classes):
        running = deployment.options.max_num_seqs
        pool = pool / (1 + ratio.value) if running is None else pool - running * state_bytes(deployment)
    block = engine.parameters["block_tokens"].value if "block_tokens" in engine.parameters else 1.0
    tokens = np.floor(pool / (per_token * block)) * block
    return float(tokens) if tokens.ndim == 0 else tokens
