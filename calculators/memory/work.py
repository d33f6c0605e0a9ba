"""Activations, compute buffers and engine overhead on each device, by the way each engine allocates them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from calculators.kept import kept_by_identity
from calculators.memory.cache import (
    _outer,
    _round_up,
    _text,
    batch_defaults,
    batch_tokens,
    cache_pieces,
    ubatch_tokens,
)
from calculators.memory.deployment import MIB, Deployment, Number, Piece, total_of, with_dims
from calculators.memory.shape import Shape, shape_of
from calculators.memory.split import Stages
from calculators.memory.weights import TOWER_BYTES, qkv_bytes, rope_table_bytes, stages_for
from gpu_data.engine_schemas import Engine

HALF = 2  # byte of a 16-bit activation
SINGLE = 4  # byte of a 32-bit activation


def work_pieces(deployment: Deployment) -> list[Piece]:
    """Everything a deployment needs beside weights and cache [device, ...]."""
    shape = shape_of(deployment.architecture)
    stages = stages_for(
        shape, deployment.engine, deployment.tensor_parallel_size, deployment.pipeline_parallel_size
    )
    match deployment.engine.algorithm:
        case "llama.cpp":
            return _llama_cpp(deployment, shape, stages)
        case "transformers":
            return _transformers(deployment, shape, stages)
    return _server(deployment, shape, stages)


def sequences_at_once(deployment: Deployment, tokens: Number) -> Number:
    """Sequences whose logits are alive at once: max_num_seqs, or fewer when the batch has fewer tokens."""
    chosen = deployment.options.max_num_seqs
    sequences = float(chosen) if chosen is not None else batch_defaults(deployment, "max_num_seqs")
    return np.minimum(sequences, tokens)


def block_bytes_per_token(deployment: Deployment, shape: Shape, ways: int) -> float:
    """Activation bytes of one token inside the widest block [byte].

    hidden copies x hidden + MLP copies x MLP width / GPUs, in 16 bits. Experts: the top-k copies of the token
    reuse the gate-and-up buffer for their outputs when it is large enough
    (vllm/model_executor/layers/fused_moe: intermediate_cache13).
    """
    return _block_bytes_per_token(deployment.engine, shape, ways)


@kept_by_identity(64)
def _block_bytes_per_token(engine: Engine, shape: Shape, ways: int) -> float:
    if not shape.n_layers:
        return 0.0
    width = shape.mlp_elements / ways
    spill = np.maximum(shape.expert_copies * shape.hidden - 2 * width, 0) * (shape.expert_copies > 0)
    elements = engine.number("activation_mlp_copies") * width + spill
    return (engine.number("activation_hidden_copies") * shape.hidden + float(elements.max())) * HALF


def _server(deployment: Deployment, shape: Shape, stages: Stages) -> list[Piece]:
    engine, tp = deployment.engine, deployment.tensor_parallel_size
    tokens = batch_tokens(deployment)
    sequences = sequences_at_once(deployment, tokens)
    per_token = block_bytes_per_token(deployment, shape, tp)
    forward = np.asarray(tokens * per_token)
    static_share = engine.algorithm == "sglang"
    here = np.ones(stages.count)

    sampler_width = engine.parameters.get("sampler_bytes_per_logit") or engine.parameters.get("logits_bytes")
    width = sampler_width.value if sampler_width else float(SINGLE)
    sampler = np.asarray(sequences * shape.vocab * width + tokens * shape.hidden * HALF)
    if not deployment.architecture.generates:
        sampler = np.zeros_like(sampler)
    elif engine.parameters.get("sampler_in_chunked_profile") and not engine.number(
        "sampler_in_chunked_profile"
    ):
        long = np.asarray(deployment.max_model_len) > engine.number("whole_prompt_profile_limit")
        sampler = np.where(long & (deployment.options.max_num_batched_tokens is None), 0.0, sampler)
    peak = np.maximum(forward, sampler)

    def substituted() -> str:
        return (
            f"max({_text(tokens)} x {per_token:,.0f} B, {_text(sequences)} x {shape.vocab:,} x {width:g} B"
            f" + {_text(tokens)} x {shape.hidden:,} x {HALF} B)"
        )

    source = engine.source_of("activation_mlp_copies")
    if sampler_width:
        source += "; " + sampler_width.source
    pieces = [
        Piece(
            "activation peak",
            "activation",
            _outer(here, peak),
            "max(max_num_batched_tokens x block bytes per token, max_num_seqs x vocabulary x sampler bytes"
            " + max_num_batched_tokens x hidden x 2)",
            substituted,
            source,
            inside=not static_share,
        ),
        _fixed(
            "non-torch memory",
            engine.number("non_torch_bytes"),
            here,
            engine.source_of("non_torch_bytes"),
            not static_share,
        ),
    ]
    peers = deployment.gpus - 1
    if peers:
        per_peer = engine.number("nccl_bytes_per_peer")
        pieces.append(
            Piece(
                "communication between GPUs",
                "overhead",
                here * per_peer * peers,
                "other GPUs x bytes per peer",
                lambda: f"{peers} x {per_peer / MIB:,.0f} MiB",
                engine.source_of("nccl_bytes_per_peer"),
                inside=not static_share,
            )
        )
    pieces += _graphs(deployment, stages)
    pieces.append(_context(deployment, here, inside=False))
    return pieces


def _graphs(deployment: Deployment, stages: Stages) -> list[Piece]:
    engine, options = deployment.engine, deployment.options
    if options.enforce_eager:
        return []
    largest = batch_defaults(deployment, "graph_max_batch")
    if options.max_num_seqs is not None:
        largest = np.minimum(largest, options.max_num_seqs)
    step, per_size = engine.number("graph_sizes_step"), engine.number("graph_bytes_per_layer_and_size")
    wide = engine.number("graph_sizes_step_above_256")
    few, many = np.minimum(largest, 256), np.maximum(np.asarray(largest) - 256, 0)
    sizes = np.asarray(np.floor(few / step) + np.floor(many / wide) + 3)  # 1, 2, 4 and the multiples
    layers = stages.layer_of_stage.sum(axis=1)
    return [
        Piece(
            "CUDA graphs",
            "overhead",
            _outer(layers, sizes * per_size),
            "layers x captured batch sizes x bytes",
            lambda: f"{layers.max():g} x {_text(sizes)} x {per_size / MIB:g} MiB",
            engine.source_of("graph_bytes_per_layer_and_size"),
            inside="graphs_inside_share" in engine.parameters,
        )
    ]


def _context(deployment: Deployment, here: NDArray[np.float64], *, inside: bool) -> Piece:
    engine = deployment.engine
    return _fixed(
        "CUDA context", engine.number("context_bytes"), here, engine.source_of("context_bytes"), inside
    )


def _fixed(name: str, size: float, here: NDArray[np.float64], source: str, inside: bool = True) -> Piece:
    return Piece(name, "overhead", here * size, "constant", lambda: f"{size / MIB:,.1f} MiB", source, inside)


def rope_piece(deployment: Deployment) -> Piece | None:
    """Rotary tables kept beside the weights, for engines that build them for all positions."""
    engine = deployment.engine
    if "rope_table_bytes" not in engine.parameters:
        return None
    shape = shape_of(deployment.architecture)
    width = engine.number("rope_table_bytes")
    size = rope_table_bytes(shape, width)
    if not size:
        return None
    positions, head_dim = shape.arch.max_position_embeddings, shape.arch.head_dim
    return Piece(
        "rotary position tables",
        "weights",
        np.full(1, size),
        "max_position_embeddings x head dimension x bytes",
        lambda: f"{positions:,} x {head_dim} x {width:g} B",
        engine.source_of("rope_table_bytes"),
    )


def tower_piece(deployment: Deployment) -> Piece | None:
    """Image and audio encoders that are a file of their own, on the first GPU, when images are wanted."""
    engine = deployment.engine
    elements = shape_of(deployment.architecture).tower_elements
    if not elements or engine.towers == "loaded" or not deployment.options.images:
        return None
    devices = deployment.gpus if engine.split == "layers" else deployment.pipeline_parallel_size
    size = np.zeros(devices)
    size[0] = elements * TOWER_BYTES
    return Piece(
        "image and audio encoder (mmproj, F16)",
        "weights",
        size,
        "parameters of the encoder x bytes",
        lambda: f"{elements:,} x {TOWER_BYTES} B",
        "llama.cpp docs/multimodal.md: --mmproj",
    )


def held_pieces(deployment: Deployment) -> list[Piece]:
    """What an engine holds all the time beside the weights proper, whatever the weight format."""
    found = (rope_piece(deployment), tower_piece(deployment))
    return [piece for piece in found if piece is not None]


# ---------------------------------------------------------------- llama.cpp


def _llama_cpp(deployment: Deployment, shape: Shape, stages: Stages) -> list[Piece]:
    """The compute buffer: the widest point of the graph, on every GPU.

    Points (fp32, one micro-batch of u tokens, c cells): output (vocabulary + hidden) x u; MLP mask +
    (2 hidden + 2 MLP width) x u; attention without flash attention
    scores heads x c x u, with it the mask in fp32 and fp16.
    Checked against build 1691 (70.5, 75, 97, 119, 145 MiB for Llama 7B, 13B, 30B, 65B and Llama-2-70B at 512
    cells) and builds 2824 and 2833 (560 and 640 MiB for Llama-3-8B on one and four GPUs at 8,192 cells).
    """
    engine = deployment.engine
    cells = _round_up(
        np.asarray(deployment.max_model_len, dtype=np.float64) * np.asarray(deployment.concurrency),
        engine.number("context_pad"),
    )
    tokens = np.minimum(ubatch_tokens(deployment), cells)
    chosen = deployment.options.flash_attention
    flash = bool(engine.number("flash_attention")) if chosen is None else chosen
    copies = (
        engine.number("pipeline_copies") if stages.count > 1 else min(engine.number("pipeline_copies"), 1)
    )
    unit = tokens * SINGLE
    hidden, vocab, heads = shape.hidden, shape.vocab, shape.arch.num_attention_heads
    width = float(shape.mlp_elements.max(initial=0))
    mask = cells * unit * max(copies, 1)
    passed = 3 + copies + (copies > 1)
    if flash:
        attention = mask + cells * tokens * HALF + passed * hidden * unit
    else:
        attention = heads * cells * unit + mask + passed * hidden * unit
    block = np.maximum(attention, cells * unit + 2 * (hidden + width) * unit)
    output = (vocab + hidden) * unit if deployment.architecture.generates else np.zeros_like(unit)
    if "shared_compute_buffer" in engine.parameters:
        first = np.zeros(stages.count)
        first[0] = 1
        size = _outer(first, np.maximum(block, output))
    else:
        has_layers = (stages.layer_of_stage.sum(axis=1) > 0).astype(np.float64)
        size = np.maximum(_outer(has_layers, block), _outer(stages.head, output))

    def substituted() -> str:
        scores = "" if flash else f"{heads} x "
        return (
            f"max({scores}{_text(cells)} x {_text(tokens)} x {SINGLE} B + mask"
            f" + {passed:g} x {hidden:,} x {_text(tokens)} x 4 B, "
            f"({vocab:,} + {hidden:,}) x {_text(tokens)} x 4 B)"
        )

    piece = Piece(
        "compute buffer",
        "activation",
        size,
        "max(attention (heads x cells x micro-batch x 4, or the mask with flash attention), "
        "MLP (2 x (hidden + width) x micro-batch x 4), output ((vocabulary + hidden) x micro-batch x 4))",
        substituted,
        engine.source,
    )
    return [piece, _context(deployment, np.ones(stages.count), inside=True)]


# ---------------------------------------------------------------- transformers


def _transformers(deployment: Deployment, shape: Shape, stages: Stages) -> list[Piece]:
    """What lives beside weights and the final cache at the worst moment of loading, prefill or decoding.

    loading: the merged copies of Q, K, V (fused engines). prefill: the prompt's activations, logits and, with
    eager attention, scores, beside a cache of the prompt only. decoding: K and V repeated to all heads when
    attention has no grouped kernel. What each needs beyond the final cache is the piece's size.
    """
    engine, options = deployment.engine, deployment.options
    length = np.asarray(deployment.max_model_len, dtype=np.float64)
    prompt = length if options.prompt_tokens is None else np.minimum(length, options.prompt_tokens)
    sequences = np.asarray(deployment.concurrency, dtype=np.float64)
    cache = _cache_bytes(deployment)
    cache_then = (
        cache if options.prompt_tokens is None else _cache_bytes(deployment.but(max_model_len=prompt))
    )

    heads = shape.arch.num_attention_heads
    flash = options.flash_attention
    eager = bool(engine.number("eager_attention")) and not flash
    per_token = block_bytes_per_token(deployment, shape, 1)
    kept = prompt if engine.number("logits_of_whole_prompt") else np.ones_like(prompt)
    logits = kept * sequences * shape.vocab * engine.number("logits_bytes")
    if not deployment.architecture.generates:
        logits = logits * 0
    scores = heads * prompt**2 * sequences * engine.number("eager_score_bytes") * eager
    # The block's activations and the scores are not alive together with the logits, the larger counts.
    prefill = np.maximum(np.maximum(prompt * sequences * per_token, scores), 0) + logits
    here = np.ones(stages.count)
    prefill_extra = _outer(here, prefill) + with_dims(cache_then - cache, np.ndim(prefill))

    grouped = heads > shape.arch.num_key_value_heads > 0
    repeated = (
        2 * length * sequences * heads * shape.arch.head_dim * HALF * (grouped and not flash and not eager)
    )
    peak = np.maximum(np.maximum(prefill_extra, _outer(here, repeated)), 0)
    if "fused_qkv_copy" in engine.parameters:
        loaded = stages.layer_of_stage @ qkv_bytes(deployment.architecture, deployment.weight_format)
        loaded = with_dims(loaded * engine.number("fused_qkv_copy"), peak.ndim - 1)
        peak = np.maximum(peak, loaded - with_dims(cache, peak.ndim - 1))

    def substituted() -> str:
        return (
            f"prefill {_text(prompt)} x {_text(sequences)} x {per_token:,.0f} B"
            f" + logits {_text(kept)} x {shape.vocab:,} x {engine.number('logits_bytes'):g} B; "
            f"attention scores {heads} x {_text(prompt)}^2 x {engine.number('eager_score_bytes'):g} B "
            f"{'counted' if eager else 'not written out'}"
        )

    piece = Piece(
        "activation peak",
        "activation",
        peak,
        "max(prefill activations + logits + cache of the prompt, merged Q, K, V at loading, "
        "K and V repeated to all heads) beyond the final cache",
        substituted,
        engine.source,
    )
    workspace = _fixed(
        "library workspace", engine.number("workspace_bytes"), here, engine.source_of("workspace_bytes")
    )
    return [piece, workspace, _context(deployment, here, inside=True)]


def _cache_bytes(deployment: Deployment) -> NDArray[np.float64]:
    return total_of(cache_pieces(deployment))
