"""Cost of serving: per million tokens, per month, and how many copies of a deployment the users need.

Everything takes scalars or NumPy arrays and broadcasts. Dollars are US dollars.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from calculators.cost.hourly import HOURS_PER_MONTH

Floats = NDArray[np.float64]
Number = float | NDArray[Any]
SECONDS_PER_HOUR = 3600.0
MILLION = 1e6


def usd_per_million_tokens(usd_per_hour: Number, tokens_per_s: Number, busy_share: Number = 1.0) -> Floats:
    """Cost of a million tokens [USD]: USD/h / (token/s x 3600 x busy share) x 1e6.

    Hours are paid whether tokens are made or not; in `busy_share` of them they are made at this rate.
    """
    per_hour = np.asarray(tokens_per_s, dtype=np.float64) * SECONDS_PER_HOUR * busy_share
    return np.asarray(usd_per_hour, dtype=np.float64) / per_hour * MILLION


def all_tokens_per_s(output_tokens_per_s: Number, prompt_tokens: Number, output_tokens: Number) -> Floats:
    """Tokens in and out per second [token/s]: output rate x (prompt + output) / output tokens per request."""
    output = np.asarray(output_tokens, dtype=np.float64)
    return np.asarray(output_tokens_per_s, dtype=np.float64) * (np.asarray(prompt_tokens) + output) / output


def input_output_usd_per_million(
    usd_per_hour: Number,
    output_tokens_per_s: Number,
    prompt_tokens: Number,
    output_tokens: Number,
    prompt_seconds: Number,
    busy_share: Number = 1.0,
) -> tuple[Floats, Floats]:
    """(a million input tokens, a million output tokens) [USD], the server's time shared out by what it does.

    A request takes output tokens / output rate seconds of the server, of which reading its prompt takes
    `prompt_seconds` at most; the rest writes the answer. input x prompt tokens + output x output tokens = the
    whole request, whatever the share.
    """
    output = np.asarray(output_tokens, dtype=np.float64)
    seconds = output / np.asarray(output_tokens_per_s, dtype=np.float64)
    reading = np.minimum(np.asarray(prompt_seconds, dtype=np.float64), seconds)
    usd_per_s = np.asarray(usd_per_hour, dtype=np.float64) / SECONDS_PER_HOUR / busy_share
    into = usd_per_s * reading / np.asarray(prompt_tokens, dtype=np.float64) * MILLION
    out = usd_per_s * (seconds - reading) / output * MILLION
    return into, out


def replicas_needed(users: Number, users_per_replica: Number) -> Floats:
    """Copies of a deployment that so many users at once need: ceil(users / users per copy); inf for none."""
    each = np.asarray(users_per_replica, dtype=np.float64)
    with np.errstate(divide="ignore"):
        return np.ceil(np.asarray(users, dtype=np.float64) / np.maximum(each, 0))


def usd_per_month(usd_per_gpu_hour: Number, gpus: Number) -> Floats:
    """So many GPUs for a month of 730 hours, day and night [USD]."""
    return np.asarray(usd_per_gpu_hour, dtype=np.float64) * gpus * HOURS_PER_MONTH
