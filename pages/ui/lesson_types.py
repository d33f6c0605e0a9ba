"""What a picture of the Learn page is: bars along the stops of one slider."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from calculators.scenario import Scenario
from pages.ui import link


@dataclass(frozen=True)
class Picture:
    """Bars at every stop of one slider.

    `values` [stop, bar, part] in one unit, `said` [stop][bar] the same in words, `scale` [stop] the length of
    the whole width. `marks` are lines at a value with a word; `links` [stop] what opens in Fit.
    """

    stops: tuple[str, ...]
    start: int
    parts: tuple[str, ...]
    bars: tuple[str, ...]
    values: np.ndarray
    said: Sequence[Sequence[str]]
    scale: np.ndarray
    sentences: tuple[str, ...]
    links: tuple[tuple[str, Scenario], ...]
    marks: tuple[tuple[float, str], ...] = ()
    source: str = ""

    def data(self) -> dict[str, Any]:
        """What the browser takes: shares of the width instead of values, addresses instead of scenarios."""
        shares = self.values / self.scale[:, None, None]
        return {
            "stops": self.stops,
            "start": self.start,
            "parts": self.parts,
            "bars": self.bars,
            "shares": np.round(shares, 4).tolist(),
            "said": self.said,
            "sentences": self.sentences,
            "links": [[text, f"fit?{link.query_string(scenario)}"] for text, scenario in self.links],
            "marks": [[round(at / self.scale[0], 4), text] for at, text in self.marks],
            "source": self.source,
        }
