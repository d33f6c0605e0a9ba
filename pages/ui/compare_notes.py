"""The sentences beside the charts of the Compare page: one takeaway, then caveats."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from calculators.roofline import relative_to
from pages.ui.compare_choices import Precision
from pages.ui.compare_select import Choice
from pages.ui.compare_text import listed, number, short_name
from pages.ui.compare_types import STORAGE_ONLY, type_states


def name_at(choice: Choice, position: int) -> str:
    """The short name of the card in that row."""
    return short_name(str(choice.rows["name"].iloc[position]))


def nothing_to_show(what: str) -> str:
    """The takeaway when no chosen card has the figure."""
    return f"None of the chosen cards has a published figure for {what}: loosen a filter or pin a card."


def leaders(choice: Choice, shown: Sequence[int], values: np.ndarray, what: str, unit: str) -> str:
    """Who leads, and how far the pinned cards lie apart. `shown` are the rows drawn."""
    if not shown:
        return nothing_to_show(what)
    best = max(values[i] for i in shown)
    first = sorted((i for i in shown if values[i] == best), key=lambda i: not choice.is_pinned(i))
    names = [name_at(choice, i) for i in first]
    verb = "leads" if len(names) == 1 else "lead"
    text = f"Of the cards shown, {listed(names, 4)} {verb} with {number(best)} {unit}."
    pinned = sorted((i for i in shown if choice.is_pinned(i)), key=lambda i: -values[i])
    if len(pinned) > 1 and values[pinned[0]] > values[pinned[-1]]:
        top, last = pinned[0], pinned[-1]
        ratio = float(relative_to(values[top], values[last]))
        text += (
            f" Among your pinned cards {name_at(choice, top)} ({number(values[top])}) has {ratio:.1f} × the "
            f"{what} of {name_at(choice, last)} ({number(values[last])})."
        )
    return text


def ridge_range(
    choice: Choice, shown: Sequence[int], ridge: np.ndarray, batch: np.ndarray, precision: Precision
) -> str:
    """Which card needs the most work per byte and which the least."""
    order = sorted(shown, key=lambda i: ridge[i])
    low, high = order[0], order[-1]
    return (
        f"{name_at(choice, high)} needs the most work per byte to be kept busy ({ridge[high]:.0f} FLOP per "
        f"byte, about {batch[high]:.0f} tokens per decode step with {precision.label} weights), "
        f"{name_at(choice, low)} the least ({ridge[low]:.0f}). Below a card's ridge point its bandwidth, not "
        "its TFLOPS, sets the speed."
    )


def size_against_speed(
    choice: Choice, shown: Sequence[int], memory: np.ndarray, bandwidth: np.ndarray
) -> str:
    """The largest and the fastest memory, and a pinned pair that shows they are different things."""
    if not shown:
        return nothing_to_show("memory and bandwidth")
    largest = max(shown, key=lambda i: (memory[i], bandwidth[i]))
    fastest = max(shown, key=lambda i: (bandwidth[i], memory[i]))
    text = f"Largest memory drawn: {name_at(choice, largest)} ({number(memory[largest])} GB)."
    text += f" Fastest: {name_at(choice, fastest)} ({number(bandwidth[fastest])} GB/s)."
    pinned = [i for i in shown if choice.is_pinned(i)]
    pairs = [(a, b) for a in pinned for b in pinned if memory[a] > memory[b] and bandwidth[a] < bandwidth[b]]
    if pairs:
        a, b = max(pairs, key=lambda p: bandwidth[p[1]] / bandwidth[p[0]])
        text += (
            f" More memory is not more speed: {name_at(choice, a)} reads its {number(memory[a])} GB at "
            f"{number(bandwidth[a])} GB/s, {name_at(choice, b)} its {number(memory[b])} GB at "
            f"{number(bandwidth[b])} GB/s."
        )
    return text


def accumulator(choice: Choice, shown: Sequence[int], precision: Precision, doubled: np.ndarray) -> list[str]:
    """Which accumulator the peaks hold for, and which bars have a faster one in brackets."""
    notes = [f"Dense peaks with {'INT32' if precision.unit == 'TOPS' else 'FP32'} accumulate."]
    names = [name_at(choice, i) for i in shown if not np.isnan(doubled[i])]
    if names:
        run = "runs" if len(names) == 1 else "run"
        notes[0] += (
            f" Hatched: {listed(names, 5)} {run} {precision.label} at half rate with FP32 accumulate, which "
            "training and most inference use; the figure in brackets needs FP16 accumulate and is not ranked."
        )
    return notes


def lacking(choice: Choice, precision: Precision) -> list[str]:
    """The chosen cards whose units do not have the type; pinned ones are named first."""
    states = type_states(choice.rows, precision)
    absent = [name_at(choice, i) for i, state in enumerate(states) if state == STORAGE_ONLY]
    if not absent:
        return []
    return [
        f"No {precision.label} units: {listed(absent, 6)}. Such a card can at best store {precision.label} "
        "weights (less to move, no faster arithmetic) and computes in a wider type."
    ]


def left_out(choice: Choice, drawn: int, cut: int, what: str) -> list[str]:
    """How many cards are not drawn: for lack of room, or because the figure is not published."""
    notes = []
    if cut:
        notes.append(
            f"{drawn} of {drawn + cut} cards drawn: the pinned ones and the highest. Filter or pin to see "
            "others."
        )
    unknown = len(choice.rows) - drawn - cut
    if unknown:
        have = "has" if unknown == 1 else "have"
        notes.append(f"{unknown} of the chosen cards {have} no published {what} and so no mark here.")
    return notes


def numbered(key: dict[int, str]) -> list[str]:
    """What the numbers in a crowded scatter stand for."""
    return [f"Numbered points: {'; '.join(f'{n} = {name}' for n, name in key.items())}."] if key else []
