"""A scenario's speed on its GPUs: any mix at once, reasons where there is none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from calculators import memory
from calculators.scenario import Scenario
from pages.ui import catalogue, speed_load, workload


def speeds(**fields: Any) -> speed_load.Speeds:
    found = speed_load.speeds(workload.load(Scenario(**fields)))
    assert not isinstance(found, str)
    return found


def test_every_card_and_count_at_once_equals_each_alone() -> None:
    load = workload.load(Scenario(model="llama-3.1-8b", weight_format="fp8", concurrency=16))
    many = [workload.pinned(str(gpu), count) for gpu in catalogue.gpus().index for count in (1, 2, 8)]
    together = speed_load.speeds(load, many)
    assert not isinstance(together, str)
    assert together.speed.tpot_s.value.shape == (len(many),)
    for i in range(0, len(many), 29):
        alone = speed_load.speeds(load, [many[i]])
        assert not isinstance(alone, str)
        assert alone.refused == (together.refused[i],)
        for name in ("tpot_s", "ttft_s", "output_tokens_per_s", "max_output_tokens_per_s"):
            one, all_of = getattr(alone.speed, name).value[0], getattr(together.speed, name).value[i]
            assert np.isclose(one, all_of, rtol=1e-9, equal_nan=True)


def test_two_splits_in_one_call_and_some_of_them_equal_each_alone() -> None:
    load = workload.load(Scenario(model="llama-3.3-70b", weight_format="awq-int4"))
    stages = workload.changed(load, split="pipeline")
    gpus = [
        workload.pinned(gpu, n) for gpu in ("l40s-48gb", "rtx-4090-24gb", "h100-sxm5-80gb") for n in (2, 4)
    ]
    users = np.array([1, 5, 40])
    apart = [(one, speed_load.deployed(one, gpus, users.tolist())) for one in (load, stages)]
    both = apart[0][1].beside(apart[1][1])
    at = np.array([7, 0, 3, 10])
    some = speed_load.speeds_of(load, both.only(at), users[:, None])
    for k, i in enumerate(at):
        one, deployed = apart[i // len(gpus)]
        alone = speed_load.speeds_of(one, deployed, users[:, None])
        n = int(i) % len(gpus)
        assert some.gpus[k] == alone.gpus[n]
        assert some.refused[k] == alone.refused[n]
        assert np.array_equal(both.verdict[:, i], deployed.verdict[:, n])
        for name in ("tokens_per_s", "output_tokens_per_s"):
            ours, theirs = getattr(some.speed, name), getattr(alone.speed, name)
            assert np.allclose(ours.value[:, k], theirs.value[:, n], rtol=1e-12, equal_nan=True)


@pytest.mark.parametrize("users", [1, 3, 64])
def test_the_verdict_of_a_deployment_is_that_of_the_memory_function(users: int) -> None:
    load = workload.load(Scenario(model="llama-3.3-70b", weight_format="awq-int4", max_model_len=32768))
    gpus = [workload.pinned(str(gpu), n) for gpu in catalogue.gpus().index[::5] for n in (1, 4)]
    found = speed_load.deployed(load, gpus, (2, users)).verdict[1]
    for gpu, verdict in zip(gpus, found.tolist(), strict=True):
        one = load.deployment([gpu], users=users)
        assert verdict == (0 if isinstance(one, str) else memory.estimate(one).verdict)


def test_a_gpu_without_a_speed_says_why() -> None:
    found = speeds(model="llama-3.3-70b", weight_format="awq-int4")
    missing = np.isnan(found.speed.tpot_s.value)
    assert [bool(reason) for reason in found.refused] == missing.tolist()
    assert found.refused[list(found.gpus).index(found.gpus[-1])] == "does not fit"  # 24 GB


@pytest.mark.parametrize(
    ("fields", "word"),
    [
        ({"engine": "transformers"}, "not modelled"),
        ({"model": "bert-base", "weight_format": "bf16", "max_model_len": 2048}, "encoder"),
        ({"max_model_len": 1024}, "longer than the context"),
        ({"gpus": ()}, "no GPU"),
    ],
)
def test_a_scenario_without_a_speed_says_why(fields: dict[str, Any], word: str) -> None:
    found = speed_load.speeds(workload.load(Scenario(**fields)))
    assert isinstance(found, str)
    assert word in found


def test_layers_over_several_cards_give_one_user_no_speed() -> None:
    fields = {"engine": "llama.cpp", "model": "llama-3-70b", "weight_format": "gguf-q4_k_m"}
    one, two = (speeds(gpus=("rtx-a6000-48gb",), gpu_count=n, **fields) for n in (1, 2))
    assert one.speed.tokens_per_s.value[0] == pytest.approx(two.speed.tokens_per_s.value[0], rel=1e-9)


def test_a_band_borrowed_from_other_engines_is_called_so() -> None:
    found = speeds(engine="sglang", model="llama-3.1-8b", weight_format="bf16")
    assert any("band" in text for text in found.assumptions)


@pytest.mark.parametrize("boards", [1, 3])
def test_a_number_of_gpus_counts_boards_and_says_what_programs_see(boards: int) -> None:
    frame = catalogue.gpus()
    for gpu_id, row in frame.iterrows():
        gpu = workload.pinned(str(gpu_id), boards)
        assert gpu.devices == boards * row["devices_per_board"]
        assert gpu.title.startswith(f"{boards} × ")
        assert ("devices)" in gpu.title) == (row["devices_per_board"] > 1)
