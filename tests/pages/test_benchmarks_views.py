"""What the Benchmarks page says and draws, as plain data: one unit, one question, always a source."""

from __future__ import annotations

import json
import re
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calculators.scenario import Scenario
from gpu_data.accuracy import accuracy_frame
from pages.ui import benchmarks_choices as choices
from pages.ui.benchmarks_choices import ANY, INFERENCE, LANES, LLAMACPP, TRAINING
from pages.ui.benchmarks_select import Selected, select
from pages.ui.benchmarks_views import MOST_BARS, Section, different_units, inference_measure, sections
from pages.ui.figures_benchmarks import Estimate, ResultBar, result_bars
from tests.pages import drawn

COLOUR = re.compile(r"#[0-9a-fA-F]{3,8}\b|rgb")


def shown(**fields: Any) -> tuple[Selected, list[Section]]:
    scenario = Scenario(**fields)
    selected = select(scenario)
    return selected, sections(selected, scenario)


def bars(section: Section) -> dict[str, float]:
    """Name -> length, from top to bottom."""
    return drawn.bars(section.figure)


QUESTIONS = [
    {},
    {"bench_model": "llama-3-70b", "bench_gpu_count": 0},
    {"bench_test": "pp1024", "bench_format": "gguf-f16"},
    {"bench_lane": "inference"},
    {"bench_lane": "inference", "infer_measure": "per-system"},
    {"bench_lane": "inference", "infer_benchmark": "resnet50", "infer_scenario": "singlestream"},
    {"bench_lane": "inference", "mlperf_rounds": ("v5-1", "v4-1")},
    {"bench_lane": "training"},
    {"bench_lane": "training", "train_measure": "gpu-hours"},
    {"bench_lane": "training", "train_measure": "tokens-per-gpu"},
]


@pytest.mark.parametrize("fields", QUESTIONS, ids=str)
def test_a_figure_is_plain_json_with_a_number_at_every_bar(fields: dict[str, Any]) -> None:
    _, parts = shown(**fields)
    for part in parts:
        text = json.dumps(part.figure, allow_nan=False)
        assert not COLOUR.search(text)
        assert '"color' not in text
        words = drawn.texts(part.figure)
        assert 0 < len(words) <= MOST_BARS
        assert len(words) == len(part.figure["rows"]) == len(part.numbers)
        assert all(re.search(r"\d|out of memory", word) for word in words.values())
        assert part.figure["alt"].endswith(".")
        assert part.takeaway.count(" ") > 5


@pytest.mark.parametrize("fields", QUESTIONS, ids=str)
def test_bars_stand_best_first(fields: dict[str, Any]) -> None:
    _, (part,) = shown(**fields)
    values = [value for value in bars(part).values() if value]
    best_first = sorted(values, reverse="highest" in part.takeaway)
    assert values == best_first


@pytest.mark.parametrize("fields", QUESTIONS, ids=str)
def test_each_row_of_a_table_has_a_source(fields: dict[str, Any]) -> None:
    selected, (part,) = shown(**fields)
    frame = part.table.frame
    assert len(frame) == len(selected.rows)
    addresses = frame["Source"].fillna("")
    logs = frame.get("Source without an address", pd.Series("", index=frame.index)).fillna("")
    assert ((addresses.str.startswith("https://")) | (logs != "")).all()


def test_lane_a_by_default_is_the_published_ranking() -> None:
    """XiongjieDai/GPU-Benchmarks-on-LLM-Inference: 8B Q4_K_M, 1024 tokens generated, one GPU."""
    _, (part,) = shown()
    found = bars(part)
    assert list(found)[:2] == ["H100 PCIe 80GB", "A100 PCIe 80GB"]
    assert found["★ RTX 4090 24GB"] == pytest.approx(127.74, rel=1e-3)
    assert "H100 PCIe 80GB has the highest speed" in part.takeaway
    assert "144.5 tokens/s" in part.takeaway


def test_out_of_memory_is_a_result() -> None:
    _, (part,) = shown(bench_model="llama-3-70b")
    failed = [name for name, text in drawn.texts(part.figure).items() if text == "out of memory"]
    assert "★ RTX 4090 24GB" in failed  # 39.6 GiB of weights
    assert all(bars(part)[name] == 0 for name in failed)
    assert "Out of memory:" in part.takeaway
    assert set(part.table.frame["Outcome"]) == {"ran", "out of memory"}
    table = part.table.frame
    assert table.loc[table["Outcome"] == "out of memory", "Tokens/s"].isna().all()


def test_unverified_results_are_off_and_labelled() -> None:
    fields = {"bench_model": "qwen3.5-9b", "bench_test": ANY, "bench_format": ANY, "bench_gpu_count": 0}
    selected, _ = shown(**fields)
    assert "unverified" not in set(selected.rows["trust"])
    assert selected.hidden_unverified > 0
    doubtful, _ = shown(**fields, unverified=True)
    assert len(doubtful.rows) == len(selected.rows) + selected.hidden_unverified
    test = str(doubtful.rows.loc[doubtful.rows["trust"] == "unverified", "test_key"].iloc[0])
    quant = str(doubtful.rows.loc[doubtful.rows["trust"] == "unverified", "format_key"].iloc[0])
    _, (part,) = shown(**{**fields, "bench_test": test, "bench_format": quant, "unverified": True})
    assert any(name.endswith("(unverified)") for name in bars(part))


def test_outliers_of_the_trusted_table_carry_a_remark() -> None:
    """Prompts in F16 on A100 SXM and L40S reach 3 to 15 % of the peak in that table."""
    _, (part,) = shown(bench_format="gguf-f16", bench_test="pp1024")
    doubted = part.table.frame.loc[part.table.frame["Remark"].notna(), "GPU"]
    assert set(doubted) == {"A100-SXM-80GB", "L40S"}
    assert any("outlier" in note for note in part.notes)


def test_one_round_unless_several_are_asked_for() -> None:
    selected, (part,) = shown(bench_lane="inference")
    assert set(selected.rows["round"]) == {"v6.0"}
    assert "round v6.0" in part.takeaway
    selected, (part,) = shown(bench_lane="inference", mlperf_rounds=("v4-1", "v5-1"))
    assert set(selected.rows["round"]) == {"v4.1", "v5.1"}
    assert all(name.endswith(("v4.1", "v5.1")) for name in bars(part))
    legend = {item["text"]: item["hatch"] for item in part.figure["legend"] if item["look"] == "bar"}
    assert set(legend) == {"Round v4.1", "Round v5.1"}
    assert len(set(legend.values())) == 2
    for row in part.figure["rows"]:
        assert row["hatch"] == legend[f"Round {row['name'][-4:]}"]
    assert "Round" in part.table.frame


def test_a_round_without_the_benchmark_falls_to_nothing_not_to_another_round() -> None:
    selected, parts = shown(bench_lane="training", mlperf_rounds=("v2-0",))
    assert selected.scope.empty
    assert parts == []


def test_units_never_share_a_chart_or_a_table() -> None:
    selected, parts = shown(bench_lane="inference", infer_benchmark="gptj-99", mlperf_rounds=("v4-0", "v4-1"))
    assert {part.figure["title"] for part in parts} == {"samples/s per GPU", "tokens/s per GPU"}
    for part in parts:
        assert max(row["bar"] for row in part.figure["rows"]) > 1 / 3  # not the other unit's axis
        units = [unit for unit in ("Samples/s", "Tokens/s", "Queries/s") if unit in part.table.frame]
        assert len(units) == 1
    assert len({part.key for part in parts}) == 2
    assert sum(len(part.table.frame) for part in parts) == len(selected.rows)
    assert "Samples/s in v4.0" in different_units(selected)
    assert different_units(shown(bench_lane="inference")[0]) == ""


@pytest.mark.parametrize("scenario", choices.named(INFERENCE, "scenario", "scenario_key"))
def test_each_section_of_each_benchmark_has_one_unit(scenario: str) -> None:
    for benchmark in choices.named(INFERENCE, "benchmark", "benchmark_key"):
        selected, parts = shown(
            bench_lane="inference",
            infer_benchmark=benchmark,
            infer_scenario=scenario,
            mlperf_rounds=choices.rounds(INFERENCE),
            mlperf_categories=(),
        )
        assert len(parts) == selected.rows["unit"].nunique()
        assert sum(len(part.table.frame) for part in parts) == len(selected.rows)


def test_a_latency_is_never_divided_by_gpus() -> None:
    for measure in choices.INFERENCE_MEASURES:
        assert inference_measure("Latency (ms)", measure).column == "value"
    _, (part,) = shown(bench_lane="inference", infer_benchmark="resnet50", infer_scenario="singlestream")
    assert "lowest latency" in part.takeaway
    assert "Latency (ms) per GPU" not in part.table.frame


def test_per_gpu_divides_and_per_system_does_not() -> None:
    """NVIDIA GB300 NVL72, MLPerf Inference v6.0, llama2-70b-99 Offline: 1,126,850 tokens/s on 72 GPUs."""
    _, (per_gpu,) = shown(bench_lane="inference")
    _, (system,) = shown(bench_lane="inference", infer_measure="per-system")
    assert bars(per_gpu)["GB300"] == pytest.approx(1_126_850 / 72, rel=1e-3)
    assert bars(system)["GB300 ×72 · NVIDIA"] == pytest.approx(1_126_850, rel=1e-3)


def test_training_bars_name_the_size_of_the_system() -> None:
    _, (part,) = shown(bench_lane="training")
    assert all("×" in name for name in bars(part))
    assert "shortest time to train" in part.takeaway
    _, (hours,) = shown(bench_lane="training", train_measure="gpu-hours")
    assert "lowest GPU time to train" in hours.takeaway
    _, (none,) = shown(bench_lane="training", train_benchmark="retinanet", train_measure="tokens-per-gpu")
    assert none.figure is None
    assert "No result" in none.takeaway


def test_results_of_several_questions_are_listed_and_not_ranked() -> None:
    for fields in (
        {"bench_model": ANY},
        {"bench_lane": "inference", "infer_benchmark": ANY},
        {"bench_lane": "inference", "infer_scenario": ANY},
        {"bench_lane": "training", "train_benchmark": ANY},
    ):
        selected, (part,) = shown(**fields)
        assert part.figure is None
        assert "not ranked" in part.title
        assert len(part.table.frame) == len(selected.rows) > 0


def test_filters_narrow_and_never_add() -> None:
    whole, _ = shown(bench_lane="inference", mlperf_categories=())
    some, (part,) = shown(
        bench_lane="inference",
        bench_gpus=("mi355x-288gb",),
        mlperf_submitters=("amd", "dell"),
        mlperf_gpu_count=8,
        mlperf_availability=("available",),
    )
    assert 0 < len(some.rows) < len(whole.rows)
    assert set(some.rows["submitter"]) == {"AMD", "Dell"}
    assert set(some.rows["category"]) == {"closed"}
    assert set(some.rows["n_gpus"]) == {8}
    assert set(part.table.frame["GPU"]) == {"MI355X"}


def test_the_axis_does_not_move_with_the_filters() -> None:
    for fields in ({}, {"bench_lane": "inference"}, {"bench_lane": "training", "train_measure": "gpu-hours"}):
        _, (wide,) = shown(**fields)
        gpu = str(select(Scenario(**fields)).rows["gpu_key"].iloc[0])
        _, (narrow,) = shown(**fields, bench_gpus=(gpu,))
        assert narrow.figure["ticks"] == wide.figure["ticks"]


def test_names_that_are_no_card_of_ours_say_why() -> None:
    _, (part,) = shown(bench_lane="inference")
    assert any("run below its board power" in note for note in part.notes)


def test_spellings_in_links_lead_back_to_the_names() -> None:
    for lane in LANES:
        frame = choices.results(lane)
        assert frame["gpu_key"].str.fullmatch(r"[a-z0-9][a-z0-9_-]{0,79}").all()
        keys = ["model_key", "format_key", "test_key"] if lane == LLAMACPP else ["benchmark_key", "round_key"]
        for key in keys:
            assert ANY not in set(frame[key])
    assert choices.round_name("v5-1") == "v5.1"
    assert choices.rounds(TRAINING)[0] == "v5-1"
    assert choices.named(INFERENCE, "submitter", "submitter_key")["quanta-cloud-technology"]


def test_defaults_name_something_that_exists() -> None:
    scenario = Scenario()
    for field, known in (
        ("bench_lane", "bench_lanes"),
        ("bench_model", "bench_models"),
        ("bench_format", "bench_formats"),
        ("bench_test", "bench_tests"),
        ("infer_benchmark", "infer_benchmarks"),
        ("infer_scenario", "infer_scenarios"),
        ("train_benchmark", "train_benchmarks"),
    ):
        assert getattr(scenario, field) in choices.KNOWN[known]


def test_every_row_can_be_asked_for() -> None:
    every = {"bench_lane": "inference", "infer_benchmark": ANY, "mlperf_rounds": choices.rounds(INFERENCE)}
    selected, _ = shown(**every, mlperf_categories=(), infer_scenario=ANY)
    assert len(selected.rows) == 5303


def test_estimates_are_those_that_the_accuracy_tables_judge() -> None:
    frame = accuracy_frame()
    frame = frame[frame["table"] == "llamacpp"]
    frame = frame[frame["quantity"].isin(["tokens_per_s", "prompt_tokens_per_s"])]
    judged = {
        str(row): float(value) for row, value in frame[["id", "shown"]].dropna().itertuples(index=False)
    }
    selected, (part,) = shown()
    expected = [judged[row] for row in selected.rows["id"] if row in judged]
    share, text = part.figure["ticks"][-1]
    marks = [row["estimate"][0] * float(text) / share for row in part.figure["rows"] if row["estimate"]]
    assert sorted(marks) == pytest.approx(sorted(expected), rel=5e-3)
    assert ("Our estimate" in part.numbers) is bool(expected)


def test_the_few_best_of_many_small_figures_are_no_slivers() -> None:
    _, (part,) = shown(bench_lane="training")
    assert max(row["bar"] for row in part.figure["rows"]) > 1 / 2


def test_an_estimate_is_drawn_beside_its_bar() -> None:
    row = ResultBar("A", 10, 9, 12, 3, "10 (3)", estimate=Estimate(11, 8, 14))
    first, second = (figure := result_bars([row, ResultBar("B", 5, 5, 5, 1, "5")], "tokens/s", 12, "Bars."))[
        "rows"
    ]
    width = 12 * 2.1
    assert first["span"] == pytest.approx([9 / width, 12 / width], abs=1e-4)
    assert first["estimate"] == pytest.approx([11 / width, 8 / width, 14 / width], abs=1e-4)
    assert first["end"] == pytest.approx(14 / width, abs=1e-4)
    assert (second["span"], second["estimate"]) == (None, None)
    assert [item["look"] for item in figure["legend"]] == ["bar", "span", "estimate"]


names = st.lists(st.text("abcdef ×89", min_size=1, max_size=90).filter(str.strip), unique=True, min_size=1)


@given(names, st.floats(1e-3, 1e6), st.data())
@settings(deadline=None, max_examples=60)
def test_bars_keep_every_row_and_its_place(found: list[str], most: float, data: st.DataObject) -> None:
    values = data.draw(st.lists(st.floats(0, most), min_size=len(found), max_size=len(found)))
    rows = [
        ResultBar(f"{i} {name}", v, v, v, 1, f"{v:g}")
        for i, (name, v) in enumerate(zip(found, values, strict=True))
    ]
    figure = result_bars(rows, "x", most, "Bars.")
    assert [row["name"] for row in figure["rows"]] == [row.name for row in rows]
    assert [row["bar"] for row in figure["rows"]] == pytest.approx(
        [value / most / 1.55 for value in values], abs=1e-4
    )
