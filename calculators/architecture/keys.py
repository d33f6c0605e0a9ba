"""Typed, validated reading of a config.json: one place that knows the spellings, the limits and the refusals.

Every builder asks a `Fields` for a quantity by its canonical name. The value comes from the config under any
known spelling, else from the class default of that `model_type` (what `transformers` would use for a missing
key), else from the caller's own derived default. What is found but cannot be meant (a string where a count
is needed, a negative width, a list of the wrong length) is refused by the name of the field.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from calculators.architecture.class_defaults import CLASS_DEFAULTS, KEY_ALIASES
from calculators.architecture.layout import ConfigRefused

#: Canonical name -> spellings met in published configs, tried in order.
ALIASES: Final[dict[str, tuple[str, ...]]] = {
    "hidden_size": ("hidden_size", "n_embd", "d_model", "n_embed", "dim", "model_dim", "emb_size"),
    "num_hidden_layers": (
        "num_hidden_layers",
        "n_layer",
        "n_layers",
        "num_layers",
        "num_decoder_layers",
        "decoder_layers",
    ),
    "num_attention_heads": (
        "num_attention_heads",
        "n_head",
        "n_heads",
        "num_heads",
        "attention_heads",
        "decoder_attention_heads",
    ),
    "num_key_value_heads": (
        "num_key_value_heads",
        "num_kv_heads",
        "n_head_kv",
        "n_kv_heads",
        "kv_n_heads",
        "multi_query_group_num",
        "num_query_groups",
        "num_attention_groups",
    ),
    "head_dim": ("head_dim", "attention_head_dim", "kv_channels", "d_kv", "attention_head_size", "d_head"),
    "v_head_dim": ("v_head_dim", "value_head_dim"),
    "intermediate_size": (
        "block_ff_dim",
        "intermediate_size",
        "ffn_dim",
        "n_inner",
        "d_ff",
        "ffn_hidden_size",
        "inner_dim",
        "ffn_hidden_dim",
        "decoder_ffn_dim",
        "d_inner",
    ),
    "vocab_size": ("vocab_size", "padded_vocab_size", "n_vocab"),
    "max_position_embeddings": (
        "max_position_embeddings",
        "n_positions",
        "max_seq_len",
        "max_sequence_length",
        "seq_length",
        "n_ctx",
    ),
    "num_experts": (
        "num_experts",
        "num_local_experts",
        "n_routed_experts",
        "moe_num_experts",
        "num_routed_experts",
        "n_experts",
    ),
    "num_experts_per_tok": (
        "num_experts_per_tok",
        "num_experts_per_token",
        "top_k_experts",
        "moe_top_k",
        "moe_topk",
        "moe_k",
        "num_selected_experts",
        "experts_top_k",
        "top_k",
    ),
    "moe_intermediate_size": (
        "moe_intermediate_size",
        "expert_ffn_hidden_size",
        "expert_intermediate_size",
        "moe_ffn_hidden_size",
    ),
    "num_shared_experts": (
        "num_shared_experts",
        "n_shared_experts",
        "moe_num_shared_experts",
        "num_shared_expert",
    ),
    "sliding_window": ("sliding_window", "attention_window_size", "sliding_window_size", "window_size"),
    "tie_word_embeddings": ("tie_embedding", "tie_word_embeddings", "tie_embeddings"),
    "dtype": ("dtype", "torch_dtype"),
    "first_k_dense_replace": ("first_k_dense_replace", "num_dense_layers", "n_dense_layers", "dense_mlp_idx"),
    "linear_conv_kernel_dim": ("linear_conv_kernel_dim", "short_conv_kernel_size"),
}

#: Where the language model of a composite config lives, in the order tried.
TEXT_KEYS: Final = ("text_config", "llm_config", "language_config", "thinker_config", "language_model_config")

#: Keys that some configs give as one entry per layer.
LISTED_PER_LAYER: Final = (
    "intermediate_size",
    "num_attention_heads",
    "num_key_value_heads",
    "num_experts",
    "num_experts_per_tok",
    "num_shared_experts",
    "head_dim",
)

#: Sizes that every config is expected to give: a class default in their place is said openly.
CORE_SIZES: Final = frozenset(
    {
        "hidden_size",
        "num_hidden_layers",
        "num_attention_heads",
        "num_key_value_heads",
        "intermediate_size",
        "vocab_size",
        "num_experts",
        "num_experts_per_tok",
        "moe_intermediate_size",
    }
)

_COUNT_LIMIT: Final = 2**22
#: Largest believable value by field; anything above is a typing error or an attack, and is refused.
LIMITS: Final[dict[str, int]] = {
    "vocab_size": 2**26,
    "num_hidden_layers": 2048,
    "max_position_embeddings": 2**40,
    "sliding_window": 2**40,
    "attention_chunk_size": 2**40,
    "num_experts": 2**16,
}

#: Nested objects that describe no part of the model.
NOT_PARTS: Final = frozenset(
    {
        "quantization_config",
        "compression_config",
        "generation_config",
        "tokenizer_config",
        "mtp_config",
        "loop_config",
        "sparse_attention_config",
        "linear_attn_config",
        "attn_config",
        "ffn_config",
        "per_layer_config",
        "processor_config",
    }
)

MISSING: Final = object()
_TRUE, _FALSE = {"true", "yes", "1"}, {"false", "no", "0", "none", ""}

#: Spelling of a key that may change shapes; used to name keys that nothing here understood.
_STRUCTURAL: Final = re.compile(
    r"(^(num|n|d)_|_(size|dim|rank|heads|layers|experts|ranks|dims|sizes|interval|freq|period|width|groups)$"
    r"|expert|_bias$|^bias$|lora|window|shared|pattern|layer_types|hidden)"
)
#: Keys that look structural and change neither weights nor cache.
_HARMLESS: Final = re.compile(
    r"(token_id|_ids?$|^n_group$|num_expert_group|^topk_group|beam|return|output_|hidden_act|hidden_activation"
    r"|dropout|_eps|hidden_states|num_labels|initializer|qk_head_dim|chunk_size$|^ep_size|sparsity|num_image_tokens|_fn$|overlap|_res_block$"
    r"|routing_bias|use_expert_bias|num_hash|dtype|block_size$|keep_window|time_step|^num_logits|chunk_size_feed_forward"
    r"|_act$|nextn|mtp|max_window_layers|original_max|num_assistant|group_size$|rope|rotary|prob$"
    r"|n_groups_routing|pretraining|sequence|tokens_per|num_frames|coef|lambda|limit|residual|scal|score"
    r"|num_return|d_state_|_loss|n_positions|n_ctx|bias_update|bias_u_|no_repeat|diversity|tie_|interleave"
    r"|layer_norm_epsilon|aux|jitter|softcap|query_pre_attn|window_type|expert_capacity|router_|hidden_dropout"
    r"|attn_pdrop|shared_head|share_|logit|auto_map|hidden_rescale|embd_pdrop|use_cache|sliding_window$)"
)


def has_lm_head(root: Fields, default: bool = True) -> bool:
    """Whether the class that `architectures` names has a language-model head (`...Model` has none)."""
    names = root.words("architectures")
    if not names:
        return default
    name = names[0]
    if re.search(
        r"(LMHead|DoubleHeads|Chat|ChatGLM|MT)Model$|For(CausalLM|ConditionalGeneration|MaskedLM)", name
    ):
        return True
    if name.endswith("Model"):
        return False
    return default if task_outputs(root)[0] == 0 else False


def task_outputs(root: Fields) -> tuple[int, bool]:
    """(outputs, bias) of the task head in place of a decoder's language-model head; (0, False) without."""
    names = root.words("architectures")
    pattern = r"For(SequenceClassification|TokenClassification|QuestionAnswering)$"
    task = re.search(pattern, names[0]) if names else None
    if task is None:
        return 0, False
    if task[1] == "QuestionAnswering":
        return 2, True
    labels = root.mapping("id2label")
    count = len(labels) if labels else root.integer("num_labels", default=2)
    return count, task[1] == "TokenClassification"


class Notes:
    """What the reading assumed, shared by a config and its sub-configs; each sentence once, in order.

    Sizes that class defaults gave are gathered into one sentence for each config and sub-config.
    """

    def __init__(self) -> None:
        self._lines: dict[str, None] = {}
        self._defaults: dict[tuple[str, str], dict[str, object]] = {}

    def add(self, line: str) -> None:
        """Record one assumption."""
        self._lines.setdefault(line)

    def lines(self) -> tuple[str, ...]:
        """All assumptions: sizes taken from class defaults first, then the others in the order made."""
        return (*map(self._default_line, self._defaults.items()), *self._lines)

    def take_default(self, path: str, model_type: str, name: str, value: object) -> None:
        """Record that the class of `model_type` gave a size the config leaves out."""
        self._defaults.setdefault((path, model_type), {}).setdefault(name, value)

    @staticmethod
    def _default_line(row: tuple[tuple[str, str], dict[str, object]]) -> str:
        (path, model_type), values = row
        names = ", ".join(path + name for name in values)
        taken = ", ".join(str(value) for value in values.values())
        verb, noun = ("is", "default") if len(values) == 1 else ("are", "defaults")
        return f"{names} {verb} not given: {taken}, the class {noun} of {model_type}"


class Fields:
    """A config (or sub-config, or one layer's view of it) with defaults, spellings and validation.

    `path` prefixes the field name in messages ("text_config."). `known` says whether the class defaults of
    this `model_type` are in the table; if not, missing keys that decide something are listed as assumptions.
    """

    __slots__ = ("_data", "_used", "defaults", "known", "model_type", "notes", "path")

    def __init__(
        self,
        data: Mapping[str, Any],
        model_type: str,
        *,
        path: str = "",
        notes: Notes | None = None,
        extra_defaults: Mapping[str, Any] | None = None,
        used: set[str] | None = None,
    ):
        self._data = data
        self.model_type = model_type
        self.path = path
        self.notes = notes if notes is not None else Notes()
        self.known = model_type in CLASS_DEFAULTS
        self.defaults: Mapping[str, Any] = CLASS_DEFAULTS.get(model_type, {})
        if extra_defaults:
            self.defaults = {**self.defaults, **extra_defaults}
        self._used: set[str] = used if used is not None else set()

    @classmethod
    def root(cls, config: object) -> Fields:
        """The whole config. Raises ConfigRefused when it is no mapping with string keys."""
        if not isinstance(config, Mapping):
            raise ConfigRefused("config", f"must be a JSON object, not {_kind(config)}")
        if not config:
            raise ConfigRefused("config", "is empty")
        for key in config:
            if not isinstance(key, str):
                raise ConfigRefused("config", f"has a key that is not text: {_show(key)}")
        model_type = config.get("model_type")
        if model_type is not None and not isinstance(model_type, str):
            raise ConfigRefused("model_type", f"must be text, not {_kind(model_type)}")
        return cls(config, model_type or "")

    def replaced(self, **values: object) -> Fields:
        """The same fields with some values put in (derived quantities, one layer's overrides)."""
        view = Fields.__new__(Fields)
        view._data = {**self._data, **values}
        for name in ("model_type", "path", "notes", "known", "defaults", "_used"):
            setattr(view, name, getattr(self, name))
        return view

    def retyped(self, model_type: str, extra_defaults: Mapping[str, Any] | None = None) -> Fields:
        """The same fields read with the class defaults of another model_type."""
        return Fields(
            self._data,
            model_type,
            path=self.path,
            notes=self.notes,
            used=self._used,
            extra_defaults=extra_defaults,
        )

    # ---- look-up ----------

    def _find(self, name: str) -> tuple[Any, str]:
        """(value, key it came from); (None, name) if absent; an explicit null hides the class default."""
        spellings = ALIASES.get(name, (name,))
        null = False
        self._used.update(spellings)
        for key in spellings:
            if key in self._data:
                value = self._data[key]
                if value is not None:
                    return value, key
                null = True
        if not null:
            secondary = KEY_ALIASES.get(self.model_type, {})
            for key in spellings:
                value = self.defaults.get(key)
                if value is not None and secondary.get(key) not in self.defaults:
                    return value, key
        return None, name

    def raw(self, name: str) -> Any:
        """The value as written, or None."""
        return self._find(name)[0]

    def spelling(self, name: str) -> str:
        """The key that gives the value, as the config spells it."""
        return self._find(name)[1]

    def has(self, name: str) -> bool:
        """Whether the config or its class defaults give a value that is not null."""
        return self._find(name)[0] is not None

    def explicit(self, name: str) -> bool:
        """Whether the config itself holds the key (even as null)."""
        return any(key in self._data for key in ALIASES.get(name, (name,)))

    @property
    def data(self) -> Mapping[str, Any]:
        """The config as written."""
        return self._data

    def refuse(self, name: str, reason: str) -> ConfigRefused:
        """The refusal of this field, to be raised."""
        return ConfigRefused(self.path + name, reason)

    def assume(self, line: str) -> None:
        """Record an assumption that a reader of the result must see."""
        self.notes.add(line)

    # ---- typed values ----------

    def integer(self, name: str, default: Any = MISSING, *, low: int = 1, high: int | None = None) -> int:
        """A count or width, `low <= value <= high`. Raises ConfigRefused when missing without default."""
        value, key = self._find(name)
        if value is None:
            if default is MISSING:
                raise self.refuse(key, "is missing, and nothing can stand in for it")
            return default
        if name in CORE_SIZES and key not in self._data:
            self.notes.take_default(self.path, self.model_type, key, value)
        return self._count(value, key, low, LIMITS.get(name, _COUNT_LIMIT) if high is None else high)

    def _count(self, value: object, key: str, low: int, high: int) -> int:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.refuse(key, f"must be a whole number, not {_kind(value)} {_show(value)}")
        if isinstance(value, float):
            if not math.isfinite(value) or value != int(value):
                raise self.refuse(key, f"must be a whole number, not {_show(value)}")
            value = int(value)
        if not low <= value <= high:
            raise self.refuse(key, f"must lie between {low} and {high}, not {_show(value)}")
        return value

    def number(
        self, name: str, default: float | None = None, *, low: float = 0.0, high: float = 1e9
    ) -> float:
        """A finite real number in [low, high]."""
        value, key = self._find(name)
        if value is None:
            if default is None:
                raise self.refuse(key, "is missing, and nothing can stand in for it")
            return default
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.refuse(key, f"must be a number, not {_kind(value)} {_show(value)}")
        if not low <= value <= high:  # also refuses NaN
            raise self.refuse(key, f"must lie between {low:g} and {high:g}, not {_show(value)}")
        return float(value)

    def flag(self, name: str, default: bool = False) -> bool:
        """A yes/no. Numbers 0 and 1 and the words true and false are understood."""
        value, key = self._find(name)
        if value is None:
            return default
        if isinstance(value, bool):
            return value
        if isinstance(value, int) and value in (0, 1):
            return bool(value)
        if isinstance(value, str) and value.strip().lower() in _TRUE | _FALSE:
            answer = value.strip().lower() in _TRUE
            self.assume(f"{self.path}{key} is the text {value!r}, read as {str(answer).lower()}")
            return answer
        raise self.refuse(key, f"must be true or false, not {_kind(value)} {_show(value)}")

    def word(self, name: str, default: str = "") -> str:
        """A text value."""
        value, key = self._find(name)
        if value is None:
            return default
        if not isinstance(value, str):
            raise self.refuse(key, f"must be text, not {_kind(value)} {_show(value)}")
        return value

    def _sequence(self, name: str, length: int | None, longer: bool) -> tuple[Sequence[Any], str] | None:
        value, key = self._find(name)
        if value is None:
            return None
        if isinstance(value, str) or not isinstance(value, Sequence):
            raise self.refuse(key, f"must be a list, not {_kind(value)} {_show(value)}")
        if len(value) > 2 * LIMITS["num_hidden_layers"]:
            raise self.refuse(key, f"has {len(value)} entries, more than any model has layers")
        if length is not None and (len(value) < length or (len(value) > length and not longer)):
            raise self.refuse(key, f"has {len(value)} entries for {length} layers")
        return value, key

    def integers(
        self,
        name: str,
        length: int | None = None,
        default: tuple[int, ...] = (),
        *,
        low: int = 0,
        high: int = _COUNT_LIMIT,
        longer: bool = False,
    ) -> tuple[int, ...]:
        """A list of counts; `longer` allows more entries than `length` (only the first are used)."""
        found = self._sequence(name, length, longer)
        if found is None:
            return default
        values, key = found
        counts = [int(v) if isinstance(v, bool) else self._count(v, key, low, high) for v in values]
        return tuple(counts if length is None else counts[:length])

    def words(
        self, name: str, length: int | None = None, default: tuple[str, ...] = (), *, longer: bool = False
    ) -> tuple[str, ...]:
        """A list of texts."""
        found = self._sequence(name, length, longer)
        if found is None:
            return default
        values, key = found
        for value in values:
            if not isinstance(value, str):
                raise self.refuse(key, f"must be a list of texts, but holds {_show(value)}")
        return tuple(values if length is None else values[:length])

    def mapping(self, name: str) -> Mapping[str, Any] | None:
        """A nested object as written, or None."""
        value, key = self._find(name)
        if value is None:
            return None
        if not isinstance(value, Mapping):
            raise self.refuse(key, f"must be an object, not {_kind(value)} {_show(value)}")
        return value

    def sub(self, name: str, model_type: str | None = None) -> Fields | None:
        """A nested config as Fields, or None when there is none (neither written nor by class default)."""
        written = self._data.get(name)
        self._used.add(name)
        default = self.defaults.get(name)
        default = default if isinstance(default, Mapping) else {}
        extra: dict[str, Any] = {}
        if written is None:
            if not default or default.get("optional"):
                return None
            written = {}
        if self._data.get(name) is None or default.get("merged"):  # else the composite's values do not apply
            words = ("model_type", "optional", "fixed", "merged")
            extra = {k: v for k, v in default.items() if k not in words}
        if not isinstance(written, Mapping):
            raise self.refuse(name, f"must be an object, not {_kind(written)} {_show(written)}")
        for key in written:
            if not isinstance(key, str):
                raise self.refuse(name, f"has a key that is not text: {_show(key)}")
        own = written.get("model_type")
        if own is not None and not isinstance(own, str):
            raise self.refuse(f"{name}.model_type", f"must be text, not {_kind(own)}")
        chosen = own or model_type or default.get("model_type") or ""
        if default.get("fixed"):  # the composite uses its own class whatever the sub-config calls itself
            chosen = default["model_type"]
        return Fields(written, chosen, path=f"{self.path}{name}.", notes=self.notes, extra_defaults=extra)

    # ---- what nobody asked for ----------

    def touch(self, *names: str) -> None:
        """Mark keys as understood."""
        for name in names:
            self._used.update(ALIASES.get(name, (name,)))

    def unread_parts(self) -> tuple[str, ...]:
        """Nested configs, written or by class default, that nothing asked for."""
        parts = {
            key: value
            for source in (self.defaults, self._data)
            for key, value in source.items()
            if key.endswith("_config") and key not in NOT_PARTS
        }
        return tuple(
            key
            for key, value in parts.items()
            if isinstance(value, Mapping) and value and key not in self._used
        )

    def unread(self) -> tuple[str, ...]:
        """Written keys that look structural and that nothing asked for."""
        found = []
        for key, value in self._data.items():
            if (
                key in self._used
                or key.startswith("_")
                or value is None
                or value is False
                or value == 0
                or value == []
            ):
                continue
            if isinstance(value, float) and value != int(value if math.isfinite(value) else 0):
                continue
            if _STRUCTURAL.search(key) and not _HARMLESS.search(key):
                found.append(key)
        return tuple(found)


def _kind(value: object) -> str:
    names = {
        bool: "true/false",
        int: "number",
        float: "number",
        str: "text",
        list: "a list",
        dict: "an object",
    }
    return "null" if value is None else names.get(type(value), type(value).__name__)


def _show(value: object) -> str:
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # integers of thousands of digits, nesting without end
        return "(too large to show)"
    return text if len(text) <= 40 else text[:37] + "..."
