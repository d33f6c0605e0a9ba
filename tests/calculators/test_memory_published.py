"""Published figures first: what engines logged, with the log named in the test's id."""

from __future__ import annotations

import json

import numpy as np
import pytest

from calculators.architecture import kv_elements_per_token_growing, params_by_group, params_total, read_config
from calculators.memory import Options, allowed_tensor_parallel_sizes, cache_pool_bytes, estimate, fit_matrix
from calculators.memory.cache import bytes_per_token, reported_tokens
from gpu_data.engines import engine
from gpu_data.formats import kv_format, weight_format
from gpu_data.models import model_config
from tests.calculators.memory_cases import GIB, MIB, TRUTH, architecture, deploy

BENCHMARKS = "github.com/XiongjieDai/GPU-Benchmarks-on-LLM-Inference"


def piece(deployment, name):
    return next(t for t in estimate(deployment).terms if t.name.startswith(name)).bytes


def visible_to_llama_cpp(deployment):
    """Buffers llama.cpp prints: all but the CUDA context, over all GPUs."""
    report = estimate(deployment)
    return sum(float(np.sum(p.bytes)) for p in report.pieces if p.name != "CUDA context")


@pytest.mark.parametrize(
    ("model", "cells", "mib"),
    [
        ("meta-llama/Llama-2-7b-hf", 512, 70.5),
        ("meta-llama/Llama-2-13b-hf", 512, 75.0),
        ("huggyllama/llama-30b", 512, 97.0),
        ("huggyllama/llama-65b", 512, 119.0),
        ("meta-llama/Llama-2-70b-hf", 512, 145.0),
    ],
    ids=lambda v: f"{BENCHMARKS} build 1691 {v}" if isinstance(v, str) else None,
)
def test_compute_buffer_of_2023_builds(model, cells, mib):
    assert piece(deploy(model, "llama.cpp-2023", max_model_len=cells), "compute buffer") == mib * MIB


@pytest.mark.parametrize(
    ("model", "gpus", "mib"),
    [
        pytest.param("meta-llama/Meta-Llama-3-8B", 1, 560.0, id=f"{BENCHMARKS} 4090_v3 build 2833"),
        pytest.param("meta-llama/Meta-Llama-3-8B", 4, 640.0, id=f"{BENCHMARKS} 3090_4_v3 build 2833"),
        pytest.param("meta-llama/Meta-Llama-3-70B", 6, 1216.0, id=f"{BENCHMARKS} 3090_6_v3 build 2824"),
    ],
)
def test_compute_buffer_without_flash_attention_sits_on_every_gpu(model, gpus, mib):
    report = estimate(deploy(model, "llama.cpp-2024", weights="gguf-f16", gpus=gpus, max_model_len=8192))
    buffer = next(p for p in report.pieces if p.name == "compute buffer")
    assert np.allclose(buffer.bytes, mib * MIB, rtol=1e-4)
    assert len(buffer.bytes) == gpus


@pytest.mark.parametrize(
    ("model", "weights", "gpus", "mib"),
    [
        ("meta-llama/Llama-2-7b-hf", "gguf-q4_0", 1, 3904.05),
        ("meta-llama/Llama-2-7b-hf", "gguf-f16", 1, 12929.52),
        ("meta-llama/Llama-2-13b-hf", "gguf-q4_0", 1, 7411.01),
        ("meta-llama/Llama-2-13b-hf", "gguf-f16", 1, 24989.09),
        ("meta-llama/Llama-2-70b-hf", "gguf-q4_0", 1, 37235.11),
        ("meta-llama/Llama-2-70b-hf", "gguf-q4_0", 2, 37235.11),
        ("huggyllama/llama-30b", "gguf-q4_0", 1, 18267.64),
        ("huggyllama/llama-65b", "gguf-q4_0", 1, 36349.11),
    ],
    ids=lambda v: f"{BENCHMARKS} {v}" if isinstance(v, str) and "/" in v else None,
)
def test_total_vram_llama_cpp_printed(model, weights, gpus, mib):
    used = visible_to_llama_cpp(
        deploy(model, "llama.cpp-2023", weights=weights, gpus=gpus, max_model_len=512)
    )
    assert used / MIB == pytest.approx(mib, abs=0.02)


@pytest.mark.parametrize(
    ("model", "engine", "kv", "cells", "options", "mib"),
    [
        pytest.param("openai/gpt-oss-20b", "llama.cpp", "bf16", 131072, {}, 3090.0, id="log no. 44321302313"),
        pytest.param("openai/gpt-oss-120b", "lm-studio", "bf16", 4096, {}, 288.0, id="log no. 20705324730"),
        pytest.param(
            "openai/gpt-oss-120b",
            "llama.cpp",
            "bf16",
            4096,
            {"swa_full": True},
            288.0,
            id="--swa-full, same log",
        ),
        pytest.param(
            "google/gemma-3-27b-it",
            "ik-llama.cpp",
            "bf16",
            32768,
            {},
            15872.0,
            id="ik_llama.cpp/discussions/334",
        ),
        pytest.param(
            "deepseek-ai/DeepSeek-V3-0324",
            "ik-llama.cpp",
            "q8_0",
            32768,
            {},
            1166.625,
            id="ik_llama.cpp/discussions/258 q8_0",
        ),
        pytest.param(
            "deepseek-ai/DeepSeek-V3-0324",
            "ik-llama.cpp",
            "bf16",
            32768,
            {},
            2196.0,
            id="ik_llama.cpp/discussions/258 f16",
        ),
        pytest.param(
            "Qwen/Qwen3-30B-A3B", "ik-llama.cpp", "bf16", 32768, {}, 3072.0, id="ik_llama.cpp/pull/370"
        ),
        pytest.param("Qwen/Qwen3.5-9B", "llama.cpp", "q8_0", 262144, {}, 4352.0, id="log no. 57443583649"),
        pytest.param(
            "EleutherAI/pythia-2.8b", "llama.cpp-2024", "bf16", 2048, {}, 640.0, id="ggml-org/ci V100"
        ),
    ],
)
def test_kv_cache_llama_cpp_printed(model, engine, kv, cells, options, mib):
    deployment = deploy(model, engine, kv=kv, max_model_len=cells, options=Options(**options))
    states = ("recurrent state", "convolution state")
    found = sum(
        t.bytes for t in estimate(deployment).terms if t.group == "kv" and not t.name.startswith(states)
    )
    assert found / MIB == pytest.approx(mib, rel=1e-6)


def test_recurrent_state_in_llama_cpp():
    """ggml-org/llama.cpp log no. 57443583649: 100.5 MiB for two sequences of Qwen3.5-9B."""
    deployment = deploy("Qwen/Qwen3.5-9B", "llama.cpp", max_model_len=4096, concurrency=2)
    states = ("recurrent state", "convolution state")
    found = sum(t.bytes for t in estimate(deployment).terms if t.name.startswith(states))
    assert found / MIB == pytest.approx(100.5, abs=0.01)


@pytest.mark.parametrize(
    ("model", "engine", "gpus", "kv", "bytes_"),
    [
        pytest.param(
            "google/gemma-3-1b-it", "vllm", 1, "bf16", 28672, id="log no. 45405743641: 2 padding layers"
        ),
        pytest.param("openai/gpt-oss-120b", "vllm", 1, "bf16", 73728, id="alvarobartt/hf-mem#60"),
        pytest.param("Qwen/Qwen2.5-32B-Instruct", "vllm-v0", 2, "bf16", 131072, id="vllm-project/vllm#15815"),
        pytest.param(
            "RedHatAI/Qwen3-VL-235B-A22B-Instruct-FP8-dynamic",
            "vllm",
            4,
            "bf16",
            48128,
            id="MLPerf v6.0 Google",
        ),
        pytest.param("Qwen/Qwen3-0.6B", "vllm", 1, "bf16", 114688, id="log no. 64283807915"),
        pytest.param(
            "Qwen/Qwen3.6-27B-AWQ", "vllm", 2, "fp8", 65536, id="log no. 61925765241: 4 groups counted"
        ),
        pytest.param(
            "nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16",
            "sglang",
            4,
            "bf16",
            3072,
            id="log no. 56880170874: 1 head copied",
        ),
        pytest.param(
            "Qwen/Qwen3-30B-A3B-Instruct-2507", "sglang", 1, "bf16", 98304, id="sgl-project/sglang#18263"
        ),
    ],
)
def test_bytes_per_token_behind_the_printed_token_count(model, engine, gpus, kv, bytes_):
    assert bytes_per_token(deploy(model, engine, kv=kv, gpus=gpus)) == bytes_


@pytest.mark.parametrize(
    ("model", "weights", "gpus", "gib", "relative"),
    [
        pytest.param(
            "meta-llama/Llama-3.1-8B-Instruct", "bf16", 1, 14.9888, 1e-5, id="vllm-project/vllm#10517"
        ),
        pytest.param(
            "unsloth/Llama-3.2-3B-Instruct", "fp16", 1, 6.016, 2e-4, id="unslothai/notebooks, vLLM 0.8.2"
        ),
        pytest.param(
            "meta-llama/Meta-Llama-3-8B", "bf16", 2, 7.48, 1e-3, id="vllm-project/vllm pull 10511, TP 2"
        ),
        pytest.param("microsoft/Phi-4-mini-instruct", "bf16", 1, 7.1694, 2e-3, id="log no. 25017508238"),
        pytest.param("Qwen/Qwen2.5-32B-Instruct", "bf16", 2, 30.7098, 1e-2, id="vllm-project/vllm#15815"),
    ],
)
def test_weights_vllm_printed(model, weights, gpus, gib, relative):
    report = estimate(deploy(model, "vllm-v0", weights=weights, gpus=gpus))
    assert report.weights_bytes / GIB == pytest.approx(gib, rel=relative)


@pytest.mark.parametrize(
    ("model", "max_model_len", "sequences", "gib"),
    [
        pytest.param("meta-llama/Llama-3.1-8B-Instruct", 20000, None, 2.07, id="vllm#10517 at 20,000"),
        pytest.param("meta-llama/Llama-3.1-8B-Instruct", 29000, None, 2.99, id="vllm#10517 at 29,000"),
        pytest.param(
            "meta-llama/Llama-3.1-8B-Instruct", 35000, None, 0.06, id="vllm#10517 at 35,000, chunked"
        ),
        pytest.param("unsloth/Llama-3.2-3B-Instruct", 2048, 320, 1.49, id="unslothai/notebooks, A100"),
        pytest.param("unsloth/Llama-3.2-3B-Instruct", 2048, 192, 0.90, id="unslothai/notebooks, T4"),
        pytest.param("microsoft/Phi-4-mini-instruct", 2048, None, 1.83, id="log no. 25017508238"),
        pytest.param("meta-llama/Meta-Llama-3-8B", 8192, None, 1.26, id="vllm pull 10511"),
    ],
)
def test_activation_peak_vllm_v0_printed(model, max_model_len, sequences, gib):
    deployment = deploy(
        model, "vllm-v0", max_model_len=max_model_len, options=Options(max_num_seqs=sequences)
    )
    assert estimate(deployment).activation_bytes / GIB == pytest.approx(gib, rel=0.04, abs=0.01)


@pytest.mark.parametrize(
    ("weights", "gib", "share", "sequences", "tokens", "model", "engine"),
    [
        pytest.param(
            "fp16",
            14.74,
            0.89,
            192,
            58192,
            "unsloth/Llama-3.2-3B-Instruct",
            "vllm-0.8",
            id="unslothai/notebooks T4",
        ),
        pytest.param(
            "bf16",
            39.56,
            0.9,
            None,
            217888,
            "microsoft/Phi-4-mini-instruct",
            "vllm-v0",
            id="log no. 25017508238",
        ),
        pytest.param(
            "bf16", 121.69, 0.6, None, 649728, "Qwen/Qwen3-0.6B", "vllm", id="log no. 68991198104 GB10"
        ),
    ],
)
def test_cache_tokens_vllm_printed(weights, gib, share, sequences, tokens, model, engine):
    deployment = deploy(
        model, engine, weights=weights, gib=gib, max_model_len=2048,
        options=Options(memory_share=share, max_num_seqs=sequences),
    )  # fmt: skip
    found = reported_tokens(deployment, cache_pool_bytes(deployment))
    assert found == pytest.approx(tokens, rel=0.02)


@pytest.mark.parametrize(
    ("context", "runs"),
    [
        pytest.param(20000, True, id="vllm#10517: 20,000 runs"),
        pytest.param(29000, False, id="vllm#10517: 29,000 does not"),
        pytest.param(35000, True, id="vllm#10517: 35,000 runs again"),
    ],
)
def test_vllm_v0_is_not_monotonic_in_context(context, runs):
    deployment = deploy("meta-llama/Llama-3.1-8B-Instruct", "vllm-v0", gib=23.58, max_model_len=context)
    assert (estimate(deployment).verdict > 0) is runs


@pytest.mark.parametrize(
    ("generated", "weights", "gib"),
    [
        pytest.param(2049, "Qwen/Qwen3-14B", None, id="Qwen3 speed_benchmark.md input 1"),
        pytest.param(32768, "Qwen/Qwen3-14B", 33336 / 1024, id="Qwen3 speed_benchmark.md input 30720"),
    ],
)
def test_transformers_holds_weights_cache_and_workspace(generated, weights, gib):
    options = Options(prompt_tokens=1, flash_attention=True)
    report = estimate(deploy(weights, "transformers", max_model_len=generated, options=options))
    shown = report.needed_bytes - next(t.bytes for t in report.terms if t.name == "CUDA context")
    if gib is not None:
        assert shown / GIB == pytest.approx(gib, rel=2e-3)
    assert shown > report.weights_bytes + report.kv_bytes


def test_old_transformers_keep_two_caches():
    """Qwen README: Qwen-72B-Chat BF16, 2,048 tokens, 144.69 GB over two A100 = weights + 2 x 5.0 GiB."""
    options = Options(prompt_tokens=1)
    report = estimate(
        deploy("Qwen/Qwen-72B-Chat", "transformers-legacy", gpus=2, max_model_len=2048, options=options)
    )
    used = sum(float(np.sum(p.bytes)) for p in report.pieces if p.name != "CUDA context")
    assert used / GIB == pytest.approx(144.69, rel=1e-3)


@pytest.mark.parametrize(
    ("model", "batch", "prompt", "gib"),
    [
        pytest.param("mistralai/Mistral-7B-v0.1", 8, 2048, 16.82, id="AutoAWQ README Mistral batch 8"),
        pytest.param("mistralai/Mistral-7B-v0.1", 1, 2048, 5.55, id="AutoAWQ README Mistral batch 1"),
        pytest.param(
            "codellama/CodeLlama-34b-hf", 1, 64, 19.05, id="AutoAWQ README CodeLlama, merged QKV at load"
        ),
        pytest.param("lmsys/vicuna-7b-v1.5", 1, 2048, 6.15, id="AutoAWQ README Vicuna"),
    ],
)
def test_autoawq_peak(model, batch, prompt, gib):
    deployment = deploy(
        model, "autoawq", weights="awq-int4", gib=24, max_model_len=2 * prompt, concurrency=batch,
        options=Options(prompt_tokens=prompt),
    )  # fmt: skip
    report = estimate(deployment)
    context = next(t.bytes for t in report.terms if t.name == "CUDA context")
    assert (report.needed_bytes - context) / GIB == pytest.approx(gib, rel=0.03)


@pytest.mark.parametrize(
    ("gib", "tokens", "weights_gib"),
    [pytest.param(23.58, 38141, 15.02, id="log no. 49361099215: Llama-3-8B on a 24 GB card")],
)
def test_sglang_default_static_fraction(gib, tokens, weights_gib):
    deployment = deploy("meta-llama/Llama-3.1-8B-Instruct", "sglang", gib=gib)
    assert estimate(deployment).weights_bytes / GIB == pytest.approx(weights_gib, rel=5e-3)
    assert reported_tokens(deployment, cache_pool_bytes(deployment)) == pytest.approx(tokens, rel=0.02)


@pytest.mark.parametrize(
    ("model", "allowed"),
    [
        pytest.param("meta-llama/Llama-2-13b-hf", [1, 2, 4, 8], id="40 heads, MLP 13,824: 5 and 10 refused"),
        pytest.param("Qwen/Qwen2.5-7B-Instruct", [1, 2, 4], id="28 heads, 4 KV heads: 7 refused"),
        pytest.param("tiiuae/falcon-7b", [1], id="71 heads"),
        pytest.param(
            "meta-llama/Llama-3.1-8B-Instruct", [1, 2, 4, 8], id="32 heads; vllm-project/vllm#596: not 3"
        ),
    ],
)
def test_allowed_tensor_parallel_sizes(model, allowed):
    found = allowed_tensor_parallel_sizes(architecture(model), 10)
    assert [size for size, reason in found.items() if reason is None] == allowed
    assert all(reason for size, reason in found.items() if size not in allowed)


@pytest.mark.parametrize(
    ("model", "size", "reason"),
    [
        pytest.param(
            "Qwen/Qwen3-235B-A22B",
            8,
            "MLP width 1536 / 8 is no multiple of the format's block of 128",
            id="vLLM fp8.py",
        ),
        pytest.param("Qwen/Qwen3-235B-A22B", 4, None, id="1536 / 4 = 384"),
        pytest.param("deepseek-ai/DeepSeek-V3-0324", 16, None, id="2048 / 16 = 128"),
        pytest.param(
            "deepseek-ai/DeepSeek-V3-0324", 32, "MLP width 2048 / 32 is no multiple", id="2048 / 32 = 64"
        ),
    ],
)
def test_block_scaled_formats_refuse_more_sizes(model, size, reason):
    found = allowed_tensor_parallel_sizes(architecture(model), size, weight_format("fp8-block"))[size]
    assert found == reason if reason is None else found.startswith(reason)


def test_expert_parallelism_deals_out_whole_experts():
    """128 experts over 8 GPUs are 16 each, whatever their width: blocks refuse nothing then."""
    arch = architecture("Qwen/Qwen3-235B-A22B")
    assert allowed_tensor_parallel_sizes(arch, 8, weight_format("fp8-block"), expert_parallel=True)[8] is None
    tensor = estimate(deploy("Qwen/Qwen3-235B-A22B", "vllm", gpus=8))
    expert = estimate(deploy("Qwen/Qwen3-235B-A22B", "vllm", gpus=8, expert_parallel=True))
    assert expert.weights_bytes == tensor.weights_bytes


def test_kv_heads_are_copied_when_tensor_parallelism_exceeds_them():
    """model_facts trap 20: Qwen2.5-7B has 4 KV heads, so 8 GPUs would hold no less each than 4."""
    per_gpu = [bytes_per_token(deploy("Qwen/Qwen2.5-7B-Instruct", "vllm", gpus=n)) for n in (1, 2, 4, 8)]
    assert per_gpu == [57344, 28672, 14336, 14336]


def test_mla_latent_is_copied_on_every_gpu():
    """DeepSeek-V3: 61 layers x 576 x 2 B whatever the tensor-parallel size."""
    per_gpu = [bytes_per_token(deploy("deepseek-ai/DeepSeek-V3-0324", "vllm", gpus=n)) for n in (1, 8)]
    assert per_gpu == [70272, 70272]


def test_mla_weights_are_partly_copied():
    """DJL log no. 3706561278: DeepSeek-Coder-V2-Lite takes 3.97 GiB on each of 8 GPUs, not 3.66."""
    report = estimate(
        deploy("deepseek-ai/DeepSeek-Coder-V2-Lite-Instruct", "vllm-v0", weights="fp16", gpus=8)
    )
    assert 3.70 < report.weights_bytes / GIB < 3.97


def test_uneven_pipeline_counts_its_fullest_stage():
    """vllm/distributed/utils.py get_pp_indices: 80 layers over 3 stages are 27, 27, 26."""
    report = estimate(deploy("meta-llama/Meta-Llama-3-70B", "vllm", pipeline_parallel_size=3))
    one_layer = 855_654_400 * 2  # 2 x 8192^2 + 2 x 8192 x 1024 + 3 x 8192 x 28672 + 2 x 8192 parameters
    tables = 128256 * 8192 * 2
    rope = 8192 * 128 * 2
    assert report.weights_bytes == pytest.approx(27 * one_layer + tables + rope, rel=1e-3)


def test_weights_fit_but_the_fullest_of_six_cards_overflows():
    """GPU-Benchmarks 3090_6_v3: 131.4 GiB of Llama-3-70B F16 fail on 6 x 24 GB, run on 8."""
    six = deploy(
        "meta-llama/Meta-Llama-3-70B",
        "llama.cpp-2024",
        weights="gguf-f16",
        gib=24,
        gpus=6,
        max_model_len=8192,
    )
    eight = six.but(tensor_parallel_size=8)
    assert estimate(six).verdict == 0
    assert estimate(eight).verdict == 2


# ---------------------------------------------------------------- encoders


def encoder_decoder(name):
    return read_config(json.loads((TRUTH / "gallery" / f"{name}.json").read_text()))


def test_whisper_keeps_thirty_seconds_of_sound_for_every_sequence():
    """Radford et al. 2022: 1,500 encoder positions whatever the text; 32 layers, width 1,280, K and V."""
    chosen = deploy("openai/gpt-oss-20b", "transformers", weights="fp16", max_model_len=448, concurrency=3)
    chosen = chosen.but(architecture=encoder_decoder("whisper-large-v3"))
    for length in (10, 448):
        found = piece(chosen.but(max_model_len=length), "KV cache, cross-attention")
        assert found == 3 * 1500 * 32 * 2 * 1280 * 2


def test_whisper_cache_behind_the_printed_token_count():
    """github.com/mlcommons/inference_results_v5.1: 16.76 GiB are 109,840 tokens of 163,840 B."""
    chosen = deploy("openai/gpt-oss-20b", "vllm-0.8").but(architecture=encoder_decoder("whisper-large-v3"))
    assert bytes_per_token(chosen) == 163_840
    assert reported_tokens(chosen, 16.76 * GIB) == pytest.approx(109_840, rel=1e-3)


@pytest.mark.parametrize("name", ["t5-large", "bart-large-cnn", "mt0-xl"])
@pytest.mark.parametrize("engine_id", ["transformers", "llama.cpp", "vllm"])
def test_an_encoded_input_as_long_as_the_output_doubles_the_cache(name, engine_id):
    """Cross-attention has the width of self-attention in T5 and BART; input counted as max_model_len."""
    arch = encoder_decoder(name)
    report = estimate(deploy("openai/gpt-oss-20b", engine_id, max_model_len=1024).but(architecture=arch))
    own = 1024 * kv_elements_per_token_growing(arch) * 2
    assert report.kv_bytes == 2 * own
    assert any("encoded input of max_model_len tokens" in text for text in report.assumptions)


def test_a_gguf_holds_the_language_model_only():
    """llama.cpp docs/multimodal.md: the encoder is an mmproj file in F16, loaded with --mmproj."""
    arch = read_config(model_config("gemma-3-4b"))
    text = deploy("openai/gpt-oss-20b", "llama.cpp", weights="gguf-f16").but(architecture=arch)
    images = text.but(options=Options(images=True))
    encoder = piece(images, "image and audio encoder")
    assert encoder == 2 * params_by_group(arch)["vision"]
    assert estimate(images).needed_bytes == pytest.approx(estimate(text).needed_bytes + encoder)
    assert any("encoder (mmproj file" in note for note in estimate(text).assumptions)
    assert not any("mmproj" in note for note in estimate(images).assumptions)
    matrix = [
        fit_matrix(
            arch, kv_format("bf16"), engine("llama.cpp"), np.array([24.0 * GIB]), (1,),
            [weight_format("gguf-f16")], options=Options(images=chosen),
        ).needed_bytes.item()
        for chosen in (False, True)
    ]  # fmt: skip
    assert matrix == pytest.approx([estimate(text).needed_bytes, estimate(images).needed_bytes])
    language = params_total(arch) - params_by_group(arch)["vision"]
    assert sum(estimate(text).pieces[0].bytes) == pytest.approx(2 * language, rel=0.01)


def test_an_encoder_that_the_decoder_attends_to_is_never_left_out():
    arch = encoder_decoder("whisper-large-v3")
    chosen = deploy("openai/gpt-oss-20b", "llama.cpp", weights="gguf-f16").but(architecture=arch)
    assert estimate(chosen).weights_bytes == pytest.approx(params_total(arch) * 2, rel=0.01)
