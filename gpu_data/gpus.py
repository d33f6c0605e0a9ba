"""Reads the GPU files; `check_gpus` validates them (in tests and by hand, not at every start)."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from gpu_data.schemas import GpuFile

GPU_FOLDER = Path(__file__).parent / "gpus"

# The cards that the pages pin when a link names none.
DEFAULT_GPU_IDS = ("h100-sxm5-80gb", "a100-sxm4-80gb", "rtx-a6000-48gb", "l40s-48gb", "rtx-4090-24gb")

RawFile = dict[str, Any]


def read_gpu_files(folder: Path = GPU_FOLDER) -> dict[str, RawFile]:
    """Parsed TOML by file name, unchecked. Raises tomllib.TOMLDecodeError on a syntax error."""
    return {path.name: tomllib.loads(path.read_text("utf-8")) for path in sorted(folder.glob("*.toml"))}


@cache
def gpu_files() -> dict[str, RawFile]:
    """The project's own GPU files, read once per process. Do not change what it returns."""
    return read_gpu_files()


def check_gpus(folder: Path = GPU_FOLDER) -> list[str]:
    """Every fault of the GPU files, a line each: "file: gpu id: field: what is wrong". Empty: all is well."""
    problems: list[str] = []
    seen: dict[str, str] = {}
    declared: dict[str, tuple[str, object]] = {}
    for path in sorted(folder.glob("*.toml")):
        try:
            raw = tomllib.loads(path.read_text("utf-8"))
        except tomllib.TOMLDecodeError as error:
            problems.append(f"{path.name}: not TOML: {error}")
            continue
        try:
            parsed = GpuFile.model_validate(raw)
        except ValidationError as error:
            problems += _readable(path.name, raw, error)
            continue
        problems += _source_faults(path.name, parsed)
        for gpu in parsed.gpu:
            if gpu.id in seen:
                problems.append(f"{path.name}: {gpu.id}: id: already used in {seen[gpu.id]}")
            seen[gpu.id] = path.name
        for key, source in parsed.sources.items():
            where, other = declared.setdefault(key, (path.name, source))
            if other != source:
                problems.append(f"{path.name}: sources.{key}: differs from the one of that name in {where}")
    return problems


def _readable(file: str, raw: Mapping[str, Any], error: ValidationError) -> Iterator[str]:
    """Pydantic's errors as "file: gpu id: field: message" lines."""
    for item in error.errors(include_url=False):
        match item["loc"]:
            case ("gpu", int() as row, *rest):
                gpu = raw["gpu"][row]
                name = (
                    gpu.get("id", f"gpu number {row + 1}")
                    if isinstance(gpu, dict)
                    else f"gpu number {row + 1}"
                )
                where = f"{file}: {name}"
            case (*rest,):
                where = file
        field = ".".join(str(part) for part in rest)
        if item["type"] == "extra_forbidden":
            message = "unknown key"
        elif item["type"] == "missing":
            message = "missing"
        else:
            message = item["msg"].removeprefix("Value error, ")
        for line in message.splitlines():
            yield ": ".join(part for part in (where, field, line) if part)


def _source_faults(file: str, parsed: GpuFile) -> Iterator[str]:
    """Sources that are named but not declared, and the reverse."""
    used: set[str] = set()
    for gpu in parsed.gpu:
        named = [(name, figure.sources) for name, figure in gpu.figures().items()]
        named += [("notes", note.sources) for note in gpu.notes]
        for name, sources in named:
            used.update(sources)
            for key in sources:
                if key not in parsed.sources:
                    yield f"{file}: {gpu.id}: {name}: unknown source {key!r}"
    for key in sorted(parsed.sources.keys() - used):
        yield f"{file}: sources.{key}: no figure uses it"
