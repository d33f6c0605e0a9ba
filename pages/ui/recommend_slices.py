"""The slices that a GPU can be cut into (MIG), and which of them holds the scenario's model for one user."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd

from calculators import memory
from calculators.scenario import Scenario
from gpu_data import mig
from pages.ui import catalogue, plain_table, words, workload


@dataclass(frozen=True, slots=True)
class Row:
    """One kind of slice and whether the scenario's model fits it for one user."""

    gpu: str
    name: str
    most: int
    memory_bytes: float
    measured: bool
    verdict: int

    @property
    def fits(self) -> bool:
        """Whether it surely fits."""
        return self.verdict == memory.FITS


@lru_cache(maxsize=32)
def rows_of(s: Scenario, gpus: tuple[str, ...]) -> tuple[Row, ...]:
    """Every slice of these GPUs; memory as listed, else the share of the GPU's usable memory."""
    load = workload.load(s)
    rows = []
    for gpu in gpus:
        card = mig.cards().get(gpu)
        for one in card.slices if card else ():
            whole = workload.pinned(gpu, 1)
            size = (
                one.gib * 2**30
                if one.gib
                else whole.capacity_bytes * one.memory / card.parts
                if card
                else 0.0
            )
            cut = workload.PinnedGpu(gpu, f"{whole.name} {one.name}", 1, size, "visible_bytes", False)
            deployment = load.deployment([cut], users=1)
            verdict = 0 if isinstance(deployment, str) else int(np.max(memory.estimate(deployment).verdict))
            rows.append(Row(gpu, one.name, one.most, size, one.gib is not None, verdict))
    return tuple(rows)


def table(s: Scenario, gpus: Sequence[str]) -> dict[str, Any] | None:
    """The slices of the cards that can be cut."""
    rows = [
        (
            f"{catalogue.gpu_name(row.gpu)} {row.name}",
            words.gib(row.memory_bytes) + ("" if row.measured else " (share of the GPU)"),
            f"{row.most}",
            ("does not fit", "tight", "fits")[row.verdict],
        )
        for row in rows_of(s, tuple(gpus))
    ]
    if not rows:
        return None
    load = workload.load(s)
    notes = [sources(card) for card in cut_alike(gpus)]
    return plain_table.table(
        f"MIG slices as small GPUs: {load.title} with one user of {s.max_model_len:,} tokens in each. A "
        "slice has its share of memory and bandwidth to itself; slices cannot be joined. No slice's speed is "
        "estimated.",
        ("Slice", "Memory a program sees", "Of one GPU", "Fits"),
        rows,
        notes,
    )


def slices_words(gpu: str) -> str:
    """What a GPU can be cut into; where only their number is known that alone; nothing without MIG."""
    most = catalogue.spec_row(gpu)["mig_max_instances"]
    if (said := mig.profiles(gpu)) or pd.isna(most) or not int(most):
        return said
    return f"{int(most)} slices ({mig.UNLISTED})"


def cut_alike(gpus: Sequence[str]) -> list[mig.Card]:
    """Kinds of slices among some GPUs, each once."""
    cards = [card for gpu in gpus if (card := mig.cards().get(gpu))]
    return [card for i, card in enumerate(cards) if card not in cards[:i]]


def sources(card: mig.Card) -> str:
    """Where the slices of a kind of GPU, and the memory seen in them, are listed."""
    memory_of = f" Memory seen: {card.memory_source}" if card.memory_source else " Memory: share of the GPU's"
    where = f", {card.memory_url}" if card.memory_url else ""
    return f"Profiles: {mig.guide()[0]}, {card.profiles_url}.{memory_of}{where}."


def _tight(rows: Sequence[Row], least: Row) -> str:
    """The smaller slices that may hold it too, though not surely."""
    close = [
        row.name for row in rows if row.verdict == memory.TIGHT and row.memory_bytes < least.memory_bytes
    ]
    return f"; {words.listed(close)} would be tight" if close else ""


def holds(s: Scenario, gpu: str) -> str:
    """The smallest slice of a GPU that surely holds the model for one user, or what stands against it.

    Smaller ones that are tight are named.
    """
    rows = rows_of(s, (gpu,))
    if not rows:
        return f"not known ({mig.UNLISTED})" if slices_words(gpu) else "cannot be cut"
    able = [row for row in rows if row.verdict == memory.FITS]
    if able:
        least = min(able, key=lambda row: (row.memory_bytes, -row.most))
        return f"{least.name}, {least.most} at once{_tight(rows, least)}"
    largest = max(rows, key=lambda row: row.memory_bytes)
    verdict = "is tight" if largest.verdict else "is too small"
    return f"none: even {largest.name} ({words.gib(largest.memory_bytes)}) {verdict}"
