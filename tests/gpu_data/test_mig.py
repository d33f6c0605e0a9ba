"""MIG slices: what the vendor prints, and what must hold between a slice and its GPU."""

from __future__ import annotations

import pytest

from gpu_data import provenance_frame, spec_frame
from gpu_data.mig import cards, guide, profiles


@pytest.mark.parametrize(
    ("gpu", "names"),
    [
        pytest.param(
            "h100-sxm5-80gb",
            {"1g.10gb": 7, "2g.20gb": 3, "3g.40gb": 2},
            id="NVIDIA MIG user guide: H100 80GB",
        ),
        pytest.param("a30-24gb", {"1g.6gb": 4, "2g.12gb": 2}, id="NVIDIA MIG user guide: A30"),
        pytest.param("rtx-pro-5000-48gb", {"1g.24gb": 2}, id="NVIDIA MIG user guide: RTX PRO 5000"),
        pytest.param("rtx-pro-4500-32gb", {"1g.16gb": 2}, id="NVIDIA MIG user guide: RTX PRO 4500"),
        pytest.param("h200-sxm-141gb", {"1g.18gb": 7, "1g.35gb": 4}, id="NVIDIA MIG user guide: H200"),
    ],
)
def test_published_slices(gpu: str, names: dict[str, int]) -> None:
    found = {one.name: one.most for one in cards()[gpu].slices}
    assert names.items() <= found.items()


@pytest.mark.parametrize("gpu", cards())
def test_slices_fit_into_their_gpu(gpu: str) -> None:
    row, card = spec_frame().loc[gpu], cards()[gpu]
    assert max(one.most for one in card.slices) == row["mig_max_instances"]
    for one in card.slices:
        assert one.most * one.memory <= card.parts
        if one.gib is not None:
            assert one.gib * one.most * 2**30 <= row["memory_gb"] * 2**30
            label = float(one.name.partition(".")[2].removesuffix("gb"))
            assert 0.85 <= one.gib / label <= 1, "GiB seen against the name's number"


def test_every_source_points_to_the_section_that_holds_it() -> None:
    front = "https://docs.nvidia.com/datacenter/tesla/mig-user-guide/"
    for card in cards().values():
        assert card.profiles_url.startswith(f"{guide()[1]}#")
        assert card.memory_source or all(one.gib is None for one in card.slices)
        assert card.memory_url.rstrip("/") != front.rstrip("/")
    rows = provenance_frame()
    told = rows[rows["field"] == "mig_max_instances"]
    assert len(told)
    assert front not in set(told["source_url"])


def test_profiles_in_words() -> None:
    assert profiles("a30-24gb") == "4 × 1g.6gb (5.81 GiB), 2 × 2g.12gb (11.69 GiB)"
    assert profiles("rtx-4090-24gb") == ""
