"""Number formats of weights and caches in true bits."""

from calculators.formats.native import FormatRefused
from calculators.formats.storage import stored_bytes
from calculators.formats.weights import WeightBytes, bits_per_weight, tensor_bytes, weights_bytes

__all__ = [
    "FormatRefused",
    "WeightBytes",
    "bits_per_weight",
    "stored_bytes",
    "tensor_bytes",
    "weights_bytes",
]
