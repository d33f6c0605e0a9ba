"""The nearest point at which another option would win."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Switch:
    """At `at` the winner is another one, at `last` not yet; `winner` None: nothing does it any more."""

    at: float
    winner: str | None
    last: float


def switch_points(
    stops: Sequence[float],
    now: float,
    winner: Callable[[float], str | None],
    between: Callable[[float, float], float | None] = lambda low, high: None,
) -> tuple[Switch | None, Switch | None]:
    """(the nearest point below, the nearest above) at which the winner differs from the one at `now`.

    Stops are walked outwards, so that only as many are asked as are needed; None where it never differs.
    between: a point between two, tried to come closer; None where they are close enough. Both sides of a
    point that is returned were asked.
    """
    present = winner(now)

    def nearest(way: Sequence[float]) -> Switch | None:
        last = now
        for at in way:
            if winner(at) != present:
                while (middle := between(last, at)) is not None:
                    at, last = (middle, last) if winner(middle) != present else (at, middle)
                return Switch(at, winner(at), last)
            last = at
        return None

    below = nearest(sorted((s for s in stops if s < now), reverse=True))
    return below, nearest(sorted(s for s in stops if s > now))
