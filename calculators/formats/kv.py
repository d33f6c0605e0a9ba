"""Bytes of cached keys and values."""

from __future__ import annotations

from gpu_data.format_schemas import KvFormat


def kv_bytes_per_element(fmt: KvFormat, head_dim: int) -> float:
    """Bytes of one cached number, its share of the scale included [byte per element].

    bits / 8 + block_bytes / block. A format without a block keeps one scale for each row of `head_dim`
    numbers; scales for a whole tensor take no room. With MLA the row is the latent's width.
    """
    scale = fmt.block_bytes / (fmt.block or head_dim) if fmt.block_bytes else 0.0
    return fmt.bits / 8 + scale
