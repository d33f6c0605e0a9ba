"""Reads config.json files and prints what the architecture reader makes of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from calculators.architecture import (
    ConfigRefused,
    cache_elements,
    kv_elements_per_token_growing,
    params_active,
    params_total,
    read_config,
)

_KEYS = ("params_total", "params_active", "kv_elements_per_token_growing", "cache_elements")


def describe(path: Path, tokens: int) -> dict[str, Any]:
    """One file's counts: parameters, elements per token that keep growing, cache elements at `tokens` tokens.

    Never raises for a bad file: `refused` says what is wrong, and the numbers are null.
    """
    found: dict[str, Any] = {"file": str(path), "model_type": None, **dict.fromkeys(_KEYS)}
    found |= {"assumptions": [], "refused": None}
    twice: dict[str, None] = {}
    try:
        config = json.loads(
            path.read_text(encoding="utf-8-sig"), object_pairs_hook=lambda pairs: _object(pairs, twice)
        )
    except OSError as error:
        return found | {"refused": f"file: cannot be read ({error.strerror or error})"}
    except (ValueError, RecursionError) as error:
        return found | {"refused": f"file: is not JSON ({error})"}
    if not isinstance(config, dict):
        return found | {"refused": "file: does not hold a JSON object"}
    declared = config.get("model_type")
    found["model_type"] = declared if isinstance(declared, str) else None
    try:
        arch = read_config(config)
    except ConfigRefused as error:
        return found | {"refused": str(error)}
    except (ArithmeticError, LookupError, RecursionError, TypeError, ValueError) as error:
        return found | {"refused": f"config: cannot be read ({type(error).__name__}: {error})"}
    return found | {
        "model_type": found["model_type"] or arch.model_type,
        "params_total": params_total(arch),
        "params_active": params_active(arch),
        "kv_elements_per_token_growing": kv_elements_per_token_growing(arch),
        "cache_elements": int(cache_elements(arch, tokens)),
        "assumptions": [
            *(f"{key!r} is written twice: the last value is read" for key in twice),
            *arch.assumptions,
        ],
    }


def _object(pairs: list[tuple[str, Any]], twice: dict[str, None]) -> dict[str, Any]:
    """A JSON object as `json` builds it; keys that come again with another value are added to `twice`."""
    found = dict(pairs)
    if len(found) < len(pairs):
        twice |= {key: None for key, value in pairs if found[key] != value}
    return found
