"""A vendor none of whose cards was measured: said beside the band, by what the accuracy tables hold."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from calculators.scenario import Scenario
from gpu_data.accuracy import accuracy_frame
from pages.ui import catalogue, cost_load, cost_text, measured_vendors, recommend_load, recommend_text

TODAY = date(2026, 11, 30)
AMD = (("mi300x-192gb", 0.01),)  # cheap enough to come first
NVIDIA = (("h100-sxm5-80gb", 0.01),)


def measured(table: str) -> set[str]:
    """Vendors of a table of measured speeds."""
    frame = accuracy_frame()
    rows = frame[(frame["table"] == table) & (frame["part"] == "counted") & (frame["kind"] != "memory")]
    return {str(catalogue.spec_row(gpu)["vendor"]) for gpu in rows["gpu_id"].dropna().unique()}


@pytest.mark.parametrize(
    ("fields", "table"),
    [
        ({}, "serving"),
        ({"engine": "llama.cpp", "weight_format": "gguf-q4_k_m"}, "llamacpp"),
        ({"task": "train", "model": "llama-2-7b"}, "training"),
        ({"task": "finetune", "model": "llama-3.1-8b"}, "training"),
    ],
    ids=str,
)
def test_it_is_said_of_exactly_the_vendors_that_have_no_measurement(
    fields: dict[str, Any], table: str
) -> None:
    known = measured(table)
    assert known
    s = Scenario(**fields)
    for gpu in ("mi300x-192gb", "h100-sxm5-80gb", "apple-m4-max", "gaudi3-128gb"):
        vendor, said = str(catalogue.spec_row(gpu)["vendor"]), measured_vendors.unmeasured(s, gpu)
        assert bool(said) == (vendor not in known)
        assert not said or all(one in said for one in (f"No {vendor} card", *known))


@pytest.mark.parametrize("fields", [{}, {"task": "train", "model": "llama-2-7b"}], ids=str)
@pytest.mark.parametrize(("prices", "unseen"), [(AMD, True), (NVIDIA, False)], ids=["AMD", "NVIDIA"])
def test_both_pages_say_it_of_their_answer(fields: dict[str, Any], prices: Any, unseen: bool) -> None:
    s = Scenario(price_edits=prices, **fields)
    found, money = recommend_load.recommend(s, TODAY), cost_load.costs(s, TODAY)
    assert found.best is not None
    assert money.best is not None
    assert (found.best.gpu == prices[0][0]) == (money.best.gpu == prices[0][0]) == (not unseen)
    assert ("the band is that of NVIDIA cards" in " ".join(recommend_text.details(found))) == unseen
    assert ("no AMD card was measured" in " ".join(cost_text.details(money))) == unseen


def test_measured_images_need_no_such_sentence() -> None:
    found = recommend_load.recommend(Scenario(serving="images", maker="amd"), TODAY)
    assert found.best is not None
    assert "No AMD card" not in " ".join(recommend_text.details(found))
