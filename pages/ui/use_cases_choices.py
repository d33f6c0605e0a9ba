"""What a reader can filter the use cases by, and how each choice is called and explained."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import cache
from typing import Final

import pandas as pd

from gpu_data.use_cases import use_case_frame
from pages.ui.benchmarks_choices import Ids

PURPOSES: Final[Mapping[str, str]] = {
    "train": "Training models",
    "serve": "Serving models",
    "cloud": "Rented to others",
    "science": "Science",
    "health": "Health and life science",
    "render": "Rendering",
    "image": "Image generation",
    "benchmark": "Benchmark run",
}
ORGANISATIONS: Final[Mapping[str, str]] = {
    "ai": "AI company",
    "internet": "Internet company",
    "cloud": "Cloud provider",
    "maker": "Maker of GPUs or computers",
    "science": "University or public research",
    "health": "Health research or pharma",
    "media": "Entertainment",
    "industry": "Other industry",
}
STATUSES: Final[Mapping[str, str]] = {
    "planned": "planned",
    "announced": "announced",
    "running": "running",
    "trained": "trained",
    "benchmarked": "benchmarked",
    "demonstrated": "demonstrated",
    "vendor-described": "vendor-described",
    "unconfirmed": "unconfirmed",
}
MEANINGS: Final[Mapping[str, str]] = {
    "planned": "Somebody said it would be; no source says that it was.",
    "announced": "Made public, or offered, without a source that it was all in use.",
    "running": "In operation in the year given, by the source.",
    "trained": "A training run that ended, by the source.",
    "benchmarked": "Ran a published benchmark.",
    "demonstrated": "Shown to work by those who built it; not a service.",
    "vendor-described": "Only a seller describes it; the user is not named.",
    "unconfirmed": "Reported, and confirmed by nobody.",
}


def slug(kind: str) -> str:
    """A kind of GPU as a link spells it."""
    return kind.lower().replace(" ", "-")


@cache
def kinds() -> Mapping[str, str]:
    """Kinds of GPU, link spelling -> name, most use cases first."""
    counted = pd.Series([kind for row in use_case_frame()["gpu_kinds"] for kind in row]).value_counts()
    names = sorted(counted.index, key=lambda kind: (-counted[kind], kind))
    return {slug(name): name for name in names}


KNOWN: Final[Mapping[str, Collection[str]]] = {
    "use_gpus": Ids(kinds),
    "use_purposes": frozenset(PURPOSES),
    "use_organisations": frozenset(ORGANISATIONS),
    "use_statuses": frozenset(STATUSES),
}

# field of the Scenario -> the group's label, and its choices
GROUPS: Final[Mapping[str, tuple[str, Callable[[], Mapping[str, str]]]]] = {
    "use_gpus": ("GPU", kinds),
    "use_purposes": ("What for", lambda: PURPOSES),
    "use_statuses": ("Status", lambda: STATUSES),
    "use_organisations": ("Organisation", lambda: ORGANISATIONS),
}
YEARS: Final = ("use_since", "use_until")
LIVE: Final = ("ugpu", "use", "stat", "org", "since", "until")  # parameters that are set on the page itself
