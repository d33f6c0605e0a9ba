"""Memory of one training step on the fullest GPU, by part, at the moment it is largest.

Three moments are compared: the loss (all activations kept, logits alive), the backward pass (activations
kept, one layer computed again, gradients of a layer) and the optimiser step (all gradients, no activations).
Sources: Rajbhandari et al. 2020 (ZeRO) section 3 for model states, Korthikanti et al. 2022 for activations,
Dettmers et al. 2023 (QLoRA) for 4-bit bases and paged optimisers.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import ceil

import numpy as np

from calculators.memory.deployment import DOES_NOT_FIT, FITS, TIGHT, GpuMemory, Term
from calculators.training.activations import (
    logits_bytes_per_token,
    microbatches_in_flight,
    stored_bytes_per_token,
    working_bytes_per_token,
)
from calculators.training.parameters import (
    Sizes,
    bytes_per_frozen_element,
    factored_elements,
    frozen_bytes,
    layer_elements,
    model_elements,
    share_held,
    trained_elements,
)
from calculators.training.setup import Number, Training, refusal
from gpu_data.training_schemas import Constant, TrainingBand

GIB = 2**30
MOMENTS = ("loss", "backward", "step")

_ZERO = "Rajbhandari et al. 2020 (ZeRO), section 3.1 and 5"
_KORTHIKANTI = "Korthikanti et al. 2022, section 4"


def _held(training: Training, sizes: Sizes, stage: int) -> Number:
    """What the fullest GPU holds of an amount that ZeRO splits from `stage` on."""
    p = training.parallel
    return share_held(sizes, p, len(training.architecture.layers), sharded=p.zero_stage >= stage)


def weights_bytes_held(training: Training) -> Number:
    """Resident weights [byte]: trained ones with their 16-bit copy, or the frozen base."""
    p = training.precision
    if training.offload == "all":
        return 0.0 * training.tokens
    if not training.trains_all:
        base = frozen_bytes(training, p.weight_bytes)
        if training.base_format is None and p.copy_bytes and training.parallel.zero_stage < 3:
            base = base.times(1 + p.copy_bytes / p.weight_bytes)
        return _held(training, base, 3)
    copy = p.copy_bytes if training.parallel.zero_stage < 3 else 0.0
    return _held(training, trained_elements(training).times(p.weight_bytes + copy), 3)


def adapter_bytes_held(training: Training) -> Number:
    """Weights of LoRA or adapter matrices [byte], in the precision's type."""
    if training.trains_all:
        return 0.0
    size = training.framework.adapter_bytes or training.precision.weight_bytes
    return _held(training, trained_elements(training).times(size), 3)


def gradient_bytes_held(training: Training) -> Number:
    """Gradients of all trained weights [byte].

    With `unsharded_gradients` accumulation keeps them whole on every GPU, frozen weights of a flat parameter
    included (PyTorch FSDP no_sync documentation).
    """
    p = training.parallel
    size = training.precision.gradient_bytes
    if not training.trains_all:
        size = training.framework.adapter_bytes or size
    elements = trained_elements(training).times(size)
    whole = training.framework.unsharded_gradients and p.zero_stage >= 2
    if not whole:
        return _held(training, elements, 2)
    if not training.trains_all:
        elements = elements.plus(frozen_bytes(training, training.precision.compute_bytes))
    whole_bytes = share_held(elements, p, len(training.architecture.layers))
    return np.where(np.asarray(training.accumulation) > 1, whole_bytes, _held(training, elements, 2))


def optimizer_bytes_held(training: Training) -> Number:
    """Optimiser states and fp32 master weights [byte]; 0 on the GPU when offloaded or paged out."""
    o, p = training.optimizer, training.precision
    if training.offload in ("optimizer", "all"):
        return 0.0
    trained = trained_elements(training)
    own = None if training.trains_all else training.framework.adapter_bytes
    master = 0.0 if own else _held(training, trained.times(p.master_bytes), 1)
    if o.paged:
        return master
    size = (own or p.state_bytes) if o.state_bytes is None else o.state_bytes
    if o.factored:
        return master + factored_elements(training) * size * _held(training, trained, 1) / trained.total
    return master + _held(training, trained.times(o.states * size), 1)


def gathered_bytes(training: Training) -> Number:
    """Weights that FSDP has whole for use [byte]: the framework's number of blocks, embedding and head.

    PyTorch FSDP documentation: the unit in use and the prefetched one; the root unit stays whole.
    """
    p = training.parallel
    whole = np.asarray(p.sharders) > 1
    if p.zero_stage < 3 and training.offload != "all":
        return 0.0
    if training.trains_all or training.base_format is None:
        size = training.precision.compute_bytes
    else:
        size = bytes_per_frozen_element(training)
    arch = training.architecture
    outside = sum(w.elements for w in arch.outside)
    units = training.framework.gathered_units * max(layer_elements(arch), default=0.0)
    always = np.asarray(training.offload == "all")
    return np.where(whole | always, (units + outside) * size / p.tensor, 0.0)


def layer_gradient_bytes(training: Training) -> Number:
    """Gradients of one block before they are reduced or used [byte]: what lives during the backward pass."""
    if not training.trains_all:
        return 0.0
    largest = max(layer_elements(training.architecture), default=0.0)
    return largest * training.precision.compute_bytes / training.parallel.tensor


@dataclass(frozen=True)
class TrainingReport:
    """Need of a run on its fullest GPU [byte], scalars or arrays of the broadcast shape.

    allocated = weights + adapters + gradients + optimizer + activations + working + logits + gathered;
    overhead is what the process takes beyond tensors; needed = allocated + overhead; headroom = capacity -
    needed. moment: which of MOMENTS is the largest. verdict: 0 does not fit, 1 tight, 2 fits.
    """

    weights_bytes: Number
    adapter_bytes: Number
    gradient_bytes: Number
    optimizer_bytes: Number
    activation_bytes: Number
    working_bytes: Number
    logits_bytes: Number
    gathered_bytes: Number
    overhead_bytes: Number
    allocated_bytes: Number
    needed_bytes: Number
    capacity_bytes: Number
    headroom_bytes: Number
    band_low: float
    band_high: float
    verdict: Number
    moment: Number
    assumptions: tuple[str, ...]
    training: Training = field(repr=False)
    context_bytes: float = 0.0
    allocator_slack: float = 0.0

    @property
    def trained_parameters(self) -> Number:
        """Parameters that get a gradient."""
        return _plain(trained_elements(self.training).total)

    @property
    def refused(self) -> str | None:
        """Why the run cannot exist, naming the field; None when it can."""
        return refusal(self.training)

    @property
    def terms(self) -> tuple[Term, ...]:
        """Every addend with its formula, the numbers put in and its source."""
        return _terms(self)


def estimate(
    training: Training,
    gpu: GpuMemory | None = None,
    constants: dict[str, Constant] | None = None,
    band: TrainingBand | None = None,
) -> TrainingReport:
    """Memory of a training run on its fullest GPU, and whether it fits.

    `constants`: context_bytes and allocator_slack of training.toml; without them the process costs nothing.
    A run that cannot exist has `refused` set and is still computed.
    """
    tokens = training.tokens
    layers = len(training.architecture.layers)
    p = training.parallel
    stage = ceil(layers / p.pipeline) / layers if layers else 1.0
    flight = microbatches_in_flight(training)
    first = stored_bytes_per_token(training) * tokens * stage * flight
    last = stored_bytes_per_token(training) * tokens * stage if p.pipeline > 1 else first
    logits = logits_bytes_per_token(training) * tokens
    working = working_bytes_per_token(training) * tokens
    # one GPU is the fullest: the first stage keeps most micro-batches, the last has the logits
    at_last = (last + np.maximum(logits, working)) >= (first + working)
    stored = np.where(at_last, last, first)
    logits = np.where(at_last, logits, 0.0)

    weights, adapters = weights_bytes_held(training), adapter_bytes_held(training)
    states, gathered = optimizer_bytes_held(training), gathered_bytes(training)
    gradients = gradient_bytes_held(training)
    kept = np.where(np.asarray(training.accumulation) > 1, gradients, 0.0)
    growing = np.maximum(kept, np.minimum(layer_gradient_bytes(training), gradients))
    if training.fused_step:
        kept, gradients = 0.0 * kept, np.minimum(layer_gradient_bytes(training), gradients)
        growing = gradients
    zero = 0.0 * (stored + gradients + kept + growing + logits + gathered)
    moments = np.stack(
        [
            np.asarray(zero + kept + stored + logits + gathered),
            np.asarray(zero + growing + stored + working + gathered),
            np.asarray(zero + gradients),
        ]
    )
    moment = np.argmax(moments, axis=0)
    grad = np.choose(moment, [zero + kept, zero + growing, zero + gradients])
    acts = np.where(moment < 2, stored, zero)
    work = np.where(moment == 1, working, zero)
    loss = np.where(moment == 0, logits, zero)
    units = np.where(moment < 2, gathered, zero)
    allocated = weights + adapters + states + grad + acts + work + loss + units
    overhead = zero
    if constants is not None:
        overhead = zero + constants["context_bytes"].value + constants["allocator_slack"].value * allocated
    needed = allocated + overhead
    capacity = np.asarray(np.inf if gpu is None else gpu.capacity_bytes, dtype=float)
    low, high = (0.0, 0.0) if band is None else (band.low, band.high)
    verdict = np.where(
        needed * (1 + high) <= capacity, FITS, np.where(needed * (1 + low) > capacity, DOES_NOT_FIT, TIGHT)
    )
    return TrainingReport(
        weights_bytes=_plain(zero + weights),
        adapter_bytes=_plain(zero + adapters),
        gradient_bytes=_plain(grad),
        optimizer_bytes=_plain(zero + states),
        activation_bytes=_plain(acts),
        working_bytes=_plain(work),
        logits_bytes=_plain(loss),
        gathered_bytes=_plain(units),
        overhead_bytes=_plain(overhead),
        allocated_bytes=_plain(allocated),
        needed_bytes=_plain(needed),
        capacity_bytes=_plain(capacity),
        headroom_bytes=_plain(capacity - needed),
        band_low=low,
        band_high=high,
        verdict=int(verdict) if np.ndim(verdict) == 0 else verdict,
        moment=int(moment) if np.ndim(moment) == 0 else moment,
        assumptions=training.architecture.assumptions,
        training=training,
        context_bytes=0.0 if constants is None else constants["context_bytes"].value,
        allocator_slack=0.0 if constants is None else constants["allocator_slack"].value,
    )


def _plain(value: Number) -> Number:
    return float(value) if np.ndim(value) == 0 else value


def _kept(held: Number, whole: Number) -> str:
    """What part of an amount one GPU keeps, where it is not all."""
    share = float(np.max(held)) / max(float(np.max(whole)), 1.0)
    return "" if 0.9995 < share < 1.0005 else f" x {share:.4g} on this GPU"


def _weights_term(report: TrainingReport) -> tuple[str, str]:
    """(numbers put in, source) of the resident weights."""
    t = report.training
    p = t.precision
    copy = p.copy_bytes if t.parallel.zero_stage < 3 else 0.0
    elements = float(np.max(model_elements(t).total))
    if t.trains_all or t.base_format is None:
        size = f"{p.weight_bytes + copy:g} bytes" + (f" ({copy:g} of them a 16-bit copy)" if copy else "")
        whole = elements * (p.weight_bytes + copy)
        return f"{elements:,.0f} x {size}{_kept(report.weights_bytes, whole)}", p.source
    whole = float(np.max(frozen_bytes(t, p.weight_bytes).total))
    stored = f"{whole / elements:.4g} bytes on average ({t.base_format.label})"
    return f"{elements:,.0f} x {stored}{_kept(report.weights_bytes, whole)}", t.base_format.source


def _terms(report: TrainingReport) -> tuple[Term, ...]:
    t = report.training
    p, o = t.precision, t.optimizer
    n = float(np.max(report.trained_parameters))
    count = f"{n:,.0f}"
    tokens = f"{np.max(t.tokens):,.0f} tokens"
    own = None if t.trains_all else t.framework.adapter_bytes
    adapter, gradient = own or p.weight_bytes, own or p.gradient_bytes
    master = 0.0 if own else p.master_bytes
    state = (own or p.state_bytes) if o.state_bytes is None else o.state_bytes
    states = f"({o.states:g} x {state:g} + {master:g} bytes)"
    stepped = n * (o.states * state + master)
    if o.factored:
        states = (
            f"row and column sums in {state:g} bytes instead of a value each, {master:g} bytes of masters"
        )
        stepped = float(np.max(report.optimizer_bytes))
    weights, weights_source = _weights_term(report)
    largest = max(layer_elements(t.architecture), default=0.0)
    outside = sum(w.elements for w in t.architecture.outside)
    whole = t.framework.gathered_units * largest + outside
    rows = (
        ("weights", "weights", report.weights_bytes, "parameters x bytes", weights, weights_source),
        (
            "adapters",
            "weights",
            report.adapter_bytes,
            "rank x (inputs + outputs) of every adapted matrix x bytes",
            f"{count} (rank {np.max(t.rank)} on {', '.join(t.targets or t.framework.lora_targets)}) "
            f"x {adapter:g} bytes{_kept(report.adapter_bytes, n * adapter)}",
            "Hu et al. 2021 (LoRA), section 4.1",
        ),
        (
            "gradients",
            "gradients",
            report.gradient_bytes,
            "trained parameters x bytes, split from ZeRO-2 on",
            f"{count} x {gradient:g} bytes{_kept(report.gradient_bytes, n * gradient)}",
            _ZERO,
        ),
        (
            f"{o.label} states and master weights",
            "optimizer",
            report.optimizer_bytes,
            "trained parameters x (states x bytes + master bytes), split from ZeRO-1 on",
            f"{count} x {states}{_kept(report.optimizer_bytes, stepped)}",
            o.source,
        ),
        (
            f"activations, {t.checkpointing} checkpointing",
            "activation",
            report.activation_bytes,
            "tokens on a GPU x what the backward pass reads of all layers",
            f"{tokens} x {np.max(stored_bytes_per_token(t)):,.0f} bytes"
            f"{_kept(report.activation_bytes, t.tokens * stored_bytes_per_token(t))}",
            _KORTHIKANTI,
        ),
        (
            "one layer computed again",
            "activation",
            report.working_bytes,
            "tokens on a GPU x all activations of the largest layer",
            f"{tokens} x {np.max(working_bytes_per_token(t)):,.0f} bytes",
            _KORTHIKANTI,
        ),
        (
            "logits and loss",
            "logits",
            report.logits_bytes,
            "tokens on a GPU x vocabulary x bytes per logit",
            f"{tokens} x {t.architecture.vocab_size:,} x "
            f"{np.max(logits_bytes_per_token(t)) / max(t.architecture.vocab_size, 1):g} bytes",
            f"{t.framework.label}: {t.framework.source}",
        ),
        (
            "blocks gathered whole",
            "communication",
            report.gathered_bytes,
            "(blocks in use x largest block + embedding + head) x bytes",
            f"({t.framework.gathered_units:g} x {largest:,.0f} + {outside:,.0f}) x "
            f"{float(np.max(report.gathered_bytes)) / max(whole, 1):.3g} bytes",
            "PyTorch FullyShardedDataParallel documentation",
        ),
        (
            "process and allocator",
            "overhead",
            report.overhead_bytes,
            "CUDA context + slack x tensors",
            f"{report.context_bytes / GIB:.2g} GiB + {100 * report.allocator_slack:g} % of "
            f"{float(np.max(report.allocated_bytes)) / GIB:,.2f} GiB",
            "vLLM issue 10517 (context); torchtitan benchmarks, reserved memory as printed (slack)",
        ),
    )
    return tuple(Term(*row) for row in rows if np.max(row[2]) > 0)
