"""Which cards the Compare page shows: the pinned ones, then those that pass the filters."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Final

import numpy as np
import pandas as pd

from calculators.scenario import FIRST_YEAR, LAST_YEAR, MAX_MEMORY_GB, Scenario
from pages.ui.catalogue import gpus, slug
from pages.ui.compare_choices import form_class

ANY_MEMORY: Final = (0, MAX_MEMORY_GB)
ANY_YEAR: Final = (FIRST_YEAR, LAST_YEAR)


@dataclass(frozen=True)
class Filters:
    """The reader's filters; an empty collection and a full range filter nothing.

    Vendors and architectures are slugs, forms keys of `compare_choices.FORMS`, memory in marketing GB
    and years inclusive at both ends.
    """

    vendors: tuple[str, ...] = ()
    architectures: tuple[str, ...] = ()
    forms: tuple[str, ...] = ()
    memory_gb: tuple[int, int] = ANY_MEMORY
    years: tuple[int, int] = ANY_YEAR
    price_known: bool = False
    pinned_only: bool = False
    pre_release: bool = False

    @classmethod
    def of(cls, scenario: Scenario) -> Filters:
        """The filters of a scenario; a range given the wrong way round is turned."""
        return cls(
            scenario.vendors,
            scenario.architectures,
            scenario.form_factors,
            _ordered(scenario.min_memory_gb, scenario.max_memory_gb),
            _ordered(scenario.since_year, scenario.until_year),
            scenario.priced,
            scenario.pinned_only,
            scenario.pre_release,
        )

    def active(self) -> list[str]:
        """What is being filtered, in words, for a line on the page."""
        words = [
            "vendor" if self.vendors else "",
            "architecture" if self.architectures else "",
            "kind of card" if self.forms else "",
            f"{self.memory_gb[0]}–{self.memory_gb[1]} GB" if self.memory_gb != ANY_MEMORY else "",
            f"{self.years[0]}–{self.years[1]}" if self.years != ANY_YEAR else "",
            "price known" if self.price_known else "",
            "pinned only" if self.pinned_only else "",
        ]
        return [word for word in words if word]


@dataclass(frozen=True)
class Choice:
    """The cards to show: pinned first in pinning order, then the baseline, then what passes the filters,
    largest memory first.

    `everything` is the frame whose bounds fix the axes (pre-release cards only when asked for), `matching`
    how many of it pass the filters, `baseline` the card that others are compared with.
    """

    rows: pd.DataFrame
    everything: pd.DataFrame
    pinned: tuple[str, ...]
    baseline: str | None
    matching: int

    def is_pinned(self, position: int) -> bool:
        """Is the card in this row one of the pinned ones?"""
        return self.rows.index[position] in self.pinned

    def is_kept(self, position: int) -> bool:
        """Is the card in this row shown whatever the filters say?"""
        return self.is_pinned(position) or self.rows.index[position] == self.baseline


@cache
def cards(pre_release: bool) -> pd.DataFrame:
    """The spec frame, with or without cards that cannot be bought yet. Do not change what it returns."""
    frame = gpus()
    return frame if pre_release else frame[frame["released"].to_numpy(dtype=bool)]


@lru_cache(maxsize=64)
def choose(pins: tuple[str, ...], filters: Filters, baseline: str = "") -> Choice:
    """Apply the filters; pinned cards and the baseline stay whatever they say, unless not released.

    Kept for the readers' next requests, which mostly change what is shown of the same cards; do not change
    what it returns.
    """
    everything = cards(filters.pre_release)
    pinned = tuple(pin for pin in pins if pin in everything.index)
    compared = baseline if baseline in everything.index else None
    keep = _passing(everything, filters)
    kept = dict.fromkeys((*pinned, *([compared] if compared else [])))
    ranking = np.lexsort((-floats(everything["bandwidth_gb_per_s"]), -floats(everything["memory_gb"])))
    passing = everything.index[[i for i in ranking if keep[i]]]
    others = [] if filters.pinned_only else [i for i in passing if i not in kept]
    rows = everything.take(everything.index.get_indexer([*kept, *others]))
    return Choice(rows, everything, pinned, compared, len(passing))


def _ordered(one: int, other: int) -> tuple[int, int]:
    return (min(one, other), max(one, other))


def _passing(frame: pd.DataFrame, filters: Filters) -> np.ndarray:
    """True for each row that every filter lets through; an unknown value fails a filter that is set."""
    keep = np.ones(len(frame), dtype=bool)
    for chosen, column, key in (
        (filters.vendors, "vendor", slug),
        (filters.architectures, "architecture", slug),
        (filters.forms, "form_factor", form_class),
    ):
        if chosen:
            keep &= np.array([not pd.isna(v) and key(str(v)) in chosen for v in frame[column]], dtype=bool)
    if filters.memory_gb != ANY_MEMORY:
        keep &= _within(frame["memory_gb"], filters.memory_gb)
    if filters.years != ANY_YEAR:
        keep &= _within(frame["release_year"], filters.years)
    if filters.price_known:
        keep &= (frame["launch_price_usd"].notna() | frame["street_price_usd"].notna()).to_numpy(dtype=bool)
    return keep


def _within(column: pd.Series, bounds: tuple[int, int]) -> np.ndarray:
    values = floats(column)
    with np.errstate(invalid="ignore"):
        return (values >= bounds[0]) & (values <= bounds[1])


def floats(column: pd.Series) -> np.ndarray:
    """A nullable column as float64, NaN where nothing is known."""
    return column.to_numpy(dtype=float, na_value=np.nan)
