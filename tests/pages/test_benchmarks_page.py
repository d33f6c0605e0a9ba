"""The Benchmarks page as a whole, without a browser: each lane, filters, hostile links."""

from __future__ import annotations

from functools import partial

import pytest

from pages.ui.benchmarks_choices import LANES
from tests.pages.apps import charts, column, headings, parts, text
from tests.pages.apps import opened as opened_page

opened = partial(opened_page, "benchmarks")


@pytest.mark.parametrize("lane", LANES)
def test_each_lane_shows_a_takeaway_one_chart_its_numbers_and_a_table_with_sources(lane: str) -> None:
    app = opened(lane=lane)
    assert not app.exception
    (chart,) = charts(app)
    assert chart["alt"]
    (numbers,) = parts(app, "table")
    assert [row[0] for row in numbers["rows"]] == [row["name"] for row in chart["rows"]]
    (table,) = parts(app, "sheet")
    assert all(address.startswith("https://") for address in column(table, "Source"))
    assert "each with its source" in text(app)


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ({"bmodel": "llama-3-70b"}, "Out of memory"),
        ({"bmodel": "any"}, "not ranked"),
        ({"bcount": "4", "btest": "tg8192"}, "filters: 4 GPUs"),
        (
            {"bmodel": "qwen3.5-9b", "bformat": "any", "btest": "any", "bcount": "0", "doubt": "1"},
            "unverified",
        ),
        ({"lane": "inference", "rounds": "v4-1.v5-1"}, "rounds v5.1 and v4.1"),
        ({"lane": "inference", "infer": "gptj-99", "rounds": "v4-0.v4-1"}, "unit of this benchmark changed"),
        ({"lane": "inference", "infer": "resnet50", "scen": "multistream"}, "lowest latency"),
        ({"lane": "inference", "by": "nvidia", "ishow": "per-system"}, "1 submitter"),
        ({"lane": "inference", "cat": "."}, "no filter set"),
        ({"lane": "training", "tshow": "gpu-hours", "mcount": "8"}, "GPU-hours"),
        ({"lane": "training", "train": "retinanet", "tshow": "tokens-per-gpu"}, "No result"),
    ],
    ids=str,
)
def test_questions_and_filters(query: dict[str, str], said: str) -> None:
    app = opened(**query)
    assert not app.exception
    cells = {str(t) for sheet in parts(app, "sheet") for c in sheet["columns"] for t in c.get("texts", ())}
    assert said in text(app) + " ".join(cells)


def test_two_units_are_two_charts_and_two_tables() -> None:
    app = opened(lane="inference", infer="gptj-99", rounds="v4-0.v4-1")
    assert len(parts(app, "sheet")) == 2
    assert [chart["title"] for chart in charts(app)] == ["samples/s per GPU", "tokens/s per GPU"]


def test_every_result_can_be_listed() -> None:
    app = opened(
        lane="inference", infer="any", scen="any", cat=".", rounds="v2-1.v3-0.v3-1.v4-0.v4-1.v5-0.v5-1.v6-0"
    )
    assert parts(app, "sheet")[0]["count"] == 5303
    assert not charts(app)


@pytest.mark.parametrize("lane", LANES)
@pytest.mark.parametrize(
    "query",
    [
        {"bmodel": "gpt-99", "bformat": "gguf-q1", "btest": "tg0"},
        {"infer": "<script>alert(1)</script>", "scen": "Offline", "train": "../../etc"},
        {"rounds": "v9-9", "by": "nobody", "cat": "secret", "avail": "soon"},
        {"rounds": ".", "by": ".", "cat": ".", "avail": ".", "bgpus": "."},
        {"bcount": "-1", "mcount": "99999999"},
        {"bcount": "7", "mcount": "7"},
        {"bgpus": "tpu-v4.m1-7-core-gpu-8gb"},
        {"ishow": "per-watt", "tshow": "dollars", "doubt": "maybe"},
        {"gpus": "."},
    ],
    ids=str,
)
def test_hostile_links_never_break_the_page(query: dict[str, str], lane: str) -> None:
    app = opened(lane=lane, **query)
    assert not app.exception
    assert headings(app) or "No result" in text(app) or "Nobody published" in text(app)


def test_an_unknown_lane_is_named_and_replaced() -> None:
    app = opened(lane="vibes")
    assert not app.exception
    assert "vibes" in text(app)
    assert "llama.cpp:" in headings(app)[0]


def test_nothing_left_is_said() -> None:
    app = opened(lane="inference", bgpus="m1-7-core-gpu-8gb")
    assert not app.exception
    assert "No result passes the filters" in text(app)
