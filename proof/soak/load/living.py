"""Which runs exist, for clients that want to look at one."""

from __future__ import annotations

import random
import threading
from collections import deque

# The number of ended runs remembered; the oldest of them have been removed long since.
OVER_MAX = 500


class Living:
    """Runs at work and runs that are over, as clients know them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._at_work: set[str] = set()
        self._over: deque[str] = deque(maxlen=OVER_MAX)
        self._ended: set[str] = set()

    def began(self, run: str) -> None:
        with self._lock:
            self._at_work.add(run)

    def ended(self, run: str) -> None:
        with self._lock:
            self._at_work.discard(run)
            self._over.append(run)
            self._ended.add(run)

    def some_at_work(self, dice: random.Random) -> str | None:
        with self._lock:
            return dice.choice(sorted(self._at_work)) if self._at_work else None

    def some_over(self, dice: random.Random) -> str | None:
        with self._lock:
            return dice.choice(self._over) if self._over else None

    def all_ended(self) -> set[str]:
        with self._lock:
            return set(self._ended)
