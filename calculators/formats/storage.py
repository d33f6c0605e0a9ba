"""Bytes of one tensor in one storage."""

from __future__ import annotations

from math import ceil

from gpu_data.format_schemas import Storage


def stored_bytes(
    out_features: int, in_features: int, storage: Storage, fallback: Storage | None = None
) -> float:
    """Bytes of one (out_features, in_features) tensor in this storage; the formula stands in `Storage`.

    A row length the storage cannot hold goes to `fallback`, or else to the storage's own fallback.
    """
    while in_features % storage.row_multiple:
        storage = fallback or storage.fallback or storage
        fallback = None
    size = out_features * in_features * storage.bits / 8
    if storage.block is not None:
        blocks = ceil(out_features / storage.block[0]) * ceil(in_features / storage.block[1])
        size += blocks * storage.block_bytes
    return size + out_features * storage.out_bytes + in_features * storage.in_bytes + storage.tensor_bytes
