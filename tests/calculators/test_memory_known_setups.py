"""Setups that people run or know not to fit, each with who says so; and the engine's own defaults."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

from calculators.architecture import read_config
from calculators.formats import engine_layout
from calculators.memory import (
    DOES_NOT_FIT,
    FITS,
    Deployment,
    GpuMemory,
    Options,
    best_fleet,
    cache_pool_bytes,
    estimate,
)
from calculators.memory.cache import batch_defaults
from gpu_data import spec_frame
from gpu_data.engines import engine, error_band
from gpu_data.formats import kv_format, weight_format
from gpu_data.models import model_config
from tests.calculators.memory_cases import GIB

A100, H100, H200 = "a100-sxm4-80gb", "h100-sxm5-80gb", "h200-sxm-141gb"
A6000, RTX_4090, RTX_3090, RTX_16 = "rtx-a6000-48gb", "rtx-4090-24gb", "rtx-3090-24gb", "rtx-4060-ti-16gb"
SGLANG = "docs.sglang.io/docs/basic_usage/deepseek_v3"


def setup(
    model: str,
    fmt: str,
    card: str,
    gpus: int = 1,
    *,
    on: str = "vllm",
    context: int = 8192,
    **options: object,
) -> Deployment:
    spec, arch, chosen = spec_frame().loc[card], read_config(model_config(model)), engine(on)
    fleet, reason = best_fleet(arch, chosen, gpus, weight_format(fmt))
    assert fleet is not None, reason
    return Deployment(
        arch,
        weight_format(fmt),
        kv_format("bf16"),
        chosen,
        GpuMemory(spec["name"], float(spec["usable_bytes"]), spec["usable_basis"]),
        options=Options(**options),
        tensor_parallel_size=fleet.tensor_parallel_size,
        pipeline_parallel_size=fleet.pipeline_parallel_size,
        max_model_len=context,
        band=error_band(chosen.family),
        layout=engine_layout(spec, weight_format(fmt), chosen.family, arch),
    )


def later(*arguments: object, **options: object) -> Callable[[], Deployment]:
    """A setup that is built when its test runs."""
    return partial(setup, *arguments, **options)


@pytest.mark.parametrize(
    "setup_",
    [
        pytest.param(
            later("llama-3-70b", "awq-int4", A6000, context=4096),
            id="runpod-workers/worker-vllm#68: 48 GB, AWQ",
        ),
        pytest.param(
            later("llama-3.3-70b", "awq-int4", "l40s-48gb", context=4096, memory_share=0.95),
            id="the same on the other 48 GB card, utilisation 0.95",
        ),
        pytest.param(
            later("qwen1.5-32b", "awq-int4", RTX_4090, on="vllm-v0", context=4000),
            id="vllm-project/vllm#3872: 24 GB starts at 4,000 tokens",
        ),
        pytest.param(
            later("llama-3-70b", "bf16", A100, 2, context=4096),
            id="vllm-project/vllm#5711: at least 2 x 80 GB",
        ),
        pytest.param(
            later("gpt-oss-120b", "native", A100), id="vllm-project/recipes GPT-OSS.md: fits one A100 80 GB"
        ),
        pytest.param(later("gpt-oss-120b", "native", H100), id="cookbook.openai.com run-vllm: fits one H100"),
        pytest.param(
            later("gpt-oss-20b", "native", RTX_16, memory_share=0.95),
            id="cookbook.openai.com run-vllm: about 16 GB",
        ),
    ],
)
def test_known_to_run_though_closely(setup_):
    assert estimate(setup_()).verdict != DOES_NOT_FIT


@pytest.mark.parametrize(
    "setup_",
    [
        pytest.param(
            later("llama-3.1-8b", "bf16", RTX_4090), id="worker-vllm#68: one 24 GB GPU is fine for 8B"
        ),
        pytest.param(
            later("gpt-oss-20b", "gguf-mxfp4", RTX_16, on="llama.cpp"),
            id="openai/gpt-oss README: within 16 GB",
        ),
        pytest.param(
            later("deepseek-v3", "native", H200, 8), id="docs.vllm.ai recipes DeepSeek-V3: 8 x H200"
        ),
        pytest.param(later("deepseek-v3", "native", H200, 8, on="sglang"), id=f"{SGLANG}: 8 x H200"),
        pytest.param(
            later("deepseek-v3", "native", "mi300x-192gb", 8, on="sglang"), id=f"{SGLANG}: 8 x MI300X"
        ),
        pytest.param(later("deepseek-v3", "native", H100, 16, on="sglang"), id=f"{SGLANG}: 2 x 8 x H100"),
        pytest.param(later("deepseek-v3", "awq-int4", H100, 8, on="sglang"), id=f"{SGLANG}: AWQ on 8 x H100"),
        pytest.param(
            later("deepseek-v3", "bf16", H200, 16, on="sglang"), id=f"{SGLANG}: BF16 on 2 x 8 x H200"
        ),
        pytest.param(
            later("deepseek-v3", "bf16", A100, 32, on="sglang"), id=f"{SGLANG}: BF16 on 4 x 8 x A100"
        ),
    ],
)
def test_known_to_fit(setup_):
    assert estimate(setup_()).verdict == FITS


@pytest.mark.parametrize(
    "setup_",
    [
        pytest.param(later("llama-3-70b", "bf16", A6000), id="worker-vllm#68: unquantised 70B not on 48 GB"),
        pytest.param(later("llama-3-70b", "bf16", A100), id="vllm-project/vllm#5711: not on one A100"),
        pytest.param(later("deepseek-v3", "native", H100, 8), id=f"{SGLANG}: FP8 needs two nodes of H100"),
        pytest.param(later("deepseek-v3", "bf16", H200, 8), id=f"{SGLANG}: BF16 needs two nodes of H200"),
        pytest.param(later("llama-3.3-70b", "awq-int4", RTX_3090), id="37 GiB of weights on 24 GB"),
    ],
)
def test_known_not_to_fit(setup_):
    assert estimate(setup_()).verdict == DOES_NOT_FIT


def test_a_small_batch_leaves_the_pool_that_the_log_shows():
    """vllm-project/vllm#17327, RTX 3090 of 23.56 GiB, 8 sequences: weights 15.68, peak 0.12, pool 5.34."""
    chosen = {"max_num_seqs": 8, "max_num_batched_tokens": 2048}  # V0 of 0.8, whose chunk has 2,048 tokens
    deployment = setup("qwen3-30b-a3b", "awq-int4", RTX_3090, on="vllm-v0", context=40_960, **chosen)
    deployment = deployment.but(gpu=GpuMemory("RTX 3090", 23.56 * GIB))
    report = estimate(deployment)
    assert report.weights_bytes / GIB == pytest.approx(15.68, rel=0.01)
    assert report.activation_bytes / GIB == pytest.approx(0.12, abs=0.02)
    assert cache_pool_bytes(deployment) / GIB == pytest.approx(5.34, rel=0.03)


def test_full_context_fills_a_20_gb_card_without_overflowing_it():
    """ggml-org/llama.cpp/discussions/15396: gpt-oss-20b, 131,072 tokens, -ub 4096 -fa, "barely" on 20 GB."""
    deployment = setup(
        "gpt-oss-20b", "gguf-mxfp4", RTX_16, on="llama.cpp", context=131_072, ubatch_tokens=4096
    )
    assert 0.8 * 20 * GIB < estimate(deployment).needed_bytes < 20 * GIB


@pytest.mark.parametrize("on", ["vllm-0.8", "vllm-0.11", "vllm"])
@pytest.mark.parametrize(
    ("card", "tokens", "sequences"),
    [(RTX_4090, 2048, 256), (A100, 2048, 256), (H100, 8192, 1024), ("mi300x-192gb", 8192, 1024)],
)
def test_the_api_server_takes_its_batch_from_the_card(on, card, tokens, sequences):
    """vllm/engine/arg_utils.py get_batch_defaults, OPENAI_API_SERVER: 70 GiB and more, A100 excepted."""
    deployment = setup("llama-3.1-8b", "bf16", card, on=on)
    assert batch_defaults(deployment, "max_num_batched_tokens") == tokens
    assert batch_defaults(deployment, "max_num_seqs") == sequences
    said = f"max_num_seqs {sequences:,}, max_num_batched_tokens {tokens:,}: defaults of"
    assert any(note.startswith(said) for note in estimate(deployment).assumptions)
    chosen = deployment.but(options=Options(max_num_seqs=8, max_num_batched_tokens=512))
    assert not any("defaults of" in note for note in estimate(chosen).assumptions)
