"""Our own estimate beside a measured result: the one place where results meet the predictions.

For llama.cpp the predictions are those of the accuracy tables, which a test recomputes from the calculators:
what stands here is what the accuracy page judges. MLPerf Inference is predicted here, and nothing was fitted
to it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Final

import pandas as pd

from gpu_data.accuracy import accuracy_frame
from pages.ui.benchmarks_choices import INFERENCE, LLAMACPP, results
from pages.ui.benchmarks_mlperf import estimate as mlperf_estimate
from pages.ui.compare_select import floats
from pages.ui.figures_benchmarks import Estimate

SPEEDS: Final = ("tokens_per_s", "prompt_tokens_per_s")
ASKED: Final = ("gpu_id", "n_gpus", "benchmark", "scenario", "unit", "weight_dtype", "software")
TRAINING_REASON: Final = "results do not say the number format and how the model was split over the GPUs"


def estimates(lane: str, rows: pd.DataFrame, column: str = "") -> Sequence[Estimate | None]:
    """One estimate per row of results in the unit of `column`, None where there is none."""
    if lane == LLAMACPP:
        known = _llamacpp()
        return [known.get(str(row_id)) for row_id in rows["id"]]
    if lane != INFERENCE:
        return [None] * len(rows)
    found = _mlperf(rows)
    if column == "value_per_gpu":
        return [one if isinstance(one, Estimate) else None for one in found]
    return [
        Estimate(one.value * n, one.low * n, one.high * n) if isinstance(one, Estimate) else None
        for one, n in zip(found, floats(rows["n_gpus"]), strict=True)
    ]


def reasons(lane: str, rows: pd.DataFrame) -> Mapping[str, int]:
    """Why results have no estimate, and how many of them, the most frequent reason first."""
    if lane == LLAMACPP:
        known = _llamacpp()
        without = sum(str(row_id) not in known for row_id in rows["id"])
        return {"the model, the format or the card is not one of ours": without} if without else {}
    if lane != INFERENCE:
        return {TRAINING_REASON: len(rows)}
    return dict(Counter(one for one in _mlperf(rows) if isinstance(one, str)).most_common())


def _mlperf(rows: pd.DataFrame) -> list[Estimate | str]:
    return [_of_result(place) for place in rows.index]


@cache
def _of_result(place: int) -> Estimate | str:
    """The estimate beside one result of MLPerf Inference, by its index in the table of results."""
    row = results(INFERENCE).loc[place]
    return mlperf_estimate(*(row[name] for name in ASKED))


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
