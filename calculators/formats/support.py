"""Which GPU runs a format natively, only stores it or cannot run it, and how an engine keeps it there."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from calculators.architecture.layout import Architecture
from calculators.formats.native import native_support
from gpu_data.format_schemas import EngineLayout, KvFormat, SupportRule, WeightFormat


class SpecRow(Protocol):
    """One row of the spec frame: a pandas Series or a mapping of its columns."""

    def get(self, key: str, /) -> Any:
        """The cell of this column, or None."""
        ...


@dataclass(frozen=True, slots=True)
class Support:
    """How a GPU runs a format, why in one sentence, and who says so.

    native: its tensor cores multiply in the format. storage: smaller, but computed in 16 bits.
    no: no engine's kernels run it there.
    """

    state: Literal["native", "storage", "no"]
    reason: str
    source: str


def _known(spec: SpecRow, column: str) -> Any:
    """A cell of the spec row, None where it is missing (pandas' NA and NaN are not equal to themselves)."""
    value = spec.get(column)
    try:
        return value if value is not None and bool(value == value) else None
    except TypeError:  # NA has no truth value
        return None


def _compute_capability(spec: SpecRow) -> tuple[float | None, str]:
    """NVIDIA's number, or AMD's target name."""
    text = str(_known(spec, "compute_capability") or "")
    try:
        return float(text), ""
    except ValueError:
        return None, text


def _within(low: float | None, high: float | None, value: float | None) -> bool:
    if low is None and high is None:
        return True
    return value is not None and (low is None or value >= low) and (high is None or value <= high)


def _matches(rule: SupportRule, spec: SpecRow) -> bool:
    number, gfx = _compute_capability(spec)
    lacking = {name.strip() for name in str(_known(spec, "unsupported_dtypes") or "").split(",")}
    return (
        (not rule.vendors or _known(spec, "vendor") in rule.vendors)
        and _within(rule.min_compute_capability, rule.max_compute_capability, number)
        and (not rule.gfx or gfx in rule.gfx)
        and all(_known(spec, column) is not None for column in rule.has)
        and lacking.issuperset(rule.lacks)
    )


def _first(rules: Iterable[SupportRule], spec: SpecRow, label: str) -> Support:
    for rule in rules:
        if _matches(rule, spec):
            return Support(rule.state, rule.reason, rule.source)
    return Support("no", f"Nothing is known about {label} on this GPU.", "no rule matches")


def support(spec: SpecRow, fmt: WeightFormat | KvFormat, arch: Architecture | None = None) -> Support:
    """How the GPU of this spec-frame row runs a format.

    For checkpoints as released, `arch` says what the checkpoint is. A GPU whose compute capability the table
    does not know matches no rule about it.
    """
    rules = fmt.support
    if isinstance(fmt, WeightFormat) and fmt.kind == "native" and arch is not None:
        rules = native_support(arch, fmt)
    return _first(rules, spec, fmt.label)


def engine_layout(
    spec: SpecRow,
    fmt: WeightFormat,
    engine: str,
    arch: Architecture | None = None,
    version: tuple[int, ...] | None = None,
) -> EngineLayout | None:
    """The layout in which an engine keeps a format on this GPU; None when as in the checkpoint.

    `version` are the engine's version numbers, None for its newest. Layouts of storages that the format (or
    the checkpoint `arch`) does not use change nothing.
    """
    number, _ = _compute_capability(spec)
    used = {rule.storage.id for rule in fmt.rules}
    if fmt.kind == "native" and arch is not None and arch.quantization is not None:
        used = {recipe.storage.id for recipe in fmt.recipes if recipe.kind == arch.quantization.kind}
    for layout in fmt.layouts:
        if (
            layout.engine == engine
            and used & set(layout.applies_to)
            and (version is None or version >= layout.from_version)
            and (not layout.vendors or _known(spec, "vendor") in layout.vendors)
            and _within(layout.min_compute_capability, layout.max_compute_capability, number)
        ):
            return layout
    return None
