"""Fits the constants of the speed model and its error bands, and writes gpu_data/speed_fit.toml.

python -m calculators.validate_speed_fit [ENGINE ...] [--bands] [--print]

Minimises the mean absolute logarithmic error over trusted rows of tests/truth, within the limits of
gpu_data/speed.toml. Bands come from rows of GPUs left out of the fit.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import gpu_data.speed as tables
from calculators.architecture import params_total
from calculators.validate_llamacpp import BenchCase
from calculators.validate_llamacpp import predict_cases as predict_bench
from calculators.validate_llamacpp import prepare as prepare_bench
from calculators.validate_serving import QUANTITIES, Case, band_name, grouped, predict, prepare
from calculators.validate_speed import STAND_IN, RowRefused, read_table
from gpu_data.speed_schemas import SpeedBand, SpeedConstants, SpeedEngine

Floats = NDArray[np.float64]

TRUTH = Path(__file__).parent.parent / "tests" / "truth"
LARGEST = 1.5  # logarithmic errors count up to this much, so that outliers do not steer the fit
SMALLEST = 0.03  # errors below this weigh the same
PULL = 0.02  # towards typical values, per squared logarithm: a prior that keeps GPUs left out in reach
STEP = 0.02  # of the slopes, in logarithms
ROUNDS, ROUNDS_LEFT_OUT = 40, 4
POLISH = (0.08, 0.02, 0.005)  # moves of one constant, in logarithms, once all together get no further
# Kinds with few points but a target of their own weigh more, so that batches do not drown them.
PRIORITY = {"decode single": 24, "prefill single": 24}
ANOTHER_MODEL = 0.4  # logarithm of the ratio of parameters
GIGA = 1e9
FEWEST = 8  # points a band needs
TAIL = 10  # per cent on each side of the 80 % band
SURE, ENOUGH_ROWS, ENOUGH_GPUS = 0.75, 20, 3  # share a band must hold of a GPU it was made without


@dataclass(frozen=True)
class Points:
    """Measured points of one engine and how to predict them all with other constants."""

    engine: SpeedEngine
    measured: Floats
    gpus: NDArray[np.str_]
    kinds: NDArray[np.str_]  # "decode single" ...
    rates: NDArray[np.bool_]  # tokens per second, not a time
    closed: NDArray[np.bool_]  # from clients who wait for each answer
    predict: Callable[[SpeedEngine], Floats]

    def only(self, keep: NDArray[np.bool_]) -> tuple[Floats, NDArray[np.bool_]]:
        """(weights of the kept points, the mask): every kind counts the same in sum."""
        weights = np.zeros(len(self.measured))
        for kind in dict.fromkeys(self.kinds[keep]):
            mine = keep & (self.kinds == kind)
            weights[mine] = (PRIORITY.get(kind, 1)) / np.sqrt(mine.sum())
        return weights / weights.sum(), keep


def with_values(engine: SpeedEngine, values: Mapping[str, float]) -> SpeedEngine:
    """The engine with some constants replaced."""
    old = engine.constants
    constants = SpeedConstants(values={**old.values, **values}, fitted=old.fitted, source_of=old.source_of)
    return engine.model_copy(update={"constants": constants})


# ---------------------------------------------------------------- points


def trusted_serving(case: Case) -> bool:
    """Whether a serving row may steer the fit: one of an engine that is modelled, and not these.

    AccelMark's RTX 6000 Ada host runs below an RTX A6000 and reads long prompts at 29 % of peak; the H100
    page of GLM-4.5-Air repeats the A100 page's figures; "vLLM" without a version is of 2023, before CUDA
    graphs; rows whose count of parameters belongs to another model than the one they name (the command on
    gpustack's page of Qwen3-32B is copied from that of Qwen3-14B, its results are not).
    """
    if case.band_engine == STAND_IN:
        return False
    cells = case.row
    stated, counted = cells.number("params_b"), params_total(case.subject.architecture) / GIGA
    if stated and abs(np.log(counted / stated)) > ANOTHER_MODEL:
        return False
    if cells.text("gpu") == "RTX 6000 Ada" or cells.text("engine").strip().lower() == "vllm":
        return False
    copied = "Other Benchmark Cases" in cells.text("notes") and "H100" in cells.text("gpu")
    return not (copied and cells.text("model").startswith("GLM-4.5-Air"))


def serving_points(engine_id: str) -> Points:
    """All trusted serving points of one engine."""
    cases = []
    for row in read_table(TRUTH / "serving.csv", ("id",)):
        try:
            case = prepare(row)
        except RowRefused:
            continue
        if case.subject.engine.id == engine_id and trusted_serving(case):
            cases.append(case)
    groups = grouped(cases)
    where: list[tuple[str, int]] = []
    measured, gpus, kinds = [], [], []
    for i, case in enumerate(cases):
        for name in QUANTITIES:
            value = case.row.number(name)
            if value and not (
                case.traffic == "single" and name == "output_tokens_per_s" and case.row.text("tpot_ms")
            ):
                where.append((name, i))
                measured.append(value)
                gpus.append(case.subject.gpu_name)
                kinds.append(f"{band_name(name, case.load)} {case.load}")
    index = {name: [j for j, (n, _) in enumerate(where) if n == name] for name in QUANTITIES}
    source = {name: [i for n, i in where if n == name] for name in QUANTITIES}

    def predicted(engine: SpeedEngine) -> Floats:
        found = predict(cases, {engine.id: engine}, groups)
        values = np.empty(len(where))
        for name in QUANTITIES:
            values[index[name]] = found[name][source[name]]
        return values

    return Points(
        tables.speed_engine(engine_id),
        np.array(measured),
        np.array(gpus),
        np.array(kinds),
        np.array([name == "output_tokens_per_s" for name, _ in where]),
        np.array([cases[i].traffic == "closed" for _, i in where]),
        predicted,
    )


def bench_points(engine_id: str = "llama.cpp") -> Points:
    """All trusted llama-bench points of an engine's builds."""
    cases: list[BenchCase] = []
    for row in read_table(TRUTH / "bench_llamacpp.csv", ("id",)):
        try:
            case = prepare_bench(row)
        except RowRefused:
            continue
        if case.trusted and case.subject.engine.id == engine_id and row.number("tokens_per_s"):
            cases.append(case)
    measured = np.array([case.row.number("tokens_per_s") or 0.0 for case in cases])
    return Points(
        tables.speed_engine(engine_id),
        measured,
        np.array([case.subject.gpu_name for case in cases]),
        np.array([f"{case.kind} single" for case in cases]),
        np.ones(len(cases), dtype=bool),
        np.zeros(len(cases), dtype=bool),
        lambda engine: predict_bench(cases, engine),
    )


def points_of(engine_id: str) -> Points:
    """The measured points of one engine."""
    return bench_points(engine_id) if engine_id.startswith("llama.cpp") else serving_points(engine_id)


# ---------------------------------------------------------------- fit


def _limits(names: Sequence[str]) -> tuple[Floats, Floats, Floats]:
    """(lowest, highest, typical) logarithms of the constants named."""
    known = {c.id: c for c in tables.speed_constants()}
    found = np.log([(known[name].low, known[name].high, known[name].start) for name in names])
    return found[:, 0], found[:, 1], found[:, 2]


def _errors(points: Points) -> Callable[[Floats], Floats]:
    """Logarithm of predicted over measured of every point, from logarithms of the constants."""
    target, names = np.log(points.measured), points.engine.constants.fitted

    def errors(x: Floats) -> Floats:
        values = dict(zip(names, np.exp(x).tolist(), strict=True))
        with np.errstate(all="ignore"):
            found = np.log(points.predict(with_values(points.engine, values))) - target
        return np.nan_to_num(found, nan=LARGEST, posinf=LARGEST, neginf=-LARGEST)

    return errors


def _cost(weights: Floats, typical: Floats) -> Callable[[Floats, Floats], float]:
    """What a fit makes small: the weighted errors, and the pull towards typical values."""

    def cost(error: Floats, at: Floats) -> float:
        measured = float(np.sum(weights * np.minimum(np.abs(error), LARGEST)))
        return measured + PULL / 2 * float(np.sum((at - typical) ** 2))

    return cost


def polished(points: Points, values: Mapping[str, float]) -> dict[str, float]:
    """The constants moved one by one as long as that helps.

    Steps of all constants at once stop at kinks of absolute errors, where single ones still find a way down.
    """
    names = points.engine.constants.fitted
    low, high, typical = _limits(names)
    weights, _ = points.only(np.ones(len(points.measured), dtype=bool))
    errors, cost = _errors(points), _cost(weights, typical)
    x = np.log([values[name] for name in names])
    best = cost(errors(x), x)
    for size in POLISH:
        moving = True
        while moving:
            moving = False
            for i in range(len(names)):
                for step in (size, -size):
                    tried = x.copy()
                    tried[i] = np.clip(tried[i] + step, low[i], high[i])
                    value = cost(errors(tried), tried)
                    if value < best - 1e-7:
                        x, best, moving = tried, value, True
    return dict(zip(names, np.exp(x).tolist(), strict=True))


def fit(points: Points, keep: NDArray[np.bool_], start: Mapping[str, float], rounds: int) -> dict[str, float]:
    """The constants that fit the kept points best, from a start.

    Iteratively reweighted least squares (weight 1 / error, which minimises absolute errors) with
    Levenberg-Marquardt steps (Marquardt, 1963) in the logarithms of the constants. A weak pull towards the
    table's typical values keeps constants in place that few rows decide.
    """
    names = points.engine.constants.fitted
    low, high, typical = _limits(names)
    weights, kept = points.only(keep)
    errors, cost = _errors(points), _cost(weights, typical)
    x = np.clip(np.log([start[name] for name in names]), low, high)
    error, damping = errors(x), 0.1
    best = cost(error, x)
    for _ in range(rounds):
        slopes = np.empty((len(names), len(points.measured)))
        for i in range(len(names)):
            moved = x.copy()
            moved[i] += STEP if moved[i] + STEP <= high[i] else -STEP
            slopes[i] = (errors(moved) - error) / (moved[i] - x[i])
        size = np.abs(error)
        pull = np.where(kept & (size < LARGEST), weights / np.maximum(size, SMALLEST), 0.0)
        square = (slopes * pull) @ slopes.T + PULL * np.eye(len(names))
        slope = (slopes * pull) @ error + PULL * (x - typical)
        improved = False
        for _ in range(6):
            ridge = damping * (np.diag(np.diag(square)) + 1e-9 * np.eye(len(names)))
            tried = np.clip(x - np.clip(np.linalg.solve(square + ridge, slope), -1, 1), low, high)
            found = errors(tried)
            value = cost(found, tried)
            if value < best - 1e-6:
                x, error, best, improved = tried, found, value, True
                damping = max(damping / 4, 1e-3)
                break
            damping *= 4
        if not improved:
            break
    return dict(zip(names, np.exp(x).tolist(), strict=True))


def held_out(points: Points, values: Mapping[str, float], rounds: int) -> Floats:
    """Measured over predicted, each GPU predicted by constants fitted without it."""
    ratio = np.empty(len(points.measured))
    for gpu in dict.fromkeys(points.gpus.tolist()):
        mine = points.gpus == gpu
        if mine.all():
            ratio[mine] = np.nan
            continue
        without = fit(points, ~mine, values, rounds)
        ratio[mine] = points.measured[mine] / points.predict(with_values(points.engine, without))[mine]
    return ratio


def in_band_units(points: Points, ratio: Floats) -> Floats:
    """Measured over predicted, of times except for throughput (as `calculators.speed.bands` uses them)."""
    throughput = np.char.startswith(points.kinds, "throughput")
    return np.where(points.rates & ~throughput, 1 / ratio, ratio)


def bands(parts: Sequence[tuple[Points, Floats]]) -> list[SpeedBand]:
    """A band for every engine, quantity and load with enough held-out points, and one over all engines.

    In the latter every engine counts the same, however many of its points were measured: it stands for one
    that has too few. First tokens of clients who wait for each answer have a band of their own as well: when
    all requests come at once, the last one's is a matter of throughput.
    """
    groups: dict[tuple[str, str, str], list[tuple[float, str, str]]] = {}
    for points, ratio in parts:
        multiples = in_band_units(points, ratio)
        for kind, gpu, value, closed in zip(points.kinds, points.gpus, multiples, points.closed, strict=True):
            quantity, load = str(kind).split()
            if np.isfinite(value):
                point = (float(value), str(gpu), points.engine.id)
                groups.setdefault((points.engine.id, quantity, load), []).append(point)
                groups.setdefault(("any", quantity, "any"), []).append(point)
                if closed and quantity == "ttft":
                    groups.setdefault((points.engine.id, quantity, "closed"), []).append(point)
    return [_band(key, found) for key, found in groups.items() if len(found) >= FEWEST]


def percentiles(values: Floats, weights: Floats, tail: float) -> tuple[float, float]:
    """The weighted percentiles `tail` and 100 - tail: linear between the middles of the points' weights."""
    order = np.argsort(values)
    heavy = weights[order] / weights.sum()
    middles = np.cumsum(heavy) - heavy / 2
    low, high = np.interp([tail / 100, 1 - tail / 100], middles, values[order])
    return float(low), float(high)


def band_ends(values: Floats, gpus: NDArray[np.str_], weights: Floats | None = None) -> tuple[float, float]:
    """The 10 % and 90 % percentiles; further out until such a band also holds GPUs it was made without.

    With points of a few GPUs only, percentiles over them say too little about another one.
    """
    heavy = np.ones(len(values)) if weights is None else weights
    tail = TAIL
    while tail > 1 and held_by_others(values, gpus, tail, heavy) < SURE:
        tail -= 1
    return percentiles(values, heavy, tail)


def held_by_others(
    values: Floats, gpus: NDArray[np.str_], tail: float = TAIL, weights: Floats | None = None
) -> float:
    """Share of the points inside a band that was made without their GPU; 1 with too few to tell."""
    heavy = np.ones(len(values)) if weights is None else weights
    names = dict.fromkeys(gpus.tolist())
    if len(values) < ENOUGH_ROWS or len(names) < ENOUGH_GPUS:
        return 1.0
    inside = 0.0
    for gpu in names:
        mine = gpus == gpu
        low, high = percentiles(values[~mine], heavy[~mine], tail)
        inside += float(heavy[mine] @ ((values[mine] >= low) & (values[mine] <= high)))
    return inside / float(heavy.sum())


def _band(key: tuple[str, str, str], found: Sequence[tuple[float, str, str]]) -> SpeedBand:
    values, gpus = np.array([value for value, _, _ in found]), np.array([gpu for _, gpu, _ in found])
    counts = Counter(engine for _, _, engine in found)
    weights = np.array([1 / counts[engine] for _, _, engine in found])
    low, high = band_ends(values, gpus, weights)
    error = np.abs(1 / values - 1) * 100
    engine, quantity, load = key
    return SpeedBand.model_validate(
        {
            "engine": engine,
            "quantity": quantity,
            "load": load,
            "low": round(low, 4),
            "high": round(high, 4),
            "rows": len(values),
            "gpus": len(set(gpus.tolist())),
            "median_abs_error_pct": round(float(np.median(error)), 2),
            "p90_abs_error_pct": round(float(np.percentile(error, 90)), 2),
        }
    )


def as_toml(
    values: Mapping[str, Mapping[str, float]], rows: Mapping[str, int], found: Sequence[SpeedBand]
) -> str:
    """The file's text."""
    blocks = ["# Written by `python -m calculators.validate_speed_fit`; do not edit.\n"]
    for engine_id, constants in values.items():
        name = f'"{engine_id}"' if "." in engine_id else engine_id
        lines = [f"[fit.{name}]", f"rows = {rows[engine_id]}", f"[fit.{name}.values]"]
        lines += [f"{key} = {value:.5g}" for key, value in constants.items()]
        blocks.append("\n".join(lines) + "\n")
    for band in found:
        lines = ["[[band]]"]
        for key, value in band.model_dump().items():
            lines.append(f'{key} = "{value}"' if isinstance(value, str) else f"{key} = {value}")
        blocks.append("\n".join(lines) + "\n")
    return "\n".join(blocks)


def main(arguments: Sequence[str] | None = None) -> int:
    """Fit the engines named (all by default) and write the file; others keep their constants."""
    parser = argparse.ArgumentParser(prog="python -m calculators.validate_speed_fit")
    parser.add_argument("engines", nargs="*", help="engine ids; all when none is named")
    parser.add_argument("--bands", action="store_true", help="keep all constants, make the bands again")
    parser.add_argument("--print", action="store_true", help="print the file instead of writing it")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="rounds of the search")
    chosen = parser.parse_args(arguments)
    known = [engine.id for engine in tables.speed_engines()]
    values = {e.id: {n: e.constants[n] for n in e.constants.fitted} for e in tables.speed_engines()}
    rows = {e.id: e.rows for e in tables.speed_engines()}
    parts = []
    for engine_id in known:
        points = points_of(engine_id)
        if not chosen.bands and engine_id in (chosen.engines or known):
            everything = np.ones(len(points.measured), dtype=bool)
            found = polished(points, fit(points, everything, values[engine_id], chosen.rounds))
            # As the file will hold them, so that the bands can be made again from the file alone.
            values[engine_id] = {name: float(f"{value:.5g}") for name, value in found.items()}
        rows[engine_id] = len(points.measured)
        fitted = with_values(points.engine, values[engine_id])
        points = replace(points, engine=fitted)
        parts.append((points, held_out(points, values[engine_id], min(chosen.rounds, ROUNDS_LEFT_OUT))))
        sys.stderr.write(f"{engine_id}: {len(points.measured)} points\n")
    text = as_toml(values, rows, bands(parts))
    if chosen.print:
        sys.stdout.write(text)
    else:
        tables.FIT_FILE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
