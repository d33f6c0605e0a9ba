"""Number formats of weights and caches in true bits."""

from calculators.formats.weights import (
    WeightBytes,
    bits_per_weight,
    stored_bytes,
    tensor_bytes,
    weights_bytes,
)

__all__ = ["WeightBytes", "bits_per_weight", "stored_bytes", "tensor_bytes", "weights_bytes"]
