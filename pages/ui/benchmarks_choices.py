"""What a reader can choose on the Benchmarks page: lanes, measures, and the names found in the results.

The names are read when one is first asked for, so that other pages never load the results.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cache
from typing import Final

import pandas as pd

from gpu_data import benchmarks as data
from gpu_data import models as model_data
from gpu_data import spec_frame
from pages.ui.compare_text import short_name

ANY: Final = "any"
LANES: Final[Mapping[str, str]] = {
    "llamacpp": "llama.cpp, by its users",
    "inference": "MLPerf Inference",
    "training": "MLPerf Training",
}
INFERENCE_MEASURES: Final[Mapping[str, str]] = {
    "per-gpu": "Per GPU",
    "per-system": "Per system",
}
TRAINING_MEASURES: Final[Mapping[str, str]] = {
    "minutes": "Minutes to train (system)",
    "gpu-hours": "GPU-hours to train",
    "tokens-per-gpu": "Tokens/s per GPU",
}
CATEGORIES: Final[Mapping[str, str]] = {
    "closed": "Closed (same model, same rules)",
    "open": "Open (model may differ)",
    "network": "Network (load sent over a network)",
}
LLAMACPP, INFERENCE, TRAINING = LANES


@cache
def results(lane: str) -> pd.DataFrame:
    """Every result of a lane, with the spelling of each filtered name in a link. Do not change it.

    Texts are plain objects: the page goes through them one by one, which Arrow's strings make slow.
    """
    if lane == LLAMACPP:
        return _plain(data.llamacpp_frame())
    frame = data.inference_frame() if lane == INFERENCE else data.training_frame()
    names = ["round", "benchmark", "submitter", "availability"] + ["scenario"] * (lane == INFERENCE)
    for name in names:
        spelled = {text: data.slug(text) for text in frame[name].unique()}
        frame[f"{name}_key"] = frame[name].map(spelled)
    return _plain(frame)


def _plain(frame: pd.DataFrame) -> pd.DataFrame:
    texts = [name for name, dtype in frame.dtypes.items() if isinstance(dtype, pd.StringDtype)]
    return frame.astype(dict.fromkeys(texts, object))


@cache
def named(lane: str, column: str, key: str) -> Mapping[str, str]:
    """Link spelling -> name as reported (the most frequent one), most results first."""
    frame = results(lane)
    counted = frame[[key, column]].value_counts()
    found: dict[str, str] = {}
    for spelled, name in counted.index:
        found.setdefault(str(spelled), str(name))
    if column == "submitter":
        found = {spelled: name.replace("_", " ") for spelled, name in found.items()}
    order = frame[key].value_counts()
    return {str(spelled): found[str(spelled)] for spelled in order.index}


@cache
def gpu_names() -> Mapping[str, str]:
    """Key of a GPU in any lane -> short name: ours where it is one of our cards, else as reported."""
    ours = {str(gpu): short_name(str(name)) for gpu, name in spec_frame()["name"].items()}
    found: dict[str, str] = {}
    for lane in LANES:
        frame = results(lane)
        for key, name in frame[["gpu_key", "gpu"]].drop_duplicates().itertuples(index=False):
            found.setdefault(str(key), ours.get(str(key), str(name)))
    return found


@cache
def model_names() -> Mapping[str, str]:
    """Key of a model of the llama.cpp results -> name: ours where it is one of our models."""
    ours = model_data.model_frame()["name"]
    reported = named(LLAMACPP, "model", "model_key")
    return {key: str(ours.get(key, name)) for key, name in reported.items()}


@cache
def rounds(lane: str) -> tuple[str, ...]:
    """The rounds of an MLPerf lane as a link spells them, newest first."""
    return tuple(sorted((str(key) for key in results(lane)["round_key"].unique()), reverse=True))


def round_name(key: str) -> str:
    """v6-0 as people write it: v6.0."""
    return key.replace("-", ".")


class Ids(Collection[str]):
    """Known ids that are looked up when one is first asked for."""

    def __init__(self, find: Callable[[], Collection[str]]):
        self._find = find

    def __contains__(self, value: object) -> bool:
        return value in self._find()

    def __iter__(self) -> Iterator[str]:
        return iter(self._find())

    def __len__(self) -> int:
        return len(self._find())


def _or_any(find: Callable[[], Collection[str]]) -> Ids:
    return Ids(lambda: {ANY, *find()})


KNOWN: Final[Mapping[str, Collection[str]]] = {
    "bench_lanes": frozenset(LANES),
    "bench_models": _or_any(model_names),
    "bench_formats": _or_any(lambda: named(LLAMACPP, "quant", "format_key")),
    "bench_tests": _or_any(lambda: named(LLAMACPP, "test", "test_key")),
    "bench_gpus": Ids(gpu_names),
    "infer_benchmarks": _or_any(lambda: named(INFERENCE, "benchmark", "benchmark_key")),
    "infer_scenarios": _or_any(lambda: named(INFERENCE, "scenario", "scenario_key")),
    "train_benchmarks": _or_any(lambda: named(TRAINING, "benchmark", "benchmark_key")),
    "mlperf_rounds": Ids(lambda: {*rounds(INFERENCE), *rounds(TRAINING)}),
    "mlperf_submitters": Ids(
        lambda: {
            *named(INFERENCE, "submitter", "submitter_key"),
            *named(TRAINING, "submitter", "submitter_key"),
        }
    ),
    "mlperf_categories": frozenset(CATEGORIES),
    "mlperf_availability": frozenset(
        data.slug(word) for word in (*dict(data.AVAILABILITY).values(), data.NOT_STATED)
    ),
    "infer_measures": frozenset(INFERENCE_MEASURES),
    "train_measures": frozenset(TRAINING_MEASURES),
}
