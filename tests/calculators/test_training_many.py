"""Many GPUs and sizes at once: the same as one by one, and what the pages rely on."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calculators.memory import DOES_NOT_FIT, FITS, GpuMemory
from calculators.training import GpuKind, Many, Parallel, Training, estimate, many, planned, refusal_of, speed
from calculators.training.flops import step_flops
from calculators.training.many import best_measured_tflops, stack, step_tokens
from gpu_data import spec_frame
from gpu_data.formats import weight_format
from tests.calculators.training_cases import TABLES, gpu, training

GIB = 2**30
GPUS = ("h100-sxm5-80gb", "a100-sxm4-80gb", "l40s-48gb", "rtx-4090-24gb", "v100-sxm2-32gb")


@cache
def kind(gpu_id: str, devices: int = 1) -> GpuKind:
    memory = float(spec_frame().loc[gpu_id, "usable_bytes"])
    return GpuKind(gpu_id, memory, gpu(gpu_id), TABLES.speed_band(gpu_id), devices)


def found(run: Training, boards: Any = 1, gpus: tuple[str, ...] = GPUS, **options: Any) -> Many:
    return many(run, [kind(name) for name in gpus], boards, TABLES, **options)


@pytest.mark.parametrize("gpus", [8, 64, 512])
@pytest.mark.parametrize("model", ["llama-2-7b", "llama-2-70b", "deepseek-v3"])
def test_the_automatic_split_is_the_one_of_the_plan(model: str, gpus: int) -> None:
    run = training(
        model,
        "torchtitan",
        precision=TABLES.precisions["mixed"],
        seq_len=4096,
        parallel=Parallel(sequence_parallel=True),
    )
    all_at_once = found(run, gpus)
    for i, name in enumerate(GPUS):
        alone, _ = planned(run, gpus, kind(name).capacity_bytes)
        report = estimate(alone, None, dict(TABLES.constants))
        if report.needed_bytes * (1 + TABLES.bands["peak_gib_per_gpu"].high) > kind(name).capacity_bytes:
            continue  # the plan is content with less than being sure
        assert all_at_once.needed_bytes[i] == pytest.approx(report.needed_bytes)
        rate = speed(alone, gpu(name), TABLES)
        assert all_at_once.tokens_per_s_per_gpu[i] == pytest.approx(rate.tokens_per_s_per_gpu)
        assert all_at_once.mfu[i] == pytest.approx(rate.mfu)


@pytest.mark.parametrize("axis", ["seq_len", "micro_batch", "boards"])
def test_an_array_of_sizes_equals_one_by_one(axis: str) -> None:
    run = training("llama-2-13b", "torchtitan", precision=TABLES.precisions["mixed"])
    values = np.array([8, 64, 1024])
    if axis == "boards":
        together = found(run, values, may_checkpoint=True)
        single = [found(run, int(n), may_checkpoint=True) for n in values]
    else:
        together = found(run.but(**{axis: values}), 16, may_checkpoint=True)
        single = [found(run.but(**{axis: int(n)}), 16, may_checkpoint=True) for n in values]
    for i, one in enumerate(single):
        assert together.verdict[:, i].tolist() == one.verdict.tolist()
        np.testing.assert_allclose(together.needed_bytes[:, i], one.needed_bytes)
        np.testing.assert_allclose(together.tokens_per_s_per_gpu[:, i], one.tokens_per_s_per_gpu)


def test_more_tokens_never_make_a_run_fit() -> None:
    """Although the split changes on the way."""
    sizes = np.array([256 * 2**k for k in range(10)])
    for model, gpus in (("llama-2-7b", 8), ("llama-2-13b", 16), ("llama-2-70b", 64)):
        run = training(model, "torchtitan", precision=TABLES.precisions["mixed"], seq_len=sizes)
        verdict = found(run, gpus, may_checkpoint=True).verdict.astype(int)
        assert (np.diff(verdict) <= 0).all()
        assert len(set(verdict.ravel().tolist())) > 1


def test_computing_again_comes_before_a_finer_split() -> None:
    run = training(
        "llama-2-70b", "torchtitan", precision=TABLES.precisions["mixed"], checkpointing="selective"
    )
    at = found(run.but(seq_len=4096), 64, may_checkpoint=True)
    way = at.options[at.option[0]]
    assert (way.parallel.tensor, way.parallel.zero_stage, way.checkpointing) == (1, 3, "full")


def test_a_board_of_two_devices_counts_twice() -> None:
    run = training("llama-3.2-1b")
    kinds = [kind("l40s-48gb", 2), kind("l40s-48gb")]
    both = many(run, kinds, 4, TABLES)
    alone = many(run, kinds[1:], 8, TABLES)
    assert both.gpus.tolist() == [8, 4]
    assert both.tokens_per_s_per_gpu[0] == pytest.approx(alone.tokens_per_s_per_gpu[0])
    assert both.needed_bytes[0] == pytest.approx(alone.needed_bytes[0])


def test_a_split_that_cannot_be_is_no_option_and_says_why() -> None:
    run = training("llama-3.1-8b", parallel=Parallel(tensor=4))
    split = found(run, np.array([4, 6, 8]), automatic_split=False)
    assert (split.option[:, 1] == -1).all()
    assert (split.verdict[:, 1] == DOES_NOT_FIT).all()
    assert (split.option[:, [0, 2]] >= 0).all()
    reason = refusal_of(run, 6)
    assert reason is not None
    assert reason.startswith("gpus: 6")


def test_a_gpu_without_a_known_peak_has_memory_and_no_speed() -> None:
    unknown = GpuKind("unknown", 80 * GIB, None, TABLES.speed_band("none"), 1, "no known dense_bf16_tflops")
    both = many(training("llama-3.2-1b"), [unknown, kind("l40s-48gb")], 1, TABLES)
    assert both.verdict.tolist() == [FITS, FITS]
    assert np.isnan(both.tokens_per_s_per_gpu[0])
    assert both.tokens_per_s_per_gpu[1] > 0


runs = st.builds(
    lambda model, method, optimizer, precision, checkpointing, seq_len, micro_batch: training(
        model,
        method=method,
        base_format=weight_format("bnb-nf4") if method == "qlora" else None,
        optimizer=TABLES.optimizers[optimizer],
        precision=TABLES.precisions[precision],
        checkpointing=checkpointing,
        seq_len=seq_len,
        micro_batch=micro_batch,
    ),
    st.sampled_from(["llama-3.2-1b", "llama-2-7b", "qwen3-30b-a3b", "llama-2-70b"]),
    st.sampled_from(["full", "lora", "qlora"]),
    st.sampled_from(sorted(TABLES.optimizers)),
    st.sampled_from(sorted(TABLES.precisions)),
    st.sampled_from(["none", "selective", "full"]),
    st.integers(1, 32768),
    st.integers(1, 16),
)
few = settings(max_examples=25, deadline=None)


@few
@given(runs, st.sampled_from([1, 2, 8, 64]))
def test_parts_sum_and_the_verdict_is_the_capacity_against_the_band(run: Training, gpus: int) -> None:
    at = found(run, gpus)
    band = TABLES.bands["peak_gib_per_gpu"]
    capacity = np.array([kind(name).capacity_bytes for name in GPUS])
    np.testing.assert_allclose(at.parts_bytes.sum(axis=0), at.needed_bytes)
    np.testing.assert_allclose(at.needed_bytes + at.headroom_bytes, capacity)
    assert ((at.verdict == FITS) == (at.needed_bytes * (1 + band.high) <= capacity)).all()
    assert ((at.verdict == DOES_NOT_FIT) == (at.needed_bytes * (1 + band.low) > capacity)).all()


@few
@given(runs, st.integers(2, 6))
def test_more_tokens_at_once_never_take_less(run: Training, times: int) -> None:
    """On one GPU, where the split cannot change."""
    sizes = np.array([run.seq_len, run.seq_len * times])
    assert (np.diff(found(run.but(seq_len=sizes)).needed_bytes) >= -1).all()
    sizes = np.array([run.micro_batch, run.micro_batch * times])
    assert (np.diff(found(run.but(micro_batch=sizes)).needed_bytes) >= -1).all()


@few
@given(runs)
def test_a_lighter_method_never_takes_more(run: Training) -> None:
    """QLoRA, LoRA, everything: on a frozen base in 4 bits, in 16 bits, with gradients and states of all."""
    run = run.but(optimizer=TABLES.optimizers["adamw"], precision=TABLES.precisions["bf16"], lora_rank=16)
    need = [
        found(run.but(method=method, base_format=base), 1).needed_bytes[0]
        for method, base in (("qlora", weight_format("bnb-nf4")), ("lora", None), ("full", None))
    ]
    without_activations = [
        estimate(run.but(method=method, base_format=base, seq_len=1, micro_batch=1)).allocated_bytes
        for method, base in (("qlora", weight_format("bnb-nf4")), ("lora", None), ("full", None))
    ]
    assert without_activations == sorted(without_activations)
    if run.checkpointing == "full":
        assert need == sorted(need)


@few
@given(runs, st.sampled_from([1, 8, 64, 4096]))
def test_no_speed_lies_above_the_best_matrix_product_measured(run: Training, gpus: int) -> None:
    at = found(run, gpus)
    for i, name in enumerate(GPUS):
        flops = step_flops(at.options[at.option[i]]).total
        able = [dtype for dtype in ("fp8", "bf16", "fp16") if dtype in gpu(name).tflops]
        card = stack([gpu(name)], able)
        fastest = max(float(np.ravel(best_measured_tflops(card, dtype, TABLES))[0]) for dtype in able)
        assert at.high[i] * flops <= fastest * 1e12 * (1 + 1e-9)
        assert at.low[i] <= at.tokens_per_s_per_gpu[i] <= at.high[i] * (1 + 1e-9)


def test_the_scalar_estimate_gives_the_same_verdict() -> None:
    run = training("llama-3.1-8b", method="lora", checkpointing="full")
    at = found(run)
    for i, name in enumerate(GPUS):
        memory = GpuMemory(name, kind(name).capacity_bytes, "assumed")
        report = estimate(
            at.options[at.option[i]], memory, dict(TABLES.constants), TABLES.bands["peak_gib_per_gpu"]
        )
        assert report.verdict == at.verdict[i]
        assert report.needed_bytes == pytest.approx(at.needed_bytes[i])


@pytest.mark.parametrize("gpus", [64, 16_384])
def test_a_step_takes_no_more_tokens_than_published_runs_did(gpus: int) -> None:
    """DeepSeek-V3, arXiv:2412.19437: 15,360 sequences of 4,096 tokens; a micro-batch a step is the least."""
    run = training("llama-3.1-405b", "megatron", precision=TABLES.precisions["megatron"], seq_len=8192)
    for way in found(run, np.array([gpus, 2 * gpus]), gpus=("h100-sxm5-80gb",)).options:
        assert np.all((step_tokens(way) <= 62_914_560) | (np.asarray(way.accumulation) == 1))


def test_more_gpus_than_the_batch_feeds_are_not_as_busy() -> None:
    run = training("llama-3.1-405b", "megatron", precision=TABLES.precisions["megatron"], seq_len=8192)
    rate = found(run, np.array([16_384, 98_304]), gpus=("h100-sxm5-80gb",)).tokens_per_s_per_gpu[0]
    assert rate[1] < 0.9 * rate[0]


def test_a_batch_of_ones_own_is_kept() -> None:
    run = training("llama-2-7b", "torchtitan", seq_len=4096)
    ways = found(run, 8192, gpus=("h100-sxm5-80gb",), accumulation=64).options
    assert all(np.all(np.asarray(way.accumulation) == 64) for way in ways)
