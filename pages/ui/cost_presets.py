"""Three questions of the field as complete scenarios: a press fills the fields, which stay open to change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from calculators.scenario import Scenario


@dataclass(frozen=True, slots=True)
class Preset:
    """A name for the button, what it asks, and the fields it sets."""

    label: str
    help: str
    fields: Mapping[str, Any]


PRESETS: Mapping[str, Preset] = {
    "finetune": Preset(
        "Weekly fine-tune",
        "QLoRA of an 8B model on 20,000 samples every week: the RTX 4090 path against an H100",
        {
            "task": "finetune",
            "model": "llama-3.1-8b",
            "method": "qlora",
            "samples": 20_000,
            "sample_tokens": 1024,
            "epochs": 3.0,
            "seq_len": 2048,
            "micro_batch": 1,
            "runs_per_month": 4.33,
            "deadline_days": None,
            "gpus": ("rtx-4090-24gb", "h100-sxm5-80gb"),
        },
    ),
    "serve": Preset(
        "Serve 20 users",
        "A 70B model for 20 people who write at the same time, with 8,192 tokens each",
        {
            "task": "serve",
            "model": "llama-3.3-70b",
            "weight_format": "awq-int4",
            "kv_cache_dtype": "bf16",
            "engine": "vllm",
            "concurrency": 20,
            "max_model_len": 8192,
            "prompt_tokens": 1024,
            "output_tokens": 256,
            "least_tokens_per_s": 10.0,
            "gpus": Scenario.model_fields["gpus"].default,
        },
    ),
    "train": Preset(
        "Train with a deadline",
        "A 7B model on 1T tokens, done in 30 days: how many of each GPU that takes",
        {
            "task": "train",
            "model": "llama-2-7b",
            "train_tokens": 1_000_000_000_000,
            "deadline_days": 30.0,
            "gpus": ("h100-sxm5-80gb", "a100-sxm4-80gb", "b200-sxm-180gb", "mi300x-192gb"),
        },
    ),
}
_ANSWER = (  # fields that decide an answer and that no preset names
    "config_json", "price_basis", "cost_view", "cost_gpu", "busy_share", "gpu_memory_utilization",
    "max_num_seqs", "max_num_batched_tokens", "n_ubatch", "flash_attention", "enforce_eager", "swa_full",
    "split", "expert_parallel", "lora_rank", "lora_targets", "optimizer", "training_precision",
    "training_framework", "accumulation", "checkpointing", "fused_loss", "offload", "zero_stage",
    "train_tensor", "train_pipeline", "train_context", "train_expert", "sequence_parallel",
)  # fmt: skip
# What a preset also puts back, so that an earlier look does not change its answer unseen. Prices stay.
PUT_BACK: Mapping[str, Any] = {
    name: Scenario.model_fields[name].default
    for name in dict.fromkeys((*_ANSWER, *(field for preset in PRESETS.values() for field in preset.fields)))
}
