"""Time of one forward pass: the larger of moving and computing per kind of kernel, and what comes on top.

Every function takes scalars or NumPy arrays and broadcasts; times are in seconds.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calculators.speed.rates import (
    NODE_GPUS,
    GpuRates,
    effective_bandwidth,
    effective_compute,
    seconds_by_power,
)
from calculators.speed.work import (
    ModelWork,
    cache_bytes_read,
    decode_attention_flop,
    expert_bytes_read,
    prefill_attention_flop,
    score_elements,
)
from gpu_data.speed_schemas import SpeedConstants, SpeedEngine

Floats = NDArray[np.float64]
Causes = tuple[Floats, ...]  # seconds by cause, in the order of BINDS

ACTIVATION_BYTES = 2  # the residual stream crosses the link in 16 bits
PCIE_4_BYTES_PER_S = 31.5e9  # of 16 lanes, to which the PCIe latency refers
FEW_BITS = 6.0  # weights of fewer bits are packed with tables or zero points
UNPACKED_BYTES = 4  # per weight: written once and read once in 16 bits
ALL_REDUCES_PER_LAYER = 2  # after attention and after the MLP (Megatron-LM, Shoeybi et al. 2019)
BINDS = ("moving", "computing", "communication", "fixed cost")
MOVING, COMPUTING, COMMUNICATION, FIXED = range(4)


@dataclass(frozen=True)
class Split:
    """How many GPUs share the model, and how.

    tensor_parallel_size: GPUs that share every matrix. layer_gpus: GPUs that each hold some layers (pipeline
    stages, llama.cpp's layer split); one token passes them one after the other. data_parallel_attention: the
    tensor_parallel_size GPUs share routed experts only; each has its own sequences and a copy of the rest.
    """

    tensor_parallel_size: ArrayLike = 1
    layer_gpus: ArrayLike = 1
    data_parallel_attention: ArrayLike = False


ONE_GPU = Split()


@dataclass(frozen=True)
class Step:
    """Seconds of one forward pass by cause; `total` is what the clock shows."""

    read_weights: Floats  # all but routed experts, at the bandwidth kernels get
    multiply: Floats  # matrices, at the rate kernels get
    read_experts: Floats  # those that the tokens touch
    multiply_experts: Floats
    read_cache: Floats  # and attention scores where they are written out
    attend: Floats
    communication: Floats
    fixed: Floats
    unpack: ArrayLike = 0.0  # weights to 16 bits in memory, before they are multiplied
    waiting: ArrayLike = 0.0  # of `fixed`: the GPU has nothing to do until the engine starts the next kernel

    @property
    def moving(self) -> Floats:
        """Seconds of memory traffic, were nothing else to do."""
        return self.read_weights + self.read_experts + self.read_cache + np.asarray(self.unpack)

    @property
    def computing(self) -> Floats:
        """Seconds of operations, were nothing to be read."""
        return self.multiply + self.multiply_experts + self.attend

    @cached_property
    def kernels(self) -> Floats:
        """The larger of both for matrices, for routed experts and for attention, added up."""
        matrices = np.maximum(self.read_weights, self.multiply)
        matrices = matrices + np.maximum(self.read_experts, self.multiply_experts)
        return matrices + np.maximum(self.read_cache, self.attend) + np.asarray(self.unpack)

    def times(self, factor: ArrayLike, unpack: ArrayLike = 0.0) -> Step:
        """The step repeated, with weights unpacked before each."""
        f = np.asarray(factor, dtype=np.float64)
        return Step(
            self.read_weights * f,
            self.multiply * f,
            self.read_experts * f,
            self.multiply_experts * f,
            self.read_cache * f,
            self.attend * f,
            self.communication * f,
            self.fixed * f,
            (np.asarray(self.unpack) + np.asarray(unpack)) * f,
            np.asarray(self.waiting) * f,
        )

    @cached_property
    def total(self) -> Floats:
        """Seconds of the whole pass."""
        return self.kernels + self.communication + self.fixed

    @property
    def causes(self) -> Causes:
        """Seconds by cause, in the order of BINDS; they add up to the total.

        Of matrices, routed experts and attention each counts with what takes longer: reading or computing.
        """
        pairs = (
            (self.read_weights, self.multiply),
            (self.read_experts, self.multiply_experts),
            (self.read_cache, self.attend),
        )
        moving, computing = np.asarray(self.unpack, dtype=np.float64), np.zeros(())
        for read, compute in pairs:
            moving = moving + np.where(read >= compute, read, 0.0)
            computing = computing + np.where(read >= compute, 0.0, compute)
        return moving, computing, self.communication, self.fixed

    @property
    def binds(self) -> NDArray[np.int8]:
        """Which cause holds the step back most, an index into BINDS."""
        return most_of(self.causes, np.asarray(self.waiting) > 0)


def most_of(causes: Causes, waits: ArrayLike) -> NDArray[np.int8]:
    """The largest cause, an index into BINDS.

    Where the GPU waits for the engine a faster one changes nothing, so the fixed cost binds there.
    """
    most = np.argmax(np.stack(np.broadcast_arrays(*causes)), axis=0)
    return np.where(waits, FIXED, most).astype(np.int8)


def bandwidth(rates: GpuRates, constants: SpeedConstants) -> Floats:
    """Bytes per second that an engine's kernels get on a GPU."""
    return effective_bandwidth(
        rates.bandwidth, rates.sm_clock, constants["bandwidth_share"], constants["bytes_per_sm_clock"]
    )


def matmul_rate(rates: GpuRates, constants: SpeedConstants) -> Floats:
    """Operations per second of an engine's matrix kernels; less where weights must be unpacked first.

    Unpacking and scaling are ordinary instructions, which a processor issues at its own rate beside its
    tensor cores, however wide those are.
    """
    rate = effective_compute(
        rates.compute,
        rates.operand_bytes,
        rates.sm_clock,
        constants["compute_share"],
        constants["flop_per_sm_clock"],
    )
    bits = np.asarray(rates.unpacked_bits)
    packed = (bits > 0) & (bits < 16)
    share = np.where(bits > FEW_BITS, constants["weight_only_share"], constants["weight_only_4bit_share"])
    ordinary = 1 / (constants["unpacked_flop_per_sm_clock"] * np.asarray(rates.sm_clock, dtype=np.float64))
    power = seconds_by_power(rates.watts, rates.operand_bytes, constants["flop_per_joule"])
    return 1 / (1 / (rate * np.where(packed, share, 1.0)) + np.where(packed, ordinary, 0.0) + power)


def attention_rate(rates: GpuRates, constants: SpeedConstants) -> Floats:
    """Operations per second of attention kernels, which compute in 16 bits."""
    rate = effective_compute(
        rates.attention, 2.0, rates.sm_clock, constants["compute_share"], constants["flop_per_sm_clock"]
    )
    return 1 / (1 / rate + seconds_by_power(rates.watts, 2.0, constants["flop_per_joule"]))


def all_reduce_seconds(
    rates: GpuRates, constants: SpeedConstants, message_bytes: ArrayLike, tensor_parallel_size: ArrayLike
) -> Floats:
    """Seconds of one all-reduce of `message_bytes` over the GPUs; 0 on one GPU.

    Ring: each GPU sends 2 (T - 1) / T of the message (Patarasuk and Yuan, 2009), plus a latency for each
    doubling of the GPUs. The fast link counts where it joins that many GPUs, else PCIe (twice by the host's
    memory without peer access), where small messages too take longer the slower the lanes are. Across servers
    every GPU of one reduces its part of the message with its fellows in the others, over an adapter of its
    own (NCCL's two levels).
    """
    tp = np.asarray(tensor_parallel_size, dtype=np.float64)
    node = np.maximum(np.asarray(rates.link_gpus), NODE_GPUS)
    inside, nodes = np.minimum(tp, node), np.ceil(tp / node)
    fast = (np.asarray(rates.link_gpus) >= inside) & (np.nan_to_num(rates.link) > 0)
    host = constants["pcie_share"] * np.asarray(rates.pcie) / np.asarray(rates.crossings)
    direct = constants["link_share"] * np.nan_to_num(rates.link, nan=0.0)
    link = np.where(fast, np.maximum(direct, host), host)
    slower = PCIE_4_BYTES_PER_S / np.asarray(rates.pcie)
    latency = np.where(fast, constants["link_latency_s"], constants["pcie_latency_s"] * slower)
    message = np.asarray(message_bytes, dtype=np.float64)
    sent = 2 * (inside - 1) / inside * message
    seconds = sent / link + latency * np.log2(np.maximum(inside, 1.0))
    network = constants["network_share"] * np.asarray(rates.pcie)
    across = 2 * (nodes - 1) / nodes * message / inside / network
    across = across + constants["network_latency_s"] * np.log2(np.maximum(nodes, 1.0))
    return np.where(tp > 1, seconds + np.where(nodes > 1, across, 0.0), 0.0)


def step_seconds(
    work: ModelWork,
    rates: GpuRates,
    engine: SpeedEngine,
    sequences: ArrayLike = 1.0,
    context: ArrayLike = 0.0,
    prompts: ArrayLike = 0.0,
    prompt_tokens: ArrayLike = 0.0,
    split: Split = ONE_GPU,
    streamed: ArrayLike = 0.0,
) -> Step:
    """One forward pass: `sequences` each get one more token at `context`, `prompts` prompts are read.

    `sequences`, `prompts` may be fractions (averages over many steps); all are of the whole deployment.
    Matrices: the larger of reading the weights once and multiplying; routed experts: the same; attention: the
    larger of reading the cache and multiplying (roofline, Williams et al. 2009). On top: all-reduces, and a
    fixed cost per step, layer and sequence; `streamed` is the share of sequences whose tokens are sent to a
    client one by one.
    """
    k = engine.constants
    tp = np.asarray(split.tensor_parallel_size, dtype=np.float64)
    sequences, prompts = np.asarray(sequences, dtype=np.float64), np.asarray(prompts, dtype=np.float64)
    prompt_tokens = np.asarray(prompt_tokens, dtype=np.float64)
    tokens = sequences + prompts * prompt_tokens
    rows = sequences + prompts  # of the output head
    per_gpu_bandwidth = bandwidth(rates, k)
    apart = np.asarray(split.data_parallel_attention, dtype=bool)
    dense_share = np.where(apart, 1.0, 1 / tp)

    experts = expert_bytes_read(work, tokens) / tp / k["expert_share"]
    weights = (work.fixed_weight_bytes + work.head_bytes) * dense_share
    owned = np.where(apart, sequences / tp, sequences)
    cache = owned * cache_bytes_read(work, context, np.where(apart, 1.0, tp)) / k["cache_share"]
    scores = (
        0.0
        if engine.fused_attention
        else prompts * score_elements(work, prompt_tokens) * k["score_bytes"] / tp
    )
    read_weights, read_experts, read_cache = (
        size / per_gpu_bandwidth for size in (weights, experts, cache + scores)
    )

    dense = work.matmul_flop_per_token - work.expert_flop_per_token
    matmul = (tokens * dense + rows * work.head_flop_per_token) / tp
    routed = tokens * work.expert_flop_per_token / tp
    attention = (
        sequences * decode_attention_flop(work, context)
        + prompts * prefill_attention_flop(work, prompt_tokens)
    ) / tp
    rate = matmul_rate(rates, k)
    multiply, multiply_experts = matmul / rate, routed / (rate * k["expert_compute_share"])
    attend = attention / attention_rate(rates, k)

    message = tokens * work.hidden_size * ACTIVATION_BYTES
    # With attention apart, tokens only meet where they share experts: gathered before, scattered after.
    reduces = np.where(apart, work.moe_layers, ALL_REDUCES_PER_LAYER * work.n_layers)
    communication = reduces * all_reduce_seconds(rates, k, message, tp)
    busy = Step(
        read_weights, multiply, read_experts, multiply_experts, read_cache, attend, communication, np.zeros(1)
    )
    running = busy.kernels + communication
    # A layer's kernels take a least time each; outside CUDA graphs that is the host's time to launch them.
    # Of steps that hold less than one prompt on average, so many hold one.
    with_prompt = np.minimum(prompts, 1.0)
    eager = np.where(np.asarray(context) > engine.graph_context_tokens, 1.0, with_prompt)
    fixed = (
        k["step_s"] + ((1 - with_prompt) * k["layer_s"] + with_prompt * k["prompt_layer_s"]) * work.n_layers
    )
    waiting = np.zeros_like(running)
    for share, least in ((1 - eager, k["floor_s"]), (eager, k["launch_s"])):
        waiting = waiting + share * np.maximum(least * work.n_layers - running, 0.0)
    fixed = fixed + waiting + (k["sequence_s"] + k["stream_s"] * np.asarray(streamed)) * sequences
    return replace(busy, fixed=fixed * np.ones_like(running), waiting=waiting)


def unpack_seconds(work: ModelWork, rates: GpuRates, engine: SpeedEngine) -> Floats:
    """Seconds to unpack all weights to 16 bits in memory before a prompt is multiplied; 0 if not done.

    Reads the packed weights, writes and reads 2 bytes each. Source: llama.cpp ggml-cuda.cu, which dequantises
    and calls cuBLAS for batches above the size its own kernels take.
    """
    if not engine.dequantises_prompts:
        return np.zeros(np.shape(rates.bandwidth))
    moved = work.weight_bytes + UNPACKED_BYTES * work.matmul_elements
    packed = np.asarray(rates.unpacked_bits) > 0
    return np.where(packed, moved / bandwidth(rates, engine.constants), 0.0)
