"""Bytes and operations of a step against published counts, then the laws they must obey."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calculators.architecture import read_config
from calculators.speed.work import (
    ModelWork,
    cache_bytes_read,
    decode_attention_flop,
    experts_touched,
    model_work,
    prefill_attention_flop,
    score_elements,
    weight_bytes_read,
)
from gpu_data.formats import kv_format, weight_format
from gpu_data.models import model_config

GIB = 2**30


def work_of(model_id: str, fmt: str = "bf16", kv: str = "bf16") -> ModelWork:
    return model_work(read_config(model_config(model_id)), weight_format(fmt), kv_format(kv))


@pytest.mark.parametrize(
    ("model_id", "kilobytes"),
    [
        pytest.param("deepseek-v3", 70.272, id="DeepSeek-V3-Insights-into-DeepSeek-V3-table-1"),
        pytest.param("qwen2.5-72b", 327.680, id="Qwen2.5-72B-Insights-into-DeepSeek-V3-table-1"),
        pytest.param("llama-3.1-405b", 516.096, id="LLaMA-3.1-405B-Insights-into-DeepSeek-V3-table-1"),
        pytest.param("llama-3.1-8b", 131.072, id="Llama-3.1-8B-2-x-32-layers-x-8-heads-x-128-x-2-bytes"),
    ],
)
def test_cache_bytes_of_one_token(model_id: str, kilobytes: float) -> None:
    assert float(cache_bytes_read(work_of(model_id), 1)) == pytest.approx(kilobytes * 1000, rel=1e-6)


@pytest.mark.parametrize(
    ("model_id", "index_elements", "cells", "layers"),
    [
        pytest.param("deepseek-v3.2", 128, 2048, 61, id="DeepSeek-V3.2-Exp-index-key-128-top-2048"),
        pytest.param("glm-5", 128, 2048, 78, id="GLM-5-config-index-head-dim-128-top-2048"),
    ],
)
def test_sparse_attention_reads_chosen_cells_and_every_index_key(
    model_id: str, index_elements: int, cells: int, layers: int
) -> None:
    work = work_of(model_id)
    a, b = (float(cache_bytes_read(work, n)) for n in (4 * cells, 8 * cells))
    assert b - a == pytest.approx(4 * cells * index_elements * 2 * layers)
    dense = work_of("deepseek-v3")  # the same layers, attending to everything
    if model_id == "deepseek-v3.2":
        assert float(cache_bytes_read(work, 131072)) < float(cache_bytes_read(dense, 131072)) / 4
        assert float(prefill_attention_flop(work, 131072)) < float(prefill_attention_flop(dense, 131072)) / 3
        # short prompts meet every cell either way; the indexer's scores come on top
        assert float(prefill_attention_flop(work, 1024)) > float(prefill_attention_flop(dense, 1024))


def test_latent_attention_decodes_against_the_cache_as_stored() -> None:
    # DeepSeek-V2, arXiv:2405.04434, section 2.1.2: 128 heads meet 512 + 64 elements and sum 512 of them
    a, b = (float(decode_attention_flop(work_of("deepseek-v3"), n)) for n in (1000, 1001))
    assert b - a == pytest.approx(61 * 2 * 128 * (576 + 512))


def test_layers_that_share_a_cache_read_it_again() -> None:
    # Gemma 3n E4B, config.json: 35 layers, the last 15 keep no keys and values of their own
    work = work_of("gemma-3n-e4b")
    one_layer = 2 * 2 * 256 * 2  # keys and values, 2 heads of 256, 16 bits
    assert float(cache_bytes_read(work, 1)) == pytest.approx(35 * one_layer)


@pytest.mark.parametrize(
    ("model_id", "training_gflop"),
    [
        pytest.param("deepseek-v3", 250, id="DeepSeek-V3-Insights-into-DeepSeek-V3-table-2"),
        pytest.param("llama-3.1-405b", 2448, id="LLaMA-405B-dense-Insights-into-DeepSeek-V3-table-2"),
    ],
)
def test_operations_per_token_are_a_third_of_training(model_id: str, training_gflop: float) -> None:
    # forward and backward at 4,096 tokens; the backward pass does twice the forward's work
    work = work_of(model_id)
    attention = float(prefill_attention_flop(work, 4096)) / 4096
    forward = work.matmul_flop_per_token + work.head_flop_per_token + attention
    assert forward == pytest.approx(training_gflop * 1e9 / 3, rel=0.12)


@pytest.mark.parametrize(
    ("model_id", "fmt", "gib"),
    [
        # published GGUF file less the input embedding, of which a step reads one row
        pytest.param(
            "llama-3-8b", "gguf-f16", 14.96 - 128256 * 4096 * 2 / GIB, id="Llama-3-8B-F16-14.96-GiB"
        ),
        pytest.param(
            "llama-3-70b", "gguf-f16", 131.42 - 128256 * 8192 * 2 / GIB, id="Llama-3-70B-F16-131.42-GiB"
        ),
        pytest.param("llama-3-70b", "gguf-q4_k_m", 39.59 - 0.55, id="Llama-3-70B-Q4_K_M-39.59-GiB"),
    ],
)
def test_weights_read_by_a_step(model_id: str, fmt: str, gib: float) -> None:
    assert float(weight_bytes_read(work_of(model_id, fmt), 1)) / GIB == pytest.approx(gib, rel=0.005)


def test_attention_is_a_third_of_the_work_at_28k_tokens() -> None:
    # AccelMark suite D: 28,650-token prompts of Llama 3.1 8B
    work = work_of("llama-3.1-8b")
    attention = float(prefill_attention_flop(work, 28650))
    total = attention + 28650 * work.matmul_flop_per_token
    assert 0.28 < attention / total < 0.38


@pytest.mark.parametrize(
    ("tokens", "expected"),
    [
        pytest.param(1, 2.0, id="one-token-uses-its-two-experts"),
        pytest.param(2, 3.5, id="8-x-(1-0.75^2)"),
        pytest.param(4, 8 * (1 - 0.75**4), id="8-x-(1-0.75^4)"),
        pytest.param(1000, 8.0, id="a-large-batch-touches-all"),
    ],
)
def test_distinct_experts_of_mixtral(tokens: int, expected: float) -> None:
    assert float(experts_touched(8, 2, tokens)) == pytest.approx(expected, rel=1e-9)


def test_a_batch_of_mixtral_reads_more_weights_than_a_token_and_no_more_than_all() -> None:
    work = work_of("mixtral-8x7b")
    one, many = float(weight_bytes_read(work, 1)), float(weight_bytes_read(work, 4096))
    assert one < 0.35 * many
    assert many == pytest.approx(work.weight_bytes, rel=1e-9)


def test_windows_cap_attention_and_cache() -> None:
    work = work_of("gpt-oss-20b")
    # 12 of 24 layers see 128 tokens: beyond, each token adds only the other half
    near, far = float(decode_attention_flop(work, 100_000)), float(decode_attention_flop(work, 200_000))
    per_layer = 2 * (4096 + 4096)
    assert far - near == pytest.approx(12 * per_layer * 100_000, rel=1e-9)


models = st.sampled_from(
    ["llama-3.1-8b", "mixtral-8x7b", "deepseek-v3", "gpt-oss-120b", "qwen3-next-80b-a3b"]
)
contexts = st.integers(1, 200_000)


@given(models, contexts, contexts)
def test_longer_contexts_never_need_less(model_id: str, a: int, b: int) -> None:
    work, (short, long) = work_of(model_id), sorted((a, b))
    for quantity in (cache_bytes_read, decode_attention_flop, prefill_attention_flop, score_elements):
        assert float(quantity(work, short)) <= float(quantity(work, long))


@given(st.integers(1, 512), st.integers(1, 16), st.integers(1, 100_000))
def test_experts_touched_lie_between_one_token_and_all(experts: int, used: int, tokens: int) -> None:
    used = min(used, experts)
    touched = float(experts_touched(experts, used, tokens))
    assert used * (1 - 1e-9) <= touched <= experts * (1 + 1e-9)
    assert touched <= used * tokens * (1 + 1e-9)


@given(models, st.integers(1, 64))
def test_tensor_parallelism_never_adds_cache_to_a_gpu(model_id: str, tp: int) -> None:
    work = work_of(model_id)
    assert float(cache_bytes_read(work, 8192, tp)) <= float(cache_bytes_read(work, 8192, 1)) * (1 + 1e-12)


def test_functions_broadcast() -> None:
    work = work_of("deepseek-v3")
    grid = cache_bytes_read(work, np.arange(1, 6)[:, None], np.array([1, 2, 4]))
    assert grid.shape == (5, 3)
    assert grid[4, 0] == cache_bytes_read(work, 5, 1)
