"""Cells of the tables of states on the Fit page: numbers in, rows out. No Streamlit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from calculators.formats import Support
from pages.ui import words

MARKS = ("✕", "≈", "✓")  # does not fit, tight, fits


class Cell(NamedTuple):
    """One state: 0 does not fit, 1 tight, 2 fits; `how` is native, storage or no.

    `edge` holds t and r where the frontier runs above and to the right; `here` marks the reader's own choice.
    """

    state: int
    how: str
    text: str
    why: str = ""
    edge: str = ""
    here: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """A row of cells; `id` is what a press reports."""

    id: str
    name: str
    note: str
    strong: bool
    cells: Sequence[Cell]


def short(spare_bytes: float) -> str:
    """A need or a surplus in GiB, short enough for a cell on a phone; nothing from 1,000 GiB on."""
    gib = abs(spare_bytes) / words.GIB
    return f"{gib:.0f}" if gib < 999.5 else ""


def frontier(fits: np.ndarray) -> list[list[str]]:
    """Where what fits ends: t when the row above does not fit, r when the column to the right does not.

    `fits` is [row, column], the first row on top.
    """
    above = np.vstack([np.zeros_like(fits[:1]), fits[:-1]])
    right = np.hstack([fits[:, 1:], np.zeros_like(fits[:, :1])])
    top, side = fits & ~above, fits & ~right
    return np.char.add(np.where(top, "t", ""), np.where(side, "r", "")).tolist()


def context_rows(
    contexts: Sequence[int],
    users: Sequence[int],
    verdict: np.ndarray,
    headroom_bytes: np.ndarray,
    here: tuple[int, int],
) -> list[Row]:
    """Context across, users upwards. `verdict` and `headroom_bytes` are [user, context], fewest users first.

    `here` is the context and the users chosen; the cell next below it is marked.
    """
    state, spare = verdict[::-1].astype(int), headroom_bytes[::-1]
    edges = frontier(state > 0)
    column = max(int(np.searchsorted(contexts, here[0], side="right")) - 1, 0)
    row = len(users) - 1 - max(int(np.searchsorted(users, here[1], side="right")) - 1, 0)
    return [
        Row(
            str(count),
            f"{count:,}",
            "",
            False,
            [
                Cell(
                    int(state[i, k]),
                    "native",
                    MARKS[state[i, k]] + short(spare[i, k]),
                    f"{words.count(tokens, 'token')} × {words.count(count, 'user')}: "
                    f"{words.gib(abs(spare[i, k]))} {'to spare' if spare[i, k] >= 0 else 'short'}",
                    edges[i][k],
                    (i, k) == (row, column),
                )
                for k, tokens in enumerate(contexts)
            ],
        )
        for i, count in enumerate(reversed(users))
    ]


def format_cells(
    ways: Sequence[Support],
    verdict: np.ndarray,
    spare_bytes: np.ndarray,
    here: int | None,
    refused: Sequence[str],
) -> list[Cell]:
    """One GPU over all weight formats; `here` is the column of the reader's own choice.

    `refused` says why a format is not possible where `spare_bytes` is infinite.

    Written for speed: over a thousand of these cells are made at every move of a slider.
    """
    possible = np.isfinite(spare_bytes)
    gib = np.rint(np.abs(np.where(possible, spare_bytes, 0)) / words.GIB).astype(np.int64).tolist()
    cells = []
    for k, (how, state, whole, can, why) in enumerate(
        zip(ways, verdict.tolist(), gib, possible.tolist(), refused, strict=True)
    ):
        if how.state == "no":
            cells.append(Cell(0, "no", "–", how.reason, "", k == here))
        elif not can:
            cells.append(Cell(0, "no", "–", why, "", k == here))
        else:
            text = f"{MARKS[state]} {whole:,}{' s' if how.state == 'storage' else ''}"
            cells.append(Cell(state, how.state, text, how.reason, "", k == here))
    return cells
