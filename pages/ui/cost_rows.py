"""The rows of the cost table, and who was left out of it."""

from __future__ import annotations

from calculators.scenario import Scenario
from pages.ui import words
from pages.ui.cost_load import Costs, Option
from pages.ui.cost_report import Row
from pages.ui.cost_text import VIEWS, banded, gpus_span, ranked_by, usd


def titles(s: Scenario) -> tuple[str, ...]:
    """Titles of the cost table."""
    first = ("GPU", "Price per GPU and hour")
    if s.task == "serve":
        other = next(name for view, name in VIEWS.items() if view != s.cost_view)
        return (*first, ranked_by(s), "GPUs", other, "Of input, of output", "Each user")
    if s.task == "finetune":
        return (*first, ranked_by(s), "GPUs", "A run", "Time of a run")
    return (*first, ranked_by(s), "GPUs", "Time", "GPU-hours")


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
        if option.tight:
            marks.append("memory is tight")
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
    alone = "a copy on each" if option.boards == 1 else f"{option.copies:,} copies of {option.boards:,}"
    more = [alone] if option.copies > 1 else []
    more += [option.split] if option.split else []
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
    time = words.span_band(*(float(side) for side in (option.days.value, option.days.low, option.days.high)))
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
