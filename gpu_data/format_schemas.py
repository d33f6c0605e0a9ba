"""Types of the number-format tables: how a tensor is stored, which tensors a format touches, who runs it.

Tables are data (`formats.toml`, `gguf_formats.toml`); the interpreter is `calculators.formats`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, PositiveFloat, PositiveInt, model_validator

NonNegative = Annotated[float, Field(ge=0)]


class Frozen(BaseModel):
    """Base of all tables: immutable, no unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Storage(Frozen):
    """How the numbers of one tensor of shape (out_features, in_features) lie in memory.

    bytes = elements * bits / 8 + ceil(out / block[0]) * ceil(in / block[1]) * block_bytes
            + out * out_bytes + in * in_bytes + tensor_bytes
    A row length that `row_multiple` does not divide is stored as `fallback` instead.
    """

    id: str
    bits: NonNegative = 0  # packed numbers alone [bit per element]
    block: tuple[PositiveInt, PositiveInt] | None = None  # (out, in) elements that share block_bytes
    block_bytes: NonNegative = 0  # scale and zero point, or the whole block where bits = 0 [byte]
    out_bytes: NonNegative = 0  # per output channel [byte]
    in_bytes: NonNegative = 0  # per input channel [byte]
    tensor_bytes: NonNegative = 0  # per tensor [byte]
    row_multiple: PositiveInt = 1
    fallback: Storage | None = None
    source: str

    @model_validator(mode="after")
    def _has_bits(self) -> Storage:
        if self.bits == 0 and self.block is None:
            raise ValueError(f"storage {self.id}: neither bits nor block")
        if self.row_multiple > 1 and self.fallback is None:
            raise ValueError(f"storage {self.id}: row_multiple without fallback")
        return self


LayerSet = Literal[
    "all",
    "more_bits",
    "first_8th",
    "first_16th",
    "middle_6_8ths",
    "first_2",
    "first_4",
]
LayerCount = Literal["layers", "holders"]


class Rule(Frozen):
    """Tensors of these roles are stored so, when every trait of the model holds and in these layers.

    The first rule that matches decides. `fallback` replaces the storage's own one. `count` says what
    `layers` counts: the model's layers, or only those that hold a tensor of this role.
    """

    roles: tuple[str, ...]
    storage: Storage
    when: tuple[str, ...] = ()
    layers: LayerSet = "all"
    count: LayerCount = "layers"
    fallback: Storage | None = None


class RoleAlias(Frozen):
    """Where every trait of the model holds, these roles are treated as another one (fused tensors).

    With `rows_of` only matrices with as many rows as the model's tensor of that role.
    """

    roles: tuple[str, ...]
    rows_of: str | None = None
    as_role: str
    when: tuple[str, ...]


class EngineLayout(Frozen):
    """How an engine's kernel keeps a format in memory where that differs from the checkpoint.

    Expert sizes are rounded up after the tensor-parallel split; storages are replaced by id.
    The conditions say on which GPUs, and from which version on, the engine chooses it.
    """

    id: str
    engine: str
    label: str
    hidden_multiple: PositiveInt = 1
    intermediate_multiple: PositiveInt = 1
    applies_to: tuple[str, ...]  # storage ids
    replace: Storage | None = None  # what those are kept as
    vendors: tuple[str, ...] = ()  # empty = any
    min_compute_capability: float | None = None  # NVIDIA's number
    max_compute_capability: float | None = None  # inclusive
    from_version: tuple[int, ...] = ()  # of the engine; empty = every version
    source: str


class SupportRule(Frozen):
    """One sentence on which GPUs run a format, and how; the first rule that matches decides.

    A condition that the GPU's row leaves unknown does not match.
    """

    state: Literal["native", "storage", "no"]
    reason: str
    source: str
    vendors: tuple[str, ...] = ()  # empty = any
    min_compute_capability: float | None = None  # NVIDIA's number
    max_compute_capability: float | None = None  # inclusive
    gfx: tuple[str, ...] = ()  # AMD's target names
    has: tuple[str, ...] = ()  # each of these peak columns is filled
    lacks: tuple[str, ...] = ()  # each of these dtypes is in unsupported_dtypes


class NativeRecipe(Frozen):
    """Which storage a checkpoint's own `quantization_config` means; the first that matches decides.

    The block or group size of the checkpoint replaces the storage's own one.
    """

    methods: tuple[str, ...] = ()  # quant_method; empty = any
    kind: str = ""  # as in NativeQuantization; empty = any
    bits: PositiveInt | None = None  # None = any
    roles: tuple[str, ...]
    storage: Storage  # without blocks in two dimensions
    block_storage: Storage | None = None  # with them
    support: tuple[SupportRule, ...]


class ModuleNames(Frozen):
    """What a role's module is called inside a layer, to match the names in `modules_to_not_convert`."""

    model_types: tuple[str, ...] = ()  # empty = every other model
    names: Mapping[str, tuple[str, ...]]


class TraitRule(Frozen):
    """A named property of a model that rules can ask for; all given conditions must hold."""

    name: str
    model_types: tuple[str, ...] = ()  # empty = any
    n_layers: PositiveInt | None = None
    min_gqa: PositiveInt | None = None  # query heads per KV head
    min_experts: PositiveInt | None = None
    max_experts: PositiveInt | None = None


class WeightFormat(Frozen):
    """A way to store a model's weights: rules by tensor role, and what stays in `rest`."""

    id: str
    label: str
    kind: Literal["plain", "float", "integer", "gguf", "native"]
    nominal_bits: PositiveFloat  # what the name says [bit per weight]
    compute_dtype: str  # what the tensor cores would multiply in when the format is native
    rest: Storage  # what no rule touches
    rules: tuple[Rule, ...] = ()
    aliases: tuple[RoleAlias, ...] = ()
    traits: tuple[TraitRule, ...] = ()
    modules: tuple[ModuleNames, ...] = ()
    dtypes: Mapping[str, Storage] = {}  # a checkpoint without quantisation: its dtype
    layouts: tuple[EngineLayout, ...] = ()
    recipes: tuple[NativeRecipe, ...] = ()
    support: tuple[SupportRule, ...] = ()
    engines: tuple[str, ...] = ()
    note: str = ""
    source: str

    @cached_property
    def rules_by_role(self) -> dict[str, tuple[Rule, ...]]:
        """The rules that name each role, in order."""
        roles = {role for rule in self.rules for role in rule.roles}
        return {role: tuple(rule for rule in self.rules if role in rule.roles) for role in roles}


class KvFormat(Frozen):
    """How keys and values are stored in the cache."""

    id: str
    label: str
    bits: PositiveFloat  # numbers alone [bit per element]
    block: PositiveInt | None = None  # elements that share block_bytes; None with block_bytes = one head row
    block_bytes: NonNegative = 0
    compute_dtype: str
    engines: tuple[str, ...]  # whose option accepts it
    engine_names: Mapping[str, str] = {}  # how each engine's option spells it
    support: tuple[SupportRule, ...] = ()
    note: str = ""
    source: str


class FormatLabel(Frozen):
    """What a label means: a format, perhaps with an assumption, or why it is refused."""

    label: str
    format: str | None
    assumption: str = ""
    refused: str = ""


class LabelRule(Frozen):
    """Words people and logs use for a format; `pattern` is matched against the whole label in lower case."""

    pattern: str
    format: str | None = None
    assumption: str = ""
    refused: str = ""

    @model_validator(mode="after")
    def _decides(self) -> LabelRule:
        if (self.format is None) == (not self.refused):
            raise ValueError(f"label {self.pattern}: exactly one of format and refused")
        return self


Storage.model_rebuild()
