"""The Compare page as a whole, without a browser: every view, every filter, hostile links."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from gpu_data import spec_frame
from pages.ui.compare_choices import FORMS, PRECISIONS, VIEWS
from tests.pages.apps import opened as opened_page
from tests.pages.apps import text

CHARTS = [view for view in VIEWS if view != "table"]


opened = partial(opened_page, "compare")


def figure(app: AppTest) -> dict[str, Any]:
    """The one chart of the page."""
    (chart,) = app.get("plotly_chart")
    return json.loads(chart.proto.spec)


@pytest.mark.parametrize("view", list(VIEWS))
def test_each_view_runs_and_draws_one_thing(view: str) -> None:
    app = opened(show=view)
    assert not app.exception
    assert len(app.get("plotly_chart")) == (0 if view == "table" else 1)
    assert bool(app.dataframe) is (view == "table")
    assert "86 cards, no filter set" in text(app)
    assert [button.label for button in app.get("download_button")] == ["CSV", "Excel", "JSON"]


@pytest.mark.parametrize("view", CHARTS)
def test_each_chart_has_an_alt_text_and_its_numbers_as_a_table(view: str) -> None:
    app = opened(show=view)
    (chart,) = app.get("plotly_chart")
    assert chart.proto.alt
    (numbers,) = app.table
    assert len(numbers.value) == sum(
        x is not None for t in figure(app)["data"] if t.get("mode") not in ("lines", "text") for x in t["x"]
    ) or view in ("roofline", "map")  # cards at one place share a point
    assert len(numbers.value) >= 5


@pytest.mark.parametrize("precision", list(PRECISIONS))
def test_each_number_type_on_each_view_that_has_one(precision: str) -> None:
    for view in ("tensor", "roofline", "watt"):
        app = opened(show=view, prec=precision)
        assert not app.exception
        assert PRECISIONS[precision].label in app.subheader[0].value


def test_sparse_is_a_figure_of_its_own() -> None:
    dense, sparse = opened(show="tensor"), opened(show="tensor", sparse="1")
    assert "dense" in dense.subheader[0].value
    assert "2:4 sparse" in sparse.subheader[0].value
    most = [max(x for t in figure(app)["data"] for x in t["x"]) for app in (dense, sparse)]
    assert most[1] == pytest.approx(2 * most[0])


def test_filters_narrow_the_table() -> None:
    app = opened(vendor="amd", mem="100", form="module")
    frame = app.dataframe[0].value
    vendors = frame[("Identity", "Vendor")].tolist()
    assert vendors[:5] == ["NVIDIA"] * 5  # pinned
    assert set(vendors[5:]) == {"AMD"}
    assert frame[("Memory", "Memory label (GB)")].iloc[5:].min() >= 100
    assert "vendor, kind of card, 100–512 GB" in text(app)


def test_relative_to_a_card() -> None:
    app = opened(base="a100-sxm4-80gb", only="1")
    frame = app.dataframe[0].value
    assert frame[("Memory", "Memory bandwidth (GB/s)")].tolist()[:2] == pytest.approx([3350 / 2039, 1])
    assert "multiples of the A100 SXM4 80GB" in text(app)
    assert "No multiple, because the A100 SXM4 80GB has no such figure: FP8 (TFLOPS)" in text(app)


def test_announced_cards_only_behind_their_switch() -> None:
    assert len(opened().dataframe[0].value) == 86
    assert len(opened(pre="1").dataframe[0].value) == 88


def test_everything_filtered_away_is_said() -> None:
    app = opened(gpus=".", vendor="apple", form="module")
    assert not app.exception
    assert "No card passes the filters" in text(app)
    for view in CHARTS:
        empty = opened(show=view, gpus=".", vendor="apple", form="module")
        assert not empty.exception
        assert not empty.get("plotly_chart")
        assert "None of the chosen cards" in text(empty)


@pytest.mark.parametrize(
    "query",
    [
        {"show": "nonsense"},
        {"prec": "fp3", "show": "tensor"},
        {"vendor": "<script>alert(1)</script>"},
        {"vendor": "amd.nobody", "arch": "zzz", "form": "spaceship"},
        {"mem": "500", "memto": "8"},
        {"mem": "-1", "memto": "1e9"},
        {"year": "2026", "yearto": "2017"},
        {"year": "1066"},
        {"base": "rubin-sxm-288gb"},
        {"base": "no-such-card"},
        {"gpus": "rubin-sxm-288gb.rtx-4090-24gb"},
        {"gpus": "."},
        {"gpus": ".".join(spec_frame().index)},
        {"cols": "nothing.memory"},
        {"sparse": "maybe", "priced": "yes", "only": "2", "show": "tensor"},
    ],
    ids=lambda query: str(query)[:60],
)
@pytest.mark.parametrize("view", ["table", "tensor", "map"])
def test_hostile_links_never_break_the_page(query: dict[str, str], view: str) -> None:
    app = opened(**{"show": view, **query})
    assert not app.exception
    assert app.get("download_button")


def test_every_group_of_columns_and_class_of_card_can_be_asked_for() -> None:
    app = opened(cols="memory.notes", form=".".join(FORMS))
    groups = {group for group, _ in app.dataframe[0].value.columns if group}
    assert groups == {"Memory", "Notes"}
