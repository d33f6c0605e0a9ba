"""Loads who makes the common judgements about GPUs; data in judgements.toml."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

FILE = Path(__file__).parent / "judgements.toml"


class Source(BaseModel):
    """A page that makes judgements: its title and address."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    title: Annotated[str, Field(min_length=1)]
    url: Annotated[str, Field(pattern=r"^https://\S+$")]
    judgements: Annotated[tuple[str, ...], Field(min_length=1)]


@cache
def sources() -> tuple[Source, ...]:
    """Every page."""
    rows = tomllib.loads(FILE.read_text(encoding="utf-8"))["source"]
    return tuple(Source.model_validate(row) for row in rows)


def sources_of(judgement: str) -> tuple[Source, ...]:
    """The pages that make one judgement."""
    return tuple(one for one in sources() if judgement in one.judgements)
