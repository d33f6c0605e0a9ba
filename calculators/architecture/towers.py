"""Vision and audio towers, projectors, encoders and encoder-decoders."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from calculators.architecture.keys import Fields
from calculators.architecture.layout import Architecture, Weight

ENCODERS: Final[dict[str, Callable[[Fields], Architecture]]] = {}


def tower_weights(root: Fields, text: Fields) -> tuple[Weight, ...]:
    """Everything outside the language model."""
    return ()
