"""How a speed came about: every addend of a step with its formula, the numbers put in, and its source."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from calculators.speed.latency import pipeline_speedup
from calculators.speed.rates import GpuRates
from calculators.speed.step import Split, Step, bandwidth, matmul_rate
from calculators.speed.work import (
    ModelWork,
    cache_bytes_read,
    decode_attention_flop,
    expert_bytes_read,
    prefill_attention_flop,
)
from gpu_data.speed_schemas import SpeedEngine

GIGA, TERA, MS, MICRO = 1e9, 1e12, 1e3, 1e6
ROOFLINE = "Williams, Waterman and Patterson, Roofline, 2009"
FITTED = "constants of the engine, fitted on published measurements"


@dataclass(frozen=True)
class SpeedTerm:
    """One addend of a step [s]; of reading and computing only the larger counts."""

    name: str
    seconds: float
    formula: str
    substituted: str
    source: str


@dataclass(frozen=True)
class _Asked:
    """What one GPU has to move [byte] and to compute [FLOP]."""

    weights: float
    experts: float
    cache: float
    matmul: float
    routed: float
    attention: float


def decode_terms(
    work: ModelWork,
    rates: GpuRates,
    engine: SpeedEngine,
    sequences: float,
    context: float,
    split: Split,
    step: Step,
) -> tuple[SpeedTerm, ...]:
    """The addends of one decode step of one GPU; `step` is what `decode_pass` gave for the same scalars."""
    tp = float(np.asarray(split.tensor_parallel_size))
    dense = work.matmul_flop_per_token - work.expert_flop_per_token
    asked = _Asked(
        weights=float(work.fixed_weight_bytes + work.head_bytes) / tp,
        experts=float(expert_bytes_read(work, sequences)) / tp,
        cache=float(cache_bytes_read(work, context, tp)) * sequences,
        matmul=sequences * (dense + work.head_flop_per_token) / tp,
        routed=sequences * work.expert_flop_per_token / tp,
        attention=sequences * float(decode_attention_flop(work, context)) / tp,
    )
    k = engine.constants
    each = k["sequence_s"] + k["stream_s"]
    fixed = (
        f"{k['step_s'] * MS:.2f} ms per step + {work.n_layers} layers × {k['layer_s'] * MICRO:.1f} µs + "
        f"{sequences:,.0f} sequences × {each * MICRO:.0f} µs"
    )
    spent = k["step_s"] + work.n_layers * k["layer_s"] + sequences * each
    fixed += _unhidden(float(step.fixed) - spent)
    return _terms(rates, engine, step, asked, tp, fixed)


def prompt_terms(
    work: ModelWork, rates: GpuRates, engine: SpeedEngine, prompt_tokens: float, split: Split, step: Step
) -> tuple[SpeedTerm, ...]:
    """The addends of reading one prompt; `step` is what `prompt_step` gave for the same scalars."""
    tp = float(np.asarray(split.tensor_parallel_size))
    k = engine.constants
    chunks = max(float(np.ceil(prompt_tokens / engine.chunk_tokens)), 1.0)
    overlap = float(pipeline_speedup(min(chunks, engine.pipeline_chunks), split.layer_gpus))
    dense = work.matmul_flop_per_token - work.expert_flop_per_token
    asked = _Asked(
        weights=float(work.fixed_weight_bytes + work.head_bytes) / tp * chunks,
        experts=float(expert_bytes_read(work, prompt_tokens / chunks)) / tp * chunks,
        cache=0.0,
        matmul=(prompt_tokens * dense + work.head_flop_per_token) / tp,
        routed=prompt_tokens * work.expert_flop_per_token / tp,
        attention=float(prefill_attention_flop(work, prompt_tokens)) / tp,
    )
    fixed = (
        f"{chunks:g} × ({k['step_s'] * MS:.2f} ms per step + {work.n_layers} layers × "
        f"{k['prompt_layer_s'] * MICRO:.1f} µs)"
    )
    spent = chunks * (k["step_s"] + work.n_layers * k["prompt_layer_s"]) / overlap
    fixed += _unhidden(float(step.fixed) - spent)
    found = _terms(rates, engine, step, asked, tp, fixed)
    if overlap == 1:
        return found
    shared = f", ÷ {overlap:.2f} as chunks pass the GPUs together"
    return tuple(replace(term, substituted=term.substituted + shared) for term in found)


def _unhidden(seconds: float) -> str:
    """What launching the kernels takes beyond the time they run."""
    return f" + {seconds * MS:.2f} ms of launches that kernels do not hide" if seconds > 1e-6 else ""


def _terms(
    rates: GpuRates,
    engine: SpeedEngine,
    step: Step,
    asked: _Asked,
    tp: float,
    fixed: str,
) -> tuple[SpeedTerm, ...]:
    k = engine.constants
    gets, rate = float(bandwidth(rates, k)), float(matmul_rate(rates, k))
    per_gpu = f" on each of {tp:g} GPUs" if tp > 1 else ""
    stored = f"; {_text(rates.unpacked_bits)}-bit weights are unpacked" if rates.unpacked_bits else ""
    found = [
        SpeedTerm(
            "Weights read",
            float(step.read_weights),
            "bytes ÷ bandwidth that kernels get",
            f"{asked.weights / GIGA:,.2f} GB{per_gpu} ÷ {gets / GIGA:,.0f} GB/s "
            f"({100 * gets / float(rates.bandwidth):.0f} % of {float(rates.bandwidth) / GIGA:,.0f})",
            ROOFLINE,
        ),
        SpeedTerm(
            "Matrices multiplied",
            float(step.multiply),
            "FLOP ÷ rate that kernels get",
            f"{asked.matmul / TERA:,.3g} TFLOP{per_gpu} ÷ {rate / TERA:,.0f} TFLOP/s "
            f"({100 * rate / float(rates.compute):.0f} % of {float(rates.compute) / TERA:,.0f} in "
            f"{rates.computed_in}{stored})",
            ROOFLINE,
        ),
        SpeedTerm(
            "Experts read",
            float(step.read_experts),
            "bytes of the experts that the tokens touch ÷ (bandwidth × share of expert kernels)",
            f"{asked.experts / GIGA:,.2f} GB{per_gpu} ÷ ({gets / GIGA:,.0f} GB/s × {k['expert_share']:.2f})",
            "expected number of occupied cells (Feller)",
        ),
        SpeedTerm(
            "Experts multiplied",
            float(step.multiply_experts),
            "FLOP ÷ (rate × share of expert kernels)",
            f"{asked.routed / TERA:,.3g} TFLOP{per_gpu} ÷ ({rate / TERA:,.0f} TFLOP/s × "
            f"{k['expert_compute_share']:.2f})",
            ROOFLINE,
        ),
        SpeedTerm(
            "Cache read",
            float(step.read_cache),
            "bytes ÷ (bandwidth × share of attention kernels)",
            f"{asked.cache / GIGA:,.3g} GB ÷ ({gets / GIGA:,.0f} GB/s × {k['cache_share']:.2f})"
            if asked.cache
            else "attention scores written to memory and read again",
            ROOFLINE,
        ),
        SpeedTerm(
            "Attention computed",
            float(step.attend),
            "FLOP ÷ 16-bit rate",
            f"{asked.attention / TERA:,.3g} TFLOP{per_gpu}",
            ROOFLINE,
        ),
        SpeedTerm(
            "Weights unpacked",
            float(np.asarray(step.unpack)),
            "packed bytes and 2 × 2 bytes per weight ÷ bandwidth",
            "to 16 bits in memory before a prompt is multiplied",
            "llama.cpp ggml-cuda.cu",
        ),
        SpeedTerm(
            "All-reduces",
            float(step.communication),
            "2 per layer: latency and 2 (T − 1) / T of the message ÷ link",
            f"over {tp:g} GPUs",
            "Patarasuk and Yuan, 2009; " + FITTED,
        ),
        SpeedTerm(
            "Fixed costs",
            float(step.fixed),
            "scheduling and sampling, gaps between kernels, each sequence's own work",
            fixed,
            FITTED,
        ),
    ]
    return tuple(term for term in found if term.seconds > 0)


def _text(bits: object) -> str:
    return f"{float(np.asarray(bits, dtype=np.float64)):g}"
