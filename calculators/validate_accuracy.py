"""Writes gpu_data/accuracy/*.csv: every estimate beside what was measured, for the page of that name.

python -m calculators.validate_accuracy [memory|llamacpp|serving|finetune|training ...] [--keep-held-out]

Each row of tests/truth is predicted by the same function as in `python -m calculators.validate`. Where
constants were fitted to a table, the row is predicted a second time by constants fitted without it: as the
error bands were made, and without any row of its GPU. The servers' fits take minutes; --keep-held-out leaves
these columns as they are. tests/calculators/test_validate_accuracy.py recomputes the files.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import io
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from calculators.architecture import Architecture
from calculators.architecture.layout import CacheKind
from calculators.memory import VERDICTS
from calculators.validate_gpu import match_gpu
from calculators.validate_rows import MeasuredRow, RowRefused
from calculators.validate_runs import find_gpu
from gpu_data.accuracy import COUNTED, FOLDER, TABLES, UNITS, AccuracyRow

TRUTH: Final = Path(__file__).parent.parent / "tests" / "truth"
NOTE_CHARACTERS: Final = 400
NOT_NAMED: Final = "not named"
OUT_OF_MEMORY: Final = "out of memory"
GIB, MIB = 2**30, 2**20
_YES = ("yes", "true", "1")

Cells = dict[str, Any]
HeldOut = Mapping[tuple[str, str], tuple[float, float]]  # (row, quantity) -> (as the band, without its GPU)


@dataclass(frozen=True)
class About:
    """What a row was measured on, in the words of our own tables."""

    engine: str
    architecture: Architecture | None = None
    format: str = ""


def architecture_kind(arch: Architecture) -> str:
    """The class of a model whose layers decide its memory and speed."""
    kinds = {cache.kind for layer in arch.layers for cache in layer.caches}
    if CacheKind.STATE in kinds:
        attention = "with recurrent state"
    elif CacheKind.LATENT in kinds:
        attention = "latent attention (MLA)"
    elif kinds & {CacheKind.SLIDING, CacheKind.CHUNKED}:
        attention = "sliding window"
    elif arch.num_key_value_heads < arch.num_attention_heads:
        attention = "grouped-query attention"
    else:
        attention = "multi-head attention"
    return f"{'Experts' if any(layer.mlp == 'moe' for layer in arch.layers) else 'Dense'}, {attention}"


@cache
def gpu_named(text: str) -> tuple[str, str]:
    """(name, id or "") of a GPU as measured tables write it."""
    from gpu_data import spec_frame
    from gpu_data.speed import gpu_aliases, measured_gpus

    plain = text.strip().lower()
    if not plain:
        return NOT_NAMED, ""
    if plain in measured_gpus():
        return str(measured_gpus()[plain].spec["name"]), ""
    found = gpu_aliases().get(plain) or match_gpu(text).gpu_id or ("+" not in text and find_gpu(text)[0])
    return (str(spec_frame().at[found, "name"]), found) if found else (text.strip(), "")


def _cells(row: MeasuredRow, about: About, line: Any, part: str, note: str = "") -> Cells:
    """What rows of every table have in common; `line` is a line of a validate command."""
    gpu, gpu_id = gpu_named(row.text("gpu"))
    arch = about.architecture
    low, high = getattr(line, "low", None), getattr(line, "high", None)
    if low == high:  # no band was measured
        low = high = None
    return {
        "id": row.id,
        "quantity": line.quantity,
        "unit": UNITS[line.quantity],
        "predicted": line.predicted if isinstance(line.predicted, float) else None,
        "low": low,
        "high": high,
        "measured": line.measured if isinstance(line.measured, float) else None,
        "refused": line.refused,
        "part": part,
        "engine": about.engine or NOT_NAMED,
        "gpu": gpu,
        "gpu_id": gpu_id,
        "model": (row.text("model") or row.text("model_hf_id")) or NOT_NAMED,
        "architecture": architecture_kind(arch) if arch is not None else "not read",
        "format": about.format or NOT_NAMED,
        "note": " ".join(note.split())[:NOTE_CHARACTERS],
        "source_url": row.text("source_url") or NOT_NAMED,
    }


def _count(row: MeasuredRow, *columns: str) -> int | None:
    """GPUs of a row: the product of the columns that hold a number."""
    found = None
    for column in columns:
        try:
            value = row.count(column, 2**22)
        except RowRefused:
            value = None
        if value is not None:
            found = value * (found or 1)
    return found


# ---------------------------------------------------------------- memory


def memory_rows(held: HeldOut) -> Iterator[Cells]:
    """Rows of tests/truth/memory.csv and memory_more.csv."""
    from calculators.validate_memory import predict_row
    from calculators.validate_rows import prepare, read_rows

    configs = TRUTH / "configs"
    for name in ("memory.csv", "memory_more.csv"):
        for row in read_rows(TRUTH / name):
            result = predict_row(row, configs)
            about = About(row.text("engine"), None, row.text("quantization"))
            try:
                deployment = prepare(row, configs).deployment
                about = About(
                    deployment.engine.label, deployment.architecture, deployment.weight_format.label
                )
            except RowRefused:
                pass
            note = row.text("suspect") or row.text("notes")
            common = {
                "kind": "memory",
                "n_gpus": _count(row, "n_gpus_tp", "pp"),
                "setup": "|".join(result.setup),
            }
            need = result.need
            if need is not None:
                line = _Line("needed_gib", need.predicted, need.measured)
                ends = {"low": need.low, "high": need.high}
                yield _cells(row, about, line, result.part, note) | common | ends
            for line in result.lines:
                yield _cells(row, about, line, result.part, note) | common | _verdict(line)


@dataclass(frozen=True)
class _Line:
    quantity: str
    predicted: float
    measured: float
    refused: str | None = None


def _verdict(line: Any) -> Cells:
    """Verdict lines in words: fits and oom ask the same question the other way round."""
    if line.quantity not in ("fits", "oom"):
        return {}
    was = str(line.measured).lower() in _YES
    if line.quantity == "oom":
        was = not was
    said = line.predicted
    if said in ("yes", "no"):
        said = "does not fit" if said == "yes" else "fits"
    if said is not None and said not in VERDICTS:
        raise ValueError(f"unknown verdict {said!r}")
    return {"predicted_words": said, "measured_words": "ran" if was else OUT_OF_MEMORY}


# ---------------------------------------------------------------- speed


def llamacpp_rows(held: HeldOut) -> Iterator[Cells]:
    """Rows of tests/truth/bench_llamacpp.csv."""
    from calculators.validate_llamacpp import COLUMNS, predict_row, prepare
    from calculators.validate_speed import read_table

    for row in read_table(TRUTH / "bench_llamacpp.csv", COLUMNS):
        result = predict_row(row)
        kind = "prefill" if row.text("test").lower().startswith("pp") else "decode"
        about = About("llama.cpp", None, row.text("quant"))
        try:
            found = prepare(row).subject
            about = About(found.engine.label, found.architecture, found.weight_format.label)
        except RowRefused:
            pass
        part = row.text("kind") if result.part == "other kinds" else result.part
        for line in result.lines:
            cells = _cells(row, about, line, part, row.text("build"))
            cells |= {"kind": "memory", "n_gpus": _count(row, "n_gpus")} | _verdict(line)
            if line.quantity == "tokens_per_s":
                quantity = "prompt_tokens_per_s" if kind == "prefill" else "tokens_per_s"
                cells |= {"kind": kind, "quantity": quantity, "load": "single"}
            yield _with_held_out(cells, held)


def serving_rows(held: HeldOut) -> Iterator[Cells]:
    """Rows of tests/truth/serving.csv."""
    from calculators.validate_serving import COLUMNS, band_name, predict_row, prepare
    from calculators.validate_speed import STAND_IN, read_table
    from calculators.validate_speed_fit import trusted_serving

    kinds = {"decode": "decode", "tpot": "decode", "prefill": "prefill", "ttft": "prefill"}
    for row in read_table(TRUTH / "serving.csv", COLUMNS):
        result = predict_row(row)
        load, part = None, result.part
        about = About(row.text("engine"), None, row.text("precision"))
        try:
            case = prepare(row)
            found = case.subject
            about = About(found.engine.label, found.architecture, found.weight_format.label)
            load = case.load
            if case.band_engine == STAND_IN:
                part = "another engine stands for this one"
            elif not trusted_serving(case):
                part = "contradicted by its neighbours"
        except RowRefused:
            pass
        for line in result.lines:
            kind = kinds.get(band_name(line.quantity, load or "batch"), "throughput")
            again = part == COUNTED and _says_the_same(line.quantity, load, row)
            mine = "says the same as the row's TPOT" if again else part
            cells = _cells(row, about, line, mine, row.text("notes"))
            cells |= {"kind": kind, "load": load, "n_gpus": _count(row, "n_gpus")}
            yield _with_held_out(cells, held)


def _with_held_out(cells: Cells, held: HeldOut) -> Cells:
    """The cells with both held-out predictions, from their ratios to what was measured."""
    ratios = held.get((cells["id"], cells["quantity"]))
    if ratios is None or cells["measured"] is None or cells["part"] != COUNTED:
        return cells
    return cells | {
        "held_out": ratios[0] * cells["measured"],
        "held_out_gpu": ratios[1] * cells["measured"],
    }


# ---------------------------------------------------------------- training


def finetune_rows(held: HeldOut) -> Iterator[Cells]:
    """Rows of tests/truth/finetune_memory.csv; peaks in GiB whatever unit was printed."""
    from calculators.validate_finetune import COLUMNS, predict_row, prepare, row_framework, unit_bytes
    from calculators.validate_rows import read_rows

    for row in read_rows(TRUTH / "finetune_memory.csv", COLUMNS):
        result = predict_row(row)
        about = About(row_framework(row)[0].label, None, _method(row))
        with contextlib.suppress(RowRefused):
            about = About(about.engine, prepare(row).training.architecture, about.format)
        factor = unit_bytes(row) / GIB
        for line in result.lines:
            cells = _cells(row, about, line, result.part, row.text("extra"))
            cells |= {"kind": "finetune", "n_gpus": _count(row, "n_gpus")} | _verdict(line)
            for name in ("predicted", "low", "high", "measured"):
                cells[name] = None if cells[name] is None else cells[name] * factor
            yield cells


def _method(row: MeasuredRow) -> str:
    return ", ".join(part for part in (row.text("method"), row.text("precision")) if part)


def training_rows(held: HeldOut) -> Iterator[Cells]:
    """Rows of tests/truth/training_runs.csv."""
    from calculators.validate_rows import read_rows
    from calculators.validate_training import COLUMNS, predict_row, prepare
    from calculators.validate_training_fit import _DOUBTFUL

    for row in read_rows(TRUTH / "training_runs.csv", COLUMNS):
        result = predict_row(row)
        about = About(NOT_NAMED)
        try:
            training = prepare(row).training
            about = About(training.framework.label, training.architecture, training.precision.label)
        except RowRefused:
            pass
        whole_run = row.text("kind").lower().startswith("pretraining")
        doubtful = bool(_DOUBTFUL.search(row.text("notes")))
        for line in result.lines:
            part = result.part
            if line.quantity == "gpu_hours" and whole_run:
                part = "doubtful: see the note" if doubtful else COUNTED
            cells = _cells(row, about, line, part, row.text("notes"))
            cells |= {"kind": "training", "n_gpus": _count(row, "n_gpus")}
            yield _with_held_out(cells, held)


def training_held_out() -> HeldOut:
    """Predicted over measured with a random tenth, and with the whole GPU, left out of the fit."""
    from calculators.validate_training_fit import held_out, points, random_part

    rows = points(TRUTH / "training_runs.csv")
    tenth, gpu = held_out(rows, random_part), held_out(rows, lambda row: row.gpu)
    quantities = ("tokens_per_s_per_gpu", "mfu_pct_reported")
    return {(row.id, name): (tenth[row.id], gpu[row.id]) for row in rows for name in quantities}


# ---------------------------------------------------------------- constants fitted without a GPU


def speed_points(engine_id: str) -> list[tuple[str, str, float]]:
    """(row, quantity, measured) of an engine's points, in the order in which the fit holds them."""
    from calculators import validate_llamacpp, validate_serving
    from calculators.validate_speed import read_table
    from calculators.validate_speed_fit import trusted_serving

    found: list[tuple[str, str, float]] = []
    if engine_id.startswith("llama.cpp"):
        for row in read_table(TRUTH / "bench_llamacpp.csv", validate_llamacpp.COLUMNS):
            with contextlib.suppress(RowRefused):
                bench = validate_llamacpp.prepare(row)
                value = row.number("tokens_per_s")
                if bench.trusted and value and bench.subject.engine.id == engine_id:
                    name = "prompt_tokens_per_s" if bench.kind == "prefill" else "tokens_per_s"
                    found.append((row.id, name, value))
        return found
    for row in read_table(TRUTH / "serving.csv", validate_serving.COLUMNS):
        with contextlib.suppress(RowRefused):
            case = validate_serving.prepare(row)
            if case.subject.engine.id != engine_id or not trusted_serving(case):
                continue
            for name in validate_serving.QUANTITIES:
                value = row.number(name)
                if value and not _says_the_same(name, case.load, row):
                    found.append((row.id, name, value))
    return found


def _says_the_same(quantity: str, load: str | None, row: MeasuredRow) -> bool:
    """Whether a single request's speed is only the reciprocal of its time per token."""
    return quantity == "output_tokens_per_s" and load == "single" and bool(row.text("tpot_ms"))


def speed_held_out(engine_id: str) -> HeldOut:
    """Predicted over measured of an engine's points, each GPU by constants fitted without it.

    The bands of gpu_data/speed_fit.toml come from the same fits, so both predictions are one.
    """
    from calculators.validate_speed_fit import ROUNDS_LEFT_OUT, held_out, points_of
    from gpu_data.speed import speed_engine

    points, named = points_of(engine_id), speed_points(engine_id)
    if [value for _, _, value in named] != points.measured.tolist():
        raise RuntimeError(f"{engine_id}: the rows here are not the points of validate_speed_fit")
    constants = speed_engine(engine_id).constants
    ratios = held_out(points, {name: constants[name] for name in constants.fitted}, ROUNDS_LEFT_OUT)
    pairs = zip(named, ratios.tolist(), strict=True)
    return {(row, quantity): (1 / ratio, 1 / ratio) for (row, quantity, _), ratio in pairs if ratio == ratio}


def serving_held_out() -> HeldOut:
    """Of every engine with serving rows."""
    from gpu_data.speed import speed_engines

    found: dict[tuple[str, str], tuple[float, float]] = {}
    for engine in speed_engines():
        if not engine.id.startswith("llama.cpp"):
            found |= speed_held_out(engine.id)
    return found


# ---------------------------------------------------------------- files

ROWS: Final[Mapping[str, Callable[[HeldOut], Iterator[Cells]]]] = {
    "memory": memory_rows,
    "llamacpp": llamacpp_rows,
    "serving": serving_rows,
    "finetune": finetune_rows,
    "training": training_rows,
}
HELD_OUT: Final[Mapping[str, Callable[[], HeldOut]]] = {
    "llamacpp": lambda: {**speed_held_out("llama.cpp"), **speed_held_out("llama.cpp-2025")},
    "serving": serving_held_out,
    "training": training_held_out,
}


def kept_held_out(table: str) -> HeldOut:
    """The ratios that stand in a file."""
    path = FOLDER / f"{table}.csv"
    if not path.is_file():
        return {}
    with path.open(encoding="utf-8", newline="") as file:
        return {
            (row["id"], row["quantity"]): (
                float(row["held_out"]) / float(row["measured"]),
                float(row["held_out_gpu"]) / float(row["measured"]),
            )
            for row in csv.DictReader(file)
            if row["held_out"]
        }


def table_rows(table: str, held: HeldOut | None = None) -> Iterator[AccuracyRow]:
    """The rows of one file; without `held` the held-out columns stay empty."""
    for cells in ROWS[table](held or {}):
        yield AccuracyRow(**{name: _rounded(value) for name, value in cells.items()})


def _rounded(value: Any) -> Any:
    return float(f"{value:.6g}") if isinstance(value, float) else value


def as_csv(rows: Iterator[AccuracyRow]) -> str:
    """The file's text."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    names = list(AccuracyRow.model_fields)
    writer.writerow(names)
    for row in rows:
        values = [getattr(row, name) for name in names]
        writer.writerow(["" if v is None else f"{v:.6g}" if isinstance(v, float) else v for v in values])
    return text.getvalue()


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the files of the tables named, all by default; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m calculators.validate_accuracy")
    parser.add_argument("tables", nargs="*", choices=[[], *TABLES], help="all when none is named")
    parser.add_argument("--keep-held-out", action="store_true", help="fit nothing again")
    chosen = parser.parse_args(arguments)
    FOLDER.mkdir(exist_ok=True)
    for table in chosen.tables or TABLES:
        held = kept_held_out(table) if chosen.keep_held_out else HELD_OUT.get(table, dict)()
        text = as_csv(table_rows(table, held))
        (FOLDER / f"{table}.csv").write_text(text, encoding="utf-8")
        sys.stderr.write(f"{table}: {text.count(chr(10)) - 1} lines\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
