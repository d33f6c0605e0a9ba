"""The Fit page's tasks Fine-tune and Train, run without a browser."""

from __future__ import annotations

import re

import pytest
from streamlit.testing.v1 import AppTest

from calculators.scenario import Scenario
from gpu_data.training import training_tables
from pages.ui.training_controls import TASKS
from tests.pages.test_fit_page import opened, scenario, shown

SERVE_ONLY = {"ui-engine", "ui-weight_format", "ui-kv_cache_dtype"}
FINETUNE_ONLY = {"ui-samples", "ui-sample_tokens", "ui-epochs", "ui-gpu_count"}
TRAIN_ONLY = {"ui-train_tokens", "ui-train_gpus", "ui-deadline_days"}
WITH_OPTIONS = "training-options"


def keys(app: AppTest) -> set[str]:
    """Keys of all controls on the page."""
    widgets = (*app.number_input, *app.selectbox, *app.toggle, *app.button_group)
    return {str(widget.key) for widget in widgets}


def with_options(query: dict[str, str]) -> AppTest:
    """Opened with the rarely used controls unfolded."""
    app = AppTest.from_file(opened.__globals__["APP"], default_timeout=60)
    for name, value in query.items():
        app.query_params[name] = value
    for name in ("_verdict_drawn", WITH_OPTIONS):
        app.session_state[name] = True
    return app.run()


@pytest.mark.parametrize(
    ("task", "own"), [("serve", SERVE_ONLY), ("finetune", FINETUNE_ONLY), ("train", TRAIN_ONLY)]
)
def test_each_task_has_its_own_controls_and_no_others(task: str, own: set[str]) -> None:
    app = opened({"task": task})
    assert not app.exception
    assert not app.error
    found = keys(app)
    assert own <= found
    foreign = (
        (SERVE_ONLY | FINETUNE_ONLY | TRAIN_ONLY) - own - ({"ui-gpu_count"} if task == "serve" else set())
    )
    assert not found & foreign
    assert app.title[0].value == "Does my model fit?"


def test_the_switch_changes_the_task_and_the_link() -> None:
    app = opened()
    switch = next(group for group in app.button_group if group.key == "ui-task")
    assert list(TASKS) == ["serve", "finetune", "train"]
    switch.set_value("finetune").run()
    assert scenario(app).task == "finetune"
    assert app.session_state["task"] == "finetune"
    assert not app.exception


@pytest.mark.parametrize("task", ["finetune", "train"])
def test_a_task_shows_verdict_time_terms_and_what_others_measured(task: str) -> None:
    app = opened({"task": task})
    headers = [header.value for header in app.header]
    assert "How long it takes" in headers
    assert "How this was computed" in headers
    assert any(re.search("Published|Measured", header) for header in headers)
    assert len(app.dataframe) == 1
    table = app.dataframe[0].value
    assert table["Source"].str.startswith("http").all()
    assert len(table) > 3


def test_published_runs_that_the_field_knows_stand_beside_the_prediction() -> None:
    table = opened({"task": "train", "model": "llama-2-7b"}).dataframe[0].value
    for name in ("LLaMA 65B", "Llama 2 7B", "Llama 3 70B", "BLOOM", "OPT-175B", "DeepSeek-V3", "MPT-7B"):
        assert table["Run"].str.contains(name, regex=False).any(), name
    assert table["Run"].iloc[0].startswith("Llama 2 7B")  # nearest in size
    assert not table["GPU-hours"].isna().any()


def test_every_field_of_a_task_can_be_set_by_link() -> None:
    app = with_options(
        {
            "task": "finetune",
            "method": "lora",
            "rank": "64",
            "targets": "q_proj.v_proj",
            "opt": "adamw-8bit",
            "mix": "bf16",
            "fw": "axolotl",
            "seq": "4096",
            "micro": "2",
            "accum": "8",
            "ckpt": "selective",
            "fuse": "on",
            "offload": "optimizer",
            "zero": "2",
            "count": "4",
            "samples": "1000",
            "stok": "300",
            "epochs": "1.5",
        }
    )
    assert not app.exception
    assert not app.error
    assert not app.warning
    assert app.number_input(key="ui-lora_rank").value == 64
    assert app.number_input(key="ui-seq_len").value == 4096
    assert app.number_input(key="ui-epochs").value == 1.5
    assert app.selectbox(key="ui-optimizer").value == "adamw-8bit"
    assert app.selectbox(key="ui-training_framework").value == "axolotl"
    assert app.selectbox(key="ui-zero_stage").value == "2"
    assert ":gray-badge[rank 64 on q_proj, v_proj]" in shown(app)


def test_tokens_are_shown_in_billions_and_travel_whole() -> None:
    app = opened({"task": "train", "tokens": "15600000000000"})
    box = app.number_input(key="ui-train_tokens")
    assert box.value == 15_600
    box.set_value(300.5).run()
    assert scenario(app).train_tokens == 300_500_000_000
    assert app.session_state["tokens"] == "300500000000"


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"task": "train", "tp": "3"}, "tensor_parallel_size"),
        ({"task": "train", "pp": "1000"}, "pipeline_parallel_size"),
        ({"task": "train", "cp": "3"}, "context_parallel_size"),
        ({"task": "train", "eps": "8"}, "expert_parallel_size"),
        ({"task": "finetune", "targets": "experts"}, "lora_targets"),
        ({"task": "finetune", "config": "nonsense"}, "config"),
    ],
)
def test_what_cannot_be_is_refused_by_field(query: dict[str, str], field: str) -> None:
    app = opened(query)
    assert not app.exception
    assert f"`{field}`" in shown(app)


def test_a_number_of_gpus_that_cannot_be_split_so_is_named_on_its_row() -> None:
    app = opened({"task": "train", "tp": "4", "tgpus": "6"})
    assert not app.exception
    assert "gpus" in shown(app)
    assert "is no multiple of tensor" in shown(app)


@pytest.mark.parametrize("task", ["finetune", "train"])
@pytest.mark.parametrize(
    "query",
    [
        {"gpus": "."},
        {"gpus": "apple-m3-ultra.t4-16gb.mi250x-128gb.v100-sxm2-32gb"},
        {"gpus": "rubin-sxm-288gb", "pre": "1"},
        {"model": "falcon-mamba-7b"},
        {"model": "deepseek-v3", "count": "64", "tgpus": "100000"},
        {"tgpus": "1", "seq": "1048576", "micro": "1024"},
        {"opt": "adafactor", "mix": "mixed-fp8", "fw": "megatron", "ckpt": "none", "fa": "off"},
        {"days": "0.01", "tokens": "1", "samples": "1", "stok": "1", "epochs": "0.01"},
        {"days": "1", "tokens": "1000000000000000"},
    ],
    ids=str,
)
def test_odd_scenarios_stand(task: str, query: dict[str, str]) -> None:
    app = opened({"task": task} | query)
    assert not app.exception
    assert not app.error


@pytest.mark.parametrize("optimizer", sorted(training_tables().optimizers))
def test_every_optimiser_can_be_chosen(optimizer: str) -> None:
    app = opened({"task": "finetune", "method": "full", "model": "llama-3.2-1b", "opt": optimizer})
    assert not app.exception
    assert f":gray-badge[{training_tables().optimizers[optimizer].label}]" in shown(app)


def test_apply_keeps_its_promise() -> None:
    app = opened({"task": "finetune", "gpus": "rtx-4090-24gb"})
    app.button(key="apply-rtx-4090-24gb").click().run()
    assert scenario(app) != Scenario(task="finetune", gpus=("rtx-4090-24gb",))
    assert "What would make it fit" not in [header.value for header in app.header]


def test_a_deadline_may_be_left_out() -> None:
    without = opened({"task": "train", "model": "llama-2-7b"})
    app = opened({"task": "train", "model": "llama-2-7b", "days": "14"})
    assert not app.exception
    assert app.number_input(key="ui-deadline_days").value == 14
    assert without.number_input(key="ui-deadline_days").value is None
