"""What happened in a round, in the order it happened; printed when something is wrong."""

from __future__ import annotations

import threading
import time

# Of a long story the last lines are kept.
LINES_MAX = 5_000


class Story:
    """Lines with their seconds since the beginning; from any thread."""

    def __init__(self) -> None:
        self._begin = time.monotonic()
        self._lines: list[str] = []
        self._lock = threading.Lock()

    def tell(self, line: str) -> None:
        with self._lock:
            self._lines.append(f"{time.monotonic() - self._begin:8.3f}  {line}")
            del self._lines[:-LINES_MAX]

    def lines(self) -> list[str]:
        with self._lock:
            return list(self._lines)
