"""What the page "How far off are we?" shows of one quantity: figures, sentences and tables. Pure.

Errors are 100 x (predicted - measured) / measured. Where constants were fitted, the prediction judged is the
one by constants fitted without the row, because the error bands were made in this way.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np
import pandas as pd

from gpu_data import accuracy as data
from gpu_data import spec_frame
from gpu_data.engines import engines
from gpu_data.training import training_tables
from pages.ui import words
from pages.ui.accuracy_choices import KINDS, PROMISED, SCATTER, VIEWS, Quantity, of_kind
from pages.ui.charts import Chart
from pages.ui.compare_select import floats
from pages.ui.compare_text import DASH, listed, short_name
from pages.ui.figures_accuracy import Dot, Group, errors, percent, scatter

MOST_GROUPS: Final = 16
FEWEST: Final = 5  # measurements a group needs to be named in a sentence
WORST: Final = 10
NEVER: Final = (
    ("memory_type", "No card with this memory was measured"),
    ("vendor", "No card of these makers in our table was measured"),
)
REASON_COLUMN: Final = "Reason, or what the source says"
LIST_MOST: Final = 12
CLOSE: Final = 5  # % of error that a sentence calls close
AXIS_FLOOR, AXIS_CAP = 10.0, 200.0  # % of error that the axis shows at least and at most

APART: Final = {
    "suspect": "the row itself says that its figures do not add up",
    "partial": "the model's published config is incomplete",
    "contradicted by neighbours": "same card, same test, other rows say otherwise",
    "contradicted by its neighbours": "the host runs far below other hosts with the same card",
    "says the same as the row's TPOT": "one run, one measurement: it counts once",
    "doubtful: see the note": "the publisher calls the figure uncertain",
}
TABLE_COLUMNS: Final = {
    "shown": "Predicted",
    "shown_low": "Band from",
    "shown_high": "Band to",
    "measured": "Measured",
    "error_pct": "Error %",
    "gpu": "GPU",
    "n_gpus": "GPUs",
    "engine": "Engine",
    "model": "Model",
    "format": "Format",
    "architecture": "Architecture",
    "part": "Counted",
    "note": "Note",
    "source_url": "Source",
}


@dataclass(frozen=True)
class Summary:
    """How far off one quantity is; percentages, NaN when nothing says."""

    quantity: Quantity
    n: int
    setups: int  # that count once each, 0 where every measurement counts
    sources: int
    gpus: int
    median: float
    p90: float
    inside: float  # % of the measured values that lie inside their band
    held_out: bool  # judged by constants fitted without the row
    gpu_median: float  # with the whole GPU left out of the fit
    gpu_p90: float
    refused: int
    apart: int


@dataclass(frozen=True)
class View:
    """The chart, or None when nothing can be drawn, with its sentence, notes and numbers."""

    figure: Chart | None
    title: str
    takeaway: str
    notes: tuple[str, ...]
    numbers: pd.DataFrame


def rows_of(quantity: Quantity) -> pd.DataFrame:
    """Every row of a quantity, those set apart and refused ones too."""
    return _rows()[quantity.key]


@cache
def _rows() -> dict[str, pd.DataFrame]:
    from pages.ui.accuracy_choices import QUANTITIES

    frame = data.accuracy_frame()
    keys = frame["kind"] + "|" + frame["quantity"] + "|" + frame["load"].fillna("")
    groups = {str(key): part for key, part in frame.groupby(keys, sort=False)}
    empty = frame.iloc[:0]
    return {q.key: groups.get(f"{q.kind}|{q.column}|{q.load}", empty) for q in QUANTITIES.values()}


@cache
def _verdict_rows(kind: str) -> pd.DataFrame:
    frame = data.accuracy_frame()
    return frame[(frame["kind"] == kind) & frame["verdict"].notna()]


def compared(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows that count: trusted, predicted, and with an error."""
    return rows[(rows["part"] == data.COUNTED) & np.isfinite(floats(rows["error_pct"]))]


def by_setup(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows, those of one setup as one row by their medians: error, and whether it lies in the band."""
    if rows["setup"].isna().all():
        return rows
    ratios = pd.DataFrame(
        {
            "setup": rows["setup"],
            "ratio": rows["measured"] / rows["shown"],
            "shown_low": rows["shown_low"] / rows["shown"],
            "shown_high": rows["shown_high"] / rows["shown"],
        }
    )
    found = ratios.groupby("setup", sort=False).median()
    found["error_pct"] = 100 * (1 / found["ratio"] - 1)
    slack = data.SLACK
    inside = (found["ratio"] >= found["shown_low"] - slack) & (found["ratio"] <= found["shown_high"] + slack)
    return found.assign(inside=inside)


def publisher(source: str) -> str:
    """The repository or site of an address; other sources are each their own."""
    return (
        "/".join(source.removeprefix("https://").split("/")[:3]) if source.startswith("https://") else source
    )


@cache
def summary(quantity: Quantity) -> Summary:
    """Numbers of one quantity over the rows that count."""
    every = rows_of(quantity)
    rows = compared(every)
    judged = by_setup(rows)
    median, p90 = data.percentiles(floats(judged["error_pct"]))
    apart_from_gpu = 100 * (floats(rows["held_out_gpu"]) / floats(rows["measured"]) - 1)
    gpu_median, gpu_p90 = data.percentiles(apart_from_gpu)
    banded = judged["inside"][judged["shown_low"].notna()]
    counted = every["part"] == data.COUNTED
    return Summary(
        quantity,
        len(rows),
        len(judged) if len(judged) < len(rows) else 0,
        len({publisher(url) for url in rows["source_url"].unique()}),
        int(rows["gpu"].nunique()),
        median,
        p90,
        100 * float(banded.mean()) if len(banded) else float("nan"),
        bool(rows["held_out"].notna().any()),
        gpu_median,
        gpu_p90,
        int((counted & every["refused"].notna()).sum()),
        int((~counted).sum()),
    )


def headline(found: Summary) -> tuple[str, str]:
    """The figures in words, before any picture: what matters most, and the rest of the sentence."""
    quantity = found.quantity
    if not found.n:
        return f"{quantity.label}: nobody's measurement can be set beside our estimate yet.", ""
    places = f"{found.sources} {'source' if found.sources == 1 else 'sources'}"
    setups = f" of {found.setups:,} setups, each counted once" if found.setups else ""
    first = (
        f"{quantity.label}: half of our estimates are within {_within(found.median)} of what was measured, "
        f"nine of ten within {_within(found.p90)}"
    )
    text = (
        f" ({found.n:,} measurements{setups}, {places}, "
        f"{found.gpus} {'kind' if found.gpus == 1 else 'kinds'} of GPU)."
    )
    if np.isfinite(found.inside):
        promise = f", which is made to hold {quantity.holds}" if quantity.holds else ""
        what = "setups" if found.setups else "measured values"
        text += f" {found.inside:.0f} % of the {what} lie inside the error band{promise}."
    else:
        text += " This quantity has no error band of its own."
    if np.isfinite(found.gpu_median) and abs(found.gpu_median - found.median) > 0.01:
        text += (
            f" On a GPU that the constants never saw: half within {_within(found.gpu_median)}, "
            f"nine of ten within {_within(found.gpu_p90)}."
        )
    return first, text


def _within(value: float) -> str:
    return percent(max(value, 0.1))


def notes(found: Summary) -> list[str]:
    """How the figures were made."""
    lines = [found.quantity.note] if found.quantity.note else []
    if found.setups:
        lines.append(
            "A setup is one model in one format under one engine; runs of it at other lengths, batches and "
            "GPUs repeat the same weights, so their median counts once."
        )
    if found.held_out:
        lines.append(
            "Each prediction judged here was made by constants fitted without "
            + (
                "any measurement of its GPU, as for a card nobody has measured."
                if abs(found.gpu_median - found.median) <= 0.01
                else "the measurement it is compared with, so that it could not be learnt by heart."
            )
        )
    return lines


@cache
def verdict_line(kind: str) -> str:
    """How often "fits" and "does not fit" were right, in words; "" for kinds without a verdict."""
    rows = _verdict_rows(kind)
    rows = rows[rows["part"] == data.COUNTED]
    if rows.empty:
        return ""
    counts = {name: int((rows["verdict"] == name).sum()) for name in ("right", "tight", "wrong")}
    failed = int((rows["measured_words"] == "out of memory").sum())
    caught = int(((rows["measured_words"] == "out of memory") & (rows["verdict"] != "wrong")).sum())
    return (
        f"Verdicts: of {len(rows):,} runs ({failed:,} of them out of memory) {counts['right']:,} were called "
        f"right, {counts['tight']:,} “tight” and {counts['wrong']:,} wrong. "
        f"Of the {failed:,} that ran out of memory, {caught:,} were not called “fits”."
    )


@cache
def wrong_verdicts(kind: str) -> pd.DataFrame:
    """Runs whose verdict was wrong, for a table."""
    rows = _verdict_rows(kind)
    rows = rows[(rows["part"] == data.COUNTED) & (rows["verdict"] == "wrong")]
    return pd.DataFrame(
        {
            "We said": rows["predicted_words"],
            "It": rows["measured_words"],
            **{TABLE_COLUMNS[c]: rows[c] for c in ("gpu", "n_gpus", "engine", "model", "format", "note")},
            "Source": links(rows),
        }
    )


def view(quantity: Quantity, name: str, pinned: tuple[str, ...] = ()) -> View:
    """The chart that is asked for."""
    rows = compared(rows_of(quantity))
    return _scatter(quantity, rows) if name == SCATTER else _by(quantity, rows, name, pinned)


# ---------------------------------------------------------------- predicted against measured


def _scatter(quantity: Quantity, rows: pd.DataFrame) -> View:
    shown, measured = floats(rows["shown"]), floats(rows["measured"])
    drawable = (shown > 0) & (measured > 0)
    drawn = rows[drawable]
    title = f"{quantity.label}: predicted against measured"
    if drawn.empty:
        return View(None, title, "", (), pd.DataFrame())
    inside = [
        None if pd.isna(low) else bool(i) for low, i in zip(drawn["shown_low"], drawn["inside"], strict=True)
    ]
    dots = [
        Dot(m, p, i, f"{short_name(gpu)}, {model}, {fmt}")
        for m, p, i, gpu, model, fmt in zip(
            floats(drawn["measured"]), floats(drawn["shown"]), inside, drawn["gpu"], drawn["model"],
            drawn["format"], strict=True,
        )
    ]  # fmt: skip
    band, several = _band(drawn)
    errors_pct = floats(drawn["error_pct"])
    high, low = (100 * float(np.mean(sign * errors_pct > CLOSE)) for sign in (1, -1))
    takeaway = (
        f"{100 - high - low:.0f} % of the estimates are within {CLOSE} % of what was measured, {high:.0f} % "
        f"are more than {CLOSE} % too high and {low:.0f} % more than {CLOSE} % too low"
    )
    outside = sum(i is False for i in inside)
    if band is not None:
        takeaway += f"; {outside:,} of {len(dots):,} measurements lie outside their band"
    left_out = len(rows) - len(drawn)
    said = [f"{left_out} measurements of 0 or less cannot be drawn on this axis."] if left_out else []
    if several:
        said.append("Each engine and kind of load has a band of its own; the dotted lines show the widest.")
    groups = _groups(rows, "engine")
    return View(
        scatter(
            dots,
            quantity.unit,
            band,
            several,
            f"Scatter of predicted against measured {quantity.label}, logarithmic, with the line of exact "
            "predictions and the error band.",
        ),
        title,
        f"{takeaway}.",
        tuple(said),
        _numbers(groups, "Engine"),
    )


def _band(rows: pd.DataFrame) -> tuple[tuple[float, float] | None, bool]:
    """(measured / predicted at the ends of the widest band, whether there are several bands)."""
    known = rows[rows["shown_low"].notna()]
    if known.empty:
        return None, False
    low = np.round(floats(known["shown_low"]) / floats(known["shown"]), 2)
    high = np.round(floats(known["shown_high"]) / floats(known["shown"]), 2)
    return (float(low.min()), float(high.max())), bool(len(set(zip(low, high, strict=True))) > 1)


# ---------------------------------------------------------------- error by ...


def _groups(rows: pd.DataFrame, column: str) -> list[Group]:
    """Errors by the values of a column, the best first."""
    found = []
    for name, part in rows.groupby(column, sort=False):
        median, p90 = data.percentiles(floats(part["error_pct"]))
        label = (short_name(str(name)) if column == "gpu" else "") or str(name)
        found.append(Group(label, median, p90, len(part)))
    return sorted(found, key=lambda group: (group.median, group.name))


def _by(quantity: Quantity, rows: pd.DataFrame, column: str, pinned: tuple[str, ...]) -> View:
    title = f"{quantity.label}: error {VIEWS[column][0].lower()}{VIEWS[column][1:]}"
    groups = _groups(rows, column)
    if not groups:
        return View(None, title, "", (), pd.DataFrame())
    names = {short_name(str(spec_frame().at[gpu, "name"])) for gpu in pinned if gpu in spec_frame().index}
    kept = sorted(groups, key=lambda g: (g.name not in names, -g.n, g.name))[:MOST_GROUPS]
    drawn = [group for group in groups if group in kept]
    axis = min(max(AXIS_FLOOR, *(g.p90 for g in drawn)), max(AXIS_CAP, *(g.median for g in drawn)))
    sure = [group for group in drawn if group.n >= FEWEST]
    if len(sure) > 1:
        best, last = sure[0], sure[-1]
        takeaway = (
            f"Closest on {best.name} (median error {percent(best.median)}, n {best.n:,}), furthest off on "
            f"{last.name} ({percent(last.median)}, n {last.n:,}); groups of fewer than {FEWEST} say little."
        )
    elif sure:
        takeaway = f"Only {sure[0].name} has {FEWEST} or more measurements (n {sure[0].n:,})."
    else:
        takeaway = f"No group has {FEWEST} measurements: too few to tell them apart."
    cut = len(groups) - len(drawn)
    said = ["A dot is the median error, its line ends at the 90th percentile; n counts measurements."]
    if cut:
        said.append(f"The {len(drawn)} groups with most measurements are drawn; the numbers have all.")
    return View(
        errors(
            drawn,
            axis,
            f"Dots: median error of {quantity.label} {VIEWS[column].lower()}, lines to the 90th percentile.",
        ),
        title,
        takeaway,
        tuple(said),
        _numbers(groups, VIEWS[column].removeprefix("By ").capitalize().replace("Gpu", "GPU")),
    )


def _numbers(groups: list[Group], name: str) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "Measurements": [f"{g.n:,}" for g in groups],
            "Median error": [percent(g.median) for g in groups],
            "90th percentile": [percent(g.p90) for g in groups],
        },
        index=pd.Index([g.name for g in groups], name=name),
    )


# ---------------------------------------------------------------- tables


def links(rows: pd.DataFrame) -> pd.Series:
    """Addresses; NA where the source is no address."""
    return rows["source_url"].where(rows["source_url"].str.startswith("https://"))


def off(error_pct: float) -> str:
    """An error in words a reader need not reckon: 2.4 x too high, 35 % too low."""
    if error_pct >= 100:
        return f"{1 + error_pct / 100:.1f} × as much"
    return f"{abs(error_pct):.0f} % too {'high' if error_pct > 0 else 'low'}"


@cache
def worst(quantity: Quantity) -> pd.DataFrame:
    """The ten estimates furthest off, by ratio, with the reason we found, else what the source says."""
    rows = compared(rows_of(quantity))
    with np.errstate(all="ignore"):
        ratio = np.abs(np.log(floats(rows["shown"]) / floats(rows["measured"])))
    order = np.argsort(-np.nan_to_num(ratio, nan=0, posinf=1e9), kind="stable")[:WORST]
    rows = rows.iloc[order]
    return pd.DataFrame(
        {
            "Our estimate was": [off(float(e)) for e in floats(rows["error_pct"])],
            "Predicted": floats(rows["shown"]),
            "Measured": floats(rows["measured"]),
            REASON_COLUMN: [_reason(row) for row in rows.astype(object).to_dict("records")],
            **{TABLE_COLUMNS[c]: rows[c] for c in ("gpu", "n_gpus", "engine", "model", "format")},
            "Source": links(rows),
        }
    )


def _reason(row: Mapping[str, object]) -> str:
    note = "not known" if pd.isna(row["note"]) else f"the source: {row['note']}"
    return data.reason_of(row) or note


@cache
def every_row(quantity: Quantity) -> pd.DataFrame:
    """All rows for a table: counted ones first, then those set apart, then refused ones with the reason."""
    rows = rows_of(quantity)
    order = (rows["part"] != data.COUNTED).astype(int) + 2 * rows["refused"].notna().astype(int)
    rows = rows.iloc[np.argsort(order.to_numpy(), kind="stable")]
    table = rows[list(TABLE_COLUMNS)].rename(columns=TABLE_COLUMNS)
    table["Counted"] = table["Counted"].where(rows["part"] != data.COUNTED, "yes")
    table["Note"] = [
        note if pd.isna(why) else f"no prediction: {why}"
        for note, why in zip(rows["note"], rows["refused"], strict=True)
    ]
    table["Source"] = links(rows)
    return table


@cache
def apart(quantity: Quantity) -> pd.DataFrame:
    """Rows that do not count, by the reason, with their own error."""
    rows = rows_of(quantity)
    lines = []
    for part, mine in rows[rows["part"] != data.COUNTED].groupby("part", sort=False):
        median, _ = data.percentiles(floats(mine["error_pct"]))
        reason = APART.get(str(part), "of another kind than the measurements we test against")
        lines.append((str(part), f"{len(mine):,}", _percent(median), reason))
    refused = rows[(rows["part"] == data.COUNTED) & rows["refused"].notna()]
    for reason, mine in refused.groupby("refused", sort=False):
        lines.append(("no prediction", f"{len(mine):,}", DASH, str(reason)))
    table = pd.DataFrame(lines, columns=["Rows", "Count", "Median error", "Why"])
    return table.set_index("Rows")


@cache
def glance() -> list[tuple[str, str, str, str, str]]:
    """One line per kind and main quantity: name, n, median, 90th percentile, inside the band."""
    lines = []
    for kind, label in KINDS.items():
        for quantity in of_kind(kind):
            if not quantity.holds:
                continue
            found = summary(quantity)
            if found.n:
                inside = _percent(found.inside)
                promised = f" ({PROMISED[quantity.holds]})"
                lines.append(
                    (
                        f"{label}: {quantity.label}",
                        f"{found.n:,}",
                        percent(found.median),
                        percent(found.p90),
                        inside + promised if inside != DASH else DASH,
                    )
                )
    return lines


def _percent(value: float) -> str:
    return percent(value) if np.isfinite(value) else DASH


# ---------------------------------------------------------------- where we have no data


@dataclass(frozen=True)
class Gaps:
    """Where nobody has measured: sentences, and the cards that are predicted from their data sheets alone."""

    lines: tuple[str, ...]
    cards: tuple[str, ...]
    of: int


@cache
def gaps(kind: str) -> Gaps:
    """For which memories, makers, engines and cards there is no counted measurement of a kind."""
    frame = data.accuracy_frame()
    rows = frame[(frame["kind"] == kind) & (frame["part"] == data.COUNTED) & frame["refused"].isna()]
    cards = spec_frame()
    there = cards.index.isin(list(rows["gpu_id"].dropna().unique()))
    missing = sorted(short_name(str(name)) for name in cards["name"][~there])
    return Gaps(tuple(_gap_lines(kind, rows, there)), tuple(missing), len(cards))


def _gap_lines(kind: str, rows: pd.DataFrame, there: np.ndarray) -> Iterator[str]:
    if rows.empty:
        yield "No measurement of this kind stands in our tables."
        return
    cards = spec_frame()
    for column, sentence in NEVER:
        known = cards[column].fillna("").astype(str)
        counts = known.value_counts()
        lacking = sorted(set(known) - set(known[there]) - {""})
        if lacking:
            names = [f"{name} ({words.count(counts[name], 'card')})" for name in lacking]
            yield f"{sentence}: {listed(names, LIST_MOST)}."
    lacking = [label for label in _engine_labels(kind) if label not in set(rows["engine"])]
    if lacking:
        yield f"Nothing measured under {listed(lacking, LIST_MOST)}."
    others = {short_name(str(gpu)) for gpu in rows.loc[rows["gpu_id"].isna(), "gpu"].unique()} - {
        "not named",
        "not stated",
        "",
    }
    if others:
        yield f"Measured, but no card of our table: {listed(sorted(others), LIST_MOST)}."


def _engine_labels(kind: str) -> list[str]:
    """The engines that an estimate of this kind can be asked for."""
    if kind == "memory":
        return [engine.label for engine in engines()]
    if kind in ("finetune", "training"):
        return [framework.label for framework in training_tables().frameworks.values()]
    from gpu_data.speed import speed_engines

    return [engine.label for engine in speed_engines()]
