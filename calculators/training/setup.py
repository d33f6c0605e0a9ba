"""What is trained how and where: the input of the training calculators."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calculators.architecture.layout import Architecture, Role
from calculators.kept import kept_by_identity
from gpu_data.format_schemas import WeightFormat
from gpu_data.training_schemas import Checkpointing, Framework, Optimizer, Precision

Number = float | NDArray[Any]
Count = int | NDArray[Any]

METHODS = ("full", "lora", "qlora", "adapter", "adapter-v2")
OFFLOADS = ("none", "optimizer", "all")


@dataclass(frozen=True)
class Parallel:
    """How many GPUs share the work, and how.

    gpus: in all. tensor x pipeline x context GPUs hold one replica; the rest is data parallel. `expert` GPUs
    (taken from the data-parallel ones) deal out the routed experts. zero_stage: what data-parallel GPUs
    split: 0 nothing, 1 optimiser states, 2 and gradients, 3 and weights (FSDP full shard).
    sequence_parallel: tensor-parallel GPUs also split what lies outside the matrix products.
    virtual_stages: pieces of the model per pipeline stage, which shorten its idle time (Narayanan et al.
    2021, section 2.2.2).
    """

    gpus: Count = 1
    tensor: int = 1
    pipeline: int = 1
    context: int = 1
    expert: int = 1
    zero_stage: int = 0
    sequence_parallel: bool = False
    virtual_stages: int = 1

    @property
    def sharders(self) -> Count:
        """GPUs over which ZeRO splits: data parallel x context parallel."""
        return np.maximum(np.asarray(self.gpus) // (self.tensor * self.pipeline), 1)

    @property
    def data(self) -> Count:
        """Data-parallel replicas."""
        return self.sharders // self.context


@dataclass(frozen=True)
class Training:
    """One model trained or fine-tuned one way on one kind of GPU.

    seq_len [token], micro_batch [sequences per data-parallel GPU at once] and accumulation [micro-batches per
    step] may be arrays and broadcast. `base_format` is how frozen weights are stored (LoRA, QLoRA); None: as
    the precision says.
    """

    architecture: Architecture
    framework: Framework
    precision: Precision
    optimizer: Optimizer
    lora_targets: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # name -> roles
    method: str = "full"
    base_format: WeightFormat | None = None
    quantized_experts: bool = (
        True  # False: the base's routed experts stay 16-bit (fused tensors, bitsandbytes)
    )
    lora_rank: Count | None = None
    targets: tuple[str, ...] = ()  # names out of lora_targets; () = the framework's
    seq_len: Count = 2048
    micro_batch: Count = 1
    accumulation: Count = 1
    checkpointing: Checkpointing = "none"
    flash_attention: bool = True
    logit_bytes: float | None = None  # None = the framework's; 0.5 with a fused loss
    offload: str = "none"  # "optimizer": states and masters on the CPU; "all": sharded weights as well
    offload_activations: bool = False
    fused_step: bool = False  # the optimiser steps inside the backward pass: gradients never live together
    parallel: Parallel = Parallel()

    def but(self, **changes: object) -> Training:
        """A copy with some fields changed."""
        return replace(self, **changes)

    @property
    def trains_all(self) -> bool:
        """Whether every weight is trained."""
        return self.method == "full"

    @property
    def rank(self) -> Count:
        """LoRA rank, the framework's when not set."""
        return self.framework.lora_rank if self.lora_rank is None else self.lora_rank

    @property
    def adapted_roles(self) -> frozenset[str]:
        """Roles of the matrices that carry an adapter; empty when all weights are trained."""
        if self.method not in ("lora", "qlora"):
            return frozenset()
        names = self.targets or self.framework.lora_targets
        return frozenset(role for name in names for role in self.lora_targets.get(name, (name,)))

    @property
    def tokens(self) -> Number:
        """Tokens one GPU works on at once [token]: sequence x micro-batch / context parallel."""
        return np.asarray(self.seq_len) * np.asarray(self.micro_batch) / self.parallel.context

    @property
    def loss_bytes_per_logit(self) -> float:
        """Bytes per logit alive at the loss."""
        return self.framework.logit_bytes if self.logit_bytes is None else self.logit_bytes


@kept_by_identity(64)
def most_experts(arch: Architecture) -> int:
    """Routed experts of the layer that has most; 0 without."""
    weights = (w for layer in arch.layers for w in layer.weights if w.role is Role.EXPERT_UP)
    return max((w.copies for w in weights), default=0)


@kept_by_identity(64)
def _roles(arch: Architecture) -> frozenset[str]:
    """Roles of all weights."""
    weights = (w for layer in arch.layers for w in layer.weights)
    return frozenset(w.role.value for w in (*weights, *arch.outside))


def refusal(training: Training) -> str | None:
    """Why the run cannot exist, naming the field; None when it can."""
    p = training.parallel
    if training.method not in METHODS:
        return f"method: {training.method!r} is none of {', '.join(METHODS)}"
    if training.offload not in OFFLOADS:
        return f"offload: {training.offload!r} is none of {', '.join(OFFLOADS)}"
    replica = p.tensor * p.pipeline * p.context
    if np.any(np.asarray(p.gpus) < 1) or np.any(np.asarray(p.gpus) % replica):
        return f"gpus: {p.gpus} is no multiple of tensor x pipeline x context = {replica}"
    if np.any(np.asarray(p.sharders) % p.expert):
        return f"expert_parallel_size: {p.expert} does not divide {p.sharders} data-parallel GPUs"
    heads = training.architecture.num_attention_heads
    if heads and heads % p.tensor:
        return f"tensor_parallel_size: {heads} attention heads cannot be split over {p.tensor} GPUs"
    if p.pipeline > max(len(training.architecture.layers), 1):
        return f"pipeline_parallel_size: {len(training.architecture.layers)} layers for {p.pipeline} stages"
    if np.any(np.asarray(training.seq_len) % p.context):
        return f"context_parallel_size: {training.seq_len} tokens cannot be split over {p.context} GPUs"
    experts = most_experts(training.architecture) if p.expert > 1 else 0
    if p.expert > 1 and (not experts or experts % p.expert):
        has = f"{experts} experts" if experts else "a model without experts"
        return f"expert_parallel_size: {has} cannot be dealt out over {p.expert} GPUs"
    if training.method in ("lora", "qlora") and not _roles(training.architecture) & training.adapted_roles:
        names = ", ".join(training.targets or training.framework.lora_targets)
        return f"lora_targets: this model has no matrices for {names}"
    return None
