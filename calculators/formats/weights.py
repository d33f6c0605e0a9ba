"""Bytes of a model's weights in a format, tensor by tensor."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from math import ceil, prod

import numpy as np
from numpy.typing import NDArray

from calculators.architecture.layout import Architecture, Role, Shard, Weight
from gpu_data.format_schemas import Padding, Rule, Storage, WeightFormat

Bytes = float | NDArray[np.float64]

OUTSIDE = -1  # layer index of a tensor that belongs to no layer


@dataclass(frozen=True, slots=True)
class WeightBytes:
    """Bytes of all weights of one model in one format.

    `layers` has one entry per layer; `layers_by_shard` splits it by how tensor parallelism treats the
    tensors; `outside` lists what belongs to no layer (embeddings, head, final norm, towers).
    """

    total_bytes: float
    by_role: Mapping[Role, float]
    layers: NDArray[np.float64]
    layers_by_shard: Mapping[Shard, NDArray[np.float64]]
    outside: tuple[tuple[Weight, float], ...]
    elements: int
    assumptions: tuple[str, ...] = ()

    @property
    def outside_bytes(self) -> float:
        """Bytes of everything that belongs to no layer."""
        return sum(size for _, size in self.outside)


def stored_bytes(out_features: int, in_features: int, storage: Storage) -> float:
    """Bytes of one (out_features, in_features) tensor in this storage; formula in `Storage`."""
    while storage.fallback is not None and in_features % storage.row_multiple:
        storage = storage.fallback
    size = out_features * in_features * storage.bits / 8
    if storage.block is not None:
        blocks = ceil(out_features / storage.block[0]) * ceil(in_features / storage.block[1])
        size += blocks * storage.block_bytes
    return size + out_features * storage.out_bytes + in_features * storage.in_bytes + storage.tensor_bytes


@lru_cache(maxsize=1024)
def layer_mask(layers: str, n_layers: int) -> NDArray[np.bool_]:
    """Which of n_layers a named layer set of `Rule` holds."""
    i = np.arange(n_layers)
    eighth = n_layers // 8
    match layers:
        case "all":
            return np.ones(n_layers, bool)
        case "more_bits":
            return (i < eighth) | (i >= 7 * n_layers // 8) | ((i - eighth) % 3 == 2)
        case "first_8th":
            return i < eighth
        case "first_16th":
            return i < n_layers // 16
        case "middle_6_8ths":
            return (i >= eighth) & (i < 7 * n_layers // 8)
        case "first_2":
            return i < 2
        case "first_4":
            return i < 4
    raise ValueError(f"unknown layer set {layers!r}")


@dataclass(frozen=True, slots=True)
class _Traits:
    """What rules may ask about a model."""

    names: frozenset[str]
    n_layers: int


@dataclass(slots=True)
class _Entry:
    """One distinct tensor of a model and how many copies each layer holds."""

    weight: Weight
    shape: tuple[int, int]  # (out, in); vectors are (n, 1)
    counts: NDArray[np.float64]


@dataclass(slots=True)
class _Table:
    """A model grouped by distinct tensors."""

    arch: Architecture
    traits: _Traits
    entries: list[_Entry]
    results: dict[tuple, WeightBytes] = field(default_factory=dict)


def _traits(arch: Architecture) -> _Traits:
    roles = {w.role for layer in arch.layers for w in layer.weights}
    names = set()
    if Role.EXPERT_DOWN in roles or Role.EXPERT_UP in roles:
        names.add("moe")
    if Role.MLA_KV_A in roles:
        names.add("mla")
    return _Traits(frozenset(names), len(arch.layers))


def _matrix_shape(weight: Weight) -> tuple[int, int]:
    if len(weight.shape) == 1:
        return weight.shape[0], 1
    return prod(weight.shape[:-1]), weight.shape[-1]


def _build(arch: Architecture) -> _Table:
    n_layers = len(arch.layers)
    by_weight: dict[Weight, NDArray[np.float64]] = {}
    seen: dict[int, list[int]] = {}
    unique_layers: dict[int, tuple[Weight, ...]] = {}
    for index, layer in enumerate(arch.layers):
        key = id(layer.weights)
        seen.setdefault(key, []).append(index)
        unique_layers[key] = layer.weights
    for key, indices in seen.items():
        for weight in unique_layers[key]:
            counts = by_weight.setdefault(weight, np.zeros(n_layers))
            counts[indices] += weight.copies
    entries = [_Entry(w, _matrix_shape(w), counts) for w, counts in by_weight.items()]
    return _Table(arch, _traits(arch), entries)


_TABLES: OrderedDict[int, _Table] = OrderedDict()
_KEPT = 16


def _table(arch: Architecture) -> _Table:
    """The grouped form of a model, kept for the last few (identity is enough: an Architecture is frozen)."""
    found = _TABLES.get(id(arch))
    if found is None or found.arch is not arch:
        found = _build(arch)
        _TABLES[id(arch)] = found
        while len(_TABLES) > _KEPT:
            _TABLES.popitem(last=False)
    return found


def _rules_for(fmt: WeightFormat, role: Role, traits: _Traits) -> list[Rule]:
    """The rules that can touch this role in this model, in order, up to the first that covers all layers."""
    found = []
    for rule in fmt.rules:
        if role.value in rule.roles and all(name in traits.names for name in rule.when):
            found.append(rule)
            if rule.layers == "all":
                break
    return found


def _tensor_bytes(
    shape: tuple[int, int], vector: bool, role: Role, fmt: WeightFormat, traits: _Traits
) -> Bytes:
    """Bytes of one copy: a number, or one per layer where the format treats layers differently."""
    if vector:
        return stored_bytes(*shape, fmt.rest)
    rules = _rules_for(fmt, role, traits)
    if not rules:
        return stored_bytes(*shape, fmt.rest)
    if rules[0].layers == "all":
        return stored_bytes(*shape, rules[0].storage)
    size = np.full(traits.n_layers, stored_bytes(*shape, fmt.rest))
    for rule in reversed(rules):
        size[layer_mask(rule.layers, traits.n_layers)] = stored_bytes(*shape, rule.storage)
    return size


def tensor_bytes(
    weight: Weight, fmt: WeightFormat, layer_index: int, n_layers: int, arch: Architecture
) -> float:
    """Bytes of one `Weight` (all its copies) in a layer; layer_index -1 for one outside the layers."""
    table = _table(arch)
    size = _tensor_bytes(_matrix_shape(weight), len(weight.shape) == 1, weight.role, fmt, table.traits)
    if isinstance(size, np.ndarray):
        size = float(size[layer_index])
    return size * weight.copies


def weights_bytes(arch: Architecture, fmt: WeightFormat, padding: Padding | None = None) -> WeightBytes:
    """Bytes of every weight of a model in a format [byte]; kept for models seen last."""
    table = _table(arch)
    key = (fmt.id, id(fmt), padding.id if padding else None)
    found = table.results.get(key)
    if found is None:
        found = table.results[key] = _compute(table, fmt)
    return found


def _compute(table: _Table, fmt: WeightFormat) -> WeightBytes:
    n_layers = len(table.arch.layers)
    by_role: dict[Role, float] = {}
    layers_by_shard: dict[Shard, NDArray[np.float64]] = {}
    for entry in table.entries:
        weight = entry.weight
        size = entry.counts * _tensor_bytes(
            entry.shape, len(weight.shape) == 1, weight.role, fmt, table.traits
        )
        by_role[weight.role] = by_role.get(weight.role, 0.0) + float(size.sum())
        if weight.shard in layers_by_shard:
            layers_by_shard[weight.shard] += size
        else:
            layers_by_shard[weight.shard] = size
    outside = []
    for weight in table.arch.outside:
        size = tensor_bytes(weight, fmt, OUTSIDE, n_layers, table.arch)
        outside.append((weight, size))
        by_role[weight.role] = by_role.get(weight.role, 0.0) + size
    layers = sum(layers_by_shard.values(), np.zeros(n_layers))
    elements = sum(w.elements for layer in table.arch.layers for w in layer.weights)
    elements += sum(w.elements for w in table.arch.outside)
    return WeightBytes(
        float(layers.sum()) + sum(size for _, size in outside),
        by_role,
        layers,
        layers_by_shard,
        tuple(outside),
        elements,
    )


def bits_per_weight(arch: Architecture, fmt: WeightFormat) -> float:
    """True average bits per weight: all bytes over all elements."""
    found = weights_bytes(arch, fmt)
    return found.total_bytes * 8 / found.elements
