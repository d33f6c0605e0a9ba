"""The model catalogue: sound, sourced, quick to read, and loud about a row that is wrong."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

import pytest

from gpu_data.model_checks import check_models
from gpu_data.model_schemas import GRADES, Model
from gpu_data.models import FOLDER, UnknownModel, model, model_config, model_frame, model_ids

TRUTH = Path(__file__).parent.parent / "truth"
START_SECONDS = 0.060


def truth_rows() -> dict[str, dict[str, str]]:
    with (TRUTH / "models.csv").open(newline="", encoding="utf-8") as file:
        return {row["id"]: row for row in csv.DictReader(file)}


def test_the_catalogue_is_sound() -> None:
    assert check_models() == []


def test_the_catalogue_holds_exactly_the_models_of_the_truth_table() -> None:
    assert set(model_ids()) == set(truth_rows())
    assert len(model_ids()) == 204


def test_labels_agree_with_the_truth_table() -> None:
    for model_id, row in truth_rows().items():
        entry = model(model_id)
        assert entry.hf_id == row["hf_id"], model_id
        assert entry.source_grade == row["source_grade"], model_id
        for label, column in (
            (entry.published_params_label, "published_params_b"),
            (entry.published_active_label, "published_active_b"),
        ):
            assert (label or "").removesuffix(" B") == row[column], (model_id, column)


def test_every_model_says_where_its_config_is_from() -> None:
    for model_id in model_ids():
        entry = model(model_id)
        assert entry.sources, model_id
        assert all(len(source) > 10 for source in entry.sources), model_id
        for text in (entry.hf_id, GRADES[entry.source_grade], *entry.sources, *entry.source_disagreements):
            assert text in entry.provenance, model_id


def test_names_and_repositories_are_unique() -> None:
    frame = model_frame()
    assert frame["name"].is_unique
    assert frame["hf_id"].is_unique


def test_the_frame_holds_labels_only() -> None:
    frame = model_frame()
    assert list(frame.index) == model_ids()
    assert frame.index.name == "model_id"
    assert {str(dtype) for column, dtype in frame.dtypes.items() if column != "gated"} == {"string"}
    assert str(frame.dtypes["gated"]) == "boolean"
    required = [name for name, field in Model.model_fields.items() if field.is_required() and name != "id"]
    assert not frame[required].isna().any(axis=None)
    assert frame["published_params_label"].isna().sum() == 3, "Kimi K2.6, Kimi K3 and Flan-T5 XXL have none"


def test_a_frame_handed_out_does_not_change_the_next_one() -> None:
    frame = model_frame()
    frame["name"] = "changed"
    assert model_frame().loc["gpt2", "name"] == "GPT-2"


def test_a_config_handed_out_does_not_change_the_next_one() -> None:
    model_config("gpt2")["n_layer"] = 0
    assert model_config("gpt2")["n_layer"] == 12


@pytest.mark.parametrize(
    ("typed", "model_id"),
    [
        ("llama 3.3", "llama-3.3-70b"),
        ("meta-llama/Llama-3.3-70B-Instruct", "llama-3.3-70b"),
        ("llama3.370b", "llama-3.3-70b"),
        ("deepseekv3", "deepseek-v3"),
        ("moonshot", "kimi-k2"),
        ("gpt2", "gpt2"),
    ],
)
def test_search_text_finds_a_model_however_it_is_typed(typed: str, model_id: str) -> None:
    assert all(word in model(model_id).search_text for word in typed.lower().split())


@pytest.mark.parametrize("look_up", [model, model_config])
@pytest.mark.parametrize("model_id", ["nope", "", "../models/gpt2"])
def test_an_unknown_model_is_named(look_up, model_id: str) -> None:
    with pytest.raises(UnknownModel, match="no model named") as caught:
        look_up(model_id)
    assert caught.value.model_id == model_id


# Broken copies: each edit of a good folder gives exactly one line, which names file, row and field.

ROW = """
[[model]]
id = "tiny"
name = "Tiny"
hf_id = "example/tiny"
vendor = "Example"
kind = "text"
license_label = "MIT"
gated = false
native_weight_dtype = "bf16"
source_grade = "A"
sources = ["config.json of example/tiny"]
"""
CONFIG = '{"model_type": "llama", "hidden_size": 8}'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "tiny.toml").write_text('family = "Tiny"\n' + ROW)
    (tmp_path / "tiny.json").write_text(CONFIG)
    assert check_models(tmp_path) == []
    return tmp_path


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ('kind = "text"', 'kind = "text"\ncolour = "red"', "colour: Extra inputs are not permitted"),
        ('kind = "text"', 'kind = "txt"', "kind: Input should be 'text'"),
        ('kind = "text"', "", "kind: Field required"),
        ("gated = false", 'gated = "no"', "gated: Input should be a valid boolean"),
        ("gated = false", "gated = 0", "gated: Input should be a valid boolean"),
        ('vendor = "Example"', "vendor = 7", "vendor: Input should be a valid string"),
        ('vendor = "Example"', 'vendor = ""', "vendor: String should have at least 1 character"),
        ('license_label = "MIT"', 'license_label = " MIT"', "license_label: String should match pattern"),
        ('"example/tiny"', '"tiny"', "hf_id: String should match pattern"),
        ('["config.json of example/tiny"]', "[]", "sources: Tuple should have at least 1 item"),
        (
            '["config.json of example/tiny"]',
            '["config.json", ""]',
            "sources.1: String should have at least 1 character",
        ),
        ('sources = ["config.json of example/tiny"]', "", "sources: Field required"),
        ('"bf16"', '"fp8"', "native_weight_dtype: tiny.json has no quantization_config"),
        (
            '"MIT"',
            '"MIT"\npublished_params_label = 7.0',
            "published_params_label: Input should be a valid str",
        ),
        ('"MIT"', '"MIT"\npublished_params_label = "7"', "published_params_label: String should match"),
        ('"MIT"', '"MIT"\nfamily = "Mine"', "family: belongs at the top of the file"),
    ],
)
def test_a_bad_field_is_named(folder: Path, old: str, new: str, named: str) -> None:
    path = folder / "tiny.toml"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    [problem] = check_models(folder)
    assert problem.startswith(f"tiny.toml: row 1 (tiny): {named}")
    assert "\n" not in problem


@pytest.mark.parametrize(
    ("config", "named"),
    [
        (None, "id: no config file tiny.json"),
        ('{"model_type": "llama", "limit": NaN}', "tiny.json: not strict JSON: NaN"),
        ('{"model_type": "llama", "limit": [0.0, Infinity]}', "tiny.json: not strict JSON: Infinity"),
        ('{"model_type": "llama", "limit": -Infinity}', "tiny.json: not strict JSON: -Infinity"),
        ('{"model_type": "llama",}', "tiny.json: not strict JSON: "),
        ('{"model_type": "llama", "a": 1, "a": 2}', "tiny.json: not strict JSON: key 'a' is given twice"),
        ("[]", "tiny.json: is a list, not an object"),
        ('{"hidden_size": 8}', "tiny.json: model_type: missing"),
        ('{"model_type": "llava", "vision_config": {}}', "kind: tiny.json has a vision_config"),
        (
            '{"model_type": "llama", "quantization_config": {"quant_method": "fp8"}}',
            "native_weight_dtype: tiny.json has a quantization_config",
        ),
    ],
)
def test_a_bad_config_is_named(folder: Path, config: str | None, named: str) -> None:
    if config is None:
        (folder / "tiny.json").unlink()
    else:
        (folder / "tiny.json").write_text(config)
    [problem] = check_models(folder)
    assert problem.startswith(f"tiny.toml: row 1 (tiny): {named}")


def test_an_unknown_native_dtype_is_named(folder: Path) -> None:
    path = folder / "tiny.toml"
    path.write_text(path.read_text().replace('"bf16"', '"bfloat16"'))
    assert check_models(folder)[0].startswith(
        "tiny.toml: row 1 (tiny): native_weight_dtype: Input should be 'bf16'"
    )


def test_an_orphan_config_is_named(folder: Path) -> None:
    (folder / "orphan.json").write_text(CONFIG)
    assert check_models(folder) == ["orphan.json: id: no row named 'orphan' in any TOML file"]


def test_a_duplicate_id_is_named_in_the_same_file(folder: Path) -> None:
    with (folder / "tiny.toml").open("a") as file:
        file.write(ROW)
    assert check_models(folder) == ["tiny.toml: row 2 (tiny): id: already used by tiny.toml row 1"]


def test_a_duplicate_id_is_named_across_files(folder: Path) -> None:
    (folder / "zzz.toml").write_text('family = "Other"\n' + ROW)
    assert check_models(folder) == ["zzz.toml: row 1 (tiny): id: already used by tiny.toml row 1"]


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("family = ", "bad.toml: not TOML: "),
        ('family = "Bad"\nmodels = []\nmodel = []\n', "bad.toml: models: unknown key"),
        ('family = "Bad"\n[model]\nid = "x"\n', "bad.toml: model: write each row as a [[model]] table"),
    ],
)
def test_a_bad_file_is_named(folder: Path, text: str, named: str) -> None:
    (folder / "bad.toml").write_text(text)
    assert any(problem.startswith(named) for problem in check_models(folder))


def test_a_broken_copy_of_the_real_catalogue_is_found(tmp_path: Path) -> None:
    shutil.copytree(FOLDER, tmp_path, dirs_exist_ok=True)
    config = json.loads((tmp_path / "gpt2.json").read_text())
    (tmp_path / "gpt2.json").write_text(json.dumps({**config, "n_embd": float("inf")}))
    (tmp_path / "qwen3-8b.json").unlink()
    problems = check_models(tmp_path)
    assert len(problems) == 2
    assert problems[0].startswith("gpt-2.toml: row 1 (gpt2): gpt2.json: not strict JSON")
    assert "(qwen3-8b): id: no config file qwen3-8b.json" in problems[1]
