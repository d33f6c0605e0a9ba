"""How many parameters one GPU holds, trains and shares: whole model, adapters, stages, shards."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import ceil

import numpy as np

from calculators.architecture.counts import params_total
from calculators.architecture.layout import Architecture, Layer, Role, Weight
from calculators.formats import weights_bytes
from calculators.kept import kept_by_identity
from calculators.training.setup import Number, Parallel, Training

EXPERT_ROLES = (Role.EXPERT_GATE, Role.EXPERT_UP, Role.EXPERT_DOWN)
TOWER_ROLES = (Role.VISION, Role.AUDIO, Role.PROJECTOR)


@dataclass(frozen=True)
class Sizes:
    """An amount (elements or bytes) by where it lies: in layers, in routed experts, at the two ends."""

    layers: Number
    experts: Number
    embedding: Number
    head: Number

    @property
    def total(self) -> Number:
        """The whole model's amount."""
        return self.layers + self.experts + self.embedding + self.head

    def times(self, factor: float) -> Sizes:
        """The same in another unit."""
        return Sizes(*(part * factor for part in (self.layers, self.experts, self.embedding, self.head)))

    def plus(self, other: Sizes) -> Sizes:
        """Both together, place by place."""
        return Sizes(
            self.layers + other.layers,
            self.experts + other.experts,
            self.embedding + other.embedding,
            self.head + other.head,
        )


@kept_by_identity(64)
def distinct_layers(arch: Architecture) -> tuple[tuple[Layer, int], ...]:
    """Each different layer with how often it occurs (equal layers share one object)."""
    found: dict[int, tuple[Layer, int]] = {}
    for layer in arch.layers:
        found[id(layer)] = (layer, found.get(id(layer), (layer, 0))[1] + 1)
    return tuple(found.values())


def _sizes(arch: Architecture, amount: Callable[[Weight], Number]) -> Sizes:
    layers: Number = 0.0
    experts: Number = 0.0
    for layer, times in distinct_layers(arch):
        for w in layer.weights:
            if w.role in EXPERT_ROLES:
                experts = experts + amount(w) * times
            else:
                layers = layers + amount(w) * times
    head: Number = 0.0
    embedding: Number = 0.0
    for w in arch.outside:
        if w.role is Role.LM_HEAD:
            head = head + amount(w)
        else:
            embedding = embedding + amount(w)
    return Sizes(layers, experts, embedding, head)


def _untied_head(training: Training) -> float:
    """Elements of the second copy of a tied table, where the framework keeps one."""
    arch = training.architecture
    tied = training.framework.unties_head and arch.tied_embeddings
    return float(arch.vocab_size * arch.hidden_size) if tied else 0.0


@kept_by_identity(64)
def _elements(arch: Architecture) -> Sizes:
    """All parameters of a model [elements]."""
    return _sizes(arch, lambda w: float(w.elements))


def model_elements(training: Training) -> Sizes:
    """All parameters, as the framework holds them [elements]."""
    found, second = _elements(training.architecture), _untied_head(training)
    return replace(found, head=found.head + second) if second else found


def frozen_bytes(training: Training, plain_bytes: float) -> Sizes:
    """Bytes of frozen weights: in the base's weight format, or `plain_bytes` for each element without one."""
    fmt, extra = training.base_format, _untied_head(training)
    if fmt is None:
        elements = model_elements(training)
        return elements.times(plain_bytes)
    layout = fmt.layouts[0] if training.framework.single_quantization and fmt.layouts else None
    stored = weights_bytes(training.architecture, fmt, layout)
    experts = dealt = sum(stored.by_role.get(role, 0.0) for role in EXPERT_ROLES)
    if not training.quantized_experts:
        dealt = float(_sizes(training.architecture, lambda w: w.elements * plain_bytes).experts)
    head = sum(size for w, size in stored.outside if w.role is Role.LM_HEAD)
    ends = stored.outside_bytes - head
    layers = float(stored.layers.sum())
    if training.framework.quantizes_head:
        inside = sum(
            w.elements * times
            for layer, times in distinct_layers(training.architecture)
            for w in layer.weights
        )
        rows = sum(w.elements for w in training.architecture.outside if w.role is Role.LM_HEAD) + extra
        head = rows * layers / max(inside, 1)
    else:
        head += extra * plain_bytes
    return Sizes(layers - experts, dealt, ends, head)


def lora_elements(training: Training) -> Sizes:
    """Parameters of the adapters [elements]: rank x (inputs + outputs) for every adapted matrix.

    Source: Hu et al. 2021 (LoRA), section 4.1. Llama 2 7B at rank 8 on query and value gives 4,194,304.
    """
    roles, rank = training.adapted_roles, np.asarray(training.rank)
    return _sizes(
        training.architecture,
        lambda w: (
            rank * float(sum(w.shape) * w.copies)
            if w.role.value in roles and len(w.shape) == 2
            else 0.0 * rank
        ),
    )


def adapter_elements(training: Training) -> Sizes:
    """Parameters of LLaMA-Adapter prompts (v1) or of a scale and a bias for every matrix (v2) [elements].

    Source: Zhang et al. 2023 (LLaMA-Adapter), 10 prompt vectors a layer; Gao et al. 2023 (v2).
    """
    arch = training.architecture
    prompts = 10 * arch.hidden_size + arch.num_attention_heads
    per_row = 2.0 if training.method == "adapter-v2" else 0.0
    found = _sizes(
        arch,
        lambda w: (
            per_row * w.shape[0] * w.copies if len(w.shape) == 2 and w.role is not Role.EMBEDDING else 0.0
        ),
    )
    return Sizes(found.layers + prompts * len(arch.layers), found.experts, 0.0, found.head)


def trained_elements(training: Training) -> Sizes:
    """Parameters that get a gradient [elements]."""
    if training.trains_all:
        return model_elements(training)
    if training.method in ("lora", "qlora"):
        return lora_elements(training)
    return adapter_elements(training)


def factored_elements(training: Training) -> Number:
    """Row and column sums that Adafactor keeps instead of a second moment for each trained weight [elements].

    Source: Shazeer and Stern 2018, section 3: n + m values for an n x m matrix.
    """
    if not training.trains_all:
        return trained_elements(training).total  # adapters are thin: no saving counted
    return _sizes(training.architecture, lambda w: float(sum(w.shape) * w.copies)).total


def share_held(sizes: Sizes, parallel: Parallel, layers: int, sharded: bool = False) -> Number:
    """The part of an amount that the fullest GPU holds.

    Tensor parallelism splits everything, pipeline stages hold ceil(layers / stages) layers and one of the two
    ends, experts are dealt out over expert-parallel GPUs; `sharded` splits over data-parallel GPUs as well.
    """
    stage = ceil(layers / parallel.pipeline) / layers if layers else 1.0
    ends = sizes.embedding + sizes.head if parallel.pipeline == 1 else np.maximum(sizes.embedding, sizes.head)
    split = np.asarray(parallel.sharders) if sharded else 1
    expert_split = np.maximum(split, parallel.expert)
    return ((sizes.layers * stage + ends) / split + sizes.experts * stage / expert_split) / parallel.tensor


@kept_by_identity(64)
def layer_elements(arch: Architecture) -> tuple[float, ...]:
    """Parameters of every different layer [elements]."""
    return tuple(float(sum(w.elements for w in layer.weights)) for layer, _ in distinct_layers(arch))


def bytes_per_frozen_element(training: Training) -> float:
    """Average bytes of a frozen weight."""
    base = frozen_bytes(training, training.precision.compute_bytes)
    return float(base.total) / max(params_total(training.architecture), 1)
