"""Loads the speed tables: engines with their constants, error bands, measured GPUs, benchmark protocols."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

from gpu_data.speed_schemas import (
    Constant,
    MeasuredGpu,
    MeasuredModel,
    SpeedBand,
    SpeedConstants,
    SpeedEngine,
    StandIn,
    Workload,
)

FOLDER = Path(__file__).parent
FIT_FILE = FOLDER / "speed_fit.toml"


def _read(name: str) -> dict[str, Any]:
    return tomllib.loads((FOLDER / name).read_text(encoding="utf-8"))


@cache
def speed_constants() -> tuple[Constant, ...]:
    """What each constant means, in the order of the table."""
    return tuple(Constant(**row) for row in _read("speed.toml")["constant"])


@cache
def _fit() -> dict[str, Any]:
    return _read(FIT_FILE.name) if FIT_FILE.is_file() else {}


def _constants(fields: dict[str, Any], fitted: dict[str, float]) -> SpeedConstants:
    defaults = _read("speed.toml")["defaults"]
    own = fields.pop("fixed", {})
    names = tuple(fields.pop("fitted", ()))
    values = {name: float((own.get(name) or row)["value"]) for name, row in defaults.items()}
    starts = {row["id"]: row["start"] for row in _read("speed.toml")["constant"]}
    values |= {name: float(fitted.get(name, starts[name])) for name in names}
    sources = {name: (own.get(name) or row)["source"] for name, row in defaults.items() if name not in names}
    return SpeedConstants(values=values, fitted=names, source_of=sources)


@cache
def _engines() -> dict[str, SpeedEngine]:
    found = {}
    fits = _fit().get("fit", {})
    for row in _read("speed.toml")["engine"]:
        fields = dict(row)
        fit = fits.get(fields["id"], {})
        constants = _constants(fields, fit.get("values", {}))
        found[fields["id"]] = SpeedEngine(**fields, constants=constants, rows=fit.get("rows", 0))
    return found


def speed_engines() -> tuple[SpeedEngine, ...]:
    """All engines the speed model knows."""
    return tuple(_engines().values())


def speed_engine(engine_id: str) -> SpeedEngine:
    """One engine by id. Raises KeyError naming the id when there is none."""
    try:
        return _engines()[engine_id]
    except KeyError:
        raise KeyError(f"unknown speed engine {engine_id!r}; known: {', '.join(_engines())}") from None


def speed_engine_like(engine_id: str, family: str) -> SpeedEngine | None:
    """The speed model of an engine of the memory tables: its own, else its family's; None without one."""
    known = _engines()
    same = next((engine for engine in known.values() if engine.memory_engine == engine_id), None)
    return same or known.get(engine_id) or known.get(family)


@cache
def _stand_ins() -> tuple[StandIn, ...]:
    return tuple(StandIn(**row) for row in _read("speed.toml").get("stand_in", ()))


def stand_in_for(text: str) -> tuple[SpeedEngine, str] | None:
    """(the engine nearest to one that is not modelled, why), None when none is known to be near."""
    lowered = text.strip().lower()
    found = next((row for row in _stand_ins() if re.search(row.pattern, lowered)), None)
    if found is None:
        return None
    engine = speed_engine(found.engine)
    if found.splits_by_layers:
        engine = engine.model_copy(update={"splits_by_layers": True})
    return without_graphs(engine) if found.without_graphs else engine, found.reason


def without_graphs(engine: SpeedEngine) -> SpeedEngine:
    """The engine as it runs where the host launches every kernel (eager mode)."""
    return engine.model_copy(update={"graph_context_tokens": 1})


def speed_engine_for(text: str, date: str = "") -> SpeedEngine | None:
    """The engine that a name with its version means ("vLLM 0.7.3"), None when unknown.

    A name without a version means the newest set that was released at the date (year and month), when given.
    """
    lowered = text.strip().lower()
    number = re.search(r"\d+(?:\.\d+)+", lowered)
    version = tuple(int(part) for part in number.group().split(".")) if number else None
    if version is None and re.match(r"20\d\d-\d\d", date):
        newest = [e for e in speed_engines() if e.first_released and date[:7] >= e.first_released]
        named = [e for e in newest if lowered and any(re.fullmatch(r.pattern, lowered) for r in e.matches)]
        if named:
            return named[-1]
    for found in speed_engines():
        for rule in found.matches:
            if not re.search(rule.pattern, lowered):
                continue
            if rule.below is None or (version is not None and version < rule.below):
                early = version is None and found.graphs_since and "" < date[:7] < found.graphs_since
                return without_graphs(found) if early else found
    return None


@cache
def speed_bands() -> tuple[SpeedBand, ...]:
    """The 80 % bands of the fit."""
    return tuple(SpeedBand(**row) for row in _fit().get("band", ()))


@cache
def measured_gpus() -> dict[str, MeasuredGpu]:
    """Cards outside the catalogue that appear in measured tables, by name in lower case."""
    rows = [MeasuredGpu(**row) for row in _read("speed_measured.toml")["gpu"]]
    return {name.lower(): row for row in rows for name in row.names}


@cache
def gpu_aliases() -> dict[str, str]:
    """Names of measured tables (lower case) that mean a GPU of the catalogue."""
    return {name.lower(): gpu_id for name, gpu_id in _read("speed_measured.toml")["aliases"].items()}


@cache
def workloads() -> tuple[Workload, ...]:
    """Benchmark protocols in the order they are tried."""
    return tuple(Workload(**row) for row in _read("speed_measured.toml")["workload"])


@cache
def model_aliases() -> dict[str, str]:
    """Model names of measured tables (letters and digits, lower case) that mean a model of the catalogue."""
    return dict(_read("speed_measured.toml")["model_aliases"])


@cache
def measured_models() -> dict[str, MeasuredModel]:
    """Models outside the catalogue that measured tables name (letters and digits, lower case)."""
    rows = [MeasuredModel(**row) for row in _read("speed_measured.toml")["model"]]
    return {name: row for row in rows for name in row.names}
