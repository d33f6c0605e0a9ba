"""A Scenario with its ids looked up: what the calculators take. Looks up and hands over; computes nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Any

import numpy as np

from calculators import memory
from calculators.architecture import Architecture, ConfigRefused, params_active, params_total, read_config
from calculators.formats import (
    FormatRefused,
    Support,
    engine_layout,
    kv_bytes_per_element,
    support,
    weights_bytes,
)
from calculators.scenario import Scenario
from gpu_data import engines as engine_data
from gpu_data import models as model_data
from pages.ui import catalogue, words
from pages.ui.gpu_counts import layers_words, split_words

_SIXTEEN_BITS = ("fp16", "bf16")  # what formats are computed in that a GPU need not know
STAGES = {"pp2": 2, "pp4": 4, "pp8": 8}


@dataclass(frozen=True, slots=True)
class PinnedGpu:
    """Some GPUs of one kind as the calculators see them; bytes per device.

    A number of GPUs counts boards, as they are bought, on every page and in every link; a program may see
    several devices on each (two dies of an MI250X, the four GPUs of an A16).
    """

    id: str
    name: str
    devices: int
    capacity_bytes: float
    basis: str
    unified: bool
    per_board: int = 1

    @property
    def title(self) -> str:
        """Count and name; of boards with several devices, these too."""
        seen = f" ({self.devices:,} devices)" if self.per_board > 1 else ""
        return f"{self.devices // self.per_board:,} × {self.name}{seen}"


@cache
def architecture(model_id: str) -> Architecture:
    """A catalogue model's layers. Raises ConfigRefused."""
    return read_config(model_data.model_config(model_id))


@lru_cache(maxsize=64)
def pasted_architecture(config_json: str) -> Architecture:
    """A pasted config's layers. Raises ConfigRefused."""
    return read_config(json.loads(config_json))


@lru_cache(maxsize=1024)
def pinned(gpu_id: str, boards: int) -> PinnedGpu:
    """So many boards of one GPU; a board with several devices counts each."""
    row = catalogue.gpus().loc[gpu_id]
    per_board = int(row["devices_per_board"])
    return PinnedGpu(
        gpu_id,
        catalogue.gpu_name(gpu_id),
        boards * per_board,
        float(row["usable_bytes"]),  # of one device
        str(row["usable_basis"]),
        bool(row["unified_memory"]),
        per_board,
    )


@dataclass(frozen=True, slots=True)
class Workload:
    """A model, its formats and its engine, ready to be put on GPUs."""

    scenario: Scenario
    architecture: Architecture
    name: str

    @property
    def weight_format(self) -> Any:
        """The weight format's table."""
        return catalogue.weight_formats()[self.scenario.weight_format]

    @property
    def kv_format(self) -> Any:
        """The cache format's table."""
        return catalogue.kv_formats()[self.scenario.kv_cache_dtype]

    @property
    def engine(self) -> Any:
        """The engine's parameter set."""
        return catalogue.engines()[self.scenario.engine]

    @property
    def title(self) -> str:
        """Model and weight format in words."""
        fmt = self.weight_format
        return f"{self.name} as released" if fmt.kind == "native" else f"{self.name} in {fmt.label}"

    @property
    def pinned(self) -> tuple[PinnedGpu, ...]:
        """The pinned GPUs, so many of each as the scenario says."""
        return tuple(pinned(gpu, self.scenario.gpu_count) for gpu in self.scenario.gpus)

    def options(self) -> memory.Options:
        """What the reader set; the rest is the engine's own default."""
        s = self.scenario
        return memory.Options(
            memory_share=s.gpu_memory_utilization,
            max_num_seqs=s.max_num_seqs,
            max_num_batched_tokens=s.max_num_batched_tokens,
            ubatch_tokens=s.n_ubatch,
            flash_attention={"auto": None, "on": True, "off": False}[s.flash_attention],
            enforce_eager=s.enforce_eager,
            swa_full=s.swa_full,
        )

    def unread(self, gpus: Sequence[PinnedGpu] = ()) -> str | None:
        """Why the engine cannot take the formats chosen, with the nearest that it can; None when it can."""
        for fmt, what, near in (
            (self.weight_format, "weights", self.near_weights),
            (self.kv_format, "a KV cache", self.near_caches),
        ):
            if not self.loads(fmt):
                other = next(iter(near(gpus)), None)
                way = f"; choose {other.label}" if other else ""
                return f"{self.engine.label} does not read {what} in {fmt.label}{way}"
        return None

    def barred(self, gpu: PinnedGpu) -> str | None:
        """Why engine or GPU cannot run the formats chosen, whatever the memory; None when they can."""
        way = self.support(gpu.id, self.weight_format)
        return self.unread([gpu]) or (way.reason if way.state == "no" else None)

    def near_weights(self, gpus: Sequence[PinnedGpu] = ()) -> list[Any]:
        """Weight formats that the engine reads and the GPUs run, next in size to the one chosen first.

        Those made to be multiplied as they are (FP4) come last where a GPU would only store them.
        """
        able = _by_nearness(self.architecture, self.weight_format.id, self.engine.algorithm)
        formats = (catalogue.weight_formats()[one] for one in able)
        found = []
        for fmt in formats:
            states = {self.support(gpu.id, fmt).state for gpu in gpus}
            if "no" not in states:
                found.append((fmt.compute_dtype not in _SIXTEEN_BITS and "storage" in states, fmt))
        return [fmt for _, fmt in sorted(found, key=lambda pair: pair[0])]

    def near_caches(self, gpus: Sequence[PinnedGpu] = ()) -> list[Any]:
        """Cache formats that the engine reads, next in size to the one chosen first."""
        head_dim = self.architecture.head_dim or 1
        now = kv_bytes_per_element(self.kv_format, head_dim)
        able = [fmt for fmt in catalogue.kv_formats().values() if self.loads(fmt)]
        return sorted(able, key=lambda fmt: abs(kv_bytes_per_element(fmt, head_dim) - now))

    def parallel(self, devices: int) -> tuple[int, int] | str:
        """(tensor_parallel_size, pipeline_parallel_size) for so many devices, or why not."""
        split = self.scenario.split
        if split == "auto" or self.engine.split == "layers":
            fleet, reason = memory.best_fleet(self.architecture, self.engine, devices, self.weight_format)
            if fleet is None:
                return reason or "the engine accepts no split over so many GPUs"
            return fleet.tensor_parallel_size, fleet.pipeline_parallel_size
        stages = devices if split == "pipeline" else STAGES.get(split, 1)
        if devices % stages:
            return f"{devices} GPUs cannot be cut into {stages} pipeline stages of equal width"
        tensor = devices // stages
        allowed = memory.allowed_tensor_parallel_sizes(
            self.architecture, max(8, tensor), self.weight_format, self.scenario.expert_parallel
        )
        if reason := allowed[tensor]:
            good = [size for size, why in allowed.items() if why is None]
            below, above = max(n for n in good if n < tensor), next((n for n in good if n > tensor), None)
            counts = [f"{n * stages:,}" for n in (below, above) if n and n * stages > 1]
            ways = ["pipeline stages"] if stages == 1 else []
            ways += [f"{words.either(counts)} GPUs"] if counts else []
            return f"{reason}; use {', or '.join(ways)}"
        return tensor, stages

    def split_of(self, gpu: str, boards: int) -> str:
        """How so many boards of a GPU share the model, in the engine's words; nothing for one device."""
        devices = pinned(gpu, boards).devices
        if devices == 1:
            return ""
        if self.engine.split == "layers":
            return layers_words(devices)
        found = self.parallel(devices)
        return "" if isinstance(found, str) else split_words(*found)

    def deployment(
        self, gpus: Sequence[PinnedGpu], tokens: Any = None, users: Any = None
    ) -> memory.Deployment | str:
        """This workload on `alike` GPUs, or why it cannot be cut so.

        Capacities take a first axis of their own when there are several GPUs; `tokens` and `users` may be
        arrays that broadcast against it.
        """
        s = self.scenario
        parallel = self.barred(gpus[0]) or self.parallel(gpus[0].devices)
        if isinstance(parallel, str):
            return parallel
        first = gpus[0]
        trailing = len(np.broadcast_shapes(np.shape(tokens), np.shape(users)))
        capacities = np.array([gpu.capacity_bytes for gpu in gpus]).reshape(-1, *(1,) * trailing)
        return memory.Deployment(
            architecture=self.architecture,
            weight_format=self.weight_format,
            kv_format=self.kv_format,
            engine=self.engine,
            gpu=memory.GpuMemory(
                first.name,
                first.capacity_bytes if len(gpus) == 1 else capacities,
                first.basis,
                first.unified,
                tuple(gpu.name for gpu in gpus),
            ),
            options=self.options(),
            tensor_parallel_size=parallel[0],
            pipeline_parallel_size=parallel[1],
            expert_parallel=s.expert_parallel,
            max_model_len=s.max_model_len if tokens is None else tokens,
            concurrency=s.concurrency if users is None else users,
            band=self.band,
            layout=self.layout(first.id, self.weight_format),
        )

    def alike(self, gpus: Sequence[PinnedGpu]) -> list[list[PinnedGpu]]:
        """GPUs whose numbers one vectorised call can give: same devices and layout of the weights.

        Those on which the formats cannot run stand apart, each with others of the same reason. Notes on the
        memory of a group are those of its first GPU.
        """
        groups: dict[tuple[int, int, str | None], list[PinnedGpu]] = {}
        fmt, read = self.weight_format, self.unread() is None
        kinds: dict[str, tuple[int, str | None]] = {}  # of a GPU, whatever the count
        for gpu in gpus:
            if gpu.id not in kinds:
                runs = read and self.support(gpu.id, fmt).state != "no"
                kinds[gpu.id] = id(self.layout(gpu.id, fmt)), None if runs else self.barred(gpu)
            groups.setdefault((gpu.devices, *kinds[gpu.id]), []).append(gpu)
        return list(groups.values())

    @staticmethod
    def same_devices(gpus: Sequence[PinnedGpu]) -> list[list[PinnedGpu]]:
        """GPUs by how many devices a program sees: what one fit matrix can take."""
        groups: dict[int, list[PinnedGpu]] = {}
        for gpu in gpus:
            groups.setdefault(gpu.devices, []).append(gpu)
        return list(groups.values())

    def loads(self, fmt: Any) -> bool:
        """Whether the engine reads a weight or cache format."""
        return not fmt.engines or self.engine.algorithm in fmt.engines

    def formats(self) -> list[Any]:
        """The weight formats that the engine reads and this model can be counted in, and the one chosen."""
        found = []
        for fmt in catalogue.weight_formats().values():
            if fmt.id != self.weight_format.id and not self.loads(fmt):
                continue
            try:
                weights_bytes(self.architecture, fmt)
            except FormatRefused:
                continue
            found.append(fmt)
        return found

    def _checkpoint(self, fmt: Any) -> tuple[str, str]:
        """The model and config that decide what `fmt` means: only those of a native format do."""
        s = self.scenario
        return (s.model, s.config_json) if fmt.kind == "native" else ("", "")

    def support(self, gpu_id: str, fmt: Any) -> Support:
        """How one GPU runs a weight format under this engine."""
        return _support(gpu_id, fmt.id, self.engine.algorithm, *self._checkpoint(fmt))

    def layout(self, gpu_id: str, fmt: Any) -> Any:
        """How the engine keeps a weight format in the memory of one GPU; None: as in the checkpoint."""
        return _layout(gpu_id, fmt.id, self.engine.algorithm, *self._checkpoint(fmt))

    @property
    def band(self) -> Any:
        """How far estimates for this engine were off on measured runs."""
        return engine_data.error_band(self.engine.family)


def checkpoint(model: str, config_json: str) -> Architecture | None:
    """The checkpoint that decides a format, where one does."""
    return pasted_architecture(config_json) if config_json else architecture(model) if model else None


@lru_cache(maxsize=256)
def _by_nearness(arch: Architecture, format_id: str, algorithm: str) -> tuple[str, ...]:
    """Weight formats that the engine reads, by how far their size is from that of one format.

    An engine of GGUF files is offered those first: as many bits as the name says, K-quants before others, the
    largest of these first. That is what people download.
    """
    table = catalogue.weight_formats()
    sizes = {}
    for fmt in table.values():
        if fmt.id == format_id or not fmt.engines or algorithm in fmt.engines:
            try:
                sizes[fmt.id] = weights_bytes(arch, fmt).total_bytes
            except FormatRefused:
                continue
    now, bits = sizes.pop(format_id, 0), table[format_id].nominal_bits
    if any(table[one].kind == "gguf" for one in sizes):
        return tuple(
            sorted(
                sizes,
                key=lambda one: (
                    table[one].kind != "gguf",
                    abs(round(table[one].nominal_bits) - round(bits)),
                    "_k" not in one,
                    -sizes[one],
                ),
            )
        )  # fmt: skip
    return tuple(sorted(sizes, key=lambda one: abs(sizes[one] - now)))


@lru_cache(maxsize=16384)
def _support(gpu_id: str, format_id: str, algorithm: str, model: str, config_json: str) -> Support:
    none = engine_data.no_backend(algorithm, str(catalogue.spec_row(gpu_id)["vendor"]))
    if none is not None:
        return Support("no", none.reason, none.source)
    fmt = catalogue.weight_formats()[format_id]
    return support(catalogue.spec_row(gpu_id), fmt, checkpoint(model, config_json))


@lru_cache(maxsize=16384)
def _layout(gpu_id: str, format_id: str, algorithm: str, model: str, config_json: str) -> Any:
    fmt = catalogue.weight_formats()[format_id]
    return engine_layout(catalogue.spec_row(gpu_id), fmt, algorithm, checkpoint(model, config_json))


def support_of(gpu_id: str, fmt: Any, algorithm: str, model: str, config_json: str) -> Support:
    """How one GPU runs a weight format under an engine; model or config decide what a native format means."""
    return _support(gpu_id, fmt.id, algorithm, *((model, config_json) if fmt.kind == "native" else ("", "")))


def load(scenario: Scenario) -> Workload:
    """The scenario's workload. Raises ConfigRefused when a config cannot be read."""
    if scenario.config_json:
        found = pasted_architecture(scenario.config_json)
        kind = f"{words.cut(found.model_type)} " if found.model_type.strip() else ""
        return Workload(scenario, found, f"Your {kind}model")
    return Workload(scenario, architecture(scenario.model), model_data.model(scenario.model).name)


def changed(load: Workload, **fields: Any) -> Workload:
    """The workload with some fields of its scenario changed, the model left as it is."""
    return replace(load, scenario=load.scenario.model_copy(update=fields))


def model_facts(scenario: Scenario) -> Mapping[str, str]:
    """Size (counted from the config), active size, native dtype and licence of the model in use."""
    try:
        found = load(scenario).architecture
        total, active = params_total(found), params_active(found)
        facts = {"Parameters": words.billions(total)}
        if active != total:
            facts["Active per token"] = words.billions(active)
    except ConfigRefused:
        facts = {}
    if not scenario.config_json:
        label = model_data.model(scenario.model)
        facts["Native dtype"] = label.native_weight_dtype
        facts["Licence"] = label.license_label + (" (gated)" if label.gated else "")
    return facts
