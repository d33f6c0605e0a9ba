"""Draws the Recommend page: the answer, the form, the chart, and the tables of the view chosen."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Any

import numpy as np
import streamlit as st

from calculators.ranking import Measure
from calculators.scenario import Scenario
from pages.ui import (
    catalogue,
    controls,
    cost_text,
    figures_recommend,
    plain_table,
    recommend_duel,
    recommend_fields,
    recommend_report,
    recommend_slices,
    recommend_text,
    recommend_views,
    state,
    told,
    training_controls,
    words,
)
from pages.ui.compare_text import short_name
from pages.ui.recommend_judgements import judgements, sources
from pages.ui.recommend_load import PURPOSES, Recommendation, purpose, with_purpose
from pages.ui.recommend_presets import PRESETS, PUT_BACK

MOST_ROWS = 12
MOST_POINTS = 40


def sidebar(scenario: Scenario) -> None:
    """Model and method by task; what the work must reach stands on the page."""
    if purpose(scenario) == "images":  # results of one model, no engine and no format of ours
        st.caption("Images: measured results of Stable Diffusion XL; no model, format or engine is chosen.")
        controls.gpu_picker(scenario)
        return
    controls.model(scenario)
    if scenario.task == "serve":
        controls.formats(scenario)
        controls.engine(scenario)
    else:
        training_controls.method(scenario)
    controls.gpu_picker(scenario)


# ---------------------------------------------------------------- what the reader does


def _enter(entered: Any) -> None:
    """Keep what was typed or chosen. A callback."""
    fields = recommend_fields.taken(state.last(), str(entered.get("field")), entered.get("value"))
    if fields:
        state.put(**fields)
    else:
        told.keep(recommend_fields.refusal(state.last(), str(entered.get("field")), entered.get("value")))


def _preset(pressed: Any) -> None:
    """Fill the fields of a reader. A callback."""
    if preset := PRESETS.get(str(pressed.get("id"))):
        fields = {**PUT_BACK, **preset.fields}
        before = state.last()
        limits = words.listed(recommend_fields.limits_words(before.model_copy(update=fields)), 9)
        said = [told.also_changed(before, fields), f"Limits now: {limits or 'none'}."]
        told.keep(" ".join(one for one in said if one))
        state.put(**fields)


def _purpose(pressed: Any) -> None:
    """Change what it is for; a ceiling of dollars a month is none of a run. A callback."""
    if (asked := str(pressed.get("id"))) not in PURPOSES:
        return
    before = state.last()
    fields = {"task": "serve", "serving": "live", **with_purpose(before, asked)}
    after = before.model_copy(update=fields)
    said = []
    if recommend_text.money_of(after) != recommend_text.money_of(before) and before.cost_ceiling is not None:
        fields["cost_ceiling"] = None
        of = recommend_text.money_of(before)
        said.append(f"the ceiling of {cost_text.usd(before.cost_ceiling)}{of} is taken off")
    kept = recommend_fields.limits_words(after.model_copy(update=fields))
    if (
        after.task == "serve"
        and asked != "images"
        and after.engine != Scenario.model_fields["engine"].default
    ):
        kept.append(f"engine {catalogue.engines()[after.engine].label}")
    if kept:
        said.append(f"still asked for: {words.listed(kept, 9)}")
    text = "; ".join(said)
    told.keep(f"{text[:1].upper()}{text[1:]}." if text else "")
    state.put(**fields)


def _view(pressed: Any) -> None:
    """Show another view. A callback."""
    if (view := str(pressed.get("id"))) in recommend_fields.VIEWS:
        state.put(recommend_view=view)


def _duel(pressed: Any) -> None:
    """Take a ready duel. A callback."""
    if gpus := recommend_duel.DUELS.get(str(pressed.get("id"))):
        state.put(duel_gpus=gpus)


def form(scenario: Scenario) -> None:
    """Everything that can be set."""
    data = recommend_fields.form(scenario)
    view = scenario.recommend_view
    if view != "ranking":
        data["presets"] = data["purposes"] = []
    if view == "duel":
        data["duels"] = [
            {
                "id": name,
                "label": name,
                "help": f"Compare {words.listed([catalogue.gpu_name(g) for g in gpus])}.",
            }
            for name, gpus in recommend_duel.DUELS.items()
        ]
    data["notice"] = told.taken()
    callbacks = {"entered": _enter, "preset": _preset, "purpose": _purpose, "view": _view, "duel": _duel}
    recommend_report.form(data, callbacks)


# ---------------------------------------------------------------- the answer


def verdict(found: Recommendation) -> None:
    """The answer in one sentence, why, what would change it, how sure it is; the rest is below the table."""
    best = found.best
    lines = [f"- {cost_text.safe(line)}" for line in recommend_text.above(found)]
    if best is not None and purpose(found.scenario) != "images":
        lines[0] += f" [Open this setup in Fit]({recommend_text.fit_link(found.scenario, best)})"
    st.markdown("\n".join((f"### {cost_text.safe(recommend_text.headline(found))}\n", *lines)))


def ranking(found: Recommendation) -> None:
    """The chart and the table of every GPU."""
    rows = recommend_text.rows(found)
    lines = [recommend_text.held(found), *recommend_text.beneath(found)]
    notes = [line.replace("**", "") for line in lines if line]
    notes += [f"Assumed: {note}" for note in found.notes]
    if out := recommend_text.left_out(found):
        notes.append(f"Left out. {out}.")
    if found.scenario.format_freedom != "this":
        notes.append("Formats differ in quality, which nothing here measures: try your own prompts first.")
    parts = []
    if rows:
        caption = (
            "Best first; each GPU with its best setup. In brackets the 80 % band. Used: memory filled, share "
            "of the time in which memory is read and tensor cores work."
        )
        parts.append(
            _part(
                "ranking",
                "Every GPU that does it",
                MOST_ROWS,
                recommend_text.titles(found.scenario),
                rows,
                caption,
                notes,
            )
        )
    elif notes:
        parts.append(_part("ranking", "", 0, (), [], "Nothing does it.", notes))
    recommend_report.report(parts, _figure(found))


def _part(
    name: str, title: str, most: int, titles: Any, rows: Any, caption: str, notes: Any = ()
) -> dict[str, Any]:
    return {**plain_table.table(caption, titles, rows, list(notes)), "id": name, "title": title, "most": most}


def _with(table: dict[str, Any] | None, name: str, title: str, most: int = 99) -> list[dict[str, Any]]:
    return [{**table, "id": name, "title": title, "most": most}] if table else []


MOST_ABOVE = 4  # sentences between a view's first line and its controls; the rest stands below the table


def _with_rest(table: dict[str, Any], said: Sequence[str]) -> dict[str, Any]:
    """A table with what did not stand above the controls."""
    return {**table, "notes": list(said[MOST_ABOVE:])}


def purposes(scenario: Scenario, today: date) -> None:
    """Training against inference: every card by purpose, the link, the slices."""
    table = recommend_views.purpose_table(scenario, today)
    parts = _with(_with_rest(table, table["notes"]), "purposes", "", MOST_ROWS)
    parts += _with(recommend_views.link_table(scenario), "link", "What the link between GPUs costs")
    parts += _with(recommend_slices.table(scenario, scenario.gpus), "slices", "Slices of one GPU (MIG)")
    recommend_report.report(parts)


def duel(scenario: Scenario, today: date) -> None:
    """Two to four cards side by side."""
    found = recommend_duel.duel(scenario, today)
    parts = _with(_with_rest(found.takes, found.sentences), "takes", "Who should take which")
    recommend_report.report(parts + _with(found.table, "duel", "Side by side"))


_OUTCOMES = {
    "agree": "Our numbers agree",
    "partly": "In part",
    "disagree": "Our numbers disagree",
    "no data": "No data",
}


def wisdom(today: date) -> None:
    """The field's judgements with our numbers."""
    rows = [
        (one.claim, _OUTCOMES[one.outcome], one.numbers, "; ".join(source.title for source in one.sources))
        for one in judgements(today)
    ]
    caption = (
        "Each judgement is run now through the same memory, speed and cost functions as every other page."
    )
    titles = ("What is said", "Our answer", "Our numbers", "Source")
    recommend_report.report([_part("judgements", "", 99, titles, rows, caption)])


HEADLINES = {
    "purposes": "Training or inference: which card serves which purpose",
    "duel": "Duel",
    "judgements": "Common wisdom, run through our numbers",
}


def title(scenario: Scenario, today: date) -> None:
    """The first line of a view that is not the ranking."""
    view = scenario.recommend_view
    text = HEADLINES[view]
    if view == "duel":
        text = " or ".join(catalogue.gpu_name(gpu) for gpu in scenario.duel_gpus) or text
        lines = [
            f"- {cost_text.safe(note)}"
            for note in recommend_duel.duel(scenario, today).sentences[:MOST_ABOVE]
        ]
    elif view == "judgements":
        found = judgements(today)
        agreed = sum(one.outcome == "agree" for one in found)
        lines = [
            f"- {agreed} of {len(found)} judgements hold in our numbers; the table says how each stands.",
            "- Said by: " + "; ".join(f"[{one.title}]({one.url})" for one in sources(found)) + ".",
        ]
    else:
        lines = [
            f"- {cost_text.safe(note)}"
            for note in recommend_views.purpose_table(scenario, today)["notes"][:MOST_ABOVE]
        ]
    st.markdown("\n".join((f"### {text}\n", *lines)))


# ---------------------------------------------------------------- the chart


def _speed(found: Recommendation, seconds: Measure) -> Measure:
    """The measure of the chart's axis: tokens/s of a user, images/s, or days."""
    if purpose(found.scenario) in ("one", "many", "images"):
        return Measure(1 / seconds.value, 1 / seconds.high, 1 / seconds.low)
    return Measure(*(side / 86400 for side in (seconds.value, seconds.low, seconds.high)))


def _figure(found: Recommendation) -> dict[str, Any] | None:
    points = []
    for place, one in enumerate(found.ranked):
        if (
            one.usd is None
            or one.seconds is None
            or not np.isfinite(one.usd.value)
            or not float(one.usd.value) > 0
        ):
            continue
        speed = _speed(found, one.seconds)
        name = short_name(one.name).rpartition(" ")[0] or one.name
        name = name if one.gpus == 1 else f"{one.gpus:,} × {name}"
        points.append(
            figures_recommend.Point(name, one.usd, speed, one.frontier, one.tied, place == 0, one.firm)
        )
    if len(points) < 2:
        return None
    asked = purpose(found.scenario)
    axis = {"one": "Tokens/s of the user", "many": "Tokens/s of each user", "images": "Images/s of one GPU"}
    cost_axis = f"USD{recommend_text.money_of(found.scenario)}"
    titles = cost_axis, axis.get(asked, "Days (up is faster)")
    return figures_recommend.pareto(points[:MOST_POINTS], *titles, asked not in axis, _alt(found))


def _alt(found: Recommendation) -> str:
    names = [one.name for one in found.ranked if one.frontier]
    return f"Cost against speed of every GPU that does it. On the frontier: {', '.join(names)}."
