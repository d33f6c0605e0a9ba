"""Which cards are shown, what the spec table holds, and where a clicked cell's number is from."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calculators.scenario import FIRST_YEAR, LAST_YEAR, MAX_MEMORY_GB, Scenario
from gpu_data import GPU_COLUMNS, provenance_frame, spec_frame
from pages.ui import compare_sources, compare_table
from pages.ui.catalogue import named_values
from pages.ui.compare_choices import FORMS, PRECISIONS, form_class
from pages.ui.compare_select import Filters, choose
from pages.ui.compare_text import DASH, listed, number, short_name
from pages.ui.compare_types import NATIVE, STORAGE_ONLY, type_states, types

PINS = ("h100-sxm5-80gb", "rtx-4090-24gb")
FRAME = spec_frame()
RELEASED = FRAME[FRAME["released"].to_numpy(dtype=bool)]


def test_every_form_factor_has_a_class_and_every_class_a_card() -> None:
    classes = {form_class(str(value)) for value in FRAME["form_factor"]}
    assert classes == set(FORMS)


@pytest.mark.parametrize(
    ("gpu", "form"),
    [
        ("h100-sxm5-80gb", "module"),
        ("mi300x-192gb", "module"),
        ("l40s-48gb", "server"),
        ("rtx-a6000-48gb", "workstation"),  # a fan of its own
        ("rtx-6000-ada-48gb", "workstation"),
        ("rtx-4090-24gb", "consumer"),
        ("gb200-186gb", "superchip"),
        ("mi300a-128gb", "superchip"),
        ("apple-m3-ultra", "soc"),
    ],
)
def test_class_of_known_cards(gpu: str, form: str) -> None:
    assert form_class(str(FRAME.at[gpu, "form_factor"])) == form


def test_pinned_first_in_pinning_order_then_the_baseline_then_the_rest() -> None:
    choice = choose(("rtx-4090-24gb", "h100-sxm5-80gb"), Filters(vendors=("amd",)), "a100-sxm4-80gb")
    ids = list(choice.rows.index)
    assert ids[:3] == ["rtx-4090-24gb", "h100-sxm5-80gb", "a100-sxm4-80gb"]
    assert set(choice.rows["vendor"].iloc[3:]) == {"AMD"}
    assert choice.matching == len(ids) - 3
    assert len(set(ids)) == len(ids)


def test_pre_release_cards_appear_only_when_asked_for() -> None:
    hidden = set(FRAME.index) - set(RELEASED.index)
    assert hidden == {"rubin-sxm-288gb", "mi455x-432gb"}
    assert not hidden & set(choose(tuple(hidden), Filters(), next(iter(hidden))).rows.index)
    assert hidden <= set(choose((), Filters(pre_release=True)).rows.index)


slugs = st.sampled_from(sorted(named_values("vendor")))


@given(
    st.builds(
        Scenario,
        vendors=st.lists(slugs, max_size=3, unique=True).map(tuple),
        form_factors=st.lists(st.sampled_from(sorted(FORMS)), max_size=2, unique=True).map(tuple),
        min_memory_gb=st.integers(0, MAX_MEMORY_GB),
        max_memory_gb=st.integers(0, MAX_MEMORY_GB),
        since_year=st.integers(FIRST_YEAR, LAST_YEAR),
        until_year=st.integers(FIRST_YEAR, LAST_YEAR),
        priced=st.booleans(),
        pinned_only=st.booleans(),
        pre_release=st.booleans(),
        gpus=st.lists(st.sampled_from(sorted(FRAME.index)), max_size=4, unique=True).map(tuple),
    )
)
@settings(max_examples=60, deadline=None)
def test_filters_let_through_exactly_what_they_say(scenario: Scenario) -> None:
    choice = choose(scenario.gpus, Filters.of(scenario))
    low, high = sorted((scenario.min_memory_gb, scenario.max_memory_gb))
    first, last = sorted((scenario.since_year, scenario.until_year))
    everyone = FRAME if scenario.pre_release else RELEASED
    for gpu, card in everyone.iterrows():
        year_ok = (first, last) == (FIRST_YEAR, LAST_YEAR) or (
            not pd.isna(card["release_year"]) and first <= card["release_year"] <= last
        )
        passes = (
            (not scenario.vendors or str(card["vendor"]).lower() in scenario.vendors)
            and (not scenario.form_factors or form_class(card["form_factor"]) in scenario.form_factors)
            and low <= card["memory_gb"] <= high
            and year_ok
            and (not scenario.priced or not pd.isna(card[["launch_price_usd", "street_price_usd"]]).all())
        )
        shown = gpu in choice.rows.index
        assert shown is (gpu in scenario.gpus or (passes and not scenario.pinned_only)), gpu


def test_headers_are_unique() -> None:
    titles = [column.title for column in compare_table.all_columns().values()]
    assert len(titles) == len(set(titles))


def test_short_names_tell_all_cards_apart() -> None:
    names = [short_name(str(name)) for name in FRAME["name"]]
    assert len(names) == len(set(names))


def test_missing_is_missing_and_never_zero() -> None:
    choice = choose((), Filters(pre_release=True))
    columns = list(compare_table.all_columns().values())
    cells = compare_table.table(choice, columns)
    for column in columns:
        if column.formula is None:
            source = choice.rows[column.fields[0]].isna().to_numpy()
            assert (pd.isna(np.asarray(cells[column.title])) == source).all(), column.title


def test_capacity_is_shown_as_label_driver_and_usable() -> None:
    choice = choose(("h100-sxm5-80gb",), Filters(pinned_only=True))
    cells = compare_table.table(choice, compare_table.columns_of(()))
    # 81,559 MiB in nvidia-smi; totalGlobalMem 85,028,896,768 bytes
    assert cells["Memory label (GB)"][0] == 80
    assert cells["Driver total (GiB)"][0] == pytest.approx(81559 / 1024)
    assert cells["Usable (GiB)"][0] == pytest.approx(85028896768 / 2**30)


def test_relative_table_divides_by_the_baseline_and_leaves_text_alone() -> None:
    columns = compare_table.columns_of(())
    plain = compare_table.table(choose(PINS, Filters()), columns)
    choice = choose(PINS, Filters(), "a100-sxm4-80gb")
    multiples = compare_table.table(choice, columns)
    base = choice.rows.loc["a100-sxm4-80gb"]
    assert multiples["Memory bandwidth (GB/s)"][0] == pytest.approx(3350 / 2039)
    position = list(choice.rows.index).index("a100-sxm4-80gb")
    for column in columns:
        cell = multiples[column.title][position]
        if column.ratio and not pd.isna(base[column.fields[0]]):
            assert cell == pytest.approx(1)
        if not column.ratio and column.format:
            assert multiples[column.title][0] == plain[column.title][0]
    assert pd.isna(multiples["FP8 (TFLOPS)"]).all()  # the A100 has none


@pytest.mark.parametrize("group", list(compare_table.groups()))
def test_each_group_of_columns_can_be_shown_alone(group: str) -> None:
    columns = compare_table.columns_of((group,))
    assert columns
    assert {column.group for column in columns} == {compare_table.groups()[group]}


def test_computed_columns_name_real_fields() -> None:
    for column in compare_table.all_columns().values():
        assert set(column.fields) <= set(GPU_COLUMNS)


def test_every_filled_cell_of_the_table_has_a_source() -> None:
    choice = choose((), Filters(pre_release=True))
    columns = list(compare_table.all_columns().values())
    cells = compare_table.table(choice, columns)
    for column in columns:
        for gpu, value in zip(choice.rows.index, cells[column.title], strict=True):
            if not pd.isna(value) and value != DASH:
                assert compare_sources.origins(str(gpu), column.fields), (gpu, column.title)


def test_a_cell_tells_all_its_sources() -> None:
    column = compare_table.all_columns()["bandwidth_gb_per_s"]
    found = compare_sources.cell("h100-sxm5-80gb", column)
    truth = provenance_frame()
    truth = truth[(truth["gpu_id"] == "h100-sxm5-80gb") & (truth["field"] == "bandwidth_gb_per_s")]
    assert [o.title for o in found.origins] == truth["source_title"].tolist()
    assert all(o.value == "3,350" for o in found.origins)
    assert found.notes


def test_a_card_tells_every_figure() -> None:
    truth = provenance_frame()
    assert len(compare_sources.card("l40s-48gb")) == (truth["gpu_id"] == "l40s-48gb").sum()


@pytest.mark.parametrize(
    ("gpu", "precision", "state"),
    [
        ("h100-sxm5-80gb", "fp8", NATIVE),
        ("a100-sxm4-80gb", "fp8", STORAGE_ONLY),  # github.com/huggingface/huggingface-llama-recipes/issues/21
        ("rtx-a6000-48gb", "fp8", STORAGE_ONLY),  # github.com/NVIDIA/Model-Optimizer/issues/70
        ("l40s-48gb", "fp8", NATIVE),
        ("rtx-4090-24gb", "fp4", STORAGE_ONLY),
        ("b200-sxm-180gb", "fp4", NATIVE),
        ("t4-16gb", "bf16", STORAGE_ONLY),
    ],
)
def test_does_my_gpu_run_it(gpu: str, precision: str, state: str) -> None:
    assert type_states(FRAME.loc[[gpu]], PRECISIONS[precision]) == [state]


def test_published_lists_of_types_lose_their_remarks() -> None:
    assert types("fp16, bf16 (fp4 only 1.29x)") == {"fp16", "bf16"}
    assert types(pd.NA) == set()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (3350, "3,350"),
        (989.4, "989.4"),
        (80, "80"),
        (1.41, "1.41"),
        (0.055, "0.055"),
        (math.nan, DASH),
        (0, "0"),
    ],
)
def test_numbers_as_text(value: float, text: str) -> None:
    assert number(value) == text


def test_lists_in_sentences() -> None:
    assert listed(["A"]) == "A"
    assert listed(["A", "B", "C"]) == "A, B and C"
    assert listed(["A", "B", "C", "D"], 2) == "A, B and 2 more"


def test_rows_are_aligned_with_the_ids() -> None:
    choice = choose(PINS, Filters(vendors=("intel",)), "mi300x-192gb")
    names, values = compare_table.table(choice, [compare_table.all_columns()["bandwidth_gb_per_s"]]).values()
    for i, gpu in enumerate(choice.rows.index):
        shown = values[i]
        truth = FRAME.at[gpu, "bandwidth_gb_per_s"] / FRAME.at["mi300x-192gb", "bandwidth_gb_per_s"]
        assert shown == pytest.approx(truth)
        assert short_name(str(FRAME.at[gpu, "name"])) in names[i]
    assert isinstance(values[0], float | np.floating)
