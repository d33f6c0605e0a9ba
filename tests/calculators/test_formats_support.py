"""Which GPU runs which format, and what a cached number costs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calculators.formats import kv_bytes_per_element, support
from gpu_data import spec_frame
from gpu_data.formats import kv_format, kv_formats, weight_format, weight_formats

SPECS = spec_frame()


@pytest.mark.parametrize(
    ("gpu_id", "format_id", "state"),
    [
        pytest.param("h100-sxm5-80gb", "fp8", "native", id="vLLM fp8 docs: Hopper W8A8"),
        pytest.param("l40s-48gb", "fp8", "native", id="vLLM fp8 docs: Ada W8A8"),
        pytest.param("a100-sxm4-80gb", "fp8", "storage", id="vLLM fp8 docs: Ampere W8A16 on Marlin"),
        pytest.param("rtx-a6000-48gb", "fp8-block", "storage", id="vLLM fp8 docs: Ampere W8A16 on Marlin"),
        pytest.param("t4-16gb", "fp8", "storage", id="vLLM fp8 docs: Turing W8A16 on Marlin"),
        pytest.param("v100-sxm2-32gb", "fp8", "no", id="vLLM fp8 docs: compute capability 7.5"),
        pytest.param("mi300x-192gb", "fp8", "native", id="vLLM fp8 docs: MI300x"),
        pytest.param("mi250x-128gb", "fp8", "no", id="vLLM hardware table: no Marlin on AMD"),
        pytest.param("dgx-spark-gb10", "fp8", "native", id="compute capability 12.1, peak unknown"),
        pytest.param("a100-sxm4-80gb", "int8", "native", id="vLLM int8 docs: Ampere"),
        pytest.param("t4-16gb", "int8", "native", id="vLLM int8 docs: Turing"),
        pytest.param("v100-sxm2-16gb", "int8", "no", id="vLLM hardware table: Volta"),
        pytest.param("b200-sxm-180gb", "int8", "no", id="vLLM int8 docs: Blackwell limitation"),
        pytest.param("t4-16gb", "bf16", "no", id="vLLM: bfloat16 needs 8.0"),
        pytest.param("v100-pcie-16gb", "bf16", "no", id="vLLM: bfloat16 needs 8.0"),
        pytest.param("v100-pcie-16gb", "fp16", "native", id="Volta tensor cores"),
        pytest.param("v100-pcie-16gb", "awq-int4", "no", id="vLLM hardware table: AWQ not on Volta"),
        pytest.param("v100-pcie-16gb", "gptq-int4", "storage", id="vLLM hardware table: GPTQ on Volta"),
        pytest.param("t4-16gb", "awq-int4", "storage", id="vLLM hardware table: AWQ on Turing"),
        pytest.param("rtx-4090-24gb", "awq-int4", "storage", id="vLLM hardware table: Marlin on Ada"),
        pytest.param("mi300x-192gb", "awq-int4", "storage", id="vLLM platforms/rocm.py"),
        pytest.param("v100-pcie-16gb", "bnb-int8", "no", id="bitsandbytes guide: LLM.int8() needs 7.5"),
        pytest.param("v100-pcie-16gb", "bnb-nf4", "storage", id="bitsandbytes guide: NF4 needs 6.0"),
        pytest.param("b200-sxm-180gb", "nvfp4", "native", id="Model Optimizer matrix: Blackwell"),
        pytest.param("rtx-5090-32gb", "nvfp4", "native", id="Model Optimizer matrix: Blackwell"),
        pytest.param("h100-sxm5-80gb", "nvfp4", "storage", id="vLLM marlin_utils_fp4.py: weight-only"),
        pytest.param("mi355x-288gb", "nvfp4", "no", id="NVFP4 is NVIDIA's"),
        pytest.param("mi355x-288gb", "mxfp4", "native", id="CDNA 4 MXFP4"),
        pytest.param("h100-sxm5-80gb", "mxfp4", "storage", id="vLLM mxfp4.py: Triton, 16-bit activations"),
        pytest.param("a100-sxm4-40gb", "mxfp4", "storage", id="vLLM mxfp4.py: Marlin from 8.0"),
        pytest.param("v100-sxm2-32gb", "mxfp4", "no", id="transformers mxfp4: 7.5"),
        pytest.param("apple-m4-max", "awq-int4", "no", id="no Apple backend"),
        pytest.param("apple-m4-max", "gguf-q4_k_m", "storage", id="llama.cpp Metal"),
        pytest.param("apple-m4-max", "gguf-f16", "native", id="llama.cpp Metal"),
        pytest.param("gaudi3-128gb", "gguf-q4_k_m", "no", id="llama.cpp has no Gaudi backend"),
        pytest.param("gaudi3-128gb", "fp8", "native", id="Gaudi 3 FP8"),
        pytest.param("rx-7900-xtx-24gb", "gguf-q4_k_m", "storage", id="llama.cpp HIP"),
    ],
)
def test_weight_format_support(gpu_id, format_id, state):
    found = support(SPECS.loc[gpu_id], weight_format(format_id))
    assert found.state == state
    assert found.reason.endswith(".")


@pytest.mark.parametrize(
    ("gpu_id", "format_id", "state"),
    [
        ("h100-sxm5-80gb", "fp8", "native"),
        ("a100-sxm4-80gb", "fp8", "storage"),
        ("v100-sxm2-16gb", "fp8", "no"),
        ("b200-sxm-180gb", "nvfp4", "native"),
        ("h100-sxm5-80gb", "nvfp4", "no"),
        ("rtx-3090-24gb", "q8_0", "storage"),
        ("t4-16gb", "bf16", "native"),
    ],
)
def test_kv_format_support(gpu_id, format_id, state):
    assert support(SPECS.loc[gpu_id], kv_format(format_id)).state == state


@pytest.mark.parametrize(
    "fmt", [*weight_formats(), *kv_formats()], ids=lambda f: f"{type(f).__name__} {f.id}"
)
def test_every_gpu_gets_one_sourced_sentence(fmt):
    for _, spec in SPECS.iterrows():
        found = support(spec, fmt)
        assert found.reason.count(". ") <= 1
        assert found.source


@pytest.mark.parametrize(
    ("format_id", "head_dim", "size"),
    [
        pytest.param("bf16", 128, 2, id="16 bits"),
        pytest.param("fp8", 128, 1, id="vLLM per-tensor scale takes no room"),
        pytest.param("int8", 128, 1 + 4 / 128, id="vLLM int8_per_token_head: fp32 scale a row"),
        pytest.param("q8_0", 128, 34 / 32, id="ggml block_q8_0"),
        pytest.param("q5_1", 128, 24 / 32, id="ggml block_q5_1"),
        pytest.param("q4_0", 128, 18 / 32, id="ggml block_q4_0"),
        pytest.param("nvfp4", 128, 9 / 16, id="NVFP4: 4 bits and one byte for 16"),
    ],
)
def test_bytes_per_cached_number(format_id, head_dim, size):
    assert kv_bytes_per_element(kv_format(format_id), head_dim) == size


@pytest.mark.parametrize(
    ("elements", "format_id", "mib"),
    [
        pytest.param(61 * 576 * 32768, "q8_0", 1166.62, id="ik_llama.cpp log DeepSeek-V3-0324: latent q8_0"),
        pytest.param(64 * 1024 * 12288, "q8_0", 816, id="ik_llama.cpp log Nemotron-Ultra-253B: K q8_0"),
        pytest.param(64 * 1024 * 12288, "q4_0", 432, id="ik_llama.cpp log Nemotron-Ultra-253B: V q4_0"),
        pytest.param(61 * 576 * 32768, "bf16", 2196, id="ik_llama.cpp log DeepSeek-V3-0324: latent f16"),
    ],
)
def test_cache_sizes_of_logs(elements, format_id, mib):
    assert elements * kv_bytes_per_element(kv_format(format_id), 128) / 2**20 == pytest.approx(mib, abs=0.01)


@given(st.sampled_from(kv_formats()), st.integers(1, 1024))
def test_scales_only_add(fmt, head_dim):
    assert kv_bytes_per_element(fmt, head_dim) >= fmt.bits / 8
