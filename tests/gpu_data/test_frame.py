"""The spec frame is documented, complete in its provenance, and honest about what fits."""

from __future__ import annotations

import pandas as pd
import pytest

from gpu_data import GPU_COLUMNS, provenance_frame, spec_frame
from gpu_data.frame import ASSUMED_FRACTION_OF_LABEL, PROVENANCE_COLUMNS
from gpu_data.gpus import gpu_files
from gpu_data.schemas import Gpu

GIB = 2**30
GROUPS = [
    "Identity",
    "Memory",
    "Compute (dense)",
    "Interconnect & partitioning",
    "Power",
    "Price",
    "Notes",
]


def test_columns_and_dtypes_are_the_documented_ones() -> None:
    specs = spec_frame()
    assert list(specs.columns) == list(GPU_COLUMNS)
    assert {name: str(dtype) for name, dtype in specs.dtypes.items()} == {
        name: column.dtype for name, column in GPU_COLUMNS.items()
    }
    assert specs.index.name == "gpu_id"
    assert specs.index.is_unique
    assert list(dict.fromkeys(column.group for column in GPU_COLUMNS.values())) == GROUPS


def test_every_published_figure_has_a_column() -> None:
    """`visible_mib` shows as visible_bytes; the share of the label is an input of usable_bytes."""
    figures = {name for name, field in Gpu.model_fields.items() if "Figure[" in str(field.annotation)}
    figures |= {"launch_price_usd", "street_price_usd"}
    assert figures - set(GPU_COLUMNS) == {"visible_mib", "usable_fraction_of_label"}


@pytest.mark.parametrize("column", GPU_COLUMNS)
def test_columns_are_labelled_and_not_empty(column: str) -> None:
    meta = GPU_COLUMNS[column]
    assert meta.label
    assert meta.help
    assert meta.title.startswith(meta.label)
    assert spec_frame()[column].notna().any()


def test_units_are_said_where_the_name_has_one() -> None:
    suffixes = {"_tflops": "TFLOPS", "_tops": "TOPS", "_bytes": "bytes", "_gb_per_s": "GB/s", "_mhz": "MHz"}
    suffixes |= {"_usd": "USD", "_mib": "MiB", "_gb": "GB", "tdp_w": "W", "_bits": "bit"}
    for name, column in GPU_COLUMNS.items():
        for suffix, unit in suffixes.items():
            if name.endswith(suffix):
                assert column.unit == unit, name


def filled_cells() -> set[tuple[str, str]]:
    return {
        (gpu_id, field)
        for field, column in spec_frame().items()
        for gpu_id, filled in column.notna().items()
        if filled
    }


def test_no_cell_without_provenance_and_no_provenance_without_a_cell() -> None:
    rows = provenance_frame()
    assert set(zip(rows["gpu_id"], rows["field"], strict=True)) == filled_cells()


def test_provenance_carries_the_value_of_the_cell() -> None:
    specs = spec_frame()
    for row in provenance_frame().itertuples():
        cell = specs.loc[row.gpu_id, row.field]
        same = row.value in cell if row.field == "notes" else row.value == cell
        assert same, (row.gpu_id, row.field)


def test_every_provenance_row_says_who_and_how() -> None:
    rows = provenance_frame()
    assert list(rows.columns) == list(PROVENANCE_COLUMNS)
    assert rows[["gpu_id", "field", "source_title", "verified_by", "evidence"]].notna().all(axis=None)
    assert set(rows["verified_by"]) == {
        "datasheet",
        "whitepaper",
        "secondary",
        "arithmetic",
        "assumption",
        "label",
    }
    derived = rows["source_title"].isin(
        {"Computed from other figures of this GPU", "Assumption", "This project"}
    )
    assert rows.loc[derived, "formula"].notna().all()


def test_only_choices_and_capacity_rest_on_no_document() -> None:
    """A figure that this project merely states or assumes is one of these columns, and nothing else."""
    rows = provenance_frame()
    own = rows.groupby(["gpu_id", "field"])["verified_by"].agg(
        lambda kinds: set(kinds) <= {"label", "assumption"}
    )
    fields = {field for (_, field), alone in own.items() if alone}
    assert fields == {"mission", "unified_memory", "devices_per_board", "usable_basis"}


def test_several_sources_of_one_cell_are_all_kept() -> None:
    rows = provenance_frame().query("gpu_id == 'h100-nvl-94gb' and field == 'memory_gb'")
    assert set(rows["source_title"]) == {
        "NVIDIA H100 NVL product brief PB-11773-001_v01",
        "NVIDIA H100 datasheet",
    }


# --- capacity: what a program can use, never the label ---


def test_usable_memory_prefers_what_was_measured() -> None:
    specs = spec_frame()
    cuda, visible = specs["cuda_total_bytes"], specs["visible_bytes"]
    measured = cuda.fillna(visible)
    known = measured.notna()
    assert (specs.loc[known, "usable_bytes"] == measured[known]).all()
    assert (specs.loc[cuda.notna(), "usable_basis"] == "cuda_total_bytes").all()
    assert (specs.loc[cuda.isna() & visible.notna(), "usable_basis"] == "visible_bytes").all()
    assert (specs.loc[~known, "usable_basis"] == "assumed").all()
    assert specs["usable_bytes"].notna().all()


def test_the_assumption_is_below_every_card_that_was_measured() -> None:
    """Had we assumed instead of looked it up, no discrete card would have been promised too much."""
    specs = spec_frame()
    measured = specs["cuda_total_bytes"].fillna(specs["visible_bytes"])
    discrete = specs[measured.notna() & ~specs["unified_memory"]]
    assumed = discrete["memory_gb"] * 1e9 * ASSUMED_FRACTION_OF_LABEL / discrete["devices_per_board"]
    assert len(discrete) > 40
    assert (assumed <= measured[discrete.index]).all()


def test_an_assumed_capacity_says_so() -> None:
    rows = provenance_frame().query("gpu_id == 'mi325x-256gb' and field == 'usable_bytes'")
    [formula] = rows["formula"].dropna()
    assert formula.startswith("assumed 0.98 x memory_gb x 1e9")
    assert spec_frame().loc["mi325x-256gb", "usable_bytes"] == 250_880_000_000


@pytest.mark.parametrize(
    ("gpu", "twin"),
    [
        ("h800-sxm5-80gb", "h100-sxm5-80gb"),  # GH100 with 80 GB of HBM3
        ("rtx-3090-ti-24gb", "rtx-3090-24gb"),  # GA102 with 24 GB of GDDR6X
        ("v100-pcie-32gb", "v100-sxm2-32gb"),
        ("h200-nvl-141gb", "h200-sxm-141gb"),
    ],
)
def test_a_card_nobody_logged_has_what_its_twin_was_measured_to_have(gpu: str, twin: str) -> None:
    specs = spec_frame()
    assert specs.loc[gpu, "chip"] == specs.loc[twin, "chip"]
    assert specs.loc[gpu, "usable_bytes"] == specs.loc[twin, "usable_bytes"]
    assert specs.loc[gpu, "usable_basis"] == "assumed"
    rows = provenance_frame().query("gpu_id == @gpu and field == 'usable_bytes'")
    [formula] = rows["formula"].dropna()
    assert formula.startswith(f"assumed as {twin} was measured: same chip")


def test_twins_would_have_told_of_the_cards_that_were_logged() -> None:
    """Had we looked at its twins instead of at the card: never 3.5 % too much."""
    specs = spec_frame()
    known = specs[(specs["usable_basis"] != "assumed") & ~specs["unified_memory"]]
    checked = 0
    for gpu, card in known.iterrows():
        alike = known[
            (known["chip"] == card["chip"])
            & (known["memory_gb"] == card["memory_gb"])
            & (known["memory_type"] == card["memory_type"])
            & (known.index != gpu)
        ]
        if alike.empty:
            continue
        told = alike["usable_bytes"].min()
        if "GDDR" in card["memory_type"]:
            told = min(told, card["memory_gb"] * GIB * 15 / 16)
        assert told <= 1.035 * card["usable_bytes"], gpu
        checked += 1
    assert checked > 8


def test_memory_shared_with_the_cpu_is_never_promised_whole() -> None:
    shared = spec_frame().query("unified_memory")
    assert {"dgx-spark-gb10", "mi300a-128gb", "apple-m2-ultra"} <= set(shared.index)
    assert (shared["usable_bytes"] < 0.95 * shared["memory_gb"] * GIB).all()


# --- one frame per process ---


def test_a_caller_cannot_change_the_shared_frame() -> None:
    mine = spec_frame()
    mine.loc["l40s-48gb", "tdp_w"] = 1
    mine["new"] = 0
    assert spec_frame().loc["l40s-48gb", "tdp_w"] == 350
    assert "new" not in spec_frame()


def test_missing_is_na_and_zero_only_where_it_means_none() -> None:
    specs = spec_frame()
    numeric = [name for name, column in GPU_COLUMNS.items() if column.dtype in {"Int64", "Float64"}]
    zeros = {name for name in numeric if (specs[name] == 0).any()}
    assert zeros == {"interconnect_gb_per_s", "mig_max_instances"}
    assert pd.isna(specs.loc["mi350p-144gb", "bandwidth_gb_per_s"])


def test_derived_cells() -> None:
    specs = spec_frame()
    dated = specs[specs["release_date"].notna()]
    assert (dated["release_year"].astype(str) == dated["release_date"].str[:4]).all()
    raw = {gpu["id"]: gpu for file in gpu_files().values() for gpu in file["gpu"]}
    for gpu_id, gpu in raw.items():
        if "visible_mib" in gpu:
            assert specs.loc[gpu_id, "visible_bytes"] == gpu["visible_mib"]["value"] * 2**20
