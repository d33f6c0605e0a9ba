"""The Compare page as a whole, without a browser: every view, every filter, hostile links."""

from __future__ import annotations

from functools import partial

import pytest

from gpu_data import spec_frame
from pages.ui.compare_choices import FORMS, PRECISIONS, VIEWS
from tests.pages.apps import charts, column, headings, parts, text
from tests.pages.apps import opened as opened_page
from tests.pages.drawn import bars

CHARTS = [view for view in VIEWS if view != "table"]


opened = partial(opened_page, "compare")


@pytest.mark.parametrize("view", list(VIEWS))
def test_each_view_runs_and_draws_one_thing(view: str) -> None:
    app = opened(show=view)
    assert not app.exception
    assert len(charts(app)) == (0 if view == "table" else 1)
    assert bool(parts(app, "sheet")) is (view == "table")
    assert "86 cards, no filter set" in text(app)
    assert [button.label for button in app.get("download_button")] == ["CSV", "Excel", "JSON"]


@pytest.mark.parametrize("view", CHARTS)
def test_each_chart_has_an_alt_text_and_its_numbers_as_a_table(view: str) -> None:
    app = opened(show=view)
    (chart,) = charts(app)
    assert chart["alt"]
    (numbers,) = parts(app, "table")
    assert len(numbers["rows"]) >= 5
    if chart["kind"] == "rows":
        assert {row[0] for row in numbers["rows"]} == {row["name"].strip("★ ") for row in chart["rows"]}


@pytest.mark.parametrize("precision", list(PRECISIONS))
def test_each_number_type_on_each_view_that_has_one(precision: str) -> None:
    for view in ("tensor", "roofline", "watt"):
        app = opened(show=view, prec=precision)
        assert not app.exception
        assert PRECISIONS[precision].label in headings(app)[0]


def test_sparse_is_a_figure_of_its_own() -> None:
    dense, sparse = opened(show="tensor"), opened(show="tensor", sparse="1")
    assert "dense" in headings(dense)[0]
    assert "2:4 sparse" in headings(sparse)[0]
    most = [max(bars(charts(app)[0]).values()) for app in (dense, sparse)]
    assert most[1] == pytest.approx(2 * most[0], rel=1e-3)


def test_filters_narrow_the_table() -> None:
    app = opened(vendor="amd", mem="100", form="module")
    (sheet,) = parts(app, "sheet")
    vendors = column(sheet, "Vendor")
    assert vendors[:5] == ["NVIDIA"] * 5  # pinned
    assert set(vendors[5:]) == {"AMD"}
    assert min(column(sheet, "Memory label (GB)")[5:]) >= 100
    assert "vendor, kind of card, 100–512 GB" in text(app)


def test_relative_to_a_card() -> None:
    app = opened(base="a100-sxm4-80gb", only="1")
    (sheet,) = parts(app, "sheet")
    assert column(sheet, "Memory bandwidth (GB/s)")[:2] == pytest.approx([3350 / 2039, 1])
    assert "multiples of the A100 SXM4 80GB" in text(app)
    assert "No multiple, because the A100 SXM4 80GB has no such figure: FP8 (TFLOPS)" in text(app)


def test_announced_cards_only_behind_their_switch() -> None:
    assert [parts(opened(**query), "sheet")[0]["count"] for query in ({}, {"pre": "1"})] == [86, 88]


def test_everything_filtered_away_is_said() -> None:
    app = opened(gpus=".", vendor="apple", form="module")
    assert not app.exception
    assert "No card passes the filters" in text(app)
    for view in CHARTS:
        empty = opened(show=view, gpus=".", vendor="apple", form="module")
        assert not empty.exception
        assert not charts(empty)
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
    groups = {c["group"] for c in parts(app, "sheet")[0]["columns"] if c["group"]}
    assert groups == {"Memory", "Notes"}


def test_a_press_tells_the_card_and_the_column_by_their_ids() -> None:
    """A table may have changed while the press was on its way: places would name another card."""
    (sheet,) = parts(opened(only="1"), "sheet")
    assert sheet["rowIds"][:2] == ["h100-sxm5-80gb", "a100-sxm4-80gb"]
    assert len(sheet["rowIds"]) == sheet["count"]
    assert len(sheet["columnIds"]) == len(sheet["columns"])
    assert (
        sheet["columnIds"][
            sheet["columns"].index(
                next(c for c in sheet["columns"] if c["title"] == "Memory bandwidth (GB/s)")
            )
        ]
        == "bandwidth_gb_per_s"
    )
