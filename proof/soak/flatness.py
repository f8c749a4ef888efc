"""What counts as growing, and what as flat.

Something grows when all of this holds:

- its line rises by more than a share of its level over the time measured: less is not noticeable;
- and by more than an amount: a share of little is nothing;
- and the interval of the line lies above zero: noise that happened to rise is not growth;
- and the later half alone also rises, by half of what is allowed for the whole: a leak continues. A single rise, such
  as a cache that has filled, an allocator that took one more arena or a step at the start, has an end.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from math import inf
from statistics import median

from soak.slope import Point, Slope, slope

# Of the points, at either end, for what is shown as first and last.
END = 10


class Verdict(Enum):
    """What a quantity did."""

    FLAT = "flat"
    GROWING = "GROWING"
    # Too few values: nothing was shown, so nothing passed.
    UNKNOWN = "NOT SEEN"


@dataclass(frozen=True)
class Bound:
    """By how much something may rise over the time measured: the larger of the two."""

    share: float
    amount: float

    def at(self, level: float) -> float:
        return max(self.share * level, self.amount)


# For what is shown and not judged.
ANYTHING = Bound(share=inf, amount=inf)


@dataclass(frozen=True)
class Finding:
    """What a quantity did, with the decisive figures."""

    verdict: Verdict
    first: float = 0.0
    last: float = 0.0
    # Over the time measured, by the line.
    rise: float = 0.0
    allowed: float = 0.0
    line: Slope | None = None

    @property
    def per_hour(self) -> float:
        return self.line.per_second * 3600 if self.line else 0.0


def judge(points: list[Point], bound: Bound) -> Finding:
    """What these points, in their order in time, say."""
    line = slope(points)
    if line is None:
        return Finding(Verdict.UNKNOWN)
    lasted = points[-1].at - points[0].at
    allowed = bound.at(median(point.value for point in points))
    rise = line.per_second * lasted
    is_growing = rises(points, allowed) and rises(points[len(points) // 2 :], allowed / 2)
    first, last = ends(points)
    return Finding(Verdict.GROWING if is_growing else Verdict.FLAT, first, last, rise, allowed, line)


def rises(points: list[Point], allowed: float) -> bool:
    """Whether the line rises by more than is allowed, and not by chance."""
    line = slope(points)
    return line is not None and line.low > 0 and line.per_second * (points[-1].at - points[0].at) > allowed


def ends(points: list[Point]) -> tuple[float, float]:
    """What there was at first and at last, without the chance of single values."""
    width = max(1, len(points) // END)
    return median(point.value for point in points[:width]), median(point.value for point in points[-width:])
