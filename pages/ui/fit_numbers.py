"""The numbers of a task that stand beside its verdict on the Fit page, below the two scrubbers."""

from __future__ import annotations

from collections.abc import Mapping

from calculators.scenario import Scenario
from pages.ui import link
from pages.ui.asked import Asked

NUMBERS: Mapping[str, Mapping[str, Asked]] = {
    "serve": {
        "gpu_count": Asked("GPUs of each kind"),
        "prompt_tokens": Asked("Prompt tokens"),
        "output_tokens": Asked("Answer tokens"),
    },
    "finetune": {
        "samples": Asked("Samples"),
        "sample_tokens": Asked("Tokens per sample"),
        "epochs": Asked("Epochs"),
        "gpu_count": Asked("GPUs of each kind"),
    },
    "train": {
        "train_tokens": Asked("Tokens (billions)", 10**9),
        "micro_batch": Asked("Micro-batch"),
        "deadline_days": Asked("Finish in (days)", empty="no deadline"),
    },
}
SCRUBBERS: Mapping[str, Mapping[str, str]] = {  # thumb -> field of the Scenario
    "serve": {"context": "max_model_len", "users": "concurrency"},
    "finetune": {"context": "seq_len", "users": "micro_batch"},
    "train": {"context": "seq_len", "users": "train_gpus"},
}


def live(scenario: Scenario) -> tuple[str, ...]:
    """The link's parameters that are set on the page itself, not in the sidebar."""
    fields = (*SCRUBBERS[scenario.task].values(), *NUMBERS[scenario.task], "map_gpu")
    return tuple(link.BY_FIELD[field].name for field in fields)
