"""Which kind of mixer and which kind of MLP each layer has: the many spellings of one list."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from calculators.architecture.keys import Fields
from calculators.architecture.traits import Flag, Traits

#: Spellings of layer types in configs -> the names used here.
TYPE_NAMES: Final[dict[str, str]] = {
    "full_attention": "full",
    "attention": "full",
    "full": "full",
    "global": "full",
    "global_attention": "full",
    "*": "full",
    "sliding_attention": "sliding",
    "reference_sliding_attention": "full",  # the prompt is kept whole
    "sliding_window_attention": "sliding",
    "sliding": "sliding",
    "local": "sliding",
    "local_attention": "sliding",
    "chunked_attention": "chunked",
    "linear_attention": "linear",
    "linear": "linear",
    "mamba": "linear",
    "mamba2": "linear",
    "recurrent": "linear",
    "conv": "linear",
    "short_conv": "linear",
    "hybrid": "hybrid",
    "hybrid_sliding": "hybrid_sliding",
    "indexed_attention": "indexed",
    "deepseek_sparse_attention": "indexed",
    "qwen_sparse_attention": "indexed",
    "minimax_m3_sparse": "block_sparse",
    "compressed_sparse_attention": "csa",
    "heavily_compressed_attention": "hca",
    "moe": "moe",
    "mlp": "mlp",
    "-": "mlp",
    "E": "moe",
    "M": "linear",
}


def flag(fields: Fields, value: Flag, default: bool = False) -> bool:
    """A trait's yes/no: fixed, or what the config key says ("!key" negates, "a|b" takes the first given)."""
    if isinstance(value, bool):
        return value
    if "&" in value:
        return all(flag(fields, part, default) for part in value.split("&"))
    if value.startswith("!"):
        return not fields.flag(value[1:], default)
    for key in value.split("|"):
        if fields.has(key):
            return fields.flag(key)
    return default


def layer_count(fields: Fields, traits: Traits) -> int:
    """Number of layers: `num_hidden_layers`, or the length of a per-layer list that stands for it."""
    for key in ("layers_block_type", "hybrid_override_pattern"):
        if fields.explicit(key) and not fields.has("layer_types"):
            value = fields.raw(key)
            if isinstance(value, str | list | tuple) and value:
                return len(value)
    if traits.single:
        written = fields.raw("layer_types") or fields.raw("layers_block_type")
        written = written or fields.raw("hybrid_override_pattern")
        if not written:
            return 4  # the class default
        if isinstance(written, str | list | tuple):
            return len(written)
    if traits.layers_key and fields.has(traits.layers_key):
        return fields.integer(traits.layers_key, high=2048)
    if traits.stacks > 1 and fields.has("num_layers_per_stack"):
        return traits.stacks * fields.integer("num_layers_per_stack")
    count = fields.integer("num_hidden_layers", low=1) * traits.stacks
    if _pairs(fields, traits):
        return count // 2
    return count


#: Keys that only say how the layer types follow each other; a written list of types makes them idle.
ORDER_KEYS: Final = (
    "attention_layers",
    "attention_types",
    "attn_layer_offset",
    "attn_layer_period",
    "full_attention_interval",
    "full_attn_idxs",
    "global_attn_every_n_layers",
    "hybrid_override_pattern",
    "layer_types",
    "layers_block_type",
    "max_window_layers",
    "n_recurrent_layers",
    "no_rope_layer_interval",
    "no_rope_layers",
    "num_hidden_layers",
    "prefix_dense_sliding_window_pattern",
    "sliding_window_pattern",
    "window_size",
)


def mixer_types(fields: Fields, traits: Traits, layers: int) -> tuple[str, ...]:
    """The layer type of every layer: an explicit list if there is one, else the family's rule."""
    written = _written_types(fields, traits, layers)
    types = written or ORDERS[traits.order](fields, layers)
    _note_idle_window(fields, types)
    if traits.index:
        types = _indexer_owners(fields, traits, types, layers)
    fields.touch(*ORDER_KEYS)
    return types


def _note_idle_window(fields: Fields, types: tuple[str, ...]) -> None:
    if not fields.explicit("sliding_window") or not fields.flag("use_sliding_window", True):
        return
    window = fields.integer("sliding_window", default=0, low=0)
    idle = not any("sliding" in kind or kind in ("csa", "hca") for kind in types)
    if idle and 0 < window < fields.integer("max_position_embeddings", default=2**40):
        fields.assume(
            f"{fields.path}sliding_window {window} is written, but no layer of this family is known to "
            "use it: the full cache is counted"
        )


def _written_types(fields: Fields, traits: Traits, layers: int) -> tuple[str, ...]:
    for key in ("layer_types", "layers_block_type", "attn_type_list", "hybrid_override_pattern"):
        raw = fields.raw(key)
        if raw is None:
            continue
        if isinstance(raw, str):
            names: tuple[str, ...] = tuple(raw)
            if len(names) != layers:
                raise fields.refuse(key, f"has {len(names)} entries for {layers} layers")
        elif key == "attn_type_list":  # MiniMax: 1 is softmax attention, 0 lightning attention
            names = tuple("full" if v else "linear" for v in fields.integers(key, layers, longer=True))
        else:
            if traits.paired and "mlp" in fields.words(key):
                return tuple(TYPE_NAMES.get(name, "full") for name in fields.words(key, 2 * layers)[::2])
            names = fields.words(key, layers, longer=True)
        for name in names:
            if name not in TYPE_NAMES and name not in TYPE_NAMES.values():
                raise fields.refuse(key, f"holds the unknown layer type {name!r}")
        return tuple(TYPE_NAMES.get(name, name) for name in names)
    return ()


# ---- orders of layer types when the config has no list ----------


def _every(period: int, special: str, rest: str, layers: int, phase: int = 1) -> tuple[str, ...]:
    return tuple(special if (i + phase) % period == 0 else rest for i in range(layers))


def _window(fields: Fields) -> int:
    return fields.integer("sliding_window", default=0, low=0)


def _sliding_all(fields: Fields, layers: int) -> tuple[str, ...]:
    window, context = _window(fields), fields.integer("max_position_embeddings", default=0)
    if window and context and window >= context:  # a window no shorter than the context changes nothing
        return ("full",) * layers
    return ("sliding" if window else "full",) * layers


def _sliding_if_used(fields: Fields, layers: int) -> tuple[str, ...]:
    return ("sliding" if fields.flag("use_sliding_window") and _window(fields) else "full",) * layers


def _qwen(fields: Fields, layers: int) -> tuple[str, ...]:
    return _window_from(fields, layers, fields.flag("use_sliding_window", not fields.known))


def _window_from(fields: Fields, layers: int, used: bool = True) -> tuple[str, ...]:
    if not (used and _window(fields)):
        return ("full",) * layers
    first = fields.integer("max_window_layers", default=0, low=0)
    return tuple("sliding" if i >= first else "full" for i in range(layers))


def _pattern(fields: Fields, layers: int) -> tuple[str, ...]:
    for key in ("sliding_window_pattern", "global_attn_every_n_layers"):
        if fields.has(key):
            return _every(fields.integer(key), "full", "sliding", layers)
    return ("full",) * layers


def _pattern_if_window(fields: Fields, layers: int) -> tuple[str, ...]:
    if not _window(fields):
        return ("full",) * layers
    raw = fields.raw("sliding_window_pattern")
    if isinstance(raw, str):  # EXAONE writes "LLLG"
        if not raw or len(raw) > layers:
            raise fields.refuse("sliding_window_pattern", f"has {len(raw)} letters for {layers} layers")
        return tuple("full" if raw[i % len(raw)] == "G" else "sliding" for i in range(layers))
    return _pattern(fields, layers)


def _pattern_last_full(fields: Fields, layers: int) -> tuple[str, ...]:
    return (*_every(6, "full", "sliding", layers)[:-1], "full")


def _interval(fields: Fields, layers: int) -> tuple[str, ...]:
    return _every(fields.integer("full_attention_interval", default=4), "full", "linear", layers)


def rotary_layers(fields: Fields, layers: int) -> tuple[int, ...]:
    """1 for layers with rotary positions, 0 for those without."""
    if fields.raw("no_rope_layers"):
        return fields.integers("no_rope_layers", layers)
    step = fields.integer("no_rope_layer_interval", default=4)
    return tuple(int((i + 1) % step != 0) for i in range(layers))


def _chunked(fields: Fields, layers: int) -> tuple[str, ...]:
    rope = rotary_layers(fields, layers)
    chunk = fields.has("attention_chunk_size")
    return tuple("chunked" if r and chunk else "full" for r in rope)


def _period(fields: Fields, layers: int) -> tuple[str, ...]:
    period = fields.integer("attn_layer_period", default=8)
    offset = fields.integer("attn_layer_offset", default=4, low=0)
    return tuple("full" if i % period == offset else "linear" for i in range(layers))


def _attention_indices(fields: Fields, layers: int) -> tuple[str, ...]:
    chosen = set(fields.integers("attn_layer_indices"))
    return tuple("full" if i in chosen else "linear" for i in range(layers))


def _full_indices(fields: Fields, layers: int) -> tuple[str, ...]:
    if not fields.has("full_attn_idxs"):
        return ("full",) * layers
    chosen = set(fields.integers("full_attn_idxs"))
    return tuple("full" if i in chosen else "linear" for i in range(layers))


def _kimi(fields: Fields, layers: int) -> tuple[str, ...]:
    nested = fields.mapping("linear_attn_config")
    if nested is not None:
        inner = Fields(nested, "", path=fields.path + "linear_attn_config.", notes=fields.notes)
        if inner.has("full_attn_layers"):
            chosen = set(inner.integers("full_attn_layers"))
            return tuple("full" if i + 1 in chosen else "linear" for i in range(layers))
        if inner.has("kda_layers"):
            chosen = set(inner.integers("kda_layers"))
            return tuple("linear" if i + 1 in chosen else "full" for i in range(layers))
    return tuple("full" if i and i % 4 == 0 else "linear" for i in range(layers))


def _block_types(fields: Fields, layers: int) -> tuple[str, ...]:
    pattern = fields.words("block_types", default=("recurrent", "recurrent", "attention"))
    if not pattern:
        raise fields.refuse("block_types", "is empty")
    for name in pattern:
        if name not in TYPE_NAMES:
            raise fields.refuse("block_types", f"holds the unknown layer type {name!r}")
    names = [TYPE_NAMES[p] for p in pattern]
    return tuple("sliding" if names[i % len(names)] == "full" else "linear" for i in range(layers))


def _mimo(fields: Fields, layers: int) -> tuple[str, ...]:
    if fields.has("hybrid_layer_pattern"):  # 1 marks a sliding layer
        return tuple(
            "sliding" if v else "full" for v in fields.integers("hybrid_layer_pattern", layers, longer=True)
        )
    return tuple("full" if i == 0 or (i + 1) % 6 == 0 else "sliding" for i in range(layers))


def _compressed(fields: Fields, layers: int) -> tuple[str, ...]:
    ratios = fields.integers("compress_ratios", layers, longer=True)
    if ratios:
        return tuple("sliding" if r <= 1 else "csa" if r <= 16 else "hca" for r in ratios)
    return tuple("hca" if i < 2 or i % 2 == 0 else "csa" for i in range(layers))


def _minimax_m3(fields: Fields, layers: int) -> tuple[str, ...]:
    nested = fields.mapping("sparse_attention_config")
    if nested is not None:
        inner = Fields(nested, "", path=fields.path + "sparse_attention_config.", notes=fields.notes)
        marks = inner.integers("sparse_attention_freq", layers, longer=True)
        if marks:
            return tuple("block_sparse" if m else "full" for m in marks)
    return ("full",) * layers


def _cross(fields: Fields, layers: int) -> tuple[str, ...]:
    chosen = set(fields.integers("cross_attention_layers", default=(3, 8, 13, 18, 23, 28, 33, 38)))
    return tuple("cross" if i in chosen else "full" for i in range(layers))


def _flint(fields: Fields, layers: int) -> tuple[str, ...]:
    return tuple("full" if i < 2 or i % 4 == 1 or i == layers - 1 else "sliding" for i in range(layers))


def _layer_group(fields: Fields, layers: int) -> tuple[str, ...]:
    return _every(fields.integer("layer_group_size"), "full", "linear", layers)


def _olmo_hybrid(fields: Fields, layers: int) -> tuple[str, ...]:
    types = _every(4, "full", "linear", layers)
    return types if "full" in types else (*types[:-1], "full")


def _backward_four(fields: Fields, layers: int) -> tuple[str, ...]:
    return tuple("full" if (layers - 1 - i) % 4 == 0 else "sliding" for i in range(layers))


def _kda_three(fields: Fields, layers: int) -> tuple[str, ...]:
    return _every(4, "indexed", "linear", layers)


def _dots3(fields: Fields, layers: int) -> tuple[str, ...]:
    own = "full" if fields.explicit("use_dsa") and not fields.flag("use_dsa") else "indexed"
    slides = fields.flag("use_sliding_window", True)
    return tuple(own if not slides or i < 2 or i % 4 == 1 else "sliding" for i in range(layers))


def _lara(fields: Fields, layers: int) -> tuple[str, ...]:
    pattern = ("linear", "sliding", "linear", "full", "sliding")
    return tuple(pattern[i % 5] for i in range(layers))


def _lfm3(fields: Fields, layers: int) -> tuple[str, ...]:
    return tuple(
        "full" if i % 4 == 2 else "sliding" if i % 4 == 0 and i > 0 else "linear" for i in range(layers)
    )


def _zamba(fields: Fields, layers: int) -> tuple[str, ...]:
    period = fields.integer("attn_layer_period", default=6)
    offset = fields.integer("attn_layer_offset", default=4, low=0)
    later = tuple("hybrid" if i % period == offset else "linear" for i in range(layers - 3))
    return ("linear", "linear", "hybrid")[:layers] + later


def _zamba2(fields: Fields, layers: int) -> tuple[str, ...]:
    order = "m" + "mmmmmh" * 7 + "mmmm" + "h" + "mmm" + "h" + "mm"
    if layers != len(order):
        raise fields.refuse(
            "layers_block_type", f"is missing, and the class default is for {len(order)} layers"
        )
    return tuple("hybrid" if letter == "h" else "linear" for letter in order)


def _first_of_three(fields: Fields, layers: int) -> tuple[str, ...]:
    return _every(fields.integer("global_attn_every_n_layers", default=3), "full", "sliding", layers, phase=0)


def _inkling(fields: Fields, layers: int) -> tuple[str, ...]:
    if fields.has("local_layer_ids"):
        local = set(fields.integers("local_layer_ids"))
        return tuple("hybrid_sliding" if i in local else "hybrid" for i in range(layers))
    return _every(6, "hybrid", "hybrid_sliding", layers)


def _nas(fields: Fields, layers: int) -> tuple[str, ...]:
    return tuple(
        "none" if values.get("_no_attention") else "full" for values in searched_blocks(fields, layers)
    )


def searched_blocks(fields: Fields, layers: int) -> list[dict[str, int | bool]]:
    """Nemotron-NAS: what each of the `block_configs` changes. FFN widths round up to 256 (DeciLM)."""
    found = fields.raw("block_configs")
    if not isinstance(found, list) or len(found) != layers:
        raise fields.refuse("block_configs", f"must be a list with one entry for each of the {layers} layers")
    width = fields.integer("hidden_size")
    blocks: list[dict[str, int | bool]] = []
    for i, entry in enumerate(found):
        path = f"{fields.path}block_configs[{i}]."
        if not isinstance(entry, Mapping):
            raise fields.refuse(f"block_configs[{i}]", "must be an object")
        outer = Fields(entry, "", path=path, notes=fields.notes)
        attention = Fields(outer.mapping("attention") or {}, "", path=path + "attention.", notes=fields.notes)
        ffn = Fields(outer.mapping("ffn") or {}, "", path=path + "ffn.", notes=fields.notes)
        values: dict[str, int | bool] = {}
        if attention.flag("no_op"):
            values["_no_attention"] = True
        elif attention.flag("replace_with_linear"):
            raise attention.refuse("replace_with_linear", "is not modelled")
        else:
            group = attention.integer("n_heads_in_group", default=1)
            values["num_key_value_heads"] = max(fields.integer("num_attention_heads") // group, 1)
        if ffn.flag("no_op"):
            values["_no_mlp"] = True
        elif ffn.flag("replace_with_linear"):
            raise ffn.refuse("replace_with_linear", "is not modelled")
        else:
            values["intermediate_size"] = 256 * -(-int(2 * ffn.number("ffn_mult") * width / 3) // 256)
        blocks.append(values)
    return blocks


def hybrid_layers(types: tuple[str, ...]) -> int:
    """How many layers call a shared transformer block."""
    return sum(kind == "hybrid" for kind in types)


ORDERS: Final[dict[str, Callable[[Fields, int], tuple[str, ...]]]] = {
    "full": lambda fields, layers: ("full",) * layers,
    "linear": lambda fields, layers: ("linear",) * layers,
    "hybrid": lambda fields, layers: ("hybrid",) * layers,
    "indexed": lambda fields, layers: ("indexed",) * layers,
    "alternate": lambda fields, layers: _every(2, "full", "sliding", layers),
    "lightning": lambda fields, layers: _every(2, "linear", "full", layers),
    "every_fifth": lambda fields, layers: _every(5, "full", "sliding", layers),
    "pattern_four": lambda fields, layers: _every(4, "full", "sliding", layers),
    "backward_four": _backward_four,
    "cross": _cross,
    "inkling": _inkling,
    "first_of_three": _first_of_three,
    "lara": _lara,
    "lfm3": _lfm3,
    "zamba": _zamba,
    "zamba2": _zamba2,
    "dots3": _dots3,
    "kda_three": _kda_three,
    "flint": _flint,
    "layer_group": _layer_group,
    "nas": _nas,
    "olmo_hybrid": _olmo_hybrid,
    "first_of_four": lambda fields, layers: _every(4, "full", "sliding", layers, phase=0),
    "nemotron_h": lambda fields, layers: ("linear", "moe", "full", "mlp")[:layers],
    "attention_indices": _attention_indices,
    "block_types": _block_types,
    "chunked": _chunked,
    "compressed": _compressed,
    "full_indices": _full_indices,
    "interval": _interval,
    "kimi": _kimi,
    "mimo": _mimo,
    "minimax_m3": _minimax_m3,
    "pattern": _pattern,
    "pattern_if_window": _pattern_if_window,
    "pattern_last_full": _pattern_last_full,
    "period": _period,
    "qwen": _qwen,
    "qwen_always": _window_from,
    "sliding_all": _sliding_all,
    "sliding_if_used": _sliding_if_used,
}


def layer_passes(fields: Fields, traits: Traits, layers: int) -> tuple[int, ...]:
    """How often each layer runs for one token: looped layers keep one cache for each run."""
    if traits.passes == "loop":
        first = fields.integer("n_input_layers", low=0) // (2 if _pairs(fields, traits) else 1)
        last = layers - fields.integer("n_output_layers", low=0) // (2 if _pairs(fields, traits) else 1)
        loops = fields.integer("n_recurrent_loops", default=1)
        return tuple(loops if first <= i < last else 1 for i in range(layers))
    if traits.passes == "loop_range":
        nested = fields.mapping("loop_config") or {}
        inner = Fields(nested, "", path=fields.path + "loop_config.", notes=fields.notes)
        first = inner.integer("core_start", default=fields.integer("loop_layer_index_start"), low=0)
        last = inner.integer("core_end", default=fields.integer("loop_layer_index_end"), low=0)
        loops = inner.integer("num_passes", default=fields.integer("loop_num_passes", default=1))
        return tuple(loops if first <= i < last else 1 for i in range(layers))
    if traits.passes == "cycles":  # a slow stack and a fast one that runs more often
        slow = fields.integer("H_cycles", default=1)
        fast = slow * fields.integer("L_cycles", default=1)
        return tuple(slow if i < layers // 2 else fast for i in range(layers))
    return (1,) * layers


def _pairs(fields: Fields, traits: Traits) -> bool:
    return traits.paired and "mlp" in fields.words("layer_types")


def _indexer_owners(fields: Fields, traits: Traits, types: tuple[str, ...], layers: int) -> tuple[str, ...]:
    """Layers that share an earlier layer's indexer keep no index keys: they become plain latent layers."""
    if fields.has("indexer_types"):
        owners = tuple(name == "full" for name in fields.words("indexer_types", layers, longer=True))
    elif fields.has("index_topk_pattern"):
        pattern = fields.raw("index_topk_pattern")
        if not isinstance(pattern, str | list) or len(pattern) < layers:
            raise fields.refuse("index_topk_pattern", f"must have one entry for each of the {layers} layers")
        owners = tuple(entry in ("F", "full") for entry in pattern[:layers])
    elif traits.index_every:
        owners = tuple(i == 0 or (i - 1) % traits.index_every == 0 for i in range(layers))
    else:
        step = max(fields.integer("index_topk_freq", default=1, low=0), 1)
        skip = fields.integer("index_skip_topk_offset", default=2, low=0)
        owners = tuple(max(i - skip + 1, 0) % step == 0 for i in range(layers))
    return tuple(
        "full" if kind == "indexed" and not owner else kind for kind, owner in zip(types, owners, strict=True)
    )


def kv_reused(fields: Fields, traits: Traits, layers: int) -> tuple[bool, ...]:
    """Which layers read an earlier layer's keys and values and cache none (Gemma 3n, Gemma 4)."""
    if traits.shared_sources and fields.has("kv_source_layers"):
        sources = fields.integers("kv_source_layers", layers, longer=True)
        return tuple(source != i for i, source in enumerate(sources))
    shared = fields.integer("num_kv_shared_layers", default=0, low=0)
    if shared > layers:
        raise fields.refuse("num_kv_shared_layers", f"is {shared}, more than the {layers} layers")
    return tuple(i >= layers - shared for i in range(layers))


# ---- which layers hold a mixture of experts ----------


def sparse_layers(fields: Fields, traits: Traits, layers: int) -> tuple[bool, ...]:
    """Whether each layer's MLP is a mixture of experts, by whichever of the keys below the config uses."""
    if traits.sparse == "never" or fields.integer("num_experts", default=0, low=0) < 1:
        return (False,) * layers
    listed = fields.words("mlp_layer_types", layers, longer=True)
    if listed:
        return tuple(name not in ("dense", "mlp") for name in listed)
    if fields.has("moe_layers_enum"):  # Step: a comma-separated text or a list
        written = fields.raw("moe_layers_enum")
        numbers = written.split(",") if isinstance(written, str) else fields.integers("moe_layers_enum")
        if not all(str(number).strip().isdecimal() for number in numbers):
            raise fields.refuse("moe_layers_enum", "must hold layer numbers")
        chosen = {int(number) for number in numbers}
        return tuple(i in chosen for i in range(layers))
    if fields.has("moe_layers"):
        chosen = set(fields.integers("moe_layers"))
        return tuple(i in chosen for i in range(layers))
    first = {"after_first": 1, "after_three": 3}.get(traits.sparse, 0)
    marks = [i >= first for i in range(layers)]
    if isinstance(fields.raw("moe_layer_freq"), list | tuple):
        marks = [bool(m) for m in fields.integers("moe_layer_freq", layers, longer=True)]
    elif fields.has("moe_layer_freq") and traits.sparse == "frequency":
        step = fields.integer("moe_layer_freq")
        marks = [i % step == 0 for i in range(layers)]
    if fields.has("decoder_sparse_step"):
        step = fields.integer("decoder_sparse_step", low=0)
        marks = [m and step > 0 and (i + 1) % step == 0 for i, m in enumerate(marks)]
    if fields.has("mlp_only_layers"):
        dense = set(fields.integers("mlp_only_layers"))
        marks = [m and i not in dense for i, m in enumerate(marks)]
    if fields.has("interleave_moe_layer_step"):
        step = fields.integer("interleave_moe_layer_step")
        marks = [m and (i + 1) % step == 0 for i, m in enumerate(marks)]
    if fields.has("expert_layer_period"):
        period = fields.integer("expert_layer_period")
        offset = fields.integer("expert_layer_offset", default=0, low=0)
        marks = [m and i % period == offset for i, m in enumerate(marks)]
    if fields.has("moe_layer_interval"):
        step = fields.integer("moe_layer_interval")
        first = fields.integer("moe_layer_start_index", default=0, low=0)
        last = fields.integer("moe_layer_end_index", default=-1, low=-1)
        last = layers - 1 if last == -1 else last
        marks = [m and (i + 1) % step == 0 and first <= i <= last for i, m in enumerate(marks)]
    if fields.has("first_k_dense_replace"):
        first = fields.integer("first_k_dense_replace", low=0)
        marks = [m and i >= first for i, m in enumerate(marks)]
    return tuple(marks)
