"""The use cases: well formed, nothing doubtful stated as fact, and what sources say of the best known."""

from __future__ import annotations

from pathlib import Path

import pytest

from calculators.scenario import FIRST_USE_YEAR, LAST_USE_YEAR
from gpu_data.use_cases import PATH, check_use_cases, use_case_frame

FRAME = use_case_frame()


def test_the_table_has_no_fault() -> None:
    assert not check_use_cases()


def test_every_year_can_be_filtered() -> None:
    assert FRAME["year"].min() == FIRST_USE_YEAR
    assert FRAME["last_year"].fillna(FRAME["year"]).max() == LAST_USE_YEAR


# (id, what is not to be claimed): each from the source that the row links.
KNOWN = [
    ("inflection-cluster", "announced", 22_000, "H100", 2023),  # funding round, June 2023
    ("meta-fleet-2024", "planned", 350_000, "H100", 2024),  # Zuckerberg, January 2024
    ("selene-2020-11", "running", 4_480, "A100", 2020),  # No. 5, Top500 of November 2020
    ("las-vegas-sphere", "running", 150, "RTX A6000", 2024),  # NVIDIA by way of DatacenterDynamics
    ("bloom-176b", "trained", 384, "A100", 2022),  # arXiv 2211.05100
    ("deepseek-v3", "trained", 2_048, "H800", 2024),  # arXiv 2412.19437
    ("frontier", "running", 37_632, "MI250X", 2022),  # OLCF user guide
    ("gpt-4", "unconfirmed", 25_000, "A100", 2022),
]


@pytest.mark.parametrize(("row", "status", "count", "kind", "year"), KNOWN, ids=[k[0] for k in KNOWN])
def test_what_the_sources_say(row: str, status: str, count: int, kind: str, year: int) -> None:
    case = FRAME.loc[row]
    assert (case["status"], case["count"], case["year"]) == (status, count, year)
    assert kind in case["gpu_kinds"]


def test_nobody_is_named_where_a_vendor_alone_describes_the_use() -> None:
    described = FRAME[FRAME["status"] == "vendor-described"]
    assert len(described) >= 3
    assert described["who"].str.startswith("Not named").all()


FAULTS = {
    "an address without https": ("https://nvidianews", "http://nvidianews", "source_url"),
    "a GPU that is not ours": ("h800-sxm5-80gb", "h900-sxm5-80gb", "gpu_ids"),
    "a model that is not ours": (",bloom-176b,,384,", ",bloom-999b,,384,", "model"),
    "a plan without a caveat": (
        '"A stated plan, not a confirmed installed count; one trade report words it as about 340,000."',
        "",
        "caveat",
    ),
    "a row twice": ("\nopt-175b,", "\nllama-2,", "occurs twice"),
    "a status of its own": (",running,", ",live,", "status"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_named_with_its_line(tmp_path: Path, fault: str) -> None:
    right, wrong, said = FAULTS[fault]
    text = PATH.read_text(encoding="utf-8")
    assert right in text
    copy = tmp_path / "use_cases.csv"
    copy.write_text(text.replace(right, wrong, 1), encoding="utf-8")
    (found,) = check_use_cases(copy)
    assert "line" in found
    assert said in found
