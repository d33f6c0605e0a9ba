"""The context map: what it draws is what it was given, and colour is never the only signal."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from pages.ui.figures_fit import context_by_users, frontier

VERDICT = np.array([[2, 2, 1], [2, 1, 0], [0, 0, 0]])
HEADROOM = np.array([[30.0, 20.0, 0.4], [20.0, 0.2, -40.0], [-60.0, -700.0, -1500.0]])


@pytest.fixture
def figure() -> dict:
    return context_by_users((1024, 2048, 4096), (1, 2, 4), VERDICT, HEADROOM, (2048, 2), ("1k", "2k", "4k"))


def test_the_frontier_runs_above_what_fits_or_is_tight(figure: dict) -> None:
    stair = figure["data"][1]
    assert stair["x"] == [-0.5, 0.5, 0.5, 1.5, 1.5, 2.5]
    assert stair["y"] == [1.5, 1.5, 1.5, 1.5, 0.5, 0.5]


def test_nothing_fits_draws_the_frontier_under_the_first_row() -> None:
    assert frontier([0, 0]) == ([-0.5, 0.5, 0.5, 1.5], [-0.5] * 4)


def test_every_cell_says_its_number(figure: dict) -> None:
    assert figure["data"][0]["text"] == [["30", "20", "≈0"], ["20", "≈0", "−40"], ["−60", "−700", "−2k"]]


def test_the_reader_s_place_is_marked_on_the_scale_of_powers(figure: dict) -> None:
    here = figure["data"][2]
    assert (here["x"], here["y"]) == ([1.0], [1.0])


def test_the_figure_is_plain_and_has_no_colours_of_its_own(figure: dict) -> None:
    text = json.dumps(figure)
    assert not re.search(r"#[0-9a-fA-F]{3,8}\b|rgb|\"color\"", text)


def test_axes_do_not_move_with_the_values(figure: dict) -> None:
    other = context_by_users(
        (1024, 2048, 4096), (1, 2, 4), VERDICT * 0, HEADROOM - 99, (1024, 1), ("1k", "2k", "4k")
    )
    assert figure["layout"] == other["layout"]
