"""A recommendation in words: the answer, why, what would change it, how sure it is, and the ranked table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from urllib.parse import urlencode

import numpy as np

from calculators.ranking import Measure
from calculators.scenario import Scenario
from pages.ui import (
    catalogue,
    cost_text,
    link,
    measured_vendors,
    price_load,
    recommend_fields,
    recommend_slices,
    words,
    workload,
)
from pages.ui.recommend_load import SAME, SHORT_S, Choice, Recommendation, Turn, purpose

usd = cost_text.usd
SERVED = ("one", "many")
AS_RELEASED = "as released"
_TAKE = {
    "cheapest": "Cheapest",
    "fastest": "Fastest",
    "power": "Least power",
    "gpus": "Fewest GPUs",
}
OVER = (
    0.35  # a GPU of which no part is used beyond this share of the time is called more than the work can use
)
SHOWN = 0.005  # a smaller share of the time is not told


def format_label(choice: Choice) -> str:
    """The weight format of a choice in words."""
    fmt = catalogue.weight_formats().get(choice.format)
    return "" if fmt is None else AS_RELEASED if fmt.kind == "native" else fmt.label


def setup(one: Choice, *notes: str) -> str:
    """2 copies of 2 × RTX A6000 48GB (TP2); the split of a run is longer and stands elsewhere."""
    return words.setup(one.boards, one.copies, one.name, one.cut if one.users_each else "", *notes)


def cut_setup(one: Choice, *notes: str) -> str:
    """The same for a run as well, with its split in letters: 8 × H100 SXM5 80GB (DP8, ZeRO-3)."""
    return words.setup(one.boards, one.copies, one.name, one.cut, *notes)


def count_of(one: Choice) -> str:
    """A setup without the GPU's name: 1 GPU, 2 GPUs (TP2), 3 copies of 2 GPUs (TP2)."""
    return words.setup(one.boards, one.copies, "", one.cut)


def doubts(one: Choice) -> list[str]:
    """Why a setup stands behind others."""
    return [
        *(["memory is tight"] if one.tight else []),
        *([] if one.offered else ["none of our quotes is of so many together"]),
        *([f"its speed is not measured on any such card: {one.unseen}"] if one.unseen else []),
        *([f"its price is {one.shaky}"] if one.shaky else []),
        *(["longer than a year: not advisable"] if one.endless else []),
    ]


WAITS = "the engine's fixed time per step binds, not the card"


def waits(one: Choice) -> bool:
    """Whether a faster card would write no faster: it waits for the engine, and prompts are no great part."""
    return one.use.waiting > 0 and one.use.compute < one.use.fixed


FP16 = "it has no BF16: counted in FP16, which needs loss scaling"


def money_of(s: Scenario) -> str:
    """What the money is paid for."""
    return {"one": " a month", "many": " a month", "images": " per 1,000 images"}.get(purpose(s), " in all")


def _asked(found: Recommendation) -> str:
    s, asked = found.scenario, purpose(found.scenario)
    if asked == "one":
        return f"one user of {found.work}"
    if asked == "many":
        return f"{s.concurrency:,} users of {found.work}"
    if asked == "batch":
        return f"{words.large(s.batch_requests)} requests to {found.work}"
    if asked == "images":
        return "Stable Diffusion XL, measured"
    if asked == "train":
        done = "" if s.deadline_days is None else f", done in {s.deadline_days:g} days"
        return f"{cost_text.lowered(found.work)}{done}"
    return f"{cost_text.lowered(found.work)}, {words.large(s.samples * s.sample_tokens * s.epochs)} tokens"


def headline(found: Recommendation) -> str:
    """The answer in one sentence."""
    s, best = found.scenario, found.best
    if found.refused:
        return f"For {_asked(found)}: no answer, {found.refused}."
    if best is None:
        limits = recommend_fields.limits_words(s)
        within = f" with {words.listed(limits, 8)}" if limits else ""
        return f"For {_asked(found)}: nothing here does it{within}."
    assert best.usd is not None
    priced = bool(np.isfinite(best.usd.value))
    money = f", {usd(float(best.usd.value))}{money_of(s)}{_to_buy(best)}" if priced else ", no price"
    label = _in_format(best) if purpose(s) in (*SERVED, "batch") else ""
    maybe = f" ({'; '.join(told)})" if (told := [*doubts(best), *_thin(s, best)]) else ""
    maybe += _unproven_ahead(found, best)
    if s.objective == "cheapest" and not priced:
        return (
            f"For {_asked(found)}: nothing that does it has a price. Without one: {setup(best)}{label}{maybe}"
        )
    if best.endless:
        return (
            f"Nothing is advisable for {_asked(found)}: no well-founded setup does it within a year. "
            f"{_TAKE[s.objective]} of the rest: {setup(best)}{label}{money}{maybe}"
        )
    return f"{_TAKE[s.objective]} for {_asked(found)}: {setup(best)}{label}{money}{maybe}"


def _to_buy(one: Choice) -> str:
    """What the cards cost, where they are bought."""
    return f" ({usd(one.buy_usd)} to buy)" if one.buy_usd == one.buy_usd else ""


def unproven(found: Recommendation) -> Choice | None:
    """What would come before a well-founded answer if what it rests on held."""
    best, measure = found.best, _ASKED_FIRST[found.scenario.objective]
    if best is None or not best.founded:
        return None
    ahead = [
        one for one in found.ranked
        if not one.founded and one.offered >= best.offered and one.tight <= best.tight
        and one.endless <= best.endless
        and measure(one) < measure(best)
    ]  # fmt: skip
    return min(ahead, key=measure, default=None)


def _cost(one: Choice) -> float:
    assert one.usd is not None
    return float(one.usd.value)


def _time(one: Choice) -> float:
    assert one.seconds is not None
    return float(one.seconds.value)


_ASKED_FIRST: Mapping[str, Callable[[Choice], float]] = {
    "cheapest": _cost,
    "fastest": _time,
    "power": lambda one: one.power_w,
    "gpus": lambda one: one.gpus,
}


def _unproven_ahead(found: Recommendation, best: Choice) -> str:
    """Beside the answer: what is ahead of it on paper alone."""
    one = unproven(found)
    if one is None:
        return ""
    assert one.usd is not None
    said = {
        "cheapest": usd(float(one.usd.value)),
        "fastest": speed_words(found.scenario, one).partition(" (")[0],
        "power": f"{one.power_w:,.0f} W",
        "gpus": words.count(one.gpus, "GPU"),
    }[found.scenario.objective]
    but = f"but {one.unseen} was measured" if one.unseen else f"but its price is {one.shaky}"
    return f"; on paper {setup(one)} for {said}, {but}"


def _unproven(found: Recommendation, best: Choice) -> str:
    """Why what is ahead on paper is not the answer."""
    one = unproven(found)
    if one is None:
        return ""
    s = found.scenario
    said = []
    if one.unseen:
        said.append(measured_vendors.unmeasured(s, one.gpu).rstrip("."))
    if one.shaky:
        said.append(f"its price of {usd(one.rent.usd)} per GPU and hour is {one.shaky}")
    if one.fp16:
        said.append(FP16)
    assert one.usd is not None
    money = f", {cost_text.banded(_money(one.usd))}{money_of(s)}" if np.isfinite(one.usd.value) else ""
    held = "both held" if one.unseen and one.shaky else "that held"
    return (
        f"**Only on paper.** {setup(one)}{_in_format(one)}{money}, {speed_words(s, one)}. "
        f"{words_first(said)}. It would come first if {held}."
    )


def _in_format(one: Choice) -> str:
    label = format_label(one)
    return f", {label}" if label == AS_RELEASED else f" in {label}" if label else ""


def details(found: Recommendation) -> list[str]:
    """Why, what would change the answer, how sure it is: first what stands above the controls."""
    return [*above(found), *beneath(found)]


def above(found: Recommendation) -> list[str]:
    """What stands between the answer and the controls: at most four sentences, so that these are in sight."""
    best = found.best
    if best is None:
        return [] if found.refused else [f"What stops them. {left_out(found)}."]
    return [*_said(_why(found, best), _change(found, best), _sure(found, best)), *_beside(found, best)[:1]]


def _beside(found: Recommendation, best: Choice) -> list[str]:
    """What only some answers have, the most telling first."""
    return _said(_slices(found, best), _short(found, best), _unproven(found, best))


def beneath(found: Recommendation) -> list[str]:
    """What else there is to say of the answer; it stands below the table."""
    best = found.best
    if best is None:
        return []
    return [*_beside(found, best)[1:], *_said(_used(found, best), _room(found, best), _pinned(found))]


def _said(*lines: str) -> list[str]:
    return [line for line in lines if line]


def speed_words(s: Scenario, one: Choice) -> str:
    """How fast, in the unit of the purpose."""
    assert one.seconds is not None
    value, low, high = (float(getattr(one.seconds, side)) for side in ("value", "low", "high"))
    if purpose(s) in SERVED:
        return f"{words.three(1 / value)} tokens/s ({words.three(1 / high)} to {words.three(1 / low)})"
    if purpose(s) == "images":
        return f"{1 / value:.2f} images/s"
    day = 86400
    return words.span_band(value / day, low / day, high / day)


def _why(found: Recommendation, best: Choice) -> str:
    s, asked = found.scenario, purpose(found.scenario)
    assert best.seconds is not None
    memory = float(catalogue.spec_row(best.gpu)["memory_gb"])
    parts = []
    if asked in SERVED:
        each = "The user" if asked == "one" else f"Each of {s.concurrency:,} users"
        wish = f", {s.least_tokens_per_s:g} asked" if s.least_tokens_per_s else ""
        parts.append(f"**Why.** {each} gets {speed_words(s, best)}{wish}")
        if best.first_s is not None:
            limit = f" of {s.max_ttft_s:g} s allowed" if s.max_ttft_s else ""
            parts.append(f"the first token comes after {words.three(float(best.first_s.value))} s{limit}")
        where = "" if best.boards == 1 else f" of each of {best.boards} GPUs"
        parts.append(f"weights and cache take {100 * best.use.memory:.0f} % of the {memory:g} GB{where}")
    elif asked == "images":
        return (
            f"**Why.** {speed_words(s, best)} on one GPU in the best MLPerf Inference submission (Offline, "
            "closed). We have no memory or speed model of image models: only cards with a result are ranked."
        )
    else:
        what = "The batch" if asked == "batch" else "The run"
        parts.append(f"**Why.** {what} takes {speed_words(s, best)}")
        if asked == "batch":
            parts.append(f"each copy answers {best.users_each:,} requests at once")
            if best.output_per_s is not None:
                day = float(best.output_per_s.value) * 86400
                parts.append(f"all write {words.large(float(f'{day:.3g}'))} tokens a day")
        else:
            parts.append(f"memory is {100 * best.use.memory:.0f} % full")
            parts += [FP16] if best.fp16 else []
        if best.split and asked != "batch":
            parts.append(f"{'split as' if best.gpus > 1 else 'on'} {best.split}")
    return "; ".join(parts) + "." + _second(found, best)


def _second(found: Recommendation, best: Choice) -> str:
    """The next in line, by the measure that was asked for."""
    s = found.scenario
    others = [one for one in found.ranked if one is not best]
    if not others:
        return ""
    second = others[0]
    assert second.usd is not None
    assert best.usd is not None
    assert second.seconds is not None
    assert best.seconds is not None
    many = second.gpus > 1
    take, draw, be = ("take", "draw", "are") if many else ("takes", "draws", "is")
    cost = _dearer(second.usd, best.usd, many)
    alike = f"{be} as good in that, and {cost}"
    said = {
        "cheapest": cost,
        "fastest": alike
        if _times(second.seconds, best.seconds) == "1.00 times"
        else f"{take} {_times(second.seconds, best.seconds)} as long",
        "power": alike
        if f"{second.power_w:.0f}" == f"{best.power_w:.0f}"
        else f"{draw} {second.power_w:,.0f} W instead of {best.power_w:,.0f} W",
        "gpus": alike if second.gpus == best.gpus else f"{take} {second.gpus} instead of {best.gpus}",
    }[s.objective]
    return f" Next in line, {setup(second)} {said}."


def _dearer(other: Measure, best: Measure, many: bool) -> str:
    """A cost against that of the answer, which may be nothing (a GPU that was a gift), or not known."""
    if not np.isfinite(other.value):
        return "have no price" if many else "has no price"
    verb = "cost" if many else "costs"
    if not np.isfinite(best.value) or not float(best.value) > 0:
        return f"{verb} {usd(float(other.value))}"
    return f"{verb} {_times(other, best)} as much"


def _times(other: Measure, best: Measure) -> str:
    return f"{float(other.value) / float(best.value):.2f} times"


def _change(found: Recommendation, best: Choice) -> str:
    """The nearest switch points: in users or days, and in the price of the next in line."""
    said = _turns(found)
    if (price := found.price) is not None:
        name = catalogue.gpu_name(price.gpu)
        what = "for the card" if price.purchase else "per GPU and hour"
        said.append(f"{name} overtakes it below {dollars(price.usd)} {what} (now {dollars(price.now)})")
    if (poorer := found.poorer) is not None:
        amount = f"{usd(poorer.at)}{money_of(found.scenario)}"
        said.append(f"with less than {amount} to spend it is {_turn_setup(poorer)}")
    said = _smaller_cache(found, best) + said
    if not said:
        return ""
    return f"**What would change it.** {words_first(said)}."


def _smaller_cache(found: Recommendation, best: Choice) -> list[str]:
    """What a KV cache of 8 bits would save; nothing where it saves as good as nothing."""
    turn, s = found.cached, found.scenario
    if turn is None or best.usd is None or s.objective != "cheapest":
        return []
    now = float(best.usd.value)
    if not turn.usd < now * (1 - SAME):
        return []
    less = f"{100 * (1 - turn.usd / now):.0f}\u00a0%"
    return [
        f"with an 8-bit KV cache ({found.cache_format}) {_turn_setup(turn)} {_first_verb(turn)} at "
        f"{usd(turn.usd)}{money_of(s)}, {less} less; quality may suffer: try your own prompts"
    ]


def _first_verb(turn: Turn) -> str:
    return "comes first" if turn.boards * turn.copies == 1 else "come first"


def _short(found: Recommendation, best: Choice) -> str:
    """A run of minutes on many GPUs: what is not counted, and what one GPU would take."""
    if purpose(found.scenario) in (*SERVED, "images") or best.gpus == 1 or not _time(best) < SHORT_S:
        return ""
    one = found.single
    single = (
        f" For about the same money: {_turn_setup(one)}, {words.span(one.seconds / 86400)}, "
        f"{usd(one.usd)}{money_of(found.scenario)}."
        if one
        else ""
    )
    return (
        f"**A short run.** Only the run is counted, not the least time that a provider bills. Starting "
        f"{best.gpus:,} GPUs and loading the model is not counted, and can take longer than the run.{single}"
    )


def dollars(value: float) -> str:
    """Dollars with three figures, where a point at which something changes must not be rounded away."""
    return usd(value) if value >= 100 else f"${float(f'{value:.3g}'):g}" if value < 10 else f"${value:.1f}"


def _turn_setup(turn: Turn) -> str:
    """What comes first, and why it stands behind others where it does not do so for sure."""
    assert turn.gpu is not None
    notes = [
        *(["memory is tight"] if turn.tight else []),
        *([] if turn.offered else ["none of our quotes is of so many together"]),
        *([] if turn.founded else ["on paper only"]),
    ]
    return words.setup(turn.boards, turn.copies, catalogue.gpu_name(turn.gpu), turn.cut, *notes)


def _turns(found: Recommendation) -> list[str]:
    """With how many users, or days, another GPU comes first; one sentence where both sides name the same."""
    below, above = found.below, found.above
    if below is None or above is None or below.gpu is None or below.gpu != above.gpu:
        return [_turn(found, turn) for turn in (below, above) if turn]
    name, other = catalogue.gpu_name(below.gpu), found.of(below.gpu)
    few, many = (f"{_turn_setup(turn)}{_not_yet(found, turn)}" for turn in (below, above))
    said = f"{name} comes first {_amount(found, below)}, {few}, and {_amount(found, above)}, {many}"
    what = "the number of users" if purpose(found.scenario) in SERVED else "the time"
    return [f"{said}; they are tied here, so {what} does not decide" if other and other.tied else said]


def _amount(found: Recommendation, turn: Turn) -> str:
    """With how many users or days; of users where not every number was tried, between which two it turns."""
    if purpose(found.scenario) not in SERVED:
        return f"with {turn.at:.3g} days"
    if not abs(turn.at - turn.last) > 1:  # or nothing is known of the last
        return f"with {words.count(turn.at, 'user')}"
    low, high = sorted((turn.at, turn.last + (1 if turn.at > turn.last else -1)))
    return f"somewhere between {low:,.0f} and {high:,.0f} users"


def _not_yet(found: Recommendation, turn: Turn) -> str:
    """The nearest number of days that still has the answer, where that is no neighbour."""
    s = found.scenario
    if purpose(s) in SERVED or turn.last == s.deadline_days or 1 / 1.05 < turn.at / turn.last < 1.05:
        return ""
    return f", not yet with {turn.last:.3g} days"


def _turn(found: Recommendation, turn: Turn) -> str:
    amount = _amount(found, turn)
    if turn.gpu is None:
        return f"{amount} nothing meets your limits{_not_yet(found, turn)}"
    other = found.of(turn.gpu)
    verb = _first_verb(turn)
    tied = ", though tied with it here" if other and other.tied else ""
    return f"{amount} {_turn_setup(turn)} {verb}{_not_yet(found, turn)}{tied}"


def _sure(found: Recommendation, best: Choice) -> str:
    s = found.scenario
    tied = [one.name for one in found.ranked if one.tied]
    said = []
    unseen = "" if purpose(s) == "images" else measured_vendors.unmeasured(s, best.gpu)
    if unseen:
        said.append(f"no speed was measured on such a card: {unseen.rstrip('.')}")
    if tied:
        said.append(
            f"tied with it, inside each other's bands: {words.listed(tied)}{_cheapest_tied(found, best)}"
        )
    near = _near(found, best)
    if near:
        said.append(f"less than {100 * SAME:.0f} % dearer, and quotes differ by more: {words.listed(near)}")
    if not tied and not near and purpose(s) != "images" and best.founded:
        said.append("nothing ties with it")
    if not best.sure and s.deadline_days is not None and purpose(s) not in SERVED:
        safe = found.safe_days
        ask = (
            f": ask for {safe:g} days to be safe from that"
            if safe
            else ", and with any number that was tried"
        )
        said.append(f"at the slow end of the 80 % band it is late{ask}")
    elif not best.sure:
        said.append(f"at the bad end of the 80 % band it misses your target{_then(found, best)}")
    elif purpose(s) in SERVED:
        said.append("it meets your targets even at the bad end of the 80 % band")
    if best.rent.known and not best.rent.edited:
        said.append(f"price {usd(best.rent.usd)} per GPU and hour ({best.rent.note})")
    elif not best.rent.known:
        said.append("nobody quotes a price, so its cost is not known")
    if s.price_basis == price_load.OWN_BASIS and not best.rent.edited:
        use = f"working {100 * s.busy_share:.3g} % of the hours"
        around = "without the computer around it"
        around = f"and {usd(s.host_usd)} of computer and room" if s.host_usd else around
        said.append(
            f"that is the card{' alone' * (not s.host_usd)} {around}, over {s.own_years:g} years, {use}"
        )
    said += [other for other in (_cheapest_quotes(found, best), _firmer(found, best)) if other]
    return f"**How sure.** {words_first(said)}."


def _near(found: Recommendation, best: Choice) -> list[str]:
    """What costs as much as the answer by any price list, though not inside its band."""
    if found.scenario.objective != "cheapest" or not best.rent.known:
        return []
    assert best.usd is not None
    most = float(best.usd.value) * (1 + SAME)
    alike = (best.offered, best.tight, best.founded)
    return [
        one.name
        for one in found.ranked
        if one is not best
        and not one.tied
        and (one.offered, one.tight, one.founded) == alike
        and one.usd is not None
        and float(one.usd.value) <= most
    ]


def _cheapest_tied(found: Recommendation, best: Choice) -> str:
    """Which of several that cannot be told apart costs least, where that was not asked for."""
    if found.scenario.objective == "cheapest":
        return ""
    priced = [
        (float(one.usd.value), one)
        for one in found.ranked
        if (one.tied or one is best) and one.usd is not None and np.isfinite(float(one.usd.value))
    ]
    if not priced:
        return ""
    least, one = min(priced, key=lambda pair: pair[0])
    which = "it costs least of them" if one is best else f"{setup(one)} {_comes('cost', one)} least of them"
    return f" ({which}, {usd(least)})"


def _comes(verb: str, one: Choice) -> str:
    """The verb of one GPU or of several."""
    return verb if one.gpus > 1 else f"{verb}s"


def _then(found: Recommendation, best: Choice) -> str:
    """What the GPU costs if it is as slow as the bad end of its band, with as many of it as that takes."""
    assert best.usd is not None
    high, s = float(best.usd.high), found.scenario
    if s.objective != "cheapest" or not high > float(best.usd.value):
        return ""
    return (
        f", which would then cost {usd(high)}{money_of(s)}"
        if np.isfinite(high)
        else ", with any number of it"
    )


def _cheapest_quotes(found: Recommendation, best: Choice) -> str:
    """Whether the answer would be another one if every GPU were had at its cheapest quote."""
    s = found.scenario
    if s.objective != "cheapest" or s.price_basis != "median" or not best.rent.known:
        return ""

    def least(one: Choice) -> float:
        rent = one.rent
        assert one.usd is not None
        share = rent.low / rent.usd if rent.known and not rent.edited and rent.usd > 0 else 1.0
        return float(one.usd.value) * share

    among = [
        one
        for one in found.ranked
        if one.rent.known
        and (one.offered, one.tight, one.founded) == (best.offered, best.tight, best.founded)
    ]
    first = min(among, key=least, default=best)
    if first is best:
        return "also first at every GPU's cheapest quote"
    return f"at every GPU's cheapest quote {setup(first)} would come first, {usd(least(first))}{money_of(s)}"


def _thin(s: Scenario, best: Choice) -> list[str]:
    """That the price of an answer rests on too little."""
    thin = price_load.thin(best.rent)
    return [f"its price is {thin}"] if thin and not best.shaky and purpose(s) != "images" else []


def _firmer(found: Recommendation, best: Choice) -> str:
    """What comes first among GPUs whose prices rest on more, where that of the answer rests on little."""
    s = found.scenario
    if s.objective != "cheapest" or not price_load.thin(best.rent):
        return ""
    firm = (
        one for one in found.ranked
        if one.rent.known and not price_load.thin(one.rent) and one.firm
    )  # fmt: skip
    first = next(firm, None)
    if first is None:
        return "no GPU that does it has several recent quotes"
    assert first.usd is not None
    return (
        f"among GPUs with several quotes of the last {price_load.TOO_OLD_DAYS} days {setup(first)} "
        f"{_comes('come', first)} first, {usd(float(first.usd.value))}{money_of(s)}"
    )


def words_first(parts: list[str]) -> str:
    """Parts of a sentence, the first with a capital letter."""
    text = "; ".join(parts)
    return text[:1].upper() + text[1:]


def _used(found: Recommendation, best: Choice) -> str:
    if purpose(found.scenario) not in (*SERVED, "batch"):
        if best.use.compute != best.use.compute:
            return ""
        return f"**Use.** {100 * best.use.compute:.0f} % of the dense peak goes into the model (MFU)."
    use = best.use
    said = f"memory is read {_percent(use.bandwidth)} of the time, tensor cores work {_percent(use.compute)}"
    if use.link > SHOWN:
        said += f", waiting for other GPUs {_percent(use.link)}"
    if use.fixed > SHOWN:
        said += f", the engine's fixed time per step takes {_percent(use.fixed)}"
    told = [said, f"{WAITS}: a faster one would write no faster" if waits(best) else "", overkill(best)]
    return "**Use.** " + " ".join(f"{words_first([one])}." for one in told if one)


def _pinned(found: Recommendation) -> str:
    """The pinned GPUs: their place and cost, or why they are not in the table."""
    places = {one.gpu: place + 1 for place, one in enumerate(found.ranked)}
    said = []
    out: dict[str, list[str]] = {}
    for gpu in found.scenario.gpus:
        one = found.of(gpu)
        if one is None:
            continue
        if one.reason:
            out.setdefault(words.cut(one.reason.rstrip("."), 60), []).append(one.name)
        elif one.usd is not None and np.isfinite(one.usd.value):
            said.append(f"{_told_setup(one)} no. {places[gpu]}, {usd(float(one.usd.value))}")
        else:
            said.append(f"{_told_setup(one)} no. {places[gpu]}, no price")
    said += [f"{words.listed(names)}: {reason}" for reason, names in out.items()]
    return f"**Your pinned GPUs.** {'; '.join(said)}." if said else ""


def _told_setup(one: Choice) -> str:
    """A setup with what another page might count otherwise: its split, and why it stands behind others."""
    return cut_setup(one, *doubts(one), *([FP16] if one.fp16 else []))


def _slices(found: Recommendation, best: Choice) -> str:
    """How the answer can be cut, where the reader asked for cards that can be."""
    s = found.scenario
    profiles = recommend_slices.slices_words(best.gpu)
    if not s.need_mig or purpose(s) not in SERVED or not profiles:
        return ""
    work = workload.load(s).title
    holds = recommend_slices.holds(s, best.gpu)
    speed = " No slice's speed is estimated, so whether it writes fast enough is not known."
    return f"**Slices of one {best.name}.** At most {profiles}. For one user of {work}: {holds}.{speed}"


def _room(found: Recommendation, best: Choice) -> str:
    """That memory is kept for a longer context than a request needs, where it makes up part of the cost."""
    s = found.scenario
    asked = s.prompt_tokens + s.output_tokens
    if purpose(s) not in SERVED or s.max_model_len < 2 * asked or best.use.memory < 0.5:
        return ""
    return (
        f"**Context.** Each user keeps room for {s.max_model_len:,} tokens, a request is {asked:,}. If no "
        f"conversation grows longer, set the context lower: less memory may mean fewer or smaller GPUs."
    )


def _percent(share: float) -> str:
    return f"{100 * share:.0f}\u00a0%" if share == share else "?"


def overkill(one: Choice) -> str:
    """What the work leaves unused, or what it lacks, from the shares alone."""
    use = one.use
    if use.bandwidth != use.bandwidth:
        return ""
    said = []
    if max(share for share in (use.memory, use.bandwidth, use.compute) if share == share) < OVER:
        said.append("overkill: no part of it is used by more than a third")
    elif use.compute < 0.1:
        what = "memory and the engine" if waits(one) else "memory"
        said.append(f"{_percent(1 - use.compute)} of the compute paid for waits for {what}")
    if one.alone > 1:
        said.append(f"too small alone: one would need {one.alone:.1f} times its memory")
    if use.link > 0.25:
        said.append(f"{_percent(use.link)} of the time goes into exchanging parts of layers")
    return "; ".join(said)


def left_out(found: Recommendation) -> str:
    """The GPUs that cannot, by reason."""
    reasons: dict[str, list[str]] = {}
    for one in found.choices:
        if one.reason:
            reasons.setdefault(one.reason.rstrip("."), []).append(one.name)
    ordered = sorted(reasons.items(), key=lambda pair: -len(pair[1]))
    return "; ".join(f"{words.cut(reason, 120)}: {words.listed(names, 4)}" for reason, names in ordered)


def fit_link(s: Scenario, one: Choice) -> str:
    """The Fit page at this choice."""
    fields: dict[str, object] = {"gpus": (one.gpu,), "gpu_count": min(one.boards, 64)}
    if purpose(s) in (*SERVED, "batch"):
        fields |= {"weight_format": one.format or s.weight_format}
        fields |= {"split": "pipeline"} if one.staged else {}
        if purpose(s) in SERVED:
            fields["concurrency"] = one.users_each or s.concurrency
    elif purpose(s) == "train":
        fields["train_gpus"] = one.gpus
    shown = s.model_copy(update=fields)
    drop = (
        "look",
        "goal",
        "serving",
        "free",
        "ttft",
        "budget",
        "spend",
        "reqs",
        "place",
        "maker",
        "watts",
        "most",
        "duel",
    )
    query = {
        k: v for k, v in link.encode(shown).items() if k not in (*drop, "nvlink", "mig", "ecc", "config")
    }
    return f"fit?{urlencode(query)}"


# ---------------------------------------------------------------- the table


def titles(s: Scenario) -> tuple[str, ...]:
    """Titles of the ranked table."""
    if purpose(s) == "images":
        return ("GPU", "USD per 1,000 images", "Images/s", "Power", "Price per hour")
    first = ("GPU", f"Cost{money_of(s).replace(' in all', '')}")
    if purpose(s) in SERVED:
        return (
            *first,
            "Setup",
            "Each user",
            "First token",
            "Power",
            "Used: memory, bandwidth, compute",
            "Note",
        )
    used = "Used: bandwidth, compute" if purpose(s) == "batch" else "Used: memory, compute"
    return (*first, "Setup", "Time", "Power", used, "Note")


def rows(found: Recommendation) -> list[tuple[str, ...]]:
    """Every GPU that does the work, best first."""
    s = found.scenario
    return [_row(s, place + 1, one) for place, one in enumerate(found.ranked)]


def _row(s: Scenario, place: int, one: Choice) -> tuple[str, ...]:
    assert one.usd is not None
    asked = purpose(s)
    money = cost_text.banded(_money(one.usd)) if np.isfinite(one.usd.value) else "no price"
    money += _to_buy(one)
    power = f"{one.power_w:,.0f} W" if one.power_w == one.power_w else "?"
    name = f"{place}. {one.name}"
    if asked == "images":
        price = usd(one.rent.usd) if one.rent.known else "no price"
        return (name, money, speed_words(s, one), power, price)
    fmt = format_label(one) if s.format_freedom != "this" else ""
    cut = one.cut if one.users_each else ""
    how = words.setup(one.boards, one.copies, "", cut).replace(" GPUs", "").replace(" GPU", "")
    where = ", ".join(part for part in (how, fmt) if part)
    use = one.use
    if asked in SERVED:
        assert one.first_s is not None
        mark = f" {HELD}" if waits(one) else ""
        shares = ", ".join(_percent(x) for x in (use.memory, use.bandwidth, use.compute))
        first = f"{words.three(float(one.first_s.value))} s"
        return (name, money, where, f"{speed_words(s, one)}{mark}", first, power, shares, _note(one))
    shares = ", ".join(_percent(x) for x in (use.bandwidth if asked == "batch" else use.memory, use.compute))
    return (name, money, where, speed_words(s, one), power, shares, _note(one))


def _money(measure: Measure) -> cost_text.Money:
    return cost_text.Money(measure.value, measure.low, measure.high)


def _note(one: Choice) -> str:
    said = []
    if one.tied:
        said.append("tied with the first")
    if one.frontier:
        said.append("on the frontier")
    said += doubts(one)
    if one.fp16:
        said.append(FP16)
    if not one.sure:
        said.append("misses the target at the bad end of its band")
    if word := overkill(one):
        said.append(word)
    return "; ".join(said)


def held(found: Recommendation) -> str:
    """That cards are equally fast because they wait for the engine: once for all, not in every row."""
    if purpose(found.scenario) not in SERVED:
        return ""
    equal: dict[str, list[str]] = {}
    for one in found.ranked:
        if waits(one):
            equal.setdefault(speed_words(found.scenario, one).partition(" (")[0], []).append(setup(one))
    told = [f"{speed} of {words.listed(names, 4)}" for speed, names in equal.items()]
    if not told:
        return ""
    return (
        f"{HELD} Held by the engine's fixed time per step, not by the card: {'; '.join(told)}. A faster card "
        "would write no faster."
    )


HELD = "*"  # beside a speed that the engine holds, explained once
