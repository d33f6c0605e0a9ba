"""Engine tables: which set a name and version select; no number stands without meaning and source."""

from __future__ import annotations

import pytest

from gpu_data.engines import engine, engine_for, engines, error_band


@pytest.mark.parametrize(
    ("name", "version", "expected"),
    [
        ("vLLM", "0.6.3.post1", "vllm-v0"),
        ("vLLM", "0.7.x (V0)", "vllm-v0"),
        ("vLLM", "0.8.5.post1", "vllm-0.8"),
        ("vLLM", "0.10.2", "vllm-0.8"),
        ("vLLM", "0.13.0+faa43dbf.nv26.01", "vllm-0.11"),
        ("vLLM", "0.14.0rc2.dev160+g5ef69782b", "vllm-0.11"),
        ("vLLM", "0.19.0", "vllm-0.11"),
        ("vLLM", "0.21.0", "vllm"),
        ("vLLM", "0.26.1rc1.dev608+g99a10304d", "vllm"),
        ("vLLM (DJL)", "", "vllm"),
        ("SGLang", "", "sglang"),
        ("TensorRT-LLM", "1.0", "tensorrt-llm"),
        ("TRT-LLM", "", "tensorrt-llm"),
        ("llama.cpp", "1691 (7082d24)", "llama.cpp-2023"),
        ("llama.cpp", "2833 (d46dbc76)", "llama.cpp-2024"),
        ("llama.cpp (llama-bench)", "b2824", "llama.cpp-2024"),
        ("llama.cpp", "ggml-org/ci", "llama.cpp-2024"),
        ("llama.cpp", "b6500", "llama.cpp"),
        ("llama.cpp", "", "llama.cpp"),
        ("llama.cpp/Ollama", "ollama 0.30.2", "llama.cpp"),
        ("llama.cpp (LM Studio)", "", "lm-studio"),
        ("ik_llama.cpp", "", "ik-llama.cpp"),
        ("transformers", "torch 2.0.1", "transformers-legacy"),
        ("transformers", "4.30.2", "transformers-legacy"),
        ("transformers", "transformers 4.51.3", "transformers"),
        ("AutoAWQ (transformers)", "", "autoawq"),
    ],
)
def test_name_and_version_select_a_set(name, version, expected):
    found, _ = engine_for(name, version)
    assert found is not None
    assert found.id == expected


def test_unknown_engine_is_named():
    found, reason = engine_for("PetalsX", "3")
    assert found is None
    assert reason.startswith("engine: 'PetalsX'")
    with pytest.raises(KeyError, match="unknown engine 'petals'"):
        engine("petals")


def test_a_guessed_version_is_said():
    assert "version not given" in engine_for("vLLM")[1]
    assert engine_for("vLLM", "0.19.0")[1] == ""


@pytest.mark.parametrize("found", engines(), ids=lambda e: e.id)
def test_every_number_has_meaning_unit_and_source(found):
    assert found.source
    assert found.versions
    for name, parameter in found.parameters.items():
        assert parameter.meaning, name
        assert parameter.unit, name
        assert len(parameter.source) > 10, name


def test_fitted_numbers_are_few():
    """One number is adjusted to measured rows, the size of a CUDA graph; the rest is known or derived."""
    fitted = {name for e in engines() for name, p in e.parameters.items() if p.basis == "fitted"}
    assert fitted == {"graph_bytes_per_layer_and_size"}


def test_an_absent_parameter_is_named():
    with pytest.raises(KeyError, match="engine transformers has no parameter 'block_tokens'"):
        engine("transformers").number("block_tokens")


def test_unknown_family_gets_the_band_over_all_rows():
    assert error_band("tensorrt-llm") == error_band("all")
    assert error_band("vllm").family == "vllm"
