"""Costs in words: the verdict, the rows of the table, each figure with its formula and numbers."""

from __future__ import annotations

from calculators import cost
from calculators.cost import Money
from calculators.scenario import Scenario
from pages.ui import price_load, words
from pages.ui.cost_load import Costs, Option
from pages.ui.cost_report import Row

VIEWS = {"month": "A month", "tokens": "A million tokens"}
_PRICE_BASES = {
    "median": "the median quote",
    "low": "the cheapest quote",
    "high": "the dearest quote",
    "spot": "the median spot quote",
    "own": "the cost of owning",
}
Terms = list[tuple[str, str, str, str, str]]
OURS = "this page"


def usd(value: float) -> str:
    """Dollars with three figures or so: $0.345, $1.39, $993, $14,500, $2.3M."""
    value = float(value)
    if value != value or value == float("inf"):
        return "more than is known"
    if value >= 1e6:
        return f"${value / 1e6:,.3g}M" if value < 1e9 else f"${value / 1e9:,.3g}B"
    if value >= 100:
        return f"${value:,.0f}"
    return f"${value:.2f}" if value >= 0.1 or value == 0 else f"${value:.2g}"


def band(money: Money) -> str:
    """The ends of a cost's band; nothing when both are the value."""
    low, high = usd(float(money.low)), usd(float(money.high))
    if low == high:
        return ""
    return f"{low} to {high}"


def banded(money: Money) -> str:
    """A cost with its band in brackets."""
    ends = band(money)
    return usd(float(money.value)) + (f" ({ends})" if ends else "")


def safe(text: str) -> str:
    """Text for Markdown, where a dollar sign would begin a formula."""
    return text.replace("$", "\\$").replace("~", "\\~")


def setup(option: Option) -> str:
    """How many of which GPU, in how many copies: 2 copies of 2 × A40 48GB."""
    each = f"{option.boards:,} × {option.name}"
    return f"{option.copies:,} copies of {each}" if option.copies > 1 else each


def gpus_span(option: Option) -> str:
    """How many GPUs at the ends of the band, where that differs."""
    low, high = option.gpus_low, option.gpus_high
    if low == high == option.gpus or (low != low):
        return ""
    most = f"{high:,.0f}" if high != float("inf") else "more than were tried"
    return f"{low:,.0f} to {most} if speed is at an end of its band"


def users_words(s: Scenario) -> str:
    """The load in words."""
    return f"{words.count(s.concurrency, 'user')} at {s.max_model_len:,} tokens"


def headline(costs: Costs) -> str:
    """The verdict: one sentence."""
    s, best = costs.scenario, costs.best
    asked = _asked(costs)
    if costs.refused:
        return f"{asked}: no answer, {costs.refused}."
    if best is None:
        if any(option.possible for option in costs.options):
            return f"{asked}: GPUs that do it have no price at {_PRICE_BASES[s.price_basis]}; type one below."
        return f"{asked}: no GPU here does it."
    assert best.unit is not None
    if s.task == "serve":
        assert best.month is not None
        money = f"{usd(float(best.month.value))} a month, {usd(float(best.unit.value))} per million tokens"
    elif s.task == "finetune":
        assert best.month is not None
        money = f"{usd(float(best.unit.value))} a run, {usd(float(best.month.value))} a month"
    else:
        money = f"{usd(float(best.unit.value))} the run"
    return f"{asked}: {setup(best)}, {money}"


def _asked(costs: Costs) -> str:
    s = costs.scenario
    if s.task == "serve":
        return f"Cheapest way to serve {costs.name} to {users_words(s)}"
    if s.task == "finetune":
        return (
            f"Cheapest {_lowered(costs.name)}, {words.large(s.samples * s.sample_tokens * s.epochs)} tokens"
        )
    done = "" if s.deadline_days is None else f", done in {s.deadline_days:g} days"
    return f"Cheapest {_lowered(costs.name)}{done}"


def _lowered(name: str) -> str:
    """A name inside a sentence: an ordinary word loses its capital, QLoRA keeps it."""
    return name[0].lower() + name[1:] if name[1:2].islower() else name


def details(costs: Costs) -> list[str]:
    """What stands under the verdict: bands, speed, ties, and the GPUs that the reader pinned."""
    s, best = costs.scenario, costs.best
    if best is None:
        return []
    lines = [_band_line(s, best), _speed_line(s, best)]
    if costs.tied:
        names = words.listed([option.name for option in costs.ranked if option.gpu in costs.tied])
        lines.append(f"**Tied with it, inside the bands:** {names}.")
    lines.append(
        f"At {usd(best.rent.usd)} per GPU and hour ({best.rent.note})."
        + (f" Includes {usd(best.people_usd)} of people's lost time." if best.people_usd else "")
    )
    if cheaper := _cheaper_apart(costs, best):
        lines.append(cheaper)
    if pinned := _pinned_line(costs):
        lines.append(pinned)
    return lines


def _band_line(s: Scenario, best: Option) -> str:
    assert best.unit is not None
    if s.task == "serve":
        assert best.month is not None
        month = f"{band(best.month)} a month, " if band(best.month) else ""
        fixed = "" if month else " The month has none: memory decides the number of GPUs, speed does not."
        return (
            f"80 % band: {month}{band(best.unit)} per million tokens (input {usd(best.unit_in)}, output "
            f"{usd(best.unit_out)}).{fixed}"
        )
    span = gpus_span(best)
    return f"80 % band: {band(best.unit)} a run{'; ' + span if span else ''}."


def _speed_line(s: Scenario, best: Option) -> str:
    assert best.tokens_per_s is not None
    speed = best.tokens_per_s
    if s.task == "serve":
        return (
            f"Each user gets {words.three(float(speed.value))} tokens/s ({words.three(float(speed.low))} to "
            f"{words.three(float(speed.high))}) while all {s.concurrency} write, with {s.prompt_tokens:,} "
            f"tokens in and {s.output_tokens:,} out a request, {busy_words(s)}."
        )
    assert best.days is not None
    assert best.gpu_hours is not None
    return (
        f"{words.large(float(best.gpu_hours.value))} GPU-hours, {words.span(float(best.days.value))} "
        f"({words.span(float(best.days.low))} to {words.span(float(best.days.high))})."
    )


def _cheaper_apart(costs: Costs, best: Option) -> str:
    """What would be cheaper if somebody had as many GPUs in one machine."""
    apart = [option for option in costs.ranked if not option.together]
    limit = 0.0 if best.rank is None else float(best.rank.value)
    if not best.together:
        return f"Nobody quotes a machine with {min(best.boards, 8):,} of them: ask the lender."
    names = [
        f"{setup(o)} {usd(float(o.rank.value))}"
        for o in apart
        if o.rank is not None and float(o.rank.value) < limit
    ]
    if not names:
        return ""
    return f"Cheaper if you find a machine with so many, which nobody quotes: {words.listed(names, 3)}."


def busy_words(s: Scenario) -> str:
    """How much of the paid time makes tokens."""
    return (
        "day and night" if s.busy_share == 1 else f"in {100 * s.busy_share:.3g} % of the hours that are paid"
    )


def _pinned_line(costs: Costs) -> str:
    """The pinned GPUs against each other."""
    pinned = [option for gpu in costs.scenario.gpus if (option := costs.option(gpu)) is not None]
    said = []
    for option in pinned:
        if option.priced and option.rank is not None:
            said.append(f"{setup(option)} {banded(option.rank)}")
        else:
            said.append(f"{option.name} {option.reason or 'has no price'}")
    what = titles(costs.scenario)[2].lower()
    return f"Your pinned GPUs, {what}: {'; '.join(said)}." if said else ""


# ---------------------------------------------------------------- the table


def titles(s: Scenario) -> tuple[str, ...]:
    """Titles of the cost table."""
    first = ("GPU", "Price per GPU and hour")
    if s.task == "serve":
        other = next(name for view, name in VIEWS.items() if view != s.cost_view)
        return (*first, VIEWS[s.cost_view], "GPUs", other, "Of input, of output", "Each user")
    if s.task == "finetune":
        return (*first, "A month", "GPUs", "A run", "Time of a run")
    return (*first, "The run", "GPUs", "Time", "GPU-hours")


def rows(costs: Costs) -> list[Row]:
    """Every GPU that does the work: ranked ones first, then those without a price."""
    s = costs.scenario
    ranked = costs.ranked
    scale = _scale(ranked)
    found = []
    for option in costs.options:
        if not option.possible:
            continue
        marks = []
        if ranked and option is ranked[0]:
            marks.append("cheapest")
        if option.gpu in costs.tied:
            marks.append("tied with the cheapest")
        if option.gpu in s.gpus:
            marks.append("pinned")
        if option.priced and not option.together:
            marks.append("no machine with so many quoted")
        found.append(
            Row(
                option.gpu,
                option.name,
                ", ".join(marks),
                round(option.rent.usd, 4) if option.rent.known else None,
                option.rent.edited,
                option.rent.note,
                _cells(s, option),
                _bar(option, scale) if option.priced else None,
                option.gpu in s.gpus,
            )
        )
    return found


def _scale(ranked: tuple[Option, ...]) -> float:
    """The end of the bars: what the twelve cheapest reach, so that a dear one does not flatten them."""
    ends = [float(o.rank.high) for o in ranked[:12] if o.rank is not None]
    known = [end for end in ends if end != float("inf")]
    return max(known, default=1.0) or 1.0


def _bar(option: Option, scale: float) -> tuple[float, float, float] | None:
    if option.rank is None:
        return None
    low, value, high = (
        min(float(side) / scale, 1.0) for side in (option.rank.low, option.rank.value, option.rank.high)
    )
    return low, value, high


def _cells(s: Scenario, option: Option) -> tuple[str, ...]:
    more = [f"{option.copies:,} copies of {option.boards:,}"] if option.copies > 1 else []
    if span := gpus_span(option):
        more.append(f"band {span.split(' if')[0]}")
    number = f"{option.gpus:,}" + (f" ({'; '.join(more)})" if more else "")
    assert option.tokens_per_s is not None
    if not option.priced:
        money: tuple[str, ...] = ("type a price",)
    else:
        assert option.rank is not None
        money = (banded(option.rank),)
    if s.task == "serve":
        user = f"{words.three(float(option.tokens_per_s.value))} tokens/s"
        if not option.priced:
            return (*money, number, "", "", user)
        other = option.unit if s.cost_view == "month" else option.month
        assert other is not None
        return (*money, number, banded(other), f"{usd(option.unit_in)}, {usd(option.unit_out)}", user)
    assert option.days is not None
    assert option.gpu_hours is not None
    time = (
        f"{words.span(float(option.days.value))} "
        f"({words.span(float(option.days.low))} to {words.span(float(option.days.high))})"
    )
    if s.task == "finetune":
        return (*money, number, banded(option.unit) if option.priced and option.unit else "", time)
    return (*money, number, time, words.large(float(option.gpu_hours.value)))


def left_out(costs: Costs) -> str:
    """The GPUs that cannot, by reason."""
    reasons: dict[str, list[str]] = {}
    for option in costs.options:
        if option.reason:
            reasons.setdefault(option.reason, []).append(option.name)
    return "; ".join(
        f"{words.cut(reason.rstrip('.'), 120)}: {words.listed(names, 4)}" for reason, names in reasons.items()
    )


# ---------------------------------------------------------------- formulas


def terms(costs: Costs, option: Option) -> Terms:
    """Every figure of one option: name, value, formula, with its numbers, source."""
    s, rent = costs.scenario, option.rent
    found: Terms = [
        (
            "Price of a GPU",
            f"{usd(rent.usd)} an hour",
            price_load.BASES[s.price_basis],
            rent.note,
            _price_source(s, rent),
        )
    ]
    if s.price_basis == price_load.OWN_BASIS and not rent.edited:
        found += _own_terms(s, option)
    return found + (_serving_terms(s, option) if s.task == "serve" else _run_terms(s, option))


def _price_source(s: Scenario, rent: price_load.Rent) -> str:
    if rent.edited:
        return "the reader"
    return "purchase price and power below" if s.price_basis == price_load.OWN_BASIS else "quotes below"


def _own_terms(s: Scenario, option: Option) -> Terms:
    bought = option.purchase
    power = price_load.power_usd_per_hour(s, option.gpu, s.busy_share)
    hours = s.own_years * cost.HOURS_PER_YEAR
    return [
        (
            "Owned for an hour",
            usd(option.rent.usd),
            "(purchase + host) / (years × 8,760) + power",
            f"({usd(bought.usd)} + {usd(s.host_usd)}) / {hours:,.0f} + {usd(power)}",
            bought.source,
        )
    ]


def _serving_terms(s: Scenario, o: Option) -> Terms:
    assert o.month is not None
    assert o.unit is not None
    assert o.output_tokens_per_s is not None
    assert o.tokens_per_s is not None
    out = float(o.output_tokens_per_s.value)
    both = float(cost.all_tokens_per_s(out, s.prompt_tokens, s.output_tokens))
    people = o.people_usd / cost.HOURS_PER_MONTH
    hourly = o.rent.usd * o.gpus + people
    lost = f" + {usd(o.people_usd)}" if o.people_usd else ""
    found: Terms = [
        (
            "GPUs",
            f"{o.gpus:,}",
            "copies × GPUs of a copy; copies = users / users of a copy, rounded up",
            f"{o.copies} × {o.boards}; {s.concurrency} / {o.users_each}",
            f"the fewest that hold {s.max_model_len:,} tokens a user (Fit page) at {s.least_tokens_per_s:g} "
            "tokens/s or more each",
        ),
        (
            "A month",
            banded(o.month),
            "price × GPUs × 730 h" + (" + people" if lost else ""),
            f"{usd(o.rent.usd)} × {o.gpus:,} × 730{lost}",
            "8,760 hours of a year / 12; " + (gpus_span(o) or "the band of speed changes no number of GPUs"),
        ),
        (
            "Tokens a second",
            f"{words.three(both)} (of which {words.three(out)} written)",
            "output rate × (in + out) / out",
            f"{words.three(out)} × ({s.prompt_tokens:,} + {s.output_tokens:,}) / {s.output_tokens:,}",
            _band_of_speed(o.output_tokens_per_s),
        ),
        (
            "A million tokens",
            banded(o.unit),
            "USD an hour / (tokens/s × 3,600 × busy share) × 10⁶",
            f"{usd(hourly)} / ({words.three(both)} × 3,600 × {s.busy_share:g}) × 10⁶",
            "input and output together",
        ),
        (
            "Of input, of output",
            f"{usd(o.unit_in)}, {usd(o.unit_out)}",
            "the server's time for a request, shared out: reading the prompt, writing the answer",
            f"{usd(o.unit_in)} × {s.prompt_tokens:,} + {usd(o.unit_out)} × {s.output_tokens:,} "
            f"= {usd(float(o.unit.value))} × {s.prompt_tokens + s.output_tokens:,}",
            OURS,
        ),
    ]
    return (
        found
        + _people_terms(s, o)
        + _energy_terms(s, o, o.gpus * cost.HOURS_PER_MONTH * s.busy_share, "a month")
    )


def _band_of_speed(rate: Money) -> str:
    value = float(rate.value)
    return (
        f"80 % band of measured speeds: × {float(rate.low) / value:.2f} to × {float(rate.high) / value:.2f}"
    )


def _run_terms(s: Scenario, o: Option) -> Terms:
    assert o.gpu_hours is not None
    assert o.days is not None
    assert o.unit is not None
    assert o.tokens_per_s is not None
    tokens = s.train_tokens if s.task == "train" else s.samples * s.sample_tokens * s.epochs
    rate, hours = float(o.tokens_per_s.value), float(o.gpu_hours.value)
    paid = float(o.unit.value) - (o.people_usd if s.task == "train" else 0.0)
    found: Terms = [
        (
            "GPU-hours",
            f"{words.large(hours)} ({words.large(float(o.gpu_hours.low))} to "
            f"{words.large(float(o.gpu_hours.high))})",
            "tokens / (tokens/s of a GPU × 3,600)",
            f"{words.large(tokens)} / ({words.three(rate)} × 3,600)",
            "80 % band of published runs" if s.task == "train" else "80 % band of measured speeds",
        ),
        (
            "Time",
            words.span(float(o.days.value)),
            "GPU-hours / GPUs / 24",
            f"{words.large(hours)} / {o.gpus:,} / 24",
            gpus_span(o) or OURS,
        ),
        (
            "A run",
            banded(o.unit),
            "GPU-hours × price" + (" + people" if s.task == "train" and o.people_usd else ""),
            f"{words.large(hours)} × {usd(paid / hours if hours else 0)}"
            + (f" + {usd(o.people_usd)}" if s.task == "train" and o.people_usd else ""),
            "idle hours of an owned GPU are paid by the runs"
            if s.price_basis == price_load.OWN_BASIS and not o.rent.edited
            else "paid only while it runs",
        ),
    ]
    if o.month is not None:
        lost = f" + {usd(o.people_usd)}" if o.people_usd else ""
        found.append(
            (
                "A month",
                banded(o.month),
                "run × runs a month" + (" + people" if lost else ""),
                f"{usd(float(o.unit.value))} × {s.runs_per_month:g}{lost}",
                OURS,
            )
        )
    return found + _people_terms(s, o) + _energy_terms(s, o, hours, "a run")


def _people_terms(s: Scenario, o: Option) -> Terms:
    if not o.people_usd:
        return []
    per_month = cost.lost_usd_per_month(s.lost_hours_per_week, s.usd_per_person_hour)
    return [
        (
            "People's lost time",
            f"{usd(float(per_month))} a month",
            "hours a week × 52 / 12 × USD an hour",
            f"{s.lost_hours_per_week:g} × 4.33 × {usd(s.usd_per_person_hour)}",
            f"the reader: on cards below {s.small_memory_gb} GB",
        )
    ]


def _energy_terms(s: Scenario, o: Option, hours: float, of: str) -> Terms:
    power = price_load.power_usd_per_hour(s, o.gpu)
    if power != power:
        return []
    rented = s.price_basis != price_load.OWN_BASIS or o.rent.edited
    return [
        (
            "Electricity",
            f"{usd(power * hours)} {of}",
            "board power × PUE × price × hours",
            f"{usd(power)} an hour × {words.large(hours)}",
            "board power of the data sheet; "
            + ("the lender pays it" if rented else "in the price of owning"),
        )
    ]


# ---------------------------------------------------------------- rent or buy


BUY_TITLES = (
    "GPU", "Price to buy", "Break-even", "Share of its life", "At your use", "Owned, an hour",
    "Rented, an hour",
)  # fmt: skip


def used_hours_per_month(s: Scenario, option: Option) -> float:
    """Hours in which each GPU would be rented in a month: a server's all of them, a run's its time."""
    if s.task == "serve":
        return cost.HOURS_PER_MONTH
    assert option.days is not None
    hours = float(option.days.value) * 24
    return hours * s.runs_per_month if s.task == "finetune" else hours


def _your_use(s: Scenario, option: Option, break_even: float) -> str:
    """When buying pays at the scenario's own use."""
    used = used_hours_per_month(s, option)
    if s.task == "train":
        return "buy for one run" if used >= break_even else f"{used:,.0f} hours: rent"
    months = break_even / used if used else float("inf")
    if months > 12 * s.own_years:
        return f"{used:,.3g} hours a month: rent"
    return f"pays back in {months:,.0f} months" if months >= 2 else f"pays back in {months * 30.4:,.0f} days"


def buy_rows(costs: Costs, most: int = 12) -> list[Row]:
    """Renting against buying, for the cheapest GPUs and the pinned ones."""
    s = costs.scenario
    chosen = [o for o in costs.options if o.possible]
    shown = [o for k, o in enumerate(chosen) if k < most or o.gpu in s.gpus]
    found = []
    for option in shown:
        bought = option.purchase
        rented = _rented(s, option)
        found.append(
            Row(
                option.gpu,
                option.name,
                "pinned" if option.gpu in s.gpus else "",
                None if bought.usd != bought.usd else bought.usd,
                bought.edited,
                bought.kind,
                _buy_cells(s, option, rented),
                None,
                option.gpu in s.gpus,
            )
        )
    return found


def _rented(s: Scenario, option: Option) -> float:
    """The rent that owning is set against: the median quote where the table itself counts owning."""
    owned = s.price_basis == price_load.OWN_BASIS and not option.rent.edited
    return option.rent.median if owned else option.rent.usd


def _buy_cells(s: Scenario, option: Option, rented: float) -> tuple[str, ...]:
    price = option.purchase.usd + s.host_usd
    power = price_load.power_usd_per_hour(s, option.gpu)
    owned = price_load.owned_usd_per_hour(s, option.gpu)
    own = usd(owned) if owned == owned else "board power not known" if price == price else "no price"
    rent = usd(rented) if rented == rented else "no quote"
    if owned != owned or rented != rented:
        return "", "", "", own, rent
    hours = float(cost.break_even_hours(price, rented, power))
    if hours == float("inf"):
        return "never: power costs more", "", "rent", own, rent
    share = float(cost.break_even_share(hours, s.own_years))
    return (
        f"{hours:,.0f} hours of use ({words.span(hours / 24)})",
        f"{100 * share:.0f} %",
        _your_use(s, option, hours),
        own,
        rent,
    )


def buy_headline(costs: Costs) -> str:
    """Rent or buy the cheapest GPU, in one sentence."""
    s = costs.scenario
    for option in costs.ranked:
        rented = _rented(s, option)
        price = option.purchase.usd + s.host_usd
        power = price_load.power_usd_per_hour(s, option.gpu)
        hours = float(cost.break_even_hours(price, rented, power))
        if hours != hours or rented != rented:
            continue
        share = float(cost.break_even_share(hours, s.own_years))
        said = f"{option.name}: buying is cheaper after {hours:,.0f} hours of use"
        if share > 1:
            life = f"all of {s.own_years:g} years"
            return f"Rent {option.name}: at {usd(rented)} an hour it is cheaper for {life}."
        use = used_hours_per_month(s, option)
        life = use * (1 if s.task == "train" else 12 * s.own_years)
        advice = "Buy" if life >= hours else "Rent"
        per = "the run takes" if s.task == "train" else f"{s.own_years:g} years at your use take"
        return f"{advice} {said}, {100 * share:.0f} % of {s.own_years:g} years; {per} {life:,.0f}."
    return "Rent or buy: type a price to rent and one to buy."
