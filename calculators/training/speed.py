"""How fast a GPU trains: seconds per token from what is computed, moved and sent.

One micro-batch takes the matrix products and attention at a share of the peak, plus the traffic of everything
between them over the memory bus, plus the part of communication that is not hidden; once per step comes the
optimiser. Times add because the kernels run one after the other. All constants: gpu_data/training.toml.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import ceil

import numpy as np

from calculators.training.activations import kept_bytes_per_token, layer_widths
from calculators.training.flops import StepFlops, model_flops_per_token, recomputed_share, step_flops
from calculators.training.parameters import (
    bytes_per_frozen_element,
    model_elements,
    share_held,
    trained_elements,
)
from calculators.training.setup import Number, Training, refusal
from gpu_data.training_schemas import TrainingBand, TrainingTables

TERA, GIGA = 1e12, 1e9
POWER_ASSUMED_W = 400.0  # of a GPU whose board power is not known
PARTS = ("matmul", "attention", "memory_bus", "communication", "optimizer", "offload", "bubble")


@dataclass(frozen=True)
class GpuFigures:
    """What GPUs can do: one (`GpuSpeed`), or several as arrays.

    tflops: dense peak by number format, FP32 accumulate. ceilings_tflops: the fastest matrix product
    measured. link_gb_per_s: one way to another GPU of its node; network_gb_per_s: one way out of the node;
    host_gb_per_s: one way to the CPU. node_gpus: GPUs that share a node. power_w: board power.
    """

    name: str
    tflops: Mapping[str, Number]
    bandwidth_gb_per_s: Number
    link_gb_per_s: Number
    network_gb_per_s: Number
    host_gb_per_s: Number
    ceilings_tflops: Mapping[str, Number] = field(default_factory=dict)
    node_gpus: Number = 8
    power_w: Number | None = None
    assumptions: tuple[str, ...] = ()


@dataclass(frozen=True)
class GpuSpeed(GpuFigures):
    """What one GPU can do."""

    tflops: Mapping[str, float]
    bandwidth_gb_per_s: float
    link_gb_per_s: float
    network_gb_per_s: float
    host_gb_per_s: float
    ceilings_tflops: Mapping[str, float] = field(default_factory=dict)
    node_gpus: int = 8
    power_w: float | None = None


@dataclass(frozen=True)
class Work:
    """What one GPU does for one token of its micro-batch.

    flops [FLOP]; moved_bytes are the activations between products, weight_bytes what is read of weights and
    gradients; messages take overlapped_seconds beside computing and blocking_seconds between; optimizer_bytes
    and host_bytes (of an optimiser step on the CPU) are per token of a whole step, host_seconds go into
    weights streamed from the CPU; bubble is the idle share of a pipeline.
    """

    flops: StepFlops
    moved_bytes: Number
    weight_bytes: Number
    overlapped_seconds: Number
    blocking_seconds: Number
    optimizer_bytes: Number
    host_bytes: Number
    host_seconds: Number
    bubble: Number
    nodes: Number


def sustained_tflops(
    peak_tflops: Number, ceiling_tflops: Number, power_w: Number, numbers: Mapping[str, float]
) -> Number:
    """Rate of large matrix products [10^12 FLOP/s]: a share of the peak, never above the best ever measured.

    The share falls with the peak per watt (the clock does). `ceiling_tflops` is infinite when not measured.
    """
    per_watt = np.asarray(peak_tflops, dtype=float) / power_w
    share = numbers["matmul_efficiency"] * per_watt ** -numbers["power_exponent"]
    return np.minimum(peak_tflops * np.minimum(share, 1.0), ceiling_tflops)


def best_tflops(gpu: GpuFigures, dtype: str, numbers: Mapping[str, float]) -> Number | None:
    """`sustained_tflops` of one GPU; None when it has no such format."""
    peak = gpu.tflops.get(dtype)
    if peak is None:
        return None
    ceiling = gpu.ceilings_tflops.get(dtype, np.inf)
    power = POWER_ASSUMED_W if gpu.power_w is None else gpu.power_w
    return sustained_tflops(peak, ceiling, power, numbers)


def matmul_dtype(training: Training, gpu: GpuFigures) -> tuple[str, str]:
    """(format the layers multiply in, assumption): the precision's, or the nearest the GPU has."""
    wanted = training.precision.matmul
    order = {
        "fp8": ("fp8", "bf16", "fp16"),
        "bf16": ("bf16", "fp16"),
        "fp16": ("fp16", "bf16"),
        "tf32": ("tf32", "fp32"),
        "fp32": ("fp32",),
    }[wanted]
    for dtype in order:
        if dtype in gpu.tflops:
            note = "" if dtype == wanted else f"{gpu.name} has no {wanted} peak: {dtype} counted"
            return dtype, note
    return wanted, f"{gpu.name}: no peak known for {wanted}"


def _communication(training: Training, gpu: GpuFigures, tables: TrainingTables) -> tuple[Number, Number]:
    """Seconds per token of (overlapped, blocking) messages at the achieved link speed.

    ZeRO-3 gathers weights twice and scatters gradients once per micro-batch, 3 x weights; below it gradients
    are reduced once per step, 2 x weights (Rajbhandari et al. 2020, section 7). Tensor parallelism sends the
    hidden state four times per layer, twice more when the forward pass is computed again (Shoeybi et al.
    2019, section 3).
    """
    p = training.parallel
    arch = training.architecture
    layers = len(arch.layers)
    tokens = training.tokens
    share = tables.number("link_efficiency")
    size = training.precision.compute_bytes
    sharders = np.asarray(p.sharders, dtype=float)
    held = share_held(model_elements(training), p, layers)
    trained = share_held(trained_elements(training), p, layers)
    frozen = 0.0 if training.trains_all else bytes_per_frozen_element(training)
    gathers = 2 * held * (size if training.trains_all else frozen)
    if p.zero_stage >= 3:
        # behind a pipeline the gathered weights stay until the step ends (torchtitan, FSDP with 1F1B)
        volume = (gathers + trained * size) / (np.asarray(training.accumulation) if p.pipeline > 1 else 1)
    else:
        volume = 2 * trained * size / np.asarray(training.accumulation)
    volume = volume * (sharders - 1) / np.maximum(sharders, 1)
    across = np.asarray(p.gpus) > gpu.node_gpus
    in_node = np.maximum(np.asarray(gpu.node_gpus) // (p.tensor * p.pipeline), 1)
    link = gpu.link_gb_per_s * GIGA * share
    network = gpu.network_gb_per_s * GIGA * share
    slowest = np.maximum(1 / link, np.where(across, 1 / (network * np.minimum(in_node, sharders)), 0.0))
    overlapped = volume * slowest / tokens + _expert_seconds(training, link, network, gpu.node_gpus)
    times = 4 + 2 * recomputed_share(training)
    ring = 2 * (p.tensor - 1) / p.tensor
    stage = ceil(layers / p.pipeline)
    blocking = stage * times * ring * arch.hidden_size * size / link if p.tensor > 1 else 0.0
    return overlapped, blocking


def _expert_seconds(training: Training, link: Number, network: Number, node_gpus: Number) -> Number:
    """Seconds per token of sending tokens to their experts and back, forward and backward: four times.

    A token goes once to every GPU of its node, or once to every node, that holds one of its experts (Lepikhin
    et al. 2020, GShard, section 3; DeepSeek-V3 report 2024, section 3.2.2): n (1 - (1 - 1/n)^k) places for k
    experts dealt out over n.
    """
    p = training.parallel
    if p.expert == 1:
        return 0.0
    across = p.expert > np.asarray(node_gpus)
    places = np.where(across, p.expert / np.asarray(node_gpus), p.expert)
    rate = np.where(across, network, link)
    sent: Number = 0.0
    for widths, count in layer_widths(training.architecture):
        if widths.copies:
            visited = places * (1 - (1 - 1 / places) ** widths.copies)
            sent += count * visited * widths.hidden * training.precision.compute_bytes
    return 4 * sent * (1 - 1 / places) / p.pipeline / rate


def work(training: Training, gpu: GpuFigures, tables: TrainingTables) -> Work:
    """What one GPU does per token of its micro-batch, whole pipeline stages and tensor slices counted."""
    p = training.parallel
    layers = len(training.architecture.layers)
    tokens = training.tokens
    split = p.tensor * p.pipeline
    flops = step_flops(training)
    share = StepFlops(*(part / split for part in (flops.layers, flops.head, flops.attention)))
    plain = training.but(base_format=None, checkpointing="none")
    kept = sum((kept_bytes_per_token(plain, w) * n for w, n in layer_widths(training.architecture)), 0.0)
    kept = kept / p.pipeline * (1 + recomputed_share(training) / 2)
    kept = kept + 2 * training.framework.logit_bytes * training.architecture.vocab_size / split
    trained = share_held(trained_elements(training), p, layers)
    whole = share_held(model_elements(training), p, layers)
    size = training.precision.compute_bytes
    # read forward and backward, again when recomputed; gradients are added to
    passes = 2 + recomputed_share(training)
    weights = whole * size * passes + trained * 3 * training.precision.gradient_bytes
    if training.base_format is not None:
        # packed weights are unpacked to 16 bits in memory before every product (Dettmers et al. 2023, QLoRA,
        # equation 5; bitsandbytes dequantises the whole matrix): read packed, written once more
        weights = weights + whole * (bytes_per_frozen_element(training) + size) * passes
    own = share_held(trained_elements(training), p, layers, sharded=p.zero_stage >= 1)
    state = training.optimizer.states * (training.optimizer.state_bytes or training.precision.state_bytes)
    precision = training.precision
    stepped = own * (2 * (state + precision.weight_bytes + precision.master_bytes) + precision.gradient_bytes)
    step_tokens = tokens * np.asarray(training.accumulation)
    away = training.offload != "none"
    on_cpu = away and not training.framework.streams_offload
    streamed = whole * size * 3 / (gpu.host_gb_per_s * GIGA) / tokens if training.offload == "all" else 0.0
    if away and not on_cpu:
        streamed = streamed + stepped / (gpu.host_gb_per_s * GIGA) / step_tokens
    overlapped, blocking = _communication(training, gpu, tables)
    bubble = (p.pipeline - 1) / np.maximum(training.accumulation, 1) / p.virtual_stages
    return Work(
        share,
        kept,
        weights / tokens,
        overlapped,
        blocking,
        0.0 if away else stepped / step_tokens,
        stepped / step_tokens if on_cpu else 0.0,
        streamed,
        bubble,
        np.maximum(np.asarray(p.gpus, dtype=float) / gpu.node_gpus, 1),
    )


@dataclass(frozen=True)
class Speed:
    """How fast a run goes; scalars or arrays of the broadcast shape.

    tokens_per_s_per_gpu counts trained tokens over all GPUs; mfu is counted as published figures are (no
    recomputation, full attention, no gradients of frozen weights, over the peak of 16-bit products); busy is
    what the GPU really computes over the peak of the format it computes in. seconds: by part of PARTS, per
    token and GPU. low, high: the 80 % band.
    """

    tokens_per_s_per_gpu: Number
    low: Number
    high: Number
    mfu: Number
    busy: Number
    seconds: Mapping[str, Number]
    dtype: str
    lacking: str | None
    assumptions: tuple[str, ...]
    training: Training = field(repr=False)

    @property
    def refused(self) -> str | None:
        """Why there is no answer, naming the field; None when there is one."""
        return refusal(self.training) or self.lacking

    @property
    def binds(self) -> str:
        """The part that takes the most time."""
        return max(self.seconds, key=lambda part: float(np.mean(self.seconds[part])))


def seconds_per_token(
    w: Work,
    matmul_tflops: Number,
    plain_tflops: Number,
    bandwidth_gb_per_s: Number,
    numbers: Mapping[str, float],
) -> dict[str, Number]:
    """Time of one token of a micro-batch on one GPU, by part [s]; everything broadcasts.

    matmul_tflops: achieved by the layers, plain_tflops: by head and attention (16-bit). numbers: the
    constants of training.toml.
    """
    bus = bandwidth_gb_per_s * GIGA
    seconds: dict[str, Number] = {
        "matmul": w.flops.layers / (matmul_tflops * TERA) + w.flops.head / (plain_tflops * TERA),
        "attention": w.flops.attention / (plain_tflops * numbers["attention_efficiency"] * TERA),
        "memory_bus": (w.moved_bytes * numbers["bus_passes"] + w.weight_bytes) / bus,
    }
    computing = seconds["matmul"] + seconds["attention"] + seconds["memory_bus"]
    hidden = np.minimum(w.overlapped_seconds, computing)
    seconds["communication"] = (
        numbers["exposed_communication"] * hidden
        + (w.overlapped_seconds - hidden)
        + w.blocking_seconds
        + computing * numbers["loss_per_doubling"] * np.log2(w.nodes)
    )
    seconds["optimizer"] = w.optimizer_bytes / bus
    seconds["offload"] = w.host_bytes / (numbers["host_optimizer_gb_per_s"] * GIGA) + w.host_seconds
    seconds["bubble"] = (computing + seconds["communication"]) * w.bubble
    return seconds


def _mfu_peak(gpu: GpuFigures) -> Number:
    return gpu.tflops.get("bf16", gpu.tflops.get("fp16", np.nan))


def speed(
    training: Training, gpu: GpuFigures, tables: TrainingTables, band: TrainingBand | None = None
) -> Speed:
    """Tokens per second per GPU, MFU and where the time goes.

    `refused` names the field when the run or the GPU's figures do not allow an answer.
    """
    lacking = None
    dtype, note = matmul_dtype(training, gpu)
    numbers = {name: constant.value for name, constant in tables.constants.items()}
    rate = best_tflops(gpu, dtype, numbers)
    plain = "bf16" if "bf16" in gpu.tflops else "fp16"
    plain_rate = best_tflops(gpu, plain, numbers)
    plain_rate = rate if plain_rate is None else plain_rate
    if rate is None or plain_rate is None:
        lacking = f"gpu: {gpu.name} has no {training.precision.matmul} peak"
        rate = plain_rate = np.nan
    seconds = seconds_per_token(
        work(training, gpu, tables),
        rate,
        plain_rate,
        gpu.bandwidth_gb_per_s,
        numbers,
    )
    p = training.parallel
    rate_per_gpu = 1 / (sum(seconds.values(), 0.0) * p.tensor * p.pipeline)
    low, high = (0.0, 0.0) if band is None else (band.low, band.high)
    # frozen weights need no gradient: two passes of three count as useful
    useful = 1.0 if training.trains_all else 2 / 3
    model = useful * model_flops_per_token(training.architecture, training.seq_len)
    total = step_flops(training).total
    return Speed(
        rate_per_gpu,
        rate_per_gpu * (1 + low),
        rate_per_gpu * (1 + high),
        rate_per_gpu * model / (_mfu_peak(gpu) * TERA),
        rate_per_gpu * total / (gpu.tflops.get(dtype, np.nan) * TERA),
        seconds,
        dtype,
        lacking,
        (*gpu.assumptions, *(text for text in (note,) if text)),
        training,
    )
