"""Draws the Cost page: verdict, table with prices to type over, rent or buy, formulas and quotes."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date

import streamlit as st

from calculators.scenario import MAX_PURCHASE_USD, MAX_RENT_USD
from pages.ui import cost_text, plain_table, price_load, price_table, state
from pages.ui.cost_load import Costs, Option


def _edited(field: str, most: float) -> Callable[[str, float | None], None]:
    """A callback that keeps the reader's price of one GPU, or forgets it."""

    def edit(gpu: str, usd: float | None) -> None:
        prices = dict(getattr(state.last(), field))
        prices.pop(gpu, None)
        if usd is not None:
            if not 0 <= usd <= most:
                return
            prices[gpu] = usd
        state.put(**{field: tuple(sorted(prices.items()))})

    return edit


edit_rent = _edited("price_edits", MAX_RENT_USD)
edit_purchase = _edited("purchase_edits", MAX_PURCHASE_USD)


def show(gpu: str) -> None:
    """Show one GPU in detail. A callback."""
    state.put(cost_gpu=gpu)


def verdict(costs: Costs) -> None:
    """The answer in one sentence, and what it rests on."""
    lines = [cost_text.headline(costs), *cost_text.details(costs)]
    first, *rest = (cost_text.safe(line) for line in lines)
    st.markdown("\n".join((f"### {first}\n", *(f"- {line}" for line in rest))))


def table(costs: Costs) -> None:
    """Every GPU that does the work, cheapest first."""
    s = costs.scenario
    rows = cost_text.rows(costs)
    if not rows:
        return
    price_table.draw(
        "cost-table",
        "Cheapest first. Type over a price to use your own, empty it to have the quotes back; the link keeps "
        "yours. The bar is the cost, the line in it its 80 % band. Press a name to see how its cost is "
        "computed.",
        cost_text.titles(s),
        rows,
        edit_rent,
        show,
        price_of="Price of an hour of",
    )


def rent_or_buy(costs: Costs) -> None:
    """Break-even of buying against renting."""
    st.header("Rent or buy", anchor=False)
    st.markdown(cost_text.safe(cost_text.buy_headline(costs)))
    price_table.draw(
        "buy-table",
        f"Purchase / (rent − power) = hours of use after which buying is cheaper; over "
        f"{costs.scenario.own_years:g} years of 8,760 hours that is the use. Card alone, without resale and "
        "interest; server, room and power are in the sidebar. Type over a price.",
        cost_text.BUY_TITLES,
        cost_text.buy_rows(costs),
        edit_purchase,
        show,
        price_of="Price to buy",
        most=6,
    )


def detail(costs: Costs, today: date) -> None:
    """One GPU: every figure with its formula, and the quotes behind its price."""
    option = _chosen(costs)
    if option is None:
        return
    st.header("How this was computed", anchor=False)
    notes = [f"Assumed: {note}" for note in costs.notes]
    if out := cost_text.left_out(costs):
        notes.append(f"Left out. {out}.")
    plain_table.draw(
        "cost-terms",
        cost_text.setup(option),
        ("Figure", "Value", "Formula", "With numbers", "Source"),
        cost_text.terms(costs, option),
        tuple(notes),
    )
    quotes = price_load.quote_rows(option.gpu, today)
    if quotes:
        st.header("Quotes", anchor=False)
        plain_table.draw(
            "cost-quotes",
            f"{option.name}: every quote of 2026, newest first, USD per GPU and hour. Spot quotes never "
            "enter the median.",
            ("Provider", "USD", "Tier", "Date", "Source"),
            [(provider, usd, tier, day, source) for provider, tier, usd, day, source in quotes],
        )


def _chosen(costs: Costs) -> Option | None:
    option = costs.option(costs.scenario.cost_gpu)
    if option is not None and option.priced:
        return option
    return costs.best
