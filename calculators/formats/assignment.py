"""Which storage each tensor of a model gets in a format: the interpreter of the rule tables."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from calculators.architecture.layout import Role, Weight
from calculators.formats.model_table import Mask, ModelTable, matrix_shape
from calculators.formats.native import native_choices
from gpu_data.format_schemas import Rule, Storage, WeightFormat


class Choice(NamedTuple):
    """Tensors in these layers (None: in all) get this storage, or `fallback` where the row does not fit."""

    layers: Mask | None
    storage: Storage
    fallback: Storage | None = None


@lru_cache(maxsize=512)
def layer_set(name: str, n: int) -> Mask:
    """Which of n layers a named set of `Rule.layers` holds.

    Source: llama.cpp src/llama-quant.cpp, use_more_bits and the bounds n/8, n/16 beside it.
    """
    i = np.arange(n)
    eighth = n // 8
    found = {
        "all": i >= 0,
        "more_bits": (i < eighth) | (i >= 7 * n // 8) | ((i - eighth) % 3 == 2),
        "first_8th": i < eighth,
        "first_16th": i < n // 16,
        "middle_6_8ths": (i >= eighth) & (i < 7 * n // 8),
        "first_2": i < 2,
        "first_4": i < 4,
    }[name]
    found.flags.writeable = False
    return found


class Assigner:
    """A format applied to a model: storage choices of its matrices, worked out once per role."""

    def __init__(self, table: ModelTable, fmt: WeightFormat):
        self.table = table
        self.fmt = fmt
        self.traits = table.traits(fmt.traits)
        self.native = native_choices(table, fmt) if fmt.kind == "native" else None
        self.rest = self.native.rest if self.native else fmt.rest
        self._aliases = [a for a in fmt.aliases if self.traits.issuperset(a.when)]
        self._known: dict[str, tuple[Choice, ...]] = {}

    def choices(self, weight: Weight) -> tuple[Choice, ...]:
        """Storage choices of a matrix, first match first; what none covers is `rest`."""
        role = self._acts_as(weight)
        found = self._known.get(role)
        if found is None:
            found = self._known[role] = tuple(self._choose(role))
        return found

    def _acts_as(self, weight: Weight) -> str:
        for alias in self._aliases:
            if weight.role.value in alias.roles and (
                alias.rows_of is None or matrix_shape(weight)[0] in self.table.rows(Role(alias.rows_of))
            ):
                return alias.as_role
        return weight.role.value

    def _choose(self, role: str) -> list[Choice]:
        if self.native:
            return [Choice(*pair) for pair in self.native.by_role.get(Role(role), ())]
        found = []
        for rule in self.fmt.rules_by_role.get(role, ()):
            if self.traits.issuperset(rule.when):
                mask = self._mask(rule, role)
                found.append(Choice(mask, rule.storage, rule.fallback))
                if mask is None:
                    break
        return found

    def _mask(self, rule: Rule, role: str) -> Mask | None:
        if rule.layers == "all":
            return None
        if rule.count == "layers":
            return layer_set(rule.layers, self.table.n_layers)
        holders = np.zeros(self.table.n_layers, bool)
        for entry in self.table.entries:
            if len(entry.weight.shape) > 1 and self._acts_as(entry.weight) == role:
                holders |= entry.counts > 0
        found = np.zeros(self.table.n_layers, bool)
        found[holders] = layer_set(rule.layers, int(holders.sum()))
        return found
