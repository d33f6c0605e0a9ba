"""The Cost and the Recommend page answer the same question alike: same GPU, as many of it, same dollars."""

from __future__ import annotations

from datetime import date
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from calculators.scenario import MAX_TRAIN_GPUS, Scenario
from pages.ui import cost_load, cost_text, gpu_counts, link, recommend_load, state
from tests.pages.apps import opened

TODAY = date(2026, 11, 30)
LLAMA_405B = {"task": "train", "model": "llama-3.1-405b", "train_tokens": 15 * 10**12}


@pytest.mark.parametrize(
    "fields",
    [
        {**LLAMA_405B, "deadline_days": 30},
        {**LLAMA_405B, "deadline_days": 60},
        {"task": "train", "model": "llama-2-7b", "deadline_days": 30},
        {"task": "train", "model": "llama-3.1-70b", "train_gpus": 500},
        {"task": "train", "model": "llama-3.1-8b", "train_tokens": 10**11, "deadline_days": 365},
        {"task": "finetune", "model": "llama-3.1-8b"},
        {"task": "finetune", "model": "llama-3.3-70b", "method": "lora"},
        {"task": "finetune", "model": "llama-3.1-8b", "method": "full", "price_basis": "low"},
        {"concurrency": 20},
        {"model": "qwen3-8b", "weight_format": "fp8", "concurrency": 20},
        {"model": "qwen3-8b", "weight_format": "awq-int4", "concurrency": 50},
        {"model": "qwen3-8b", "weight_format": "awq-int4", "concurrency": 200},
        {"model": "mixtral-8x7b", "weight_format": "awq-int4", "concurrency": 20},
        {"model": "llama-3.1-8b", "weight_format": "fp8", "concurrency": 64, "price_basis": "high"},
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


def test_a_cheaper_setup_that_nobody_quotes_stands_aside() -> None:
    """RTX 3090: quoted one by one, so it serves as three copies of one; two in one machine would do."""
    found = cost_load.costs(Scenario(model="qwen3-8b", weight_format="fp8", concurrency=20), TODAY)
    best = found.best
    assert best is not None
    assert best.boards <= best.rent.largest_machine
    assert best.apart is not None
    assert best.rank is not None
    assert best.apart.rank is not None
    assert best.apart.boards > best.rent.largest_machine
    assert float(best.apart.rank.value) < float(best.rank.value)
    said = " ".join(cost_text.details(found))
    assert "Cheaper if you find a machine with so many" in said
    assert cost_text.setup(best.apart) in said


@pytest.mark.parametrize(
    ("page", "view"),
    [("cost", "ranking"), ("recommend", "ranking"), ("recommend", "purposes"), ("recommend", "duel")],
)
def test_a_page_without_an_answer_ends_as_any_other(
    page: str, view: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the shell draws after a page, the link's owners, is drawn after a refusal as well."""
    ended, end_live = [], state.end_live

    def spied() -> None:
        ended.append(view)
        end_live()

    monkeypatch.setattr(state, "end_live", spied)
    app = opened(page, config=link.pack_config('{"model_type": "unheard-of"}'), look=view)
    assert not app.exception
    assert "cannot be computed" in app.error[0].value
    assert len(ended) == 2  # of the landing page, and of this one


def test_no_page_stops_the_run() -> None:
    """st.stop inside a page would end the shell's run too."""
    folder = Path(__file__).parents[2] / "pages"
    assert not [path.name for path in folder.rglob("*.py") if "st.stop(" in path.read_text(encoding="utf-8")]
