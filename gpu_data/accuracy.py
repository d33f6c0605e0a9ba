"""Predicted against measured: every estimate beside what others published.

The files under `gpu_data/accuracy/`, one per table of measurements, are written by
`python -m calculators.validate_accuracy` from tests/truth and the calculators; a test recomputes them and
fails on a difference. Here they are read, and the few sums that pages and tests share are made.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Final, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, model_validator

from gpu_data.csv_tables import CsvRow, problems, read

FOLDER: Final = Path(__file__).parent / "accuracy"
REASONS: Final = Path(__file__).parent / "accuracy_reasons.toml"
TABLES: Final = ("memory", "llamacpp", "serving", "finetune", "training")
COUNTED: Final = "counted"
SLACK: Final = 1e-3  # the ends of a band are measured errors themselves, rounded

Kind = Literal["memory", "decode", "prefill", "throughput", "finetune", "training"]
Text = Annotated[str, Field(min_length=1)]


class AccuracyRow(CsvRow):
    """One estimate beside what was measured.

    `predicted`, `low`, `high` (the error band) and `measured` are in `unit`; verdicts stand in
    `predicted_words` and `measured_words`. `refused` says why there is no prediction. `held_out` is predicted
    by constants fitted without this row, in the way the band was made; `held_out_gpu` by constants fitted
    without any row of this GPU; both empty where no constant was fitted to the table. `part` is "counted", or
    why the row stands apart. `setup` names rows that count once in a memory band.
    """

    id: Text
    kind: Kind
    quantity: Text
    unit: Text
    predicted: float | None = None
    low: float | None = None
    high: float | None = None
    measured: float | None = None
    held_out: float | None = None
    held_out_gpu: float | None = None
    predicted_words: Literal["fits", "tight", "does not fit"] | None = None
    measured_words: Literal["ran", "out of memory"] | None = None
    refused: Text | None = None
    part: Text
    load: Literal["single", "batch"] | None = None
    engine: Text
    gpu: Text
    gpu_id: Text | None = None
    n_gpus: Annotated[int, Field(ge=1)] | None = None
    model: Text
    architecture: Text
    format: Text
    setup: Text | None = None
    note: Text | None = None
    source_url: Text

    @model_validator(mode="after")
    def _predicted_or_refused(self) -> AccuracyRow:
        said = self.predicted is not None or self.predicted_words is not None
        if said == (self.refused is not None):
            raise ValueError("give a prediction, or the reason why there is none")
        return self


class Reason(BaseModel):
    """Why some estimates are far off, as far as the measurements tell.

    `where`: regular expressions over columns of the tables, all of which a row must match; `text` is a phrase
    for readers, `evidence` names the rows that show it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    text: Text
    where: Mapping[str, str]
    evidence: Text


@cache
def accuracy_reasons() -> tuple[Reason, ...]:
    """All reasons of accuracy_reasons.toml in the order they are tried."""
    rows = tomllib.loads(REASONS.read_text(encoding="utf-8"))["reason"]
    return tuple(Reason(**row) for row in rows)


def reason_of(row: Mapping[str, object]) -> str:
    """Why the estimate of a row is off; "" when nobody found out."""
    for reason in accuracy_reasons():
        if all(
            re.search(pattern, "" if pd.isna(row[column]) else str(row[column]))
            for column, pattern in reason.where.items()
        ):
            return reason.text
    return ""


def accuracy_frame() -> pd.DataFrame:
    """All rows of all tables: the columns of `AccuracyRow` and what follows from them.

    `table`; `shown`, the prediction that is judged (`held_out` where there is one), its band in `shown_low`
    and `shown_high`; `error_pct` = 100 (shown - measured) / measured; `inside`, whether the measured value
    lies in the band (NA without a band); `verdict`: right, tight or wrong.
    """
    return _accuracy().copy(deep=False)


@cache
def _accuracy() -> pd.DataFrame:
    parts = []
    for table in TABLES:
        path = FOLDER / f"{table}.csv"
        if path.is_file():
            frame = read(path, AccuracyRow)
            frame.insert(0, "table", pd.array([table] * len(frame), dtype="string"))
            parts.append(frame)
    return judged(pd.concat(parts, ignore_index=True))


def judged(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with `shown`, `shown_low`, `shown_high`, `error_pct`, `inside` and `verdict`."""
    frame = frame.copy()
    frame["shown"] = frame["held_out"].fillna(frame["predicted"])
    scale = frame["shown"] / frame["predicted"]
    frame["shown_low"], frame["shown_high"] = frame["low"] * scale, frame["high"] * scale
    frame["error_pct"] = 100 * (frame["shown"] - frame["measured"]) / frame["measured"].abs()
    slack = SLACK * frame["shown"].abs()
    inside = (frame["measured"] >= frame["shown_low"] - slack) & (
        frame["measured"] <= frame["shown_high"] + slack
    )
    frame["inside"] = inside.astype("boolean")
    frame["verdict"] = pd.array(
        [
            _grade(said, was)
            for said, was in zip(frame["predicted_words"], frame["measured_words"], strict=True)
        ],
        dtype="string",
    )
    return frame


def _grade(said: object, was: object) -> str | None:
    if pd.isna(said) or pd.isna(was):
        return None
    if said == "tight":
        return "tight"
    return "right" if (said == "fits") == (was == "ran") else "wrong"


def percentiles(errors: NDArray[np.float64], shares: tuple[float, ...] = (50, 90)) -> tuple[float, ...]:
    """Percentiles of absolute errors; NaN of none."""
    known = np.abs(errors[np.isfinite(errors)])
    return tuple(float(np.percentile(known, share)) if len(known) else float("nan") for share in shares)


def check_accuracy(folder: Path = FOLDER) -> list[str]:
    """Every fault of the tables, a line each."""
    return list(_faults(folder))


def _faults(folder: Path) -> Iterator[str]:
    for table in TABLES:
        if (folder / f"{table}.csv").is_file():
            yield from problems(folder / f"{table}.csv", AccuracyRow)


UNITS: Final[Mapping[str, str]] = {
    "needed_gib": "GiB",
    "weights_gib_per_gpu": "GiB",
    "kv_cache_gib_per_gpu": "GiB",
    "kv_cache_tokens": "tokens",
    "activation_peak_gib": "GiB",
    "non_torch_gib": "GiB",
    "cudagraph_gib": "GiB",
    "compute_buffer_mib": "MiB",
    "kv_mib": "MiB",
    "params_b": "billion",
    "model_size_gib": "GiB",
    "total_used_mib": "MiB",
    "total_used_gb": "GiB",
    "fits": "verdict",
    "oom": "verdict",
    "tokens_per_s": "tokens/s",
    "prompt_tokens_per_s": "tokens/s",
    "output_tokens_per_s": "tokens/s",
    "ttft_ms": "ms",
    "tpot_ms": "ms",
    "peak_gib_per_gpu": "GiB",
    "tokens_per_s_per_gpu": "tokens/s per GPU",
    "mfu_pct_reported": "% of peak",
    "gpu_hours": "GPU-hours",
}
