"""The tables of states: what a cell says is what it was given; colour is never the only signal."""

from __future__ import annotations

import numpy as np
import pytest

from calculators.formats import Support
from pages.ui.cells import context_rows, format_cells, frontier, short
from pages.ui.words import GIB

VERDICT = np.array([[2, 2, 1], [2, 1, 0], [0, 0, 0]])
HEADROOM = np.array([[30.0, 20.0, 0.4], [20.0, -0.2, -40.0], [-60.0, -700.0, -1500.0]]) * GIB


def rows(here: tuple[int, int] = (2048, 2)):
    return context_rows((1024, 2048, 4096), (1, 2, 4), VERDICT, HEADROOM, here)


def test_most_users_stand_on_top() -> None:
    assert [row.id for row in rows()] == ["4", "2", "1"]


def test_every_cell_says_state_and_number() -> None:
    assert [[cell.text for cell in row.cells] for row in rows()] == [
        ["✕60", "✕700", "✕"],
        ["✓20", "≈0", "✕40"],
        ["✓30", "✓20", "≈0"],
    ]
    assert rows()[0].cells[0].why == "1,024 tokens × 4 users: 60.0 GiB short"
    assert rows()[2].cells[0].why == "1,024 tokens × 1 user: 30.0 GiB to spare"


def test_the_frontier_runs_where_what_fits_or_is_tight_ends() -> None:
    assert [[cell.edge for cell in row.cells] for row in rows()] == [
        ["", "", ""],
        ["t", "tr", ""],
        ["", "", "tr"],
    ]


@pytest.mark.parametrize(
    ("here", "cell"),
    [
        ((1024, 1), (2, 0)),
        ((2048, 2), (1, 1)),
        ((3000, 3), (1, 1)),
        ((512, 1), (2, 0)),
        ((1 << 20, 900), (0, 2)),
    ],
)
def test_one_cell_is_the_reader_s(here: tuple[int, int], cell: tuple[int, int]) -> None:
    marked = [(i, k) for i, row in enumerate(rows(here)) for k, c in enumerate(row.cells) if c.here]
    assert marked == [cell]


def test_all_or_nothing_fits() -> None:
    assert frontier(np.zeros((2, 2), bool)) == [["", ""], ["", ""]]
    assert frontier(np.ones((2, 2), bool)) == [["t", "tr"], ["", "r"]]


def test_a_format_says_how_the_gpu_runs_it() -> None:
    ways = [Support(state, "why", "source") for state in ("native", "storage", "no", "native")]
    spare = np.array([12.4 * GIB, -12.4 * GIB, 12.4 * GIB, -np.inf])
    cells = format_cells(ways, np.array([2, 0, 2, 0]), spare, 1, ["", "", "", "no split"])
    assert [cell.text for cell in cells] == ["✓ 12", "✕ 12 s", "–", "–"]
    assert "split" in cells[-1].why
    assert [cell.here for cell in cells] == [False, True, False, False]


def test_numbers_stay_short() -> None:
    assert [short(x * GIB) for x in (0.2, -9.6, 999, -1500, 327_000)] == ["0", "10", "999", "", ""]
