"""Costs in words: amounts with their bands, setups, and the verdict with what it rests on."""

from __future__ import annotations

from calculators.cost import Money
from calculators.scenario import Scenario
from pages.ui import measured_vendors, price_load, words
from pages.ui.cost_load import Costs, Option
from pages.ui.gpu_counts import TOGETHER

VIEWS = {"month": "A month", "tokens": "A million tokens"}
_PRICE_BASES = {
    "median": "the median quote",
    "low": "the cheapest quote",
    "high": "the dearest quote",
    "spot": "the median spot quote",
    "own": "the cost of owning",
}


def usd(value: float, like: float | None = None) -> str:
    """Dollars with three figures or so: $0.345, $1.39, $993, $14,500, $2.3M; in the unit of `like`."""
    value = float(value)
    unit = value if like is None or not value < float("inf") else float(like)
    if unit < 1e6 <= value < float("inf"):
        return f"${float(f'{value:.3g}'):,.0f}"
    if unit >= 1e6 > value > 0:
        return f"${value / 1e6:.2g}M" if unit < 1e9 else f"${value / 1e9:.2g}B"
    if value != value or value == float("inf"):
        return "more than is known"
    if value >= 1e6:
        return f"${value / 1e6:,.3g}M" if value < 1e9 else f"${value / 1e9:,.3g}B"
    if value >= 100:
        return f"${value:,.0f}"
    return f"${value:.2f}" if value >= 0.1 or value == 0 else f"${value:.2g}"


def band(money: Money) -> str:
    """The ends of a cost's band; nothing when both are the value."""
    value = float(money.value)
    low, high = usd(float(money.low), value), usd(float(money.high), value)
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
    """How many of which GPU, in how many copies, cut how: 2 copies of 2 × A40 48GB (TP2)."""
    return words.setup(option.boards, option.copies, option.name, option.split)


def gpus_span(option: Option) -> str:
    """How many GPUs at the ends of the band, where that differs."""
    low, high = option.gpus_low, option.gpus_high
    if low == high == option.gpus or (low != low):
        return ""
    most = f"{high:,.0f}" if high != float("inf") else "more than were tried"
    return f"{low:,.0f} to {most} if speed is at an end of its band"


def ranked_by(s: Scenario) -> str:
    """What a cost is of that options are ranked by."""
    return {"serve": VIEWS[s.cost_view], "finetune": "A month", "train": "The run"}[s.task]


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
    doubts = ["memory is tight"] if best.tight else []
    doubts += [f"{best.unseen} was measured at this"] if best.unseen else []
    doubts += [f"its price is {thin}"] if (thin := price_load.thin(best.rent)) else []
    maybe = f" ({'; '.join(doubts)})" if doubts else ""
    return f"{asked}: {setup(best)}, {money}{maybe}"


def _asked(costs: Costs) -> str:
    s = costs.scenario
    if s.task == "serve":
        return f"Cheapest way to serve {costs.name} to {users_words(s)}"
    if s.task == "finetune":
        return f"Cheapest {lowered(costs.name)}, {words.large(s.samples * s.sample_tokens * s.epochs)} tokens"
    done = "" if s.deadline_days is None else f", done in {s.deadline_days:g} days"
    return f"Cheapest {lowered(costs.name)}{done}"


def lowered(name: str) -> str:
    """A name inside a sentence: an ordinary word loses its capital, LoRA and QLoRA keep it."""
    first, space, rest = name.partition(" ")
    return f"{first.lower()}{space}{rest}" if first[1:].islower() else name


def details(costs: Costs) -> list[str]:
    """What stands under the verdict: bands, speed, ties, and the GPUs that the reader pinned."""
    s, best = costs.scenario, costs.best
    if best is None:
        return []
    unseen = measured_vendors.unmeasured(s, best.gpu)
    lines = [_band_line(s, best), f"{_speed_line(s, best)} {unseen}".rstrip()]
    if costs.tied:
        names = words.listed([option.name for option in costs.ranked if option.gpu in costs.tied])
        lines.append(f"**Tied with it, inside the bands:** {names}.")
    lines.append(
        f"At {usd(best.rent.usd)} per GPU and hour ({best.rent.note})."
        + (f" Includes {usd(best.people_usd)} of people's lost time." if best.people_usd else "")
    )
    if paper := _on_paper(costs, best):
        lines.append(paper)
    if cheaper := _cheaper_apart(costs, best):
        lines.append(cheaper)
    if pinned := _pinned_line(costs):
        lines.append(pinned)
    return lines


def _band_line(s: Scenario, best: Option) -> str:
    assert best.unit is not None
    if s.task == "serve":
        assert best.month is not None
        unit = band(best.unit) or usd(float(best.unit.value))
        month = f"{band(best.month)} a month, " if band(best.month) else ""
        fixed = "" if month else " The month has none: memory decides the number of GPUs, speed does not."
        return (
            f"80 % band: {month}{unit} per million tokens (input {usd(best.unit_in)}, output "
            f"{usd(best.unit_out)}).{fixed}"
        )
    span = gpus_span(best)
    return f"80 % band: {band(best.unit)} a run{'; ' + span if span else ''}."


def _speed_line(s: Scenario, best: Option) -> str:
    assert best.tokens_per_s is not None
    speed = best.tokens_per_s
    if s.task == "serve":
        alone = s.concurrency == 1
        who, writing = ("The", "") if alone else ("Each", f" while all {s.concurrency:,} write")
        return (
            f"{who} user gets {words.three(float(speed.value))} tokens/s ({words.three(float(speed.low))} to "
            f"{words.three(float(speed.high))}){writing}, with {s.prompt_tokens:,} "
            f"tokens in and {s.output_tokens:,} out a request, {busy_words(s)}."
        )
    assert best.days is not None
    assert best.gpu_hours is not None
    return (
        f"{words.large(float(best.gpu_hours.value))} GPU-hours, "
        f"{words.span_band(float(best.days.value), float(best.days.low), float(best.days.high))}."
    )


def _on_paper(costs: Costs, best: Option) -> str:
    """What would be cheaper if an unmeasured speed or a stale price held."""
    assert best.rank is not None
    if not best.sure:
        return ""
    said = []
    for one in costs.ranked:
        shaky = price_load.shaky(one.rent)
        if not (one.unseen or shaky) or one.tight or not one.together or one.rank is None:
            continue
        if float(one.rank.value) < float(best.rank.value):
            why = [
                *([f"{one.unseen} was measured"] if one.unseen else []),
                *([f"price {shaky}"] if shaky else []),
            ]
            said.append((float(one.rank.value), f"{setup(one)} {banded(one.rank)} ({'; '.join(why)})"))
    names = [text for _, text in sorted(said)]
    return f"Cheaper on paper only: {words.listed(names, 3)}." if names else ""


def _cheaper_apart(costs: Costs, best: Option) -> str:
    """What would be cheaper if somebody had as many GPUs in one machine."""
    apart = [option.apart or option for option in costs.ranked if option.apart or not option.together]
    limit = 0.0 if best.rank is None else float(best.rank.value)
    if not best.together:
        boards = min(best.boards, TOGETHER.get(costs.scenario.task, best.boards))
        return f"None of our quotes is of a machine with {boards:,} of them: ask the lender."
    names = [
        f"{setup(o)} {usd(float(o.rank.value))}"
        for o in apart
        if o.rank is not None and float(o.rank.value) < limit
    ]
    if not names:
        return ""
    return f"Cheaper if you find a machine with so many (none of our quotes is): {words.listed(names, 3)}."


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
    what = ranked_by(costs.scenario).lower()
    return f"Your pinned GPUs, {what}: {'; '.join(said)}." if said else ""
