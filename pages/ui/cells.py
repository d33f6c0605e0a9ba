"""Cells of the tables of states on the Fit page: numbers in, what the browser writes out. No Streamlit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calculators.formats import Support
from pages.ui import words

LETTERS = {"native": "n", "storage": "s", "no": "-"}  # one a cell: a table holds over a thousand
MOST_GIB = 999  # what a narrow column has room for
NO_NUMBER = -1


@dataclass(frozen=True, slots=True)
class Row:
    """A row's head; `id` is what a press reports."""

    id: str
    name: str
    note: str = ""
    strong: bool = False


@dataclass(frozen=True, slots=True)
class Ways:
    """How each cell of a table runs: letters row by row, and why as an index into `reasons`."""

    hows: list[str]
    whys: list[list[int]]
    reasons: list[str]


@dataclass(frozen=True, slots=True)
class Cells:
    """A table of states. Shapes [row, column].

    state: 0 does not fit, 1 tight, 2 fits; gib: whole GiB to spare or short, `NO_NUMBER` for none; `edges`
    holds t and r where the frontier runs above and to the right; `here`: the reader's cell in a row, or -1.
    """

    state: NDArray[Any]
    gib: NDArray[Any]
    ways: Ways
    here: Sequence[int]
    edges: list[list[str]] | None = None

    def data(
        self, label: str, corner: str, columns: Sequence[tuple[str, str]], rows: Sequence[Row]
    ) -> dict[str, Any]:
        """What the browser takes; `columns` are (id, title)."""
        return {
            "label": label,
            "titles": [corner, *(title for _, title in columns)],
            "columns": [column for column, _ in columns],
            "rows": [[row.id, row.name, row.note, row.strong] for row in rows],
            "states": self.state.tolist(),
            "gib": self.gib.tolist(),
            "hows": self.ways.hows,
            "whys": self.ways.whys,
            "reasons": self.ways.reasons,
            "edges": self.edges,
            "here": list(self.here),
        }


def whole_gib(spare_bytes: NDArray[Any]) -> NDArray[np.int64]:
    """A need or a surplus in whole GiB; `NO_NUMBER` where it is not finite."""
    finite = np.isfinite(spare_bytes)
    gib = np.rint(np.abs(np.where(finite, spare_bytes, 0)) / words.GIB).astype(np.int64)
    return np.where(finite, gib, NO_NUMBER)


def frontier(fits: NDArray[np.bool_]) -> list[list[str]]:
    """Where what fits ends: t when the row above does not fit, r when the column to the right does not.

    `fits` is [row, column], the first row on top.
    """
    above = np.vstack([np.zeros_like(fits[:1]), fits[:-1]])
    right = np.hstack([fits[:, 1:], np.zeros_like(fits[:, :1])])
    top, side = fits & ~above, fits & ~right
    return np.char.add(np.where(top, "t", ""), np.where(side, "r", "")).tolist()


def context_cells(
    contexts: Sequence[int],
    users: Sequence[int],
    verdict: NDArray[Any],
    headroom_bytes: NDArray[Any],
    here: tuple[int, int],
) -> tuple[list[Row], Cells]:
    """Context across, users upwards. `verdict` and `headroom_bytes` are [user, context], fewest users first.

    `here` is the context and the users chosen; the cell next below it is marked.
    """
    state, spare = verdict[::-1].astype(int), headroom_bytes[::-1]
    gib = whole_gib(spare)
    column = max(int(np.searchsorted(contexts, here[0], side="right")) - 1, 0)
    row = len(users) - 1 - max(int(np.searchsorted(users, here[1], side="right")) - 1, 0)
    upwards = list(reversed(users))
    reasons = [
        f"{words.count(tokens, 'token')} × {words.count(count, 'user')}: "
        f"{words.gib(abs(spare[i, k]))} {'to spare' if spare[i, k] >= 0 else 'short'}"
        for i, count in enumerate(upwards)
        for k, tokens in enumerate(contexts)
    ]
    whys = np.arange(len(reasons)).reshape(state.shape).tolist()
    cells = Cells(
        state,
        np.where(gib > MOST_GIB, NO_NUMBER, gib),
        Ways([LETTERS["native"] * len(contexts)] * len(users), whys, reasons),
        [column if i == row else -1 for i in range(len(users))],
        frontier(state > 0),
    )
    return [Row(str(count), f"{count:,}") for count in upwards], cells


def ways_of(supports: Sequence[Sequence[Support]]) -> Ways:
    """How every GPU runs every format."""
    number: dict[str, int] = {}
    whys = [[number.setdefault(way.reason, len(number)) for way in row] for row in supports]
    return Ways(["".join(LETTERS[way.state] for way in row) for row in supports], whys, list(number))


def impossible(ways: Ways, refused: dict[tuple[int, int], str]) -> Ways:
    """The same where some cells, by (row, column), are not possible for a reason of their own."""
    if not refused:
        return ways
    hows, whys = [list(row) for row in ways.hows], [list(row) for row in ways.whys]
    number = {reason: i for i, reason in enumerate(ways.reasons)}
    for (i, k), why in refused.items():
        if hows[i][k] != LETTERS["no"]:
            hows[i][k], whys[i][k] = LETTERS["no"], number.setdefault(why, len(number))
    return Ways(["".join(row) for row in hows], whys, list(number))


def format_cells(
    ways: Ways,
    verdict: NDArray[Any],
    spare_bytes: NDArray[Any],
    refused: Sequence[Sequence[str]],
    here: Sequence[int],
) -> Cells:
    """GPUs over weight formats; `refused` says why a cell is not possible where `spare_bytes` is infinite."""
    places = np.argwhere(~np.isfinite(spare_bytes)).tolist()
    ways = impossible(ways, {(i, k): refused[i][k] for i, k in places})
    return Cells(verdict.astype(int), whole_gib(spare_bytes), ways, here)
