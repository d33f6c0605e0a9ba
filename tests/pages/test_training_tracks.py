"""What the Fit page looks up and says for fine-tuning and training."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from calculators.memory import DOES_NOT_FIT, FITS, TIGHT
from calculators.scenario import Scenario
from calculators.training import MEMORY_PARTS, estimate, gpus_for_deadline
from gpu_data.training import training_tables
from pages.ui import (
    catalogue,
    tracks,
    training_changes,
    training_load,
    training_tracks,
    training_views,
    words,
    workload,
)
from pages.ui.training_load import TrainingLoad


def load(**fields: Any) -> TrainingLoad:
    return training_load.load(Scenario(**fields))


def finetune(**fields: Any) -> TrainingLoad:
    return load(task="finetune", **fields)


def train(**fields: Any) -> TrainingLoad:
    return load(task="train", **fields)


def first(found: TrainingLoad) -> dict[str, Any]:
    return training_tracks.build(found).data["tracks"]["context"]


# ---------------------------------------------------------------- published values


def test_a_65b_model_in_qlora_on_one_48_gb_card_is_not_refused() -> None:
    """Dettmers et al. 2023 (QLoRA), abstract: 65B on a single 48 GB GPU; here the next Llama."""
    runs = finetune(model="llama-3.3-70b", gpus=("rtx-a6000-48gb",), seq_len=512).runs()
    assert runs.verdict[0] in (TIGHT, FITS)
    assert (
        finetune(model="llama-3.3-70b", gpus=("rtx-4090-24gb",), seq_len=512).runs().verdict[0]
        == DOES_NOT_FIT
    )


@pytest.mark.parametrize(
    ("model", "gpu", "gpus", "tokens", "hours"),
    [
        pytest.param("llama-2-7b", "a100-sxm4-80gb", 512, 2_000, 184_320, id="Llama 2 7B, model card"),
        pytest.param("llama-2-13b", "a100-sxm4-80gb", 512, 2_000, 368_640, id="Llama 2 13B, model card"),
        pytest.param("llama-3-70b", "h100-sxm5-80gb", 8192, 15_000, 6_400_000, id="Llama 3 70B, model card"),
        pytest.param(
            "llama-3.1-405b", "h100-sxm5-80gb", 16384, 15_600, 30_840_000, id="Llama 3.1 405B, card"
        ),
    ],
)
def test_published_gpu_hours_lie_in_the_band_of_the_page(
    model: str, gpu: str, gpus: int, tokens: int, hours: float
) -> None:
    runs = train(model=model, gpus=(gpu,), train_gpus=gpus, train_tokens=tokens * 10**9).runs()
    assert runs.gpu_hours_low[0] <= hours <= runs.gpu_hours_high[0]


# ---------------------------------------------------------------- laws of the page


CASES = [
    finetune(),
    finetune(method="lora", model="llama-3.1-8b", gpu_count=2),
    finetune(method="full", model="qwen3-30b-a3b", gpu_count=8),
    train(model="llama-2-7b"),
    train(model="deepseek-v3", train_gpus=2048, optimizer="adamw-8bit"),
]


@pytest.mark.parametrize("found", CASES, ids=lambda found: found.work)
def test_both_tracks_say_the_same_where_they_meet(found: TrainingLoad) -> None:
    tracks = training_tracks.build(found).data["tracks"]
    a, b = tracks["context"], tracks["users"]
    for key in ("verdicts", "gib", "needed", "said", "more", "best", "also"):
        assert a[key][a["index"]] == b[key][b["index"]], key
    runs = found.runs()
    assert a["verdicts"][a["index"]] == runs.verdict.tolist()
    np.testing.assert_allclose(a["needed"][a["index"]], runs.needed_bytes / 2**30, atol=2e-3)


@pytest.mark.parametrize("found", CASES, ids=lambda found: found.work)
def test_a_track_has_every_stop_of_every_gpu(found: TrainingLoad) -> None:
    data = training_tracks.build(found).data
    assert len(data["parts"]) == len(MEMORY_PARTS)
    for track in data["tracks"].values():
        stops = len(track["stops"])
        assert track["stops"] == sorted(set(track["stops"]))
        for key in (
            "texts",
            "sentences",
            "best",
            "also",
            "gib",
            "needed",
            "verdicts",
            "said",
            "more",
        ):
            assert len(track[key]) == stops, key
        assert track["zones"][0][1] == 0
        assert track["zones"][-1][2] == stops - 1
        for gib, needed in zip(track["gib"], track["needed"], strict=True):
            np.testing.assert_allclose([sum(parts) for parts in gib], needed, atol=4e-3)


def test_the_legend_names_every_line_that_the_bars_draw() -> None:
    """A budget is drawn for every GPU, what is reserved only where the tracks say how much."""
    serve = tracks.build(workload.load(Scenario())).data
    for data in (serve, *(training_tracks.build(found).data for found in (finetune(), train()))):
        reserves = {"reserved" in track for track in data["tracks"].values()}
        kinds = {kind for kind, _ in data["marks"]}
        assert kinds == {"line", "dash"} | ({"held"} if True in reserves else set())
        assert len(reserves) == 1


@pytest.mark.parametrize("found", CASES, ids=lambda found: found.work)
def test_a_longer_sequence_never_makes_a_gpu_fit(found: TrainingLoad) -> None:
    assert (np.diff(np.array(first(found)["verdicts"]), axis=0) <= 0).all()


@pytest.mark.parametrize("model", ["llama-2-7b", "llama-2-70b", "deepseek-v3"])
def test_twice_as_many_gpus_take_fewer_days(model: str) -> None:
    found = train(model=model)
    many = found.many(found.pinned, boards=np.array([2**k for k in range(9, 15)]))
    assert (np.diff(found.hours(many)[0] / many.gpus, axis=1) < 0).all()


@pytest.mark.parametrize("found", CASES, ids=lambda found: found.work)
def test_the_terms_show_numbers_that_give_their_bytes(found: TrainingLoad) -> None:
    """Terms that are a plain product: the numbers as written, multiplied."""
    way = next(way for way in found.runs().ways if way is not None)
    plain = ("weights", "gradients", "logits and loss", "one layer computed again")
    for term in estimate(way, None, dict(training_tables().constants)).terms:
        if term.name not in plain or way.offload != "none":
            continue
        factors = re.sub(r"\(.*?\)", "", term.substituted).replace(",", "").split(" x ")
        product = np.prod([float(re.findall(r"[\d.e-]+", factor)[0]) for factor in factors])
        if term.name == "gradients" and float(term.bytes) < product:
            continue  # one block's at a time
        assert product == pytest.approx(float(term.bytes), rel=5e-3), term.name


# ---------------------------------------------------------------- what the page says


def test_the_sentence_of_a_fine_tune_gives_memory_and_time() -> None:
    data = first(finetune(gpus=("h100-sxm5-80gb",)))
    sentence = data["sentences"][data["index"]]
    assert re.match(
        r"QLoRA of Llama 3\.3 70B Instruct fits on 1 × H100 SXM5 80GB with [\d.]+ GiB to spare, "
        r"safely up to [\d,]+ tokens; 50,000 samples × 3 epochs take [\d.]+ hours \(80\s%: ",
        sentence,
    )


def test_the_sentence_of_a_training_run_gives_the_time_of_the_fastest() -> None:
    data = training_tracks.build(train(model="llama-2-7b")).data["tracks"]["users"]
    sentence = data["sentences"][data["index"]]
    assert re.match(
        r"Training Llama 2 7B on 1T tokens takes [\d.]+ days \(80\s%: .*\) on 64 × H100", sentence
    )
    assert "1 × " in data["sentences"][0]


def test_a_gpu_that_is_too_small_is_given_no_time() -> None:
    data = first(finetune(gpus=("rtx-4090-24gb",)))
    assert "does not fit" in data["said"][data["index"]][0]
    assert "tokens/s" not in data["more"][data["index"]][0]


def test_a_gpu_without_a_known_peak_says_so() -> None:
    data = first(finetune(gpus=("apple-m3-ultra",), model="llama-3.1-8b"))
    assert (
        "speed not known: no known dense BF16 or FP16 peak" in data["more"][data["index"]][0]
        or "not possible" in (data["said"][data["index"]][0])
    )


def test_a_split_that_cannot_be_is_said_at_that_stop_only() -> None:
    track = training_tracks.build(train(train_tensor=4, gpus=("h100-sxm5-80gb",))).data["tracks"]["users"]
    assert track["said"][track["stops"].index(2)] == ["not possible"]
    assert track["more"][track["stops"].index(2)][0].startswith("gpus: 2")
    assert track["said"][track["stops"].index(8)] != ["not possible"]


def test_announced_gpus_are_called_so() -> None:
    data = training_tracks.build(train(gpus=("rubin-sxm-288gb",), pre_release=True)).data
    assert data["gpus"][0]["remark"] == "announced, not on sale yet"


# ---------------------------------------------------------------- what would make it fit


def advised(found: TrainingLoad, small: list[int]) -> list[training_changes.Advice]:
    runs = found.runs()
    return training_changes.first_changes(
        found,
        [runs.gpus[i] for i in small],
        [int(runs.verdict[i]) for i in small],
        [float(runs.headroom_bytes[i]) for i in small],
    )


@pytest.mark.parametrize(
    "found",
    [
        finetune(),
        finetune(micro_batch=32, seq_len=8192),
        finetune(method="full", model="llama-3.1-8b", checkpointing="none", micro_batch=8),
        train(model="llama-3.1-405b"),
        train(model="llama-2-7b", zero_stage="1", train_gpus=8, micro_batch=4),
    ],
    ids=lambda found: found.work,
)
def test_a_change_keeps_its_promise(found: TrainingLoad) -> None:
    runs = found.runs()
    small = [i for i in range(len(runs.gpus)) if runs.verdict[i] != FITS]
    assert small
    advice = advised(found, small)
    assert any(one.change for one in advice)
    for i, one in zip(small, advice, strict=True):
        for change in filter(None, (one.change, one.roomier)):
            after = training_load.load(Scenario(**(found.scenario.model_dump() | change.fields)))
            then = after.runs([workload.pinned(runs.gpus[i].id, after.boards)])
            assert then.verdict[0] == change.verdict
            assert then.headroom_bytes[0] == pytest.approx(change.headroom_bytes)
        assert one.change is None or one.change.verdict > runs.verdict[i]
        assert one.roomier is None or one.roomier.headroom_bytes > runs.headroom_bytes[i]


def test_more_gpus_are_not_the_only_advice_for_one_tight_card() -> None:
    (one,) = advised(finetune(gpus=("rtx-a6000-48gb",)), [0])
    assert one.change is not None
    assert list(one.change.fields) == ["gpu_count"]
    assert one.roomier is not None
    assert one.roomier.fields == {"fused_loss": "on"}


def test_the_mildest_change_comes_first() -> None:
    found = finetune(micro_batch=16, gpus=("h100-sxm5-80gb",))
    change = advised(found, [0])[0].change
    assert change is not None
    assert list(change.fields) == ["micro_batch"]
    one_more = training_load.changed(found, micro_batch=change.fields["micro_batch"] + 1)
    assert one_more.runs().verdict[0] != FITS


# ---------------------------------------------------------------- the deadline


@pytest.mark.parametrize("days", [3.0, 14.0, 100.0])
def test_the_number_of_gpus_for_a_deadline_is_the_smallest(days: float) -> None:
    found = train(model="llama-2-7b", gpus=("h100-sxm5-80gb", "rtx-4090-24gb"))
    for gpu, (count, sure) in zip(found.pinned, found.gpus_for_deadline(days), strict=True):
        assert count is not None
        assert sure is not None
        assert sure >= count
        step = 8 if count > 8 else 1
        runs = found.runs([workload.pinned(gpu.id, n) for n in (count, max(count - step, 1))])
        assert runs.days[0] <= days
        assert runs.days[1] > days or runs.verdict[1] == DOES_NOT_FIT
        way, kind = runs.ways[0], found.kinds([gpu])[0]
        assert way is not None
        assert kind.speed is not None
        same = gpus_for_deadline(
            way, kind.speed, training_tables(), found.tokens, days, range(8, 4 * count + 9, 8)
        )
        assert same == pytest.approx(count, abs=8)


def test_defaults_are_the_tasks_own_and_are_shown() -> None:
    assert (finetune().optimizer.id, finetune().checkpointing, finetune().precision.id) == (
        "paged-adamw",
        "full",
        "bf16",
    )
    assert (train().framework.id, train().checkpointing, train().method) == (
        "torchtitan",
        "selective",
        "full",
    )
    assert finetune(method="full").precision.id == "mixed"


@pytest.mark.parametrize(
    ("days", "says"),
    [
        (0.0005, "0.72 minutes"),
        (0.02, "28.8 minutes"),
        (0.5, "12.0 hours"),
        (18.74, "18.7 days"),
        (900, "2.5 years"),
    ],
)
def test_lengths_of_time_in_words(days: float, says: str) -> None:
    assert words.span(days) == says


def test_every_catalogue_gpu_and_many_models_give_a_page_without_fault() -> None:
    gpus = tuple(catalogue.gpus().index)[:60]
    for model in ("llama-3.2-1b", "mixtral-8x7b", "falcon-mamba-7b", "gemma-3-27b"):
        for task in ("finetune", "train"):
            data = training_tracks.build(load(task=task, model=model, gpus=gpus, pre_release=True)).data
            for track in data["tracks"].values():
                assert not any("nan" in text.lower().split() for row in track["more"] for text in row)


def test_a_batch_beyond_every_published_one_is_said_in_the_verdict_and_the_notes() -> None:
    """4 million tokens a step are usual, 200 million (one sequence of 4,096 on 49,152 GPUs) are not."""
    usual = train(model="llama-2-7b", gpus=("h100-sxm5-80gb",), train_gpus=512)
    wide = train(model="llama-2-7b", gpus=("h100-sxm5-80gb",), train_gpus=49_152)
    for found, said in ((usual, False), (wide, True)):
        track = training_tracks.build(found).data["tracks"]["users"]
        assert ("more than any published run" in track["sentences"][track["index"]]) == said
        notes = training_views.time_notes(found, found.runs(), deadline=False)
        assert any(note.startswith("Steps of up to") for note in notes) == said


@pytest.mark.parametrize(("gpu", "devices"), [("mi250x-128gb", 16), ("h100-sxm5-80gb", 0)])
def test_gpus_are_counted_as_boards_in_the_verdict(gpu: str, devices: int) -> None:
    found = train(model="llama-3.2-1b", gpus=(gpu,), train_gpus=8)
    track = training_tracks.build(found).data["tracks"]["users"]
    said = track["sentences"][track["index"]]
    assert "8 × " in said
    assert ("(16 devices)" in said) == bool(devices)
