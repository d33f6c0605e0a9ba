"""Refreshing prices: offers in the shape the gpuhunt library answers with become dated quotes."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gpu_data import price_refresh, spec_frame
from gpu_data.csv_tables import problems, read
from gpu_data.price_refresh import NAME_FILE, Answer, PriceName, append, card_of, collected, main, quotes_from
from gpu_data.price_schemas import PriceQuote
from gpu_data.prices import PRICE_FILE, check_prices

TODAY = date(2026, 12, 1)


@dataclass
class Item:
    """`gpuhunt.CatalogItem` of gpuhunt 0.1.34, field by field (gpuhunt/_internal/models.py)."""

    provider: str
    instance_name: str
    location: str
    price: float
    cpu: int
    memory: float
    gpu_count: int
    gpu_name: str | None
    gpu_memory: float | None
    spot: bool
    disk_size: float | None = None
    gpu_vendor: str | None = "nvidia"
    flags: list[str] = field(default_factory=list)
    cpu_arch: str = "x86"
    provider_data: dict[str, Any] = field(default_factory=dict)


# Answers of that shape; AWS and Azure prices as their public lists had them in autumn 2026
ITEMS = [
    Item("aws", "p5.48xlarge", "us-east-1", 55.04, 192, 2048, 8, "H100", 80, False),
    Item("aws", "p5.48xlarge", "eu-west-2", 61.0, 192, 2048, 8, "H100", 80, False),
    Item("aws", "p5.48xlarge", "us-east-1", 20.0, 192, 2048, 8, "H100", 80, True),
    Item("aws", "p4d.24xlarge", "us-east-1", 21.957642, 96, 1152, 8, "A100", 40, False),
    Item("aws", "c5.large", "us-east-1", 0.085, 2, 4, 0, None, None, False, gpu_vendor=None),
    Item("azure", "Standard_NC40ads_H100_v5", "eastus", 6.98, 40, 320, 1, "H100NVL", 94, False),
    Item("lambdalabs", "gpu_1x_h100", "us-west-1", 3.29, 26, 225, 1, "H100", 80, False),
    Item("gcp", "odd", "here", 0.0, 2, 4, 1, "L4", 24, False),
    Item("gcp", "new", "there", 1.0, 2, 4, 1, "X999", 24, False),
    Item("vastai", "m1", "-", 0.30, 8, 32, 1, "RTX4090", 24, False),
    Item("vastai", "m2", "-", 0.40, 8, 32, 1, "RTX4090", 24, False),
    Item("vastai", "m3", "-", 1.80, 16, 64, 2, "RTX4090", 24, False),
    Item("crusoe", "b200-180gb-sxm-ib.8x", "us", 58.0, 240, 2900, 8, "B200", 180, False),
    Item("crusoe", "l40s-48gb.1x", "us", 1.0, 8, 147, 1, "L40S", 48, False),
]


class FakeCatalog:
    """`gpuhunt.Catalog` after loading: published catalogues by provider, and providers asked directly."""

    def __init__(self) -> None:
        versions = {"aws": "20261128-7", "azure": "20261127-1", "gcp": "latest", "lambdalabs": "20269999-1"}
        self.catalog = {name: SimpleNamespace(version=version) for name, version in versions.items()}
        self.providers = [SimpleNamespace(NAME=name) for name in ("vastai", "vultr", "crusoe")]

    def query(self, *, provider: str, min_gpu_count: int) -> list[Item]:
        if provider == "vultr":
            raise TimeoutError("read timed out")
        return [item for item in ITEMS if item.provider == provider and item.gpu_count >= min_gpu_count]


def answers() -> list[Answer]:
    return collected(FakeCatalog(), TODAY)[0]


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
        ("H100", 80, "Standard_ND96isr_H100_v5", "h100-sxm5-80gb"),
        ("H200NVL", 141, "", "h200-nvl-141gb"),
        ("H200", 141, "p5en.48xlarge", "h200-sxm-141gb"),
        ("V100", 16, "p3.2xlarge", "v100-sxm2-16gb"),
        ("V100", 32, "p3dn.24xlarge", "v100-sxm2-32gb"),
        ("V100", 16, "Standard_NC6s_v3", "v100-pcie-16gb"),
        ("RTXPRO6000", 96, "g7e.2xlarge", None),
        ("A16", 16, "vcg-a16", None),
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


def test_a_provider_that_fails_is_named_and_loses_no_other() -> None:
    found, failed = collected(FakeCatalog(), TODAY)
    assert [answer.provider for answer in found] == [
        "aws", "azure", "gcp", "lambdalabs", "vastai", "crusoe",
    ]  # fmt: skip
    assert failed == {"vultr": "TimeoutError: read timed out"}


def test_a_published_catalogue_is_as_old_as_its_version_says() -> None:
    dates = {answer.provider: (answer.as_of.isoformat(), answer.kind) for answer in answers()}
    assert dates["aws"] == ("2026-11-28", "catalogue date")
    assert dates["azure"] == ("2026-11-27", "catalogue date")
    assert dates["gcp"] == dates["lambdalabs"] == dates["vastai"] == ("2026-12-01", "read")


def test_offers_become_quotes() -> None:
    found = {(q.provider, q.gpu_id, q.tier): q for q in quotes_from(answers(), "0.1.34")}
    assert {key: quote.usd_per_gpu_hr for key, quote in found.items()} == {
        ("AWS", "h100-sxm5-80gb", "lowest listed on-demand"): 6.88,
        ("AWS", "h100-sxm5-80gb", "spot"): 2.5,
        ("AWS", "a100-sxm4-40gb", "lowest listed on-demand"): 2.7447,
        ("Azure", "h100-nvl-94gb", "lowest listed on-demand"): 6.98,
        ("Vast.ai", "rtx-4090-24gb", "marketplace median"): 0.4,
        ("Crusoe", "l40s-48gb", "lowest listed on-demand"): 1.0,  # its B200 is an estimate
    }
    quote = found["AWS", "h100-sxm5-80gb", "lowest listed on-demand"]
    assert (quote.region, quote.as_of, quote.gpus_in_instance) == ("us-east-1", "2026-11-28", 8)
    assert quote.verified_by == "vendor interface"
    assert found["Crusoe", "l40s-48gb", "lowest listed on-demand"].verified_by == "secondary"


def test_quotes_are_appended_once_and_history_stays(tmp_path: Path) -> None:
    table = Path(shutil.copy(PRICE_FILE, tmp_path / "prices.csv"))
    quotes = quotes_from(answers(), "0.1.34")
    assert append(quotes, table) == 6
    assert append(quotes, table) == 0
    assert table.read_text("utf-8").startswith(PRICE_FILE.read_text("utf-8"))
    assert check_prices(table) == []
    assert len(read(table, PriceQuote)) == len(read(PRICE_FILE, PriceQuote)) + 6
    assert [path.name for path in tmp_path.iterdir()] == ["prices.csv"]


def test_a_table_that_would_be_broken_is_left_alone(tmp_path: Path) -> None:
    table = Path(shutil.copy(PRICE_FILE, tmp_path / "prices.csv"))
    (quote, *_) = quotes_from(answers(), "0.1.34")
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
    assert "make prices" in capsys.readouterr().err
    assert PRICE_FILE.read_bytes() == before


def fake_library(catalog: Any) -> SimpleNamespace:
    """`gpuhunt` as far as it is used."""

    class GPUHuntError(Exception):
        pass

    def default_catalog() -> Any:
        if catalog is None:
            raise GPUHuntError("Failed to load catalogs of all providers")
        return catalog

    return SimpleNamespace(GPUHuntError=GPUHuntError, default_catalog=default_catalog, __version__="0.1.34")


def test_without_a_network_nothing_changes_and_a_sentence_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(price_refresh.importlib, "import_module", lambda _: fake_library(None))
    before = PRICE_FILE.read_bytes()
    assert main([]) == 1
    said = capsys.readouterr().err
    assert said.startswith("No price was changed: gpuhunt reached no provider")
    assert "Traceback" not in said
    assert PRICE_FILE.read_bytes() == before


def test_a_refresh_says_what_it_added_and_who_gave_no_answer(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    table = Path(shutil.copy(PRICE_FILE, tmp_path / "prices.csv"))
    monkeypatch.setattr(price_refresh.importlib, "import_module", lambda _: fake_library(FakeCatalog()))
    monkeypatch.setattr(price_refresh, "append", lambda quotes: append(quotes, table))
    assert main([]) == 0
    assert main([]) == 0
    said = capsys.readouterr()
    assert "6 quotes of 6 providers added" in said.out
    assert "0 quotes of 6 providers added to prices.csv; 6 stood there already" in said.out
    assert "vultr gave no answer: TimeoutError: read timed out" in said.err
