"""gpu_data/accuracy holds what the calculators predict today, and the bands follow from it."""

from __future__ import annotations

import csv
from collections import defaultdict
from contextlib import suppress
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from calculators import validate_serving
from calculators.validate_accuracy import TRUTH, speed_points, table_rows, training_held_out
from calculators.validate_bands import FEWEST, HIGH, LEAST, LOW
from calculators.validate_memory import WORK
from calculators.validate_rows import RowRefused
from calculators.validate_speed import read_table
from calculators.validate_speed_fit import band_ends
from gpu_data.accuracy import COUNTED, FOLDER, TABLES, AccuracyRow, accuracy_frame, check_accuracy
from gpu_data.engines import error_band
from gpu_data.speed import speed_bands, speed_engine, speed_engines
from gpu_data.training import training_tables

HELD = ("held_out", "held_out_gpu")
COMMAND = "run: python -m calculators.validate_accuracy"
WRITTEN = tuple(table for table in TABLES if (FOLDER / f"{table}.csv").is_file())


def cells(table: str) -> list[dict[str, str]]:
    with (FOLDER / f"{table}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def counted(table: str, quantity: str) -> list[dict[str, str]]:
    rows = cells(table)
    return [r for r in rows if r["part"] == COUNTED and r["quantity"] == quantity and r["predicted"]]


def ratio(row: dict[str, str], column: str = "predicted") -> float:
    """Measured over predicted."""
    return float(row["measured"]) / float(row[column])


def test_the_files_obey_their_schema() -> None:
    assert check_accuracy() == []


@pytest.mark.parametrize("table", WRITTEN)
def test_the_file_holds_what_the_calculators_predict_today(table: str) -> None:
    """Every row is predicted again; only the constants of the held-out columns are not fitted again here."""
    kept, found = cells(table), list(table_rows(table))
    assert len(kept) == len(found), COMMAND
    names = [name for name in AccuracyRow.model_fields if name not in HELD]
    for old, new in zip(kept, found, strict=True):
        for name in names:
            value = getattr(new, name)
            if isinstance(value, float):
                assert float(old[name]) == pytest.approx(value, rel=2e-5, abs=1e-9), (
                    old["id"],
                    name,
                    COMMAND,
                )
            else:
                assert old[name] == ("" if value is None else str(value)), (old["id"], name, COMMAND)


def test_every_measured_row_is_there_counted_or_not() -> None:
    """Nothing that was measured is hidden: rows set apart and rows without a prediction are in the files."""
    for table, files in {
        "memory": ("memory.csv", "memory_more.csv"),
        "llamacpp": ("bench_llamacpp.csv",),
        "serving": ("serving.csv",),
        "finetune": ("finetune_memory.csv",),
        "training": ("training_runs.csv",),
    }.items():
        if table not in WRITTEN:
            continue
        kept = {row["id"] for row in cells(table)}
        for name in files:
            with (TRUTH / name).open(encoding="utf-8", newline="") as file:
                rows = list(csv.DictReader(file))
            missing = [row for row in rows if row["id"] not in kept]
            assert all(not any(row.get(c) for c in MEASURED[table]) for row in missing), (table, missing[:2])


MEASURED = {
    "memory": ("weights_gib_per_gpu", "kv_mib", "total_used_mib", "total_used_gb", "fits"),
    "llamacpp": ("tokens_per_s",),
    "serving": ("output_tokens_per_s", "ttft_ms", "tpot_ms"),
    "finetune": ("peak_gib_per_gpu",),
    "training": ("tokens_per_s_per_gpu", "mfu_pct_reported", "gpu_hours"),
}


def test_measured_values_are_the_published_ones() -> None:
    """Spot values as the sources print them: Qwen3 speed benchmark (0.6B BF16, 1,394 MB), torchtune README
    (LoRA of Llama 3.1 8B on a 4090, 16.2 GiB), XiongjieDai (RTX 3070, Llama 3 8B Q4_K_M, tg512, 72.79)."""
    for table, row_id, quantity, value in (
        ("memory", "q3-0.6B-BF16-1", "total_used_mib", 1394.0),
        ("finetune", "f0001", "peak_gib_per_gpu", 16.2),
        ("llamacpp", "l0001", "tokens_per_s", 72.79),
    ):
        if table in WRITTEN:
            (found,) = [r for r in cells(table) if r["id"] == row_id and r["quantity"] == quantity]
            assert float(found["measured"]) == value


# ---------------------------------------------------------------- the bands used elsewhere


def test_memory_bands_follow_from_the_file() -> None:
    """gpu_data/error_bands.toml, from the file alone: setups by their median, two of three of a family."""

    def errors(family: str, *quantities: str) -> list[float]:
        sums: dict[tuple[str, str], list[list[float]]] = defaultdict(list)
        for quantity in quantities:
            for row in counted("memory", quantity):
                if family in (row["setup"].split("|")[0], "all") and not row["refused"]:
                    pair = [float(row["predicted"]), float(row["measured"])]
                    sums[row["id"], row["setup"]].append(pair)
        setups: dict[str, list[float]] = defaultdict(list)
        for (_, setup), pairs in sums.items():
            if len(pairs) == len(quantities):
                predicted, measured = np.sum(pairs, axis=0)
                setups[setup].append(measured / predicted - 1)
        return [float(np.median(group)) for group in setups.values()]

    def ends(values: list[float]) -> tuple[float, float]:
        low, high = np.percentile(values, [LOW, HIGH])
        return min(low, -LEAST), max(high, LEAST)

    families = {row["setup"].split("|")[0] for row in counted("memory", "needed_gib")} | {"all"}
    seen = set()
    for family in families:
        band = error_band(family)
        work = errors(family, *WORK)
        apart = family != "all" and len(work) >= FEWEST
        weights = errors(family, "weights_gib_per_gpu") if apart else errors(family, "needed_gib")
        if len(weights) < FEWEST:
            continue
        assert band.family == family, COMMAND
        assert (band.low, band.high) == pytest.approx(ends(weights), abs=3e-4), COMMAND
        expected = ends(work) if apart else ends(weights)
        assert (band.work_low, band.work_high) == pytest.approx(expected, abs=2e-3), COMMAND
        seen.add(family)
    assert {"all", "vllm", "llama.cpp", "transformers"} <= seen


def test_finetune_band_follows_from_the_file() -> None:
    values = [ratio(row) - 1 for row in counted("finetune", "peak_gib_per_gpu")]
    band = training_tables().bands["peak_gib_per_gpu"]
    assert band.rows == len(values)
    assert (band.low, band.high) == pytest.approx(tuple(np.quantile(values, [0.1, 0.9])), abs=2e-4), COMMAND


@pytest.mark.parametrize(
    ("quantity", "column"),
    [("tokens_per_s_per_gpu", "held_out"), ("tokens_per_s_per_unmeasured_gpu", "held_out_gpu")],
)
def test_training_bands_follow_from_the_file(quantity: str, column: str) -> None:
    """One ratio a row: by its rate, else by its MFU."""
    found: dict[str, float] = {}
    for name in ("mfu_pct_reported", "tokens_per_s_per_gpu"):
        found |= {r["id"]: ratio(r, column) - 1 for r in counted("training", name) if r[column]}
    band = training_tables().bands[quantity]
    assert band.rows == len(found)
    expected = tuple(np.quantile(list(found.values()), [0.1, 0.9]))
    assert (band.low, band.high) == pytest.approx(expected, abs=2e-4), COMMAND


def test_gpu_hours_band_follows_from_the_file() -> None:
    values = [ratio(row) - 1 for row in counted("training", "gpu_hours")]
    band = training_tables().bands["gpu_hours"]
    assert band.rows == len(values)
    assert (band.low, band.high) == pytest.approx(tuple(np.quantile(values, [0.1, 0.9])), abs=3e-4), COMMAND


def test_training_s_held_out_predictions_are_recomputed() -> None:
    """All of them: constants fitted nineteen times, each time without a tenth of the rows or one GPU."""
    held = training_held_out()
    rows = [r for r in cells("training") if r["held_out"]]
    assert len(rows) > 300
    for row in rows:
        tenth, gpu = held[row["id"], row["quantity"]]
        assert 1 / ratio(row, "held_out") == pytest.approx(tenth, rel=1e-4), COMMAND
        assert 1 / ratio(row, "held_out_gpu") == pytest.approx(gpu, rel=1e-4), COMMAND


SPEED = [band for band in speed_bands() if "serving" in WRITTEN and "llamacpp" in WRITTEN]
# Band quantity and load -> kind and load of the rows; a band of "any" engine holds for both loads of a name.
ROWS = {
    "decode": ("decode", "single"),
    "tpot": ("decode", "batch"),
    "prefill": ("prefill", "single"),
    "ttft": ("prefill", "batch"),
    "throughput": ("throughput", "batch"),
}


@cache
def closed_rows() -> frozenset[str]:
    """Rows of clients who each wait for an answer before they ask again."""
    found = set()
    for row in read_table(TRUTH / "serving.csv", validate_serving.COLUMNS):
        with suppress(RowRefused):
            found |= {row.id} if validate_serving.prepare(row).traffic == "closed" else set()
    return frozenset(found)


@pytest.mark.parametrize("band", SPEED, ids=lambda b: f"{b.engine} {b.quantity} {b.load}")
def test_speed_bands_follow_from_the_file(band) -> None:
    """gpu_data/speed_fit.toml: each band and its errors, from predictions with the row's GPU left out.

    Bands hold for times, that of throughput for tokens per second: rates of single requests count inverted.
    In the band of any engine every engine counts the same.
    """
    frame = accuracy_frame()
    kind, load = ROWS[band.quantity]
    speeds = frame["table"].isin(["llamacpp", "serving"]) & frame["held_out_gpu"].notna()
    rows = frame[speeds & (frame["kind"] == kind) & (frame["load"] == load)]
    if band.load == "closed":
        rows = rows[rows["id"].isin(closed_rows())]
    if band.engine != "any":
        label = "llama.cpp" if band.engine == "llama.cpp" else speed_engine(band.engine).label
        rows = rows[rows["engine"] == label]
    values = (rows["measured"] / rows["held_out_gpu"]).to_numpy(dtype=float)
    if band.quantity != "throughput":
        values = np.where(rows["unit"] == "tokens/s", 1 / values, values)
    assert len(values) == band.rows, COMMAND
    weights = 1 / rows.groupby("engine")["id"].transform("count").to_numpy(dtype=float)
    ends = band_ends(values, rows["gpu"].to_numpy(dtype=str), weights)
    assert (band.low, band.high) == pytest.approx(ends, rel=2e-3), COMMAND
    # four of five measurements of GPUs left out lie inside
    within = (values >= band.low * 0.999) & (values <= band.high * 1.001)
    inside = float(weights @ within) / weights.sum()
    few = 3 / band.rows  # a percentile over few points falls between two of them
    assert 0.75 - few <= inside <= 0.88 + few
    errors = np.abs(1 / values - 1) * 100
    assert band.median_abs_error_pct == pytest.approx(float(np.median(errors)), abs=0.1)
    assert band.p90_abs_error_pct == pytest.approx(float(np.percentile(errors, 90)), abs=0.3)


@pytest.mark.skipif("llamacpp" not in WRITTEN, reason="no measured speeds yet")
def test_held_out_speeds_are_recomputed_for_one_gpu() -> None:
    """A sample, since all fits take minutes: llama.cpp's constants fitted without the RTX 3090."""
    from calculators.validate_speed_fit import ROUNDS_LEFT_OUT, fit, points_of, with_values

    points = points_of("llama.cpp")
    mine = points.gpus == "NVIDIA GeForce RTX 3090 24GB"
    constants = speed_engine("llama.cpp").constants
    start = {name: constants[name] for name in constants.fitted}
    without = fit(points, ~mine, start, ROUNDS_LEFT_OUT)
    expected = points.predict(with_values(points.engine, without))[mine]
    kept = {(r["id"], r["quantity"]): float(r["held_out"]) for r in cells("llamacpp") if r["held_out"]}
    named = [point for point, chosen in zip(speed_points("llama.cpp"), mine, strict=True) if chosen]
    assert len(named) > 20
    for (row, quantity, _), value in zip(named, expected.tolist(), strict=True):
        assert kept[row, quantity] == pytest.approx(value, rel=1e-4), COMMAND


@pytest.mark.skipif("serving" not in WRITTEN, reason="no measured speeds yet")
def test_the_points_named_here_are_those_the_fit_holds() -> None:
    from calculators.validate_speed_fit import points_of

    for engine in speed_engines():
        assert [value for _, _, value in speed_points(engine.id)] == points_of(engine.id).measured.tolist()


def test_the_need_is_the_one_the_bands_rest_on() -> None:
    from calculators.validate_memory import predict_file

    rows = {row["id"]: ratio(row) for row in cells("memory") if row["quantity"] == "needed_gib"}
    seen = 0
    for name in ("memory.csv", "memory_more.csv"):
        for result in predict_file(TRUTH / name, Path(TRUTH) / "configs"):
            if result.need is not None:
                assert rows[result.lines[0].id] == pytest.approx(result.need.ratio, rel=1e-4)
                seen += 1
    assert seen == len(rows)
