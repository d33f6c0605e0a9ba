"""Processor time of the calculations and of what a start reads: `python -m tests.bench.compute`.

Printed are milliseconds and their ratio to one unit of work (a fixed loop of Python and NumPy timed in the
same run), because absolute times depend on the machine. Nothing here is an assertion.
"""

from __future__ import annotations

import dataclasses
import gc
import json
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import date
from typing import Any

import numpy as np

from calculators import memory, speed
from calculators.architecture import params_total, read_config
from calculators.formats import FormatRefused, engine_layout, weights_bytes
from calculators.scenario import Scenario
from calculators.speed.room import held_tokens, matrix_residents
from gpu_data import spec_frame
from gpu_data.engines import engine, error_band
from gpu_data.formats import kv_format, weight_formats
from gpu_data.models import model_config, model_ids
from gpu_data.speed import speed_bands, speed_engine_like
from pages.ui import tracks, workload
from pages.ui.recommend_load import Recommendation, recommend
from pages.ui.recommend_text import details, headline, left_out, rows

ENGINES = ("vllm", "sglang", "tensorrt-llm", "llama.cpp", "transformers")
KV = kv_format("bf16")
MODELS = ("llama-3.3-70b", "deepseek-v3", "gpt-oss-120b", "qwen3.5-27b")


def unit() -> None:
    """One unit of work: 20,000 additions in Python and a sum over a million numbers in NumPy."""
    total = 0
    for i in range(20_000):
        total += i
    np.arange(1_000_000, dtype=np.float64).sum()


def best_ms(job: Callable[[], object], runs: int = 5) -> float:
    """Processor time of the best of some runs [ms]."""
    took = []
    for _ in range(runs):
        start = time.process_time()
        job()
        took.append(time.process_time() - start)
    return 1e3 * min(took)


def fresh_process_ms(code: str) -> float:
    """What a statement takes in a new process, imports apart [ms]."""
    timed = f"import time, pandas; {code.split(';')[0]}; start = time.process_time(); "
    timed += f"{code.split(';', 1)[1]}; print(time.process_time() - start)"
    runs = [subprocess.run([sys.executable, "-c", timed], capture_output=True, check=True) for _ in range(3)]
    return 1e3 * min(float(run.stdout) for run in runs)


def matrix(model_id: str, engine_id: str) -> tuple[Callable[[], object], int]:
    """The whole fit matrix of a model read anew, and how many combinations it holds."""
    cards = spec_frame()[lambda frame: frame["released"]]
    capacity, names = cards["usable_bytes"].astype(float).to_numpy(), tuple(cards["name"])
    arch = dataclasses.replace(read_config(model_config(model_id)))
    formats = []
    for fmt in weight_formats():
        try:
            weights_bytes(dataclasses.replace(arch), fmt)
        except FormatRefused:
            continue
        formats.append(fmt)
    layouts = [[engine_layout(card, fmt, engine_id, arch) for _, card in cards.iterrows()] for fmt in formats]
    counts = (1, 2, 4, 8)

    def job() -> object:
        return memory.fit_matrix(
            arch, kv_format("bf16"), engine(engine_id), capacity, counts, formats, 8192, 4,
            band=error_band(engine(engine_id).family), names=names, layouts=layouts,
        )  # fmt: skip

    return job, len(cards) * len(counts) * len(formats)


class Catalogue:
    """Memory and speed of every model on every GPU, count and weight format; facts of GPUs looked up once."""

    def __init__(self, engine_id: str = "vllm"):
        cards = spec_frame()[lambda frame: frame["released"]]
        self.engine, self.counts = engine(engine_id), (1, 2, 4, 8)
        found = speed_engine_like(engine_id, self.engine.family)
        assert found is not None
        self.speed_engine, self.band = found, error_band(self.engine.family)
        self.specs = [dict(card) for _, card in cards.iterrows()]
        self.capacity, self.names = cards["usable_bytes"].astype(float).to_numpy(), tuple(cards["name"])
        self.gpu = memory.GpuMemory("all", self.capacity, names=self.names)
        self.models = [read_config(model_config(model_id)) for model_id in model_ids()]
        self.models = [arch for arch in self.models if arch.generates]
        self.looked_up: dict[str, tuple[Any, Any]] = {}

    def facts(self, fmt: Any, arch: Any) -> tuple[Any, Any]:
        """(layouts, rates) of all GPUs for a format; only those of a native format depend on the model."""
        if fmt.kind != "native" and fmt.id in self.looked_up:
            return self.looked_up[fmt.id]
        layouts = [engine_layout(spec, fmt, self.engine.algorithm, arch) for spec in self.specs]
        rates, _ = speed.fleet_rates(self.specs, fmt, arch, self.speed_engine.half_accumulate)
        self.looked_up[fmt.id] = layouts, rates
        return layouts, rates

    def run(self, arch: Any, prompt: int = 1024, output: int = 256, users: int = 16) -> int:
        """Compute one model; returns how many combinations had both figures worked out."""
        formats, works, layouts, rates = [], [], [], []
        for fmt in weight_formats():
            try:
                works.append(speed.model_work(arch, fmt, KV))
            except FormatRefused:
                continue
            formats.append(fmt)
            layout, rate = self.facts(fmt, arch)
            layouts.append(layout)
            rates.append(rate)
        matrix = memory.fit_matrix(
            arch, KV, self.engine, self.capacity, self.counts, formats, prompt + output, 1,
            band=self.band, names=self.names, layouts=layouts,
        )  # fmt: skip
        base = memory.Deployment(
            arch, formats[0], KV, self.engine, self.gpu, max_model_len=prompt + output, concurrency=1
        )
        held = held_tokens(self.speed_engine, prompt, output)
        room = matrix_residents(matrix, base, self.speed_engine, held)  # [gpu, count, format]
        tensor, stages = (
            np.array([[getattr(way, name, 1) for way in ways] for ways in matrix.fleets])[None]
            for name in ("tensor_parallel_size", "pipeline_parallel_size")
        )
        found = speed.serving_speed(
            speed.stack_formats(works), by_format_last(speed.stack(rates)), self.speed_engine, speed_bands(),
            prompt, output, users, room, speed.Split(tensor, stages),
        )  # fmt: skip
        assert found.tpot_s.value.shape == matrix.verdict.shape
        return matrix.verdict.size


def by_format_last(rates: Any) -> Any:
    """Rates [format, gpu] as [gpu, 1, format]."""
    held = {f.name: getattr(rates, f.name) for f in dataclasses.fields(rates)}
    arrays = {name: part.T[:, None, :] for name, part in held.items() if isinstance(part, np.ndarray)}
    return dataclasses.replace(rates, **arrays)


def catalogue_rate() -> dict[str, float]:
    """The whole catalogue once, configs read and GPU facts looked up before."""
    catalogue = Catalogue()
    catalogue.run(catalogue.models[0])
    start = time.process_time()
    combinations = sum(catalogue.run(arch) for arch in catalogue.models)
    took = time.process_time() - start
    return {
        "whole_catalogue_models": len(catalogue.models),
        "whole_catalogue_combinations": combinations,
        "whole_catalogue_s": round(took, 2),
        "memory_and_speed_combinations_per_s": round(combinations / took),
    }


def page_of(found: Recommendation) -> object:
    """What the Recommend page says of an answer."""
    return [part(found) for part in (headline, details, rows, left_out)]


def ranking() -> dict[str, float]:
    """The whole catalogue ranked: scenarios and models never seen before, and only other users."""
    today, shares = date(2026, 11, 30), (0.9 - n / 10**4 for n in range(10**3))
    asked: dict[str, dict[str, Any]] = {
        "one user": {"concurrency": 1},
        "20 users": {"concurrency": 20},
        "20 users, three formats": {"concurrency": 20, "format_freedom": "any"},
        "1,000 users, three formats": {"concurrency": 1000, "format_freedom": "any"},
        "batch": {"serving": "batch"},
        "batch, three formats": {"serving": "batch", "format_freedom": "any"},
    }
    found = {}
    for name, fields in asked.items():  # a share of memory that nobody asked for leaves nothing kept
        found[f"catalogue ranked, {name}"] = best_ms(
            lambda fields=fields: recommend(
                Scenario.model_validate({"gpu_memory_utilization": round(next(shares), 4), **fields}), today
            )
        )
    models = iter([one for one in model_ids() if read_config(model_config(one)).generates])
    found["catalogue ranked, a new model, three formats"] = best_ms(
        lambda: recommend(Scenario(model=next(models), concurrency=20, format_freedom="any"), today), 14
    )
    users = iter(range(2, 10**3))
    found["catalogue ranked anew, other users"] = best_ms(
        lambda: recommend(Scenario(concurrency=next(users)), today), 14
    )
    found["Recommend page, other users"] = best_ms(
        lambda: page_of(recommend(Scenario(concurrency=next(users)), today)), 14
    )
    tokens = iter(range(1, 10**3))
    for name, fields in (
        ("training", {"task": "train", "deadline_days": 30}),
        ("QLoRA", {"task": "finetune"}),
    ):
        found[f"catalogue ranked, {name}"] = best_ms(
            lambda fields=fields: recommend(
                Scenario.model_validate({"seq_len": 512 * next(tokens), **fields}), today
            )
        )
    return found


def main() -> None:
    """Print every figure as JSON."""
    gc.collect()
    gc.freeze()
    base = best_ms(unit)
    found: dict[str, float] = {
        "spec frame, new process": fresh_process_ms("import gpu_data; gpu_data.spec_frame()"),
        "model frame, new process": fresh_process_ms("from gpu_data import models; models.model_frame()"),
    }
    configs = [model_config(model_id) for model_id in model_ids()]
    found["204 configs read and counted"] = best_ms(
        lambda: [params_total(read_config(config)) for config in configs], 3
    )
    rates = []
    for model_id in MODELS:
        for engine_id in ENGINES:
            job, combinations = matrix(model_id, engine_id)
            found[f"fit matrix cold, {model_id}, {engine_id}"] = best_ms(job, 1)
            warm = best_ms(job)
            found[f"fit matrix warm, {model_id}, {engine_id}"] = warm
            rates.append(combinations / warm * 1e3)
    lengths = iter(range(8192, 10**6, 1024))
    found["tracks of the Fit page"] = best_ms(
        lambda: tracks.build(workload.load(Scenario(max_model_len=next(lengths))))
    )
    found |= ranking()
    result = {name: {"ms": round(ms, 1), "units_of_work": round(ms / base, 1)} for name, ms in found.items()}
    summary = {"unit_of_work_ms": round(base, 2), "memory_combinations_per_s": round(float(np.median(rates)))}
    print(json.dumps(result | summary | catalogue_rate(), indent=2))  # noqa: T201


if __name__ == "__main__":
    main()
