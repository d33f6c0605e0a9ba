"""The page "How far off are we?" as a whole, without a browser: each kind and view, hostile links."""

from __future__ import annotations

from functools import partial

import pytest

from pages.ui.accuracy_choices import KINDS, QUANTITIES, VIEWS, of_kind
from pages.ui.accuracy_views import summary
from tests.pages.apps import charts, column, parts, text
from tests.pages.apps import opened as opened_page

opened = partial(opened_page, "accuracy")


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_says_its_figures_first_and_shows_one_chart(kind: str) -> None:
    app = opened(est=kind)
    assert not app.exception
    said = text(app)
    assert of_kind(kind)[0].label in said
    assert "Where we have no data" in said
    if not summary(of_kind(kind)[0]).n:
        assert "nobody's measurement" in said
        return
    (chart,) = charts(app)
    assert chart["alt"]
    assert "half of our estimates are within" in said
    (rows,) = [sheet for sheet in parts(app, "sheet") if sheet["id"] == "rows"]
    assert all(source.startswith("https://") for source in column(rows, "Source") if source)


@pytest.mark.parametrize("view", VIEWS)
def test_each_view_mounts_one_chart_with_its_numbers(view: str) -> None:
    app = opened(off=view)
    assert not app.exception
    (chart,) = charts(app)
    assert chart.get("rows") or chart.get("groups")
    assert parts(app, "table")


@pytest.mark.parametrize("key", QUANTITIES)
def test_each_quantity_can_be_linked_to(key: str) -> None:
    app = opened(est=QUANTITIES[key].kind, qty=key)
    assert not app.exception
    assert QUANTITIES[key].label in text(app)


@pytest.mark.parametrize(
    "query",
    [
        {"est": "vibes"},
        {"est": "../../etc/passwd", "qty": "<script>alert(1)</script>", "off": "drop table"},
        {"est": "training", "qty": "kv-cache"},
        {"qty": "gpu-hours"},
        {"off": ".", "est": "."},
        {"gpus": ".", "off": "gpu"},
        {"gpus": "h100-sxm5-80gb.nothing", "off": "gpu"},
    ],
    ids=str,
)
def test_hostile_links_never_break_the_page(query: dict[str, str]) -> None:
    app = opened(**query)
    assert not app.exception
    assert charts(app)


def test_an_unknown_kind_is_named_and_replaced() -> None:
    app = opened(est="vibes")
    assert "vibes" in text(app)
    assert "Memory needed" in text(app)


def test_verdicts_are_counted_in_words_and_wrong_ones_listed() -> None:
    app = opened(est="memory")
    assert "were called right" in text(app)
    assert "wrong verdicts" in text(app)
