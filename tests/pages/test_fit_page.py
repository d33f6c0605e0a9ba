"""The Fit page and its frame, run without a browser."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from calculators.scenario import Scenario
from gpu_data.models import model_config
from pages.ui import fit_views, link, tracks, workload

APP = str(Path(__file__).resolve().parents[2] / "app.py")


def opened(query: Mapping[str, str | Sequence[str]] | None = None) -> AppTest:
    app = AppTest.from_file(APP, default_timeout=60)
    for name, value in (query or {}).items():
        app.query_params[name] = value if isinstance(value, str) else list(value)
    app.session_state["_verdict_drawn"] = True  # the component says so in a browser
    for expander in ("engine-options", "own-config"):  # open, as after a press
        app.session_state[expander] = True
    return app.run()


def scenario(app: AppTest) -> Scenario:
    return app.session_state["_last_scenario"]


def shown(app: AppTest) -> str:
    """Everything in words on the page."""
    parts = [*app.markdown, *app.caption, *app.warning, *app.error, *app.info]
    return "\n".join(str(part.value) for part in parts)


def test_the_landing_page_answers_without_a_question() -> None:
    app = opened()
    assert not app.exception
    assert not app.error
    assert not app.warning
    assert app.title[0].value == "Does my model fit?"
    assert scenario(app) == Scenario()


def numbers(app: AppTest) -> dict[str, str]:
    """The boxes beside the verdict, by field."""
    (live,) = [p.proto for p in app.get("bidi_component") if p.proto.component_name.endswith("scrubber")]
    return {one["field"]: one["value"] for one in json.loads(live.json)["numbers"]}


def test_a_deep_link_sets_every_control() -> None:
    app = opened(
        {"ctx": "32768", "users": "4", "weights": "fp8", "gpus": "l40s-48gb", "count": "2", "util": "0.8"}
    )
    assert not app.exception
    assert (scenario(app).max_model_len, scenario(app).concurrency) == (32768, 4)
    assert numbers(app)["gpu_count"] == "2"
    assert app.number_input(key="ui-gpu_memory_utilization").value == 0.8
    assert scenario(app).weight_format == "fp8"
    assert scenario(app).gpus == ("l40s-48gb",)


def test_a_control_writes_to_the_link() -> None:
    app = opened()
    app.toggle(key="ui-expert_parallel").set_value(True).run()
    assert app.session_state["ep"] == "1"
    assert scenario(app).expert_parallel
    app.toggle(key="ui-expert_parallel").set_value(False).run()
    assert app.session_state["ep"] == ""  # a default leaves the link


def scrubbed(app: AppTest, **texts: str) -> AppTest:
    """As after a scrubber's release, which only a browser can do."""
    app.session_state["_link_texts"] = app.session_state["_link_texts"] | texts
    return app.run()


def test_a_release_writes_to_the_link() -> None:
    app = scrubbed(opened(), ctx="4096", users="3")
    assert (scenario(app).max_model_len, scenario(app).concurrency) == (4096, 3)
    assert (app.query_params["ctx"], app.query_params["users"]) == ("4096", "3")


@pytest.mark.parametrize("name", link.PARAMS)
def test_a_junk_value_is_named_and_the_page_stands(name: str) -> None:
    app = opened({name: "~junk~"})
    assert not app.exception
    assert f"`{name}`" in app.warning[0].value
    assert scenario(app) == Scenario()


def test_empty_and_repeated_values_everywhere() -> None:
    empty = opened(dict.fromkeys(link.PARAMS, ""))
    assert scenario(empty) == Scenario()
    assert empty.warning[0].value.count("is empty") == len(link.PARAMS)
    assert not empty.button(key="tidy-link").click().run().warning
    app = opened({"ctx": ["1024", "2048"], "users": ["2", "3"]})
    assert not app.exception
    assert (scenario(app).max_model_len, scenario(app).concurrency) == (2048, 3)
    assert app.warning[0].value.count("more than once") == 2


def test_an_unknown_parameter_is_named() -> None:
    assert "`contxt`" in opened({"contxt": "1"}).warning[0].value


def test_tidying_the_link_removes_what_was_not_used() -> None:
    app = opened({"ctx": "banana", "gpus": "l40s-48gb.nope"})
    app.button(key="tidy-link").click().run()
    assert not app.warning
    assert app.session_state["ctx"] == ""
    assert app.session_state["gpus"] == "l40s-48gb"


def test_an_announced_gpu_in_a_link_is_said_to_be_one() -> None:
    app = opened({"gpus": "l40s-48gb.rubin-sxm-288gb"})
    assert "not released yet" in app.warning[0].value
    assert scenario(app).gpus == ("l40s-48gb",)
    assert scenario(opened({"gpus": "rubin-sxm-288gb", "pre": "1"})).gpus == ("rubin-sxm-288gb",)


def test_a_gpu_is_pinned_by_name_and_unpinned_by_pressing_it() -> None:
    app = opened()
    app.selectbox(key="add-gpu").set_value("a10-24gb").run()
    assert scenario(app).gpus[-1] == "a10-24gb"
    pills = app.button_group(key="ui-gpus")
    pills.set_value(["l40s-48gb"]).run()
    assert scenario(app).gpus == ("l40s-48gb",)
    app.button_group(key="ui-gpus").set_value([]).run()
    assert scenario(app).gpus == ()
    assert not app.exception


def test_no_gpu_pinned_stays_so_in_the_link() -> None:
    app = opened({"gpus": "."})
    assert not app.warning
    assert scenario(app).gpus == ()


@pytest.mark.parametrize(
    "asked",
    [
        Scenario(gpus=("rtx-4090-24gb",)),
        *(
            Scenario(
                model="llama-3.1-405b",
                weight_format="awq-int4",
                gpus=("h100-sxm5-80gb",),
                gpu_count=2,
                split=split,
            )
            for split in ("tensor", "pp2", "pipeline")
        ),
    ],
    ids=["one card", "tensor", "pp2", "pipeline"],
)
def test_a_change_leads_to_what_it_promised(asked: Scenario) -> None:
    """Applied, it stands on the page as it was promised, also with a split of one's own before."""
    rows, fields = fit_views.changes(workload.load(asked))
    assert [row["able"] for row in rows] == [True]
    assert "to spare" in rows[0]["text"]
    then = Scenario.model_validate({**asked.model_dump(), **fields[asked.gpus[0]]})
    assert then.split == "auto"
    assert fit_views.changes(workload.load(then)) == ([], {})


@pytest.mark.parametrize("value", ["The one of the verdict (A100)", "gone-gpu", ["x"], None])
def test_a_gpu_that_is_none_never_reaches_the_link(value: object, monkeypatch: pytest.MonkeyPatch) -> None:
    put: list[dict[str, object]] = []
    monkeypatch.setattr(fit_views.state, "put", lambda **fields: put.append(fields))
    fit_views.show_detail({"gpu": value})
    fit_views.use_place({"row": value, "column": "4096"})
    fit_views.use_format((), {"row": value, "column": "fp8"})
    assert put == []


def test_an_old_value_of_a_control_does_not_come_back_with_the_next_request() -> None:
    """A browser that has not taken in the last run repeats what its controls showed before."""
    app = opened()
    before = [(key, app.text_input(key=key).value) for key in ("last-run", "last-live-run")]
    scrubbed(app, seqs="4")  # as pressing a change does
    box = app.number_input(key="ui-max_num_seqs")
    assert box.value == 4
    for key, run in before:
        app.text_input(key=key).set_value(run)
    box.set_value(None).run()  # what it showed before, from a browser that is behind
    assert scenario(app).max_num_seqs == 4
    app.number_input(key="ui-max_num_seqs").set_value(1).run()  # the reader's
    assert scenario(app).max_num_seqs == 1


def test_an_old_address_with_the_next_request_undoes_nothing() -> None:
    app = scrubbed(opened(), users="4")
    assert app.query_params["users"] == "4"
    del app.query_params["users"]
    app.number_input(key="ui-max_num_seqs").set_value(2).run()
    assert (scenario(app).concurrency, scenario(app).max_num_seqs) == (4, 2)
    assert (app.query_params["users"], app.query_params["seqs"]) == ("4", "2")


def test_a_new_address_is_followed() -> None:
    app = opened({"users": "4"})
    app.query_params["users"] = "7"
    assert scenario(app.run()).concurrency == 7


def test_a_format_that_an_engine_does_not_read_is_another_list_for_each_engine() -> None:
    """A browser keeps the words of a list's choice when only they change."""
    app = opened({"weights": "gguf-q4_k_m", "engine": "vllm"})
    found = {}
    for engine in ("vllm", "sglang", "llama.cpp", "vllm"):
        app.selectbox(key="ui-engine").set_value(engine).run()
        box = next(box for box in app.selectbox if str(box.key).startswith("ui-weight_format"))
        assert box.value == "gguf-q4_k_m"
        assert found.setdefault(box.options[box.index or 0], box.key) == box.key
    assert len(set(found.values())) == len(found) > 1


# ---------------------------------------------------------------- a config of one's own


def paste(app: AppTest, text: str) -> AppTest:
    app.text_area(key="config-text").set_value(text)
    return app.button(key="config-use").click().run()


CONFIG: dict[str, Any] = model_config("llama-3.1-8b")


def test_a_pasted_config_is_used_and_travels() -> None:
    app = paste(opened({"ctx": "4096"}), json.dumps(CONFIG))
    assert not app.error
    assert scenario(app).config_json
    assert scenario(app).max_model_len == 4096
    again = opened({"ctx": "4096", "config": app.session_state["config"]})
    assert scenario(again) == scenario(app)
    back = again.button(key="config-back").click().run()
    assert scenario(back) == Scenario(max_model_len=4096)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"model_type": "llama",', "line 1"),
        ("[]", "object in curly brackets"),
        ("nonsense", "Not valid JSON"),
        (json.dumps({**CONFIG, "hidden_size": "wide"}), "hidden_size"),
        ('{"model_type": "unheard-of"}', "is missing"),
        (json.dumps({**CONFIG, "num_attention_heads": 0}), "num_attention_heads"),
        ("[" * 100_000, "nested too deeply"),
        ('{"a": ' * 5000, "nested too deeply"),
        (json.dumps({**CONFIG, "x": "\ud800"}), "`x` holds half a character"),
        (json.dumps({**CONFIG, "\udc00": {"y": 1}}), "half a character"),
        (json.dumps(CONFIG)[:-1] + ', "hidden_size": 5}', "`hidden_size` stands twice"),
        (
            json.dumps({**CONFIG, "hidden_size": 0}).replace(
                '"hidden_size": 0', '"hidden_size": ' + "9" * 5000
            ),
            "5,000 digits",
        ),
        (
            '{"tokenizer_class": "LlamaTokenizer", "model_max_length": 8192}',
            "tokenizer_config.json, not a model",
        ),
        ('{"peft_type": "LORA", "r": 16}', "adapter_config.json"),
        (json.dumps({**CONFIG, "model_type": "\U0001f600" * 45_000, "hidden_size": "wide"}), "hidden_size"),
    ],
    ids=[
        "cut off",
        "list",
        "words",
        "wrong type",
        "missing key",
        "zero",
        "deep list",
        "deep object",
        "surrogate",
        "surrogate key",
        "twice",
        "digits",
        "tokenizer",
        "adapter",
        "emoji",
    ],
)
def test_a_bad_config_is_named_and_nothing_is_lost(text: str, says: str) -> None:
    app = paste(opened({"ctx": "4096", "model": "gemma-3-27b"}), text)
    assert not app.exception
    assert says in app.error[0].value
    assert ". The model shown is the one from before." in app.error[0].value
    assert len(app.error[0].value) < 600
    assert app.text_area(key="config-text").value == text
    assert scenario(app) == Scenario(max_model_len=4096, model="gemma-3-27b")


def test_a_long_foreign_name_is_cut_everywhere() -> None:
    long = "\U0001f600" * 45_000
    app = opened({"config": link.pack_config(json.dumps({**CONFIG, "model_type": long}, ensure_ascii=False))})
    assert not app.exception
    assert scenario(app).config_json
    assert len(shown(app)) < 20_000
    assert len(json.dumps(tracks.build(workload.load(scenario(app))).data)) < 300_000


@pytest.mark.parametrize(
    ("config", "name"),
    [
        (CONFIG, "Your llama model"),
        ({key: value for key, value in CONFIG.items() if key != "model_type"}, "Your model"),
        ({"text_config": {k: v for k, v in CONFIG.items() if k != "model_type"}}, "Your model"),
        ({**CONFIG, "model_type": " "}, "Your model"),
    ],
    ids=["named", "without a model_type", "nested without any", "blank"],
)
def test_a_config_without_a_model_type_has_a_plain_name(config: dict[str, Any], name: str) -> None:
    assert workload.load(Scenario(config_json=json.dumps(config))).name == name


def test_what_was_assumed_about_a_config_is_said() -> None:
    app = paste(opened(), json.dumps({**CONFIG, "model_type": "unheard-of"}))
    assert not app.error
    assert "computed as a plain decoder" in shown(app)


def test_a_config_too_large_for_a_link_is_used_and_said_so() -> None:
    from hashlib import sha256

    noise = [sha256(str(i).encode()).hexdigest() for i in range(300)]
    app = paste(opened(), json.dumps({**CONFIG, "quantization_note": noise}))
    assert not app.error
    assert scenario(app).config_json
    assert "config" not in app.query_params
    assert "too large to travel in a link" in shown(app)


# ---------------------------------------------------------------- every choice of the sidebar


@pytest.mark.parametrize("engine", ["vllm", "sglang", "tensorrt-llm", "llama.cpp", "transformers"])
def test_every_engine_has_an_answer(engine: str) -> None:
    app = opened({"engine": engine, "count": "2"})
    assert not app.exception
    assert not app.error


@pytest.mark.parametrize(
    "model", ["deepseek-v3", "gpt-oss-120b", "falcon-mamba-7b", "bge-m3", "qwen2.5-vl-7b"]
)
def test_models_of_every_kind_have_an_answer(model: str) -> None:
    app = opened({"model": model, "weights": "native"})
    assert not app.exception


def test_the_nearest_format_that_the_engine_reads_is_one_press_away() -> None:
    asked = Scenario(engine="llama.cpp", gpus=("h100-sxm5-80gb",))
    rows, fields = fit_views.changes(workload.load(asked))
    assert [row["able"] for row in rows] == [True]
    assert str(fields["h100-sxm5-80gb"]["weight_format"]).startswith("gguf-")
    then = Scenario.model_validate({**asked.model_dump(), **fields["h100-sxm5-80gb"]})
    assert fit_views.changes(workload.load(then)) == ([], {})


def test_a_context_past_the_model_s_window_is_said_so() -> None:
    assert "own window" in shown(opened({"model": "llama-2-7b", "ctx": "32768"}))


def test_what_every_page_needs_is_out_of_the_garbage_collector_s_sight() -> None:
    import gc

    opened()
    assert gc.get_freeze_count() > 100_000


@pytest.mark.parametrize(
    ("engine", "says"), [("vllm", "of vLLM"), ("tensorrt-llm", "too few of TensorRT-LLM")]
)
def test_a_borrowed_error_band_is_called_borrowed(engine: str, says: str) -> None:
    load = workload.load(Scenario(engine=engine))
    assert says in fit_views.band_words(load)
