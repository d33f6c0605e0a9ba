"""The Compare charts as plain places: order, values, text and marks, no colour, no unknown drawn as zero."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pages.ui.charts import Axis
from pages.ui.compare_choices import PRECISIONS
from pages.ui.compare_labels import Box, Mark, place, text_box
from pages.ui.compare_select import Choice, Filters, cards, choose, floats
from pages.ui.compare_types import sparse_values
from pages.ui.compare_views import (
    MOST_BARS,
    MOST_POINTS,
    ChartView,
    bandwidth_view,
    map_view,
    roofline_view,
    tensor_view,
    watt_view,
)
from pages.ui.figures_compare import Bar, Point, bars, scatter
from tests.pages import drawn as read

PINS = ("h100-sxm5-80gb", "a100-sxm4-80gb", "rtx-a6000-48gb", "l40s-48gb", "rtx-4090-24gb")
FP16, FP8 = PRECISIONS["fp16"], PRECISIONS["fp8"]
COLOUR = re.compile(r"#[0-9a-f]{3,8}\b|\brgba?\(|\bhsl", re.IGNORECASE)


def every_view(choice: Choice) -> Iterator[ChartView]:
    yield bandwidth_view(choice)
    yield map_view(choice)
    for precision in PRECISIONS.values():
        yield tensor_view(choice, precision, False)
        yield tensor_view(choice, precision, True)
        yield watt_view(choice, precision)
        yield roofline_view(choice, precision)


def drawn(view: ChartView) -> list[tuple[str, float]]:
    """The bars of a bar view from top to bottom."""
    return list(read.bars(view.figure).items())


@pytest.fixture(scope="module")
def everything() -> Choice:
    return choose(PINS, Filters(), "a100-sxm4-80gb")


def test_no_figure_names_a_colour(everything: Choice) -> None:
    for view in every_view(everything):
        assert not COLOUR.search(json.dumps(view.figure)), view.title
        assert '"color' not in json.dumps(view.figure), view.title


def test_figures_are_plain_json_without_nan(everything: Choice) -> None:
    for view in every_view(everything):
        json.dumps(view.figure, allow_nan=False)


def test_bars_are_sorted_and_capped(everything: Choice) -> None:
    for view in (
        bandwidth_view(everything),
        tensor_view(everything, FP16, False),
        watt_view(everything, FP16),
    ):
        values = [value for _, value in drawn(view)]
        assert values == sorted(values, reverse=True)
        assert len(values) == MOST_BARS
        assert min(values) > 0


def test_bars_hold_the_published_figures() -> None:
    view = bandwidth_view(choose(PINS, Filters(pinned_only=True)))
    # NVIDIA data sheets: H100 SXM, A100 80GB SXM, RTX 4090, L40S, RTX A6000
    assert [value for _, value in drawn(view)] == pytest.approx([3350, 2039, 1008, 864, 768], rel=1e-3)
    dense = tensor_view(choose(PINS, Filters(pinned_only=True)), FP16, False)
    assert [v for _, v in drawn(dense)] == pytest.approx([989.4, 362.05, 312, 165.2, 154.8], rel=2e-3)


def test_every_bar_says_its_number_and_pinned_ones_carry_a_star(everything: Choice) -> None:
    view = bandwidth_view(everything)
    names = dict(zip(everything.rows["name"], everything.rows.index, strict=True))
    for row in view.figure["rows"]:
        gpu = names[row["name"].removeprefix("★ ")]
        assert f"{everything.rows.at[gpu, 'bandwidth_gb_per_s']:,.0f}" in row["text"]
        assert row["name"].startswith("★") is (gpu in PINS)
    tones = {row["tone"]: row["name"].startswith("★") for row in view.figure["rows"]}
    assert len(tones) == 2


def test_a_card_without_the_figure_has_no_bar_and_is_counted() -> None:
    choice = choose(("mi350p-144gb", "h100-sxm5-80gb"), Filters(pinned_only=True))
    view = bandwidth_view(choice)
    assert [name for name, _ in drawn(view)] == ["★ NVIDIA H100 SXM5 80GB"]
    assert any("1 of the chosen cards has no published memory bandwidth" in note for note in view.notes)
    assert "MI350P" not in view.numbers.to_string()


def test_nothing_known_means_no_figure_and_a_sentence() -> None:
    view = tensor_view(choose(("apple-m4-max",), Filters(pinned_only=True)), FP8, False)
    assert view.figure is None
    assert "None of the chosen cards" in view.takeaway


def test_dense_and_sparse_never_share_a_figure(everything: Choice) -> None:
    for precision in PRECISIONS.values():
        dense_of = dict(zip(everything.rows["name"], floats(everything.rows[precision.column]), strict=True))
        sparse_of = dict(zip(everything.rows["name"], sparse_values(everything.rows, precision), strict=True))
        for sparse, truth in ((False, dense_of), (True, sparse_of)):
            view = tensor_view(everything, precision, sparse)
            if view.figure is None:
                continue
            for name, value in drawn(view):
                assert value == pytest.approx(truth[name.removeprefix("★ ")], rel=0.05, abs=1), (
                    view.title,
                    name,
                )
            assert ("sparse" in view.title) is sparse
            assert ("sparse" in view.figure["title"]) is sparse


def test_sparse_bars_are_all_hatched_and_dense_ones_only_with_a_half_rate(everything: Choice) -> None:
    sparse = tensor_view(everything, FP8, True)
    assert all(row["hatch"] for row in sparse.figure["rows"])
    dense = tensor_view(choose(PINS, Filters(pinned_only=True)), FP16, False)
    # Ada whitepaper, appendix A: GeForce halves FP16 with FP32 accumulate; RTX A6000, L40S, A100, H100 do not
    (hatched,) = [row for row in dense.figure["rows"] if row["hatch"]]
    assert hatched["name"] == "★ NVIDIA GeForce RTX 4090 24GB"
    assert "330.3 FP16 acc." in hatched["text"]
    assert any("half rate with FP32 accumulate" in note for note in dense.notes)


def test_baseline_multiples_stand_beside_the_bars(everything: Choice) -> None:
    texts = read.texts(bandwidth_view(everything).figure)
    assert texts["★ NVIDIA H100 SXM5 80GB"] == "3,350 · 1.64×"  # 3350 / 2039
    assert texts["★ NVIDIA A100 SXM4 80GB"].endswith("1.00×")


def test_axes_do_not_move_with_the_filters() -> None:
    wide, narrow = choose(PINS, Filters()), choose(("rtx-3060-12gb",), Filters(pinned_only=True))
    for view in (bandwidth_view, lambda c: watt_view(c, FP16)):
        assert view(wide).figure["ticks"] == view(narrow).figure["ticks"]
    for view in (map_view, lambda c: roofline_view(c, FP16)):
        one, other = view(wide).figure, view(narrow).figure
        assert (one["x"], one["y"]) == (other["x"], other["y"])


def test_points_lie_inside_the_axes_are_few_and_each_has_a_label(everything: Choice) -> None:
    for view in (map_view(everything), roofline_view(everything, FP16)):
        points = read.spots(view.figure)
        assert 0 < len(points) <= MOST_POINTS
        assert all(0 <= share <= 1 for point in points for share in point[:2])
        places = [tuple(label[:2]) for label in view.figure["labels"] if label[2]]
        assert all(tuple(point[:2]) in places for point in points)


def test_vendors_differ_in_symbol_not_only_in_colour() -> None:
    groups = map_view(choose((), Filters())).figure["groups"]
    assert len({g["symbol"] for g in groups}) == len({g["tone"] for g in groups}) == len(groups) > 1
    (alone,) = map_view(choose((), Filters(vendors=("amd",)))).figure["groups"]
    amd = next(g for g in groups if any("MI3" in spot[4] for spot in g["spots"]))
    assert (alone["symbol"], alone["tone"]) == (amd["symbol"], amd["tone"]), "whoever else is shown"


def test_every_number_in_a_crowd_is_explained() -> None:
    for precision in PRECISIONS.values():
        view = roofline_view(choose(PINS, Filters()), precision)
        if view.figure is None:
            continue
        places = {tuple(point[:2]) for point in read.spots(view.figure)}
        numbers = {text for x, y, text, *_ in view.figure["labels"] if (x, y) in places and text.isdigit()}
        key = next((note for note in view.notes if note.startswith("Numbered points")), "")
        assert numbers == set(re.findall(r"(?:: |; )(\d+) = ", key))


def test_ridge_points_are_written_at_the_cards() -> None:
    view = roofline_view(choose(("h100-sxm5-80gb",), Filters(pinned_only=True)), FP16)
    assert view.figure["labels"][0][2] == "★ H100 SXM5 80GB · 295"  # 989.4e12 / 3350e9
    assert view.numbers["Ridge point, FLOP per byte"].tolist() == ["295.3"]


def test_ridge_lines_join_equal_flop_per_byte() -> None:
    figure = roofline_view(choose(PINS, Filters()), FP16).figure

    def value(axis: dict[str, Any], share: float) -> float:
        (low, first), (high, last) = axis["ticks"][0], axis["ticks"][-1]
        first, last = (float(text.replace(",", "")) for text in (first, last))
        return first * (last / first) ** ((share - low) / (high - low))

    ends = {(x, y): text for x, y, text, *_ in figure["labels"]}
    assert len(figure["lines"]) > 2
    for x1, y1, x2, y2, look in figure["lines"]:
        assert look == "dot"
        ridge = float(ends[x2, y2].replace(",", ""))
        for x, y in ((x1, y1), (x2, y2)):
            assert value(figure["y"], y) * 1000 / value(figure["x"], x) == pytest.approx(ridge, rel=5e-3)


def test_marker_area_follows_power_and_unknown_power_is_hollow() -> None:
    view = map_view(choose(("h100-sxm5-80gb", "h100-pcie-80gb", "apple-m2-ultra"), Filters(pinned_only=True)))
    sizes = {spot[4]: spot[2] for spot in read.spots(view.figure)}
    assert (sizes["H100 SXM5 80GB"] / sizes["H100 PCIe 80GB"]) ** 2 == pytest.approx(700 / 350)
    (hollow,) = [spot[4] for spot in read.spots(view.figure) if spot[3]]
    assert "M2 Ultra" in hollow


def test_cards_at_one_place_share_a_point() -> None:
    axis = Axis("x", 1, 100)
    points = [
        Point("B", 10, 10, "NVIDIA"),
        Point("A", 10, 10, "NVIDIA", pinned=True),
        Point("C", 50, 50, "NVIDIA"),
    ]
    figure = scatter(points, ["NVIDIA"], axis, axis, "Points.").figure
    assert sorted(label[2] for label in figure["labels"]) == ["C", "★ A\nB"]
    assert sorted(spot[4] for spot in read.spots(figure)) == ["A, B", "C"]


def test_alt_texts_are_sentences(everything: Choice) -> None:
    for view in every_view(everything):
        if view.figure is not None:
            assert view.figure["alt"].endswith(".")


def test_our_theme_defines_the_colours_that_are_used() -> None:
    config = tomllib.loads((Path(__file__).parents[2] / ".streamlit" / "config.toml").read_text())
    for mode in ("light", "dark"):
        assert len(config["theme"][mode]["chartCategoricalColors"]) >= 8


@given(
    st.lists(
        st.tuples(st.floats(0, 260), st.floats(0, 480), st.floats(3, 16), st.integers(1, 30)),
        min_size=1,
        max_size=20,
    ),
    st.floats(1, 5),
)
@example([(0.0, 0.0, 6.0, 1), (4.0, 0.0, 4.0, 1)], 2.0)  # in the other order than their points
@settings(max_examples=200)
def test_names_never_overlap_on_a_phone_or_wider(crowd: list[Any], stretch: float) -> None:
    marks = [Mark(x, y, radius, "x" * length) for x, y, radius, length in crowd]
    placed = place(marks, 260, 480)
    boxes: list[Box] = []
    for mark, label in zip(marks, placed, strict=True):
        if label.number is None:
            wide = Mark(mark.x * stretch, mark.y, mark.radius, mark.name)
            box = text_box(wide, label.text, label.side)
            assert box.left >= 0
            assert box.right <= 260 * stretch + 1e-6
            assert not any(box.meets(other) for other in boxes)
            boxes.append(box)
    assert sorted(p.number for p in placed if p.number) == list(
        range(1, 1 + sum(bool(p.number) for p in placed))
    )


@given(
    st.lists(
        st.tuples(st.text("abc ", min_size=1).filter(str.strip), st.floats(0.1, 1e4)),
        unique_by=lambda t: t[0],
    )
)
@settings(deadline=None)
def test_bars_keep_every_row(rows: list[tuple[str, float]]) -> None:
    figure = bars([Bar(name, value, str(value)) for name, value in rows], "x", 1e4, "Bars.")
    assert sorted(row["name"] for row in figure["rows"]) == sorted(name for name, _ in rows)
    shown = [row["bar"] for row in figure["rows"]]
    assert shown == sorted(shown, reverse=True)


def test_pre_release_cards_widen_the_axis_only_when_asked_for() -> None:
    most = float(np.nanmax(floats(cards(True)["bandwidth_gb_per_s"])))
    assert most > 20_000  # Rubin and MI455X as announced
    usual, asked = (
        float(bandwidth_view(choose(PINS, filters)).figure["ticks"][-1][1].replace(",", ""))
        for filters in (Filters(), Filters(pre_release=True))
    )
    assert usual < most
    assert asked > usual
