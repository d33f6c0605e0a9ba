"""What the live component looks up is what the calculators say, at every stop."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calculators import memory
from calculators.scenario import Scenario
from pages.ui import fit_views, tracks, words, workload


def built(**fields: Any) -> dict[str, Any]:
    return tracks.build(workload.load(Scenario(**fields))).data


@pytest.fixture(scope="module")
def default() -> dict[str, Any]:
    return built()


# One formula, one place: a stop looked up while dragging must be what the page shows after the release.
@pytest.mark.parametrize("tokens", [1024, 7168, 16384, 131072, 1048576])
def test_a_context_stop_is_what_the_release_shows(default: dict[str, Any], tokens: int) -> None:
    dragged = default["tracks"]["context"]
    released = built(max_model_len=tokens)["tracks"]["context"]
    i, j = dragged["stops"].index(tokens), released["index"]
    for name in ("sentences", "best", "also", "gib", "needed", "reserved", "verdicts", "said"):
        assert dragged[name][i] == released[name][j], name


@pytest.mark.parametrize("users", [2, 16, 256])
def test_a_users_stop_is_what_the_release_shows(default: dict[str, Any], users: int) -> None:
    dragged = default["tracks"]["users"]
    released = built(concurrency=users)["tracks"]["users"]
    i, j = dragged["stops"].index(users), released["index"]
    for name in ("sentences", "best", "gib", "needed", "verdicts", "said"):
        assert dragged[name][i] == released[name][j], name


def test_both_tracks_agree_where_they_meet(default: dict[str, Any]) -> None:
    context, users = default["tracks"]["context"], default["tracks"]["users"]
    for name in ("best", "also", "gib", "needed", "reserved", "verdicts", "said", "more"):
        assert context[name][context["index"]] == users[name][users["index"]], name


@settings(max_examples=25, deadline=None)
@given(
    tokens=st.integers(1, 1 << 20),
    users=st.integers(1, 1024),
    count=st.sampled_from([1, 2, 4, 8]),
    model=st.sampled_from(["llama-3.1-8b", "deepseek-v3", "gemma-3-27b", "gpt-oss-20b", "mamba-2.8b"]),
)
def test_tracks_are_whole(tokens: int, users: int, count: int, model: str) -> None:
    data = built(model=model, weight_format="bf16", max_model_len=tokens, concurrency=users, gpu_count=count)
    for name, value in (("context", tokens), ("users", users)):
        track = data["tracks"][name]
        assert track["stops"][track["index"]] == value
        assert track["stops"] == sorted(set(track["stops"]))
        # the zones cover every stop once, in order
        covered = [stop for _, first, last in track["zones"] for stop in range(first, last + 1)]
        assert covered == list(range(len(track["stops"])))
        gib, needed = np.array(track["gib"]), np.array(track["needed"])
        assert np.allclose(gib.sum(axis=2), needed, atol=0.003)


def test_the_tracks_hold_the_calculators_numbers() -> None:
    load = workload.load(Scenario(gpus=("l40s-48gb",)))
    track = tracks.build(load).data["tracks"]["context"]
    for tokens in (1024, 65536):
        deployment = load.deployment(load.pinned, tokens, 1)
        assert not isinstance(deployment, str)
        report = memory.estimate(deployment)
        i = track["stops"].index(tokens)
        assert track["needed"][i][0] == pytest.approx(float(report.needed_bytes) / words.GIB, abs=0.001)
        assert track["verdicts"][i][0] == report.verdict


def test_the_sentence_is_about_the_smallest_gpu_that_fits() -> None:
    data = built(model="llama-3.1-8b", weight_format="bf16")
    track = data["tracks"]["context"]
    here = track["index"]
    fitting = [gpu for gpu, state in zip(data["gpus"], track["verdicts"][here], strict=True) if state == 2]
    smallest = min(fitting, key=lambda gpu: gpu["capacity"])
    assert f"Llama 3.1 8B Instruct in BF16 fits on {smallest['name']} with " in track["sentences"][here]
    assert "GiB to spare, safely up to " in track["sentences"][here]


def test_a_split_that_the_engine_refuses_is_said_with_its_reason() -> None:
    data = built(gpu_count=3, split="tensor")
    track = data["tracks"]["context"]
    assert set(track["verdicts"][0]) == {0}
    assert track["said"][0][0] == "not possible"
    assert "3" in track["more"][0][0]
    assert "cannot run on" in track["sentences"][0]


def test_stages_that_do_not_divide_the_gpus_are_said() -> None:
    track = built(gpu_count=3, split="pp2")["tracks"]["context"]
    assert "cannot be cut into 2 pipeline stages" in track["more"][0][0]


def test_a_refused_split_names_the_way_out() -> None:
    more = built(gpu_count=3, split="tensor")["tracks"]["context"]["more"][0][0]
    assert more.endswith("use pipeline stages, or 2 or 4 GPUs")
    assert built(gpu_count=6, split="pp2")["tracks"]["context"]["more"][0][0].endswith("use 4 or 8 GPUs")


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"engine": "llama.cpp"}, "llama.cpp does not read weights in AWQ INT4; choose GGUF"),
        ({"weight_format": "gguf-q4_k_m"}, "vLLM does not read weights in GGUF Q4_K_M; choose "),
        ({"kv_cache_dtype": "q4_0"}, "vLLM does not read a KV cache in Q4_0; choose "),
    ],
)
def test_a_format_that_the_engine_does_not_read_never_fits(fields: dict[str, str], says: str) -> None:
    data = built(**fields)
    for track in data["tracks"].values():
        assert set(track["best"]) == {0}
        assert all(says in text for text in track["sentences"])
        assert {state for states in track["verdicts"] for state in states} == {0}


def test_the_reach_is_never_past_the_model_s_own_window() -> None:
    data = built(model="llama-2-7b", weight_format="bf16", gpus=("h200-sxm-141gb",), max_model_len=1024)
    track = data["tracks"]["context"]
    assert "safely up to its whole window of 4,096 tokens" in track["sentences"][track["index"]]


def test_no_safe_context_is_said_as_tight_or_too_small() -> None:
    data = built(model="llama-3.3-70b", weight_format="bf16", gpus=("rtx-4090-24gb",))
    assert data["tracks"]["context"]["more"][0][0].endswith("too small even at the shortest context")
    assert data["tracks"]["users"]["more"][1][0].endswith("too small even for one user")


def test_a_gpu_that_only_stores_the_format_says_so() -> None:
    load = workload.load(Scenario(weight_format="fp8", gpus=("a100-sxm4-80gb", "h100-sxm5-80gb")))
    assert [gpu["remark"] for gpu in tracks.build(load).data["gpus"]] == [
        "stored smaller, computed in 16-bit",
        "",
    ]


@pytest.mark.parametrize("weights", ["awq-int4", "fp8", "bf16", "nvfp4", "mxfp4"])
@pytest.mark.parametrize("order", [1, -1])
def test_a_gpu_s_numbers_do_not_depend_on_what_is_pinned_beside_it(weights: str, order: int) -> None:
    gpus = ("a100-sxm4-80gb", "h100-sxm5-80gb")[::order]
    together = built(weight_format=weights, gpus=gpus)["tracks"]["context"]
    for i, gpu in enumerate(gpus):
        alone = built(weight_format=weights, gpus=(gpu,))["tracks"]["context"]
        for name in ("needed", "reserved", "verdicts", "said", "more"):
            assert [at[i] for at in together[name]] == [at[0] for at in alone[name]], name


@pytest.mark.parametrize(
    "fields",
    [
        {"gpu_count": 2},
        {"gpu_count": 4, "split": "pp2"},
        {"gpu_count": 2, "split": "pipeline"},
        {"gpu_count": 3, "split": "tensor"},
        {"gpu_count": 4, "model": "mixtral-8x7b", "expert_parallel": True},
        {"engine": "llama.cpp"},
        {"engine": "sglang", "gpu_count": 2},
        {"weight_format": "fp8", "gpus": ("apple-m3-ultra", "v100-sxm2-32gb", "h100-sxm5-80gb")},
        {"kv_cache_dtype": "q4_0"},
    ],
)
def test_the_matrix_says_what_the_verdict_says(fields: dict[str, Any]) -> None:
    load = workload.load(Scenario(**fields))
    cells = fit_views.format_matrix(load)["cells"]
    track = tracks.build(load).data["tracks"]["context"]
    here, pinned = track["index"], load.scenario.gpus
    assert cells["columns"][0] == load.weight_format.id
    places = {row[0]: i for i, row in enumerate(cells["rows"][: len(pinned)])}
    assert set(places) == set(pinned)
    for i, gpu in enumerate(pinned):
        row = places[gpu]
        if cells["hows"][row][0] != "-":
            assert cells["states"][row][0] == track["verdicts"][here][i]
        else:
            assert track["said"][here][i] == "not possible"


@pytest.mark.parametrize(
    ("engine", "says"),
    [("vllm", "takes 92 % of the card at start"), ("tensorrt-llm", "% of the memory that is free")],
)
def test_why_an_engine_takes_more_than_needed_is_said(engine: str, says: str) -> None:
    assert says in fit_views.reserve_words(workload.load(Scenario(engine=engine)))
    assert fit_views.reserve_words(workload.load(Scenario(engine="llama.cpp"))) == ""
    half = workload.load(Scenario(gpu_memory_utilization=0.5))
    assert "takes 50 % of the card" in fit_views.reserve_words(half)


def test_no_pinned_gpu_is_no_error() -> None:
    data = built(gpus=())
    assert data["gpus"] == []
    assert "Pin a GPU" in data["tracks"]["context"]["sentences"][0]


def test_a_board_with_several_gpus_counts_each() -> None:
    data = built(gpus=("a16-4x16gb",))
    assert data["gpus"][0]["name"].startswith("1 × A16")
    assert data["gpus"][0]["name"].endswith("(4 devices)")
    assert 14 < data["gpus"][0]["capacity"] < 16


def test_an_encoder_has_no_cache() -> None:
    track = built(model="bert-base", weight_format="bf16", engine="transformers")["tracks"]["context"]
    assert {gib[0][1] for gib in track["gib"]} == {0.0}


@pytest.mark.parametrize(
    ("engine", "chosen", "first"),
    [
        ("llama.cpp", "awq-int4", "gguf-q4_k_m"),
        ("llama.cpp", "fp8", "gguf-q8_0"),
        ("llama.cpp", "bf16", "gguf-f16"),
    ],
)
def test_an_engine_of_gguf_files_is_offered_what_people_download(
    engine: str, chosen: str, first: str
) -> None:
    load = workload.load(Scenario(engine=engine, weight_format=chosen))
    assert load.near_weights()[0].id == first


@pytest.mark.parametrize(
    ("model", "fmt", "says"),
    [
        ("gpt-oss-120b", "awq-int4", "released in mxfp4"),
        ("deepseek-v3", "awq-int4", "released in fp8"),
        ("deepseek-v3", "native", ""),
        ("llama-3.3-70b", "awq-int4", ""),
    ],
)
def test_a_model_released_quantised_says_so(model: str, fmt: str, says: str) -> None:
    said = fit_views.released_as(workload.load(Scenario(model=model, weight_format=fmt)))
    assert says in said
    assert bool(said) == bool(says)


def test_a_gpu_that_is_too_small_has_no_speed() -> None:
    table = fit_views.speed(workload.load(Scenario()))["table"]
    rows = {row[0]: row for row in table["rows"]}
    assert "tokens/s" in rows["1 × H100 SXM5 80GB"][1]
    assert rows["1 × L40S 48GB"][1] == "–"
    assert "does not fit" in " ".join(rows["1 × L40S 48GB"])
