"""What the Use cases page shows: the rows that pass the filters, a sentence, a chart, cards with links."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Final
from urllib.parse import urlsplit

import pandas as pd

from calculators.scenario import MAX_GPUS, MAX_TRAIN_GPUS, Scenario
from gpu_data import models as model_data
from gpu_data.use_cases import use_case_frame
from pages.ui import catalogue, link, words, workload
from pages.ui.compare_choices import form_class
from pages.ui.training_load import SEQ_LEN
from pages.ui.use_cases_chart import MARKS, Point, places
from pages.ui.use_cases_choices import MEANINGS, ORGANISATIONS, PURPOSES, STATUSES, slug

ALT: Final = (
    "Number of GPUs of each use case against the year, on a log scale; the mark's form is its status. "
    "Marks of one year stand side by side by name."
)
SERVERS: Final = ("module", "server", "superchip")  # forms of cards for servers
ARCHIVES: Final = ("web.archive.org",)
_DOES: Final = {"serve": "Serve", "finetune": "Fine-tune", "train": "Train"}


def selected(scenario: Scenario) -> pd.DataFrame:
    """The use cases that pass the reader's filters, in the order of the table: best known first."""
    frame = use_case_frame()
    since, until = sorted((scenario.use_since, scenario.use_until))
    last = frame["last_year"].fillna(frame["year"])
    keep = (last >= since) & (frame["year"] <= until)
    for chosen, column in (
        (scenario.use_purposes, "purpose"),
        (scenario.use_organisations, "organisation"),
        (scenario.use_statuses, "status"),
    ):
        if chosen:
            keep &= frame[column].isin(chosen)
    if scenario.use_gpus:
        keep &= frame["gpu_kinds"].map(lambda kinds: any(slug(kind) in scenario.use_gpus for kind in kinds))
    return frame[keep]


def sentence(rows: pd.DataFrame) -> str:
    """What is shown, and how much of it a source says is in use."""
    if rows.empty:
        return "No use case passes the filters. Loosen one above."
    by_status = rows["status"].value_counts()
    said = [
        f"{MARKS[status]}\u00a0{by_status[status]}\u00a0{STATUSES[status]}"
        for status in STATUSES
        if status in by_status
    ]
    counted = rows["count"].dropna()
    total = len(use_case_frame())
    several = "use cases" if len(rows) > 1 else "use case"
    head = f"{len(rows)} {several}" if len(rows) == total else f"{len(rows)} of {total} use cases"
    text = f"{head}: {words.listed(said, 8)}."
    if len(counted):
        low, high = int(counted.min()), int(counted.max())
        reach = f"{low:,} to {high:,} GPUs" if low < high else words.count(low, "GPU")
        text += f" From {reach}." if low < high else f" {reach}."
    missing = len(rows) - len(counted)
    if missing:
        text += f" {missing} without a number in the source stand{'s' * (missing == 1)} below only."
    return f"{text} {without()}".rstrip() if len(rows) == total else text


@cache
def without() -> str:
    """Which released cards for servers no use case names."""
    told = {slug(kind) for kinds in use_case_frame()["gpu_kinds"] for kind in kinds}
    cards = catalogue.gpus()
    forms = cards["form_factor"].map(lambda form: form_class(str(form)))
    kept = [form in SERVERS for form in forms]
    ids = [str(gpu) for gpu in cards.index[kept] if gpu not in catalogue.pre_release_gpus()]
    names = dict.fromkeys(
        catalogue.gpu_name(gpu).split(" (")[0].rpartition(" ")[0]
        for gpu in ids
        if not any(gpu.startswith(f"{kind}-") for kind in told)
    )
    return f"No use case found for {words.either(list(names))}." if names else ""


def chart(rows: pd.DataFrame, scenario: Scenario) -> dict[str, Any] | None:
    """Count against year of the rows that state a number; None where none does."""
    counted = rows[rows["count"].notna()]
    columns = (counted[name].tolist() for name in ("year", "count", "status", "purpose", "what", "who"))
    points = [
        Point(int(year), int(count), str(status), _short(purpose, what, who))
        for year, count, status, purpose, what, who in zip(*columns, strict=True)
    ]
    years = sorted((scenario.use_since, scenario.use_until))
    first = min([years[0], *(point.year for point in points)])
    return places(points, STATUSES, (first, years[1])) if points else None


def cards(rows: pd.DataFrame) -> list[dict[str, Any]]:
    """Every row as a card: texts, and addresses that are https or our own Fit page."""
    every = _cards()
    return [every[name] for name in rows.index]


@cache
def _cards() -> dict[Any, dict[str, Any]]:
    """The cards of all rows by the table's index; no filter changes one."""
    frame = use_case_frame()
    plain = frame.astype(object).where(frame.notna(), None).to_dict("records")
    return {name: _card(row) for name, row in zip(frame.index, plain, strict=True)}


def _card(row: Mapping[str, Any]) -> dict[str, Any]:
    years = f"{row['year']} to {row['last_year']}" if row["last_year"] else str(row["year"])
    plain = row["count_words"].replace(",", "").isdigit()
    urls = [url for url in (row["source_url"], row["source_url_2"]) if url]
    scenario = fit_scenario(row)
    return {
        "who": row["who"],
        "what": row["what"],
        "gpus": f"{row['count_words']} × {row['gpu']}" if plain else f"{row['gpu']}: {row['count_words']}",
        "when": years,
        "kind": f"{PURPOSES[row['purpose']]} · {ORGANISATIONS[row['organisation']]}",
        "status": row["status"],
        "statusName": f"{MARKS[row['status']]} {STATUSES[row['status']]}",
        "meaning": MEANINGS[row["status"]],
        "fact": row["fact"],
        "caveat": row["caveat"] or "",
        "evidence": f"Evidence: {row['evidence']}",
        "sources": [[source_name(url), url] for url in urls],
        "fit": [fit_words(row, scenario), f"fit?{link.query_string(scenario)}"],
        "fitNote": row["fit_note"] or "",
    }


def fit_scenario(row: Mapping[str, Any]) -> Scenario:
    """The scenario of the Fit page that comes nearest to a use case."""
    fields: dict[str, Any] = {"task": row["task"], "model": row["model"]}
    if gpus := row["gpu_ids"] or _of_kind(row["gpu_kinds"][0]):
        fields["gpus"] = gpus
    if row["task"] == "train":
        fields["train_gpus"] = min(row["gpus_in_fit"], MAX_TRAIN_GPUS)
        if row["train_tokens"]:
            fields["train_tokens"] = row["train_tokens"]
    else:
        fields["gpu_count"] = min(row["gpus_in_fit"], MAX_GPUS)
    if row["task"] == "finetune":
        fields["method"] = "lora"
    if row["task"] == "serve":
        fields["weight_format"] = row["weights"]
    return _inside_window(Scenario(**fields))


def _inside_window(s: Scenario) -> Scenario:
    """The scenario with no more tokens at once than the model can look at."""
    window = workload.load(s).architecture.max_position_embeddings
    if not window:
        return s
    if s.task == "serve":
        return s.model_copy(update={"max_model_len": min(s.max_model_len, window)})
    short = window < SEQ_LEN[s.task]
    return s.model_copy(update={"seq_len": window}) if short else s


def _of_kind(kind: str) -> tuple[str, ...]:
    """Our cards of a kind, for a use of a card that is not among them."""
    return tuple(gpu for gpu in catalogue.gpus().index if gpu.startswith(f"{slug(kind)}-"))


def fit_words(row: Mapping[str, Any], scenario: Scenario) -> str:
    """What the link opens."""
    number = scenario.train_gpus if scenario.task == "train" else scenario.gpu_count
    name = model_data.model(scenario.model).name.removesuffix(" Instruct")
    which = "such GPU" if row["gpu_ids"] else "GPU"
    return f"{_DOES[scenario.task]} {name} on {words.count(number, which)} in Fit"


def source_name(url: str) -> str:
    """Whose page an address is; an archive is named with the page that it keeps."""
    parts = urlsplit(url)
    host = parts.netloc.removeprefix("www.")
    if host in ARCHIVES and "http" in parts.path:
        inner = parts.path[parts.path.index("http") :]
        return f"{urlsplit(inner).netloc.removeprefix('www.')} (archived)"
    return host


def _short(purpose: str, what: str, who: str) -> str:
    """A system of science goes by its own name, others by who has it."""
    name = what if purpose == "science" else who.split(" / ")[0]
    return str(name).split(" (")[0].split(",")[0].split(" - ")[0]
