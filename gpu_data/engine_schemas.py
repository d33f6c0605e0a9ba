"""Types of the engine tables: what an inference engine allocates besides weights, as documented parameters.

Data: `engines.toml`, `error_bands.toml`. The formulas that use the parameters: `calculators.memory`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, PositiveFloat, PositiveInt, model_validator

NonNegative = Annotated[float, Field(ge=0)]
Fraction = Annotated[float, Field(ge=0, le=1)]

Algorithm = Literal["vllm", "sglang", "tensorrt-llm", "llama.cpp", "transformers"]
Split = Literal["tensor", "layers"]
ShareOf = Literal["total", "free"]
WindowedCache = Literal["full", "window", "blocks", "cells", "pool"]
Towers = Literal["loaded", "separate"]
Basis = Literal["documented", "derived", "measured", "fitted", "assumed"]


class Frozen(BaseModel):
    """Base of all tables: immutable, no unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Parameter(Frozen):
    """One number of an engine: what it means, in which unit, and how it is known.

    basis: documented (the engine's own documentation or source says it), derived (follows from what its
    code allocates), measured (read from logs), fitted (adjusted to measured rows), assumed.
    """

    value: float
    unit: str
    meaning: str
    basis: Basis
    source: str


class BatchDefaults(Frozen):
    """The batch an engine prepares for when nobody says, on GPUs with less than `below_gib` of memory.

    `not_named`: words in a GPU's name that the engine leaves out of this row.
    """

    below_gib: PositiveFloat
    not_named: tuple[str, ...] = ()
    max_num_batched_tokens: PositiveInt
    max_num_seqs: PositiveInt
    graph_max_batch: PositiveInt | None = None
    source: str


class VersionRule(Frozen):
    """Which engine and version strings select a parameter set.

    `engine` and `version` are regular expressions searched in lower-cased text. Optional bounds compare the
    first dotted version number of the version text (below is exclusive), or, for llama.cpp, the build number.
    """

    engine: str
    version: str = ""
    below: tuple[int, ...] | None = None


class NoBackend(Frozen):
    """Vendors on whose GPUs some engines do not run at all, in any format."""

    algorithms: tuple[Algorithm, ...]
    vendors: tuple[str, ...]
    reason: str
    source: str


class Engine(Frozen):
    """One parameter set: an engine, or an engine in one range of its versions.

    towers: loaded = image and audio encoders of a language model come with its weights; separate = they are a
    file of their own, in 16 bits, loaded only when asked for.
    """

    id: str
    label: str
    family: str  # error bands are kept per family
    algorithm: Algorithm
    versions: str  # which versions the set describes
    split: Split
    windowed_cache: WindowedCache
    share_of: ShareOf = "total"
    towers: Towers = "loaded"
    batch_defaults: tuple[BatchDefaults, ...] = ()
    parameters: Mapping[str, Parameter]
    untied_head_formats: tuple[str, ...] = ()
    matches: tuple[VersionRule, ...] = ()
    note: str = ""
    source: str

    @model_validator(mode="after")
    def _ordered(self) -> Engine:
        limits = [row.below_gib for row in self.batch_defaults]
        if limits != sorted(limits):
            raise ValueError(f"engine {self.id}: batch_defaults must rise in below_gib")
        return self

    def number(self, name: str) -> float:
        """The value of one parameter.

        Raises KeyError naming engine and parameter when the set has none of that name.
        """
        try:
            return self.parameters[name].value
        except KeyError:
            raise KeyError(f"engine {self.id} has no parameter {name!r}") from None

    def source_of(self, name: str) -> str:
        """Where one parameter comes from."""
        return self.parameters[name].source


class ErrorBand(Frozen):
    """How far measured need lies from the estimate, as fractions of the estimate.

    low <= 0 <= high for the weights, work_low <= 0 <= work_high for activations and overhead: the ends of the
    band are need + low x weights + work_low x work, and the same with high. From the 1/6 to the 5/6 quantile
    of the measured setups (two of three, one standard deviation) and at least 1 % to either side. Families
    whose engines print the parts have a band for each; those that print totals have the total's for both.
    The cache has no band: it is counted, not estimated.
    """

    family: str
    low: Annotated[float, Field(le=0, gt=-1)]
    high: Annotated[float, Field(ge=0)]
    work_low: Annotated[float, Field(le=0, gt=-1)]
    work_high: Annotated[float, Field(ge=0)]
    rows: PositiveInt
    work_rows: PositiveInt
    note: str
