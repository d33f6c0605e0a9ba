"""Time that people lose to a card that is too small. No estimate: both figures are the reader's own."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Number = float | NDArray[Any]
WEEKS_PER_MONTH = 52 / 12


def lost_usd_per_month(hours_per_week: Number, usd_per_person_hour: Number) -> Floats:
    """Lost hours of people in a month [USD]: hours a week x 52 / 12 x USD per hour."""
    return np.asarray(hours_per_week, dtype=np.float64) * WEEKS_PER_MONTH * usd_per_person_hour
