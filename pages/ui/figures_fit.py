"""Figures of the Fit page as plain Plotly dicts: numbers in, dict out. No Streamlit, no own colours."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

MARKS = ("✕", "≈", "✓")  # does not fit, tight, fits


def frontier(fitting: Sequence[int]) -> tuple[list[float], list[float]]:
    """The stair between what fits and what does not, in cell coordinates.

    `fitting[j]` is how many rows fit in column j, counted from the bottom.
    """
    x: list[float] = []
    y: list[float] = []
    for column, rows in enumerate(fitting):
        x += [column - 0.5, column + 0.5]
        y += [rows - 0.5, rows - 0.5]
    return x, y


def _cell(state: int, spare_gib: float) -> str:
    """A cell's text, short enough for a phone: GiB to spare, or short with a minus; ≈ marks tight."""
    size = abs(spare_gib)
    number = f"{size / 1000:.0f}k" if size >= 1000 else f"{size:.0f}"
    return ("≈" if state == 1 else "−" if state == 0 else "") + number


def context_by_users(
    contexts: Sequence[int],
    users: Sequence[int],
    verdict: np.ndarray,
    headroom_gib: np.ndarray,
    here: tuple[int, int],
    context_texts: Sequence[str],
) -> dict[str, Any]:
    """Context across, users upwards; each cell says whether it fits and what is to spare or short [GiB].

    `verdict` and `headroom_gib` are [user, context]; `contexts` and `users` are powers of two.
    """
    text = [
        [_cell(int(state), float(spare)) for state, spare in zip(states, spares, strict=True)]
        for states, spares in zip(verdict, headroom_gib, strict=True)
    ]
    hover = [
        [
            f"{t} tokens × {u:,} users: {abs(spare):,.1f} GiB {'to spare' if spare >= 0 else 'short'}"
            for t, spare in zip(context_texts, spares, strict=True)
        ]
        for u, spares in zip(users, headroom_gib, strict=True)
    ]
    stair_x, stair_y = frontier([int(n) for n in (verdict > 0).sum(axis=0)])
    at_x = math.log2(here[0] / contexts[0])
    at_y = math.log2(here[1] / users[0])
    return {
        "data": [
            {
                "type": "heatmap",
                "z": verdict.astype(int).tolist(),
                "zmin": 0,
                "zmax": 2,
                "showscale": False,
                "xgap": 2,
                "ygap": 2,
                "text": text,
                "texttemplate": "%{text}",
                "hovertext": hover,
                "hovertemplate": "%{hovertext}<extra></extra>",
                "name": "GiB to spare or short",
            },
            {
                "type": "scatter",
                "mode": "lines",
                "x": stair_x,
                "y": stair_y,
                "line": {"width": 4},
                "name": "Fits below this line",
                "hoverinfo": "skip",
            },
            {
                "type": "scatter",
                "mode": "markers",
                "x": [at_x],
                "y": [at_y],
                "marker": {"size": 30, "symbol": "circle-open", "line": {"width": 4}},
                "name": "You are here",
                "hoverinfo": "skip",
            },
        ],
        "layout": {
            "height": 110 + 34 * len(users),
            "margin": {"l": 60, "r": 10, "t": 40, "b": 50},
            "xaxis": {
                "title": {"text": "Context per user (tokens)"},
                "tickvals": list(range(len(contexts))),
                "ticktext": list(context_texts),
                "range": [-0.5, len(contexts) - 0.5],
                "fixedrange": True,
                "showgrid": False,
                "zeroline": False,
            },
            "yaxis": {
                "title": {"text": "Users at once"},
                "tickvals": list(range(len(users))),
                "ticktext": [f"{u:,}" for u in users],
                "range": [-0.5, len(users) - 0.5],
                "fixedrange": True,
                "showgrid": False,
                "zeroline": False,
            },
            "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
        },
    }
