"""The speed model against measured rows: error targets, bands, verdicts, and the command."""

from __future__ import annotations

import csv
import io
import json
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from calculators import validate_llamacpp, validate_serving
from calculators.speed.bands import band_for
from calculators.validate import main
from calculators.validate_rows import MeasuredRow, RowRefused
from calculators.validate_speed import read_table
from calculators.validate_speed_fit import (
    ROUNDS_LEFT_OUT,
    bench_points,
    held_out,
    in_band_units,
    points_of,
    polished,
    trusted_serving,
    with_values,
)
from gpu_data.speed import speed_bands, speed_constants, speed_engine

TRUTH = Path(__file__).parents[1] / "truth"


@cache
def bench() -> tuple[validate_llamacpp.RowResult, ...]:
    return tuple(validate_llamacpp.predict_file(TRUTH / "bench_llamacpp.csv"))


@cache
def serving() -> tuple[tuple[str, str, str, str, bool, Any], ...]:
    """(engine, traffic, quantity, band, trusted, line) of every serving line that is predicted."""
    found = []
    for row in read_table(TRUTH / "serving.csv", validate_serving.COLUMNS):
        try:
            case = validate_serving.prepare(row)
        except RowRefused:
            continue
        for line in validate_serving.predict_row(row).lines:
            if line.refused is None:
                band = validate_serving.band_name(line.quantity, case.load)
                trusted = trusted_serving(case)
                found.append((case.subject.engine.id, case.traffic, line.quantity, band, trusted, line))
    return tuple(found)


def errors(lines: list[Any]) -> np.ndarray:
    return np.array([abs(line.error_pct) for line in lines if line.error_pct is not None])


def bench_errors(prefix: str) -> np.ndarray:
    with (TRUTH / "bench_llamacpp.csv").open(encoding="utf-8") as file:
        tests = {row["id"]: row["test"] for row in csv.DictReader(file)}
    lines = [x for r in bench() if r.part == "counted" for x in r.lines if x.quantity == "tokens_per_s"]
    return errors([x for x in lines if tests[x.id].startswith(prefix)])


def test_lane_a_decode() -> None:
    found = bench_errors("tg")
    assert np.median(found) <= 12
    assert np.percentile(found, 90) <= 30


def test_lane_a_prefill() -> None:
    assert np.median(bench_errors("pp")) <= 20


def test_vllm_batch_1_time_per_token() -> None:
    lines = [
        line
        for engine, traffic, quantity, _, trusted, line in serving()
        if engine.startswith("vllm") and traffic == "single" and quantity == "tpot_ms" and trusted
    ]
    assert len(lines) >= 20
    assert np.median(errors(lines)) <= 10


def test_time_to_first_token_of_single_requests() -> None:
    lines = [line for _, traffic, q, _, _, line in serving() if traffic == "single" and q == "ttft_ms"]
    assert len(lines) >= 35
    assert np.median(errors(lines)) <= 20


def test_maximum_throughput() -> None:
    lines = [line for *_, band, trusted, line in serving() if band == "throughput" and trusted]
    assert len(lines) >= 800
    assert np.median(errors(lines)) <= 25


@pytest.mark.parametrize("engine_id", ["vllm-v0", "vllm", "tensorrt-llm", "sglang"])
def test_maximum_throughput_of_each_engine(engine_id: str) -> None:
    lines = [line for e, _, _, band, ok, line in serving() if e == engine_id and band == "throughput" and ok]
    assert np.median(errors(lines)) <= 27


def test_bands_hold_four_of_five_measurements() -> None:
    by_band = defaultdict(list)
    for engine, _, _, band, trusted, line in serving():
        if trusted:
            by_band[engine, band].append(line.low <= line.measured <= line.high)
    held = [value for values in by_band.values() for value in values]
    assert np.mean(held) >= 0.75
    for key, values in by_band.items():
        if len(values) >= 40:
            assert np.mean(values) >= 0.7, key


def test_bands_of_llama_cpp_are_those_of_gpus_left_out() -> None:
    points = bench_points()
    constants = speed_engine("llama.cpp").constants
    ratio = held_out(points, {name: constants[name] for name in constants.fitted}, ROUNDS_LEFT_OUT)
    multiples = in_band_units(points, ratio)
    for kind in ("decode", "prefill"):
        band = next(b for b in speed_bands() if (b.engine, b.quantity) == ("llama.cpp", kind))
        mine = multiples[points.kinds == f"{kind} single"]
        inside = np.mean((mine >= band.low) & (mine <= band.high))
        assert 0.75 <= inside <= 0.85
        error = np.abs(1 / mine - 1) * 100
        assert np.median(error) == pytest.approx(band.median_abs_error_pct, abs=1.0)


@pytest.mark.parametrize(
    ("engine_id", "quantity", "load", "median", "p90"),
    [
        ("llama.cpp", "decode", "single", 12, 30),
        ("llama.cpp", "prefill", "single", 20, None),
        ("llama.cpp-2025", "decode", "single", 12, 30),
        ("llama.cpp-2025", "prefill", "single", 20, None),
        ("vllm-v0", "decode", "single", 10, None),
        ("vllm-v0", "prefill", "single", 20, None),
        ("tensorrt-llm", "prefill", "single", 20, None),
        ("vllm-v0", "throughput", "batch", 25, None),
        ("vllm", "throughput", "batch", 25, None),
        ("tensorrt-llm", "throughput", "batch", 25, None),
        ("sglang", "throughput", "batch", 25, None),
    ],
)
def test_targets_are_met_on_gpus_left_out(
    engine_id: str, quantity: str, load: str, median: float, p90: float | None
) -> None:
    band = next(b for b in speed_bands() if (b.engine, b.quantity, b.load) == (engine_id, quantity, load))
    assert band.median_abs_error_pct <= median
    assert p90 is None or band.p90_abs_error_pct <= p90


@pytest.mark.parametrize("engine_id", ["vllm-v0", "vllm"])
def test_first_tokens_of_clients_who_wait_for_answers_are_not_biased(engine_id: str) -> None:
    """Their band comes from such clients alone, and the estimate lies in its middle half."""
    band = band_for(speed_bands(), engine_id, "ttft", "closed")
    assert band is not None
    assert (band.engine, band.load) == (engine_id, "closed")
    low, high = np.log(band.low), np.log(band.high)
    assert low + (high - low) / 4 < 0 < high - (high - low) / 4
    assert band.median_abs_error_pct <= 25


@pytest.mark.parametrize(
    ("row_id", "n"),
    [pytest.param("s0640", 8, id="A100"), pytest.param("s0764", 8, id="RTX 5090")],
)
def test_long_prompts_wait_for_those_of_other_clients(row_id: str, n: int) -> None:
    """AccelMark suite D, vLLM 0.19 and 0.20: prompts take nearly all of the time."""
    rows = {row.id: row for row in read_table(TRUTH / "serving.csv", validate_serving.COLUMNS)}
    assert validate_serving.prepare(rows[row_id]).concurrency == n
    line = next(x for x in validate_serving.predict_row(rows[row_id]).lines if x.quantity == "ttft_ms")
    assert line.low <= line.measured <= line.high


def test_points_leave_out_what_the_measurements_contradict() -> None:
    points = points_of("vllm-v0")
    assert "RTX 6000 Ada" not in " ".join(points.gpus.tolist())
    assert bench_points().measured.size == 768  # 796 of the trusted table less 28 contradicted prompts


def test_rows_that_name_another_model_than_they_measured_stand_apart() -> None:
    # gpustack's page of Qwen3-32B on A100: two commands name Qwen3-14B, title and figures are of the 32B
    rows = {row.id: row for row in read_table(TRUTH / "serving.csv", validate_serving.COLUMNS)}
    trusted = {i: trusted_serving(validate_serving.prepare(rows[i])) for i in ("s1090", "s1140", "s1141")}
    assert trusted == {"s1090": True, "s1140": False, "s1141": False}


@pytest.mark.parametrize(
    ("build", "test", "model", "counts"),
    [
        pytest.param("early 2025", "pp512", "DeepSeek-V3", False, id="a-product-per-expert"),
        pytest.param("b5199", "pp512", "DeepSeek-V3", False, id="by-its-number"),
        pytest.param("b5400", "pp512", "DeepSeek-V3", True, id="batched-by-its-number"),
        pytest.param("Jun 2025", "pp512", "DeepSeek-V3", True, id="batched-by-its-date"),
        pytest.param("early 2025", "tg128", "DeepSeek-V3", True, id="answers-never-looped"),
        pytest.param("early 2025", "pp512", "Llama 3.1 8B", True, id="dense"),
    ],
)
def test_prompts_of_experts_count_once_builds_batch_them(
    build: str, test: str, model: str, counts: bool
) -> None:
    """llama.cpp pull request 13199 of end April 2025: one kernel for all experts of a layer."""
    cells = {"gpu": "H100-SXM-80GB", "quant": "Q5_K_M", "tokens_per_s": "290", "kind": "llama-bench"}
    row = MeasuredRow(cells | {"build": build, "test": test, "model": model})
    assert validate_llamacpp.prepare(row).trusted is counts
    part = validate_llamacpp.predict_row(row).part
    assert part == "counted" if counts else part.startswith("experts one by one")


def test_polishing_never_fits_worse() -> None:
    points = points_of("llama.cpp-2025")
    typical = {c.id: c.start for c in speed_constants()}
    start = {name: typical[name] for name in points.engine.constants.fitted}
    fine = polished(points, start)
    errors = [
        np.abs(np.log(points.predict(with_values(points.engine, x)) / points.measured)) for x in (start, fine)
    ]
    assert errors[1].mean() < errors[0].mean()
    known = {c.id: c for c in speed_constants()}
    assert all(known[name].low * 0.999 <= value <= known[name].high * 1.001 for name, value in fine.items())


def test_out_of_memory_of_llama_bench() -> None:
    lines = [x for r in bench() if r.part != "other kinds" for x in r.lines if x.quantity == "oom"]
    right = [line.predicted == line.measured for line in lines]
    out = [line for line in lines if line.measured == "yes"]
    assert len(out) == 84
    assert np.mean(right) >= 0.97
    assert np.mean([line.predicted == "yes" for line in out]) >= 0.85


# ---------------------------------------------------------------- the command

HEADER = "id,engine,gpu,n_gpus,tp,model,params_b,precision,input_len,output_len,scenario,concurrency,qps"
GOOD = "vLLM 0.7.3,RTX A6000,1,1,Llama-3.1-8B-Instruct,8.0,BF16,28650,256,interactive batch 1,1,"


def serving_line(tmp_path: Path, row: str, measured: str = "30,6000,31") -> list[dict[str, Any]]:
    file = tmp_path / "rows.csv"
    columns = f"{HEADER},output_tokens_per_s,ttft_ms,tpot_ms,oom,date,notes,source_url\n"
    file.write_text(f"{columns}x1,{row},{measured},no,,,\n", encoding="utf-8")
    out = io.StringIO()
    assert main(["serving", str(file), "--json"], out) == 0
    return [json.loads(text) for text in out.getvalue().splitlines()]


def test_each_line_carries_its_band_and_the_summary_its_coverage(tmp_path: Path) -> None:
    *lines, last = serving_line(tmp_path, GOOD)
    assert [line["quantity"] for line in lines] == list(validate_serving.QUANTITIES)
    for line in lines:
        assert line["low"] < line["high"]
        assert line["refused"] is None
    assert last["summary"]["quantities"]["tpot_ms"]["coverage_pct"] in (0.0, 100.0)


def test_predictions_use_input_columns_only(tmp_path: Path) -> None:
    first = [line["predicted"] for line in serving_line(tmp_path, GOOD)[:-1]]
    again = [line["predicted"] for line in serving_line(tmp_path, GOOD, "1,2,3")[:-1]]
    assert first == again


@pytest.mark.parametrize(
    ("old", "new", "word"),
    [
        ("RTX A6000", "Imaginary 9000", "gpu"),
        ("RTX A6000", "", "gpu"),
        ("Llama-3.1-8B-Instruct,8.0", "Nobody,", "model"),
        ("Llama-3.1-8B-Instruct", "", "model"),
        ("BF16", "Q17_X", "precision"),
        ("BF16", "", "precision"),
        ("vLLM 0.7.3", "Unknown engine 3", "engine"),
        ("28650", "many", "input_len"),
        ("28650", "-5", "input_len"),
        ("interactive batch 1,1,", "somehow,,", "scenario"),
        ("interactive batch 1,1,", "online,,nan", "qps"),
        ("RTX A6000,1,1", "RTX A6000,1,zero", "tp"),
    ],
)
def test_what_is_unknown_is_refused_by_name(tmp_path: Path, old: str, new: str, word: str) -> None:
    lines = serving_line(tmp_path, GOOD.replace(old, new, 1))[:-1]
    assert all(line["predicted"] is None or word == "input_len" for line in lines)
    refused = [line["refused"] for line in lines if line["refused"]]
    assert refused
    assert all(word in text for text in refused)


def test_a_file_without_the_columns_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    file.write_text("a,b\n1,2\n", encoding="utf-8")
    assert main(["serving", str(file)], io.StringIO()) == 2
    assert main(["llamacpp", str(file)], io.StringIO()) == 2


def test_the_command_for_people(tmp_path: Path) -> None:
    rows = (TRUTH / "bench_llamacpp.csv").read_text(encoding="utf-8").splitlines()[:40]
    file = tmp_path / "rows.csv"
    file.write_text("\n".join(rows), encoding="utf-8")
    out = io.StringIO()
    assert main(["llamacpp", str(file)], out) == 0
    assert "tokens_per_s" in out.getvalue()
    assert "out of memory" in out.getvalue()


@pytest.mark.parametrize("column", ["gpu", "model", "quant", "test", "n_gpus", "build"])
@pytest.mark.parametrize("value", ["", "?", "-1", "1e400", "💥" * 50])
def test_junk_in_a_llamacpp_row_never_breaks(column: str, value: str) -> None:
    cells = {
        "id": "j",
        "gpu": "RTX 4090",
        "n_gpus": "1",
        "model": "LLaMA 3 8B",
        "quant": "Q4_K_M",
        "test": "tg512",
        "tokens_per_s": "100",
        "oom": "no",
        "build": "b2824",
        "kind": "llama-bench community table",
    }
    result = validate_llamacpp.predict_row(MeasuredRow(cells | {column: value}))
    assert {line.quantity for line in result.lines} == {"tokens_per_s", "oom"}
