"""Error bands: how far measured need lies from the estimate, from a table of measured rows."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np

from calculators.validate_memory import RowResult, predict_file
from gpu_data.engine_schemas import ErrorBand

LOW, HIGH = 100 / 6, 500 / 6  # percentiles: two setups of three lie between, one standard deviation
LEAST = 0.01  # no band is narrower to either side: what figures printed with two or three digits leave open
FEWEST = 8  # setups a family needs for a band of its own


def bands(results: Iterable[RowResult]) -> list[ErrorBand]:
    """A band for every engine family with enough measured setups, and "all" over every row.

    Rows of the same engine family, model and format are one setup, whatever the lengths, batch and GPU, and
    count once, by their median. Suspect and partial rows are left out. A family with enough setups that
    print weights and work apart has a band for each, another one the band of its needs without the cache.
    """
    kept = [r for r in results if r.part == "counted"]
    found = []
    for family in (*sorted({r.family for r in kept if r.family}), "all"):
        mine = [r for r in kept if family in (r.family, "all")]
        needs = _errors(mine, lambda r: r.need.ratio if r.need else None)
        weights, work = _errors(mine, lambda r: r.weights_ratio), _errors(mine, lambda r: r.work_ratio)
        if family != "all" and len(work) >= FEWEST and len(weights) >= FEWEST:
            note = "weights and work are printed apart; each band holds two of three of its setups"
            found.append(_band(family, weights, work, note))
        elif family == "all" or len(needs) >= FEWEST:
            note = "at least two of three of the measured setups lie inside"
            found.append(_band(family, needs, needs, note))
    return found


def _errors(results: Iterable[RowResult], ratio: Callable[[RowResult], float | None]) -> list[float]:
    """Relative errors, one a setup: the median of its rows."""
    setups: dict[tuple[str, ...], list[float]] = defaultdict(list)
    for result in results:
        value = ratio(result)
        if value is not None:
            setups[result.setup].append(value - 1)
    return [float(np.median(group)) for group in setups.values()]


def _band(family: str, weights: list[float], work: list[float], note: str) -> ErrorBand:
    def ends(values: list[float]) -> tuple[float, float]:
        low, high = np.percentile(values, [LOW, HIGH])
        return round(min(float(low), -LEAST), 4), round(max(float(high), LEAST), 4)

    (low, high), (work_low, work_high) = ends(weights), ends(work)
    return ErrorBand(
        family=family, low=low, high=high, work_low=work_low, work_high=work_high,
        rows=len(weights), work_rows=len(work), note=note,
    )  # fmt: skip


def as_toml(found: Iterable[ErrorBand]) -> str:
    """The bands as they stand in gpu_data/error_bands.toml."""
    blocks = []
    for band in found:
        fields = band.model_dump()
        lines = [f"{key} = {json.dumps(value)}" for key, value in fields.items()]
        blocks.append("\n".join(["[[band]]", *lines]) + "\n")
    return "\n".join(blocks)


def bands_of_files(paths: Iterable[Path], configs: Path) -> list[ErrorBand]:
    """Bands from CSV files of measured rows."""
    return bands(result for path in paths for result in predict_file(path, configs))
