"""What rows of training tables share: finding the model and the GPU, lines, summary with coverage."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

import numpy as np

from calculators.architecture import ConfigRefused, params_total, read_config
from calculators.architecture.layout import Architecture
from calculators.training.generic import generic_architecture
from calculators.validate_cells import ungrouped
from calculators.validate_gpu import match_gpu
from calculators.validate_rows import MeasuredRow, RowRefused
from gpu_data.models import model, model_config, model_ids
from gpu_data.training import model_aliases, training_model_config, training_model_names

MOST = 1e18  # above everything that a table can print
EXPERTS = re.compile(r"\bmoe\b|mixture|\d+x\d+|\ba\d+(\.\d+)?b\b|\d+e\b|experts")
MOST_OFF = 0.2  # a known model is taken for a name only when its size agrees this well with the row's
NOT_LANGUAGE = re.compile(r"diffusion|\bbert\b|megatron-bert|resnet|vit\b|whisper")


@dataclass(frozen=True)
class Line:
    """One prediction with its 80 % band beside the measured value; keys as the command prints them."""

    id: str
    quantity: str
    predicted: float | str | None
    low: float | None
    high: float | None
    measured: float | str | None
    error_pct: float | None
    refused: str | None


@dataclass(frozen=True)
class RowResult:
    """All lines of one row, and in which part of the summary they count."""

    lines: tuple[Line, ...]
    part: str  # "counted", or the kind of row that is reported apart
    assumptions: tuple[str, ...]


# ---------------------------------------------------------------- models


def _plain(name: str) -> str:
    """Letters and digits of a name, without owner, remarks in brackets and words of no architecture."""
    name = re.sub(r"\(.*?\)", " ", name.split("/")[-1].lower())
    name = re.sub(r"\b(instruct|chat|base|it|hf|text|preview|davinci)\b", " ", name)
    return re.sub(r"[^a-z0-9.]+", "", name.replace("+", "plus"))


@cache
def _known() -> dict[str, tuple[str, str]]:
    """Plain name -> (source of the config, its key); catalogue first, then training tables."""
    found: dict[str, tuple[str, str]] = {}
    for model_id in model_ids():
        for name in (model_id, model(model_id).name, model(model_id).hf_id):
            found.setdefault(_plain(name), ("catalogue", model_id))
    for name in training_model_names():
        found[_plain(name)] = ("table", name)
    for alias, model_id in model_aliases().items():
        found[_plain(alias)] = ("catalogue", model_id)
    return found


@cache
def _architecture(where: str, key: str) -> Architecture | None:
    config = model_config(key) if where == "catalogue" else training_model_config(key)
    try:
        return read_config(config)
    except ConfigRefused:
        return None


def _tokens(name: str) -> frozenset[str]:
    name = re.sub(r"\(.*?\)", " ", name.split("/")[-1].lower())
    return frozenset(re.findall(r"[a-z]+|\d+(?:\.\d+)?[a-z]*", name))


def _candidates(name: str) -> Iterator[tuple[str, str]]:
    """Configs a name may mean, the surest first."""
    plain, known = _plain(name), _known()
    if not plain:
        return
    if plain in known:
        yield known[plain]
    shorter = _plain(re.sub(r"[\s_-]+\d+(?:\.\d+)?[bm]\s*$", "", name.lower()))  # "phi-1.5 1.3B"
    if shorter != plain and shorter in known:
        yield known[shorter]
    # "phi-3" begins no name of phi-3.5; "mistral" begins that of mistral-7b.
    onward = r"(?![\d.])" if plain[-1].isdigit() else ""
    starts = [k for k in known if re.match(re.escape(plain) + onward, k)]
    yield from (known[k] for k in sorted(starts, key=len))
    wanted = _tokens(name)
    holders = [(len(_tokens(key) - wanted), where, key) for where, key in known.values()]
    held = [(n, where, key) for n, where, key in holders if wanted <= _tokens(key)]
    yield from ((where, key) for _, where, key in sorted(held))


def find_architecture(name: str, params_b: float | None) -> tuple[Architecture, str]:
    """(architecture, assumption) of a model as tables name it.

    A known model whose size agrees with `params_b`; else a Llama-like model of that size, said in the
    assumption. Raises RowRefused when neither name nor size helps, or the name is no language model's.
    """
    if NOT_LANGUAGE.search(name.lower()):
        raise RowRefused(f"model: {name!r} is not a decoder language model")
    if params_b is not None and not 1e-3 <= params_b <= 1e5:
        raise RowRefused(f"params_b: {params_b:g} is no size of a model in billions")
    size = params_b if params_b is not None else _size_in(name)
    for where, key in _candidates(name):
        arch = _architecture(where, key)
        if arch is None:
            continue
        exact = _plain(key) == _plain(name)
        counted = params_total(arch) / 1e9
        # A name's own figure may be rounded, or that of the active part of a model named alike.
        alike = size is None or abs(counted - size) <= MOST_OFF * size
        if alike or (params_b is None and (exact or _size_in(key) == size)):
            return arch, "" if exact else f"model: {name!r} taken as {key}"
    if size is None:
        raise RowRefused(f"model: {name!r} is not known and params_b is empty")
    if EXPERTS.search(name.lower()):
        raise RowRefused(f"model: {name!r} is not known, and params_b does not say what its experts are")
    arch = generic_architecture(size * 1e9)
    return arch, (
        f"model: {name!r} is not known; counted as a Llama-like dense model of {size:g} B parameters, "
        f"{len(arch.layers)} layers of {arch.hidden_size}"
    )


def _size_in(name: str) -> float | None:
    """Billions of parameters that a name states ("Foo-13B", "350m"); None without, and for 8x7B or A3B."""
    found = re.search(r"(?<![a-z0-9.])(\d+(?:\.\d+)?)\s*([bm])(?![a-z0-9])", name.lower())
    return float(found.group(1)) * (1.0 if found.group(2) == "b" else 1e-3) if found else None


# ---------------------------------------------------------------- GPUs


def find_gpu(text: str) -> tuple[str | None, str]:
    """(gpu_id, assumption or reason) of a GPU as tables name it.

    Words that only describe a variant are dropped one by one from the right until a GPU is found.
    """
    plain = re.sub(r"\(.*?\)", " ", text)
    plain = re.sub(r"\b(variant|hbm\w*|dgxs?|tesla)\b", " ", plain, flags=re.IGNORECASE).strip()
    words = plain.split()
    if not words:
        return None, "gpu: is empty"
    if _NO_WHOLE_CARD.search(text.lower()):
        return None, f"gpu: {text!r} is a part or a mobile version of a card, which is not in the GPU table"
    for dropped in range(len(words)):
        for name in _spellings(" ".join(words[: len(words) - dropped])):
            found = match_gpu(name)
            if found.gpu_id is not None and _size_agrees(name, found.gpu_id):
                note = found.assumption
                if not note and _plain(name) != _plain(text):
                    note = f"gpu: {text!r} taken as {found.name}"
                return found.gpu_id, note
    return None, f"gpu: {text!r} is not in the GPU table"


_NO_WHOLE_CARD = re.compile(r"laptop|mobile|\bmig\b|\d+g\.\d+gb|\bvgpu\b")


def _size_agrees(name: str, gpu_id: str) -> bool:
    """Whether the memory size in a name, if any, is the card's to 2 %."""
    said = re.search(r"\b(\d+)\s*gb?\b", name, re.IGNORECASE)
    has = re.search(r"-(\d+)gb$", gpu_id)
    return not said or not has or abs(int(said.group(1)) - int(has.group(1))) <= 0.02 * int(has.group(1))


def _spellings(name: str) -> Iterator[str]:
    yield name
    yield re.sub(r"(?<=[a-z0-9])\d*s\b(?=\s+pcie)", "", name, flags=re.IGNORECASE)
    yield re.sub(r"\b\d+\s*gb?\b", "", name, flags=re.IGNORECASE)
    yield re.sub(
        r"(?<=\d)s\b", "", re.sub(r"\b\d+\s*gb?\b", "", name, flags=re.IGNORECASE), flags=re.IGNORECASE
    )


# ---------------------------------------------------------------- lines and summary


def line(
    row: MeasuredRow, quantity: str, predicted: float, measured: float | None, band: tuple[float, float]
) -> Line:
    """A prediction with its band; `band` holds fractions of the prediction."""
    error = 100 * (predicted - measured) / abs(measured) if measured else None
    return Line(
        row.id,
        quantity,
        round(predicted, 4),
        round(predicted * (1 + band[0]), 4),
        round(predicted * (1 + band[1]), 4),
        measured,
        None if error is None else round(error, 3),
        None,
    )


def refused_line(row: MeasuredRow, quantity: str, reason: str) -> Line:
    """A quantity that cannot be predicted, with the reason."""
    return Line(row.id, quantity, None, None, None, row.text(quantity), None, reason)


def measured_value(row: MeasuredRow, column: str) -> float:
    """A printed value; "38-43" counts at its middle, "up to 147" at 147, "12k" at 12,000.

    Raises RowRefused when there is none or it is not positive: no such quantity can be zero.
    """
    text = row.text(column)
    plain = ungrouped(text.lower())
    found = re.findall(r"(\d+(?:\.\d+)?(?:e[+-]?\d+)?)\s*(k(?![a-z]))?", plain)
    if not found:
        raise RowRefused(f"{column}: {text!r} is not a number")
    values = [float(number) * (1e3 if thousands else 1.0) for number, thousands in found[:2]]
    is_range = re.fullmatch(r"\s*[\d.]+k?\s*[-–]\s*[\d.]+k?\s*", plain)
    value = sum(values) / len(values) if is_range else values[0]
    if not 0 < value < MOST or re.match(r"[\s~]*[-−]\s*\d", plain):
        raise RowRefused(f"{column}: {text!r} is no value that can be measured")
    return value


def _errors(lines: list[Line]) -> dict[str, Any]:
    errors = [abs(x.error_pct) for x in lines if x.error_pct is not None]
    inside = [
        x.low <= x.measured <= x.high
        for x in lines
        if isinstance(x.measured, float) and x.low is not None and x.high is not None
    ]
    return {
        "n": len(lines),
        "refused": sum(x.refused is not None for x in lines),
        "median_abs_error_pct": round(float(np.median(errors)), 3) if errors else None,
        "p90_abs_error_pct": round(float(np.percentile(errors, 90)), 3) if errors else None,
        "coverage_pct": round(100 * float(np.mean(inside)), 2) if inside else None,
    }


def _part(results: list[RowResult], quantities: tuple[str, ...]) -> dict[str, Any]:
    lines = [x for result in results for x in result.lines]
    found = {name: [x for x in lines if x.quantity == name] for name in quantities}
    return {"quantities": {name: _errors(mine) for name, mine in found.items() if mine}}


def summarise(results: Iterable[RowResult], quantities: tuple[str, ...]) -> dict[str, Any]:
    """Numbers, refusals, errors and coverage of the 80 % band per quantity; other kinds of rows apart."""
    kept = list(results)
    parts = dict.fromkeys(result.part for result in kept)
    parts.pop("counted", None)
    summary = {"rows": len(kept), **_part([r for r in kept if r.part == "counted"], quantities)}
    summary["apart"] = {
        name: {
            "rows": sum(r.part == name for r in kept),
            **_part([r for r in kept if r.part == name], quantities),
        }
        for name in parts
    }
    return summary


def as_json(found: Line) -> dict[str, Any]:
    """The line as the command prints it."""
    return asdict(found)


def line_text(found: Line, part: str) -> str:
    """The line for people."""
    mark = "" if part == "counted" else f" ({part})"
    if found.refused:
        return f"{found.id:6} {found.quantity:22} refused: {found.refused}{mark}"
    if found.error_pct is None:
        return f"{found.id:6} {found.quantity:22} {found.predicted} / measured {found.measured}{mark}"
    return (
        f"{found.id:6} {found.quantity:22} {found.predicted:>14,.2f} [{found.low:,.2f} to {found.high:,.2f}]"
        f" / measured {found.measured:>14,.2f}  {found.error_pct:+8.2f} %{mark}"
    )


def summary_text(summary: dict[str, Any]) -> str:
    """The summary for people."""
    lines = [f"\n{summary['rows']} rows"]
    for name, part in {"counted": summary, **summary["apart"]}.items():
        head = "counted rows" if name == "counted" else f"{name}, reported apart: {part['rows']} rows"
        lines += [
            f"\n{head}",
            f"{'quantity':24}{'n':>5}{'refused':>9}{'median':>10}{'90th pct':>10}{'in band':>10}",
        ]
        for quantity, row in part["quantities"].items():
            cells = (row["median_abs_error_pct"], row["p90_abs_error_pct"], row["coverage_pct"])
            lines.append(
                f"{quantity:24}{row['n']:>5}{row['refused']:>9}" + "".join(_percent(value) for value in cells)
            )
    return "\n".join(lines) + "\n"


def _percent(value: float | None) -> str:
    return f"{'-':>10}" if value is None else f"{value:>8.2f} %"
