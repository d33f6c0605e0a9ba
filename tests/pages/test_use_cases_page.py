"""The Use cases page: filters, chart, cards, the way into Fit, hostile links."""

from __future__ import annotations

import json
from functools import partial
from itertools import pairwise
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from calculators.scenario import MAX_TRAIN_GPUS, Scenario
from gpu_data.use_cases import UseCase, use_case_frame
from pages.ui import catalogue, fit_views, link, training_load, workload
from pages.ui.use_case_filters import taken
from pages.ui.use_cases_chart import MARKS, Point, places
from pages.ui.use_cases_choices import GROUPS, LIVE, MEANINGS, ORGANISATIONS, PURPOSES, STATUSES, YEARS
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
    assert len(set(MARKS.values())) == len(MARKS)


@pytest.mark.parametrize("row", ROWS, ids=[row["id"] for row in ROWS])
def test_each_card_opens_a_scenario_that_fit_can_compute(row: dict) -> None:
    scenario = fit_scenario(row)
    (card,) = cards(use_case_frame().loc[[row["id"]]])
    query = parse_qs(urlsplit(card["fit"][1]).query)
    assert link.parse(query, catalogue.known()) == (scenario, ())
    if scenario.task == "train":  # what Fit writes are as many boards as the card says, whatever programs see
        count = min(row["gpus_in_fit"], MAX_TRAIN_GPUS)
        load = training_load.load(scenario)
        assert all(gpu.title.startswith(f"{count:,} × ") for gpu in load.pinned)
    window = workload.load(scenario).architecture.max_position_embeddings
    if scenario.task == "serve":
        load = workload.load(scenario)
        assert not any(load.barred(gpu) for gpu in load.pinned)
        assert not fit_views.released_as(load)
        assert not window or scenario.max_model_len <= window
    else:
        assert scenario.train_gpus == min(row["gpus_in_fit"], MAX_TRAIN_GPUS) or scenario.task == "finetune"
        assert not window or training_load.load(scenario).seq_len <= window
        runs = training_load.load(scenario).runs()
        assert all(way is not None for way in runs.ways)


def test_what_was_trained_opens_as_training_with_its_gpus_and_tokens() -> None:
    """Llama 3.1 model card: 15.6T tokens (paper) on up to 16,384 H100; BLOOM: 366B tokens on 384 A100."""
    for row in ROWS:
        if row["status"] == "trained":
            assert row["task"] == "train"
            assert fit_scenario(row).gpus == row["gpu_ids"]
    by_id = {row["id"]: fit_scenario(row) for row in ROWS}
    known = {"llama-3.1-405b": (16384, 15.6e12), "bloom-176b": (384, 366e9), "opt-175b": (992, 180e9)}
    for name, told in known.items():
        assert (by_id[name].train_gpus, by_id[name].train_tokens) == told


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
    drawn = chart(rows, Scenario())
    assert drawn is not None
    counted = rows[rows["count"].notna()]
    told = sorted(
        int(mark["hint"].split(": ")[1].split(" GPUs")[0].replace(",", "")) for mark in drawn["marks"]
    )
    assert told == sorted(int(count) for count in counted["count"])
    largest = max(drawn["marks"], key=lambda mark: mark["y"])
    assert (largest["name"], largest["mark"]) == ("Meta", MARKS["planned"])


def test_a_factor_of_ten_is_everywhere_as_high() -> None:
    points = [Point(2024, 10**k, "running", str(k)) for k in range(5)]
    drawn = places(points, STATUSES, (2020, 2026))
    heights = [mark["y"] for mark in drawn["marks"]]
    steps = [after - before for before, after in pairwise(heights)]
    assert all(step == pytest.approx(steps[0], abs=2e-4) for step in steps)
    assert heights == [at for at, _ in drawn["counts"]][:5]


def test_marks_of_one_year_stand_apart_and_inside_it() -> None:
    points = [Point(2024, 10**k, "running", str(k)) for k in range(5)]
    across = [mark["x"] for mark in places(points, STATUSES, (2020, 2026))["marks"]]
    assert len(set(across)) == 5
    assert all(4 / 7 < x < 5 / 7 for x in across)


def test_names_never_lie_on_each_other() -> None:
    drawn = chart(selected(Scenario()), Scenario())
    assert drawn is not None
    named = sorted((mark for mark in drawn["marks"] if mark["name"]), key=lambda mark: mark["y"])
    assert len(named) >= 12
    for one, other in pairwise(named):
        level = abs(one["y"] - other["y"]) < 0.02
        left, right = sorted((one, other), key=lambda mark: mark["x"])
        away = (left["side"], right["side"]) == ("left", "right")
        assert not level or away or right["x"] - left["x"] > 0.1


def test_an_archive_is_named_with_the_page_that_it_keeps() -> None:
    kept = "https://web.archive.org/web/20240828225612/https://engineering.fb.com/2024/03/12/x/"
    assert source_name(kept) == "engineering.fb.com (archived)"
    assert source_name("https://www.nvidia.com/en-us/") == "nvidia.com"


def shown(app: AppTest, name: str) -> dict:
    """What one of the page's components was given."""
    return next(
        json.loads(part.proto.json)
        for part in app.get("bidi_component")
        if part.proto.component_name.endswith(name)
    )


def test_a_link_opens_on_gpus_that_do_the_training() -> None:
    """On at least one of the cards it pins, split as the app chooses."""
    for row in ROWS:
        if row["task"] != "train":
            continue
        s = fit_scenario(row)
        gpus = [workload.pinned(gpu, 1) for gpu in s.gpus]
        verdicts = training_load.load(s).many(gpus, boards=np.array([s.train_gpus])).verdict
        assert verdicts.max() > 0, row["id"]


def test_a_link_of_several_kinds_of_cards_counts_the_kind_it_pins() -> None:
    """A source with one L4 and 64 H200 does not open on 64 L4."""
    for row in ROWS:
        parts = [part.split() for part in str(row["count_words"]).split("; ")]
        numbers = {part[-2] for part in parts if len(part) > 1}
        if len(parts) > 1 and len(numbers) > 1:
            assert len({catalogue.spec_row(gpu)["chip"] for gpu in row["gpu_ids"]}) == 1, row["id"]


def test_the_page_at_a_link() -> None:
    app = opened(ugpu="l40s.rtx-4090", use="render")
    assert not app.exception
    assert "1 of 74 use cases: △\u00a01\u00a0vendor-described." in shown(app, "filters")["sentence"]
    assert shown(app, "filters")["chart"] is None
    (card,) = shown(app, "cards")["cards"]
    assert card["who"].startswith("Not named")
    chosen = {group["field"]: group["chosen"] for group in shown(app, "filters")["groups"]}
    assert chosen["use_gpus"] == ["l40s", "rtx-4090"]


def test_the_whole_page() -> None:
    app = opened()
    assert not app.exception
    assert shown(app, "filters")["sentence"].startswith(f"{len(ROWS)} use cases: ○\u00a01\u00a0planned")
    assert {mark["mark"] for mark in shown(app, "filters")["chart"]["marks"]} == set(MARKS.values())
    assert shown(app, "filters")["alt"]
    assert len(shown(app, "cards")["cards"]) == len(ROWS)


@pytest.mark.parametrize(
    ("field", "value", "fields"),
    [
        ("use_gpus", ["l40s", "h100", "tpu"], {"use_gpus": ("h100", "l40s")}),  # in the page's order
        ("use_gpus", [], {"use_gpus": ()}),
        ("use_since", 2024, {"use_since": 2024}),
        ("use_since", 1999, {}),
        ("use_until", "2024", {}),
        ("model", ["llama-3.1-8b"], {}),
        ("use_statuses", "trained", {}),
    ],
    ids=str,
)
def test_a_press_changes_what_it_may(field: str, value: object, fields: dict) -> None:
    assert taken(field, value) == fields


def test_clearing_takes_every_filter_back() -> None:
    assert taken("all", None) == {name: getattr(Scenario(), name) for name in (*GROUPS, *YEARS)}
    assert {link.BY_FIELD[name].name for name in (*GROUPS, *YEARS)} == set(LIVE)


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
    said = shown(app, "filters")["sentence"]
    assert "use cases" in said or "No use case" in said
