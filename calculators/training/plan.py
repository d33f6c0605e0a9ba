"""How to split a run nobody described: the simplest way that fits the GPUs' memory."""

from __future__ import annotations

from collections.abc import Iterator

from calculators.architecture.layout import Architecture
from calculators.training.memory import estimate, gradient_bytes_held
from calculators.training.setup import Parallel, Training, most_experts
from gpu_data.training_schemas import Framework

_STAGES = (1, 2, 4, 8, 12, 16, 24, 32, 64)
_EXPERT_PLANS = ((1, 8), (1, 64), (4, 8), (4, 64), (8, 64), (16, 64))  # (pipeline, expert) parallel sizes
FILLED = 0.9  # share of the memory a plan may take
_NODE = 8  # GPUs; more never offload


def plans(framework: Framework, gpus: int, arch: Architecture) -> Iterator[Parallel]:
    """Splits from the simplest to the finest; models with experts deal them out first.

    Order of Narayanan et al. 2021 (Megatron-LM), section 3: tensor parallelism inside a node, then pipeline.
    """
    heads, layers = arch.num_attention_heads, len(arch.layers)
    if framework.zero_stage == 3:
        yield Parallel(gpus, zero_stage=3)
    dealt = most_experts(arch)
    if dealt:
        for stages, experts in _EXPERT_PLANS:
            if gpus % (stages * experts) == 0 and stages <= layers and dealt % experts == 0:
                yield Parallel(gpus, pipeline=stages, expert=experts, zero_stage=1, virtual_stages=2)
        return
    for stages in _STAGES:
        for tensor in (1, 2, 4, 8) if stages == 1 else (8,):
            if gpus % (tensor * stages) == 0 and stages <= layers and heads % tensor == 0:
                yield Parallel(
                    gpus, tensor, stages, zero_stage=1, sequence_parallel=True, virtual_stages=min(stages, 2)
                )


def planned(training: Training, gpus: int, memory_bytes: float) -> tuple[Training, str]:
    """(the run with the first split whose estimate fits, assumption); the finest split when none does."""
    chosen = training
    for parallel in plans(training.framework, gpus, training.architecture):
        chosen = training.but(parallel=parallel, accumulation=4 * parallel.pipeline)
        if float(estimate(chosen).allocated_bytes) <= FILLED * memory_bytes:
            break
    p = chosen.parallel
    return chosen, (
        f"parallelism: not given, ZeRO-{p.zero_stage}, tensor {p.tensor}, pipeline {p.pipeline}, "
        f"expert {p.expert} assumed"
    )


def squeezed(training: Training, memory_bytes: float, may_checkpoint: bool) -> tuple[Training, str]:
    """(the run as it can run, assumption) where the memory estimate says that it cannot as described.

    Full checkpointing where nothing is said about it; CPU offload, on one node, where the model's own states
    do not fit.
    """
    found = estimate(training)
    note = ""
    if float(found.allocated_bytes) > memory_bytes and may_checkpoint and training.checkpointing == "none":
        training = training.but(checkpointing="full")
        note = "act_ckpt: not given, full checkpointing assumed because it does not fit without"
    if training.parallel.gpus > _NODE or training.offload != "none":
        return training, note
    states = found.weights_bytes + found.optimizer_bytes + gradient_bytes_held(training)
    if float(states) <= memory_bytes:
        return training, note
    moved = training.but(offload="optimizer")
    if float(estimate(moved).allocated_bytes) > memory_bytes:
        moved = training.but(offload="all")
    return moved, f"the run's states do not fit the GPUs: offload of {moved.offload} to the CPU assumed"
