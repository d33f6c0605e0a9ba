"""What a training step keeps between forward and backward pass, per token: layer by layer, item by item.

The items follow Korthikanti et al. 2022 ("Reducing Activation Recomputation in Large Transformer Models",
section 4.1), which count 34 s b h bytes and 5 a s^2 b for the attention scores of a GPT layer; here each
item is read off the layer's own matrices, so grouped heads, gated MLPs and experts count as they are, the
input of a frozen matrix is not kept, and flash attention (Dao et al. 2022) keeps no scores.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from calculators.architecture.layout import Architecture, Layer, Role, Weight
from calculators.kept import kept_by_identity
from calculators.training.parameters import distinct_layers
from calculators.training.setup import Number, Training

_MIXER_IN = (
    Role.ATTN_Q,
    Role.ATTN_K,
    Role.ATTN_V,
    Role.ATTN_GATE,
    Role.MLA_Q_A,
    Role.MLA_KV_A,
    Role.STATE_IN,
)
_MIXER_OUT = (
    Role.ATTN_Q,
    Role.ATTN_K,
    Role.ATTN_V,
    Role.ATTN_GATE,
    Role.MLA_Q_A,
    Role.MLA_Q_B,
    Role.MLA_KV_A,
    Role.MLA_KV_B,
    Role.STATE_IN,
    Role.INDEXER,
)
_BACK = (Role.ATTN_OUT, Role.STATE_OUT)
_UP = (Role.MLP_UP, Role.SHARED_UP, Role.EXPERT_UP)
_GATE = (Role.MLP_GATE, Role.SHARED_GATE, Role.EXPERT_GATE)
_DOWN = (Role.MLP_DOWN, Role.SHARED_DOWN, Role.EXPERT_DOWN)
_STATE_COPIES = 2  # a state layer keeps its projections before and after the short convolution


@dataclass(frozen=True)
class LayerWidths:
    """Sizes of one layer that its kept activations depend on [elements per token]."""

    hidden: int
    norms: int  # normalisations over the hidden size
    biased_norms: bool  # they are LayerNorms with a bias, which one kernel computes without an fp32 copy
    other_norms: int  # elements of the others (heads, states)
    mixer_out: int
    queries: int  # outputs of the query projection
    keys_values: int
    attended: int  # input of the output projection
    gated: float  # inner elements of gated MLPs, by active experts
    plain: float  # of MLPs without a gate
    copies: float  # experts one token visits
    heads: int
    linear_out: float  # outputs of every matrix


def _active(weight: Weight) -> int:
    return weight.copies if weight.active_copies is None else weight.active_copies


def _biased_outputs(layer: Layer) -> bool:
    """Whether output projections carry a bias: the mark of blocks whose LayerNorms carry one too."""
    pairs = zip(layer.weights, layer.weights[1:], strict=False)
    return any(w.role in (*_BACK, *_DOWN) and after.role is Role.BIAS for w, after in pairs)


def _widths(layer: Layer, arch: Architecture) -> LayerWidths:
    inner = {
        role: sum(w.shape[0] * _active(w) for w in layer.weights if w.role is role) for role in _UP + _GATE
    }
    gated = sum(inner[gate] for gate in _GATE)
    up = sum(inner[role] for role in _UP)
    norm = [w for w in layer.weights if w.role is Role.NORM and len(w.shape) == 1]

    def rows(*roles: Role) -> int:
        return sum(w.shape[0] * w.copies for w in layer.weights if w.role in roles and len(w.shape) == 2)

    has_state = any(w.role is Role.STATE_IN for w in layer.weights)
    biased = _biased_outputs(layer)
    vectors = sum(w.copies for w in norm if w.shape == (arch.hidden_size,))
    return LayerWidths(
        hidden=arch.hidden_size,
        norms=vectors // 2 if biased else vectors,
        biased_norms=biased,
        other_norms=sum(w.shape[0] * w.copies for w in norm if w.shape != (arch.hidden_size,)),
        mixer_out=rows(*_MIXER_OUT) + (_STATE_COPIES - 1) * rows(Role.STATE_IN),
        queries=rows(Role.ATTN_Q),
        keys_values=rows(Role.ATTN_K, Role.ATTN_V),
        attended=sum(
            w.shape[1] * w.copies * (_STATE_COPIES if w.role is Role.STATE_OUT else 1)
            for w in layer.weights
            if w.role in _BACK and len(w.shape) == 2
        ),
        gated=float(gated),
        plain=float(max(up - gated, 0)),
        copies=float(sum(_active(w) for w in layer.weights if w.role is Role.EXPERT_UP)),
        heads=0 if has_state else arch.num_attention_heads,
        linear_out=float(sum(w.shape[0] * _active(w) for w in layer.weights if len(w.shape) == 2)),
    )


@lru_cache(maxsize=4096)
def _cached(layer: Layer, arch_key: tuple[int, int]) -> LayerWidths:
    hidden, heads = arch_key
    shell = Architecture("", hidden, 0, heads, 0, 0, None, False, (), ())
    return _widths(layer, shell)


@kept_by_identity(64)
def layer_widths(arch: Architecture) -> tuple[tuple[LayerWidths, int], ...]:
    """The widths of each different layer, with how often it occurs."""
    key = (arch.hidden_size, arch.num_attention_heads)
    return tuple((_cached(layer, key), n) for layer, n in distinct_layers(arch))


def kept_bytes_per_token(training: Training, widths: LayerWidths) -> Number:
    """Everything one layer keeps for the backward pass without checkpointing [byte per token and GPU].

    Divided over tensor-parallel GPUs: the insides of attention and MLP always, the rest with sequence
    parallelism (Korthikanti et al. 2022, equations 2 and 4).
    """
    f, p = training.framework, training.parallel
    size = training.precision.compute_bytes
    full = training.trains_all
    roles = training.adapted_roles
    reads_mixer = full or any(role.value in roles for role in _MIXER_IN)
    reads_mlp = full or any(role.value in roles for role in _UP + _GATE)
    reads_down = full or any(role.value in roles for role in _DOWN)
    # a frozen matrix needs no input; its adapter reads a copy, with dropout a dropped one and the mask
    read = size if full else (f.lora_dropout_bytes or size)
    scale = size / 2
    norm = size if widths.biased_norms else scale * (f.norm_input_bytes + f.norm_trained_bytes * full)
    around = widths.norms * norm * widths.hidden + widths.other_norms * size
    around += f.other_hidden_bytes * widths.hidden * scale
    around += read * (reads_mixer + reads_mlp) * widths.hidden
    around += 2 * size * widths.copies * widths.hidden  # permuted to the experts and back
    if training.base_format is not None:
        around += f.quantized_hidden_bytes * widths.hidden
    if training.method == "adapter-v2":
        around += size * widths.linear_out
    expanded = max(2 * widths.queries - widths.keys_values, 0) if f.expands_kv else 0
    inside: Number = size * (widths.mixer_out + expanded + widths.attended)
    if not training.flash_attention:
        inside = inside + 5 * widths.heads * np.asarray(training.seq_len) * scale
    inside = inside + (f.gated_inner_bytes * scale + read * reads_down) * widths.gated
    inside = inside + (size + read * reads_down) * widths.plain
    return around / (p.tensor if p.sequence_parallel else 1) + inside / p.tensor


def checkpoint_bytes_per_token(training: Training, widths: LayerWidths) -> Number:
    """What one layer keeps with its checkpointing [byte per token and GPU].

    full: the block's input. selective: the framework's share of everything, and the input.
    """
    p = training.parallel
    block_input = training.precision.compute_bytes * widths.hidden
    block_input /= p.tensor if p.sequence_parallel else 1
    if training.checkpointing == "full":
        return block_input * (0.0 if training.offload_activations else 1.0)
    kept = kept_bytes_per_token(training, widths)
    if training.checkpointing == "selective":
        return np.minimum(kept, training.framework.selective_kept * kept + block_input)
    return kept * (0.0 if training.offload_activations else 1.0)


def stored_bytes_per_token(training: Training) -> Number:
    """Activations of all layers of the model kept until the backward pass [byte per token]."""
    return sum(
        (checkpoint_bytes_per_token(training, w) * n for w, n in layer_widths(training.architecture)), 0.0
    )


def working_bytes_per_token(training: Training) -> Number:
    """One layer's activations computed again while its gradients are taken [byte per token]; 0 without."""
    if training.checkpointing == "none" and not training.offload_activations:
        return 0.0
    found: Number = 0.0
    for widths, _ in layer_widths(training.architecture):
        found = np.maximum(found, kept_bytes_per_token(training, widths))
    return found


def logits_bytes_per_token(training: Training) -> Number:
    """Logits and what the loss makes of them [byte per token and GPU]; tensor parallelism splits them."""
    per_logit = training.loss_bytes_per_logit
    if training.base_format is not None and training.logit_bytes is None:
        per_logit += training.framework.quantized_logit_bytes
    if Role.LM_HEAD.value in training.adapted_roles:
        per_logit += 2 * training.precision.compute_bytes  # the adapter's own output, and the sum
    return per_logit * training.architecture.vocab_size / training.parallel.tensor


def microbatches_in_flight(training: Training) -> Number:
    """Micro-batches whose activations the first pipeline stage keeps (one-forward-one-backward schedule).

    Narayanan et al. 2021 (Megatron-LM), section 2.2: as many as stages, if there are so many.
    """
    p = training.parallel
    return np.minimum(p.pipeline, training.accumulation) if p.pipeline > 1 else 1
