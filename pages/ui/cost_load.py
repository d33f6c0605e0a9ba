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
from pages.ui import catalogue, price_load, speed_load, training_load, workload
from pages.ui.gpu_counts import COUNTS, TOGETHER, sizes
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
    gpus_high those at the ends of the speed's band. month: USD a month, people's lost time included; unit:
    USD per million tokens, or per run. people_usd: a month's lost time. tokens_per_s: of one user (serving),
    of one GPU (training). rank: what options are ordered by. together: whether anybody quotes a machine with
    as many GPUs as must stand in one; apart: what would be cheaper on this GPU if somebody had larger ones.
    reason: why there is none.
    """

    gpu: str
    name: str
    rent: Rent
    purchase: Purchase
    boards: int = 0
    copies: int = 0
    users_each: int = 0
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
    reason: str | None = None

    @property
    def possible(self) -> bool:
        """Whether the GPU does the work at all."""
        return self.reason is None

    @property
    def priced(self) -> bool:
        """Whether it can be ranked."""
        return self.possible and self.rent.known


@dataclass(frozen=True, slots=True)
class Costs:
    """Options: cheapest first, those nobody quotes in one machine, those without a price, those that cannot.

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
    return [str(gpu) for gpu in catalogue.gpus().index if gpu not in hidden]


def people_usd_per_month(scenario: Scenario, gpu: str) -> float:
    """What people lose in a month to a card below the size that the reader calls too small."""
    small = float(catalogue.spec_row(gpu)["memory_gb"]) < scenario.small_memory_gb
    if not small:
        return 0.0
    return float(cost.lost_usd_per_month(scenario.lost_hours_per_week, scenario.usd_per_person_hour))


# ---------------------------------------------------------------- serving


@dataclass(frozen=True)
class _Serving:
    """Every GPU and count [pair] against every number of users a copy may take [users, pair]."""

    gpus: tuple[str, ...]
    counts: NDArray[np.int64]
    users: NDArray[np.int64]
    fits: NDArray[np.bool_]
    speed: Any
    layer_gpus: Floats
    reasons: tuple[str | None, ...]
    assumptions: tuple[str, ...]
    name: str
    refused: str | None = None


@lru_cache(maxsize=32)
def _serving(scenario: Scenario) -> _Serving:
    """Memory and speed; nothing in it depends on a price. Raises ConfigRefused."""
    load = workload.load(scenario)
    ids, total = _shown_gpus(scenario), scenario.concurrency
    users = np.unique([-(-total // copies) for copies in range(1, total + 1)])
    pairs = [(gpu, count) for gpu in ids for count in COUNTS]
    chosen = [workload.pinned(gpu, count) for gpu, count in pairs]
    found = speed_load.speeds(load, chosen, users[:, None])
    gpus, counts = tuple(gpu for gpu, _ in pairs), np.array([count for _, count in pairs])
    fits = np.zeros((len(users), len(pairs)), dtype=bool)
    nothing = np.zeros(len(pairs))
    if isinstance(found, str):
        return _Serving(gpus, counts, users, fits, None, nothing, (), (), load.title, found)
    place = {gpu: i for i, gpu in enumerate(chosen)}
    for group in load.alike(chosen):
        deployment = load.deployment(group, users=users)
        if isinstance(deployment, str):
            continue
        report = memory.estimate(deployment)
        if report.refused is None:
            verdict = np.broadcast_to(report.verdict, (len(group), len(users)))
            fits[:, [place[gpu] for gpu in group]] = (verdict == memory.FITS).T
    layers = np.broadcast_to(np.asarray(found.split.layer_gpus, dtype=float), counts.shape)
    return _Serving(
        gpus, counts, users, fits, found.speed, layers, found.refused, found.assumptions, load.title
    )


def _cheapest(
    goal: Floats, rate: Floats, good: NDArray[np.bool_], quoted: NDArray[np.bool_], gpus: int
) -> NDArray[np.int64]:
    """For each GPU the place of its smallest goal among [users x counts], the fastest of several; else -1.

    Machines that somebody quotes come first. goal, rate and good are [users, pair], pairs in the order of
    GPUs; quoted is [pair].
    """

    def by_gpu(values: Any) -> Any:
        return values.reshape(len(values), gpus, -1).transpose(1, 0, 2).reshape(gpus, -1)

    asked = by_gpu(np.where(good, goal, np.inf))
    sure = np.where(by_gpu(good & quoted), asked, np.inf)
    asked = np.where(np.isfinite(sure).any(axis=1, keepdims=True), sure, asked)
    least = asked.min(axis=1, keepdims=True)
    fast = np.where(asked <= least * (1 + 1e-9), by_gpu(np.nan_to_num(rate)), -np.inf)
    return np.where(np.isfinite(least[:, 0]), fast.argmax(axis=1), -1)


def serving_costs(scenario: Scenario, today: date) -> Costs:
    """Cost of serving on every GPU. Raises ConfigRefused."""
    s = scenario
    found = _serving(s.model_copy(update=_PLAIN))
    ids = _shown_gpus(s)
    prices = price_load.rents(s, ids, today)
    if found.refused:
        return Costs(s, found.name, (), (), (), found.refused)
    copies = cost.replicas_needed(s.concurrency, found.users[:, None].astype(float))
    total = copies * found.counts
    speed = found.speed
    each, out = speed.tokens_per_s, speed.output_tokens_per_s
    rate = out.value * s.concurrency / found.users[:, None]  # of all copies
    # asked of the value, and of both ends of its band: how many GPUs if they are slower or faster than we say
    enough = [found.fits & (side >= s.least_tokens_per_s) for side in (each.value, each.low, each.high)]
    width = len(COUNTS)
    # without a price the fewest GPUs are taken
    usd = np.array([1.0 if not prices[gpu].usd > 0 else prices[gpu].usd for gpu in ids]).repeat(width)
    goal = usd * total
    if s.cost_view == "tokens":
        goal = np.nan_to_num(cost.usd_per_million_tokens(goal, rate), nan=np.inf)
    quoted = np.array([_quoted_together(s, prices[gpu], n) for gpu in ids for n in COUNTS])
    places = [_cheapest(goal, rate, good, quoted, len(ids)) for good in enough]
    least = _cheapest(goal, rate, enough[0], np.ones_like(quoted), len(ids))  # whoever has such machines
    options = []
    for i, gpu in enumerate(ids):
        base = Option(gpu, catalogue.gpu_name(gpu), prices[gpu], price_load.purchase(s, gpu))
        at = [(int(place[i]) // width, i * width + int(place[i]) % width) for place in places]
        if places[0][i] < 0:
            options.append(_without(base, _why_not_served(found, slice(i * width, (i + 1) * width), s)))
            continue
        sums = [np.nan if place[i] < 0 else float(total[one]) for place, one in zip(places, at, strict=True)]
        one = _served(base, s, found, at[0], sums)
        if least[i] != places[0][i] and not quoted[i * width + int(least[i]) % width]:
            place = (int(least[i]) // width, i * width + int(least[i]) % width)
            one = replace(one, apart=_served(base, s, found, place, [float(total[place])] * 3))
        options.append(one)
    return _ordered(s, found.name, options, found.assumptions)


def _without(base: Option, reason: str) -> Option:
    return Option(base.gpu, base.name, base.rent, base.purchase, reason=reason)


def _why_not_served(found: _Serving, columns: slice, s: Scenario) -> str:
    speeds = np.where(found.fits, np.nan_to_num(found.speed.tokens_per_s.value), 0.0)[:, columns]
    if (fastest := float(speeds.max())) > 0:
        return f"slower than {s.least_tokens_per_s:g} tokens/s for each user ({fastest:.2g} at most)"
    reasons = [reason for reason in found.reasons[columns] if reason and reason != "does not fit"]
    if len(reasons) == len(COUNTS) or (reasons and found.fits[:, columns].any()):
        return reasons[0]
    return f"does not fit {COUNTS[-1]} GPUs, or not surely"


def _served(base: Option, s: Scenario, found: _Serving, at: tuple[int, int], sums: Sequence[float]) -> Option:
    """The option of one setup: `at` is its place among users and pairs; sums are GPUs (value, slow, fast)."""
    row, column = at
    users, boards = int(found.users[row]), int(found.counts[column])
    gpus = int(sums[0])
    speed = found.speed
    share = s.concurrency / users
    out = Money(*(np.asarray(getattr(speed.output_tokens_per_s, side)[at]) * share for side in _SIDES))
    each = Money(*(np.asarray(getattr(speed.tokens_per_s, side)[at]) for side in _SIDES))
    people = people_usd_per_month(s, base.gpu)
    hourly = base.rent.usd * gpus
    people_hourly = people / cost.HOURS_PER_MONTH

    def per_million(rate: Any) -> Any:
        tokens = cost.all_tokens_per_s(rate, s.prompt_tokens, s.output_tokens)
        return cost.usd_per_million_tokens(hourly + people_hourly, tokens, s.busy_share)

    unit = cost.over_rate(per_million, out.value, out.low, out.high)
    reading = float(np.asarray(speed.prompt.total)[column]) / float(found.layer_gpus[column]) / share
    into, outof = cost.input_output_usd_per_million(
        hourly + people_hourly, out.value, s.prompt_tokens, s.output_tokens, reading, s.busy_share
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
        month=month, unit=unit, unit_in=float(into), unit_out=float(outof), people_usd=people,
        tokens_per_s=each, output_tokens_per_s=out, rank=unit if s.cost_view == "tokens" else month,
        together=_quoted_together(s, base.rent, boards),
    )  # fmt: skip


_SIDES = ("value", "low", "high")


# ---------------------------------------------------------------- fine-tuning and training


@dataclass(frozen=True)
class _Runs:
    """Every GPU [gpu] by every number of them [gpu, size]."""

    gpus: tuple[str, ...]
    sizes: NDArray[np.int64]
    fits: NDArray[np.bool_]
    hours: Money
    days: Money
    tokens_per_s: Money
    reasons: tuple[str | None, ...]
    per_board: NDArray[np.int64]
    load: training_load.TrainingLoad


@lru_cache(maxsize=32)
def _runs(scenario: Scenario) -> _Runs:
    """Memory and time; nothing in it depends on a price. Raises ConfigRefused."""
    load = training_load.load(scenario)
    ids = _shown_gpus(scenario)
    tried = np.array(sizes(scenario))
    gpus = [workload.pinned(gpu, 1) for gpu in ids]
    found = load.many(gpus, boards=tried)
    hours = Money(*load.hours(found))
    devices = np.array([gpu.devices for gpu in gpus])[:, None] * tried
    days = Money(*(side / devices / 24 for side in (hours.value, hours.low, hours.high)))
    kinds = load.kinds(gpus)
    return _Runs(
        tuple(ids),
        tried,
        (found.verdict == memory.FITS) & np.isfinite(hours.value),
        hours,
        days,
        Money(found.tokens_per_s_per_gpu, found.low, found.high),
        tuple(kind.barred or kind.speed_refused for kind in kinds),
        np.array([gpu.devices for gpu in gpus]),
        load,
    )


def run_costs(scenario: Scenario, today: date) -> Costs:
    """Cost of a fine-tune or a training run on every GPU. Raises ConfigRefused."""
    s = scenario
    found = _runs(s.model_copy(update=_PLAIN))
    load = found.load
    if load.refused:
        return Costs(s, load.work, (), (), (), load.refused)
    prices = price_load.rents(s, found.gpus, today)
    limit = np.inf if s.deadline_days is None else s.deadline_days
    sides = {side: found.fits & (getattr(found.days, side) <= limit) for side in _SIDES}
    options = []
    for i, gpu in enumerate(found.gpus):
        base = Option(gpu, catalogue.gpu_name(gpu), prices[gpu], price_load.purchase(s, gpu))
        quoted = np.array([_quoted_together(s, base.rent, _in_one_machine(s, int(n))) for n in found.sizes])
        at = {side: _fewest_hours(found.hours.value[i], good[i], quoted) for side, good in sides.items()}
        place = at["value"]
        if place is None:
            options.append(_without(base, _why_not_run(found, i, s)))
            continue
        fast, slow = (np.inf if n is None else float(found.sizes[n]) for n in (at["low"], at["high"]))
        mine = float(found.sizes[place])
        one = _ran(base, s, found, (i, place), (min(fast, mine), max(slow, mine)))
        least = _fewest_hours(found.hours.value[i], sides["value"][i], np.ones_like(quoted))
        if least is not None and least != place and not quoted[least]:
            own = float(found.sizes[least])
            one = replace(one, apart=_ran(base, s, found, (i, least), (own, own)))
        options.append(one)
    return _ordered(s, load.work, options, load.architecture.assumptions)


def _fewest_hours(hours: Floats, good: NDArray[np.bool_], quoted: NDArray[np.bool_]) -> int | None:
    """The place of the fewest GPU-hours, which is the cheapest, of several the fewest GPUs; quoted first."""
    among = good & quoted if (good & quoted).any() else good
    if not among.any():
        return None
    asked = np.where(among, hours, np.inf)
    return int(np.argmax(asked <= asked.min() * (1 + 1e-9)))


def _in_one_machine(s: Scenario, gpus: int) -> int:
    return min(gpus, TOGETHER[s.task])


def _why_not_run(found: _Runs, i: int, s: Scenario) -> str:
    if found.reasons[i]:
        return str(found.reasons[i])
    if found.fits[i].any():
        fastest = np.min(np.where(found.fits[i], found.days.value[i], np.inf))
        return f"not within {s.deadline_days:g} days: {fastest:,.3g} with {int(found.sizes[-1]):,} GPUs"
    most = int(found.sizes[-1])
    return f"does not fit {most:,} GPU{'s' if most > 1 else ''}, or not surely"


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
        month=month, unit=run, people_usd=people,
        tokens_per_s=Money(*(np.asarray(getattr(found.tokens_per_s, side)[at]) for side in _SIDES)),
        gpu_hours=hours, days=days, rank=run if month is None else month,
        together=_quoted_together(s, base.rent, _in_one_machine(s, gpus)),
    )  # fmt: skip


def _quoted_together(s: Scenario, rent: Rent, gpus: int) -> bool:
    """Whether somebody quotes a machine with so many GPUs; who owns them or has a price knows better."""
    return rent.edited or s.price_basis == price_load.OWN_BASIS or rent.largest_machine >= gpus


def _busy(rent: Rent, s: Scenario) -> float:
    """An hour of a run: what is rented is paid only while it runs, what is owned in idle hours as well."""
    owned = s.price_basis == price_load.OWN_BASIS and not rent.edited
    return float(cost.usd_per_busy_hour(rent.usd, s.busy_share)) if owned else rent.usd


# ---------------------------------------------------------------- order


def _ordered(s: Scenario, name: str, options: Sequence[Option], notes: Sequence[str]) -> Costs:
    def key(option: Option) -> tuple[int, float, str]:
        if option.priced and option.rank is not None:
            return (0 if option.together else 1), float(option.rank.value), option.name
        return (2, float(option.gpus), option.name) if option.possible else (3, 0.0, option.name)

    ordered = sorted(options, key=key)
    sure = any(option.priced and option.together for option in ordered)
    among = [option for option in ordered if option.priced and (option.together or not sure)]
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
