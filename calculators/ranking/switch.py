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
    stops: Sequence[float], now: float, winner: Callable[[float], str | None], whole: bool = False
) -> tuple[Switch | None, Switch | None]:
    """(the nearest point below, the nearest above) at which the winner differs from the one at `now`.

    Stops are walked outwards, so that only as many are asked as are needed; None where it never differs.
    whole: between two stops the nearest whole number is looked for by halving.
    """
    present = winner(now)

    def nearest(way: Sequence[float]) -> Switch | None:
        same = now
        for at in way:
            if winner(at) != present:
                while whole and abs(at - same) > 1:
                    middle = (int(at) + int(same)) // 2
                    at, same = (middle, same) if winner(middle) != present else (at, middle)
                return Switch(at, winner(at))
            same = at
        return None

    below = nearest(sorted((s for s in stops if s < now), reverse=True))
    return below, nearest(sorted(s for s in stops if s > now))
