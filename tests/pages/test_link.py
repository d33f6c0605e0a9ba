"""The link contract: what goes into a link comes out of it; bad values are named, never used, never fatal."""

from __future__ import annotations

import base64
import json
import zlib
from hashlib import sha256
from typing import Any
from urllib.parse import parse_qs

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from calculators.scenario import (
    FIRST_YEAR,
    LAST_YEAR,
    MAX_CONCURRENCY,
    MAX_GPUS,
    MAX_MEMORY_GB,
    MAX_MICRO_BATCH,
    MAX_MODEL_LEN,
    MAX_PINNED,
    MAX_PURCHASE_USD,
    MAX_RENT_USD,
    MAX_TRAIN_GPUS,
    MAX_TRAIN_TOKENS,
    MIN_RENT_USD,
    Scenario,
)
from pages.ui import catalogue, link

KNOWN = catalogue.known()


def subset(name: str) -> st.SearchStrategy[tuple[str, ...]]:
    return st.lists(st.sampled_from(sorted(KNOWN[name])), unique=True, max_size=8).map(tuple)


def one(name: str) -> st.SearchStrategy[str]:
    return st.sampled_from(sorted(KNOWN[name]))


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.text(st.characters(codec="utf-8"), max_size=12),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.characters(codec="utf-8"), max_size=8), inner, max_size=4)
    ),
    max_leaves=20,
)
configs = st.just("") | st.dictionaries(
    st.text(st.characters(codec="utf-8"), max_size=12), json_values, min_size=1, max_size=8
).map(json.dumps)
shares = (
    st.none() | st.integers(5, 100).map(lambda n: n / 100) | st.floats(0.05, 1.0).map(lambda x: round(x, 6))
)
years = st.integers(FIRST_YEAR, LAST_YEAR)


def prices(least: float, most: int) -> st.SearchStrategy[tuple[tuple[str, float], ...]]:
    usd = st.floats(least, most).map(lambda x: round(x, 4))
    return st.dictionaries(one("gpus"), usd, max_size=6).map(lambda d: tuple(d.items()))


scenarios = st.builds(
    Scenario,
    model=one("models"),
    config_json=configs,
    weight_format=one("weight_formats"),
    kv_cache_dtype=one("kv_formats"),
    max_model_len=st.integers(1, MAX_MODEL_LEN),
    concurrency=st.integers(1, MAX_CONCURRENCY),
    prompt_tokens=st.integers(1, MAX_MODEL_LEN),
    output_tokens=st.integers(1, MAX_MODEL_LEN),
    engine=one("engines"),
    gpu_memory_utilization=shares,
    max_num_seqs=st.none() | st.integers(1, 8192),
    max_num_batched_tokens=st.none() | st.integers(1, MAX_MODEL_LEN),
    n_ubatch=st.none() | st.integers(1, 65536),
    flash_attention=st.sampled_from(["auto", "on", "off"]),
    enforce_eager=st.booleans(),
    swa_full=st.booleans(),
    gpus=subset("gpus"),
    gpu_count=st.integers(1, MAX_GPUS),
    split=st.sampled_from(["auto", "tensor", "pipeline", "pp2", "pp4", "pp8"]),
    expert_parallel=st.booleans(),
    pre_release=st.booleans(),
    map_gpu=st.just("") | one("gpus"),
    compare_view=one("compare_views"),
    precision=one("precisions"),
    baseline=st.just("") | one("gpus"),
    sparse=st.booleans(),
    min_memory_gb=st.integers(0, MAX_MEMORY_GB),
    max_memory_gb=st.integers(0, MAX_MEMORY_GB),
    since_year=years,
    until_year=years,
    vendors=subset("vendors"),
    architectures=subset("architectures"),
    form_factors=subset("form_factors"),
    column_groups=subset("column_groups"),
    priced=st.booleans(),
    pinned_only=st.booleans(),
    # fine-tuning and training
    task=st.sampled_from(["serve", "finetune", "train"]),
    method=st.sampled_from(["qlora", "lora", "full"]),
    lora_rank=st.none() | st.integers(1, 4096),
    lora_targets=subset("lora_targets"),
    optimizer=st.just("") | one("optimizers"),
    training_precision=st.just("") | one("training_precisions"),
    training_framework=st.just("") | one("training_frameworks"),
    seq_len=st.none() | st.integers(1, MAX_MODEL_LEN),
    micro_batch=st.integers(1, MAX_MICRO_BATCH),
    accumulation=st.none() | st.integers(1, 65536),
    checkpointing=st.sampled_from(["auto", "none", "selective", "full"]),
    zero_stage=st.sampled_from(["auto", "0", "1", "2", "3"]),
    train_tensor=st.none() | st.integers(1, 1024),
    train_gpus=st.integers(1, MAX_TRAIN_GPUS),
    train_tokens=st.integers(1, MAX_TRAIN_TOKENS),
    samples=st.integers(1, 100_000_000),
    epochs=st.floats(0.01, 1000).map(lambda x: round(x, 6)),
    deadline_days=st.none() | st.floats(0.01, 36500).map(lambda x: round(x, 6)),
    # cost
    price_edits=prices(MIN_RENT_USD, MAX_RENT_USD),
    purchase_edits=prices(0, MAX_PURCHASE_USD),
    price_basis=st.sampled_from(["median", "low", "high", "spot", "own"]),
    cost_view=st.sampled_from(["month", "tokens"]),
    cost_gpu=st.just("") | one("gpus"),
    least_tokens_per_s=st.floats(0, 1000).map(lambda x: round(x, 6)),
    busy_share=st.floats(0.01, 1).map(lambda x: round(x, 6)),
    usd_per_kwh=st.floats(0, 10).map(lambda x: round(x, 6)),
    power_usage_effectiveness=st.floats(1, 3).map(lambda x: round(x, 6)),
    own_years=st.floats(0.1, 20).map(lambda x: round(x, 6)),
    host_usd=st.floats(0, MAX_PURCHASE_USD).map(lambda x: round(x, 2)),
    runs_per_month=st.floats(0.01, 1000).map(lambda x: round(x, 6)),
    lost_hours_per_week=st.floats(0, 1000).map(lambda x: round(x, 6)),
    small_memory_gb=st.integers(0, MAX_MEMORY_GB),
    usd_per_person_hour=st.floats(0, 1000).map(lambda x: round(x, 6)),
)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(scenarios)
def test_a_link_reopens_exactly_the_same_scenario(scenario: Scenario) -> None:
    query = parse_qs(link.query_string(scenario), keep_blank_values=True)
    assert link.parse(query, KNOWN) == (scenario, ())


def test_every_field_of_the_scenario_travels() -> None:
    assert {param.field for param in link.CONTRACT} == set(Scenario.model_fields)


def test_names_are_short_stable_and_not_streamlits() -> None:
    for name in link.PARAMS:
        assert name.islower()
        assert name.isalpha()
        assert len(name) <= 8
        assert name not in link.RESERVED


def test_the_default_link_is_bare() -> None:
    assert link.query_string(Scenario()) == ""
    assert link.parse({}, KNOWN) == (Scenario(), ())


def test_defaults_are_in_the_catalogues() -> None:
    for param in link.CONTRACT:
        if param.choices:
            values = param.default if isinstance(param.default, tuple) else (param.default,)
            assert not {v for v in values if v} - set(KNOWN[param.choices]), param.name


JUNK = [
    "banana",
    "-1",
    "999999999",
    "1e9",
    "0x10",
    "١٢",
    "nan",
    "NaN",
    "8192 ",
    "<script>",
    "..",
    "%00",
    "\x00",
    "a" * 9000,
]


@pytest.mark.parametrize("value", JUNK, ids=[repr(v[:12]) for v in JUNK])
@pytest.mark.parametrize("param", link.CONTRACT, ids=lambda p: p.name)
def test_junk_is_named_and_falls_back(param: link.Param, value: str) -> None:
    scenario, notices = link.parse({param.name: [value]}, KNOWN)
    if param.codec is link.LARGE_INTEGER and value == "999999999":  # a number of tokens like any other
        assert (getattr(scenario, param.field), notices) == (999_999_999, ())
        return
    assert getattr(scenario, param.field) == param.default or value == "999999999"
    assert [n.param for n in notices] == [param.name]
    assert len(notices[0].text()) < 400


@pytest.mark.parametrize("param", link.CONTRACT, ids=lambda p: p.name)
def test_an_empty_value_is_named_and_is_the_default(param: link.Param) -> None:
    scenario, notices = link.parse({param.name: [""]}, KNOWN)
    assert scenario == Scenario()
    assert [(n.param, n.reason) for n in notices] == [(param.name, "is empty")]


def test_many_bad_values_are_counted() -> None:
    _, notices = link.parse({"gpus": [".".join(["l40s-48gb", *(f"no-{i}" for i in range(25))])]}, KNOWN)
    assert len(notices) == 11
    assert "and 15 more" in notices[-1].text()
    _, notices = link.parse({f"zz{i}": ["1"] for i in range(13)}, KNOWN)
    assert "and 3 more" in notices[-1].text()


@pytest.mark.parametrize(
    ("text", "kept", "named"),
    [
        ("l4-24gb~0.8_l40s-48gb~1.25", {"l4-24gb": 0.8, "l40s-48gb": 1.25}, []),
        ("l4-24gb~0.8_nope~1", {"l4-24gb": 0.8}, ["nope~1"]),
        ("l4-24gb~free_l40s-48gb~1", {"l40s-48gb": 1.0}, ["l4-24gb~free"]),
        ("l4-24gb~-1", {}, ["l4-24gb~-1"]),
        ("l4-24gb~99999", {}, ["l4-24gb~99999"]),
        ("l4-24gb~1_l4-24gb~2", {"l4-24gb": 1.0}, ["l4-24gb~2"]),
        ("l4-24gb~0", {}, ["l4-24gb~0"]),  # a rent of nothing: no ratio, no break-even
        ("l4-24gb~0_l40s-48gb~0.0001", {"l40s-48gb": 0.0001}, ["l4-24gb~0"]),
    ],
)
def test_prices_that_cannot_be_used_are_named_one_by_one(
    text: str, kept: dict[str, float], named: list[str]
) -> None:
    scenario, notices = link.parse({"price": [text]}, KNOWN)
    assert dict(scenario.price_edits) == kept
    assert [notice.value for notice in notices] == named


def test_no_more_prices_than_a_link_may_carry() -> None:
    text = "_".join(["l4-24gb~1", *(f"no-{i}~1" for i in range(MAX_PINNED + 30))])
    scenario, notices = link.parse({"price": [text]}, KNOWN)
    assert scenario.price_edits == (("l4-24gb", 1.0),)
    assert len(notices) == 11
    assert "and 120 more" in notices[-1].text()


def test_ids_of_gpus_hold_none_of_the_marks_between_prices() -> None:
    assert not [gpu for gpu in KNOWN["gpus"] if "_" in gpu or "~" in gpu or "." in gpu]


def test_half_a_character_does_not_travel() -> None:
    with pytest.raises(link.LinkError, match="surrogate"):
        link.pack_config('{"x":"\ud800"}')


@pytest.mark.parametrize(
    ("query", "field", "value", "says"),
    [
        ({"ctx": ["1024", ""]}, "max_model_len", Scenario().max_model_len, "the last is empty"),
        ({"ctx": ["1024", "4096"]}, "max_model_len", 4096, "more than once"),
        ({"ctx": ["2000000"]}, "max_model_len", 8192, "above the largest value"),
        ({"users": ["0"]}, "concurrency", 1, "below the smallest value"),
        ({"ctx": ["3.7"]}, "max_model_len", 8192, "not a whole number"),
        ({"gpus": ["l40s-48gb.nope"]}, "gpus", ("l40s-48gb",), "not in the catalogue"),
        ({"model": ["gpt-99"]}, "model", "llama-3.3-70b", "not in the catalogue"),
        ({"fa": ["perhaps"]}, "flash_attention", "auto", "none of"),
        ({"contxt": ["1"]}, "max_model_len", 8192, "not a parameter"),
    ],
)
def test_notices_say_what_was_wrong(query: dict[str, list[str]], field: str, value: Any, says: str) -> None:
    scenario, notices = link.parse(query, KNOWN)
    assert getattr(scenario, field) == value
    assert len(notices) == 1
    assert says in notices[0].text()


def test_foreign_words_stay_inside_code_marks() -> None:
    _, notices = link.parse({"![x](http://evil)`": ["`![y](http://evil)`\n# title"]}, KNOWN)
    text = notices[0].text()
    assert "\n" not in text
    outside = "".join(text.split("`")[::2])
    assert "http" not in outside
    assert text.count("`") == 4


@given(
    st.dictionaries(st.text(max_size=10), st.lists(st.text(max_size=40), min_size=1, max_size=3), max_size=5)
)
def test_no_query_breaks_the_reader(query: dict[str, list[str]]) -> None:
    scenario, notices = link.parse(query, KNOWN)
    assert isinstance(scenario, Scenario)
    assert all(n.text() for n in notices)


@given(st.sampled_from(sorted(link.PARAMS)), st.text(max_size=60))
def test_no_value_breaks_the_reader(name: str, value: str) -> None:
    scenario, _ = link.parse({name: [value]}, KNOWN)
    assert isinstance(scenario, Scenario)


def packed(data: bytes) -> str:
    return base64.urlsafe_b64encode(zlib.compress(data, 9)).decode().rstrip("=")


@pytest.mark.parametrize(
    "text",
    [
        packed(b"x" * 100_000_000),  # inflates to a hundred megabytes
        packed(b"[1]"),
        packed(b"\xff\xfe"),
        packed(b'{"a":' * 3000),
        packed(b"{}")[:-3],
        "not base64 !",
    ],
    ids=["bomb", "list", "not UTF-8", "deep", "cut", "junk"],
)
def test_a_bad_config_in_a_link_is_left_out(text: str) -> None:
    scenario, notices = link.parse({"config": [text]}, KNOWN)
    assert scenario == Scenario()
    assert notices[0].param == "config"


def test_a_config_too_large_for_a_link_is_said_so() -> None:
    noise = "".join(sha256(str(i).encode()).hexdigest() for i in range(200))
    with pytest.raises(link.LinkError, match="more than the"):
        link.query_string(Scenario(config_json=json.dumps({"noise": noise})))
