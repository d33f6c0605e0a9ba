"""Towers, projectors and encoders: published sizes first, then laws and hostile input."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calculators.architecture import ConfigRefused, params_by_group, params_total, read_config
from calculators.architecture.audio import AUDIO_TOWERS, audio_tower
from calculators.architecture.class_defaults import CLASS_DEFAULTS
from calculators.architecture.keys import Fields
from calculators.architecture.layout import Role
from calculators.architecture.vision import VISION_TOWERS, vision_tower

GALLERY = Path(__file__).parent.parent / "truth" / "gallery"


def _tower(config):
    return vision_tower(Fields(config, config["model_type"]))


def _size(weights):
    return sum(weight.elements for weight in weights)


@pytest.mark.parametrize(
    ("config", "millions"),
    [
        pytest.param(
            {"model_type": "clip_vision_model", "hidden_size": 1024, "intermediate_size": 4096}
            | {"num_hidden_layers": 24, "num_attention_heads": 16, "image_size": 336, "patch_size": 14},
            303.5,
            id="CLIP ViT-L/14-336 vision tower [model card openai/clip-vit-large-patch14-336: 0.30 B]",
        ),
        pytest.param(
            {"model_type": "siglip_vision_model", "hidden_size": 1152, "intermediate_size": 4304}
            | {"num_hidden_layers": 27, "num_attention_heads": 16, "image_size": 384, "patch_size": 14},
            428.2,
            id="SigLIP So400m/14-384 with pooling head [arXiv:2303.15343: 428 M]",
        ),
        pytest.param(
            {"model_type": "qwen2_vl_vision", "hidden_size": 3584, "embed_dim": 1280, "depth": 32},
            675.8,
            id="Qwen2-VL vision tower [arXiv:2409.12191 table 1: 675 M]",
        ),
        pytest.param(
            {"model_type": "pixtral", "hidden_size": 1024, "intermediate_size": 4096}
            | {"num_hidden_layers": 24, "image_size": 1024, "patch_size": 16},
            403.5,
            id="Pixtral-ViT [arXiv:2410.07073: 400 M]",
        ),
        pytest.param(
            {"model_type": "intern_vit_6b", "hidden_size": 3200, "intermediate_size": 12800}
            | {"num_hidden_layers": 45, "image_size": 448, "patch_size": 14, "qkv_bias": False},
            5537.6,
            id="InternViT-6B-448px-V1-5 [model card: 5540 M]",
        ),
    ],
)
def test_towers_have_their_published_size(config, millions):
    assert _size(_tower(config).weights) / 1e6 == pytest.approx(millions, rel=0.005)


@pytest.mark.parametrize(
    ("file", "parameters"),
    [
        pytest.param("whisper-large-v3.json", 1_543_490_560, id="Whisper large-v3 [model card: 1550 M]"),
        pytest.param("bart-large-cnn.json", 406_290_432, id="BART large CNN [model card: 406 M]"),
        pytest.param("t5-large.json", 737_668_096, id="T5-large [arXiv:1910.10683: 770 M, 738 M tied]"),
        pytest.param("nllb-200-3.3b.json", 3_344_863_232, id="NLLB-200 [model card: 3.3 B]"),
        pytest.param("xlm-roberta-base.json", 278_295_186, id="XLM-R base [arXiv:1911.02116: 270 M]"),
        pytest.param("modernbert-large.json", 395_881_664, id="ModernBERT large [arXiv:2412.13663: 395 M]"),
    ],
)
def test_encoders_have_their_published_size(file, parameters):
    arch = read_config(json.loads((GALLERY / file).read_text(encoding="utf-8")))
    assert params_total(arch) == parameters


INTERNLM2_7B = {"model_type": "internlm2", "hidden_size": 4096, "intermediate_size": 14336} | {
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "vocab_size": 92553,
    "bias": False,
}


@pytest.mark.parametrize(
    ("config", "parameters"),
    [
        pytest.param(
            {"architectures": ["Phi3VForCausalLM"], "model_type": "phi3_v", "hidden_size": 3072}
            | {"intermediate_size": 8192, "num_hidden_layers": 32, "num_attention_heads": 32}
            | {"num_key_value_heads": 32, "vocab_size": 32064, "tie_word_embeddings": False}
            | {"img_processor": {"image_dim_out": 1024, "name": "clip_vision_model"}},
            4_146_621_440,
            id="Phi-3.5-vision [Hugging Face safetensors total: 4,146,621,440]",
        ),
        pytest.param(
            {"architectures": ["InternVLChatModel"], "model_type": "internvl_chat", "downsample_ratio": 0.5}
            | {"llm_config": INTERNLM2_7B}
            | {
                "vision_config": {"model_type": "intern_vit_6b", "hidden_size": 1024, "image_size": 448}
                | {"intermediate_size": 4096, "num_hidden_layers": 24, "num_attention_heads": 16}
                | {"patch_size": 14, "qkv_bias": True, "qk_normalization": False, "norm_type": "layer_norm"}
            },
            8_075_365_376,
            id="InternVL2.5-8B [Hugging Face safetensors total: 8,075,365,376]",
        ),
    ],
)
def test_models_with_their_own_code_have_their_published_size(config, parameters):
    assert params_total(read_config(config)) == parameters


@pytest.mark.parametrize("model_type", sorted(VISION_TOWERS.keys() & CLASS_DEFAULTS.keys()))
def test_every_known_vision_tower_reads_from_its_class_defaults(model_type):
    tower = _tower({"model_type": model_type, "image_size": 448, "patch_size": 14} | _missing(model_type))
    assert tower.width > 0
    assert _size(tower.weights) > 1e6
    assert {weight.role for weight in tower.weights} == {Role.VISION}


def _missing(model_type):
    """Sizes that some composite passes and the tower's own class leaves open."""
    return {"florence_vision": {"patch_size": [7, 3, 3, 3]}}.get(model_type, {})


@pytest.mark.parametrize("model_type", sorted(AUDIO_TOWERS.keys() & CLASS_DEFAULTS.keys()))
def test_every_known_audio_tower_reads_from_its_class_defaults(model_type):
    tower = audio_tower(Fields({"model_type": model_type}, model_type))
    assert {weight.role for weight in tower.weights} == {Role.AUDIO}
    assert _size(tower.weights) > 1e6


TEXT = {"model_type": "llama", "hidden_size": 512, "num_hidden_layers": 2, "num_attention_heads": 8} | {
    "intermediate_size": 1024,
    "vocab_size": 32000,
}
CLIP = {"model_type": "clip_vision_model", "hidden_size": 256, "intermediate_size": 512} | {
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "image_size": 224,
    "patch_size": 14,
}


def _llava(**vision):
    return {"model_type": "llava", "text_config": TEXT, "vision_config": {**CLIP, **vision}}


@given(layers=st.integers(1, 60), more=st.integers(1, 60))
def test_each_tower_layer_adds_the_same(layers, more):
    sizes = [
        _size(_tower({**CLIP, "num_hidden_layers": n}).weights) for n in (layers, layers + more, layers + 1)
    ]
    assert sizes[1] - sizes[0] == more * (sizes[2] - sizes[0])


@given(layers=st.integers(1, 40))
def test_a_tower_changes_nothing_in_the_language_model(layers):
    small, large = (params_by_group(read_config(_llava(num_hidden_layers=n))) for n in (1, 1 + layers))
    assert {k: v for k, v in small.items() if k != "vision"} == {
        k: v for k, v in large.items() if k != "vision"
    }
    assert large["vision"] > small["vision"]


def test_a_composite_reads_its_own_class_whatever_the_sub_config_is_called():
    config = {**TEXT, "model_type": "qwen2_5_vl", "vision_config": {"depth": 4}}
    named = {**config, "vision_config": {"depth": 4, "model_type": "clip_vision_model"}}
    assert params_total(read_config(config)) == params_total(read_config(named))


def test_an_unknown_tower_is_read_as_the_usual_one_or_a_plain_vit_and_said_so():
    arch = read_config(_llava(model_type="some_new_vit"))
    assert any("some_new_vit" in line and "clip_vision_model" in line for line in arch.assumptions)
    other = read_config({**_llava(model_type="some_new_vit"), "model_type": "some_new_vlm"})
    assert any("some_new_vit" in line and "plain ViT" in line for line in other.assumptions)
    assert params_by_group(other)["vision"] > 0


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"hidden_size": "wide"}, "hidden_size"),
        ({"hidden_size": -1}, "hidden_size"),
        ({"num_hidden_layers": 2.5}, "num_hidden_layers"),
        ({"patch_size": []}, "patch_size"),
        ({"image_size": None}, "image_size"),
    ],
)
def test_a_tower_that_cannot_be_read_is_refused_by_name(change, field):
    config = _llava(**change)
    config["vision_config"] = {**config["vision_config"], "model_type": "pixtral"} | change
    if field == "image_size":  # rotary positions need no image size
        assert params_total(read_config(config)) > 0
        return
    with pytest.raises(ConfigRefused) as refused:
        read_config(config)
    assert field in refused.value.field
