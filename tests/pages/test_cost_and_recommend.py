"""The Cost and the Recommend page answer the same question alike: same GPU, as many of it, same dollars."""

from __future__ import annotations

from datetime import date
from itertools import pairwise
from typing import Any

import pytest

from calculators.scenario import MAX_TRAIN_GPUS, Scenario
from pages.ui import cost_load, gpu_counts, recommend_load

TODAY = date(2026, 11, 30)
LLAMA_405B = {"task": "train", "model": "llama-3.1-405b", "train_tokens": 15 * 10**12}


@pytest.mark.parametrize(
    "fields",
    [
        {**LLAMA_405B, "deadline_days": 30},
        {**LLAMA_405B, "deadline_days": 60},
        {"task": "train", "model": "llama-2-7b", "deadline_days": 30},
        {"task": "train", "model": "llama-3.1-70b", "train_gpus": 500},
    ],
    ids=str,
)
def test_both_pages_name_the_same_cheapest(fields: dict[str, Any]) -> None:
    s = Scenario(**fields)
    cost, mine = cost_load.costs(s, TODAY).best, recommend_load.recommend(s, TODAY).best
    assert cost is not None
    assert mine is not None
    assert mine.usd is not None
    money = cost.month if s.task == "serve" else cost.unit
    assert money is not None
    assert (mine.gpu, mine.gpus) == (cost.gpu, cost.gpus)
    assert float(mine.usd.value) == pytest.approx(float(money.value))


def test_training_is_tried_up_to_the_most_gpus_a_run_may_have_in_small_steps() -> None:
    sizes = gpu_counts.sizes(Scenario(task="train", deadline_days=30))
    assert sizes[:4] == (1, 2, 4, 8)
    assert sizes[-1] <= MAX_TRAIN_GPUS < sizes[-1] * 1.2
    assert all(more / n <= 1.25 for n, more in pairwise(sizes) if n >= 64)
    assert gpu_counts.sizes(Scenario(task="train", train_gpus=77)) == (77,)
