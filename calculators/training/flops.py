"""Floating-point operations of training, per token: matrix products, attention, what is computed again."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calculators.architecture.counts import params_active
from calculators.architecture.layout import Architecture, Cache, CacheKind, Layer, Role
from calculators.kept import kept_by_identity
from calculators.training.parameters import TOWER_ROLES, distinct_layers, trained_elements
from calculators.training.setup import Count, Number, Training

FLOP_PER_WEIGHT = 2.0  # one multiplication and one addition
FLASH_BACKWARD = 2.5  # times the forward pass: five products instead of two (Dao et al. 2022, appendix B)
STATE_FLOP_PER_ELEMENT = (
    6.0  # decay, outer product, read-out: two operations each (Dao and Gu 2024, section 6)
)
_NOT_MULTIPLIED = (Role.EMBEDDING, Role.POSITION, Role.NORM, Role.BIAS, Role.STATE_PARAM, *TOWER_ROLES)
_QUERIES = (Role.ATTN_Q, Role.MLA_Q_B)
_ATTENDS = (CacheKind.FULL, CacheKind.SLIDING, CacheKind.CHUNKED, CacheKind.LATENT, CacheKind.COMPRESSED)


@kept_by_identity(64)
def layer_matmul_flops(arch: Architecture) -> float:
    """Forward matrix products of all layers [FLOP per token]: 2 for every active weight."""
    return FLOP_PER_WEIGHT * sum(
        float(w.active_elements) * times
        for layer, times in distinct_layers(arch)
        for w in layer.weights
        if w.role not in _NOT_MULTIPLIED and len(w.shape) >= 2
    )


def head_matmul_flops(arch: Architecture) -> float:
    """Forward product with the output head [FLOP per token], a tied table counted as the head it is."""
    return FLOP_PER_WEIGHT * arch.vocab_size * arch.hidden_size


def mean_context(seq_len: Number, window: int | None) -> Number:
    """Tokens that one token sees on average in a causal layer [token]: half the sequence, or the window."""
    length = np.asarray(seq_len, dtype=float)
    if window is None:
        return length / 2
    seen = np.minimum(length, window)
    return seen * (1 - seen / (2 * np.maximum(length, 1)))


def _attended(cache: Cache, seq_len: Count, causal: bool) -> Number:
    """Cells of a cache that one token attends to: its window, chunk or selection; `causal`: on average.

    Without `causal` as published figures count: the whole of what a layer can see, not half of it.
    """
    cells = np.asarray(seq_len, dtype=float) / cache.tokens_per_cell
    limits = [n for n in (cache.window_tokens, cache.selected_cells) if n is not None]
    most = min(limits, default=None)
    if not causal:
        return cells if most is None else np.minimum(cells, most)
    if cache.kind is CacheKind.CHUNKED:  # a token sees its own chunk only, from the start
        return (cells if most is None else np.minimum(cells, most)) / 2
    return mean_context(cells, most)


def _read_caches(arch: Architecture, layer: Layer) -> tuple[Cache, ...]:
    """The caches that a layer's queries attend to: its own, or those of an earlier layer of its kind."""
    for source in (layer, *(other for other, _ in distinct_layers(arch) if other.mixer == layer.mixer)):
        if found := tuple(cache for cache in source.caches if cache.kind in _ATTENDS):
            return found
    return ()


def _value_width(layer: Layer, query_width: int) -> int:
    """Width of the weighted sums of all heads, that of the queries where the output goes by groups."""
    outputs = [w.shape[1] * w.copies for w in layer.weights if w.role is Role.ATTN_OUT]
    return outputs[0] if len(outputs) == 1 else query_width if outputs else 0


def _selecting(layer: Layer, seq_len: Count, causal: bool) -> Number:
    """Forward scores of an indexer [FLOP per token]: every cell that it can choose from, no weighted sums."""
    width = max(
        (w.shape[0] for w in layer.weights if w.role is Role.INDEXER and len(w.shape) == 2), default=0
    )
    chosen = [c for c in layer.caches if c.selected_cells is not None]
    if not width or not chosen:
        return 0.0
    cells = np.asarray(seq_len, dtype=float) / chosen[0].tokens_per_cell
    return FLOP_PER_WEIGHT * width * (mean_context(cells, None) if causal else cells)


def _layer_attention(arch: Architecture, layer: Layer, seq_len: Count, causal: bool) -> Number:
    widths = sum(w.shape[0] * w.copies for w in layer.weights if w.role in _QUERIES and len(w.shape) == 2)
    state = sum(cache.fixed_elements for cache in layer.caches if cache.kind is CacheKind.STATE)
    attended: Number = 0.0
    if widths:
        caches = _read_caches(arch, layer)
        attended = sum((_attended(cache, seq_len, causal) for cache in caches), 0.0)
    pairs = FLOP_PER_WEIGHT * (widths + _value_width(layer, widths)) * attended
    return STATE_FLOP_PER_ELEMENT * state + pairs + _selecting(layer, seq_len, causal)


def attention_flops(arch: Architecture, seq_len: Count, *, causal: bool = True) -> Number:
    """Forward attention scores and weighted sums of all layers [FLOP per token].

    `causal`: only tokens before one's own, on average; else all that a layer can see.
    """
    return sum(
        (_layer_attention(arch, layer, seq_len, causal) * times for layer, times in distinct_layers(arch)),
        0.0,
    )


@dataclass(frozen=True)
class StepFlops:
    """What the GPUs compute for one trained token [FLOP]; recomputed parts are in it."""

    layers: Number
    head: Number
    attention: Number

    @property
    def total(self) -> Number:
        """All floating-point operations of matrix products."""
        return self.layers + self.head + self.attention


def recomputed_share(training: Training) -> float:
    """Share of the layers' forward pass that checkpointing computes again."""
    return {"none": 0.0, "selective": training.framework.selective_recomputed, "full": 1.0}[
        training.checkpointing
    ]


def step_flops(training: Training) -> StepFlops:
    """Forward, backward and recomputation for one token [FLOP].

    Backward takes twice the forward pass: gradients of inputs and of weights (Kaplan et al. 2020, section
    2.1); frozen weights need no gradient, so LoRA saves the second half but for its adapters.
    """
    arch = training.architecture
    layers, head = layer_matmul_flops(arch), head_matmul_flops(arch)
    attention = attention_flops(arch, training.seq_len)
    again = recomputed_share(training)
    if training.trains_all:
        passes, extra = 3.0, 0.0
    else:
        passes = 2.0
        extra = 3 * FLOP_PER_WEIGHT * trained_elements(training).total
    return StepFlops(
        layers * (passes + again) + extra,
        head * passes,
        attention * (1 + FLASH_BACKWARD + again),
    )


@kept_by_identity(64)
def _looked_up(arch: Architecture) -> int:
    """Elements of tables beside the vocabulary's own, of which a token reads one row (Gemma 3n, Gemma 4)."""
    tables = (w for w in arch.outside if w.role is Role.EMBEDDING and w.shape[-1] != arch.hidden_size)
    return sum(w.active_elements for w in tables)


def model_flops_per_token(arch: Architecture, seq_len: Count) -> Number:
    """FLOP per token as published MFU figures count them: three times a forward pass.

    6 N, and 12 x layers x heads x head size x tokens attended to: the sequence, or what a window, a chunk,
    compression or a selection leaves of it. No recomputation, attention not halved for causality; N with the
    vocabulary's table but without those of single layers. Source: Chowdhery et al. 2022 (PaLM), appendix B.
    """
    weights = params_active(arch) - _looked_up(arch)
    return 6.0 * weights + 3.0 * attention_flops(arch, seq_len, causal=False)
