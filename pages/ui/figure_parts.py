"""What the figures of every page share: ticks, names on two lines, and how a chart behaves."""

from __future__ import annotations

import math
import textwrap
from typing import Any, Final

NAME_CHARACTERS: Final = 21  # longer names take two lines, so that a phone keeps room for the bars
MOST_CHARACTERS: Final = 28  # of a line that cannot be broken
CONFIG: Final[dict[str, Any]] = {"displayModeBar": False, "scrollZoom": False, "doubleClick": "reset"}


def two_lines(name: str) -> str:
    """A name on at most two lines, cut in its middle; a third would run into the next bar."""
    joined = name.replace("· ", "·\u00a0")
    lines = textwrap.wrap(joined, NAME_CHARACTERS, break_on_hyphens=False, break_long_words=False) or [name]
    first, rest = lines[0], " ".join(lines[1:])
    if len(first) > MOST_CHARACTERS:
        first = f"{first[: MOST_CHARACTERS - 1]}…"
    if len(rest) > MOST_CHARACTERS:
        rest = f"…{rest[1 - MOST_CHARACTERS :]}"
    return f"{first}<br>{rest}" if rest else first


def even_ticks(axis_max: float) -> list[float]:
    """At most five round ticks from 0 to the largest value; none under the room for the numbers."""
    rough = axis_max / 4
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(m * power for m in (1, 2, 5, 10) if m * power >= rough * (1 - 1e-9))
    return [step * i for i in range(int(axis_max / step + 1e-9) + 1)]
