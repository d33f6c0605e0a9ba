"""Loads the slices (MIG) that a GPU can be cut into; data in mig.toml."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, PositiveFloat, PositiveInt

FILE = Path(__file__).parent / "mig.toml"


class Slice(BaseModel):
    """One kind of slice: parts of the compute and of the memory, how many fit, memory seen in it [GiB]."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    compute: PositiveInt
    memory: PositiveInt
    most: PositiveInt
    gib: PositiveFloat | None = None


class Card(BaseModel):
    """GPUs that are cut alike; memory comes in `parts`.

    `profiles_url` is the section that lists the slices; the memory's source is that of what is seen in each.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    gpus: tuple[str, ...]
    parts: PositiveInt
    slices: tuple[Slice, ...]
    profiles_url: Annotated[str, Field(pattern=r"^https://[^#\s]+#[a-z0-9-]+$")]
    memory_source: str = ""
    memory_url: str = ""


@cache
def guide() -> tuple[str, str]:
    """(title, address) of the list of profiles."""
    found = tomllib.loads(FILE.read_text(encoding="utf-8"))["guide"]
    return found["title"], found["url"]


@cache
def cards() -> Mapping[str, Card]:
    """How each GPU is cut, by GPU id; GPUs that cannot be cut are absent."""
    rows = tomllib.loads(FILE.read_text(encoding="utf-8"))["card"]
    return {gpu: card for card in (Card.model_validate(row) for row in rows) for gpu in card.gpus}


UNLISTED = "sizes not listed"  # in the guide, of a GPU that can be cut


def profiles(gpu_id: str) -> str:
    """The slices of a GPU in words: how many at most of which name and memory; nothing without MIG."""
    card = cards().get(gpu_id)
    if card is None:
        return ""
    return ", ".join(
        f"{one.most} × {one.name}" + (f" ({one.gib:g} GiB)" if one.gib else "") for one in card.slices
    )
