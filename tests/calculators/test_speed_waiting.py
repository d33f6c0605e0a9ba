"""A GPU that waits for its engine: a faster one writes no faster, and the step says what binds."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calculators.architecture import read_config
from calculators.ranking import used_shares
from calculators.speed import BINDS, GpuRates, decode_step, gpu_rates, model_work, prompt_step
from gpu_data import spec_frame
from gpu_data.formats import kv_format, weight_format
from gpu_data.models import model_config
from gpu_data.speed import speed_engine

VLLM = speed_engine("vllm")
SMALL = model_work(read_config(model_config("llama-3.1-8b")), weight_format("awq-int4"), kv_format("bf16"))
GPUS = ["h100-sxm5-80gb", "a100-sxm4-80gb", "h200-sxm-141gb", "rtx-4090-24gb", "l40s-48gb", "t4-16gb"]


def rates_of(gpu: str) -> GpuRates:
    return gpu_rates(dict(spec_frame().loc[gpu]), weight_format("awq-int4"))


@given(st.sampled_from(GPUS), st.integers(1, 64), st.integers(1, 8192))
@settings(max_examples=40)
def test_twice_the_card_changes_a_step_just_where_it_does_not_wait(
    gpu: str, users: int, context: int
) -> None:
    rates = rates_of(gpu)
    twice = replace(
        rates, bandwidth=rates.bandwidth * 2, sm_clock=rates.sm_clock * 2, compute=rates.compute * 2,
        attention=rates.attention * 2,
    )  # fmt: skip
    now, then = (decode_step(SMALL, one, VLLM, users, context) for one in (rates, twice))
    assert float(then.total) <= float(now.total) * (1 + 1e-12)
    if float(now.waiting) > 0:
        assert float(then.total) == pytest.approx(float(now.total))
        assert BINDS[int(now.binds)] == "fixed cost"
    else:
        assert float(then.total) < float(now.total)


@given(st.sampled_from(GPUS), st.integers(1, 64), st.integers(1, 8192))
@settings(max_examples=20)
def test_waiting_is_a_part_of_the_fixed_cost(gpu: str, users: int, tokens: int) -> None:
    decode = decode_step(SMALL, rates_of(gpu), VLLM, users, tokens)
    prompt = prompt_step(SMALL, rates_of(gpu), VLLM, tokens)
    for step in (decode, prompt, prompt.times(3)):
        assert 0 <= float(step.waiting) <= float(step.fixed) * (1 + 1e-12)
    use = used_shares(prompt, decode, 256, users)
    for share in (use.fixed, use.waiting, use.link):
        assert 0 <= float(share) <= 1


def test_an_8b_model_in_4_bits_is_as_fast_on_h100_as_on_a100() -> None:
    """vLLM: both wait for the engine's least time a layer; RTX 4090 reads its weights longer than that."""
    steps = {gpu: decode_step(SMALL, rates_of(gpu), VLLM, 1, 1152) for gpu in [*GPUS[:2], "rtx-4090-24gb"]}
    waiting = {gpu: float(step.waiting) > 0 for gpu, step in steps.items()}
    assert waiting == {"h100-sxm5-80gb": True, "a100-sxm4-80gb": True, "rtx-4090-24gb": False}
    assert float(steps["h100-sxm5-80gb"].total) == pytest.approx(float(steps["a100-sxm4-80gb"].total))
