"""The targets on measured runs, the bands, the fit, and the command."""

from __future__ import annotations

import csv
import io
import json
import tomllib
from pathlib import Path

import numpy as np
import pytest

from calculators import validate, validate_finetune, validate_training
from calculators.validate_rows import MeasuredRow, RowRefused
from calculators.validate_runs import find_architecture, find_gpu, summarise
from calculators.validate_training_fit import (
    bands_toml,
    columns,
    fit,
    held_out,
    memory_band,
    points,
    predicted,
    random_part,
    run_band,
    speed_bands,
    start,
    stated,
)
from gpu_data.training import (
    FINETUNE_PATH,
    RUNS_PATH,
    finetune_runs,
    published_config,
    training_runs,
    training_tables,
)
from gpu_data.training_schemas import TrainingBand

TRUTH = Path(__file__).resolve().parents[1] / "truth"
RUNS, FINETUNE = TRUTH / "training_runs.csv", TRUTH / "finetune_memory.csv"
BANDS = Path(validate.__file__).resolve().parents[1] / "gpu_data" / "training_bands.toml"


@pytest.fixture(scope="module")
def training_summary() -> dict:
    return summarise(validate_training.predict_file(RUNS), validate_training.QUANTITIES)


@pytest.fixture(scope="module")
def finetune_summary() -> dict:
    return summarise(validate_finetune.predict_file(FINETUNE), validate_finetune.QUANTITIES)


def test_fine_tuning_peaks_meet_their_target(finetune_summary: dict) -> None:
    found = finetune_summary["quantities"]["peak_gib_per_gpu"]
    assert found["median_abs_error_pct"] <= 12
    assert found["p90_abs_error_pct"] <= 30
    assert found["refused"] <= 2


def test_measured_out_of_memory_is_predicted() -> None:
    lines = [x for result in validate_finetune.predict_file(FINETUNE) for x in result.lines]
    verdicts = [x.predicted for x in lines if x.quantity == "oom" and x.refused is None]
    assert len(verdicts) >= 10
    assert set(verdicts) == {"does not fit"}


def test_speed_meets_its_target(training_summary: dict) -> None:
    found = training_summary["quantities"]["tokens_per_s_per_gpu"]
    assert found["median_abs_error_pct"] <= 20
    assert found["refused"] == 0
    assert training_summary["quantities"]["mfu_pct_reported"]["median_abs_error_pct"] <= 20


def test_the_bands_hold_four_of_five(training_summary: dict, finetune_summary: dict) -> None:
    for found in (
        training_summary["quantities"]["tokens_per_s_per_gpu"],
        training_summary["quantities"]["mfu_pct_reported"],
        finetune_summary["quantities"]["peak_gib_per_gpu"],
    ):
        assert 75 <= found["coverage_pct"] <= 85


@pytest.fixture(scope="module")
def rows() -> list:
    return points(RUNS)


def test_the_constants_are_those_the_fit_finds(rows: list) -> None:
    found = fit(columns(rows), start())
    known = stated()
    assert found == {name: pytest.approx(known[name], rel=0.02) for name in known}


def test_a_gpu_nobody_measured_is_predicted_inside_the_wider_band(rows: list) -> None:
    tables = training_tables()
    ratios = held_out(rows, lambda row: row.gpu)
    errors = [abs(ratio - 1) for ratio in ratios.values()]
    assert np.median(errors) <= 0.2
    band = tables.speed_band("a-gpu-nobody-measured")
    inside = [band.low <= 1 / ratio - 1 <= band.high for ratio in ratios.values()]
    assert 0.75 <= np.mean(inside) <= 0.85


def test_rows_left_out_at_random_lie_inside_the_narrower_band(rows: list) -> None:
    band = training_tables().speed_band("h100-sxm5-80gb")
    ratios = held_out(rows, random_part)
    inside = [band.low <= 1 / ratio - 1 <= band.high for ratio in ratios.values()]
    assert 0.75 <= np.mean(inside) <= 0.85


def test_a_fit_on_server_cards_alone_predicts_gaming_cards(rows: list) -> None:
    """No constant belongs to one GPU: half of the gaming rows come within a third."""
    gaming = columns([row for row in rows if row.gpu.startswith("rtx")])
    server = columns([row for row in rows if not row.gpu.startswith("rtx")])
    ratios = predicted(gaming, fit(server, start())) / gaming.measured
    assert np.median(np.abs(ratios - 1)) < 1 / 3


def test_the_bands_file_is_what_the_measurements_give() -> None:
    stored = {row["quantity"]: TrainingBand(**row) for row in tomllib.loads(BANDS.read_text())["band"]}
    found = [memory_band(FINETUNE), *speed_bands(RUNS), run_band(RUNS)]
    assert {band.quantity for band in found} == set(stored)
    for band in found:
        known = stored[band.quantity]
        assert band.rows == known.rows
        assert band.gpu_ids == known.gpu_ids
        assert (band.low, band.high) == (
            pytest.approx(known.low, abs=0.01),
            pytest.approx(known.high, abs=0.01),
        )
    assert tomllib.loads(bands_toml(found))["band"]


def test_the_runs_the_app_shows_are_the_ones_it_is_tested_on() -> None:
    assert RUNS_PATH.read_bytes() == RUNS.read_bytes()
    assert FINETUNE_PATH.read_bytes() == FINETUNE.read_bytes()
    assert len(training_runs()) == 281
    assert all(row["source_url"].startswith("http") for row in (*training_runs(), *finetune_runs()))


@pytest.mark.parametrize(
    ("row_id", "published"),
    [
        pytest.param("t0002", 1_022_362, id="LLaMA 65B, Touvron et al. 2023, table 15"),
        pytest.param("t0006", 30_840_000, id="Llama 3.1 405B, model card"),
        pytest.param("t0009", 2_664_000, id="DeepSeek-V3, technical report, table 1"),
        pytest.param("t0010", 1_082_990, id="BLOOM-176B, GENCI"),
    ],
)
def test_published_runs_come_within_half(row_id: str, published: float) -> None:
    """Whole runs restart, test and wait: nothing was fitted to them."""
    row = next(row for row in training_runs() if row["id"] == row_id)
    lines = validate_training.predict_row(MeasuredRow(row)).lines
    hours = next(x for x in lines if x.quantity == "gpu_hours")
    assert hours.measured == published
    assert hours.predicted == pytest.approx(published, rel=0.5)


# ---------------------------------------------------------------- names


@pytest.mark.parametrize(
    ("name", "params_b", "total_b"),
    [
        ("Llama 3.1 8B", 8.03, 8.03),
        ("llama-2-7b", 6.74, 6.74),
        ("phi-1.5 1.3B", 1.42, 1.418),
        ("StableLM Alpha 3B", 3.64, 3.637),
        ("GLM-4.5-Air (106B MoE)", 106, 106.85),
        ("MPT-70b", 64.862, 64.84),
        ("Qwen3-30B-A3B (NVFP4 base)", 30.5, 30.53),
        ("bigscience/bloomz-7b1", 7, 7.07),
        ("GPT-3 175B (davinci)", 174.6, 174.6),
        ("LLaMA 65B (Guanaco)", 65.2, 65.29),
    ],
)
def test_names_in_tables_find_their_model(name: str, params_b: float, total_b: float) -> None:
    from calculators.architecture import params_total

    arch, _ = find_architecture(name, params_b)
    assert params_total(arch) / 1e9 == pytest.approx(total_b, rel=0.01)


def test_an_unknown_model_is_counted_by_its_size_and_says_so() -> None:
    arch, note = find_architecture("Nobody-Knows-12B", 12)
    assert "Llama-like" in note
    assert len(arch.layers) > 20


@pytest.mark.parametrize("name", ["Stable Diffusion (LDM-KL-8-G)", "bert-large", "Nobody-Knows"])
def test_what_is_no_language_model_or_has_no_size_is_refused(name: str) -> None:
    with pytest.raises(RowRefused, match=r"^model: "):
        find_architecture(name, None)


@pytest.mark.parametrize(
    ("name", "gpu_id"),
    [
        ("H100 96GB HBM2e (2.4 TB/s variant)", "h100-sxm5-80gb"),
        ("NVIDIA A100 SXM4 40 GB", "a100-sxm4-40gb"),
        ("A100-80GB (size not stated)", "a100-sxm4-80gb"),
        ("A10G 24GB", "a10g-24gb"),
        ("NVIDIA Tesla V100 DGXS 32 GB", "v100-sxm2-32gb"),
        ("RTX PRO 6000 Blackwell", "rtx-pro-6000-server-96gb"),
        ("48GB GPU", None),
        ("TPU v4", None),
        ("", None),
    ],
)
def test_names_of_gpus(name: str, gpu_id: str | None) -> None:
    assert find_gpu(name)[0] == gpu_id


def test_a_published_configuration_is_found_by_name_and_folder() -> None:
    found = published_config("runtime 5 min; config phi-2/full.yaml")
    assert found is not None
    assert found.devices == 2
    assert published_config("config qlora.yaml") is None
    flash = published_config("config qlora.yaml; lora_r 32", "https://x/examples/glm47-flash/README.md")
    assert flash is not None
    assert flash.quantizes_experts


# ---------------------------------------------------------------- the command


def _command(*words: str) -> tuple[int, list[str]]:
    out = io.StringIO()
    code = validate.main(words, out)
    return code, out.getvalue().splitlines()


@pytest.mark.parametrize(
    ("command", "path", "quantities"),
    [
        ("training", RUNS, {"tokens_per_s_per_gpu", "mfu_pct_reported", "gpu_hours"}),
        ("finetune", FINETUNE, {"peak_gib_per_gpu", "oom"}),
    ],
)
def test_every_line_carries_its_band_and_the_summary_its_coverage(
    command: str, path: Path, quantities: set[str]
) -> None:
    code, lines = _command(command, str(path), "--json")
    assert code == 0
    parsed = [json.loads(x) for x in lines]
    summary = parsed.pop()["summary"]
    assert {x["quantity"] for x in parsed} == quantities
    for x in parsed:
        assert set(x) == {"id", "quantity", "predicted", "low", "high", "measured", "error_pct", "refused"}
        if isinstance(x["predicted"], float):
            assert x["low"] <= x["predicted"] <= x["high"] or x["quantity"] == "gpu_hours"
        else:
            assert x["refused"] or x["quantity"] == "oom"
    with path.open() as file:
        assert summary["rows"] == sum(1 for _ in csv.DictReader(file))
    assert all("coverage_pct" in row for row in summary["quantities"].values())
    code, text = _command(command, str(path))
    assert code == 0
    assert any("in band" in x for x in text)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"gpu": "Abacus 9000"}, "gpu:"),
        ({"gpu": ""}, "gpu:"),
        ({"model": "Nobody", "params_b": ""}, "model:"),
        ({"params_b": "many"}, "params_b:"),
        ({"n_gpus": "2.5"}, "n_gpus:"),
        ({"micro_batch": "-1"}, "micro_batch:"),
        ({"seq_len": "0"}, "seq_len:"),
    ],
)
def test_a_row_that_cannot_be_computed_is_refused_by_its_column(changes: dict[str, str], reason: str) -> None:
    with RUNS.open() as file:
        row = next(r for r in csv.DictReader(file) if r["id"] == "t0060")
    result = validate_training.predict_row(MeasuredRow(row | changes))
    assert result.lines
    assert all(x.refused is not None and x.refused.startswith(reason) for x in result.lines)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"model": "Nobody", "params_b": ""}, "model:"),
        ({"method": "prayer"}, "method:"),
        ({"n_gpus": "none"}, "n_gpus:"),
        ({"precision": "2-bit", "method": "qlora"}, "precision:"),
    ],
)
def test_a_fine_tuning_row_too(changes: dict[str, str], reason: str) -> None:
    with FINETUNE.open() as file:
        row = next(r for r in csv.DictReader(file) if r["id"] == "f0003")
    result = validate_finetune.predict_row(MeasuredRow(row | changes))
    assert result.lines
    assert all(x.refused is not None and x.refused.startswith(reason) for x in result.lines)


def test_a_file_without_the_columns_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x.csv"
    path.write_text("a,b\n1,2\n")
    assert _command("training", str(path))[0] == 2
    assert "has no column" in capsys.readouterr().err
    assert _command("finetune", str(tmp_path / "missing.csv"))[0] == 2
