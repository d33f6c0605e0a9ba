"""Error bands: how far measured need lies from the estimate, from a table of measured rows."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable
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
    count once, by their median. Suspect and partial rows are left out. Errors are shares of the need without
    its cache, which is counted and not estimated.
    """
    setups: dict[str, dict[tuple[str, ...], list[float]]] = defaultdict(lambda: defaultdict(list))
    for result in results:
        ratio = result.need_ratio
        if result.part == "counted" and ratio is not None:
            for family in (result.family, "all"):
                setups[family][result.setup].append(ratio - 1)
    found = []
    for family, ratios in sorted(setups.items()):
        values = [float(np.median(group)) for group in ratios.values()]
        if len(values) >= FEWEST or family == "all":
            found.append(_band(family, values))
    return found


def _band(family: str, values: list[float]) -> ErrorBand:
    low, high = np.percentile(values, [LOW, HIGH])
    return ErrorBand(
        family=family,
        low=round(min(float(low), -LEAST), 4),
        high=round(max(float(high), LEAST), 4),
        rows=len(values),
        note=f"at least two of three of {len(values)} measured setups lie inside",
    )


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
