"""Every input that another calculator got wrong, with the value it should have printed.

The cases are the rows of `tests/truth/calculator_faults.csv` (id, input, wrong and right result, public
thread). Each row has at least one test here; `test_every_published_fault_has_a_test` proves it. Where a
thread states a round figure, the tolerance is the rounding of that figure and is said in the case.
"""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from calculators.architecture import (
    cache_elements,
    cache_elements_by_kind,
    kv_elements_per_token_growing,
    params_active,
    params_total,
    read_config,
)
from calculators.architecture.layout import Architecture, CacheKind, Role
from calculators.formats import support, weights_bytes
from calculators.memory import (
    DOES_NOT_FIT,
    FITS,
    TIGHT,
    Deployment,
    GpuMemory,
    Options,
    allowed_tensor_parallel_sizes,
    estimate,
    gpus_needed,
)
from gpu_data import spec_frame
from gpu_data.engines import engine, error_band
from gpu_data.formats import kv_format, weight_format
from gpu_data.models import model_config

FAULTS = Path(__file__).parent.parent / "truth" / "calculator_faults.csv"
GIB, MIB, GB = 2**30, 2**20, 10**9
FP16_BYTES = 2

with FAULTS.open(newline="", encoding="utf-8") as _file:
    PUBLISHED = {row["id"]: row for row in csv.DictReader(_file)}
COVERED: set[str] = set()


def case(fault: str, *values: Any) -> Any:
    """One parametrised case of a published fault, named by its id, its input and its thread."""
    COVERED.add(fault)
    row = PUBLISHED[fault]
    return pytest.param(*values, id=f"{fault} {row['input_summary']} ({row['source_url']})")


def fault(*ids: str) -> Any:
    """Marks a test as the one for these published faults."""
    COVERED.update(ids)
    return lambda test: test


def arch(model_id: str, **changes: Any) -> Architecture:
    return read_config({**model_config(model_id), **changes})


def first_token_bytes(a: Architecture) -> int:
    """Cache bytes that one token takes inside every window, without per-sequence state."""
    return int(cache_elements(a, 1) - cache_elements(a, 0)) * FP16_BYTES


def cache_gib(a: Architecture, tokens: int) -> float:
    """Cache of one sequence in GiB, without per-sequence state."""
    return float(cache_elements(a, tokens) - cache_elements(a, 0)) * FP16_BYTES / GIB


def weights_gb(a: Architecture, format_id: str) -> float:
    return weights_bytes(a, weight_format(format_id)).total_bytes / GB


def deployment(
    model_id: str, format_id: str, gpu_id: str, engine_id: str = "llama.cpp", kv: str = "bf16", **changes: Any
) -> Deployment:
    """A model on a card of the spec frame, with the engine's defaults."""
    row, chosen = spec_frame().loc[gpu_id], engine(engine_id)
    return Deployment(
        architecture=arch(model_id),
        weight_format=weight_format(format_id),
        kv_format=kv_format(kv),
        engine=chosen,
        gpu=GpuMemory(row["name"], float(row["usable_bytes"]), row["usable_basis"]),
        band=error_band(chosen.family),
        **changes,
    )


# Cache per token. Exact.


@pytest.mark.parametrize(
    ("model_id", "wrong", "right"),
    [
        case("B01", "llama-2-7b", 4_194_304, 524_288),
        case("B02", "llama-3.1-8b", 4_194_304, 131_072),
        case("B03", "qwen3-4b", 92_160, 147_456),
        case("B05", "qwen3-30b-a3b", 49_152, 98_304),
        case("B06", "mistral-nemo-12b", 204_800, 163_840),
        case("B07", "deepseek-v3", 124_928, 70_272),
        case("B08", "deepseek-v3.2", 1_748_992, 85_888),
        case("B12", "deepseek-v2", 1_228_800, 69_120),  # V2.5 has the geometry of V2
        case("B16", "qwen3.6-35b-a3b", 81_920, 20_480),
        case("B23", "gpt-oss-120b", 36_864, 73_728),
        case("B30", "deepseek-r1-distill-qwen-14b", 983_040, 196_608),
        case("B32", "gemma-3-4b", 348_160, 139_264),
    ],
)
def test_cache_per_token(model_id: str, wrong: int, right: int) -> None:
    found = first_token_bytes(arch(model_id))
    assert found == right
    assert found != wrong


@fault("B08")
def test_the_indexer_of_deepseek_v3_2_is_kept_apart() -> None:
    by_kind = cache_elements_by_kind(arch("deepseek-v3.2"), 1)
    assert by_kind[CacheKind.LATENT] * FP16_BYTES == 70_272
    assert by_kind[CacheKind.INDEXER] * FP16_BYTES == 15_616


@fault("B23")
def test_the_engine_log_of_gpt_oss_120b() -> None:
    """vLLM prints 5.38 GiB = 78,384 tokens; it prints GiB with two digits."""
    assert first_token_bytes(arch("gpt-oss-120b")) * 78_384 / GIB == pytest.approx(5.38, abs=0.005)


@fault("B32")
def test_gemma_3_4b_grows_by_its_full_layers_only() -> None:
    assert kv_elements_per_token_growing(arch("gemma-3-4b")) * FP16_BYTES == 20_480


# Cache at a context, in GiB at two bytes per element. The threads print two digits.


@pytest.mark.parametrize(
    ("model_id", "tokens", "gib", "tolerance"),
    [
        case("B09", "deepseek-v3.1", 163_840, 10.72, 0.005),
        case("B13", "deepseek-v4-flash", 1_048_576, 6.72, 0.005),
        case("B14", "qwen3.5-27b", 262_144, 16.00, 0),
        case("B16", "qwen3.6-35b-a3b", 262_144, 5.00, 0),
        case("B25", "qwen3-235b-a22b", 32_768, 5.875, 0),
        case("B27", "llama-3.1-8b", 131_072, 16.00, 0),
        case("B28", "llama-3.1-8b", 8_192, 1.00, 0),
        case("B62", "qwen3-32b", 208_000, 50.78, 0.005),  # 64 * 2 * 8 * 128 * 2 B * 208k
        case("B61", "llama-3.1-405b", 131_072, 63.00, 0),  # 126 * 2 * 8 * 128 * 2 B * 128k
    ],
)
def test_cache_at_a_context(model_id: str, tokens: int, gib: float, tolerance: float) -> None:
    assert cache_gib(arch(model_id), tokens) == pytest.approx(gib, rel=0, abs=tolerance)


@fault("B11")
def test_glm_5_latent_and_indexer_apart() -> None:
    """78 layers; the thread's 17.18 counts a 79th, the MTP layer, which keeps no cache of the main model."""
    by_kind = cache_elements_by_kind(arch("glm-5"), 202_752)
    assert by_kind[CacheKind.LATENT] * FP16_BYTES / GIB == pytest.approx(16.97, abs=0.005)
    assert by_kind[CacheKind.INDEXER] * FP16_BYTES / GIB == pytest.approx(3.77, abs=0.005)


@fault("B15")
def test_qwen_3_6_27b_cache_and_state_of_four_sequences() -> None:
    """Runtime log: KV 16,384 MiB at 262,144 cells, state 598.5 MiB in 4 bytes with 3 convolution columns."""
    a = arch("qwen3.6-27b")
    assert cache_gib(a, 262_144) * GIB / MIB == 16_384
    by_kind = cache_elements_by_kind(a, 0)
    state_elements = by_kind[CacheKind.STATE] + by_kind[CacheKind.CONV] * 3 // 4
    assert 4 * state_elements * 4 / MIB == pytest.approx(598.5, abs=0.05)


@fault("B22")
def test_gemma_3_4b_has_two_caches_in_llama_cpp() -> None:
    """2,560 MiB full and 174 MiB sliding: 29 layers * 4,096 B * (1,024 window + 512 micro-batch)."""
    layers = arch("gemma-3-4b").layers
    full = [c for layer in layers for c in layer.caches if c.kind is CacheKind.FULL]
    sliding = [c for layer in layers for c in layer.caches if c.kind is CacheKind.SLIDING]
    assert sum(c.elements_per_cell for c in full) * FP16_BYTES * 131_072 == 2_560 * MIB
    assert {c.window_tokens for c in sliding} == {1_024}
    assert sum(c.elements_per_cell for c in sliding) * FP16_BYTES * (1_024 + 512) == 174 * MIB


@fault("B21")
def test_gemma_3_27b_at_128k_with_keys_in_q8_0() -> None:
    """K in q8_0 (34 B for 32), V in fp16, sliding layers with window + micro-batch cells: about 7.9 GiB."""
    by_kind = cache_elements_by_kind(arch("gemma-3-27b"), 128_000)
    bytes_per_pair = 34 / 32 + 2
    elements = by_kind[CacheKind.FULL] + by_kind[CacheKind.SLIDING] * (1_024 + 512) / 1_024
    assert elements / 2 * bytes_per_pair / GIB == pytest.approx(7.9, abs=0.1)


# Parameters. Exact where the thread is exact.


@pytest.mark.parametrize(
    ("model_id", "right"),
    [
        case("B36", "mixtral-8x7b", 46_702_792_704),
        case("B37", "qwen1.5-72b", 72_287_920_128),
        case("B43", "gemma-3-27b", 27_432_406_640),
        case("B46", "qwen3.6-35b-a3b", 35_107_181_936),
    ],
)
def test_parameters(model_id: str, right: int) -> None:
    assert params_total(arch(model_id)) == right


@fault("B43")
def test_the_tied_head_of_gemma_3_27b_is_not_counted_twice() -> None:
    a = arch("gemma-3-27b")
    assert params_total(a) + a.vocab_size * a.hidden_size == 28_842_036_848, "what the index of the file says"


@fault("B46")
def test_bits_per_weight_use_the_count_and_not_the_name() -> None:
    """16.44 bits by the name's 35 B; 16.01 by the count with the MTP layer's 0.845 B."""
    checkpoint_bits = 16.44 * 35e9
    assert checkpoint_bits / (params_total(arch("qwen3.6-35b-a3b")) + 0.845e9) == pytest.approx(
        16.01, abs=0.01
    )


@fault("B35", "B36")
@pytest.mark.parametrize("model_id", ["deepseek-v3", "mixtral-8x7b"])
def test_memory_is_for_all_experts(model_id: str) -> None:
    a = arch(model_id)
    assert weights_gb(a, "bf16") == pytest.approx(params_total(a) * 2 / GB, rel=1e-3)
    assert params_active(a) < params_total(a) / 3


PACKED = [
    pytest.param(
        {"quantization_config": {"quant_method": "awq", "bits": 4, "group_size": 128, "version": "gemm"}},
        id="AWQ",
    ),
    pytest.param({"quantization": {"bits": 4, "group_size": 64}}, id="MLX, stored as U32"),
]


@fault("B40", "B41")
@pytest.mark.parametrize("packing", PACKED)
@pytest.mark.parametrize(
    ("model_id", "params_b"), [case("B40", "qwen3.6-27b", 27.36), case("B41", "qwen3-32b", 32.76)]
)
def test_packed_weights_are_counted_unpacked(model_id: str, params_b: float, packing: dict[str, Any]) -> None:
    """Qwen3.8-27B has the size of Qwen3.6-27B. Eight 4-bit numbers in one 32-bit word are eight weights."""
    assert params_total(arch(model_id, **packing)) / 1e9 == pytest.approx(params_b, abs=0.005)


# Weights in a format. Threads give round figures, so a few per cent are allowed and said.


@pytest.mark.parametrize(
    ("model_id", "format_id", "gb", "tolerance"),
    [
        case("B27", "llama-3.1-8b", "bf16", 16.06, 0.005),
        case("B35", "deepseek-v3", "gguf-q4_k_m", 390, 0.05 * 390),  # 671 B * 0.58, a rule of thumb
        case("B41", "qwen3-32b", "gguf-q4_0", 18.4, 0.02 * 18.4),  # 32.8 B * 4.5 / 8
        case("B49", "gpt-oss-120b", "gguf-q8_0", 63.4, 0.02 * 63.4),  # experts stay MXFP4
        case("B49", "gpt-oss-120b", "native", 63.4, 0.04 * 63.4),  # the rest in bf16 is larger
        case("B64", "llama-3.3-70b", "fp16", 141.1, 0.05),
        case("B73", "llama-3.1-405b", "fp8", 405.9, 0.02 * 405.9),  # thread: one byte for every weight
    ],
)
def test_weights(model_id: str, format_id: str, gb: float, tolerance: float) -> None:
    assert weights_gb(arch(model_id), format_id) == pytest.approx(gb, abs=tolerance)


@fault("B21")
def test_weights_of_gemma_3_27b_in_q4_k_m() -> None:
    """About 16.5 GB without the vision tower, which is a file of its own in GGUF."""
    found = weights_bytes(arch("gemma-3-27b"), weight_format("gguf-q4_k_m"))
    vision = sum(found.by_role.get(role, 0) for role in (Role.VISION, Role.PROJECTOR))
    assert (found.total_bytes - vision) / GB == pytest.approx(16.5, abs=0.2)


# GPU facts.


@pytest.mark.parametrize(
    ("gpu_id", "mib"), [case("B53", "l40s-48gb", 46_068), case("B53", "h100-sxm5-80gb", 81_559)]
)
def test_capacity_is_what_the_driver_shows(gpu_id: str, mib: int) -> None:
    row = spec_frame().loc[gpu_id]
    assert row["visible_bytes"] == mib * MIB
    assert row["usable_bytes"] <= mib * MIB


@fault("B54")
def test_a_16_gb_card_that_shows_a_little_less_is_a_16_gb_card() -> None:
    """Cards are sorted by the label, never by comparing what the driver shows with 16 GiB."""
    frame = spec_frame()
    cards = frame[(frame["memory_gb"] == 16) & frame["visible_bytes"].notna()]
    short = cards[cards["visible_bytes"] < 16 * GIB]
    assert not short.empty
    assert ((short["visible_bytes"] / GIB).astype(float) > 16 * 0.9).all(), "a T4 with ECC shows 15.0 GiB"


@fault("B55")
def test_h100_pcie_dense_rate() -> None:
    row = spec_frame().loc["h100-pcie-80gb"]
    assert row["dense_bf16_tflops"] == 756
    assert row["dense_bf16_tflops"] * row["sparsity_multiplier"] == pytest.approx(1_513, abs=1)


@fault("B70")
@pytest.mark.parametrize("token", ["Infinity", "NaN"])
def test_infinity_in_a_config_is_read(token: str) -> None:
    text = json.dumps({**model_config("nemotron-h-56b"), "time_step_limit": [0.0, "@"]}).replace('"@"', token)
    assert params_total(read_config(json.loads(text))) == 56_324_350_464


@fault("B73")
def test_fp8_on_an_a100_is_storage_only() -> None:
    """405.9 GB fit 8 x 80 GB, but Ampere has no FP8 tensor cores."""
    frame, fp8 = spec_frame(), weight_format("fp8")
    assert support(frame.loc["a100-sxm4-80gb"], fp8).state == "storage"
    assert support(frame.loc["h100-sxm5-80gb"], fp8).state == "native"
    on_a100 = deployment("llama-3.1-405b", "fp8", "a100-sxm4-80gb", "vllm", tensor_parallel_size=8)
    assert estimate(on_a100).weights_bytes * 8 < 640 * GB
    assert estimate(on_a100).verdict == FITS


# Whole deployments. Threads measured one run of one version, so totals are compared within a few per cent.


@fault("B15")
def test_total_of_qwen_3_6_27b_with_four_sequences() -> None:
    """About 47 GB, not 75: Q8_0 weights, 262,144 cells shared by four sequences, four states."""
    report = estimate(
        deployment("qwen3.6-27b", "gguf-q8_0", "a100-sxm4-80gb", max_model_len=65_536, concurrency=4)
    )
    assert report.kv_bytes / MIB == pytest.approx(16_384 + 598.5, rel=0.001)
    assert report.needed_bytes / GB == pytest.approx(47, rel=0.05)


@fault("B17")
def test_total_of_qwen_3_6_27b_in_q4_k_m() -> None:
    """17.6 GiB allocated, not 24.83: one slot of 65,536, cache in q8_0."""
    report = estimate(
        deployment("qwen3.6-27b", "gguf-q4_k_m", "rtx-3090-24gb", kv="q8_0", max_model_len=65_536)
    )
    assert report.needed_bytes / GIB == pytest.approx(17.6, rel=0.05)
    assert report.verdict == FITS


@fault("B18")
def test_qwen_3_5_9b_in_q8_0_fits_a_16_gb_card() -> None:
    """8.5 measured at 8k (the thread says GB; tools of this kind print GiB), so a 16 GB card has room."""
    report = estimate(deployment("qwen3.5-9b", "gguf-q8_0", "rtx-4060-ti-16gb", max_model_len=8_192))
    assert report.verdict == FITS
    assert report.needed_bytes / GIB == pytest.approx(8.5, rel=0.08)


@fault("B21")
def test_gemma_3_27b_at_128k_is_far_from_139_gb() -> None:
    """32 GB observed at 85,000 tokens; one more K and V element per full layer and token to 128,000."""
    keys_only = deployment("gemma-3-27b", "gguf-q4_k_m", "a100-sxm4-40gb", kv="q8_0", max_model_len=128_000)
    report = estimate(keys_only.but(v_format=kv_format("bf16")))
    assert report.kv_bytes / GIB == pytest.approx(7.9, abs=0.1)
    assert report.needed_bytes < 40 * GB


@fault("B22")
def test_gemma_3_4b_at_128k_as_logged() -> None:
    """5,305 MiB = 2,367 weights + 2,734 cache + 203 compute, not 3.0 GB; we add the CUDA context."""
    report = estimate(deployment("gemma-3-4b", "gguf-q4_k_m", "rtx-4090-24gb", max_model_len=131_072))
    assert report.kv_bytes / MIB == pytest.approx(2_734, abs=0.5)
    assert report.weights_bytes / MIB == pytest.approx(2_367, rel=0.01)
    assert report.activation_bytes / MIB > 203
    assert 5_305 * 0.95 < report.needed_bytes / MIB < 5_305 * 1.15


@fault("B28")
def test_the_cache_does_not_shrink_with_the_weights() -> None:
    reports = [
        estimate(deployment("llama-3.1-8b", format_id, "rtx-4090-24gb", max_model_len=8_192))
        for format_id in ("gguf-f16", "gguf-q8_0", "gguf-q4_k_m")
    ]
    assert [report.kv_bytes for report in reports] == [1 * GIB] * 3
    assert reports[0].weights_bytes > reports[1].weights_bytes > reports[2].weights_bytes


@fault("B57")
@pytest.mark.parametrize("gpus", [1, 2, 4, 8])
def test_capacity_is_per_gpu_whatever_the_count(gpus: int) -> None:
    report = estimate(deployment("llama-3.3-70b", "fp8", "h100-sxm5-80gb", "vllm", tensor_parallel_size=gpus))
    assert report.capacity_bytes == spec_frame().loc["h100-sxm5-80gb"]["usable_bytes"]


@fault("B58")
def test_memory_is_not_pooled_without_a_split() -> None:
    """40 GB of weights: not on one 24 GB card, on two only when the engine splits the layers."""
    one = deployment("llama-3.3-70b", "gguf-q4_k_s", "rtx-4090-24gb", max_model_len=2_048)
    assert estimate(one).weights_bytes / GB == pytest.approx(40, rel=0.03)
    assert estimate(one).verdict == DOES_NOT_FIT
    split = estimate(one.but(tensor_parallel_size=2))
    assert split.verdict != DOES_NOT_FIT
    assert split.needed_bytes < estimate(one).needed_bytes * 0.55
    assert gpus_needed(one, max_gpus=1) is None


@fault("B59")
def test_forty_heads_do_not_divide_by_three() -> None:
    """1, 2, 4, 8 work; 5 divides the heads too, but vLLM must also cut the MLP width of 13,824."""
    reasons = allowed_tensor_parallel_sizes(arch("llama-2-13b"), 8)
    assert "40" in (reasons[3] or "")
    assert "heads" in (reasons[3] or "")
    assert [size for size in (1, 2, 4, 8) if reasons[size]] == []
    assert "heads" not in (reasons[5] or "")
    refused = estimate(deployment("llama-2-13b", "fp16", "rtx-4090-24gb", "vllm", tensor_parallel_size=3))
    assert refused.refused
    assert refused.verdict == DOES_NOT_FIT


@fault("B61")
def test_eight_kv_heads_on_more_devices_are_copied() -> None:
    kv = {
        gpus: estimate(
            deployment("llama-3.1-405b", "fp8", "h100-sxm5-80gb", "vllm", tensor_parallel_size=gpus)
        ).kv_bytes
        for gpus in (4, 8, 16, 32)
    }
    assert kv[4] == 2 * kv[8]
    assert kv[8] == kv[16] == kv[32]


@fault("B62")
def test_the_cache_is_split_over_tensor_parallel_gpus() -> None:
    """Qwen3-32B: four GPUs hold 834k tokens where one slice of the memory held 208k."""
    whole = estimate(deployment("qwen3-32b", "bf16", "h100-sxm5-80gb", "vllm", max_model_len=208_000))
    split = estimate(
        deployment(
            "qwen3-32b", "bf16", "h100-sxm5-80gb", "vllm", max_model_len=834_000, tensor_parallel_size=4
        )
    )
    assert split.kv_bytes == pytest.approx(whole.kv_bytes, rel=0.005)


@fault("B64")
def test_70b_in_fp16_does_not_fit_two_24_gb_cards() -> None:
    """141.1 GB of weights: two 80 GB cards at least, and those only just."""
    small = deployment("llama-3.3-70b", "fp16", "rtx-3090-24gb", "vllm", tensor_parallel_size=2)
    assert estimate(small).verdict == DOES_NOT_FIT
    large = deployment("llama-3.3-70b", "fp16", "a100-sxm4-80gb", "vllm")
    assert estimate(large).verdict == DOES_NOT_FIT
    assert estimate(large.but(tensor_parallel_size=2)).verdict != DOES_NOT_FIT
    fleet = gpus_needed(large, max_gpus=8, verdict=TIGHT)
    assert fleet is not None
    assert fleet.gpus == 2


@fault("B65")
def test_the_compute_buffer_of_deepseek_v2_lite_is_counted() -> None:
    """2,376 MiB of compute buffer at 32k on an RTX 3090 (Ollama issue 5136), never 0.

    The thread ran without flash attention (K and V differ in width) and with the batch that Ollama picks for
    the card; of its steps only 1,024 has scores that fit: 16 heads x 32,768 x 1,024 x 4 B = 2,048 MiB.
    """
    plain = deployment("deepseek-v2-lite", "gguf-q4_k_m", "rtx-3090-24gb", max_model_len=32_768)
    assert estimate(plain).activation_bytes > 100 * MIB
    as_run = plain.but(options=Options(flash_attention=False, ubatch_tokens=1_024))
    assert estimate(as_run).activation_bytes / MIB == pytest.approx(2_376, rel=0.08)


def test_every_published_fault_has_a_test() -> None:
    assert set(PUBLISHED) == COVERED
