"""The reader on 204 published models, then the laws that any config must obey.

Right values: tests/truth/models.csv (parameters counted on the model classes of transformers 5.24.0 with tied
weights once; cache by the definitions of its header note). Kimi-K3 has no model class: its row is a formula
that leaves out small vectors and one low-rank pair, so it is compared within 0.1 %.
"""

from __future__ import annotations

import csv
import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

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
from calculators.architecture.keys import ALIASES
from calculators.architecture.layout import Role
from gpu_data.models import model_config

TRUTH = Path(__file__).parents[1] / "truth"
with (TRUTH / "models.csv").open(newline="") as lines:
    ROWS: list[dict[str, str]] = list(csv.DictReader(lines))
IDS = [row["id"] for row in ROWS]
BY_FORMULA = {"kimi-k3"}
#: The published files count no vision tower for these, though their config describes one.
TEXT_ONLY = {"kimi-k2.5", "kimi-k2.6", "kimi-k3"}
#: The published size leaves out the head that the class named in its config would have.
HEADLESS = {"qwen3-embedding-8b": ["Qwen3Model"]}
TOWERS = (Role.VISION, Role.AUDIO, Role.PROJECTOR)


def config_of(model_id: str) -> dict[str, Any]:
    config = deepcopy(model_config(model_id))
    if model_id in HEADLESS:
        config["architectures"] = HEADLESS[model_id]
    return config


def tower_params(arch: Any) -> int:
    return sum(weight.elements for weight in arch.outside if weight.role in TOWERS)


@pytest.mark.parametrize("row", ROWS, ids=IDS)
def test_total_parameters_are_exact(row: dict[str, str]) -> None:
    arch = read_config(config_of(row["id"]))
    counted = params_total(arch) - (tower_params(arch) if row["id"] in TEXT_ONLY else 0)
    if row["id"] in BY_FORMULA:
        assert counted == pytest.approx(int(row["params_total"]), rel=1e-3)
    else:
        assert counted == int(row["params_total"])


@pytest.mark.parametrize("row", [r for r in ROWS if r["params_active"]], ids=lambda r: r["id"])
def test_active_parameters_are_exact(row: dict[str, str]) -> None:
    active = params_active(read_config(config_of(row["id"])))
    if row["id"] in BY_FORMULA:
        assert active == pytest.approx(int(row["params_active"]), rel=3e-3)
    else:
        assert active == int(row["params_active"])


@pytest.mark.parametrize("row", ROWS, ids=IDS)
def test_cache_at_8k_32k_and_128k_is_exact(row: dict[str, str]) -> None:
    arch = read_config(config_of(row["id"]))
    state = int(row["recurrent_state_elems_per_seq"] or 0)
    for column, tokens in (("kv_gib_8k", 8192), ("kv_gib_32k", 32768), ("kv_gib_128k", 131072)):
        gib = (cache_elements(arch, tokens) - state) * 2 / 2**30
        assert gib == pytest.approx(float(row[column]), abs=0.00006), column
    assert sum(cache.fixed_elements for layer in arch.layers for cache in layer.caches) == state


@pytest.mark.parametrize(
    "row", [r for r in ROWS if r["kv_bytes_per_token_fp16_growing"]], ids=lambda r: r["id"]
)
def test_growing_cache_is_exact(row: dict[str, str]) -> None:
    growing = kv_elements_per_token_growing(read_config(config_of(row["id"])))
    assert growing * 2 == int(row["kv_bytes_per_token_fp16_growing"])


@pytest.mark.parametrize("column", ["params_vision", "params_lm_head", "params_routed_experts"])
def test_groups_agree_with_the_published_split(column: str) -> None:
    group = {"params_vision": None, "params_lm_head": "head", "params_routed_experts": "routed experts"}[
        column
    ]
    checked = 0
    for row in ROWS:
        if not row[column] or row["id"] in TEXT_ONLY | set(HEADLESS):
            continue
        arch = read_config(config_of(row["id"]))
        parts = params_by_group(arch)
        mine = tower_params(arch) if group is None else parts.get(group, 0)
        if column == "params_routed_experts":  # expert biases are reported apart
            assert mine <= int(row[column]) <= mine * 1.001, row["id"]
        elif column == "params_lm_head" and arch.model_type in ("gptj", "codegen", "phi"):
            assert 0 <= int(row[column]) - mine <= arch.vocab_size, row["id"]  # a bias
        else:
            assert mine == int(row[column]), row["id"]
        checked += 1
    assert checked > 10


# ---- oddities of published files ----

LLAMA: dict[str, Any] = {
    "model_type": "llama",
    "hidden_size": 4096,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "intermediate_size": 14336,
    "vocab_size": 128256,
    "tie_word_embeddings": False,
}


def test_infinity_in_a_config_is_read() -> None:
    text = json.dumps(model_config("nemotron-h-56b"))
    config = json.loads(text[:-1] + ', "time_step_limit": [0.0, Infinity]}')
    assert params_total(read_config(config)) == params_total(read_config(model_config("nemotron-h-56b")))


def test_true_as_text_is_understood_and_said() -> None:
    arch = read_config({**LLAMA, "tie_word_embeddings": "true"})
    assert arch.tied_embeddings
    assert any("tie_word_embeddings" in line for line in arch.assumptions)


def test_text_config_is_read_before_the_root() -> None:
    nested = {"model_type": "llava", "hidden_size": 9, "text_config": LLAMA, "vision_config": None}
    assert read_config(nested).hidden_size == 4096


def test_per_layer_config_changes_single_layers() -> None:
    arch = read_config({**LLAMA, "per_layer_config": {"03": {"intermediate_size": 7168}}})
    assert params_total(read_config(LLAMA)) - params_total(arch) == 3 * 4096 * 7168


def test_unknown_family_is_a_plain_decoder_and_says_so() -> None:
    arch = read_config({**LLAMA, "model_type": "never_seen"})
    assert params_total(arch) == params_total(read_config(LLAMA))
    assert any("never_seen" in line for line in arch.assumptions)


@pytest.mark.parametrize(
    ("key", "value"),
    [  # transformers 5.24.0, Qwen2Config
        ("hidden_size", 4096),
        ("num_hidden_layers", 32),
        ("num_attention_heads", 32),
        ("num_key_value_heads", 32),
        ("intermediate_size", 22016),
        ("vocab_size", 151936),
    ],
)
def test_a_size_from_the_class_default_is_said(key: str, value: int) -> None:
    """A config that leaves out a core size is read as transformers would, never in silence."""
    whole = {**LLAMA, "model_type": "qwen2"}
    assert read_config(whole).assumptions == ()
    arch = read_config({k: v for k, v in whole.items() if k != key})
    assert arch.assumptions == (f"{key} is not given: {value}, the class default of qwen2",)
    assert params_total(arch) == params_total(read_config(whole | {key: value}))


def test_sizes_of_experts_from_the_class_defaults_are_said_in_one_line() -> None:
    """transformers 5.24.0, Qwen3MoeConfig: 128 experts, 8 for a token, 768 wide."""
    config = model_config("qwen3-30b-a3b")
    left_out = ("num_experts", "num_experts_per_tok", "moe_intermediate_size")
    arch = read_config({k: v for k, v in config.items() if k not in left_out})
    (line,) = arch.assumptions
    assert line.endswith("128, 8, 768, the class defaults of qwen3_moe")
    assert all(name in line for name in left_out)


def test_sizes_of_a_nested_config_are_said_with_their_place() -> None:
    arch = read_config({"model_type": "gemma3", "text_config": {"model_type": "gemma3_text"}})
    assert any("text_config.num_hidden_layers" in line and "26" in line for line in arch.assumptions)


def test_unused_structural_keys_are_named() -> None:
    arch = read_config({**LLAMA, "num_memory_experts": 4, "initializer_range": 0.02})
    assert any("num_memory_experts" in line for line in arch.assumptions)
    assert not any("initializer_range" in line for line in arch.assumptions)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("hidden_size", -4096),
        ("hidden_size", "4096"),
        ("hidden_size", 10**40),
        ("hidden_size", 4096.5),
        ("hidden_size", float("nan")),
        ("hidden_size", [4096]),
        ("num_hidden_layers", 10**9),
        ("num_hidden_layers", 0),
        ("num_attention_heads", {}),
        ("num_attention_heads", 5000),
        ("num_key_value_heads", True),
        ("vocab_size", float("inf")),
        ("tie_word_embeddings", "perhaps"),
        ("layer_types", ["full_attention"] * 3),
        ("layer_types", ["no_such_attention"] * 32),
        ("layer_types", "full_attention"),
        ("per_layer_config", {"99": {"intermediate_size": 1}}),
        ("text_config", 7),
        ("quantization_config", [4]),
        ("model_type", 3),
    ],
)
def test_hostile_values_are_refused_by_name(field: str, value: object) -> None:
    with pytest.raises(ConfigRefused) as refused:
        read_config({**LLAMA, field: value})
    assert field in refused.value.field
    assert refused.value.reason


@pytest.mark.parametrize("of_all", ALIASES["num_experts"])
@pytest.mark.parametrize("per_token", ALIASES["num_experts_per_tok"])
def test_more_experts_per_token_than_there_are_is_refused_by_name(of_all: str, per_token: str) -> None:
    sizes = {key: value for key, value in model_config("mixtral-8x7b").items() if "expert" not in key} | {
        of_all: 8,
        "moe_intermediate_size": 14336,
    }
    del sizes["model_type"]
    assert read_config({**sizes, per_token: 8})
    with pytest.raises(ConfigRefused) as refused:
        read_config({**sizes, per_token: 64})
    assert refused.value.field == per_token
    assert "64" in refused.value.reason
    assert "8 experts" in refused.value.reason


def test_a_nested_config_names_the_whole_path_of_too_many_experts_per_token() -> None:
    config = {**model_config("mixtral-8x7b"), "num_experts_per_tok": 64}
    with pytest.raises(ConfigRefused) as refused:
        read_config({"text_config": config})
    assert refused.value.field == "text_config.num_experts_per_tok"


@pytest.mark.parametrize("field", ["hidden_size", "num_hidden_layers", "num_attention_heads", "vocab_size"])
def test_missing_fields_of_an_unknown_family_are_refused_by_name(field: str) -> None:
    config = {key: value for key, value in LLAMA.items() if key not in (field, "model_type")}
    with pytest.raises(ConfigRefused) as refused:
        read_config(config)
    assert refused.value.field == field


@pytest.mark.parametrize("config", [None, [], "llama", {}, {1: 2}, 5])
def test_what_is_no_config_is_refused(config: Any) -> None:
    with pytest.raises(ConfigRefused):
        read_config(config)


# ---- laws ----

model_ids = st.sampled_from(IDS)
junk = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=8),
    st.lists(st.integers(), max_size=4),
    st.dictionaries(st.text(max_size=4), st.integers(), max_size=3),
)


@settings(deadline=None)
@given(model_ids)
def test_groups_sum_to_the_total_and_active_is_no_more(model_id: str) -> None:
    arch = read_config(config_of(model_id))
    assert sum(params_by_group(arch).values()) == params_total(arch)
    assert 0 < params_active(arch) <= params_total(arch)


@settings(deadline=None)
@given(model_ids, st.integers(0, 2**21), st.integers(0, 2**21))
def test_more_context_never_needs_less_cache(model_id: str, first: int, second: int) -> None:
    arch = read_config(config_of(model_id))
    low, high = sorted((first, second))
    assert cache_elements(arch, low) <= cache_elements(arch, high)
    assert cache_elements(arch, high) - cache_elements(arch, 0) >= kv_elements_per_token_growing(arch) * high


@settings(deadline=None)
@given(model_ids, st.lists(st.integers(0, 2**21), min_size=1, max_size=5))
def test_arrays_give_what_scalars_give(model_id: str, tokens: list[int]) -> None:
    arch = read_config(config_of(model_id))
    many = np.broadcast_to(cache_elements(arch, np.array(tokens)), (len(tokens),))
    assert many.tolist() == [cache_elements(arch, n) for n in tokens]
    kinds = cache_elements_by_kind(arch, tokens[0])
    assert sum(kinds.values()) == cache_elements(arch, tokens[0])


@settings(deadline=None)
@given(model_ids, st.dictionaries(st.from_regex(r"zz_[a-z]{1,6}", fullmatch=True), junk, max_size=4))
def test_unknown_extra_keys_do_not_change_counts(model_id: str, extra: dict[str, Any]) -> None:
    config = config_of(model_id)
    plain, padded = read_config(config), read_config({**config, **extra})
    assert params_total(plain) == params_total(padded)
    assert cache_elements(plain, 4096) == cache_elements(padded, 4096)


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(model_ids, st.data())
def test_any_damage_is_read_or_refused_by_a_field_name(model_id: str, data: st.DataObject) -> None:
    config = config_of(model_id)
    inner = config.get("text_config")
    target = inner if isinstance(inner, dict) and data.draw(st.booleans()) else config
    key = data.draw(st.sampled_from(sorted(target)))
    target[key] = data.draw(junk)
    try:
        arch = read_config(config)
    except ConfigRefused as refusal:
        assert refusal.field  # noqa: PT017
        assert refusal.reason  # noqa: PT017
    else:
        assert params_total(arch) > 0
