"""Many requests at once: throughput, time to first token and time per output token by kind of traffic.

Fluid model: requests are equal, prompts cost their reading time, decode steps are shared by the sequences
that are resident. Every function takes scalars or NumPy arrays and broadcasts; times are in seconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calculators.speed.latency import prompt_step, time_to_first_token
from calculators.speed.rates import GpuRates
from calculators.speed.step import ONE_GPU, Causes, Split, Step, most_of, step_seconds
from calculators.speed.work import ModelWork
from gpu_data.speed_schemas import SpeedEngine

Floats = NDArray[np.float64]

_ROUNDS = 14  # of the fixed point under a request rate; each halves the distance


@dataclass(frozen=True)
class Server:
    """One model on one deployment, as requests of one kind meet it.

    prompt_tokens, output_tokens: means per request; output_tokens_max: the longest answer (how long a batch
    drains); resident: sequences that fit at once while they decode (the engine's max_num_seqs, or the cache's
    room); admitted: those whose prompts fit, when an engine starts a request without room for its answer
    (vLLM, which pauses some later); streamed: 1 when tokens are sent one by one, 0 for offline batches;
    step_tokens: max_num_batched_tokens, the engine's default when None.
    """

    work: ModelWork
    rates: GpuRates
    engine: SpeedEngine
    prompt_tokens: ArrayLike
    output_tokens: ArrayLike
    output_tokens_max: ArrayLike
    resident: ArrayLike
    admitted: ArrayLike
    split: Split = ONE_GPU
    streamed: ArrayLike = 1.0
    step_tokens: ArrayLike | None = None

    @property
    def stages(self) -> Floats:
        """Groups of sequences in flight at once: one on each stage of a pipeline.

        An engine that splits by layers passes one batch through its GPUs, one after the other.
        """
        layer_gpus = np.asarray(self.split.layer_gpus, dtype=np.float64)
        return np.ones_like(layer_gpus) if self.engine.splits_by_layers else layer_gpus

    def group(self, running: ArrayLike) -> Floats:
        """Sequences of one step when so many run; at least one."""
        return np.maximum(np.asarray(running, dtype=np.float64) / self.stages, 1.0)

    @property
    def context(self) -> Floats:
        """Tokens a sequence holds on average while it decodes."""
        return np.asarray(self.prompt_tokens, dtype=np.float64) + np.asarray(self.output_tokens) / 2

    @cached_property
    def prompt(self) -> Step:
        """Reading one prompt (no cost per request)."""
        return prompt_step(self.work, self.rates, self.engine, self.prompt_tokens, 1.0, self.split)

    @cached_property
    def prompt_seconds(self) -> Floats:
        """Engine time that reading one prompt takes among others."""
        return self.prompt.total

    @cached_property
    def queued_prompt_seconds(self) -> Floats:
        """The same for each of many prompts that wait: a step reads as many as its tokens allow."""
        tokens = np.asarray(self.prompt_tokens, dtype=np.float64)
        count = np.maximum(np.floor(self.budget / tokens), 1.0)
        step = prompt_step(self.work, self.rates, self.engine, tokens, count, self.split)
        return step.total / count

    @property
    def budget(self) -> Floats:
        """Tokens one step may hold."""
        return np.asarray(self.engine.chunk_tokens if self.step_tokens is None else self.step_tokens, float)

    @cached_property
    def room(self) -> Floats:
        """Sequences that run at once: what fits, and what the step's tokens can keep supplied with prompts.

        Where prompts share steps with decode, every finished sequence needs a new prompt inside the budget.
        """
        fits = np.asarray(self.resident, dtype=np.float64)
        if not self.engine.mixes_prefill:
            return fits
        prompt, output = np.asarray(self.prompt_tokens, float), np.asarray(self.output_tokens, float)
        return np.maximum(np.minimum(fits, self.budget * output / prompt), 1.0)


@dataclass(frozen=True)
class Load:
    """What a kind of traffic gets from a server."""

    output_tokens_per_s: Floats
    ttft_s: Floats
    tpot_s: Floats
    running: Floats  # sequences decoding at once, on average


def decode_seconds(server: Server, running: ArrayLike) -> Floats:
    """Seconds of one decode step of `running` sequences; each GPU of a pipeline works on its share of them.

    With g pipeline stages, g groups of running / g sequences are in flight, so a token takes a whole pass of
    one group.
    """
    return decode_pass(server, running).total


def decode_pass(server: Server, running: ArrayLike) -> Step:
    """The decode step behind `decode_seconds`, by cause."""
    return step_seconds(
        server.work,
        server.rates,
        server.engine,
        server.group(running),
        server.context,
        split=server.split,
        streamed=server.streamed,
    )


@dataclass(frozen=True)
class TokenTime:
    """The time between two tokens of one user, by cause.

    decode: the step that writes them; prompts_s: on top for the prompts of others who come and go meanwhile,
    in steps of their own or in the same ones; causes: of both together; waits: the GPU waits
    for the engine, so that a faster one changes nothing.
    """

    decode: Step
    prompts_s: Floats
    causes: Causes
    waits: NDArray[np.bool_]

    @property
    def total(self) -> Floats:
        """Seconds from one token to the next."""
        return self.decode.total + self.prompts_s

    @property
    def binds(self) -> NDArray[np.int8]:
        """What holds it back most, an index into BINDS."""
        return most_of(self.causes, self.waits)


def token_time(server: Server, running: ArrayLike) -> TokenTime:
    """Time per token while `running` sequences are answered and each that ends is replaced by the next.

    The same as `request_seconds` gives, less the own prompt of one that runs alone.
    """
    n = np.maximum(np.asarray(running, dtype=np.float64), 1.0)
    decode = decode_pass(server, n)
    share = np.where(n > 1, server.group(n) / np.asarray(server.output_tokens, dtype=np.float64), 0.0)
    apart = share * server.prompt_seconds
    causes = tuple(a + share * b for a, b in zip(decode.causes, server.prompt.causes, strict=True))
    waits = (np.asarray(decode.waiting) > 0) & (decode.total >= apart)
    if not server.engine.mixes_prefill:
        return TokenTime(decode, apart, causes, waits)
    mixed = _mixed_step(server, n)
    shared = (n > 1) & (mixed.total < decode.total + apart)
    return TokenTime(
        decode,
        np.where(shared, mixed.total - decode.total, apart),
        tuple(np.where(shared, a, b) for a, b in zip(mixed.causes, causes, strict=True)),
        np.where(shared, np.asarray(mixed.waiting) > 0, waits),
    )


def _mixed_step(server: Server, running: ArrayLike) -> Step:
    """A step that decodes and reads its share of the prompts of those who follow."""
    group = server.group(running)
    return step_seconds(
        server.work,
        server.rates,
        server.engine,
        group,
        server.context,
        group / np.asarray(server.output_tokens, dtype=np.float64),
        server.prompt_tokens,
        server.split,
        server.streamed,
    )


def request_seconds(server: Server, running: ArrayLike) -> Floats:
    """Engine seconds a request costs in a steady state with `running` sequences; its inverse is the rate.

    Engines that mix prompts into decode steps pay the larger of both needs at once; others stop decoding
    while they read a prompt.
    """
    n = np.maximum(np.asarray(running, dtype=np.float64), 1.0)
    output = np.asarray(server.output_tokens, dtype=np.float64)
    separate = output * decode_seconds(server, n) / n + server.prompt_seconds / server.stages
    if not server.engine.mixes_prefill:
        return separate
    # One sequence alone has nothing to share its steps with.
    return np.where(n > 1, np.minimum(output * _mixed_step(server, n).total / n, separate), separate)


def static_batch(server: Server, batch: ArrayLike) -> Load:
    """`batch` equal requests start together and end together; nothing replaces them."""
    n = np.asarray(batch, dtype=np.float64)
    read = prompt_step(server.work, server.rates, server.engine, server.prompt_tokens, n, server.split).total
    step = decode_seconds(server, n)
    output = np.asarray(server.output_tokens, dtype=np.float64)
    seconds = read + output * step
    return Load(n * output / seconds, read + server.engine.constants["request_s"], step, n)


def _drain_seconds(server: Server, running: Floats) -> Floats:
    """Seconds until `running` sequences that started together are done, the longest last."""
    longest = np.maximum(np.asarray(server.output_tokens_max, dtype=np.float64), server.output_tokens)
    average = running * np.asarray(server.output_tokens) / longest
    return longest * decode_seconds(server, average)


def burst(server: Server, requests: ArrayLike, median: bool = False) -> Load:
    """All requests arrive at once; as many as fit run, the rest wait for room.

    Time = (requests - resident) x cost of a request in the steady state + reading the resident prompts + the
    last batch's drain. First tokens come in the order of arrival, no faster than the front end accepts.
    """
    n = np.asarray(requests, dtype=np.float64)
    room = np.minimum(n, server.room)
    output = np.asarray(server.output_tokens, dtype=np.float64)
    accept = server.engine.constants["accept_s"] * np.asarray(server.streamed)
    read = np.maximum(server.queued_prompt_seconds / server.stages, accept)
    cost = np.maximum(request_seconds(server, room), accept)
    waiting = n - room
    seconds = waiting * cost + room * read + _drain_seconds(server, room)
    first = time_to_first_token(server.work, server.rates, server.engine, server.prompt_tokens, server.split)
    # Prompts read at once: engines that put them first read all that fit.
    fits = np.minimum(n, np.maximum(np.asarray(server.resident), np.asarray(server.admitted)))
    early = room if server.engine.mixes_prefill else fits
    if median:
        middle = n / 2
        ttft = np.where(middle <= early, middle * read, early * read + (middle - early) * cost)
    else:
        late = n - early
        ttft = (early * early * read / 2 + late * (early * read + late * cost / 2)) / n
    alone = decode_seconds(server, room) + room * read / 2 / np.maximum(output, 1.0)
    tpot = (room * alone + waiting * cost * room / output) / n
    return Load(n * output / seconds, first + ttft, tpot, room)


def closed_loop(server: Server, concurrency: ArrayLike) -> Load:
    """`concurrency` clients; each sends its next request when the last is answered."""
    clients = np.asarray(concurrency, dtype=np.float64)
    room = np.minimum(clients, server.room)
    output = np.asarray(server.output_tokens, dtype=np.float64)
    cost = request_seconds(server, room)
    step = decode_seconds(server, room)
    first = time_to_first_token(server.work, server.rates, server.engine, server.prompt_tokens, server.split)
    ttft = first + np.where(room > 1, step / 2, 0.0) + (clients - room) * cost
    ttft = ttft + (room - 1) / 2 * server.queued_prompt_seconds * _together(server, room, step)
    tpot = (cost * room - np.where(room > 1, 0.0, server.prompt_seconds / server.stages)) / output
    return Load(output / cost, ttft, tpot, room)


def _together(server: Server, running: Floats, step: Floats) -> Floats:
    """Share of its fellows' prompts that a request finds ahead of it in a closed loop, 0 to 1.

    Engines that stop decoding for prompts let answers of similar length end together, so the next prompts
    queue up together too, unless answers differ in length by more time than all the prompts take.
    """
    if server.engine.mixes_prefill:
        return np.zeros_like(step)
    prompts = running * server.queued_prompt_seconds
    spread = (np.asarray(server.output_tokens_max) - np.asarray(server.output_tokens)) * step
    return prompts / (prompts + spread)


def open_loop(server: Server, requests_per_s: ArrayLike, requests: ArrayLike, median: bool = True) -> Load:
    """Requests arrive at a rate (Poisson); `requests` of them in all.

    Below capacity: the number running settles where arrivals x time per answer = running (Little, 1961), and
    prompts queue for the engine (Pollaczek-Khinchine, equal prompts: load / 2 / (1 - load) of their time).
    Above capacity: a burst whose waits are shortened by the time the requests take to arrive.
    """
    rate = np.asarray(requests_per_s, dtype=np.float64)
    n = np.asarray(requests, dtype=np.float64)
    room = np.minimum(n, server.room)
    output = np.asarray(server.output_tokens, dtype=np.float64)
    read = server.prompt_seconds
    capacity = 1 / request_seconds(server, room)
    steady = rate < capacity
    running = np.ones(np.broadcast_shapes(rate.shape, n.shape, np.shape(read)))
    for _ in range(_ROUNDS):
        answer = request_seconds(server, running) * np.maximum(running, 1.0)
        running = np.clip((running + rate * answer) / 2, 1.0, room)
    tpot_steady = _tpot_under_rate(server, running, rate)
    load = np.clip(rate * read, 0.0, 0.95)
    first = time_to_first_token(server.work, server.rates, server.engine, server.prompt_tokens, server.split)
    ttft_steady = first + read * load / 2 / (1 - load) + np.minimum(running - 1, 1.0) * tpot_steady / 2
    full = burst(server, n, median)
    arrived = n / 2 / rate
    ttft_full = np.maximum(full.ttft_s - arrived, ttft_steady)
    return Load(
        np.where(steady, rate, capacity) * output,
        np.where(steady, ttft_steady, ttft_full),
        np.where(steady, tpot_steady, full.tpot_s),
        np.where(steady, running, room),
    )


def _tpot_under_rate(server: Server, running: Floats, rate: Floats) -> Floats:
    """Seconds per output token while prompts arrive at this rate and `running` sequences decode."""
    step = decode_seconds(server, running)
    if server.engine.mixes_prefill:
        return np.maximum(request_seconds(server, running) * running / np.asarray(server.output_tokens), step)
    return step / np.maximum(1 - rate * server.prompt_seconds, 0.05)
