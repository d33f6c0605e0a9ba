"""Number types of the matrix units, read from the spec frame: peaks by accumulator, sparse peaks, support."""

from __future__ import annotations

import re
from functools import cache

import numpy as np
import pandas as pd

from calculators.roofline import sparse_peak
from pages.ui.compare_choices import Precision
from pages.ui.compare_select import floats
from pages.ui.compare_text import DASH

NATIVE = "native"
STORAGE_ONLY = "storage only"


def type_states(rows: pd.DataFrame, precision: Precision) -> list[str]:
    """Per card: does it compute in this type?

    "native" with a published peak, "storage only" when its units are listed as lacking the type (weights may
    be stored in it and are widened to compute), a dash when neither is known.
    """
    known, missing = rows[precision.column].notna(), rows["unsupported_dtypes"]
    return [
        NATIVE if has else STORAGE_ONLY if precision.id in types(lacks) else DASH
        for has, lacks in zip(known, missing, strict=True)
    ]


def sparse_values(rows: pd.DataFrame, precision: Precision) -> np.ndarray:
    """The 2:4-sparse peak per card, NaN where the type has none."""
    applies = [precision.id in types(listed) for listed in rows["sparsity_applies_to"]]
    return sparse_peak(floats(rows[precision.column]), floats(rows["sparsity_multiplier"]), applies)


def fp16_accumulate(rows: pd.DataFrame, precision: Precision) -> np.ndarray:
    """The FP16-accumulate peak per card where it is above the FP32-accumulate one, else NaN."""
    if precision.fp16acc_column is None:
        return np.full(len(rows), np.nan)
    other, dense = floats(rows[precision.fp16acc_column]), floats(rows[precision.column])
    with np.errstate(invalid="ignore"):
        return np.where(other > dense * 1.01, other, np.nan)


def types(published: object) -> set[str]:
    """The number types in a published list; a remark in brackets does not count, a missing list is empty."""
    return set() if pd.isna(published) else set(_words(str(published)))


@cache
def _words(published: str) -> frozenset[str]:
    return frozenset(re.findall(r"[a-z0-9]+", re.sub(r"\([^)]*\)", "", published.lower())))
