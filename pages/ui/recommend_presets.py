"""Four readers as complete scenarios: a press fills every field, and each stays open to change."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from calculators.scenario import Scenario
from pages.ui.cost_presets import PUT_BACK as COST_PUT_BACK
from pages.ui.cost_presets import Preset

PRESETS: Mapping[str, Preset] = {
    "solo": Preset(
        "Solo builder or student",
        "An 8B model in 4 bits on one's own card: one user, documents in the prompt, kept for years",
        {
            "task": "serve",
            "serving": "live",
            "concurrency": 1,
            "model": "llama-3.1-8b",
            "weight_format": "gguf-q4_k_m",
            "engine": "llama.cpp",
            "max_model_len": 8192,
            "prompt_tokens": 2048,
            "output_tokens": 300,
            "least_tokens_per_s": 20.0,
            "price_basis": "own",
            "power_usage_effectiveness": 1.0,
            "busy_share": 0.15,
            "place": "workstation",
            "max_gpus": 1,
            "objective": "cheapest",
        },
    ),
    "startup": Preset(
        "Startup shipping an MVP",
        "A 32B model for 32 users at once, rented, first token within 2 s, at most $5,000 a month",
        {
            "task": "serve",
            "serving": "live",
            "concurrency": 32,
            "model": "qwen2.5-32b",
            "weight_format": "awq-int4",
            "format_freedom": "any",
            "engine": "vllm",
            "max_model_len": 8192,
            "prompt_tokens": 1024,
            "output_tokens": 256,
            "least_tokens_per_s": 15.0,
            "max_ttft_s": 2.0,
            "cost_ceiling": 5000.0,
            "objective": "cheapest",
        },
    ),
    "researcher": Preset(
        "Researcher, many experiments",
        "LoRA of an 8B model on 20,000 samples, again and again: the fastest run for at most $25",
        {
            "task": "finetune",
            "method": "lora",
            "model": "llama-3.1-8b",
            "samples": 20_000,
            "sample_tokens": 1024,
            "epochs": 3.0,
            "seq_len": 2048,
            "micro_batch": 1,
            "cost_ceiling": 25.0,
            "max_gpus": 8,
            "objective": "fastest",
        },
    ),
    "platform": Preset(
        "Platform team, many tenants",
        "A 70B model for 200 users at once in a data centre, on GPUs that can be cut into slices (MIG)",
        {
            "task": "serve",
            "serving": "live",
            "concurrency": 200,
            "model": "llama-3.3-70b",
            "weight_format": "fp8",
            "engine": "vllm",
            "max_model_len": 8192,
            "prompt_tokens": 1024,
            "output_tokens": 256,
            "least_tokens_per_s": 20.0,
            "max_ttft_s": 1.0,
            "place": "datacentre",
            "need_mig": True,
            "need_ecc": True,
            "objective": "cheapest",
        },
    ),
}
_OWN = (
    "kv_cache_dtype", "format_freedom", "max_ttft_s", "cost_ceiling", "batch_requests", "place", "maker",
    "max_power_w", "max_gpus", "need_nvlink", "need_mig", "need_ecc", "recommend_view", "serving",
    "objective", "train_gpus", "purchase_ceiling", "power_usage_effectiveness",
)  # fmt: skip
# What a preset also puts back, so that an earlier look does not change its answer unseen. Typed prices stay.
PUT_BACK: Mapping[str, Any] = {
    **{name: value for name, value in COST_PUT_BACK.items() if name not in ("gpus", "cost_gpu")},
    **{name: Scenario.model_fields[name].default for name in _OWN},
}
