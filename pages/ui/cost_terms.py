"""Every figure of one option: its value, its formula, the numbers put in, its source."""

from __future__ import annotations

from calculators import cost
from calculators.cost import Money
from calculators.scenario import Scenario
from pages.ui import price_load, words
from pages.ui.cost_load import Costs, Option
from pages.ui.cost_text import banded, gpus_span, usd

Terms = list[tuple[str, str, str, str, str]]
OURS = "this page"


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
    found += _serving_terms(s, option) if s.task == "serve" else _run_terms(s, option)
    return found + _buy_terms(s, option)


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
    days = float(o.days.value)
    chips, unit = round(hours / (24 * days) / o.gpus), words.hours_to_span(days)
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
            words.span(days),
            f"GPU-hours / GPUs{' / chips of one' if chips > 1 else ''}{unit}",
            f"{words.large(hours)} / {o.gpus:,}{f' / {chips}' if chips > 1 else ''}{unit}",
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


def _buy_terms(s: Scenario, o: Option) -> Terms:
    """The price to buy with its source, and the break-even against renting."""
    bought, power = o.purchase, price_load.power_usd_per_hour(s, o.gpu)
    if bought.usd != bought.usd:
        return []
    found: Terms = [("Price to buy", usd(bought.usd), bought.kind, "one GPU", bought.source)]
    rented = price_load.rent_without_owning(s, o.rent)
    if rented != rented or power != power:
        return found
    hours = float(cost.break_even_hours(bought.usd + s.host_usd, rented, power))
    if hours == float("inf"):
        return found
    return [
        *found,
        (
            "Break-even",
            f"{hours:,.0f} hours of use, {100 * float(cost.break_even_share(hours, s.own_years)):.0f} %",
            "(price to buy + server) / (rent − power); / (years × 8,760)",
            f"({usd(bought.usd)} + {usd(s.host_usd)}) / ({usd(rented)} − {usd(power)}); "
            f"/ ({s.own_years:g} × 8,760)",
            "power: board power × PUE × price of electricity",
        ),
    ]
