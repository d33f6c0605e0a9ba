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


# ---------------------------------------------------------------- serving


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


@dataclass(frozen=True)
class _Way:
    """One split of every GPU and count: arrays [users, GPU, count]; reading [GPU, count]."""

    verdict: NDArray[np.int8]
    each: tuple[Floats, ...]
    out: tuple[Floats, ...]
    reading: Floats
    reasons: tuple[str | None, ...]
    assumptions: tuple[str, ...]


def _way(load: workload.Workload, ids: Sequence[str], users: NDArray[np.int64], stages: bool) -> _Way | str:
    """Memory and speed with one split; where it is not tried nothing fits."""
    places = [
        (i, k)
        for i, gpu in enumerate(ids)
        for k, count in enumerate(COUNTS)
        if not stages or staged(catalogue.spec_row(gpu), count)
    ]
    chosen = [workload.pinned(ids[i], COUNTS[k]) for i, k in places]
    if not chosen:
        return "nothing is cut into pipeline stages"
    found = speed_load.speeds(load, chosen, users[:, None])
    if isinstance(found, str):
        return found
    verdict = np.zeros((len(users), len(chosen)), np.int8)
    column = {gpu: n for n, gpu in enumerate(chosen)}
    for group in load.alike(chosen):
        deployment = load.deployment(group, users=users)
        if isinstance(deployment, str):
            continue
        report = memory.estimate(deployment)
        if report.refused is None:
            told = np.broadcast_to(report.verdict, (len(group), len(users)))
            verdict[:, [column[gpu] for gpu in group]] = told.T
    rows, columns = (np.array(axis) for axis in zip(*places, strict=True))

    def placed(values: Any, empty: Any) -> Any:
        shape = (len(users), len(chosen))
        whole = np.full((len(users), len(ids), len(COUNTS)), empty, dtype=np.asarray(empty).dtype)
        whole[:, rows, columns] = np.broadcast_to(values, shape)
        return whole

    speed = found.speed
    spread = measured_vendors.spread_of(measured_vendors.table(load.scenario), tuple(ids))[:, None]

    def sides(one: Any) -> tuple[Floats, ...]:
        parts = [placed(getattr(one, side), np.nan) for side in _SIDES]
        return (parts[0], *measured_vendors.widened_by(spread, *parts))

    reading = np.asarray(speed.prompt.total) / np.asarray(found.split.layer_gpus, dtype=float)
    return _Way(
        placed(verdict, np.int8(0)),
        sides(speed.tokens_per_s),
        sides(speed.output_tokens_per_s),
        placed(reading, np.nan)[0],
        found.refused,
        found.assumptions,
    )


@lru_cache(maxsize=32)
def _serving(scenario: Scenario) -> _Serving | tuple[str, str]:
    """Memory and speed; nothing in it depends on a price. (name, why not) if nothing can be computed.

    Raises ConfigRefused.
    """
    load = workload.load(scenario)
    ids, total = _shown_gpus(scenario), scenario.concurrency
    users = np.unique([-(-total // copies) for copies in range(1, total + 1)])
    own = _way(load, ids, users, False)
    if isinstance(own, str):
        return load.title, own
    ways = [own]
    if len(splits(scenario, load.engine)) > 1:
        other = _way(workload.changed(load, split="pipeline"), ids, users, True)
        ways += [] if isinstance(other, str) else [other]

    def flat(parts: Sequence[Any]) -> Any:
        """[.., GPU, count] of each way as [.., GPU x way x count]."""
        joined = np.stack(parts, axis=-2)
        return joined.reshape(*joined.shape[:-3], -1)

    def money(name: str) -> Money:
        return Money(*(flat([getattr(way, name)[side] for way in ways]) for side in range(len(_SIDES))))

    width = len(COUNTS)
    return _Serving(
        np.tile(np.array(COUNTS), len(ways) * len(ids)),
        np.tile(np.arange(len(ways)).repeat(width) > 0, len(ids)),
        users,
        flat([way.verdict for way in ways]),
        money("each"),
        money("out"),
        flat([way.reading for way in ways]),
        own.reasons,
        own.assumptions,
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
    fast = np.where(asked <= least * (1 + 1e-9), by_gpu(np.nan_to_num(rate)), -np.inf)
    return np.where(np.isfinite(least[:, 0]), fast.argmax(axis=1), -1)


def serving_costs(scenario: Scenario, today: date) -> Costs:
    """Cost of serving on every GPU. Raises ConfigRefused."""
    s = scenario
    found = _serving(s.model_copy(update=_PLAIN))
    if isinstance(found, tuple):
        return Costs(s, found[0], (), (), (), found[1])
    ids, width = _shown_gpus(s), found.width
    prices = price_load.rents(s, ids, today)
    copies = cost.replicas_needed(s.concurrency, found.users[:, None].astype(float))
    total = copies * found.counts
    rate = found.out.value * s.concurrency / found.users[:, None]  # of all copies
    # asked of the value, and of both ends of its band: how many GPUs if they are slower or faster than we say
    fast_enough = [
        side >= s.least_tokens_per_s for side in (found.each.value, found.each.low, found.each.high)
    ]
    enough = [(found.verdict > memory.DOES_NOT_FIT) & fast for fast in fast_enough]
    # without a price the fewest GPUs are taken
    usd = np.array([1.0 if not prices[gpu].usd > 0 else prices[gpu].usd for gpu in ids]).repeat(width)
    goal = usd * total
    if s.cost_view == "tokens":
        goal = np.nan_to_num(cost.usd_per_million_tokens(goal, rate), nan=np.inf)
    quoted = np.array([price_load.machine(s, prices[gpu]) for gpu in ids]).repeat(width) >= found.counts
    fits = found.verdict == memory.FITS
    places = [_cheapest(goal, found.each.value, good, fits & quoted, len(ids)) for good in enough]
    least = _cheapest(  # whoever has such machines
        goal, found.each.value, enough[0] & fits, np.ones_like(fits), len(ids)
    )
    options = []
    for i, gpu in enumerate(ids):
        base = Option(gpu, catalogue.gpu_name(gpu), prices[gpu], price_load.purchase(s, gpu))
        at = [(int(place[i]) // width, i * width + int(place[i]) % width) for place in places]
        if places[0][i] < 0:
            options.append(_without(base, _why_not_served(found, i, s)))
            continue
        sums = [np.nan if place[i] < 0 else float(total[one]) for place, one in zip(places, at, strict=True)]
        one = _served(base, s, found, at[0], sums)
        if least[i] >= 0 and least[i] != places[0][i] and not quoted[i * width + int(least[i]) % width]:
            place = (int(least[i]) // width, i * width + int(least[i]) % width)
            one = replace(one, apart=_served(base, s, found, place, [float(total[place])] * 3))
        options.append(one)
    return _ordered(s, found.load.title, options, found.assumptions)


def _without(base: Option, reason: str) -> Option:
    return Option(base.gpu, base.name, base.rent, base.purchase, reason=reason)


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


def _served(base: Option, s: Scenario, found: _Serving, at: tuple[int, int], sums: Sequence[float]) -> Option:
    """The option of one setup: `at` is its place in [users, setup]; sums are GPUs (value, slow, fast)."""
    row, column = at
    users, boards = int(found.users[row]), int(found.counts[column])
    gpus = int(sums[0])
    share = s.concurrency / users
    out = Money(*(np.asarray(getattr(found.out, side)[at]) * share for side in _SIDES))
    each = Money(*(np.asarray(getattr(found.each, side)[at]) for side in _SIDES))
    people = people_usd_per_month(s, base.gpu)
    hourly = base.rent.usd * gpus
    people_hourly = people / cost.HOURS_PER_MONTH

    def per_million(rate: Any) -> Any:
        tokens = cost.all_tokens_per_s(rate, s.prompt_tokens, s.output_tokens)
        return cost.usd_per_million_tokens(hourly + people_hourly, tokens, s.busy_share)

    unit = cost.over_rate(per_million, out.value, out.low, out.high)
    into, outof = cost.input_output_usd_per_million(
        hourly + people_hourly,
        out.value,
        s.prompt_tokens,
        s.output_tokens,
        float(found.reading[column]) / share,
        s.busy_share,
    )
    # the fewest GPUs are those of the fast end; an end that cannot be reached at any size is left open
    fast, slow = (sums[2], sums[1])
    months = [float(cost.usd_per_month(base.rent.usd, n)) for n in (gpus, fast, slow)]
    month = Money(*(np.asarray(x) for x in (months[0], months[1], np.inf if slow != slow else months[2])))
    month = month.plus(people)
    return Option(
        base.gpu, base.name, base.rent, base.purchase,
        boards=boards, copies=gpus // boards, users_each=users, gpus=gpus, gpus_low=fast,
        gpus_high=np.inf if slow != slow else slow,
        split=_split(found.load, base.gpu, boards, bool(found.staged[column])),
        tight=bool(found.verdict[at] == memory.TIGHT),
        month=month, unit=unit, unit_in=float(into), unit_out=float(outof), people_usd=people,
        tokens_per_s=each, output_tokens_per_s=out, rank=unit if s.cost_view == "tokens" else month,
        together=price_load.machine(s, base.rent) >= boards,
    )  # fmt: skip


def _split(load: workload.Workload, gpu: str, boards: int, stages: bool) -> str:
    """How one copy is cut over its GPUs; nothing where there is only one."""
    return (
        workload.changed(load, split="pipeline").split_of(gpu, boards)
        if stages
        else load.split_of(gpu, boards)
    )


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


@lru_cache(maxsize=32)
def _runs(scenario: Scenario) -> _Runs:
    """Memory and time; nothing in it depends on a price. Raises ConfigRefused."""
    load = training_load.load(scenario)
    ids = _shown_gpus(scenario)
    tried = np.array(sizes(scenario))
    gpus = [workload.pinned(gpu, 1) for gpu in ids]
    found = load.many(gpus, boards=tried)
    hours = _widened(ids, load.hours(found))
    devices = np.array([gpu.devices for gpu in gpus])[:, None] * tried
    days = Money(*(side / devices / 24 for side in (hours.value, hours.low, hours.high)))
    kinds = load.kinds(gpus)
    return _Runs(
        tuple(ids),
        tried,
        found.verdict,
        hours,
        days,
        _widened(ids, (found.tokens_per_s_per_gpu, found.low, found.high)),
        tuple(kind.barred or kind.speed_refused for kind in kinds),
        np.array([gpu.devices for gpu in gpus]),
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
    prices = price_load.rents(s, found.gpus, today)
    limit = np.inf if s.deadline_days is None else s.deadline_days
    sides = {side: found.able & (getattr(found.days, side) <= limit) for side in _SIDES}
    fits = found.verdict == memory.FITS
    options = []
    for i, gpu in enumerate(found.gpus):
        base = Option(gpu, catalogue.gpu_name(gpu), prices[gpu], price_load.purchase(s, gpu))
        quoted = np.array(
            [price_load.machine(s, base.rent) >= _in_one_machine(s, int(n)) for n in found.sizes]
        )
        sure = fits[i] & quoted
        # without a price the fewest GPUs are taken
        asked = found.hours.value[i] if base.rent.known else found.sizes.astype(float)
        at = {side: _least(asked, good[i], sure) for side, good in sides.items()}
        place = at["value"]
        if place is None:
            options.append(_without(base, _why_not_run(found, i, s)))
            continue
        fast, slow = (np.inf if n is None else float(found.sizes[n]) for n in (at["low"], at["high"]))
        mine = float(found.sizes[place])
        one = _ran(base, s, found, (i, place), (min(fast, mine), max(slow, mine)))
        least = _least(asked, sides["value"][i] & fits[i], fits[i])
        if least is not None and least != place and not quoted[least]:
            own = float(found.sizes[least])
            one = replace(one, apart=_ran(base, s, found, (i, least), (own, own)))
        options.append(one)
    return _ordered(s, load.work, options, load.architecture.assumptions)


def _least(asked: Floats, good: NDArray[np.bool_], sure: NDArray[np.bool_]) -> int | None:
    """The place of the least of what is asked, of several the fewest GPUs; what is sure comes first."""
    among = good & sure if (good & sure).any() else good
    if not among.any():
        return None
    among_asked = np.where(among, asked, np.inf)
    return int(np.argmax(among_asked <= among_asked.min() * (1 + 1e-9)))


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


def _ran(base: Option, s: Scenario, found: _Runs, at: tuple[int, int], ends: Sequence[float]) -> Option:
    """The option of one number of GPUs; ends are the numbers at the fast and at the slow end of the band."""
    i, column = at
    gpus = int(found.sizes[column])
    hours = Money(*(np.asarray(getattr(found.hours, side)[at]) for side in _SIDES))
    days = Money(*(np.asarray(getattr(found.days, side)[at]) for side in _SIDES))
    board_hours = 1 / float(found.per_board[i])  # prices are of a board
    people = people_usd_per_month(s, base.gpu)
    run = cost.of_time(
        lambda h: cost.usd_per_run(h, _busy(base.rent, s) * board_hours), hours.value, hours.low, hours.high
    )
    if s.task == "train":
        lost = Money(*(people * getattr(days, side) / DAYS_PER_MONTH for side in _SIDES))
        run = Money(*(getattr(run, side) + getattr(lost, side) for side in _SIDES))
        month, people = None, float(lost.value)
    else:
        month = Money(
            *(cost.runs_usd_per_month(getattr(run, side), s.runs_per_month, people) for side in _SIDES)
        )
    return Option(
        base.gpu, base.name, base.rent, base.purchase,
        boards=gpus, copies=1, gpus=gpus, gpus_low=ends[0], gpus_high=ends[1],
        tight=bool(found.verdict[at] == memory.TIGHT),
        month=month, unit=run, people_usd=people,
        tokens_per_s=Money(*(np.asarray(getattr(found.tokens_per_s, side)[at]) for side in _SIDES)),
        gpu_hours=hours, days=days, rank=run if month is None else month,
        together=price_load.machine(s, base.rent) >= _in_one_machine(s, gpus),
    )  # fmt: skip


def _busy(rent: Rent, s: Scenario) -> float:
    """An hour of a run: what is rented is paid only while it runs, what is owned in idle hours as well."""
    owned = s.price_basis == price_load.OWN_BASIS and not rent.edited
    return float(cost.usd_per_busy_hour(rent.usd, s.busy_share)) if owned else rent.usd


# ---------------------------------------------------------------- order


def _ordered(s: Scenario, name: str, options: Sequence[Option], notes: Sequence[str]) -> Costs:
    table = measured_vendors.table(s)
    options = [
        replace(one, unseen=measured_vendors.unseen_words(table, one.gpu)) if one.possible else one
        for one in options
    ]

    def key(option: Option) -> tuple[int, float, str]:
        if option.priced and option.rank is not None:
            return (0 if option.sure else 1), float(option.rank.value), option.name
        return (2, float(option.gpus), option.name) if option.possible else (3, 0.0, option.name)

    ordered = sorted(options, key=key)
    sure = any(option.priced and option.sure for option in ordered)
    among = [option for option in ordered if option.priced and (option.sure or not sure)]
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
