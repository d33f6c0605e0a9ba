"""Numbers in words: the only place where bytes, tokens and names become text."""

from __future__ import annotations

import re
from collections.abc import Sequence

GIB = 2**30


def gib(value_bytes: float) -> str:
    """Bytes as GiB, three figures or so."""
    value = value_bytes / GIB
    return f"{value:,.1f} GiB" if abs(value) >= 10 else f"{value:,.2f} GiB"


def room(state: int, headroom_bytes: float) -> str:
    """What a verdict (0 does not fit, 1 tight, 2 fits) leaves: 2.1 GiB to spare, or how far it is over."""
    size = gib(abs(headroom_bytes))
    if headroom_bytes >= 0:
        return f"{size} to spare"
    return f"{size} over by the estimate, inside its error" if state == 1 else f"{size} short"


def count(number: float, noun: str) -> str:
    """A whole number with its noun: 1 token, 8,192 tokens."""
    return f"{int(number):,} {noun}" if int(number) == 1 else f"{int(number):,} {noun}s"


def setup(boards: int, copies: int, name: str = "", *notes: str) -> str:
    """Some GPUs of a kind, in some copies of a model: 2 copies of 2 × A40 48GB (TP2); without a name GPUs."""
    alone = boards == 1 and copies > 1
    number = copies if alone else boards
    each = f"{number:,} × {name}" if name else count(number, "GPU")
    said = [note for note in ("a copy on each" if alone else "", *notes) if note]
    bracket = f" ({', '.join(said)})" if said else ""
    return f"{each}{bracket}" if alone or copies == 1 else f"{copies:,} copies of {each}{bracket}"


def short_count(number: float) -> str:
    """A power-of-two count for a tick: 8k, 1M."""
    for size, letter in ((2**20, "M"), (2**10, "k")):
        if number >= size and number % (size // 2 or 1) == 0:
            return f"{number / size:g}{letter}"
    return f"{number:g}"


def billions(params: float) -> str:
    """Parameters in billions or millions: 70.6B, 335M."""
    return f"{params / 1e9:,.1f}B" if params >= 1e9 else f"{params / 1e6:,.0f}M"


def listed(names: Sequence[str], most: int = 6) -> str:
    """Names in a row; a long list is cut and says so."""
    shown = list(names[:most])
    if len(names) > most:
        shown.append(f"{len(names) - most} more")
    if len(shown) < 2:
        return "".join(shown)
    return ", ".join(shown[:-1]) + " and " + shown[-1]


MOST_FOREIGN = 60  # characters of a name that somebody else chose
MOST_SAID = 400  # characters of a sentence that may quote one


def cut(text: str, most: int = MOST_FOREIGN) -> str:
    """Foreign text, short enough to be shown."""
    return text if len(text) <= most else text[: most - 1] + "…"


def either(names: Sequence[str]) -> str:
    """Names to choose from: a or b."""
    return " or ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def plain(text: str) -> str:
    """A sentence that may quote a pasted config, with nothing left that Markdown would act on."""
    short = cut(" ".join(text[: 4 * MOST_SAID].split()), MOST_SAID)
    return re.sub(r"([\\`*_{}\[\]()<>#$~|:!])", r"\\\1", short)


_SPANS = (
    (365.25 * 2, 365.25, "years"),
    (2.0, 1.0, "days"),
    (1 / 24, 1 / 24, "hours"),
    (0, 1 / 1440, "minutes"),
)


def span(days: float) -> str:
    """A length of time: 42 minutes, 7.5 hours, 18.7 days, 2.3 years."""
    unit, noun = next((unit, noun) for start, unit, noun in _SPANS if days >= start)
    return f"{three(days / unit)} {noun}"


def hours_to_span(days: float) -> str:
    """What hours are multiplied or divided by to give the number of `span`: " / 24", " × 60", nothing."""
    unit = next(unit for start, unit, _ in _SPANS if days >= start)
    hours = round(24 * unit, 6)
    return "" if hours == 1 else f" / {hours:,.0f}" if hours > 1 else f" × {1 / hours:.0f}"


def span_band(days: float, low: float, high: float) -> str:
    """A length of time with its 80 % band in the same unit: 18.7 days (80 %: 17.1 to 40.2)."""
    unit, noun = next((unit, noun) for start, unit, noun in _SPANS if days >= start)
    return f"{three(days / unit)} {noun} (80\u00a0%: {three(low / unit)} to {three(high / unit)})"


def three(number: float) -> str:
    """A number with two or three figures: 0.42, 7.5, 18.7, 8,640."""
    if number >= 100:
        return f"{number:,.0f}"
    return f"{number:.1f}" if number >= 1 else f"{number:.2g}"


def large(number: float) -> str:
    """A large count in thousands, millions, billions or trillions: 300B, 15.6T."""
    for size, letter in ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:.4g}{letter}"
    return f"{number:.4g}"
