"""What the page "How far off are we?" says, on hand-made rows whose answers are known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from gpu_data.accuracy import AccuracyRow, accuracy_frame, judged, percentiles
from pages.ui import accuracy_views as views
from pages.ui.accuracy_choices import KINDS, QUANTITIES, VIEWS, chosen, of_kind


def frame(*rows: dict[str, Any]) -> pd.DataFrame:
    """Rows with ordinary values where nothing else is said."""
    usual = {
        "id": "x", "kind": "decode", "quantity": "tpot_ms", "unit": "ms", "part": "counted", "engine": "vLLM",
        "gpu": "NVIDIA H100 SXM5 80GB", "model": "m", "architecture": "Dense", "format": "BF16",
        "source_url": "https://example.org/a",
    }  # fmt: skip
    full = [AccuracyRow(**{**usual, **row}).model_dump() for row in rows]
    table = pd.DataFrame(full)
    numbers = ("predicted", "low", "high", "measured", "held_out", "held_out_gpu")
    table = table.astype(dict.fromkeys(numbers, "Float64"))
    return judged(table)


def test_the_prediction_without_the_row_is_judged_and_its_band_moves_along() -> None:
    found = frame({"predicted": 10, "low": 8, "high": 12, "measured": 11, "held_out": 5}).iloc[0]
    assert (found["shown"], found["shown_low"], found["shown_high"]) == (5, 4, 6)
    assert found["error_pct"] == pytest.approx(100 * (5 - 11) / 11)
    assert not found["inside"]


def test_without_a_fit_the_prediction_itself_is_judged() -> None:
    found = frame({"predicted": 10, "low": 8, "high": 12, "measured": 11}).iloc[0]
    assert found["shown"] == 10
    assert found["inside"]


@pytest.mark.parametrize(
    ("said", "was", "grade"),
    [
        ("fits", "ran", "right"),
        ("does not fit", "out of memory", "right"),
        ("fits", "out of memory", "wrong"),
        ("does not fit", "ran", "wrong"),
        ("tight", "ran", "tight"),
    ],
)
def test_verdicts_are_graded(said: str, was: str, grade: str) -> None:
    row = {"quantity": "fits", "unit": "verdict", "predicted_words": said, "measured_words": was}
    assert frame(row).iloc[0]["verdict"] == grade


def test_percentiles_of_absolute_errors() -> None:
    assert percentiles(np.array([-10.0, 0.0, 20.0, np.nan])) == pytest.approx((10.0, 18.0))
    assert all(np.isnan(value) for value in percentiles(np.array([])))


def test_setups_count_once_by_their_median() -> None:
    rows = [{"setup": "a", "predicted": 10, "measured": m, "low": 9, "high": 11} for m in (10, 20, 30)]
    rows.append({"setup": "b", "predicted": 10, "measured": 10, "low": 9, "high": 11})
    found = views.by_setup(frame(*rows))
    assert found["error_pct"].tolist() == pytest.approx([-50.0, 0.0])
    assert found["inside"].tolist() == [False, True]


@pytest.mark.parametrize(
    ("error", "text"), [(30.0, "30 % too high"), (-64.0, "64 % too low"), (450.0, "5.5 × as much")]
)
def test_errors_in_words(error: float, text: str) -> None:
    assert views.off(error) == text


@pytest.mark.parametrize("quantity", QUANTITIES.values(), ids=lambda q: q.key)
def test_the_headline_says_the_numbers_of_the_counted_rows(quantity) -> None:
    found = views.summary(quantity)
    rows = accuracy_frame()
    mine = rows[
        (rows["kind"] == quantity.kind)
        & (rows["quantity"] == quantity.column)
        & (rows["load"].fillna("") == quantity.load)
        & (rows["part"] == "counted")
        & np.isfinite(rows["error_pct"].fillna(np.nan).to_numpy(dtype=float))
    ]
    assert found.n == len(mine)
    text = " ".join(views.headline(found))
    assert (f"{found.n:,} measurements" in text) == (found.n > 0)


@pytest.mark.parametrize("quantity", QUANTITIES.values(), ids=lambda q: q.key)
def test_every_row_of_a_quantity_is_listed_counted_or_not(quantity) -> None:
    table, rows = views.every_row(quantity), views.rows_of(quantity)
    assert len(table) == len(rows)
    counted = (table["Counted"] == "yes").sum()
    apart = views.apart(quantity)
    refused = int(rows[(rows["part"] == "counted")]["refused"].notna().sum())
    assert counted - refused + sum(int(n.replace(",", "")) for n in apart["Count"]) == len(rows)


@pytest.mark.parametrize("quantity", QUANTITIES.values(), ids=lambda q: q.key)
@pytest.mark.parametrize("name", VIEWS)
def test_every_chart_has_its_sentence_and_numbers(quantity, name: str) -> None:
    found = views.view(quantity, name, ("h100-sxm5-80gb", "not-a-card"))
    if found.figure is None:
        assert views.summary(quantity).n == 0
        return
    assert found.takeaway
    assert found.figure["alt"]
    if name == "scatter":
        drawn = sum(len(group["spots"]) for group in found.figure["groups"])
        lost = sum(int(note.split()[0]) for note in found.notes if "cannot be drawn" in note)
        assert drawn == views.summary(quantity).n - lost
    else:
        assert len(found.figure["rows"]) == min(len(found.numbers), views.MOST_GROUPS) > 0
    assert all(row["name"].strip() for row in found.figure.get("rows", ()))


def test_the_worst_are_the_furthest_by_ratio() -> None:
    for kind in KINDS:
        quantity = of_kind(kind)[0]
        table = views.worst(quantity)
        ratios = np.abs(np.log(table["Predicted"] / table["Measured"])).to_numpy()
        assert (np.diff(ratios) <= 1e-9).all()
        assert len(table) == min(10, views.summary(quantity).n)


def test_memory_of_the_newest_kind_is_named_where_nobody_measured_it() -> None:
    """No HBM4 card is sold yet, so nobody can have measured one."""
    lines = [line for line in views.gaps("memory").lines if "HBM4 (2 cards)" in line]
    assert len(lines) == 1


def test_a_quantity_of_another_kind_falls_back_to_the_first() -> None:
    assert chosen("training", "kv-cache").key == "train-speed"
    assert chosen("memory", "kv-cache").key == "kv-cache"
    assert chosen("memory", "").key == "needed"


def test_the_glance_holds_every_estimate_with_a_band() -> None:
    names = {line[0] for line in views.glance()}
    assert {"Memory: Memory needed", "Fine-tuning memory: Peak memory on one GPU"} <= names


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("https://github.com/a/b/blob/x/y.md", "github.com/a/b"),
        ("https://github.com/a/b", "github.com/a/b"),
        ("public log no. 7", "public log no. 7"),
    ],
)
def test_pages_of_one_repository_are_one_source(source: str, name: str) -> None:
    assert views.publisher(source) == name
