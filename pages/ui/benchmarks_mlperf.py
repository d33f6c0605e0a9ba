"""What we would have predicted for a result of MLPerf Inference, or in one phrase why there is no estimate.

A result does not say how many GPUs held one copy of the model, so the number that serves most per GPU counts.
LoadGen hears of the first and of the last token only, so nothing is streamed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Final

import numpy as np
import pandas as pd

from calculators.formats import support
from calculators.scenario import Scenario
from gpu_data.mlperf import mlperf_workload
from gpu_data.speed import speed_engine, speed_engine_for
from pages.ui import catalogue, speed_load, workload
from pages.ui.benchmarks_choices import INFERENCE, results
from pages.ui.figures_benchmarks import Estimate

COPIES: Final = (1, 2, 4, 8)  # GPUs that may hold one copy of the model
USERS: Final = np.unique(np.geomspace(1, 4096, 40).round())[:, None]
MS: Final = 1e3
_FORMATS: Final[Mapping[str, tuple[str, ...]]] = {
    "fp8": ("fp8",),
    "fp4": ("nvfp4", "mxfp4"),  # NVIDIA's, AMD's
    "mxfp4": ("mxfp4",),
    "int8": ("int8",),
    "bf16": ("bf16",),
    "fp16": ("fp16",),
}


def estimate(
    gpu_id: object, n_gpus: object, benchmark: str, scenario: str, unit: str, dtype: object, software: object
) -> Estimate | str:
    """Output tokens/s per GPU with the 80 % band, or why there is none."""
    found = mlperf_workload(benchmark)
    if found.reason:
        return found.reason
    if unit != "Tokens/s":
        return f"it counts {unit.lower().removesuffix('/s')} and not tokens"
    if pd.isna(gpu_id) or pd.isna(n_gpus):
        return "the card is not one of ours for certain"
    engine = _engine(software)
    if not engine:
        return "its software is not one we model"
    if pd.isna(dtype):
        return "the format of its weights is not reported"
    if scenario != "Offline" and scenario not in found.limits_ms:
        return f"the time limits of {scenario} are not known"
    gpu = str(gpu_id)
    fmt = _format(str(dtype).lower(), gpu)
    if not fmt:
        return f"we cannot express weights in {dtype} on this card"
    known = _per_gpu(benchmark, scenario, fmt, engine).get(gpu, {})
    able = [known[copies] for copies in COPIES if copies <= int(str(n_gpus)) and copies in known]
    return max(able, key=lambda one: one.value) if able else "our estimate is that it does not fit"


def _engine(software: object) -> str:
    """The engine of our tables that a software's name means; "" for others."""
    text = "" if pd.isna(software) else str(software).lower()
    if "tensorrt" in text:
        return "tensorrt-llm"
    at = text.find("vllm")
    if at < 0:
        return ""
    name = text[at:].replace("vllm v", "vllm ")
    # without a version: results with a number format are of 2025 and later
    found = speed_engine_for(name) if re.match(r"vllm \d", name) else speed_engine("vllm")
    return found.memory_engine if found else ""


@cache
def _format(dtype: str, gpu_id: str) -> str:
    """The weight format that a reported dtype means on a card."""
    for fmt in _FORMATS.get(dtype, ()):
        if support(catalogue.spec_row(gpu_id), catalogue.weight_formats()[fmt]).state == "native":
            return fmt
    return ""


@cache
def _cards() -> tuple[str, ...]:
    return tuple(str(gpu) for gpu in results(INFERENCE)["gpu_id"].dropna().unique())


@cache
def _per_gpu(benchmark: str, scenario: str, fmt: str, engine: str) -> Mapping[str, Mapping[int, Estimate]]:
    """Estimates of every card of the lane, by how many GPUs hold one copy; one call for all."""
    found = mlperf_workload(benchmark)
    asked = Scenario(
        model=found.model,
        weight_format=fmt,
        kv_cache_dtype="bf16" if fmt in ("bf16", "fp16") else "fp8",
        engine=engine,
        prompt_tokens=round(found.prompt_tokens or 1),
        output_tokens=round(found.output_tokens or 1),
        max_model_len=2048,
    )
    pairs = [(gpu, copies) for gpu in _cards() for copies in COPIES]
    gpus = [workload.pinned(gpu, copies) for gpu, copies in pairs]
    offline = scenario == "Offline"
    got = speed_load.speeds(workload.load(asked), gpus, users=None if offline else USERS, streamed=False)
    if isinstance(got, str):
        return {}
    speed = got.speed
    if offline:
        rate = speed.max_output_tokens_per_s
        parts = [np.asarray(part) for part in (rate.value, rate.low, rate.high)]
    else:
        first, each = found.limits_ms[scenario]
        keeps = (speed.ttft_s.value * MS <= first) & (speed.tpot_s.value * MS <= each)
        rate = speed.output_tokens_per_s
        best = np.argmax(np.where(keeps, rate.value, -1.0), axis=0)
        column = np.arange(len(gpus))
        parts = [
            np.where(keeps.any(axis=0), v[best, column], np.nan) for v in (rate.value, rate.low, rate.high)
        ]
    known: dict[str, dict[int, Estimate]] = {}
    for i, (gpu, _) in enumerate(pairs):
        devices = gpus[i].devices
        value, low, high = (float(part[i]) / devices for part in parts)
        if np.isfinite(value):
            known.setdefault(gpu, {})[devices] = Estimate(value, low, high)
    return known


def assumed(benchmark: str) -> str:
    """What an estimate of this benchmark assumes, a sentence."""
    found = mlperf_workload(benchmark)
    text = "Estimates take the number of GPUs per copy of the model that serves most per GPU"
    if found.prompt_assumed:
        text += ", and prompts as long as the answers, because MLPerf publishes only the latter"
    return f"{text}."
