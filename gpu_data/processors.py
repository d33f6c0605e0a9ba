"""Processors x clock of GPUs whose maker does not name both: inferred from the cards nearest to them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

MHZ_PER_GHZ = 1e3
_PEAKS = ("dense_fp16_tflops", "dense_bf16_tflops", "fp32_tflops")  # what tells a card's size, best first
_KIN = ("chip", "architecture", "vendor")  # nearest first; then every card

Row = Mapping[str, object]


def _number(row: Row, column: str) -> float:
    """The figure of a cell; 0 where it is missing."""
    value = row.get(column)
    return float(value) if isinstance(value, int | float) else 0.0


def published_ghz(row: Row) -> float:
    """SMs or CUs x boost clock [GHz]; 0 unless the card publishes both."""
    return _number(row, "sms_or_cus") * _number(row, "boost_clock_mhz") / MHZ_PER_GHZ


def _kin(row: Row, known: Sequence[Row]) -> Iterator[tuple[str, list[Row]]]:
    """Cards alike, nearest first, each time with what is alike."""
    for likeness in _KIN:
        if (own := row.get(likeness)) is not None:
            yield f"of the same {likeness}", [r for r in known if r.get(likeness) == own]
    yield "of any kind", list(known)


def inferred_ghz(row: Row, known: Sequence[Row]) -> tuple[float, str] | None:
    """(processors x clock [GHz], how) of a card that does not publish both; None when nothing says.

    `known`: cards that do. The larger of two lower bounds: the card's peak over the most that a processor of
    its nearest kin does per clock, and its processors at the slowest clock of that kin. (A driver may cut a
    peak far below what the processors could do.)
    """
    found = [bound for bound in (_by_peak(row, known), _by_count(row, known)) if bound]
    return max(found, default=None)


def _by_peak(row: Row, known: Sequence[Row]) -> tuple[float, str] | None:
    for alike, kin in _kin(row, known):
        for column in _PEAKS:
            rates = [_number(r, column) / published_ghz(r) for r in kin]
            if _number(row, column) and max(rates, default=0.0):
                return _number(row, column) / max(rates), f"{column} at the rate per clock of cards {alike}"
    return None


def _by_count(row: Row, known: Sequence[Row]) -> tuple[float, str] | None:
    units = _number(row, "sms_or_cus")
    for alike, kin in _kin(row, known):
        if units and kin:
            clock = min(_number(r, "boost_clock_mhz") for r in kin)
            return units * clock / MHZ_PER_GHZ, f"sms_or_cus at the slowest clock of cards {alike}"
    return None
