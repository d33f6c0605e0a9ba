"""The "How fast" table and its formulas, as plain data."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from calculators.scenario import Scenario
from pages.ui import fit_views, speed_load, speed_views, workload


def load(**fields: Any) -> workload.Workload:
    return workload.load(Scenario(**fields))


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"engine": "llama.cpp", "weight_format": "gguf-q4_k_m", "gpu_count": 2},
        {"engine": "sglang", "model": "deepseek-v3", "weight_format": "fp8", "gpu_count": 16},
        {"engine": "tensorrt-llm", "model": "llama-3.1-8b", "weight_format": "fp8", "concurrency": 64},
    ],
    ids=["default", "llama.cpp-two-cards", "sglang-16-GPUs", "tensorrt-64-users"],
)
def test_addends_make_up_the_step_they_explain(fields: dict[str, Any]) -> None:
    _, titles, rows, _ = speed_views.term_rows(load(**fields))
    assert all(len(row) == len(titles) for row in rows)
    for prefix, total in (("Decode: ", "Decode step"), ("Prompt: ", "Prompt read")):
        ms = {
            row[0].removeprefix(prefix): float(row[1].replace(",", ""))
            for row in rows
            if row[0].startswith(prefix)
        }
        whole = next(float(row[1].replace(",", "")) for row in rows if row[0] == total)
        found = max(ms.pop("weights read"), ms.pop("matrices multiplied"))
        found += max(ms.pop("experts read", 0.0), ms.pop("experts multiplied", 0.0))
        found += max(ms.pop("cache read", 0.0), ms.pop("attention computed", 0.0))
        assert found + sum(ms.values()) == pytest.approx(whole, abs=0.02, rel=1e-3)


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"model": "llama-3.3-70b", "weight_format": "awq-int4", "gpus": ("a100-sxm4-80gb",), "gpu_count": 2,
         "concurrency": 32, "prompt_tokens": 4096, "output_tokens": 256, "max_model_len": 8192},
        {"engine": "sglang", "model": "deepseek-v3", "weight_format": "fp8", "gpu_count": 16,
         "concurrency": 64},
        {"engine": "llama.cpp", "weight_format": "gguf-q4_k_m", "gpu_count": 2, "concurrency": 8},
        {"engine": "tensorrt-llm", "model": "llama-3.1-8b", "weight_format": "fp8", "concurrency": 64},
        {"model": "llama-3.1-8b", "split": "pp2", "gpu_count": 2, "concurrency": 16},
    ],
    ids=["one-user", "70B-AWQ-long-prompts", "sglang-16-GPUs", "llama.cpp-two-cards", "tensorrt", "pipeline"],
)  # fmt: skip
def test_parts_make_up_the_figure_of_the_table(fields: dict[str, Any]) -> None:
    """Decode step and prompts of others are the time per token whose inverse the table of speeds shows."""
    found = speed_load.speeds(load(**fields))
    assert not isinstance(found, str)
    i = next(i for i, why in enumerate(found.refused) if why is None)
    _, _, rows, _ = speed_views.term_rows(load(**fields))
    ms = {row[0]: float(row[1].replace(",", "")) for row in rows}
    parts = ms["Decode step"] + ms.get("Prompts of other users", 0.0)
    assert ms["Time per token"] == pytest.approx(parts, abs=0.002)
    assert 1e3 / ms["Time per token"] == pytest.approx(found.speed.tokens_per_s.value[i], rel=1e-3)
    causes = sum(
        float(np.asarray(part).reshape(-1)[i if np.size(part) > 1 else 0])
        for part in found.speed.token.causes
    )
    assert causes * 1e3 == pytest.approx(parts, abs=0.002)
    running = found.speed.running[i]
    assert ("Prompts of other users" in ms) == (running > 1)


def test_what_holds_back_is_the_largest_part() -> None:
    """Two A100 and 32 users of a 70B in AWQ: matrices take longer than weights and cache together do."""
    fields = {"model": "llama-3.3-70b", "weight_format": "awq-int4", "gpus": ("a100-sxm4-80gb",)}
    busy = load(gpu_count=2, concurrency=32, prompt_tokens=4096, max_model_len=8192, **fields)
    alone = load(gpu_count=2, concurrency=1, prompt_tokens=4096, max_model_len=8192, **fields)
    assert speed_views.speed_rows(busy).rows[0][4].startswith("prompts of others, ")
    assert "in the rest computing" in speed_views.speed_rows(busy).rows[0][4]
    assert speed_views.speed_rows(alone).rows[0][4] == "memory bandwidth"


def test_the_numbers_put_in_give_the_weights_time() -> None:
    _, _, rows, _ = speed_views.term_rows(load(model="llama-3.1-8b", weight_format="bf16"))
    row = next(row for row in rows if row[0] == "Decode: weights read")
    match = re.match(r"([\d.,]+) GB ÷ ([\d.,]+) GB/s", row[3])
    assert match
    gb, per_s = (float(text.replace(",", "")) for text in match.groups())
    assert gb == pytest.approx(15.0, rel=0.01)  # 8.03 billion less the input embedding, 2 bytes each
    assert gb / per_s * 1e3 == pytest.approx(float(row[1]), rel=0.01)


def test_every_pinned_card_has_a_row_in_order() -> None:
    found = speed_views.speed_rows(load())
    assert [row[0] for row in found.rows] == [gpu.title for gpu in load().pinned]
    assert all(len(row) == len(speed_views.TITLES) for row in found.rows)
    assert "1,024 tokens" in found.caption
    assert found.rows[-1][4] == "does not fit"


def test_users_who_wait_are_counted() -> None:
    fields = {"model": "llama-3.1-8b", "weight_format": "bf16", "gpus": ("rtx-4090-24gb",)}
    few, many = (speed_views.speed_rows(load(concurrency=n, **fields)).rows[0] for n in (4, 64))
    assert "wait" not in few[4]
    assert "of 64 users wait" in many[4]
    most = speed_load.speeds(load(concurrency=64, **fields))
    assert not isinstance(most, str)
    assert f"{int(most.speed.users_at_most[0])} users" in many[5]


def test_no_speed_says_why() -> None:
    assert "not modelled" in speed_views.speed_rows(load(engine="transformers")).reason


@pytest.mark.parametrize(
    ("value", "text"), [(0.123, "0.12"), (2.0, "2.0"), (9.96, "10"), (73.4, "73"), (1234.5, "1,234")]
)
def test_two_figures_or_whole_numbers(value: float, text: str) -> None:
    assert speed_views._number(value) == text


def test_a_card_shown_in_detail_never_gets_the_formulas_of_another() -> None:
    caption, _, rows, _ = speed_views.term_rows(load(), "rtx-4090-24gb")  # a 70B model
    assert rows == []
    assert "RTX 4090" in caption
    assert "does not fit" in caption
    _, _, rows, _ = speed_views.term_rows(load(), "a100-sxm4-80gb")
    assert any("2,039 GB/s" in row[3] or "2,0" in row[3] for row in rows)


@pytest.mark.parametrize(
    ("engine", "gpu", "said"),
    [
        ("vllm", "apple-m3-ultra", "no Apple GPU backend"),  # vLLM docs, installation: GPU
        ("sglang", "apple-m4-max", "no Apple GPU backend"),
        ("tensorrt-llm", "mi300x-192gb", "NVIDIA GPUs only"),  # TensorRT-LLM docs, supported-hardware
        ("vllm", "mi300x-192gb", None),
        ("llama.cpp", "apple-m3-ultra", None),
    ],
)
@pytest.mark.parametrize("weight_format", ["bf16", "bnb-int8", "gguf-q4_k_m"])
def test_an_engine_without_a_backend_runs_no_format_on_a_card(
    engine: str, gpu: str, said: str | None, weight_format: str
) -> None:
    asked = load(model="llama-3.1-8b", engine=engine, gpus=(gpu,), weight_format=weight_format)
    reason = asked.barred(asked.pinned[0]) or ""
    if said:
        assert said in reason or "does not read" in reason
        assert speed_views.speed_rows(asked).rows[0][1] == "–"
        (change,) = fit_views.changes(asked)[0]
        assert not change["able"]
        assert change["text"] != "no single change is enough."
    else:
        assert "backend" not in reason
