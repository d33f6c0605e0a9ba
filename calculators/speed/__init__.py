"""Speed of inference: bytes over bandwidth, operations over peaks, fixed costs; constants per engine only."""

from calculators.speed.bands import Estimate, with_band
from calculators.speed.latency import (
    decode_step,
    decode_tokens_per_s,
    prompt_step,
    prompt_tokens_per_s,
    time_to_first_token,
)
from calculators.speed.many import ServingSpeed, serving_speed
from calculators.speed.rates import GpuRates, SpeedRefused, fleet_rates, gpu_rates, stack
from calculators.speed.serving import Load, Server, burst, closed_loop, open_loop, static_batch
from calculators.speed.step import BINDS, ONE_GPU, Split, Step, step_seconds
from calculators.speed.work import ModelWork, model_work, stack_formats

__all__ = [
    "BINDS",
    "ONE_GPU",
    "Estimate",
    "GpuRates",
    "Load",
    "ModelWork",
    "Server",
    "ServingSpeed",
    "SpeedRefused",
    "Split",
    "Step",
    "burst",
    "closed_loop",
    "decode_step",
    "decode_tokens_per_s",
    "fleet_rates",
    "gpu_rates",
    "model_work",
    "open_loop",
    "prompt_step",
    "prompt_tokens_per_s",
    "serving_speed",
    "stack",
    "stack_formats",
    "static_batch",
    "step_seconds",
    "time_to_first_token",
    "with_band",
]
