"""Loads what the rules of MLPerf Inference fix about each benchmark; data in mlperf.toml."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, PositiveFloat, model_validator

FILE = Path(__file__).parent / "mlperf.toml"
Limits = Annotated[tuple[float, float], Field(description="ms")]


class MlperfWorkload(BaseModel):
    """One benchmark: model, mean tokens per sample, and per scenario the limits of TTFT and TPOT [ms].

    `prompt_assumed`: the rules give no mean length of prompts; as long as the answers is assumed. `reason`
    instead of all of it: why the benchmark cannot be expressed.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    benchmark: str
    model: str = ""
    output_tokens: PositiveFloat | None = None
    prompt_tokens: PositiveFloat | None = None
    prompt_assumed: bool = False
    limits_ms: Mapping[str, Limits] = {}
    reason: str = ""
    source: str

    @model_validator(mode="after")
    def _expressed_or_reason(self) -> MlperfWorkload:
        known = self.model and self.output_tokens and self.prompt_tokens
        if bool(known) == bool(self.reason):
            raise ValueError("give model and lengths, or the reason why there are none")
        return self


@cache
def mlperf_workloads() -> tuple[MlperfWorkload, ...]:
    """All entries in the order they are tried."""
    return tuple(MlperfWorkload(**row) for row in tomllib.loads(FILE.read_text("utf-8"))["workload"])


@cache
def mlperf_workload(benchmark: str) -> MlperfWorkload:
    """The entry of a benchmark; the last one matches every name."""
    return next(w for w in mlperf_workloads() if re.fullmatch(w.benchmark, benchmark))
