"""The command: shape of its lines, inputs that are broken, speed."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gpu_data
from calculators.validate import main
from calculators.validate_memory import as_json, predict_row, summarise
from calculators.validate_rows import MeasuredRow, RowRefused, known_config
from tests.calculators.memory_cases import CONFIGS, MEASURED, MORE

ROOT = Path(__file__).parents[2]
KEYS = ["id", "quantity", "predicted", "measured", "error_pct", "refused"]
INPUTS = {
    "id": "r1",
    "engine": "vLLM",
    "engine_version": "0.8.2",
    "model_hf_id": "unsloth/Llama-3.2-3B-Instruct",
    "dtype": "float16",
    "quantization": "none",
    "gpu": "Tesla T4",
    "gpu_mem_gib": "14.74",
    "n_gpus_tp": "1",
    "pp": "1",
    "max_model_len": "2048",
    "gpu_mem_util": "0.89",
    "max_num_seqs": "192",
}


def run(*arguments):
    out = io.StringIO()
    code = main([str(a) for a in arguments], out)
    return code, [json.loads(line) for line in out.getvalue().splitlines()]


def predict(tmp_path, **cells):
    """Lines of one row, changed cells over a good one; and the summary."""
    row = INPUTS | {"weights_gib_per_gpu": "6.016", "fits": "yes"} | cells
    path = tmp_path / "rows.csv"
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(row))
        writer.writeheader()
        writer.writerow(row)
    code, lines = run("memory", path, "--configs", CONFIGS, "--json")
    assert code == 0
    return lines[:-1], lines[-1]["summary"]


def test_memory_lines_and_summary_last():
    code, lines = run("memory", MEASURED, "--configs", CONFIGS, "--json")
    assert code == 0
    assert all(list(line) == KEYS for line in lines[:-1])
    assert list(lines[-1]) == ["summary"]
    summary = lines[-1]["summary"]
    assert summary["rows"] == 109
    assert set(summary["apart"]) == {"suspect", "partial"}
    for line in lines[:-1]:
        if line["refused"] is None:
            assert line["predicted"] is not None
        else:
            assert line["predicted"] is None
        if line["quantity"] == "fits" and line["refused"] is None:
            assert line["predicted"] in ("fits", "tight", "does not fit")


def test_every_measured_cell_gets_one_line():
    _, lines = run("memory", MEASURED, "--configs", CONFIGS, "--json")
    with MEASURED.open() as file:
        rows = list(csv.DictReader(file))
    quantities = {line["quantity"] for line in lines[:-1]}
    expected = [(r["id"], q) for r in rows for q in quantities if r[q].strip()]
    assert sorted((line["id"], line["quantity"]) for line in lines[:-1]) == sorted(expected)


def test_predictions_ignore_measured_columns(tmp_path):
    good, _ = predict(tmp_path)
    changed, _ = predict(tmp_path, weights_gib_per_gpu="99", fits="no")
    assert [line["predicted"] for line in good] == [line["predicted"] for line in changed]


def test_text_output_ends_in_a_table(capsys):
    assert main(["memory", str(MEASURED), "--configs", str(CONFIGS)]) == 0
    text = capsys.readouterr().out
    assert "weights_gib_per_gpu" in text
    assert "verdicts: n" in text
    assert "reported apart" in text


@pytest.mark.parametrize(
    ("cells", "reason"),
    [
        ({"gpu_mem_gib": "lots"}, "gpu_mem_gib: 'lots' is not a number"),
        ({"gpu_mem_gib": "nan"}, "gpu_mem_gib: 'nan' is not a finite number"),
        ({"gpu_mem_gib": "0"}, "gpu_mem_gib: '0' is no memory of a GPU"),
        ({"gpu_mem_gib": "-8"}, "gpu_mem_gib: '-8' is no memory of a GPU"),
        ({"max_model_len": "-5"}, "max_model_len: '-5' is not a whole number"),
        ({"n_gpus_tp": "1.5"}, "n_gpus_tp: '1.5' is not a whole number"),
        ({"gpu_mem_util": "90"}, "gpu_mem_util: '90' is not between 0 and 1"),
        ({"quantization": "wishful"}, "quantization: unknown weight format 'wishful'"),
        ({"kv_dtype": "tiny"}, "kv_dtype: unknown KV cache format 'tiny'"),
        ({"model_hf_id": "nobody/nothing-7b"}, "model_hf_id: no config file and no known model"),
        ({"model_hf_id": ""}, "model_hf_id: is empty"),
    ],
)
def test_broken_inputs_are_named(tmp_path, cells, reason):
    lines, _ = predict(tmp_path, **cells)
    assert all(line["refused"].startswith(reason) for line in lines)
    assert all(line["predicted"] is None for line in lines)


@pytest.mark.parametrize(
    ("cells", "quantity", "reason"),
    [
        ({"weights_gib_per_gpu": "six"}, "weights_gib_per_gpu", "weights_gib_per_gpu: 'six' is not a number"),
        ({"fits": "maybe"}, "fits", "fits: 'maybe' is neither yes nor no"),
        ({"gpu": "", "gpu_mem_gib": ""}, "fits", "gpu and gpu_mem_gib: both are empty"),
        ({"gpu": "Abacus", "gpu_mem_gib": ""}, "fits", "gpu: 'Abacus' is not in the GPU table"),
    ],
)
def test_one_bad_cell_refuses_one_quantity(tmp_path, cells, quantity, reason):
    lines, _ = predict(tmp_path, **cells)
    refused = {line["quantity"]: line["refused"] for line in lines}
    assert refused.pop(quantity).startswith(reason)
    assert set(refused.values()) == {None}


def test_unknown_engine_is_computed_as_transformers(tmp_path):
    lines, _ = predict(tmp_path, engine="SomethingNew", engine_version="1")
    assert all(line["refused"] is None for line in lines)


def test_missing_config_falls_back_to_a_known_twin(tmp_path):
    lines, _ = predict(
        tmp_path, model_hf_id="somebody/Qwen3-8B-AWQ-w4a16", quantization="awq", weights_gib_per_gpu="5.7"
    )
    weights = next(line for line in lines if line["quantity"] == "weights_gib_per_gpu")
    # Qwen3 speed_benchmark.md: 6,177 MiB less 288 MiB of cache and 32 MiB of workspace.
    assert weights["predicted"] == pytest.approx((6177 - 288 - 32) / 1024, rel=0.01)


@pytest.mark.parametrize(
    ("name", "twin"),
    [
        ("neuralmagic/Meta-Llama-3.1-70B-Instruct-FP8", "llama-3.1-70b"),
        ("casperhansen/llama-3-70b-instruct-awq", "llama-3-70b"),
        ("RedHatAI/Llama-3.3-70B-Instruct-quantized.w4a16", "llama-3.3-70b"),
        ("lmstudio-community/gemma-3-12b-it-GGUF", "gemma-3-12b"),
        ("google/gemma-3-12b-it-qat-q4_0-gguf", "gemma-3-12b"),
        ("nvidia/DeepSeek-R1-0528-FP4", "deepseek-r1"),
        ("Qwen/Qwen3-30B-A3B-Thinking-2507", "qwen3-30b-a3b"),
        ("llama3.1:8b", "llama-3.1-8b"),
        ("TheBloke/Mistral-7B-Instruct-v0.2-AWQ", "mistral-7b-v0.1"),
    ],
)
def test_a_repackaged_model_is_taken_as_the_one_it_was_made_from(name, twin):
    _, assumption = known_config(name, None)
    assert f"taken as {twin}" in assumption
    assert name in assumption


@pytest.mark.parametrize("name", ["Qwen/Qwen2.5-Coder-7B-Instruct", "deepseek-ai/DeepSeek-V2.5", "x/y", "7b"])
def test_another_family_or_size_is_never_taken(name):
    with pytest.raises(RowRefused, match="model_hf_id: no config file and no known model"):
        known_config(name, None)


@pytest.mark.parametrize(
    ("name", "label", "gib"),
    [
        # 6,177 MiB less 288 MiB of cache and 32 MiB of workspace (Qwen3 speed_benchmark.md).
        pytest.param("Qwen/Qwen3-8B-AWQ", "", 5857 / 1024, id="AWQ in the name only"),
        pytest.param("Qwen/Qwen3-8B-AWQ", "auto", 5857 / 1024, id="auto says nothing"),
        pytest.param("Qwen/Qwen3-8B", "AutoRound 4 bit", 5857 / 1024, id="bits of an unknown method"),
    ],
)
def test_a_format_is_read_from_name_or_bits(tmp_path, name, label, gib):
    lines, _ = predict(tmp_path, model_hf_id=name, quantization=label, weights_gib_per_gpu="5.7")
    assert lines[0]["predicted"] == pytest.approx(gib, rel=0.01)


def test_suspect_rows_are_summed_apart(tmp_path):
    _, summary = predict(tmp_path, suspect="does not add up")
    assert summary["quantities"] == {}
    assert summary["apart"]["suspect"]["quantities"]["weights_gib_per_gpu"]["n"] == 1


@pytest.mark.parametrize(
    ("content", "reason"),
    [("", "has no column id, engine, model_hf_id"), ("a,b\n1,2\n", "has no column id, engine, model_hf_id")],
)
def test_a_table_without_the_columns_is_refused(tmp_path, capsys, content, reason):
    path = tmp_path / "rows.csv"
    path.write_text(content)
    assert main(["memory", str(path), "--configs", str(CONFIGS), "--json"]) == 2
    assert reason in capsys.readouterr().err


@pytest.mark.parametrize(
    ("mark", "separator", "ending"),
    [("\ufeff", ",", "\n"), ("", ";", "\n"), ("", "\t", "\r\n"), ("\ufeff", ";", "\r\n")],
    ids=["byte order mark", "semicolons", "tabs", "all at once"],
)
def test_tables_as_other_programs_write_them(tmp_path, mark, separator, ending):
    row = INPUTS | {"weights_gib_per_gpu": "6.016", "a column of somebody": "x"}
    path = tmp_path / "rows.csv"
    text = mark + separator.join(row) + ending + separator.join(row.values()) + ending
    path.write_bytes(text.encode())
    code, lines = run("memory", path, "--configs", CONFIGS, "--json")
    assert code == 0
    assert lines[0]["error_pct"] == pytest.approx(0, abs=0.1)


def test_a_table_without_rows_has_an_empty_summary(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text(",".join(INPUTS) + "\n")
    code, lines = run("memory", path, "--configs", CONFIGS, "--json")
    assert code == 0
    assert [line["summary"]["rows"] for line in lines] == [0]
    assert main(["memory", str(path), "--configs", str(CONFIGS)], io.StringIO()) == 0


@pytest.mark.parametrize(
    "content", [b"id,engine,model_hf_id\n1,vLLM,\xff\xfe\n", b"id,engine,model_hf_id\n1,vLLM,a\x00b\n"]
)
def test_bytes_that_are_no_text_are_refused_or_named(tmp_path, content, capsys):
    path = tmp_path / "rows.csv"
    path.write_bytes(content)
    code = main(["memory", str(path), "--configs", str(CONFIGS)], io.StringIO())
    assert code in (0, 2)
    assert "Traceback" not in capsys.readouterr().err


CELLS = st.sampled_from(
    ["", "0", "-1", "1e400", "nan", "abc", "1.5", "999999999999999999", "  ", "é", "auto", "fp8", "8", "yes",
     "q8_0/q4_0", "null", "1,5", "{}", "2x A100", "RTX 4090 + RTX 3090", "Q4_K_XL", "iq1_s", "exl2 4.0bpw",
     "gptq 3bit", "llama.cpp", "SGLang", "vLLM", "Ollama", "TGI", "Qwen/Qwen3-32B-AWQ", "x/y"]
)  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(st.sampled_from((MEASURED, MORE)), st.integers(0, 400), st.dictionaries(st.integers(0, 60), CELLS))
def test_any_cells_give_lines_or_a_named_refusal(path, number, changes):
    rows = table(path)
    cells = dict(rows[number % len(rows)])
    columns = list(cells)
    for place, value in changes.items():
        cells[columns[place % len(columns)]] = value
    result = predict_row(MeasuredRow(cells), CONFIGS)
    for line in result.lines:
        assert (line.predicted is None) == (line.refused is not None)
        if line.refused is not None:
            assert line.refused.split(":")[0].split(" and ")[0] in columns
    json.dumps([as_json(line) for line in result.lines], allow_nan=False)
    json.dumps(summarise([result]), allow_nan=False)


@cache
def table(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_a_missing_table_or_folder_is_named(tmp_path, capsys):
    assert main(["memory", str(tmp_path / "no.csv"), "--configs", str(CONFIGS)]) == 2
    assert "cannot be read" in capsys.readouterr().err
    assert main(["memory", str(MEASURED), "--configs", str(tmp_path / "no")]) == 2
    assert "is not a folder" in capsys.readouterr().err


def test_bands_command_prints_the_kept_file(capsys):
    assert main(["bands", str(MEASURED), str(MORE), "--configs", str(CONFIGS)]) == 0
    printed = tomllib.loads(capsys.readouterr().out)
    assert printed == tomllib.loads((Path(gpu_data.__file__).parent / "error_bands.toml").read_text())


# ---------------------------------------------------------------- config


def test_config_lines_in_order():
    files = [
        CONFIGS / "meta-llama--Llama-3.1-8B-Instruct.json",
        CONFIGS / "deepseek-ai--DeepSeek-V3-0324.json",
    ]
    code, lines = run("config", *files, "--context", "1000", "--json")
    assert code == 0
    assert [line["file"] for line in lines] == [str(path) for path in files]
    assert list(lines[0]) == [
        "file",
        "model_type",
        "params_total",
        "params_active",
        "kv_elements_per_token_growing",
        "cache_elements",
        "assumptions",
        "refused",
    ]
    assert lines[0]["params_total"] == 8_030_261_248
    assert lines[0]["cache_elements"] == 1000 * 32 * 2 * 8 * 128
    assert lines[1]["cache_elements"] == 1000 * 61 * 576


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"not json", "file: is not JSON"),
        (b"\xff\xfe\x00", "file: is not JSON"),
        (b"[1, 2]", "file: does not hold a JSON object"),
        (b"{}", ""),
        (b'{"model_type": 5}', ""),
        (b'{"model_type": "llama", "hidden_size": "wide"}', "hidden_size"),
    ],
)
def test_bad_configs_are_refused_by_field(tmp_path, content, reason):
    path = tmp_path / "config.json"
    path.write_bytes(content)
    code, lines = run("config", path, "--json")
    assert code == 0
    assert lines[0]["refused"].startswith(reason)
    assert lines[0]["params_total"] is None


def test_a_bad_file_does_not_stop_the_others(tmp_path):
    good = CONFIGS / "Qwen--Qwen3-8B.json"
    _, lines = run("config", tmp_path / "missing.json", good)
    assert lines[0]["refused"].startswith("file: cannot be read")
    assert lines[1]["refused"] is None


def test_a_gallery_gives_a_line_for_every_file_in_order():
    files = sorted(CONFIGS.glob("*.json")) * 3
    _, lines = run("config", *files)
    assert [line["file"] for line in lines] == [str(file) for file in files]


def shell(*arguments, encoding="utf-8", **options):
    """The command as a process of its own, as a terminal with this encoding runs it."""
    command = [sys.executable, "-m", "calculators.validate", *map(str, arguments)]
    environment = {**os.environ, "PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"}
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT, env=environment, **options
    )


def test_a_reader_that_stops_early_is_no_error():
    """`| head -1`: more output than a pipe holds, and the pipe closed after its first line."""
    process = shell("config", *sorted(CONFIGS.glob("*.json")) * 20)
    assert json.loads(process.stdout.readline())
    process.stdout.close()
    complaint = process.stderr.read()
    assert process.wait(timeout=60) == 141
    assert complaint == b""


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1", "ascii"])
@pytest.mark.parametrize("model_type", ["\ud800", "模型", "modèle"], ids=["half a pair", "Chinese", "French"])
def test_any_model_type_is_printed_and_the_files_after_it(tmp_path, encoding, model_type):
    odd, good = tmp_path / "odd.json", CONFIGS / "Qwen--Qwen3-8B.json"
    odd.write_text(json.dumps(json.loads(good.read_text()) | {"model_type": model_type}))
    out, complaint = shell("config", odd, good, encoding=encoding).communicate(timeout=60)
    assert complaint == b""
    lines = [json.loads(line) for line in out.decode(encoding).splitlines()]
    assert [line["model_type"] for line in lines] == [model_type, "qwen3"]
    assert all(line["params_total"] for line in lines)


def test_letters_a_terminal_lacks_do_not_stop_the_text_output(tmp_path):
    path = tmp_path / "rows.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, [*INPUTS, "fits"])
        writer.writeheader()
        writer.writerow(INPUTS | {"id": "模型", "fits": "yes"})
    out, complaint = shell("memory", path, "--configs", CONFIGS, encoding="latin-1").communicate(timeout=60)
    assert complaint == b""
    assert b"verdicts: n 1" in out


@pytest.mark.parametrize(
    ("again", "said"),
    [
        ('"hidden_size": 2048', ["'hidden_size' is written twice: the last value is read"]),
        ('"hidden_size": 4096', []),
    ],
    ids=["another value", "the same value"],
)
def test_a_key_written_twice_is_said(tmp_path, again, said):
    text = (CONFIGS / "Qwen--Qwen3-8B.json").read_text().strip()
    once, twice = tmp_path / "once.json", tmp_path / "twice.json"
    once.write_text(text)
    twice.write_text(f"{text[:-1]}, {again}}}")
    _, (before, after) = run("config", once, twice)
    assert after["assumptions"] == [*said, *before["assumptions"]]
    assert (after["params_total"] == before["params_total"]) == (not said)


@pytest.mark.parametrize("context", ["0", "-1", "many", "99999999999999"])
def test_context_must_be_a_number_of_tokens(context, capsys):
    with pytest.raises(SystemExit):
        main(["config", str(CONFIGS / "Qwen--Qwen3-8B.json"), "--context", context])
    assert "is not a number of tokens" in capsys.readouterr().err
