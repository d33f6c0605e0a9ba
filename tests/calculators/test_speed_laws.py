"""Laws of the speed model, and published figures its parts must reproduce."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calculators.architecture import read_config
from calculators.formats import support
from calculators.speed import (
    GpuRates,
    ModelWork,
    Server,
    SpeedRefused,
    Split,
    burst,
    closed_loop,
    decode_step,
    decode_tokens_per_s,
    gpu_rates,
    model_work,
    open_loop,
    prompt_step,
    stack,
    time_to_first_token,
)
from calculators.speed.bands import multiples, with_band
from calculators.speed.latency import pipeline_speedup
from calculators.speed.rates import (
    WATTS_PER_GHZ,
    bandwidth_bytes_per_s,
    board_watts,
    effective_bandwidth,
    effective_compute,
)
from calculators.speed.step import all_reduce_seconds, bandwidth, matmul_rate
from gpu_data import spec_frame
from gpu_data.formats import kv_format, weight_format
from gpu_data.models import model_config
from gpu_data.speed import speed_bands, speed_constants, speed_engine, speed_engine_for, speed_engines
from gpu_data.speed_schemas import SpeedBand

ENGINES = [engine.id for engine in speed_engines()]
GPUS = ["h100-sxm5-80gb", "a100-sxm4-80gb", "rtx-4090-24gb", "rtx-a6000-48gb", "l40s-48gb", "b200-sxm-180gb"]
engines = st.sampled_from(ENGINES)
gpus = st.sampled_from(GPUS)
models = st.sampled_from(["llama-3.1-8b", "llama-3.3-70b", "mixtral-8x7b", "deepseek-v3", "gpt-oss-20b"])
contexts = st.integers(1, 131_072)
batches = st.integers(1, 2048)
NEARLY = 1 + 1e-9


def spec(gpu_id: str) -> Mapping[str, Any]:
    return dict(spec_frame().loc[gpu_id])


def rates_of(gpu_id: str, fmt: str = "bf16", half_accumulate: bool = False) -> GpuRates:
    return gpu_rates(spec(gpu_id), weight_format(fmt), half_accumulate=half_accumulate)


def work_of(model_id: str, fmt: str = "bf16") -> ModelWork:
    return model_work(read_config(model_config(model_id)), weight_format(fmt), kv_format("bf16"))


# ---------------------------------------------------------------- published figures


@pytest.mark.parametrize(
    ("gpu_id", "fmt", "half", "teraflop"),
    [
        pytest.param("h100-sxm5-80gb", "bf16", False, 989.4, id="H100-data-sheet-dense-BF16"),
        pytest.param("h100-sxm5-80gb", "fp8", False, 1978.9, id="H100-data-sheet-dense-FP8"),
        pytest.param("a100-sxm4-80gb", "fp8", False, 312, id="A100-stores-FP8-and-computes-in-16-bits"),
        pytest.param("h100-sxm5-80gb", "awq-int4", False, 989.4, id="4-bit-weights-are-unpacked-to-16-bits"),
        pytest.param("rtx-4090-24gb", "gguf-q4_k_m", True, 330.3, id="4090-FP16-accumulate-Ada-white-paper"),
        pytest.param("rtx-4090-24gb", "bf16", False, 165.2, id="4090-FP32-accumulate-Ada-white-paper"),
    ],
)
def test_peak_is_that_of_the_format_computed_in(gpu_id: str, fmt: str, half: bool, teraflop: float) -> None:
    assert float(rates_of(gpu_id, fmt, half).compute) == pytest.approx(teraflop * 1e12, rel=1e-3)


@pytest.mark.parametrize(
    ("gpu_id", "gb_per_s"),
    [
        pytest.param("l40s-48gb", 864 * 15 / 16, id="L40S-shows-46068-MiB-so-ECC-takes-a-sixteenth"),
        pytest.param("rtx-a6000-48gb", 768, id="A6000-shows-49140-MiB-ECC-off"),
        pytest.param("a100-sxm4-80gb", 2039, id="HBM-carries-ECC-in-bits-of-its-own"),
    ],
)
def test_ecc_in_gddr_costs_a_sixteenth(gpu_id: str, gb_per_s: float) -> None:
    assert bandwidth_bytes_per_s(spec(gpu_id)) == pytest.approx(gb_per_s * 1e9, rel=2e-3)


@pytest.mark.parametrize(
    ("gpus_", "published"),
    [
        pytest.param(2, 10329 / 6531, id="2-x-4090-8B-F16-pp4096-XiongjieDai"),
        pytest.param(4, 15144 / 6531, id="4-x-4090-8B-F16-pp4096-XiongjieDai"),
    ],
)
def test_prompts_over_gpus_that_split_by_layers(gpus_: int, published: float) -> None:
    # llama-bench: batches of 2,048 tokens in micro-batches of 512, so four in flight
    assert float(pipeline_speedup(4, gpus_)) == pytest.approx(published, rel=0.02)


def test_ring_all_reduce_sends_twice_the_message_less_a_part() -> None:
    # Patarasuk and Yuan 2009: 2 (p - 1) / p of the message
    engine = speed_engine("vllm-v0")
    rates = rates_of("h100-sxm5-80gb")
    small, large = (float(all_reduce_seconds(rates, engine.constants, n, 4)) for n in (0, 1e9))
    link = engine.constants["link_share"] * 450e9  # NVLink 4: 900 GB/s both ways
    assert large - small == pytest.approx(2 * 3 / 4 * 1e9 / link, rel=1e-9)
    assert float(all_reduce_seconds(rates, engine.constants, 1e9, 1)) == 0


def test_bridged_cards_use_pcie_beyond_a_pair() -> None:
    constants = speed_engine("vllm-v0").constants
    rates = rates_of("rtx-a6000-48gb")
    pair, four = (float(all_reduce_seconds(rates, constants, 1e9, n)) for n in (2, 4))
    assert four > pair
    alone = replace(rates, link=float("nan"), link_gpus=0)
    assert four == float(all_reduce_seconds(alone, constants, 1e9, 4))


@pytest.mark.parametrize(
    ("gpu_id", "joined"),
    [
        pytest.param("h100-sxm5-80gb", 8, id="HGX-H100-8-GPU"),
        pytest.param("mi300x-192gb", 8, id="Instinct-MI300X-platform-8-OAM"),
        pytest.param("gb200-186gb", 72, id="GB200-NVL72"),
        pytest.param("gh200-96gb", 4, id="Alps-quad-GH200-node"),
        pytest.param("h200-nvl-141gb", 4, id="H200-NVL-bridge-of-4"),
        pytest.param("rtx-a6000-48gb", 2, id="NVLink-bridge"),
        pytest.param("rtx-4090-24gb", 0, id="PCIe-only"),
    ],
)
def test_how_many_gpus_a_fast_link_joins(gpu_id: str, joined: int) -> None:
    assert rates_of(gpu_id).link_gpus == joined


def test_beyond_a_server_messages_cross_the_network() -> None:
    # HGX H100 has 400 Gb/s for each GPU, HGX A100 200 Gb/s (NVIDIA DGX H100 and DGX A100 data sheets)
    constants = speed_engine("vllm-v0").constants
    extra = {}
    for gpu_id in ("h100-sxm5-80gb", "a100-sxm4-80gb"):
        rates = rates_of(gpu_id)
        (a, b), (c, d) = (
            [float(all_reduce_seconds(rates, constants, n, tp)) for tp in (8, 16)] for n in (0, 1e9)
        )
        assert b - a == pytest.approx(constants["network_latency_s"])
        extra[gpu_id] = (d - c) - (b - a)
    # half of an eighth of the message goes out and half comes back
    assert extra["h100-sxm5-80gb"] == pytest.approx(1e9 / 8 / 50e9, rel=0.02)
    assert extra["a100-sxm4-80gb"] == pytest.approx(1e9 / 8 / 25e9, rel=0.02)


def test_inside_a_rack_nothing_crosses_the_network() -> None:
    constants = speed_engine("vllm-v0").constants
    rates = rates_of("gb200-186gb")
    eight, sixteen = (float(all_reduce_seconds(rates, constants, 1e9, n)) for n in (8, 16))
    assert sixteen < 1.1 * eight


def test_cards_without_peer_access_send_by_the_hosts_memory() -> None:
    constants = speed_engine("vllm-v0").constants
    geforce, peers = rates_of("rtx-4090-24gb"), rates_of("rtx-6000-ada-48gb")
    assert geforce.pcie == peers.pcie
    slow, fast = (
        float(all_reduce_seconds(rates, constants, 1e9, 4))
        - float(all_reduce_seconds(rates, constants, 0, 4))
        for rates in (geforce, peers)
    )
    assert slow == pytest.approx(2 * fast)


def test_attention_apart_meets_others_only_where_experts_are_shared() -> None:
    work, rates, engine = work_of("deepseek-v3"), rates_of("h200-sxm-141gb"), speed_engine("tensorrt-llm")
    together, apart = (
        float(decode_step(work, rates, engine, 64, 1024, Split(8, 1, flag)).communication)
        for flag in (False, True)
    )
    assert apart == pytest.approx(together * 58 / (2 * 61))  # 58 of 61 layers have routed experts


# ---------------------------------------------------------------- constants


def test_constants_lie_within_their_physical_limits() -> None:
    limits = {c.id: (c.low, c.high) for c in speed_constants()}
    for engine in speed_engines():
        assert set(engine.constants.values) == set(limits)
        for name, value in engine.constants.values.items():
            low, high = limits[name]
            assert low * 0.999 <= value <= high * 1.001, (engine.id, name)


def test_every_constant_says_where_it_comes_from() -> None:
    for engine in speed_engines():
        assert engine.rows > 0
        for name in engine.constants.values:
            assert name in engine.constants.fitted or engine.constants.source_of[name]


@pytest.mark.parametrize(
    ("text", "engine_id"),
    [
        ("vLLM 0.7.3", "vllm-v0"),
        ("vLLM 0.11.0", "vllm"),
        ("vLLM 0.19.1rc1.dev339+gedc364896", "vllm"),
        ("TensorRT-LLM 1.1+", "tensorrt-llm"),
        ("SGLang 0.5.4.post2", "sglang"),
        ("llama.cpp b2824 (May 2024)", "llama.cpp"),
        ("MLC LLM", None),
    ],
)
def test_engine_names_as_tables_write_them(text: str, engine_id: str | None) -> None:
    found = speed_engine_for(text)
    assert (found.id if found else None) == engine_id


def test_a_gpu_that_cannot_run_a_format_is_refused_by_name() -> None:
    assert support(spec("v100-sxm2-16gb"), weight_format("bf16")).state == "no"
    with pytest.raises(SpeedRefused, match="weight_format"):
        rates_of("v100-sxm2-16gb", "bf16")


# ---------------------------------------------------------------- laws


@given(st.floats(1e9, 1e13), st.floats(1e9, 1e13), st.floats(1e10, 1e12), st.floats(1, 60))
def test_more_bandwidth_never_moves_less(a: float, b: float, sm_clock: float, limit: float) -> None:
    low, high = sorted((a, b))
    slow, fast = (float(effective_bandwidth(x, sm_clock, 0.9, limit)) for x in (low, high))
    assert slow <= fast * NEARLY
    assert fast <= min(0.9 * high, limit * sm_clock) * NEARLY


@given(st.floats(1e12, 1e16), st.floats(1e12, 1e16), st.floats(1e10, 1e12))
def test_a_higher_peak_never_computes_less(a: float, b: float, sm_clock: float) -> None:
    low, high = sorted((a, b))
    slow, fast = (float(effective_compute(x, 2, sm_clock, 0.8, 5000)) for x in (low, high))
    assert slow <= fast * NEARLY <= 0.8 * high * NEARLY**2


@given(engines, gpus, st.sampled_from(["bf16", "gguf-q4_k_m", "awq-int4"]), st.floats(1.01, 10))
def test_more_watts_never_compute_less_and_none_passes_the_peak(
    engine_id: str, gpu_id: str, fmt: str, factor: float
) -> None:
    engine = speed_engine(engine_id)
    rates = rates_of(gpu_id, fmt, engine.half_accumulate)
    more = replace(rates, watts=float(rates.watts) * factor)
    slow, fast = (float(matmul_rate(r, engine.constants)) for r in (rates, more))
    limited = "flop_per_joule" in engine.constants.fitted
    assert slow < fast if limited else slow == pytest.approx(fast, rel=1e-9)
    assert fast < rates.compute
    if limited:
        joule = 16 / 8 / float(rates.operand_bytes) * engine.constants["flop_per_joule"]
        assert slow < float(rates.watts) * joule


@given(gpus, st.floats(1.01, 100))
def test_wider_tensor_cores_do_not_unpack_faster(gpu_id: str, factor: float) -> None:
    """However much they could multiply, ordinary instructions bound what is unpacked for them."""
    constants = speed_engine("llama.cpp-2025").constants
    rates = rates_of(gpu_id, "gguf-q4_k_m", True)
    wider = replace(rates, compute=float(rates.compute) * factor)
    most = constants["unpacked_flop_per_sm_clock"] * float(rates.sm_clock)
    assert float(matmul_rate(rates, constants)) < float(matmul_rate(wider, constants)) < most


@given(engines, gpus, models, batches, contexts, st.floats(1, 4), st.sampled_from(["bandwidth", "compute"]))
def test_a_faster_gpu_is_never_slower(
    engine_id: str, gpu_id: str, model_id: str, batch: int, context: int, factor: float, field: str
) -> None:
    engine, work, rates = speed_engine(engine_id), work_of(model_id), rates_of(gpu_id)
    faster = replace(rates, **{field: getattr(rates, field) * factor})
    slow = decode_step(work, rates, engine, batch, context).total
    assert float(decode_step(work, faster, engine, batch, context).total) <= float(slow) * NEARLY


@given(engines, gpus, models, batches, contexts, contexts)
def test_longer_contexts_never_decode_faster(
    engine_id: str, gpu_id: str, model_id: str, batch: int, a: int, b: int
) -> None:
    engine, work, rates = speed_engine(engine_id), work_of(model_id), rates_of(gpu_id)
    short, long = (float(decode_step(work, rates, engine, batch, c).total) for c in sorted((a, b)))
    assert short <= long * NEARLY


@given(engines, gpus, st.sampled_from(["llama-3.1-8b", "llama-3.3-70b"]), batches, batches, contexts)
def test_larger_batches_of_dense_models_never_give_less_throughput(
    engine_id: str, gpu_id: str, model_id: str, a: int, b: int, context: int
) -> None:
    engine, work, rates = speed_engine(engine_id), work_of(model_id), rates_of(gpu_id)
    small, large = (float(decode_tokens_per_s(work, rates, engine, n, context)) for n in sorted((a, b)))
    assert small <= large * NEARLY


@given(engines, gpus, models, contexts, contexts)
def test_longer_prompts_never_answer_sooner(
    engine_id: str, gpu_id: str, model_id: str, a: int, b: int
) -> None:
    engine, work, rates = speed_engine(engine_id), work_of(model_id), rates_of(gpu_id)
    short, long = (float(time_to_first_token(work, rates, engine, n)) for n in sorted((a, b)))
    assert short <= long * NEARLY


@given(engines, gpus, models, batches, contexts)
def test_sharing_matrices_never_makes_kernels_slower(
    engine_id: str, gpu_id: str, model_id: str, batch: int, context: int
) -> None:
    # communication may cost more than it saves; the work on each GPU cannot grow
    engine, work, rates = speed_engine(engine_id), work_of(model_id), rates_of(gpu_id)
    steps = [decode_step(work, rates, engine, batch, context, Split(tp)) for tp in (1, 2, 4, 8)]
    kernels = [float(step.kernels) for step in steps]
    assert all(b <= a * NEARLY for a, b in pairwise(kernels))


@given(gpus, st.integers(2, 8), contexts)
def test_splitting_by_layers_gives_no_decode_speed(gpu_id: str, count: int, context: int) -> None:
    # 70B Q4_K_M on 2, 4 and 8 RTX 4090: 19.2, 19.8, 18.9 tokens/s (XiongjieDai table)
    engine, work, rates = speed_engine("llama.cpp"), work_of("llama-3-70b", "gguf-q4_k_m"), rates_of(gpu_id)
    alone = decode_step(work, rates, engine, 1, context).total
    assert decode_step(work, rates, engine, 1, context, Split(layer_gpus=count)).total == alone


@given(engines, gpus, models, batches, contexts)
def test_a_step_takes_the_larger_of_moving_and_computing_and_names_what_binds(
    engine_id: str, gpu_id: str, model_id: str, batch: int, context: int
) -> None:
    engine, work, rates = speed_engine(engine_id), work_of(model_id), rates_of(gpu_id)
    step = decode_step(work, rates, engine, batch, context)
    moving, computing, kernels = float(step.moving), float(step.computing), float(step.kernels)
    assert max(moving, computing) <= kernels * NEARLY
    assert kernels <= (moving + computing) * NEARLY
    assert float(step.total) >= kernels
    assert int(step.binds) in range(4)


def server(engine_id: str = "vllm-v0", resident: float = 64, **changes: Any) -> Server:
    found = Server(
        work_of("llama-3.1-8b"),
        rates_of("h100-sxm5-80gb"),
        speed_engine(engine_id),
        512,
        256,
        256,
        resident,
        128,
    )
    return replace(found, **changes)


@given(engines, st.integers(1, 2000), st.integers(1, 2000), st.booleans())
def test_more_requests_at_once_never_wait_less(engine_id: str, a: int, b: int, median: bool) -> None:
    few, many = (float(burst(server(engine_id), n, median).ttft_s) for n in sorted((a, b)))
    assert few <= many * NEARLY


@given(engines, st.integers(1, 512), st.integers(1, 512))
def test_more_room_never_serves_less(engine_id: str, a: int, b: int) -> None:
    small, large = (
        float(burst(server(engine_id, resident=n), 4000).output_tokens_per_s) for n in sorted((a, b))
    )
    assert small <= large * 1.001


@given(engines, st.floats(0.01, 200))
def test_a_server_never_gives_more_than_arrives_or_than_it_can(engine_id: str, rate: float) -> None:
    found = open_loop(server(engine_id), rate, 1000)
    most = float(closed_loop(server(engine_id), 64).output_tokens_per_s)
    assert float(found.output_tokens_per_s) <= min(rate * 256, most) * 1.001


@given(engines, st.integers(1, 64), st.integers(1, 64))
def test_more_clients_never_speed_up_a_token(engine_id: str, a: int, b: int) -> None:
    few, many = (float(closed_loop(server(engine_id), n).tpot_s) for n in sorted((a, b)))
    assert few <= many * 1.02


def test_one_client_gets_what_a_single_request_gets() -> None:
    found = closed_loop(server(), 1)
    step = decode_step(server().work, server().rates, server().engine, 1, 512 + 128).total
    assert float(found.tpot_s) == pytest.approx(float(step), rel=1e-9)


def test_arrays_equal_scalars() -> None:
    engine, work = speed_engine("tensorrt-llm"), work_of("mixtral-8x7b")
    rates = stack([rates_of(g) for g in GPUS]).column()
    grid = decode_step(work, rates, engine, np.array([1, 8, 64]), 2048, Split(2)).total
    assert grid.shape == (len(GPUS), 3)
    for i, gpu_id in enumerate(GPUS):
        assert grid[i, 1] == pytest.approx(
            float(decode_step(work, rates_of(gpu_id), engine, 8, 2048, Split(2)).total), rel=1e-12
        )


def test_prompt_steps_add_up_over_chunks() -> None:
    engine, work, rates = speed_engine("vllm"), work_of("llama-3.1-8b"), rates_of("h100-sxm5-80gb")
    one = prompt_step(work, rates, engine, engine.chunk_tokens)
    two = prompt_step(work, rates, engine, 2 * engine.chunk_tokens)
    assert float(two.fixed) == pytest.approx(2 * float(one.fixed), rel=1e-9)
    assert float(two.computing) > 2 * float(one.computing)  # attention grows faster than the prompt


# ---------------------------------------------------------------- bands


def test_bands_turn_over_between_times_and_rates() -> None:
    band = SpeedBand(
        engine="x",
        quantity="decode",
        load="single",
        low=0.8,
        high=1.25,
        rows=10,
        gpus=2,
        median_abs_error_pct=5,
        p90_abs_error_pct=9,
    )
    assert multiples(band, rate=False) == (0.8, 1.25)
    assert multiples(band, rate=True) == pytest.approx((0.8, 1.25))
    found = with_band(10.0, [band], "x", "decode")
    assert (float(found.low), float(found.high)) == (8.0, 12.5)
    assert with_band(10.0, [band], "y", "prefill").band is None


def test_every_band_holds_its_estimate_or_says_the_bias() -> None:
    for band in speed_bands():
        assert 0 < band.low < band.high
        assert band.low < 1.25
        assert band.high > 0.8


@pytest.mark.parametrize("engine_id", ENGINES)
def test_every_engine_has_bands_for_what_a_page_shows(engine_id: str) -> None:
    for quantity in ("decode", "prefill"):
        assert with_band(1.0, speed_bands(), engine_id, quantity).band is not None
    if engine_id != "llama.cpp":
        for quantity in ("throughput", "ttft", "tpot"):
            assert with_band(1.0, speed_bands(), engine_id, quantity, "batch").band is not None


def _share_of_peak(gpu_id: str, fmt: str) -> float:
    rates, constants = rates_of(gpu_id, fmt), speed_engine("vllm").constants
    return float(matmul_rate(rates, constants) / rates.compute)


@pytest.mark.parametrize("fmt", ["bf16", "awq-int4"])
@pytest.mark.parametrize(
    ("unnamed", "twin"),
    [
        pytest.param("gh200-96gb", "h100-sxm5-80gb", id="GH100-without-clock"),
        pytest.param("h800-sxm5-80gb", "h100-sxm5-80gb", id="GH100-cut-link"),
        pytest.param("gb300-288gb", "b300-sxm-288gb", id="GB110-superchip"),
        pytest.param("gb200-186gb", "b200-sxm-180gb", id="GB100-superchip"),
        pytest.param("a16-4x16gb", "a2-16gb", id="GA107-four-on-a-board"),
    ],
)
def test_the_same_chip_gets_the_same_share_of_its_peak(unnamed: str, twin: str, fmt: str) -> None:
    assert _share_of_peak(unnamed, fmt) == pytest.approx(_share_of_peak(twin, fmt), rel=0.03)


def test_not_knowing_the_processors_never_makes_a_card_faster() -> None:
    """Cards without published processors get no larger share of their peak than the best of their kind."""
    frame, constants = spec_frame(), speed_engine("vllm").constants
    able = frame["dense_fp16_tflops"].notna() & frame["bandwidth_gb_per_s"].notna()
    unknown = frame.index[able & (frame["sms_or_cus"].isna() | frame["boost_clock_mhz"].isna())]
    best: dict[str, float] = {}
    for gpu in frame.index[able].difference(unknown):
        kind = str(frame.at[gpu, "architecture"])
        best[kind] = max(best.get(kind, 0.0), _share_of_peak(gpu, "fp16"))
    assert len(unknown) > 5
    for gpu in unknown:
        counted = frame["sms_or_cus"].notna()[gpu]  # a peak cut for export is easy to reach
        most = (
            max(best.values())
            if counted
            else best.get(str(frame.at[gpu, "architecture"]), max(best.values()))
        )
        assert _share_of_peak(gpu, "fp16") <= most * 1.001, gpu
        rates = rates_of(gpu, "fp16")
        assert 0 < float(bandwidth(rates, constants)) < rates.bandwidth
        assert any("inferred" in text for text in rates.assumptions), gpu
    bare = {k: v for k, v in spec("h100-sxm5-80gb").items() if k not in ("sms_or_cus", "processor_ghz")}
    rates = gpu_rates(bare, weight_format("bf16"))
    assert matmul_rate(rates, constants) < matmul_rate(rates_of("h100-sxm5-80gb"), constants)


def test_a_board_without_a_published_limit_has_that_of_a_middling_card() -> None:
    frame = spec_frame()
    ghz = (frame["sms_or_cus"] * frame["boost_clock_mhz"] / 1e3).astype(float)
    known = (frame["tdp_w"].astype(float) / ghz).dropna()
    assert len(known) >= 50
    assert pytest.approx(known.median(), abs=0.05) == WATTS_PER_GHZ
    for gpu in frame.index[frame["tdp_w"].isna()]:
        rates = rates_of(gpu, "fp16")
        assert 0 < float(rates.watts) < np.inf
        assert any("power limit not published" in text for text in rates.assumptions)
    assert board_watts(spec("rtx-4090-24gb"), 1e11) == (450.0, "")


@pytest.mark.parametrize(
    ("gpu_id", "devices"), [("mi250x-128gb", 2), ("mi250-128gb", 2), ("a16-4x16gb", 4)], ids=str
)
def test_a_device_of_a_board_has_its_part_of_the_board(gpu_id: str, devices: int) -> None:
    """AMD CDNA 2 white paper: two GCDs of 1.6 TB/s; NVIDIA A16 data sheet: 4 x 200 GB/s."""
    row, rates = spec_frame().loc[gpu_id], rates_of(gpu_id, "fp16")
    assert rates.bandwidth * devices <= row["bandwidth_gb_per_s"] * 1e9
    assert rates.compute * devices == pytest.approx(row["dense_fp16_tflops"] * 1e12)
