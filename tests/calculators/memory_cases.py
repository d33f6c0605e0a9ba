"""What the memory tests share: architectures from the truth configs, short ways to build a deployment."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

from calculators.architecture import Architecture, read_config
from calculators.memory import Deployment, GpuMemory, Options
from gpu_data.engines import engine
from gpu_data.formats import kv_format, weight_format

TRUTH = Path(__file__).parent.parent / "truth"
CONFIGS = TRUTH / "configs"
MEASURED = TRUTH / "memory.csv"
# More public tables and logs; some were read while the formulas were derived, so this is no held-out set.
MORE = TRUTH / "memory_more.csv"
GIB, MIB = 2**30, 2**20


@cache
def architecture(model_hf_id: str) -> Architecture:
    return read_config(json.loads((CONFIGS / f"{model_hf_id.replace('/', '--')}.json").read_text()))


def deploy(
    model_hf_id: str,
    engine_id: str,
    *,
    weights: str = "bf16",
    kv: str = "bf16",
    gib: object = 80.0,
    gpus: int = 1,
    options: Options | None = None,
    **fields: object,
) -> Deployment:
    capacity = gib * GIB if isinstance(gib, (int, float)) else gib
    return Deployment(
        architecture(model_hf_id),
        weight_format(weights),
        kv_format(kv),
        engine(engine_id),
        GpuMemory("test card", capacity),
        options=options or Options(),
        tensor_parallel_size=gpus,
        **fields,
    )
