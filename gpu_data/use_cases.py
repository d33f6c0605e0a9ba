"""Who really uses which GPU, as far as a source says so: one row per deployment, run or plan."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Annotated, Final, Literal

import pandas as pd
from pydantic import Field, model_validator

from gpu_data.csv_tables import CsvRow, problems, read
from gpu_data.formats import weight_formats
from gpu_data.frame import spec_frame
from gpu_data.models import model_ids

PATH: Final = Path(__file__).parent / "use_cases.csv"
SEPARATOR: Final = ";"

Text = Annotated[str, Field(min_length=1)]
Sentence = Annotated[str, Field(pattern=r"^[^a-z].*[.]$")]
Count = Annotated[int, Field(ge=1)]
Year = Annotated[int, Field(ge=2000, le=2100)]
Web = Annotated[str, Field(pattern=r"^https://[^\s]+$")]
Slug = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]*$")]
Names = Annotated[str, Field(pattern=r"^[^;\s][^;]*(;[^;\s][^;]*)*$")]
Status = Literal[
    "planned",
    "announced",
    "running",
    "trained",
    "benchmarked",
    "demonstrated",
    "vendor-described",
    "unconfirmed",
]


class UseCase(CsvRow):
    """One use of GPUs that somebody published.

    `gpu` is as the source says it. `gpu_kinds` are names without memory size and form, `gpu_ids` our cards
    that it is, or may be where the source names no variant; both separated by ";". `count` is the number that
    a chart may draw, `count_words` what the source says. `status` never says more than the source: "running"
    is as of `year`. `checked` is how far: "read" the source itself, "listed" a public data set that links it
    and calls it confirmed, "likely" the same without being sure. The rest is the scenario nearest to it: a
    model of the catalogue on `gpus_in_fit` GPUs, and `fit_note` where it only stands in.
    """

    id: Slug
    who: Text
    organisation: Literal["ai", "internet", "cloud", "maker", "science", "health", "media", "industry"]
    what: Text
    purpose: Literal["train", "serve", "cloud", "science", "health", "render", "image", "benchmark"]
    gpu: Text
    gpu_kinds: Names
    gpu_ids: Names | None = None
    count: Count | None = None
    count_words: Text
    year: Year
    last_year: Year | None = None
    status: Status
    fact: Sentence
    evidence: Sentence
    checked: Literal["read", "listed", "likely"]
    caveat: Sentence | None = None
    source_url: Web
    source_url_2: Web | None = None
    task: Literal["serve", "finetune", "train"]
    model: Slug
    weights: Slug | None = None
    gpus_in_fit: Count
    train_tokens: Count | None = None
    fit_note: Sentence | None = None

    @model_validator(mode="after")
    def _doubt_is_said(self) -> UseCase:
        doubtful = self.status in ("planned", "announced", "vendor-described", "unconfirmed")
        if (doubtful or self.checked == "likely") and self.caveat is None:
            raise ValueError(
                f"status {self.status}, checked {self.checked}: say in `caveat` what is not sure"
            )
        if self.last_year is not None and self.last_year <= self.year:
            raise ValueError("last_year must come after year")
        if (self.task == "serve") != (self.weights is not None):
            raise ValueError("give `weights` for the task serve and for no other")
        return self


def use_case_frame() -> pd.DataFrame:
    """Every use case, index `id`, the columns of `UseCase`; `gpu_kinds` and `gpu_ids` are tuples."""
    return _frame().copy(deep=False)


@cache
def _frame() -> pd.DataFrame:
    frame = read(PATH, UseCase)
    for column in ("gpu_kinds", "gpu_ids"):
        frame[column] = [tuple(cell.split(SEPARATOR)) if cell else () for cell in frame[column].fillna("")]
    return frame.set_index("id", drop=False)


def check_use_cases(path: Path = PATH) -> list[str]:
    """Every fault of the table, a line each: the schema's, ids that are nowhere, rows that occur twice."""
    return list(problems(path, UseCase)) or list(_reference_faults(path))


def _reference_faults(path: Path) -> Iterator[str]:
    frame = read(path, UseCase)
    known = {
        "gpu_ids": set(spec_frame().index),
        "model": set(model_ids()),
        "weights": {fmt.id for fmt in weight_formats()},
    }
    for column, ids in known.items():
        for line, cell in enumerate(frame[column].fillna(""), 2):
            for one in filter(None, cell.split(SEPARATOR)):
                if one not in ids:
                    yield f"{path.name}: line {line}: {column}: nothing has the id {one!r}"
    for line in (frame.index[frame["id"].duplicated()] + 2).tolist():
        yield f"{path.name}: line {line}: id: occurs twice"
