"""The Use cases page: filters, chart, cards, the way into Fit, hostile links."""

from __future__ import annotations

import json
from functools import partial
from urllib.parse import parse_qs, urlsplit

import pytest

from calculators.scenario import Scenario
from gpu_data.use_cases import UseCase, use_case_frame
from pages.ui import catalogue, link, training_load, workload
from pages.ui.figures_use_cases import MARKS, Point, use_case_figure
from pages.ui.use_cases_choices import MEANINGS, ORGANISATIONS, PURPOSES, STATUSES
from pages.ui.use_cases_views import cards, chart, fit_scenario, selected, source_name
from tests.pages.apps import opened as opened_page

ROWS = use_case_frame().astype(object).where(use_case_frame().notna(), None).to_dict("records")


opened = partial(opened_page, "use_cases")


def test_every_choice_has_a_name_and_every_status_a_meaning_and_a_mark() -> None:
    allowed = {
        name: set(UseCase.model_fields[name].annotation.__args__) for name in ("purpose", "organisation")
    }
    assert set(PURPOSES) == allowed["purpose"]
    assert set(ORGANISATIONS) == allowed["organisation"]
    assert set(STATUSES) == set(MEANINGS) == set(MARKS) == {row["status"] for row in ROWS}
    assert all(len(set(forms)) == len(MARKS) for forms in zip(*MARKS.values(), strict=True))


@pytest.mark.parametrize("row", ROWS, ids=[row["id"] for row in ROWS])
def test_each_card_opens_a_scenario_that_fit_can_compute(row: dict) -> None:
    scenario = fit_scenario(row)
    (card,) = cards(use_case_frame().loc[[row["id"]]])
    query = parse_qs(urlsplit(card["fit"][1]).query)
    assert link.parse(query, catalogue.known()) == (scenario, ())
    if scenario.task == "serve":
        load = workload.load(scenario)
        assert not any(load.barred(gpu) for gpu in load.pinned)
    else:
        runs = training_load.load(scenario).runs()
        assert all(way is not None for way in runs.ways)


def test_every_card_prints_status_source_and_caveat() -> None:
    for row, card in zip(ROWS, cards(use_case_frame()), strict=True):
        assert card["statusName"].endswith(STATUSES[row["status"]])
        assert card["sources"][0][1] == row["source_url"]
        assert all(url.startswith("https://") and name for name, url in card["sources"])
        assert card["caveat"] == (row["caveat"] or "")


@pytest.mark.parametrize(
    ("fields", "inside", "outside"),
    [
        ({"use_gpus": ("l40s",)}, "dkfz-l40s", "llama-2"),
        ({"use_statuses": ("trained",)}, "opt-175b", "meta-fleet-2024"),
        ({"use_purposes": ("render",)}, "las-vegas-sphere", "frontier"),
        ({"use_organisations": ("science",)}, "frontier", "inflection-cluster"),
        ({"use_since": 2025, "use_until": 2025}, "ibm-mlperf-l40s", "bloom-176b"),
        ({"use_since": 2021, "use_until": 2020}, "perlmutter", "frontier"),
    ],
    ids=str,
)
def test_filters(fields: dict, inside: str, outside: str) -> None:
    rows = selected(Scenario(**fields))
    assert inside in rows.index
    assert outside not in rows.index


def test_kinds_widen_and_filters_narrow() -> None:
    one = set(selected(Scenario(use_gpus=("l40s",))).index)
    two = set(selected(Scenario(use_gpus=("l40s", "h100"))).index)
    assert one < two
    assert set(selected(Scenario(use_gpus=("l40s", "h100"), use_statuses=("running",))).index) < two


def test_the_chart_shows_every_row_with_a_count_once_and_names_the_largest() -> None:
    rows = selected(Scenario())
    figure = chart(rows, Scenario())
    drawn = [y for trace in figure["data"] for y in trace["y"]]
    assert sorted(drawn) == sorted(int(count) for count in rows["count"].dropna())
    assert figure["layout"]["yaxis"]["type"] == "log"
    named = [t for trace in figure["data"] for t in trace["text"] if t]
    assert "Meta" in named


def test_marks_of_one_year_stand_apart_and_inside_it() -> None:
    points = [Point(2024, 10**k, "running", str(k)) for k in range(5)]
    (trace,) = use_case_figure(points, {"running": "running"}, (2020, 2026))["data"]
    assert len(set(trace["x"])) == 5
    assert all(2023.5 < x < 2024.5 for x in trace["x"])


def test_an_archive_is_named_with_the_page_that_it_keeps() -> None:
    kept = "https://web.archive.org/web/20240828225612/https://engineering.fb.com/2024/03/12/x/"
    assert source_name(kept) == "engineering.fb.com (archived)"
    assert source_name("https://www.nvidia.com/en-us/") == "nvidia.com"


def test_the_page() -> None:
    app = opened(ugpu="l40s.rtx-4090", use="render")
    assert not app.exception
    assert "1 of 74 use cases: △\u00a01\u00a0vendor-described." in app.markdown[0].value
    assert not app.get("plotly_chart")


def test_the_whole_page() -> None:
    app = opened()
    assert not app.exception
    assert app.markdown[0].value.startswith(f"{len(ROWS)} use cases: ○\u00a01\u00a0planned")
    (figure,) = app.get("plotly_chart")
    assert figure.proto.alt
    assert len(json.loads(figure.proto.spec)["data"]) >= 7


@pytest.mark.parametrize(
    "query",
    [
        {"ugpu": "tpu", "use": "<b>", "org": "..", "stat": "live"},
        {"since": "1999", "until": "x"},
        {"ugpu": ".", "use": ".", "org": ".", "stat": "."},
        {"ugpu": "l4", "stat": "planned", "use": "image"},
    ],
    ids=str,
)
def test_hostile_links_never_break_the_page(query: dict[str, str]) -> None:
    app = opened(**query)
    assert not app.exception
    assert "use cases" in app.markdown[0].value or "No use case" in app.markdown[0].value
