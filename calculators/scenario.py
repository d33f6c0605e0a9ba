"""The one description of what a reader asked: every control of every page, validated and frozen.

A link carries a Scenario and nothing else; pages compute from it and from the catalogues. Ids are checked
here for their form only: whether a GPU, model or format of that id exists is for the link to say.
"""

from __future__ import annotations

import json
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints

Slug = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9._-]{0,79}$")]
SlugOrNone = Annotated[str, StringConstraints(pattern=r"^([a-z0-9][a-z0-9_-]{0,79})?$")]
ListSlug = Annotated[
    str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9_-]{0,79}$")
]  # no dot: lists are dot-separated
Split = Literal["auto", "tensor", "pipeline", "pp2", "pp4", "pp8"]
Switch = Literal["auto", "on", "off"]

MAX_MODEL_LEN = 1 << 20  # tokens
MAX_CONCURRENCY = 1024  # sequences
MAX_GPUS = 64  # of one kind
MAX_PINNED = 100  # cards
MAX_SYSTEM_GPUS = 100_000  # of a measured system
MAX_MEMORY_GB = 512
FIRST_YEAR, LAST_YEAR = 2017, 2026  # of release
FIRST_USE_YEAR, LAST_USE_YEAR = 2020, 2026  # of a published use
MAX_CONFIG_CHARS = 200_000  # of compact JSON
MAX_TRAIN_GPUS = 100_000  # of one run
MAX_TRAIN_TOKENS = 10**15  # of one run
MAX_MICRO_BATCH = 1024  # sequences
MAX_RENT_USD = 10_000  # per GPU and hour
MIN_RENT_USD = 0.0001  # the least that a link can spell: what costs nothing has no break-even and no ratio
MAX_PURCHASE_USD = 10_000_000  # of one GPU
PRICE_DECIMALS = 4


def _distinct(values: tuple[str, ...]) -> tuple[str, ...]:
    """The same ids in the same order, each once."""
    return tuple(dict.fromkeys(values))


def _compact_object(text: str) -> str:
    """A JSON object in one canonical spelling, or the empty string."""
    if not text:
        return ""
    try:
        value = json.loads(text)
        compact = json.dumps(value, separators=(",", ":"), ensure_ascii=False, sort_keys=True)
        compact.encode("utf-8")
    except (ValueError, RecursionError) as error:
        raise ValueError("not readable as JSON") from error
    if not isinstance(value, dict):
        raise ValueError("must be a JSON object")
    return compact


def _sorted_prices(prices: tuple[tuple[str, float], ...]) -> tuple[tuple[str, float], ...]:
    """One price per id, by id, rounded as a link spells it; of several of one id the last."""
    return tuple((gpu, round(usd, PRICE_DECIMALS)) for gpu, usd in sorted(dict(prices).items()))


Rent = Annotated[float, Field(ge=MIN_RENT_USD, le=MAX_RENT_USD)]
Purchase = Annotated[float, Field(ge=0, le=MAX_PURCHASE_USD)]
Slugs = Annotated[tuple[ListSlug, ...], AfterValidator(_distinct), Field(max_length=MAX_PINNED)]


class Scenario(BaseModel):
    """A model, how it is stored and served, on which GPUs, and what the comparison shows.

    Units: `max_model_len`, `prompt_tokens`, `output_tokens` [tokens],
    `concurrency` [sequences resident at max_model_len each],
    `gpu_memory_utilization` [fraction of the GPU's memory], `min_memory_gb` [10^9 bytes], `seq_len`,
    `sample_tokens` and `train_tokens` [tokens], `micro_batch` [sequences], `deadline_days` [days],
    `price_edits` [US dollars per GPU and hour], `purchase_edits` [US dollars per GPU],
    `max_ttft_s` [s], `max_power_w` [W of all GPUs], `cost_ceiling` [US dollars a month or a run].
    None or "auto" leaves a value to the engine's own default.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    # the model and its formats
    model: Slug = "llama-3.3-70b"
    config_json: Annotated[
        str, StringConstraints(max_length=MAX_CONFIG_CHARS), AfterValidator(_compact_object)
    ] = ""
    weight_format: Slug = "awq-int4"
    kv_cache_dtype: Slug = "bf16"

    # the load
    max_model_len: Annotated[int, Field(ge=1, le=MAX_MODEL_LEN)] = 8192
    concurrency: Annotated[int, Field(ge=1, le=MAX_CONCURRENCY)] = 1
    prompt_tokens: Annotated[int, Field(ge=1, le=MAX_MODEL_LEN)] = 1024  # read per request
    output_tokens: Annotated[int, Field(ge=1, le=MAX_MODEL_LEN)] = 256  # written per request

    # the engine
    engine: Slug = "vllm"
    gpu_memory_utilization: Annotated[float, Field(ge=0.05, le=1.0)] | None = None
    max_num_seqs: Annotated[int, Field(ge=1, le=8192)] | None = None
    max_num_batched_tokens: Annotated[int, Field(ge=1, le=MAX_MODEL_LEN)] | None = None
    n_ubatch: Annotated[int, Field(ge=1, le=65536)] | None = None
    flash_attention: Switch = "auto"
    enforce_eager: bool = False
    swa_full: bool = False

    # the GPUs
    gpus: Slugs = ("h100-sxm5-80gb", "a100-sxm4-80gb", "rtx-a6000-48gb", "l40s-48gb", "rtx-4090-24gb")
    gpu_count: Annotated[int, Field(ge=1, le=MAX_GPUS)] = 1
    split: Split = "auto"
    expert_parallel: bool = False
    pre_release: bool = False
    map_gpu: SlugOrNone = ""  # the GPU of the context x concurrency map; empty: the one of the verdict

    # fine-tuning and training; None, "" or "auto": the default of the task, which the page shows
    task: Literal["serve", "finetune", "train"] = "serve"
    method: Literal["qlora", "lora", "full"] = "qlora"  # of a fine-tune; a training run trains everything
    lora_rank: Annotated[int, Field(ge=1, le=4096)] | None = None
    lora_targets: Slugs = ()  # none: the framework's own
    optimizer: SlugOrNone = ""
    training_precision: SlugOrNone = ""
    training_framework: SlugOrNone = ""
    seq_len: Annotated[int, Field(ge=1, le=MAX_MODEL_LEN)] | None = None  # tokens
    micro_batch: Annotated[int, Field(ge=1, le=MAX_MICRO_BATCH)] = 1  # sequences per GPU at once
    accumulation: Annotated[int, Field(ge=1, le=65536)] | None = None  # micro-batches per step
    checkpointing: Literal["auto", "none", "selective", "full"] = "auto"
    fused_loss: Switch = "auto"
    offload: Literal["none", "optimizer", "all"] = "none"
    zero_stage: Literal["auto", "0", "1", "2", "3"] = "auto"
    train_tensor: Annotated[int, Field(ge=1, le=1024)] | None = None
    train_pipeline: Annotated[int, Field(ge=1, le=1024)] | None = None
    train_context: Annotated[int, Field(ge=1, le=1024)] | None = None
    train_expert: Annotated[int, Field(ge=1, le=1024)] | None = None
    sequence_parallel: Switch = "auto"
    train_gpus: Annotated[int, Field(ge=1, le=MAX_TRAIN_GPUS)] = 64  # of a training run; else gpu_count
    train_tokens: Annotated[int, Field(ge=1, le=MAX_TRAIN_TOKENS)] = 1_000_000_000_000  # of a training run
    samples: Annotated[int, Field(ge=1, le=100_000_000)] = 50_000  # of a fine-tune
    sample_tokens: Annotated[int, Field(ge=1, le=MAX_MODEL_LEN)] = 512  # tokens of each
    epochs: Annotated[float, Field(ge=0.01, le=1000)] = 3.0
    deadline_days: Annotated[float, Field(ge=0.01, le=36500)] | None = None

    # cost; edits are the reader's own price of a GPU, which stands before any quote
    price_edits: Annotated[
        tuple[tuple[ListSlug, Rent], ...], Field(max_length=MAX_PINNED), AfterValidator(_sorted_prices)
    ] = ()
    purchase_edits: Annotated[
        tuple[tuple[ListSlug, Purchase], ...], Field(max_length=MAX_PINNED), AfterValidator(_sorted_prices)
    ] = ()
    price_basis: Literal["median", "low", "high", "spot", "own"] = "median"
    cost_view: Literal["month", "tokens"] = "month"  # what serving is ranked by
    cost_gpu: SlugOrNone = ""  # the GPU shown in detail; empty: the cheapest
    least_tokens_per_s: Annotated[float, Field(ge=0, le=10_000)] = 10.0  # of each user
    busy_share: Annotated[float, Field(ge=0.01, le=1)] = 1.0  # of the hours that are paid
    usd_per_kwh: Annotated[float, Field(ge=0, le=10)] = 0.13
    power_usage_effectiveness: Annotated[float, Field(ge=1, le=3)] = 1.54
    own_years: Annotated[float, Field(ge=0.1, le=20)] = 4.0
    host_usd: Annotated[float, Field(ge=0, le=MAX_PURCHASE_USD)] = 0.0  # server and room, per GPU owned
    runs_per_month: Annotated[float, Field(ge=0.01, le=10_000)] = 4.33  # of a fine-tune: 52 weeks / 12
    lost_hours_per_week: Annotated[float, Field(ge=0, le=10_000)] = 0.0  # of people, on a card too small
    small_memory_gb: Annotated[int, Field(ge=0, le=MAX_MEMORY_GB)] = 48  # a card with less is too small
    usd_per_person_hour: Annotated[float, Field(ge=0, le=10_000)] = 69.5

    # recommendation; `task`, `method` and the load above say what for
    recommend_view: Literal["ranking", "purposes", "duel", "judgements"] = "ranking"
    objective: Literal["cheapest", "fastest", "power", "gpus"] = "cheapest"
    serving: Literal["live", "batch", "images"] = "live"  # what serving means: users, a batch, images
    format_freedom: Literal["this", "8bit", "any"] = "this"  # weight formats that may be chosen instead
    max_ttft_s: Annotated[float, Field(ge=0.001, le=3600)] | None = None  # time to first token
    cost_ceiling: Annotated[float, Field(ge=0, le=10**8)] | None = None  # USD a month or a run
    purchase_ceiling: Annotated[float, Field(ge=0, le=10**8)] | None = None  # USD for all cards, where bought
    batch_requests: Annotated[int, Field(ge=1, le=10**12)] = 100_000  # of an offline batch
    place: Literal["any", "workstation", "datacentre"] = "any"
    maker: SlugOrNone = ""  # of GPUs; empty: any
    max_power_w: Annotated[int, Field(ge=1, le=10**8)] | None = None  # of all GPUs
    max_gpus: Annotated[int, Field(ge=1, le=MAX_TRAIN_GPUS)] | None = None
    need_nvlink: bool = False
    need_mig: bool = False
    need_ecc: bool = False
    duel_gpus: Annotated[Slugs, Field(max_length=4)] = ("h100-sxm5-80gb", "rtx-4090-24gb")

    # the comparison
    compare_view: Slug = "table"
    precision: Slug = "fp16"
    baseline: SlugOrNone = ""
    sparse: bool = False
    min_memory_gb: Annotated[int, Field(ge=0, le=MAX_MEMORY_GB)] = 0
    max_memory_gb: Annotated[int, Field(ge=0, le=MAX_MEMORY_GB)] = MAX_MEMORY_GB
    since_year: Annotated[int, Field(ge=FIRST_YEAR, le=LAST_YEAR)] = FIRST_YEAR
    until_year: Annotated[int, Field(ge=FIRST_YEAR, le=LAST_YEAR)] = LAST_YEAR
    vendors: Slugs = ()
    architectures: Slugs = ()
    form_factors: Slugs = ()
    column_groups: Slugs = ()
    priced: bool = False
    pinned_only: bool = False

    # measured results; "any" asks for every model, format, test, benchmark or scenario, 0 for any number
    bench_lane: Slug = "llamacpp"
    bench_model: Slug = "llama-3-8b"
    bench_format: Slug = "gguf-q4_k_m"
    bench_test: Slug = "tg1024"
    bench_gpu_count: Annotated[int, Field(ge=0, le=MAX_SYSTEM_GPUS)] = 1
    bench_gpus: Slugs = ()
    unverified: bool = False
    infer_benchmark: Slug = "llama2-70b-99"
    infer_scenario: Slug = "offline"
    infer_measure: Slug = "per-gpu"
    train_benchmark: Slug = "llama2-70b-lora"
    train_measure: Slug = "minutes"
    mlperf_rounds: Slugs = ()  # none: the newest that has results
    mlperf_gpu_count: Annotated[int, Field(ge=0, le=MAX_SYSTEM_GPUS)] = 0
    mlperf_submitters: Slugs = ()
    mlperf_categories: Slugs = ("closed",)
    mlperf_availability: Slugs = ()

    # predicted against measured
    accuracy_kind: Slug = "memory"
    accuracy_quantity: SlugOrNone = ""  # empty, or one of another kind: the first of the kind
    accuracy_view: Slug = "scatter"

    # uses in the world; an empty list filters nothing
    use_gpus: Slugs = ()
    use_purposes: Slugs = ()
    use_organisations: Slugs = ()
    use_statuses: Slugs = ()
    use_since: Annotated[int, Field(ge=FIRST_USE_YEAR, le=LAST_USE_YEAR)] = FIRST_USE_YEAR
    use_until: Annotated[int, Field(ge=FIRST_USE_YEAR, le=LAST_USE_YEAR)] = LAST_USE_YEAR
