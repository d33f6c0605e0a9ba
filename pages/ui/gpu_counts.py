"""How many GPUs are tried, and how many of them must stand in one machine: the same for every page."""

from __future__ import annotations

from functools import cache

import numpy as np

from calculators.scenario import MAX_TRAIN_GPUS, Scenario

COUNTS = (1, 2, 4, 8, 16)  # GPUs of one copy of a model, or of a fine-tune: servers and two servers
# GPUs that must stand in one machine, at most: clusters for training are made of machines of 4 and more
TOGETHER = {"train": 4, "finetune": 8}


@cache
def _clusters() -> tuple[int, ...]:
    """From one GPU to the most that a run may have: machines of eight, four steps to a doubling."""
    machines = np.unique((2 ** np.arange(0, 14.1, 0.25)).round()).astype(int)
    return (1, 2, 4, *(int(n) for n in machines * 8 if n <= MAX_TRAIN_GPUS))


def sizes(s: Scenario) -> tuple[int, ...]:
    """Numbers of GPUs that are tried for a fine-tune or a training run; else the reader's own."""
    if s.task != "train":
        return COUNTS
    return (s.train_gpus,) if s.deadline_days is None else _clusters()
