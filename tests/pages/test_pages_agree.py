"""Fit, Cost and Recommend count GPUs alike, and each says for which split its number holds."""

from __future__ import annotations

from datetime import date
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from calculators import memory
from calculators.scenario import Scenario
from pages.ui import (
    catalogue,
    cost_load,
    cost_text,
    fit_views,
    gpu_counts,
    link,
    recommend_load,
    recommend_text,
    workload,
)

TODAY = date(2026, 11, 30)
SERVED: list[dict[str, Any]] = [
    {},
    {"concurrency": 20},
    {"model": "qwen3-8b", "weight_format": "awq-int4", "concurrency": 200},
    {"model": "mixtral-8x7b", "weight_format": "awq-int4", "concurrency": 20, "price_basis": "low"},
    {"model": "deepseek-v3", "weight_format": "native", "concurrency": 16},
    {"model": "qwen2.5-32b", "weight_format": "bf16", "concurrency": 4, "price_basis": "own"},
    {"model": "llama-3.1-8b", "weight_format": "gguf-q4_k_m", "engine": "llama.cpp"},
    {"split": "tensor", "concurrency": 20, "least_tokens_per_s": 15},
]
RUN: list[dict[str, Any]] = [
    {"task": "finetune", "model": "llama-3.1-8b"},
    {"task": "finetune", "model": "llama-3.3-70b", "method": "full"},
    {"task": "train", "model": "llama-2-7b", "deadline_days": 30},
]


@pytest.mark.parametrize("fields", [*SERVED, *RUN], ids=str)
def test_cost_and_recommend_take_the_same_setup_of_every_gpu(fields: dict[str, Any]) -> None:
    s = Scenario(**fields)
    mine = recommend_load.recommend(s, TODAY)
    for option in cost_load.costs(s, TODAY).options:
        one = mine.of(option.gpu)
        assert one is not None
        assert one.reason is None or not option.possible
        if option.possible:
            split = one.split if s.task == "serve" else ""  # of a run it stands on Recommend and Fit
            told = (option.gpus, option.split, option.tight, option.together)
            assert told == (one.gpus, split, one.tight, one.offered), option.name


@pytest.mark.parametrize("fields", SERVED, ids=str)
def test_a_recommended_setup_opens_in_fit_with_its_split_and_verdict(fields: dict[str, Any]) -> None:
    s = Scenario(**fields)
    for one in recommend_load.recommend(s, TODAY).ranked[:12]:
        query = parse_qs(urlsplit(recommend_text.fit_link(s, one)).query)
        there, notices = link.parse(query, catalogue.known())
        assert not notices
        load = workload.load(there)
        (gpu,) = load.pinned
        assert load.split_of(gpu.id, there.gpu_count) == one.split
        report = fit_views.estimated(load, gpu)
        assert not isinstance(report, str)
        assert int(report.verdict) == (memory.TIGHT if one.tight else memory.FITS), one.name


@pytest.mark.parametrize(
    "fields",
    [
        {"model": "qwen2.5-32b", "weight_format": "bf16", "concurrency": 20},
        {"model": "llama-3.3-70b", "weight_format": "fp8"},
        {"model": "llama-3.1-405b", "weight_format": "awq-int4"},
    ],
    ids=str,
)
def test_the_fewest_gpus_are_those_of_fit_with_either_split(fields: dict[str, Any]) -> None:
    """Owned, so that no lender's machine is too small; one user, or as many as one copy must hold."""
    s = Scenario(**fields, price_basis="own", objective="gpus")
    found = recommend_load.recommend(s, TODAY)
    for gpu in ("h100-sxm5-80gb", "l40s-48gb", "rtx-a6000-48gb", "rtx-4090-24gb", "a100-sxm4-80gb"):
        row, ways = catalogue.spec_row(gpu), {}
        for split in ("auto", "pipeline"):
            for count in gpu_counts.COUNTS:
                if split == "auto" or gpu_counts.staged(row, count):
                    load = workload.load(s.model_copy(update={"split": split}))
                    report = fit_views.estimated(load, workload.pinned(gpu, count))
                    ways[count, split] = -1 if isinstance(report, str) else int(report.verdict)
        fewest = min((count for (count, _), verdict in ways.items() if verdict == memory.FITS), default=None)
        one = found.of(gpu)
        assert one is not None
        if fewest is None:
            assert one.reason is not None or one.tight
        elif one.copies == 1:
            assert (one.boards, one.tight) == (fewest, False)
        else:
            assert one.gpus <= fewest


def test_fit_names_the_split_of_its_number_and_where_the_other_needs_fewer() -> None:
    """DeepSeek's cache is copied to every GPU of a tensor split (one latent head); stages divide it."""
    many = Scenario(
        model="deepseek-v3", weight_format="native", concurrency=64, max_model_len=32768, gpu_count=4,
        gpus=("h200-sxm-141gb",),
    )  # fmt: skip
    (row,), fields = fit_views.changes(workload.load(many))
    assert row["text"].startswith("16 GPUs (TP8 × PP2; 8 are enough as pipeline stages (PP8))")
    assert fields["h200-sxm-141gb"] == {"gpu_count": 16, "split": "auto"}
    pair = Scenario(model="llama-3.3-70b", weight_format="awq-int4", gpus=("l40s-48gb",))
    (row,), _ = fit_views.changes(workload.load(pair))
    assert row["text"].startswith("2 GPUs (TP2), then")


def test_a_setup_of_several_gpus_never_stands_without_its_split() -> None:
    s = Scenario(concurrency=20)
    for option in cost_load.costs(s, TODAY).options:
        if option.possible and workload.pinned(option.gpu, option.boards).devices > 1:
            assert option.split in cost_text.setup(option)
    for one in recommend_load.recommend(s, TODAY).ranked:
        if workload.pinned(one.gpu, one.boards).devices > 1:
            assert one.split in recommend_text.setup(one)
