"""The pictures of the Learn page, each from our own calculators: nothing here is a typed-in result."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from calculators import memory, speed
from calculators.architecture import params_active, params_total
from calculators.formats import weights_bytes
from calculators.roofline import balanced_batch_tokens, sparse_peak
from calculators.scenario import Scenario
from calculators.speed.rates import inline_ecc
from calculators.speed.work import weight_bytes_read
from gpu_data import models as model_data
from gpu_data.speed import speed_engine_like
from gpu_data.speed_schemas import SpeedEngine
from gpu_data.training import training_tables
from pages.ui import catalogue, training_load, words, workload
from pages.ui.lesson_types import Picture
from pages.ui.training_tracks import PART_NAMES
from pages.ui.words import GIB, gib

GIGA: Final = 1e9
H100, L40S, RTX_4090 = "h100-sxm5-80gb", "l40s-48gb", "rtx-4090-24gb"
SMALL, LARGE = "llama-3.1-8b", "llama-3.3-70b"


def _name(model_id: str) -> str:
    return model_data.model(model_id).name.split(" Instruct")[0]


# 1. what fills memory
MEMORY_TOKENS: Final = tuple(512 * 2**k for k in range(7))  # to 32,768
USERS: Final = 16
NOTHING: Final = 0.001  # of a card's memory
_MEMORY_PARTS: Final = ("Weights", "KV cache", "Gradients", "Optimiser", "Activations", "Overhead")
_OF_TRAINING: Final = {"Logits and loss": "Activations"}


def fills_memory() -> Picture:
    """Serving one and many users, QLoRA and full fine-tuning of one small model, along the sequence."""
    tokens = np.array(MEMORY_TOKENS)
    base: dict[str, Any] = {"model": SMALL, "weight_format": "bf16", "gpus": (H100,)}
    shown_on: dict[str, Any] = {**base, "gpus": (H100, RTX_4090)}
    shown = []
    for users in (1, USERS):
        load = workload.load(Scenario(**base, concurrency=users))
        deployment = load.deployment(load.pinned, tokens)
        assert not isinstance(deployment, str)
        report = memory.estimate(deployment)
        shown.append(
            {
                "Weights": report.weights_bytes,
                "KV cache": report.kv_bytes,
                "Activations": report.activation_bytes,
                "Overhead": report.overhead_bytes,
            }
        )
    for method in ("qlora", "full"):
        load = training_load.load(Scenario(**base, task="finetune", method=method))
        parts = load.many(load.pinned, seq_len=tokens, with_speed=False).parts_bytes
        found = dict.fromkeys(_MEMORY_PARTS, np.zeros(len(tokens)))
        for name, part in zip(PART_NAMES, parts, strict=True):
            known = _OF_TRAINING.get(name, name)
            found[known] = found[known] + part[0]
        shown.append(found)
    zero = np.zeros(len(tokens))
    values = np.stack(
        [
            np.stack([np.broadcast_to(bar.get(part, zero), tokens.shape) for part in _MEMORY_PARTS], axis=-1)
            for bar in shown
        ],
        axis=1,
    )
    total = values.sum(axis=-1)
    cards = {
        f"{catalogue.spec_row(gpu)['memory_gb']:g} GB": workload.pinned(gpu, 1) for gpu in (RTX_4090, H100)
    }
    sentences = []
    for k, count in enumerate(MEMORY_TOKENS):
        one, many, adapter, full = total[k]
        cache = values[k, 1, 1]
        sentences.append(
            f"{_name(SMALL)} with {count:,} tokens in each sequence: {gib(one)} for one user, {gib(many)} "
            f"for {USERS} users, of which {gib(cache)} is KV cache. QLoRA takes {gib(adapter)}, full "
            f"fine-tuning {gib(full)}."
        )
    return Picture(
        stops=tuple(words.count(count, "token") for count in MEMORY_TOKENS),
        start=MEMORY_TOKENS.index(8192),
        parts=_MEMORY_PARTS,
        bars=("Serve 1 user", f"Serve {USERS} users", "QLoRA, 1 sequence", "Full fine-tune, 1 sequence"),
        values=values,
        said=[[gib(bar) for bar in row] for row in total],
        scale=np.full(len(tokens), total.max()),
        sentences=tuple(sentences),
        links=tuple(
            (
                f"Open in Fit: {USERS} users with {words.count(count, 'token')} each",
                Scenario(**shown_on, max_model_len=count, concurrency=USERS),
            )
            for count in MEMORY_TOKENS
        ),
        marks=tuple((card.capacity_bytes, name) for name, card in cards.items()),
        source="Dashed lines: what cards of "
        + " and ".join(f"{name} ({card.name})" for name, card in cards.items())
        + " hold.",
    )


# 2. bandwidth and compute
PASS_TOKENS: Final = (1, 2, 4, 8, 16, 32, 64, 96, 128, 192, 256, 384, 512, 768, 1024)


def bandwidth_or_compute() -> Picture:
    """One pass of one small model on one GPU: reading against computing, along the tokens in it."""
    scenario = Scenario(model=SMALL, weight_format="bf16", gpus=(H100,))
    load = workload.load(scenario)
    work, engine = _speed_parts(load)
    rates = _rates(load, H100)
    tokens = np.array(PASS_TOKENS, dtype=float)
    step = speed.decode_step(work, rates, engine, tokens, 0.0)
    reading, computing = (np.broadcast_to(t, tokens.shape) * 1e3 for t in (step.moving, step.computing))
    values = np.stack([reading, computing], axis=-1)[..., None]
    row = catalogue.spec_row(H100)
    bits = load.weight_format.nominal_bits
    ridge = float(balanced_batch_tokens(row["dense_bf16_tflops"], row["bandwidth_gb_per_s"], bits))
    sentences = []
    for n, read, compute in zip(PASS_TOKENS, reading, computing, strict=True):
        longer, decides = (read, "bandwidth") if read >= compute else (compute, "compute")
        like = (
            "one user's next token"
            if n == 1
            else f"the next token of {n:,} users, or a prompt of {n:,} tokens"
        )
        sentences.append(
            f"{words.count(n, 'token')} in the pass ({like}): reading takes {words.three(read)} ms, "
            f"computing {words.three(compute)} ms. So {decides} decides: {words.three(n / longer * 1e3)} "
            "tokens a second at best."
        )
    return Picture(
        stops=tuple(words.count(n, "token") for n in PASS_TOKENS),
        start=0,
        parts=("Milliseconds of one pass",),
        bars=("Reading the weights", "Computing"),
        values=values,
        said=[[f"{words.three(v)} ms" for v in row[:, 0]] for row in values],
        scale=np.full(len(tokens), values.max()),
        sentences=tuple(sentences),
        links=tuple(
            (
                f"Open in Fit: {words.count(n, 'user')} with 2,048 tokens each",
                scenario.model_copy(update={"concurrency": n, "max_model_len": 2048}),
            )
            for n in PASS_TOKENS
        ),
        source=f"{_name(SMALL)} in bf16 on one {catalogue.gpu_name(H100)} with {load.engine.label}; the KV "
        f"cache is left out. By the data sheet alone both bars meet at {ridge:,.0f} tokens; real programs "
        "reach a smaller share of the compute peak than of the bandwidth, so they meet earlier.",
    )


def _speed_parts(load: workload.Workload) -> tuple[speed.ModelWork, SpeedEngine]:
    engine = speed_engine_like(load.engine.id, load.engine.family)
    assert engine is not None
    return speed.model_work(load.architecture, load.weight_format, load.kv_format), engine


def _rates(load: workload.Workload, gpu: str) -> speed.GpuRates:
    return speed.gpu_rates(catalogue.spec_row(gpu), load.weight_format, load.architecture)


# 3. dense and sparse
def dense_or_sparse() -> Picture:
    """Sparse, dense and measured FP16 or BF16 rates of cards with a sparse mode, slowest first."""
    frame = catalogue.gpus()
    frame = frame[frame["released"].to_numpy(dtype=bool)]
    dense = frame["dense_bf16_tflops"].to_numpy(dtype=float, na_value=np.nan)
    factor = frame["sparsity_multiplier"].to_numpy(dtype=float, na_value=np.nan)
    applies = np.array(["bf16" in str(kinds).lower() for kinds in frame["sparsity_applies_to"]])
    sparse = sparse_peak(dense, factor, applies)
    best = {gpu: c.max_tflops for c in training_tables().ceilings if c.dtype == "bf16" for gpu in c.gpu_ids}
    chosen = [i for i in np.argsort(dense) if np.isfinite(sparse[i]) and frame.index[i] in best]
    gpus = [str(frame.index[i]) for i in chosen]
    measured = np.array([best[gpu] for gpu in gpus])
    values = np.stack([sparse[chosen], dense[chosen], measured], axis=-1)[..., None]
    sentences = tuple(
        f"{catalogue.gpu_name(gpu)}: the data sheet's {s:,.0f} TFLOPS need sparsity; dense it is {d:,.0f}, "
        f"and the fastest product measured reached {m:,.0f}, {100 * m / d:.0f} % of that."
        for gpu, (s, d, m) in zip(gpus, values[..., 0], strict=True)
    )
    return Picture(
        stops=tuple(catalogue.gpu_name(gpu) for gpu in gpus),
        start=gpus.index(H100),
        parts=("TFLOPS in BF16",),
        bars=("With sparsity", "Dense", "Fastest measured"),
        values=values,
        said=[[f"{v:,.0f} TFLOPS" for v in row[:, 0]] for row in values],
        scale=np.full(len(gpus), values.max()),
        sentences=sentences,
        links=tuple(
            (f"Open in Fit: {_name(LARGE)} on {catalogue.gpu_name(gpu)}", Scenario(model=LARGE, gpus=(gpu,)))
            for gpu in gpus
        ),
        source="Peaks from the data sheets (see Compare); measured: Bekman, Machine Learning Engineering.",
    )


# 4. GB and GiB
def gb_or_gib() -> Picture:
    """What "GB" on the box can mean and what a program sees, along the cards for which that is known."""
    frame = catalogue.gpus()
    known = (frame["released"] & (frame["usable_basis"] != "assumed")).to_numpy(dtype=bool)
    known &= ~frame["unified_memory"].to_numpy(dtype=bool) & (frame["devices_per_board"] == 1).to_numpy()
    frame = frame[known].sort_values(["memory_gb", "usable_bytes"], kind="stable")
    box = frame["memory_gb"].to_numpy(dtype=float)
    seen = frame["usable_bytes"].to_numpy(dtype=float)
    values = np.stack([box * GIGA, seen, box * GIB], axis=-1)[..., None] / GIB
    gpus = [str(gpu) for gpu in frame.index]
    sentences = tuple(
        f"{catalogue.gpu_name(gpu)}: the box says {b:g} GB. A program sees {gib(v)}, which is "
        f"{v / GIGA:,.1f} GB: {_meant(gpu, b, v)}."
        for gpu, b, v in zip(gpus, box, seen, strict=True)
    )
    return Picture(
        stops=tuple(catalogue.gpu_name(gpu) for gpu in gpus),
        start=gpus.index(H100),
        parts=("GiB",),
        bars=("If GB were 10⁹ bytes", "What a program sees", "If GB were 2³⁰ bytes"),
        values=values,
        said=[[f"{v:,.1f} GiB" for v in row[:, 0]] for row in values],
        scale=values.max(axis=(1, 2)),
        sentences=sentences,
        links=tuple(
            (
                f"Open in Fit: {_name(SMALL)} on {catalogue.gpu_name(gpu)}",
                Scenario(model=SMALL, weight_format="bf16", gpus=(gpu,)),
            )
            for gpu in gpus
        ),
        source="The whole width is the largest of the three, so every card can be read.",
    )


def _meant(gpu: str, box_gb: float, seen_bytes: float) -> str:
    if seen_bytes < box_gb * GIGA:
        return f"{100 * (1 - seen_bytes / (box_gb * GIGA)):.1f} % less than the box says even in GB"
    lost = 1 - seen_bytes / (box_gb * GIB)
    if inline_ecc(catalogue.spec_row(gpu)):
        return f"the maker counts GiB, and error correction in the same chips takes {100 * lost:.1f} %"
    if lost < NOTHING:
        return "the maker counts GiB, and nearly all of it is there"
    return f"the maker counts GiB, and {100 * lost:.1f} % is kept back"


# 5. tensor and pipeline
SPLIT_GPUS: Final = (1, 2, 4, 8)
SPLIT_PARTS: Final = ("Reading and computing", "Exchange between GPUs", "Fixed cost of a pass")


def tensor_or_pipeline() -> Picture:
    """Time of one user's next token, cut both ways, on cards with and without a fast link."""
    scenario = Scenario(model=LARGE, weight_format="awq-int4", gpus=(L40S, H100))
    load = workload.load(scenario)
    work, engine = _speed_parts(load)
    counts = np.array(SPLIT_GPUS, dtype=float)
    bars, stacks = [], []
    for gpu in (L40S, H100):
        rates = _rates(load, gpu)
        for label, split in (
            ("Tensor", speed.Split(tensor_parallel_size=counts)),
            ("Pipeline", speed.Split(layer_gpus=counts)),
        ):
            step = speed.decode_step(work, rates, engine, 1.0, 1024.0, split)
            parts = [np.broadcast_to(t, counts.shape) for t in (step.kernels, step.communication, step.fixed)]
            stacks.append(np.stack(parts, axis=-1) * 1e3)
            bars.append(f"{label}, {catalogue.gpu_name(gpu)}")
    values = np.stack(stacks, axis=1)
    total = values.sum(axis=-1)
    sentences, links = [], []
    for k, n in enumerate(SPLIT_GPUS):
        held = _weights_each(load, n)
        if n == 1:
            text = (
                f"On one GPU nothing is cut: {gib(held)} of weights. One token takes "
                f"{words.three(total[k, 0])} ms on an L40S and {words.three(total[k, 2])} ms on an H100."
            )
        else:
            text = (
                f"On {n} GPUs each holds {gib(held)} of weights either way. Tensor parallel: "
                f"{words.three(total[k, 0])} ms a token on L40S, {words.three(values[k, 0, 1])} ms of it "
                f"exchange over PCIe; {words.three(total[k, 2])} ms on H100 with NVLink, "
                f"{words.three(values[k, 2, 1])} ms of it exchange. Pipeline stays at "
                f"{words.three(total[k, 1])} and {words.three(total[k, 3])} ms."
            )
        sentences.append(text)
        said = f"Open in Fit: {_name(LARGE)}, tensor parallel on {words.count(n, 'GPU')}"
        links.append((said, scenario.model_copy(update={"gpu_count": n, "split": "tensor"})))
    return Picture(
        stops=tuple(words.count(n, "GPU") for n in SPLIT_GPUS),
        start=2,
        parts=SPLIT_PARTS,
        bars=tuple(bars),
        values=values,
        said=[[f"{words.three(v)} ms" for v in row] for row in total],
        scale=np.full(len(SPLIT_GPUS), total.max()),
        sentences=tuple(sentences),
        links=tuple(links),
        source=f"{_name(LARGE)} in AWQ int4, one user, {load.engine.label}.",
    )


def _weights_each(load: workload.Workload, gpus: int) -> float:
    """Weights on the fullest of so many GPUs [byte], tensor parallel."""
    split = workload.changed(load, gpu_count=gpus, split="tensor", gpus=(L40S,))
    deployment = split.deployment(split.pinned)
    assert not isinstance(deployment, str)
    return float(np.max(memory.estimate(deployment).weights_bytes))


# 6. total and active
MANY_USERS: Final = 64
EXPERT_MODELS: Final = (
    "llama-3.1-8b",
    "gpt-oss-20b",
    "qwen3-30b-a3b",
    "mixtral-8x7b",
    "gpt-oss-120b",
    "llama-3.3-70b",
    "qwen3-235b-a22b",
    "deepseek-v3",
)


def total_or_active() -> Picture:
    """Weights held against weights read for one token, as released, along models."""
    rows = []
    for model in EXPERT_MODELS:
        load = workload.load(Scenario(model=model, weight_format="native"))
        work, _ = _speed_parts(load)
        held = float(weights_bytes(load.architecture, load.weight_format).total_bytes)
        read = float(weight_bytes_read(work, 1.0))
        many = float(weight_bytes_read(work, float(MANY_USERS)))
        counts = params_total(load.architecture), params_active(load.architecture)
        rows.append((model, held, read, many, *counts))
    rows.sort(key=lambda row: row[1])
    values = np.array([[row[1], row[2], row[3]] for row in rows])[..., None]
    sentences = []
    for model, held, read, many, total, active in rows:
        if active == total:
            text = (
                f"{_name(model)} is dense: all {words.billions(total)} parameters, {gib(held)}, are held, "
                f"and all but the embedding table, {gib(read)}, are read for every token."
            )
        else:
            text = (
                f"{_name(model)}: {words.billions(total)} parameters, {gib(held)}, must be in memory; a "
                f"token uses {words.billions(active)} of them and reads {gib(read)}. With {MANY_USERS} users "
                f"at once a pass reads {gib(many)}."
            )
        sentences.append(text)
    return Picture(
        stops=tuple(_name(row[0]) for row in rows),
        start=next(i for i, row in enumerate(rows) if row[0] == "gpt-oss-120b"),
        parts=("GiB of weights as released",),
        bars=("Held in memory", "Read for 1 user's token", f"Read in a pass of {MANY_USERS} users"),
        values=values,
        said=[[gib(v) for v in row[:, 0]] for row in values],
        scale=values.max(axis=(1, 2)),
        sentences=tuple(sentences),
        links=tuple(
            (f"Open in Fit: {_name(row[0])} as released", Scenario(model=row[0], weight_format="native"))
            for row in rows
        ),
        source="The whole width is the model's own weights.",
    )


PICTURES: Final[Mapping[str, Callable[[], Picture]]] = {
    "memory": fills_memory,
    "bandwidth": bandwidth_or_compute,
    "sparse": dense_or_sparse,
    "gib": gb_or_gib,
    "split": tensor_or_pipeline,
    "experts": total_or_active,
}
