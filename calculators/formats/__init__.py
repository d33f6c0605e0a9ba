"""Number formats of weights and caches in true bits."""

from calculators.formats.kv import kv_bytes_per_element
from calculators.formats.native import FormatRefused
from calculators.formats.storage import stored_bytes
from calculators.formats.support import Support, engine_layout, support
from calculators.formats.weights import WeightBytes, bits_per_weight, tensor_bytes, weights_bytes

__all__ = [
    "FormatRefused",
    "Support",
    "WeightBytes",
    "bits_per_weight",
    "engine_layout",
    "kv_bytes_per_element",
    "stored_bytes",
    "support",
    "tensor_bytes",
    "weights_bytes",
]
