"""The tables of states: what a cell says is what it was given; colour is never the only signal."""

from __future__ import annotations

import numpy as np
import pytest

from calculators.formats import Support
from pages.ui.cells import NO_NUMBER, context_cells, format_cells, frontier, ways_of, whole_gib
from pages.ui.words import GIB

VERDICT = np.array([[2, 2, 1], [2, 1, 0], [0, 0, 0]])
HEADROOM = np.array([[30.0, 20.0, 0.4], [20.0, -0.2, -40.0], [-60.0, -700.0, -1500.0]]) * GIB


def table(here: tuple[int, int] = (2048, 2)):
    return context_cells((1024, 2048, 4096), (1, 2, 4), VERDICT, HEADROOM, here)


def test_most_users_stand_on_top() -> None:
    assert [row.id for row in table()[0]] == ["4", "2", "1"]


def test_every_cell_says_state_and_number() -> None:
    cells = table()[1]
    assert cells.state.tolist() == [[0, 0, 0], [2, 1, 0], [2, 2, 1]]
    assert cells.gib.tolist() == [[60, 700, NO_NUMBER], [20, 0, 40], [30, 20, 0]]
    ways = cells.ways
    assert ways.reasons[ways.whys[0][0]] == "1,024 tokens × 4 users: 60.0 GiB short"
    assert ways.reasons[ways.whys[2][0]] == "1,024 tokens × 1 user: 30.0 GiB to spare"


def test_the_frontier_runs_where_what_fits_or_is_tight_ends() -> None:
    assert table()[1].edges == [["", "", ""], ["t", "tr", ""], ["", "", "tr"]]


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
    assert [(i, k) for i, k in enumerate(table(here)[1].here) if k >= 0] == [cell]


def test_all_or_nothing_fits() -> None:
    assert frontier(np.zeros((2, 2), bool)) == [["", ""], ["", ""]]
    assert frontier(np.ones((2, 2), bool)) == [["t", "tr"], ["", "r"]]


def test_a_format_says_how_the_gpu_runs_it() -> None:
    supports = [Support(state, f"why {state}", "source") for state in ("native", "storage", "no", "native")]
    spare = np.array([[12.4, -12.4, 12.4, -np.inf]]) * GIB
    cells = format_cells(
        ways_of([supports]), np.array([[2, 0, 2, 0]]), spare, [["", "", "", "no split"]], [1]
    )
    assert cells.ways.hows == ["ns--"]
    assert [cells.ways.reasons[i] for i in cells.ways.whys[0]] == [
        "why native",
        "why storage",
        "why no",
        "no split",
    ]
    assert cells.gib.tolist() == [[12, 12, 12, NO_NUMBER]]
    assert cells.here == [1]


def test_a_refusal_leaves_the_shared_table_of_ways_alone() -> None:
    ways = ways_of([[Support("native", "runs", "source")]])
    format_cells(ways, np.array([[0]]), np.array([[-np.inf]]), [["no split"]], [-1])
    assert (ways.hows, ways.reasons) == (["n"], ["runs"])


def test_numbers_are_whole_gib() -> None:
    spare = np.array([0.2, -9.6, 999, -1500, -np.inf]) * GIB
    assert whole_gib(spare).tolist() == [0, 10, 999, 1500, NO_NUMBER]
    _, cells = context_cells((1,), (1,), np.array([[0]]), np.array([[-1500.0 * GIB]]), (1, 1))
    assert cells.gib.tolist() == [[NO_NUMBER]]  # no room for four figures there
