"""Facts about GPUs, models and number formats, each with its source."""
