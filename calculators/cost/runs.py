"""Cost of fine-tunes and training runs, which end: GPU-hours times the price of one.

Everything takes scalars or NumPy arrays and broadcasts. Dollars are US dollars.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Number = float | NDArray[Any]
HOURS_PER_DAY = 24.0


def usd_per_run(gpu_hours: Number, usd_per_gpu_hour: Number) -> Floats:
    """One run [USD]: GPU-hours x USD per GPU and hour."""
    return np.asarray(gpu_hours, dtype=np.float64) * usd_per_gpu_hour


def runs_usd_per_month(usd_per_run: Number, runs_per_month: Number, people_usd: Number = 0) -> Floats:
    """A month of runs and of the time people lose over them [USD]."""
    return np.asarray(usd_per_run, dtype=np.float64) * runs_per_month + people_usd


def gpus_for_days(gpu_hours: Number, days: Number) -> Floats:
    """GPUs that finish so many GPU-hours in so many days, were each as fast as now: ceil(h / 24 / days)."""
    return np.maximum(np.ceil(np.asarray(gpu_hours, dtype=np.float64) / HOURS_PER_DAY / days), 1.0)
