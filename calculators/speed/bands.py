"""Estimates with their 80 % band."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gpu_data.speed_schemas import Load, Quantity, SpeedBand

Floats = NDArray[np.float64]
ANY: Literal["any"] = "any"


@dataclass(frozen=True)
class Estimate:
    """A value and the band that holds four of five measurements, in the same unit; `band` says from what."""

    value: Floats
    low: Floats
    high: Floats
    band: SpeedBand | None


def band_for(bands: Sequence[SpeedBand], engine: str, quantity: Quantity, load: Load) -> SpeedBand | None:
    """The band of an engine's quantity under a load; else under any load, else that of all engines.

    Clients who wait for each answer ("closed") have a band where enough were measured, else that of all
    kinds of load together.
    """
    by_key = {(b.engine, b.quantity, b.load): b for b in bands}
    loads: tuple[Load, ...] = ("closed", "batch", ANY) if load == "closed" else (load, ANY)
    keys = [(name, quantity, kind) for name in (engine, ANY) for kind in loads]
    return next((by_key[key] for key in keys if key in by_key), None)


def multiples(band: SpeedBand, rate: bool) -> tuple[float, float]:
    """(low, high) as multiples of a prediction; `rate` when it is tokens per second and not a time.

    Bands of decode, prefill, ttft and tpot hold for times, those of throughput for tokens per second.
    """
    if rate and band.quantity != "throughput":
        return 1 / band.high, 1 / band.low
    return band.low, band.high


def ends_of(band: SpeedBand | None, rate: bool) -> tuple[float, float]:
    """(low, high) as multiples of a prediction; without a band both are the prediction itself."""
    return (1.0, 1.0) if band is None else multiples(band, rate)


def with_band(
    value: ArrayLike,
    bands: Sequence[SpeedBand],
    engine: str,
    quantity: Quantity,
    load: Load = "single",
    rate: bool = False,
) -> Estimate:
    """A prediction with the band of its engine, quantity and load; without a band low = high = value.

    quantity: "decode" and "prefill" are of one request alone, "throughput", "ttft" and "tpot" of many; `rate`
    when the value is tokens per second.
    """
    found = np.asarray(value, dtype=np.float64)
    band = band_for(bands, engine, quantity, load)
    low, high = ends_of(band, rate)
    return Estimate(found, found * low, found * high, band)
