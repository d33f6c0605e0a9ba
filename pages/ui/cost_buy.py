"""Rent or buy: break-even of every GPU, and what the scenario's own use makes of it."""

from __future__ import annotations

from calculators import cost
from calculators.scenario import Scenario
from pages.ui import price_load, words
from pages.ui.cost_load import Costs, Option
from pages.ui.cost_report import Row
from pages.ui.cost_text import usd

TITLES = (
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
    """When buying pays at the scenario's own use; both ways of renting a server that is not always in use."""
    used = used_hours_per_month(s, option)
    if s.task == "train":
        return "buy for one run" if used >= break_even else f"{used:,.0f} hours: rent"
    if s.task == "serve" and s.busy_share < 1:
        always, by_hour = (_pays_back(s, break_even, used * share) for share in (1.0, s.busy_share))
        return f"rented all day: {always}; by the hour in use: {by_hour}"
    return _pays_back(s, break_even, used)


def _pays_back(s: Scenario, break_even: float, used: float) -> str:
    months = break_even / used if used else float("inf")
    if months > 12 * s.own_years:
        return f"{used:,.3g} hours a month: rent"
    return f"pays back in {months:,.0f} months" if months >= 2 else f"pays back in {months * 30.4:,.0f} days"


def rows(costs: Costs, most: int = 12) -> list[Row]:
    """Renting against buying, for the cheapest GPUs and the pinned ones."""
    s = costs.scenario
    chosen = [o for o in costs.options if o.possible]
    shown = [o for k, o in enumerate(chosen) if k < most or o.gpu in s.gpus]
    found = []
    for option in shown:
        bought = option.purchase
        rented = price_load.rent_without_owning(s, option.rent)
        found.append(
            Row(
                option.gpu,
                option.name,
                "pinned" if option.gpu in s.gpus else "",
                None if bought.usd != bought.usd else bought.usd,
                bought.edited,
                bought.kind,
                _cells(s, option, rented),
                None,
                option.gpu in s.gpus,
            )
        )
    return found


def _cells(s: Scenario, option: Option, rented: float) -> tuple[str, ...]:
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


def _alone(s: Scenario) -> str:
    """That only the card is counted, where the reader gave server and room no price."""
    return "" if s.host_usd else " the card alone (no server, room or network counted)"


def headline(costs: Costs) -> str:
    """Rent or buy the cheapest GPU, in one sentence."""
    s = costs.scenario
    for option in costs.ranked:
        rented = price_load.rent_without_owning(s, option.rent)
        price = option.purchase.usd + s.host_usd
        power = price_load.power_usd_per_hour(s, option.gpu)
        hours = float(cost.break_even_hours(price, rented, power))
        if hours != hours or rented != rented:
            continue
        share = float(cost.break_even_share(hours, s.own_years))
        said = f"{option.name}: buying{_alone(s)} is cheaper after {hours:,.0f} hours of use"
        if share > 1:
            life = f"all of {s.own_years:g} years"
            return f"Rent {option.name}: at {usd(rented)} an hour it is cheaper for {life}."
        use = used_hours_per_month(s, option)
        life = use * (1 if s.task == "train" else 12 * s.own_years)
        broken_even = f"{said}, {100 * share:.0f} % of {s.own_years:g} years"
        busy = life * s.busy_share
        if s.task == "serve" and busy < hours <= life:
            return (
                f"{broken_even}. Buy it if you would rent it day and night ({life:,.0f} hours); rent it if "
                f"you pay only for the {100 * s.busy_share:.3g} % of the hours in use ({busy:,.0f})."
            )
        per = {
            "train": "the run takes",
            "finetune": f"{s.own_years:g} years of your runs take",
            "serve": f"{s.own_years:g} years, rented day and night, take",
        }[s.task]
        text = f"{'Buy' if life >= hours else 'Rent'} {broken_even}; {per} {life:,.0f}."
        if s.task == "serve" and s.busy_share < 1 and busy >= hours:
            text += f" Even rented only in the {100 * s.busy_share:.3g} % of the hours in use, {busy:,.0f}."
        return text
    return "Rent or buy: type a price to rent and one to buy."
