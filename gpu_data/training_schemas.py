"""Types of the training tables: number formats, optimisers, frameworks, speed constants, error bands.

Data: `training.toml`, `matmul_ceilings.toml`. The formulas that use them: `calculators.training`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, PositiveFloat, PositiveInt

NonNegative = Annotated[float, Field(ge=0)]
Fraction = Annotated[float, Field(ge=0, le=1)]
Basis = Literal["documented", "derived", "measured", "fitted", "assumed"]
MatmulDtype = Literal["fp32", "tf32", "fp16", "bf16", "fp8"]
Checkpointing = Literal["none", "selective", "full"]
Texts = Annotated[tuple[str, ...], Field(strict=False)]


class Frozen(BaseModel):
    """Base of all tables: immutable, no unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Constant(Frozen):
    """One number with its unit, what it means, and how it is known."""

    value: float
    unit: str
    meaning: str
    basis: Basis
    source: str


class Precision(Frozen):
    """Bytes that one trained parameter takes, and what the matrix products run in.

    weight_bytes is resident for trained weights; copy_bytes is a 16-bit working copy kept beside it when the
    weights are not sharded; state_bytes is for each optimiser state unless the optimiser has its own.
    """

    id: str
    label: str
    weight_bytes: PositiveFloat
    copy_bytes: NonNegative
    compute_bytes: PositiveFloat  # of an activation, and of a weight that is gathered for use
    gradient_bytes: PositiveFloat
    master_bytes: NonNegative
    state_bytes: PositiveFloat
    matmul: MatmulDtype
    matches: Texts = ()  # regular expressions for what people write
    source: str


class Optimizer(Frozen):
    """What an optimiser keeps for every trained parameter.

    states: how many values; state_bytes: of each, None = as the precision says; factored: a row and a column
    vector per matrix instead (Adafactor); paged: the states move to CPU memory when the GPU is full.
    """

    id: str
    label: str
    states: NonNegative
    state_bytes: PositiveFloat | None = None
    factored: bool = False
    paged: bool = False
    matches: Texts = ()
    source: str


class Framework(Frozen):
    """What one training stack keeps besides the model's own numbers, and what it does when nobody says.

    norm_input_bytes: per element of a normalisation's input (2 fused, 4 when it is copied to fp32).
    norm_trained_bytes: further bytes per element when the normalisation's weight is trained.
    other_hidden_bytes: per hidden element, layer and token for rotary embedding and layout copies.
    gated_inner_bytes: per inner MLP element and token: gate, up and activated gate.
    logit_bytes: per logit alive while the loss is computed.
    quantized_hidden_bytes: further bytes per hidden element, layer and token of a 4-bit base;
        quantized_logit_bytes: per logit.
    adapter_bytes: of an adapter's weight, gradient and state; None = as the precision says.
    quantizes_head: a 4-bit base has its output head in 4 bits too; single_quantization: its scales stay fp32.
    unties_head: a tied embedding table is held twice.
    unsharded_gradients: gradients stay whole between accumulation steps although FSDP shards (no_sync), and
        frozen weights that share a flat parameter with trained ones get a gradient as well.
    gathered_units: blocks that FSDP has whole at one time, besides embedding and head.
    reserved_factor: what the printed peak is, as a multiple of what tensors take (1 = allocated memory).
    streams_offload: offloaded states are streamed through the GPU, not stepped on the CPU.
    selective_kept: share of a block's activations that "selective" checkpointing keeps.
    selective_recomputed: share of the forward pass that it computes again.
    """

    id: str
    label: str
    matches: Texts = ()  # regular expressions searched in a row's source and notes
    norm_input_bytes: NonNegative
    norm_trained_bytes: NonNegative
    other_hidden_bytes: NonNegative
    gated_inner_bytes: NonNegative
    expands_kv: bool = False
    lora_dropout_bytes: NonNegative = 0
    logit_bytes: NonNegative
    quantized_hidden_bytes: NonNegative = 0
    quantized_logit_bytes: NonNegative = 0
    adapter_bytes: PositiveFloat | None = None
    quantizes_head: bool = False
    single_quantization: bool = False
    unties_head: bool = False
    unsharded_gradients: bool = False
    gathered_units: NonNegative = 2
    reserved_factor: PositiveFloat = 1
    selective_kept: Fraction = 0.5
    selective_recomputed: Fraction = 0.5
    streams_offload: bool = False
    precision: str = "bf16"
    optimizer: str = "adamw"
    checkpointing: Checkpointing = "none"
    checkpointing_sharded: Checkpointing | None = None  # on several GPUs, when it differs
    accumulates: bool = True
    lora_rank: PositiveInt = 16
    lora_targets: Texts = ("all-linear",)
    default_seq_len: PositiveInt = 2048
    zero_stage: Literal[0, 1, 2, 3] = 3  # of a run on several GPUs
    one_gpu_methods: Texts = ()  # methods whose published configurations use one GPU of the machine
    note: str = ""
    source: str


class PublishedConfig(Frozen):
    """What a published fine-tuning configuration sets; None = the stack's default.

    `folder` tells configurations of one name apart. quantizes_experts: whether a 4-bit base has its routed
    experts in 4 bits too.
    """

    stack: str
    name: str
    folder: str = ""
    devices: PositiveInt | None = None
    accumulation: PositiveInt | None = None
    lora_rank: PositiveInt | None = None
    lora_targets: Texts = ()
    fused_loss: bool | None = None
    quantizes_experts: bool = True
    offload_activations: bool = False


class TrainingBand(Frozen):
    """How far measured values lie from the estimate, as fractions of it: 80 % lie inside.

    low and high are the 10 % and 90 % quantile of measured / estimated - 1 on held-out rows. gpu_ids: the
    GPUs whose measurements are behind it, for a band that holds for those only.
    """

    quantity: str
    gpu_ids: Texts = ()
    low: Annotated[float, Field(gt=-1)]
    high: float
    rows: PositiveInt
    note: str


class MatmulCeiling(Frozen):
    """The fastest matrix product anyone measured on a GPU."""

    gpu: str
    gpu_ids: Texts
    dtype: MatmulDtype
    max_tflops: PositiveFloat
    peak_tflops_in_source: PositiveFloat
    best_shape_mnk: str
    software: str
    source: str

    @property
    def fraction(self) -> float:
        """Share of the peak the source states."""
        return self.max_tflops / self.peak_tflops_in_source


class TrainingTables(Frozen):
    """All tables of `training.toml`, by id."""

    precisions: Mapping[str, Precision]
    optimizers: Mapping[str, Optimizer]
    frameworks: Mapping[str, Framework]
    constants: Mapping[str, Constant]
    lora_targets: Mapping[str, Texts]
    bands: Mapping[str, TrainingBand]
    ceilings: tuple[MatmulCeiling, ...] = ()

    def speed_band(self, gpu_id: str) -> TrainingBand:
        """The band of tokens per second on a GPU: narrower where the GPU itself has been measured."""
        known = self.bands["tokens_per_s_per_gpu"]
        return known if gpu_id in known.gpu_ids else self.bands["tokens_per_s_per_unmeasured_gpu"]

    def number(self, name: str) -> float:
        """The value of a constant. Raises KeyError naming it when there is none."""
        try:
            return self.constants[name].value
        except KeyError:
            raise KeyError(f"training.toml has no constant {name!r}") from None
