"""Floating-point operations of training, per token: matrix products, attention, what is computed again."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calculators.architecture.counts import params_active
from calculators.architecture.layout import Architecture, CacheKind, Layer, Role
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


def mean_context(seq_len: Count, window: int | None) -> Number:
    """Tokens that one token sees on average in a causal layer [token]: half the sequence, or the window."""
    length = np.asarray(seq_len, dtype=float)
    if window is None:
        return length / 2
    seen = np.minimum(length, window)
    return seen * (1 - seen / (2 * length))


def _attended(layer: Layer, seq_len: Count) -> Number:
    """Tokens that one token of a layer attends to, 0 without attention."""
    for cache in layer.caches:
        if cache.kind in _ATTENDS:
            return mean_context(seq_len, cache.window_tokens) / cache.tokens_per_cell
    return 0.0


def _layer_attention(layer: Layer, seq_len: Count) -> Number:
    widths = sum(w.shape[0] * w.copies for w in layer.weights if w.role in _QUERIES and len(w.shape) == 2)
    values = sum(w.shape[1] * w.copies for w in layer.weights if w.role is Role.ATTN_OUT)
    state = sum(cache.fixed_elements for cache in layer.caches if cache.kind is CacheKind.STATE)
    return STATE_FLOP_PER_ELEMENT * state + FLOP_PER_WEIGHT * (widths + values) * _attended(layer, seq_len)


def attention_flops(arch: Architecture, seq_len: Count) -> Number:
    """Forward attention scores and weighted sums of all layers [FLOP per token], causal half only."""
    return sum((_layer_attention(layer, seq_len) * times for layer, times in distinct_layers(arch)), 0.0)


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


def model_flops_per_token(arch: Architecture, seq_len: Count) -> Number:
    """FLOP per token as published MFU figures count them: 6 N + 12 layers x heads x head size x sequence.

    No recomputation, attention not halved for causality. Source: Chowdhery et al. 2022 (PaLM), appendix B.
    """
    attends = sum(any(c.kind in _ATTENDS for c in layer.caches) for layer in arch.layers)
    width = arch.num_attention_heads * arch.head_dim
    return 6.0 * params_active(arch) + 12.0 * attends * width * np.asarray(seq_len, dtype=float)
