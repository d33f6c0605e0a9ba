"""Appends rental prices to `prices.csv`, read through the gpuhunt library.

`make prices`, by hand and where there is a network; never when a page loads. History stays: rows are added
for each provider and card, and summaries take the newest of a source. The library (dstackai/gpuhunt on
GitHub) is imported only here; it has its own lock file, `price_requirements.txt`, and the app does without.
"""

from __future__ import annotations

import argparse
import csv
import importlib
import logging
import os
import re
import statistics
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
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
MARKETPLACES: Final = frozenset({"vastai", "tensordock", "lium"})
PROVIDERS: Final = {
    "aws": "AWS",
    "azure": "Azure",
    "gcp": "Google Cloud",
    "oci": "Oracle Cloud",
    "lambdalabs": "Lambda",
    "runpod": "RunPod",
    "vastai": "Vast.ai",
    "tensordock": "TensorDock",
    "verda": "Verda (DataCrunch)",
    "nebius": "Nebius",
    "vultr": "Vultr",
    "digitalocean": "DigitalOcean",
    "crusoe": "Crusoe",
    "hotaisle": "Hot Aisle",
    "cloudrift": "CloudRift",
    "jarvislabs": "JarvisLabs",
    "seeweb": "Seeweb",
    "daytona": "Daytona",
    "lium": "Lium",
}
# Prices that the library carries as a table of its own, not read from the provider's interface.
WRITTEN_DOWN: Final = frozenset({"crusoe"})
# Of these the library says that they are estimates (providers/crusoe.py, 0.1.34).
ESTIMATED: Final = frozenset({("crusoe", "B200")})


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


@dataclass(frozen=True, slots=True)
class Answer:
    """What one provider offers, and the date of it: `kind` says whether that is the day of asking."""

    provider: str
    as_of: date
    kind: str
    offers: Sequence[Offer]


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


def quotes_from(answers: Iterable[Answer], version: str) -> list[PriceQuote]:
    """A quote per provider, card and tier: the cheapest offer per GPU, on marketplaces the median.

    Offers without a GPU, without a price, of no single card or that are no price of the provider's are left
    out.
    """
    gathered: dict[tuple[str, str, bool], tuple[Answer, list[Offer]]] = {}
    for answer in answers:
        for offer in answer.offers:
            if not offer.gpu_name or not offer.gpu_count or not offer.price or offer.price <= 0:
                continue
            card = card_of(offer.gpu_name, offer.gpu_memory, offer.instance_name or "")
            if card is not None and (answer.provider, offer.gpu_name) not in ESTIMATED:
                key = (answer.provider, card, bool(offer.spot))
                gathered.setdefault(key, (answer, []))[1].append(offer)
    return [
        _quote(answer, card, spot, found, version)
        for (_, card, spot), (answer, found) in sorted(gathered.items(), key=lambda item: item[0])
    ]


def _quote(answer: Answer, card: str, spot: bool, offers: Sequence[Offer], version: str) -> PriceQuote:
    each = {id(offer): offer.price / offer.gpu_count for offer in offers}
    cheapest = min(offers, key=lambda offer: (each[id(offer)], offer.instance_name, offer.location))
    provider = answer.provider
    market = provider in MARKETPLACES and not spot
    fields: dict[str, Any] = {
        "gpu_id": card,
        "gpu_label": cheapest.gpu_name,
        "provider": PROVIDERS.get(provider, provider),
        "as_of": answer.as_of.isoformat(),
        "as_of_kind": answer.kind,
        "source": f"gpuhunt library, {provider}",
        "verified_by": "secondary" if provider in WRITTEN_DOWN else "vendor interface",
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


def collected(catalog: Any, today: date) -> tuple[list[Answer], dict[str, str]]:
    """What each provider of a loaded `gpuhunt.Catalog` offers, and why others gave no answer.

    One provider that fails does not lose the others, so each is asked alone. Catalogues that the library
    publishes are dated by their version ("20260818-42"); providers that are asked directly by today.
    """
    answers, failed = [], {}
    for name in (*catalog.catalog, *(provider.NAME for provider in catalog.providers)):
        published = catalog.catalog.get(name)
        as_of, kind = _dated(published.version if published else "", today)
        try:
            answers.append(Answer(name, as_of, kind, catalog.query(provider=name, min_gpu_count=1)))
        except Exception as error:  # whatever a provider's interface raises
            failed[name] = f"{type(error).__name__}: {error}"
    return answers, failed


def _dated(version: str, today: date) -> tuple[date, str]:
    found = re.match(r"20\d{6}", version)
    try:
        return date.fromisoformat(found.group() if found else ""), "catalogue date"
    except ValueError:
        return today, "read"


def _ask(today: date) -> tuple[list[Answer], dict[str, str], str]:
    """Every offer the library knows now. Raises ImportError when it is not installed.

    Raises OSError when it reaches no provider: its own exceptions have no common base outside of it.
    """
    library = importlib.import_module("gpuhunt")
    logging.getLogger("gpuhunt").setLevel(logging.CRITICAL)  # it logs tracebacks of what is reported here
    try:
        catalog = library.default_catalog()
    except library.GPUHuntError as error:
        raise OSError(f"gpuhunt reached no provider ({error})") from error
    return *collected(catalog, today), importlib.import_module("gpuhunt.version").__version__


def main(arguments: Sequence[str] | None = None) -> int:
    """Refresh the table; 0 when it worked."""
    parser = argparse.ArgumentParser(prog="python -m gpu_data.price_refresh", description=__doc__)
    parser.parse_args(arguments)
    try:
        answers, failed, version = _ask(date.today())
        quotes = quotes_from(answers, version)
        added = append(quotes)
    except ImportError:
        sys.stderr.write("gpuhunt is not installed: use `make prices`, which installs it.\n")
        return 2
    except (OSError, ValueError, ValidationError) as error:
        sys.stderr.write(f"No price was changed: {error}\n")
        return 1
    for name, reason in failed.items():
        sys.stderr.write(f"{name} gave no answer: {reason:.160}\n")
    same = len(quotes) - added
    sys.stdout.write(
        f"{added} quotes of {len(answers)} providers added to {PRICE_FILE.name}; "
        f"{same} stood there already.\n"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
