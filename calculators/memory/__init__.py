"""Memory per GPU: one function over layer classes, engines as parameter sets, verdict with an error band."""

from calculators.memory.deployment import (
    DOES_NOT_FIT,
    FITS,
    TIGHT,
    VERDICTS,
    Deployment,
    GpuMemory,
    Options,
    Piece,
    Report,
    Term,
)
from calculators.memory.matrix import FitMatrix, best_fleet, fit_matrix
from calculators.memory.report import (
    band_ends,
    cache_pool_bytes,
    estimate,
    memory_share,
    pool_bytes,
    verdict_of,
)
from calculators.memory.search import (
    Change,
    Fleet,
    changes_that_fit,
    first_change_that_fits,
    fleets,
    gpus_needed,
    max_concurrency_that_fits,
    max_model_len_that_fits,
    on_fleet,
)
from calculators.memory.split import allowed_tensor_parallel_sizes

__all__ = [
    "DOES_NOT_FIT",
    "FITS",
    "TIGHT",
    "VERDICTS",
    "Change",
    "Deployment",
    "FitMatrix",
    "Fleet",
    "GpuMemory",
    "Options",
    "Piece",
    "Report",
    "Term",
    "allowed_tensor_parallel_sizes",
    "band_ends",
    "best_fleet",
    "cache_pool_bytes",
    "changes_that_fit",
    "estimate",
    "first_change_that_fits",
    "fit_matrix",
    "fleets",
    "gpus_needed",
    "max_concurrency_that_fits",
    "max_model_len_that_fits",
    "memory_share",
    "on_fleet",
    "pool_bytes",
    "verdict_of",
]
