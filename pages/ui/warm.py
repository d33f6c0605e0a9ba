"""One warm-up per process, so that no reader pays for it twice."""

from __future__ import annotations

import gc
from functools import cache

from pages.ui import catalogue


@cache
def once() -> None:
    """Load what every page needs, then move it out of the garbage collector's sight.

    Streamlit collects after every run. With pandas and the catalogues in the old generation that
    costs about 100 ms a run; frozen, they are never looked at again, and new garbage is still collected.
    """
    catalogue.known()
    catalogue.model_names()
    gc.collect()
    gc.freeze()
