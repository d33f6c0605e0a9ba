"""Checkpoints as released: quantization_config read and put on the tensors, and how engines keep them."""

from __future__ import annotations

import pytest

from calculators.architecture import ConfigRefused, read_config
from calculators.architecture.layout import NativeQuantization, QuantGroup, Role
from calculators.architecture.quantization import read_quantization
from calculators.formats import FormatRefused, engine_layout, support, weights_bytes
from gpu_data.formats import weight_format
from gpu_data.models import model_config
from tests.calculators.format_cases import GPT_OSS_LIKE, LLAMA_3_1_8B, MIXTRAL_8X7B, decoder, quantized

NATIVE, BF16 = weight_format("native"), weight_format("bf16")
MODEL_OPT = {"quant_algo": "NVFP4", "quant_method": "modelopt", "ignore": ["lm_head", "model.layers.0.mlp*"]}
COMPRESSED = {
    "quant_method": "compressed-tensors",
    "format": "pack-quantized",
    "ignore": ["lm_head", "re:.*self_attn.*", "re:.*shared_experts.*"],
    "config_groups": {
        "group_0": {
            "targets": ["Linear"],
            "weights": {
                "num_bits": 4,
                "type": "int",
                "group_size": 32,
                "strategy": "group",
                "symmetric": True,
            },
        }
    },
}


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        pytest.param(
            {"quant_method": "fp8", "weight_block_size": [128, 128], "activation_scheme": "dynamic"},
            NativeQuantization("fp8", 8, None, (128, 128), (), "float"),
            id="DeepSeek-V3 config.json",
        ),
        pytest.param(
            {"quant_method": "mxfp4", "modules_to_not_convert": ["lm_head"]},
            NativeQuantization("mxfp4", 4, 32, None, ("lm_head",), "mxfp4"),
            id="gpt-oss config.json",
        ),
        pytest.param(
            {"quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": True},
            NativeQuantization("awq", 4, 128, None, (), "int"),
            id="Qwen3-AWQ config.json",
        ),
        pytest.param(
            {"quant_method": "gptq", "bits": 8, "group_size": 128, "desc_act": True},
            NativeQuantization("gptq", 8, 128, None, (), "int"),
            id="Qwen-GPTQ-Int8 config.json",
        ),
        pytest.param(
            {
                "quant_method": "bitsandbytes",
                "load_in_4bit": True,
                "bnb_4bit_use_double_quant": True,
                "llm_int8_skip_modules": ["model.layers.1.mlp"],
            },
            NativeQuantization("bitsandbytes", 4, 64, None, ("model.layers.1.mlp",), "nf4-double"),
            id="unsloth dynamic 4-bit config.json",
        ),
        pytest.param(
            {"quant_method": "gptq", "bits": 4, "group_size": -1},
            NativeQuantization("gptq", 4, None, None, (), "int"),
            id="GPTQ without groups",
        ),
        pytest.param(
            MODEL_OPT,
            NativeQuantization("modelopt", 4, 16, None, ("lm_head", "model.layers.0.mlp*"), "nvfp4"),
            id="Model Optimizer NVFP4",
        ),
        pytest.param(
            COMPRESSED,
            NativeQuantization("compressed-tensors", 4, 32, None, tuple(COMPRESSED["ignore"]), "int"),
            id="Kimi-K2-Thinking config.json",
        ),
    ],
)
def test_quantization_config_is_read(config, expected):
    assert read_quantization({"quantization_config": config}) == expected
    assert read_quantization({"text_config": {"quantization_config": config}}) == expected


def test_mixed_groups_keep_their_targets():
    config = {
        "quant_method": "compressed-tensors",
        "config_groups": {
            "a": {"targets": ["re:.*self_attn.*"], "weights": {"num_bits": 8, "type": "float"}},
            "b": {"targets": ["Linear"], "weights": {"num_bits": 4, "type": "float", "group_size": 16}},
        },
    }
    found = read_quantization({"quantization_config": config})
    assert found is not None
    assert (found.kind, found.bits) == ("nvfp4", 4)
    assert found.groups == (QuantGroup(("re:.*self_attn.*",), "float", 8),)


@pytest.mark.parametrize(
    ("config", "field"),
    [
        ({"bits": 4}, "quantization_config.quant_method"),
        ({"quant_algo": "FP2"}, "quantization_config.quant_algo"),
        ("awq", "quantization_config"),
    ],
)
def test_what_cannot_be_read_is_refused_by_field(config, field):
    with pytest.raises(ConfigRefused) as refused:
        read_quantization({"quantization_config": config})
    assert refused.value.field == field


def test_without_quantization_the_dtype_decides():
    assert weights_bytes(LLAMA_3_1_8B, NATIVE).total_bytes == weights_bytes(LLAMA_3_1_8B, BF16).total_bytes


@pytest.mark.parametrize(
    ("method", "fields", "format_id"),
    [
        ("fp8", {"bits": 8, "block_size": (128, 128), "kind": "float"}, "fp8-block"),
        ("compressed-tensors", {"bits": 8, "kind": "float"}, "fp8"),
        ("compressed-tensors", {"bits": 8, "kind": "int"}, "int8"),
        ("awq", {"bits": 4, "group_size": 128, "kind": "int"}, "awq-int4"),
        ("gptq", {"bits": 4, "group_size": 128, "kind": "int"}, "gptq-int4"),
        ("gptq", {"bits": 8, "group_size": 128, "kind": "int"}, "gptq-int8"),
        ("bitsandbytes", {"bits": 4, "group_size": 64, "kind": "nf4-double"}, "bnb-nf4"),
        ("bitsandbytes", {"bits": 8, "kind": "int"}, "bnb-int8"),
        ("modelopt", {"bits": 4, "group_size": 16, "kind": "nvfp4"}, "nvfp4"),
    ],
)
def test_a_native_checkpoint_is_the_format_it_names(method, fields, format_id):
    native = weights_bytes(quantized(LLAMA_3_1_8B, method, **fields), NATIVE)
    assert native.total_bytes == weights_bytes(LLAMA_3_1_8B, weight_format(format_id)).total_bytes


def test_smaller_groups_cost_more_scales():
    sizes = [
        weights_bytes(quantized(LLAMA_3_1_8B, "awq", bits=4, group_size=g, kind="int"), NATIVE).total_bytes
        for g in (128, 64, 32)
    ]
    assert sizes == sorted(sizes)
    assert sizes[2] - sizes[0] == pytest.approx(6979321856 * 2.5 * (1 / 32 - 1 / 128))


def test_an_unknown_method_is_refused_by_name():
    with pytest.raises(FormatRefused, match="vptq"):
        weights_bytes(quantized(LLAMA_3_1_8B, "vptq", bits=2), NATIVE)


MLP = (Role.MLP_GATE, Role.MLP_UP, Role.MLP_DOWN)


@pytest.mark.parametrize(
    ("patterns", "kept"),
    [
        pytest.param(("model.layers.3.mlp",), {(3, "mlp")}, id="bitsandbytes: a module of one layer"),
        pytest.param(("model.layers.3.mlp.gate",), set(), id="Qwen3 FP8: the router, not gate_proj"),
        pytest.param(("model.language_model.layers.0.self_attn*",), {(0, "attn")}, id="Model Optimizer glob"),
        pytest.param(("model.layers.*.self_attn",), {(0, "attn"), (3, "attn")}, id="gpt-oss glob"),
        pytest.param(("re:.*self_attn.*",), {(0, "attn"), (3, "attn")}, id="compressed-tensors expression"),
        pytest.param(("re:.*layers\\.3\\.mlp.*",), {(3, "mlp")}, id="expression with a layer"),
        pytest.param(("self_attn",), {(0, "attn"), (3, "attn")}, id="bare module name"),
        pytest.param(("lm_head", "visual", "model.embed_tokens"), set(), id="nothing inside the layers"),
        pytest.param(
            ("model.layers.0.mlp", "model.layers.1.mlp", "...32 entries"),
            {(0, "mlp"), (3, "mlp")},
            id="cut list",
        ),
    ],
)
def test_modules_not_converted_stay_16_bit(patterns, kept):
    arch = quantized(LLAMA_3_1_8B, "fp8", bits=8, kind="float", not_converted=patterns)
    plain = quantized(LLAMA_3_1_8B, "fp8", bits=8, kind="float")
    extra = weights_bytes(arch, NATIVE).layers - weights_bytes(plain, NATIVE).layers
    attention, mlp = 41943040, 176160768
    outs = (4096 + 1024 + 1024 + 4096) * 4, (14336 + 14336 + 4096) * 4
    for layer in (0, 3):
        expected = 0
        if (layer, "attn") in kept:
            expected += attention - outs[0]
        if (layer, "mlp") in kept:
            expected += mlp - outs[1]
        assert extra[layer] == expected


def test_a_cut_exception_list_is_said():
    arch = quantized(LLAMA_3_1_8B, "fp8", bits=8, kind="float", not_converted=("lm_head", "...283 entries"))
    assert weights_bytes(arch, NATIVE).assumptions


# TheBloke's GPTQ model cards, column "Size" [GB]: model, bits, group size (None = whole row)
GPTQ_CARDS = [
    ("llama-2-7b", 4, 128, 3.90),
    ("llama-2-7b", 4, 64, 4.02),
    ("llama-2-7b", 4, 32, 4.28),
    ("llama-2-13b", 4, 128, 7.26),
    ("llama-2-13b", 4, 64, 7.51),
    ("llama-2-13b", 4, 32, 8.00),
    ("llama-2-70b", 4, None, 35.33),
    ("llama-2-70b", 4, 128, 36.65),
    ("llama-2-70b", 4, 32, 40.66),
    ("mistral-7b-v0.1", 4, 128, 4.16),
    ("mistral-7b-v0.1", 4, 32, 4.57),
    ("mistral-7b-v0.1", 8, None, 7.52),
    ("mistral-7b-v0.1", 8, 128, 7.68),
    ("mixtral-8x7b", 4, None, 23.81),
    ("mixtral-8x7b", 4, 128, 24.70),
    ("mixtral-8x7b", 4, 32, 27.42),
    ("tinyllama-1.1b", 4, 128, 0.77),
    ("tinyllama-1.1b", 4, 32, 0.82),
    ("tinyllama-1.1b", 8, None, 1.23),
    ("tinyllama-1.1b", 8, 128, 1.26),
]


@pytest.mark.parametrize(
    ("model_id", "bits", "group", "gb"),
    [pytest.param(*case, id=f"TheBloke GPTQ card {case[0]} {case[1]}-bit {case[2]}g") for case in GPTQ_CARDS],
)
def test_gptq_files_have_their_published_size(model_id, bits, group, gb):
    arch = quantized(read_config(model_config(model_id)), "gptq", bits=bits, group_size=group, kind="int")
    assert weights_bytes(arch, NATIVE).total_bytes / 1e9 == pytest.approx(gb, rel=0.005, abs=0.006)


def test_kimi_k2_keeps_attention_and_shared_experts_16_bit():
    """simonwillison.net, 6 November 2025: Kimi K2 Thinking is 594 GB on Hugging Face."""
    config = {**model_config("kimi-k2"), "quantization_config": COMPRESSED}
    found = weights_bytes(read_config(config), NATIVE)
    assert found.total_bytes / 1e9 == pytest.approx(594, rel=0.01)


def test_groups_override_the_default():
    group = QuantGroup(("re:.*self_attn.*",), "float", 8)
    arch = quantized(LLAMA_3_1_8B, "compressed-tensors", bits=4, group_size=16, kind="nvfp4", groups=(group,))
    found = weights_bytes(arch, NATIVE).by_role
    assert found[Role.ATTN_Q] == weights_bytes(LLAMA_3_1_8B, weight_format("fp8")).by_role[Role.ATTN_Q]
    assert found[Role.MLP_UP] == weights_bytes(LLAMA_3_1_8B, weight_format("nvfp4")).by_role[Role.MLP_UP]


AMPERE = {"vendor": "NVIDIA", "compute_capability": "8.0"}
HOPPER = {"vendor": "NVIDIA", "compute_capability": "9.0"}
BLACKWELL = {"vendor": "NVIDIA", "compute_capability": "10.0"}
GEFORCE_50 = {"vendor": "NVIDIA", "compute_capability": "12.0"}


@pytest.mark.parametrize(
    ("model_id", "gpu", "gib"),
    [
        pytest.param(
            "gpt-oss-20b", AMPERE, 13.72, id="vLLM log, gpt-oss-20b on A100: Marlin pads 2880 to 2944 x 3072"
        ),
        pytest.param("gpt-oss-120b", AMPERE, 65.9651, id="vLLM issue 23278, gpt-oss-120b on Marlin"),
        pytest.param("gpt-oss-120b", HOPPER, 64.38, id="vLLM issue 23278, gpt-oss-120b on Triton"),
    ],
)
def test_mxfp4_kernels_pad_experts(model_id, gpu, gib):
    arch = read_config(model_config(model_id))
    fmt = weight_format("mxfp4")
    layout = engine_layout(gpu, fmt, "vllm")
    assert weights_bytes(arch, fmt, layout).total_bytes / 2**30 == pytest.approx(gib, rel=0.005)


def test_padding_follows_the_tensor_parallel_split():
    """2880 / 8 = 360 rows a GPU are rounded up to 384."""
    fmt = weight_format("mxfp4")
    layout = engine_layout(AMPERE, fmt, "vllm")
    split = weights_bytes(GPT_OSS_LIKE, fmt, layout, 8).by_role[Role.EXPERT_UP]
    assert split == 24 * 32 * (8 * 384) * 3072 * 17 / 32


@pytest.mark.parametrize(
    "gpu", [AMPERE, HOPPER, BLACKWELL, GEFORCE_50], ids=lambda g: g["compute_capability"]
)
def test_a_kernel_layout_never_shrinks_the_checkpoint(gpu):
    for arch, fmt in ((GPT_OSS_LIKE, weight_format("mxfp4")), (LLAMA_3_1_8B, weight_format("bnb-nf4"))):
        layout = engine_layout(gpu, fmt, "vllm")
        assert layout is not None
        assert weights_bytes(arch, fmt, layout).total_bytes > weights_bytes(arch, fmt).total_bytes


def test_a_native_checkpoint_takes_the_layout_of_its_own_storage():
    arch = quantized(GPT_OSS_LIKE, "mxfp4", bits=4, group_size=32, kind="mxfp4")
    layout = engine_layout(AMPERE, NATIVE, "vllm", arch)
    assert layout is not None
    assert layout.id == "vllm-mxfp4-marlin"
    assert engine_layout(AMPERE, NATIVE, "vllm", MIXTRAL_8X7B) is None
    assert engine_layout(AMPERE, NATIVE, "sglang", arch) is None


def test_support_of_a_native_checkpoint_is_that_of_its_kind():
    fp8 = quantized(LLAMA_3_1_8B, "fp8", bits=8, block_size=(128, 128), kind="float")
    assert support(AMPERE, NATIVE, fp8).state == "storage"
    assert support(HOPPER, NATIVE, fp8).state == "native"
    assert support(AMPERE, NATIVE, LLAMA_3_1_8B).state == "native"


def test_deepseek_v4_mixes_fp4_experts_with_block_fp8():
    config = {
        "quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]},
        "expert_dtype": "fp4",
    }
    arch = decoder(
        hidden=4096,
        intermediate=2048,
        layers=4,
        heads=64,
        kv_heads=1,
        head_dim=512,
        vocab=1000,
        experts=256,
        quantization=read_quantization(config),
    )
    found = weights_bytes(arch, NATIVE).by_role
    assert found[Role.EXPERT_UP] == 4 * 256 * 2048 * 4096 * 17 / 32
    assert found[Role.ATTN_Q] == 4 * (32768 * 4096 + 256 * 32 * 4)
