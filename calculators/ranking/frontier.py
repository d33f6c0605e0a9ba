"""The Pareto frontier: options that nothing beats in both measures."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def frontier(usd: NDArray[np.float64], seconds: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Where no other option is at most as dear and at most as slow, and better in one of both.

    Unknown values are never on it. Options that are alike in both are all on it.
    """
    known = np.isfinite(usd) & np.isfinite(seconds)
    places = np.flatnonzero(known)
    ranked = places[np.lexsort((seconds[places], usd[places]))]
    on = np.zeros(len(usd), dtype=bool)
    best, at = np.inf, np.nan
    for i in ranked:
        if seconds[i] < best or (seconds[i] == best and usd[i] == at):
            best, at, on[i] = seconds[i], usd[i], True
    return on
