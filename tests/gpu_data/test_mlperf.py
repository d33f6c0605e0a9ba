"""What the rules of MLPerf Inference fix: transcribed values, and an entry for every benchmark."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from gpu_data.benchmarks import inference_frame
from gpu_data.mlperf import MlperfWorkload, mlperf_workload, mlperf_workloads
from gpu_data.models import model_ids


@pytest.mark.parametrize(
    ("benchmark", "tokens", "limits"),
    [
        pytest.param(
            "llama2-70b-99.9", 294.45, {"Server": (2000, 200), "Interactive": (450, 40)},
            id="mlcommons-inference-llama2-70b-README-and-mlperf.conf",
        ),
        pytest.param(
            "mixtral-8x7b", 144.84, {"Server": (2000, 200)},
            id="mlcommons-inference-mixtral-README-and-mlperf.conf",
        ),
    ],
)  # fmt: skip
def test_tokens_and_limits_of_the_rules(benchmark: str, tokens: float, limits: dict[str, tuple]) -> None:
    found = mlperf_workload(benchmark)
    assert found.output_tokens == tokens
    assert dict(found.limits_ms) == limits


def test_every_benchmark_is_expressed_or_says_why_not() -> None:
    for name in inference_frame()["benchmark"].unique():
        found = mlperf_workload(str(name))
        assert bool(found.reason) != bool(found.model)
        assert not found.model or found.model in model_ids()


def test_an_entry_has_lengths_or_a_reason() -> None:
    with pytest.raises(ValidationError):
        MlperfWorkload(benchmark="x", source="y")
    with pytest.raises(ValidationError):
        MlperfWorkload(benchmark="x", model="m", output_tokens=1, prompt_tokens=1, reason="no", source="y")
    assert all(entry.source for entry in mlperf_workloads())
