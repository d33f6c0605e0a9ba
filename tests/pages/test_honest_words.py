"""Words that a reader took wrongly once: each says what the numbers behind it mean."""

from __future__ import annotations

from datetime import date
from typing import Any

import pandas as pd
import pytest

from calculators.scenario import Scenario
from calculators.training.gpu import GpuRefused, gpu_speed_of
from gpu_data import spec_frame
from gpu_data.training import training_tables
from pages.ui import (
    compare_sources,
    cost_buy,
    cost_load,
    fit_views,
    speed_load,
    speed_views,
    tracks,
    training_tracks,
    use_cases_views,
    words,
    workload,
)
from pages.ui.use_cases_chart import Point, places

GIB = 2**30


def chips(**fields: Any) -> list[str]:
    return fit_views.chosen(workload.load(Scenario(**fields)))


@pytest.mark.parametrize("count", [2, 3])
def test_an_engine_that_splits_by_layers_never_says_tensor_parallel(count: int) -> None:
    load = workload.load(Scenario(engine="llama.cpp", weight_format="gguf-q4_k_m", gpu_count=count))
    said = fit_views.chosen(load)
    assert not [one for one in said if "parallel" in one]
    assert load.split_of("h100-sxm5-80gb", count) in said  # the words of the other pages


def test_the_default_engine_says_tensor_parallel() -> None:
    assert "tensor parallel 2" in chips(gpu_count=2)


@pytest.mark.parametrize(("count", "better"), [(3, "2 or 4"), (5, "4 or 8"), (7, "4 or 8")])
def test_pipeline_stages_are_explained_with_the_numbers_that_need_none(count: int, better: str) -> None:
    said = fit_views.stages_words(workload.load(Scenario(gpu_count=count, model="llama-3.1-70b")))
    assert "no faster for one user" in said
    assert str(count) in said
    assert f"tensor parallel on {better} would be" in said


@pytest.mark.parametrize(
    "fields", [{"gpu_count": 1}, {"gpu_count": 2}, {"gpu_count": 3, "split": "pipeline"}]
)
def test_nothing_is_explained_where_nothing_falls_back(fields: dict[str, Any]) -> None:
    assert fit_views.stages_words(workload.load(Scenario(**fields))) == ""


@pytest.mark.parametrize(
    ("state", "headroom", "said"),
    [
        (2, 3 * GIB, "3.00 GiB to spare"),
        (1, 3 * GIB, "3.00 GiB to spare"),
        (1, -3 * GIB, "3.00 GiB over by the estimate, inside its error"),
        (0, -3 * GIB, "3.00 GiB short"),
    ],
)
def test_only_what_does_not_fit_is_short(state: int, headroom: int, said: str) -> None:
    assert words.room(state, headroom) == said


@pytest.mark.parametrize("module", [tracks, training_tracks], ids=["serve", "train"])
def test_bars_take_their_words_from_there(module: Any) -> None:
    assert module._said.__code__.co_names.count("room") == 1


@pytest.mark.parametrize("users", [1, 4, 12, 64, 256])
def test_what_takes_most_of_the_time_is_said_first(users: int) -> None:
    load = workload.load(Scenario(concurrency=users, gpu_count=2, prompt_tokens=4000, output_tokens=700))
    found = speed_load.speeds(load)
    assert not isinstance(found, str)
    for i, reason in enumerate(found.refused):
        if reason:
            continue
        token = found.speed.token
        share = float(speed_views._at(token.prompts_s, i)) / float(speed_views._at(token.total, i))
        assert speed_views._held(found.speed, i).startswith("prompts of others") == (share >= 0.5)


@pytest.mark.parametrize("missing", [["bandwidth_gb_per_s"], ["dense_bf16_tflops", "dense_fp16_tflops"]])
def test_a_refusal_names_no_column_of_ours(missing: list[str]) -> None:
    row = spec_frame().loc["h100-sxm5-80gb"].to_dict() | dict.fromkeys(missing, pd.NA)
    with pytest.raises(GpuRefused) as refused:
        gpu_speed_of("h100-sxm5-80gb", row, training_tables())
    assert "_" not in str(refused.value)


def test_years_and_generations_are_not_grouped() -> None:
    table = compare_sources.card("h100-sxm5-80gb").set_index("Figure")["Value"]
    assert table.filter(regex="^Release year$").tolist()
    assert not [value for value in table.filter(regex="^Release year$") if "," in value]


def test_marks_of_one_year_do_not_rise_with_their_count() -> None:
    points = [Point(2024, count, "running", name) for count, name in ((10, "C"), (100, "A"), (1000, "B"))]
    marks = places(points, {"running": "running"}, (2023, 2025))["marks"]
    assert [one["name"] or one["hint"][0] for one in sorted(marks, key=lambda one: one["x"])] == [
        "A",
        "B",
        "C",
    ]


def test_cards_without_a_use_case_are_named_only_where_all_are_shown() -> None:
    every = use_cases_views.selected(Scenario())
    assert "No use case found for" in use_cases_views.sentence(every)
    assert use_cases_views.without() not in use_cases_views.sentence(every.iloc[:3])


@pytest.mark.parametrize(("server", "alone"), [(0.0, True), (5000.0, False)])
def test_buying_says_whether_the_server_is_counted(server: float, alone: bool) -> None:
    said = cost_buy.headline(cost_load.costs(Scenario(host_usd=server), date(2026, 9, 1)))
    assert "uy" in said
    if "buying" in said:
        assert ("the card alone" in said) == alone
