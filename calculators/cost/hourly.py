"""What one GPU costs in an hour: its power, its purchase spread over its life.

Everything takes scalars or NumPy arrays and broadcasts. Dollars are US dollars.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Number = float | NDArray[Any]

HOURS_PER_YEAR: Final = 8760.0  # 365 days
HOURS_PER_MONTH: Final = HOURS_PER_YEAR / 12  # 730, as cloud price lists count a month


def power_usd_per_hour(
    board_power_w: Number,
    usd_per_kwh: Number,
    power_usage_effectiveness: Number = 1.0,
    load: Number = 1.0,
) -> Floats:
    """Electricity of one GPU [USD/h]: board power [W] / 1000 x PUE x price [USD/kWh] x load.

    PUE is all energy of the building over that of the computers (ISO/IEC 30134-2); load is the share of the
    board power that is drawn, 0 to 1.
    """
    kilowatts = np.asarray(board_power_w, dtype=np.float64) / 1000
    return kilowatts * power_usage_effectiveness * usd_per_kwh * load


def ownership_usd_per_hour(
    purchase_usd: Number, own_years: Number, power_usd_per_hour: Number = 0.0
) -> Floats:
    """An owned GPU in every hour of its life, used or not [USD/h]: purchase / (years x 8760) + power.

    Straight-line depreciation to nothing, no interest and no resale.
    """
    hours = np.asarray(own_years, dtype=np.float64) * HOURS_PER_YEAR
    return np.asarray(purchase_usd, dtype=np.float64) / hours + power_usd_per_hour


def usd_per_busy_hour(usd_per_paid_hour: Number, busy_share: Number) -> Floats:
    """Cost of an hour that is used [USD/h] when every hour is paid: paid hour / share of hours used."""
    return np.asarray(usd_per_paid_hour, dtype=np.float64) / busy_share
