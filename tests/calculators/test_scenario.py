"""The Scenario takes what it should and nothing else."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from calculators.scenario import MAX_CONCURRENCY, MAX_CONFIG_CHARS, MAX_GPUS, MAX_MODEL_LEN, Scenario

BAD: list[tuple[str, Any]] = [
    ("model", ""),
    ("model", "../../etc/passwd"),
    ("model", "Llama 3"),
    ("model", "a\n"),
    ("max_model_len", 0),
    ("max_model_len", MAX_MODEL_LEN + 1),
    ("max_model_len", 1.5),
    ("concurrency", 0),
    ("concurrency", MAX_CONCURRENCY + 1),
    ("gpu_count", 0),
    ("gpu_count", MAX_GPUS + 1),
    ("gpu_memory_utilization", 0.0),
    ("gpu_memory_utilization", 1.01),
    ("gpu_memory_utilization", float("nan")),
    ("split", "sideways"),
    ("flash_attention", "maybe"),
    ("gpus", ("has.dot",)),
    ("gpus", ("UPPER",)),
    ("gpus", tuple(f"gpu-{i}" for i in range(1000))),
    ("config_json", "[1, 2]"),
    ("config_json", "{"),
    ("config_json", '"\\ud800"'),
    ("config_json", "{" * 5000),
    ("config_json", '{"a": "' + "x" * MAX_CONFIG_CHARS + '"}'),
    ("nonsense", 1),
]


@pytest.mark.parametrize(("field", "value"), BAD, ids=[f"{f}={str(v)[:20]!r}" for f, v in BAD])
def test_bad_values_are_refused(field: str, value: Any) -> None:
    with pytest.raises(ValidationError):
        Scenario(**{field: value})


def test_defaults_are_what_people_start_from() -> None:
    scenario = Scenario()
    assert scenario.max_model_len == 8192
    assert scenario.concurrency == 1
    assert len(scenario.gpus) == 5


def test_a_scenario_cannot_be_changed() -> None:
    with pytest.raises(ValidationError):
        Scenario().max_model_len = 1  # ty: ignore[invalid-assignment]


def test_pinned_gpus_stand_once_in_their_order() -> None:
    assert Scenario(gpus=("b", "a", "b")).gpus == ("b", "a")


@given(st.dictionaries(st.text(max_size=8), st.integers() | st.text(max_size=8) | st.none(), max_size=6))
def test_one_config_has_one_spelling(config: dict[str, Any]) -> None:
    import json

    try:
        json.dumps(config, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return
    spaced = Scenario(config_json=json.dumps(config, indent=3))
    tight = Scenario(config_json=json.dumps(dict(reversed(config.items()))))
    assert spaced == tight
    assert json.loads(spaced.config_json) == config
