"""Whether a row of measurements rises: the line of Theil and Sen, with an interval made from ranks.

The slope is the median over all pairs of points, so a few wild values move it little. The interval asks which of these
slopes a row without any trend would give by chance (Kendall's count of pairs), and needs no shape of the noise.

Neighbours in time resemble each other: memory of this second is nearly that of the last. Ranks take every point for a
new witness, so the points are first put together into blocks, and the medians of the blocks are the witnesses.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from statistics import median

# A dozen quantities are judged in one soak. At 99 % one soak in ten would see a trend that is none, were it for the
# interval alone; the bounds of flatness.py come on top.
CERTAINTY = 2.576

# Enough for a narrow interval, few enough that a block is longer than what neighbours share.
BLOCKS = 40

# Below this the interval is meaningless.
LEAST = 8


@dataclass(frozen=True)
class Point:
    """A value at a moment, in seconds."""

    at: float
    value: float


@dataclass(frozen=True)
class Slope:
    """Per second: the best guess, and what it lies between."""

    per_second: float
    low: float
    high: float


def blocks(points: list[Point], most: int = BLOCKS) -> list[Point]:
    """Neighbours merged, so that there are at most this many points."""
    if len(points) <= most:
        return list(points)
    edges = [len(points) * number // most for number in range(most + 1)]
    return [middle(points[begin:end]) for begin, end in zip(edges, edges[1:])]


def middle(points: list[Point]) -> Point:
    """The median of some points, moment and value."""
    return Point(median(point.at for point in points), median(point.value for point in points))


def slope(points: list[Point]) -> Slope | None:
    """The slope of a row of points; none if there are too few."""
    witnesses = blocks(points)
    count = len(witnesses)
    if count < LEAST:
        return None
    rises = sorted(pair_slopes(witnesses))
    if not rises:
        return None
    spread = CERTAINTY * sqrt(count * (count - 1) * (2 * count + 5) / 18)
    below = max(0, int((len(rises) - spread) / 2))
    above = min(len(rises) - 1, int((len(rises) + spread) / 2) + 1)
    return Slope(median(rises), rises[below], rises[above])


def pair_slopes(points: list[Point]) -> list[float]:
    """The slope between each two points of different moments."""
    return [
        (later.value - earlier.value) / (later.at - earlier.at)
        for number, earlier in enumerate(points)
        for later in points[number + 1 :]
        if later.at > earlier.at
    ]
