"""Appends today's rental prices to `prices.csv`, read through the gpuhunt library.

`python -m gpu_data.price_refresh`, by hand and where there is a network; never when a page loads. History
stays: a row of today is added for each provider and card, and summaries take the newest of a source. The
library (dstackai/gpuhunt on GitHub) is imported only here and is no dependency of the app.
"""

from __future__ import annotations

import argparse
import csv
import importlib
import os
import statistics
import sys
from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Final, Protocol

from pydantic import Field, ValidationError

from gpu_data.csv_tables import CsvRow, read
from gpu_data.price_schemas import PriceQuote
from gpu_data.prices import PRICE_FILE, check_prices

NAME_FILE: Final = Path(__file__).parent / "price_names.csv"
# Where anybody may offer a machine: the middle of the offers says more than the cheapest one.
MARKETPLACES: Final = frozenset({"vastai", "tensordock"})
PROVIDERS: Final = {
    "aws": "AWS",
    "azure": "Azure",
    "gcp": "Google Cloud",
    "oci": "Oracle Cloud",
    "lambdalabs": "Lambda",
    "runpod": "RunPod",
    "vastai": "Vast.ai",
    "tensordock": "TensorDock",
    "datacrunch": "DataCrunch",
    "verda": "Verda (DataCrunch)",
    "nebius": "Nebius",
    "cudo": "Cudo Compute",
    "vultr": "Vultr",
    "digitalocean": "DigitalOcean",
    "crusoe": "Crusoe",
    "hotaisle": "Hot Aisle",
    "cloudrift": "CloudRift",
}


class Offer(Protocol):
    """One item of gpuhunt's catalogue; `price` is of the instance [US dollars per hour]."""

    provider: str
    instance_name: str
    location: str
    price: float
    gpu_count: int
    gpu_name: str | None
    gpu_memory: float | None
    spot: bool


class PriceName(CsvRow):
    """Which card a name of the library means; the first row that matches counts.

    `memory_gb` empty fits any size. `words` are joined by |; one of them must stand in the instance's name.
    """

    name: Annotated[str, Field(min_length=1)]
    memory_gb: Annotated[float, Field(gt=0)] | None = None
    words: str | None = None
    id: str | None = None
    reason: str | None = None


@cache
def price_names() -> tuple[PriceName, ...]:
    """The table of names, in its order."""
    frame = read(NAME_FILE, PriceName).astype(object)
    rows = frame.where(frame.notna(), None).to_dict("records")
    return tuple(PriceName.model_validate(row) for row in rows)


def card_of(name: str, memory_gb: float | None, instance: str) -> str | None:
    """The id of the card that an offer means, None when its name leaves that open or is not known."""
    for row in price_names():
        size_fits = row.memory_gb is None or (memory_gb is not None and abs(row.memory_gb - memory_gb) < 1)
        words = (row.words or "").split("|")
        if row.name.lower() == name.lower() and size_fits and any(word in instance.lower() for word in words):
            return row.id
    return None


def quotes_from(offers: Iterable[Offer], today: date, version: str) -> list[PriceQuote]:
    """A quote per provider, card and tier: the cheapest offer per GPU, on marketplaces the median.

    Offers without a GPU, without a price or of no single card are left out.
    """
    gathered: dict[tuple[str, str, bool], list[Offer]] = {}
    for offer in offers:
        if not offer.gpu_name or not offer.gpu_count or not offer.price or offer.price <= 0:
            continue
        card = card_of(offer.gpu_name, offer.gpu_memory, offer.instance_name or "")
        if card is not None:
            gathered.setdefault((offer.provider, card, bool(offer.spot)), []).append(offer)
    return [
        _quote(provider, card, spot, found, today, version)
        for (provider, card, spot), found in sorted(gathered.items())
    ]


def _quote(
    provider: str, card: str, spot: bool, offers: Sequence[Offer], today: date, version: str
) -> PriceQuote:
    each = {id(offer): offer.price / offer.gpu_count for offer in offers}
    cheapest = min(offers, key=lambda offer: (each[id(offer)], offer.instance_name, offer.location))
    market = provider in MARKETPLACES and not spot
    fields: dict[str, Any] = {
        "gpu_id": card,
        "gpu_label": cheapest.gpu_name,
        "provider": PROVIDERS.get(provider, provider),
        "as_of": today.isoformat(),
        "as_of_kind": "read",
        "source": f"gpuhunt library, {provider}",
        "verified_by": "vendor interface",
        "note": f"gpuhunt {version}",
    }
    if market:
        middle = statistics.median(each.values())
        fields |= {"tier": "marketplace median", "gpus_in_instance": 1, "usd_per_gpu_hr": round(middle, 4)}
    else:
        fields |= {
            "tier": "spot" if spot else "lowest listed on-demand",
            "instance": cheapest.instance_name,
            "gpus_in_instance": cheapest.gpu_count,
            "instance_usd_per_hr": cheapest.price,
            "usd_per_gpu_hr": round(each[id(cheapest)], 4),
            "region": cheapest.location,
        }
    return PriceQuote.model_validate(fields)


def append(quotes: Sequence[PriceQuote], path: Path = PRICE_FILE) -> int:
    """Add quotes that do not stand in the table yet; how many. The file changes whole or not at all.

    Raises ValueError with the first fault when the table would not be sound afterwards.
    """
    lines = path.read_text("utf-8")
    present = {tuple(row) for row in csv.reader(lines.splitlines())}
    new = [row for row in map(_cells, quotes) if row not in present]
    draft = path.with_suffix(".draft.csv")
    try:
        with draft.open("w", encoding="utf-8", newline="") as file:
            file.write(lines)
            csv.writer(file, lineterminator="\n").writerows(new)
        if faults := check_prices(draft):
            raise ValueError(faults[0])
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)
    return len(new)


def _cells(quote: PriceQuote) -> tuple[str, ...]:
    values = (getattr(quote, name) for name in PriceQuote.model_fields)
    return tuple(
        "" if v is None else f"{v:g}" if isinstance(v, float) and v == int(v) else str(v) for v in values
    )


def _offers() -> tuple[Iterator[Offer], str]:
    """Every offer the library knows now. Raises ImportError when it is not installed."""
    library = importlib.import_module("gpuhunt")
    from importlib.metadata import version

    return iter(library.query(min_gpu_count=1)), version("gpuhunt")


def main(arguments: Sequence[str] | None = None) -> int:
    """Refresh the table; 0 when it worked."""
    parser = argparse.ArgumentParser(prog="python -m gpu_data.price_refresh", description=__doc__)
    parser.parse_args(arguments)
    try:
        offers, version = _offers()
        added = append(quotes_from(offers, date.today(), version))
    except ImportError:
        sys.stderr.write("gpuhunt is not installed: python -m pip install gpuhunt, then run this again.\n")
        return 2
    except (OSError, ValueError, ValidationError) as error:
        sys.stderr.write(f"No price was changed: {error}\n")
        return 1
    sys.stdout.write(f"{added} quotes of {date.today()} added to {PRICE_FILE.name}.\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
