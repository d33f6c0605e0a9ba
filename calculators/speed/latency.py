"""Batch-1 questions: time per output token, time to first token."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calculators.speed.rates import GpuRates
from calculators.speed.step import ONE_GPU, Split, Step, step_seconds, unpack_seconds
from calculators.speed.work import ModelWork
from gpu_data.speed_schemas import SpeedEngine

Floats = NDArray[np.float64]


def decode_step(
    work: ModelWork,
    rates: GpuRates,
    engine: SpeedEngine,
    concurrency: ArrayLike = 1.0,
    context: ArrayLike = 1024.0,
    split: Split = ONE_GPU,
    streamed: ArrayLike = 1.0,
) -> Step:
    """One decode step of `concurrency` sequences that hold `context` tokens each.

    Its total is the time per output token (TPOT) while no prompt is read. GPUs that split by layers work one
    after the other on a token, so they change nothing here.
    """
    return step_seconds(work, rates, engine, concurrency, context, split=split, streamed=streamed)


def decode_tokens_per_s(
    work: ModelWork,
    rates: GpuRates,
    engine: SpeedEngine,
    concurrency: ArrayLike = 1.0,
    context: ArrayLike = 1024.0,
    split: Split = ONE_GPU,
) -> Floats:
    """Output tokens per second of all sequences together while no prompt is read."""
    step = decode_step(work, rates, engine, concurrency, context, split)
    return np.asarray(concurrency, dtype=np.float64) / step.total


def prompt_step(
    work: ModelWork,
    rates: GpuRates,
    engine: SpeedEngine,
    prompt_tokens: ArrayLike,
    prompts: ArrayLike = 1.0,
    split: Split = ONE_GPU,
) -> Step:
    """Reading `prompts` prompts of `prompt_tokens` each, in as many steps as the engine's chunk asks for.

    Weights are read, and the fixed cost paid, once for each chunk. GPUs that split by layers work on several
    chunks at once (a pipeline of c chunks over g GPUs takes c + g - 1 stages).
    """
    tokens = np.asarray(prompt_tokens, dtype=np.float64)
    count = np.asarray(prompts, dtype=np.float64)
    chunks = np.maximum(np.ceil(count * tokens / engine.chunk_tokens), 1.0)
    # One chunk's step times the number of chunks; attention of all chunks is that of whole prompts.
    one = step_seconds(work, rates, engine, 0.0, 0.0, count / chunks, tokens, split)
    speedup = pipeline_speedup(np.minimum(chunks, engine.pipeline_chunks), split.layer_gpus)
    return one.times(chunks / speedup, unpack_seconds(work, rates, engine))


def prompt_tokens_per_s(
    work: ModelWork,
    rates: GpuRates,
    engine: SpeedEngine,
    prompt_tokens: ArrayLike,
    split: Split = ONE_GPU,
) -> Floats:
    """Prompt tokens read per second when one prompt is read alone (llama-bench's pp tests)."""
    tokens = np.asarray(prompt_tokens, dtype=np.float64)
    return tokens / prompt_step(work, rates, engine, tokens, split=split).total


def pipeline_speedup(chunks: ArrayLike, gpus: ArrayLike) -> Floats:
    """How much faster c chunks pass g GPUs that each hold a part of the layers: c g / (c + g - 1)."""
    c = np.asarray(chunks, dtype=np.float64)
    g = np.asarray(gpus, dtype=np.float64)
    return c * g / (c + g - 1)


def time_to_first_token(
    work: ModelWork,
    rates: GpuRates,
    engine: SpeedEngine,
    prompt_tokens: ArrayLike,
    split: Split = ONE_GPU,
) -> Floats:
    """Seconds from sending one prompt to its first token when nothing else runs.

    Reading the prompt, and the engine's cost per request (tokenising, scheduling, first sampling).
    """
    return prompt_step(work, rates, engine, prompt_tokens, split=split).total + engine.constants["request_s"]
