"""From a config.json to parameters and cache elements."""

from calculators.architecture.counts import (
    cache_elements,
    cache_elements_by_kind,
    kv_elements_per_token_growing,
    params_active,
    params_by_group,
    params_total,
)
from calculators.architecture.layout import Architecture, ConfigRefused
from calculators.architecture.reader import read_config

__all__ = [
    "Architecture",
    "ConfigRefused",
    "cache_elements",
    "cache_elements_by_kind",
    "kv_elements_per_token_growing",
    "params_active",
    "params_by_group",
    "params_total",
    "read_config",
]
