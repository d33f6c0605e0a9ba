"""What the tables of measured results under `gpu_data/benchmarks/` may say.

Lane A is llama.cpp as its users measured it, Lane B the published MLPerf rounds. Names are kept as reported;
`names.csv` says which of our GPUs, models and formats they mean, or why that is not sure.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from gpu_data.csv_tables import CsvRow

Text = Annotated[str, Field(min_length=1)]
Count = Annotated[int, Field(ge=1)]
Positive = Annotated[float, Field(gt=0)]
Web = Annotated[str, Field(pattern=r"^https://[^\s]+$")]
Round = Annotated[str, Field(pattern=r"^v\d+\.\d$")]


class LlamaCppResult(CsvRow):
    """One llama.cpp measurement [tokens/s], or the fact that it ran out of memory.

    `test` is llama-bench's: pp512 reads a prompt of 512 tokens, tg128 generates 128. `kind` says who
    measured. `source_url` is an address, or says which public log it is.
    """

    id: Annotated[str, Field(pattern=r"^l\d{4,}$")]
    gpu: Text
    n_gpus: Count
    model: Text
    params_b: Positive
    quant: Text
    test: Annotated[str, Field(pattern=r"^(pp|tg)")]
    tokens_per_s: Positive | None = None
    oom: Literal["yes", "no"]
    build: Text
    kind: Literal[
        "llama-bench community table",
        "llama-bench",
        "llama.cpp main log",
        "engine comparison",
        "ollama community",
        "community unverified (localmaxxing via llmfit cache)",
    ]
    source_url: Annotated[str, Field(pattern=r"^(https://[^\s]+|public log no\. .+)$")]
    note: Text | None = None  # why to doubt it

    @model_validator(mode="after")
    def _speed_or_oom(self) -> LlamaCppResult:
        if (self.oom == "yes") == (self.tokens_per_s is not None):
            raise ValueError("give tokens_per_s when it ran, and none when oom = yes")
        return self


class InferenceResult(CsvRow):
    """One MLPerf Inference result of a whole system, in the unit of its benchmark, round and scenario.

    Latencies [ms] are means and 99th percentiles of the run's log. `availability` is empty where the copy
    that was read does not give it.
    """

    round: Round
    submitter: Text
    system: Text
    gpu: Text
    gpu_as_reported: Text
    n_gpus: Count | None = None
    benchmark: Text
    scenario: Literal["Offline", "Server", "Interactive", "SingleStream", "MultiStream"]
    value: Positive
    unit: Literal["Samples/s", "Queries/s", "Tokens/s", "Latency (ms)", "Latency (s)"]
    ttft_mean_ms: Positive | None = None
    ttft_p99_ms: Positive | None = None
    tpot_mean_ms: Positive | None = None
    tpot_p99_ms: Positive | None = None
    category: Literal["closed", "open", "network"]
    availability: Literal["available", "preview", "rdi"] | None = None
    suite: Text
    weight_dtype: Text | None = None
    software: Text | None = None
    source_url: Web

    @model_validator(mode="after")
    def _streams_have_latencies(self) -> InferenceResult:
        if self.unit.startswith("Latency") != (self.scenario in ("SingleStream", "MultiStream")):
            raise ValueError(f"unit {self.unit} does not belong to the scenario {self.scenario}")
        return self


class TrainingResult(CsvRow):
    """One MLPerf Training result: minutes to the target quality, mean of the runs without best and worst.

    `official_minutes` is the published table's figure where it was read too. For language models
    `tokens_per_s_steady` is the steady speed of the whole system, `tokens_per_s_per_gpu` that by its GPUs.
    """

    round: Round
    category: Literal["closed", "open"]
    availability: Text
    submitter: Text
    system_id: Text
    system: Text
    benchmark: Text
    gpu: Text
    gpu_as_reported: Text
    n_gpus: Count
    minutes_to_train: Positive
    official_minutes: Positive | None = None
    n_runs: Count
    global_batch_size: Positive | None = None
    seq_len: Count | None = None
    train_tokens_to_target: Positive | None = None
    tokens_per_s_steady: Positive | None = None
    tokens_per_s_per_gpu: Positive | None = None
    framework: Text | None = None
    source_url: Web

    @model_validator(mode="after")
    def _speeds_agree(self) -> TrainingResult:
        if (self.tokens_per_s_steady is None) != (self.tokens_per_s_per_gpu is None):
            raise ValueError("give both tokens_per_s_steady and tokens_per_s_per_gpu, or neither")
        if self.tokens_per_s_steady is not None and self.tokens_per_s_per_gpu is not None:
            each = self.tokens_per_s_steady / self.n_gpus
            if abs(self.tokens_per_s_per_gpu / each - 1) > 0.01:
                raise ValueError(
                    f"tokens_per_s_per_gpu {self.tokens_per_s_per_gpu:g} is not tokens_per_s_steady by "
                    f"n_gpus ({each:.2f})"
                )
        return self


class BenchmarkName(CsvRow):
    """What a name in a result means: the id in our own table, or a reason why none is sure.

    A reason beside an id says why that id is right although the names differ.
    """

    kind: Literal["gpu", "model", "format"]
    name: Text
    id: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]*$")] | None = None
    reason: Text | None = None

    @model_validator(mode="after")
    def _id_or_reason(self) -> BenchmarkName:
        if self.id is None and self.reason is None:
            raise ValueError("give an id, or the reason why there is none")
        return self
