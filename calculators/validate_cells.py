"""Reads tables and cells as people write them: separators, encodings, "1,024", "8k", "TP4 PP2"."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

csv.field_size_limit(2**26)  # a cell of any length spoils its own row alone
_NUMBER = r"\d+(?:\.\d+)?(?:e[+-]?\d+)?"
_GROUPED = re.compile(r"(?<![\d.,])(\d{1,3}(?:,\d{3})+)(?![\d,])")
_SUFFIXES = {"": 1.0, "k": 1e3, "m": 1e6, "b": 1e9}
_WITHOUT_END = ("inf", "infinity", "infinite", "max", "unlimited", "all")


class CellRefused(ValueError):
    """A table or cell that cannot be read; the message names the column or the file."""


# ---------------------------------------------------------------- numbers


def ungrouped(text: str) -> str:
    """Text whose numbers have no separators of thousands ("1,024" to "1024"; "30,5" stays)."""
    return _GROUPED.sub(lambda found: found.group(1).replace(",", ""), text)


def as_number(text: str) -> float | None:
    """The number that a whole cell is, None when it is anything else; never infinite, never NaN."""
    try:
        value = float(ungrouped(text.strip()))
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def first_number(text: str) -> float | None:
    """The first number of a cell with its k, M or B: "~500 tokens" 500, "8k" 8000, "avg 2.5" 2.5.

    A sign counts only where nothing but spaces and ~ stands before it ("512-1024" begins with 512).
    """
    plain = ungrouped(text.lower())
    found = re.search(rf"(^[\s~≈]*[-−])?({_NUMBER})\s*([kmb]?)(?![a-z0-9])", plain)
    if found is None:
        found = re.search(rf"(^[\s~≈]*[-−])?({_NUMBER})()", plain)
    if found is None:
        return None
    value = float(found.group(2)) * _SUFFIXES[found.group(3)] * (-1 if found.group(1) else 1)
    return value if math.isfinite(value) else None


def tokens_in(text: str) -> float | None:
    """A length in tokens; "8k" and "128k" mean 8,192 and 131,072, as context lengths are written."""
    value = first_number(text)
    thousands = re.search(r"\d\s*k(?![a-z0-9])", text.lower())
    return value / 1000 * 1024 if value is not None and thousands else value


def is_endless(text: str) -> bool:
    """Whether a cell means as many as there are ("inf", "max")."""
    return text.strip().lower() in _WITHOUT_END


# ---------------------------------------------------------------- splits


@dataclass(frozen=True)
class Sizes:
    """GPUs by kind of split as a cell names them; 1 where it does not. apart: attention is data-parallel."""

    tensor: int = 1
    pipeline: int = 1
    data: int = 1
    context: int = 1
    expert: int = 1
    apart: bool = False

    @property
    def gpus(self) -> int:
        """GPUs that hold it all; experts share those of the others."""
        return max(self.tensor * self.pipeline * self.context * self.data, self.expert)


_SPLITS = {
    "tensor": r"(?<![a-z])te?p|tensor[ _-]?parallel(?:[ _-]?size)?",
    "pipeline": r"(?<![a-z])pp|pipeline[ _-]?parallel(?:[ _-]?size)?",
    "data": r"(?<![a-z])a?dp|data[ _-]?parallel(?:[ _-]?size)?",
    "context": r"(?<![a-z])[cs]p",
    "expert": r"(?<![a-z])ep|expert[ _-]?parallel(?:[ _-]?size)?",
}


def split_sizes(text: str) -> Sizes | None:
    """The sizes that "8", "TP4PP2", "tp=8, ep=8", "DEP8" or "TP2 DP4" name; None when nothing can be read.

    DEP, ADP, and DP with EP mean attention that is data-parallel over the GPUs that share the experts
    (TensorRT-LLM's and SGLang's names), TEP tensor-parallel attention beside experts dealt out.
    """
    plain = re.sub(r"(?<=\d)\s*[x×*]\s*(?=[a-z])", " ", text.lower().strip())
    plain = re.sub(r"(?<=\d)(?=[a-z])", " ", plain)
    found: dict[str, int] = {}
    for name, pattern in _SPLITS.items():
        match = re.search(rf"(?:{pattern})\s*[=:_-]?\s*(\d{{1,6}})(?![\d.])", plain)
        if match:
            found[name] = int(match.group(1))
    together = re.search(r"(?<![a-z])dep\s*[=:_-]?\s*(\d{1,6})", plain)
    if together:
        return _positive(Sizes(tensor=int(together.group(1)), apart=True, pipeline=found.get("pipeline", 1)))
    if not found:
        bare = re.match(r"(\d{1,6})(?:\.0+)?(?:\s*gpus?)?\s*(?:\(|,|;|/|$)", plain)
        return _positive(Sizes(tensor=int(bare.group(1)))) if bare else None
    if "data" in found and ("expert" in found or "adp" in plain) and "tensor" not in found:
        return _positive(Sizes(tensor=found["data"], apart=True, pipeline=found.get("pipeline", 1)))
    if "expert" in found and "tensor" not in found and "data" not in found:
        found["tensor"] = found["expert"]
    bare = re.match(r"(\d{1,6})\s*\(", plain)  # "1 (PP2)"
    if bare and "tensor" not in found:
        found["tensor"] = int(bare.group(1))
    kinds = [found.get(name, 1) for name in ("tensor", "pipeline", "data", "context", "expert")]
    return _positive(Sizes(*kinds[:5], apart=False))


def _positive(sizes: Sizes) -> Sizes | None:
    values = (sizes.tensor, sizes.pipeline, sizes.data, sizes.context, sizes.expert)
    return sizes if min(values) >= 1 else None


# ---------------------------------------------------------------- tables


def table_rows(path: Path, needed: Sequence[str]) -> Iterator[Mapping[str, str]]:
    """Cells of each row of a table with a header, separated by commas, semicolons or tabs.

    UTF-8, UTF-16 with its mark, else Latin-1. Columns are found in any case; a row without an id gets its
    line's number. Raises CellRefused when the file cannot be read or lacks a needed column.
    """
    text = _text(path)
    if not text.strip():
        raise CellRefused(f"{path}: is empty; has no column {', '.join(needed)}")
    header = text.split("\n", 1)[0]
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=max(",;\t", key=header.count))
    try:
        named = [(name or "").strip() for name in reader.fieldnames or ()]
        known = {name.lower() for name in named}
        lower = {name: name.lower() for name in named if name.lower() not in named}
        reader.fieldnames = [lower.get(name, name) for name in named]
        missing = [name for name in needed if name not in known and name != "id"]
        if missing or len(known) < 2:
            wanted = [name for name in needed if name not in known]
            raise CellRefused(f"{path}: has no column {', '.join(wanted or missing)}")
        for cells in reader:
            row = {k: v for k, v in cells.items() if k is not None and isinstance(v, str)}
            if not (row.get("id") or "").strip():
                row["id"] = f"line {reader.line_num}"
            yield row
    except csv.Error as error:
        raise CellRefused(f"{path}: line {reader.line_num} is no row of a table ({error})") from None


def _text(path: Path) -> str:
    try:
        raw = path.read_bytes()
    except (OSError, ValueError) as error:
        raise CellRefused(f"{path}: cannot be read ({error})") from None
    wide = raw.startswith((b"\xff\xfe", b"\xfe\xff"))
    for encoding in ("utf-16",) if wide else ("utf-8-sig", "cp1252", "latin-1"):
        try:
            return raw.decode(encoding).replace("\x00", "")
        except UnicodeDecodeError as error:
            if encoding in ("utf-16", "latin-1"):
                raise CellRefused(f"{path}: cannot be read ({error})") from None
    return ""
