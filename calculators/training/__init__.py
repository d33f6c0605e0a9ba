"""Training and fine-tuning: memory per GPU, speed, days, GPU-hours and energy."""

from calculators.training.generic import generic_architecture
from calculators.training.gpu import GpuRefused, gpu_speed_of
from calculators.training.many import (
    MEMORY_PARTS,
    GpuKind,
    Many,
    boards_in_time,
    many,
    refusal_of,
    step_tokens,
    usual_accumulation,
)
from calculators.training.memory import MOMENTS, TrainingReport, estimate
from calculators.training.plan import planned, plans, squeezed
from calculators.training.run import (
    Run,
    energy_kwh,
    epochs_tokens,
    gpu_hours,
    gpus_for_deadline,
    run,
    wall_days,
)
from calculators.training.setup import METHODS, OFFLOADS, Parallel, Training, refusal
from calculators.training.speed import PARTS, GpuSpeed, Speed, matmul_dtype, speed

__all__ = [
    "MEMORY_PARTS",
    "METHODS",
    "MOMENTS",
    "OFFLOADS",
    "PARTS",
    "GpuKind",
    "GpuRefused",
    "GpuSpeed",
    "Many",
    "Parallel",
    "Run",
    "Speed",
    "Training",
    "TrainingReport",
    "boards_in_time",
    "energy_kwh",
    "epochs_tokens",
    "estimate",
    "generic_architecture",
    "gpu_hours",
    "gpu_speed_of",
    "gpus_for_deadline",
    "many",
    "matmul_dtype",
    "planned",
    "plans",
    "refusal",
    "refusal_of",
    "run",
    "speed",
    "squeezed",
    "step_tokens",
    "usual_accumulation",
    "wall_days",
]
