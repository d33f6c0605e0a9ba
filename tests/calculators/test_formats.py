"""Weight bytes against published sizes, and laws that hold for every format."""

from __future__ import annotations

import pytest

from calculators.architecture.layout import Architecture, Layer, Role, Shard, Weight
from calculators.formats import bits_per_weight, weights_bytes
from gpu_data.formats import weight_format, weight_formats


def llama(hidden, intermediate, layers, heads, kv_heads, head_dim, vocab, tied=False):
    """A Llama-like decoder by hand."""
    weights = (
        Weight(Role.ATTN_Q, (heads * head_dim, hidden), Shard.COLUMN),
        Weight(Role.ATTN_K, (kv_heads * head_dim, hidden), Shard.KV_HEADS),
        Weight(Role.ATTN_V, (kv_heads * head_dim, hidden), Shard.KV_HEADS),
        Weight(Role.ATTN_OUT, (hidden, heads * head_dim), Shard.ROW),
        Weight(Role.MLP_GATE, (intermediate, hidden), Shard.COLUMN),
        Weight(Role.MLP_UP, (intermediate, hidden), Shard.COLUMN),
        Weight(Role.MLP_DOWN, (hidden, intermediate), Shard.ROW),
        Weight(Role.NORM, (hidden,), copies=2),
    )
    outside = [Weight(Role.EMBEDDING, (vocab, hidden), Shard.VOCAB), Weight(Role.NORM, (hidden,))]
    if not tied:
        outside.append(Weight(Role.LM_HEAD, (vocab, hidden), Shard.VOCAB))
    return Architecture(
        model_type="llama",
        hidden_size=hidden,
        vocab_size=vocab,
        num_attention_heads=heads,
        num_key_value_heads=kv_heads,
        head_dim=head_dim,
        max_position_embeddings=8192,
        tied_embeddings=tied,
        layers=tuple(Layer(weights) for _ in range(layers)),
        outside=tuple(outside),
    )


LLAMA_3_1_8B = llama(4096, 14336, 32, 32, 8, 128, 128256)
QWEN2_5_7B = llama(3584, 18944, 28, 28, 4, 128, 152064)
FORMATS = pytest.mark.parametrize("fmt", weight_formats(), ids=lambda f: f.id)


@pytest.mark.parametrize(
    ("arch", "format_id", "gib"),
    [
        pytest.param(LLAMA_3_1_8B, "bf16", 14.9888, id="vLLM log Llama-3.1-8B-Instruct bf16"),
        pytest.param(QWEN2_5_7B, "awq-int4", 5.2032, id="vLLM log Qwen2.5-7B 4-bit, RTX 4060"),
    ],
)
def test_weights_are_what_engines_print(arch, format_id, gib):
    assert weights_bytes(arch, weight_format(format_id)).total_bytes / 2**30 == pytest.approx(gib, rel=0.005)


@FORMATS
def test_total_is_the_sum_of_its_parts(fmt):
    found = weights_bytes(LLAMA_3_1_8B, fmt)
    assert found.total_bytes == pytest.approx(sum(found.by_role.values()))
    assert found.total_bytes == pytest.approx(found.layers.sum() + found.outside_bytes)
    assert found.layers.sum() == pytest.approx(sum(part.sum() for part in found.layers_by_shard.values()))


@FORMATS
def test_never_below_the_nominal_bits(fmt):
    if fmt.kind != "native":
        assert bits_per_weight(LLAMA_3_1_8B, fmt) >= fmt.nominal_bits


@FORMATS
def test_every_role_of_a_rule_exists(fmt):
    assert {role for rule in fmt.rules for role in rule.roles} <= {role.value for role in Role}
