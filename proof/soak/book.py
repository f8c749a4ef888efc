"""What all threads of a soak write down: what was counted, and what was wrong."""

from __future__ import annotations

import threading
import traceback
from collections import Counter
from collections.abc import Callable
from enum import Enum

# More of the same add no information.
BREACHES_MAX = 100


class Counted(Enum):
    """What is counted; the value is what a person reads."""

    RUNS = "runs brought to an end"
    ANSWERS = "questions answered"
    CANCELS = "cancels"
    FOLLOWERS = "followers that came and went"
    EVENTS = "events followed"
    REQUESTS = "requests answered"
    PAGES = "pages read"
    EVIDENCE = "runs that lost their evidence"
    REMOVED = "runs removed"
    TOLD = "webhooks received"
    REFUSED = "webhooks refused once"


class Book:
    """Shared by all threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counter[Counted] = Counter()
        self._breaches: list[str] = []

    def count(self, what: Counted, by: int = 1) -> None:
        with self._lock:
            self._counts[what] += by

    def counted(self, what: Counted) -> int:
        with self._lock:
            return self._counts[what]

    def breach(self, what: str) -> None:
        """Something that must not be."""
        with self._lock:
            if len(self._breaches) < BREACHES_MAX:
                self._breaches.append(what)

    def breaches(self) -> list[str]:
        with self._lock:
            return list(self._breaches)


class Crew:
    """Threads that repeat something until they are stopped. An exception that they raise is a breach."""

    def __init__(self, book: Book) -> None:
        self.stop = threading.Event()
        self._book = book
        self._threads: list[threading.Thread] = []

    def repeat(self, name: str, work: Callable[[], None], pause: Callable[[], float]) -> None:
        """Does `work` again and again, with pauses in between."""

        def round_and_round() -> None:
            while not self.stop.wait(pause()):
                try:
                    work()
                except Exception:  # A thread that dies in silence would look like a quiet server.
                    self._book.breach(f"{name}: {traceback.format_exc(limit=-2).strip()}")

        thread = threading.Thread(target=round_and_round, name=name, daemon=True)
        self._threads.append(thread)
        thread.start()

    def end(self, patience: float) -> None:
        """Stops all; one that does not stop is a breach."""
        self.stop.set()
        for thread in self._threads:
            thread.join(patience)
            if thread.is_alive():
                self._book.breach(f"{thread.name} does not end")
