"""The link contract: every query parameter, its default, its form, and what happens to a bad value.

Parameter names are a public interface: short, lower-case, never renamed. Values are slugs and plain numbers;
a value equal to the default is left out. No Streamlit here: text in, a Scenario and notices out.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
import zlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from pydantic import TypeAdapter, ValidationError

from calculators.scenario import MAX_CONFIG_CHARS, MAX_PINNED, PRICE_DECIMALS, Scenario
from pages.ui.words import cut

LIST_SEPARATOR = "."  # stays readable in a query string
PRICE_SEPARATOR, PRICE_MARK = "_", "~"  # as in price=l4-24gb~0.8_l40s-48gb~1.25: no address escapes them
MAX_LINK_CONFIG_CHARS = 6000  # of packed config: longer addresses are cut by chat programs and proxies
MOST_NAMED = 10  # of many bad values of one kind; the others are counted
RESERVED = frozenset({"embed", "embed_options"})  # Streamlit's own

Choices = Callable[[], Collection[str]]


class LinkError(ValueError):
    """A value that a link cannot carry; the message is a sentence part a reader understands."""


@dataclass(frozen=True, slots=True)
class Notice:
    """One thing in a link that was not used as it stood."""

    param: str
    value: str
    reason: str
    fallback: str

    def text(self) -> str:
        """One sentence in Markdown; the link's own words only inside code marks."""
        return f"{code(self.param)} = {code(self.value)} {self.reason}; {self.fallback}."


def code(text: str, limit: int = 48) -> str:
    """Foreign text as Markdown inline code: no control characters, no backticks, no more than `limit`."""
    printable = "".join(c if c.isprintable() and c != "`" else "·" for c in text[: limit + 1])
    short = cut(printable, limit)
    return f"`{short}`" if short.strip() else "`(empty)`"


def _integer(text: str) -> int:
    if not re.fullmatch(r"-?[0-9]{1,9}", text):
        raise LinkError("is not a whole number")
    return int(text)


def _large_integer(text: str) -> int:
    if not re.fullmatch(r"-?[0-9]{1,16}", text):
        raise LinkError("is not a whole number")
    return int(text)


def _number(text: str) -> float:
    if not re.fullmatch(r"-?[0-9]{1,9}(\.[0-9]{1,9})?", text):
        raise LinkError("is not a plain number")
    return float(text)


def _switch(text: str) -> bool:
    if text not in ("0", "1"):
        raise LinkError("is neither 0 nor 1")
    return text == "1"


def _list(text: str) -> tuple[str, ...]:
    if text == LIST_SEPARATOR:  # a list that was emptied
        return ()
    parts = tuple(text.split(LIST_SEPARATOR))
    if not all(parts):
        raise LinkError("has an empty name in it")
    return parts


def _price(text: str) -> tuple[str, float]:
    gpu, _, number = text.partition(PRICE_MARK)
    if not re.fullmatch(rf"[0-9]{{1,9}}(\.[0-9]{{1,{PRICE_DECIMALS}}})?", number):
        raise LinkError("is not a GPU with its price")
    return gpu, float(number)


def _prices(text: str) -> tuple[tuple[str, float], ...]:
    return tuple(_price(part) for part in text.split(PRICE_SEPARATOR))


def _plain_number(value: float, decimals: int) -> str:
    return f"{value:.{decimals}f}".rstrip("0").rstrip(".")


def _spelled_prices(prices: Sequence[tuple[str, float]]) -> str:
    return PRICE_SEPARATOR.join(
        f"{gpu}{PRICE_MARK}{_plain_number(usd, PRICE_DECIMALS)}" for gpu, usd in prices
    )


def pack_config(config_json: str) -> str:
    """A compact config.json as URL-safe text.

    Raises LinkError when the packed text is longer than MAX_LINK_CONFIG_CHARS, or is no Unicode text.
    """
    try:
        raw = config_json.encode()
    except UnicodeEncodeError as error:
        raise LinkError("holds half a character (a lone surrogate), which is no text") from error
    packed = base64.urlsafe_b64encode(zlib.compress(raw, 9)).decode().rstrip("=")
    if len(packed) > MAX_LINK_CONFIG_CHARS:
        raise LinkError(
            f"takes {len(packed):,} characters, more than the {MAX_LINK_CONFIG_CHARS:,} that a link can carry"
        )
    return packed


def unpack_config(text: str) -> str:
    """The config.json inside a link. Raises LinkError; never inflates past MAX_CONFIG_CHARS."""
    if len(text) > MAX_LINK_CONFIG_CHARS:
        raise LinkError("is too long for a config in a link")
    try:
        packed = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        inflater = zlib.decompressobj()
        raw = inflater.decompress(packed, MAX_CONFIG_CHARS)
        if inflater.unconsumed_tail or not inflater.eof:
            raise LinkError("is cut off or too large for a config")
        value = raw.decode()
        if not isinstance(json.loads(value), dict):
            raise LinkError("does not hold a JSON object")
    except LinkError:
        raise
    except (binascii.Error, zlib.error, ValueError, RecursionError) as error:
        raise LinkError("is not a config.json packed by this page") from error
    return value


@dataclass(frozen=True, slots=True)
class Codec:
    """How one kind of value is spelled in a link."""

    decode: Callable[[str], Any]
    encode: Callable[[Any], str]


TEXT = Codec(lambda text: text, str)
INTEGER = Codec(_integer, str)
LARGE_INTEGER = Codec(_large_integer, str)
NUMBER = Codec(_number, lambda value: _plain_number(value, 9))
SWITCH = Codec(_switch, lambda value: "1" if value else "0")
LIST = Codec(_list, LIST_SEPARATOR.join)
CONFIG = Codec(unpack_config, pack_config)
PRICES = Codec(_prices, _spelled_prices)


@dataclass(frozen=True, slots=True)
class Param:
    """One query parameter: its name, the Scenario field, its spelling, the catalogue that knows its ids."""

    name: str
    field: str
    codec: Codec
    choices: str | None = None  # key of the catalogue given to `parse`

    @property
    def default(self) -> Any:
        """The value of a link that does not name this parameter."""
        return Scenario.model_fields[self.field].default

    def encode(self, value: Any) -> str:
        """The value as it stands in a link; empty for the default. Raises LinkError when it cannot travel."""
        if value == self.default:
            return ""
        # an emptied list differs from the default list and from a parameter that is not there
        return self.codec.encode(value) or LIST_SEPARATOR


CONTRACT: tuple[Param, ...] = (
    Param("model", "model", TEXT, "models"),
    Param("config", "config_json", CONFIG),
    Param("weights", "weight_format", TEXT, "weight_formats"),
    Param("kv", "kv_cache_dtype", TEXT, "kv_formats"),
    Param("ctx", "max_model_len", INTEGER),
    Param("users", "concurrency", INTEGER),
    Param("in", "prompt_tokens", INTEGER),
    Param("out", "output_tokens", INTEGER),
    Param("engine", "engine", TEXT, "engines"),
    Param("util", "gpu_memory_utilization", NUMBER),
    Param("seqs", "max_num_seqs", INTEGER),
    Param("batched", "max_num_batched_tokens", INTEGER),
    Param("ubatch", "n_ubatch", INTEGER),
    Param("fa", "flash_attention", TEXT),
    Param("eager", "enforce_eager", SWITCH),
    Param("swa", "swa_full", SWITCH),
    Param("gpus", "gpus", LIST, "gpus"),
    Param("count", "gpu_count", INTEGER),
    Param("split", "split", TEXT),
    Param("ep", "expert_parallel", SWITCH),
    Param("pre", "pre_release", SWITCH),
    Param("map", "map_gpu", TEXT, "gpus"),
    Param("show", "compare_view", TEXT, "compare_views"),
    Param("prec", "precision", TEXT, "precisions"),
    Param("base", "baseline", TEXT, "gpus"),
    Param("sparse", "sparse", SWITCH),
    Param("mem", "min_memory_gb", INTEGER),
    Param("memto", "max_memory_gb", INTEGER),
    Param("year", "since_year", INTEGER),
    Param("yearto", "until_year", INTEGER),
    Param("vendor", "vendors", LIST, "vendors"),
    Param("arch", "architectures", LIST, "architectures"),
    Param("form", "form_factors", LIST, "form_factors"),
    Param("cols", "column_groups", LIST, "column_groups"),
    Param("priced", "priced", SWITCH),
    Param("only", "pinned_only", SWITCH),
    Param("lane", "bench_lane", TEXT, "bench_lanes"),
    Param("bmodel", "bench_model", TEXT, "bench_models"),
    Param("bformat", "bench_format", TEXT, "bench_formats"),
    Param("btest", "bench_test", TEXT, "bench_tests"),
    Param("bcount", "bench_gpu_count", INTEGER),
    Param("bgpus", "bench_gpus", LIST, "bench_gpus"),
    Param("doubt", "unverified", SWITCH),
    Param("infer", "infer_benchmark", TEXT, "infer_benchmarks"),
    Param("scen", "infer_scenario", TEXT, "infer_scenarios"),
    Param("ishow", "infer_measure", TEXT, "infer_measures"),
    Param("train", "train_benchmark", TEXT, "train_benchmarks"),
    Param("tshow", "train_measure", TEXT, "train_measures"),
    Param("rounds", "mlperf_rounds", LIST, "mlperf_rounds"),
    Param("mcount", "mlperf_gpu_count", INTEGER),
    Param("by", "mlperf_submitters", LIST, "mlperf_submitters"),
    Param("cat", "mlperf_categories", LIST, "mlperf_categories"),
    Param("avail", "mlperf_availability", LIST, "mlperf_availability"),
    Param("est", "accuracy_kind", TEXT, "accuracy_kinds"),
    Param("qty", "accuracy_quantity", TEXT, "accuracy_quantities"),
    Param("off", "accuracy_view", TEXT, "accuracy_views"),
    # fine-tuning and training
    Param("task", "task", TEXT),
    Param("method", "method", TEXT),
    Param("rank", "lora_rank", INTEGER),
    Param("targets", "lora_targets", LIST, "lora_targets"),
    Param("opt", "optimizer", TEXT, "optimizers"),
    Param("mix", "training_precision", TEXT, "training_precisions"),
    Param("fw", "training_framework", TEXT, "training_frameworks"),
    Param("seq", "seq_len", INTEGER),
    Param("micro", "micro_batch", INTEGER),
    Param("accum", "accumulation", INTEGER),
    Param("ckpt", "checkpointing", TEXT),
    Param("fuse", "fused_loss", TEXT),
    Param("offload", "offload", TEXT),
    Param("zero", "zero_stage", TEXT),
    Param("tp", "train_tensor", INTEGER),
    Param("pp", "train_pipeline", INTEGER),
    Param("cp", "train_context", INTEGER),
    Param("eps", "train_expert", INTEGER),
    Param("sp", "sequence_parallel", TEXT),
    Param("tgpus", "train_gpus", INTEGER),
    Param("tokens", "train_tokens", LARGE_INTEGER),
    Param("samples", "samples", INTEGER),
    Param("stok", "sample_tokens", INTEGER),
    Param("epochs", "epochs", NUMBER),
    Param("days", "deadline_days", NUMBER),
    # cost
    Param("price", "price_edits", PRICES, "gpus"),
    Param("buy", "purchase_edits", PRICES, "gpus"),
    Param("tier", "price_basis", TEXT),
    Param("cost", "cost_view", TEXT),
    Param("cgpu", "cost_gpu", TEXT, "gpus"),
    Param("least", "least_tokens_per_s", NUMBER),
    Param("busy", "busy_share", NUMBER),
    Param("kwh", "usd_per_kwh", NUMBER),
    Param("pue", "power_usage_effectiveness", NUMBER),
    Param("years", "own_years", NUMBER),
    Param("host", "host_usd", NUMBER),
    Param("runs", "runs_per_month", NUMBER),
    Param("lost", "lost_hours_per_week", NUMBER),
    Param("small", "small_memory_gb", INTEGER),
    Param("wage", "usd_per_person_hour", NUMBER),
    # uses in the world
    Param("ugpu", "use_gpus", LIST, "use_gpus"),
    Param("use", "use_purposes", LIST, "use_purposes"),
    Param("org", "use_organisations", LIST, "use_organisations"),
    Param("stat", "use_statuses", LIST, "use_statuses"),
    Param("since", "use_since", INTEGER),
    Param("until", "use_until", INTEGER),
    # recommendation
    Param("look", "recommend_view", TEXT),
    Param("goal", "objective", TEXT),
    Param("serving", "serving", TEXT),
    Param("free", "format_freedom", TEXT),
    Param("ttft", "max_ttft_s", NUMBER),
    Param("budget", "cost_ceiling", NUMBER),
    Param("spend", "purchase_ceiling", NUMBER),
    Param("reqs", "batch_requests", LARGE_INTEGER),
    Param("place", "place", TEXT),
    Param("maker", "maker", TEXT, "vendors"),
    Param("watts", "max_power_w", INTEGER),
    Param("most", "max_gpus", INTEGER),
    Param("nvlink", "need_nvlink", SWITCH),
    Param("mig", "need_mig", SWITCH),
    Param("ecc", "need_ecc", SWITCH),
    Param("duel", "duel_gpus", LIST, "gpus"),
)
PARAMS: Mapping[str, Param] = {param.name: param for param in CONTRACT}
BY_FIELD: Mapping[str, Param] = {param.field: param for param in CONTRACT}

_CHECKS: Mapping[str, TypeAdapter[Any]] = {
    param.field: TypeAdapter(Scenario.model_fields[param.field].rebuild_annotation()) for param in CONTRACT
}
_REASONS = {  # pydantic's error types in a reader's words
    "greater_than_equal": "is below the smallest value, {ge}",
    "less_than_equal": "is above the largest value, {le}",
    "literal_error": "is none of {expected}",
    "string_pattern_mismatch": "is not a name that this page gives to anything",
    "too_long": "names more than {max_length}",
}


def takes(field: str, value: Any) -> bool:
    """Whether a field of the Scenario accepts a value."""
    try:
        _CHECKS[field].validate_python(value)
    except ValidationError:
        return False
    return True


def refusal(field: str, value: Any, unit: float = 1) -> str:
    """Why a field of the Scenario does not accept a value, limits in units of so many; nothing if it does."""
    try:
        _CHECKS[field].validate_python(value)
    except ValidationError as error:
        return _reason(error, unit)
    return ""


def _reason(error: ValidationError, unit: float = 1) -> str:
    first = error.errors()[0]
    template = _REASONS.get(first["type"], "is not a value this parameter takes")
    limits = first.get("ctx", {})
    if unit != 1:
        limits = {name: f"{limit / unit:,.10g}" for name, limit in limits.items()}
    return template.format(**limits)


def _shown(param: Param, value: Any) -> str:
    """A fallback in words."""
    if value in ("", None, ()) or param.codec is CONFIG:
        return "left out"
    return f"using {code(param.codec.encode(value), 120)} instead"


def read(param: Param, text: str, known: Collection[str] | None) -> tuple[Any, list[Notice]]:
    """One parameter's value; what cannot be used is replaced by the default and named."""
    if param.codec is PRICES:
        return _read_prices(param, text, known or ())
    fallback = _shown(param, param.default)
    try:
        value = param.codec.decode(text)
        if param.codec is LIST:
            good = tuple(v for v in dict.fromkeys(value) if known is None or v in known)
            bad = [v for v in dict.fromkeys(value) if v not in good]
            if bad and not good:
                raise LinkError("names nothing in the catalogue")
            notices = [Notice(param.name, v, "is not in the catalogue", "left out") for v in bad[:MOST_NAMED]]
            if len(bad) > MOST_NAMED:
                more = f"and {len(bad) - MOST_NAMED:,} more"
                notices.append(Notice(param.name, more, "are not in the catalogue", "left out"))
            return _CHECKS[param.field].validate_python(good), notices
        value = _CHECKS[param.field].validate_python(value)
        if known is not None and value and value not in known:
            raise LinkError("is not in the catalogue")
    except ValidationError as error:
        return param.default, [Notice(param.name, text, _reason(error), fallback)]
    except LinkError as error:
        return param.default, [Notice(param.name, text, str(error), fallback)]
    return value, []


def _read_prices(param: Param, text: str, known: Collection[str]) -> tuple[Any, list[Notice]]:
    """The prices of a link that can be used; each of the others is named and left out."""
    good: dict[str, float] = {}
    bad: list[Notice] = []
    parts = text.split(PRICE_SEPARATOR)
    for part in parts[:MAX_PINNED]:
        try:
            gpu, usd = _price(part)
            if gpu not in known:
                raise LinkError("is not the price of a GPU in the catalogue")
            if gpu in good:
                raise LinkError("is a second price of the same GPU")
            _CHECKS[param.field].validate_python(((gpu, usd),))
            good[gpu] = usd
        except ValidationError as error:
            bad.append(Notice(param.name, part, _reason(error), "left out"))
        except LinkError as error:
            bad.append(Notice(param.name, part, str(error), "left out"))
    more = len(parts[MAX_PINNED:]) + len(bad[MOST_NAMED:])
    if more:
        bad = [*bad[:MOST_NAMED], Notice(param.name, f"and {more:,} more", "cannot be used", "left out")]
    return _CHECKS[param.field].validate_python(tuple(good.items())), bad


def parse(
    query: Mapping[str, Sequence[str]], catalogues: Mapping[str, Collection[str]]
) -> tuple[Scenario, tuple[Notice, ...]]:
    """A query string's parameters as a Scenario, and what in it was not used as it stood. Never raises.

    `query` maps a name to every value given for it; `catalogues` maps a `Param.choices` key to the known ids.
    """
    values: dict[str, Any] = {}
    notices: list[Notice] = []
    for param in CONTRACT:
        given = query.get(param.name, ())
        last = given[-1] if given else ""
        if len(given) > 1:
            used = (
                f"using the last, {code(last)}"
                if last
                else f"the last is empty: {_shown(param, param.default)}"
            )
            notices.append(Notice(param.name, ", ".join(given), "is given more than once", used))
        if not last:
            if len(given) == 1:
                notices.append(Notice(param.name, "", "is empty", _shown(param, param.default)))
            continue
        known = catalogues.get(param.choices) if param.choices else None
        values[param.field], told = read(param, last, known)
        notices += told
    unknown = [name for name in query if name not in PARAMS and name not in RESERVED]
    notices += [
        Notice(name, ", ".join(query[name]), "is not a parameter of this page", "left out")
        for name in unknown[:MOST_NAMED]
    ]
    if len(unknown) > MOST_NAMED:
        more = f"and {len(unknown) - MOST_NAMED:,} more"
        notices.append(Notice(unknown[MOST_NAMED], more, "are not parameters of this page", "left out"))
    return Scenario(**values), tuple(notices)


def encode(scenario: Scenario) -> dict[str, str]:
    """The parameters that differ from the defaults, in the contract's order.

    Raises LinkError when the pasted config is too large for a link.
    """
    texts = {param.name: param.encode(getattr(scenario, param.field)) for param in CONTRACT}
    return {name: text for name, text in texts.items() if text}


def query_string(scenario: Scenario) -> str:
    """The link's query string without the question mark; empty for the default scenario."""
    return urlencode(encode(scenario))
