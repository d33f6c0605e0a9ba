"""The spec frame (one row per GPU) and the provenance frame (where each of its cells comes from)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import pandas as pd

from gpu_data.columns import GPU_COLUMNS
from gpu_data.gpus import RawFile, gpu_files
from gpu_data.processors import inferred_ghz, published_ghz

MIB, GIB = 2**20, 2**30

# Capacity of a GPU that no device log describes. The lowest total that a program was seen to get from a
# discrete card is 0.984e9 bytes per labelled GB (NVIDIA A10 24 GB with ECC on: 23,609,475,072 bytes).
# 0.98e9 stays below every measured card, so a model said to fit does fit.
ASSUMED_FRACTION_OF_LABEL = 0.98

DERIVATION_TITLES = {
    "arithmetic": "Computed from other figures of this GPU",
    "assumption": "Assumption",
    "label": "This project",
}

PROVENANCE_COLUMNS = (
    "gpu_id",
    "field",
    "value",
    "source_title",
    "source_url",
    "verified_by",
    "evidence",
    "formula",
    "note",
    "source_note",
)


@dataclass(frozen=True, slots=True)
class Cell:
    """One filled cell: its value, the keys of its sources, and how it was derived or chosen.

    `verified_by` and `evidence` describe the derivation; each source has its own. `parts` holds the pieces of
    a cell that was put together from several, each with its own sources.
    """

    value: Any
    sources: tuple[str, ...] = ()
    formula: str | None = None
    note: str | None = None
    verified_by: str = "arithmetic"
    evidence: str = "computed"
    parts: tuple[Cell, ...] = ()


def _figure_cell(figure: dict[str, Any]) -> Cell:
    value = figure["value"]
    return Cell(
        ", ".join(value) if isinstance(value, list) else value,
        tuple(figure.get("sources", ())),
        figure.get("formula"),
        figure.get("note"),
    )


def _own(value: object, formula: str) -> Cell:
    """A cell that this project fills in itself."""
    return Cell(value, formula=formula, verified_by="label", evidence="this project")


def _usable(cells: dict[str, Cell], devices: int, fraction: Cell | None) -> Cell:
    """Capacity of one device [bytes]: measured where possible, else an assumption below the label."""
    for basis in ("cuda_total_bytes", "visible_bytes"):
        if basis in cells:
            return Cell(cells[basis].value, cells[basis].sources, f"{basis}, nothing taken off")
    label = cells["memory_gb"]
    share = fraction.value if fraction else ASSUMED_FRACTION_OF_LABEL
    each = f" / {devices} devices" if devices > 1 else ""
    return Cell(
        int(label.value * 1e9 * share / devices),
        label.sources + (fraction.sources if fraction else ()),
        f"assumed {share:g} x memory_gb x 1e9{each}; no device log known",
        fraction.note if fraction else None,
        verified_by="assumption",
    )


def _cells(gpu: dict[str, Any]) -> dict[str, Cell]:
    """Every filled cell of one GPU by column name, derived ones included."""
    cells = {
        name: _figure_cell(figure)
        for name, figure in gpu.items()
        if isinstance(figure, dict) and name in GPU_COLUMNS
    }
    named_by = cells["memory_gb"].sources
    for name in ("name", "vendor", "architecture"):
        cells[name] = Cell(gpu[name], named_by, note="as these documents name the product")
    for name in ("mission", "unified_memory"):
        cells[name] = _own(gpu.get(name, False), "false unless the GPU's file says otherwise")
    cells.setdefault("devices_per_board", _own(1, "one unless the GPU's file says otherwise"))
    devices = cells["devices_per_board"].value

    availability = cells["availability"]
    cells["released"] = Cell(
        availability.value == "released", availability.sources, "availability is released", availability.note
    )
    if "release_date" in cells:
        date = cells["release_date"]
        cells["release_year"] = Cell(int(date.value[:4]), date.sources, "year of release_date")
    if "visible_mib" in gpu:
        visible = _figure_cell(gpu["visible_mib"])
        cells["visible_bytes"] = Cell(
            visible.value * MIB, visible.sources, f"{visible.value} MiB x 1048576", visible.note
        )
    fraction = _figure_cell(gpu[key]) if (key := "usable_fraction_of_label") in gpu else None
    cells["usable_bytes"] = usable = _usable(cells, devices, fraction)
    basis = "assumed" if usable.verified_by == "assumption" else str(usable.formula).split(",")[0]
    cells["usable_basis"] = _own(basis, "first known of cuda_total_bytes, visible_bytes, else assumed")
    for price in ("launch_price", "street_price"):
        figure = gpu.get(f"{price}_usd")
        for part in ("kind", "date"):
            if figure and f"{price}_{part}" in GPU_COLUMNS:
                cells[f"{price}_{part}"] = Cell(figure[part], tuple(figure["sources"]))
    if parts := tuple(Cell(note["text"], tuple(note["sources"])) for note in gpu.get("notes", ())):
        cells["notes"] = Cell(" ".join(part.value for part in parts), parts=parts)
    return cells


@cache
def _all_cells() -> dict[str, tuple[dict[str, Cell], RawFile]]:
    """Cells by GPU id, with the file that holds its sources."""
    found = {gpu["id"]: (_cells(gpu), file) for file in gpu_files().values() for gpu in file["gpu"]}
    _as_twins(found)
    _processors(found)
    return found


def _processors(found: dict[str, tuple[dict[str, Cell], RawFile]]) -> None:
    """Processors x clock of every card, inferred where its maker does not name both."""
    rows = {gpu: {name: cell.value for name, cell in cells.items()} for gpu, (cells, _) in found.items()}
    known = [row for row in rows.values() if published_ghz(row)]
    for gpu, (cells, _) in found.items():
        if own := published_ghz(rows[gpu]):
            sources = dict.fromkeys((*cells["sms_or_cus"].sources, *cells["boost_clock_mhz"].sources))
            cells["processor_ghz"] = Cell(own, tuple(sources), "sms_or_cus * boost_clock_mhz / 1000")
        elif guess := inferred_ghz(rows[gpu], known):
            cells["processor_ghz"] = Cell(
                guess[0], cells["memory_gb"].sources, f"assumed: {guess[1]}", verified_by="assumption"
            )


def _as_twins(found: dict[str, tuple[dict[str, Cell], RawFile]]) -> None:
    """Cards that no log describes get the least that a card of the same chip and memory was seen to have.

    Chip, label and kind of memory must be the same. ECC bits kept in GDDR take a sixteenth, and a twin may
    have been seen with ECC off: such cards get no more than fifteen sixteenths of their label.
    """
    seen: dict[tuple[Any, ...], list[tuple[int, str]]] = {}
    for gpu, (cells, _) in found.items():
        if (place := _twin_key(cells)) and cells["usable_basis"].value != "assumed":
            seen.setdefault(place, []).append((int(cells["usable_bytes"].value), gpu))
    for cells, _ in found.values():
        twins = seen.get(_twin_key(cells) or (), ())
        if cells["usable_basis"].value != "assumed" or not twins:
            continue
        least, twin = min(twins)
        label, kind, ecc = cells["memory_gb"].value, str(cells["memory_type"].value), cells.get("ecc")
        limited = "GDDR" in kind and ecc is not None and str(ecc.value).lower() not in ("no", "none", "false")
        most = int(label * GIB * 15 / 16) if limited else least
        capped = ", ECC taken off" if most < least else ""
        cells["usable_bytes"] = Cell(
            min(least, most),
            cells["memory_gb"].sources,
            f"assumed as {twin} was measured{capped}: same chip, {label:g} GB of {kind}; no log of this card",
            verified_by="assumption",
        )


def _twin_key(cells: dict[str, Cell]) -> tuple[Any, ...] | None:
    names = ("chip", "memory_gb", "memory_type", "devices_per_board", "unified_memory")
    return tuple(cells[name].value for name in names) if all(name in cells for name in names) else None


@cache
def _spec_frame() -> pd.DataFrame:
    rows = _all_cells()
    index = pd.Index(list(rows), name="gpu_id", dtype="str")
    columns = {
        name: pd.array(
            [cells[name].value if name in cells else None for cells, _ in rows.values()], dtype=column.dtype
        )
        for name, column in GPU_COLUMNS.items()
    }
    return pd.DataFrame(columns, index=index)


def spec_frame() -> pd.DataFrame:
    """One row per GPU, index `gpu_id`, columns and dtypes as in `GPU_COLUMNS`; a missing cell is NA, never 0.

    Built once per process. Each call hands out a lazy copy, so a caller may add columns without touching the
    shared frame.
    """
    return _spec_frame().copy(deep=False)


def _provenance_rows() -> Iterator[tuple[object, ...]]:
    for gpu_id, (cells, file) in _all_cells().items():
        for field, cell in cells.items():
            for part in cell.parts or (cell,):
                head = (gpu_id, field, part.value)
                for key in part.sources:
                    source = file["sources"][key]
                    document = (source["title"], source.get("url"), source["verified_by"], source["evidence"])
                    yield (*head, *document, None, part.note, source.get("note"))
                if part.formula:
                    title = DERIVATION_TITLES[part.verified_by]
                    yield (*head, title, None, part.verified_by, part.evidence, part.formula, part.note, None)


@cache
def _provenance_frame() -> pd.DataFrame:
    frame = pd.DataFrame(list(_provenance_rows()), columns=list(PROVENANCE_COLUMNS))
    return frame.astype({name: "string" for name in PROVENANCE_COLUMNS if name != "value"})


def provenance_frame() -> pd.DataFrame:
    """Where each filled cell of the spec frame comes from.

    One row per (gpu_id, field, source), with `PROVENANCE_COLUMNS`. A derived cell has a row with its formula
    besides the sources of what it was derived from; `notes` has rows for each of its notes. `verified_by` is
    datasheet, whitepaper, secondary, arithmetic, assumption (capacity below the label) or label (filled in by
    this project).
    """
    return _provenance_frame().copy(deep=False)
