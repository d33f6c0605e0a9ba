"""How many GPUs are tried, how they share a model, how many of them must stand in one machine.

The same for every page, so that all of them count alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

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


SERVER = 8  # GPUs of one machine; a pipeline over more of them is the engine's own choice already


def known(value: Any, other: Any) -> Any:
    """A cell of the spec frame, or something else where it is empty."""
    return other if value is None or str(value) in ("<NA>", "nan", "None") else value


def fast_link_gpus(row: Mapping[str, Any]) -> float:
    """How many GPUs the fast link joins: 0 without one, 2 for a bridge, all of a machine otherwise."""
    if not float(known(row["interconnect_gb_per_s"], 0.0)) > 0:
        return 0.0
    name = str(row["interconnect"])
    return (4.0 if "4 GPUs" in name else 2.0) if "bridge" in name else np.inf


def splits(s: Scenario, engine: Any) -> tuple[bool, ...]:
    """Ways to share a model that are tried: the engine's own (False), and pipeline stages (True).

    A reader who chose a split, and an engine that splits by layers, leave one way.
    """
    return (False, True) if s.split == "auto" and engine.split != "layers" else (False,)


def staged(row: Mapping[str, Any], count: int) -> bool:
    """Whether pipeline stages are tried on so many GPUs: where else parts of layers go over PCIe."""
    return 1 < count <= SERVER and fast_link_gpus(row) < count


def layers_words(devices: int) -> str:
    """How GPUs share a model under an engine that gives each some layers; nothing for one GPU."""
    return f"layers over {devices:,}" if devices > 1 else ""


def split_words(tensor: int, stages: int) -> str:
    """How GPUs share a model, in an engine's words: TP2 × PP4; nothing for one GPU."""
    return " × ".join(f"{name}{n}" for name, n in (("TP", tensor), ("PP", stages)) if n > 1)
