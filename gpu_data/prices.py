"""Rental prices: dated quotes, and what they come to per GPU on a given day.

`prices.csv` keeps every quote that was ever read; new ones are appended. Quotes from before
`SHOWN_FROM_YEAR` and undated ones are history: they are in the frame and never in a summary.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from functools import cache, lru_cache
from pathlib import Path
from typing import Final

import pandas as pd

from gpu_data.csv_tables import problems, read
from gpu_data.frame import spec_frame
from gpu_data.price_schemas import PriceQuote, first_day

PRICE_FILE: Final = Path(__file__).parent / "prices.csv"
SHOWN_FROM_YEAR: Final = 2026
SPOT: Final = "spot"  # can be taken away at any time: never pooled with the others
# A newer quote of the same offer from the same source replaces the older one in a summary.
OFFER: Final = ("source", "gpu_id", "provider", "tier", "instance", "gpus_in_instance", "region")


@cache
def _price_frame() -> pd.DataFrame:
    frame = read(PRICE_FILE, PriceQuote)
    days = {text: first_day(text) for text in frame["as_of"].dropna().unique()}
    day = pd.to_datetime(frame["as_of"].map(days))
    frame["as_of_date"] = day
    frame["shown"] = (day.dt.year >= SHOWN_FROM_YEAR).astype("boolean")
    frame["spot"] = (frame["tier"] == SPOT).astype("boolean")
    return frame


def price_frame() -> pd.DataFrame:
    """One row per quote [US dollars per GPU and hour], with the columns of `PriceQuote` and three more.

    `as_of_date` is the first day that `as_of` can mean (NaT when undated), `shown` is False for history,
    `spot` marks capacity that can be taken away. `gpu_id` is NA where the quote leaves the card open.
    """
    return _price_frame().copy(deep=False)


def quotes(gpu_id: str, today: date) -> pd.DataFrame:
    """The quotes of one GPU that may be shown on `today`, newest first, with `age_days`."""
    frame = _standing(today)
    frame = frame[(frame["gpu_id"] == gpu_id).to_numpy(dtype=bool, na_value=False)]
    return frame.sort_values("as_of_date", ascending=False, kind="stable")


def price_summary(today: date) -> pd.DataFrame:
    """One row per GPU with a quote that may be shown on `today`; index `gpu_id`.

    Columns [US dollars per GPU and hour]: `low`, `median`, `high` over `quotes` on-demand and marketplace
    quotes; `spot_median` over `spot_quotes`; `newest` and `oldest` date of all of them, `age_days` of the
    newest. A GPU with spot quotes alone has NA prices and 0 quotes.
    """
    return _summary(today).copy(deep=False)


@lru_cache(maxsize=16)
def _summary(today: date) -> pd.DataFrame:
    frame = _standing(today)
    frame = frame[frame["gpu_id"].notna()]
    spot = frame["spot"].to_numpy(dtype=bool)
    firm = frame[~spot].groupby("gpu_id")["usd_per_gpu_hr"].agg(["min", "median", "max", "count"])
    loose = frame[spot].groupby("gpu_id")["usd_per_gpu_hr"].agg(["median", "count"])
    dates = frame.groupby("gpu_id")["as_of_date"].agg(["max", "min"])
    summary = pd.DataFrame(index=pd.Index(sorted(dates.index), dtype="string", name="gpu_id"))
    for name, column in {"low": "min", "median": "median", "high": "max"}.items():
        summary[name] = firm[column].reindex(summary.index).astype("Float64")
    summary["quotes"] = firm["count"].reindex(summary.index).fillna(0).astype("Int64")
    summary["spot_median"] = loose["median"].reindex(summary.index).astype("Float64")
    summary["spot_quotes"] = loose["count"].reindex(summary.index).fillna(0).astype("Int64")
    summary["newest"] = dates["max"].reindex(summary.index)
    summary["oldest"] = dates["min"].reindex(summary.index)
    summary["age_days"] = (pd.Timestamp(today) - summary["newest"]).dt.days.astype("Int64")
    return summary


@lru_cache(maxsize=16)
def _standing(today: date) -> pd.DataFrame:
    """Quotes that may be shown on that day: dated, recent enough, not from the future, not replaced."""
    frame = price_frame()
    dated = (frame["shown"] & (frame["as_of_date"] <= pd.Timestamp(today))).to_numpy(dtype=bool)
    frame = frame[dated].sort_values("as_of_date", kind="stable")
    # a label alone names the card where there is no id
    same = frame[list(OFFER)].assign(gpu_id=frame["gpu_id"].fillna(frame["gpu_label"])).fillna("")
    frame = frame[~same.duplicated(keep="last").to_numpy()].sort_index()
    frame["age_days"] = (pd.Timestamp(today) - frame["as_of_date"]).dt.days.astype("Int64")
    return frame


def check_prices(path: Path = PRICE_FILE) -> list[str]:
    """Every fault of the price table, a line each: "file: line (card): field: what is wrong"."""
    found = list(problems(path, PriceQuote))
    return found or list(_reference_faults(path))


def _reference_faults(path: Path) -> Iterator[str]:
    """Quotes of unknown cards, and quotes that stand there twice."""
    known = set(spec_frame().index)
    frame = read(path, PriceQuote)
    for position, gpu_id in enumerate(frame["gpu_id"]):
        if not pd.isna(gpu_id) and gpu_id not in known:
            yield f"{path.name}: line {position + 2} ({gpu_id}): gpu_id: no GPU of that id"
    for position in frame.index[frame.duplicated()]:
        label = frame.at[position, "gpu_label"]
        yield f"{path.name}: line {position + 2} ({label}): gpu_id: the same quote stands there already"
