"""The field's judgements, run: what our numbers say, and that the page says so where they differ."""

from __future__ import annotations

from datetime import date

import pytest

from gpu_data import judgements as judgement_data
from gpu_data import mig
from pages.ui.recommend_judgements import ALL, judgements

TODAY = date(2026, 11, 30)


@pytest.mark.parametrize(
    ("name", "outcome"),
    [
        pytest.param("large-training", "agree", id="H100 and A100 lead large training: Nuqta"),
        pytest.param("l40s-training", "agree", id="L40S for inference, no NVLink: Nuqta, Servnet"),
        pytest.param("a6000-workstation", "agree", id="A6000 trains small and mid-size: Valebyte"),
        pytest.param("h100-concurrency", "partly", id="H100 pays at high concurrency: Faraday, Nuqta"),
        pytest.param("4090-value", "agree", id="RTX 4090 while it fits 24 GB: Faraday"),
        pytest.param("mig-tenants", "agree", id="MIG decides for many tenants: Faraday"),
        pytest.param("l40s-images", "no data", id="L40S 1.2 times A100 on images: NVIDIA"),
    ],
)
def test_common_judgements(name: str, outcome: str) -> None:
    found = ALL[name](TODAY)
    assert found.id == name
    assert found.outcome == outcome, found.numbers
    assert found.sources
    assert all(one.title and one.url.startswith("https://") for one in found.sources)
    assert found.numbers


def test_where_we_differ_the_page_says_so() -> None:
    by_id = {one.id: one for one in judgements(TODAY)}
    assert "Where we differ" in by_id["h100-concurrency"].numbers
    assert "faster still" in by_id["large-training"].numbers
    assert "cheaper still" in by_id["large-training"].numbers
    assert by_id["large-training"].numbers.count("B200") == 1, "one card, one sentence"
    assert "512 GPUs of each kind" in by_id["large-training"].numbers
    assert "No MLPerf Inference result" in by_id["l40s-images"].numbers


def test_slices_are_named_that_a_judgement_counts() -> None:
    """NVIDIA's guide: H100 and A100 80GB are cut into at most 7 × 1g.10gb, 4 × 1g.20gb and so on."""
    numbers = {one.id: one for one in judgements(TODAY)}["mig-tenants"].numbers
    for gpu in ("h100-sxm5-80gb", "a100-sxm4-80gb"):
        assert mig.profiles(gpu) in numbers
    assert "fits 7 × 1g.10gb (9.75 GiB each) of one H100" in numbers


def test_every_source_makes_a_judgement_that_is_run() -> None:
    assert {name for one in judgement_data.sources() for name in one.judgements} == set(ALL)
