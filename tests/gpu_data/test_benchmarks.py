"""Measured results are sound, mean what their sources say, and a slip in a file is named."""

from __future__ import annotations

import csv
import shutil
from pathlib import Path

import pandas as pd
import pytest

from gpu_data import benchmarks
from gpu_data.benchmarks import (
    FOLDER,
    SCHEMAS,
    check_benchmarks,
    inference_frame,
    llamacpp_frame,
    training_frame,
)
from gpu_data.csv_tables import read


def test_every_table_is_sound() -> None:
    assert check_benchmarks() == []


def one(frame: pd.DataFrame, **cells: object) -> pd.Series:
    """The only row with these cells."""
    for name, cell in cells.items():
        frame = frame[(frame[name] == cell).to_numpy(dtype=bool, na_value=False)]
    (row,) = [row for _, row in frame.iterrows()]
    return row


# XiongjieDai/GPU-Benchmarks-on-LLM-Inference, README: tokens/s generated, 1024 tokens, LLaMA 3
LANE_A = [
    ("RTX 4090", 1, "LLaMA 3 8B", "Q4_K_M", 127.74),
    ("RTX 3090", 1, "LLaMA 3 8B", "Q4_K_M", 111.74),
    ("RTX A6000", 1, "LLaMA 3 8B", "Q4_K_M", 102.22),
    ("H100-PCIe-80GB", 1, "LLaMA 3 8B", "Q4_K_M", 144.49),
    ("A100-PCIe-80GB", 4, "LLaMA 3 8B", "Q4_K_M", 117.3),
    ("RTX 4090", 1, "LLaMA 3 70B", "Q4_K_M", None),
]


@pytest.mark.parametrize(("gpu", "count", "model", "quant", "speed"), LANE_A)
def test_lane_a_holds_the_published_table(
    gpu: str, count: int, model: str, quant: str, speed: float | None
) -> None:
    row = one(
        llamacpp_frame(), gpu=gpu, n_gpus=count, model=model, quant=quant, test="tg1024", trust="trusted"
    )
    assert bool(row["out_of_memory"]) is (speed is None)
    assert pd.isna(row["tokens_per_s"]) if speed is None else row["tokens_per_s"] == speed


def test_lane_a_trusts_one_table_and_doubts_one() -> None:
    frame = llamacpp_frame()
    assert frame["trust"].value_counts().to_dict() == {"trusted": 880, "reported": 340, "unverified": 92}
    assert set(frame.loc[frame["trust"] == "trusted", "kind"]) == {"llama-bench community table"}
    assert frame["out_of_memory"].sum() == 134
    assert frame.loc[frame["out_of_memory"], "tokens_per_s"].isna().all()


def test_spellings_of_one_model_share_a_key() -> None:
    frame = llamacpp_frame()
    assert set(frame.loc[frame["model_key"] == "llama-3-8b", "model"]) == {
        "LLaMA 3 8B",
        "Llama 3 8B",
        "Meta-Llama-3-8B-Instruct",
    }


def test_names_that_leave_the_card_open_have_no_id() -> None:
    frame = llamacpp_frame()
    for name in ("A100-80GB (form factor not stated)", "RTX 3060"):
        assert frame.loc[frame["gpu"] == name, "gpu_id"].isna().all()
        assert benchmarks.name_reason("gpu", name)
    inference = inference_frame()
    assert inference.loc[inference["gpu"].str.contains("MIG"), "gpu_id"].isna().all()


# MLPerf Inference result tables of those rounds
LANE_B = [
    ("v4.1", "llama2-70b-99", "Offline", "Tokens/s"),
    ("v4.0", "llama2-70b-99", "Server", "Queries/s"),
    ("v4.0", "gptj-99", "Offline", "Samples/s"),
    ("v4.1", "gptj-99", "Offline", "Tokens/s"),
]


@pytest.mark.parametrize(("round_", "benchmark", "scenario", "unit"), LANE_B)
def test_units_change_from_round_to_round(round_: str, benchmark: str, scenario: str, unit: str) -> None:
    frame = inference_frame()
    frame = frame[(frame["round"] == round_) & (frame["benchmark"] == benchmark)]
    frame = frame[frame["scenario"] == scenario]
    assert set(frame["unit"]) == {unit}


def test_one_unit_per_round_benchmark_and_scenario() -> None:
    units = inference_frame().groupby(["round", "benchmark", "scenario"])["unit"].nunique()
    assert (units == 1).all()


def test_the_per_gpu_figure_needs_one_kind_of_gpu_and_a_count() -> None:
    frame = inference_frame()
    none = frame[frame["value_per_gpu"].isna()]
    latency = none["unit"].str.startswith("Latency")
    mixed = none["gpu"].str.contains(r"\bNodes?:|\(x\d+\)")
    assert (latency | mixed | none["n_gpus"].isna()).all()
    assert mixed.sum() >= 16
    some = frame[frame["value_per_gpu"].notna()]
    assert (some["value_per_gpu"] * some["n_gpus"]).tolist() == pytest.approx(some["value"].tolist())


# MLPerf Inference v4.1, closed, median per GPU (tokens/s): NVIDIA H100 SXM about 3,000, H200 about 3,900
@pytest.mark.parametrize(
    ("gpu", "round_", "median"),
    [
        ("h100-sxm5-80gb", "v4.1", 3017),
        ("h200-sxm-141gb", "v4.1", 3913),
        ("l40s-48gb", "v4.1", 447),
        ("b200-sxm-180gb", "v5.1", 12691),
    ],
)
def test_llama2_70b_offline_per_gpu(gpu: str, round_: str, median: float) -> None:
    frame = inference_frame()
    rows = frame[(frame["gpu_id"] == gpu).fillna(False) & (frame["round"] == round_)]
    rows = rows[rows["benchmark"].str.startswith("llama2-70b-99") & (rows["scenario"] == "Offline")]
    rows = rows[rows["category"] == "closed"]
    assert rows["value_per_gpu"].median() == pytest.approx(median, rel=0.02)


def test_training_agrees_with_the_official_table() -> None:
    frame = training_frame()
    both = frame[frame["official_minutes"].notna()]
    off = (both["minutes_to_train"] / both["official_minutes"] - 1).abs()
    assert len(both) == 362
    assert (off <= 0.005).sum() >= 351


def test_gpu_hours_are_minutes_times_gpus() -> None:
    system = "R4900G5x1A100-PCIE-80GB"
    row = one(training_frame(), round="v2.0", submitter="H3C", system_id=system, benchmark="bert")
    assert row["gpu_hours"] == pytest.approx(255.2903 / 60)


def test_availability_is_said_in_few_words_and_always() -> None:
    for frame in (inference_frame(), training_frame()):
        words = {word for _, word in benchmarks.AVAILABILITY} | {benchmarks.NOT_STATED}
        assert set(frame["availability"]) <= words
        assert frame["availability"].notna().all()
    inference = inference_frame()
    unknown = inference[inference["availability"] == benchmarks.NOT_STATED]
    assert set(unknown["round"]) == {"v5.0"}  # the copy read for that round does not give it


def test_every_result_has_a_source() -> None:
    assert llamacpp_frame()["source"].notna().all()
    for frame in (inference_frame(), training_frame()):
        assert frame["source_url"].str.startswith("https://github.com/").all()
    lane_a = llamacpp_frame()
    assert lane_a["source_url"].isna().sum() == 7  # public logs whose repository is not known


def test_tables_are_read_once_and_cannot_be_spoilt() -> None:
    for loader in (llamacpp_frame, inference_frame, training_frame):
        frame = loader()
        frame["gpu"] = "mine"
        assert "mine" not in set(loader()["gpu"])


def broken(folder: Path, file: str, change: dict[str, str], line: int = -1) -> list[str]:
    """What is said about a copy of the tables with some cells of one line changed."""
    shutil.copytree(FOLDER, folder, dirs_exist_ok=True)
    with (FOLDER / file).open(encoding="utf-8", newline="") as source:
        rows = list(csv.DictReader(source))
    rows[line] |= change
    with (folder / file).open("w", encoding="utf-8", newline="") as target:
        writer = csv.DictWriter(target, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return check_benchmarks(folder)


SLIPS = [
    ("llamacpp.csv", {"tokens_per_s": "fast"}, "tokens_per_s", "valid number"),
    ("llamacpp.csv", {"tokens_per_s": ""}, "", "tokens_per_s when it ran"),
    ("llamacpp.csv", {"oom": "maybe"}, "oom", "'yes' or 'no'"),
    ("llamacpp.csv", {"test": "speed"}, "test", "pattern"),
    ("llamacpp.csv", {"source_url": "somewhere"}, "source_url", "pattern"),
    ("llamacpp.csv", {"gpu": "RTX 9090"}, "gpu", "names.csv has no gpu 'RTX 9090'"),
    ("llamacpp.csv", {"quant": "Q1_0"}, "quant", "names.csv has no format"),
    ("mlperf_inference.csv", {"round": "6.0"}, "round", "pattern"),
    ("mlperf_inference.csv", {"unit": "Latency (ms)", "scenario": "Offline"}, "", "does not belong"),
    ("mlperf_inference.csv", {"category": ""}, "category", "missing"),
    ("mlperf_inference.csv", {"submitter": ""}, "submitter", "missing"),
    ("mlperf_inference.csv", {"value": "-3"}, "value", "greater than 0"),
    ("mlperf_training.csv", {"n_gpus": "0"}, "n_gpus", "greater than or equal to 1"),
    ("mlperf_training.csv", {"minutes_to_train": ""}, "minutes_to_train", "missing"),
    ("names.csv", {"id": "", "reason": ""}, "", "reason why there is none"),
    ("names.csv", {"kind": "gpu", "name": "X", "id": "no-such-gpu"}, "id", "no gpu of the id"),
]


@pytest.mark.parametrize(("file", "change", "field", "message"), SLIPS, ids=lambda v: str(v)[:40])
def test_a_slip_is_named_by_file_line_and_field(
    file: str, change: dict[str, str], field: str, message: str, tmp_path: Path
) -> None:
    found = broken(tmp_path, file, change)
    lines = len(read(FOLDER / file, SCHEMAS[file])) + 1
    named = [fault for fault in found if fault.startswith(f"{file}: line {lines}")]
    assert any(f": {field}" in fault and message in fault for fault in named), found


def test_a_result_that_stands_there_twice_is_named(tmp_path: Path) -> None:
    (fault,) = broken(tmp_path, "llamacpp.csv", {"id": "l0001"})
    assert fault == "llamacpp.csv: line 1313: id: l0001 occurs twice"
