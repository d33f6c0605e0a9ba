"""From a Hugging Face `config.json` to an `Architecture`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from calculators.architecture import mixers, mlps, states
from calculators.architecture.keys import TEXT_KEYS, Fields
from calculators.architecture.layout import Architecture, Layer, Role, Shard, Weight
from calculators.architecture.pieces import Part, matrix, norms, vector
from calculators.architecture.plan import flag, layer_count, mixer_types, sparse_layers
from calculators.architecture.quantization import read_quantization
from calculators.architecture.traits import PLAIN, SAME_AS, TRAITS, Traits

Mixer = Callable[[Fields, Traits, str], Part]

ATTENTIONS: Final[dict[str, Mixer]] = {"gqa": mixers.attention, "mla": mixers.latent_attention}
STATES: Final[dict[str, Mixer]] = {
    "gated_delta_net": states.gated_delta_net,
    "kda": states.kda,
    "lightning": states.lightning,
    "mamba": states.mamba,
    "mamba2": states.mamba2,
    "short_conv": states.short_conv,
}


def read_config(config: Mapping[str, object]) -> Architecture:
    """Read the config of any causal language model, encoder or encoder-decoder.

    Raises ConfigRefused, naming the field, when something needed is missing or cannot be meant.
    """
    root = Fields.root(config)
    text = language_fields(root)
    traits = family_traits(text)
    arch = decoder(root, text, traits)
    return replace(arch, assumptions=root.notes.lines())


def language_fields(root: Fields) -> Fields:
    """The language model's own fields: a nested text config if there is one, else the root."""
    found = root
    for _ in range(2):  # an omni config nests twice: thinker_config.text_config
        for key in TEXT_KEYS:
            if isinstance(found.raw(key), Mapping) or isinstance(found.defaults.get(key), Mapping):
                nested = found.sub(key)
                if nested is not None:
                    found = nested
                    break
        else:
            break
    return found


def family_traits(fields: Fields) -> Traits:
    """The family's traits; for an unknown model_type a plain decoder, said so in the assumptions."""
    name = fields.model_type
    name = SAME_AS.get(name, name)
    if name in TRAITS:
        return TRAITS[name]
    if name == "llama":
        return PLAIN
    fields.assume(
        f"model_type {fields.model_type!r} is not known: computed as a plain decoder (two RMSNorms per layer, "
        "gated MLP, biases only where a key says so)"
    )
    return PLAIN


def decoder(root: Fields, text: Fields, traits: Traits) -> Architecture:
    """A causal decoder."""
    width = text.integer("hidden_size")
    vocab = text.integer("vocab_size")
    count = layer_count(text)
    types = mixer_types(text, traits, count)
    sparse = sparse_layers(text, traits, count)
    made: dict[tuple[str, bool], Layer] = {}
    layers = []
    for layer_type, is_sparse in zip(types, sparse, strict=True):
        key = (layer_type, is_sparse)
        if key not in made:
            made[key] = block(text, traits, layer_type, is_sparse)
        layers.append(made[key])
    tied = root.flag("tie_word_embeddings", text.flag("tie_word_embeddings"))
    outside = [Weight(Role.EMBEDDING, (vocab, width), Shard.VOCAB)]
    if traits.positions is not None:
        outside.append(
            Weight(Role.POSITION, (text.integer("max_position_embeddings") + traits.positions, width))
        )
    outside += norms(width, traits.embedding_norm)
    outside += norms(width, traits.norm) if traits.final_norm else ()
    if not tied:
        outside += matrix(Role.LM_HEAD, vocab, width, Shard.VOCAB)
    if flag(text, traits.head_bias):
        outside.append(vector(Role.BIAS, vocab, Shard.VOCAB))
    heads = mixers.read_heads(text, traits) if text.has("num_attention_heads") else mixers.Heads(0, 0, 0, 0)
    return Architecture(
        model_type=root.model_type,
        hidden_size=width,
        vocab_size=vocab,
        num_attention_heads=heads.heads,
        num_key_value_heads=heads.kv_heads,
        head_dim=heads.head_dim,
        max_position_embeddings=text.integer("max_position_embeddings", default=0) or None,
        tied_embeddings=tied,
        layers=tuple(layers),
        outside=tuple(outside),
        dtype=text.word("dtype") or root.word("dtype", "bfloat16"),
        quantization=read_quantization(root, text),
    )


def block(text: Fields, traits: Traits, layer_type: str, is_sparse: bool) -> Layer:
    """One layer: mixer, MLP and norms."""
    width = text.integer("hidden_size")
    if layer_type == "linear":
        mixer = STATES[traits.linear](text, traits, layer_type)
    else:
        mixer = ATTENTIONS[traits.attention](text, traits, layer_type)
    mlp = mlps.moe(text, traits) if is_sparse else mlps.dense(text, traits)
    weights = (*norms(width, traits.norm, traits.block_norms), *mixer.weights, *mlp.weights)
    return Layer(weights, mixer.caches, layer_type, "moe" if is_sparse else "dense")
