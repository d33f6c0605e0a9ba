"""The Fit page's tasks Fine-tune and Train, run without a browser."""

from __future__ import annotations

import re
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from calculators.scenario import Scenario
from gpu_data.training import training_tables
from pages.ui import asked, training_load, training_tracks, training_views
from pages.ui.fit_numbers import NUMBERS
from pages.ui.training_controls import TASKS
from tests.pages.test_fit_page import APP, numbers, opened, scenario, scrubbed, shown

SERVE_ONLY = {"ui-engine", "ui-weight_format", "ui-kv_cache_dtype"}
FINETUNE_ONLY = {"ui-method", "samples", "sample_tokens", "epochs"}
TRAIN_ONLY = {"train_tokens", "deadline_days"}
WITH_OPTIONS = "training-options"


def keys(app: AppTest) -> set[str]:
    """Keys of all controls on the page, and fields of the boxes beside the verdict."""
    widgets = (*app.number_input, *app.selectbox, *app.toggle, *app.button_group)
    return {str(widget.key) for widget in widgets} | set(numbers(app))


def with_options(query: dict[str, str]) -> AppTest:
    """Opened with the rarely used controls unfolded."""
    app = AppTest.from_file(APP, default_timeout=60)
    for name, value in query.items():
        app.query_params[name] = value
    for name in ("_verdict_drawn", WITH_OPTIONS):
        app.session_state[name] = True
    return app.run()


def choice(app: AppTest, field: str) -> Any:
    """The list of a field, whatever is usual."""
    return next(box for box in app.selectbox if str(box.key).partition("-")[2].startswith(field))


@pytest.mark.parametrize(
    ("task", "own"), [("serve", SERVE_ONLY), ("finetune", FINETUNE_ONLY), ("train", TRAIN_ONLY)]
)
def test_each_task_has_its_own_controls_and_no_others(task: str, own: set[str]) -> None:
    app = opened({"task": task})
    assert not app.exception
    assert not app.error
    found = keys(app)
    assert own <= found
    assert not found & ((SERVE_ONLY | FINETUNE_ONLY | TRAIN_ONLY) - own)
    assert app.title[0].value == "Does my model fit?"


def test_the_switch_changes_the_task_and_the_link() -> None:
    app = opened()
    switch = next(group for group in app.button_group if group.key == "ui-task")
    assert list(TASKS) == ["serve", "finetune", "train"]
    switch.set_value("finetune").run()
    assert scenario(app).task == "finetune"
    assert app.session_state["task"] == "finetune"
    assert not app.exception


def test_a_list_is_another_one_when_the_task_has_another_usual_choice() -> None:
    """A browser keeps the words of a list's choice when only they change."""
    app = opened({"task": "finetune"})
    usual = {}
    for task in ("finetune", "train", "finetune"):
        next(group for group in app.button_group if group.key == "ui-task").set_value(task).run()
        assert not app.exception
        for field in ("optimizer", "checkpointing"):
            box = choice(app, field)
            label = box.options[0]
            assert label.endswith("(usual)")
            assert usual.setdefault((field, label), box.key) == box.key
            assert box.index == 0
    assert len(set(usual.values())) == len(usual) == 4


def test_a_choice_is_kept_when_what_is_usual_changes() -> None:
    app = opened({"task": "finetune", "opt": "adamw-8bit"})
    for method in ("full", "lora"):
        next(group for group in app.button_group if group.key == "ui-method").set_value(method).run()
        assert choice(app, "optimizer").value == "adamw-8bit"
        assert scenario(app).optimizer == "adamw-8bit"
    choice(app, "optimizer").select("").run()
    assert scenario(app).optimizer == ""


@pytest.mark.parametrize(
    ("query", "chip"),
    [
        ({}, "full checkpointing"),  # 70B: the framework's own does not fit
        ({"model": "llama-3.2-1b"}, "selective checkpointing"),
        ({"model": "llama-3.2-1b", "ckpt": "none"}, "no checkpointing"),
    ],
)
def test_the_chip_says_what_is_computed_again(query: dict[str, str], chip: str) -> None:
    shown_parts = report(opened({"task": "train", "gpus": "h100-sxm5-80gb", **query}))
    assert chip in shown_parts["chosen"]
    assert shown_parts["times"]["rows"][0][-1].endswith(chip)


def test_the_chip_leaves_it_open_when_pinned_gpus_differ() -> None:
    found = training_load.load(
        Scenario(task="train", model="llama-3.3-70b", train_gpus=8, gpus=("b300-sxm-288gb", "a100-sxm4-40gb"))
    )
    runs = found.runs()
    assert len({way.checkpointing for way in runs.ways if way}) == 2
    assert "checkpointing: automatic" in training_views.chosen(found, runs)


def report(app: AppTest) -> dict[str, Any]:
    """What the page's report shows for the scenario of this run."""
    found = training_load.load(scenario(app))
    runs = found.runs()
    best = training_tracks.build(found).verdict_gpu
    enough = training_views.in_time(found)
    return training_views.views(found, runs, best, enough) | {
        "deadline": training_views.deadline_words(found, enough),
        "chosen": training_views.chosen(found, runs),
        "changes": training_views.changes(found, runs),
    }


@pytest.mark.parametrize("task", ["finetune", "train"])
def test_a_task_shows_time_terms_and_what_others_measured(task: str) -> None:
    shown_parts = report(opened({"task": task}))
    assert len(shown_parts["times"]["rows"]) == len(Scenario().gpus)
    assert (
        len({len(row) for row in shown_parts["times"]["rows"]} | {len(shown_parts["times"]["titles"])}) == 1
    )
    assert len(shown_parts["terms"]["table"]["rows"]) > 4
    rows = shown_parts["published"]["rows"]
    assert len(rows) > 3
    assert all(len(row) == len(shown_parts["published"]["titles"]) + 1 for row in rows)
    assert all(row[-1].startswith("http") for row in rows)


def test_published_runs_that_the_field_knows_stand_beside_the_prediction() -> None:
    rows = report(opened({"task": "train", "model": "llama-2-7b"}))["published"]["rows"]
    for name in ("LLaMA 65B", "Llama 2 7B", "Llama 3 70B", "BLOOM", "OPT-175B", "DeepSeek-V3", "MPT-7B"):
        assert any(name in row[0] for row in rows), name
    assert rows[0][0].startswith("Llama 2 7B")  # nearest in size
    assert rows[0][1] == "184,320"  # GPU-hours on Meta's model card


@pytest.mark.parametrize("method", ["qlora", "lora", "full"])
def test_measured_fine_tunes_are_of_the_same_method(method: str) -> None:
    found = training_load.load(Scenario.model_validate({"task": "finetune", "method": method}))
    shown_rows = training_views.published_rows(found)
    assert shown_rows is not None
    methods = {row.cells: row.method for row in training_views.measured_finetunes()}
    assert all(methods[cells].startswith(method) for cells in shown_rows["rows"])


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
    assert (scenario(app).seq_len, scenario(app).micro_batch) == (4096, 2)
    assert numbers(app)["epochs"] == "1.5"
    assert choice(app, "optimizer").value == "adamw-8bit"
    assert choice(app, "training_framework").value == "axolotl"
    assert choice(app, "zero_stage").value == "2"
    assert "rank 64 on q_proj, v_proj" in report(app)["chosen"]


def test_tokens_are_shown_in_billions_and_travel_whole() -> None:
    app = opened({"task": "train", "tokens": "15600000000000"})
    assert numbers(app)["train_tokens"] == "15600"
    assert asked.taken(NUMBERS["train"]["train_tokens"], "train_tokens", "300.5") == {
        "train_tokens": 300_500_000_000
    }


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
    rows, fields = report(app)["changes"]
    assert all(row["text"].startswith("not possible: gpus: 6 is no multiple") for row in rows)
    assert not fields


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
    assert training_tables().optimizers[optimizer].label in report(app)["chosen"]


def test_a_deadline_gives_a_number_of_each_gpu() -> None:
    app = opened({"task": "train", "model": "llama-2-7b", "days": "14"})
    assert numbers(app)["deadline_days"] == "14"
    said = report(app)
    times = said["times"]
    assert re.match(r"To finish in 14 days: \d+ × H100 SXM5 80GB, \d+ × A100", said["deadline"])
    column = times["titles"].index("GPUs for 14 days")
    assert all(re.match(r"[\d,]+ \([\d,]+ to be nearly sure\)$", row[column]) for row in times["rows"])
    assert "GPUs for" not in "".join(report(opened({"task": "train"}))["times"]["titles"])


def test_a_release_writes_to_the_link_and_leaves_the_rest() -> None:
    app = scrubbed(opened({"task": "finetune"}), seq="4096", micro="2")
    assert (scenario(app).seq_len, scenario(app).micro_batch) == (4096, 2)
    app = scrubbed(opened({"task": "train"}), tgpus="512")
    assert scenario(app).train_gpus == 512
    assert not app.exception
