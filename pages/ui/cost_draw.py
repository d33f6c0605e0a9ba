"""Draws the Cost page: the verdict, and under it one component with everything else."""

from __future__ import annotations

from datetime import date
from typing import Any

import streamlit as st

from calculators.scenario import Scenario
from pages.ui import (
    catalogue,
    cost_buy,
    cost_fields,
    cost_report,
    cost_rows,
    cost_terms,
    cost_text,
    link,
    plain_table,
    price_load,
    state,
    told,
)
from pages.ui.cost_load import Costs, Option
from pages.ui.cost_report import Typed, price_table

_PRICES = {"rent": "price_edits", "buy": "purchase_edits"}


def edit_price(table: str, gpu: str, usd: float | None) -> None:
    """Keep the reader's price of one GPU, or forget it. A callback."""
    field = _PRICES.get(table)
    if field is None or gpu not in catalogue.known()["gpus"]:
        return
    prices = {**dict(getattr(state.last(), field)), gpu: usd}
    kept = tuple(sorted((gpu, usd) for gpu, usd in prices.items() if usd is not None))
    if link.takes(field, kept):
        state.put(**{field: kept})
    else:
        told.keep(told.not_taken(field, catalogue.gpu_name(gpu), kept, shown=usd))


def type_number(field: str, value: float | None) -> None:
    """Keep a number of the work or of people's time. A callback."""
    if fields := cost_fields.taken(state.last(), field, value):
        state.put(**fields)
    else:
        told.keep(cost_fields.refusal(state.last(), field, value))


def press(row: str, choice: str) -> None:
    """A button was pressed: a task, a view or a preset. A callback."""
    if fields := cost_fields.pressed(row, choice):
        told.keep(told.also_changed(state.last(), fields))
        state.put(**fields)


def show(gpu: str) -> None:
    """Show one GPU in detail. A callback."""
    if gpu in catalogue.known()["gpus"]:
        state.put(cost_gpu=gpu)


def verdict(costs: Costs) -> None:
    """The answer in one sentence, and what it rests on."""
    lines = [cost_text.headline(costs), *cost_text.details(costs)]
    first, *rest = (cost_text.safe(line) for line in lines)
    st.markdown("\n".join((f"### {first}\n", *(f"- {line}" for line in rest))))


def report(scenario: Scenario, costs: Costs | None, today: date) -> None:
    """What is asked, every GPU that does the work, people's time, rent or buy, and one GPU in detail.

    Without `costs`, which a refused scenario has none of, what is asked alone.
    """
    data: dict[str, Any] = {
        "notice": told.taken(),
        "rows": cost_fields.rows(scenario),
        "groups": cost_fields.groups(scenario),
        "lead": "",
        "rent": None,
        "buy": None,
        "terms": None,
        "quotes": None,
    }
    if costs is not None:
        data |= _answer(costs, today)
    cost_report.draw(data, Typed(edit_price, show, type_number, press))


def _answer(costs: Costs, today: date) -> dict[str, Any]:
    s = costs.scenario
    rows = cost_rows.rows(costs)
    option = _chosen(costs)
    data: dict[str, Any] = {"lead": cost_buy.headline(costs)}
    if rows:
        data["rent"] = price_table(
            "Cheapest first. Type over a price to use your own, empty it to have the quotes back; the link "
            "keeps yours. The bar is the cost, the line in it its 80 % band. Press a name to see how its "
            "cost is computed.",
            cost_rows.titles(s),
            rows,
            price_of="Price of an hour of",
            most=12,
        )
        data["buy"] = price_table(
            f"Purchase / (rent − power) = hours of use after which buying is cheaper, and their share of "
            f"{s.own_years:g} years of 8,760 hours. Card alone, without resale and interest; server, room "
            "and power are in the sidebar. Type over a price.",
            cost_buy.TITLES,
            cost_buy.rows(costs),
            price_of="Price to buy",
            most=6,
        )
    if option is not None:
        data["terms"] = _terms(costs, option)
        data["quotes"] = _quotes(option, today)
    return data


def _terms(costs: Costs, option: Option) -> dict[str, Any]:
    """One GPU: every figure with its formula."""
    notes = [f"Assumed: {note}" for note in costs.notes]
    if out := cost_rows.left_out(costs):
        notes.append(f"Left out. {out}.")
    titles = ("Figure", "Value", "Formula", "With numbers", "Source")
    return plain_table.table(cost_text.setup(option), titles, cost_terms.terms(costs, option), notes)


def _quotes(option: Option, today: date) -> dict[str, Any] | None:
    """The quotes behind the price of one GPU."""
    quotes = price_load.quote_rows(option.gpu, today)
    if not quotes:
        return None
    return plain_table.table(
        f"{option.name}: every quote of 2026, newest first, USD per GPU and hour. Spot quotes never enter "
        "the median.",
        ("Provider", "USD", "Tier", "Date", "Source"),
        [(provider, usd, tier, day, source) for provider, tier, usd, day, source in quotes],
    )


def _chosen(costs: Costs) -> Option | None:
    option = costs.option(costs.scenario.cost_gpu)
    if option is not None and option.priced:
        return option
    return costs.best
