"""The nearest point at which another option would win."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Switch:
    """At `at` the winner is another one; `winner` None: nothing does it any more."""

    at: float
    winner: str | None


def switch_points(
    stops: Sequence[float], now: float, winner: Callable[[float], str | None]
) -> tuple[Switch | None, Switch | None]:
    """(the nearest stop below, the nearest above) at which the winner differs from the one at `now`.

    Stops are walked outwards, so that only as many are asked as are needed; None where it never differs.
    """
    present = winner(now)
    ways = (sorted((s for s in stops if s < now), reverse=True), sorted(s for s in stops if s > now))
    below, above = (
        next((Switch(at, other) for at in way if (other := winner(at)) != present), None) for way in ways
    )
    return below, above
