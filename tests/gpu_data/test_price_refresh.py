"""Refreshing prices: offers in the shape the gpuhunt library answers with become dated quotes."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import pytest

from gpu_data import price_refresh, spec_frame
from gpu_data.csv_tables import problems, read
from gpu_data.price_refresh import NAME_FILE, PriceName, append, card_of, main, quotes_from
from gpu_data.price_schemas import PriceQuote
from gpu_data.prices import PRICE_FILE, check_prices

TODAY = date(2026, 12, 1)


@dataclass
class Item:
    """The fields of `gpuhunt.CatalogItem` (dstackai/gpuhunt, src/gpuhunt/_internal/models.py)."""

    instance_name: str
    location: str
    price: float
    cpu: int
    memory: float
    gpu_count: int
    gpu_name: str | None
    gpu_memory: float | None
    spot: bool
    provider: str
    gpu_vendor: str = "nvidia"
    disk_size: float | None = None


# Answers of that shape; AWS and Azure prices as their public lists had them in autumn 2026
ANSWERS = [
    Item("p5.48xlarge", "us-east-1", 55.04, 192, 2048, 8, "H100", 80, False, "aws"),
    Item("p5.48xlarge", "eu-west-2", 61.0, 192, 2048, 8, "H100", 80, False, "aws"),
    Item("p5.48xlarge", "us-east-1", 20.0, 192, 2048, 8, "H100", 80, True, "aws"),
    Item("p4d.24xlarge", "us-east-1", 21.957642, 96, 1152, 8, "A100", 40, False, "aws"),
    Item("Standard_NC40ads_H100_v5", "eastus", 6.98, 40, 320, 1, "H100NVL", 94, False, "azure"),
    Item("gpu_1x_h100", "us-west-1", 3.29, 26, 225, 1, "H100", 80, False, "lambdalabs"),
    Item("m1", "-", 0.30, 8, 32, 1, "RTX4090", 24, False, "vastai"),
    Item("m2", "-", 0.40, 8, 32, 1, "RTX4090", 24, False, "vastai"),
    Item("m3", "-", 1.80, 16, 64, 2, "RTX4090", 24, False, "vastai"),
    Item("c5.large", "us-east-1", 0.085, 2, 4, 0, None, None, False, "aws"),
    Item("odd", "here", 0.0, 2, 4, 1, "L4", 24, False, "gcp"),
    Item("new", "there", 1.0, 2, 4, 1, "X999", 24, False, "gcp"),
]


def test_names_are_sound_and_mean_our_cards() -> None:
    assert list(problems(NAME_FILE, PriceName)) == []
    ids = set(read(NAME_FILE, PriceName)["id"].dropna())
    assert ids <= set(spec_frame().index)


@pytest.mark.parametrize(
    ("name", "memory", "instance", "card"),
    [
        ("H100", 80, "p5.48xlarge", "h100-sxm5-80gb"),
        ("H100", 80, "NVIDIA H100 PCIe", "h100-pcie-80gb"),
        ("H100", 80, "gpu_1x_h100", None),
        ("A100", 40, "p4d.24xlarge", "a100-sxm4-40gb"),
        ("A100", 80, "p4de.24xlarge", "a100-sxm4-80gb"),
        ("A100", 80, "Standard_NC24ads_A100_v4", "a100-pcie-80gb"),
        ("A6000", 48, "", "rtx-a6000-48gb"),
        ("RTX3060", 8, "", None),
        ("rtx4090", 24, "x", "rtx-4090-24gb"),
        ("RTX6000", 24, "", None),
    ],
)
def test_a_name_means_a_card_only_when_sure(
    name: str, memory: float, instance: str, card: str | None
) -> None:
    assert card_of(name, memory, instance) == card


def test_offers_become_quotes() -> None:
    found = {(q.provider, q.gpu_id, q.tier): q for q in quotes_from(ANSWERS, TODAY, "0.1.34")}
    assert {key: quote.usd_per_gpu_hr for key, quote in found.items()} == {
        ("AWS", "h100-sxm5-80gb", "lowest listed on-demand"): 6.88,
        ("AWS", "h100-sxm5-80gb", "spot"): 2.5,
        ("AWS", "a100-sxm4-40gb", "lowest listed on-demand"): 2.7447,
        ("Azure", "h100-nvl-94gb", "lowest listed on-demand"): 6.98,
        ("Vast.ai", "rtx-4090-24gb", "marketplace median"): 0.4,
    }
    quote = found["AWS", "h100-sxm5-80gb", "lowest listed on-demand"]
    assert (quote.region, quote.as_of, quote.gpus_in_instance) == ("us-east-1", "2026-12-01", 8)


def test_quotes_are_appended_once_and_history_stays(tmp_path: Path) -> None:
    table = Path(shutil.copy(PRICE_FILE, tmp_path / "prices.csv"))
    quotes = quotes_from(ANSWERS, TODAY, "0.1.34")
    assert append(quotes, table) == 5
    assert append(quotes, table) == 0
    assert table.read_text("utf-8").startswith(PRICE_FILE.read_text("utf-8"))
    assert check_prices(table) == []
    assert len(read(table, PriceQuote)) == len(read(PRICE_FILE, PriceQuote)) + 5
    assert [path.name for path in tmp_path.iterdir()] == ["prices.csv"]


def test_a_table_that_would_be_broken_is_left_alone(tmp_path: Path) -> None:
    table = Path(shutil.copy(PRICE_FILE, tmp_path / "prices.csv"))
    (quote, *_) = quotes_from(ANSWERS, TODAY, "0.1.34")
    with pytest.raises(ValueError, match="no GPU of that id"):
        append([quote.model_copy(update={"gpu_id": "no-such-card"})], table)
    assert table.read_bytes() == PRICE_FILE.read_bytes()
    assert [path.name for path in tmp_path.iterdir()] == ["prices.csv"]


def test_without_the_library_a_sentence_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def missing(_: str) -> None:
        raise ImportError

    monkeypatch.setattr(price_refresh.importlib, "import_module", missing)
    before = PRICE_FILE.read_bytes()
    assert main([]) == 2
    assert "pip install gpuhunt" in capsys.readouterr().err
    assert PRICE_FILE.read_bytes() == before


def test_a_network_fault_changes_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def unreachable() -> None:
        raise OSError("no route to host")

    monkeypatch.setattr(price_refresh, "_offers", unreachable)
    assert main([]) == 1
    assert "No price was changed: no route to host" in capsys.readouterr().err
