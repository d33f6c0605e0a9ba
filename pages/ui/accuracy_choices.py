"""What a reader can choose on the page "How far off are we?": kinds of estimate, quantities, views."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final

KINDS: Final[Mapping[str, str]] = {
    "memory": "Memory",
    "decode": "Decode",
    "prefill": "Prefill and TTFT",
    "throughput": "Throughput",
    "finetune": "Fine-tuning memory",
    "training": "Training",
}
SCATTER: Final = "scatter"
VIEWS: Final[Mapping[str, str]] = {
    SCATTER: "Predicted against measured",
    "gpu": "By GPU",
    "engine": "By engine",
    "format": "By format",
    "architecture": "By architecture",
}
OF_FOUR: Final = "four of five"
OF_THREE: Final = "at least two of three"
PROMISED: Final = {OF_FOUR: "made for 80 %", OF_THREE: "made for 67 % or more"}


@dataclass(frozen=True)
class Quantity:
    """One thing that was both predicted and measured, in one unit.

    `column` and `load` select the rows of `gpu_data.accuracy`. `holds` says in words how many measured values
    its band is made to hold, "" when there is no band of its own.
    """

    key: str
    kind: str
    column: str
    label: str
    unit: str
    load: str = ""
    holds: str = ""
    note: str = ""


_TABLE: Final = (
    Quantity(
        "needed", "memory", "needed_gib", "Memory needed", "GiB", "", OF_THREE,
        "The sum of what a run printed of its need, without the cache, which is counted and not estimated. "
        "The verdict on the Fit page rests on it, so it alone has a band.",
    ),
    Quantity("weights", "memory", "weights_gib_per_gpu", "Weights on one GPU", "GiB"),
    Quantity("kv-cache", "memory", "kv_cache_gib_per_gpu", "KV cache pool on one GPU", "GiB"),
    Quantity("kv-tokens", "memory", "kv_cache_tokens", "Tokens in the KV cache pool", "tokens"),
    Quantity("activations", "memory", "activation_peak_gib", "Peak of the activations", "GiB"),
    Quantity("non-torch", "memory", "non_torch_gib", "Outside PyTorch's allocator", "GiB"),
    Quantity("cuda-graphs", "memory", "cudagraph_gib", "CUDA graphs", "GiB"),
    Quantity("compute-buffer", "memory", "compute_buffer_mib", "llama.cpp's compute buffer", "MiB"),
    Quantity("kv-buffer", "memory", "kv_mib", "llama.cpp's KV cache", "MiB"),
    Quantity("file-size", "memory", "model_size_gib", "Size of the model file", "GiB"),
    Quantity("params", "memory", "params_b", "Parameters", "billion"),
    Quantity("total-mib", "memory", "total_used_mib", "Total of all buffers", "MiB"),
    Quantity("total-gib", "memory", "total_used_gb", "Total the framework reports", "GiB"),
    Quantity(
        "decode-llamacpp", "decode", "tokens_per_s", "llama.cpp, one request", "tokens/s", "single", OF_FOUR
    ),
    Quantity(
        "tpot", "decode", "tpot_ms", "Servers, one request: time per output token", "ms", "single", OF_FOUR
    ),
    Quantity(
        "tpot-load", "decode", "tpot_ms", "Servers under load: time per output token", "ms", "batch", OF_FOUR
    ),
    Quantity(
        "decode-server", "decode", "output_tokens_per_s", "Servers, one request: speed", "tokens/s", "single",
        OF_FOUR,
    ),
    Quantity(
        "prompt-llamacpp", "prefill", "prompt_tokens_per_s", "llama.cpp, reading a prompt", "tokens/s",
        "single", OF_FOUR,
    ),
    Quantity(
        "ttft", "prefill", "ttft_ms", "Servers, one request: time to first token", "ms", "single", OF_FOUR
    ),
    Quantity(
        "ttft-load", "prefill", "ttft_ms", "Servers under load: time to first token", "ms", "batch", OF_FOUR,
        "Under load the first token mostly waits in a queue: the time depends on how requests arrive.",
    ),
    Quantity(
        "throughput", "throughput", "output_tokens_per_s", "Output of a server under load", "tokens/s",
        "batch", OF_FOUR,
    ),
    Quantity(
        "finetune-peak", "finetune", "peak_gib_per_gpu", "Peak memory on one GPU", "GiB", "", OF_FOUR
    ),
    Quantity(
        "train-speed", "training", "tokens_per_s_per_gpu", "Training speed", "tokens/s per GPU", "", OF_FOUR
    ),
    Quantity("mfu", "training", "mfu_pct_reported", "MFU", "% of the dense peak", "", OF_FOUR),
    Quantity(
        "gpu-hours", "training", "gpu_hours", "GPU-hours of a whole run", "GPU-hours", "", OF_FOUR,
        "Published runs also contain restarts, tests and waiting; nothing was fitted to them.",
    ),
)  # fmt: skip
QUANTITIES: Final[Mapping[str, Quantity]] = {quantity.key: quantity for quantity in _TABLE}

KNOWN: Final[Mapping[str, Collection[str]]] = {
    "accuracy_kinds": frozenset(KINDS),
    "accuracy_quantities": frozenset(QUANTITIES),
    "accuracy_views": frozenset(VIEWS),
}


def of_kind(kind: str) -> tuple[Quantity, ...]:
    """The quantities of a kind, the one that matters most first."""
    return tuple(quantity for quantity in _TABLE if quantity.kind == kind)


def chosen(kind: str, key: str) -> Quantity:
    """The quantity of the link when it is one of the kind, else the kind's first."""
    found = QUANTITIES.get(key)
    return found if found is not None and found.kind == kind else of_kind(kind)[0]
