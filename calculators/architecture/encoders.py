"""Encoders (BERT and kin) and encoder-decoders (T5, BART, Whisper and kin).

Source: the modelling classes of transformers 5.24.0, compared tensor by tensor on the meta device.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from calculators.architecture.keys import Fields
from calculators.architecture.layout import Architecture

ENCODERS: Final[dict[str, Callable[[Fields], Architecture]]] = {}
