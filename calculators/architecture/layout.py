"""One normalised description of a model: which weights it has and what each layer keeps per token.

Everything else in the package (parameter counts, weight bytes in any format, cache bytes for any context)
is computed from these types and from nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from math import prod


class Role(StrEnum):
    """What a weight tensor is for; decides its number format and its parameter group."""

    EMBEDDING = "embedding"
    POSITION = "position"
    LM_HEAD = "lm_head"
    ATTN_Q = "attn_q"
    ATTN_K = "attn_k"
    ATTN_V = "attn_v"
    ATTN_OUT = "attn_out"
    ATTN_GATE = "attn_gate"
    MLA_Q_A = "mla_q_a"
    MLA_Q_B = "mla_q_b"
    MLA_KV_A = "mla_kv_a"
    MLA_KV_B = "mla_kv_b"
    INDEXER = "indexer"
    MLP_GATE = "mlp_gate"
    MLP_UP = "mlp_up"
    MLP_DOWN = "mlp_down"
    EXPERT_GATE = "expert_gate"
    EXPERT_UP = "expert_up"
    EXPERT_DOWN = "expert_down"
    SHARED_GATE = "shared_gate"
    SHARED_UP = "shared_up"
    SHARED_DOWN = "shared_down"
    ROUTER = "router"
    STATE_IN = "state_in"
    STATE_OUT = "state_out"
    STATE_CONV = "state_conv"
    STATE_PARAM = "state_param"
    NORM = "norm"
    BIAS = "bias"
    VISION = "vision"
    AUDIO = "audio"
    PROJECTOR = "projector"
    OTHER = "other"


class Shard(StrEnum):
    """How tensor parallelism of size T splits a weight."""

    COLUMN = "column"  # output features / T
    ROW = "row"  # input features / T
    KV_HEADS = "kv_heads"  # by KV head: / min(T, KV heads), replicated beyond
    VOCAB = "vocab"  # vocabulary rows / T
    EXPERT = "expert"  # inside each expert / T, or whole experts / T with expert parallelism
    REPLICATED = "replicated"  # a full copy on every GPU


@dataclass(frozen=True, slots=True)
class Weight:
    """`copies` identical tensors of `shape` (out_features, in_features), or (n,) for vectors.

    `active_copies` is how many of them one token uses (routed experts: top-k); default all.
    """

    role: Role
    shape: tuple[int, ...]
    shard: Shard = Shard.REPLICATED
    copies: int = 1
    active_copies: int | None = None

    @property
    def elements(self) -> int:
        """Parameters held [elements]."""
        return prod(self.shape) * self.copies

    @property
    def active_elements(self) -> int:
        """Parameters one token uses [elements]."""
        copies = self.copies if self.active_copies is None else self.active_copies
        return prod(self.shape) * copies


class CacheKind(StrEnum):
    """The layer classes of the one memory function."""

    FULL = "full"
    SLIDING = "sliding"
    CHUNKED = "chunked"
    LATENT = "latent"
    INDEXER = "indexer"
    COMPRESSED = "compressed"
    STATE = "state"  # recurrent / linear-attention matrix state
    CONV = "conv"  # short convolution columns of a state layer
    CROSS = "cross"  # keys and values of an encoder's output


@dataclass(frozen=True, slots=True)
class Cache:
    """What one layer keeps for each sequence.

    Cells held for n tokens: min(n // tokens_per_cell, window_tokens).
    Elements = elements_per_cell * cells + fixed_elements.
    CROSS counts the tokens of the encoded input: `window_tokens` of them when the encoder fixes its length.
    """

    kind: CacheKind
    elements_per_cell: int = 0  # K and V together
    window_tokens: int | None = None  # cells stop growing at this many tokens; None grows for ever
    tokens_per_cell: int = 1  # compressed attention keeps one cell for this many tokens
    fixed_elements: int = 0  # per sequence whatever the context
    kv_heads: int = 1  # tensor parallelism can split over this many; 1 with LATENT means replicated
    selected_cells: int | None = None  # an indexer chooses so many of the cells; None: all are attended to


@dataclass(frozen=True, slots=True)
class Layer:
    """One transformer (or state-space) block."""

    weights: tuple[Weight, ...]
    caches: tuple[Cache, ...] = ()
    mixer: str = "full"  # full, sliding, chunked, latent, state, cross, none
    mlp: str = "dense"  # dense, moe, none


@dataclass(frozen=True, slots=True)
class QuantGroup:
    """Modules that a mixed checkpoint stores in their own way (compressed-tensors `config_groups`)."""

    targets: tuple[str, ...]  # module name patterns, as in `NativeQuantization.not_converted`
    kind: str  # as in `NativeQuantization`; none = not converted
    bits: int
    group_size: int | None = None
    block_size: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class NativeQuantization:
    """What the checkpoint's own `quantization_config` says, normalised."""

    method: str  # fp8, gptq, awq, bitsandbytes, mxfp4, compressed-tensors, modelopt ...
    bits: int | None = None
    group_size: int | None = None  # inputs that share a scale; None = a whole row
    block_size: tuple[int, int] | None = None
    not_converted: tuple[str, ...] = ()
    kind: str = ""  # int, float, nf4, nf4-double, nvfp4, mxfp4, mxfp8, none
    groups: tuple[QuantGroup, ...] = ()  # the first whose target matches decides; the rest is as above


@dataclass(frozen=True, slots=True)
class Architecture:
    """A model as its layers see it."""

    model_type: str
    hidden_size: int
    vocab_size: int
    num_attention_heads: int  # the largest over layers; 0 without attention
    num_key_value_heads: int  # the largest over layers; 0 without attention
    head_dim: int
    max_position_embeddings: int | None
    tied_embeddings: bool
    layers: tuple[Layer, ...]
    outside: tuple[Weight, ...]  # embeddings, head, final norm, vision and audio towers, projectors
    dtype: str = "bfloat16"  # the checkpoint's own dtype
    quantization: NativeQuantization | None = None
    generates: bool = True  # False for encoders: no generation cache
    assumptions: tuple[str, ...] = field(default=())


class ConfigRefused(ValueError):
    """A config.json that cannot be read: `field` names the key, `reason` says why in one sentence."""

    def __init__(self, field: str, reason: str):
        super().__init__(f"{field}: {reason}")
        self.field = field
        self.reason = reason
