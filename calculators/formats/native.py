"""Storage of a checkpoint as released: its own quantization_config put on the model's tensors."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from calculators.architecture.layout import Architecture, NativeQuantization, QuantGroup, Role
from calculators.formats.model_table import Mask, ModelTable
from gpu_data.format_schemas import NativeRecipe, Storage, SupportRule, WeightFormat

_LAYER = re.compile(r"(?:layers|h|blocks|block)\.(\d+|\*)(?=$|[.*])")
_WHOLE_ROW = 2**31  # a group that no row outgrows
_ELIDED = re.compile(r"^\.\.\..*entries$")


class FormatRefused(ValueError):
    """A format that cannot be computed: `field` names what, `reason` says why in one sentence."""

    def __init__(self, field: str, reason: str):
        super().__init__(f"{field}: {reason}")
        self.field = field
        self.reason = reason


@dataclass(frozen=True, slots=True)
class NativeChoices:
    """Storage by role, first match first, and what the rest is kept in."""

    by_role: Mapping[Role, Sequence[tuple[Mask | None, Storage]]]
    rest: Storage
    assumptions: tuple[str, ...] = ()


def native_choices(table: ModelTable, fmt: WeightFormat) -> NativeChoices:
    """What the checkpoint's own configuration says of every role.

    Raises FormatRefused for a method or dtype that the tables do not know.
    """
    arch = table.arch
    native = arch.quantization
    if native is None:
        if arch.dtype not in fmt.dtypes:
            raise FormatRefused("dtype", f"unknown dtype {arch.dtype!r}")
        return NativeChoices({}, fmt.dtypes[arch.dtype])
    main = QuantGroup((), native.kind, native.bits or 0, native.group_size, native.block_size)
    recipe, storage = _recipe(fmt, native, main)
    names = next(m.names for m in fmt.modules if not m.model_types or arch.model_type in m.model_types)
    kept = _Patterns.read(native.not_converted)
    groups = [
        (_Patterns.read(g.targets), _recipe(fmt, native, g)[1]) for g in native.groups if g.kind != "none"
    ]
    by_role = {}
    for role_name in recipe.roles:
        role = Role(role_name)
        tails = names.get(role_name, ())
        choices: list[tuple[Mask | None, Storage]] = []
        for patterns, chosen in ((kept, fmt.rest), *groups):
            mask = patterns.layers(tails, table.n_layers)
            if mask.any():
                choices.append((None if mask.all() else mask, chosen))
        if storage is not fmt.rest:
            choices.append((None, storage))
        by_role[role] = choices
    assumptions = ()
    if kept.elided:
        assumptions = (
            "quantization_config lists its exceptions only in part: the pattern goes on in all layers",
        )
    return NativeChoices(by_role, fmt.rest, assumptions)


def native_support(arch: Architecture, fmt: WeightFormat) -> tuple[SupportRule, ...]:
    """The support rules of a checkpoint as released.

    Raises FormatRefused for a method that the tables do not know.
    """
    native = arch.quantization
    if native is None:
        return fmt.support
    main = QuantGroup((), native.kind, native.bits or 0, native.group_size, native.block_size)
    return _recipe(fmt, native, main)[0].support


def _recipe(fmt: WeightFormat, native: NativeQuantization, group: QuantGroup) -> tuple[NativeRecipe, Storage]:
    for recipe in fmt.recipes:
        if recipe.methods and native.method not in recipe.methods:
            continue
        if recipe.kind and recipe.kind != group.kind:
            continue
        if recipe.bits is not None and recipe.bits != group.bits:
            continue
        storage = recipe.storage
        if group.block_size and recipe.block_storage:
            storage = _with_block(recipe.block_storage, group.block_size)
        elif storage.block and storage.block[0] == 1:
            storage = _with_block(storage, (1, group.group_size or _WHOLE_ROW))
        return recipe, storage
    what = f"{native.method} with {group.bits or 'unknown'} bits {group.kind}".strip()
    raise FormatRefused("quantization_config.quant_method", f"unknown quantisation: {what}")


@lru_cache(maxsize=64)
def _with_block(storage: Storage, block: tuple[int, int]) -> Storage:
    if storage.block == block:
        return storage
    return storage.model_copy(update={"block": block})


@dataclass(frozen=True, slots=True)
class _Patterns:
    """Module name patterns: globs or names by the layers they list, and regular expressions.

    A name matches where the pattern stands in it between dots: "lm_head", "mlp.gate", "visual",
    "model.layers.3.self_attn*". Source: is_layer_skipped of vLLM's quantisation utils, ModelOpt's
    wildcard matching, compressed-tensors' "re:" patterns.
    """

    by_tail: Mapping[str, frozenset[int] | None]  # None = in all layers
    expressions: tuple[re.Pattern[str], ...]
    elided: bool

    @staticmethod
    def read(patterns: Iterable[str]) -> _Patterns:
        """Sorts patterns by what follows the layer number; a cut list counts for all layers."""
        by_tail: dict[str, frozenset[int] | None] = {}
        expressions = []
        patterns = list(patterns)
        elided = any(_ELIDED.match(p) for p in patterns)
        for pattern in patterns:
            if pattern.startswith("re:"):
                expressions.append(re.compile(pattern[3:]))
                continue
            numbers = list(_LAYER.finditer(pattern))
            if not numbers:
                by_tail[pattern] = None
                continue
            found = numbers[-1]
            tail = pattern[found.end() :].removeprefix(".")
            layers = None if elided or found[1] == "*" else frozenset({int(found[1])})
            known = by_tail.get(tail, frozenset())
            by_tail[tail] = None if layers is None or known is None else layers | known
        return _Patterns(by_tail, tuple(expressions), elided)

    def layers(self, tails: Sequence[str], n_layers: int) -> Mask:
        """In which layers a module of one of these names matches."""
        mask = np.zeros(n_layers, bool)
        for pattern, layers in self.by_tail.items():
            if any(_glob(pattern).search(tail) for tail in tails):
                if layers is None:
                    mask[:] = True
                else:
                    mask[[i for i in layers if i < n_layers]] = True
        for expression in self.expressions:
            by_layer = any(c.isdigit() for c in expression.pattern)
            for i in range(n_layers if by_layer else 1):
                if any(expression.match(f"model.layers.{i}.{tail}") for tail in tails):
                    mask[i if by_layer else slice(None)] = True
        return mask


@lru_cache(maxsize=512)
def _glob(pattern: str) -> re.Pattern[str]:
    body = ".*".join(re.escape(part) for part in pattern.split("*"))
    return re.compile(rf"(?:^|\.){body}(?:$|\.)" if body else "^")
