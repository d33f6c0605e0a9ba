"""A stand-in architecture for a model of which only the size is known."""

from __future__ import annotations

from functools import lru_cache

from calculators.architecture import read_config
from calculators.architecture.layout import Architecture

_HEAD_DIM = 128
_LAYERS_PER_WIDTH = 128  # hidden size / layers of published dense models, GPT-3 to Llama 3: 85 to 160


@lru_cache(maxsize=256)
def generic_architecture(params: float, vocab_size: int = 128256) -> Architecture:
    """A Llama-like dense model of about `params` parameters: hidden = 128 x layers, MLP of 3.5 x hidden.

    Shape of Llama 3 (Grattafiori et al. 2024, table 3): grouped heads of 128, gated MLP, untied head.
    Raises ValueError below one million parameters.
    """
    if not params >= 1e6:
        raise ValueError(f"params: {params:g} parameters are too few for a language model")
    best = min(range(2, 200), key=lambda n: abs(_count(n, vocab_size) - params))
    return read_config(_config(best, vocab_size))


def _config(layers: int, vocab_size: int) -> dict[str, object]:
    hidden = layers * _LAYERS_PER_WIDTH
    heads = max(hidden // _HEAD_DIM, 1)
    return {
        "model_type": "llama",
        "architectures": ["LlamaForCausalLM"],
        "hidden_size": hidden,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": max(divisor for divisor in range(1, 9) if heads % divisor == 0),
        "intermediate_size": int(hidden * 3.5),
        "vocab_size": vocab_size,
        "max_position_embeddings": 131072,
        "tie_word_embeddings": False,
    }


def _count(layers: int, vocab_size: int) -> float:
    hidden = layers * _LAYERS_PER_WIDTH
    kv = hidden // _HEAD_DIM
    kv = max(divisor for divisor in range(1, 9) if kv % divisor == 0) * _HEAD_DIM
    return layers * (2 * hidden**2 + 2 * hidden * kv + 3 * 3.5 * hidden**2) + 2 * vocab_size * hidden
