"""Many requests at once: throughput, time to first token and time per output token by kind of traffic.

Fluid model: requests are equal, prompts cost their reading time, decode steps are shared by the sequences
that are resident. Every function takes scalars or NumPy arrays and broadcasts; times are in seconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calculators.speed.latency import prompt_step
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

    @property
    def prompt_seconds(self) -> Floats:
        """Engine time that reading one prompt takes among others."""
        return self.prompt.total

    @property
    def first_seconds(self) -> Floats:
        """From sending one prompt to its first token when nothing else runs."""
        return self.prompt.total + self.engine.constants["request_s"]

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


@dataclass(frozen=True)
class Busy:
    """A server while so many sequences are answered at once; each of its steps is worked out once.

    With g pipeline stages, g groups of running / g sequences are in flight, so a token takes a whole pass of
    one group.
    """

    server: Server
    running: ArrayLike

    @cached_property
    def group(self) -> Floats:
        """Sequences of one step."""
        return self.server.group(self.running)

    @cached_property
    def decode(self) -> Step:
        """A step that only decodes."""
        return self._step()

    @cached_property
    def mixed(self) -> Step:
        """A step that decodes and reads its share of the prompts of those who follow."""
        server = self.server
        prompts = self.group / np.asarray(server.output_tokens, dtype=np.float64)
        return self._step(prompts, server.prompt_tokens)

    def _step(self, prompts: ArrayLike = 0.0, prompt_tokens: ArrayLike = 0.0) -> Step:
        server = self.server
        return step_seconds(
            server.work,
            server.rates,
            server.engine,
            self.group,
            server.context,
            prompts,
            prompt_tokens,
            server.split,
            server.streamed,
        )


def decode_seconds(server: Server, running: ArrayLike) -> Floats:
    """Seconds of one decode step of `running` sequences; each GPU of a pipeline works on its share."""
    return Busy(server, running).decode.total


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


def token_time(busy: Busy) -> TokenTime:
    """Time per token while so many sequences are answered and each that ends is replaced by the next.

    The same as `request_seconds` gives, less the own prompt of one that runs alone.
    """
    server, decode = busy.server, busy.decode
    n = np.maximum(np.asarray(busy.running, dtype=np.float64), 1.0)
    share = np.where(n > 1, busy.group / np.asarray(server.output_tokens, dtype=np.float64), 0.0)
    apart = share * server.prompt_seconds
    causes = tuple(a + share * b for a, b in zip(decode.causes, server.prompt.causes, strict=True))
    waits = (np.asarray(decode.waiting) > 0) & (decode.total >= apart)
    if not server.engine.mixes_prefill:
        return TokenTime(decode, apart, causes, waits)
    mixed = busy.mixed
    shared = (n > 1) & (mixed.total < decode.total + apart)
    return TokenTime(
        decode,
        np.where(shared, mixed.total - decode.total, apart),
        tuple(np.where(shared, a, b) for a, b in zip(mixed.causes, causes, strict=True)),
        np.where(shared, np.asarray(mixed.waiting) > 0, waits),
    )


def request_seconds(busy: Busy) -> Floats:
    """Engine seconds a request costs in a steady state; its inverse is the rate.

    Engines that mix prompts into decode steps pay the larger of both needs at once; others stop decoding
    while they read a prompt.
    """
    server = busy.server
    n = np.maximum(np.asarray(busy.running, dtype=np.float64), 1.0)
    output = np.asarray(server.output_tokens, dtype=np.float64)
    separate = output * busy.decode.total / n + server.prompt_seconds / server.stages
    if not server.engine.mixes_prefill:
        return separate
    # One sequence alone has nothing to share its steps with.
    return np.where(n > 1, np.minimum(output * busy.mixed.total / n, separate), separate)


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
    busy = Busy(server, room)
    cost = np.maximum(request_seconds(busy), accept)
    waiting = n - room
    seconds = waiting * cost + room * read + _drain_seconds(server, room)
    # Prompts read at once: engines that put them first read all that fit.
    fits = np.minimum(n, np.maximum(np.asarray(server.resident), np.asarray(server.admitted)))
    early = room if server.engine.mixes_prefill else fits
    if median:
        middle = n / 2
        ttft = np.where(middle <= early, middle * read, early * read + (middle - early) * cost)
    else:
        late = n - early
        ttft = (early * early * read / 2 + late * (early * read + late * cost / 2)) / n
    alone = busy.decode.total + room * read / 2 / np.maximum(output, 1.0)
    tpot = (room * alone + waiting * cost * room / output) / n
    return Load(n * output / seconds, server.first_seconds + ttft, tpot, room)


def clients_served(server: Server, concurrency: ArrayLike) -> Busy:
    """The server while so many clients are there: those for whom there is room run, the others wait."""
    return Busy(server, np.minimum(np.asarray(concurrency, dtype=np.float64), server.room))


def closed_loop(server: Server, concurrency: ArrayLike) -> Load:
    """`concurrency` clients; each sends its next request when the last is answered."""
    return closed_loop_of(clients_served(server, concurrency), concurrency)


def closed_loop_of(busy: Busy, concurrency: ArrayLike) -> Load:
    """The same for a server that runs as many of the clients as it has room for."""
    server, room = busy.server, np.asarray(busy.running, dtype=np.float64)
    clients = np.asarray(concurrency, dtype=np.float64)
    output = np.asarray(server.output_tokens, dtype=np.float64)
    cost = request_seconds(busy)
    step = busy.decode.total
    ttft = server.first_seconds + np.where(room > 1, step / 2, 0.0) + (clients - room) * cost
    if server.engine.mixes_prefill:
        ttft = ttft + prompt_wait(server, room, step)
    else:
        ttft = ttft + (room - 1) / 2 * server.queued_prompt_seconds * _together(server, room, step)
    tpot = (cost * room - np.where(room > 1, 0.0, server.prompt_seconds / server.stages)) / output
    return Load(output / cost, ttft, tpot, room)


def prompt_wait(server: Server, clients: ArrayLike, step: Floats) -> Floats:
    """Seconds a prompt waits for prompts of others in a closed loop where prompts share steps with decode.

    As equal prompts queue under a request rate (Pollaczek-Khinchine: time of one prompt x load / 2 /
    (1 - load)), but one of n clients meets only the n - 1 others (arrival theorem, Reiser and Lavenberg,
    1980, in Schweitzer's approximation, 1979): load = share of time that prompts take x (n - 1) / n. Each
    client asks again after `step` seconds for every token of its answer. Nothing for one client, at most
    half of the others' prompts.
    """
    n = np.maximum(np.asarray(clients, dtype=np.float64), 1.0)
    one = server.queued_prompt_seconds / server.stages
    others = (n - 1) * one / (n * one + np.asarray(server.output_tokens, dtype=np.float64) * step)
    return one * others / 2 / (1 - others)


def _together(server: Server, running: Floats, step: Floats) -> Floats:
    """Share of its fellows' prompts that a request finds ahead of it in a closed loop, 0 to 1.

    Engines that stop decoding for prompts let answers of similar length end together, so the next prompts
    queue up together too, unless answers differ in length by more time than all the prompts take.
    """
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
    capacity = 1 / request_seconds(Busy(server, room))
    steady = rate < capacity
    running = np.ones(np.broadcast_shapes(rate.shape, n.shape, np.shape(read)))
    for _ in range(_ROUNDS):
        answer = request_seconds(Busy(server, running)) * np.maximum(running, 1.0)
        running = np.clip((running + rate * answer) / 2, 1.0, room)
    tpot_steady = _tpot_under_rate(server, running, rate)
    load = np.clip(rate * read, 0.0, 0.95)
    ttft_steady = (
        server.first_seconds + read * load / 2 / (1 - load) + np.minimum(running - 1, 1.0) * tpot_steady / 2
    )
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
    busy = Busy(server, running)
    step = busy.decode.total
    if server.engine.mixes_prefill:
        return np.maximum(request_seconds(busy) * running / np.asarray(server.output_tokens), step)
    return step / np.maximum(1 - rate * server.prompt_seconds, 0.05)
