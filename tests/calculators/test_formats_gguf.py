"""GGUF sizes against llama.cpp's own tables, file sizes of published quantisations and loader logs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from calculators.architecture import read_config
from calculators.architecture.layout import Role
from calculators.formats import bits_per_weight, weights_bytes
from gpu_data.formats import weight_format
from gpu_data.models import model_config
from tests.calculators.format_cases import GPT_OSS_LIKE, LLAMA_3_1_8B, decoder

TOWERS = {Role.VISION, Role.AUDIO, Role.PROJECTOR}  # in a file of their own (mmproj)

# llama.cpp tools/quantize/README.md, meta-llama/Llama-3.1-8B. Its IQ4_XS and IQ4_NL rows (4.4597, 4.6818)
# were made without an importance matrix; published files have one, see LLAMA_70B below.
README_BITS = {
    "iq1_s": 2.0042,
    "iq1_m": 2.1460,
    "iq2_xxs": 2.3824,
    "iq2_xs": 2.5882,
    "iq2_s": 2.7403,
    "iq2_m": 2.9294,
    "iq3_xxs": 3.2548,
    "iq3_xs": 3.4977,
    "iq3_s": 3.6606,
    "iq3_m": 3.7628,
    "q2_k_s": 2.9697,
    "q2_k": 3.1593,
    "q3_k_s": 3.6429,
    "q3_k_l": 4.2979,
    "q4_k_s": 4.6672,
    "q4_k_m": 4.8944,
    "q5_k_s": 5.5704,
    "q5_k_m": 5.7036,
    "q6_k": 6.5633,
    "q8_0": 8.5008,
    "f16": 16.0005,
}
# llama.cpp tools/quantize/quantize.cpp, QUANT_OPTIONS "@ Llama-3-8B" [GiB]
OPTIONS_GIB = {"q4_0": 4.34, "q5_0": 5.21, "q3_k_m": 3.74, "q3_k_s": 3.41, "q4_k_m": 4.58, "q6_k": 6.14}
# bartowski/Meta-Llama-3.1-70B-Instruct-GGUF: GQA of 8, 80 layers [GB]
LLAMA_70B = {
    "q8_0": 74.98,
    "q6_k": 57.89,
    "q5_k_m": 49.95,
    "q5_k_s": 48.66,
    "q4_k_m": 42.52,
    "q4_k_s": 40.35,
    "q4_0": 40.12,
    "iq4_xs": 37.90,
    "q3_k_l": 37.14,
    "q3_k_m": 34.27,
    "iq3_m": 31.94,
    "q3_k_s": 30.91,
}
# bartowski/Mixtral-8x22B-v0.1-GGUF: the rules for 8 experts [GB]
MIXTRAL_8X22B = {
    "q5_k_m": 99.96,
    "q5_k_s": 96.97,
    "q4_k_m": 85.58,
    "q4_k_s": 80.47,
    "q3_k_l": 72.57,
    "q3_k_m": 67.78,
    "iq3_m": 64.49,
    "iq3_s": 61.49,
    "q3_k_s": 61.49,
    "iq3_xs": 58.22,
    "q2_k": 52.10,
}
# bartowski/phi-4-GGUF: fused attn_qkv [GB]
PHI_4 = {
    "f16": 29.32,
    "q8_0": 15.58,
    "q6_k": 12.03,
    "q5_k_m": 10.60,
    "q5_k_s": 10.15,
    "q4_k_m": 9.05,
    "q4_k_s": 8.44,
    "iq4_nl": 8.38,
}
# bartowski/deepseek-ai_DeepSeek-V3-0324-GGUF: latent attention, 256 experts [GB]
DEEPSEEK_V3 = {"q8_0": 713.29, "q6_k": 550.80, "q5_k_m": 475.40, "q5_k_s": 461.81, "q4_k_m": 404.43}
# unsloth/gpt-oss-120b-GGUF: experts stay MXFP4, width 2880 forces fallback types [GiB]
GPT_OSS_120B = {
    "f16": 60.88,
    "q8_0": 59.03,
    "q6_k": 58.94,
    "q5_k_m": 58.57,
    "q4_k_m": 58.46,
    "q4_k_s": 58.45,
    "q4_0": 58.32,
    "q3_k_m": 58.33,
    "q3_k_s": 58.27,
    "q2_k": 58.27,
}
# mradermacher/Qwen3.6-27B-i1-GGUF: Gated DeltaNet projections follow attn_v [GiB]
QWEN3_6_27B = {"q4_k_m": 15.401, "iq4_xs": 14.036}


def text_bytes(model_id: str, name: str) -> float:
    """Bytes of the model's own file: towers are apart."""
    found = weights_bytes(read_config(model_config(model_id)), weight_format(f"gguf-{name}"))
    return found.total_bytes - sum(size for role, size in found.by_role.items() if role in TOWERS)


@pytest.mark.parametrize(("name", "bits"), README_BITS.items(), ids=lambda v: f"llama.cpp README {v}")
def test_bits_per_weight_of_llama_3_1_8b(name, bits):
    assert bits_per_weight(LLAMA_3_1_8B, weight_format(f"gguf-{name}")) == pytest.approx(bits, rel=1e-4)


@pytest.mark.parametrize(("name", "gib"), OPTIONS_GIB.items(), ids=lambda v: f"quantize --help {v}")
def test_sizes_of_llama_3_8b(name, gib):
    assert text_bytes("llama-3.1-8b", name) / 2**30 == pytest.approx(gib, abs=0.011)


@pytest.mark.parametrize(
    ("model_id", "name", "size", "unit"),
    [
        pytest.param(model_id, name, size, unit, id=f"{source} {name}")
        for model_id, table, unit, source in (
            ("llama-3.1-70b", LLAMA_70B, 1e9, "bartowski Llama-3.1-70B"),
            ("mixtral-8x22b", MIXTRAL_8X22B, 1e9, "bartowski Mixtral-8x22B"),
            ("phi-4", PHI_4, 1e9, "bartowski phi-4"),
            ("deepseek-v3", DEEPSEEK_V3, 1e9, "bartowski DeepSeek-V3-0324"),
            ("gpt-oss-120b", GPT_OSS_120B, 2**30, "unsloth gpt-oss-120b"),
            ("gpt-oss-20b", {"mxfp4": 12.1}, 1e9, "bartowski gpt-oss-20b"),
            ("qwen3.6-27b", QWEN3_6_27B, 2**30, "mradermacher Qwen3.6-27B i1"),
            ("gemma-3-27b", {"q4_k_m": 15.404}, 2**30, "ik_llama.cpp log gemma-3-27b-it"),
            ("gemma-3-27b", {"q4_0": 15.6}, 1e9, "stduhpf gemma-3-27b-it static"),
            ("qwen3-32b", {"q5_k_m": 21.603}, 2**30, "ik_llama.cpp log Qwen3-32B"),
            ("llama-2-13b", {"q4_0": 6.86, "f16": 24.24}, 2**30, "llama.cpp log Llama-2-13b"),
            ("llama-2-70b", {"q4_0": 36.20}, 2**30, "llama.cpp log Llama-2-70b"),
        )
        for name, size in table.items()
    ],
)
def test_published_file_sizes(model_id, name, size, unit):
    assert text_bytes(model_id, name) / unit == pytest.approx(size, rel=0.005)


def test_tied_embeddings_are_stored_once_in_the_output_type():
    untied = decoder(
        hidden=2048, intermediate=8192, layers=16, heads=32, kv_heads=8, head_dim=64, vocab=128256
    )
    tied = replace(untied, tied_embeddings=True, outside=untied.outside[:2])
    fmt = weight_format("gguf-q4_k_m")
    table = 128256 * 2048
    assert weights_bytes(tied, fmt).by_role[Role.EMBEDDING] == table * 210 / 256  # Q6_K
    assert weights_bytes(untied, fmt).by_role[Role.EMBEDDING] == table * 144 / 256  # Q4_K
    assert weights_bytes(untied, fmt).by_role[Role.LM_HEAD] == table * 210 / 256


def test_norms_and_routers_stay_32_bit():
    found = weights_bytes(GPT_OSS_LIKE, weight_format("gguf-q4_k_m")).by_role
    assert found[Role.ROUTER] == 24 * 32 * 2880 * 4
    assert found[Role.NORM] == (2 * 24 + 1) * 2880 * 4


@pytest.mark.parametrize(
    ("name", "bytes_per_32"),
    [
        # width 2880 = 11.25 blocks of 256: tensor_type_fallback
        pytest.param("q4_k_s", 22, id="Q4_K -> Q5_0"),
        pytest.param("q5_k_s", 24, id="Q5_K -> Q5_1"),
        pytest.param("q6_k", 34, id="Q6_K -> Q8_0"),
        pytest.param("q3_k_s", 18, id="Q3_K -> Q4_0"),
        pytest.param("iq4_xs", 18, id="IQ4_XS -> IQ4_NL"),
        pytest.param("iq3_s", 18, id="IQ3_S -> IQ4_NL"),
    ],
)
def test_rows_that_256_does_not_divide_fall_back(name, bytes_per_32):
    found = weights_bytes(GPT_OSS_LIKE, weight_format(f"gguf-{name}")).by_role
    assert found[Role.ATTN_Q] == 24 * 4096 * 2880 / 32 * bytes_per_32


def test_more_bits_go_to_the_ends_and_every_third_layer():
    """use_more_bits(i, 32): i < 4, i >= 28, (i - 4) % 3 == 2."""
    layers = weights_bytes(LLAMA_3_1_8B, weight_format("gguf-q4_k_m")).layers
    larger = {i for i, size in enumerate(layers) if size > layers.min()}
    assert larger == {0, 1, 2, 3, 6, 9, 12, 15, 18, 21, 24, 27, 28, 29, 30, 31}
