"""Measured results: llama.cpp by its users (Lane A), MLPerf Inference and Training (Lane B).

Each table is read when first asked for, once per process. Names stay as reported; beside them stand the ids
of our own tables where the meaning is sure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Final

import pandas as pd

from gpu_data.benchmark_schemas import BenchmarkName, InferenceResult, LlamaCppResult, TrainingResult
from gpu_data.csv_tables import CsvRow, problems, read
from gpu_data.formats import weight_formats
from gpu_data.frame import spec_frame
from gpu_data.models import model_ids

FOLDER: Final = Path(__file__).parent / "benchmarks"
SCHEMAS: Final[Mapping[str, type[CsvRow]]] = {
    "names.csv": BenchmarkName,
    "llamacpp.csv": LlamaCppResult,
    "mlperf_inference.csv": InferenceResult,
    "mlperf_training.csv": TrainingResult,
}
TRUSTED: Final = "llama-bench community table"
UNVERIFIED: Final = "community unverified (localmaxxing via llmfit cache)"
# Which column of which table holds a name of which kind.
NAMED: Final = (
    ("llamacpp.csv", "gpu", "gpu"),
    ("llamacpp.csv", "model", "model"),
    ("llamacpp.csv", "quant", "format"),
    ("mlperf_inference.csv", "gpu", "gpu"),
    ("mlperf_training.csv", "gpu", "gpu"),
)
# Availability as submitters wrote it over the rounds: the first word found decides.
AVAILABILITY: Final = (
    ("preview", "preview"),
    ("research", "research"),
    ("rdi", "research"),
    ("cloud", "available in the cloud"),
    ("prem", "available on premise"),
    ("available", "available"),
)
NOT_STATED: Final = "not stated"


def llamacpp_frame() -> pd.DataFrame:
    """Lane A, one row per measurement: the columns of `LlamaCppResult` and the meaning of their names.

    `gpu_id`, `model_id`, `format_id` (NA where not sure) with `gpu_key`, `model_key`, `format_key` (the id,
    or the reported name as a slug), `test_key`, `phase` (prompt or generate), `out_of_memory` and `trust`
    (trusted, reported, unverified). `source_url` is NA where the source is no address; `source` names it.
    """
    return _llamacpp().copy(deep=False)


def inference_frame() -> pd.DataFrame:
    """MLPerf Inference, one row per result of a system: the columns of `InferenceResult` and more.

    `gpu_id`, `gpu_key` and `value_per_gpu`: the value by the number of GPUs, NA for latencies and where the
    system mixes GPUs or does not say how many. `availability` is in the words of `AVAILABILITY`.
    """
    return _inference().copy(deep=False)


def training_frame() -> pd.DataFrame:
    """MLPerf Training, one row per result of a system: the columns of `TrainingResult` and more.

    `gpu_id`, `gpu_key`, `gpu_hours` (minutes to train times GPUs, in hours) and `availability` in the words
    of `AVAILABILITY`.
    """
    return _training().copy(deep=False)


def name_reason(kind: str, name: str) -> str:
    """Why a reported name has no id of ours, or why that id is right although the names differ."""
    found = _names(kind).get(name)
    return found[1] if found else ""


def slug(name: str) -> str:
    """A reported name as lower-case letters, digits and hyphens."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


@cache
def _names(kind: str) -> Mapping[str, tuple[str | None, str]]:
    """Reported name -> our id or None, and the reason."""
    frame = read(FOLDER / "names.csv", BenchmarkName)
    rows = frame[frame["kind"] == kind].astype(object)
    rows = rows.where(rows.notna(), None)
    return {
        name: (found, reason or "")
        for name, found, reason in zip(rows["name"], rows["id"], rows["reason"], strict=True)
    }


def _add_ids(frame: pd.DataFrame, column: str, kind: str) -> None:
    """Columns `<kind>_id` and `<kind>_key` from the reported names in `column`."""
    names = _names(kind)
    reported = list(frame[column])
    ids = [names.get(name, (None, ""))[0] for name in reported]
    keys = {name: found or slug(name) for name, found in zip(reported, ids, strict=True)}
    frame[f"{kind}_id"] = pd.array(ids, dtype="string")
    frame[f"{kind}_key"] = pd.array([keys[name] for name in reported], dtype="string")


def _add_availability(frame: pd.DataFrame) -> None:
    words = {text: _availability(text) for text in frame["availability"].dropna().unique()}
    frame["availability"] = frame["availability"].map(words).fillna(NOT_STATED).astype("string")


def _availability(text: str) -> str:
    return next((label for word, label in AVAILABILITY if word in text.lower()), NOT_STATED)


@cache
def _llamacpp() -> pd.DataFrame:
    frame = read(FOLDER / "llamacpp.csv", LlamaCppResult)
    for column, kind in (("gpu", "gpu"), ("model", "model"), ("quant", "format")):
        _add_ids(frame, column, kind)
    tests = {test: slug(test) for test in frame["test"].unique()}
    frame["test_key"] = frame["test"].map(tests).astype("string")
    prompt = frame["test"].str.startswith("pp")
    frame["phase"] = pd.array(["prompt" if p else "generate" for p in prompt], dtype="string")
    frame["out_of_memory"] = (frame.pop("oom") == "yes").astype("boolean")
    trust = {TRUSTED: "trusted", UNVERIFIED: "unverified"}
    frame["trust"] = frame["kind"].map(trust).fillna("reported").astype("string")
    frame["source"] = frame["source_url"]
    frame["source_url"] = frame["source_url"].where(frame["source_url"].str.startswith("https://"))
    return frame


@cache
def _inference() -> pd.DataFrame:
    frame = read(FOLDER / "mlperf_inference.csv", InferenceResult)
    _add_ids(frame, "gpu", "gpu")
    _add_availability(frame)
    several = frame["gpu"].map({name: "kinds of GPU" in why for name, (_, why) in _names("gpu").items()})
    latency = frame["unit"].str.startswith("Latency")
    divisible = ~(several.fillna(False).astype(bool) | latency.astype(bool))
    frame["value_per_gpu"] = (frame["value"] / frame["n_gpus"]).where(divisible)
    return frame


@cache
def _training() -> pd.DataFrame:
    frame = read(FOLDER / "mlperf_training.csv", TrainingResult)
    _add_ids(frame, "gpu", "gpu")
    _add_availability(frame)
    frame["gpu_hours"] = frame["minutes_to_train"] * frame["n_gpus"] / 60
    return frame


def check_benchmarks(folder: Path = FOLDER) -> list[str]:
    """Every fault of the tables, a line each: "file: line (first cell): field: what is wrong".

    Besides the schemas: every reported name is in `names.csv` and every id there exists; ids of results and
    addresses of results occur once.
    """
    found = [fault for file, schema in SCHEMAS.items() for fault in problems(folder / file, schema)]
    return found or list(_reference_faults(folder))


def _reference_faults(folder: Path) -> Iterator[str]:
    tables = {file: read(folder / file, schema) for file, schema in SCHEMAS.items()}
    names = tables["names.csv"]
    known = {
        "gpu": set(spec_frame().index),
        "model": set(model_ids()),
        "format": {fmt.id for fmt in weight_formats()},
    }
    seen: set[tuple[str, str]] = set()
    for line, (kind, name, found) in enumerate(names[["kind", "name", "id"]].itertuples(index=False), 2):
        where = f"names.csv: line {line} ({kind} {name})"
        if not pd.isna(found) and found not in known[kind]:
            yield f"{where}: id: no {kind} of the id {found!r}"
        if (kind, name) in seen:
            yield f"{where}: name: stands there already"
        seen.add((kind, name))
    used: set[tuple[str, str]] = set()
    for file, column, kind in NAMED:
        for line, name in enumerate(tables[file][column], 2):
            if (kind, name) not in seen and (kind, name) not in used:
                yield f"{file}: line {line}: {column}: names.csv has no {kind} {name!r}"
            used.add((kind, name))
    yield from (f"names.csv: {kind} {name}: no result has that name" for kind, name in sorted(seen - used))
    for file, column in (
        ("llamacpp.csv", "id"),
        *((f"mlperf_{x}.csv", "source_url") for x in ("inference", "training")),
    ):
        for position in tables[file].index[tables[file][column].duplicated()]:
            yield f"{file}: line {position + 2}: {column}: {tables[file].at[position, column]} occurs twice"
