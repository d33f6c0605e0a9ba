"""Results kept for the objects seen last, found again by identity (the objects are frozen)."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from functools import wraps
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


def kept_by_identity(keep: int) -> Callable[[Callable[[K], V]], Callable[[K], V]]:
    """Decorator: the result of a function of one object, kept for the `keep` objects seen last.

    Comparing a large frozen object by its fields takes longer than most of what is computed from it.
    """

    def decorate(build: Callable[[K], V]) -> Callable[[K], V]:
        known: OrderedDict[int, tuple[K, V]] = OrderedDict()

        @wraps(build)
        def found(key: K) -> V:
            pair = known.get(id(key))
            if pair is None or pair[0] is not key:
                pair = known[id(key)] = key, build(key)
                while len(known) > keep:
                    known.popitem(last=False)
            return pair[1]

        return found

    return decorate
