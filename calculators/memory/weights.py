"""Bytes of weights on each device."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from calculators.architecture.layout import Architecture, Role, Shard
from calculators.formats import tensor_bytes, weights_bytes
from calculators.memory.shape import TOWERS, Shape, shape_of, shard_factor
from calculators.memory.split import Stages, layer_split, pipeline_stages
from gpu_data.engine_schemas import Engine
from gpu_data.format_schemas import EngineLayout, WeightFormat

_SPLIT_OUTSIDE = frozenset({Shard.VOCAB, Shard.COLUMN, Shard.ROW})
TOWER_BYTES = 2  # an mmproj file is F16


def stored_bytes(arch: Architecture, fmt: WeightFormat, engine: Engine) -> float:
    """Size of the file or files an engine loads a model from, without a separate encoder [byte]."""
    stored = weights_bytes(arch, fmt)
    if engine.towers == "loaded" or not shape_of(arch).tower_elements:
        return stored.total_bytes
    return stored.total_bytes - sum(size for w, size in stored.outside if w.role in TOWERS)


def stages_for(shape: Shape, engine: Engine, tp: int, pp: int) -> Stages:
    """The devices along the model: pipeline stages, or every GPU for engines that split by layers."""
    if engine.split == "layers":
        return layer_split(shape.n_layers, tp * pp, engine.algorithm != "llama.cpp")
    return pipeline_stages(shape.n_layers, pp)


class _Keyed:
    """An argument of a cached function, compared by identity."""

    __slots__ = ("value",)

    def __init__(self, value: object):
        self.value = value

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Keyed) and other.value is self.value


def device_weights(
    arch: Architecture,
    fmt: WeightFormat,
    engine: Engine,
    tp: int,
    pp: int,
    expert_parallel: bool = False,
    layout: EngineLayout | None = None,
    experts_on_cpu: bool = False,
) -> NDArray[np.float64]:
    """Bytes of weights on every device [device].

    Split tensors count their share, copied ones whole: norms and routers, KV projections when there are fewer
    KV heads than GPUs, MLA's down-projections. A tied embedding is held once, but again by the last stage of
    a pipeline, and llama.cpp always holds it as output tensor on a GPU and as embedding on the CPU. Encoders
    that are a file of their own are not counted here.
    """
    keys = _Keyed(arch), _Keyed(fmt), _Keyed(engine), _Keyed(layout)
    return _device_weights(*keys, tp, pp, expert_parallel, experts_on_cpu)


@lru_cache(maxsize=2048)
def _device_weights(
    arch_key: _Keyed,
    fmt_key: _Keyed,
    engine_key: _Keyed,
    layout_key: _Keyed,
    tp: int,
    pp: int,
    expert_parallel: bool,
    experts_on_cpu: bool,
) -> NDArray[np.float64]:
    arch: Architecture = arch_key.value  # ty: ignore[invalid-assignment]
    fmt: WeightFormat = fmt_key.value  # ty: ignore[invalid-assignment]
    engine: Engine = engine_key.value  # ty: ignore[invalid-assignment]
    layout: EngineLayout | None = layout_key.value  # ty: ignore[invalid-assignment]
    shape = shape_of(arch)
    stages = stages_for(shape, engine, tp, pp)
    by_layers = engine.split == "layers"
    ways = 1 if by_layers else tp
    stored = weights_bytes(arch, fmt, layout, ways)

    per_layer = np.zeros(shape.n_layers)
    for shard, sizes in stored.layers_by_shard.items():
        if experts_on_cpu and shard is Shard.EXPERT:
            continue
        per_layer += sizes * shard_factor(shard, shape.kv_heads, ways, shape.experts, expert_parallel)
    total = stages.layer_of_stage @ per_layer

    # Sums first: a tower alone has hundreds of tensors.
    has_head = any(w.role is Role.LM_HEAD for w, _ in stored.outside)
    separate = engine.towers == "separate" and shape.tower_elements > 0
    at_embedding, at_head, at_first, tied = 0.0, 0.0, 0.0, 0.0
    for weight, size in stored.outside:
        share = size / ways if weight.shard in _SPLIT_OUTSIDE else size
        if weight.role is Role.EMBEDDING:
            if has_head or not arch.generates:
                at_embedding += share
            else:
                tied += share
        elif weight.role is Role.POSITION:
            at_embedding += share
        elif weight.role in TOWERS:
            at_first += 0.0 if separate else share
        else:
            at_head += share
    total = total + at_embedding * stages.embedding + at_head * stages.head
    # Tied: the head reads the same table, so the device with the head needs it too.
    total += tied * np.maximum(stages.embedding, stages.head)
    if tied and fmt.id in engine.untied_head_formats:
        total += tied * stages.head
    total[0] += at_first
    return total


def qkv_bytes(arch: Architecture, fmt: WeightFormat) -> NDArray[np.float64]:
    """Bytes of the Q, K and V projections of each layer [layer]."""
    n = len(arch.layers)
    known: dict[int, float] = {}
    found = np.zeros(n)
    for i, layer in enumerate(arch.layers):
        if id(layer) not in known:
            known[id(layer)] = sum(
                tensor_bytes(w, fmt, i, n, arch)
                for w in layer.weights
                if w.role in (Role.ATTN_Q, Role.ATTN_K, Role.ATTN_V) and len(w.shape) > 1
            )
        found[i] = known[id(layer)]
    return found


def rope_table_bytes(shape: Shape, bytes_per_entry: float) -> float:
    """Cosine and sine tables: max_position_embeddings x head dimension x bytes; 0 without rotation."""
    positions = shape.arch.max_position_embeddings
    return 0.0 if positions is None or not shape.rope else positions * shape.arch.head_dim * bytes_per_entry
