"""What one model asks of a GPU: bytes to read and operations to do, per step, token and context.

Everything here follows from the architecture and the number formats alone; no GPU and no engine appears.
Functions take scalars or NumPy arrays and broadcast.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calculators.architecture.layout import Architecture, Cache, CacheKind, Layer, Role, Shard, Weight
from calculators.formats import kv_bytes_per_element, weights_bytes
from calculators.kept import kept_by_identity
from gpu_data.format_schemas import KvFormat, WeightFormat

Floats = NDArray[np.float64]
Number = float | Floats  # an array where several weight formats stand side by side

FLOP_PER_WEIGHT = 2  # one multiplication and one addition per weight and token
FLOP_PER_STATE_ELEMENT = 4  # decay-and-update, then read: one multiply-add each (Mamba-2, Dao & Gu 2024)
STATE_BYTES = 4.0  # engines keep the recurrent state in fp32 (vLLM mamba_ssm_cache_dtype, llama.cpp)
CONV_BYTES = 2.0

_EXPERTS = (Role.EXPERT_GATE, Role.EXPERT_UP, Role.EXPERT_DOWN)
_REPLICATED = (CacheKind.LATENT, CacheKind.INDEXER)
_QUERY = (Role.ATTN_Q, Role.MLA_Q_B)
_ATTENDED = (CacheKind.FULL, CacheKind.SLIDING, CacheKind.CHUNKED, CacheKind.LATENT, CacheKind.COMPRESSED)


@dataclass(frozen=True, slots=True)
class ExpertLayers:
    """Layers with as many routed experts: how many of them a token uses, and their mean bytes."""

    layers: int
    experts: int
    experts_per_token: int
    bytes_per_expert: Number


@dataclass(frozen=True, slots=True)
class CacheClass:
    """Layers that keep the same cache; bytes are of all these layers together.

    Cells held after n tokens: min(n // tokens_per_cell, window_tokens), as in architecture.layout.Cache.
    """

    bytes_per_cell: float
    window_tokens: int | None
    tokens_per_cell: int
    fixed_bytes: float  # per sequence whatever the context; a recurrent state is read and written
    kv_heads: int
    replicated: bool  # tensor parallelism copies it instead of splitting it
    selected_cells: int | None = None  # an indexer chooses so many; only its own keys are read of every cell
    index_bytes_per_cell: float = 0.0  # of bytes_per_cell, those keys


@dataclass(frozen=True, slots=True)
class AttentionClass:
    """Layers whose queries meet the same keys.

    flop_per_pair: of all these layers, for one query and one cell, scores and weighted sum; direct: the same
    where queries meet the cache as it is stored (latent attention while decoding, and wherever cells are
    chosen). score_heads: heads x layers, the numbers of the score matrix per query and cell.
    index_flop_per_pair: of an indexer, for one query and every cell it chooses from.
    """

    flop_per_pair: float
    direct_flop_per_pair: float
    score_heads: float
    window_tokens: int | None
    tokens_per_cell: int
    selected_cells: int | None = None
    index_flop_per_pair: float = 0.0


@dataclass(frozen=True)
class ModelWork:
    """Bytes and operations of one model in one weight and one cache format, over all its GPUs."""

    n_layers: int
    hidden_size: int
    vocab_size: int
    fixed_weight_bytes: Number  # read by every step: all layers but routed experts
    head_bytes: Number  # the output table, read by every step
    expert_layers: tuple[ExpertLayers, ...]
    matmul_flop_per_token: float  # layers only, experts by those a token uses
    expert_flop_per_token: float  # the part of it in routed experts
    head_flop_per_token: float
    matmul_elements: float  # weights of the layers, all experts
    caches: tuple[CacheClass, ...]
    attention: tuple[AttentionClass, ...]
    state_flop_per_token: float

    @property
    def weight_bytes(self) -> Number:
        """Bytes of all weights that steps read when every expert is touched."""
        experts = sum((e.layers * e.experts * e.bytes_per_expert for e in self.expert_layers), 0.0)
        return self.fixed_weight_bytes + self.head_bytes + experts

    @property
    def moe_layers(self) -> int:
        """Layers with routed experts."""
        return sum(e.layers for e in self.expert_layers)


def model_work(arch: Architecture, weight_format: WeightFormat, kv_format: KvFormat) -> ModelWork:
    """The work of a model in a weight format and a cache format.

    Raises FormatRefused when the format is the native one and the checkpoint's quantisation is unknown.
    """
    stored = weights_bytes(arch, weight_format)
    expert_bytes = stored.layers_by_shard.get(Shard.EXPERT, np.zeros(len(arch.layers)))
    head_bytes, head_elements = _head(arch, stored.outside)
    return replace(
        _unweighted(arch, kv_format),
        fixed_weight_bytes=float(stored.layers.sum() - expert_bytes.sum()),
        head_bytes=head_bytes,
        head_flop_per_token=FLOP_PER_WEIGHT * head_elements,
        expert_layers=_expert_layers(arch, expert_bytes),
    )


@kept_by_identity(64)
def _unweighted(arch: Architecture, kv_format: KvFormat) -> ModelWork:
    """What does not depend on the weight format; bytes of weights are left at 0."""
    return ModelWork(
        n_layers=len(arch.layers),
        hidden_size=arch.hidden_size,
        vocab_size=arch.vocab_size,
        fixed_weight_bytes=0.0,
        head_bytes=0.0,
        expert_layers=(),
        matmul_flop_per_token=FLOP_PER_WEIGHT * _layer_elements(arch, active=True),
        expert_flop_per_token=FLOP_PER_WEIGHT * _layer_elements(arch, active=True, only=_EXPERTS),
        head_flop_per_token=0.0,
        matmul_elements=_layer_elements(arch, active=False),
        caches=_caches(arch, kv_format),
        attention=_attention(arch),
        state_flop_per_token=_state_flop(arch),
    )


def _counted(arch: Architecture) -> list[tuple[Layer, int]]:
    by_id = {id(layer): layer for layer in arch.layers}
    counts = Counter(id(layer) for layer in arch.layers)
    return [(layer, counts[key]) for key, layer in by_id.items()]


def _layer_elements(arch: Architecture, active: bool, only: tuple[Role, ...] = ()) -> float:
    total = 0
    for layer, count in _counted(arch):
        for w in layer.weights:
            if len(w.shape) > 1 and (not only or w.role in only):
                total += count * (w.active_elements if active else w.elements)
    return float(total)


def _head(arch: Architecture, outside: tuple[tuple[Weight, float], ...]) -> tuple[float, float]:
    """(bytes, elements) of the output table: its own, or the embedding it is tied to."""
    if not arch.generates:
        return 0.0, 0.0
    by_role = {w.role: (size, float(w.elements)) for w, size in outside}
    return by_role.get(Role.LM_HEAD) or by_role.get(Role.EMBEDDING) or (0.0, 0.0)


def _expert_layers(arch: Architecture, expert_bytes: Floats) -> tuple[ExpertLayers, ...]:
    return tuple(
        ExpertLayers(len(rows), experts, chosen, float(expert_bytes[rows].sum()) / len(rows) / experts)
        for (experts, chosen), rows in _routed(arch)
    )


@kept_by_identity(64)
def _routed(arch: Architecture) -> list[tuple[tuple[int, int], list[int]]]:
    """((experts, how many a token uses), positions of the layers that have them)."""
    by_id = {id(layer): layer for layer in arch.layers}
    routing = {key: _routing(layer) for key, layer in by_id.items()}
    found: dict[tuple[int, int], list[int]] = {}
    for i, layer in enumerate(arch.layers):
        if (route := routing[id(layer)]) is not None:
            found.setdefault(route, []).append(i)
    return list(found.items())


def _routing(layer: Layer) -> tuple[int, int] | None:
    up = next((w for w in layer.weights if w.role is Role.EXPERT_UP), None)
    up = up or next((w for w in layer.weights if w.role in _EXPERTS), None)
    if up is None:
        return None
    return up.copies, up.copies if up.active_copies is None else up.active_copies


def stack_formats(works: Sequence[ModelWork], trailing_axes: int = 0) -> ModelWork:
    """One model in several weight formats as one object: bytes of weights are arrays [format, 1, ...].

    Everything else is the same in every format. `trailing_axes` of length 1 follow the formats' axis.
    """

    def column(values: list[Number]) -> Floats:
        return np.array(values, dtype=np.float64).reshape(-1, *(1,) * trailing_axes)

    first = works[0]
    experts = tuple(
        replace(group, bytes_per_expert=column([work.expert_layers[i].bytes_per_expert for work in works]))
        for i, group in enumerate(first.expert_layers)
    )
    return replace(
        first,
        fixed_weight_bytes=column([work.fixed_weight_bytes for work in works]),
        head_bytes=column([work.head_bytes for work in works]),
        expert_layers=experts,
    )


def _cache_bytes(arch: Architecture, cache: Cache, fmt: KvFormat) -> float:
    if cache.kind is CacheKind.STATE:
        return STATE_BYTES
    if cache.kind is CacheKind.CONV:
        return CONV_BYTES
    row = cache.elements_per_cell if cache.kind in _REPLICATED else arch.head_dim
    return kv_bytes_per_element(fmt, row or 1)


def _caches(arch: Architecture, fmt: KvFormat) -> tuple[CacheClass, ...]:
    found: dict[tuple[Cache, int], int] = {}
    for layer, count in _counted(arch):
        index = _index_width(layer)
        attended = (
            () if layer.caches else _attended_caches(arch, layer)
        )  # kept by an earlier layer, read again
        for cache in (*layer.caches, *attended):
            key = (cache, index if cache.selected_cells and cache.kind is CacheKind.COMPRESSED else 0)
            found[key] = found.get(key, 0) + count
    classes = []
    for (cache, index), count in found.items():
        size = _cache_bytes(arch, cache, fmt)
        classes.append(
            CacheClass(
                count * cache.elements_per_cell * size,
                cache.window_tokens,
                cache.tokens_per_cell,
                count * cache.fixed_elements * size * (2 if cache.kind is CacheKind.STATE else 1),
                max(cache.kv_heads, 1),
                cache.kind in _REPLICATED,
                cache.selected_cells,
                count * index * size,
            )
        )
    return tuple(classes)


def _index_width(layer: Layer) -> int:
    """Width of one indexer key: its queries' rows over its heads (one weight row each); 0 without indexer."""
    rows = [w.shape[0] for w in layer.weights if w.role is Role.INDEXER and len(w.shape) > 1]
    return max(rows) // min(rows) if rows else 0


def _index_flop(layer: Layer) -> float:
    """Scores of an indexer for one query and one cell [FLOP]: no weighted sum follows."""
    rows = [w.shape[0] for w in layer.weights if w.role is Role.INDEXER and len(w.shape) > 1]
    return float(FLOP_PER_WEIGHT * max(rows, default=0))


def _attended_caches(arch: Architecture, layer: Layer) -> tuple[Cache, ...]:
    """The caches a layer's queries meet: its own, or those of an earlier layer of its kind that it shares."""
    if not any(w.role in _QUERY for w in layer.weights):
        return ()
    for source in (layer, *(other for other, _ in _counted(arch) if other.mixer == layer.mixer)):
        if found := tuple(cache for cache in source.caches if cache.kind in _ATTENDED):
            return found
    return ()


def _attention(arch: Architecture) -> tuple[AttentionClass, ...]:
    found: dict[tuple[int | None, int, int | None], list[float]] = {}
    for layer, count in _counted(arch):
        out = [w for w in layer.weights if w.role is Role.ATTN_OUT and len(w.shape) > 1]
        query = [w.shape[0] for w in layer.weights if w.role in _QUERY and len(w.shape) > 1]
        if not out:
            continue
        # Outputs that go by groups have several tables; all heads' sums are as wide as the queries then.
        width = out[0].shape[1] if len(out) == 1 else max(query)
        pair = FLOP_PER_WEIGHT * (min(max(query, default=width), 2 * width) + width)
        for cache in _attended_caches(arch, layer):
            direct = _direct_flop(arch, layer, cache) or pair
            chosen = cache.selected_cells is not None
            key = (cache.window_tokens, cache.tokens_per_cell, cache.selected_cells)
            sums = found.setdefault(key, [0.0, 0.0, 0.0, 0.0])
            sums[0] += count * pair
            sums[1] += count * direct
            sums[2] += count * arch.num_attention_heads
            sums[3] += count * _index_flop(layer) * chosen
    return tuple(
        AttentionClass(pair, direct, heads, window, per, chosen, index)
        for (window, per, chosen), (pair, direct, heads, index) in found.items()
    )


def _direct_flop(arch: Architecture, layer: Layer, cache: Cache) -> float:
    """Scores and sums of one query and one latent cell as it is stored [FLOP]; 0 for other caches.

    The weights that unfold a cell are multiplied into query and output instead: every head meets the whole
    cell, and sums its part without position (DeepSeek-V2, arXiv:2405.04434, section 2.1.2).
    """
    rank = [w.shape[1] for w in layer.weights if w.role is Role.MLA_KV_B and len(w.shape) > 1]
    if cache.kind is not CacheKind.LATENT or not rank:
        return 0.0
    return float(FLOP_PER_WEIGHT * arch.num_attention_heads * (cache.elements_per_cell + rank[0]))


def _state_flop(arch: Architecture) -> float:
    return FLOP_PER_STATE_ELEMENT * sum(
        count * cache.fixed_elements
        for layer, count in _counted(arch)
        for cache in layer.caches
        if cache.kind is CacheKind.STATE
    )


# ---------------------------------------------------------------- per step


def experts_touched(experts: int, experts_per_token: int, tokens: ArrayLike) -> Floats:
    """Distinct experts that `tokens` tokens use together, on average: E x (1 - (1 - k/E)^tokens).

    Each token draws k of E experts; uniform and independent, so a skewed router touches fewer. Source of the
    formula: the expected number of occupied cells (Feller, An Introduction to Probability Theory, I.2).
    """
    share = experts_per_token / experts
    return experts * -np.expm1(np.asarray(tokens, dtype=np.float64) * np.log1p(-min(share, 1 - 1e-12)))


def expert_bytes_read(work: ModelWork, tokens: ArrayLike) -> Floats:
    """Bytes of routed experts that one step over `tokens` tokens reads, over all GPUs [byte]."""
    total: Floats = np.zeros(np.shape(tokens))
    for group in work.expert_layers:
        touched = experts_touched(group.experts, group.experts_per_token, tokens)
        total = total + group.layers * group.bytes_per_expert * touched
    return total


def weight_bytes_read(work: ModelWork, tokens: ArrayLike) -> Floats:
    """Bytes of weights that one step over `tokens` tokens reads, over all GPUs [byte]: each once."""
    return work.fixed_weight_bytes + work.head_bytes + expert_bytes_read(work, tokens)


def _cells(context: ArrayLike, window: int | None, tokens_per_cell: int) -> Floats:
    cells = np.asarray(context, dtype=np.float64) / tokens_per_cell
    return cells if window is None else np.minimum(cells, window)


def cache_bytes_read(work: ModelWork, context: ArrayLike, tensor_parallel_size: ArrayLike = 1) -> Floats:
    """Bytes of cache and state that one decode step reads for one sequence, on one GPU [byte].

    KV heads are split over the GPUs and copied beyond their number; latent caches are copied.
    """
    tp = np.asarray(tensor_parallel_size, dtype=np.float64)
    total: Floats = np.zeros(np.broadcast_shapes(np.shape(context), tp.shape))
    for c in work.caches:
        held = _cells(context, c.window_tokens, c.tokens_per_cell)
        read = held if c.selected_cells is None else np.minimum(held, c.selected_cells)
        size = (
            (c.bytes_per_cell - c.index_bytes_per_cell) * read + c.index_bytes_per_cell * held + c.fixed_bytes
        )
        share = 1.0 if c.replicated else np.ceil(c.kv_heads / tp) / c.kv_heads
        total = total + size * share
    return total


def decode_attention_flop(work: ModelWork, context: ArrayLike) -> Floats:
    """Operations of attention and state for one new token at this context, over all GPUs [FLOP]."""
    total: Floats = np.full(np.shape(context), work.state_flop_per_token)
    for a in work.attention:
        cells = _cells(context, a.window_tokens, a.tokens_per_cell)
        met = cells if a.selected_cells is None else np.minimum(cells, a.selected_cells)
        total = total + a.direct_flop_per_pair * met + a.index_flop_per_pair * cells
    return total


def _causal_pairs(tokens: Floats, window: int | None, tokens_per_cell: int) -> Floats:
    """Pairs of query and key of one prompt: n²/2, and n·w - w²/2 once the window w is full."""
    full = tokens * tokens / 2
    if window is not None:
        reach = np.minimum(tokens, window)
        full = tokens * reach - reach * reach / 2
    return full / tokens_per_cell


def prefill_attention_flop(work: ModelWork, prompt_tokens: ArrayLike) -> Floats:
    """Operations of causal attention and state over one prompt, over all GPUs [FLOP]."""
    tokens = np.asarray(prompt_tokens, dtype=np.float64)
    total: Floats = work.state_flop_per_token * tokens
    for a in work.attention:
        pairs = _causal_pairs(tokens, a.window_tokens, a.tokens_per_cell)
        flop = a.flop_per_pair * pairs
        if a.selected_cells is not None:
            # Chosen cells are met as they are stored; short prompts are unfolded, which is cheaper.
            window = a.selected_cells * a.tokens_per_cell
            met = a.direct_flop_per_pair * _causal_pairs(tokens, window, a.tokens_per_cell)
            flop = np.minimum(flop, met) + a.index_flop_per_pair * pairs
        total = total + flop
    return total


def score_elements(work: ModelWork, prompt_tokens: ArrayLike) -> Floats:
    """Numbers of the attention score matrices of one prompt, all layers and heads, causal half [elements].

    Attention that is not fused (llama.cpp without -fa) writes and reads each of them several times.
    """
    tokens = np.asarray(prompt_tokens, dtype=np.float64)
    total: Floats = np.zeros(tokens.shape)
    for a in work.attention:
        total = total + a.score_heads * _causal_pairs(tokens, a.window_tokens, a.tokens_per_cell)
    return total
