"""From speed to days, GPU-hours, energy and the number of GPUs that meets a deadline.

Plain arithmetic; everything broadcasts.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from calculators.training.setup import Number, Training, refusal
from calculators.training.speed import GpuSpeed, speed
from gpu_data.training_schemas import TrainingBand, TrainingTables

SECONDS_PER_HOUR = 3600.0
HOURS_PER_DAY = 24.0


def gpu_hours(tokens: Number, tokens_per_s_per_gpu: Number) -> Number:
    """GPU-hours of a run over `tokens` [token] at this rate of each GPU [token/s]."""
    return np.asarray(tokens, dtype=float) / tokens_per_s_per_gpu / SECONDS_PER_HOUR


def wall_days(hours: Number, gpus: Number) -> Number:
    """Days that `gpus` GPUs need for so many GPU-hours."""
    return np.asarray(hours, dtype=float) / gpus / HOURS_PER_DAY


def energy_kwh(hours: Number, power_w: Number, power_usage_effectiveness: Number = 1.0) -> Number:
    """Energy of so many GPU-hours [kWh] at board power `power_w` [W], with the building's overhead.

    power_usage_effectiveness: all energy of the building over that of the computers (ISO/IEC 30134-2).
    """
    return np.asarray(hours, dtype=float) * power_w / 1000 * power_usage_effectiveness


def epochs_tokens(samples: Number, tokens_per_sample: Number, epochs: Number = 1) -> Number:
    """Tokens of a fine-tune [token]: samples x tokens each x epochs."""
    return np.asarray(samples, dtype=float) * tokens_per_sample * epochs


@dataclass(frozen=True)
class Run:
    """A whole run; low and high are the 80 % band of GPU-hours, and of everything in proportion to them.

    The band of whole runs is wider than that of steady speed: they also restart, test and wait.
    """

    tokens_per_s_per_gpu: Number
    gpu_hours: Number
    gpu_hours_low: Number
    gpu_hours_high: Number
    days: Number
    energy_kwh: Number | None
    mfu: Number
    refused: str | None
    assumptions: tuple[str, ...]


def run(
    training: Training,
    gpu: GpuSpeed,
    tables: TrainingTables,
    tokens: Number,
    band: TrainingBand | None = None,
    power_usage_effectiveness: float = 1.0,
) -> Run:
    """Time and energy of training on `tokens` tokens [token]; energy is None without a board power.

    band: of GPU-hours (`tables.bands["gpu_hours"]`).
    """
    found = speed(training, gpu, tables)
    low, high = (0.0, 0.0) if band is None else (band.low, band.high)
    hours = gpu_hours(tokens, found.tokens_per_s_per_gpu)
    energy = None if gpu.power_w is None else energy_kwh(hours, gpu.power_w, power_usage_effectiveness)
    return Run(
        found.tokens_per_s_per_gpu,
        hours,
        hours * (1 + low),
        hours * (1 + high),
        wall_days(hours, training.parallel.gpus),
        energy,
        found.mfu,
        found.refused,
        found.assumptions,
    )


def gpus_for_deadline(
    training: Training,
    gpu: GpuSpeed,
    tables: TrainingTables,
    tokens: float,
    days: float,
    counts: Iterable[int],
) -> int | None:
    """The smallest of `counts` GPUs that finishes `tokens` tokens in `days` days; None when none does.

    The global batch stays: fewer micro-batches per step on more GPUs. Counts that the split does not divide
    are passed over.
    """
    for count in sorted(counts):
        before = np.asarray(training.parallel.data) * np.asarray(training.accumulation)
        parallel = replace(training.parallel, gpus=count)
        steps = int(np.max(np.maximum(before // np.maximum(parallel.data, 1), 1)))
        tried = training.but(parallel=parallel, accumulation=steps)
        if refusal(tried) is None and float(np.max(run(tried, gpu, tables, tokens).days)) <= days:
            return count
    return None
