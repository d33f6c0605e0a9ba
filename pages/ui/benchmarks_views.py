"""What the Benchmarks page shows of the selected results: figure, takeaway, notes, numbers and table.

Pure: the page only draws what these return. Results in different units never share a section.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal

import numpy as np
import pandas as pd

from calculators.scenario import Scenario
from gpu_data.benchmarks import name_reason
from pages.ui import benchmarks_estimate
from pages.ui.benchmarks_choices import INFERENCE, LLAMACPP, gpu_names, model_names, round_name
from pages.ui.benchmarks_mlperf import assumed
from pages.ui.benchmarks_select import Selected
from pages.ui.benchmarks_table import Table, table
from pages.ui.charts import Chart
from pages.ui.compare_select import floats
from pages.ui.compare_text import DASH, listed, number
from pages.ui.figures_benchmarks import Estimate, ResultBar, result_bars

MOST_BARS: Final = 20
TOLD: Final = ("gpu_key", "n_gpus", "trust", "submitter", "round")  # what the name of a bar is made from
STAR: Final = "★ "
WORTH_SAYING: Final = 1.05  # of a lead
TRUST_SERIES: Final = {
    "trusted": "Trusted community table",
    "reported": "Single reports",
    "unverified": "Unverified",
}


@dataclass(frozen=True)
class Measure:
    """One thing that bars can show: the column of the results, its unit, and what one bar stands for.

    `per_result` gives every result a bar of its own; otherwise a bar is the median of a GPU.
    """

    column: str
    label: str
    unit: str
    best: Literal["highest", "lowest", "shortest"] = "highest"
    per_result: bool = False

    @property
    def lower_is_better(self) -> bool:
        """Whether the smallest figure wins."""
        return self.best != "highest"


@dataclass(frozen=True)
class Section:
    """One chart and one table of results in one unit.

    `figure` is None when nothing can be ranked. `takeaway` is the sentence above it, `notes` the caveats,
    `numbers` what is drawn as text.
    """

    key: str
    title: str
    figure: Chart | None
    takeaway: str
    notes: tuple[str, ...]
    numbers: pd.DataFrame
    table: Table


@dataclass(frozen=True)
class _Group:
    """The results behind one bar."""

    name: str
    values: np.ndarray
    series: str
    gpu_key: str
    n_gpus: int
    pinned: bool
    who: str
    estimate: Estimate | None

    @cached_property
    def median(self) -> float:
        """The middle of the values, NaN when none has a number."""
        return float(np.nanmedian(self.values)) if np.isfinite(self.values).any() else float("nan")


TOKENS_PER_S: Final = Measure("tokens_per_s", "speed", "tokens/s")
TRAINING_MEASURE: Final = {
    "minutes": Measure("minutes_to_train", "time to train", "minutes", "shortest", True),
    "gpu-hours": Measure("gpu_hours", "GPU time to train", "GPU-hours", "lowest"),
    "tokens-per-gpu": Measure("tokens_per_s_per_gpu", "training speed per GPU", "tokens/s per GPU"),
}


def inference_measure(unit: str, choice: str) -> Measure:
    """What a bar shows for results in that unit; a latency is never divided by GPUs."""
    spelled = unit[0].lower() + unit[1:]
    if unit.startswith("Latency"):
        return Measure(
            "value", "latency", spelled.removeprefix("latency ").strip("()"), "lowest", choice != "per-gpu"
        )
    if choice == "per-gpu":
        return Measure("value_per_gpu", "throughput per GPU", f"{spelled} per GPU")
    return Measure("value", "throughput of the system", spelled, per_result=True)


def sections(selected: Selected, scenario: Scenario) -> list[Section]:
    """What to draw, a section per unit; one unranked list when the results answer several questions.

    Nothing when no result passes.
    """
    if selected.rows.empty:
        return []
    if not selected.one_question:
        return [_list(selected)]
    if selected.lane == LLAMACPP:
        return [_llamacpp(selected, scenario)]
    if selected.lane != INFERENCE:
        return [_mlperf(selected, scenario, TRAINING_MEASURE[scenario.train_measure], selected.rows, "")]
    units = [str(unit) for unit in selected.rows["unit"].unique()]
    parts = []
    for unit in units:
        rows = selected.rows[(selected.rows["unit"] == unit).to_numpy(dtype=bool)]
        parts.append(_mlperf(selected, scenario, inference_measure(unit, scenario.infer_measure), rows, unit))
    return parts


def different_units(selected: Selected) -> str:
    """A sentence when the chosen rounds report the benchmark in different units, else nothing."""
    if selected.lane != INFERENCE or not selected.one_question or selected.rows["unit"].nunique() < 2:
        return ""
    found = selected.rows.groupby("unit")["round"].unique()
    parts = [f"{unit} in {listed(sorted(map(str, rounds)), 8)}" for unit, rounds in found.items()]
    return (
        f"The unit of this benchmark changed between rounds: {'; '.join(parts)}. Each unit has a chart and a "
        "table of its own, because such figures cannot be ranked together."
    )


def _llamacpp(selected: Selected, scenario: Scenario) -> Section:
    rows = selected.rows
    shown = {str(key) for key in rows["test"].unique()}
    test = next(iter(sorted(shown)), scenario.bench_test)
    formats = sorted({str(name) for name in rows["quant"].unique()})
    model = model_names().get(scenario.bench_model, scenario.bench_model)
    what = f"{model}, {listed(formats, 2) or scenario.bench_format}, {test}"
    phase = "prompt tokens read" if scenario.bench_test.startswith("pp") else "tokens generated"

    def name(row: dict[str, object]) -> str:
        trust = "" if row["trust"] == "trusted" else f" ({row['trust']})"
        return f"{_gpu(row)}{_times(row)}{trust}"

    groups = _groups(
        rows, TOKENS_PER_S.column, scenario, LLAMACPP, name, lambda row: TRUST_SERIES[str(row["trust"])]
    )
    ranked, cut = _ranked(groups, TOKENS_PER_S)
    failed = [group for group in groups if not np.isfinite(group.median)]
    takeaway = _takeaway(ranked, TOKENS_PER_S, f"on {what}", who=False)
    if failed:
        takeaway += f" Out of memory: {listed([group.name for group in failed], 6)}."
    notes = [
        f"{phase[0].upper()}{phase[1:]} per second, one user. Layers are split over several GPUs, which adds "
        "memory but no speed. Builds differ in age, and newer ones are faster: the table names them."
    ]
    remarks = rows[rows["note"].notna().to_numpy(dtype=bool)]
    for remark, doubted in remarks.groupby("note")["gpu"]:
        notes.append(f"{listed([str(name) for name in doubted.unique()], 6)}: {remark}.")
    if any(group.estimate for group in ranked):
        notes.append(
            f"{DIAMONDS}, made with constants that were fitted without that result{_band_words(ranked)}."
        )
    notes += _without_estimate(LLAMACPP, rows)
    if selected.hidden_unverified:
        notes.append(
            f"{selected.hidden_unverified} unverified results are left out; a switch under Filters shows "
            "them."
        )
    return _section(
        selected,
        "llamacpp",
        f"llama.cpp: {what}",
        TOKENS_PER_S,
        ranked,
        cut,
        takeaway,
        notes,
        rows,
        "Bar chart of measured llama.cpp tokens per second, one bar per GPU and number of GPUs, fastest "
        "on top.",
    )


def _mlperf(
    selected: Selected, scenario: Scenario, measure: Measure, rows: pd.DataFrame, unit: str
) -> Section:
    several = rows["round_key"].nunique() > 1
    training = selected.lane != INFERENCE

    def name(row: dict[str, object]) -> str:
        counted = _times(row) if measure.per_result or training else ""
        who = f" · {_submitter(row)}" if measure.per_result else ""
        return f"{_gpu(row)}{counted}{who}" + (f" · {row['round']}" if several else "")

    groups = _groups(
        rows,
        measure.column,
        scenario,
        selected.lane,
        name,
        lambda row: f"Round {row['round']}" if several else "",
        each=measure.per_result,
    )
    ranked, cut = _ranked(groups, measure)
    asked = scenario.train_benchmark if training else scenario.infer_benchmark
    benchmark = next(iter(sorted({str(b) for b in rows["benchmark"].unique()})), asked)
    question = benchmark if training else f"{benchmark} {scenario_name(rows, scenario)}"
    when = listed([round_name(key) for key in selected.rounds if key in set(rows["round_key"])], 4)
    dated = f", round{'s' if several else ''} {when}" if when else ""
    takeaway = _takeaway(ranked, measure, f"in {question}{dated}", who=True)
    notes = _mlperf_notes(measure, rows, groups)
    if any(group.estimate for group in ranked):
        notes.append(
            f"{DIAMONDS}, to which no MLPerf result was fitted. {_held(selected.lane, rows, measure.column)} "
            f"{assumed(benchmark)}"
        )
    notes += _without_estimate(selected.lane, rows)
    return _section(
        selected,
        "-".join(filter(None, [selected.lane, unit.split("/")[0].split(" ")[0].lower()])),
        f"MLPerf {'Training' if training else 'Inference'} {when}: {question}",
        measure, ranked, cut, takeaway, notes, rows,
        f"Bar chart of MLPerf results, {measure.label} in {measure.unit}, best on top.",
    )  # fmt: skip


DIAMONDS: Final = "Diamonds are our estimates"


def _band_words(ranked: Sequence[_Group]) -> str:
    banded = any(group.estimate.low < group.estimate.high for group in ranked if group.estimate)
    return "; the line through one is the band that holds four of five such results" if banded else ""


def _held(lane: str, rows: pd.DataFrame, column: str) -> str:
    """How many of the results lie inside the band of their estimate, a sentence."""
    pairs = zip(benchmarks_estimate.estimates(lane, rows, column), floats(rows[column]), strict=True)
    inside = [one.low <= value <= one.high for one, value in pairs if one is not None]
    return (
        f"The line through one is the band made to hold four of five measurements; it holds {sum(inside)} of "
        f"these {len(inside)} results."
    )


def _without_estimate(lane: str, rows: pd.DataFrame) -> list[str]:
    """Why results stand without an estimate, one sentence."""
    found = benchmarks_estimate.reasons(lane, rows)
    if not found:
        return []
    total = sum(found.values())
    which = (
        "Without an estimate of ours" if total == len(rows) else f"{total} of {len(rows)} without one of ours"
    )
    parts = [why if total == count else f"{why} ({count})" for why, count in found.items()]
    return [f"{which}: {listed(parts, 4)}."]


def scenario_name(rows: pd.DataFrame, scenario: Scenario) -> str:
    """The MLPerf scenario as the results spell it."""
    return next(iter(sorted({str(s) for s in rows["scenario"].unique()})), scenario.infer_scenario)


def _mlperf_notes(measure: Measure, rows: pd.DataFrame, groups: Sequence[_Group]) -> list[str]:
    notes = []
    if measure.per_result:
        notes.append("Each bar is one result of a whole system; ×8 means that it has eight GPUs.")
    elif measure.unit.startswith("GPU-hours") or measure.column == "tokens_per_s_per_gpu":
        notes.append(
            "A bar is the median of the results with that GPU in that number; a line runs from the lowest to "
            "the highest, brackets count them. The more GPUs share a job, the less each one gets done."
        )
    else:
        notes.append(
            "A bar is the median of the results with that GPU; a line runs from the lowest to the highest, "
            "brackets count them."
            + (
                " MLPerf reports whole systems; dividing by the GPUs is ours."
                if "per GPU" in measure.unit
                else ""
            )
        )
    lacking = sum(not np.isfinite(group.median) for group in groups)
    if lacking:
        results = int(rows[measure.column].isna().sum())
        notes.append(
            f"{results} of {len(rows)} results {'has' if results == 1 else 'have'} no such figure"
            + (" (they mix GPUs or do not say how many)." if measure.column == "value_per_gpu" else ".")
        )
    reasons = {
        str(name): reason
        for name in rows.loc[rows["gpu_id"].isna(), "gpu"].unique()
        if (reason := name_reason("gpu", str(name)))
    }
    if reasons:
        parts = [f"{name} ({reason})" for name, reason in sorted(reasons.items())]
        notes.append(f"Named as reported, as they are not one of our cards for certain: {listed(parts, 5)}.")
    return notes


def _groups(
    rows: pd.DataFrame,
    column: str,
    scenario: Scenario,
    lane: str,
    name: Callable[[dict[str, object]], str],
    series: Callable[[dict[str, object]], str],
    each: bool = False,
) -> list[_Group]:
    """Results gathered under the bars they belong to; with `each` every result is a bar of its own."""
    values = floats(rows[column])
    guesses = benchmarks_estimate.estimates(lane, rows, column)
    gathered: dict[str, list[int]] = {}
    first: dict[str, dict[str, object]] = {}
    told = [column for column in TOLD if column in rows]
    for i, row in enumerate(rows[told].astype(object).to_dict("records")):
        label = name(row)
        if each:
            twins = sum(known == label or known.startswith(f"{label} (") for known in gathered)
            label = f"{label} ({twins + 1})" if twins else label
        gathered.setdefault(label, []).append(i)
        first.setdefault(label, row)
    found = []
    for label, positions in gathered.items():
        row = first[label]
        pinned = row["gpu_key"] in scenario.gpus
        who = _submitter(row) if len(positions) == 1 and "submitter" in row else ""
        guess = next((guesses[i] for i in positions if guesses[i] is not None), None)
        title = f"{STAR}{label}" if pinned else label
        count = 0 if pd.isna(row["n_gpus"]) or lane == INFERENCE else int(str(row["n_gpus"]))
        found.append(
            _Group(title, values[positions], series(row), str(row["gpu_key"]), count, pinned, who, guess)
        )
    return found


def _ranked(groups: Sequence[_Group], measure: Measure) -> tuple[list[_Group], int]:
    """The bars to draw, best first, those that failed last; and how many find no room."""
    sign = 1 if measure.lower_is_better else -1
    keep_failed = measure is TOKENS_PER_S  # out of memory is a result
    usable = [g for g in groups if keep_failed or np.isfinite(g.median)]

    def merit(group: _Group) -> tuple[bool, float, str]:
        return (
            not np.isfinite(group.median),
            sign * group.median if np.isfinite(group.median) else 0,
            group.name,
        )

    chosen = sorted(usable, key=lambda group: (not group.pinned, *merit(group)))[:MOST_BARS]
    return sorted(chosen, key=merit), max(len(usable) - MOST_BARS, 0)


def _takeaway(ranked: Sequence[_Group], measure: Measure, question: str, who: bool) -> str:
    """The best, and how far the best and the last of the pinned cards lie apart."""
    known = [group for group in ranked if np.isfinite(group.median)]
    if not known:
        return f"No result {question} gives {measure.unit}: loosen a filter or choose another measure."
    best = known[0]
    by = f", by {best.who}" if who and best.who and best.who not in best.name else ""
    text = (
        f"{best.name.removeprefix(STAR)} has the {measure.best} {measure.label} {question}: "
        f"{number(best.median)} {measure.unit}{by}."
    )
    pinned = [group for group in known if group.pinned and not measure.per_result]
    # more GPUs and other rounds are other questions
    pinned = [g for g in pinned if (g.n_gpus, g.series) == (pinned[0].n_gpus, pinned[0].series)]
    top, last = (pinned[0], pinned[-1]) if pinned else (best, best)
    ratio = max(top.median, last.median) / min(top.median, last.median)
    if top.gpu_key != last.gpu_key and ratio >= WORTH_SAYING:
        text += (
            f" Among your pinned cards {top.name.removeprefix(STAR)} ({number(top.median)}) leads "
            f"{last.name.removeprefix(STAR)} ({number(last.median)}) by a factor of {ratio:.1f}."
        )
    return text


def _section(
    selected: Selected,
    key: str,
    title: str,
    measure: Measure,
    ranked: Sequence[_Group],
    cut: int,
    takeaway: str,
    notes: Sequence[str],
    rows: pd.DataFrame,
    alt: str,
) -> Section:
    heading = f"{measure.label[0].upper()}{measure.label[1:]}, {measure.unit}"
    bars = [_bar(group) for group in ranked]
    bound = _bound(selected, measure, rows, bars, cut)
    starred = ["★ marks your pinned cards."] if any(group.pinned for group in ranked) else []
    more = [
        f"{len(bars)} of {len(bars) + cut} bars drawn: your pinned cards and the best. The table has all."
    ]
    numbers = _numbers(ranked, heading)
    ordered = rows.sort_values(
        [measure.column, "gpu"], ascending=[measure.lower_is_better, True], kind="stable", na_position="last"
    )
    drawn = any(np.isfinite(group.median) for group in ranked) and bound > 0
    return Section(
        key,
        title,
        result_bars(bars, measure.unit, bound, alt) if drawn else None,
        takeaway,
        (*notes, *starred, *(more if cut else [])),
        numbers,
        table(selected.lane, ordered),
    )


def _bound(
    selected: Selected, measure: Measure, rows: pd.DataFrame, bars: Sequence[ResultBar], cut: int
) -> float:
    """The end of the axis: that of all results of the question, so that a filter does not move it.

    Where only the smallest of many results are drawn, those would be slivers: their own largest then.
    """
    largest = max((bar.high for bar in bars), default=0.0)
    if measure.lower_is_better and cut:
        return largest
    scope = selected.scope
    if "unit" in scope:
        scope = scope[scope["unit"].isin(rows["unit"].unique()).to_numpy(dtype=bool)]
    guesses = benchmarks_estimate.estimates(selected.lane, scope, measure.column)
    reach = [guess.high for guess in guesses if guess]
    return float(np.nanmax([*floats(scope[measure.column]), *reach, largest]))


def _numbers(ranked: Sequence[_Group], heading: str) -> pd.DataFrame:
    """What is drawn, as text, one row per bar."""
    some = [group.values if np.isfinite(group.median) else np.array([np.nan]) for group in ranked]
    columns = {
        heading: [number(group.median) for group in ranked],
        "Lowest": [number(np.nanmin(values)) if np.isfinite(values).any() else DASH for values in some],
        "Highest": [number(np.nanmax(values)) if np.isfinite(values).any() else DASH for values in some],
        "Results": [str(len(group.values)) for group in ranked],
    }
    guesses = [group.estimate for group in ranked]
    if any(guesses):
        columns["Our estimate"] = [number(guess.value) if guess else DASH for guess in guesses]
        columns["80 % band"] = [
            f"{number(guess.low)} to {number(guess.high)}" if guess and guess.low < guess.high else DASH
            for guess in guesses
        ]
    return pd.DataFrame(columns, index=pd.Index([group.name for group in ranked], name="GPU"))


def _list(selected: Selected) -> Section:
    """Results of several questions: in order, not ranked, and without a chart."""
    llamacpp = selected.lane == LLAMACPP
    order = (
        ["model", "quant", "test", "gpu", "n_gpus"]
        if llamacpp
        else ["benchmark", "round_key", "gpu", "n_gpus"]
    )
    if selected.lane == INFERENCE:
        order.insert(1, "scenario")
    one = "one model, one format and one test" if llamacpp else "one benchmark"
    one += " and one scenario" if selected.lane == INFERENCE else ""
    return Section(
        f"{selected.lane}-list",
        "Results, listed and not ranked",
        None,
        f"{len(selected.rows):,} results that answer different questions. Choose {one} to rank and draw "
        "them.",
        (),
        pd.DataFrame(),
        table(selected.lane, selected.rows.sort_values(order, kind="stable"), question_first=True),
    )


def _bar(group: _Group) -> ResultBar:
    if not np.isfinite(group.median):
        return ResultBar(
            group.name, None, 0, 0, len(group.values), "out of memory", group.series, group.estimate
        )
    count = int(np.isfinite(group.values).sum())
    text = number(group.median) + (f" ({count})" if count > 1 else "")
    low, high = float(np.nanmin(group.values)), float(np.nanmax(group.values))
    if group.estimate is not None:
        text += f" · est. {number(group.estimate.value)}"
    return ResultBar(group.name, group.median, low, high, count, text, group.series, group.estimate)


def _gpu(row: dict[str, object]) -> str:
    return gpu_names()[str(row["gpu_key"])]


def _times(row: dict[str, object]) -> str:
    count = row["n_gpus"]
    return "" if pd.isna(count) or count == 1 else f" ×{count}"


def _submitter(row: dict[str, object]) -> str:
    return str(row["submitter"]).replace("_", " ")
