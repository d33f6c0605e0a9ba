"""What two numbers of a data sheet say about a card: ridge point, attainable rate, rate per watt, ratio.

Every function takes scalars or NumPy arrays and broadcasts. A missing figure is NaN and stays NaN:
nothing is guessed, and a missing or zero denominator never turns into a rank.

Source of the model: S. Williams, A. Waterman, D. Patterson, "Roofline: an insightful visual performance
model for multicore architectures", Communications of the ACM 52(4), 2009.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

TERA = 1e12
GIGA = 1e9
FLOP_PER_WEIGHT_AND_TOKEN = 2  # one multiplication and one addition
BITS_PER_BYTE = 8

Floats = NDArray[np.float64]


def ridge_flop_per_byte(peak_tflops: ArrayLike, bandwidth_gb_per_s: ArrayLike) -> Floats:
    """FLOP that a program must do per byte read before compute, not memory, is the limit.

    `peak_tflops` in 10^12 FLOP/s (dense, unless a sparse ridge is meant), `bandwidth_gb_per_s` in
    10^9 B/s. Formula: the ridge point of the roofline model, peak / bandwidth.
    """
    return _divide(np.asarray(peak_tflops, dtype=float) * TERA, _floats(bandwidth_gb_per_s) * GIGA)


def attainable_tflops(
    flop_per_byte: ArrayLike, peak_tflops: ArrayLike, bandwidth_gb_per_s: ArrayLike
) -> Floats:
    """The roof over a program of that intensity, in TFLOPS: min(peak, intensity × bandwidth)."""
    memory_roof = _floats(flop_per_byte) * _floats(bandwidth_gb_per_s) * GIGA / TERA
    return np.minimum(_floats(peak_tflops), memory_roof)


def balanced_batch_tokens(
    peak_tflops: ArrayLike, bandwidth_gb_per_s: ArrayLike, bits_per_weight: ArrayLike
) -> Floats:
    """Tokens per decode step at which a dense layer stops waiting for memory.

    A layer of P weights reads P × bits / 8 bytes and does 2 P FLOP per token, so its intensity is
    16 × tokens / bits; the answer is where that meets the ridge. KV cache and activations are left out,
    so it is a lower bound. Derived as in J. Austin et al., "How to Scale Your Model", chapter 1, 2025,
    which gives 240 tokens for TPU v5e in bf16 and half of it with int8 weights.
    """
    bytes_per_weight = _floats(bits_per_weight) / BITS_PER_BYTE
    ridge = ridge_flop_per_byte(peak_tflops, bandwidth_gb_per_s)
    return ridge * bytes_per_weight / FLOP_PER_WEIGHT_AND_TOKEN


def per_watt(rate: ArrayLike, power_w: ArrayLike) -> Floats:
    """A rate (TFLOPS, GB/s …) divided by the board power in watts; the unit is the rate's per watt."""
    return _divide(_floats(rate), _floats(power_w))


def relative_to(values: ArrayLike, baseline: ArrayLike) -> Floats:
    """`values` as multiples of `baseline`; NaN where either is missing or the baseline is zero."""
    return _divide(_floats(values), _floats(baseline))


def sparse_peak(dense_peak: ArrayLike, multiplier: ArrayLike, applies: ArrayLike) -> Floats:
    """The 2:4-sparse peak of a dense one; NaN where the card has no sparse mode for the type.

    `multiplier` is the vendor's (2 for all that have it), `applies` says whether it holds for the type.
    Source of the 2:4 pattern: NVIDIA A100 architecture white paper, 2020, "fine-grained structured
    sparsity".
    """
    factor = np.where(np.asarray(applies, dtype=bool), _floats(multiplier), np.nan)
    return np.where(factor > 1, _floats(dense_peak) * factor, np.nan)


def _floats(values: ArrayLike) -> Floats:
    return np.asarray(values, dtype=float)


def _divide(above: Floats, below: Floats) -> Floats:
    """Element-wise quotient, NaN where the divisor is missing, zero or negative."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(below > 0, above / below, np.nan)
