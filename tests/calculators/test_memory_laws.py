"""Laws that hold for every model, engine, format and split."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calculators.memory import (
    DOES_NOT_FIT,
    FITS,
    TIGHT,
    Options,
    allowed_tensor_parallel_sizes,
    estimate,
    verdict_of,
)
from gpu_data.engine_schemas import ErrorBand
from gpu_data.engines import engines
from tests.calculators.memory_cases import architecture, deploy

MODELS = (
    "meta-llama/Llama-3.1-8B-Instruct",
    "google/gemma-3-1b-it",
    "deepseek-ai/DeepSeek-V3-0324",
    "openai/gpt-oss-20b",
    "Qwen/Qwen3-30B-A3B",
    "Qwen/Qwen3.5-27B",
    "tiiuae/falcon-7b",
)
FORMATS = ("bf16", "fp8", "awq-int4", "gguf-q4_k_m")
# Options that pin what some engines derive from the size of the GPU.
PINNED = Options(memory_share=0.9, max_num_seqs=64, max_num_batched_tokens=2048)

models = st.sampled_from(MODELS)
engine_ids = st.sampled_from([e.id for e in engines()])
# vLLM V0 needs less above 32,768 tokens than just below: chunked prefill (tested with its own log).
steady_engines = st.sampled_from(
    [e.id for e in engines() if "whole_prompt_profile_limit" not in e.parameters]
)
formats = st.sampled_from(FORMATS)
kv_formats = st.sampled_from(("bf16", "fp8", "q8_0"))
contexts = st.integers(1, 200_000)
users = st.integers(1, 64)
capacities = st.floats(4, 300)
gpu_counts = st.sampled_from((1, 2, 4, 8))

some = settings(max_examples=60, deadline=None)


def band_of(low, high):
    return ErrorBand(
        family="x", low=low, high=high, work_low=low, work_high=high, rows=1, work_rows=1, note="test"
    )


@some
@given(models, engine_ids, formats, kv_formats, contexts, users, capacities, gpu_counts)
def test_parts_sum_to_the_total(model, engine, weights, kv, context, sequences, gib, gpus):
    deployment = deploy(
        model,
        engine,
        weights=weights,
        kv=kv,
        gib=gib,
        gpus=gpus,
        max_model_len=context,
        concurrency=sequences,
    )
    report = estimate(deployment)
    parts = (report.weights_bytes, report.kv_bytes, report.activation_bytes, report.overhead_bytes)
    assert report.needed_bytes == pytest.approx(sum(parts))
    assert report.needed_bytes == pytest.approx(sum(term.bytes for term in report.terms))
    assert all(part >= 0 for part in parts)
    assert report.headroom_bytes == pytest.approx(report.budget_bytes - report.needed_bytes)
    assert report.budget_bytes <= report.capacity_bytes * (1 + 1e-12)
    for group, part in zip(("weights", "kv", "activation", "overhead"), parts, strict=True):
        assert part == pytest.approx(sum(t.bytes for t in report.terms if t.group == group))


@some
@given(models, steady_engines, formats, contexts, contexts, users, users, gpu_counts)
def test_more_context_or_users_never_need_less(model, engine, weights, c1, c2, u1, u2, gpus):
    deployment = deploy(model, engine, weights=weights, gpus=gpus, options=PINNED)
    less = estimate(deployment.but(max_model_len=min(c1, c2), concurrency=min(u1, u2)))
    more = estimate(deployment.but(max_model_len=max(c1, c2), concurrency=max(u1, u2)))
    assert more.needed_bytes >= less.needed_bytes * (1 - 1e-12)


@some
@given(models, engine_ids, formats, contexts, users)
def test_more_gpus_never_hold_more_weights_or_cache_each(model, engine, weights, context, sequences):
    shares = []
    for gpus in (1, 2, 4, 8):
        deployment = deploy(
            model,
            engine,
            weights=weights,
            gpus=gpus,
            max_model_len=context,
            concurrency=sequences,
            options=PINNED,
        )
        pieces = [p for p in estimate(deployment).pieces if p.group in ("weights", "kv")]
        per_device = sum(np.asarray(p.bytes) for p in pieces)
        shares.append(float(np.max(per_device)))
    assert all(b <= a * (1 + 1e-12) for a, b in pairwise(shares))


@some
@given(models, engine_ids, formats, contexts, users, capacities, capacities, gpu_counts)
def test_verdict_is_monotone_in_capacity(model, engine, weights, context, sequences, a, b, gpus):
    deployment = deploy(
        model,
        engine,
        weights=weights,
        gpus=gpus,
        max_model_len=context,
        concurrency=sequences,
        options=PINNED,
    )
    band = band_of(-0.05, 0.1)
    small, large = (
        estimate(deploy(model, engine, weights=weights, gib=size, gpus=gpus, max_model_len=context,
                        concurrency=sequences, options=PINNED, band=band)).verdict
        for size in sorted((a, b))
    )  # fmt: skip
    assert small <= large
    assert estimate(deployment).verdict in (DOES_NOT_FIT, FITS)  # without a band nothing is tight


@some
@given(
    st.floats(1, 1e12),
    st.floats(1, 1e12),
    st.floats(0, 1e12),
)
def test_tight_exactly_inside_the_band(budget, low, width):
    verdict = int(verdict_of(budget, low, low + width))
    assert (verdict == TIGHT) == (low <= budget < low + width)
    assert (verdict == FITS) == (budget >= low + width)


@some
@given(models, engine_ids, formats, contexts, users, capacities, st.floats(-0.5, 0), st.floats(0, 0.5))
def test_report_verdict_uses_its_own_band(model, engine, weights, context, sequences, gib, low, high):
    band = band_of(low, high)
    report = estimate(
        deploy(
            model, engine, weights=weights, gib=gib, max_model_len=context, concurrency=sequences, band=band
        )
    )
    estimated = report.needed_bytes - report.kv_bytes
    assert report.need_low_bytes == pytest.approx(report.needed_bytes + low * estimated)
    assert report.need_high_bytes == pytest.approx(report.needed_bytes + high * estimated)
    assert report.verdict == int(
        verdict_of(report.budget_bytes, report.need_low_bytes, report.need_high_bytes)
    )


@some
@given(models, engine_ids, formats, gpu_counts)
def test_arrays_agree_with_scalars(model, engine, weights, gpus):
    lengths, sequences = np.array([1, 700, 8192, 40_000]), np.array([1, 3, 17])
    capacity = np.array([16.0, 47.5, 141.0]) * 2**30
    together = estimate(
        deploy(
            model, engine, weights=weights, gib=capacity[:, None, None], gpus=gpus,
            max_model_len=lengths[:, None], concurrency=sequences,
        )
    )  # fmt: skip
    shape = (len(capacity), len(lengths), len(sequences))
    for i, gib in enumerate(capacity / 2**30):
        for j, length in enumerate(lengths):
            for k, count in enumerate(sequences):
                alone = estimate(
                    deploy(
                        model, engine, weights=weights, gib=float(gib), gpus=gpus,
                        max_model_len=int(length), concurrency=int(count),
                    )
                )  # fmt: skip
                for name in ("needed_bytes", "weights_bytes", "kv_bytes", "budget_bytes", "verdict"):
                    many = np.broadcast_to(getattr(together, name), shape)[i, j, k]
                    assert many == pytest.approx(getattr(alone, name)), name


@some
@given(models, st.integers(2, 16))
def test_refused_sizes_never_fit(model, size):
    reason = allowed_tensor_parallel_sizes(architecture(model), size)[size]
    report = estimate(deploy(model, "vllm", gib=10_000.0, gpus=size))
    assert report.refused == reason
    assert report.verdict == (FITS if reason is None else DOES_NOT_FIT)


@some
@given(models, formats, contexts)
def test_capped_windows_never_hold_more_than_full_ones(model, weights, context):
    capped = estimate(deploy(model, "llama.cpp", weights=weights, max_model_len=context))
    full = estimate(
        deploy(model, "llama.cpp", weights=weights, max_model_len=context, options=Options(swa_full=True))
    )
    assert capped.kv_bytes <= full.kv_bytes


@some
@given(models, engine_ids, contexts)
def test_every_term_says_what_it_put_in_and_where_from(model, engine, context):
    for term in estimate(deploy(model, engine, max_model_len=context)).terms:
        assert term.formula
        assert term.substituted
        assert term.source
        assert any(character.isdigit() for character in term.substituted)
