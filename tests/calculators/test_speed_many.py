"""Speed of many deployments at once: published figures, laws, and agreement with the validate path."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calculators import memory, validate_serving
from calculators.architecture import read_config
from calculators.formats import FormatRefused
from calculators.speed import (
    ServingSpeed,
    Split,
    fleet_rates,
    model_work,
    serving_speed,
    stack,
    stack_formats,
)
from calculators.speed.room import matrix_residents, resident_sequences, sequences_that_fit
from calculators.speed.serving import prompt_wait
from calculators.validate_rows import RowRefused
from calculators.validate_speed import read_table
from gpu_data import spec_frame
from gpu_data.engines import engine as engine_of
from gpu_data.formats import kv_format, weight_format, weight_formats
from gpu_data.models import model_config
from gpu_data.speed import speed_bands, speed_engine, speed_engine_like, speed_engines

TRUTH = Path(__file__).parents[1] / "truth"
GPUS = ["h100-sxm5-80gb", "a100-sxm4-80gb", "rtx-4090-24gb", "rtx-a6000-48gb", "l40s-48gb", "b200-sxm-180gb"]
engines = st.sampled_from([engine.id for engine in speed_engines()])
models = st.sampled_from(["llama-3.1-8b", "llama-3.3-70b", "mixtral-8x7b", "deepseek-v3"])
prompts, users = st.integers(1, 32_768), st.integers(1, 512)
NEARLY = 1 + 1e-9


@cache
def work_of(model_id: str, fmt: str = "bf16") -> Any:
    return model_work(read_config(model_config(model_id)), weight_format(fmt), kv_format("bf16"))


@cache
def rates_of(fmt: str = "bf16", half: bool = False) -> Any:
    return fleet_rates((dict(spec_frame().loc[gpu]) for gpu in GPUS), weight_format(fmt), None, half)[0]


def speed_of(
    engine_id: str, model_id: str, prompt: Any = 1024, concurrency: Any = 1, rates: Any = None, **more: Any
) -> ServingSpeed:
    fields: dict[str, Any] = {"resident": 1000.0} | more
    engine, rates = speed_engine(engine_id), rates_of() if rates is None else rates
    return serving_speed(work_of(model_id), rates, engine, speed_bands(), prompt, 256, concurrency, **fields)


# ---------------------------------------------------------------- published figures


@pytest.mark.parametrize(
    ("gpu_id", "tpot_ms"),
    [
        pytest.param("a100-sxm4-80gb", 13.19, id="AccelMark-A100-80-vLLM-0.7.3-8B-BF16"),
        pytest.param("rtx-4090-24gb", 20.13, id="AccelMark-4090-vLLM-0.7.3-8B-BF16"),
        pytest.param("rtx-a6000-48gb", 25.94, id="AccelMark-A6000-vLLM-0.7.3-8B-BF16"),
    ],
)
def test_one_user_of_an_8b(gpu_id: str, tpot_ms: float) -> None:
    found = speed_of("vllm-v0", "llama-3.1-8b", 280).tpot_s
    i = GPUS.index(gpu_id)
    assert found.low[i] * 1e3 <= tpot_ms <= found.high[i] * 1e3


@pytest.mark.parametrize(
    ("gpu_id", "tokens_per_s"),
    [
        pytest.param("rtx-4090-24gb", 127.74, id="XiongjieDai-4090-8B-Q4_K_M-tg1024"),
        pytest.param("rtx-a6000-48gb", 102.22, id="XiongjieDai-A6000-8B-Q4_K_M-tg1024"),
        pytest.param("l40s-48gb", 113.60, id="XiongjieDai-L40S-8B-Q4_K_M-tg1024"),
    ],
)
def test_one_user_of_llama_cpp(gpu_id: str, tokens_per_s: float) -> None:
    engine = speed_engine("llama.cpp")
    rates = rates_of("gguf-q4_k_m", True)
    work = work_of("llama-3-8b", "gguf-q4_k_m")
    found = serving_speed(work, rates, engine, speed_bands(), 1, 1024, 1, 8.0).tokens_per_s
    i = GPUS.index(gpu_id)
    assert found.low[i] <= tokens_per_s <= found.high[i]


# ---------------------------------------------------------------- laws


@settings(max_examples=40)
@given(engines, models, prompts, users, st.floats(1, 4))
def test_more_bandwidth_is_never_slower(
    engine_id: str, model_id: str, prompt: int, n: int, factor: float
) -> None:
    slow = speed_of(engine_id, model_id, prompt, n)
    wider = replace(rates_of(), bandwidth=rates_of().bandwidth * factor)
    fast = speed_of(engine_id, model_id, prompt, n, wider)
    assert np.all(fast.tpot_s.value <= slow.tpot_s.value * NEARLY)
    # Where prompts share steps with decode, faster answers bring prompts sooner: they meet more often.
    if n == 1 or not speed_engine(engine_id).mixes_prefill:
        assert np.all(fast.ttft_s.value <= slow.ttft_s.value * NEARLY)


@settings(max_examples=40)
@given(engines, models, prompts)
def test_more_users_never_speed_up_one_of_them(engine_id: str, model_id: str, prompt: int) -> None:
    n = np.array([1, 2, 3, 8, 32, 100, 400])[:, None]
    each = speed_of(engine_id, model_id, prompt, n).tokens_per_s.value
    assert np.all(np.diff(each, axis=0) <= each[:-1] * 1e-9)


@settings(max_examples=40)
@given(engines, models, prompts, prompts, users)
def test_a_longer_prompt_never_answers_sooner(engine_id: str, model_id: str, a: int, b: int, n: int) -> None:
    low, high = sorted((a, b))
    short, long = (speed_of(engine_id, model_id, tokens, n).ttft_s.value for tokens in (low, high))
    assert np.all(short <= long * NEARLY)


@settings(max_examples=40)
@given(engines, models, prompts, st.floats(1, 2000))
def test_more_users_never_shorten_the_wait_for_a_first_token(
    engine_id: str, model_id: str, prompt: int, room: float
) -> None:
    n = np.array([1, 2, 3, 8, 32, 100, 400])[:, None]
    first = speed_of(engine_id, model_id, prompt, n, resident=room).ttft_s.value
    assert np.all(np.diff(first, axis=0) >= -first[:-1] * 1e-9)


@settings(max_examples=40)
@given(engines, models, prompts, users)
def test_a_prompt_waits_for_others_only_and_for_half_of_them_at_most(
    engine_id: str, model_id: str, prompt: int, n: int
) -> None:
    found = speed_of(engine_id, model_id, prompt, n)
    server, step = found.busy.server, found.step.total
    assert np.all(prompt_wait(server, 1, step) == 0)
    wait, one = prompt_wait(server, n, step), server.queued_prompt_seconds
    assert np.all(wait <= (n - 1) / 2 * one * NEARLY)
    # while the engine has time to spare, as a request rate would queue them at most (Pollaczek-Khinchine)
    load = n * one / (n * one + 256 * step)
    assert np.all(wait <= one * load / 2 / (1 - load) * NEARLY)


def test_two_users_wait_as_worked_out_by_hand() -> None:
    """Two prompts of 1 s one after the other, answers of 10 x 0.1 s written together: a round of 3 s."""
    server = cast(Any, SimpleNamespace(queued_prompt_seconds=1.0, stages=1.0, output_tokens=10.0))
    # the other's prompt takes 1 / 3 of the time: 1 s x (1 / 3) / 2 / (2 / 3)
    assert float(prompt_wait(server, 2, 0.1)) == pytest.approx(0.25)
    # no time to decode: all others queue, on average half of them are ahead
    assert float(prompt_wait(server, 9, 0.0)) == pytest.approx(4.0)


@settings(max_examples=40)
@given(models, st.sampled_from([2, 3, 4, 8]), prompts)
def test_splitting_by_layers_gives_one_user_no_decode_speed(model_id: str, count: int, prompt: int) -> None:
    for engine in speed_engines():
        alone = speed_of(engine.id, model_id, prompt)
        split = speed_of(engine.id, model_id, prompt, split=Split(layer_gpus=count))
        assert np.allclose(split.tpot_s.value, alone.tpot_s.value, rtol=1e-9)


@settings(max_examples=40)
@given(engines, models, prompts, users, st.floats(1, 2000))
def test_bands_hold_their_value_and_rates_are_those_of_the_times(
    engine_id: str, model_id: str, prompt: int, n: int, room: float
) -> None:
    found = speed_of(engine_id, model_id, prompt, n, resident=room)
    assert np.allclose(found.tokens_per_s.value * found.tpot_s.value, 1)
    for name in ("tpot_s", "ttft_s", "tokens_per_s", "output_tokens_per_s", "max_output_tokens_per_s"):
        estimate = getattr(found, name)
        assert np.all(estimate.low < estimate.high)
    assert np.all(found.running <= np.minimum(n, found.users_at_most) * NEARLY)
    assert np.isin(found.binds, range(4)).all()


def test_what_does_not_fit_has_no_speed() -> None:
    room = np.array([0.99, 1.0, 5.0, 0.0, 2.0, 2.0])
    found = speed_of("vllm", "llama-3.1-8b", resident=room)
    assert np.isnan(found.tpot_s.value).tolist() == (room < 1).tolist()
    assert np.isnan(found.max_output_tokens_per_s.high).tolist() == (room < 1).tolist()


def test_a_gpu_that_cannot_run_the_format_has_a_reason_and_no_speed() -> None:
    specs = [dict(spec_frame().loc[gpu]) for gpu in ("v100-sxm2-16gb", "h100-sxm5-80gb")]
    rates, reasons = fleet_rates(specs, weight_format("bf16"))
    assert reasons[0]
    assert reasons[1] is None
    found = speed_of("vllm", "llama-3.1-8b", rates=rates)
    assert np.isnan(found.tpot_s.value).tolist() == [True, False]


def test_sequences_that_fit() -> None:
    assert sequences_that_fit(10, 4).tolist() == 2.5
    assert sequences_that_fit(10, 4, 2).tolist() == 2
    assert sequences_that_fit(-1, 4).tolist() == 0
    assert sequences_that_fit(np.array([-1.0, 1.0]), 0.0, 8).tolist() == [0, 8]  # a model without a cache


def test_engines_of_the_memory_tables_find_their_speed() -> None:
    known = {e: speed_engine_like(e, f) for e, f in (("vllm-0.11", "vllm"), ("vllm-v0", "vllm"), ("x", "y"))}
    assert {e: s.id if s else None for e, s in known.items()} == {
        "vllm-0.11": "vllm", "vllm-v0": "vllm-v0", "x": None,
    }  # fmt: skip


# ---------------------------------------------------------------- many at once are one by one


@pytest.mark.parametrize("model_id", ["llama-3.3-70b", "deepseek-v3", "gpt-oss-120b"])
def test_formats_side_by_side_equal_each_alone(model_id: str) -> None:
    arch = read_config(model_config(model_id))
    works, rates, formats = [], [], []
    for fmt in weight_formats():
        try:
            works.append(model_work(arch, fmt, kv_format("bf16")))
        except FormatRefused:
            continue
        formats.append(fmt)
        rates.append(fleet_rates((dict(spec_frame().loc[gpu]) for gpu in GPUS), fmt, arch)[0])
    engine, bands = speed_engine("tensorrt-llm"), speed_bands()
    together = serving_speed(
        stack_formats(works, 2), stack(rates).column(), engine, bands, 700, 300, 16, 64.0,
        Split(np.array([1, 2, 4, 8])),
    )  # fmt: skip
    assert together.tpot_s.value.shape == (len(formats), len(GPUS), 4)
    for i in range(0, len(formats), 7):
        one = serving_speed(works[i], rates[i], engine, bands, 700, 300, 16, 64.0, Split(4))
        for name in ("tpot_s", "ttft_s", "output_tokens_per_s", "max_output_tokens_per_s"):
            many = getattr(together, name).value[i, :, 2]
            assert np.allclose(many, getattr(one, name).value, rtol=1e-9, equal_nan=True), formats[i].id


def test_agrees_with_the_validate_path_row_for_row() -> None:
    compared = 0
    for row in read_table(TRUTH / "serving.csv", validate_serving.COLUMNS):
        try:
            case = validate_serving.prepare(row)
        except RowRefused:
            continue
        if case.traffic not in ("single", "closed") or compared > 150:
            continue
        wanted = {name: values[0] for name, values in validate_serving.predict([case]).items()}
        split = Split(case.tensor_parallel_size, case.layer_gpus, case.data_parallel_attention)
        single = case.traffic == "single"
        found = serving_speed(
            case.subject.work, case.subject.rates, case.subject.engine, speed_bands(), case.input_tokens,
            case.output_tokens, 1 if single else case.concurrency, case.resident, split, case.step_tokens,
        )  # fmt: skip
        assert found.tpot_s.value * 1e3 == pytest.approx(wanted["tpot_ms"], rel=1e-9), row.id
        if single or case.output_tokens_max == case.output_tokens:
            assert found.ttft_s.value * 1e3 == pytest.approx(wanted["ttft_ms"], rel=1e-9), row.id
        if single:  # the validate path counts the answer's time alone
            assert found.tokens_per_s.value == pytest.approx(wanted["output_tokens_per_s"], rel=1e-9)
        else:
            assert found.output_tokens_per_s.value == pytest.approx(wanted["output_tokens_per_s"], rel=1e-9)
        compared += 1
    assert compared > 40


@pytest.mark.parametrize(("engine_id", "fmt"), [("vllm", "bf16"), ("llama.cpp", "gguf-q4_k_m")])
def test_room_in_a_fit_matrix_is_that_of_each_deployment(engine_id: str, fmt: str) -> None:
    arch, kv, chosen = read_config(model_config("llama-3.3-70b")), kv_format("bf16"), engine_of(engine_id)
    capacities, counts = np.array([24e9, 48e9, 80e9, 180e9]), (1, 4)
    formats = [weight_format(fmt), weight_format("gguf-q8_0")]
    base = memory.Deployment(
        arch, formats[0], kv, chosen, memory.GpuMemory("all", capacities), max_model_len=2048, concurrency=2
    )
    matrix = memory.fit_matrix(arch, kv, chosen, capacities, counts, formats, 2048, 2)
    speed = speed_engine_like(chosen.id, chosen.family)
    assert speed is not None
    found = matrix_residents(matrix, base, speed, 700)
    for j in range(len(counts)):
        for k, one in enumerate(formats):
            way = matrix.fleets[j][k]
            assert way is not None
            alone = memory.on_fleet(base.but(weight_format=one), way)
            # an engine that splits by layers: another format may fill another GPU most
            exact = k == 0 or chosen.split == "tensor"
            wanted = resident_sequences(alone, speed, 700)
            assert found[:, j, k] == pytest.approx(wanted, rel=1e-9 if exact else 0.15)
