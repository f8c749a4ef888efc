"""Which bytes of a stream are spoken for."""

from __future__ import annotations

from bisect import bisect_left, bisect_right


class Ranges:
    """Half-open ranges, joined as they come. Events come nearly in order, so there are seldom more than a few."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []

    def add(self, start: int, end: int) -> None:
        if start >= end:
            return
        if self._ends and self._starts[-1] <= start <= self._ends[-1]:
            self._ends[-1] = max(self._ends[-1], end)
            return
        first = bisect_left(self._ends, start)
        last = bisect_right(self._starts, end)
        if first < last:
            start, end = min(start, self._starts[first]), max(end, self._ends[last - 1])
        self._starts[first:last], self._ends[first:last] = [start], [end]

    @property
    def end(self) -> int:
        return self._ends[-1] if self._ends else 0

    def hole(self, size: int) -> tuple[int, int] | None:
        """The first range below `size` that nothing covers."""
        if size == 0:
            return None
        if not self._starts or self._starts[0] > 0:
            return 0, min(size, self._starts[0] if self._starts else size)
        if self._ends[0] < size:
            return self._ends[0], min(size, self._starts[1]) if len(self._starts) > 1 else size
        return None
