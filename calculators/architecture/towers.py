"""Everything of a composite model outside its language model: towers for images and sound, and projectors.

`tower_weights` finds the sub-configs, reads each tower by its own `model_type` (or the one the composite
class fixes), and adds the projector of the composite's `model_type`.
Source: the modelling classes of transformers 5.24.0, compared tensor by tensor on the meta device.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from calculators.architecture.audio import AUDIO_TOWERS, audio_tower
from calculators.architecture.bag import Bag
from calculators.architecture.composites import COMPOSITES
from calculators.architecture.encoders import ENCODERS as PLAIN_ENCODERS
from calculators.architecture.keys import Fields
from calculators.architecture.layout import Role, Weight
from calculators.architecture.projectors import PROJECTORS, Parts, two_audio_layers, two_layers
from calculators.architecture.vision import VISION_TOWERS, Tower, side, vision_tower, vq_model

#: Readers of whole models that are no plain causal decoder, by `model_type`.
ENCODERS: Final = {**PLAIN_ENCODERS, **COMPOSITES}

VISION_KEYS: Final = ("vision_config", "vision_tower_config", "visual_config", "visual")
AUDIO_KEYS: Final = ("audio_config", "encoder_config", "speech_config")


def _phi3_vision(root: Fields, d: int) -> tuple[Weight, ...]:
    """Phi-3 Vision: CLIP ViT-L/14 at 336 pixels, which the config only names; 2 x 2 patches, two layers."""
    described = root.mapping("img_processor") or {}
    width = described.get("image_dim_out", 1024)
    if width != 1024:
        raise root.refuse("img_processor", f"names a tower {width} wide; only CLIP ViT-L/14-336 is known")
    sizes = {"hidden_size": 1024, "intermediate_size": 4096, "num_hidden_layers": 24}
    clip = Fields(sizes | {"image_size": 336, "patch_size": 14}, "clip_vision_model", notes=root.notes)
    bag = Bag(Role.PROJECTOR)
    bag.tensor(4 * width, n=2)
    bag.linear(d, 4 * width)
    bag.linear(d, d)
    return vision_tower(clip).weights + bag.weights()


def tower_weights(root: Fields, text: Fields) -> tuple[Weight, ...]:
    """All weights outside the language model; () for a text-only config.

    Raises ConfigRefused when a described tower lacks a size that nothing can stand in for.
    """
    outer = root.sub("thinker_config") or root
    whole = outer.model_type.removesuffix("_text")
    described = any(outer.raw(key) is not None for key in (*VISION_KEYS, *AUDIO_KEYS))
    if described and whole != outer.model_type and whole in PROJECTORS:  # text flattened into the root
        outer = outer.retyped(whole)
    if outer.model_type == "fuyu":
        bag = Bag(Role.VISION)
        pixels = outer.integer("num_channels", 3) * side(outer, "patch_size") ** 2
        bag.linear(text.integer("hidden_size"), pixels)
        return bag.weights()
    if outer.mapping("img_processor") is not None:
        return _phi3_vision(outer, text.integer("hidden_size"))
    if outer.model_type == "chameleon":
        bag, vq = Bag(Role.VISION), outer.sub("vq_config")
        if vq is not None:
            vq_model(vq, bag, decodes=False)
        return bag.weights()
    vision, vision_part = _tower(outer, VISION_KEYS, VISION_TOWERS, vision_tower)
    audio, audio_part = _tower(outer, AUDIO_KEYS, AUDIO_TOWERS, audio_tower)
    if vision is None and audio is None:
        return ()
    bag = Bag(Role.PROJECTOR)
    parts = Parts(
        root=outer,
        text=text,
        vision=vision,
        vision_width=vision_part.width,
        audio=audio,
        audio_width=audio_part.width,
        d=text.integer("hidden_size"),
    )
    projector = PROJECTORS.get(outer.model_type)
    if projector is None:
        outer.assume(
            f"the projector of model_type {outer.model_type!r} is not known: counted as two layers from the "
            "tower's width to the language model's"
        )
        projector = two_layers if vision is not None else two_audio_layers
    projector(bag, parts)
    if root.has("talker_config") or root.has("token2wav_config") or root.has("code2wav_config"):
        root.assume("only the thinker is counted: the talker and the vocoder that speak are left out")
    return vision_part.weights + audio_part.weights + bag.weights()


def _tower(
    root: Fields,
    keys: tuple[str, ...],
    known: Mapping[str, Any],
    read: Callable[[Fields], Tower],
) -> tuple[Fields | None, Tower]:
    for key in keys:
        fields = root.sub(key)
        if fields is None:
            continue
        if fields.model_type not in known:
            default = root.defaults.get(key)
            usual = default.get("model_type") if isinstance(default, Mapping) else None
            if isinstance(usual, str) and usual in known:
                if fields.model_type != root.model_type:  # configs often repeat the composite's name here
                    fields.assume(
                        f"{key}.model_type {fields.model_type!r} is not known: read as {usual!r}, the usual "
                        f"tower of {root.model_type!r}"
                    )
                fields = fields.retyped(usual)
        return fields, read(fields)
    return None, Tower((), 0)
