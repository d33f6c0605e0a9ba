"""The price table is sound; a summary shows dated quotes of recent years and says how old they are."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpu_data import spec_frame
from gpu_data.price_schemas import PriceQuote, first_day
from gpu_data.prices import PRICE_FILE, check_prices, price_frame, price_summary, quotes

TODAY = date(2026, 11, 30)
# Read in the public lists by hand, US dollars per GPU and hour: quotes, low, median, high
BY_HAND = {
    "h100-pcie-80gb": (5, 1.99, 2.89, 3.29),
    "h100-nvl-94gb": (7, 2.59, 3.19, 8.82),
    "a100-pcie-40gb": (1, 1.45, 1.45, 1.45),
    "a100-sxm4-40gb": (10, 1.00, 2.90, 3.67),
    "a100-pcie-80gb": (10, 1.19, 1.59, 3.67),
    "a100-sxm4-80gb": (12, 1.39, 1.87, 5.07),
    "rtx-a6000-48gb": (2, 0.82, 0.96, 1.09),
    "l40s-48gb": (7, 0.79, 1.55, 2.25),
    "rtx-4090-24gb": (4, 0.29, 0.36, 0.74),
}


def test_the_table_is_sound() -> None:
    assert check_prices() == []


@pytest.mark.parametrize("gpu", BY_HAND)
def test_summaries_match_a_count_by_hand(gpu: str) -> None:
    row = price_summary(TODAY).loc[gpu]
    count, low, median, high = BY_HAND[gpu]
    assert row["quotes"] == count
    assert [row["low"], row["median"], row["high"]] == pytest.approx([low, median, high], abs=0.006)


def test_a_newer_quote_of_the_same_offer_replaces_the_older_one() -> None:
    """One source read a marketplace median of 6.15 on 7 October and of 2.40 on the 19th."""
    found = quotes("h100-sxm5-80gb", TODAY)
    again = found[(found["tier"] == "marketplace median") & (found["as_of"] > "2026-10")]
    assert again["usd_per_gpu_hr"].tolist() == [2.4024]
    earlier = quotes("h100-sxm5-80gb", date(2026, 10, 10))
    assert 6.1489 in earlier["usd_per_gpu_hr"].tolist()


def test_history_is_kept_and_never_shown() -> None:
    frame = price_frame()
    hidden = frame[~frame["shown"]]
    assert len(frame) >= 417
    assert len(hidden) == 233 + 19 + 2  # archived table, undated lists, a page of 2025
    shown = pd.concat([quotes(gpu, TODAY) for gpu in frame["gpu_id"].dropna().unique()])
    assert (shown["as_of_date"].dt.year >= 2026).all()
    assert price_summary(TODAY)["oldest"].min() >= pd.Timestamp(2026, 1, 1)


def test_spot_is_never_pooled_with_firm_prices() -> None:
    row = price_summary(TODAY).loc["a100-pcie-40gb"]
    assert (row["quotes"], row["low"], row["spot_quotes"], row["spot_median"]) == (1, 1.45, 1, 1.0)


LAST_LINE = len(price_frame()) + 1


def test_an_ambiguous_label_counts_for_no_card() -> None:
    frame = price_frame()
    pooled = frame[frame["gpu_label"] == "H100 (form factors pooled)"]
    assert len(pooled) == 8
    assert pooled["gpu_id"].isna().all()


def test_age_is_the_distance_to_the_date_passed_in() -> None:
    for days in (0, 1, 365):
        later = TODAY + timedelta(days)
        age = price_summary(later).at["a100-sxm4-40gb", "age_days"]
        assert age == (later - date(2026, 11, 16)).days


def test_a_day_before_any_quote_has_no_summary() -> None:
    assert price_summary(date(2026, 1, 1)).empty


@given(st.dates(date(2026, 6, 1), date(2030, 1, 1)))
@settings(deadline=None)
def test_laws_of_a_summary(today: date) -> None:
    summary = price_summary(today)
    assert set(summary.index) <= set(spec_frame().index)
    assert (summary["age_days"] >= 0).all()
    known = summary[summary["quotes"] > 0]
    assert (known["low"] <= known["median"]).all()
    assert (known["median"] <= known["high"]).all()
    assert (summary["quotes"] + summary["spot_quotes"] > 0).all()
    assert summary.loc[summary["quotes"] == 0, "median"].isna().all()


@pytest.mark.parametrize(
    ("text", "day"),
    [("2026-11-09", (2026, 11, 9)), ("2026-10", (2026, 10, 1)), ("2026", (2026, 1, 1))],
)
def test_a_month_counts_from_its_first_day(text: str, day: tuple[int, int, int]) -> None:
    assert first_day(text) == date(*day)


def test_frames_can_be_written_to_without_harm() -> None:
    frame = price_frame()
    frame["usd_per_gpu_hr"] = 0
    assert price_frame()["usd_per_gpu_hr"].min() > 0
    summary = price_summary(TODAY)
    summary["median"] = 0
    assert price_summary(TODAY)["median"].min() > 0


# What an editor may get wrong: a change of the last line's cells, and what the message must say
SLIPS = {
    "word for a number": ({"usd_per_gpu_hr": "4 USD"}, "usd_per_gpu_hr", "valid number"),
    "zero for unknown": ({"usd_per_gpu_hr": "0"}, "usd_per_gpu_hr", "greater than 0"),
    "no such day": ({"as_of": "2026-02-30"}, "as_of", "day"),
    "undated without saying so": ({"as_of": ""}, "", "undated"),
    "unknown tier": ({"tier": "cheap"}, "tier", "on-demand"),
    "no provider": ({"provider": ""}, "provider", "missing"),
    "no source": ({"source": ""}, "source", "missing"),
    "unknown card": ({"gpu_id": "h100-sxm6-80gb"}, "gpu_id", "no GPU of that id"),
    "price of the node": (
        {"instance_usd_per_hr": "32", "gpus_in_instance": "8", "usd_per_gpu_hr": "32"},
        "",
        "gpus_in_instance",
    ),
}


@pytest.mark.parametrize("slip", SLIPS)
def test_a_slip_is_named_by_file_line_and_field(slip: str, tmp_path: Path) -> None:
    change, field, message = SLIPS[slip]
    header = list(PriceQuote.model_fields)
    good = {
        "gpu_id": "a10-24gb",
        "gpu_label": "A10",
        "provider": "Somebody",
        "tier": "on-demand",
        "gpus_in_instance": "1",
        "usd_per_gpu_hr": "1.5",
        "as_of": "2026-11-01",
        "as_of_kind": "read",
        "source": "their price page",
        "verified_by": "secondary",
    }
    copy = tmp_path / "prices.csv"
    line = ",".join({**good, **change}.get(name, "") for name in header)
    copy.write_text(PRICE_FILE.read_text("utf-8") + line + "\n", "utf-8")
    (found,) = check_prices(copy)
    label = change.get("gpu_id", "a10-24gb")
    assert found.startswith(f"prices.csv: line {LAST_LINE + 1} ({label}): {field}")
    assert message in found


def test_a_wrong_column_a_short_line_and_a_twin_are_named(tmp_path: Path) -> None:
    text = PRICE_FILE.read_text("utf-8")
    copy = tmp_path / "prices.csv"
    copy.write_text(text.replace("usd_per_gpu_hr", "usd_per_hour", 1), "utf-8")
    assert check_prices(copy) == [
        "prices.csv: line 1: unknown column 'usd_per_hour'",
        "prices.csv: line 1: column 'usd_per_gpu_hr' is missing",
    ]
    copy.write_text(text + "a10-24gb,A10\n", "utf-8")
    assert check_prices(copy) == [
        f"prices.csv: line {LAST_LINE + 1} (a10-24gb): has fewer cells than the header"
    ]
    copy.write_text(text + text.splitlines()[-1] + "\n", "utf-8")
    (twin,) = check_prices(copy)
    assert twin.endswith("the same quote stands there already")
