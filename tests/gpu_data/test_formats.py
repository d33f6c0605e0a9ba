"""The format tables: complete, linked, true to ggml, and every label decided."""

from __future__ import annotations

import csv
from pathlib import Path

import gguf
import pytest

from gpu_data import formats
from gpu_data.format_schemas import KvFormat, Storage, WeightFormat
from gpu_data.formats import (
    FormatTableError,
    ggml_types,
    kv_format,
    kv_formats,
    parse_kv_label,
    parse_quantization_label,
    weight_format,
    weight_formats,
)

TRUTH = Path(__file__).parent.parent / "truth" / "memory.csv"
LINK_IDS = {
    "fp32",
    "bf16",
    "fp16",
    "fp8",
    "fp8-block",
    "int8",
    "bnb-int8",
    "bnb-nf4",
    "gptq-int4",
    "gptq-int8",
    "awq-int4",
    "mxfp4",
    "nvfp4",
    "native",
    "gguf-f16",
    "gguf-q8_0",
    "gguf-q6_k",
    "gguf-q5_k_m",
    "gguf-q5_0",
    "gguf-q4_k_m",
    "gguf-q4_k_s",
    "gguf-q4_0",
    "gguf-iq4_xs",
    "gguf-q3_k_m",
    "gguf-q2_k",
    "gguf-iq3_xxs",
    "gguf-iq2_xxs",
}


@pytest.mark.parametrize("name", ggml_types())
def test_block_sizes_are_ggml_s(name):
    """Against the gguf package, which llama.cpp publishes."""
    storage = ggml_types()[name]
    block, size = gguf.GGML_QUANT_SIZES[gguf.GGMLQuantizationType[name]]
    assert storage.block == (1, block)
    assert storage.block_bytes == size
    assert storage.row_multiple == block


def test_ids_in_links_never_change():
    assert {fmt.id for fmt in weight_formats()} >= LINK_IDS
    assert [fmt.id for fmt in kv_formats()] == ["bf16", "fp8", "int8", "q8_0", "q5_1", "q4_0", "nvfp4"]


@pytest.mark.parametrize(
    "fmt", [*weight_formats(), *kv_formats()], ids=lambda f: f"{type(f).__name__} {f.id}"
)
def test_every_format_has_label_engine_support_and_source(fmt: WeightFormat | KvFormat):
    assert fmt.label
    assert fmt.engines
    assert fmt.support
    assert fmt.source


@pytest.mark.parametrize(
    ("label", "format_id"),
    [
        ("none", "bf16"),
        ("", "bf16"),
        ("GGUF F16", "gguf-f16"),
        ("GGUF Q4_0", "gguf-q4_0"),
        ("GGUF Q4_K_M", "gguf-q4_k_m"),
        ("GGUF Q4_K - Medium", "gguf-q4_k_m"),
        ("Q4_K - Small", "gguf-q4_k_s"),
        ("GGUF Q3_K - Medium", "gguf-q3_k_m"),
        ("GGUF Q5_K - Medium", "gguf-q5_k_m"),
        ("GGUF IQ3_XXS - 3.0625 bpw", "gguf-iq3_xxs"),
        ("IQ3_S mix - 3.66 bpw", "gguf-iq3_m"),
        ("GGUF MXFP4", "gguf-mxfp4"),
        ("mxfp4 (gguf)", "gguf-mxfp4"),
        ("mxfp4", "mxfp4"),
        ("q8_0", "gguf-q8_0"),
        ("fp16", "fp16"),
        ("awq 4-bit", "awq-int4"),
        ("awq int4", "awq-int4"),
        ("awq-int4", "awq-int4"),
        ("AWQ", "awq-int4"),
        ("gptq-int4", "gptq-int4"),
        ("gptq-int8", "gptq-int8"),
        ("fp8", "fp8"),
        ("fp8 (modelopt)", "fp8"),
        ("fp8 (compressed-tensors)", "fp8"),
        ("bitsandbytes-4bit", "bnb-nf4"),
        ("bitsandbytes-8bit", "bnb-int8"),
        ("nf4", "bnb-nf4"),
        ("nvfp4 (flashinfer)", "nvfp4"),
    ],
)
def test_labels_that_are_clear(label, format_id):
    found = parse_quantization_label(label)
    assert (found.format, found.assumption, found.refused) == (format_id, "", "")


@pytest.mark.parametrize(
    ("label", "format_id"),
    [
        ("4-bit (method not quoted)", "awq-int4"),
        ("4-bit", "awq-int4"),
        ("W4A16", "awq-int4"),
        ("FP4", "nvfp4"),
        ("nvfp4 (mixed fp8/nvfp4)", "nvfp4-fp8"),
    ],
)
def test_labels_that_leave_something_open_say_so(label, format_id):
    found = parse_quantization_label(label)
    assert found.format == format_id
    assert found.assumption


@pytest.mark.parametrize(
    "label",
    [
        "GGUF IQ4_KSS - 4.0 bpw",
        "GGUF IQ4_K_R4 - 4.5 bpw",
        "GGUF IQ2_K_R4 - 2.375 bpw",
        "GGUF IQ3_K - 3.4325 bpw",
        "IQ4_K - 4.5 bpw",
        "exl2 4.0bpw",
        "UD-Q4_K_XL",
        "Q9_Z",
    ],
)
def test_labels_that_nobody_can_size_are_refused(label):
    found = parse_quantization_label(label)
    assert found.format is None
    assert found.refused


def test_every_label_of_the_measured_rows_is_decided():
    with TRUTH.open(newline="") as file:
        rows = list(csv.DictReader(file))
    for label in {row["quantization"] for row in rows}:
        found = parse_quantization_label(label)
        assert (found.format is None) == bool(found.refused)
        assert found.format is None or weight_format(found.format)
    for label in {part for row in rows for part in row["kv_dtype"].split("/")}:
        assert kv_format(parse_kv_label(label).format or "")


def test_every_label_rule_names_a_format():
    for table, known in (("weight", weight_format), ("kv", kv_format)):
        for _, rule in formats._label_rules(table):
            assert rule.refused or known(rule.format)


def test_every_gguf_format_has_a_name():
    named = set(formats._gguf_names().values())
    assert named == {fmt.id for fmt in weight_formats() if fmt.kind == "gguf"}


@pytest.mark.parametrize("lookup", [weight_format, kv_format])
def test_an_unknown_id_is_named(lookup):
    with pytest.raises(KeyError, match="q99"):
        lookup("q99")


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"id": "x", "bits": -1, "source": "s"}, "bits"),
        ({"id": "x", "bits": 4}, "source"),
        ({"id": "x", "bits": 4, "source": "s", "colour": "red"}, "colour"),
        ({"id": "x", "source": "s"}, "neither bits nor block"),
    ],
)
def test_a_wrong_row_is_refused_by_file_row_and_field(fields, says):
    with pytest.raises(FormatTableError, match=rf"formats.toml \[storage.x\].*{says}"):
        formats._make(Storage, "formats.toml [storage.x]", fields)
