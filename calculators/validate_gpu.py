"""Finds the GPU that a free-text name in a measured row means, and the memory a program sees on it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

GIB = 2**30

# Words that name no GPU by themselves.
_FILLER = frozenset(
    [
        "nvidia",
        "geforce",
        "amd",
        "intel",
        "instinct",
        "radeon",
        "apple",
        "tesla",
        "quadro",
        "gpu",
        "gpus",
        "generation",
        "class",
        "card",
        "cards",
        "tensor",
        "core",
        "graphics",
        "edition",
        "each",
        "of",
        "with",
        "and",
        "the",
        "device",
        "memory",
        "unified",
        "free",
        "backend",
        "hbm",
        "hbm2",
        "hbm2e",
        "hbm3",
        "hbm3e",
        "hgx",
        "dgx",
        "datacenter",
    ]
)
_COUNT = re.compile(r"(?<![\w.])(\d{1,3})\s*[x×]\s*(?=[a-z(]|\d{4})|\s+[x×]\s*(\d{1,3})(?!\w)")
_SIZE = re.compile(r"(?<![a-z0-9.])(\d+(?:\.\d+)?)\s*(gib|gb|g)\b")
_GLUED = re.compile(r"\b([rg]tx|rx|arc)(?=\d)")  # "RTX3090" for "RTX 3090"
_TOKEN = re.compile(r"[a-z]+[0-9]*[a-z0-9]*|\d+[a-z]*")
_MARKS = ("ti", "super")  # tell two cards of the consumer line apart
_NAMED_PLACES = ("sxm", "pcie", "nvl")


@dataclass(frozen=True)
class MatchedGpu:
    """The memory one GPU of a name has, or why nobody can say.

    capacity_bytes None with `refused`; `assumption` says what was taken for granted.
    """

    name: str
    capacity_bytes: float | None
    basis: str
    assumption: str = ""
    refused: str = ""
    gpu_id: str | None = None  # the row of the GPU table, when the name matches one


@dataclass(frozen=True)
class _Row:
    gpu_id: str
    name: str
    tokens: frozenset[str]
    memory_gb: float
    usable_bytes: float
    visible_bytes: float
    basis: str


def _tokens(text: str) -> frozenset[str]:
    plain = _SIZE.sub(" ", text.lower())
    words = _TOKEN.findall(re.sub(r"[^a-z0-9.]+", " ", plain))
    return frozenset(word for word in words if word not in _FILLER)


@cache
def _rows() -> tuple[_Row, ...]:
    from gpu_data import spec_frame

    frame = spec_frame()
    columns = ("name", "memory_gb", "usable_bytes", "visible_bytes", "usable_basis")
    rows = []
    for gpu_id, *cells in frame[frame["usable_bytes"].notna()][list(columns)].itertuples():
        name, memory_gb, usable, visible, basis = cells
        tokens = _tokens(f"{name} {str(gpu_id).replace('-', ' ')}")
        seen = 0.0 if str(visible) == "<NA>" else float(visible)
        rows.append(_Row(str(gpu_id), str(name), tokens, float(memory_gb), float(usable), seen, str(basis)))
    return tuple(rows)


def match_gpu(text: str, gpu_mem_gib: float | None = None) -> MatchedGpu:
    """The memory of the GPU a measured row was taken on.

    `gpu_mem_gib` wins when given. Else the name is compared word by word with the GPU table; a size such as
    "80G" narrows it. A name of several kinds joined by "+" counts at their mean (a layer split fills GPUs in
    proportion). "24 GB class" means the typical usable memory of cards of that size.
    """
    name = text.strip()
    if gpu_mem_gib is not None:
        known = _single(name).gpu_id if name else None
        return MatchedGpu(name, gpu_mem_gib * GIB, "gpu_mem_gib", gpu_id=known)
    if not name:
        return MatchedGpu(
            name, None, "", refused="gpu and gpu_mem_gib: both are empty, so the capacity is unknown"
        )
    free = re.search(r"(\d+(?:\.\d+)?)\s*gb free", name.lower())
    if free:
        return MatchedGpu(name, float(free.group(1)) * GIB, "stated", "GB in an engine's log means GiB")
    parts = _parts(name)
    if len(parts) > 1:
        return _mean([(_count(part), _single(part)) for part in parts], name)
    return _single(name)


def _parts(name: str) -> list[str]:
    return [part for part in re.split(r"\s*\+\s*", name) if part]


def gpus_named(text: str) -> int:
    """How many GPUs a name speaks of: "2x RTX 3090" two, "RTX 4090 + RTX 3090" two, "H100" one."""
    return sum(_count(part) for part in _parts(text.strip())) or 1


def _count(text: str) -> int:
    found = _COUNT.search(text.lower())
    return int(found.group(1) or found.group(2)) if found else 1


def _mean(parts: list[tuple[int, MatchedGpu]], name: str) -> MatchedGpu:
    for _, part in parts:
        if part.capacity_bytes is None:
            return part
    total = sum(count for count, _ in parts)
    mean = sum(count * (part.capacity_bytes or 0.0) for count, part in parts) / total
    return MatchedGpu(name, mean, "matched", "mixed GPUs: each counted at the mean memory")


def _single(text: str) -> MatchedGpu:
    plain = _GLUED.sub(r"\1 ", _COUNT.sub(" ", text.lower()))
    size = _SIZE.search(plain)
    memory = float(size.group(1)) if size else None
    wanted = _tokens(plain)
    found = [row for row in _rows() if _covers(row.tokens, wanted)] if wanted else []
    sized = [row for row in found if memory is None or abs(row.memory_gb - memory) <= 0.06 * memory]
    if memory is not None and found and memory >= 2 * max(row.memory_gb for row in found):
        # More than the card can have: all cards together, or the CPU's memory beside it.
        sized = found
    if sized:
        return _best(text, sized, wanted)
    if memory is not None:
        return _by_size(text, memory)
    return MatchedGpu(
        text, None, "", refused=f"gpu: {text!r} is not in the GPU table, so the capacity is unknown"
    )


def _covers(tokens: frozenset[str], wanted: frozenset[str]) -> bool:
    """Every word of the name is a word of the GPU; "sxm" stands for any SXM, and "ti", "super" must agree."""
    consumer = any(word.isdigit() for word in wanted)
    if consumer and any(mark in tokens and mark not in wanted for mark in _MARKS):
        return False
    return all(
        word in tokens or any(word.isalpha() and t.startswith(word) for t in tokens) for word in wanted
    )


def _best(text: str, rows: list[_Row], wanted: frozenset[str]) -> MatchedGpu:
    fewest = min(len(row.tokens - wanted) for row in rows)
    close = [row for row in rows if len(row.tokens - wanted) <= fewest + 1]
    # Servers are mostly of the SXM kind, and the larger card of a name is the commoner one.
    chosen = min(close, key=lambda row: (_place(row), -row.memory_gb, len(row.tokens - wanted), row.name))
    others = {round(row.usable_bytes / GIB) for row in rows} - {round(chosen.usable_bytes / GIB)}
    assumption = f"gpu: {text!r} taken as {chosen.name}" if others else ""
    return MatchedGpu(chosen.name, chosen.usable_bytes, chosen.basis, assumption, gpu_id=chosen.gpu_id)


def _place(row: _Row) -> int:
    for rank, place in enumerate(_NAMED_PLACES):
        if any(token.startswith(place) for token in row.tokens):
            return rank
    return len(_NAMED_PLACES)


def _by_size(text: str, memory_gb: float) -> MatchedGpu:
    """Typical usable memory of cards of this size: the median of those known, else 0.98 of the label in GiB.

    Where only the driver's figure is known, the part CUDA keeps is taken off as on the cards that have both.
    """
    rows = _rows()
    measured = [row for row in rows if row.basis == "cuda_total_bytes" and row.visible_bytes]
    both = sorted(row.usable_bytes / row.visible_bytes for row in measured)
    kept = both[len(both) // 2] if both else 1.0
    same = sorted(
        row.usable_bytes * (kept if row.basis == "visible_bytes" else 1.0)
        for row in rows
        if row.memory_gb == memory_gb and row.basis != "assumed"
    )
    usable = same[len(same) // 2] if same else 0.98 * memory_gb * GIB
    assumption = f"gpu: {text!r} counted as a typical {memory_gb:g} GB card, {usable / GIB:.2f} GiB usable"
    return MatchedGpu(text, usable, "assumed", assumption)
