"""Which configuration to take in a scenario: every GPU, count, weight format and split, ranked.

Looks up and hands over to the calculators; puts nothing into words. What does not depend on prices, targets
or constraints is kept, so most changes of a reader only rank anew.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cache, cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calculators import cost, memory, ranking
from calculators.ranking import Limit, Measure, Options
from calculators.scenario import Scenario
from gpu_data import mig
from pages.ui import (
    catalogue,
    compare_choices,
    measured_vendors,
    price_load,
    speed_load,
    training_load,
    workload,
)
from pages.ui.gpu_counts import COUNTS, SERVER, TOGETHER, fast_link_gpus, known, sizes, splits, staged
from pages.ui.price_load import Rent

Floats = NDArray[np.float64]

DENSE = 32  # up to so many users every number is computed, beyond that only the stops
COPIES = (1, 2, 4, 8, 16, 32, 64, 128)  # of a batch, each with a part of the requests
USERS = (*range(1, 17), 20, 24, 32, 40, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024)  # stops to switch at
SIDES = ("value", "low", "high")
STAGED = tuple(n for n in COUNTS if 1 < n <= SERVER)  # counts on which pipeline stages may be tried
_TIMES = ("bandwidth", "compute", "link", "fixed", "waiting")
SECONDS_PER_DAY = 86400.0
MOST_DAYS = 365.0  # of a run for which no deadline is set: a longer one is not advised
DIGITS = 9  # of seconds: a nanosecond
# weight formats by bits, the first of each that the engine reads
LADDER: Mapping[int, tuple[str, ...]] = {
    16: ("bf16", "gguf-f16"),
    8: ("fp8", "gguf-q8_0", "bnb-int8"),
    4: ("awq-int4", "gguf-q4_k_m", "bnb-nf4"),
}
LEAST_BITS = {"8bit": 8, "any": 4}
_EIGHT_BITS = 8  # of a number in a KV cache
_ASKED = (
    "price_edits", "purchase_edits", "price_basis", "usd_per_kwh", "power_usage_effectiveness", "own_years",
    "host_usd", "busy_share", "runs_per_month", "lost_hours_per_week", "small_memory_gb",
    "usd_per_person_hour", "gpus", "gpu_count", "map_gpu", "cost_view", "cost_gpu", "least_tokens_per_s",
    "recommend_view", "objective", "max_ttft_s", "cost_ceiling", "purchase_ceiling", "place", "maker",
    "max_power_w", "max_gpus",
    "need_nvlink", "need_mig", "need_ecc", "duel_gpus", "train_tokens", "samples", "sample_tokens", "epochs",
    "batch_requests",
)  # fmt: skip
_PLAIN = {name: Scenario.model_fields[name].default for name in _ASKED}


@dataclass(frozen=True, slots=True)
class Use:
    """Shares of what is paid for that the work uses, 0 to 1; NaN where it is not known.

    fixed: of the time, what the engine takes for every step; waiting: of a decode step, with the GPU idle.
    """

    memory: float = np.nan
    bandwidth: float = np.nan
    compute: float = np.nan
    link: float = np.nan
    fixed: float = np.nan
    waiting: float = np.nan


@dataclass(frozen=True, slots=True)
class Choice:
    """The best setup of one GPU.

    boards: of one copy, cut into pipeline stages where `staged`, else as the engine does by itself; split,
    cut: how, in words and in letters. seconds: a token of one user, or the run; first_s: to the first token;
    sure: targets are met even at the bad end of the bands. alone: memory that one GPU would need for the
    same, over what it has. unseen: whose cards were never measured at this kind of work; shaky: what a price
    rests on that may not hold; both empty otherwise. buy_usd: of all cards, for who buys. fp16: a run in BF16
    that this GPU has not, so FP16 is counted. endless: longer than is advisable. reason: the hurdle that
    nothing of this GPU passes.
    """

    gpu: str
    name: str
    rent: Rent
    format: str = ""
    split: str = ""
    cut: str = ""
    boards: int = 0
    copies: int = 1
    gpus: int = 0
    users_each: int = 0
    staged: bool = False
    usd: Measure | None = None
    seconds: Measure | None = None
    first_s: Measure | None = None
    output_per_s: Measure | None = None
    power_w: float = np.nan
    tight: bool = False
    offered: bool = True
    sure: bool = True
    frontier: bool = False
    tied: bool = False
    use: Use = field(default_factory=Use)
    alone: float = np.nan
    unseen: str = ""
    shaky: str = ""
    buy_usd: float = np.nan
    fp16: bool = False
    endless: bool = False
    reason: str | None = None

    @property
    def founded(self) -> bool:
        """Whether such a card was measured at this kind of work, and its price may be relied on."""
        return not (self.unseen or self.shaky)

    @property
    def firm(self) -> bool:
        """Whether nothing speaks against it.

        It surely fits, so many are quoted, it is well founded, and it takes no longer than is advisable.
        """
        return self.offered and not self.tight and self.founded and not self.endless


@dataclass(frozen=True, slots=True)
class Turn:
    """At `at` (users, days) another setup comes first, at `last` not yet; gpu None: none does it any more.

    tight, offered, founded, usd, seconds: as of a Choice. slow_s: the run at the slow end of its band.
    """

    at: float
    gpu: str | None
    boards: int = 0
    copies: int = 1
    cut: str = ""
    last: float = np.nan
    tight: bool = False
    offered: bool = True
    founded: bool = True
    slow_s: float = np.nan
    usd: float = np.nan
    seconds: float = np.nan


@dataclass(frozen=True, slots=True)
class PriceTurn:
    """Below `usd` the GPU comes first: of an hour, or (purchase) of the card; now: what it costs."""

    gpu: str
    usd: float
    now: float
    purchase: bool


Lead = Callable[[Scenario], Turn]  # what comes first in a scenario that asks for something else


@dataclass(frozen=True)
class Recommendation:
    """Choices: best first, then (reason given) those that cannot. refused: why nothing can be computed.

    price: where the next in line would overtake; poorer: what comes first with less money than the answer
    costs; safe_days: a deadline whose answer keeps the reader's own at the slow end of its band. cached: what
    comes first with a KV cache of 8 bits, which is `cache_format`. single: a short run's answer on one GPU.
    """

    scenario: Scenario
    work: str
    choices: tuple[Choice, ...]
    below: Turn | None = None
    above: Turn | None = None
    price: PriceTurn | None = None
    poorer: Turn | None = None
    safe_days: float | None = None
    cached: Turn | None = None
    cache_format: str = ""
    single: Turn | None = None
    notes: tuple[str, ...] = ()
    refused: str | None = None

    @cached_property
    def ranked(self) -> tuple[Choice, ...]:
        """Those that do the work."""
        return tuple(one for one in self.choices if one.reason is None)

    @property
    def best(self) -> Choice | None:
        """The answer."""
        return next(iter(self.ranked), None)

    def of(self, gpu: str) -> Choice | None:
        """One GPU's choice."""
        return next((one for one in self.choices if one.gpu == gpu), None)


# ---------------------------------------------------------------- the cards


@dataclass(frozen=True)
class _Cards:
    """Facts of every GPU in the list, in its order: arrays [card]. by_name: its place in the alphabet."""

    ids: tuple[str, ...]
    names: tuple[str, ...]
    by_name: NDArray[np.int64]
    power_w: Floats
    memory: Floats
    vendor: NDArray[Any]
    place: NDArray[Any]
    linked: Floats  # GPUs that a fast link joins: 0, 2 (bridge), inf
    mig: NDArray[np.bool_]
    ecc: NDArray[np.bool_]


def has_ecc(row: Mapping[str, Any]) -> bool:
    """Whether ECC is recorded, or the memory is HBM, which carries the check bits beside the data."""
    return str(known(row["ecc"], "")).startswith("yes") or "HBM" in str(known(row["memory_type"], ""))


def lacks_bf16(row: Mapping[str, Any]) -> bool:
    """Whether a card is recorded not to multiply in BF16."""
    return "bf16" in [one.strip() for one in str(known(row["unsupported_dtypes"], "")).split(",")]


PLACES = {"workstation": ("workstation", "consumer", "soc"), "datacentre": ("module", "server", "superchip")}


@cache
def _cards(pre_release: bool) -> _Cards:
    hidden = frozenset() if pre_release else catalogue.pre_release_gpus()
    ids = tuple(str(gpu) for gpu in catalogue.gpus().index if gpu not in hidden)
    rows = [catalogue.spec_row(gpu) for gpu in ids]
    names = tuple(catalogue.gpu_name(gpu) for gpu in ids)
    forms = [compare_choices.form_class(str(known(row["form_factor"], ""))) for row in rows]
    return _Cards(
        ids,
        names,
        np.unique(names, return_inverse=True)[1],
        np.array([float(known(row["tdp_w"], np.nan)) for row in rows]),
        np.array([float(row["memory_gb"]) for row in rows]),
        np.array([catalogue.slug(row["vendor"]) for row in rows]),
        np.array([next((p for p, known in PLACES.items() if form in known), "") for form in forms]),
        np.array([fast_link_gpus(row) for row in rows]),
        np.array(
            [
                float(known(row["mig_max_instances"], 0)) > 0 or gpu in mig.cards()
                for gpu, row in zip(ids, rows, strict=True)
            ]
        ),
        np.array([has_ecc(row) for row in rows]),
    )


def _allowed(s: Scenario, cards: _Cards, boards: Any, gpus: Any) -> NDArray[np.bool_]:
    """What the reader asks of the hardware: [card, setup]."""
    ok = np.ones(len(cards.ids), dtype=bool)
    if s.place != "any":
        ok &= cards.place == s.place
    if s.maker:
        ok &= cards.vendor == s.maker
    if s.need_mig:
        ok &= cards.mig
    if s.need_ecc:
        ok &= cards.ecc
    found = ok[:, None] & np.ones(np.broadcast_shapes(np.shape(gpus), np.shape(boards)), dtype=bool)
    if s.need_nvlink:
        found &= cards.linked[:, None] >= np.maximum(boards, 2)
    if s.max_gpus is not None:
        found &= gpus <= s.max_gpus
    return found


def _barred(s: Scenario, cards: _Cards, i: int) -> str:
    """What of a card the reader does not want."""
    asked = (
        (s.place != "any" and cards.place[i] != s.place, f"not for a {_PLACE_WORDS.get(s.place)}"),
        (bool(s.maker) and cards.vendor[i] != s.maker, "another vendor"),
        (s.need_mig and not cards.mig[i], "no MIG"),
        (s.need_ecc and not cards.ecc[i], "no ECC known"),
        (s.need_nvlink and cards.linked[i] < 2, "no fast link between GPUs"),
    )
    return ", ".join(said for barred, said in asked if barred) or "not within your limits of hardware"


def _hurdle(s: Scenario, cards: _Cards, i: int, name: str | None, rent: Rent) -> str:
    """What stops a card whatever the work: the reader's wishes, money, power; nothing for other hurdles."""
    if name == "constraint":
        return _barred(s, cards, i)
    if name == "usd":
        return "above your ceiling" if rent.known else "no price"
    if name == "purchase":
        return "dearer to buy than allowed" if rent.known else "no price"
    if name == "power":
        return "more power than allowed" if cards.power_w[i] == cards.power_w[i] else "power not known"
    return ""


_PLACE_WORDS = {"workstation": "workstation", "datacentre": "data centre"}


# ---------------------------------------------------------------- serving


@dataclass(frozen=True)
class _Served:
    """One weight format with every split and count: speed as `calculators.speed` gives it.

    verdict, seconds: arrays [card, users, setup]. The rest is of pairs of a card and a setup, by their column
    in [card, setup], -1 where there is none. Of those tried: full (memory needed / capacity) [users, pair].
    Of those able, which have a speed: first_s, output_per_s, used (shares of Use but memory), running
    (sequences at once, of a batch as many as fit) [users, pair]; prompt_link (share of reading one prompt in
    which GPUs exchange parts of layers) [pair]. reasons: why a card and count of the engine's own split has
    no speed.
    """

    format: str
    verdict: NDArray[np.int8]
    seconds: Measure
    tried: NDArray[np.int64]
    full: Floats
    able: NDArray[np.int64]
    first_s: Measure
    output_per_s: Measure
    used: ranking.Use
    running: Floats
    prompt_link: Floats
    reasons: tuple[str | None, ...]
    notes: tuple[str, ...]

    def by_card(self, one: Measure) -> Measure:
        """A measure [users, pair] as [card, users, setup]."""
        cards, setups = np.nonzero(self.able >= 0)
        columns = self.able[cards, setups]
        found = []
        for side in (one.value, one.low, one.high):
            whole = np.full(self.verdict.shape, np.nan)
            whole[cards, :, setups] = side[:, columns].T
            found.append(whole)
        return Measure(*found)

    def measure_at(self, one: Measure, i: int, u: int, k: int) -> Measure:
        """A measure [users, pair] of one card and setup that has a speed."""
        return _at(one, u, self.able[i, k])

    def full_at(self, i: int, u: int, k: int) -> float:
        """Memory needed / capacity of one card and setup."""
        return _cell(self.full, self.tried[i, k], u)

    def use_at(self, i: int, u: int, k: int) -> Use:
        """What one setup of one card uses."""
        shares = (_cell(getattr(self.used, name), self.able[i, k], u) for name in _TIMES)
        return Use(self.full_at(i, u, k), *shares)

    def prompt_link_at(self, i: int, k: int) -> float:
        """Share of reading one prompt in which the GPUs of a setup exchange parts of layers."""
        return _cell(self.prompt_link, self.able[i, k])


def _cell(values: Floats, column: int, u: int = 0) -> float:
    """One value of pairs, for all users alike where it has no axis for them; NaN where there is no pair."""
    return float(values[(u, column) if values.ndim > 1 else column]) if column >= 0 else np.nan


def formats_of(s: Scenario, load: workload.Workload) -> list[str]:
    """The weight formats that may be chosen, the reader's own first."""
    found = [s.weight_format]
    least = LEAST_BITS.get(s.format_freedom)
    for bits, ids in LADDER.items():
        if least is not None and bits >= least:
            readable = [one for one in ids if load.loads(catalogue.weight_formats()[one])]
            found += readable[:1]
    return list(dict.fromkeys(found))


def _shares(users: int) -> set[int]:
    """Users of the fullest copy, for every number of copies."""
    return {-(-users // copies) for copies in range(1, users + 1)}


def _stops(now: int) -> list[int]:
    """Numbers of users at which another answer is looked for: those near by, far ones change nothing."""
    below, above = [n for n in USERS if n < now], [n for n in USERS if n > now]
    few = [n for n in below if n <= DENSE][-7:] + [n for n in above if n <= DENSE][:7]
    return few + [n for n in below if n > DENSE][-2:] + [n for n in above if n > DENSE][:2]


def _grid(users: int) -> tuple[int, ...]:
    """Users of a copy that are computed, so that the stops are answered as if they were asked for.

    Beside it every number whose halves are computed anyway, the same ones for all users near by.
    """
    asked = {users, *(stop for stop in _stops(users) if stop > DENSE)}
    if DENSE < next((stop for stop in USERS if stop > users), 0) <= 2 * DENSE:
        asked.update(range(DENSE, 2 * DENSE + 1))
    return tuple(sorted({*range(1, DENSE + 1)}.union(*map(_shares, asked))))


@dataclass(frozen=True)
class _Tried:
    """Pairs of a card and a setup that are tried with one split, in the order of cards."""

    gpus: tuple[workload.PinnedGpu, ...]
    card: NDArray[np.int64]
    setup: NDArray[np.int64]


@cache
def _tried(pre_release: bool, stages: bool) -> _Tried:
    """The engine's own split on every count, or, as setups behind these, pipeline stages where tried."""
    ids = _cards(pre_release).ids
    places = [
        (i, k)
        for i, gpu in enumerate(ids)
        for k, count in enumerate(COUNTS)
        if not stages or staged(catalogue.spec_row(gpu), count)
    ]
    card, setup = np.array(places, dtype=np.int64).reshape(-1, 2).T
    gpus = tuple(workload.pinned(ids[i], COUNTS[k]) for i, k in places)
    if stages:
        setup = len(COUNTS) + np.searchsorted(STAGED, np.array(COUNTS)[setup])
    return _Tried(gpus, card, setup)


@lru_cache(maxsize=6)  # a few megabytes each
def _served(s: Scenario, users: tuple[int, ...], batch: bool) -> _Served | str:
    """Memory and speed of every GPU, split and count; nothing in it depends on a price.

    Raises ConfigRefused.
    """
    load = workload.load(s)
    ids = _cards(s.pre_release).ids
    tried = _tried(s.pre_release, False)
    if why := speed_load.unmodelled(load, tried.gpus):
        return why
    own = every = speed_load.deployed(load, tried.gpus, users)
    card, setup = tried.card, tried.setup
    ways = splits(s, load.engine)
    if any(ways):
        behind = _tried(s.pre_release, True)
        every = own.beside(speed_load.deployed(workload.changed(load, split="pipeline"), behind.gpus, users))
        card, setup = np.append(card, behind.card), np.append(setup, behind.setup)
    able = np.flatnonzero([why is None for why in every.refused])  # the others have no speed
    able = able if len(able) else np.arange(len(card))
    many = np.array(users)[:, None]
    found = speed_load.speeds_of(load, every.only(able), many, streamed=not batch)
    speed = found.speed
    rate = speed.max_output_tokens_per_s if batch else speed.output_tokens_per_s
    running = speed.users_at_most if batch else speed.running
    whole = (len(ids), len(users), len(COUNTS) + len(STAGED) * any(ways))

    def placed(values: NDArray[Any], at: NDArray[np.int64], empty: Any) -> NDArray[Any]:
        """[users, pair] as [card, users, setup]."""
        found = np.full(whole, empty, dtype=values.dtype)
        found[card[at], :, setup[at]] = values.T
        return found

    def column(at: NDArray[np.int64]) -> NDArray[np.int64]:
        found = np.full((whole[0], whole[2]), -1)
        found[card[at], setup[at]] = np.arange(len(at))
        return found

    table = measured_vendors.table_of(s.task, load.engine.id, load.engine.family)
    spread = measured_vendors.spread_of(table, ids)[card[able]]
    wider = np.flatnonzero(spread)

    def measure(one: Any) -> Measure:
        # what an engine's fixed time makes equal is not told apart by rounding
        shape = (len(users), len(able))
        value, low, high = (np.round(np.broadcast_to(getattr(one, side), shape), DIGITS) for side in SIDES)
        low[:, wider], high[:, wider] = measured_vendors.widened_by(
            spread[wider], *(side[:, wider] for side in (value, low, high))
        )
        return Measure(value, low, high)

    all_pairs, seconds = np.arange(len(card)), measure(speed.tpot_s)
    return _Served(
        s.weight_format,
        placed(every.verdict, all_pairs, 0),
        Measure(*(placed(side, able, np.nan) for side in (seconds.value, seconds.low, seconds.high))),
        column(all_pairs),
        every.filled,
        column(able),
        measure(speed.ttft_s),
        measure(rate),
        ranking.used_shares(speed.prompt, speed.step, s.output_tokens, running),
        np.asarray(running),
        ranking.link_share(speed.prompt),
        own.refused,
        found.assumptions,
    )


def _formats(s: Scenario, users: tuple[int, ...], batch: bool) -> list[_Served] | str:
    """Every format that can be served to so many users of a copy; or why there is none."""
    plain = s.model_copy(update={**_PLAIN, "concurrency": 1, "deadline_days": None, "format_freedom": "this"})
    found, refused = [], None
    for fmt in formats_of(s, workload.load(s)):
        one = _served(plain.model_copy(update={"weight_format": fmt}), users, batch)
        if isinstance(one, str):
            refused = refused or one
        else:
            found.append(one)
    return found or refused or "nothing can be served"


@dataclass(frozen=True)
class _Stacked:
    """All ways of serving as one table: arrays [card, users, setup]; boards of each setup.

    A setup is a format, a split of it (the engine's own, then pipeline stages) and a count.
    """

    cards: _Cards
    formats: tuple[_Served, ...]
    users: tuple[int, ...]
    boards: NDArray[np.int64]
    verdict: NDArray[np.int8]
    seconds: Measure

    @cached_property
    def first_s(self) -> Measure:
        """To the first token [card, users, setup]."""
        return _joined([one.by_card(one.first_s) for one in self.formats])

    @cached_property
    def output_per_s(self) -> Measure:
        """Tokens/s of one copy [card, users, setup]."""
        return _joined([one.by_card(one.output_per_s) for one in self.formats])

    def of(self, k: int) -> tuple[_Served, int]:
        """The format of a setup, and the setup's place among those of the format."""
        which, place = divmod(k, len(self.boards) // len(self.formats))
        return self.formats[which], place

    def on_one(self, i: int, u: int, k: int) -> float:
        """Memory that one GPU would need for the users of a setup, over what it has."""
        return self.of(k)[0].full_at(i, u, COUNTS.index(1))

    def used(self, i: int, u: int, k: int) -> Use:
        """What one setup of one GPU uses."""
        fmt, place = self.of(k)
        return fmt.use_at(i, u, place)

    def running(self, i: int, u: int, k: int) -> float:
        """Sequences of one copy at once."""
        fmt, place = self.of(k)
        return _cell(fmt.running, fmt.able[i, place], u)

    def rate_at(self, i: int, u: int, k: int) -> Measure:
        """Tokens/s of one copy."""
        fmt, place = self.of(k)
        return fmt.measure_at(fmt.output_per_s, i, u, place)

    def first_at(self, i: int, u: int, k: int) -> Measure:
        """Seconds to the first token."""
        fmt, place = self.of(k)
        return fmt.measure_at(fmt.first_s, i, u, place)


def _joined(parts: Sequence[Measure]) -> Measure:
    """Measures [card, users, setup] of formats as one."""
    sides = ([getattr(one, side) for one in parts] for side in SIDES)
    return Measure(*(np.concatenate(side, axis=2) for side in sides))


@lru_cache(maxsize=6)
def _stacked_of(s: Scenario, users: tuple[int, ...], batch: bool) -> _Stacked | str:
    formats = _formats(s, users, batch)
    if isinstance(formats, str):
        return formats

    verdict = np.concatenate([one.verdict for one in formats], axis=2)
    return _Stacked(
        _cards(s.pre_release),
        tuple(formats),
        users,
        np.tile((COUNTS + STAGED)[: verdict.shape[2] // len(formats)], len(formats)),
        verdict,
        _joined([one.seconds for one in formats]),
    )


def stacked(s: Scenario) -> _Stacked | str:
    """Every way of serving the scenario on every GPU."""
    return _stacked_of(_technical(s), _grid(s.concurrency), False)


def _with_smaller_cache(s: Scenario, load: workload.Workload) -> Scenario | None:
    """The scenario with a KV cache of 8 bits; None where it has one, or the engine offers none."""
    if load.kv_format.bits <= _EIGHT_BITS:
        return None
    able = (one.id for one in catalogue.kv_formats().values() if one.bits == _EIGHT_BITS and load.loads(one))
    found = next(able, None)
    return None if found is None else s.model_copy(update={"kv_cache_dtype": found})


def _technical(s: Scenario) -> Scenario:
    """The scenario without what does not change memory or speed."""
    keep = {**_PLAIN, "deadline_days": None}
    return s.model_copy(update=keep)


@dataclass(frozen=True)
class _Prices:
    """What every GPU costs in an hour: arrays [card].

    usd: of an hour that is counted; machine: GPUs in the largest machine; shaky: the price may not hold.
    """

    rents: Mapping[str, Rent]
    usd: Floats
    machine: Floats
    shaky: NDArray[np.bool_]


def _prices(s: Scenario, cards: _Cards, rents: Mapping[str, Rent]) -> _Prices:
    found = [rents[gpu] for gpu in cards.ids]
    return _Prices(
        rents,
        np.array([one.usd for one in found]),
        np.array([price_load.machine(s, one) for one in found]),
        np.array([bool(price_load.shaky(one)) for one in found]),
    )


def _run_prices(s: Scenario, cards: _Cards, rents: Mapping[str, Rent]) -> _Prices:
    """Prices of an hour of work: what is rented is paid only then, what is owned in idle hours as well."""
    prices = _prices(s, cards, rents)
    if s.price_basis != price_load.OWN_BASIS:
        return prices
    owned = np.array([not rents[gpu].edited for gpu in cards.ids])
    usd = np.where(owned, cost.usd_per_busy_hour(prices.usd, s.busy_share), prices.usd)
    return replace(prices, usd=usd)


def _rents(s: Scenario, cards: _Cards, today: date) -> Mapping[str, Rent]:
    """The price of every GPU; it does not depend on how many users there are."""
    return _rents_of(s.model_copy(update={"concurrency": 1}), cards.ids, today)


@lru_cache(maxsize=8)
def _rents_of(s: Scenario, ids: tuple[str, ...], today: date) -> Mapping[str, Rent]:
    return price_load.rents(s, ids, today)


def _rents_for(
    s: Scenario, rents: Mapping[str, Rent], asked: Scenario, today: date
) -> Mapping[str, Rent] | None:
    """Rents of a scenario that differs at most in the prices typed in; None where these are the same too."""
    edits = [
        set(mine) ^ set(others)
        for mine, others in (
            (s.price_edits, asked.price_edits),
            (s.purchase_edits, asked.purchase_edits),
        )
    ]
    changed = {gpu for gpu, _ in set().union(*edits) if gpu in rents}
    return {**rents, **price_load.rents(asked, sorted(changed), today)} if any(edits) else None


def _columns(table: _Stacked, users: int) -> NDArray[np.int64]:
    """Places of the users of a copy for so many in all; to take more than a share is never better."""
    shares = _shares(users)
    return np.array([u for u, each in enumerate(table.users) if each in shares], dtype=np.int64)


def _serving_options(
    s: Scenario, table: _Stacked, prices: _Prices, few: NDArray[np.int64], bands: bool = True
) -> tuple[Options, tuple[Limit, ...]]:
    """Options and limits of the users asked for: each copy takes its share of them, places `few`.

    bands: False where only the values are asked about.
    """
    boards = np.tile(table.boards, len(few))
    each = [_copies(s.concurrency, table.users[u]) for u in few]
    gpus = np.array(each, dtype=float).repeat(len(table.boards)) * boards

    def flat(values: NDArray[Any]) -> NDArray[Any]:
        return values[:, few].reshape(len(values), -1)

    def measure(one: Measure) -> Measure:
        return (
            Measure(*map(flat, (one.value, one.low, one.high))) if bands else Measure.exact(flat(one.value))
        )

    month = Measure.exact(cost.usd_per_month(prices.usd[:, None], gpus[None, :]))
    power = table.cards.power_w[:, None] * gpus
    seconds = measure(table.seconds)
    options = Options(
        flat(table.verdict), month, seconds, power, np.broadcast_to(gpus, power.shape),
        _allowed(s, table.cards, boards, gpus), prices.machine[:, None] >= boards[None, :],
    )  # fmt: skip
    limits = []
    if s.least_tokens_per_s:
        limits.append(Limit("tpot", seconds, 1 / s.least_tokens_per_s))
    if s.max_ttft_s is not None:
        limits.append(Limit("ttft", measure(table.first_s), s.max_ttft_s))
    if s.cost_ceiling is not None:
        limits.append(Limit("usd", month, s.cost_ceiling))
    if s.max_power_w is not None:
        limits.append(Limit("power", Measure.exact(power), s.max_power_w))
    return options, (*limits, *_bought(s, table.cards, options.gpus))


def _copies(users: int, each: int) -> int:
    """Copies that serve so many users, of so many each at most."""
    return -(-users // each)


def _bought(s: Scenario, cards: _Cards, gpus: Floats) -> tuple[Limit, ...]:
    """What all cards of a setup may cost to buy, for readers who buy."""
    if s.price_basis != price_load.OWN_BASIS or s.purchase_ceiling is None:
        return ()
    each = np.array([price_load.purchase(s, gpu).usd for gpu in cards.ids])
    return (Limit("purchase", Measure.exact(each[:, None] * gpus), s.purchase_ceiling),)


def _at(measure: Measure, *place: int) -> Measure:
    return Measure(measure.value[place], measure.low[place], measure.high[place])


def _finished(
    s: Scenario,
    work: str,
    cards: _Cards,
    found: tuple[Options, Sequence[Limit]],
    prices: _Prices,
    describe: Callable[[str, int, int], Mapping[str, Any]],
    why: Callable[[int, str], str],
    notes: Sequence[str],
    switches: tuple[Turn | None, Turn | None] = (None, None),
    open_band: bool = False,
    lead: Lead | None = None,
) -> Recommendation:
    """Choices in order from options [card, setup].

    describe: the fields that only the task knows, of a GPU, its place and that of its setup.
    """
    options, limits = found
    rents, names = prices.rents, cards.names
    grade = ranking.grades(options, limits)
    setups = ranking.best_setups(options, grade, s.objective)
    rows = np.arange(len(cards.ids))
    best = options.at((rows, np.maximum(setups, 0)))
    unseen, shaky, endless = _unseen(s, cards), _shaky(s, prices), _endless(s, best.seconds)
    top = _with_founded(grade, setups, ~(unseen | shaky | endless))
    if open_band and s.objective == "cheapest":
        best = replace(best, usd=_with_band(options, limits, best.usd))
    ranked = ranking.order(best, top, s.objective, cards.by_name)
    certain = (top > ranking.NOT) & (top == (top[ranked[0]] if len(ranked) else ranking.NOT))
    on = ranking.frontier(
        np.where(certain, best.usd.value, np.nan), np.where(certain, best.seconds.value, np.nan)
    )
    same = ranking.tied(best, s.objective, top, int(ranked[0])) if len(ranked) else np.zeros(len(rows), bool)
    sure = np.broadcast_to(ranking.meets(limits, "high"), options.verdict.shape)
    table = measured_vendors.table(s)
    bought = s.price_basis == price_load.OWN_BASIS
    choices = []
    for i in ranked:
        k, gpu = int(setups[i]), cards.ids[i]
        one = Choice(
            gpu, names[i], rents[gpu],
            usd=_at(best.usd, i), seconds=_at(options.seconds, i, k), power_w=float(options.power_w[i, k]),
            gpus=int(options.gpus[i, k]), tight=bool(options.verdict[i, k] == memory.TIGHT),
            offered=bool(options.offered[i, k]), sure=bool(sure[i, k]), frontier=bool(on[i]),
            tied=bool(same[i]) and i != ranked[0],
            buy_usd=price_load.purchase(s, gpu).usd * int(options.gpus[i, k]) if bought else np.nan,
            unseen=measured_vendors.unseen_words(table, gpu) if unseen[i] else "",
            shaky=price_load.shaky(rents[gpu]) if shaky[i] else "", endless=bool(endless[i]),
            **describe(gpu, i, k),
        )  # fmt: skip
        choices.append(one)
    reasons = ranking.first_failing(options, limits)
    left = [
        Choice(
            cards.ids[i], names[i], rents[cards.ids[i]],
            reason=_hurdle(s, cards, i, reasons[i], rents[cards.ids[i]]) or why(i, reasons[i] or "limits"),
        )
        for i in rows
        if setups[i] < 0
    ]  # fmt: skip
    told = Recommendation(s, work, (*choices, *left), *switches, notes=tuple(notes))
    if lead is None or told.best is None:
        return told
    return replace(
        told,
        price=_price_turn(s, told.ranked, lead),
        poorer=_poorer(s, told.best, lead),
        safe_days=_safe_days(s, told.best, lead),
        single=_single(s, told.best, lead),
    )


def _unseen(s: Scenario, cards: _Cards) -> NDArray[np.bool_]:
    """Cards whose architecture nobody measured at this kind of work; images are measured results."""
    if purpose(s) == "images":
        return np.zeros(len(cards.ids), dtype=bool)
    return measured_vendors.unseen(measured_vendors.table(s), cards.ids)


def _shaky(s: Scenario, prices: _Prices) -> NDArray[np.bool_]:
    """Cards whose price may not hold, where money decides."""
    return prices.shaky if s.objective == "cheapest" else np.zeros_like(prices.shaky)


def _endless(s: Scenario, seconds: Measure) -> NDArray[np.bool_]:
    """Runs longer than is advisable; who sets a deadline says what is."""
    if s.deadline_days is not None or purpose(s) in ("one", "many", "images"):
        return np.zeros(seconds.value.shape, dtype=bool)
    return seconds.value > MOST_DAYS * SECONDS_PER_DAY


def _with_founded(
    grade: NDArray[np.int8], setups: NDArray[np.int64], founded: NDArray[np.bool_]
) -> NDArray[np.int8]:
    """The grade of each card's setup; what is not well founded, or takes too long, is never sure."""
    top = np.where(setups >= 0, grade[np.arange(len(setups)), np.maximum(setups, 0)], ranking.NOT)
    return np.where(founded, top, np.minimum(top, ranking.PERHAPS)).astype(np.int8)


def _lead(
    s: Scenario, cards: _Cards, found: tuple[Options, Sequence[Limit]], prices: _Prices
) -> tuple[Turn, tuple[int, int]]:
    """What comes first, its place and that of its setup; the same order as in `_finished`."""
    options, limits = found
    grade = ranking.grades(options, limits)
    setups = ranking.best_setups(options, grade, s.objective)
    rows = np.arange(len(cards.ids))
    picked = np.maximum(setups, 0)
    best = options.at((rows, picked))
    founded = ~(_unseen(s, cards) | _shaky(s, prices) | _endless(s, best.seconds))
    top = _with_founded(grade, setups, founded)
    ranked = ranking.order(best, top, s.objective, cards.by_name)
    if not len(ranked):
        return Turn(np.nan, None), (0, 0)
    i = int(ranked[0])
    k = int(picked[i])
    turn = Turn(
        np.nan, cards.ids[i], int(options.gpus[i, k]), tight=bool(options.verdict[i, k] == memory.TIGHT),
        offered=bool(options.offered[i, k]), founded=bool(founded[i]),
        slow_s=float(options.seconds.high[i, k]),
        usd=float(options.usd.value[i, k]), seconds=float(options.seconds.value[i, k]),
    )  # fmt: skip
    return turn, (i, k)


def floored(value: float, digits: int = 3) -> float:
    """A number cut to so many figures, never above it."""
    if not value > 0:
        return value
    unit = 10.0 ** (np.floor(np.log10(value)) - digits + 1)
    return float(f"{np.floor(value / unit + 1e-9) * unit:.{digits + 3}g}")


def _price_turn(s: Scenario, ranked: Sequence[Choice], lead: Lead) -> PriceTurn | None:
    """The price at which the next in line comes first, tried by ranking on both sides of it.

    None where no price does it, or where it is met already: who types the price of today is taken to have
    found so many together.
    """
    if s.objective != "cheapest" or len(ranked) < 2:
        return None
    best, second = ranked[:2]
    assert best.usd is not None
    assert second.usd is not None
    if not (second.rent.known and float(second.usd.value) > 0 and float(best.usd.value) > 0):
        return None
    bought = s.price_basis == price_load.OWN_BASIS and not second.rent.edited
    name = "purchase_edits" if bought else "price_edits"
    now = price_load.purchase(s, second.gpu).usd if bought else second.rent.usd

    def first(usd: float) -> bool:
        edits = {**dict(getattr(s, name)), second.gpu: usd}
        return lead(s.model_copy(update={name: tuple(edits.items())})).gpu == second.gpu

    ratio = float(best.usd.value) / float(second.usd.value)
    if bought:  # of an hour's cost only a part is the purchase
        hours = s.own_years * cost.HOURS_PER_YEAR
        guess = now - (1 - ratio) * second.rent.usd * hours
    else:
        guess = now * ratio
    guess = floored(guess)
    if 0 < guess < now and first(guess * 0.997) and not first(guess * 1.006):
        return PriceTurn(second.gpu, guess, now, bought)
    low, high = now / 32, now
    if first(high) or not first(low):
        return None
    while high / low > 1.003:
        middle = float(np.sqrt(low * high))
        low, high = (middle, high) if first(middle) else (low, middle)
    return PriceTurn(second.gpu, floored(low), now, bought)


def _poorer(s: Scenario, best: Choice, lead: Lead) -> Turn | None:
    """What comes first for whoever has less money than the fastest answer costs."""
    if s.objective != "fastest" or best.usd is None or not float(best.usd.value) > 0:
        return None
    usd = float(best.usd.value)
    found = lead(s.model_copy(update={"cost_ceiling": usd * 0.999}))
    return None if found.gpu is None else replace(found, at=usd)


def _safe_days(s: Scenario, best: Choice, lead: Lead) -> float | None:
    """A deadline to ask for, so that its answer meets the reader's own at the slow end of its band."""
    if s.deadline_days is None or best.sure or purpose(s) in ("one", "many", "images"):
        return None
    assert best.seconds is not None
    limit = s.deadline_days * SECONDS_PER_DAY
    days = s.deadline_days * limit / float(best.seconds.high)
    for _ in range(8):
        days = floored(days)
        found = lead(s.model_copy(update={"deadline_days": days}))
        if found.gpu is None:
            return None
        if found.slow_s <= limit:
            return days
        days *= min(0.99, limit / found.slow_s)
    return None


SHORT_S = 3600.0  # a run so short is told against one on a single GPU
SAME = 0.05  # costs that differ by less are said to be the same: quotes of one GPU differ by more


def _single(s: Scenario, best: Choice, lead: Lead) -> Turn | None:
    """What comes first on one GPU for as good as the same money, where many are done within an hour."""
    if purpose(s) in ("one", "many", "images") or best.gpus == 1 or best.seconds is None:
        return None
    if best.usd is None or not (float(best.seconds.value) < SHORT_S and np.isfinite(best.usd.value)):
        return None
    most = float(best.usd.value) * (1 + SAME)
    ceiling = most if s.cost_ceiling is None else min(most, s.cost_ceiling)
    found = lead(s.model_copy(update={"max_gpus": 1, "cost_ceiling": ceiling}))
    return None if found.gpu is None else found


def _with_band(options: Options, limits: Sequence[Limit], usd: Measure) -> Measure:
    """Cost of each GPU's cheapest setup were all speeds at an end of their bands, which decides how many."""
    ends = []
    rows = np.arange(len(options.verdict))
    for side in ("low", "high"):
        setups = ranking.best_setups(options, ranking.grades(options, limits, side), "cheapest")
        ends.append(np.where(setups >= 0, options.usd.value[rows, np.maximum(setups, 0)], np.inf))
    return Measure(usd.value, np.minimum(ends[0], usd.value), np.maximum(ends[1], usd.value))


_WHY = {
    "memory": "does not fit",
    "limits": "no setup meets everything at once",
}


def _serve(s: Scenario, today: date) -> Recommendation:
    load = workload.load(s)
    table = stacked(s)
    if isinstance(table, str):
        return Recommendation(s, load.name, (), refused=table)
    rents = _rents(s, table.cards, today)
    prices = _prices(s, table.cards, rents)
    mine, width = _columns(table, s.concurrency), len(table.boards)
    options, limits = _serving_options(s, table, prices, mine)
    cut = _cuts(load, table)

    def describe(gpu: str, i: int, k: int) -> dict[str, Any]:
        u, setup = int(mine[k // width]), k % width
        boards = int(table.boards[setup])
        each = table.users[u]
        share = s.concurrency / each
        out = table.rate_at(i, u, setup)
        return {
            "format": table.of(setup)[0].format,
            "boards": boards,
            "copies": _copies(s.concurrency, each),
            "users_each": each,
            "first_s": table.first_at(i, u, setup),
            "output_per_s": Measure(*(np.asarray(side * share) for side in (out.value, out.low, out.high))),
            "use": table.used(i, u, setup),
            "alone": table.on_one(i, u, setup) if boards > 1 else np.nan,
            **cut(setup, gpu),
        }

    def why(i: int, name: str) -> str:
        if name in _WHY and name != "memory":
            return _WHY[name]
        told = table.formats[0].reasons[i * len(COUNTS) : (i + 1) * len(COUNTS)]
        if name in ("memory", "speed"):
            return next((r for r in told if r and r != "does not fit"), _WHY["memory"])
        if name == "tpot":
            return f"slower than {s.least_tokens_per_s:g} tokens/s for each user"
        return f"first token later than {s.max_ttft_s:g} s"

    def lead(asked: Scenario) -> Turn:
        changed = _rents_for(s, rents, asked, today)
        paid = prices if changed is None else _prices(asked, table.cards, changed)
        return _serving_lead(asked, table, paid)

    def worded(turn: Turn | None) -> Turn | None:
        """With its split in letters, which takes longer than finding it."""
        if turn is None or turn.gpu is None:
            return turn
        return replace(turn, cut=cut(int(turn.cut), turn.gpu)["cut"])

    def by_users(users: float) -> Turn:
        return replace(lead(s.model_copy(update={"concurrency": int(users)})), at=users)

    between = _between_users(table.users)
    below, above = _turns(_stops(s.concurrency), s.concurrency, by_users, between)
    found = _finished(
        s,
        load.name,
        table.cards,
        (options, limits),
        prices,
        describe,
        why,
        table.formats[0].notes,
        (worded(below), worded(above)),
        True,
        lambda asked: worded(lead(asked)) or Turn(np.nan, None),
    )
    smaller = _with_smaller_cache(s, load) if s.objective == "cheapest" else None
    if smaller is None or found.best is None:
        return found
    return replace(found, cached=_cached_lead(smaller, prices), cache_format=smaller.kv_cache_dtype)


def _serving_lead(s: Scenario, table: _Stacked, prices: _Prices) -> Turn:
    """What comes first among all ways of serving; its cut is the place of its setup."""
    few, width = _columns(table, s.concurrency), len(table.boards)
    options, limits = _serving_options(s, table, prices, few, bands=False)
    turn, (i, k) = _lead(s, table.cards, (options, limits), prices)
    if turn.gpu is None:
        return turn
    u, at = int(few[k // width]), k % width
    return replace(
        turn, boards=int(table.boards[at]), copies=_copies(s.concurrency, table.users[u]), cut=f"{at}",
        slow_s=float(table.seconds.high[i, u, at]),
    )  # fmt: skip


def _cached_lead(s: Scenario, prices: _Prices) -> Turn | None:
    """What comes first with another KV cache, of the users asked for alone; kept as every table is."""
    table = _stacked_of(_technical(s), tuple(sorted(_shares(s.concurrency))), False)
    if isinstance(table, str):
        return None
    turn = _serving_lead(s, table, prices)
    if turn.gpu is None:
        return None
    return replace(turn, cut=_cuts(workload.load(s), table)(int(turn.cut), turn.gpu)["cut"])


def _turns(
    stops: Sequence[float],
    now: float,
    winner: Callable[[float], Turn],
    between: Callable[[float, float], float | None],
) -> tuple[Turn | None, Turn | None]:
    """The nearest points on both sides at which another GPU comes first; each point is asked once."""
    first = cache(winner)
    found = ranking.switch_points(stops, now, lambda at: first(at).gpu, between)
    below, above = (None if one is None else replace(first(one.at), last=one.last) for one in found)
    return below, above


def _between_users(computed: tuple[int, ...]) -> Callable[[float, float], float | None]:
    """The number nearest to the middle of two that can be answered: all its shares are computed."""

    @cache
    def able(users: int) -> bool:
        return _shares(users) <= set(computed)

    def between(low: float, high: float) -> float | None:
        first, last = sorted((low, high))
        inside = sorted(
            (n for n in computed if first < n < last), key=lambda n: (abs(2 * n - first - last), n)
        )
        return next((n for n in inside if able(n)), None)

    return between


def _between_days(low: float, high: float) -> float | None:
    """The geometric middle with three figures; None once both are as good as the same."""
    middle = float(f"{np.sqrt(low * high):.3g}")
    return None if max(low, high) < 1.03 * min(low, high) or middle in (low, high) else middle


def _cuts(load: workload.Workload, table: _Stacked) -> Callable[[int, str], Mapping[str, Any]]:
    """How a copy of a setup is cut over a GPU's boards, in the engine's words; found once for each number."""
    known: dict[tuple[int, int], Mapping[str, Any]] = {}

    def cut(k: int, gpu: str) -> Mapping[str, Any]:
        boards, (fmt, place) = int(table.boards[k]), table.of(k)
        key = k, workload.pinned(gpu, boards).devices
        if key not in known:
            stages = place >= len(COUNTS)
            split = "pipeline" if stages else load.scenario.split
            said = workload.changed(load, weight_format=fmt.format, split=split).split_of(gpu, boards)
            known[key] = {"split": said, "cut": said, "staged": stages}
        return known[key]

    return cut


# ---------------------------------------------------------------- a batch


def _batch(s: Scenario, today: date) -> Recommendation:
    load = workload.load(s)
    table = _stacked_of(_technical(s), (1,), True)
    if isinstance(table, str):
        return Recommendation(s, load.name, (), refused=table)
    cards, width = table.cards, len(table.boards)
    copies = np.array(COPIES, dtype=float).repeat(width)
    boards = np.tile(table.boards, len(COPIES))

    def wide(values: NDArray[Any]) -> NDArray[Any]:
        return np.tile(values[:, 0], (1, len(COPIES)))

    tokens = float(s.batch_requests) * s.output_tokens
    rate = [wide(getattr(table.output_per_s, side)) for side in ("value", "high", "low")]
    seconds = Measure(*(tokens / (r * copies) for r in rate))
    gpus = copies * boards
    power = np.broadcast_to(cards.power_w[:, None] * gpus, seconds.value.shape)
    verdict = wide(table.verdict)
    rents = _rents(s, cards, today)
    prices = _run_prices(s, cards, rents)
    cut = _cuts(load, table)

    per_board = [
        tokens / side / 3600 * table.boards
        for side in (getattr(table.output_per_s, name) for name in ("value", "high", "low"))
    ]  # hours, whatever the copies

    def asked_of(asked: Scenario, paid: _Prices) -> tuple[Options, tuple[Limit, ...]]:
        run = Measure(*(wide(side * paid.usd[:, None, None]) for side in per_board))
        options = Options(
            verdict, run, seconds, power, np.broadcast_to(gpus, power.shape),
            _allowed(asked, cards, boards, gpus), paid.machine[:, None] >= boards,
        )  # fmt: skip
        return options, (*_run_limits(asked, seconds, run, power), *_bought(asked, cards, options.gpus))

    options, limits = asked_of(s, prices)

    def lead(asked: Scenario) -> Turn:
        changed = _rents_for(s, rents, asked, today)
        paid = prices if changed is None else _run_prices(asked, cards, changed)
        turn, (_, k) = _lead(asked, cards, asked_of(asked, paid), paid)
        if turn.gpu is None:
            return turn
        said = cut(k % width, turn.gpu)["cut"]
        return replace(turn, boards=int(boards[k]), copies=int(copies[k]), cut=said)

    def describe(gpu: str, i: int, k: int) -> dict[str, Any]:
        setup = k % width
        return {
            "format": table.of(setup)[0].format,
            "boards": int(boards[k]),
            "copies": int(copies[k]),
            "output_per_s": Measure(*(r[i, k] * copies[k] for r in (rate[0], rate[2], rate[1]))),
            "users_each": int(table.running(i, 0, setup)),
            "use": replace(table.used(i, 0, setup), memory=np.nan),  # a batch fills what there is
            **cut(setup, gpu),
        }

    told = table.formats[0].reasons

    def why(i: int, name: str) -> str:
        if name in ("memory", "speed"):
            mine = told[i * len(COUNTS) : (i + 1) * len(COUNTS)]
            return next((r for r in mine if r and r != "does not fit"), _WHY["memory"])
        return _WHY.get(name) or f"not within {s.deadline_days:g} days"

    found = _finished(
        s, load.name, cards, (options, limits), prices, describe, why, table.formats[0].notes, lead=lead
    )
    smaller = _with_smaller_cache(s, load) if s.objective == "cheapest" else None
    if smaller is None or found.best is None or (other := recommend(smaller, today).best) is None:
        return found
    return replace(found, cached=_as_turn(other), cache_format=smaller.kv_cache_dtype)


def _as_turn(one: Choice) -> Turn:
    """What comes first, told as at another point."""
    return Turn(
        np.nan, one.gpu, one.boards, one.copies, one.cut, tight=one.tight, offered=one.offered,
        founded=one.founded, usd=np.nan if one.usd is None else float(one.usd.value),
    )  # fmt: skip


def _run_limits(s: Scenario, seconds: Measure, usd: Measure, power: Floats) -> tuple[Limit, ...]:
    days = np.inf if s.deadline_days is None else s.deadline_days
    return (
        Limit("days", seconds, days * SECONDS_PER_DAY),
        Limit("usd", usd, np.inf if s.cost_ceiling is None else s.cost_ceiling),
        Limit("power", Measure.exact(power), np.inf if s.max_power_w is None else s.max_power_w),
    )


# ---------------------------------------------------------------- fine-tuning and training


@dataclass(frozen=True)
class _Runs:
    """Every GPU by every number of them [card, size]; speeds are of one device."""

    cards: _Cards
    load: training_load.TrainingLoad
    found: Any
    sizes: NDArray[np.int64]
    devices: NDArray[np.int64]
    reasons: tuple[str | None, ...]


@lru_cache(maxsize=32)
def _runs(s: Scenario) -> _Runs:
    """Memory and speed; nothing in it depends on a price or a length. Raises ConfigRefused."""
    load = training_load.load(s)
    cards = _cards(s.pre_release)
    gpus = [workload.pinned(gpu, 1) for gpu in cards.ids]
    tried = np.array(sizes(s))
    kinds = load.kinds(gpus)
    return _Runs(
        cards, load, load.many(gpus, boards=tried), tried, np.array([gpu.devices for gpu in gpus]),
        tuple(kind.barred or kind.speed_refused for kind in kinds),
    )  # fmt: skip


def _run(s: Scenario, today: date) -> Recommendation:
    """A fine-tune or a training run."""
    deadline = (
        None if s.deadline_days is None else 1.0
    )  # only whether there is one matters to memory and speed
    table = _runs(s.model_copy(update={**_PLAIN, "deadline_days": deadline, "train_gpus": s.train_gpus}))
    load = training_load.changed(
        table.load, **{n: getattr(s, n) for n in ("train_tokens", "samples", "sample_tokens", "epochs")}
    )
    if load.refused:
        return Recommendation(s, load.work, (), refused=load.refused)
    rents = _rents(s, table.cards, today)
    prices = _run_prices(s, table.cards, rents)
    ids = table.cards.ids
    hours = [np.asarray(x) for x in load.hours(table.found)]  # of devices
    hours[1:] = measured_vendors.widened("training", ids, *hours)
    each = [table.found.tokens_per_s_per_gpu, table.found.low, table.found.high]
    each[1:] = measured_vendors.widened("training", ids, *each)
    devices = table.devices[:, None] * table.sizes
    options, limits = _run_options(s, table, hours, prices)

    wanted = load.precision.matmul == "bf16"
    without_bf16 = [wanted and lacks_bf16(catalogue.spec_row(gpu)) for gpu in ids]

    @cache
    def split_of(option: int, devices: int) -> tuple[str, str]:
        way = training_load.way_on(table.found, option, devices)
        return ("", "") if way is None else (training_load.split_words(way), training_load.split_short(way))

    def describe(gpu: str, i: int, k: int) -> dict[str, Any]:
        split, cut = split_of(int(table.found.option[i, k]), int(devices[i, k]))
        needed = table.found.needed_bytes[i, k]
        full = float(needed / (needed + table.found.headroom_bytes[i, k]))
        return {
            "boards": int(options.gpus[i, k]),
            "format": load.method if not load.trains else load.precision.label,
            "split": split,
            "cut": cut,
            "output_per_s": Measure(*(np.asarray(x)[i, k] * devices[i, k] for x in each)),
            "use": Use(memory=full, compute=float(table.found.mfu[i, k])),
            "fp16": bool(without_bf16[i]),
        }

    def why(i: int, name: str) -> str:
        if name == "days":
            return f"not within {s.deadline_days:g} days with {int(table.sizes[-1]):,}"
        if name in ("memory", "speed"):
            return table.reasons[i] or f"does not fit {int(table.sizes[-1]):,} GPUs"
        return _WHY[name]

    def lead(asked: Scenario) -> Turn:
        changed = _rents_for(s, rents, asked, today)
        paid = prices if changed is None else _run_prices(asked, table.cards, changed)
        return _lead(asked, table.cards, _run_options(asked, table, hours, paid), paid)[0]

    def by_days(days: float) -> Turn:
        return replace(lead(s.model_copy(update={"deadline_days": days})), at=days)

    turns: tuple[Turn | None, Turn | None] = (None, None)
    if s.deadline_days is not None:
        factors = (0.1, 0.2, 0.33, 0.5, 0.67, 0.8, 1.25, 1.5, 2, 3, 5, 10)
        stops = [float(f"{s.deadline_days * factor:.3g}") for factor in factors]
        turns = _turns(stops, s.deadline_days, by_days, _between_days)
    notes = load.architecture.assumptions
    return _finished(
        s, load.work, table.cards, (options, limits), prices, describe, why, notes, turns, lead=lead
    )


def _run_options(
    s: Scenario, table: _Runs, hours: Sequence[Floats], prices: _Prices
) -> tuple[Options, tuple[Limit, ...]]:
    devices = table.devices[:, None] * table.sizes
    seconds = Measure(*(side / devices * 3600 for side in hours))
    boards = np.broadcast_to(table.sizes.astype(float), seconds.value.shape)
    run = Measure(
        *(side / table.devices[:, None] * prices.usd[:, None] for side in hours)
    )  # prices are of a board
    power = table.cards.power_w[:, None] * boards
    allowed = _allowed(s, table.cards, np.minimum(table.sizes, 8), table.sizes)
    together = np.minimum(table.sizes, TOGETHER[s.task])
    options = Options(
        table.found.verdict, run, seconds, power, boards, allowed, prices.machine[:, None] >= together
    )
    return options, (*_run_limits(s, seconds, run, power), *_bought(s, table.cards, options.gpus))


# ---------------------------------------------------------------- images


def _images(s: Scenario, today: date) -> Recommendation:
    """Images: measured results of MLPerf alone, one GPU's share of its system; nothing is estimated."""
    from gpu_data.benchmarks import inference_frame  # only this purpose needs the results

    cards = _cards(s.pre_release)
    prices = _run_prices(s, cards, _rents(s, cards, today))
    frame = inference_frame()
    rows = frame[
        (frame["benchmark"] == "stable-diffusion-xl")
        & (frame["scenario"] == "Offline")
        & (frame["category"] == "closed")
        & frame["gpu_id"].notna()
    ]
    best = rows.groupby("gpu_id")["value_per_gpu"].max()
    rate = np.array([float(best.get(gpu, np.nan)) for gpu in cards.ids])[:, None]
    seconds = Measure.exact(1 / rate)
    month = Measure.exact(prices.usd[:, None] / 3600 / rate * 1000)
    power = cards.power_w[:, None] + 0 * rate
    ones = np.ones_like(rate)
    verdict = np.where(np.isfinite(rate), memory.FITS, memory.DOES_NOT_FIT).astype(np.int8)
    options = Options(verdict, month, seconds, power, ones, _allowed(s, cards, 1, ones), ones > 0)
    limits = (Limit("power", Measure.exact(power), np.inf if s.max_power_w is None else s.max_power_w),)

    def describe(gpu: str, i: int, k: int) -> dict[str, Any]:
        return {"boards": 1, "format": "MLPerf"}

    def why(i: int, name: str) -> str:
        return "no MLPerf result" if name in ("memory", "speed") else _WHY[name]

    return _finished(s, "Stable Diffusion XL", cards, (options, limits), prices, describe, why, ())


# ---------------------------------------------------------------- purposes


def purpose(s: Scenario) -> str:
    """What the scenario is for, one of PURPOSES."""
    if s.task == "train":
        return "train"
    if s.task == "finetune":
        return s.method
    if s.serving != "live":
        return s.serving
    return "one" if s.concurrency == 1 else "many"


MANY_USERS = 32  # when a reader changes from one user to many
PURPOSES: Mapping[str, str] = {
    "one": "Serve one user",
    "many": "Serve many users",
    "batch": "Batch inference",
    "qlora": "Fine-tune: QLoRA",
    "lora": "Fine-tune: LoRA",
    "full": "Fine-tune: all weights",
    "train": "Train from scratch",
    "images": "Generate images",
}


def with_purpose(s: Scenario, asked: str) -> dict[str, Any]:
    """The fields that make a scenario one of a purpose."""
    if asked == "train":
        return {"task": "train"}
    if asked in ("qlora", "lora", "full"):
        return {"task": "finetune", "method": asked}
    if asked in ("batch", "images"):
        return {"task": "serve", "serving": asked}
    users = 1 if asked == "one" else s.concurrency if s.concurrency > 1 else MANY_USERS
    return {"task": "serve", "serving": "live", "concurrency": users}


@lru_cache(maxsize=64)
def recommend(scenario: Scenario, today: date) -> Recommendation:
    """Every option of the scenario, ranked. Raises ConfigRefused, FormatRefused."""
    asked = purpose(scenario)
    if asked in ("one", "many"):
        return _serve(scenario, today)
    return {"batch": _batch, "images": _images}.get(asked, _run)(scenario, today)
