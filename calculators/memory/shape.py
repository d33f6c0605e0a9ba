"""What the memory formulas need to know about a model, gathered once per model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from calculators.architecture.layout import Architecture, Cache, CacheKind, Layer, Role, Shard
from calculators.kept import kept_by_identity

_EXPERTS = (Role.EXPERT_GATE, Role.EXPERT_UP, Role.EXPERT_DOWN)
_TOKEN_CACHES = (CacheKind.FULL, CacheKind.SLIDING, CacheKind.CHUNKED, CacheKind.LATENT)
TOWERS = frozenset({Role.VISION, Role.AUDIO, Role.PROJECTOR})
_WIDE = (Role.MLP_UP, Role.SHARED_UP, Role.EXPERT_UP)


@dataclass(frozen=True)
class LayerClass:
    """Layers that keep the same caches, and where they stand."""

    caches: tuple[Cache, ...]
    indices: NDArray[np.int64]
    conv_kernel: int = 0  # columns of the short convolution; 0 without one

    @property
    def window(self) -> int | None:
        """The window, when every growing cache has one."""
        growing = (c for c in self.caches if c.elements_per_cell and c.kind is not CacheKind.CROSS)
        windows = [c.window_tokens for c in growing]
        found = [w for w in windows if w is not None]
        return max(found) if found and len(found) == len(windows) else None

    @property
    def keeps_state(self) -> bool:
        """Whether the layers keep a recurrent state."""
        return any(c.kind in (CacheKind.STATE, CacheKind.CONV) for c in self.caches)


@dataclass(frozen=True)
class Shape:
    """Sizes of a model that memory depends on.

    kv_heads: per layer, what tensor parallelism splits the K and V projections over.
    mlp_elements: per layer, MLP inner elements one token makes (experts: top-k of them).
    expert_copies: per layer, how many experts one token visits (0 without experts).
    tower_elements: parameters of the image and audio encoders a language model works without; 0 for an
    encoder-decoder, whose decoder attends to the encoder in every step.
    open_input: whether cross-attention keeps an encoded input whose length the model leaves open.
    """

    arch: Architecture
    n_layers: int
    classes: tuple[LayerClass, ...]
    kv_heads: NDArray[np.int64]
    mlp_elements: NDArray[np.float64]
    expert_copies: NDArray[np.float64]
    experts: int
    mlp_widths: frozenset[int]  # inner widths of dense and shared MLPs, which tensor parallelism splits
    expert_widths: frozenset[int]
    latent_only: bool  # all attention is MLA
    rope: bool
    tower_elements: int
    open_input: bool

    @property
    def hidden(self) -> int:
        """Width of the residual stream."""
        return self.arch.hidden_size

    @property
    def vocab(self) -> int:
        """Entries of the output vocabulary."""
        return self.arch.vocab_size


def _kv_heads(layer: Layer) -> int:
    heads = [c.kv_heads for c in layer.caches if c.kind in _TOKEN_CACHES and c.kind is not CacheKind.LATENT]
    return max(heads, default=0)


def _mlp_elements(layer: Layer) -> float:
    found = 0.0
    for w in layer.weights:
        if w.role in _WIDE:
            copies = w.copies if w.active_copies is None else w.active_copies
            found += w.shape[0] * copies
    return found


def _expert_copies(layer: Layer) -> float:
    for w in layer.weights:
        if w.role is Role.EXPERT_UP:
            return float(w.copies if w.active_copies is None else w.active_copies)
    return 0.0


def _conv_kernel(layer: Layer) -> int:
    return max(
        (w.shape[-1] for w in layer.weights if w.role is Role.STATE_CONV and len(w.shape) > 1), default=0
    )


def _widths(arch: Architecture, roles: tuple[Role, ...]) -> frozenset[int]:
    distinct = {id(layer): layer for layer in arch.layers}.values()
    return frozenset(
        w.shape[0] for layer in distinct for w in layer.weights if w.role in roles and len(w.shape) > 1
    )


@kept_by_identity(16)
def shape_of(arch: Architecture) -> Shape:
    """The sizes of a model, kept for the models seen last."""
    known: dict[int, tuple[int, float, float]] = {}
    rows = []
    by_caches: dict[tuple[Cache, ...], list[int]] = {}
    kernels: dict[tuple[Cache, ...], int] = {}
    for i, layer in enumerate(arch.layers):
        key = id(layer)
        if key not in known:
            known[key] = (_kv_heads(layer), _mlp_elements(layer), _expert_copies(layer))
        rows.append(known[key])
        if layer.caches not in by_caches:
            by_caches[layer.caches] = []
            kernels[layer.caches] = _conv_kernel(layer)
        by_caches[layer.caches].append(i)
    heads, widths, copies = zip(*rows, strict=True) if rows else ((), (), ())
    outside = {w.role for w in arch.outside}
    crossing = [c for caches in by_caches for c in caches if c.kind is CacheKind.CROSS]
    experts = max(
        (
            w.copies
            for layer in {id(x): x for x in arch.layers}.values()
            for w in layer.weights
            if w.role in _EXPERTS
        ),
        default=0,
    )
    return Shape(
        arch=arch,
        n_layers=len(arch.layers),
        classes=tuple(LayerClass(c, np.array(i), kernels[c]) for c, i in by_caches.items() if c),
        kv_heads=np.array(heads, dtype=np.int64),
        mlp_elements=np.array(widths, dtype=np.float64),
        expert_copies=np.array(copies, dtype=np.float64),
        experts=experts,
        mlp_widths=_widths(arch, (Role.MLP_UP, Role.SHARED_UP)),
        expert_widths=_widths(arch, (Role.EXPERT_UP,)),
        latent_only=all(layer.mixer == "latent" for layer in arch.layers if layer.mixer != "state"),
        rope=Role.POSITION not in outside and bool(arch.num_attention_heads),
        tower_elements=0 if crossing else sum(w.elements for w in arch.outside if w.role in TOWERS),
        open_input=any(c.window_tokens is None for c in crossing),
    )


def shard_factor(
    shard: Shard, kv_heads: NDArray[np.int64], tp: int, experts: int, expert_parallel: bool
) -> NDArray[np.float64]:
    """Share of each layer's tensors of this kind that one of tp GPUs holds.

    KV heads beyond their number are copied; whole experts are dealt out with expert parallelism, so the
    fullest GPU holds ceil(experts / tp).
    """
    ones = np.ones(len(kv_heads))
    if tp == 1 or shard is Shard.REPLICATED:
        return ones
    if shard is Shard.KV_HEADS:
        return head_share(kv_heads, tp)
    if shard is Shard.EXPERT and expert_parallel and experts:
        return ones * (-(-experts // tp) / experts)
    return ones / tp


def head_share(heads: NDArray[np.int64], tp: int) -> NDArray[np.float64]:
    """Share of K and V one of tp GPUs holds: ceil(heads / tp) of heads, a whole copy without heads."""
    safe = np.maximum(heads, 1)
    return np.where(heads > 0, -(-safe // tp) / safe, 1.0)
