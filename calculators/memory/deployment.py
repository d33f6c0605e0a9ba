"""What is deployed where: the input of the memory function, and its report."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calculators.architecture.layout import Architecture
from gpu_data.engine_schemas import Engine, ErrorBand
from gpu_data.format_schemas import EngineLayout, KvFormat, WeightFormat

Number = float | NDArray[Any]
Count = int | NDArray[Any]

GIB = 2**30
MIB = 2**20

DOES_NOT_FIT, TIGHT, FITS = 0, 1, 2
VERDICTS = ("does not fit", "tight", "fits")


@dataclass(frozen=True)
class GpuMemory:
    """The memory of one GPU as a program sees it.

    `capacity_bytes` may be an array, one per GPU compared along its first axis; `names` then names them.
    `basis` says where the figure comes from (cuda_total_bytes, visible_bytes, assumed).
    """

    name: str
    capacity_bytes: Number
    basis: str = ""
    unified: bool = False
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class Options:
    """What a person may set on the engine; None means the engine's default.

    memory_share: gpu_memory_utilization, mem_fraction_static or free_gpu_memory_fraction.
    prompt_tokens: longest prompt processed at once by engines without chunked prefill [token].
    experts_on_cpu: routed experts stay in CPU memory (llama.cpp --cpu-moe).
    images: load the image and audio encoders where they are a file of their own (llama.cpp --mmproj).
    """

    memory_share: float | None = None
    max_num_seqs: int | None = None
    max_num_batched_tokens: int | None = None
    ubatch_tokens: int | None = None
    flash_attention: bool | None = None
    enforce_eager: bool = False
    swa_full: bool = False
    prompt_tokens: int | None = None
    experts_on_cpu: bool = False
    images: bool = False


@dataclass(frozen=True)
class Deployment:
    """One model on one kind of GPU with one engine.

    `concurrency` sequences are resident with `max_model_len` tokens each; both may be arrays and broadcast
    against each other and against `gpu.capacity_bytes`. Without `band` the verdict has no error band.
    """

    architecture: Architecture
    weight_format: WeightFormat
    kv_format: KvFormat
    engine: Engine
    gpu: GpuMemory
    options: Options = field(default_factory=Options)
    tensor_parallel_size: int = 1
    pipeline_parallel_size: int = 1
    expert_parallel: bool = False
    max_model_len: Count = 8192
    concurrency: Count = 1
    v_format: KvFormat | None = None  # when values are stored otherwise than keys (llama.cpp)
    band: ErrorBand | None = None
    layout: EngineLayout | None = None  # how the engine keeps the weight format on this GPU

    @property
    def gpus(self) -> int:
        """How many GPUs hold the model."""
        return self.tensor_parallel_size * self.pipeline_parallel_size

    def but(self, **changes: object) -> Deployment:
        """A copy with some fields changed."""
        return replace(self, **changes)


@dataclass(frozen=True)
class Term:
    """One addend of the need, on the fullest GPU."""

    name: str
    group: str  # weights, kv, activation, overhead
    bytes: Number
    formula: str
    substituted: str
    source: str


@dataclass(frozen=True)
class Piece:
    """A term before the fullest GPU is known: bytes for every device, texts built only when read.

    `inside` tells whether the engine's own memory limit covers it.
    """

    name: str
    group: str
    bytes: Number  # [device, ...]
    formula: str
    substituted: Callable[[], str]
    source: str
    inside: bool = True


@dataclass(frozen=True)
class Report:
    """The need of a deployment on its fullest GPU, in bytes, and what that means for the GPU.

    All byte fields are scalars or arrays of the broadcast shape. needed = weights + kv + activation +
    overhead; reserved is what the engine takes in the end; budget is what the need may fill of the capacity;
    headroom = budget - needed. verdict: 0 does not fit, 1 tight, 2 fits.
    """

    weights_bytes: Number
    kv_bytes: Number
    activation_bytes: Number
    overhead_bytes: Number
    needed_bytes: Number
    reserved_bytes: Number
    capacity_bytes: Number
    budget_bytes: Number
    headroom_bytes: Number
    need_low_bytes: Number  # lower end of the error band of needed_bytes
    need_high_bytes: Number
    verdict: NDArray[np.int8] | int
    assumptions: tuple[str, ...]
    refused: str | None
    device: Number  # index of the fullest GPU
    pieces: tuple[Piece, ...] = field(repr=False)

    @cached_property
    def terms(self) -> tuple[Term, ...]:
        """Every addend with its formula, the numbers put in and its source."""
        found = []
        for piece in self.pieces:
            size = on_device(piece.bytes, self.device)
            found.append(
                Term(piece.name, piece.group, size, piece.formula, piece.substituted(), piece.source)
            )
        return tuple(found)


def with_dims(per_device: Number, ndim: int) -> NDArray[np.float64]:
    """[device, ...] with at least `ndim` axes behind the first, so that devices never meet other axes."""
    values = np.asarray(per_device)
    missing = ndim - (values.ndim - 1)
    return values.reshape(values.shape[0], *(1,) * missing, *values.shape[1:]) if missing > 0 else values


def total_of(pieces: Iterable[Piece]) -> NDArray[np.float64]:
    """Sum of pieces [device, ...]."""
    sizes = [np.asarray(piece.bytes) for piece in pieces]
    ndim = max((size.ndim for size in sizes), default=1) - 1
    return sum((with_dims(size, ndim) for size in sizes), np.zeros((1, *(1,) * ndim)))


def on_device(per_device: Number, device: Number) -> Number:
    """The value on one device: first axis of `per_device` indexed by `device` (scalar or array)."""
    index = np.asarray(device)
    values = with_dims(per_device, index.ndim)
    if values.shape[0] == 1:
        chosen = values[0]
    elif index.ndim == 0:
        chosen = values[int(index)]
    elif values.size == values.shape[0]:  # the same for all
        chosen = values.reshape(-1)[index]
    else:
        shape = np.broadcast_shapes(values.shape[1:], index.shape)
        values = np.broadcast_to(values, (values.shape[0], *shape))
        chosen = np.take_along_axis(values, np.broadcast_to(index, shape)[None].astype(np.int64), axis=0)[0]
    return float(chosen) if np.ndim(chosen) == 0 else chosen
