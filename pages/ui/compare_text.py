"""Numbers and names as the Compare page writes them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import pandas as pd

DASH: Final = "–"
# Words that a name can lose beside a marker: the vendor is the marker's symbol.
BRANDS: Final = ("NVIDIA", "AMD", "Intel", "GeForce", "Instinct", "Radeon")


def number(value: float) -> str:
    """A figure with about four digits and thousands separated: 3,350 · 989.4 · 70.5 · 1.41."""
    if pd.isna(value):
        return DASH
    digits = 0 if abs(value) >= 1000 else 1 if abs(value) >= 10 else 2 if abs(value) >= 0.1 else 3
    text = f"{value:,.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def times(ratio: float) -> str:
    """A multiple of the baseline: 1.64×; nothing when it is not known."""
    return "" if pd.isna(ratio) else f"{ratio:.2f}×"


def short_name(name: str) -> str:
    """A card's name without vendor, brand and remarks in brackets."""
    words = [w for w in re.sub(r"\s*\([^)]*\)", "", name).split() if w not in BRANDS]
    return " ".join(words)


def listed(names: Sequence[str], most: int = 8) -> str:
    """Names joined in a sentence, the tail counted: "A, B and 3 more"."""
    if len(names) > most:
        return f"{', '.join(names[:most])} and {len(names) - most} more"
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
