"""Parameters and cache elements of an `Architecture`: sums over its layers, and nothing else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from calculators.architecture.layout import Architecture, Cache, CacheKind, Layer, Role, Weight

#: Role -> the group it is reported under.
GROUPS: Final[dict[Role, str]] = {
    Role.EMBEDDING: "embeddings",
    Role.POSITION: "embeddings",
    Role.LM_HEAD: "head",
    Role.ATTN_Q: "attention",
    Role.ATTN_K: "attention",
    Role.ATTN_V: "attention",
    Role.ATTN_OUT: "attention",
    Role.ATTN_GATE: "attention",
    Role.MLA_Q_A: "attention",
    Role.MLA_Q_B: "attention",
    Role.MLA_KV_A: "attention",
    Role.MLA_KV_B: "attention",
    Role.INDEXER: "attention",
    Role.MLP_GATE: "mlp",
    Role.MLP_UP: "mlp",
    Role.MLP_DOWN: "mlp",
    Role.EXPERT_GATE: "routed experts",
    Role.EXPERT_UP: "routed experts",
    Role.EXPERT_DOWN: "routed experts",
    Role.SHARED_GATE: "shared experts",
    Role.SHARED_UP: "shared experts",
    Role.SHARED_DOWN: "shared experts",
    Role.ROUTER: "router",
    Role.STATE_IN: "state",
    Role.STATE_OUT: "state",
    Role.STATE_CONV: "state",
    Role.STATE_PARAM: "state",
    Role.NORM: "norms",
    Role.VISION: "vision",
    Role.PROJECTOR: "vision",
    Role.AUDIO: "audio",
    Role.BIAS: "other",
    Role.OTHER: "other",
}

_NOT_TEXT: Final = (Role.VISION, Role.AUDIO, Role.PROJECTOR)


def _distinct_layers(arch: Architecture) -> Iterator[tuple[Layer, int]]:
    """Each different layer once, with how often it occurs (equal layers share one object)."""
    by_id = {id(layer): layer for layer in arch.layers}
    counts = Counter(id(layer) for layer in arch.layers)
    for key, layer in by_id.items():
        yield layer, counts[key]


def _weights(arch: Architecture) -> Iterator[tuple[Weight, int]]:
    for weight in arch.outside:
        yield weight, 1
    for layer, count in _distinct_layers(arch):
        for weight in layer.weights:
            yield weight, count


def params_total(arch: Architecture) -> int:
    """All parameters, tied tables once [elements]."""
    return sum(weight.elements * count for weight, count in _weights(arch))


def params_active(arch: Architecture) -> int:
    """Parameters that one text token uses [elements]: all but vision, audio and the experts not chosen."""
    return sum(w.active_elements * count for w, count in _weights(arch) if w.role not in _NOT_TEXT)


def params_by_group(arch: Architecture) -> dict[str, int]:
    """Parameters by group [elements]; the parts sum to the total, empty groups are left out."""
    sums: dict[str, int] = {}
    for weight, count in _weights(arch):
        group = GROUPS[weight.role]
        sums[group] = sums.get(group, 0) + weight.elements * count
    order = list(dict.fromkeys(GROUPS.values()))
    return {group: sums[group] for group in order if sums.get(group)}


def kv_elements_per_token_growing(arch: Architecture) -> int:
    """K and V elements that each further token adds for ever, batch 1 [elements per token].

    Layers capped at a window and layers that keep one cell for several tokens are left out.
    """
    return sum(
        cache.elements_per_cell * count
        for layer, count in _distinct_layers(arch)
        for cache in layer.caches
        if cache.window_tokens is None and cache.tokens_per_cell == 1 and cache.kind is not CacheKind.CROSS
    )


def _elements(cache: Cache, tokens: Any) -> Any:
    if not cache.elements_per_cell:
        return cache.fixed_elements
    cells = tokens // cache.tokens_per_cell
    if cache.window_tokens is not None:
        cells = (
            np.minimum(cells, cache.window_tokens)
            if isinstance(cells, np.ndarray)
            else min(cells, cache.window_tokens)
        )
    return cells * cache.elements_per_cell + cache.fixed_elements


def _tokens(tokens: Any) -> Any:
    return (
        np.asarray(tokens, dtype=np.int64) if isinstance(tokens, np.ndarray | list | tuple) else int(tokens)
    )


def cache_elements(arch: Architecture, tokens: Any) -> Any:
    """Cache and state of one sequence after `tokens` tokens [elements]; scalar or array like `tokens`.

    Of an encoder-decoder the decoder's own tokens: what is kept of the encoded input depends on the input.
    """
    counted = _tokens(tokens)
    total = counted * 0
    for layer, count in _distinct_layers(arch):
        for cache in layer.caches:
            if cache.kind is not CacheKind.CROSS:
                total = total + _elements(cache, counted) * count
    return total


def cache_elements_by_kind(arch: Architecture, tokens: Any) -> dict[str, Any]:
    """The same by layer class (full, sliding, latent, state ...) [elements]."""
    counted = _tokens(tokens)
    sums: dict[str, Any] = {}
    for layer, count in _distinct_layers(arch):
        for cache in layer.caches:
            if cache.kind is CacheKind.CROSS:
                continue
            sums[cache.kind.value] = (
                sums.get(cache.kind.value, counted * 0) + _elements(cache, counted) * count
            )
    return sums
