"""The twenty traps of a config.json that fool other calculators, each with a published right value.

A trap is a spelling or a rule that gives a wrong size when read naively. Values are exact: bytes at two bytes
per element, parameters as elements. Each case names where its value was published; "formula" means that the
arithmetic of the named paper or class is written out in the case. Configs are those of the catalogue; where a
trap is about another spelling of the same model, the spelling is changed and the value must not.
"""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

import pytest

from calculators.architecture import (
    ConfigRefused,
    cache_elements,
    cache_elements_by_kind,
    kv_elements_per_token_growing,
    params_active,
    params_by_group,
    params_total,
    read_config,
)
from calculators.architecture.layout import Architecture, Cache, CacheKind
from calculators.formats import weights_bytes
from calculators.memory import allowed_tensor_parallel_sizes
from calculators.memory.cache import cache_share
from gpu_data.formats import weight_format
from gpu_data.models import model, model_config

FP16_BYTES = 2
GIB = 2**30
K8, K32, K128 = 8192, 32768, 131072


def arch(model_id: str, **changes: Any) -> Architecture:
    """A catalogue model, with root keys changed (None removes the key)."""
    return read_config(edited(model_config(model_id), changes))


def edited(config: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    config = deepcopy(config)
    for key, value in changes.items():
        config.pop(key, None)
        if value is not None:
            config[key] = value
    return config


def text_edited(model_id: str, **changes: Any) -> Architecture:
    """A composite catalogue model, with keys of its `text_config` changed."""
    config = model_config(model_id)
    config["text_config"] = edited(config["text_config"], changes)
    return read_config(config)


def first_token_bytes(a: Architecture) -> int:
    """Cache bytes that one token takes inside every window, without per-sequence state."""
    return int(cache_elements(a, 1) - cache_elements(a, 0)) * FP16_BYTES


def growing_bytes(a: Architecture) -> int:
    """Cache bytes that one more token takes once every window is full."""
    return int(kv_elements_per_token_growing(a)) * FP16_BYTES


def cache_gib(a: Architecture, tokens: int) -> float:
    """Cache of one sequence in GiB, without per-sequence state."""
    return float(cache_elements(a, tokens) - cache_elements(a, 0)) * FP16_BYTES / GIB


def mixers(a: Architecture) -> list[str]:
    return [layer.mixer for layer in a.layers]


def mlps(a: Architecture) -> list[str]:
    return [layer.mlp for layer in a.layers]


# 1. head_dim is explicit and is not hidden_size / num_attention_heads.


@pytest.mark.parametrize(
    ("model_id", "head_dim", "kv_bytes"),
    [
        pytest.param("qwen3-0.6b", 128, 114_688, id="Qwen3-0.6B: config copy, 28*2*8*128*2"),
        pytest.param("qwen3-4b", 128, 147_456, id="Qwen3-4B: LMCache issue 688"),
        pytest.param("qwen3-32b", 128, 262_144, id="Qwen3-32B: pinned config, 64*2*8*128*2"),
        pytest.param("mistral-nemo-12b", 128, 163_840, id="Mistral Nemo: config says 128, not 160"),
        pytest.param("mistral-small-24b", 128, 163_840, id="Mistral Small 24B: 5120/32 is 160"),
        pytest.param("gemma-7b", 256, 458_752, id="Gemma 7B: 3072/16 is 192"),
        pytest.param("gpt-oss-20b", 64, 49_152, id="gpt-oss-20b: 2880/64 is 45"),
        pytest.param("glm-4.5-air", 128, 188_416, id="GLM-4.5-Air: llama.cpp log, 23552 MiB at 131072"),
        pytest.param("seed-oss-36b", 128, 262_144, id="Seed-OSS 36B: 5120/80 is 64"),
        pytest.param("falcon3-7b", 256, 114_688, id="Falcon3 7B: litgpt"),
        pytest.param("nemotron-4-340b", 192, 589_824, id="Nemotron-4 340B: NeMo"),
    ],
)
def test_trap_01_head_dim_is_explicit(model_id: str, head_dim: int, kv_bytes: int) -> None:
    a = arch(model_id)
    assert a.head_dim == head_dim
    assert first_token_bytes(a) == kv_bytes


# 2. KV heads go by many names, and an absent one means as many as query heads.

CHATGLM = {
    "architectures": ["ChatGLMModel"],
    "model_type": "chatglm",
    "hidden_size": 4096,
    "ffn_hidden_size": 13696,
    "num_layers": 40,
    "num_attention_heads": 32,
    "multi_query_attention": True,
    "multi_query_group_num": 2,
    "kv_channels": 128,
    "padded_vocab_size": 151552,
    "add_qkv_bias": True,
    "add_bias_linear": False,
    "rmsnorm": True,
    "seq_length": 131072,
    "tie_word_embeddings": False,
}
BAICHUAN = edited(model_config("baichuan2-7b"), {"num_key_value_heads": None})


@pytest.mark.parametrize(
    ("config", "kv_heads", "kv_bytes"),
    [
        pytest.param(model_config("falcon-40b"), 8, 122_880, id="num_kv_heads: Falcon 40B, litgpt"),
        pytest.param(model_config("falcon-7b"), 1, 8_192, id="multi_query: Falcon 7B, litgpt"),
        pytest.param(CHATGLM, 2, 40_960, id="multi_query_group_num: GLM-4 9B, ChatGLM form"),
        pytest.param(model_config("glm-4-9b"), 2, 40_960, id="num_key_value_heads: the same GLM-4 9B"),
        pytest.param(model_config("dbrx"), 8, 163_840, id="attn_config.kv_n_heads: DBRX"),
        pytest.param(
            model_config("llama-3.3-nemotron-super-49b"),
            8,
            200_704,
            id="n_heads_in_group: Nemotron Super 49B, 49 layers of 8 heads",
        ),
        pytest.param(model_config("gpt2"), 12, 36_864, id="absent: GPT-2 is MHA"),
        pytest.param(model_config("bloom-7b1"), 32, 491_520, id="absent: BLOOM is MHA"),
        pytest.param(model_config("opt-1.3b"), 32, 196_608, id="absent: OPT is MHA"),
        pytest.param(BAICHUAN, 32, 524_288, id="absent: Baichuan2 is MHA"),
    ],
)
def test_trap_02_kv_heads_by_any_name(config: dict[str, Any], kv_heads: int, kv_bytes: int) -> None:
    a = read_config(config)
    assert a.num_key_value_heads == kv_heads
    assert first_token_bytes(a) == kv_bytes


# 3. Sizes and experts go by many names too. Totals are counts of the named transformers 5.24.0 class.


@pytest.mark.parametrize(
    ("model_id", "total", "active"),
    [
        pytest.param("gpt2", 124_439_808, None, id="n_embd n_layer n_head: GPT2LMHeadModel"),
        pytest.param("opt-1.3b", 1_315_758_080, None, id="ffn_dim: OPTForCausalLM"),
        pytest.param("flan-t5-xxl", 11_135_332_352, None, id="d_model d_ff: T5ForConditionalGeneration"),
        pytest.param(
            "dbrx", 131_596_523_520, 36_469_708_800, id="ffn_config.moe_num_experts: DbrxForCausalLM"
        ),
        pytest.param(
            "mixtral-8x7b", 46_702_792_704, 12_879_925_248, id="num_local_experts, plain width: Mixtral"
        ),
        pytest.param(
            "minimax-m2.5", 228_689_748_992, 11_030_537_216, id="num_local_experts, plain width: MiniMaxM2"
        ),
        pytest.param("gpt-oss-120b", 116_829_156_672, 5_711_982_912, id="num_local_experts: GptOss"),
        pytest.param("deepseek-v3", 671_026_404_352, 37_552_282_624, id="n_routed_experts: DeepseekV3"),
        pytest.param("qwen3-next-80b-a3b", 79_674_391_296, 3_874_929_408, id="num_experts: Qwen3Next"),
        pytest.param(
            "ernie-4.5-21b-a3b", 21_825_437_888, 3_352_150_208, id="moe_num_experts, moe_k: Ernie4_5"
        ),
        pytest.param(
            "kimi-linear-48b-a3b", 49_133_074_464, 3_494_852_640, id="num_experts_per_token: KimiLinear"
        ),
        pytest.param("gemma-4-26b-a4b", 25_805_933_872, 3_822_530_560, id="top_k_experts: Gemma4"),
    ],
)
def test_trap_03_sizes_and_experts_by_any_name(model_id: str, total: int, active: int | None) -> None:
    a = arch(model_id)
    assert params_total(a) == total
    if active is not None:
        assert params_active(a) == active


# 4. The language model is inside a sub-config; the root may hold sizes of the vision tower.


@pytest.mark.parametrize("key", ["text_config", "llm_config", "language_config"])
def test_trap_04_the_sub_config_comes_before_the_root(key: str) -> None:
    composite = {
        "model_type": "some_vlm",
        "hidden_size": 1152,
        "num_hidden_layers": 27,
        "num_attention_heads": 16,
        "intermediate_size": 4304,
        key: model_config("qwen2.5-7b"),
    }
    a = read_config(composite)
    assert len(a.layers) == 28
    assert first_token_bytes(a) == 57_344, "Qwen2.5-7B: 28*2*4*128*2"
    assert any("some_vlm" in line for line in a.assumptions), "an unknown wrapper is read with a stated guess"


def test_trap_04_a_flat_config_keeps_its_text_sizes_at_the_root() -> None:
    a = arch("qwen2.5-vl-7b")
    assert first_token_bytes(a) == 57_344
    assert params_total(a) == 8_292_166_656, "Qwen2_5_VLForConditionalGeneration; published 8.29 B"


def test_trap_04_fields_left_out_of_a_gemma_3_config_are_class_defaults() -> None:
    """Gemma-3-4B as published: no heads, no head_dim, no vocabulary in its text_config."""
    config = model_config("gemma-3-4b")
    kept = {"model_type", "hidden_size", "intermediate_size", "num_hidden_layers", "sliding_window"}
    config["text_config"] = {key: value for key, value in config["text_config"].items() if key in kept}
    config.pop("tie_word_embeddings")
    a = read_config(config)
    assert params_total(a) == 4_300_079_472
    assert first_token_bytes(a) == 139_264
    assert growing_bytes(a) == 20_480


# 5. Tied or not: the word of the config, else the class default; a tied head is counted once.


@pytest.mark.parametrize(
    ("model_id", "total"),
    [
        pytest.param("llama-3.2-3b", 3_212_749_824, id="tied: checkpoint index of Llama-3.2-3B"),
        pytest.param("gemma-2b", 2_506_172_416, id="tied: checkpoint index of Gemma-2B"),
        pytest.param("smollm3-3b", 3_075_098_624, id="tied: checkpoint index of SmolLM3"),
        pytest.param(
            "gemma-3-27b", 27_432_406_640, id="tied: checkpoint index of Gemma-3-27B, not 28842036848"
        ),
        pytest.param("phi-4-mini", 3_836_021_760, id="tied: Phi-4-mini, published 3.84 B"),
        pytest.param("starcoder2-3b", 3_030_371_328, id="tied: StarCoder2 3B, published 3.03 B"),
        pytest.param("starcoder2-15b", 15_957_889_024, id="untied: StarCoder2 15B, published 15.96 B"),
        pytest.param(
            "deepseek-r1-distill-qwen-1.5b", 1_777_088_000, id="untied: published 1.78 B, not 1.54 B"
        ),
        pytest.param("yi-6b", 6_061_035_520, id="untied: checkpoint index of Yi-6B"),
        pytest.param("devstral-small-24b", 23_572_403_200, id="untied: checkpoint index of Devstral Small"),
    ],
)
def test_trap_05_tied_embeddings_are_counted_once(model_id: str, total: int) -> None:
    assert params_total(arch(model_id)) == total


@pytest.mark.parametrize(
    ("model_id", "tied", "total"),
    [
        pytest.param("gemma-2-9b", True, 9_241_705_984, id="Gemma2Config ties by default"),
        pytest.param("command-r-08-2024", True, 32_296_476_672, id="CohereConfig ties by default"),
        pytest.param("starcoder2-3b", True, 3_030_371_328, id="Starcoder2Config ties by default"),
        pytest.param("gpt2", True, 124_439_808, id="GPT2Config ties by default"),
        pytest.param("llama-3.1-8b", False, 8_030_261_248, id="LlamaConfig does not; published 8.03 B"),
        pytest.param("qwen2.5-7b", False, 7_615_616_512, id="Qwen2Config does not; published 7.62 B"),
    ],
)
def test_trap_05_a_missing_tie_is_the_class_default(model_id: str, tied: bool, total: int) -> None:
    a = arch(model_id, tie_word_embeddings=None)
    assert a.tied_embeddings is tied
    assert params_total(a) == total


# 6. Latent attention keeps one vector per layer and token, shared by all heads.


@pytest.mark.parametrize(
    ("model_id", "kv_bytes"),
    [
        pytest.param("deepseek-v3", 70_272, id="DeepSeek-V3: LMCache pull 694, 61*(512+64)*2"),
        pytest.param("deepseek-v2", 69_120, id="DeepSeek-V2: 60*(512+64)*2"),
        pytest.param("kimi-k2", 70_272, id="Kimi K2: 61*(512+64)*2"),
        pytest.param("glm-4.7-flash", 54_144, id="GLM-4.7-Flash: 47*(512+64)*2"),
        pytest.param("mistral-small-4-119b", 23_040, id="Mistral Small 4: 36*(256+64)*2"),
        pytest.param("deepseek-v3.2", 85_888, id="DeepSeek-V3.2: TensorRT-LLM pull 16707, 70272 + 61*128*2"),
        pytest.param("glm-5", 109_824, id="GLM-5: 78*(512+64+128)*2"),
        pytest.param("glm-5.2", 95_232, id="GLM-5.2: 78*(512+64)*2 + 21*128*2, indexer_types"),
    ],
)
def test_trap_06_the_latent_cache_is_kept_once(model_id: str, kv_bytes: int) -> None:
    a = arch(model_id)
    assert growing_bytes(a) == kv_bytes
    assert cache_gib(a, K32) == pytest.approx(kv_bytes * K32 / GIB, rel=1e-12)


@pytest.mark.parametrize("kv_heads", [1, 8, 64])
@pytest.mark.parametrize("model_id", ["deepseek-v3", "kimi-k2"])
def test_trap_06_the_latent_cache_ignores_kv_heads(model_id: str, kv_heads: int) -> None:
    a = arch(model_id, num_key_value_heads=kv_heads)
    assert growing_bytes(a) == 70_272
    assert params_total(a) == params_total(arch(model_id))


@pytest.mark.parametrize(
    ("model_id", "tokens", "gib"),
    [
        pytest.param("deepseek-v4-flash", K8, 0.0577, id="V4-Flash at 8k: independent calculator"),
        pytest.param("deepseek-v4-flash", K32, 0.2152, id="V4-Flash at 32k: independent calculator"),
        pytest.param("deepseek-v4-flash", K128, 0.8451, id="V4-Flash at 128k: independent calculator"),
        pytest.param("deepseek-v4-flash", 1_048_576, 6.72, id="V4-Flash at 1M: sparkrun pull 247"),
        pytest.param("deepseek-v4-pro", K128, 1.2096, id="V4-Pro at 128k"),
    ],
)
def test_trap_06_compressed_attention_depends_on_context(model_id: str, tokens: int, gib: float) -> None:
    a = arch(model_id)
    assert len(a.layers) == model_config(model_id)["num_hidden_layers"], "the last ratio is the MTP layer's"
    assert cache_gib(a, tokens) == pytest.approx(gib, rel=1e-3)


# 7. Hybrid layouts have six spellings.

QWEN_NEXT_LAYERS = [3, 7, 11, 15, 19, 23, 27, 31, 35, 39, 43, 47]
NEMOTRON_PATTERN = (
    "M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*"
)
NEMOTRON_PATTERN += "-M-M-M-M-M*-M-M-M-M-M-"


@pytest.mark.parametrize(
    ("config", "attention_layers", "kv_bytes"),
    [
        pytest.param(
            model_config("qwen3-next-80b-a3b"),
            QWEN_NEXT_LAYERS,
            24_576,
            id="layer_types: Qwen3-Next, 12*2*2*256*2",
        ),
        pytest.param(
            edited(model_config("qwen3-next-80b-a3b"), {"layer_types": None, "full_attention_interval": 4}),
            QWEN_NEXT_LAYERS,
            24_576,
            id="full_attention_interval: Qwen3-Next as published",
        ),
        pytest.param(
            model_config("jamba-1.5-mini"), [4, 12, 20, 28], 16_384, id="attn_layer_period, offset: Jamba"
        ),
        pytest.param(
            edited(model_config("nemotron-h-56b"), {"hybrid_override_pattern": NEMOTRON_PATTERN}),
            [i for i, letter in enumerate(NEMOTRON_PATTERN) if letter == "*"],
            40_960,
            id="hybrid_override_pattern: Nemotron-H 56B, 10*2*8*128*2",
        ),
        pytest.param(
            model_config("nemotron-3-ultra-550b-a55b"),
            None,
            12_288,
            id="layers_block_type: Ultra, 12*2*2*128*2",
        ),
        pytest.param(
            model_config("lfm2-1.2b"), [2, 5, 8, 10, 12, 14], 12_288, id="full_attn_idxs: LFM2, 6*2*8*64*2"
        ),
        pytest.param(
            model_config("minimax-text-01"), list(range(7, 80, 8)), 40_960, id="layer_types: MiniMax-Text-01"
        ),
        pytest.param(
            edited(
                model_config("minimax-text-01"),
                {"layer_types": None, "attn_type_list": [0, 0, 0, 0, 0, 0, 0, 1] * 10},
            ),
            list(range(7, 80, 8)),
            40_960,
            id="attn_type_list: MiniMax-Text-01 as published",
        ),
        pytest.param(
            model_config("granite-4.0-h-small"),
            [5, 15, 25, 35],
            16_384,
            id="layer_types: Granite 4.0 H, 4 of 40",
        ),
    ],
)
def test_trap_07_hybrid_layouts(
    config: dict[str, Any], attention_layers: list[int] | None, kv_bytes: int
) -> None:
    a = read_config(config)
    assert growing_bytes(a) == kv_bytes
    with_cache = [
        i for i, layer in enumerate(a.layers) if any(c.kind is CacheKind.FULL for c in layer.caches)
    ]
    if attention_layers is not None:
        assert with_cache == attention_layers


def test_trap_07_kimi_counts_layers_from_one() -> None:
    """`full_attn_layers` 4, 8, ... 92, 93 of Kimi K3: 24 latent layers, the fourth first."""
    a = arch("kimi-k3")
    assert growing_bytes(a) == 24 * (512 + 64) * FP16_BYTES == 27_648
    latent = [i for i, layer in enumerate(a.layers) if any(c.kind is CacheKind.LATENT for c in layer.caches)]
    assert latent == [*range(3, 92, 4), 92]


def test_trap_07_nemotron_ultra_has_no_layer_count() -> None:
    config = model_config("nemotron-3-ultra-550b-a55b")
    assert "num_hidden_layers" not in config
    a = read_config(config)
    assert len(a.layers) == 108
    assert params_total(a) == 549_308_968_960, "NemotronHForCausalLM; published 550 B"


@pytest.mark.parametrize(
    ("model_id", "state_elements"),
    [
        pytest.param("qwen3.6-27b", 48 * (48 * 128 * 128 + 4 * 10_240), id="Qwen3.6-27B: 48 DeltaNet layers"),
        pytest.param("qwen3.5-9b", 24 * (32 * 128 * 128 + 4 * 8_192), id="Qwen3.5-9B: 24 DeltaNet layers"),
        pytest.param("qwen3.6-35b-a3b", 30 * (32 * 128 * 128 + 4 * 8_192), id="Qwen3.6-35B-A3B: 30 layers"),
    ],
)
def test_trap_07_recurrent_state_of_a_hybrid(model_id: str, state_elements: int) -> None:
    """llama.cpp logs 149.6, 50.25 and 62.8 MiB: the same in 4 bytes with one column less of convolution."""
    a = arch(model_id)
    logged_mib = {"qwen3.6-27b": 149.6, "qwen3.5-9b": 50.25, "qwen3.6-35b-a3b": 62.8}[model_id]
    by_kind = cache_elements_by_kind(a, 0)
    assert cache_elements(a, 0) == state_elements
    with_three_columns = by_kind[CacheKind.STATE] + by_kind[CacheKind.CONV] * 3 / 4
    assert with_three_columns * 4 / 2**20 == pytest.approx(logged_mib, rel=1e-3)


# 8. A sliding window that is written down is not always used, and patterns differ.


@pytest.mark.parametrize("window", [4096, 32768, 131072])
def test_trap_08_a_window_switched_off_does_not_cap(window: int) -> None:
    a = arch("qwen2.5-7b", use_sliding_window=False, sliding_window=window)
    assert growing_bytes(a) == 57_344
    assert cache_gib(a, K128) == 7.0, "Qwen2.5-7B at 128k: 28*2*4*128*2*131072"


def test_trap_08_a_window_wider_than_the_context_saves_nothing() -> None:
    assert cache_gib(arch("phi-3.5-mini"), K128) == 48.0, "Phi-3.5 mini: 393216 B * 131072, window 262144"


@pytest.mark.parametrize(
    ("model_id", "changes", "gib"),
    [
        pytest.param("gemma-2-9b", {}, (1.9688, 5.9062, 21.6562), id="every second layer: Gemma 2 9B"),
        pytest.param("gpt-oss-20b", {}, (0.1904, 0.7529, 3.0029), id="every second layer: gpt-oss-20b"),
        pytest.param("command-r7b", {}, (0.6250, 1.3750, 4.3750), id="3 of 4: Command R7B"),
        pytest.param(
            "command-r7b", {"layer_types": None}, (0.6250, 1.3750, 4.3750), id="3 of 4 by class default"
        ),
        pytest.param("exaone-4.0-32b", {}, (1.2500, 2.7500, 8.7500), id="3 of 4: EXAONE 4.0 32B"),
        pytest.param("olmo-3-7b", {}, (2.5, 5.5, 17.5), id="3 of 4: OLMo 3 7B"),
        pytest.param("mistral-7b-v0.1", {}, (0.5, 0.5, 0.5), id="all: Mistral 7B v0.1"),
        pytest.param("starcoder2-3b", {}, (0.1172, 0.1172, 0.1172), id="all: StarCoder2 3B"),
        pytest.param("llama-4-scout", {}, (1.5, 2.625, 7.125), id="chunks of 8192 on 3 of 4: Llama 4 Scout"),
        pytest.param("gemma-3-1b", {}, None, id="5 of 6: Gemma 3 1B"),
    ],
)
def test_trap_08_window_patterns(
    model_id: str, changes: dict[str, Any], gib: tuple[float, float, float] | None
) -> None:
    a = arch(model_id, **changes)
    if gib is None:  # 26 layers, every sixth full: 4 full, 22 of 512 tokens, one KV head of 256
        gib = tuple((4 * n + 22 * min(n, 512)) * 2 * 256 * FP16_BYTES / GIB for n in (K8, K32, K128))
    assert [cache_gib(a, n) for n in (K8, K32, K128)] == pytest.approx(gib, abs=5.1e-5)


@pytest.mark.parametrize(
    ("model_id", "gib"),
    [
        pytest.param(
            "gemma-3-4b", (0.2695, 0.7383, 2.6133), id="Gemma 3 4B: Ollama log, 2560 MiB full at 128k"
        ),
        pytest.param("gemma-3-27b", (1.0312, 2.9062, 10.4062), id="Gemma 3 27B: independent calculator"),
    ],
)
@pytest.mark.parametrize("spelling", ["layer_types", "sliding_window_pattern", "class default"])
def test_trap_08_gemma_3_pattern(model_id: str, gib: tuple[float, float, float], spelling: str) -> None:
    changes: dict[str, Any] = {} if spelling == "layer_types" else {"layer_types": None}
    if spelling == "sliding_window_pattern":
        changes["sliding_window_pattern"] = 6
    a = text_edited(model_id, **changes)
    assert [cache_gib(a, n) for n in (K8, K32, K128)] == pytest.approx(gib, abs=5.1e-5)


# 9. Gemma 4: full layers have their own head width and head count; tail layers share.

GEMMA_4_FULL_LAYERS = range(5, 60, 6)


@pytest.mark.parametrize("spelling", ["global_head_dim", "per_layer_config", "without k_eq_v"])
def test_trap_09_gemma_4_full_layers(spelling: str) -> None:
    """Gemma 4 31B: 50 layers of 16 heads x 256 for 1024 tokens, 10 of 4 heads x 512 that grow."""
    changes: dict[str, Any] = {}
    if spelling == "per_layer_config":
        override = {"head_dim": 512, "num_key_value_heads": 4}
        changes = {
            "global_head_dim": None,
            "num_global_key_value_heads": None,
            "per_layer_config": {str(i): override for i in GEMMA_4_FULL_LAYERS},
        }
    elif spelling == "without k_eq_v":
        changes = {"attention_k_eq_v": False, "num_global_key_value_heads": None, "num_key_value_heads": 16}
    a = text_edited("gemma-4-31b", **changes)
    full_heads = 16 if spelling == "without k_eq_v" else 4
    assert growing_bytes(a) == 10 * 2 * full_heads * 512 * FP16_BYTES
    assert first_token_bytes(a) == (10 * 2 * full_heads * 512 + 50 * 2 * 16 * 256) * FP16_BYTES
    if spelling != "without k_eq_v":
        assert first_token_bytes(a) == 901_120
        assert params_total(a) == 31_273_086_512, "Gemma4ForConditionalGeneration"


@pytest.mark.parametrize(
    ("model_id", "first", "growing"),
    [
        pytest.param("gemma-4-e2b", 18_432, 6_144, id="Gemma 4 E2B: 20 of 35 layers share"),
        pytest.param("gemma-3n-e4b", 40_960, 8_192, id="Gemma 3n E4B: 15 of 35 layers share"),
    ],
)
def test_trap_09_shared_tail_layers_keep_no_cache(model_id: str, first: int, growing: int) -> None:
    a = arch(model_id)
    assert first_token_bytes(a) == first
    assert growing_bytes(a) == growing


# 10. Keys and values may differ in width, and sliding layers in head count.


def test_trap_10_keys_and_values_of_different_width() -> None:
    """MiMo-V2-Flash: 9 full layers of 4 heads, 39 of 8 heads for 128 tokens, K 192 wide, V 128."""
    a = arch("mimo-v2-flash")
    assert growing_bytes(a) == 9 * 4 * (192 + 128) * FP16_BYTES == 23_040
    assert first_token_bytes(a) == 23_040 + 39 * 8 * (192 + 128) * FP16_BYTES == 222_720
    assert [cache_gib(a, n) for n in (K8, K32, K128)] == pytest.approx((0.1996, 0.7269, 2.8363), abs=5.1e-5)


# 11. Not every layer of a mixture has experts; shared and latent experts have widths of their own.


def test_trap_11_first_layers_are_dense() -> None:
    assert mlps(arch("deepseek-v3"))[:5] == ["dense", "dense", "dense", "moe", "moe"]


def test_trap_11_every_second_layer_of_maverick_is_dense() -> None:
    a = arch("llama-4-maverick")
    assert mlps(a) == ["dense", "moe"] * 24
    assert params_total(a) == 401_167_027_200, "Llama4ForConditionalGeneration; published 400 B"
    assert params_active(a) == 17_184_691_200, "published 17 B"


def test_trap_11_a_list_says_which_layers_have_experts() -> None:
    a = arch("mimo-v2-flash")
    assert mlps(a) == ["dense"] + ["moe"] * 47
    assert params_total(a) == 308_778_768_832, "MiMoV2FlashForCausalLM; published 309 B"


def test_trap_11_expert_layer_period_of_jamba() -> None:
    a = arch("jamba-1.5-mini")
    assert mlps(a) == ["dense", "moe"] * 16
    assert params_total(a) == 51_570_323_328, "JambaForCausalLM; published 51.57 B"
    assert params_active(a) == 12_110_311_296, "published 12 B"


def test_trap_11_decoder_sparse_step_and_mlp_only_layers() -> None:
    """Qwen2MoeDecoderLayer: experts where (i + 1) % step == 0, unless listed in mlp_only_layers."""
    a = arch("qwen1.5-moe-a2.7b", decoder_sparse_step=2, mlp_only_layers=[3])
    assert mlps(a) == ["dense" if i % 2 == 0 or i == 3 else "moe" for i in range(24)]


@pytest.mark.parametrize(
    ("model_id", "total", "active"),
    [
        pytest.param(
            "qwen1.5-moe-a2.7b", 14_315_784_192, 2_689_173_504, id="shared_expert_intermediate_size, 14.3 B"
        ),
        pytest.param(
            "granite-4.0-h-small", 32_207_337_984, 8_803_121_664, id="shared_intermediate_size, 32.2 B / 9 B"
        ),
        pytest.param(
            "glm-4.5-air", 106_852_245_504, 13_424_123_904, id="n_shared_experts x expert width, 106 B"
        ),
        pytest.param(
            "nemotron-3-super-120b-a12b",
            120_668_687_360,
            12_770_216_960,
            id="moe_latent_size, 120.6 B / 12.7 B",
        ),
        pytest.param(
            "kimi-k3", 2_779_307_294_720, 105_186_836_480, id="routed_expert_hidden_size, by formula"
        ),
    ],
)
def test_trap_11_shared_and_latent_experts(model_id: str, total: int, active: int) -> None:
    """Kimi K3 was counted for its text only, by a formula: no public count exists, so 0.1 % is allowed."""
    a = arch(model_id)
    groups = params_by_group(a)
    text_total = params_total(a) - sum(groups.get(group, 0) for group in ("vision", "audio", "projector"))
    tolerance = 1e-3 if model_id == "kimi-k3" else 0
    assert text_total == pytest.approx(total, rel=tolerance, abs=0)
    assert params_active(a) == pytest.approx(active, rel=10 * tolerance, abs=0)


# 12. A gated MLP has three matrices, others have two.


@pytest.mark.parametrize(
    ("model_id", "total"),
    [
        pytest.param("qwen1.5-72b", 72_287_920_128, id="three: cookbook issue 36 gets 56.19 B with two"),
        pytest.param("llama-3.1-405b", 405_853_388_800, id="three: published 405.85 B"),
        pytest.param("gpt2-xl", 1_557_611_200, id="two: GPT-2 XL, published 1.5576 B"),
        pytest.param("opt-6.7b", 6_658_473_984, id="two: OPT 6.7B, published 6.66 B"),
        pytest.param("bloom-176b", 176_247_271_424, id="two: checkpoint index of BLOOM"),
        pytest.param("falcon-40b", 41_303_293_952, id="two: Falcon 40B, tied in memory"),
        pytest.param("phi-2", 2_779_683_840, id="two: Phi-2, published 2.78 B"),
        pytest.param("starcoder2-15b", 15_957_889_024, id="two: StarCoder2 15B, published 15.96 B"),
        pytest.param(
            "nemotron-4-340b", 341_029_195_776, id="two: Nemotron-4, squared ReLU, published 341.0 B"
        ),
    ],
)
def test_trap_12_two_or_three_matrices(model_id: str, total: int) -> None:
    assert params_total(arch(model_id)) == total


# 13. Native precision is not always 16 bits.


@pytest.mark.parametrize(
    ("model_id", "native"),
    [
        pytest.param("deepseek-v3", "fp8", id="DeepSeek-V3: FP8 blocks"),
        pytest.param("gpt-oss-120b", "mxfp4 experts + bf16", id="gpt-oss: MXFP4 experts, 63.4 GB"),
        pytest.param("kimi-k2.5", "int4 experts + bf16", id="Kimi K2.5: INT4 experts"),
        pytest.param("deepseek-v4-flash", "fp4 experts + fp8", id="DeepSeek-V4: FP4 and FP8"),
        pytest.param("llama-3.1-8b", "bf16", id="Llama 3.1 8B: 16 bits"),
    ],
)
def test_trap_13_native_precision_is_a_fact_of_the_model(model_id: str, native: str) -> None:
    assert model(model_id).native_weight_dtype == native
    assert (arch(model_id).quantization is None) == (native == "bf16")


@pytest.mark.parametrize(
    ("model_id", "gb", "tolerance"),
    [
        pytest.param("gpt-oss-20b", 13.8, 0.05, id="gpt-oss-20b: 13.8 GB of safetensors"),
        pytest.param("gpt-oss-120b", 65.2, 0.1, id="gpt-oss-120b: 65.2 GB of safetensors"),
        pytest.param("kimi-k2", 1_030, 5, id="Kimi K2: about 1.03 TB"),
        pytest.param("kimi-k2.5", 600, 10, id="Kimi K2.5: about 0.6 TB"),
    ],
)
def test_trap_13_bytes_in_the_native_format(model_id: str, gb: float, tolerance: float) -> None:
    found = weights_bytes(arch(model_id), weight_format("native")).total_bytes
    assert found / 1e9 == pytest.approx(gb, abs=tolerance)


# 14. max_position_embeddings is not the usable context, so it caps nothing.


@pytest.mark.parametrize(
    ("model_id", "positions", "gib_128k"),
    [
        pytest.param("command-r-35b", 8_192, 160.0, id="Command R v01: 8192, model_max_length 131072"),
        pytest.param("qwen2.5-7b", 32_768, 7.0, id="Qwen2.5: 32768, 131072 with YaRN"),
        pytest.param("qwen3-8b", 40_960, 18.0, id="Qwen3: 40960, 131072 with YaRN"),
    ],
)
def test_trap_14_positions_cap_nothing(model_id: str, positions: int, gib_128k: float) -> None:
    assert model_config(model_id)["max_position_embeddings"] == positions < K128
    assert cache_gib(arch(model_id), K128) == gib_128k


# 15. The same family name may mean a very different cache.


@pytest.mark.parametrize(
    ("model_id", "kv_bytes"),
    [
        pytest.param("command-r-35b", 1_310_720, id="Command R v01: 64 KV heads, 1.31 MB"),
        pytest.param("command-r-08-2024", 163_840, id="Command R 08-2024: 8 KV heads, 0.16 MB"),
        pytest.param("qwen1.5-14b", 819_200, id="Qwen1.5 14B: MHA"),
        pytest.param("qwen1.5-72b", 2_621_440, id="Qwen1.5 72B: MHA"),
        pytest.param("qwen1.5-32b", 262_144, id="Qwen1.5 32B: GQA"),
        pytest.param("qwen1.5-110b", 327_680, id="Qwen1.5 110B: GQA"),
        pytest.param("phi-3.5-mini", 393_216, id="Phi-3.5 mini: MHA"),
        pytest.param("phi-4-mini", 131_072, id="Phi-4 mini: GQA"),
        pytest.param("olmo-2-7b", 524_288, id="OLMo 2 7B: MHA"),
        pytest.param("olmo-2-13b", 819_200, id="OLMo 2 13B: MHA"),
    ],
)
def test_trap_15_same_family_other_cache(model_id: str, kv_bytes: int) -> None:
    assert first_token_bytes(arch(model_id)) == kv_bytes


# 16. Some published configs are not strict JSON.


@pytest.mark.parametrize("token", ["Infinity", "-Infinity", "NaN"])
@pytest.mark.parametrize("model_id", ["nemotron-h-56b", "codestral-mamba-7b"])
def test_trap_16_infinity_is_read(model_id: str, token: str) -> None:
    """Nemotron-H and Mamba-2 publish `time_step_limit: [0.0, Infinity]`."""
    config = {**model_config(model_id), "time_step_limit": [0.0, "@"]}
    a = read_config(json.loads(json.dumps(config).replace('"@"', token)))
    assert params_total(a) == params_total(arch(model_id))


@pytest.mark.parametrize("token", ["Infinity", "-Infinity", "NaN"])
def test_trap_16_infinity_for_a_size_is_refused_by_name(token: str) -> None:
    config = {**model_config("llama-3.1-8b"), "hidden_size": "@"}
    with pytest.raises(ConfigRefused, match="hidden_size"):
        read_config(json.loads(json.dumps(config).replace('"@"', token)))


# 17. Names mislead.


@pytest.mark.parametrize(
    ("model_id", "total", "active"),
    [
        pytest.param("gemma-7b", 8_537_680_896, None, id='Gemma "7B" is 8.54 B'),
        pytest.param("gemma-3n-e4b", 6_835_235_568, None, id='Gemma 3n "E4B" is 6.84 B of text'),
        pytest.param("mixtral-8x7b", 46_702_792_704, 12_879_925_248, id='"8x7B" is 46.7 B, not 56'),
        pytest.param("qwen3-30b-a3b", 30_532_122_624, 3_353_032_704, id='"A3B" is the active size'),
    ],
)
def test_trap_17_names_mislead(model_id: str, total: int, active: int | None) -> None:
    a = arch(model_id)
    assert params_total(a) == total
    if active is not None:
        assert params_active(a) == active


# 18. Encoders keep no cache; embedding checkpoints have no head; T5 has two caches.


@pytest.mark.parametrize(
    ("model_id", "total"),
    [
        pytest.param("bert-base", 109_482_240, id="BERT base: published 0.1095 B"),
        pytest.param("bge-large-en-v1.5", 335_141_888, id="BGE large: published 0.3351 B"),
        pytest.param("bge-m3", 567_754_752, id="BGE-M3: published 0.568 B"),
        pytest.param("all-minilm-l6-v2", 22_713_216, id="MiniLM: published 0.0227 B"),
    ],
)
def test_trap_18_encoders_keep_no_cache(model_id: str, total: int) -> None:
    a = arch(model_id)
    assert not a.generates
    assert cache_elements(a, K8) == 0
    assert kv_elements_per_token_growing(a) == 0
    assert params_total(a) == total


@pytest.mark.parametrize(
    ("config", "total"),
    [
        pytest.param(
            edited(model_config("qwen3-embedding-8b"), {"architectures": ["Qwen3Model"]}),
            7_567_295_488,
            id="Qwen3-Embedding-8B: 7.57 B without a head",
        ),
        pytest.param(
            edited(model_config("qwen3-embedding-8b"), {"architectures": ["Qwen3ForCausalLM"]}),
            7_567_295_488 + 151_665 * 4_096,
            id="Qwen3-Embedding-8B: 8.19 B as a causal LM",
        ),
        pytest.param(model_config("e5-mistral-7b"), 7_110_660_096, id="E5 Mistral 7B: 7.11 B, MistralModel"),
    ],
)
def test_trap_18_the_architecture_says_whether_there_is_a_head(config: dict[str, Any], total: int) -> None:
    assert params_total(read_config(config)) == total


def test_trap_18_t5_grows_in_the_decoder_only() -> None:
    """Flan-T5 XXL: 24 decoder layers of 64 heads x 64 grow; cross-attention keeps as much per input token."""
    a = arch("flan-t5-xxl")
    assert growing_bytes(a) == 24 * 2 * 64 * 64 * FP16_BYTES == 393_216
    assert params_total(a) == 11_135_332_352
    assert any(f"{24 * 2 * 64 * 64:,} elements" in line for line in a.assumptions), (
        "cache of the encoded input"
    )


# 19. Cross-attention layers of Mllama do not grow with the text.


def test_trap_19_mllama_cross_attention_does_not_grow() -> None:
    a = arch("llama-3.2-11b-vision")
    assert growing_bytes(a) == 32 * 2 * 8 * 128 * FP16_BYTES == 131_072
    assert mixers(a).count("cross") == 8
    assert cache_gib(a, K128) == 16.0
    by_kind = cache_elements_by_kind(a, K32)
    assert by_kind.get(CacheKind.CROSS, 0) == cache_elements_by_kind(a, K128).get(CacheKind.CROSS, 0)


# 20. Head counts limit tensor parallelism; below the KV heads the cache stops shrinking.


@pytest.mark.parametrize(
    ("model_id", "heads", "kv_heads"),
    [
        pytest.param("llama-2-13b", 40, 40, id="Llama 2 13B: 40"),
        pytest.param("qwen2.5-14b", 40, 8, id="Qwen2.5 14B: 40"),
        pytest.param("qwen2.5-32b", 40, 8, id="Qwen2.5 32B: 40"),
        pytest.param("phi-4", 40, 10, id="Phi-4: 40"),
        pytest.param("falcon-7b", 71, 1, id="Falcon 7B: 71"),
        pytest.param("gpt2-xl", 25, 25, id="GPT-2 XL: 25"),
        pytest.param("qwen2.5-7b", 28, 4, id="Qwen2.5 7B: 28"),
        pytest.param("qwen2.5-0.5b", 14, 2, id="Qwen2.5 0.5B: 14"),
        pytest.param("qwen2.5-1.5b", 12, 2, id="Qwen2.5 1.5B: 12"),
    ],
)
def test_trap_20_heads_that_limit_tensor_parallelism(model_id: str, heads: int, kv_heads: int) -> None:
    a = arch(model_id)
    assert (a.num_attention_heads, a.num_key_value_heads) == (heads, kv_heads)
    kept_over = {c.kv_heads for layer in a.layers for c in layer.caches if c.kind is CacheKind.FULL}
    assert kept_over == {kv_heads}, "a cache can be split over its KV heads, no further"


@pytest.mark.parametrize(
    ("model_id", "allowed"),
    [
        pytest.param("llama-2-13b", {1, 2, 4, 8}, id="Llama 2 13B: 40 heads, vLLM issue 596"),
        pytest.param("qwen2.5-32b", {1, 2, 4, 8}, id="Qwen2.5 32B: 40 heads over 8 KV heads"),
        pytest.param("phi-4", {1, 2}, id="Phi-4: 10 KV heads neither divide by 4 nor divide 4"),
        pytest.param("falcon-7b", {1}, id="Falcon 7B: 71 is prime"),
        pytest.param("gpt2-xl", {1}, id="GPT-2 XL: 25 divides by 5 only"),
        pytest.param("qwen2.5-7b", {1, 2, 4}, id="Qwen2.5 7B: 28 does not divide by 8"),
        pytest.param("qwen2.5-0.5b", {1, 2}, id="Qwen2.5 0.5B: 14 does not divide by 4"),
        pytest.param("qwen2.5-1.5b", {1, 2, 4}, id="Qwen2.5 1.5B: 12 does not divide by 8"),
    ],
)
def test_trap_20_allowed_tensor_parallel_sizes(model_id: str, allowed: set[int]) -> None:
    reasons = allowed_tensor_parallel_sizes(arch(model_id), 8)
    assert {size for size in (1, 2, 3, 4, 8) if reasons[size] is None} == allowed
    assert all("heads" in (reasons[size] or "") for size in {1, 2, 4, 8} - allowed)


def test_trap_20_below_the_kv_heads_the_cache_stops_shrinking() -> None:
    """Qwen2.5 7B has 4 KV heads: four GPUs hold a quarter each, and so would 28."""
    [share] = {c.kv_heads for layer in arch("qwen2.5-7b").layers for c in layer.caches}
    assert [cache_share(Cache(CacheKind.FULL, 1, kv_heads=share), gpus) for gpus in (1, 2, 4, 28)] == [
        1,
        1 / 2,
        1 / 4,
        1 / 4,
    ]
