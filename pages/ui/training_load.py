"""A Scenario as a fine-tune or a training run: what `calculators.training` takes. Computes nothing itself.

What the reader leaves open gets the default of the task; `TrainingLoad` says in words which that is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calculators import training
from calculators.architecture import Architecture
from calculators.formats import support
from calculators.scenario import MAX_TRAIN_GPUS, Scenario
from calculators.training import GpuKind, GpuRefused, Many, Parallel, Training
from gpu_data import formats as format_data
from gpu_data.training import training_tables
from gpu_data.training_schemas import Checkpointing, Framework, Optimizer, Precision
from pages.ui import catalogue, words, workload

FRAMEWORKS = {"finetune": "transformers", "train": "torchtitan"}  # when the reader names none
SEQ_LEN = {"finetune": 2048, "train": 4096}  # tokens
OPTIMIZERS = {"qlora": "paged-adamw"}  # Dettmers et al. 2023; else the framework's own
ADAPTER_PRECISION = "bf16"  # a frozen base is loaded in 16 bits
BASE_FORMAT = "bnb-nf4"
FUSED_LOGIT_BYTES = 0.5  # logits in pieces that never live together
PLAIN_LOGIT_BYTES = 14.0  # 16-bit, fp32, its softmax and its gradient
METHOD_NAMES = {"qlora": "QLoRA", "lora": "LoRA", "full": "Full fine-tuning"}
_PER_BOARD = (
    "bandwidth_gb_per_s",
    "tdp_w",
    "dense_bf16_tflops",
    "dense_fp16_tflops",
    "dense_fp8_tflops",
    "dense_tf32_tflops",
    "fp32_tflops",
)
_MEASURES = ("needed_bytes", "headroom_bytes", "tokens_per_s_per_gpu", "low", "high", "mfu")
_HOURS = ("gpu_hours", "gpu_hours_low", "gpu_hours_high")


@lru_cache(maxsize=1024)
def _kind(gpu_id: str, quantised: bool) -> GpuKind:
    """One GPU of the table as the training calculators see it."""
    tables, row = training_tables(), dict(catalogue.spec_row(gpu_id))
    pinned = workload.pinned(gpu_id, 1)
    for column in _PER_BOARD:
        if pinned.devices > 1 and isinstance(row[column], int | float):
            row[column] = row[column] / pinned.devices
    row["name"] = pinned.name
    way = support(catalogue.spec_row(gpu_id), format_data.weight_format(BASE_FORMAT)) if quantised else None
    barred = way.reason if way is not None and way.state == "no" else None
    try:
        speed, refused = training.gpu_speed_of(gpu_id, row, tables), None
    except GpuRefused as error:
        speed, refused = None, str(error).removeprefix(f"gpu: {pinned.name} has ")
    return GpuKind(
        pinned.name,
        pinned.capacity_bytes,
        speed,
        tables.speed_band(gpu_id),
        pinned.devices,
        refused,
        barred,
    )


@dataclass(frozen=True)
class Runs:
    """The whole run on several GPUs, in the order given; arrays [gpu], NaN where a speed is not known.

    Bytes are those of the fullest GPU; verdict 0 does not fit, 1 tight, 2 fits; low and high are 80 % bands.
    `ways`: how each is split, None where `refused` says why it cannot be. `speed_refused`: why a speed is not
    known although the run is possible.
    """

    gpus: tuple[workload.PinnedGpu, ...]
    ways: tuple[Training | None, ...]
    refused: tuple[str | None, ...]
    speed_refused: tuple[str | None, ...]
    verdict: NDArray[np.int8]
    needed_bytes: NDArray[np.float64]
    headroom_bytes: NDArray[np.float64]
    tokens_per_s_per_gpu: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    mfu: NDArray[np.float64]
    gpu_hours: NDArray[np.float64]
    gpu_hours_low: NDArray[np.float64]
    gpu_hours_high: NDArray[np.float64]
    days: NDArray[np.float64]
    days_low: NDArray[np.float64]
    days_high: NDArray[np.float64]
    energy_kwh: NDArray[np.float64]


@dataclass(frozen=True)
class Choices:
    """What the reader chose, with the task's default where nothing was chosen. No model needed."""

    scenario: Scenario

    @property
    def trains(self) -> bool:
        """Whether a model is trained from nothing, rather than fine-tuned."""
        return self.scenario.task == "train"

    @property
    def task(self) -> str:
        """The task whose defaults hold."""
        return "train" if self.trains else "finetune"

    @property
    def method(self) -> str:
        """full, lora or qlora."""
        return "full" if self.trains else self.scenario.method

    @property
    def framework(self) -> Framework:
        """The training stack."""
        return training_tables().frameworks[self.scenario.training_framework or FRAMEWORKS[self.task]]

    @property
    def precision(self) -> Precision:
        """The number formats of trained weights."""
        usual = self.framework.precision if self.method == "full" else ADAPTER_PRECISION
        return training_tables().precisions[self.scenario.training_precision or usual]

    @property
    def optimizer(self) -> Optimizer:
        """The optimiser."""
        usual = OPTIMIZERS.get(self.method, self.framework.optimizer)
        return training_tables().optimizers[self.scenario.optimizer or usual]

    @property
    def seq_len(self) -> int:
        """Tokens of one sequence."""
        return self.scenario.seq_len or SEQ_LEN[self.task]

    @property
    def checkpointing(self) -> Checkpointing:
        """What is computed again; a fine-tune recomputes everything unless told otherwise."""
        usual: Checkpointing = self.framework.checkpointing if self.trains else "full"
        return usual if self.scenario.checkpointing == "auto" else self.scenario.checkpointing

    @property
    def boards(self) -> int:
        """GPUs of each kind, counted as one buys them."""
        return self.scenario.train_gpus if self.trains else self.scenario.gpu_count

    @property
    def tokens(self) -> float:
        """Tokens of the whole run."""
        s = self.scenario
        if self.trains:
            return float(s.train_tokens)
        return float(training.epochs_tokens(s.samples, s.sample_tokens, s.epochs))

    @property
    def automatic_split(self) -> bool:
        """Whether the split over the GPUs is left to us."""
        s = self.scenario
        sizes = (s.train_tensor, s.train_pipeline, s.train_context, s.train_expert)
        return s.zero_stage == "auto" and not any(sizes)

    @property
    def parallel(self) -> Parallel:
        """The split that the reader asked for; sizes left open are 1."""
        s = self.scenario
        pipeline = s.train_pipeline or 1
        zero = self.framework.zero_stage if pipeline == 1 else min(self.framework.zero_stage, 1)
        return Parallel(
            1,
            s.train_tensor or 1,
            pipeline,
            s.train_context or 1,
            s.train_expert or 1,
            zero if s.zero_stage == "auto" else int(s.zero_stage),
            s.sequence_parallel != "off",
        )

    @property
    def data_words(self) -> str:
        """What a fine-tune goes through, in words."""
        s = self.scenario
        samples = words.count(s.samples, "sample")
        return samples if s.epochs == 1 else f"{samples} × {s.epochs:g} epochs"


@dataclass(frozen=True)
class TrainingLoad(Choices):
    """A model, how it is trained, and on which GPUs."""

    architecture: Architecture
    name: str

    @cached_property
    def run(self) -> Training:
        """The run at the sizes chosen, before it is split over GPUs."""
        s = self.scenario
        logits = {"auto": None, "on": FUSED_LOGIT_BYTES, "off": PLAIN_LOGIT_BYTES}[s.fused_loss]
        return Training(
            self.architecture,
            self.framework,
            self.precision,
            self.optimizer,
            training_tables().lora_targets,
            self.method,
            format_data.weight_format(BASE_FORMAT) if self.method == "qlora" else None,
            lora_rank=s.lora_rank,
            targets=s.lora_targets,
            seq_len=self.seq_len,
            micro_batch=s.micro_batch,
            checkpointing=self.checkpointing,
            flash_attention=s.flash_attention != "off",
            logit_bytes=logits,
            offload=s.offload,
            parallel=self.parallel,
        )

    @cached_property
    def refused(self) -> str | None:
        """Why the run can exist on no number of GPUs, by field; None when it can on some."""
        p = self.parallel
        return training.refusal_of(self.run, p.tensor * p.pipeline * p.context * p.expert)

    @property
    def pinned(self) -> tuple[workload.PinnedGpu, ...]:
        """The pinned GPUs, so many of each as the task takes."""
        return tuple(workload.pinned(gpu, self.boards) for gpu in self.scenario.gpus)

    def kinds(self, gpus: Sequence[workload.PinnedGpu]) -> list[GpuKind]:
        """What each GPU can do."""
        return [_kind(gpu.id, self.method == "qlora") for gpu in gpus]

    def many(
        self,
        gpus: Sequence[workload.PinnedGpu],
        *,
        seq_len: Any = None,
        micro_batch: Any = None,
        boards: Any = None,
        with_speed: bool = True,
    ) -> Many:
        """The run on these GPUs [gpu, ...sizes]; sizes may be arrays of one shape."""
        run = self.run
        if seq_len is not None:
            run = run.but(seq_len=seq_len)
        if micro_batch is not None:
            run = run.but(micro_batch=micro_batch)
        return training.many(
            run,
            self.kinds(gpus),
            self.boards if boards is None else boards,
            training_tables(),
            automatic_split=self.automatic_split,
            may_checkpoint=self.trains and self.scenario.checkpointing == "auto",
            accumulation=self.scenario.accumulation,
            with_speed=with_speed,
        )

    def gpus_for_deadline(self, days: float) -> list[tuple[int | None, int | None]]:
        """(boards that finish at the expected speed, at the slow end of the band) of each pinned GPU."""
        slow = 1 + training_tables().bands["gpu_hours"].high
        return list(
            zip(
                *(
                    training.boards_in_time(
                        self.run,
                        self.kinds(self.pinned),
                        training_tables(),
                        self.tokens * factor,
                        days,
                        MAX_TRAIN_GPUS,
                        automatic_split=self.automatic_split,
                        may_checkpoint=self.trains and self.scenario.checkpointing == "auto",
                        accumulation=self.scenario.accumulation,
                    )
                    for factor in (1.0, slow)
                ),
                strict=True,
            )
        )

    def why_not(
        self, gpu: workload.PinnedGpu, devices: int | None = None, seq_len: int | None = None
    ) -> str | None:
        """Why so many of a GPU cannot take the run whatever their memory; None when they can."""
        kind = _kind(gpu.id, self.method == "qlora")
        if kind.barred or self.automatic_split:
            return kind.barred
        run = self.run if seq_len is None else self.run.but(seq_len=seq_len)
        return training.refusal_of(run, gpu.devices if devices is None else devices)

    def hours(self, found: Many) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """GPU-hours of the whole run and the ends of their 80 % band; none is shorter than can be.

        Training has the band of published whole runs, a fine-tune that of the steady speed.
        """
        hours = np.asarray(training.gpu_hours(self.tokens, found.tokens_per_s_per_gpu))
        if not self.trains:
            shortest = np.asarray(training.gpu_hours(self.tokens, found.high))
            return hours, shortest, np.asarray(training.gpu_hours(self.tokens, found.low))
        shortest = np.asarray(training.gpu_hours(self.tokens, found.fastest))
        band = training_tables().bands["gpu_hours"]
        return hours, np.maximum(hours * (1 + band.low), shortest), hours * (1 + band.high)

    def runs(self, gpus: Sequence[workload.PinnedGpu] | None = None, known: Many | None = None) -> Runs:
        """Memory, time and energy of the whole run on GPUs (None: those pinned).

        One vectorised call for every number of boards among them; none where the run on them is `known`.
        """
        chosen = self.pinned if gpus is None else tuple(gpus)
        kinds = self.kinds(chosen)
        columns = {name: np.full(len(chosen), np.nan) for name in (*_MEASURES, *_HOURS)}
        verdict = np.zeros(len(chosen), dtype=np.int8)
        ways: list[Training | None] = [None] * len(chosen)
        groups: dict[int, list[int]] = {}
        for i, (gpu, kind) in enumerate(zip(chosen, kinds, strict=True)):
            groups.setdefault(gpu.devices // kind.devices_per_board, []).append(i)
        for boards, at in groups.items():
            found = known or self.many([chosen[i] for i in at], boards=boards)
            verdict[at] = found.verdict
            for name in _MEASURES:
                columns[name][at] = getattr(found, name)
            for name, value in zip(_HOURS, self.hours(found), strict=True):
                columns[name][at] = value
            for i, option in zip(at, found.option.tolist(), strict=True):
                ways[i] = way_on(found, option, chosen[i].devices)
        devices = np.array([gpu.devices for gpu in chosen])
        power = [kind.speed.power_w if kind.speed else None for kind in kinds]
        return Runs(
            chosen,
            tuple(ways),
            tuple(self.why_not(gpu) for gpu in chosen),
            tuple(kind.speed_refused for kind in kinds),
            verdict,
            **columns,
            **{
                name.replace("gpu_hours", "days"): np.asarray(training.wall_days(columns[name], devices))
                for name in _HOURS
            },
            energy_kwh=np.asarray(training.energy_kwh(columns["gpu_hours"], np.array(power, dtype=float))),
        )

    @property
    def work(self) -> str:
        """What is done, with which model: the start of every sentence."""
        if self.trains:
            return f"Training {self.name} on {words.large(self.tokens)} tokens"
        return f"{METHOD_NAMES[self.method]} of {self.name}"


def way_on(found: Many, option: int, devices: int) -> Training | None:
    """One of the ways of `found` on so many GPUs of one kind."""
    if option < 0:
        return None
    way = found.options[option]
    way = way.but(parallel=replace(way.parallel, gpus=devices))
    if np.ndim(way.accumulation):  # it followed the sizes
        way = way.but(accumulation=training.usual_accumulation(way, training_tables()))
    return way


def too_large_batch(way: Training) -> float:
    """Tokens of one optimiser step where that is more than any published run took, else 0."""
    tokens = float(training.step_tokens(way))
    return tokens if tokens > training_tables().number("largest_batch_tokens") else 0.0


def split_words(run: Training) -> str:
    """A split over GPUs and what is computed again, in words."""
    p = run.parallel
    gpus = int(np.max(p.gpus))
    if gpus == 1:
        said = ["one GPU"]
    else:
        said = [f"{n} {label}" for n, label in _sizes(p) if n > 1]
        data = int(np.max(p.data))
        split = {0: "", 1: " with ZeRO-1", 2: " with ZeRO-2", 3: " with ZeRO-3 (FSDP)"}[p.zero_stage]
        said.append(f"{words.count(data, 'data-parallel copy').replace('copys', 'copies')}{split}")
    return f"{' × '.join(said)}, {CHECKPOINTING_WORDS[run.checkpointing]}"


def split_short(run: Training) -> str:
    """The same in letters: TP8 × PP2 × DP4, ZeRO-1; nothing for one GPU."""
    p = run.parallel
    if int(np.max(p.gpus)) == 1:
        return ""
    named = (
        ("TP", p.tensor),
        ("PP", p.pipeline),
        ("CP", p.context),
        ("EP", p.expert),
        ("DP", int(np.max(p.data))),
    )
    cut = " × ".join(f"{name}{n}" for name, n in named if n > 1)
    return f"{cut}, ZeRO-{p.zero_stage}" if p.zero_stage else cut


def _sizes(p: Parallel) -> tuple[tuple[int, str], ...]:
    return (
        (p.tensor, "tensor parallel"),
        (p.pipeline, "pipeline stages"),
        (p.context, "context parallel"),
        (p.expert, "expert parallel"),
    )


CHECKPOINTING_WORDS = {
    "none": "no checkpointing",
    "selective": "selective checkpointing",
    "full": "full checkpointing",
}


def load(scenario: Scenario) -> TrainingLoad:
    """The scenario's training load. Raises ConfigRefused when a config cannot be read."""
    served = workload.load(scenario)
    return TrainingLoad(scenario, served.architecture, served.name)


def changed(load: TrainingLoad, **fields: Any) -> TrainingLoad:
    """The load with some fields of its scenario changed, the model left as it is."""
    return TrainingLoad(load.scenario.model_copy(update=fields), load.architecture, load.name)
