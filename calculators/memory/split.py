"""How a model is cut into devices: pipeline stages, layer split, and the tensor-parallel sizes allowed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from calculators.architecture.layout import Architecture
from calculators.memory.shape import shape_of
from gpu_data.format_schemas import WeightFormat


@dataclass(frozen=True, eq=False)
class Stages:
    """Which device holds which layer, and which hold the embedding and the output head.

    layer_of_stage: one row per device, one column per layer, 1 where the device holds the layer.
    """

    layer_of_stage: NDArray[np.float64]
    embedding: NDArray[np.float64]  # [device]
    head: NDArray[np.float64]  # [device]

    @property
    def count(self) -> int:
        """Devices along the pipeline."""
        return len(self.embedding)


def _from_assignment(device_of_layer: NDArray[np.int64], count: int, first: int | None, last: int) -> Stages:
    layers = np.zeros((count, len(device_of_layer)))
    layers[device_of_layer, np.arange(len(device_of_layer))] = 1
    embedding, head = np.zeros(count), np.zeros(count)
    if first is not None:
        embedding[first] = 1
    head[last] = 1
    return Stages(layers, embedding, head)


@lru_cache(maxsize=1024)
def pipeline_stages(n_layers: int, count: int) -> Stages:
    """vLLM's even split: what does not divide goes one each to the stages before the last.

    Source: vllm/distributed/utils.py get_pp_indices.
    """
    sizes = np.full(count, n_layers // count)
    for i in range(n_layers % count):
        sizes[-2 - i if count > 1 else 0] += 1
    return _from_assignment(np.repeat(np.arange(count), sizes), count, 0, count - 1)


@lru_cache(maxsize=1024)
def layer_split(n_layers: int, count: int, embedding_on_gpu: bool) -> Stages:
    """llama.cpp's split over equal GPUs: layer i of n goes to floor(i x GPUs / (n + 1)), output = layer n.

    Source: llama.cpp src/llama-model.cpp load_tensors (tensor_split by free memory, upper_bound). The input
    embedding stays on the CPU unless `embedding_on_gpu` (transformers' device_map puts it on the first GPU).
    """
    device = np.arange(n_layers) * count // (n_layers + 1)
    return _from_assignment(
        device, count, 0 if embedding_on_gpu else None, int(n_layers * count // (n_layers + 1))
    )


def allowed_tensor_parallel_sizes(
    arch: Architecture,
    n_max: int,
    weight_format: WeightFormat | None = None,
    expert_parallel: bool = False,
) -> dict[int, str | None]:
    """Tensor-parallel sizes 1..n_max: None when allowed, else the reason why not.

    Rules of vLLM: attention heads divisible by the size (vllm/config/model.py verify_with_parallel_config);
    KV heads divisible by the size, or the size by the KV heads (they are then copied;
    vllm/model_executor/layers/linear.py QKVParallelLinear); MLP width divisible by the size
    (ColumnParallelLinear), and the part of one GPU by the weight format's two-dimensional block
    (vllm/model_executor/layers/quantization/fp8.py). The vocabulary is padded and never refuses.
    """
    rules = TensorRules(weight_block(arch, weight_format), expert_parallel)
    return {size: _refusal(arch, size, rules) for size in range(1, n_max + 1)}


@dataclass(frozen=True)
class TensorRules:
    """What decides beside the model: width of a weight block (0 = none), whole experts on a GPU."""

    block: int = 0
    expert_parallel: bool = False


def weight_block(arch: Architecture, fmt: WeightFormat | None) -> int:
    """Side of the two-dimensional scale block of a format, 0 when scales lie along rows only."""
    if fmt is None:
        return 0
    if fmt.kind == "native":
        native = arch.quantization.block_size if arch.quantization is not None else None
        return native[0] if native is not None and min(native) > 1 else 0
    blocks = [rule.storage.block for rule in fmt.rules if rule.storage.block is not None]
    return max((block[0] for block in blocks if min(block) > 1), default=0)


def _refusal(arch: Architecture, size: int, rules: TensorRules) -> str | None:
    if size == 1:
        return None
    heads, kv_heads = arch.num_attention_heads, arch.num_key_value_heads
    if heads and heads % size:
        return f"{heads} attention heads do not divide by {size}"
    shape = shape_of(arch)
    if kv_heads and heads and not shape.latent_only and kv_heads % size and size % kv_heads:
        return f"{kv_heads} KV heads neither divide by {size} nor divide {size}"
    widths = shape.mlp_widths if rules.expert_parallel else shape.mlp_widths | shape.expert_widths
    for width in sorted(widths):
        if width % size:
            return f"MLP width {width} does not divide by {size}"
        if rules.block and width // size % rules.block:
            return f"MLP width {width} / {size} is no multiple of the format's block of {rules.block}"
    return None


def refusal(
    arch: Architecture,
    split: str,
    tp: int,
    pp: int,
    fmt: WeightFormat | None = None,
    expert_parallel: bool = False,
) -> str | None:
    """Why this many GPUs cannot hold the model together, or None."""
    n_layers = shape_of(arch).n_layers
    if split == "layers":
        return f"{n_layers} layers cannot be spread over {tp * pp} GPUs" if tp * pp > n_layers + 1 else None
    if pp > n_layers:
        return f"{n_layers} layers cannot be cut into {pp} pipeline stages"
    return _refusal(arch, tp, TensorRules(weight_block(arch, fmt), expert_parallel))
