"""Bytes of a model's weights in a format: in all, by role, by layer, and outside the layers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil

import numpy as np
from numpy.typing import NDArray

from calculators.architecture.layout import Architecture, Role, Shard, Weight
from calculators.formats.assignment import Assigner
from calculators.formats.model_table import ModelTable, matrix_shape, model_table
from calculators.formats.storage import stored_bytes
from gpu_data.format_schemas import EngineLayout, Storage, WeightFormat

OUTSIDE = -1  # layer index of a tensor that belongs to no layer
_EXPERT_ROLES = frozenset({Role.EXPERT_GATE, Role.EXPERT_UP, Role.EXPERT_DOWN})


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


class _Sizer:
    """Bytes of one copy of a tensor, for one model in one format as one engine keeps it."""

    def __init__(self, table: ModelTable, fmt: WeightFormat, layout: EngineLayout | None, tp: int):
        self.assigner = Assigner(table, fmt)
        self.table = table
        self.layout = layout
        self.tp = tp

    def size(self, weight: Weight, shape: tuple[int, int]) -> float | NDArray[np.float64]:
        """A number, or one per layer where the format treats layers differently."""
        rest = self.assigner.rest
        if len(weight.shape) == 1:
            return self._bytes(shape, rest, None)
        choices = self.assigner.choices(weight)
        if not choices:
            return self._bytes(shape, rest, None)
        if choices[0].layers is None:
            return self._stored(weight, shape, choices[0].storage, choices[0].fallback)
        size = np.full(self.table.n_layers, self._bytes(shape, rest, None))
        for layers, storage, fallback in reversed(choices):
            size[... if layers is None else layers] = self._stored(weight, shape, storage, fallback)
        return size

    def _stored(
        self, weight: Weight, shape: tuple[int, int], storage: Storage, fallback: Storage | None
    ) -> float:
        layout = self.layout
        if layout is not None and storage.id in layout.applies_to:
            if weight.role in _EXPERT_ROLES:
                shape = _padded(weight.role, shape, layout, self.tp)
            storage = layout.replace or storage
        return self._bytes(shape, storage, fallback)

    def _bytes(self, shape: tuple[int, int], storage: Storage, fallback: Storage | None) -> float:
        # mixtures share tensor types: the same shape in the same storage comes up in many formats
        key = (shape, storage.id, storage.block, fallback and fallback.id)
        found = self.table.cache.get(key)
        if found is None:
            found = self.table.cache[key] = stored_bytes(*shape, storage, fallback)
        return found


def _padded(role: Role, shape: tuple[int, int], layout: EngineLayout, tp: int) -> tuple[int, int]:
    """An expert's shape with both sizes rounded up; the intermediate one after its split over `tp`."""
    hidden, intermediate = shape if role is Role.EXPERT_DOWN else shape[::-1]
    hidden = ceil(hidden / layout.hidden_multiple) * layout.hidden_multiple
    part = ceil(intermediate / tp)
    intermediate = ceil(part / layout.intermediate_multiple) * layout.intermediate_multiple * tp
    return (hidden, intermediate) if role is Role.EXPERT_DOWN else (intermediate, hidden)


def tensor_bytes(
    weight: Weight, fmt: WeightFormat, layer_index: int, n_layers: int, arch: Architecture
) -> float:
    """Bytes of one `Weight`, all its copies, in a layer [byte]; layer_index -1 for one outside the layers.

    Raises FormatRefused when `fmt` is the native one and the checkpoint's quantisation is unknown.
    """
    table = model_table(arch)
    size = _Sizer(table, fmt, None, 1).size(weight, matrix_shape(weight))
    if isinstance(size, np.ndarray):
        size = float(size[layer_index])
    return size * weight.copies


def weights_bytes(
    arch: Architecture, fmt: WeightFormat, layout: EngineLayout | None = None, tensor_parallel_size: int = 1
) -> WeightBytes:
    """Bytes of every weight of a model in a format, over all GPUs [byte]; kept for the models seen last.

    With `layout` as that engine keeps it in memory, padding included, which `tensor_parallel_size` changes.
    Raises FormatRefused when `fmt` is the native one and the checkpoint's quantisation is unknown.
    """
    table = model_table(arch)
    if layout is not None and not table.experts and layout.replace is None:
        layout = None  # it pads experts only
    ways = tensor_parallel_size if layout is not None and table.experts else 1
    key = (fmt.id, id(fmt), layout and layout.id, ways)
    found = table.cache.get(key)
    if found is None:
        found = table.cache[key] = _compute(table, _Sizer(table, fmt, layout, ways))
    return found


def _compute(table: ModelTable, sizer: _Sizer) -> WeightBytes:
    # Most tensors have one size in all layers; those with one per layer are added row by row.
    same = np.zeros(len(table.entries))
    varied: list[tuple[int, NDArray[np.float64]]] = []
    for index, entry in enumerate(table.entries):
        size = sizer.size(entry.weight, entry.shape)
        if isinstance(size, np.ndarray):
            varied.append((index, size * entry.counts))
        else:
            same[index] = size
    totals = same * table.counts.sum(axis=1)
    by_shard = {shard: same[rows] @ table.counts[rows] for shard, rows in table.shards.items()}
    for index, sizes in varied:
        totals[index] = sizes.sum()
        by_shard[table.entries[index].weight.shard] += sizes
    layers = sum(by_shard.values(), np.zeros(table.n_layers))
    by_role: dict[Role, float] = {}
    for entry, total in zip(table.entries, totals.tolist(), strict=True):
        by_role[entry.weight.role] = by_role.get(entry.weight.role, 0.0) + total
    outside = []
    for weight in table.arch.outside:
        size = sizer.size(weight, matrix_shape(weight))
        size = float(size[OUTSIDE] if isinstance(size, np.ndarray) else size) * weight.copies
        outside.append((weight, size))
        by_role[weight.role] = by_role.get(weight.role, 0.0) + size
    native = sizer.assigner.native
    return WeightBytes(
        float(layers.sum()) + sum(size for _, size in outside),
        by_role,
        layers,
        by_shard,
        tuple(outside),
        table.elements,
        native.assumptions if native else (),
    )


def bits_per_weight(arch: Architecture, fmt: WeightFormat) -> float:
    """True average bits per weight: all bytes over all elements.

    Raises FormatRefused when `fmt` is the native one and the checkpoint's quantisation is unknown.
    """
    found = weights_bytes(arch, fmt)
    return found.total_bytes * 8 / found.elements
