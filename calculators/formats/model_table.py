"""A model grouped by distinct tensors: what all formats are computed from."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calculators.architecture.layout import Architecture, Role, Shard, Weight
from calculators.kept import kept_by_identity
from gpu_data.format_schemas import TraitRule

Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Entry:
    """One distinct tensor of the layers and how many copies of it each layer holds."""

    weight: Weight
    shape: tuple[int, int]  # (out_features, in_features); a vector of n is (n, 1)
    counts: NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class ModelTable:
    """Distinct tensors of a model, what its layers hold, and results already computed."""

    arch: Architecture
    n_layers: int
    experts: int
    gqa: float
    structure: frozenset[str]  # traits that the tensors themselves show
    entries: tuple[Entry, ...]
    counts: NDArray[np.float64]  # copies held [entry, layer]
    shards: dict[Shard, list[int]]  # entries by how tensor parallelism splits them
    elements: int  # of the whole model
    cache: dict[Any, Any] = field(default_factory=dict)

    def traits(self, rules: Iterable[TraitRule]) -> frozenset[str]:
        """Names of all traits of this model."""
        return self.structure | {rule.name for rule in rules if self._has(rule)}

    def rows(self, role: Role) -> set[int]:
        """Row counts of the matrices of this role."""
        return {entry.shape[0] for entry in self.entries if entry.weight.role is role}

    def _has(self, rule: TraitRule) -> bool:
        return (
            (not rule.model_types or self.arch.model_type in rule.model_types)
            and (rule.n_layers is None or self.n_layers == rule.n_layers)
            and (rule.min_gqa is None or self.gqa >= rule.min_gqa)
            and (rule.min_experts is None or self.experts >= rule.min_experts)
            and (rule.max_experts is None or self.experts <= rule.max_experts)
        )


def matrix_shape(weight: Weight) -> tuple[int, int]:
    """(out_features, in_features) of a weight; a vector of n is (n, 1)."""
    if len(weight.shape) == 1:
        return weight.shape[0], 1
    return prod(weight.shape[:-1]), weight.shape[-1]


@kept_by_identity(16)
def model_table(arch: Architecture) -> ModelTable:
    """The table of a model, kept for the models seen last."""
    n_layers = len(arch.layers)
    # equal layers usually share one tuple of weights: hash each tuple's weights once
    layers_of: dict[int, list[int]] = {}
    weights_of: dict[int, tuple[Weight, ...]] = {}
    for index, layer in enumerate(arch.layers):
        layers_of.setdefault(id(layer.weights), []).append(index)
        weights_of[id(layer.weights)] = layer.weights
    counts: dict[Weight, NDArray[np.float64]] = {}
    for key, indices in layers_of.items():
        for weight in weights_of[key]:
            if weight not in counts:
                counts[weight] = np.zeros(n_layers)
            counts[weight][indices] += weight.copies
    experts = 0
    roles = {weight.role for weight in counts}
    for weight in counts:
        if weight.role is Role.EXPERT_DOWN and len(weight.shape) > 1:
            # experts as copies of a matrix, or as one tensor with an expert dimension
            experts = max(experts, weight.copies, weight.shape[0] if len(weight.shape) == 3 else 0)
    structure = set()
    if experts:
        structure.add("moe")
    if Role.MLA_KV_A in roles:
        structure.add("mla")
    if Role.SHARED_DOWN in roles:
        structure.add("shared_experts")
    if not any(weight.role is Role.LM_HEAD for weight in arch.outside):
        structure.add("tied")
    entries = tuple(Entry(weight, matrix_shape(weight), held) for weight, held in counts.items())
    shards: dict[Shard, list[int]] = {}
    for index, entry in enumerate(entries):
        shards.setdefault(entry.weight.shard, []).append(index)
    elements = sum(entry.shape[0] * entry.shape[1] * int(entry.counts.sum()) for entry in entries)
    # latent attention is stored with one KV head
    kv_heads = 1 if "mla" in structure else arch.num_key_value_heads
    return ModelTable(
        arch,
        n_layers,
        experts,
        arch.num_attention_heads / kv_heads if kv_heads else 0,
        frozenset(structure),
        entries,
        np.array([entry.counts for entry in entries]).reshape(len(entries), n_layers),
        shards,
        elements + sum(weight.elements for weight in arch.outside),
    )
