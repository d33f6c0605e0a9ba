"""From a Hugging Face `config.json` to an `Architecture`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from calculators.architecture import inkling, mixers, mlps, states, towers
from calculators.architecture.byte_latent import read_byte_latent
from calculators.architecture.extras import LAYER_EXTRAS, OUTSIDE_EXTRAS
from calculators.architecture.keys import LISTED_PER_LAYER, TEXT_KEYS, Fields, has_lm_head, task_outputs
from calculators.architecture.layout import Architecture, ConfigRefused, Layer, Role, Shard, Weight
from calculators.architecture.pieces import Part, matrix, norms, vector
from calculators.architecture.plan import (
    flag,
    kv_reused,
    layer_count,
    layer_passes,
    mixer_types,
    rotary_layers,
    searched_blocks,
    sparse_layers,
)
from calculators.architecture.quantization import read_quantization
from calculators.architecture.traits import (
    LAYER_NORM,
    PLAIN,
    RMS,
    SAME_AS,
    TEXT_DECIDES,
    TIED_BY_TEXT,
    TRAITS,
    Traits,
)

Mixer = Callable[[Fields, Traits, str], Part]

ATTENTIONS: Final[dict[str, Mixer]] = {
    "gqa": mixers.attention,
    "mla": mixers.latent_attention,
    "compressed": mixers.compressed_attention,
    "block_sparse": mixers.block_sparse_attention,
    "double_mla": mixers.double_latent_attention,
    "cca": mixers.convolved_attention,
    "inkling": inkling.attention,
    "inkling2": inkling.attention2,
    "jetmoe": mixers.mixture_of_attention,
    "shared": mixers.shared_block,
}
MIXTURES: Final[dict[str, Callable[[Fields, Traits], Part]]] = {
    "inkling": inkling.mixture,
    "moe": mlps.moe,
    "zaya": mlps.zaya,
}
STATES: Final[dict[str, Mixer]] = {
    "gated_delta_net": states.gated_delta_net,
    "kda": states.kda,
    "lightning": states.lightning,
    "mamba": states.mamba,
    "mamba2": states.mamba2,
    "mlstm": states.mlstm,
    "rg_lru": states.rg_lru,
    "rwkv": states.rwkv,
    "short_conv": states.short_conv,
}


#: OPT: the tables at both ends are this wide, and projections lie between them and the layers.
NARROW_TABLE: Final = "word_embed_proj_dim"


#: model_type -> a reader of its own, for what is not one stack of decoder layers.
READERS: Final[dict[str, Callable[[Fields], Architecture]]] = {**towers.ENCODERS, "blt": read_byte_latent}


def read_config(config: Mapping[str, object]) -> Architecture:
    """Read the config of any causal language model, encoder or encoder-decoder.

    Raises ConfigRefused, naming the field, when something needed is missing or cannot be meant.
    """
    root = Fields.root(config)
    try:
        arch = _read(root)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        if isinstance(error, ConfigRefused):
            raise
        # A combination of values that no check foresaw: still an answer in words, never a traceback.
        raise ConfigRefused("config", f"holds values that do not fit together ({error})") from error
    return replace(arch, quantization=read_quantization(config), assumptions=root.notes.lines())


def _read(root: Fields) -> Architecture:
    special = READERS.get(root.model_type)
    if special is not None:
        return special(root)
    owner, text = language_fields(root)
    if text is not root and root.model_type and not root.known:
        root.assume(
            f"model_type {root.model_type!r} is not known: its language model is read by its keys, "
            "and what else it holds only as far as its keys describe it"
        )
    traits = family_traits(text)
    arch = decoder(root, owner, text, traits)
    note_unread(text)
    for part in root.unread_parts():
        root.assume(f"{part} is not counted")
    return arch


def note_unread(text: Fields) -> None:
    """Say which keys look as if they changed shapes and were not used."""
    unread = text.unread()
    if unread:
        names = ", ".join(unread[:8]) + (" ..." if len(unread) > 8 else "")
        text.assume(f"not used in the count: {names}")


def language_fields(root: Fields) -> tuple[Fields, Fields]:
    """The config that holds the language model, and the language model's own fields.

    They are the same for a plain decoder; else the second is the nested text config of the first.

    A flat composite config (text keys at the root of a vision model) takes the defaults of its text part.
    """
    owner = found = root
    root.touch(*TEXT_KEYS)
    for _ in range(2):  # an omni config nests twice: thinker_config.text_config
        for key in TEXT_KEYS:
            default = found.defaults.get(key)
            written = found.mapping(key) if key in found.data else None
            if written is None and isinstance(default, Mapping):
                if found.explicit("hidden_size") or found.explicit("num_hidden_layers"):
                    extra = {k: v for k, v in default.items() if k not in ("model_type", "optional")}
                    return found, found.retyped(str(default.get("model_type", "")), extra)
                written = default
            if isinstance(written, Mapping):
                nested = found.sub(key)
                if nested is not None:
                    owner, found = found, nested
                    break
        else:
            break
    return owner, found


def family_traits(fields: Fields) -> Traits:
    """The family's traits; for an unknown model_type a plain decoder, said so in the assumptions."""
    name = SAME_AS.get(fields.model_type, fields.model_type)
    if name in TRAITS:
        return TRAITS[name]
    fields.assume(
        f"model_type {fields.model_type!r} is not known: computed as a plain decoder (two RMSNorms per "
        "layer, gated MLP, biases only where a key says so)"
    )
    return inferred_traits(fields)


#: A key -> the state mixer it betrays, for families that are not in the table.
STATE_SIGNS: Final = (
    ("linear_num_key_heads", "gated_delta_net"),
    ("linear_attn_config", "kda"),
    ("mamba_num_heads", "mamba2"),
    ("mamba_n_heads", "mamba2"),
    ("mamba_d_state", "mamba"),
    ("conv_L_cache", "short_conv"),
)


def inferred_traits(fields: Fields) -> Traits:
    """The plain decoder, bent by the keys of known mechanisms."""
    traits = PLAIN
    if fields.has("kv_lora_rank"):
        traits = replace(traits, attention="mla", index=fields.has("index_n_heads"))
        traits = replace(traits, order="indexed" if traits.index else "full")
    for key, mixer in STATE_SIGNS:
        if fields.has(key):
            traits = replace(traits, linear=mixer)
            break
    for key in ("use_qk_norm", "qk_layernorm", "qk_norm"):
        if fields.has(key):
            traits = replace(traits, qk_norm="head", qk_norm_if=key)
            break
    for key, order in (
        ("layer_types", "full"),
        ("full_attention_interval", "interval"),
        ("linear_attn_config", "kimi"),
        ("attn_layer_period", "period"),
        ("full_attn_idxs", "full_indices"),
        ("sliding_window_pattern", "pattern"),
    ):
        if fields.has(key):
            return replace(traits, order=order)
    window = fields.integer("sliding_window", default=0, low=0)
    if window and fields.flag("use_sliding_window", True):
        fields.assume(f"{fields.path}sliding_window {window} is taken to hold for every layer")
        return replace(traits, order="sliding_all")
    return traits


def decoder(root: Fields, owner: Fields, text: Fields, traits: Traits) -> Architecture:
    """A causal decoder, with whatever towers stand beside it."""
    original, text = text, merge_nested(text, traits)
    owner = text if owner is original else owner
    count = layer_count(text, traits)
    layers, views = stack(text, traits, count)
    tied = tied_embeddings(owner, text, traits)
    outside = (
        *tables(text, traits),
        *(
            norms(text.integer("hidden_size"), norm_vectors(text, traits))
            if flag(text, traits.final_norm)
            else ()
        ),
        *(
            w
            for name in traits.extras
            if name in OUTSIDE_EXTRAS
            for w in OUTSIDE_EXTRAS[name](text, traits, count)
        ),
        *head(root, text, traits, tied),
        *towers.tower_weights(root, text),
    )
    heads = widest_heads(views, traits)
    return Architecture(
        model_type=root.model_type,
        hidden_size=text.integer("hidden_size"),
        vocab_size=text.integer("vocab_size"),
        num_attention_heads=heads.heads,
        num_key_value_heads=heads.kv_heads,
        head_dim=heads.head_dim,
        max_position_embeddings=text.integer("max_position_embeddings", default=0) or None,
        tied_embeddings=tied,
        layers=tuple(replace(layer, caches=()) for layer in layers) if traits.encoder else layers,
        generates=not traits.encoder,
        outside=outside,
        dtype=root.word("dtype") or text.word("dtype") or "bfloat16",
    )


def tables(text: Fields, traits: Traits) -> tuple[Weight, ...]:
    """Embedding, learned positions and the norm after them."""
    width, vocab = text.integer("hidden_size"), text.integer("vocab_size")
    if traits.extra_rows:
        vocab += text.integer(traits.extra_rows, default=0, low=0)
    weights = [
        Weight(Role.EMBEDDING, (vocab, text.integer(traits.embedding_key, default=width)), Shard.VOCAB)
    ]
    if traits.positions is not None:
        rows = text.integer("max_position_embeddings") + traits.positions
        weights.append(Weight(Role.POSITION, (rows, width)))
    vectors = traits.embedding_norm
    if vectors == RMS and flag(text, traits.norm_shift):
        vectors = LAYER_NORM
    return (*weights, *norms(width, vectors))


def head(root: Fields, text: Fields, traits: Traits, tied: bool) -> tuple[Weight, ...]:
    """The language-model head, or the task head in its place."""
    width, vocab = text.integer("hidden_size"), text.integer("vocab_size")
    if not has_lm_head(root):
        outputs, bias = task_outputs(root)
        return matrix(Role.OTHER, outputs, width, bias=bias) if outputs else ()
    weights: tuple[Weight, ...] = ()
    if not tied:
        rows = text.integer(traits.head_rows, default=vocab) if traits.head_rows else vocab
        if traits.embedding_key == NARROW_TABLE:
            width = text.integer(NARROW_TABLE, default=width)
        weights = matrix(Role.LM_HEAD, rows, width, Shard.VOCAB)
    if flag(text, traits.head_bias):
        weights = (*weights, vector(Role.BIAS, vocab, Shard.VOCAB))
    return weights


def merge_nested(text: Fields, traits: Traits) -> Fields:
    """Lift the keys of nested groups (`attn_config`, `ffn_config`), imply switches, derive windows."""
    lifted: dict[str, Any] = {}
    for group, key, name, default in traits.nested:
        inner = text.mapping(group) or {}
        lifted[name] = default if inner.get(key) is None else inner[key]
    for switch, key in traits.implied:
        if not text.explicit(switch) and text.explicit(key) and text.has(key):
            lifted[switch] = True
            text.assume(f"{text.path}{switch} is missing: taken as true because {key} is given")
    key, divisor = traits.window_key
    if key and text.has(key):
        lifted["sliding_window"] = text.integer(key) // divisor
    for key, value in traits.defaults:
        if key not in text.data and key not in text.defaults:
            lifted.setdefault(key, value)
    return text.replaced(**lifted) if lifted else text


def tied_embeddings(owner: Fields, text: Fields, traits: Traits) -> bool:
    """Whether the head is the embedding table. In a composite config the root decides."""
    if isinstance(traits.tie, bool):
        return traits.tie
    if not text.known and not owner.has("tie_word_embeddings") and not text.has("tie_word_embeddings"):
        text.assume("tie_word_embeddings is missing: the head is counted as a matrix of its own")
    decides = owner.data is text.data or owner.model_type in TEXT_DECIDES
    if decides or not owner.has("tie_word_embeddings"):
        return text.flag("tie_word_embeddings", owner.flag("tie_word_embeddings"))
    if owner.model_type in TIED_BY_TEXT and text.flag("tie_word_embeddings"):
        return True
    return owner.flag("tie_word_embeddings")


def widest_heads(views: list[Fields], traits: Traits) -> mixers.Heads:
    """Head counts for the summary, the largest over layers; zeros for a model without attention."""
    found = [mixers.read_heads(view, traits) for view in views if view.has("num_attention_heads")]
    if not found:
        return mixers.Heads(0, 0, 0, 0)
    return mixers.Heads(*(max(column) for column in zip(*found, strict=True)))


def norm_vectors(text: Fields, traits: Traits) -> int:
    """Parameter vectors of one norm."""
    if not flag(text, traits.norm_if):
        return 0
    return traits.norm + (1 if traits.norm and flag(text, traits.norm_shift) else 0)


# ---- layers ----------


def stack(text: Fields, traits: Traits, count: int) -> tuple[tuple[Layer, ...], list[Fields]]:
    """All layers (equal ones are one object), and the fields of the different attention layers."""
    types = mixer_types(text, traits, count)
    sparse = sparse_layers(text, traits, count)
    reused = kv_reused(text, traits, count)
    blocks = searched_blocks(text, count) if traits.order == "nas" else None
    written = layer_overrides(text, count)
    made: dict[tuple[Any, ...], Layer] = {}
    layers: list[Layer] = []
    views: list[Fields] = []
    passes = layer_passes(text, traits, count)
    for i, (layer_type, is_sparse) in enumerate(zip(types, sparse, strict=True)):
        overrides = per_layer(text, traits, i, layer_type, reused[i], blocks, written)
        if passes[i] > 1:
            overrides = (*overrides, ("_looped", True))
        key = (layer_type, is_sparse, overrides, passes[i])
        if key not in made:
            view = text.replaced(**dict(overrides)) if overrides else text
            layer = block(view, traits, layer_type, is_sparse)
            if layer_type not in ("linear", "moe", "mlp", "none"):
                views.append(view)
            made[key] = replace(layer, caches=layer.caches * passes[i]) if passes[i] > 1 else layer
        layers.append(made[key])
    return tuple(layers), views


def layer_overrides(text: Fields, count: int) -> dict[int, dict[str, Any]] | None:
    """`per_layer_config` by layer number (its keys are numbers as text, with or without leading zeros)."""
    written = text.mapping("per_layer_config")
    if written is None:
        return None
    overrides: dict[int, dict[str, Any]] = {}
    for key, values in written.items():
        if not str(key).isdecimal() or not 0 <= int(key) < count or not isinstance(values, Mapping):
            raise text.refuse(
                "per_layer_config", f"has the entry {str(key)[:20]!r}, not a layer below {count}"
            )
        overrides[int(key)] = {k: v for k, v in values.items() if isinstance(k, str)}
    return overrides


def per_layer(
    text: Fields,
    traits: Traits,
    index: int,
    layer_type: str,
    reused: bool,
    blocks: list[dict[str, int | bool]] | None = None,
    overrides: Mapping[int, Mapping[str, Any]] | None = None,
) -> tuple[tuple[str, Any], ...]:
    """What this layer reads instead of the model-wide values: list entries, overrides, keys of its type."""
    values: dict[str, Any] = {}
    for name in LISTED_PER_LAYER:
        raw = text.raw(name)
        if isinstance(raw, list | tuple) and raw:
            entries = text.integers(name, longer=True)
            if index >= len(entries):
                raise text.refuse(name, f"has {len(entries)} entries, too few for the layers")
            values[name] = entries[index]
    for name, source in traits.type_lists:
        if text.has(source):
            entries = text.integers(source, longer=True)
            if index >= len(entries):
                raise text.refuse(source, f"has {len(entries)} entries, too few for the layers")
            values[name] = entries[index]
    if traits.kv_factor[0] == layer_type:
        values["num_key_value_heads"] = traits.kv_factor[1] * text.integer("num_key_value_heads")
    if traits.nope_layers and not rotary_layers(text, layer_count(text, traits))[index]:
        values["qk_nope_head_dim"] = text.integer("qk_nope_head_dim") + text.integer("qk_rope_head_dim")
        values["qk_rope_head_dim"] = 0
    if index == 0 and traits.first_norms is not None:
        values["_norms"] = traits.first_norms
    if blocks is not None:
        values.update(blocks[index])
    if overrides is None:
        for kind, name, source in traits.type_keys:
            if name == traits.type_keys_if[0] and not text.flag(traits.type_keys_if[1]):
                continue
            if kind == layer_type and text.has(source):
                values[name] = text.raw(source)
    else:
        values.update(overrides.get(index, {}))
    if reused:
        values["_kv_reused"] = True
        if text.flag("use_double_wide_mlp"):
            values["intermediate_size"] = 2 * text.integer("intermediate_size")
    try:
        hash(tuple(values.values()))
    except TypeError:
        raise text.refuse("per_layer_config", f"holds a nested value for layer {index}") from None
    return tuple(values.items())


def block(text: Fields, traits: Traits, layer_type: str, is_sparse: bool) -> Layer:
    """One layer: mixer, MLP, norms and extras."""
    width = text.integer("hidden_size")
    mixer = mixer_part(text, traits, layer_type)
    if traits.single and layer_type not in ("moe", "mlp"):
        mlp, mlp_name = Part(), "none"
    elif is_sparse or layer_type == "moe":
        mlp, mlp_name = MIXTURES[traits.moe](text, traits), "moe"
    elif traits.mlp == "none":
        mlp, mlp_name = Part(), "none"
    else:
        mlp, mlp_name = mlps.DENSE[traits.mlp](text, traits), "dense"
    if text.flag("_no_mlp"):
        mlp, mlp_name = Part(), "none"
    norm_count = text.integer("_norms", default=block_norms(text, traits, layer_type))
    extra = tuple(
        weight
        for name in traits.extras
        if name in LAYER_EXTRAS
        for weight in LAYER_EXTRAS[name](text, traits, layer_type, is_sparse)
    )
    weights = (*norms(width, norm_vectors(text, traits), norm_count), *mixer.weights, *mlp.weights, *extra)
    return Layer(weights, mixer.caches, _mixer_name(layer_type, mixer), mlp_name)


def _mixer_name(layer_type: str, mixer: Part) -> str:
    kinds = [cache.kind.value for cache in mixer.caches]
    if not mixer.weights:
        return "none"
    if "latent" in kinds or "compressed" in kinds:
        return "latent"
    named = {"linear": "state", "hybrid": "state", "hybrid_sliding": "state", "cross": "cross"}
    return named.get(layer_type, layer_type if layer_type in ("sliding", "chunked") else "full")


def mixer_part(text: Fields, traits: Traits, layer_type: str) -> Part:
    """The token mixer of one layer."""
    if layer_type in ("moe", "mlp", "none"):
        return Part()
    if layer_type == "linear":
        return STATES[traits.linear](text, traits, layer_type)
    if layer_type == "cross":
        return mixers.cross_attention(text, traits, layer_type)
    part = ATTENTIONS[traits.attention](text, traits, layer_type)
    if traits.hybrid_state and layer_type in ("hybrid", "hybrid_sliding"):
        state = STATES[traits.linear](text, traits, layer_type)
        return Part(part.weights + state.weights, part.caches + state.caches)
    return part


def block_norms(text: Fields, traits: Traits, layer_type: str) -> int:
    """Norms over the hidden size in one layer."""
    if traits.norms_rule == "falcon":  # one norm feeds both branches, or each branch has its own
        if not text.flag("parallel_attn", True):
            return 2
        wide = text.flag("new_decoder_architecture")
        return text.integer("num_ln_in_parallel_attn", default=2 if wide else 1)
    if traits.norms_rule == "sandwich":
        return 4 if text.flag("use_sandwich_norm") else 2
    if layer_type == "none" or text.flag("_no_mlp"):
        return (layer_type != "none") + (not text.flag("_no_mlp"))
    if traits.norms_rule == "stablelm":
        return 1 if text.flag("use_parallel_residual") else 2
    return traits.block_norms
