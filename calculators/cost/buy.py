"""Rent or buy: after how many hours, or at which use, owning a GPU is cheaper.

Everything takes scalars or NumPy arrays and broadcasts. Dollars are US dollars.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from calculators.cost.hourly import HOURS_PER_YEAR

Floats = NDArray[np.float64]
Number = float | NDArray[Any]


def break_even_hours(
    purchase_usd: Number, rent_usd_per_hour: Number, power_usd_per_hour: Number = 0.0
) -> Floats:
    """Hours of use after which buying is cheaper [h]: purchase / (rent - own power); inf when it never is.

    The hours are those that would be rented: an owner pays power in them too, a renter pays nothing outside.
    """
    saved = np.asarray(rent_usd_per_hour, dtype=np.float64) - power_usd_per_hour
    purchase, saved = np.broadcast_arrays(np.asarray(purchase_usd, dtype=np.float64), saved)
    return np.divide(purchase, saved, out=np.full(purchase.shape, np.inf), where=saved > 0)


def break_even_share(hours: Number, own_years: Number) -> Floats:
    """The use at which owning and renting cost the same over the GPU's life: hours / (years x 8760).

    Above 1 renting is cheaper however much the GPU works.
    """
    return np.asarray(hours, dtype=np.float64) / (np.asarray(own_years, dtype=np.float64) * HOURS_PER_YEAR)
