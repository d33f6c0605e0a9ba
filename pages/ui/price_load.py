"""What a GPU costs to rent and to buy in a scenario: quotes, list prices, and the reader's own over both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cache, lru_cache
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import gpu_data
from calculators import cost
from calculators.scenario import Scenario
from gpu_data.prices import price_summary, quotes
from pages.ui import catalogue

OLD_DAYS = 60  # prices of GPUs move by a tenth and more in a season
TOO_OLD_DAYS = 2 * OLD_DAYS  # an answer that rests on such a price says so first
UNKNOWN = float("nan")
_ROUNDING = 1e-9  # quotes are decimal numbers, their median may be off by a rounding
Floats = NDArray[np.float64]
BASES = {
    "median": "Rented, median of the quotes",
    "low": "Rented, cheapest quote",
    "high": "Rented, dearest quote",
    "spot": "Rented, spot (can be taken away)",
    "own": "Owned: purchase over its life, and power",
}
OWN_BASIS = "own"


@dataclass(frozen=True, slots=True)
class Purchase:
    """Price of one GPU [USD] and what it is; NaN when none is known."""

    usd: float
    kind: str
    source: str
    edited: bool


@dataclass(frozen=True, slots=True)
class Rent:
    """Price of one GPU for an hour [USD], NaN when none is known, and what it rests on in a few words.

    low, median, high: of the quotes that are no spot quotes, whatever was chosen; NaN without one.
    age_days: of the quotes that decide the price (`decided_days_ago`); None where no quote does.
    """

    usd: float
    note: str
    edited: bool
    low: float
    median: float
    high: float
    quotes: int
    age_days: int | None
    rests_on: int  # quotes that the price is taken from; 0 where it is no quote
    largest_machine: int  # GPUs in the largest machine that was quoted; 0 without a quote

    @property
    def known(self) -> bool:
        """Whether there is a price."""
        return self.usd == self.usd


def age_words(days: int) -> str:
    """How old a price is; an old one says so."""
    said = "today" if days == 0 else "1 day old" if days == 1 else f"{days} days old"
    return f"{said}, stale" if days > OLD_DAYS else said


@cache
def _list_prices() -> Mapping[str, Purchase]:
    """The newest purchase price known of each GPU: a street price before a launch price."""
    sources = gpu_data.provenance_frame()
    found = {}
    for gpu_id, row in catalogue.gpus().iterrows():
        for field, kind in (("street_price_usd", "street price"), ("launch_price_usd", "launch price")):
            if pd.isna(row[field]):
                continue
            day = row[field.replace("usd", "date")]
            if field == "launch_price_usd" and not pd.isna(row["launch_price_kind"]):
                kind = str(row["launch_price_kind"])
            cell = sources[(sources["gpu_id"] == gpu_id) & (sources["field"] == field)]
            title = str(cell["source_title"].iloc[0]) if len(cell) else ""
            when = f", {day}" if not pd.isna(day) else ""
            found[str(gpu_id)] = Purchase(float(row[field]), f"{kind}{when}", title, False)
            break
    return found


_NO_PURCHASE = Purchase(UNKNOWN, "no price known", "", False)


def purchase(scenario: Scenario, gpu_id: str) -> Purchase:
    """The purchase price of one GPU in a scenario."""
    edits = dict(scenario.purchase_edits)
    if gpu_id in edits:
        return Purchase(edits[gpu_id], "yours", "the reader", True)
    return _list_prices().get(gpu_id, _NO_PURCHASE)


def power_usd_per_hour(scenario: Scenario, gpu_id: str, load: float = 1.0) -> float:
    """Electricity of one GPU in an hour of work [USD]; NaN without a board power."""
    watts = catalogue.spec_row(gpu_id)["tdp_w"]
    if pd.isna(watts):
        return UNKNOWN
    s = scenario
    return float(cost.power_usd_per_hour(float(watts), s.usd_per_kwh, s.power_usage_effectiveness, load))


def owned_usd_per_hour(scenario: Scenario, gpu_id: str) -> float:
    """An owned GPU in every hour of its life [USD], idle ones included; NaN when a figure is not known."""
    s = scenario
    price = purchase(s, gpu_id).usd + s.host_usd
    power = power_usd_per_hour(s, gpu_id, s.busy_share)
    return float(cost.ownership_usd_per_hour(price, s.own_years, power))


@lru_cache(maxsize=16)
def _summaries(today: date) -> Mapping[str, Mapping[str, Any]]:
    frame = price_summary(today).astype(object)
    rows = frame.where(frame.notna(), None).to_dict("index").items()
    return {str(gpu): row | _of_quotes(str(gpu), row, today) for gpu, row in rows}


_SPOT = "spot_median"


def _of_quotes(gpu_id: str, row: Mapping[str, Any], today: date) -> dict[str, Any]:
    """What a summary does not hold: the largest machine, and the age of each of its prices by their names."""
    frame = quotes(gpu_id, today)
    spot = frame["spot"].to_numpy(dtype=bool)
    usd, days = (frame[name].to_numpy(dtype=float) for name in ("usd_per_gpu_hr", "age_days"))
    ages = {}
    for name in ("low", "median", "high", _SPOT):
        if row[name] is not None:
            among = spot if name == _SPOT else ~spot
            ages[name] = decided_days_ago(float(row[name]), usd[among], days[among])
    return {"largest": int(frame["gpus_in_instance"].max()), "ages": ages}


def decided_days_ago(price: float, usd: Floats, days: Floats) -> int:
    """Age of a price: of the nearest quotes below and above it the older, of equal quotes the newest.

    A lowest, a highest or a middle quote decides alone; the median of an even number rests on two.
    usd, days: price and age of each quote.
    """
    below, above = usd[usd <= price + _ROUNDING].max(), usd[usd >= price - _ROUNDING].min()
    return int(max(days[np.abs(usd - side) < _ROUNDING].min() for side in (below, above)))


def rent(scenario: Scenario, gpu_id: str, today: date) -> Rent:
    """The price of one GPU and hour in a scenario: the reader's own, else what the basis says."""
    row = _summaries(today).get(gpu_id) or {}
    low, median, high = (float(row.get(name) or UNKNOWN) for name in ("low", "median", "high"))
    count = int(row.get("quotes", 0))

    def found(usd: float, note: str, edited: bool = False, age: int | None = None, of: int = 0) -> Rent:
        return Rent(usd, note, edited, low, median, high, count, age, of, int(row.get("largest", 0)))

    edits = dict(scenario.price_edits)
    if gpu_id in edits:
        return found(edits[gpu_id], "yours" + (f"; quotes {_span(low, high)}" if count else ""), True)
    if scenario.price_basis == OWN_BASIS:
        owned, bought = owned_usd_per_hour(scenario, gpu_id), purchase(scenario, gpu_id)
        if bought.usd != bought.usd:
            return found(UNKNOWN, "no purchase price known")
        return found(owned, f"owned: {bought.kind}" if owned == owned else "board power not known")
    spot = scenario.price_basis == "spot"
    name = _SPOT if spot else scenario.price_basis
    usd = row.get(name)
    if usd is None:
        return found(UNKNOWN, "no spot quote" if spot else "no quote of 2026")
    number = int(row["spot_quotes"] if spot else count)
    ranged = "" if spot or number < 2 else f" {_span(low, high)},"
    age = int(row["ages"][name])
    rests = (
        f"{number} quotes,{ranged} this price {age_words(age)}"
        if number > 1
        else f"1 quote, {age_words(age)}"
    )
    return found(float(usd), rests, age=age, of=number)


def thin(found: Rent) -> str:
    """What a price rests on where that is too little to build on: one quote, or an old one; else nothing."""
    if found.age_days is None:
        return ""
    said = ["one quote"] if found.rests_on == 1 else []
    if said or found.age_days > TOO_OLD_DAYS:
        said.append(age_words(found.age_days).removesuffix(", stale"))
    return ", ".join(said)


def shaky(found: Rent) -> str:
    """What a price rests on where it may not hold: one stale quote, or very old ones; else nothing."""
    if found.age_days is None or not found.known:
        return ""
    alone = found.rests_on == 1 and found.age_days > OLD_DAYS
    return thin(found) if alone or found.age_days > TOO_OLD_DAYS else ""


def machine(scenario: Scenario, found: Rent) -> float:
    """GPUs in the largest machine that anybody quotes; who owns them or has a price knows better.

    Where nobody quotes a price, nobody's machine is too small either.
    """
    if found.edited or scenario.price_basis == OWN_BASIS or not found.known:
        return float("inf")
    return float(found.largest_machine)


def _span(low: float, high: float) -> str:
    return f"{low:.2f}" if high - low < 0.005 else f"{low:.2f} to {high:.2f}"


def rent_without_owning(scenario: Scenario, found: Rent) -> float:
    """The rent that owning is set against [USD/h]: the median quote where the scenario counts owning."""
    return found.median if scenario.price_basis == OWN_BASIS and not found.edited else found.usd


def rents(scenario: Scenario, gpu_ids: Sequence[str], today: date) -> dict[str, Rent]:
    """The price of every GPU."""
    return {gpu: rent(scenario, gpu, today) for gpu in gpu_ids}


@lru_cache(maxsize=128)
def quote_rows(gpu_id: str, today: date) -> list[tuple[str, str, str, str, str]]:
    """The quotes of one GPU: provider, tier, USD per GPU-hour, date with age, source."""
    frame = quotes(gpu_id, today)
    rows = []
    for row in frame.astype(object).where(frame.notna(), None).to_dict("records"):
        size = row["gpus_in_instance"]
        tier = row["tier"] + (f", {size} GPUs together" if size and size > 1 else "")
        where = f" ({row['region']})" if row["region"] else ""
        rows.append(
            (
                f"{row['provider']}{where}",
                tier,
                f"{row['usd_per_gpu_hr']:.4g}",
                f"{row['as_of']} ({row['as_of_kind']}), {age_words(int(row['age_days']))}",
                f"{row['source']} ({row['verified_by']})",
            )
        )
    return rows
