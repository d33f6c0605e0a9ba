"""Weight bytes against what engines printed, and laws that hold for every format."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calculators.architecture import read_config
from calculators.architecture.layout import Role, Weight
from calculators.formats import bits_per_weight, stored_bytes, tensor_bytes, weights_bytes
from gpu_data.formats import weight_format, weight_formats
from gpu_data.models import model_config
from tests.calculators.format_cases import (
    GPT_OSS_LIKE,
    LLAMA_3_1_8B,
    MIXTRAL_8X7B,
    ODD_WIDTH,
    QWEN2_5_7B,
    decoder,
)

FORMATS = pytest.mark.parametrize("fmt", weight_formats(), ids=lambda f: f.id)
MODELS = pytest.mark.parametrize(
    "arch",
    [
        pytest.param(LLAMA_3_1_8B, id="dense"),
        pytest.param(MIXTRAL_8X7B, id="8 experts"),
        pytest.param(ODD_WIDTH, id="odd width"),
    ],
)


@pytest.mark.parametrize(
    ("arch", "format_id", "gib"),
    [
        pytest.param(LLAMA_3_1_8B, "bf16", 14.9888, id="vLLM log, Llama-3.1-8B-Instruct bf16"),
        pytest.param(LLAMA_3_1_8B, "fp16", 14.96, id="vLLM PR 10511, Meta-Llama-3-8B"),
        pytest.param(QWEN2_5_7B, "awq-int4", 5.2032, id="vLLM log, Qwen2.5-7B 4-bit, RTX 4060"),
        pytest.param(
            QWEN2_5_7B, "gptq-int4", 5.2032, id="vLLM log, Qwen2.5-7B 4-bit, RTX 4060 (method open)"
        ),
    ],
)
def test_weights_are_what_engines_print(arch, format_id, gib):
    assert weights_bytes(arch, weight_format(format_id)).total_bytes / 2**30 == pytest.approx(gib, rel=0.005)


@pytest.mark.parametrize(
    ("format_id", "shape", "size"),
    [
        # one 4096 x 4096 tensor, counted by hand from each format's layout
        pytest.param(
            "awq-int4", (4096, 4096), 4096 * 4096 // 2 + 4096 * 32 * 2 + 4096 * 32 // 2, id="AutoAWQ"
        ),
        pytest.param(
            "gptq-int4",
            (4096, 4096),
            4096 * 4096 // 2 + 4096 * 32 * 2 + 4096 * 32 // 2 + 4096 * 4,
            id="GPTQ with g_idx",
        ),
        pytest.param("fp8", (4096, 4096), 4096 * 4096 + 4096 * 4, id="FP8 per channel"),
        pytest.param("fp8-block", (4096, 4096), 4096 * 4096 + 32 * 32 * 4, id="DeepSeek-V3 FP8 128x128"),
        pytest.param(
            "fp8-block", (576, 7168), 576 * 7168 + 5 * 56 * 4, id="DeepSeek-V3 kv_a_proj: 4.5 blocks"
        ),
        pytest.param("int8", (4096, 4096), 4096 * 4096 + 4096 * 4, id="W8A8"),
        pytest.param("mxfp4", (4096, 4096), 4096 * 4096 * 17 // 32, id="OCP MX"),
        pytest.param("nvfp4", (4096, 4096), 4096 * 4096 * 9 // 16 + 8, id="NVFP4"),
    ],
)
def test_one_tensor_counted_by_hand(format_id, shape, size):
    storage = weight_format(format_id).rules[-1].storage
    assert stored_bytes(*shape, storage) == size


@pytest.mark.parametrize(
    ("double", "bits"),
    [
        pytest.param(False, 4.5, id="QLoRA section 3: 32/64 = 0.5 bit per parameter"),
        pytest.param(True, 4.127, id="QLoRA section 3: 8/64 + 32/(64*256) = 0.127 bit per parameter"),
    ],
)
def test_nf4_scales_cost_what_the_paper_says(double, bits):
    fmt = weight_format("bnb-nf4")
    found = fmt.rules[0].storage if double else fmt.layouts[0].replace
    assert found is not None
    assert stored_bytes(8192, 8192, found) * 8 / 8192**2 == pytest.approx(bits, abs=0.001)


@pytest.mark.parametrize(
    "format_id", ["fp8", "fp8-block", "int8", "bnb-int8", "bnb-nf4", "gptq-int4", "awq-int4"]
)
@MODELS
def test_embeddings_head_norms_and_routers_stay_16_bit(arch, format_id):
    """AWQ, GPTQ, bitsandbytes and FP8 leave lm_head and embeddings alone: small models hardly shrink."""
    fmt, plain = weight_format(format_id), weight_format("bf16")
    kept = {Role.EMBEDDING, Role.LM_HEAD, Role.NORM, Role.ROUTER}
    found, expected = weights_bytes(arch, fmt).by_role, weights_bytes(arch, plain).by_role
    assert {r: found[r] for r in kept & set(found)} == {r: expected[r] for r in kept & set(found)}
    assert found[Role.ATTN_Q] < expected[Role.ATTN_Q]


def test_fp4_of_a_mixture_touches_experts_only():
    """gpt-oss config.json: modules_to_not_convert = self_attn, router, embed_tokens, lm_head."""
    found = weights_bytes(GPT_OSS_LIKE, weight_format("mxfp4")).by_role
    plain = weights_bytes(GPT_OSS_LIKE, weight_format("bf16")).by_role
    assert found[Role.ATTN_Q] == plain[Role.ATTN_Q]
    assert found[Role.EXPERT_UP] == plain[Role.EXPERT_UP] * 4.25 / 16


def test_nvfp4_leaves_latent_attention_16_bit():
    """SGLang log, nvidia/DeepSeek-R1-FP4 on 4 GPUs: 4 x 94.5 GiB, with 2 % of it copied on every GPU."""
    arch = read_config(model_config("deepseek-r1"))
    found = weights_bytes(arch, weight_format("nvfp4"))
    assert found.by_role[Role.MLA_Q_B] == weights_bytes(arch, weight_format("bf16")).by_role[Role.MLA_Q_B]
    assert found.total_bytes / 2**30 == pytest.approx(4 * 94.5, rel=0.025)


@pytest.mark.parametrize(
    ("format_id", "gib"),
    [
        pytest.param("fp8-block", 28.47, id="SGLang log, Qwen3.8-27B-FP8 on H100"),
        pytest.param("nvfp4-fp8", 2 * 10.64, id="vLLM log, unsloth/Qwen3.8-27B-NVFP4 on 2 x RTX 5090"),
    ],
)
def test_a_hybrid_with_a_vision_tower(format_id, gib):
    """Qwen3.8-27B has the layers of Qwen3.6-27B, whose config.json is complete."""
    arch = read_config(model_config("qwen3.6-27b"))
    assert weights_bytes(arch, weight_format(format_id)).total_bytes / 2**30 == pytest.approx(gib, rel=0.01)


@FORMATS
@MODELS
def test_total_is_the_sum_of_its_parts(arch, fmt):
    found = weights_bytes(arch, fmt)
    assert found.total_bytes == pytest.approx(sum(found.by_role.values()))
    assert found.total_bytes == pytest.approx(found.layers.sum() + found.outside_bytes)
    assert found.layers.sum() == pytest.approx(sum(part.sum() for part in found.layers_by_shard.values()))


@FORMATS
@MODELS
def test_tensors_one_by_one_give_the_same_total(arch, fmt):
    n = len(arch.layers)
    total = sum(
        tensor_bytes(w, fmt, i, n, arch) for i, layer in enumerate(arch.layers) for w in layer.weights
    )
    total += sum(tensor_bytes(w, fmt, -1, n, arch) for w in arch.outside)
    assert weights_bytes(arch, fmt).total_bytes == pytest.approx(total)


@FORMATS
@MODELS
def test_never_below_the_nominal_bits(arch, fmt):
    assert bits_per_weight(arch, fmt) >= fmt.nominal_bits


# from more bits to fewer, within what one tool makes
LADDERS = [
    ["fp32", "bf16", "gptq-int8", "int8", "fp8-block", "gptq-int4", "awq-int4"],
    ["bf16", "bnb-int8", "bnb-nf4"],
    ["bf16", "fp8", "nvfp4"],
    ["bf16", "mxfp4"],
    [
        "gguf-f16",
        "gguf-q8_0",
        "gguf-q6_k",
        "gguf-q5_k_m",
        "gguf-q5_k_s",
        "gguf-q4_k_m",
        "gguf-q4_k_s",
        "gguf-q2_k",
    ],
    ["gguf-q3_k_l", "gguf-q3_k_m", "gguf-q3_k_s", "gguf-q2_k"],
    ["gguf-iq3_m", "gguf-iq3_s", "gguf-iq3_xs", "gguf-iq2_m", "gguf-iq2_s", "gguf-iq2_xxs", "gguf-iq1_s"],
]


@settings(max_examples=40, deadline=None)
@given(
    ladder=st.sampled_from(LADDERS),
    arch=st.builds(
        decoder,
        hidden=st.integers(1, 32).map(lambda n: n * 256),
        intermediate=st.integers(1, 64).map(lambda n: n * 256),
        layers=st.integers(1, 90),
        heads=st.sampled_from([8, 16, 64]),
        kv_heads=st.sampled_from([1, 2, 8]),
        head_dim=st.sampled_from([64, 128]),
        vocab=st.integers(100, 200_000),
        tied=st.booleans(),
        experts=st.sampled_from([0, 0, 8, 64]),
    ),
)
def test_fewer_bits_never_take_more_bytes(ladder, arch):
    """Q3_K_L apart with 8 experts: llama-quant.cpp raises attn_output for the other mixtures, not for it."""
    if any(w.role is Role.EXPERT_DOWN and w.copies == 8 for layer in arch.layers for w in layer.weights):
        ladder = [name for name in ladder if name != "gguf-q3_k_l"]
    sizes = [weights_bytes(arch, weight_format(f)).total_bytes for f in ladder]
    assert sizes == sorted(sizes, reverse=True)


@settings(max_examples=30, deadline=None)
@given(
    fmt=st.sampled_from([f for f in weight_formats() if f.kind != "native"]),
    rows=st.integers(1, 9000),
    row=st.integers(1, 9000),
    role=st.sampled_from([Role.ATTN_V, Role.MLP_DOWN, Role.EMBEDDING]),
)
def test_any_shape_is_stored(fmt, rows, row, role):
    """Rows that no block divides fall back, in the end to 16 bits, and never below the format's own size."""
    arch = decoder(hidden=256, intermediate=256, layers=4, heads=4, kv_heads=2, head_dim=64, vocab=1000)
    size = tensor_bytes(Weight(role, (rows, row)), fmt, 0, 4, arch)
    assert size >= rows * row * fmt.nominal_bits / 8


@FORMATS
def test_every_role_of_a_rule_exists(fmt):
    known = {role.value for role in Role} | {alias.as_role for alias in fmt.aliases}
    assert {role for rule in fmt.rules for role in rule.roles} <= known
    assert {role for alias in fmt.aliases for role in alias.roles} <= known
