"""Where to write a name beside each point of a scatter so that no two of them overlap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

CHARACTER_PX: Final = 6.3  # mean advance of the 11 px label font
LINE_PX: Final = 14.0
GAP_PX: Final = 2.0

# (across, up) from the point: -1 left or below, 0 centred, 1 right or above; the first with room is taken
SIDES: Final[dict[str, tuple[int, int]]] = {
    "middle right": (1, 0),
    "middle left": (-1, 0),
    "top center": (0, 1),
    "bottom center": (0, -1),
    "top right": (1, 1),
    "bottom right": (1, -1),
    "top left": (-1, 1),
    "bottom left": (-1, -1),
}


@dataclass(frozen=True)
class Box:
    """A rectangle in pixels, y growing upwards."""

    left: float
    bottom: float
    right: float
    top: float

    def meets(self, other: Box) -> bool:
        """Do the two share any area?"""
        return (
            self.left < other.right
            and other.left < self.right
            and self.bottom < other.top
            and other.bottom < self.top
        )

    def inside(self, other: Box) -> bool:
        """Does this one lie wholly within the other?"""
        return (
            self.left >= other.left
            and self.right <= other.right
            and self.bottom >= other.bottom
            and self.top <= other.top
        )


@dataclass(frozen=True)
class Mark:
    """A point in pixels, its radius and the name wanted beside it (one line or several)."""

    x: float
    y: float
    radius: float
    name: str


@dataclass(frozen=True)
class Placed:
    """The text to draw at a mark and its side; `number` is set when only a number found room."""

    text: str
    side: str
    number: int | None = None


def text_box(mark: Mark, text: str, side: str) -> Box:
    """The rectangle of `text` written at that side of the mark, as the chart places it."""
    lines = text.split("\n")
    width, height = max(map(len, lines)) * CHARACTER_PX, len(lines) * LINE_PX
    across, up = SIDES[side]
    reach = mark.radius + GAP_PX
    left = mark.x + (reach if across > 0 else -width - reach if across < 0 else -width / 2)
    bottom = mark.y + (reach if up > 0 else -height - reach if up < 0 else -height / 2)
    return Box(left, bottom, left + width, bottom + height)


def _may_meet(x: float, box: Box, other_x: float, other: Box) -> bool:
    """Whether two boxes meet at this width or at a larger one: those that stand in the other order than their
    points come to meet when the points move apart."""
    if x == other_x or not (box.bottom < other.top and other.bottom < box.top):
        return box.meets(other)
    return box.right > other.left if x < other_x else other.right > box.left


def place(marks: Sequence[Mark], width: float, height: float) -> list[Placed]:
    """A text and side for each mark, first come first served; a number where the name has no room.

    The answer holds for every plot at least `width` pixels wide at the same height: points move apart
    when a plot grows, texts do not. Where dots crowd together a number may lie on another dot, and as a
    last resort on another text.
    """
    canvas = Box(0, 0, width, height)
    dots = [(m.x, Box(m.x - m.radius, m.y - m.radius, m.x + m.radius, m.y + m.radius)) for m in marks]
    busy: list[tuple[float, Box]] = []  # with the place of the point, which moves when a plot grows
    placed: dict[int, Placed] = {}

    def side_for(index: int, text: str, over_dots: bool = False) -> str | None:
        blocked = busy if over_dots else busy + [dot for i, dot in enumerate(dots) if i != index]
        for side in SIDES:
            x, box = marks[index].x, text_box(marks[index], text, side)
            if box.inside(canvas) and not any(_may_meet(x, box, *other) for other in blocked):
                busy.append((x, box))
                return side
        return None

    for index, mark in enumerate(marks):
        if side := side_for(index, mark.name):
            placed[index] = Placed(mark.name, side)
    left_over = [i for i in range(len(marks)) if i not in placed]
    for number, index in enumerate(left_over, start=1):
        text = str(number)
        side = side_for(index, text) or side_for(index, text, over_dots=True) or "middle right"
        placed[index] = Placed(text, side, number)
    return [placed[i] for i in range(len(marks))]
