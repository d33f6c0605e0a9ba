"""Our own estimate beside a measured result: the one place where results meet the predictions.

The predictions are those of the accuracy tables, which a test recomputes from the calculators: what stands
here is what the accuracy page judges.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Final

import pandas as pd

from gpu_data.accuracy import accuracy_frame
from pages.ui.benchmarks_choices import LLAMACPP
from pages.ui.figures_benchmarks import Estimate

SPEEDS: Final = ("tokens_per_s", "prompt_tokens_per_s")


def estimates(lane: str, rows: pd.DataFrame) -> Sequence[Estimate | None]:
    """One estimate per row of results, None where the scenario cannot be expressed.

    MLPerf results have none: they do not say how the model was split over the GPUs, and often not the format.
    """
    if lane != LLAMACPP:
        return [None] * len(rows)
    known = _llamacpp()
    return [known.get(str(row_id)) for row_id in rows["id"]]


@cache
def _llamacpp() -> Mapping[str, Estimate]:
    """Estimate and 80 % band [tokens/s] by the id of a llama.cpp result."""
    frame = accuracy_frame()
    chosen = (frame["table"] == "llamacpp") & frame["quantity"].isin(SPEEDS) & frame["shown"].notna()
    part = frame[chosen.to_numpy(dtype=bool, na_value=False)]
    found = {}
    for row_id, value, low, high in part[["id", "shown", "shown_low", "shown_high"]].itertuples(index=False):
        banded = not (pd.isna(low) or pd.isna(high))
        found[str(row_id)] = Estimate(
            float(value), float(low) if banded else float(value), float(high) if banded else float(value)
        )
    return found
