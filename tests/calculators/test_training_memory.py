"""Memory of training: published figures, then laws."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calculators.architecture import params_total
from calculators.memory import DOES_NOT_FIT, FITS, TIGHT, GpuMemory
from calculators.training import METHODS, Parallel, Training, estimate, generic_architecture, refusal
from calculators.training.activations import kept_bytes_per_token, layer_widths, stored_bytes_per_token
from calculators.training.flops import recomputed_share
from calculators.training.memory import gradient_bytes_held, optimizer_bytes_held, weights_bytes_held
from calculators.training.parameters import lora_elements
from gpu_data.formats import weight_format
from gpu_data.training_schemas import Precision
from tests.calculators.training_cases import TABLES, arch, training, trainings

PARTS = ("weights", "adapter", "gradient", "optimizer", "activation", "working", "logits", "gathered")
LITGPT = "litgpt tutorials/resource-tables.md, trainable parameters"


@pytest.mark.parametrize(
    ("model", "trainable"),
    [
        pytest.param("llama-2-7b", 4_194_304, id=f"Llama 2 7B, {LITGPT}"),
        pytest.param("llama-2-13b", 6_553_600, id=f"Llama 2 13B, {LITGPT}"),
        pytest.param("phi-1.5", 1_572_864, id=f"phi-1.5, {LITGPT}"),
        pytest.param("stablelm-base-alpha-3b", 2_097_152, id=f"StableLM Alpha 3B, {LITGPT}"),
    ],
)
def test_lora_parameters_of_rank_8_on_query_and_value(model: str, trainable: int) -> None:
    run = training(model, "litgpt", method="lora")
    assert lora_elements(run).total == trainable


# 2 bytes of weight, 2 of gradient, 12 of optimiser: the paper's "mixed-precision Adam".
_ZERO_ADAM = Precision(
    id="zero",
    label="ZeRO",
    weight_bytes=2,
    copy_bytes=0,
    compute_bytes=2,
    gradient_bytes=2,
    master_bytes=4,
    state_bytes=4,
    matmul="fp16",
    source="Rajbhandari et al. 2020, section 3.1",
)


@pytest.mark.parametrize(
    ("stage", "gb"),
    [
        pytest.param(0, 120, id="baseline, ZeRO paper figure 1"),
        pytest.param(1, 31.4, id="P_os, ZeRO paper figure 1"),
        pytest.param(2, 16.6, id="P_os+g, ZeRO paper figure 1"),
        pytest.param(3, 1.9, id="P_os+g+p, ZeRO paper figure 1"),
    ],
)
def test_model_states_of_7_5_b_parameters_on_64_gpus(stage: int, gb: float) -> None:
    run = training(
        precision=_ZERO_ADAM,
        architecture=generic_architecture(7.5e9),
        parallel=Parallel(64, zero_stage=stage),
    )
    states = weights_bytes_held(run) + gradient_bytes_held(run) + optimizer_bytes_held(run)
    scaled = states * 7.5e9 / params_total(run.architecture) / 1e9
    assert scaled == pytest.approx(gb, abs=0.06)


@pytest.mark.parametrize("model", ["gpt 22b", "gpt-3 175b", "mt-nlg 530b", "gpt 1t"])
@pytest.mark.parametrize("flash", [True, False], ids=["flash", "scores kept"])
def test_a_gpt_layer_keeps_what_korthikanti_equation_1_says(model: str, flash: bool) -> None:
    """34 s b h, and 5 a s^2 b more when attention scores are kept (table 2: selective keeps none)."""
    run = training(model, "megatron", seq_len=2048, flash_attention=flash)
    (widths, layers), *others = layer_widths(run.architecture)
    assert not others
    assert layers == len(run.architecture.layers)
    hidden, heads = run.architecture.hidden_size, run.architecture.num_attention_heads
    scores = 0 if flash else 5 * heads * 2048
    assert kept_bytes_per_token(run, widths) == pytest.approx(34 * hidden + scores)


def test_tensor_and_sequence_parallelism_divide_as_korthikanti_equations_2_and_4() -> None:
    run = training("gpt-3 175b", "megatron")
    widths = layer_widths(run.architecture)[0][0]
    hidden = run.architecture.hidden_size
    tensor = run.but(parallel=Parallel(8, tensor=8))
    both = run.but(parallel=Parallel(8, tensor=8, sequence_parallel=True))
    assert kept_bytes_per_token(tensor, widths) == pytest.approx(hidden * (10 + 24 / 8))
    assert kept_bytes_per_token(both, widths) == pytest.approx(hidden * 34 / 8)


def test_a_65b_base_in_nf4_fits_48_gib_as_the_qlora_paper_says() -> None:
    """Dettmers et al. 2023, abstract: a 65B model is fine-tuned on a single 48 GB GPU; section 1: in 16 bits
    it would take more than 780 GB."""
    qlora = training(
        "llama 65b",
        method="qlora",
        base_format=weight_format("bnb-nf4"),
        optimizer=TABLES.optimizers["paged-adamw"],
        seq_len=512,
        checkpointing="full",
    )
    full = training("llama 65b", precision=_ZERO_ADAM, seq_len=512, checkpointing="full")
    assert estimate(qlora).allocated_bytes < 48 * 2**30
    assert estimate(full).allocated_bytes > 780e9


# ---------------------------------------------------------------- laws

few = settings(max_examples=60, deadline=None)


@few
@given(trainings())
def test_parts_sum_to_the_total_and_no_part_is_negative(run: Training) -> None:
    found = estimate(run, constants=dict(TABLES.constants))
    parts = [getattr(found, f"{name}_bytes") for name in PARTS]
    assert min(parts) >= 0
    assert sum(parts) == pytest.approx(found.allocated_bytes)
    assert found.allocated_bytes + found.overhead_bytes == pytest.approx(found.needed_bytes)
    assert sum(term.bytes for term in found.terms) == pytest.approx(found.needed_bytes)


@few
@given(trainings(), st.sampled_from(["seq_len", "micro_batch"]), st.integers(2, 9))
def test_more_tokens_never_take_less(run: Training, name: str, times: int) -> None:
    more = run.but(**{name: getattr(run, name) * times})
    assert estimate(more).allocated_bytes >= estimate(run).allocated_bytes * (1 - 1e-12)


@few
@given(trainings())
def test_more_zero_never_keeps_more_states(run: Training) -> None:
    def states(stage: int) -> float:
        p = replace(run.parallel, zero_stage=stage)
        framework = run.framework.model_copy(update={"unsharded_gradients": False})
        precision = run.precision.model_copy(update={"copy_bytes": 0})
        changed = run.but(parallel=p, framework=framework, precision=precision)
        parts = (weights_bytes_held, gradient_bytes_held, optimizer_bytes_held)
        return float(sum(part(changed) for part in parts))

    sizes = [states(stage) for stage in (0, 1, 2, 3)]
    assert all(b <= a * (1 + 1e-12) for a, b in pairwise(sizes))


@few
@given(trainings(), st.sampled_from([2, 4, 8]))
def test_more_data_parallel_gpus_never_take_more(run: Training, times: int) -> None:
    more = run.but(parallel=replace(run.parallel, gpus=run.parallel.gpus * times))
    if np.asarray(run.parallel.sharders) == 1:  # the first split adds the buffers of gathered blocks
        return
    assert estimate(more).allocated_bytes <= estimate(run).allocated_bytes * (1 + 1e-12)


@few
@given(trainings())
def test_lora_never_takes_more_than_training_everything(run: Training) -> None:
    full = run.but(method="full", base_format=None)
    lora = run.but(method="lora", base_format=None, lora_rank=min(int(run.rank), 16))
    framework = run.framework.model_copy(update={"lora_dropout_bytes": 0, "adapter_bytes": None})
    if len(lora.adapted_roles & {"lm_head"}) or run.framework.unsharded_gradients:
        return
    small = lora.but(framework=framework)
    adapters = 18 * float(lora_elements(small).total)  # a model so small that adapters are not
    assert (
        estimate(small).allocated_bytes <= estimate(full.but(framework=framework)).allocated_bytes + adapters
    )


@few
@given(trainings())
def test_a_4_bit_base_never_takes_more_room_than_a_16_bit_one(run: Training) -> None:
    lora = run.but(method="lora", base_format=None)
    qlora = run.but(method="qlora", base_format=weight_format("bnb-nf4"))
    assert weights_bytes_held(qlora) <= weights_bytes_held(lora)


@few
@given(trainings())
def test_checkpointing_stores_less_the_more_it_computes_again(run: Training) -> None:
    def stored(how: str) -> float:
        return float(np.max(stored_bytes_per_token(run.but(checkpointing=how))))

    assert stored("full") <= stored("selective") <= stored("none")
    assert recomputed_share(run.but(checkpointing="full")) >= recomputed_share(
        run.but(checkpointing="selective")
    )


@few
@given(trainings())
def test_optimisers_keep_states_in_their_known_order(run: Training) -> None:
    def states(name: str) -> float:
        return float(np.max(optimizer_bytes_held(run.but(optimizer=TABLES.optimizers[name]))))

    assert states("sgd") <= states("lion") <= states("adamw")
    assert states("adamw-8bit") <= states("adamw") * 1.016
    assert states("paged-adamw") <= states("sgd")


@few
@given(trainings())
def test_flash_attention_and_offload_never_take_more(run: Training) -> None:
    plain = estimate(run.but(flash_attention=False)).allocated_bytes
    assert estimate(run.but(flash_attention=True)).allocated_bytes <= plain * (1 + 1e-12)
    kept = estimate(run).allocated_bytes
    assert estimate(run.but(offload="optimizer")).allocated_bytes <= kept * (1 + 1e-12)
    assert estimate(run.but(fused_step=True)).allocated_bytes <= kept * (1 + 1e-12)


@few
@given(trainings())
def test_arrays_give_what_scalars_give(run: Training) -> None:
    lengths, batches = np.array([[128], [4096]]), np.array([1, 3, 8])
    whole = estimate(run.but(seq_len=lengths, micro_batch=batches))
    assert np.shape(whole.allocated_bytes) == (2, 3)
    one = estimate(run.but(seq_len=4096, micro_batch=3))
    for name in (*(f"{part}_bytes" for part in PARTS), "allocated_bytes"):
        assert np.broadcast_to(getattr(whole, name), (2, 3))[1, 1] == pytest.approx(getattr(one, name))


@pytest.mark.parametrize("method", METHODS)
def test_verdicts_follow_the_band(method: str) -> None:
    run = training("llama-3.2-1b", method=method)
    need = float(estimate(run).needed_bytes)
    band = TABLES.bands["peak_gib_per_gpu"]
    verdicts = {
        share: estimate(run, GpuMemory("test", need * share), band=band).verdict
        for share in (1 + band.low - 0.01, 1.0, 1 + band.high + 0.01)
    }
    assert list(verdicts.values()) == [DOES_NOT_FIT, TIGHT, FITS]


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"parallel": Parallel(6, tensor=4)}, "gpus"),
        ({"parallel": Parallel(3, tensor=3)}, "tensor_parallel_size"),
        ({"parallel": Parallel(64, pipeline=64)}, "pipeline_parallel_size"),
        ({"parallel": Parallel(8, expert=3)}, "expert_parallel_size"),
        ({"parallel": Parallel(8, expert=4)}, "expert_parallel_size"),
        ({"parallel": Parallel(2, context=2), "seq_len": 2047}, "context_parallel_size"),
        ({"method": "lora", "targets": ("experts",)}, "lora_targets"),
        ({"method": "magic"}, "method"),
        ({"offload": "moon"}, "offload"),
    ],
)
def test_impossible_runs_are_refused_by_field(changes: dict[str, object], field: str) -> None:
    reason = refusal(training("llama-3.1-8b", **changes))
    assert reason is not None
    assert reason.startswith(f"{field}:")


def test_a_stand_in_has_the_size_asked_for() -> None:
    for size in (1e9, 7e9, 30e9, 70e9, 405e9):
        assert params_total(generic_architecture(size)) == pytest.approx(size, rel=0.12)
    with pytest.raises(ValueError, match="too few"):
        generic_architecture(10)


def test_logits_dominate_a_128k_vocabulary_and_a_fused_loss_removes_them() -> None:
    run = training("llama-3.2-1b", seq_len=8192, checkpointing="full")
    plain, fused = estimate(run), estimate(run.but(logit_bytes=0.5))
    assert plain.logits_bytes > 0.5 * plain.allocated_bytes
    assert plain.logits_bytes == pytest.approx(14 * 8192 * arch("llama-3.2-1b").vocab_size)
    assert fused.allocated_bytes < 0.6 * plain.allocated_bytes
