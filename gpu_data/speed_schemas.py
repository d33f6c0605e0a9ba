"""Types of the speed tables: constants of engines, error bands, measured GPUs, benchmark protocols.

Data: `speed.toml`, `speed_measured.toml`. The formulas
that use the constants: `calculators.speed`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, PositiveFloat, PositiveInt

Basis = Literal["documented", "derived", "measured", "fitted", "assumed"]
Quantity = Literal["decode", "prefill", "throughput", "ttft", "tpot"]
Load = Literal["single", "closed", "batch", "any"]  # closed: of batch, clients who wait for each answer
NonNegative = Annotated[float, Field(ge=0)]


class Frozen(BaseModel):
    """Base of all tables: immutable, no unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Constant(Frozen):
    """What one constant of the speed model means, the same for every engine."""

    id: str
    unit: str
    meaning: str
    low: NonNegative  # the fit looks between these
    high: PositiveFloat
    start: PositiveFloat  # where a first fit starts


class SpeedConstants(Frozen):
    """The constants of one engine by id; every engine has all of them.

    `fitted` names those that measurements decided; `source_of` says where each of the others comes from.
    """

    values: Mapping[str, float]
    fitted: tuple[str, ...]
    source_of: Mapping[str, str]

    def __getitem__(self, name: str) -> float:
        return self.values[name]


class SpeedVersion(Frozen):
    """Which engine names select a set: a regular expression in the lower-cased "name version" text."""

    pattern: str
    below: tuple[int, ...] | None = None  # first dotted number of the text, exclusive


class SpeedEngine(Frozen):
    """How one engine, or one range of its versions, schedules work, and its constants."""

    id: str
    label: str
    memory_engine: str  # id in engines.toml
    mixes_prefill: bool  # prompts and decode share a step (chunked prefill, in-flight batching)
    half_accumulate: bool  # multiplies with FP16 accumulation where the GPU has a faster rate for it
    fused_attention: bool  # attention scores stay on the chip
    dequantises_prompts: bool  # prompts: weights are unpacked to 16 bits in memory first
    splits_by_layers: bool
    chunk_tokens: PositiveInt  # prompt tokens of one step
    graph_context_tokens: PositiveInt = 2**31  # longer contexts decode outside CUDA graphs
    graphs_since: str = ""  # year and month; before, every kernel was launched by the host
    pipeline_chunks: PositiveInt  # chunks in flight over GPUs that split by layers
    max_num_seqs: PositiveInt
    limited_by_memory_only: bool = False  # sequences at once: room in the cache, no default of its own
    reserves_answer: bool = False  # room for the whole answer is kept from the start
    constants: SpeedConstants
    matches: tuple[SpeedVersion, ...]
    first_released: str = ""  # year and month, of the first version in the set
    rows: int  # measured rows that decided the constants
    source: str
    note: str = ""  # what a reader must know about every estimate


class StandIn(Frozen):
    """An engine that another one stands for: a regular expression in its lower-cased name, and why."""

    pattern: str
    engine: str
    reason: str
    splits_by_layers: bool = False
    without_graphs: bool = False  # every kernel is launched by the host


class SpeedBand(Frozen):
    """80 % band of measured over estimated: the 10 % and 90 % quantiles over GPUs left out of the fit.

    A quantity lies between estimate x low and estimate x high in four of five cases. The quantiles lie
    further out where a band made from the other GPUs would hold less than three of four points of a GPU.
    That of "any" engine stands for those with too few points; in it every engine counts the same.
    """

    engine: str
    quantity: Quantity
    load: Load
    low: PositiveFloat
    high: PositiveFloat
    rows: PositiveInt
    gpus: PositiveInt
    median_abs_error_pct: NonNegative  # of the GPUs left out
    p90_abs_error_pct: NonNegative


class MeasuredGpu(Frozen):
    """A GPU somebody measured that is not in the catalogue: its data sheet, in the catalogue's units."""

    names: tuple[str, ...]
    spec: Mapping[str, float | str | bool]
    source: str


class MeasuredModel(Frozen):
    """A model that measured tables name and the catalogue does not hold, as a config.json."""

    names: tuple[str, ...]
    config: Mapping[str, Any]
    source: str


class Workload(Frozen):
    """What a benchmark's protocol fixes and its result rows leave out.

    `scenario`, `input_len`, `output_len`, `model` are regular expressions over those columns ("" = any); the
    first workload that matches counts. Empty fields leave the row's own figure.
    """

    scenario: str = ""
    notes: str = ""
    input_len: str = ""
    output_len: str = ""
    model: str = ""
    traffic: Literal["single", "static", "burst", "open", "closed"]
    input_tokens: PositiveFloat | None = None
    output_tokens: PositiveFloat | None = None
    output_tokens_max: PositiveFloat | None = None
    requests: PositiveInt | None = None
    max_num_seqs: PositiveInt | None = None
    max_model_len: PositiveInt | None = None
    statistic: Literal["mean", "median"] = "mean"
    source: str
