"""Results kept for the objects seen last, found again by identity (the objects are frozen)."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
V = TypeVar("V")


def kept_by_identity(keep: int) -> Callable[[Callable[P, V]], Callable[P, V]]:
    """Decorator: the result of a function of frozen objects, kept for the `keep` calls seen last.

    Comparing a large frozen object by its fields takes longer than most of what is computed from it.
    """

    def decorate(build: Callable[P, V]) -> Callable[P, V]:
        known: OrderedDict[tuple[int, ...], tuple[tuple[object, ...], V]] = OrderedDict()

        @wraps(build)
        def found(*objects: P.args, **named: P.kwargs) -> V:
            key = tuple(map(id, objects))
            pair = known.get(key)  # it holds the objects, so no other object can have their ids
            if pair is None:
                pair = known[key] = objects, build(*objects, **named)
                while len(known) > keep:
                    known.popitem(last=False)
            return pair[1]

        return found

    return decorate
