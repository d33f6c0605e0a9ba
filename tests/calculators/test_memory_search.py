"""The questions behind a verdict: limits, fleets, changes, and the matrix of all GPUs at once."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calculators.formats import engine_layout
from calculators.memory import (
    FITS,
    Deployment,
    Fleet,
    GpuMemory,
    Options,
    best_fleet,
    changes_that_fit,
    estimate,
    first_change_that_fits,
    fit_matrix,
    fleets,
    gpus_needed,
    max_concurrency_that_fits,
    max_model_len_that_fits,
    on_fleet,
    search,
)
from calculators.memory.search import CONCURRENCY_LIMIT, CONTEXT_LIMIT
from gpu_data import spec_frame
from gpu_data.engines import engine, engines, error_band
from gpu_data.formats import kv_format, kv_formats, weight_format, weight_formats
from tests.calculators.memory_cases import architecture, deploy

ENGINES = [e.id for e in engines() if "whole_prompt_profile_limit" not in e.parameters]
CARDS = spec_frame()
CARDS = CARDS[CARDS["usable_bytes"].notna()]
LADDER = [weight_format(i) for i in ("bf16", "fp8", "awq-int4")]


@pytest.mark.parametrize("engine_id", ENGINES)
def test_largest_context_is_the_last_that_fits(engine_id):
    deployment = deploy("meta-llama/Llama-3.1-8B-Instruct", engine_id, gib=24, band=error_band("vllm"))
    most = max_model_len_that_fits(deployment)
    assert most > 1
    assert estimate(deployment.but(max_model_len=most)).verdict == FITS
    assert estimate(deployment.but(max_model_len=most + 1)).verdict < FITS


@pytest.mark.parametrize("engine_id", ENGINES)
def test_most_users_is_the_last_that_fits(engine_id):
    deployment = deploy("meta-llama/Llama-3.1-8B-Instruct", engine_id, gib=80, max_model_len=4096)
    most = max_concurrency_that_fits(deployment)
    assert most > 1
    assert estimate(deployment.but(concurrency=most)).verdict == FITS
    assert estimate(deployment.but(concurrency=most + 1)).verdict < FITS


def test_nothing_fits_is_zero():
    deployment = deploy("meta-llama/Meta-Llama-3-70B", "vllm", gib=24)
    assert max_model_len_that_fits(deployment) == 0
    assert max_concurrency_that_fits(deployment) == 0


def test_context_limits_for_many_cards_at_once():
    deployment = deploy(
        "meta-llama/Llama-3.1-8B-Instruct", "llama.cpp", gib=np.array([12.0, 24.0, 48.0]) * 2**30
    )
    together = max_model_len_that_fits(deployment)
    alone = [
        max_model_len_that_fits(deploy("meta-llama/Llama-3.1-8B-Instruct", "llama.cpp", gib=g))
        for g in (12, 24, 48)
    ]
    assert together.tolist() == alone
    assert alone[0] == 0 < alone[1] < alone[2]


def test_context_above_the_gap_of_vllm_v0_is_found():
    """vllm-project/vllm#10517: 29,000 fails on a 3090, 35,000 and 45,000 run, so the limit lies above."""
    deployment = deploy("meta-llama/Llama-3.1-8B-Instruct", "vllm-v0", gib=23.58)
    assert max_model_len_that_fits(deployment) > 35_000


@pytest.mark.parametrize(
    ("model", "engine_id", "gib", "expected"),
    [
        pytest.param("meta-llama/Meta-Llama-3-8B", "vllm", 80, Fleet(1, 1, 1), id="fits alone"),
        pytest.param("meta-llama/Meta-Llama-3-70B", "vllm", 80, Fleet(2, 2, 1), id="131 GiB on 2 x 80"),
        pytest.param(
            "meta-llama/Meta-Llama-3-70B", "llama.cpp", 46, Fleet(3, 3, 1), id="any count by layers"
        ),
        pytest.param("meta-llama/Meta-Llama-3-70B", "vllm", 46, Fleet(4, 4, 1), id="3 refused: 64 heads"),
        pytest.param("deepseek-ai/DeepSeek-V3-0324", "vllm", 24, None, id="1.2 TiB on 16 x 24"),
    ],
)
def test_fewest_gpus(model, engine_id, gib, expected):
    deployment = deploy(model, engine_id, gib=gib)
    found = gpus_needed(deployment)
    assert found == expected
    if found is not None:
        assert estimate(on_fleet(deployment, found)).verdict == FITS
        for fleet in fleets(deployment, found.gpus - 1):
            assert estimate(on_fleet(deployment, fleet)).verdict < FITS


def test_gpus_are_never_summed():
    """71 heads (Falcon-7B) allow no tensor split: two cards are two pipeline stages."""
    assert best_fleet(architecture("tiiuae/falcon-7b"), engine("vllm"), 2) == (Fleet(2, 1, 2), None)
    one = estimate(deploy("tiiuae/falcon-7b", "vllm"))
    two = estimate(deploy("tiiuae/falcon-7b", "vllm", pipeline_parallel_size=2))
    assert one.weights_bytes / 2 < two.weights_bytes < one.weights_bytes


ORDER = ("gpu_memory_utilization", "kv_format", "weight_format", "max_model_len", "concurrency", "gpus")


def test_changes_come_cheapest_first():
    deployment = deploy("meta-llama/Llama-3.1-8B-Instruct", "vllm", gib=24, max_model_len=60_000)
    found = changes_that_fit(deployment, LADDER, kv_formats())
    kinds = [c.kind for c in found]
    assert len(kinds) > 2
    assert kinds == sorted(kinds, key=ORDER.index)
    assert all(estimate(change.deployment).verdict == FITS for change in found)
    first = first_change_that_fits(deployment, LADDER, kv_formats())
    assert (first.kind, first.deployment) == (found[0].kind, found[0].deployment)


def test_next_precision_down_is_the_largest_that_fits():
    deployment = deploy("meta-llama/Llama-3.1-8B-Instruct", "vllm", gib=14)
    assert first_change_that_fits(deployment, LADDER).value == "fp8"


def test_a_lower_precision_is_counted_as_the_engine_keeps_it():
    """vLLM unpacks the block scales of bitsandbytes: what fits on disk may not fit in memory."""
    fmt, options = weight_format("bnb-nf4"), Options(memory_share=0.97)
    deployment = deploy("meta-llama/Llama-3.1-8B-Instruct", "vllm", options=options, max_model_len=2048)
    layout = engine_layout(CARDS.loc["rtx-4090-24gb"], fmt, "vllm", deployment.architecture)
    cards = np.arange(4, 16, 0.01) * 2**30
    stored = deployment.but(weight_format=fmt, gpu=GpuMemory("cards", cards))
    smallest = float(cards[np.argmax(np.asarray(estimate(stored).verdict) == FITS)])
    deployment = deployment.but(gpu=GpuMemory("just large enough for the file", smallest))
    assert first_change_that_fits(deployment, [fmt], max_gpus=1).value == "bnb-nf4"
    assert first_change_that_fits(deployment, [fmt], max_gpus=1, layouts={"bnb-nf4": layout}) is None


@pytest.mark.parametrize("engine_id", ["vllm", "sglang"])
def test_the_share_rises_no_further_than_it_must(engine_id):
    """A larger share costs nothing, so it is asked first; the hundredth below does not fit."""
    deployment = deploy(
        "meta-llama/Llama-3.1-8B-Instruct", engine_id, gib=24, options=Options(memory_share=0.6)
    )
    assert estimate(deployment).verdict < FITS
    change = first_change_that_fits(deployment, LADDER, kv_formats())
    assert change.kind == "gpu_memory_utilization"
    assert 0.6 < change.value <= 0.97
    below = dataclasses.replace(deployment.options, memory_share=change.value - 0.01)
    assert estimate(deployment.but(options=below)).verdict < FITS


@pytest.mark.parametrize("engine_id", ["llama.cpp", "transformers"])
def test_engines_without_a_share_are_not_told_to_raise_it(engine_id):
    deployment = deploy("meta-llama/Llama-3.1-8B-Instruct", engine_id, gib=14)
    assert "gpu_memory_utilization" not in {c.kind for c in changes_that_fit(deployment, LADDER)}


@pytest.mark.parametrize(
    ("engine_id", "gib", "gpus"),
    [
        pytest.param("vllm", 46, 4, id="vLLM: 131 GiB on 46: 3 would hold it by pipeline, 4 are sold"),
        pytest.param("llama.cpp", 46, 3, id="llama.cpp: any count by layers"),
        pytest.param("vllm", 16, 16, id="vLLM: above 8 whole servers"),
        pytest.param("llama.cpp", 14, 16, id="llama.cpp: above 8 whole servers"),
    ],
)
def test_more_gpus_come_as_they_are_sold(engine_id, gib, gpus):
    deployment = deploy("meta-llama/Meta-Llama-3-70B", engine_id, gib=gib)
    change = first_change_that_fits(deployment)
    assert (change.kind, change.value, change.deployment.gpus) == ("gpus", gpus, gpus)


def test_less_context_is_a_power_of_two_and_leaves_room_for_a_prompt():
    deployment = deploy("meta-llama/Llama-3.1-8B-Instruct", "vllm", gib=20, max_model_len=100_000)
    change = first_change_that_fits(deployment)
    assert change.kind == "max_model_len"
    assert change.value & (change.value - 1) == 0
    assert 2048 <= change.value < max_model_len_that_fits(deployment) + 1 <= 2 * change.value
    short = deployment.but(max_model_len=2048, gpu=dataclasses.replace(deployment.gpu, capacity_bytes=1e9))
    assert first_change_that_fits(short, max_gpus=1) is None


def test_the_first_change_is_worked_out_alone(monkeypatch):
    """Kinds after the first that is enough cost nothing: they are not tried."""

    def never(*_: object) -> object:
        raise AssertionError("tried without need")

    for later in ("_less_context", "_fewer_users", "_more_gpus"):
        monkeypatch.setattr(search, later, never)
    deployment = deploy("meta-llama/Llama-3.1-8B-Instruct", "vllm", gib=14)
    assert first_change_that_fits(deployment, LADDER).kind == "weight_format"


MODELS = (
    "meta-llama/Llama-3.1-8B-Instruct", "google/gemma-3-1b-it", "openai/gpt-oss-20b", "Qwen/Qwen3-30B-A3B",
    "Qwen/Qwen3.5-9B", "deepseek-ai/DeepSeek-V3-0324",
)  # fmt: skip


@st.composite
def deployments(draw):
    chosen = draw(st.sampled_from(ENGINES))
    return deploy(
        draw(st.sampled_from(MODELS)),
        chosen,
        weights=draw(st.sampled_from(("bf16", "fp8", "awq-int4", "gguf-q4_k_m"))),
        kv=draw(st.sampled_from(("bf16", "fp8", "q8_0"))),
        gib=draw(st.floats(4, 200)),
        max_model_len=draw(st.integers(1, 200_000)),
        concurrency=draw(st.integers(1, 64)),
        band=error_band(engine(chosen).family),
    )


@settings(max_examples=40, deadline=None)
@given(deployments(), st.sampled_from(("max_model_len", "concurrency")), st.integers(1, 2**20))
def test_limits_agree_with_trying_every_value(deployment, name, other):
    """Fits at the limit, not one above, and at no other value above (vLLM V0 apart, tested with its log)."""
    limit = max_model_len_that_fits if name == "max_model_len" else max_concurrency_that_fits
    cap = CONTEXT_LIMIT if name == "max_model_len" else CONCURRENCY_LIMIT
    most = limit(deployment)
    assert most == 0 or estimate(deployment.but(**{name: most})).verdict == FITS
    if most < cap:
        assert estimate(deployment.but(**{name: most + 1})).verdict < FITS
        tried = estimate(deployment.but(**{name: np.minimum(most + np.array([2, 100, other]), cap)}))
        assert (np.asarray(tried.verdict) < FITS).all()


@settings(max_examples=30, deadline=None)
@given(
    deployments(),
    st.sampled_from(("max_model_len", "concurrency")),
    st.lists(st.floats(4, 200), min_size=1, max_size=4),
)
def test_limits_of_many_cards_are_those_of_bisection(deployment, name, sizes):
    """The old way, one value after the other and one card after the other."""
    limit = max_model_len_that_fits if name == "max_model_len" else max_concurrency_that_fits
    cap = 2**20 if name == "max_model_len" else 2**12
    capacity = np.array(sizes) * 2**30
    together = limit(deployment.but(gpu=GpuMemory("cards", capacity)), cap)
    for size, most in zip(capacity, together, strict=True):
        low, high = 0, cap + 1
        while high - low > 1:
            middle = (low + high) // 2
            tried = deployment.but(gpu=GpuMemory("card", float(size)), **{name: middle})
            low, high = (middle, high) if estimate(tried).verdict == FITS else (low, middle)
        assert most == low


@settings(max_examples=40, deadline=None)
@given(deployments())
def test_every_change_can_be_made_and_is_enough(deployment):
    """Formats the engine reads, one field changed, and the value alone leads to the same deployment."""
    algorithm = deployment.engine.algorithm
    for change in changes_that_fit(deployment, weight_formats(), kv_formats(), max_gpus=8):
        assert estimate(change.deployment).verdict == FITS
        match change.kind:
            case "weight_format":
                again = deployment.but(weight_format=weight_format(change.value))
                assert algorithm in again.weight_format.engines
            case "kv_format":
                again = deployment.but(kv_format=kv_format(change.value))
                assert algorithm in again.kv_format.engines
            case "gpus":
                fleet, _ = best_fleet(
                    deployment.architecture, deployment.engine, change.value, deployment.weight_format
                )
                again = on_fleet(deployment, fleet)
                assert change.value in (1, 2, 4, 8) or deployment.engine.split == "layers"
            case "gpu_memory_utilization":
                assert deployment.engine.split == "tensor"
                assert change.value <= 0.97
                options = dataclasses.replace(deployment.options, memory_share=change.value)
                again = deployment.but(options=options)
            case name:
                assert change.value < getattr(deployment, name)
                again = deployment.but(**{name: change.value})
        assert again == change.deployment


@settings(max_examples=25, deadline=None)
@given(deployments())
def test_fewest_gpus_agrees_with_trying_every_fleet(deployment):
    found = gpus_needed(deployment, max_gpus=8)
    good = [f for f in fleets(deployment, 8) if estimate(on_fleet(deployment, f)).verdict == FITS]
    assert (found is None) == (not good)
    if found is not None:
        assert found in good
        assert found.gpus == min(f.gpus for f in good)


def test_no_change_is_offered_when_it_fits():
    assert (
        first_change_that_fits(deploy("meta-llama/Llama-3.1-8B-Instruct", "vllm"), LADDER, kv_formats())
        is None
    )


def test_no_single_change_is_enough():
    deployment = deploy("deepseek-ai/DeepSeek-V3-0324", "vllm", gib=8)
    assert first_change_that_fits(deployment, LADDER, kv_formats(), max_gpus=2) is None


@pytest.mark.parametrize("engine_id", [e.id for e in engines()])
@pytest.mark.parametrize("model", ["meta-llama/Meta-Llama-3-70B", "openai/gpt-oss-20b", "tiiuae/falcon-7b"])
def test_matrix_equals_the_single_estimate(engine_id, model):
    arch, chosen = architecture(model), engine(engine_id)
    capacity = np.array([16.0, 24.0, 80.0, 141.0]) * 2**30
    matrix = fit_matrix(
        arch, kv_format("bf16"), chosen, capacity, (1, 2, 8), LADDER, 4096, 2, band=error_band(chosen.family)
    )
    for j, k in np.ndindex(3, len(LADDER)):
        fleet = matrix.fleets[j][k]
        if fleet is None:
            assert matrix.refused[j][k]
            assert (matrix.verdict[:, j, k] == 0).all()
            continue
        single = estimate(
            deploy(
                model, engine_id, weights=LADDER[k].id, gib=capacity, gpus=fleet.tensor_parallel_size,
                pipeline_parallel_size=fleet.pipeline_parallel_size, max_model_len=4096, concurrency=2,
                band=error_band(chosen.family),
            )
        )  # fmt: skip
        assert matrix.needed_bytes[:, j, k] == pytest.approx(np.broadcast_to(single.needed_bytes, (4,)))
        assert matrix.budget_bytes[:, j, k] == pytest.approx(np.broadcast_to(single.budget_bytes, (4,)))
        assert matrix.verdict[:, j, k].tolist() == np.broadcast_to(single.verdict, (4,)).tolist()


@settings(max_examples=30, deadline=None)
@given(
    model=st.sampled_from(MODELS),
    chosen=st.sampled_from(engines()),
    cards=st.lists(st.sampled_from(list(CARDS.index)), min_size=1, max_size=4),
    counts=st.lists(st.integers(1, 16), min_size=1, max_size=3),
    formats=st.lists(
        st.sampled_from([f for f in weight_formats() if f.kind != "native"]), min_size=1, max_size=4
    ),
    kv=st.sampled_from(kv_formats()),
    load=st.tuples(st.integers(1, 200_000), st.integers(1, 64)),
    with_band=st.booleans(),
)
def test_matrix_equals_the_single_estimate_of_any_cards(
    model, chosen, cards, counts, formats, kv, load, with_band
):
    """Each with its name (default batches), its layout of each format, and the ends of the band."""
    arch, frame = architecture(model), CARDS.loc[cards]
    band = error_band(chosen.family) if with_band else None
    layouts = [[engine_layout(card, f, chosen.id, arch) for _, card in frame.iterrows()] for f in formats]
    capacity = frame["usable_bytes"].astype(float).to_numpy()
    matrix = fit_matrix(
        arch, kv, chosen, capacity, counts, formats, *load,
        band=band, names=tuple(frame["name"]), layouts=layouts,
    )  # fmt: skip
    for i, j, k in np.ndindex(*matrix.verdict.shape):
        fleet = matrix.fleets[j][k]
        if fleet is None:
            assert matrix.refused[j][k]
            assert matrix.verdict[i, j, k] == 0
            continue
        single = estimate(
            Deployment(
                arch, formats[k], kv, chosen, GpuMemory(frame["name"].iloc[i], float(capacity[i])),
                tensor_parallel_size=fleet.tensor_parallel_size,
                pipeline_parallel_size=fleet.pipeline_parallel_size,
                max_model_len=load[0], concurrency=load[1], band=band, layout=layouts[k][i],
            )
        )  # fmt: skip
        assert matrix.needed_bytes[i, j, k] == pytest.approx(single.needed_bytes)
        assert matrix.budget_bytes[i, j, k] == pytest.approx(single.budget_bytes)
        assert matrix.verdict[i, j, k] == single.verdict
        assert single.need_low_bytes <= single.needed_bytes <= single.need_high_bytes
        # The cache carries no band, so the ends lie no further off than the rest of the need.
        rest = single.needed_bytes - single.kv_bytes
        parts = (band.low, band.work_low, band.high, band.work_high) if band else (0, 0, 0, 0)
        assert single.need_low_bytes >= single.needed_bytes + min(parts[:2]) * rest - 1
        assert single.need_high_bytes <= single.needed_bytes + max(parts[2:]) * rest + 1


def test_a_format_may_forbid_a_split_that_others_allow():
    """vLLM fp8.py: 768 / 4 = 192 is no multiple of 128, so Qwen3-30B-A3B FP8 takes 4 GPUs as 2 x 2."""
    formats = [weight_format("bf16"), weight_format("fp8-block")]
    matrix = fit_matrix(
        architecture("Qwen/Qwen3-30B-A3B"), kv_format("bf16"), engine("vllm"), np.array([8e10]), (4,), formats
    )  # fmt: skip
    assert matrix.fleets == ((Fleet(4, 4, 1), Fleet(4, 2, 2)),)


def test_names_of_cards_pick_the_default_batch():
    """vllm/engine/arg_utils.py: an A100 keeps the small batch although it has 80 GB."""
    arch, capacity = architecture("Qwen/Qwen3-0.6B"), np.array([79.2, 79.2]) * 2**30
    matrix = fit_matrix(
        arch, kv_format("bf16"), engine("vllm"), capacity, (1,), LADDER[:1],
        names=("NVIDIA A100 SXM4 80GB", "NVIDIA H100"),
    )  # fmt: skip
    assert matrix.needed_bytes[0, 0, 0] < matrix.needed_bytes[1, 0, 0]
