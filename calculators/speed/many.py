"""Speed of one model on many deployments at once: what a user waits for, what a server gives, with bands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calculators.speed.bands import Estimate, band_for, ends_of, with_band
from calculators.speed.rates import GpuRates
from calculators.speed.serving import (
    Busy,
    Server,
    TokenTime,
    clients_served,
    closed_loop_of,
    request_seconds,
    token_time,
)
from calculators.speed.step import ONE_GPU, Split, Step
from calculators.speed.work import ModelWork
from gpu_data.speed_schemas import Quantity, SpeedBand, SpeedEngine

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class ServingSpeed:
    """What many deployments of one model give their users; NaN where the model does not fit or cannot run.

    tpot_s: time per output token; ttft_s: time to first token, waiting for room included; tokens_per_s: of
    one user while the answer is written; output_tokens_per_s: of all users; max_output_tokens_per_s: with as
    many as fit, whatever is asked for; users_at_most: how many that is; running: how many of the users asked
    for run at once, the others wait. busy: the server with those who run; prompt: one prompt read alone.
    """

    tpot_s: Estimate
    ttft_s: Estimate
    tokens_per_s: Estimate
    output_tokens_per_s: Estimate
    max_output_tokens_per_s: Estimate
    users_at_most: Floats
    running: Floats
    busy: Busy
    prompt: Step

    @property
    def step(self) -> Step:
        """One decode step of the users who run at once."""
        return self.busy.decode

    @cached_property
    def token(self) -> TokenTime:
        """Time per token of the users who run at once, by cause; worked out when it is asked for."""
        return token_time(self.busy)

    @property
    def binds(self) -> NDArray[np.int8]:
        """What holds a user's tokens back most, prompts of others counted: an index into `BINDS`."""
        return self.token.binds


def serving_speed(
    work: ModelWork,
    rates: GpuRates,
    engine: SpeedEngine,
    bands: Sequence[SpeedBand],
    prompt_tokens: ArrayLike,
    output_tokens: ArrayLike,
    concurrency: ArrayLike,
    resident: ArrayLike,
    split: Split = ONE_GPU,
    step_tokens: ArrayLike | None = None,
    streamed: ArrayLike = 1.0,
) -> ServingSpeed:
    """Speed for `concurrency` users who each send the next request when the last is answered.

    Everything broadcasts: `rates` over GPUs (`fleet_rates`), `split` over counts, `work` over weight formats
    (`stack_formats`). resident: sequences of prompt and answer that fit (`calculators.speed.room`), below 1
    where the model does not fit; step_tokens: max_num_batched_tokens, the engine's default when None;
    streamed: 1 when tokens are sent one by one, 0 for an offline batch.
    """
    room = np.asarray(resident, dtype=np.float64)
    users = np.asarray(concurrency, dtype=np.float64)
    fits = np.where(room >= 1, 1.0, np.nan)
    server = Server(
        work, rates, engine, prompt_tokens, output_tokens, output_tokens, np.maximum(room, 1.0), room, split,
        streamed, step_tokens,
    )  # fmt: skip
    busy = clients_served(server, users)
    load = closed_loop_of(busy, users)
    most = np.maximum(server.room, 1.0)
    best = np.asarray(output_tokens, dtype=np.float64) / request_seconds(Busy(server, most))
    alone = users <= 1

    def banded(value: Floats, single: Quantity, many: Quantity, rate: bool = False) -> Estimate:
        one = band_for(bands, engine.id, single, "single")
        more = band_for(bands, engine.id, many, "closed")
        low, high = (
            np.where(alone, *sides)
            for sides in zip(*(ends_of(band, rate) for band in (one, more)), strict=True)
        )
        found = value * fits
        return Estimate(found, found * low, found * high, one if alone.all() else more)

    running = load.running * fits
    return ServingSpeed(
        tpot_s=banded(load.tpot_s, "decode", "tpot"),
        ttft_s=banded(load.ttft_s, "prefill", "ttft"),
        tokens_per_s=banded(1 / load.tpot_s, "decode", "tpot", rate=True),
        output_tokens_per_s=banded(load.output_tokens_per_s, "decode", "throughput", rate=True),
        max_output_tokens_per_s=with_band(best * fits, bands, engine.id, "throughput", "batch", rate=True),
        users_at_most=most * fits,
        running=running,
        busy=busy,
        prompt=server.prompt,
    )
