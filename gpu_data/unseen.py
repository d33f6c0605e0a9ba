"""How much further an estimate of speed may be off on a vendor or architecture that was never measured."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

FILE = Path(__file__).parent / "unseen.toml"


class Spread(BaseModel):
    """Of one table of measurements: `log_spread` is added to a band's ends in quadrature, as logarithms."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    table: Literal["serving", "llamacpp", "training"]
    log_spread: Annotated[float, Field(gt=0, lt=3)]
    rows: Annotated[int, Field(ge=10)]
    rests_on: Annotated[str, Field(min_length=10)]


@cache
def spreads() -> Mapping[str, Spread]:
    """By table of measurements."""
    rows = [Spread(**row) for row in tomllib.loads(FILE.read_text("utf-8"))["spread"]]
    return {row.table: row for row in rows}
