"""Runs that several training tests start from, and strategies that vary them."""

from __future__ import annotations

from functools import cache

from hypothesis import strategies as st

from calculators.architecture import Architecture, read_config
from calculators.training import GpuSpeed, Parallel, Training, generic_architecture, gpu_speed_of
from gpu_data import spec_frame
from gpu_data.formats import weight_format
from gpu_data.models import model_config
from gpu_data.training import training_model_config, training_tables

TABLES = training_tables()
MODELS = ("llama-3.2-1b", "phi-2", "gemma-2-9b", "qwen3-30b-a3b", "deepseek-v2-lite")


@cache
def arch(name: str) -> Architecture:
    """A model of the catalogue, or of the training tables."""
    try:
        return read_config(training_model_config(name))
    except KeyError:
        return read_config(model_config(name))


def training(name: str = "llama-3.1-8b", framework: str = "transformers", **changes: object) -> Training:
    """A full run with AdamW in pure BF16, changed as asked."""
    plain = Training(
        arch(name),
        TABLES.frameworks[framework],
        TABLES.precisions["bf16"],
        TABLES.optimizers["adamw"],
        TABLES.lora_targets,
    )
    return plain.but(**changes)


def gpu(gpu_id: str) -> GpuSpeed:
    """A GPU of the table."""
    return gpu_speed_of(gpu_id, spec_frame().loc[gpu_id].to_dict(), TABLES)


@st.composite
def trainings(draw: st.DrawFn) -> Training:
    """Runs of every method, optimiser, precision, split and checkpointing."""
    if draw(st.booleans()):
        model = arch(draw(st.sampled_from(MODELS)))
    else:
        model = generic_architecture(draw(st.sampled_from([1e8, 1e9, 7e9, 7e10])))
    method = draw(st.sampled_from(["full", "lora", "qlora", "adapter", "adapter-v2"]))
    tensor = draw(st.sampled_from([t for t in (1, 2, 4) if model.num_attention_heads % t == 0]))
    pipeline = draw(st.sampled_from([1, 2, 4]))
    data = draw(st.sampled_from([1, 2, 8, 64]))
    return Training(
        model,
        TABLES.frameworks[draw(st.sampled_from(sorted(TABLES.frameworks)))],
        TABLES.precisions[draw(st.sampled_from(sorted(TABLES.precisions)))],
        TABLES.optimizers[draw(st.sampled_from(sorted(TABLES.optimizers)))],
        TABLES.lora_targets,
        method,
        weight_format("bnb-nf4") if method == "qlora" else None,
        lora_rank=draw(st.integers(1, 256)),
        seq_len=draw(st.integers(1, 1 << 17)),
        micro_batch=draw(st.integers(1, 64)),
        accumulation=draw(st.integers(1, 64)),
        checkpointing=draw(st.sampled_from(["none", "selective", "full"])),
        flash_attention=draw(st.booleans()),
        parallel=Parallel(
            tensor * pipeline * data,
            tensor,
            pipeline,
            zero_stage=draw(st.sampled_from([0, 1, 2, 3])),
            sequence_parallel=draw(st.booleans()),
        ),
    )
