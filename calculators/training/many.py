"""Training on many kinds of GPU and many sizes at once: how each is split, its memory by part, its speed.

One call of the memory estimate per possible split serves every kind of GPU, because only the capacity
differs; one call of the speed per split and number format serves every kind that multiplies in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calculators.memory.deployment import DOES_NOT_FIT, FITS, TIGHT
from calculators.training.flops import step_flops
from calculators.training.memory import TrainingReport, estimate
from calculators.training.plan import FILLED, plans
from calculators.training.setup import Count, Parallel, Training, refusal
from calculators.training.speed import POWER_ASSUMED_W, TERA, GpuFigures, GpuSpeed, matmul_dtype, speed
from gpu_data.training_schemas import TrainingBand, TrainingTables

MEMORY_PARTS = ("weights", "gradients", "optimizer", "activations", "logits", "overhead")
_DIVISIBLE = 3072  # by every size that a plan may have: all plans are listed, then those that divide are kept
_NODE = 8  # GPUs; larger numbers come in whole nodes
_STEPS = 4  # micro-batches per step and pipeline stage when nobody says


@dataclass(frozen=True)
class GpuKind:
    """GPUs of one kind: memory of one [byte], what one can do, and the band of speeds like these.

    devices_per_board: GPUs that a program sees on each board. speed: None when the figures do not allow one,
    with the reason in `speed_refused`. barred: why the run cannot be on it whatever the memory.
    """

    name: str
    capacity_bytes: float
    speed: GpuSpeed | None
    band: TrainingBand
    devices_per_board: int = 1
    speed_refused: str | None = None
    barred: str | None = None


@dataclass(frozen=True)
class Many:
    """A run on every kind of GPU [kind, ...sizes].

    parts_bytes [part of MEMORY_PARTS, kind, ...]; option: which of `options` was taken, -1 where none can
    exist. tokens_per_s_per_gpu, low and high (80 % band, never above `fastest`, which the best matrix product
    measured would give) and mfu are NaN where a speed is not known.
    """

    parts_bytes: NDArray[np.float64]
    needed_bytes: NDArray[np.float64]
    headroom_bytes: NDArray[np.float64]
    verdict: NDArray[np.int8]
    option: NDArray[np.int64]
    options: tuple[Training, ...]
    gpus: NDArray[np.int64]
    tokens_per_s_per_gpu: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    fastest: NDArray[np.float64]
    mfu: NDArray[np.float64]

    def at(self, index: int, **size: int) -> Many:
        """One of the sizes of a run along one axis; `size` is its field of Training with its value."""
        ways = tuple(way.but(**size) for way in self.options)
        rest = {
            one.name: getattr(self, one.name)[..., index] for one in fields(self) if one.name != "options"
        }
        return Many(options=ways, **rest)


def _parts(report: TrainingReport) -> tuple[object, ...]:
    return (
        report.weights_bytes + report.adapter_bytes + report.gathered_bytes,
        report.gradient_bytes,
        report.optimizer_bytes,
        report.activation_bytes + report.working_bytes,
        report.logits_bytes,
        report.overhead_bytes,
    )


def options(
    training: Training, automatic_split: bool, may_checkpoint: bool
) -> Iterator[tuple[Training, int]]:
    """(way to run it, GPUs above which it counts), the simplest first; each as it is, then checkpointed.

    Computing again costs less time than cutting the model finer. Across nodes, dealing out experts costs less
    than gathering them. An automatic split keeps nothing of the run's own but that it splits no sequences
    where the run does not.
    """
    shapes = [(training.parallel, 0)]
    if automatic_split:
        own = training.parallel.sequence_parallel
        found = [
            shape if own else replace(shape, sequence_parallel=False)
            for shape in plans(training.framework, _DIVISIBLE, training.architecture)
        ]
        shapes = [(shape, _NODE) for shape in found if shape.expert > 1] + [(shape, 0) for shape in found]
    usual = training.checkpointing
    for shape, more_than in shapes:
        for checkpointing in (usual, "full") if may_checkpoint and usual != "full" else (usual,):
            yield training.but(parallel=shape, checkpointing=checkpointing), more_than


def usual_accumulation(way: Training, tables: TrainingTables) -> Count:
    """Micro-batches per step when nobody says: four a stage, fewer where the batch would be too large."""
    busy = _STEPS * way.parallel.pipeline
    least = step_tokens(way.but(accumulation=1))
    most = np.floor(tables.number("largest_batch_tokens") / least).astype(np.int64)
    found = np.clip(most, 1, busy)
    return int(found) if found.ndim == 0 else found


def step_tokens(way: Training) -> NDArray[np.float64]:
    """Tokens of one optimiser step, the global batch: sequences x length x micro-batches x copies."""
    p = way.parallel
    copies = np.asarray(p.gpus, dtype=float) / (p.tensor * p.pipeline * p.context)
    each = np.asarray(way.seq_len, dtype=float) * np.asarray(way.micro_batch, dtype=float)
    return copies * each * np.asarray(way.accumulation)


def _allowed(shape: Parallel, gpus: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Where so many GPUs can be split so."""
    replica = shape.tensor * shape.pipeline * shape.context
    return (gpus % replica == 0) & (gpus // (shape.tensor * shape.pipeline) % shape.expert == 0)


def verdicts(
    needed: NDArray[np.float64], capacity: NDArray[np.float64], band: TrainingBand
) -> NDArray[np.int8]:
    """0 does not fit, 1 tight (the capacity lies inside the band of measured peaks), 2 fits."""
    sure = needed * (1 + band.high) <= capacity
    never = needed * (1 + band.low) > capacity
    return np.where(sure, FITS, np.where(never, DOES_NOT_FIT, TIGHT)).astype(np.int8)


def many(
    training: Training,
    kinds: Sequence[GpuKind],
    boards: Count,
    tables: TrainingTables,
    *,
    automatic_split: bool = True,
    may_checkpoint: bool = False,
    accumulation: int | None = None,
    with_speed: bool = True,
) -> Many:
    """The run on `boards` boards of every kind; sizes of `training` and `boards` may be arrays alike.

    The way is the first of `options` that is sure to fit, else the first that fills no more than the share of
    memory a plan may take, else the one that takes least. accumulation: micro-batches per step, None = as
    many as keep a pipeline busy, as long as a step takes no more tokens than published runs did.
    """
    sizes = np.broadcast_shapes(np.shape(training.seq_len), np.shape(training.micro_batch), np.shape(boards))
    shape = (len(kinds), *sizes)
    ones = (1,) * len(sizes)
    per_board = np.array([kind.devices_per_board for kind in kinds], dtype=np.int64).reshape(-1, *ones)
    alike = bool(np.all(per_board == per_board.flat[0])) if kinds else True
    counts = np.asarray(boards, dtype=np.int64) * (int(per_board.flat[0]) if alike and kinds else per_board)
    gpus = np.broadcast_to(counts, shape)
    capacity = np.array([kind.capacity_bytes for kind in kinds], dtype=float).reshape(-1, *ones)
    chosen = np.full(shape, -1, dtype=np.int64)
    least = np.full(shape, np.inf)
    parts = np.zeros((len(MEMORY_PARTS), *shape))
    good = np.full(
        shape, -1
    )  # how good the way chosen is: 2 sure to fit, 1 as full as a plan may be, 0 too full
    band = tables.bands["peak_gib_per_gpu"]
    constants = dict(tables.constants)
    ways: list[Training] = []
    for way, more_than in options(training, automatic_split, may_checkpoint):
        allowed = np.broadcast_to(_allowed(way.parallel, counts) & (counts > more_than), shape)
        if not np.any(allowed & (good < 2)):
            continue
        way = way.but(parallel=replace(way.parallel, gpus=counts))
        steps = usual_accumulation(way, tables) if accumulation is None else accumulation
        way = way.but(accumulation=steps)
        report = estimate(way, None, constants)
        allocated = np.broadcast_to(np.asarray(report.allocated_bytes, dtype=float), shape)
        need = np.broadcast_to(np.asarray(report.needed_bytes, dtype=float), shape)
        grade = np.where(
            need * (1 + band.high) <= capacity, 2, np.where(allocated <= FILLED * capacity, 1, 0)
        )
        taken = allowed & ((grade > good) | ((grade == 0) & (good == 0) & (need < least)))
        if np.any(taken):
            chosen[taken], least[taken], good[taken] = len(ways), need[taken], grade[taken]
            for row, value in zip(parts, _parts(report), strict=True):
                row[taken] = np.broadcast_to(np.asarray(value, dtype=float), shape)[taken]
            ways.append(way)
        if np.all(good == 2):
            break
    needed = parts.sum(axis=0)
    verdict = verdicts(needed, capacity, band)
    verdict[chosen < 0] = DOES_NOT_FIT
    found = Many(
        parts,
        needed,
        np.broadcast_to(capacity, shape) - needed,
        verdict,
        chosen,
        tuple(ways),
        gpus,
        *(np.full(shape, np.nan) for _ in range(5)),
    )
    if with_speed:
        _add_speed(found, kinds, tables)
    return found


def _add_speed(found: Many, kinds: Sequence[GpuKind], tables: TrainingTables) -> None:
    """Fill in the speeds, split by split and number format by number format."""
    sizes = found.option.ndim - 1
    for index, way in enumerate(found.options):
        groups: dict[tuple[str, str], list[int]] = {}
        for i, kind in enumerate(kinds):
            if kind.speed is not None and not kind.barred and np.any(found.option[i] == index):
                groups.setdefault(_dtypes(way, kind.speed), []).append(i)
        for dtypes, rows in groups.items():
            gpus = [kinds[i].speed for i in rows]
            stacked = stack([gpu for gpu in gpus if gpu is not None], dtypes, sizes)
            mine = way
            if np.ndim(way.parallel.gpus) > sizes:  # boards of several devices
                counts = np.asarray(way.parallel.gpus)[rows]
                mine = way.but(parallel=replace(way.parallel, gpus=counts))
                if np.ndim(way.accumulation) > sizes:
                    mine = mine.but(accumulation=np.asarray(way.accumulation)[rows])
            rate = speed(mine, stacked, tables)
            bands = [kinds[i].band for i in rows]
            low, high = (
                np.array(side, dtype=float).reshape(-1, *(1,) * sizes)
                for side in ([b.low for b in bands], [b.high for b in bands])
            )
            shape = (len(rows), *found.option.shape[1:])
            tokens = np.broadcast_to(rate.tokens_per_s_per_gpu, shape)
            best = np.fmax(*(best_measured_tflops(stacked, dtype, tables) for dtype in dtypes))
            fastest = best * TERA / step_flops(mine).total
            tokens = np.minimum(tokens, fastest)
            values = (tokens, tokens * (1 + low), np.minimum(tokens * (1 + high), fastest), fastest, rate.mfu)
            targets = (found.tokens_per_s_per_gpu, found.low, found.high, found.fastest, found.mfu)
            here = found.option[rows] == index
            for target, value in zip(targets, values, strict=True):
                target[rows] = np.where(here, np.broadcast_to(value, shape), target[rows])


def _dtypes(training: Training, gpu: GpuFigures) -> tuple[str, str]:
    """(format of the layers' products, 16-bit format of the others)."""
    return matmul_dtype(training, gpu)[0], "bf16" if "bf16" in gpu.tflops else "fp16"


def stack(gpus: Sequence[GpuSpeed], dtypes: Sequence[str], sizes: int = 0) -> GpuFigures:
    """Several GPUs as one whose figures are arrays [gpu, 1 ...]; all must have a peak in `dtypes`."""

    def column(values: Sequence[float]) -> NDArray[np.float64]:
        return np.array(values, dtype=float).reshape(-1, *(1,) * sizes)

    names = list(dict.fromkeys(dtypes))
    return GpuFigures(
        "these GPUs",
        {
            d: column([float(gpu.tflops[d]) for gpu in gpus])
            for d in names
            if all(d in g.tflops for g in gpus)
        },
        column([gpu.bandwidth_gb_per_s for gpu in gpus]),
        column([gpu.link_gb_per_s for gpu in gpus]),
        column([gpu.network_gb_per_s for gpu in gpus]),
        column([gpu.host_gb_per_s for gpu in gpus]),
        {d: column([gpu.ceilings_tflops.get(d, np.inf) for gpu in gpus]) for d in names},
        node_gpus=column([gpu.node_gpus for gpu in gpus]),
        power_w=column([POWER_ASSUMED_W if gpu.power_w is None else gpu.power_w for gpu in gpus]),
    )


def best_measured_tflops(gpu: GpuFigures, dtype: str, tables: TrainingTables) -> NDArray[np.float64]:
    """The fastest matrix product that a GPU can be claimed to do [10^12 FLOP/s].

    Measured on it, or its peak times the largest share of a peak that anyone measured on any GPU.
    """
    share = max((c.fraction for c in tables.ceilings), default=1.0)
    peak = np.asarray(gpu.tflops.get(dtype, np.nan), dtype=float)
    return np.minimum(gpu.ceilings_tflops.get(dtype, np.inf), peak * min(share, 1.0))


def refusal_of(training: Training, gpus: int) -> str | None:
    """Why so many GPUs cannot be split as asked, by field; None when they can."""
    return refusal(training.but(parallel=replace(training.parallel, gpus=gpus)))


_COARSE = (1, 2, 4, *(8 * 2**octave * part // 4 for octave in range(14) for part in (4, 5, 6, 7)))
_FINE = 64  # numbers tried between two coarse ones


def boards_in_time(
    training: Training,
    kinds: Sequence[GpuKind],
    tables: TrainingTables,
    tokens: float,
    days: float,
    most: int,
    **split: Any,
) -> list[int | None]:
    """The smallest number of boards of every kind that trains `tokens` tokens in `days` days.

    Like `gpus_for_deadline`, but the split follows the number. Multiples of 8 above 8, at most `most`; None
    when no number does, or the run does not fit on any. `split`: as in `many`.
    """

    def first(rows: Sequence[GpuKind], counts: list[int]) -> list[int | None]:
        found = many(training, rows, np.array(counts, dtype=np.int64), tables, **split)
        seconds = tokens / (found.tokens_per_s_per_gpu * found.gpus)
        good = (seconds <= days * 86400) & (found.verdict > DOES_NOT_FIT)
        return [counts[int(np.argmax(row))] if row.any() else None for row in good]

    coarse = [n for n in _COARSE if n < most] + [most]
    found = first(kinds, coarse) if kinds else []
    for i, high in enumerate(found):
        if high is not None and high > _NODE:
            low = coarse[coarse.index(high) - 1]
            step = max(_NODE, (high - low) // _FINE // _NODE * _NODE)
            found[i] = first(kinds[i : i + 1], [*range(low + step, high, step), high])[0]
    return found
