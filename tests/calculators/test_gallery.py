"""Exact parameter and cache counts on a gallery of configs over more than 100 families.

The configs have the shapes published on the Hub: full and short form, nested text configs, omitted keys that
rely on class defaults, tied and untied heads, odd head widths, windows, experts. The expected figures come
from building each model class of transformers 5.24.0 on the meta device (parameters counted once after tying)
and from the shapes of its own cache objects; a windowed layer holds min(tokens, sliding_window) tokens.
"""

import csv
import json
from pathlib import Path

import pytest

from calculators.architecture import (
    cache_elements,
    kv_elements_per_token_growing,
    params_active,
    params_total,
    read_config,
)

TRUTH = Path(__file__).parent.parent / "truth"
ROWS = list(csv.DictReader((TRUTH / "gallery.csv").open(encoding="utf-8")))


def _read(row):
    return read_config(json.loads((TRUTH / "gallery" / row["file"]).read_text(encoding="utf-8")))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['file']} [{row['source']}]")
def test_counts_are_exact(row):
    arch = _read(row)
    got = {
        "params_total": params_total(arch),
        "params_active": params_active(arch),
        "kv_elements_per_token_growing": kv_elements_per_token_growing(arch),
        "cache_elements_8192": cache_elements(arch, 8192),
    }
    want = {name: int(row[name]) for name in got if row[name]}
    assert {name: int(got[name]) for name in want} == want


def test_the_gallery_is_wide():
    assert len(ROWS) >= 150
    assert len({row["model_type"] for row in ROWS}) >= 100
