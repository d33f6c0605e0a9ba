"""What can be chosen: the ids that a link may name, and how each is called on the screen."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from functools import cache
from typing import Any

import pandas as pd

import gpu_data
from gpu_data import engines as engine_data
from gpu_data import formats as format_data
from gpu_data import models as model_data
from gpu_data.training import training_tables
from pages.ui import accuracy_choices, benchmarks_choices, compare_choices, use_cases_choices


def slug(name: str) -> str:
    """A name as a link spells it: lower-case letters, digits and hyphens."""
    return re.sub(r"[^a-z0-9]+", "-", str(name).lower()).strip("-")


def gpus() -> pd.DataFrame:
    """The spec frame, one row per GPU, index `gpu_id`."""
    return gpu_data.spec_frame()


@cache
def gpu_ids() -> tuple[str, ...]:
    """The ids of all GPUs, in the frame's order."""
    return tuple(str(gpu) for gpu in gpus().index)


@cache
def pre_release_gpus() -> frozenset[str]:
    """GPUs that cannot be bought yet; their figures are announcements."""
    released = gpus()["released"]
    return frozenset(released.index[~released.fillna(True).astype(bool)])


@cache
def gpu_name(gpu_id: str) -> str:
    """The GPU's name for people, without its maker."""
    row = gpus().loc[gpu_id]
    return str(row["name"]).removeprefix(f"{row['vendor']} ")


@cache
def gpu_label(gpu_id: str) -> str:
    """How the GPU stands in a list to search: name, maker, architecture, memory."""
    row = gpus().loc[gpu_id]
    return f"{gpu_name(gpu_id)} · {row['vendor']} {row['architecture']} · {row['memory_gb']:g} GB"


@cache
def _spec_rows() -> Mapping[str, Mapping[str, Any]]:
    return {str(gpu): row for gpu, row in gpus().astype(object).to_dict("index").items()}


def spec_row(gpu_id: str) -> Mapping[str, Any]:
    """One GPU's row of the spec frame as a plain mapping."""
    return _spec_rows()[gpu_id]


@cache
def engines() -> Mapping[str, Any]:
    """Engines by id; an engine's current set stands before those for its old versions."""
    ordered = sorted(engine_data.engines(), key=lambda engine: engine.id != engine.family)
    return {engine.id: engine for engine in ordered}


@cache
def weight_formats() -> Mapping[str, Any]:
    """Weight formats by id, in the order of the table."""
    return {fmt.id: fmt for fmt in format_data.weight_formats()}


@cache
def kv_formats() -> Mapping[str, Any]:
    """KV cache formats by id, in the order of the table."""
    return {fmt.id: fmt for fmt in format_data.kv_formats()}


@cache
def model_names() -> Mapping[str, str]:
    """How each model is listed: name and published size, so that typing either finds it."""
    frame = model_data.model_frame()
    names = {}
    for model_id, name in frame["name"].items():
        parts = [
            name,
            frame.at[model_id, "published_params_label"],
            frame.at[model_id, "native_weight_dtype"],
        ]
        names[str(model_id)] = " · ".join(str(part) for part in parts if not pd.isna(part))
    return names


@cache
def named_values(column: str) -> Mapping[str, str]:
    """The distinct values of a text column of the spec frame: link spelling -> name."""
    values = gpus()[column].dropna().astype("string").unique()
    return {slug(value): str(value) for value in sorted(values)}


@cache
def known() -> Mapping[str, Collection[str]]:
    """Every catalogue a link parameter is checked against, by `Param.choices`."""
    return {
        "models": frozenset(model_data.model_ids()),
        "gpus": frozenset(gpus().index),
        "engines": frozenset(engines()),
        "weight_formats": frozenset(weight_formats()),
        "kv_formats": frozenset(kv_formats()),
        "vendors": frozenset(named_values("vendor")),
        "architectures": frozenset(named_values("architecture")),
        "form_factors": frozenset(compare_choices.FORMS),
        "compare_views": frozenset(compare_choices.VIEWS),
        "precisions": frozenset(compare_choices.PRECISIONS),
        "column_groups": frozenset(slug(column.group) for column in gpu_data.GPU_COLUMNS.values()),
        "lora_targets": frozenset(training_tables().lora_targets),
        "optimizers": frozenset(training_tables().optimizers),
        "training_precisions": frozenset(training_tables().precisions),
        "training_frameworks": frozenset(training_tables().frameworks),
        **benchmarks_choices.KNOWN,
        **accuracy_choices.KNOWN,
        **use_cases_choices.KNOWN,
    }
