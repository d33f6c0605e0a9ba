"""Architectures built by hand for the format tests."""

from __future__ import annotations

from dataclasses import replace

from calculators.architecture.layout import Architecture, Layer, NativeQuantization, Role, Shard, Weight


def decoder(
    *,
    hidden: int,
    intermediate: int,
    layers: int,
    heads: int,
    kv_heads: int,
    head_dim: int,
    vocab: int,
    tied: bool = False,
    experts: int = 0,
    model_type: str = "llama",
    quantization: NativeQuantization | None = None,
) -> Architecture:
    """A Llama-like decoder; with `experts` every MLP is a mixture of that many."""
    weights = [
        Weight(Role.ATTN_Q, (heads * head_dim, hidden), Shard.COLUMN),
        Weight(Role.ATTN_K, (kv_heads * head_dim, hidden), Shard.KV_HEADS),
        Weight(Role.ATTN_V, (kv_heads * head_dim, hidden), Shard.KV_HEADS),
        Weight(Role.ATTN_OUT, (hidden, heads * head_dim), Shard.ROW),
        Weight(Role.NORM, (hidden,), copies=2),
    ]
    if experts:
        weights += [
            Weight(Role.ROUTER, (experts, hidden)),
            Weight(Role.EXPERT_GATE, (intermediate, hidden), Shard.EXPERT, experts, 2),
            Weight(Role.EXPERT_UP, (intermediate, hidden), Shard.EXPERT, experts, 2),
            Weight(Role.EXPERT_DOWN, (hidden, intermediate), Shard.EXPERT, experts, 2),
        ]
    else:
        weights += [
            Weight(Role.MLP_GATE, (intermediate, hidden), Shard.COLUMN),
            Weight(Role.MLP_UP, (intermediate, hidden), Shard.COLUMN),
            Weight(Role.MLP_DOWN, (hidden, intermediate), Shard.ROW),
        ]
    outside = [Weight(Role.EMBEDDING, (vocab, hidden), Shard.VOCAB), Weight(Role.NORM, (hidden,))]
    if not tied:
        outside.append(Weight(Role.LM_HEAD, (vocab, hidden), Shard.VOCAB))
    return Architecture(
        model_type=model_type,
        hidden_size=hidden,
        vocab_size=vocab,
        num_attention_heads=heads,
        num_key_value_heads=kv_heads,
        head_dim=head_dim,
        max_position_embeddings=8192,
        tied_embeddings=tied,
        layers=tuple(Layer(tuple(weights)) for _ in range(layers)),
        outside=tuple(outside),
        quantization=quantization,
    )


LLAMA_3_1_8B = decoder(
    hidden=4096, intermediate=14336, layers=32, heads=32, kv_heads=8, head_dim=128, vocab=128256
)
QWEN2_5_7B = decoder(
    hidden=3584, intermediate=18944, layers=28, heads=28, kv_heads=4, head_dim=128, vocab=152064
)
MIXTRAL_8X7B = decoder(
    hidden=4096,
    intermediate=14336,
    layers=32,
    heads=32,
    kv_heads=8,
    head_dim=128,
    vocab=32000,
    experts=8,
    model_type="mixtral",
)
GPT_OSS_LIKE = decoder(
    hidden=2880,
    intermediate=2880,
    layers=24,
    heads=64,
    kv_heads=8,
    head_dim=64,
    vocab=201088,
    experts=32,
    model_type="gpt_oss",
)

ODD_WIDTH = replace(GPT_OSS_LIKE, model_type="llama")  # rows of 2880 = 11.25 blocks of 256


def quantized(arch: Architecture, method: str, **fields) -> Architecture:
    """The same model as a checkpoint quantised by this method."""
    return replace(arch, quantization=NativeQuantization(method, **fields))
