"""Byte Latent Transformer (arXiv:2412.09871): bytes in, patches in the middle, bytes out.

A local encoder and decoder work on bytes, a global transformer on patches of them, a small model of its own
(the patcher) decides where patches end, and hashes of byte groups are looked up in one large table.
Source of the shapes: the modelling class of transformers 5.24.0.
"""

from __future__ import annotations

from typing import NamedTuple

from calculators.architecture.keys import Fields, has_lm_head
from calculators.architecture.layout import Architecture, Cache, CacheKind, Layer, Role, Shard, Weight
from calculators.architecture.mlps import mlp_weights
from calculators.architecture.pieces import matrix, norms


class _Stack(NamedTuple):
    width: int
    heads: int
    kv_heads: int
    layers: int
    weights: tuple[Weight, ...]  # of one layer


def _attention(width: int, heads: int, kv_heads: int) -> tuple[Weight, ...]:
    dim = width // heads
    return (
        *matrix(Role.ATTN_Q, heads * dim, width, Shard.COLUMN),
        *matrix(Role.ATTN_K, kv_heads * dim, width, Shard.KV_HEADS),
        *matrix(Role.ATTN_V, kv_heads * dim, width, Shard.KV_HEADS),
        *matrix(Role.ATTN_OUT, width, heads * dim, Shard.ROW),
    )


def _stack(root: Fields, name: str) -> tuple[Fields, _Stack]:
    part = root.sub(name)
    if part is None:
        raise root.refuse(name, "is missing")
    width, heads = part.integer("hidden_size"), part.integer("num_attention_heads")
    kv_heads = part.integer("num_key_value_heads", default=heads)
    inner = part.integer("intermediate_size", default=max(8 * width // 3, 1))
    weights = (
        *norms(width, 1, 2),
        *_attention(width, heads, kv_heads),
        *mlp_weights(width, inner, True, False, False),
    )
    return part, _Stack(width, heads, kv_heads, part.integer("num_hidden_layers"), weights)


def _cross(part: Fields, stack: _Stack) -> tuple[Weight, ...]:
    """Cross-attention between bytes and patches, in every layer or in one."""
    calls = stack.layers if part.flag("cross_attn_all_layers") else 1
    one = (*_attention(stack.width, stack.heads, stack.kv_heads), *norms(stack.width, 1, 2))
    return one * calls


def _layer(stack: _Stack, cells: int = 1, window: int | None = None) -> Layer:
    elements = 2 * stack.kv_heads * (stack.width // stack.heads)
    kind = CacheKind.SLIDING if window else CacheKind.COMPRESSED if cells > 1 else CacheKind.FULL
    cache = Cache(kind, elements, window, cells, kv_heads=stack.kv_heads)
    return Layer(stack.weights, (cache,), "sliding" if window else "full")


def read_byte_latent(root: Fields) -> Architecture:
    """The whole model. Raises ConfigRefused naming the field."""
    encoder_part, encoder = _stack(root, "encoder_config")
    global_part, middle = _stack(root, "global_config")
    decoder_part, decoder = _stack(root, "decoder_config")
    vocab = root.integer("vocab_size")
    fan = root.integer("cross_attn_k")
    groups = root.integers("encoder_hash_byte_group_size") or (3, 4, 5, 6, 7, 8)
    rows = root.integer("encoder_hash_byte_group_vocab") * root.integer(
        "encoder_hash_byte_group_nb_functions"
    )
    patch = root.integer("patch_size", default=4)
    outside = [
        Weight(Role.EMBEDDING, (encoder_part.integer("vocab_size"), encoder.width), Shard.VOCAB),
        Weight(Role.EMBEDDING, (rows * len(groups), encoder.width), Shard.VOCAB),
        *matrix(Role.OTHER, encoder.width * encoder_part.integer("cross_attn_k", default=fan), encoder.width),
        *_cross(encoder_part, encoder),
        *matrix(
            Role.OTHER,
            decoder.width * decoder_part.integer("cross_attn_k", default=fan),
            decoder_part.integer("hidden_size_global", default=middle.width),
        ),
        *_cross(decoder_part, decoder),
        *norms(decoder.width, 1),
    ]
    if encoder.width * fan != middle.width:
        outside += matrix(Role.OTHER, middle.width, encoder.width * fan)
    if root.flag("patch_in_forward"):
        patcher_part, patcher = _stack(root, "patcher_config")
        table = (patcher_part.integer("vocab_size"), patcher.width)
        outside += patcher.weights * patcher.layers
        outside += [Weight(Role.OTHER, table, copies=2), *norms(patcher.width, 1)]
    if has_lm_head(root):
        outside += matrix(Role.LM_HEAD, vocab, decoder.width, Shard.VOCAB)
    root.assume(f"the cache of the middle layers holds one cell for {patch} bytes, the average patch")
    window = root.integer("local_attention_window_len", default=0, low=0) or None
    return Architecture(
        model_type=root.model_type,
        hidden_size=middle.width,
        vocab_size=vocab,
        num_attention_heads=middle.heads,
        num_key_value_heads=middle.kv_heads,
        head_dim=middle.width // middle.heads,
        max_position_embeddings=root.integer("max_position_embeddings", default=0) or None,
        tied_embeddings=False,
        layers=(
            *((_layer(encoder, window=window),) * encoder.layers),
            *((_layer(middle, cells=patch),) * middle.layers),
            *((_layer(decoder),) * decoder.layers),
        ),
        outside=tuple(outside),
        dtype=root.word("dtype") or global_part.word("dtype") or "bfloat16",
    )
