"""The controls of fine-tuning and training. Each writes to the link; none computes anything."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from calculators.scenario import Scenario
from gpu_data.training import training_tables
from pages.ui import catalogue, controls, state
from pages.ui.training_load import METHOD_NAMES, Choices

TASKS = {"serve": "Serve", "finetune": "Fine-tune", "train": "Train"}
BILLION = 10**9
CHECKPOINTING = {
    "none": "None: keep everything",
    "selective": "Selective: the framework's choice",
    "full": "Full: keep each layer's input",
}
LOSSES = {"on": "Fused or in chunks", "off": "All at once, in fp32"}
SWITCHES = {"on": "On", "off": "Off"}
OFFLOADS = {
    "none": "None",
    "optimizer": "Optimiser states on the CPU",
    "all": "Weights and optimiser states on the CPU",
}
STAGES = {
    "0": "0: every GPU holds everything",
    "1": "1: optimiser states split",
    "2": "2: gradients split too",
    "3": "3: weights split too (FSDP)",
}
TARGETS = {"mlp": "MLP", "experts": "experts", "all-linear": "all linear layers"}


def task_switch() -> None:
    """What is asked: to serve a model, to fine-tune it, or to train it from nothing."""
    state.control(
        st.segmented_control,
        "Task",
        "task",
        options=list(TASKS),
        format_func=TASKS.__getitem__,
        required=True,
    )


def fit_sidebar(scenario: Scenario) -> None:
    """The task's own controls, and no others."""
    if scenario.task == "serve":
        controls.fit_sidebar(scenario)
        return
    controls.model(scenario)
    if scenario.task == "finetune":
        tuning()
    controls.gpu_picker(scenario)
    method(scenario)


def tuning() -> None:
    """What a fine-tune trains."""
    state.control(
        st.segmented_control,
        "Method",
        "method",
        options=list(METHOD_NAMES),
        format_func=lambda method: METHOD_NAMES[method].removesuffix(" fine-tuning"),
        required=True,
        help="QLoRA: adapters on a 4-bit base. LoRA: on a 16-bit base. Full: every weight is trained.",
    )


def method(scenario: Scenario) -> None:
    """How it is trained, and what most readers never see."""
    chosen = Choices(scenario)
    _method(chosen)
    _more(chosen)


def _number(label: str, field: str, usual: object = None, **options: Any) -> None:
    """A number that may be left to the task's default, which stands in the empty box."""
    if usual is not None:
        options["placeholder"] = f"{usual} unless set" if usual != "" else "automatic"
    state.control(st.number_input, label, field, **options)


def _choice(
    label: str, field: str, names: Mapping[str, str], usual: str, empty: str = "", help: str = ""
) -> None:
    """A list whose first entry leaves the choice to us and says which; another usual, another list."""
    shown = {empty: f"{usual} (usual)"} | {key: name for key, name in names.items() if key != empty}
    state.control(
        st.selectbox,
        label,
        field,
        variant=catalogue.slug(usual),
        options=list(shown),
        format_func=shown.__getitem__,
        help=help or None,
    )


def _short(label: str) -> str:
    """A label without its remark in brackets: a narrow sidebar cuts it otherwise."""
    return label.partition(" (")[0]


def _unset(chosen: Choices, **fields: Any) -> Choices:
    """The choices without some of the reader's: what the default would be."""
    return Choices(chosen.scenario.model_copy(update=fields))


def _method(chosen: Choices) -> None:
    """How it is trained: adapters, optimiser, checkpointing."""
    tables, framework = training_tables(), chosen.framework
    if chosen.method != "full":
        with st.container(horizontal=True):
            _number("LoRA rank", "lora_rank", framework.lora_rank, min_value=1, max_value=4096, step=8)
        state.control(
            st.pills,
            "LoRA on (lora_targets)",
            "lora_targets",
            options=list(tables.lora_targets),
            selection_mode="multi",
            format_func=lambda name: TARGETS.get(name, name),
            help=f"None chosen: {', '.join(TARGETS.get(t, t) for t in framework.lora_targets)}, "
            f"as usual with {framework.label}.",
        )
    optimizers = {key: row.label for key, row in tables.optimizers.items()}
    _choice("Optimiser", "optimizer", optimizers, _unset(chosen, optimizer="").optimizer.label)
    usual = _unset(chosen, checkpointing="auto").checkpointing
    name = CHECKPOINTING[usual].partition(":")[0]
    automatic = f"{name} or full" if chosen.trains and usual != "full" else name
    _choice(
        "Activation checkpointing",
        "checkpointing",
        CHECKPOINTING,
        automatic,
        "auto",
        "What is thrown away after the forward pass and computed again for the backward pass.",
    )


def _more(chosen: Choices) -> None:
    """Choices that most readers never see."""
    more = st.expander("Precision, loss, offload, parallelism", on_change="rerun", key="training-options")
    if not more.open:
        return
    tables, framework = training_tables(), chosen.framework
    with more:
        frameworks = {key: row.label for key, row in tables.frameworks.items()}
        _choice(
            "Framework",
            "training_framework",
            frameworks,
            _short(_unset(chosen, training_framework="").framework.label),
            help="What it keeps beside the model's own numbers, and what it does when nobody says.",
        )
        precisions = {key: row.label for key, row in tables.precisions.items()}
        usual = _short(_unset(chosen, training_precision="").precision.label)
        _choice("Precision", "training_precision", precisions, usual)
        loss = "In chunks" if framework.logit_bytes < 4 else "All at once"
        _choice("Logits for the loss", "fused_loss", LOSSES, loss, "auto")
        _choice("Flash attention", "flash_attention", SWITCHES, "On", "auto")
        state.control(
            st.selectbox, "CPU offload", "offload", options=list(OFFLOADS), format_func=OFFLOADS.__getitem__
        )
        _number(
            "Gradient accumulation",
            "accumulation",
            min_value=1,
            max_value=65536,
            step=1,
            placeholder="4 per stage",
            help="Micro-batches per optimiser step; left empty, four for every pipeline stage, fewer where a "
            "step would take more tokens than any published run.",
        )
        _choice(
            "ZeRO stage",
            "zero_stage",
            STAGES,
            "Automatic",
            "auto",
            "With any size below set, the split is exactly as set; sizes left open are 1.",
        )
        for label, field in (
            ("Tensor parallel (tensor_parallel_size)", "train_tensor"),
            ("Pipeline stages (pipeline_parallel_size)", "train_pipeline"),
            ("Context parallel (context_parallel_size)", "train_context"),
            ("Expert parallel (expert_parallel_size)", "train_expert"),
        ):
            _number(label, field, "", min_value=1, max_value=1024, step=1)
        _choice("Sequence parallel", "sequence_parallel", SWITCHES, "On", "auto")
