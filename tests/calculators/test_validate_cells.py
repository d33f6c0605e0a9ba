"""Tables and cells as people write them: nothing breaks, what can be read is read, the rest is named."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from calculators.validate import main
from calculators.validate_cells import Sizes, as_number, first_number, split_sizes, tokens_in
from calculators.validate_llamacpp import is_recent, read_test
from calculators.validate_llamacpp import predict_row as bench_row
from calculators.validate_rows import MeasuredRow, RowRefused
from calculators.validate_runs import RowResult, find_architecture, find_gpu, measured_value
from calculators.validate_serving import predict_row as serving_row
from calculators.validate_speed import format_of
from calculators.validate_training import predict_row as training_row

# ---------------------------------------------------------------- cells


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1,024", 1024.0),
        ("8k", 8192.0),
        ("128K", 131072.0),
        ("~500", 500.0),
        ("512-1024", 512.0),
        ("280 avg (sharegpt_standard_v1)", 280.0),
        ("２０４８", 2048.0),
        ("1e5", 1e5),
        ("-5", -5.0),
        ("long", None),
        ("", None),
    ],
)
def test_lengths_in_tokens(text: str, value: float | None) -> None:
    assert tokens_in(text) == value


def test_numbers_that_are_none() -> None:
    assert [as_number(text) for text in ("nan", "inf", "1e400", "30,5", "8k", "")] == [None] * 6
    assert as_number("1,234,567.5") == 1234567.5
    assert first_number("12 t/s") == 12.0


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        ("8", Sizes(tensor=8)),
        ("8.0", Sizes(tensor=8)),
        ("TP8", Sizes(tensor=8)),
        ("tp=8, ep=8", Sizes(tensor=8, expert=8)),
        ("TP4PP2", Sizes(tensor=4, pipeline=2)),
        ("tp4/pp2", Sizes(tensor=4, pipeline=2)),
        ("TP8xPP2", Sizes(tensor=8, pipeline=2)),
        ("1 (PP4)", Sizes(tensor=1, pipeline=4)),
        ("DP2 TP4", Sizes(tensor=4, data=2)),
        ("EP8", Sizes(tensor=8, expert=8)),
        ("TEP8", Sizes(tensor=8)),
        ("DEP4", Sizes(tensor=4, apart=True)),
        ("DP8EP8", Sizes(tensor=8, apart=True)),
        ("2x4", None),
        ("1e9", None),
        ("TP0", None),
        ("eight", None),
    ],
)
def test_splits_by_their_names(text: str, sizes: Sizes | None) -> None:
    assert split_sizes(text) == sizes


@pytest.mark.parametrize(
    ("text", "value"), [("38-43", 40.5), ("up to 147", 147.0), ("10,000", 1e4), ("12k", 12e3), ("40%", 40.0)]
)
def test_printed_values(text: str, value: float) -> None:
    assert measured_value(MeasuredRow({"x": text}), "x") == value


@pytest.mark.parametrize("text", ["0", "-5", "nan", "1e400", "-"])
def test_values_nobody_can_have_measured(text: str) -> None:
    with pytest.raises(RowRefused, match=r"^x:"):
        measured_value(MeasuredRow({"x": text}), "x")


@pytest.mark.parametrize(
    ("text", "kind", "tokens", "depth"),
    [
        ("pp512", "prefill", 512, 0),
        ("tg128 @ d4096", "decode", 128, 4096),
        ("pp2048 @ d8192", "prefill", 2048, 8192),
        ("prompt eval", "prefill", 512, 0),
        ("text generation 128", "decode", 128, 0),
        ("TG 256", "decode", 256, 0),
    ],
)
def test_llama_bench_tests_by_name(text: str, kind: str, tokens: int, depth: int) -> None:
    found = read_test(text)
    assert (found.kind, found.tokens, found.depth) == (kind, tokens, depth)


@pytest.mark.parametrize("text", ["", "tokens/s", "tg0", "pp512+tg128", "pp99999999999"])
def test_llama_bench_tests_that_say_nothing(text: str) -> None:
    with pytest.raises(RowRefused, match=r"^test:"):
        read_test(text)


@pytest.mark.parametrize(
    ("build", "recent"),
    [
        ("llama.cpp b2824 (May 2024, CUDA 12.1, layer split)", False),
        ("b3622 (Aug 2024)", True),
        ("b7199 (8c32d9d96)", True),
        ("Sep 2026, FA on", True),
        ("Jun 2024 MMQ tensor-core PR", True),
        ("Jun 2024 master before PR", False),
        ("version n/a; 2026-07-24", True),
        ("Nov 2023", False),
        ("", False),
    ],
)
def test_builds_that_multiply_packed_weights(build: str, recent: bool) -> None:
    assert is_recent(build) == recent


# ---------------------------------------------------------------- labels and names


@pytest.mark.parametrize(
    ("label", "fmt"),
    [
        ("FP8 (KV FP8)", "fp8"),
        ("BF16 / FP8", "bf16"),
        ("fp8 weights", "fp8"),
        ("w4a16-g128", "awq-int4"),
        ("W4A8", "awq-int4"),
        ("UD-Q4_K_XL", "gguf-q4_k_m"),
        ("Q4KM", "gguf-q4_k_m"),
        ("TF32", "fp32"),
        ("auto", "native"),
    ],
)
def test_labels_taken_by_their_parts_or_bits(label: str, fmt: str) -> None:
    assert format_of(label, "precision")[0].id == fmt


def test_parts_of_cards_are_no_cards() -> None:
    for name in ("RTX 4090 Laptop GPU", "H100 MIG 3g.40gb"):
        found, reason = find_gpu(name)
        assert found is None
        assert name in reason


@pytest.mark.parametrize(
    ("name", "key"),
    [("Command R+", "command-r-plus-104b"), ("Ministral-8B", "ministral-8b-2410")],
)
def test_models_by_loose_names(name: str, key: str) -> None:
    assert find_architecture(name, None)[1] in ("", f"model: {name!r} taken as {key}")


def test_a_size_in_the_name_beats_another_size_of_the_family() -> None:
    known = find_architecture("BLOOM-176B", None)[0]
    assert len(known.layers) == 70  # BigScience, BLOOM: 70 layers
    assert len(find_architecture("BLOOM-7B", None)[0].layers) < 70


# ---------------------------------------------------------------- rows

SERVING = {
    "id": "x",
    "engine": "vLLM 0.7.3",
    "gpu": "H100-SXM-80GB",
    "n_gpus": "8",
    "tp": "8",
    "model": "Llama-3.1-70B-Instruct",
    "params_b": "70.6",
    "precision": "BF16",
    "input_len": "512",
    "output_len": "128",
    "scenario": "online",
    "concurrency": "16",
    "output_tokens_per_s": "1000",
}


def rate(**cells: str) -> float:
    """Predicted output tokens per second of the row with some cells changed."""
    line = serving_row(MeasuredRow(SERVING | cells)).lines[0]
    assert line.refused is None, line.refused
    assert isinstance(line.predicted, float)
    return line.predicted


@pytest.mark.parametrize(
    "cells",
    [
        {"tp": "TP=8"},
        {"tp": "", "gpu": "8x H100 80GB HBM3", "n_gpus": ""},
        {"gpu": "NVIDIA HGX H100 8-GPU"},
        {"engine": "VLLM v0.6.3.post1"},
        {"engine": "vLLM", "date": "2024-09"},
        {"input_len": "~512 tokens"},
        {"concurrency": "16 users"},
        {"concurrency": "", "scenario": "online, 16 clients"},
        {"scenario": "latency"},
        {"params_b": "abc"},
    ],
)
def test_other_words_for_the_same_run(cells: dict[str, str]) -> None:
    assert rate(**cells) == rate()


def test_copies_of_a_model_share_the_requests() -> None:
    two = rate(tp="DP2 TP4", concurrency="32")
    assert two == pytest.approx(2 * rate(tp="4", n_gpus="4", concurrency="16"), rel=1e-4)


def test_a_date_tells_the_versions_of_an_engine_apart() -> None:
    assert rate(engine="vLLM", date="2025-06") == rate(engine="vLLM 0.9")
    # without CUDA graphs (before v0.2.6 of December 2023) the host launches every kernel
    alone = {"concurrency": "1", "scenario": "batch 1"}
    assert rate(engine="vLLM", date="2023-10", **alone) < rate(engine="vLLM", date="2024-03", **alone)


def test_engines_without_constants_get_the_nearest_one_and_the_widest_band() -> None:
    own, near = (serving_row(MeasuredRow(SERVING | {"engine": e})) for e in ("vLLM 0.7.3", "TGI 2.0"))
    assert near.lines[0].predicted == own.lines[0].predicted
    assert any("TGI" in text for text in near.assumptions)
    for a, b in zip(near.lines, own.lines, strict=True):
        assert (a.low or 0.0) <= (b.low or 0.0)
        assert (a.high or 0.0) >= (b.high or 0.0) > 0


def test_llama_cpp_serves_too() -> None:
    assert rate(engine="llama.cpp b4000", precision="Q4_K_M") < rate()


def test_a_gpu_without_the_format_computes_in_another_of_as_many_bits() -> None:
    cells = {"gpu": "Tesla V100-SXM2-32GB"}
    assert rate(**cells) == rate(**cells, precision="FP16")


def test_an_unknown_dense_model_is_counted_by_its_size_and_experts_are_not_guessed() -> None:
    named = rate(model="Nobody", params_b="70.6")
    assert named == pytest.approx(rate(), rel=0.25)
    row = SERVING | {"model": "Nobody-100B-A10B", "params_b": "100"}
    assert "model" in str(serving_row(MeasuredRow(row)).lines[0].refused)


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("concurrency", "0"),
        ("concurrency", "-3"),
        ("concurrency", "16-32"),
        ("qps", "-1"),
        ("input_len", "10^3"),
        ("input_len", "0"),
        ("n_gpus", "nan"),
        ("tp", "1e9"),
        ("kv_dtype", "nonsense"),
    ],
)
def test_what_means_nothing_is_refused_by_its_column(column: str, value: str) -> None:
    line = serving_row(MeasuredRow(SERVING | {column: value})).lines[0]
    assert line.refused is not None
    assert line.refused.startswith(f"{column}:")


TRAINING = {
    "id": "t",
    "kind": "benchmark",
    "model": "Llama 3 8B",
    "params_b": "8.03",
    "gpu": "H100-SXM-80GB",
    "n_gpus": "64",
    "precision": "bf16",
    "seq_len": "8192",
    "micro_batch": "1",
    "act_ckpt": "full",
    "parallelism": "TP8 PP4",
    "tokens_per_s_per_gpu": "10000",
}


def trained(**cells: str) -> RowResult:
    return training_row(MeasuredRow(TRAINING | cells))


@pytest.mark.parametrize(
    "cells",
    [
        {"parallelism": "TP=8, PP=4"},
        {"parallelism": "tp8pp4dp2"},
        {"seq_len": "8k"},
        {"seq_len": "8,192 tokens"},
        {"micro_batch": "auto"},
        {"gpu": "NVIDIA H100 80GB HBM3"},
    ],
)
def test_other_words_for_the_same_training(cells: dict[str, str]) -> None:
    assert trained(**cells).lines[0].predicted == trained().lines[0].predicted


@pytest.mark.parametrize(
    ("column", "value"),
    [("parallelism", "TP0"), ("parallelism", "PP1000"), ("global_batch", "1e400"), ("seq_len", "0")],
)
def test_training_that_cannot_be(column: str, value: str) -> None:
    refused = trained(**{column: value}).lines[0].refused
    assert refused is not None
    assert refused.startswith(f"{column}:")


def test_a_prompt_after_a_long_context_takes_longer() -> None:
    cells = {
        "id": "b",
        "gpu": "RTX 4090",
        "n_gpus": "1",
        "model": "LLaMA 3 8B",
        "quant": "Q4_K_M",
        "tokens_per_s": "1",
    }
    speeds = [
        bench_row(MeasuredRow(cells | {"test": test})).lines[0].predicted
        for test in ("pp512", "pp512 @ d4096", "pp512 @ d16384")
    ]
    assert speeds == sorted(speeds, key=lambda x: -float(x or 0))


# ---------------------------------------------------------------- files

TRUTH = Path(__file__).parents[1] / "truth"
FILES = {
    "serving": "serving.csv",
    "llamacpp": "bench_llamacpp.csv",
    "training": "training_runs.csv",
    "finetune": "finetune_memory.csv",
    "memory": "memory.csv",
}


def run(command: str, path: Path) -> tuple[int, list[dict[str, Any]]]:
    configs = ["--configs", str(TRUTH / "configs")] if command == "memory" else []
    out = io.StringIO()
    code = main([command, str(path), "--json", *configs], out)
    return code, [json.loads(line) for line in out.getvalue().splitlines()]


@pytest.mark.parametrize("command", FILES)
def test_files_in_other_spellings_say_the_same(command: str, tmp_path: Path) -> None:
    lines = (TRUTH / FILES[command]).read_text(encoding="utf-8").splitlines()[:3]
    text = "\n".join(lines) + "\n"
    plain = tmp_path / "plain.csv"
    plain.write_text(text, encoding="utf-8")
    expected = run(command, plain)
    assert expected[0] == 0
    assert len(expected[1]) > 1
    for name, raw in {
        "bom": b"\xef\xbb\xbf" + text.encode(),
        "utf16": text.encode("utf-16"),
        "cr": text.replace("\n", "\r\n").encode(),
        "upper": (lines[0].upper() + "\n" + "\n".join(lines[1:])).encode(),
        "extra": "\n".join(f"{line},more" for line in lines).encode(),
    }.items():
        file = tmp_path / f"{name}.csv"
        file.write_bytes(raw)
        assert run(command, file) == expected, name


@pytest.mark.parametrize("command", FILES)
@pytest.mark.parametrize("raw", [b"", b"  \n", b"\x00\x01\xff" * 50, b'{"a": 1}', b"a,b\n1,2\n"])
def test_files_that_are_no_table_are_refused(command: str, raw: bytes, tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    file.write_bytes(raw)
    assert run(command, file) == (2, [])


def test_latin_letters_and_rows_without_an_id(tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    text = "gpu,model,quant,test,tokens_per_s,notes\nRTX 4090,LLaMA 3 8B,Q4_K_M,tg128,100,caf\u00e9\n"
    file.write_bytes(text.encode("latin-1"))
    code, lines = run("llamacpp", file)
    assert code == 0
    assert lines[0]["id"] == "line 2"
    assert lines[0]["predicted"] > 0
