"""What a config.json does not show, by `model_type`: data, not code.

A plain decoder (the default `Traits()`) is the Llama block: two RMSNorms, grouped-query attention whose
biases follow `attention_bias`, a gated MLP whose biases follow `mlp_bias`, one final norm, a head. A family
is listed with what differs. Layer orders and mixers are names of rules in `plan`, `mixers` and `states`.

Source: the modelling classes of transformers 5.24.0, compared tensor by tensor on the meta device.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

#: A yes/no: fixed (bool), a config key ("key"), its opposite ("!key"), the first given of
#: several ("a|b"), or all of several ("a&b").
Flag = bool | str

RMS, LAYER_NORM, NO_NORM = 1, 2, 0  # parameter vectors per norm: scale; scale and shift; none


@dataclass(frozen=True, slots=True, kw_only=True)
class Traits:
    """How a family departs from the plain decoder."""

    # --- block ---
    norm: int = RMS
    norm_if: Flag = True
    norm_shift: Flag = False  # adds the shift vector to a scale-only norm
    block_norms: int = 2
    norms_rule: str = ""  # when the number of norms follows the config
    passes: str = ""  # rule for how often each layer runs, and so caches, per token
    layers_key: str = ""  # key that outranks num_hidden_layers
    stacks: int = 1  # this many stacks of num_layers_per_stack layers each
    implied: tuple[tuple[str, str], ...] = ()  # (switch, key): the key alone, without the switch, turns it on
    paired: bool = False  # a layer_types list that names MLPs lists attention and MLP apart
    first_norms: int | None = None  # norms of layer 0, when it differs
    single: bool = False  # each layer is a mixer or an MLP, not both
    final_norm: Flag = True
    nested: tuple[tuple[str, str, str, int], ...] = ()  # (group, key in it, canonical key, class default)
    defaults: tuple[tuple[str, int | bool | tuple[int, ...]], ...] = ()  # class defaults of those groups
    extras: tuple[str, ...] = ()  # names in `extras`: per-layer and outside weights of unusual designs
    # --- attention ---
    attention: str = "gqa"  # gqa or mla
    qkv_bias: Flag = "attention_bias"
    out_bias: Flag = "attention_bias"
    square_out: bool = False  # the output projection is hidden x hidden whatever the heads
    kv_heads: str = "grouped"  # grouped, mha, falcon, multi_query
    free_head_dim: bool = True  # False: always hidden_size / heads
    qk_norm: str = ""  # "", head, width, each (per head and channel)
    qk_norm_if: Flag = True
    qk_norm_vectors: int = 1
    gate: str = ""  # "", width (one gate per channel), head (one per head), query (inside a doubled query)
    gate_if: Flag = True
    gate_bias: Flag = False
    gate_extra: bool = False  # one more gate parameter per head
    kv_factor: tuple[str, int] = ("", 1)  # layers of this type have so many times the KV heads
    sinks: str = ""  # "", all, or the layer type that has them
    window_key: tuple[str, int] = ("", 1)  # a key whose value, divided, is the window
    query_dim_key: str = ""  # MLA: this key, when given, is the query width of one head
    q_form: str = "plain"  # pair: MLA queries and a gate from two compressed vectors
    k_rope_norm: bool = False  # MLA: a norm over the rotary key
    index_pool: bool = False  # the indexer pools its keys with trained weights
    index_every: int = 0  # without a list, every so many layers own an indexer
    index_query: str = "compressed"  # hidden: the indexer reads the hidden state, through a norm
    nope_layers: bool = False  # layers marked 0 in no_rope_layers have no rotary part
    shared_sources: bool = False  # kv_source_layers names the layer whose keys and values are read
    index: bool = False  # MLA with an indexer in layers of type "indexed"
    type_lists: tuple[tuple[str, str], ...] = ()  # (canonical key, list with one entry per layer)
    type_keys: tuple[tuple[str, str, str], ...] = ()  # (layer type, canonical key, key it takes in that type)
    type_keys_if: tuple[str, str] = ("", "")  # this key changes by type only if that one is set
    # --- layer order ---
    order: str = "full"
    linear: str = "gated_delta_net"
    state_bias: Flag = "mamba_proj_bias|use_bias|add_bias_linear"
    state_conv_bias: bool = False  # Mamba-2: the convolution has a bias whatever the config says
    hybrid_state: bool = True  # a hybrid layer runs the state mixer beside the attention
    state_norm_if: Flag = True  # Mamba-2: the gated norm
    state_norms: bool = False  # Mamba: norms over the step and both projections
    kda_rank: str = "low"  # full: decay and output gate are full matrices
    # --- MLP ---
    gated: Flag = True
    mlp_bias: Flag = "mlp_bias"
    mlp_keys: tuple[str, ...] = ("intermediate_size",)  # keys of the inner width; without any, 4 hidden sizes
    mlp: str = "dense"
    # --- experts ---
    moe: str = "moe"
    sparse: str = "auto"  # rule in `plan`
    expert_width_keys: tuple[str, ...] = ("moe_intermediate_size", "intermediate_size")
    dense_width_key: str = ""  # width of dense layers in a mixture, when not intermediate_size
    router_bias: Flag = False
    router_extra: int = 0  # vectors of one entry per expert that are trained parameters
    expert_bias: Flag = False
    expert_gated: Flag = True
    zero_experts: bool = False  # identity experts that the router can choose
    shared: str = "auto"  # auto, none, one
    shared_gate: Flag = False
    latent_norms: bool = False  # norms before and after experts of a narrower width
    shared_bias: Flag = False
    modality_experts: bool = False  # a second set of experts for images; widths come as a pair
    # --- outside the layers ---
    positions: int | None = None  # learned positions: this many rows more than max_position_embeddings
    embedding_norm: int = 0  # parameter vectors of a norm after the embedding
    head_bias: Flag = False
    embedding_key: str = "word_embed_proj_dim"  # width of the embedding when not the hidden size
    extra_rows: str = ""  # key with rows of the embedding beyond the vocabulary
    head_rows: str = ""  # key with the rows of the head when fewer than the vocabulary
    tie: Flag = "tie_word_embeddings"
    encoder: bool = False


PLAIN: Final = Traits()
_MLA: Final = Traits(attention="mla", mlp_bias=False)
_DSA: Final = replace(_MLA, index=True, order="indexed")
_GPT: Final = Traits(
    norm=LAYER_NORM,
    qkv_bias=True,
    out_bias=True,
    kv_heads="mha",
    free_head_dim=False,
    gated=False,
    mlp_bias=True,
)
_GEMMA2: Final = Traits(block_norms=4, order="alternate")
_GEMMA3: Final = replace(_GEMMA2, order="pattern", qk_norm="head")
_QWEN2: Final = Traits(qkv_bias=True, out_bias=False, mlp_bias=False, order="qwen")
_QWEN3: Final = Traits(qk_norm="head", mlp_bias=False, order="qwen")
_QWEN3_MOE: Final = replace(_QWEN3, shared="none", order="sliding_if_used")
_QWEN3_NEXT: Final = Traits(
    qk_norm="head", gate="query", mlp_bias=False, shared_gate=True, order="interval", linear="gated_delta_net"
)
_QWEN2_MOE: Final = replace(_QWEN2, qkv_bias="qkv_bias", shared="one", shared_gate=True)
_GLM4: Final = Traits(mlp_bias=False, block_norms=4, out_bias=False)
_OLMO2: Final = Traits(qk_norm="width", mlp_bias=False)
_MAMBA: Final = Traits(block_norms=1, mlp="none", order="linear", linear="mamba", qkv_bias=False)
_MIXTRAL: Final = Traits(
    expert_width_keys=("intermediate_size",),
    shared="none",
    order="sliding_all",
    qkv_bias=False,
    out_bias=False,
    mlp_bias=False,
)
_GRANITE_MOE: Final = Traits(expert_width_keys=("intermediate_size",), shared="granite", mlp_bias=False)

TRAITS: Final[dict[str, Traits]] = {
    "afmoe": Traits(
        block_norms=4,
        qk_norm="head",
        gate="width",
        order="pattern",
        router_extra=1,
        mlp_bias=False,
    ),
    "apertus": Traits(qk_norm="head", gated=False, mlp_bias=False, extras=("xielu",)),
    "apertus1p5_text": Traits(qk_norm="head", gated=False, mlp_bias=False, extras=("xielu",)),
    "arcee": Traits(gated=False),
    "aria_text": Traits(shared="expert_multiple"),
    "axk1": replace(_MLA, extras=("sparse_post_norm",)),
    "axk2": replace(_DSA, q_form="pair", extras=("gated_norms",)),
    "baichuan": Traits(kv_heads="mha", qkv_bias=False, out_bias=False),
    "bailing_hybrid": replace(
        _MLA, order="layer_group", linear="kda", kda_rank="full", gate="head", tie=False
    ),
    "bamba": Traits(order="attention_indices", linear="mamba2"),
    "beam": Traits(
        block_norms=4,
        qk_norm="head",
        gate="width",
        gate_extra=True,
        order="pattern_last_full",
        sparse="after_three",
        mlp_bias=False,
    ),
    "biogpt": replace(_GPT, positions=2),
    "bitnet": Traits(mlp_bias=False, extras=("sub_norms",)),
    "bloom": replace(_GPT, mlp_keys=(), embedding_norm=2),
    "chameleon": Traits(qk_norm="each", qk_norm_vectors=2),
    "chatglm": Traits(
        qkv_bias="add_qkv_bias|add_bias_linear", out_bias="add_bias_linear", mlp_bias="add_bias_linear"
    ),
    "codegen": replace(
        _GPT, mlp_keys=("n_inner",), qkv_bias=False, out_bias=False, block_norms=1, head_bias=True
    ),
    "cohere": Traits(block_norms=1, qk_norm="each", qk_norm_if="use_qk_norm", mlp_bias=False),
    "cohere2": Traits(block_norms=1, order="pattern", mlp_bias=False),
    "cohere2_moe": Traits(block_norms=1, order="pattern", mlp_bias=False),
    "cohere_compass_text": Traits(block_norms=1, order="full", free_head_dim=False, mlp_bias=False),
    "ctrl": replace(_GPT, head_bias=True),
    "cwm": Traits(order="first_of_four", qkv_bias=False, out_bias=False),
    "dbrx": Traits(
        qkv_bias=False,
        out_bias=False,
        expert_width_keys=("intermediate_size",),
        nested=(
            ("attn_config", "kv_n_heads", "num_key_value_heads", 1),
            ("ffn_config", "ffn_hidden_size", "intermediate_size", 3584),
            ("ffn_config", "moe_num_experts", "num_experts", 4),
            ("ffn_config", "moe_top_k", "num_experts_per_tok", 1),
        ),
    ),
    "deepseek": Traits(),
    "deepseek_v2": replace(_MLA, mlp_bias="mlp_bias", shared_bias="mlp_bias"),
    "deepseek_v3": _MLA,
    "deepseek_v32": _DSA,
    "deepseek_v4": Traits(
        attention="compressed",
        order="compressed",
        extras=("hyper_connections",),
        shared="one_expert",
        shared_bias="mlp_bias",
    ),
    "diffllama": Traits(mlp_bias=False, extras=("differential",)),
    "doge": Traits(qk_norm="head", sparse="never", extras=("doge",)),
    "dory": Traits(
        norm=NO_NORM,
        gate="width",
        order="pattern_four",
        paired=True,
        passes="loop",
        extras=("dory",),
    ),
    "dots1": Traits(qk_norm="head", order="qwen_always", mlp_bias=False),
    "dots3_note_text": replace(
        _DSA,
        order="dots3",
        gate="head",
        k_rope_norm=True,
        defaults=(
            ("swa_num_attention_heads", 64),
            ("swa_q_lora_rank", 1024),
            ("swa_kv_lora_rank", 1024),
            ("swa_qk_nope_head_dim", 192),
            ("swa_qk_rope_head_dim", 64),
            ("swa_v_head_dim", 128),
        ),
        type_keys=(
            ("sliding", "num_attention_heads", "swa_num_attention_heads"),
            ("sliding", "q_lora_rank", "swa_q_lora_rank"),
            ("sliding", "kv_lora_rank", "swa_kv_lora_rank"),
            ("sliding", "qk_nope_head_dim", "swa_qk_nope_head_dim"),
            ("sliding", "qk_rope_head_dim", "swa_qk_rope_head_dim"),
            ("sliding", "v_head_dim", "swa_v_head_dim"),
        ),
    ),
    "ernie4_5": Traits(qkv_bias="use_bias", out_bias="use_bias", mlp_bias="use_bias"),
    "ernie4_5_moe": Traits(
        qkv_bias="use_bias",
        out_bias="use_bias",
        mlp_bias="use_bias",
        shared_bias="use_bias",
        head_bias="use_bias",
        router_extra=1,
    ),
    "ernie4_5_vl_moe_text": Traits(
        qkv_bias="use_bias",
        out_bias="use_bias",
        mlp_bias="use_bias",
        shared_bias="use_bias",
        router_extra=1,
        sparse="after_first",
        mlp="dense",
        modality_experts=True,
    ),
    "eurobert": Traits(encoder=True, head_bias="mlp_bias"),
    "exaone": Traits(),
    "exaone4": Traits(
        qk_norm="head", order="pattern_if_window", qkv_bias=False, out_bias=False, mlp_bias=False
    ),
    "exaone_moe": Traits(
        qk_norm="head", order="pattern_if_window", qkv_bias=False, out_bias=False, mlp_bias=False
    ),
    "falcon": Traits(
        mlp_keys=("ffn_hidden_size",),
        norm=LAYER_NORM,
        norms_rule="falcon",
        kv_heads="falcon",
        free_head_dim=False,
        qkv_bias="bias",
        out_bias="bias",
        gated=False,
        mlp_bias="bias",
    ),
    "falcon_h1": Traits(order="hybrid", linear="mamba2", state_norm_if="mamba_rms_norm"),
    "falcon_mamba": _MAMBA,
    "flex_olmo": Traits(expert_width_keys=("intermediate_size",), shared="none", qk_norm="width"),
    "flint": Traits(
        qk_norm="head",
        sinks="all",
        order="flint",
        shared="one",
        mlp_bias=False,
        defaults=(("mlp_only_layers", (0, 1)),),
    ),
    "gemma": Traits(mlp_bias=False),
    "gemma2": replace(_GEMMA2, mlp_bias=False),
    "gemma3_text": replace(_GEMMA3, mlp_bias=False),
    "gemma3n_text": replace(
        _GEMMA3, order="every_fifth", mlp_bias=False, extras=("altup", "per_layer_inputs")
    ),
    "gemma4_text": replace(
        _GEMMA3,
        order="pattern_last_full",
        mlp_bias=False,
        sparse="never",
        extras=("per_layer_inputs", "gemma4_experts"),
        type_keys=(
            ("full", "head_dim", "global_head_dim"),
            ("full", "num_key_value_heads", "num_global_key_value_heads"),
        ),
        type_keys_if=("num_key_value_heads", "attention_k_eq_v"),
        implied=(("enable_moe_block", "num_experts"), ("attention_k_eq_v", "num_global_key_value_heads")),
    ),
    "gemma4_unified_text": replace(
        _GEMMA3,
        order="pattern_last_full",
        mlp_bias=False,
        sparse="never",
        type_keys=(("full", "head_dim", "global_head_dim"),),
    ),
    "glm": Traits(mlp_bias=False, out_bias=False),
    "glm4": _GLM4,
    "glm4_moe": Traits(mlp_bias=False, qk_norm="head", qk_norm_if="use_qk_norm", out_bias=False),
    "glm4_moe_lite": replace(_MLA, sparse="after_first"),
    "glm4v_moe_text": Traits(out_bias=False),
    "glm4v_text": replace(_GLM4, qkv_bias=True),
    "glm5_next_text": replace(
        _DSA,
        order="kda_three",
        linear="kda",
        index_pool=True,
        sparse="after_three",
        extras=("hyper_streams",),
    ),
    "glm_moe_dsa": replace(_DSA, order="indexed"),
    "glm_ocr_text": replace(_GLM4, qkv_bias=False),
    "gpt2": replace(_GPT, positions=0, mlp_keys=("n_inner",)),
    "gpt_bigcode": replace(_GPT, mlp_keys=("n_inner",), positions=0, kv_heads="multi_query"),
    "gpt_neo": replace(_GPT, positions=0, qkv_bias=False),
    "gpt_neox": replace(_GPT, qkv_bias="attention_bias", out_bias="attention_bias"),
    "gpt_neox_japanese": replace(
        _GPT, qkv_bias=False, out_bias=False, mlp_bias=False, extras=("last_dense_bias",)
    ),
    "gpt_oss": Traits(
        expert_width_keys=("intermediate_size",),
        shared="none",
        sinks="all",
        order="alternate",
        router_bias=True,
        expert_bias=True,
    ),
    "gptj": replace(
        _GPT, mlp_keys=("n_inner",), qkv_bias=False, out_bias=False, block_norms=1, head_bias=True
    ),
    "granite": Traits(),
    "granite_docling_text": PLAIN,
    "granite_swa": Traits(order="first_of_four", sinks="all"),
    "granitemoe": _GRANITE_MOE,
    "granitemoe_swa": replace(_GRANITE_MOE, order="first_of_four", sinks="all"),
    "granitemoehybrid": replace(_GRANITE_MOE, order="linear", linear="mamba2"),
    "granitemoeshared": _GRANITE_MOE,
    "grok-1": Traits(block_norms=4),
    "helium": Traits(out_bias=False, square_out=True),
    "hrm_text": Traits(
        norm=NO_NORM,
        gate="width",
        gate_bias="attention_bias",
        stacks=2,
        passes="cycles",
        extras=("hrm",),
        defaults=(("H_cycles", 2), ("L_cycles", 3)),
    ),
    "hunyuan_v1_dense": Traits(qk_norm="head"),
    "hunyuan_v1_moe": Traits(qk_norm="head", shared="one_expert"),
    "hunyuan_vl_text": Traits(qk_norm="head"),
    "hy_v3": Traits(qk_norm="head", sparse="after_first"),
    "hy_v4": replace(
        _DSA,
        gate="width",
        sinks="all",
        sparse="after_first",
        index_every=4,
        extras=("hyper_connections_two",),
    ),
    "hyperclovax": Traits(extras=("post_norms",)),
    "inkling2_loop_text": Traits(
        attention="inkling2",
        hybrid_state=False,
        order="inkling",
        moe="inkling",
        first_norms=2,
        embedding_norm=1,
        head_rows="unpadded_vocab_size",
        passes="loop_range",
        mlp_bias=False,
        extras=("final_query", "message_queries"),
    ),
    "inkling2_text": Traits(
        attention="inkling2",
        hybrid_state=False,
        order="inkling",
        moe="inkling",
        first_norms=2,
        embedding_norm=1,
        head_rows="unpadded_vocab_size",
        mlp_bias=False,
        extras=("final_query",),
    ),
    "inkling_text": Traits(
        attention="inkling",
        hybrid_state=False,
        order="inkling",
        moe="inkling",
        dense_width_key="dense_intermediate_size",
        embedding_norm=1,
        mlp_bias=False,
    ),
    "internlm2": Traits(qkv_bias="bias", out_bias="bias", mlp_bias=False),
    "internlm3": Traits(
        qkv_bias="attention_bias|qkv_bias", out_bias="attention_bias|bias", mlp_bias="mlp_bias|bias"
    ),
    "jais2": Traits(norm=LAYER_NORM, gated=False),
    "jamba": Traits(
        expert_width_keys=("intermediate_size",),
        shared="none",
        order="period",
        linear="mamba",
        state_norms=True,
        qkv_bias=False,
        out_bias=False,
        mlp_bias=False,
    ),
    "jetmoe": Traits(attention="jetmoe", expert_width_keys=("intermediate_size",)),
    "kimi_linear": replace(
        _MLA, order="kimi", linear="kda", gate="width", gate_if="mla_use_output_gate", tie=False
    ),
    "kolibri1": Traits(
        block_norms=4,
        qk_norm="head",
        order="every_fifth",
        qkv_bias=False,
        out_bias=False,
        mlp_bias=False,
        shared="one",
    ),
    "laguna": Traits(
        qk_norm="head",
        gate="gating",
        order="full",
        router_extra=1,
        shared="one",
        mlp_bias=False,
        sparse="after_first",
        type_lists=(("num_attention_heads", "num_attention_heads_per_layer"),),
    ),
    "lara_mini": Traits(qk_norm="head", order="lara", linear="gated_delta_net", shared="one", mlp_bias=False),
    "lfm2": Traits(
        order="full_indices",
        linear="short_conv",
        qk_norm="head",
        qkv_bias=False,
        out_bias=False,
        mlp_bias=False,
        mlp="lfm",
    ),
    "lfm2_moe": Traits(
        order="full_indices",
        linear="short_conv",
        qk_norm="head",
        qkv_bias=False,
        out_bias=False,
        mlp_bias=False,
    ),
    "lfm3": Traits(
        norms_rule="sandwich",
        qk_norm="head",
        gate="head",
        gate_if="use_attention_gate",
        order="lfm3",
        linear="short_conv",
        mlp_bias=False,
    ),
    "llama": PLAIN,
    "llama4_text": Traits(
        order="chunked",
        dense_width_key="intermediate_size_mlp",
        shared="one_expert",
        expert_width_keys=("intermediate_size",),
        mlp_bias=False,
    ),
    "longcat_flash": replace(
        _MLA,
        router_bias="router_bias",
        attention="double_mla",
        block_norms=4,
        mlp_bias=False,
        zero_experts=True,
        query_dim_key="qk_head_dim",
        extras=("two_dense",),
    ),
    "mamba": _MAMBA,
    "mamba2": replace(_MAMBA, linear="mamba2"),
    "mellum": Traits(qk_norm="head", order="full", mlp_bias=False, shared="none"),
    "mimo": _QWEN2,
    "mimo_v2_flash": Traits(
        order="mimo",
        sinks="sliding",
        out_bias=False,
        kv_factor=("sliding", 2),
        mlp_bias=False,
        sparse="after_first",
    ),
    "minicpm3": replace(_MLA, mlp_bias="mlp_bias"),
    "minimax": Traits(
        expert_width_keys=("intermediate_size",),
        shared="none",
        order="lightning",
        linear="lightning",
        qkv_bias=False,
        out_bias=False,
        mlp_bias=False,
    ),
    "minimax_m2": Traits(
        expert_width_keys=("intermediate_size",),
        shared="none",
        qk_norm="width",
        qkv_bias=False,
        out_bias=False,
        mlp_bias=False,
    ),
    "minimax_m3_vl_text": Traits(
        attention="block_sparse",
        qk_norm="head",
        qkv_bias=False,
        out_bias=False,
        order="minimax_m3",
        dense_width_key="dense_intermediate_size",
        expert_width_keys=("intermediate_size",),
        shared="granite",
    ),
    "ministral": Traits(order="sliding_all", qkv_bias=False, out_bias=False),
    "ministral3": Traits(order="sliding_all", qkv_bias=False, out_bias=False),
    "mistral": Traits(order="sliding_all", qkv_bias=False, out_bias=False, mlp_bias=False),
    "mistral4": _MLA,
    "mistral_large4_text": replace(
        _DSA,
        index_query="hidden",
        nope_layers=True,
        shared_sources=True,
        extras=("softmax_scaling", "rotary_scale"),
    ),
    "mixtral": _MIXTRAL,
    "mllama_text_model": Traits(
        order="cross",
        qkv_bias=False,
        out_bias=False,
        mlp_bias=False,
        extras=("extra_token_rows",),
        free_head_dim=False,
    ),
    "modernbert-decoder": Traits(
        norm_shift="norm_bias",
        window_key=("local_attention", 2),
        first_norms=1,
        order="first_of_three",
        kv_heads="mha",
        free_head_dim=False,
        embedding_norm=1,
        extras=("prediction_head",),
        head_bias="decoder_bias",
    ),
    "molmo2_text": Traits(
        qk_norm="qk_norm_type", out_bias=False, mlp_bias=False, extra_rows="additional_vocab_size", tie=False
    ),
    "mpt": replace(_GPT, mlp_keys=(), norm=RMS, qkv_bias=False, out_bias=False, mlp_bias=False),
    "muse_glimmer_text": Traits(block_norms=4, gate="width", order="backward_four", mlp_bias=False),
    "muse_spark_text": Traits(
        block_norms=3,
        gate="width",
        order="backward_four",
        mlp_bias=False,
        latent_norms=True,
        extras=("residual_gates",),
    ),
    "nanochat": Traits(norm=NO_NORM, gated=False, mlp_bias=False),
    "nemotron": Traits(norm=LAYER_NORM, gated=False),
    "nemotron-nas": Traits(order="nas"),
    "nemotron_h": Traits(
        block_norms=1,
        single=True,
        order="nemotron_h",
        linear="mamba2",
        gated=False,
        expert_gated=False,
        sparse="never",
        qkv_bias=False,
        out_bias=False,
        shared_bias="mlp_bias",
        state_bias="use_bias",
        tie=False,
    ),
    "olmo": Traits(norm=NO_NORM, mlp_bias=False),
    "olmo2": _OLMO2,
    "olmo3": replace(_OLMO2, order="pattern_four"),
    "olmo_hybrid": Traits(qk_norm="width", order="olmo_hybrid", linear="gated_delta_net", mlp_bias=False),
    "olmoe": Traits(
        expert_width_keys=("intermediate_size",), qk_norm="hidden", mlp_bias=False, shared="none"
    ),
    "openai-gpt": replace(_GPT, positions=0, final_norm=False),
    "opt": replace(
        _GPT,
        mlp_keys=("ffn_dim",),
        positions=2,
        qkv_bias="enable_bias",
        out_bias="enable_bias",
        mlp_bias="enable_bias",
        norm_if="layer_norm_elementwise_affine",
        final_norm="do_layer_norm_before&!_remove_final_layer_norm",
        extras=("projected_embedding",),
    ),
    "paddleocr_vl_text": Traits(qkv_bias="use_bias", out_bias="use_bias", mlp_bias="use_bias"),
    "persimmon": replace(_GPT, qk_norm="head", qk_norm_if="qk_layernorm", qk_norm_vectors=2),
    "phi": replace(
        _GPT,
        kv_heads="grouped",
        free_head_dim=True,
        block_norms=1,
        head_bias=True,
        qk_norm="head",
        qk_norm_if="qk_layernorm",
        qk_norm_vectors=2,
    ),
    "phi3": Traits(qkv_bias=False, out_bias=False, mlp_bias=False),
    "phi4_multimodal": Traits(qkv_bias=False, out_bias=False, mlp_bias=False),
    "phimoe": Traits(
        norm=LAYER_NORM,
        order="sliding_all",
        expert_width_keys=("intermediate_size",),
        shared="none",
        head_bias="lm_head_bias",
        mlp_bias=False,
    ),
    "qwen": Traits(kv_heads="mha", qkv_bias=True, out_bias=False, mlp="half", mlp_bias=False),
    "qwen2": _QWEN2,
    "qwen2_5_omni_text": _QWEN2,
    "qwen2_5_vl_text": _QWEN2,
    "qwen2_moe": _QWEN2_MOE,
    "qwen2_vl_text": _QWEN2,
    "qwen3": _QWEN3,
    "qwen3_5_moe_text": _QWEN3_NEXT,
    "qwen3_5_text": _QWEN3_NEXT,
    "qwen3_moe": _QWEN3_MOE,
    "qwen3_next": _QWEN3_NEXT,
    "qwen3_vl_moe_text": replace(_QWEN3_MOE, order="full"),
    "qwen3_vl_text": replace(_QWEN3, order="full"),
    "recurrent_gemma": Traits(order="block_types", linear="rg_lru", out_bias=True, mlp="half", mlp_bias=True),
    "rwkv": Traits(norm=LAYER_NORM, order="linear", linear="rwkv", mlp="rwkv", extras=("rwkv",)),
    "sarvam_mla": _MLA,
    "sarvam_moe": Traits(qk_norm="head", qk_norm_if="use_qk_norm", out_bias=False),
    "seed_oss": Traits(out_bias="attention_out_bias"),
    "smollm3": Traits(order="sliding_if_used"),
    "solar_open": Traits(out_bias=False, mlp_bias=False),
    "stablelm": Traits(
        norms_rule="stablelm",
        norm=LAYER_NORM,
        free_head_dim=False,
        qkv_bias="use_qkv_bias",
        out_bias=False,
        mlp_bias=False,
        qk_norm="each",
        qk_norm_if="qk_layernorm",
    ),
    "starcoder2": Traits(
        norm=LAYER_NORM,
        qkv_bias="use_bias",
        out_bias="use_bias",
        gated=False,
        mlp_bias="use_bias",
        order="sliding_all",
    ),
    "step3p5": Traits(
        qk_norm="head",
        gate="head",
        order="full",
        sparse="after_three",
        shared_bias="mlp_bias",
        type_keys=(("sliding", "num_attention_heads", "num_sliding_attention_heads"),),
    ),
    "unlimited_ocr_text": Traits(
        out_bias="attention_bias", mlp_bias="mlp_bias", shared_bias="mlp_bias", sparse="auto"
    ),
    "vaultgemma": Traits(mlp_bias=False, order="alternate"),
    "voxtral_realtime_text": Traits(
        qkv_bias=False, out_bias=False, mlp_bias=False, order="sliding_all", extras=("time_norm",)
    ),
    "xglm": replace(_GPT, mlp_keys=("ffn_dim",)),
    "xlstm": Traits(
        order="linear",
        linear="mlstm",
        mlp="xlstm",
        tie=False,
        embedding_key="embedding_dim",
        layers_key="num_blocks",
        extras=("norm_biases",),
    ),
    "youtu": _MLA,
    "zamba": Traits(
        order="zamba",
        linear="mamba",
        attention="shared",
        block_norms=1,
        mlp="none",
        extras=("shared_blocks",),
    ),
    "zamba2": Traits(
        order="zamba2",
        linear="mamba2",
        state_bias="add_bias_linear",
        state_conv_bias=True,
        attention="shared",
        block_norms=1,
        mlp="none",
        extras=("shared_blocks",),
    ),
    "zaya": Traits(
        attention="cca",
        hybrid_state=False,
        order="hybrid",
        moe="zaya",
        head_bias="lm_head_bias",
        extras=("residual_scales",),
    ),
}

#: model_type -> the family whose traits (and class defaults, where it has none) it shares.
SAME_AS: Final[dict[str, str]] = {
    "gpt-sw3": "gpt2",
    "hy_v4_vl_text": "hy_v4",
    "kimi_k2": "deepseek_v3",
    "iquestcoder": "llama",
    "qwen3_omni_moe_text": "qwen3_moe",
}

#: Composite families in which the text part's `tie_word_embeddings` also counts; elsewhere the root decides.
TIED_BY_TEXT: Final = frozenset(
    {
        "fast_vlm",
        "glm4v",
        "glm4v_moe",
        "glm_ocr",
        "hunyuan_vl",
        "llava",
        "llava_next_video",
        "llava_onevision",
        "minimax_m3_vl",
        "paddleocr_vl",
        "perception_lm",
        "qwen2_5_vl",
        "qwen2_vl",
        "shieldgemma2",
        "video_llama_3",
    }
)

#: Composite families that hold a whole causal model inside: there only the text part's tie counts.
TEXT_DECIDES: Final = frozenset({"blip-2", "instructblip", "instructblipvideo", "llama4", "nemotron_h_omni"})
