"""What a scenario costs on every GPU: the smallest setup that does the work, and its price with a band.

Looks up and hands over to the calculators; puts nothing into words.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calculators import cost, memory
from calculators.cost import Money
from calculators.scenario import Scenario
from calculators.training import Many
from pages.ui import catalogue, measured_vendors, price_load, speed_load, training_load, workload
from pages.ui.gpu_counts import COUNTS, TOGETHER, sizes, splits, staged
from pages.ui.price_load import Purchase, Rent

Floats = NDArray[np.float64]

DAYS_PER_MONTH = 365 / 12
_COST_FIELDS = (
    "price_edits", "purchase_edits", "price_basis", "cost_view", "cost_gpu", "least_tokens_per_s",
    "busy_share", "usd_per_kwh", "power_usage_effectiveness", "own_years", "host_usd", "runs_per_month",
    "lost_hours_per_week", "small_memory_gb", "usd_per_person_hour", "gpus", "gpu_count", "map_gpu",
)  # fmt: skip
_PLAIN = {name: Scenario.model_fields[name].default for name in _COST_FIELDS}


@dataclass(frozen=True, slots=True)
class Option:
    """The cheapest setup found on one GPU.

    boards: GPUs of one copy; copies: of the model, each with some of the users; gpus: in all, gpus_low and
    gpus_high those at the ends of the speed's band; split: how a served copy is cut over its GPUs, in the
    engine's words; tight: its memory may not be enough. month: USD a month, people's lost time included;
    unit: USD per million tokens, or per run. people_usd: a month's lost time. tokens_per_s: of one user
    (serving), of one GPU (training). rank: what options are ordered by. together: whether anybody quotes a
    machine with as many GPUs as must stand in one; apart: what would be cheaper on this GPU if somebody had
    larger ones. unseen: whose cards were never measured at this kind of work; empty otherwise.
    reason: why there is none.
    """

    gpu: str
    name: str
    rent: Rent
    purchase: Purchase
    boards: int = 0
    copies: int = 0
    users_each: int = 0
    split: str = ""
    tight: bool = False
    gpus: int = 0
    gpus_low: float = np.nan
    gpus_high: float = np.nan
    month: Money | None = None
    unit: Money | None = None
    unit_in: float = np.nan
    unit_out: float = np.nan
    people_usd: float = 0.0
    tokens_per_s: Money | None = None
    output_tokens_per_s: Money | None = None
    gpu_hours: Money | None = None
    days: Money | None = None
    rank: Money | None = None
    together: bool = True
    apart: Option | None = None
    unseen: str = ""
    reason: str | None = None

    @property
    def possible(self) -> bool:
        """Whether the GPU does the work at all."""
        return self.reason is None

    @property
    def priced(self) -> bool:
        """Whether it can be ranked."""
        return self.possible and self.rent.known

    @property
    def sure(self) -> bool:
        """Whether nothing but its cost speaks against it.

        It surely fits, somebody quotes so many, such a card was measured, and its price may be relied on.
        """
        return self.together and not self.tight and not self.unseen and not price_load.shaky(self.rent)


@dataclass(frozen=True, slots=True)
class Costs:
    """Options: cheapest first, those that are not sure, those without a price, those that cannot.

    tied: GPUs that cannot be told apart from the cheapest. refused: why nothing at all can be computed.
    """

    scenario: Scenario
    name: str
    options: tuple[Option, ...]
    tied: tuple[str, ...]
    notes: tuple[str, ...]
    refused: str | None = None

    @property
    def ranked(self) -> tuple[Option, ...]:
        """Those with a cost: cheapest first, then those that nobody offers in one machine."""
        return tuple(option for option in self.options if option.priced)

    @property
    def best(self) -> Option | None:
        """The cheapest."""
        return next(iter(self.ranked), None)

    def option(self, gpu: str) -> Option | None:
        """The option of one GPU."""
        return next((option for option in self.options if option.gpu == gpu), None)


def _shown_gpus(scenario: Scenario) -> list[str]:
    hidden = frozenset() if scenario.pre_release else catalogue.pre_release_gpus()
    return [gpu for gpu in catalogue.gpu_ids() if gpu not in hidden]


def people_usd_per_month(scenario: Scenario, gpu: str) -> float:
    """What people lose in a month to a card below the size that the reader calls too small."""
    small = float(catalogue.spec_row(gpu)["memory_gb"]) < scenario.small_memory_gb
    if not small:
        return 0.0
    return float(cost.lost_usd_per_month(scenario.lost_hours_per_week, scenario.usd_per_person_hour))


@dataclass(frozen=True, slots=True)
class _Card:
    """What is known of a GPU before its setup: prices, a month of people's lost time, unseen as of an Option.

    machine: GPUs in the largest machine that anybody quotes.
    """

    gpu: str
    name: str
    rent: Rent
    purchase: Purchase
    machine: float
    people_usd: float
    unseen: str


_WORK = {  # no price depends on these
    name: Scenario.model_fields[name].default
    for name in (
        "concurrency", "max_model_len", "prompt_tokens", "output_tokens",
        "samples", "sample_tokens", "epochs", "train_tokens", "deadline_days",
    )
}  # fmt: skip


def _cards(s: Scenario, ids: Sequence[str], today: date) -> tuple[_Card, ...]:
    return _cards_of(s.model_copy(update=_WORK), tuple(ids), today)


@lru_cache(maxsize=16)
def _cards_of(s: Scenario, ids: tuple[str, ...], today: date) -> tuple[_Card, ...]:
    prices, table = price_load.rents(s, ids, today), measured_vendors.table(s)
    return tuple(
        _Card(
            gpu,
            catalogue.gpu_name(gpu),
            prices[gpu],
            price_load.purchase(s, gpu),
            price_load.machine(s, prices[gpu]),
            people_usd_per_month(s, gpu),
            measured_vendors.unseen_words(table, gpu),
        )
        for gpu in ids
    )


def _singles(money: Money) -> list[Money]:
    """Each of many amounts."""
    return [Money(*sides) for sides in zip(money.value, money.low, money.high, strict=True)]


# ---------------------------------------------------------------- serving


_Cells = tuple[NDArray[np.int64], NDArray[np.int64]]


@dataclass(frozen=True)
class _Serving:
    """Every GPU, split and count [setup] against every number of users a copy may take [users, setup].

    Setups of one GPU stand together, the engine's own split first. verdict: memory. each, out: tokens/s of
    one user and of all; reading: seconds of the server for one prompt. reasons: of the engine's own split.
    """

    counts: NDArray[np.int64]
    staged: NDArray[np.bool_]
    users: NDArray[np.int64]
    verdict: NDArray[np.int8]
    each: Money
    out: Money
    reading: Floats
    reasons: tuple[str | None, ...]
    assumptions: tuple[str, ...]
    load: workload.Workload

    @property
    def width(self) -> int:
        """Setups of each GPU."""
        return len(COUNTS) * (2 if self.staged.any() else 1)


@lru_cache(maxsize=16)
def _setups(ids: tuple[str, ...], stages: bool) -> tuple[tuple[workload.PinnedGpu, ...], NDArray[np.int64]]:
    """Every GPU and count that is tried with one split, and its place among all GPUs x counts."""
    places = [
        (i, k)
        for i, gpu in enumerate(ids)
        for k, count in enumerate(COUNTS)
        if not stages or staged(catalogue.spec_row(gpu), count)
    ]
    chosen = tuple(workload.pinned(ids[i], COUNTS[k]) for i, k in places)
    return chosen, np.array([i * len(COUNTS) + k for i, k in places], dtype=np.int64)


@lru_cache(maxsize=32)
def _serving(scenario: Scenario) -> _Serving | tuple[str, str]:
    """Memory and speed; nothing in it depends on a price. (name, why not) if nothing can be computed.

    Raises ConfigRefused.
    """
    load = workload.load(scenario)
    ids, total = tuple(_shown_gpus(scenario)), scenario.concurrency
    users = np.unique([-(-total // copies) for copies in range(1, total + 1)])
    asked, width = tuple(users.tolist()), len(COUNTS)
    chosen, places = _setups(ids, False)
    if why := speed_load.unmodelled(load, chosen):
        return load.title, why
    own = all_ways = speed_load.deployed(load, chosen, asked)
    columns, ways = places, 1
    in_stages, staged_places = _setups(ids, True)
    if in_stages and len(splits(scenario, load.engine)) > 1:
        other = speed_load.deployed(workload.changed(load, split="pipeline"), in_stages, asked)
        all_ways = own.beside(other)
        # of each GPU first the counts with the engine's own split, then those with stages
        columns = np.concatenate(
            [
                at // width * 2 * width + at % width + way * width
                for way, at in enumerate((places, staged_places))
            ]
        )
        ways = 2
    # only what fits some of the users is asked for its speed
    able = np.flatnonzero(all_ways.verdict.any(axis=0))
    able = able if len(able) else np.arange(len(columns))
    found = speed_load.speeds_of(load, all_ways.only(able), users[:, None])

    def placed(values: Any, at: NDArray[np.int64], empty: Any) -> Any:
        whole = np.full((len(users), ways * width * len(ids)), empty, dtype=np.asarray(empty).dtype)
        whole[:, at] = values
        return whole

    spreads = measured_vendors.spread_of(measured_vendors.table(scenario), ids)
    spread = spreads[columns[able] // (ways * width)]

    def money(one: Any) -> Money:
        low, high = measured_vendors.widened_by(spread, one.value, one.low, one.high)
        return Money(*(placed(side, columns[able], np.nan) for side in (one.value, low, high)))

    reading = np.asarray(found.speed.prompt.total) / np.asarray(found.split.layer_gpus, dtype=float)
    return _Serving(
        np.tile(np.array(COUNTS), ways * len(ids)),
        np.tile(np.arange(ways).repeat(width) > 0, len(ids)),
        users,
        placed(all_ways.verdict, columns, np.int8(0)),
        money(found.speed.tokens_per_s),
        money(found.speed.output_tokens_per_s),
        placed(reading, columns[able], np.nan)[0],
        own.refused,
        found.assumptions,
        load,
    )


def _cheapest(
    goal: Floats, rate: Floats, good: NDArray[np.bool_], sure: NDArray[np.bool_], gpus: int
) -> NDArray[np.int64]:
    """For each GPU the place of its smallest goal among [users x setups], the fastest of several; else -1.

    What is sure comes first. All are [users, setup], setups in the order of GPUs.
    """

    def by_gpu(values: Any) -> Any:
        return values.reshape(len(values), gpus, -1).transpose(1, 0, 2).reshape(gpus, -1)

    asked = by_gpu(np.where(good, goal, np.inf))
    certain = np.where(by_gpu(good & sure), asked, np.inf)
    asked = np.where(np.isfinite(certain).any(axis=1, keepdims=True), certain, asked)
    least = asked.min(axis=1, keepdims=True)
    fast = np.where(asked <= least * (1 + 1e-9), by_gpu(rate), -np.inf)
    return np.where(np.isfinite(least[:, 0]), fast.argmax(axis=1), -1)


def serving_costs(scenario: Scenario, today: date) -> Costs:
    """Cost of serving on every GPU. Raises ConfigRefused."""
    s = scenario
    found = _serving(s.model_copy(update=_PLAIN))
    if isinstance(found, tuple):
        return Costs(s, found[0], (), (), (), found[1])
    ids, width = _shown_gpus(s), found.width
    cards = _cards(s, ids, today)
    copies = cost.replicas_needed(s.concurrency, found.users[:, None].astype(float))
    total = copies * found.counts
    rate = found.out.value * s.concurrency / found.users[:, None]  # of all copies
    # asked of the value, and of both ends of its band: how many GPUs if they are slower or faster than we say
    fast_enough = [
        side >= s.least_tokens_per_s for side in (found.each.value, found.each.low, found.each.high)
    ]
    enough = [(found.verdict > memory.DOES_NOT_FIT) & fast for fast in fast_enough]
    # without a price the fewest GPUs are taken
    usd = np.array([card.rent.usd if card.rent.usd > 0 else 1.0 for card in cards]).repeat(width)
    goal = usd * total
    if s.cost_view == "tokens":
        goal = np.nan_to_num(cost.usd_per_million_tokens(goal, rate), nan=np.inf)
    quoted = np.array([card.machine for card in cards]).repeat(width) >= found.counts
    fits = found.verdict == memory.FITS
    speed = np.nan_to_num(found.each.value)
    places = [_cheapest(goal, speed, good, fits & quoted, len(ids)) for good in enough]
    least = _cheapest(goal, speed, enough[0] & fits, fits, len(ids))  # whoever has such machines

    def cells(place: NDArray[np.int64], of: NDArray[np.int64]) -> _Cells:
        return place[of] // width, of * width + place[of] % width

    able = np.flatnonzero(places[0] >= 0)
    sums = [np.where(place[able] < 0, np.nan, total[cells(place, able)]) for place in places]
    options = dict(
        zip(able.tolist(), _served(s, found, cards, able, cells(places[0], able), sums), strict=True)
    )
    instead = able[(least[able] >= 0) & (least[able] != places[0][able])]
    instead = instead[~quoted[cells(least, instead)[1]]]
    at = cells(least, instead)
    for i, apart in zip(
        instead.tolist(), _served(s, found, cards, instead, at, [total[at]] * 3), strict=True
    ):
        options[i] = replace(options[i], apart=replace(apart, unseen=""))
    everything = [
        options.get(i) or _without(card, _why_not_served(found, i, s)) for i, card in enumerate(cards)
    ]
    return _ordered(s, found.load.title, everything, found.assumptions)


def _without(card: _Card, reason: str) -> Option:
    return Option(card.gpu, card.name, card.rent, card.purchase, reason=reason)


def _why_not_served(found: _Serving, i: int, s: Scenario) -> str:
    """Why nothing of GPU number i will do."""
    columns = slice(i * found.width, (i + 1) * found.width)
    fits = found.verdict[:, columns] > memory.DOES_NOT_FIT
    speeds = np.where(fits, np.nan_to_num(found.each.value[:, columns]), 0.0)
    if (fastest := float(speeds.max())) > 0:
        return f"slower than {s.least_tokens_per_s:g} tokens/s for each user ({fastest:.2g} at most)"
    told = found.reasons[i * len(COUNTS) : (i + 1) * len(COUNTS)]
    reasons = [reason for reason in told if reason and reason != "does not fit"]
    if len(reasons) == len(COUNTS) or (reasons and fits.any()):
        return reasons[0]
    return f"does not fit {COUNTS[-1]} GPUs"


def _served(
    s: Scenario,
    found: _Serving,
    cards: Sequence[_Card],
    of: NDArray[np.int64],
    at: _Cells,
    sums: Sequence[Floats],
) -> list[Option]:
    """The option of one setup of each of some cards, by their numbers `of`.

    at: the setups' places in [users, setup]; sums: GPUs if they are as fast, slower, faster than we say.
    """
    users, boards = found.users[at[0]], found.counts[at[1]]
    chosen = [cards[i] for i in of.tolist()]
    share = s.concurrency / users
    out = Money(*(getattr(found.out, side)[at] * share for side in _SIDES))
    each = Money(*(getattr(found.each, side)[at] for side in _SIDES))
    usd = np.array([card.rent.usd for card in chosen])
    people = np.array([card.people_usd for card in chosen])
    gpus, slow, fast = sums
    hourly = usd * gpus + people / cost.HOURS_PER_MONTH

    def per_million(rate: Any) -> Any:
        tokens = cost.all_tokens_per_s(rate, s.prompt_tokens, s.output_tokens)
        return cost.usd_per_million_tokens(hourly, tokens, s.busy_share)

    unit = cost.over_rate(per_million, out.value, out.low, out.high)
    into, outof = cost.input_output_usd_per_million(
        hourly, out.value, s.prompt_tokens, s.output_tokens, found.reading[at[1]] / share, s.busy_share
    )
    # the fewest GPUs are those of the fast end; an end that cannot be reached at any size is left open
    most = np.where(np.isnan(slow), np.inf, slow)
    dearest = np.where(np.isnan(slow), np.inf, cost.usd_per_month(usd, slow))
    month = Money(cost.usd_per_month(usd, gpus), cost.usd_per_month(usd, fast), dearest).plus(people)
    months, units, rates, all_rates = (_singles(money) for money in (month, unit, each, out))
    split = _split_words(found.load, chosen, boards.tolist(), found.staged[at[1]].tolist())
    tight = found.verdict[at] == memory.TIGHT
    return [
        Option(
            card.gpu, card.name, card.rent, card.purchase,
            boards=int(boards[n]), copies=int(gpus[n]) // int(boards[n]), users_each=int(users[n]),
            split=split[n], tight=bool(tight[n]),
            gpus=int(gpus[n]), gpus_low=float(fast[n]), gpus_high=float(most[n]),
            month=months[n], unit=units[n], unit_in=float(into[n]), unit_out=float(outof[n]),
            people_usd=card.people_usd, tokens_per_s=rates[n], output_tokens_per_s=all_rates[n],
            rank=units[n] if s.cost_view == "tokens" else months[n],
            together=card.machine >= boards[n], unseen=card.unseen,
        )
        for n, card in enumerate(chosen)
    ]  # fmt: skip


def _split_words(
    load: workload.Workload, cards: Sequence[_Card], boards: Sequence[int], stages: Sequence[bool]
) -> list[str]:
    """How one copy is cut over the GPUs of each card; nothing where there is only one."""
    ways = {False: load, True: workload.changed(load, split="pipeline")}
    known: dict[tuple[int, bool], str] = {}
    found = []
    for card, count, staged_ in zip(cards, boards, stages, strict=True):
        key = workload.pinned(card.gpu, count).devices, staged_
        if key not in known:
            known[key] = ways[staged_].split_of(card.gpu, count)
        found.append(known[key])
    return found


_SIDES = ("value", "low", "high")


# ---------------------------------------------------------------- fine-tuning and training


@dataclass(frozen=True)
class _Runs:
    """Every GPU [gpu] by every number of them [gpu, size]."""

    gpus: tuple[str, ...]
    sizes: NDArray[np.int64]
    verdict: NDArray[np.int8]
    hours: Money
    days: Money
    tokens_per_s: Money
    reasons: tuple[str | None, ...]
    per_board: NDArray[np.int64]
    load: training_load.TrainingLoad

    @property
    def able(self) -> NDArray[np.bool_]:
        """Where it fits, perhaps tightly, and the time is known."""
        return (self.verdict > memory.DOES_NOT_FIT) & np.isfinite(self.hours.value)


_LENGTH = {  # how long a run is: its memory and speed do not depend on it
    name: Scenario.model_fields[name].default
    for name in ("samples", "sample_tokens", "epochs", "train_tokens", "deadline_days")
}


@lru_cache(maxsize=32)
def _steady(scenario: Scenario, tried: tuple[int, ...]) -> Many:
    """Memory and speed of every GPU and number of them. Raises ConfigRefused."""
    gpus = [workload.pinned(gpu, 1) for gpu in _shown_gpus(scenario)]
    return training_load.load(scenario).many(gpus, boards=np.array(tried))


@lru_cache(maxsize=32)
def _runs(scenario: Scenario) -> _Runs:
    """Memory and time; nothing in it depends on a price. Raises ConfigRefused."""
    load = training_load.load(scenario)
    ids = _shown_gpus(scenario)
    tried = sizes(scenario)
    gpus = [workload.pinned(gpu, 1) for gpu in ids]
    found = _steady(scenario.model_copy(update=_LENGTH), tried)
    hours = _widened(ids, load.hours(found))
    devices = np.array([gpu.devices for gpu in gpus])
    days = Money(*(side / (devices[:, None] * tried) / 24 for side in (hours.value, hours.low, hours.high)))
    return _Runs(
        tuple(ids),
        np.array(tried),
        found.verdict,
        hours,
        days,
        _widened(ids, (found.tokens_per_s_per_gpu, found.low, found.high)),
        tuple(kind.barred or kind.speed_refused for kind in load.kinds(gpus)),
        devices,
        load,
    )


def _widened(ids: Sequence[str], parts: Sequence[Any]) -> Money:
    """(value, low, high) of runs [GPU, size], wider for cards whose architecture was never measured."""
    value, low, high = (np.asarray(part) for part in parts)
    return Money(value, *measured_vendors.widened("training", ids, value, low, high))


def run_costs(scenario: Scenario, today: date) -> Costs:
    """Cost of a fine-tune or a training run on every GPU. Raises ConfigRefused."""
    s = scenario
    found = _runs(s.model_copy(update=_PLAIN))
    load = found.load
    if load.refused:
        return Costs(s, load.work, (), (), (), load.refused)
    cards = _cards(s, found.gpus, today)
    limit = np.inf if s.deadline_days is None else s.deadline_days
    fits = found.verdict == memory.FITS
    in_one = np.array([_in_one_machine(s, int(n)) for n in found.sizes])
    quoted = np.array([card.machine for card in cards])[:, None] >= in_one
    # without a price the fewest GPUs are taken
    known = np.array([card.rent.known for card in cards])[:, None]
    asked = np.where(known, found.hours.value, found.sizes.astype(float))
    good = [found.able & (getattr(found.days, side) <= limit) for side in _SIDES]
    place, low, high = (_least(asked, one, fits & quoted) for one in good)
    least = _least(asked, good[0] & fits, fits)  # whoever has such machines
    able = np.flatnonzero(place >= 0)
    mine = found.sizes[place[able]].astype(float)
    fast, slow = (np.where(end[able] < 0, np.inf, found.sizes[end[able]]) for end in (low, high))
    ends = np.minimum(fast, mine), np.maximum(slow, mine)
    options = dict(zip(able.tolist(), _ran(s, found, cards, (able, place[able]), ends), strict=True))
    instead = able[(least[able] >= 0) & (least[able] != place[able])]
    instead = instead[~quoted[instead, least[instead]]]
    own = found.sizes[least[instead]].astype(float)
    apart = _ran(s, found, cards, (instead, least[instead]), (own, own))
    for i, one in zip(instead.tolist(), apart, strict=True):
        options[i] = replace(options[i], apart=replace(one, unseen=""))
    everything = [options.get(i) or _without(card, _why_not_run(found, i, s)) for i, card in enumerate(cards)]
    return _ordered(s, load.work, everything, load.architecture.assumptions)


def _least(asked: Floats, good: NDArray[np.bool_], sure: NDArray[np.bool_]) -> NDArray[np.int64]:
    """For each GPU the place of the least of what is asked, of several the fewest; -1 where nothing is good.

    What is sure comes first. All are [gpu, size].
    """
    both = good & sure
    among = np.where(both.any(axis=1, keepdims=True), both, good)
    among_asked = np.where(among, asked, np.inf)
    first = np.argmax(among_asked <= among_asked.min(axis=1, keepdims=True) * (1 + 1e-9), axis=1)
    return np.where(among.any(axis=1), first, -1)


def _in_one_machine(s: Scenario, gpus: int) -> int:
    return min(gpus, TOGETHER[s.task])


def _why_not_run(found: _Runs, i: int, s: Scenario) -> str:
    if found.reasons[i]:
        return str(found.reasons[i])
    if found.able[i].any():
        fastest = np.min(np.where(found.able[i], found.days.value[i], np.inf))
        return f"not within {s.deadline_days:g} days: {fastest:,.3g} with {int(found.sizes[-1]):,} GPUs"
    most = int(found.sizes[-1])
    return f"does not fit {most:,} GPU{'s' if most > 1 else ''}"


def _ran(
    s: Scenario, found: _Runs, cards: Sequence[_Card], at: _Cells, ends: tuple[Floats, Floats]
) -> list[Option]:
    """The option of one number of GPUs of each of some cards, at places [gpu, size].

    ends: the numbers of GPUs at the fast and at the slow end of the band.
    """
    chosen = [cards[i] for i in at[0].tolist()]
    gpus = found.sizes[at[1]].tolist()

    def picked(money: Money) -> Money:
        return Money(*(getattr(money, side)[at] for side in _SIDES))

    hours, days, speed = (picked(money) for money in (found.hours, found.days, found.tokens_per_s))
    people = np.array([card.people_usd for card in chosen])
    # prices are of a board
    usd = np.array([_busy(card.rent, s) for card in chosen]) * (1 / found.per_board[at[0]])
    run = cost.of_time(lambda h: cost.usd_per_run(h, usd), hours.value, hours.low, hours.high)
    months: list[Money] | None = None
    if s.task == "train":
        lost = [people * getattr(days, side) / DAYS_PER_MONTH for side in _SIDES]
        run = Money(*(getattr(run, side) + more for side, more in zip(_SIDES, lost, strict=True)))
        people = lost[0]
    else:
        months = _singles(
            Money(*(cost.runs_usd_per_month(getattr(run, side), s.runs_per_month, people) for side in _SIDES))
        )
    tight = found.verdict[at] == memory.TIGHT
    units, each_hours, each_days, speeds = (_singles(money) for money in (run, hours, days, speed))
    return [
        Option(
            card.gpu, card.name, card.rent, card.purchase,
            boards=gpus[n], copies=1, gpus=gpus[n], gpus_low=float(ends[0][n]), gpus_high=float(ends[1][n]),
            tight=bool(tight[n]), month=months[n] if months else None, unit=units[n],
            people_usd=float(people[n]), tokens_per_s=speeds[n], gpu_hours=each_hours[n], days=each_days[n],
            rank=months[n] if months else units[n],
            together=card.machine >= _in_one_machine(s, gpus[n]), unseen=card.unseen,
        )
        for n, card in enumerate(chosen)
    ]  # fmt: skip


def _busy(rent: Rent, s: Scenario) -> float:
    """An hour of a run: what is rented is paid only while it runs, what is owned in idle hours as well."""
    owned = s.price_basis == price_load.OWN_BASIS and not rent.edited
    return float(cost.usd_per_busy_hour(rent.usd, s.busy_share)) if owned else rent.usd


# ---------------------------------------------------------------- order


def _ordered(s: Scenario, name: str, options: Sequence[Option], notes: Sequence[str]) -> Costs:
    firm = {option.gpu for option in options if option.priced and option.sure}

    def key(option: Option) -> tuple[int, float, str]:
        if option.priced and option.rank is not None:
            return (0 if option.gpu in firm else 1), float(option.rank.value), option.name
        return (2, float(option.gpus), option.name) if option.possible else (3, 0.0, option.name)

    ordered = sorted(options, key=key)
    among = [option for option in ordered if option.priced and (option.gpu in firm or not firm)]
    ranks = [option.rank for option in among if option.rank is not None]
    tied: tuple[str, ...] = ()
    if ranks:
        money = Money(*(np.array([float(getattr(rank, side)) for rank in ranks]) for side in _SIDES))
        same = cost.tied(money, 0)
        tied = tuple(option.gpu for option, equal in zip(among, same, strict=True) if equal)[1:]
    return Costs(s, name, tuple(ordered), tied, tuple(notes))


_OF_TASK: dict[str, Callable[[Scenario, date], Costs]] = {
    "serve": serving_costs,
    "finetune": run_costs,
    "train": run_costs,
}


@lru_cache(maxsize=16)
def costs(scenario: Scenario, today: date) -> Costs:
    """Every option of the scenario's task. Raises ConfigRefused."""
    return _OF_TASK[scenario.task](scenario, today)
