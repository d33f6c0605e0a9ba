"""What would make a fine-tune or training run fit: single changes, in the order a practitioner tries them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from calculators.memory import DOES_NOT_FIT, FITS
from calculators.scenario import MAX_GPUS, MAX_TRAIN_GPUS
from pages.ui import words, workload
from pages.ui.training_load import METHOD_NAMES, TrainingLoad, changed
from pages.ui.training_tracks import GPU_STOPS, MICRO_STOPS, SEQ_STOPS

WORTH_A_WORD = 2**29  # bytes of room that a change gains
SHORTEST = 512  # tokens of a sequence: shorter ones are another task
EIGHT_BIT = {"adamw": "adamw-8bit", "paged-adamw": "paged-adamw-8bit"}
_BOARDS = {True: "train_gpus", False: "gpu_count"}


@dataclass(frozen=True)
class Change:
    """One change: fields of the Scenario, and what it leaves [byte]; `verdict` is that after the change."""

    label: str
    fields: dict[str, Any]
    headroom_bytes: float
    verdict: int


@dataclass(frozen=True)
class Advice:
    """What would help on one kind of GPU: a change that suffices, and the roomiest one on the GPUs at hand.

    `roomier` is None where the first needs no more GPUs, or where nothing else gives room worth a word.
    """

    change: Change | None
    roomier: Change | None = None


@dataclass(frozen=True)
class _Step:
    """Values of one field to be tried, the mildest first, each with its label."""

    field: str
    values: tuple[Any, ...]
    labels: tuple[str, ...]
    axis: str = ""  # argument of `TrainingLoad.many` that takes all values at once


def _steps(load: TrainingLoad) -> Iterator[_Step]:
    s, run = load.scenario, load.run
    smaller = tuple(n for n in reversed(MICRO_STOPS) if n < s.micro_batch)
    yield _Step("micro_batch", smaller, tuple(f"a micro-batch of {n}" for n in smaller), "micro_batch")
    automatic = load.trains and s.checkpointing == "auto"
    if load.checkpointing != "full" and not automatic:
        yield _Step("checkpointing", ("full",), ("full activation checkpointing",))
    if run.loss_bytes_per_logit > 1:
        yield _Step("fused_loss", ("on",), ("a fused or chunked loss",))
    if other := EIGHT_BIT.get(load.optimizer.id):
        yield _Step("optimizer", (other,), ("an 8-bit optimiser",))
    if s.zero_stage in ("0", "1", "2") and load.boards > 1:
        yield _Step("zero_stage", ("3",), ("ZeRO-3 (FSDP)",))
    if not load.trains and load.method != "qlora":
        lighter = ("lora", "qlora") if load.method == "full" else ("qlora",)
        yield _Step("method", lighter, tuple(METHOD_NAMES[m] for m in lighter))
    shorter = tuple(n for n in reversed(SEQ_STOPS) if SHORTEST <= n < load.seq_len)
    yield _Step(
        "seq_len", shorter, tuple(f"sequences of {words.count(n, 'token')}" for n in shorter), "seq_len"
    )
    most = MAX_TRAIN_GPUS if load.trains else MAX_GPUS
    more = tuple(n for n in GPU_STOPS if load.boards < n <= most)
    yield _Step(_BOARDS[load.trains], more, tuple(words.count(n, "GPU") for n in more), "boards")
    if s.offload == "none":
        yield _Step(
            "offload",
            ("optimizer", "all"),
            ("optimiser states on the CPU", "weights and optimiser states on the CPU"),
        )
    elif s.offload == "optimizer":
        yield _Step("offload", ("all",), ("weights and optimiser states on the CPU",))


def _tried(
    load: TrainingLoad, gpus: Sequence[workload.PinnedGpu], step: _Step
) -> tuple[np.ndarray, np.ndarray]:
    """(verdict, bytes to spare) [GPU, value] of every value of a step."""
    if step.axis:
        sizes = {"seq_len": None, "micro_batch": None, "boards": None, step.axis: np.array(step.values)}
        found = load.many(
            gpus,
            seq_len=sizes["seq_len"],
            micro_batch=sizes["micro_batch"],
            boards=sizes["boards"],
            with_speed=False,
        )
        return found.verdict, found.headroom_bytes
    each = [changed(load, **{step.field: value}) for value in step.values]
    found = [one.many(gpus, with_speed=False) for one in each]
    verdict = np.stack([many.verdict for many in found], axis=1)
    for column, one in enumerate(each):
        refused = [one.refused is not None or one.why_not(gpu) is not None for gpu in gpus]
        verdict[refused, column] = DOES_NOT_FIT
    return verdict, np.stack([many.headroom_bytes for many in found], axis=1)


def first_changes(
    load: TrainingLoad,
    gpus: Sequence[workload.PinnedGpu],
    verdicts: Sequence[int],
    headroom_bytes: Sequence[float],
) -> list[Advice]:
    """For every GPU the first single change after which the run is sure to fit; else one that makes it tight.

    `verdicts` and `headroom_bytes` are those of now; a change of None: no single one is enough.
    """
    sure: list[Change | None] = [None] * len(gpus)
    tight: list[Change | None] = [None] * len(gpus)
    roomy: list[Change | None] = [None] * len(gpus)
    boards = _BOARDS[load.trains]
    for step in _steps(load):
        left = [i for i, change in enumerate(sure) if change is None]
        if not left or not step.values:
            continue
        verdict, spare = _tried(load, [gpus[i] for i in left], step)
        for row, i in enumerate(left):
            for state, found in ((FITS, sure), (verdicts[i] + 1, tight)):
                able = np.flatnonzero(verdict[row] >= state)
                if len(able) and found[i] is None:
                    k = int(able[0])
                    fields = {step.field: step.values[k]}
                    found[i] = Change(step.labels[k], fields, float(spare[row, k]), int(verdict[row, k]))
            if step.field in (boards, "method", "seq_len"):
                continue  # more GPUs, or another task
            k = int(np.argmax(spare[row]))
            room = headroom_bytes[i] + WORTH_A_WORD if (best := roomy[i]) is None else best.headroom_bytes
            if verdict[row, k] > DOES_NOT_FIT and spare[row, k] > max(room, 0.0):
                fields = {step.field: step.values[k]}
                roomy[i] = Change(step.labels[k], fields, float(spare[row, k]), int(verdict[row, k]))
    advice = []
    for first, other, room in zip(sure, tight, roomy, strict=True):
        change = first or other
        more = change is None or boards in change.fields
        advice.append(Advice(change, room if more else None))
    return advice
