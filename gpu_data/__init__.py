"""Facts about GPUs, models and number formats, each with its source."""

from gpu_data.columns import GPU_COLUMNS, Column
from gpu_data.frame import provenance_frame, spec_frame
from gpu_data.gpus import DEFAULT_GPU_IDS, check_gpus

__all__ = ["DEFAULT_GPU_IDS", "GPU_COLUMNS", "Column", "check_gpus", "provenance_frame", "spec_frame"]
