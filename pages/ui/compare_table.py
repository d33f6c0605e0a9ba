"""The spec table of the Compare page: its columns in groups, its values, and which column a click means."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np
import pandas as pd

from calculators.roofline import per_watt, relative_to, ridge_flop_per_byte
from gpu_data import GPU_COLUMNS
from pages.ui.catalogue import slug
from pages.ui.compare_choices import PRECISIONS
from pages.ui.compare_select import Choice, floats
from pages.ui.compare_text import short_name
from pages.ui.compare_types import type_states
from pages.ui.sheets import LOCALIZED, TIMES, YEAR, Format

GIB: Final = 2**30
HUNDREDTHS: Final = Format(least=2, most=2)
WHOLE: Final = Format(most=0)
STAR: Final = "★ "
NAME: Final = "GPU"

Cells = np.ndarray | list[str]
Values = Callable[[pd.DataFrame], Cells]


@dataclass(frozen=True)
class TableColumn:
    """One column: header, group, help, how numbers are written, and where its values come from.

    `format` says how numbers are written, None for text. `ratio` columns are shown as multiples of the
    baseline. `fields` are the columns of the spec frame behind the value; the value is the first of them
    unless `formula` says how it was computed.
    """

    id: str
    title: str
    group: str
    help: str
    format: Format | None
    ratio: bool
    fields: tuple[str, ...]
    formula: str | None
    values: Values


def _of_frame(name: str) -> Values:
    return lambda rows: rows[name].to_numpy(dtype=object, na_value=None)


def _gib(name: str) -> Values:
    return lambda rows: floats(rows[name]) / GIB


def _states(precision: str) -> Values:
    return lambda rows: type_states(rows, PRECISIONS[precision])


_BASIS: Final = {"cuda_total_bytes": "measured", "visible_bytes": "driver total", "assumed": "assumed"}

# Computed from the spec frame: id -> title, group, help, format, ratio, fields, formula, values
_COMPUTED: Final[tuple[TableColumn, ...]] = (
    TableColumn(
        "visible_gib",
        "Driver total (GiB)",
        "Memory",
        "Total of one GPU as nvidia-smi or its like shows it",
        HUNDREDTHS,
        True,
        ("visible_bytes",),
        "visible_bytes / 2^30",
        _gib("visible_bytes"),
    ),
    TableColumn(
        "usable_gib",
        "Usable (GiB)",
        "Memory",
        "What a program can get on one GPU; the capacity that the Fit page uses. See its basis beside it",
        HUNDREDTHS,
        True,
        ("usable_bytes", "usable_basis"),
        "usable_bytes / 2^30",
        _gib("usable_bytes"),
    ),
    TableColumn(
        "usable_from",
        "Usable is",
        "Memory",
        "measured: the total that a program was seen to get; driver total: as nvidia-smi shows it, nothing "
        "measured; assumed: a cautious share of the label, because no log of such a card is known",
        None,
        False,
        ("usable_basis",),
        "in words",
        lambda rows: [_BASIS.get(str(basis), str(basis)) for basis in rows["usable_basis"]],
    ),
    *(
        TableColumn(
            f"{p}_state",
            f"{PRECISIONS[p].label} runs as",
            "Compute (dense)",
            "native: the matrix units compute in it; storage only: weights can be kept in it, which is "
            "smaller but not faster; a dash: not known",
            None,
            False,
            (PRECISIONS[p].column, "unsupported_dtypes"),
            "native where a peak is published, storage only where the type is listed as not supported",
            _states(p),
        )
        for p in ("bf16", "fp8", "fp4")
    ),
    TableColumn(
        "ridge",
        "Ridge point FP16 (FLOP/byte)",
        "Compute (dense)",
        "FLOP per byte read above which compute and not memory is the limit",
        WHOLE,
        True,
        ("dense_fp16_tflops", "bandwidth_gb_per_s"),
        "dense_fp16_tflops x 1000 / bandwidth_gb_per_s",
        lambda rows: ridge_flop_per_byte(
            floats(rows["dense_fp16_tflops"]), floats(rows["bandwidth_gb_per_s"])
        ),
    ),
    TableColumn(
        "tflops_per_watt",
        "FP16 per watt (TFLOPS/W)",
        "Power",
        "Dense FP16 peak by board power",
        HUNDREDTHS,
        True,
        ("dense_fp16_tflops", "tdp_w"),
        "dense_fp16_tflops / tdp_w",
        lambda rows: per_watt(floats(rows["dense_fp16_tflops"]), floats(rows["tdp_w"])),
    ),
    TableColumn(
        "bandwidth_per_watt",
        "Bandwidth per watt (GB/s/W)",
        "Power",
        "Memory bandwidth by board power",
        HUNDREDTHS,
        True,
        ("bandwidth_gb_per_s", "tdp_w"),
        "bandwidth_gb_per_s / tdp_w",
        lambda rows: per_watt(floats(rows["bandwidth_gb_per_s"]), floats(rows["tdp_w"])),
    ),
)

# Not columns of their own: the index, what the computed ones replace, and flags for programs.
_LEFT_OUT: Final = {
    "name",
    "visible_bytes",
    "usable_bytes",
    "usable_basis",
    "cuda_total_bytes",
    "mission",
    "released",
}
_AFTER: Final[Mapping[str, tuple[str, ...]]] = {
    "memory_gb": ("visible_gib", "usable_gib", "usable_from"),
    "dense_int4_tops": ("bf16_state", "fp8_state", "fp4_state", "ridge"),
    "tdp_w": ("tflops_per_watt", "bandwidth_per_watt"),
}
# Multiples make sense for these; a clock, a year or a generation is not "1.2 times" another.
_RATIO_UNITS: Final = {"GB", "GB/s", "TFLOPS", "TOPS", "W", "USD", "MiB"}
UNGROUPED_NUMBERS: Final = {"release_year", "pcie_gen", "pcie_lanes", "tensor_core_gen"}

ESSENTIALS: Final = (
    "memory_gb",
    "visible_gib",
    "usable_gib",
    "usable_from",
    "memory_type",
    "bandwidth_gb_per_s",
    "dense_fp16_tflops",
    "dense_fp8_tflops",
    "dense_int8_tops",
    "fp8_state",
    "fp4_state",
    "accumulate_note",
    "interconnect",
    "interconnect_gb_per_s",
    "mig_max_instances",
    "tdp_w",
    "tflops_per_watt",
    "launch_price_usd",
    "launch_price_kind",
    "launch_price_date",
    "street_price_usd",
    "street_price_date",
    "vendor",
    "architecture",
    "release_year",
)


@cache
def all_columns() -> Mapping[str, TableColumn]:
    """Every column by id, in the order of the spec frame, computed ones beside what they come from."""
    computed = {column.id: column for column in _COMPUTED}
    found: dict[str, TableColumn] = {}
    for name, column in GPU_COLUMNS.items():
        if name not in _LEFT_OUT:
            numeric = column.dtype in ("Int64", "Float64")
            style = YEAR if name in UNGROUPED_NUMBERS else LOCALIZED
            found[name] = TableColumn(
                name,
                column.title,
                column.group,
                column.help,
                style if numeric else None,
                numeric and column.unit in _RATIO_UNITS,
                (name,),
                None,
                _of_frame(name),
            )
        for extra in _AFTER.get(name, ()):
            found[extra] = computed[extra]
    return found


@cache
def groups() -> Mapping[str, str]:
    """The column groups a reader can ask for: link spelling -> name."""
    return {slug(column.group): column.group for column in all_columns().values()}


def columns_of(chosen: Collection[str]) -> list[TableColumn]:
    """The columns of the chosen groups, or the essentials when none is chosen."""
    if not chosen:
        return [all_columns()[name] for name in ESSENTIALS]
    return [column for column in all_columns().values() if slug(column.group) in chosen]


def row_names(choice: Choice) -> list[str]:
    """How each row is called: pinned cards with a star, the baseline named as such."""
    return [
        f"{STAR if gpu in choice.pinned else ''}{short_name(str(name))}"
        f"{' · base' if gpu == choice.baseline else ''}"
        for gpu, name in zip(choice.rows.index.tolist(), choice.rows["name"].tolist(), strict=True)
    ]


def table(choice: Choice, columns: Sequence[TableColumn]) -> dict[str, Cells]:
    """The cells to draw by the title of their column: NaN or None where nothing is known.

    The first column names the card. With a baseline the ratio columns hold multiples of its figure, NaN where
    either is missing.
    """
    found: dict[str, Cells] = {NAME: row_names(choice)}
    base = None if choice.baseline is None else list(choice.rows.index).index(choice.baseline)
    for column in columns:
        values = column.values(choice.rows)
        if column.format is not None:
            numbers = np.array(values, dtype=float)
            values = relative_to(numbers, numbers[base]) if base is not None and column.ratio else numbers
        found[column.title] = values
    return found


def number_format(column: TableColumn, relative: bool) -> Format | None:
    """How the column's numbers are written, None for text."""
    return TIMES if relative and column.ratio else column.format
