"""What the field says about these GPUs, run through our own numbers: agree, disagree, or no data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from typing import Literal

from calculators import cost
from calculators.scenario import Scenario
from gpu_data import mig
from gpu_data.judgements import Source, sources_of
from pages.ui import catalogue, cost_text, recommend_slices, recommend_views, words
from pages.ui.recommend_load import Choice, Recommendation, recommend, with_purpose
from pages.ui.training_load import METHOD_NAMES

Outcome = Literal["agree", "partly", "disagree", "no data"]
usd = cost_text.usd

H100, A100, A6000 = "h100-sxm5-80gb", "a100-sxm4-80gb", "rtx-a6000-48gb"
L40S, RTX_4090 = "l40s-48gb", "rtx-4090-24gb"
FOUR = (H100, A100, A6000, L40S)


@dataclass(frozen=True, slots=True)
class Judgement:
    """A common judgement, what our numbers say, and whether they agree."""

    id: str
    claim: str
    outcome: Outcome
    numbers: str

    @property
    def sources(self) -> tuple[Source, ...]:
        """Who makes it."""
        return sources_of(self.id)


def _found(today: date, asked: str, **fields: object) -> Recommendation:
    s = Scenario.model_validate(fields)
    return recommend(s.model_copy(update=with_purpose(s, asked)), today)


def _usd(one: Choice) -> float:
    assert one.usd is not None
    return float(one.usd.value)


def _days(one: Choice) -> float:
    assert one.seconds is not None
    return float(one.seconds.value) / 86400


def _known(found: Recommendation, gpus: tuple[str, ...]) -> dict[str, Choice]:
    return {one.gpu: one for gpu in gpus if (one := found.of(gpu)) is not None and one.reason is None}


def _large_training(today: date) -> Judgement:
    found = _found(today, "train", model="llama-3.1-70b", train_gpus=512)
    four = _known(found, FOUR)
    by_time, by_cost = sorted(four, key=lambda g: _days(four[g])), sorted(four, key=lambda g: _usd(four[g]))
    lead = {H100, A100}
    agree = set(by_time[:2]) == lead and set(by_cost[:2]) == lead
    told = "; ".join(
        f"{catalogue.gpu_name(g)} {words.span(_days(four[g]))}, {usd(_usd(four[g]))}" for g in by_time
    )
    fast = _found(today, "train", model="llama-3.1-70b", train_gpus=512, objective="fastest").best
    beyond: dict[str, list[str]] = {}  # what each other card is
    for one, what in ((fast, "faster"), (found.best, "cheaper")):
        if one is not None and one.gpu not in lead:
            value = words.span(_days(one)) if what == "faster" else usd(_usd(one))
            beyond.setdefault(one.name, []).append(f"{what} still ({value})")
    said = words.listed([f"{name} is {words.listed(what)}" for name, what in beyond.items()])
    more = f" Where we differ: these are four cards; of all cards here {said}." if said else ""
    return Judgement(
        "large-training",
        "H100 and A100 lead the training of large models.",
        "agree" if agree else "partly" if set(by_time[:2]) == lead else "disagree",
        f"Llama 3.1 70B on 1T tokens, 512 GPUs of each kind: {told}.{more}",
    )


def _l40s_training(today: date) -> Judgement:
    training = _known(_found(today, "train", model="llama-3.1-70b", train_gpus=64), (L40S, A100))
    free = {"model": "llama-3.1-8b", "weight_format": "fp8", "format_freedom": "8bit"}
    served = _known(_found(today, "batch", **free), (L40S, A100))
    train = _days(training[L40S]) / _days(training[A100])
    rate = {}
    for gpu, one in served.items():
        assert one.output_per_s is not None
        rate[gpu] = float(one.output_per_s.value) / one.gpus
    infer = rate[A100] / rate[L40S]
    link = recommend_views.link_shares(Scenario(model="llama-3.3-70b"), (L40S, A100))
    shares = "; ".join(
        f"{catalogue.gpu_name(gpu)} {100 * by_count[4][1]:.0f} %"
        for gpu, by_count in link.items()
        if 4 in by_count
    )
    return Judgement(
        "l40s-training",
        "L40S suits inference rather than training over many GPUs, for want of NVLink.",
        "agree" if train > 1.2 * infer else "partly" if train > infer else "disagree",
        f"Against an A100 it takes {train:.2f} times as long to train a 70B model on 64 GPUs, "
        f"and {infer:.2f} "
        "times as long to answer a batch with an 8B model on one (each in the cheaper of BF16 and FP8). "
        f"Exchanging layers over 4 GPUs takes, of the time to read a prompt with a 70B model: {shares}.",
    )


def _a6000_workstation(today: date) -> Judgement:
    asked = (
        ("qlora", "llama-3.1-8b", 1, True),
        ("lora", "llama-3.1-8b", 1, True),
        ("qlora", "qwen2.5-32b", 1, True),
        ("full", "llama-3.1-8b", 2, False),
    )
    told, right = [], []
    for method, model, most, expected in asked:
        found = _found(today, method, model=model, max_gpus=most)
        one = found.of(A6000)
        fits = one is not None and one.reason is None and not one.tight
        right.append(fits == expected)
        name = catalogue.model_names()[model].partition(" · ")[0]
        time = "" if not fits or one is None else f" in {words.span(_days(one))}"
        told.append(
            f"{METHOD_NAMES[method]} of {name} on {most}: {'fits' + time if fits else 'does not surely fit'}"
        )
    return Judgement(
        "a6000-workstation",
        "RTX A6000 handles small and mid-size training on a workstation.",
        "agree" if all(right) else "partly" if any(right[:3]) else "disagree",
        "; ".join(told) + ".",
    )


def cost_per_million(today: date, users: int, gpus: tuple[str, ...], **fields: object) -> dict[str, float]:
    """USD per million tokens read and written by so many users, on as few of each GPU as hold them all."""
    found = _found(today, "one" if users == 1 else "many", concurrency=users, **fields)
    s = found.scenario
    told = {}
    for gpu, one in _known(found, gpus).items():
        assert one.output_per_s is not None
        rate = cost.all_tokens_per_s(float(one.output_per_s.value), s.prompt_tokens, s.output_tokens)
        told[gpu] = float(cost.usd_per_million_tokens(_usd(one) / cost.HOURS_PER_MONTH, rate))
    return told


def _h100_concurrency(today: date) -> Judgement:
    cards, told, ratios = (H100, A100, L40S), [], []
    found: dict[str, float] = {}
    for users in (1, 8, 64, 256):
        found = cost_per_million(today, users, (*cards, RTX_4090), model="llama-3.3-70b", weight_format="fp8")
        ratios.append(found[H100] / min(found[A100], found[L40S]))
        told.append(f"{users:,}: {', '.join(usd(found[gpu]) for gpu in cards)}")
    small = cost_per_million(today, 1024, (H100, L40S), model="llama-3.1-8b", weight_format="fp8")
    home, narrow = found[H100] / found[RTX_4090], small[H100] / small[L40S]
    falls, pays = ratios[-1] < ratios[0], ratios[0] > 1 > ratios[-1]
    return Judgement(
        "h100-concurrency",
        "H100 pays for inference only at high concurrency.",
        "agree" if pays and max(narrow, home) < 1 else "partly" if falls else "disagree",
        f"USD per million tokens of H100, A100, L40S with a 70B model in FP8, by users at "
        f"once: {'; '.join(told)}. "
        f"H100 goes from {ratios[0]:.2f} to {ratios[-1]:.2f} times the cost of the cheaper of "
        f"the others. Where we "
        f"differ: with an 8B model it still costs {narrow:.2f} times an L40S at 1,024 users, "
        f"and RTX 4090s, which "
        f"nobody quotes in such numbers, do the 70B model for {1 / home:.2f} times its cost.",
    )


def _rtx_4090_value(today: date) -> Judgement:
    told, right = [], []
    for model in ("llama-2-7b", "llama-3.1-8b", "llama-2-13b"):
        found = _known(_found(today, "one", model=model, max_model_len=4096, max_gpus=1), (RTX_4090, H100))
        if len(found) < 2:
            right.append(False)
            continue
        small, large = found[RTX_4090], found[H100]
        assert small.seconds is not None
        assert large.seconds is not None
        cheaper = _usd(large) / _usd(small)
        slower = float(small.seconds.value) / float(large.seconds.value)
        right.append(cheaper > slower)
        name = catalogue.model_names()[model].partition(" · ")[0]
        told.append(f"{name}: {cheaper:.1f} times cheaper, {slower:.1f} times as slow")
    return Judgement(
        "4090-value",
        "RTX 4090 is the better value while everything fits in 24 GB (7B to 13B in 4 bits, one user).",
        "agree" if all(right) else "partly" if any(right) else "disagree",
        f"AWQ INT4, one user, against an H100: {'; '.join(told)}.",
    )


def _mig_tenants(today: date) -> Judgement:
    s = Scenario(model="llama-3.1-8b", weight_format="awq-int4", max_model_len=4096)
    slices = recommend_slices.rows_of(s, (H100, A100))
    able = {
        gpu: max(
            (row for row in slices if row.gpu == gpu and row.fits), key=lambda row: row.most, default=None
        )
        for gpu in (H100, A100)
    }
    fits = {gpu: 0 if row is None else row.most for gpu, row in able.items()}
    named = {
        gpu: f"{row.most} × {row.name} ({words.gib(row.memory_bytes)} each)" if row else "no slice"
        for gpu, row in able.items()
    }
    without = [catalogue.gpu_name(g) for g in (L40S, A6000, RTX_4090) if not recommend_slices.slices_words(g)]
    return Judgement(
        "mig-tenants",
        "With many tenants, MIG and headroom decide.",
        "agree" if min(fits.values()) > 1 and len(without) == 3 else "disagree",
        f"An 8B model in AWQ INT4 with 4,096 tokens fits {named[H100]} of one H100 and {named[A100]} of one "
        f"A100, each tenant with memory and bandwidth of its own. All profiles of the H100: "
        f"{mig.profiles(H100)}; of the A100: {mig.profiles(A100)}. {words.listed(without)} cannot be cut.",
    )


def _images(today: date) -> Judgement:
    found = _found(today, "images")
    measured = _known(found, (L40S, A100))
    rows = {gpu: catalogue.spec_row(gpu) for gpu in (L40S, A100)}
    peaks = float(rows[L40S]["dense_fp16_tflops"]) / float(rows[A100]["dense_fp16_tflops"])
    eight = float(rows[L40S]["dense_fp8_tflops"]) / float(rows[A100]["dense_fp16_tflops"])
    if len(measured) == 2:
        a, b = (measured[g].seconds for g in (A100, L40S))
        assert a is not None
        assert b is not None
        ratio = float(a.value) / float(b.value)
        outcome: Outcome = "agree" if ratio > 1.1 else "disagree"
        said = f"MLPerf: {ratio:.2f} times."
    else:
        outcome = "no data"
        said = (
            "No MLPerf Inference result of Stable Diffusion XL is of an A100, and we model no image models."
        )
    return Judgement(
        "l40s-images",
        "L40S beats A100 by about 1.2 times on image generation with FP8.",
        outcome,
        f"{said} Dense peaks alone: {peaks:.2f} times in FP16, {eight:.2f} times with FP8 against FP16; "
        f"bandwidth "
        f"{float(rows[L40S]['bandwidth_gb_per_s']) / float(rows[A100]['bandwidth_gb_per_s']):.2f} times.",
    )


ALL: dict[str, Callable[[date], Judgement]] = {
    "large-training": _large_training,
    "l40s-training": _l40s_training,
    "a6000-workstation": _a6000_workstation,
    "h100-concurrency": _h100_concurrency,
    "4090-value": _rtx_4090_value,
    "mig-tenants": _mig_tenants,
    "l40s-images": _images,
}


def sources(found: tuple[Judgement, ...]) -> tuple[Source, ...]:
    """Every page that makes one of the judgements, each once."""
    return tuple(dict.fromkeys(source for one in found for source in one.sources))


@lru_cache(maxsize=4)
def judgements(today: date) -> tuple[Judgement, ...]:
    """Every judgement, run now."""
    return tuple(run(today) for run in ALL.values())
