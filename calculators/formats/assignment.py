"""Which storage each tensor of a model gets in a format: the interpreter of the rule tables."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from calculators.architecture.layout import Role
from calculators.formats.model_table import Mask, ModelTable
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


def _mask(rule: Rule, role: Role, table: ModelTable) -> Mask | None:
    if rule.layers == "all":
        return None
    if rule.count == "layers":
        return layer_set(rule.layers, table.n_layers)
    holders = table.holders.get(role)
    if holders is None:
        return np.zeros(table.n_layers, bool)
    found = np.zeros(table.n_layers, bool)
    found[holders] = layer_set(rule.layers, int(holders.sum()))
    return found


class Assigner:
    """A format applied to a model: storage choices by role, worked out once each."""

    def __init__(self, table: ModelTable, fmt: WeightFormat):
        self.table = table
        self.fmt = fmt
        self.traits = table.traits(fmt.traits)
        self._known: dict[Role, tuple[Choice, ...]] = {}
        self.native = native_choices(table, fmt) if fmt.kind == "native" else None
        self.rest = self.native.rest if self.native else fmt.rest

    def choices(self, role: Role) -> tuple[Choice, ...]:
        """Storage choices of matrices of this role, first match first; what none covers is `rest`."""
        found = self._known.get(role)
        if found is None:
            found = self._known[role] = tuple(self._choose(role))
        return found

    def _choose(self, role: Role) -> list[Choice]:
        if self.native:
            return [Choice(*pair) for pair in self.native.by_role.get(role, ())]
        acts_as = role.value
        for alias in self.fmt.aliases:
            if acts_as in alias.roles and self.traits.issuperset(alias.when):
                acts_as = alias.as_role
        found = []
        for rule in self.fmt.rules:
            if acts_as in rule.roles and self.traits.issuperset(rule.when):
                mask = _mask(rule, role, self.table)
                found.append(Choice(mask, rule.storage, rule.fallback))
                if mask is None:
                    break
        return found
