"""How much of what is paid for a workload can use: memory, bandwidth, compute; and what the link costs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calculators.speed.step import Step

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Use:
    """Shares of the time, 0 to 1: memory busy reading, tensor cores busy, GPUs waiting for each other.

    fixed: what an engine takes for every step whatever the GPU. waiting: of a decode step, while the GPU has
    nothing to do, so that a faster one would answer no faster.
    """

    bandwidth: Floats
    compute: Floats
    link: Floats
    fixed: Floats
    waiting: Floats


def used_shares(prompt: Step, decode: Step, output_tokens: ArrayLike, running: ArrayLike) -> Use:
    """Shares over a whole request: its prompt, and its part of the decode steps that it runs through.

    Busy means at the rate that the engine's kernels reach (roofline, Williams et al. 2009): a GPU whose
    tensor cores are busy 3 % of the time would answer as fast with a small part of its compute.
    """
    steps = np.asarray(output_tokens, dtype=np.float64) / np.maximum(np.asarray(running), 1.0)
    total = prompt.total + steps * decode.total

    def share(name: str) -> Floats:
        spent = np.asarray(getattr(prompt, name)) + steps * np.asarray(getattr(decode, name))
        return np.clip(spent / total, 0.0, 1.0)

    waiting = np.asarray(decode.waiting) / decode.total
    return Use(*(share(name) for name in ("moving", "computing", "communication", "fixed")), waiting)


def link_share(step: Step) -> Floats:
    """Share of a step in which GPUs exchange parts of the model's layers (tensor parallel)."""
    return np.asarray(step.communication / step.total)
