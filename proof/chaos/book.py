"""What the driver knows of its runs, and which faults have hit them: so it can say how each may end."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass, field

from chaos.plan import Order
from lab.client import View
from oracle.ledger import Accepted, Ledger

# Ends that the contract allows where a process was killed or the disk was full.
HOST_GONE = ("failed:ATTEMPT_LOST", "failed:SESSION_LOST", "failed:ENGINE_EXIT_NONZERO")
# The process that was killed may be that of a check.
ENGINE_GONE = ("failed:ENGINE_FAILED", "failed:SESSION_LOST", "failed:ENGINE_EXIT_NONZERO", "failed:CHECK_FAILED")
DISK_FULL = (
    *HOST_GONE, *ENGINE_GONE, "failed:HOST_ERROR", "failed:ENGINE_NOT_STARTED", "failed:WORKSPACE_FAILED",
)


@dataclass
class Tracked:
    """A run that was accepted. Only its caretaker writes it; `end` is the last status that the server reported."""

    run: str
    order: Order
    accepted_at: float
    asked_to_cancel: bool = False
    told_canceled: bool = False
    end: str | None = None
    ended_at: float | None = None
    replies: int = 0
    streams: dict[View, "StreamKept"] = field(default_factory=dict)


@dataclass
class StreamKept:
    """What a follower has received, and how often it had to start from scratch."""

    path: str
    events: int = 0
    resets: int = 0
    is_whole: bool = False
    problem: str | None = None


@dataclass
class Weather:
    """Something that may hit every process alive at the time."""

    begin: float
    excuses: tuple[str, ...]
    end: float | None = None


class Book:
    """All runs of a data folder."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.runs: dict[str, Tracked] = {}
        self._hits: dict[str, set[str]] = {}
        self._weather: list[Weather] = []
        self._rewound: set[str] = set()
        self._told: set[str] = set()

    def track(self, run: str, order: Order, asked_at: float) -> Tracked:
        with self._lock:
            return self.runs.setdefault(run, Tracked(run, order, asked_at))

    def hit(self, run: str | None, excuses: Iterable[str]) -> None:
        if run:
            with self._lock:
                self._hits.setdefault(run, set()).update(excuses)

    def storm(self, excuses: tuple[str, ...]) -> Weather:
        weather = Weather(time.monotonic(), excuses)
        with self._lock:
            self._weather.append(weather)
        return weather

    def rewound(self, run: str) -> None:
        """Events of it that a client may have seen are gone, so its readers may be asked to start from scratch."""
        with self._lock:
            self._rewound.add(run)

    def may_reset(self, run: str) -> bool:
        """A full disk can take back lines that a client has read, and then the Log has a new epoch."""
        with self._lock:
            return run in self._rewound or bool(self._weather)

    def living(self) -> list[Tracked]:
        with self._lock:
            return [run for run in self.runs.values() if run.end is None]

    def expected(self, tracked: Tracked) -> list[str]:
        """How it may end. A client whose cancel was acknowledged may rely on it."""
        if tracked.told_canceled:
            return ["canceled"]
        ends = set(tracked.order.kind.ends) | self._hits.get(tracked.run, set())
        for weather in self._weather:
            begins_before_end = weather.end is None or tracked.accepted_at <= weather.end
            if begins_before_end and (tracked.ended_at is None or tracked.ended_at >= weather.begin):
                ends |= set(weather.excuses)
        return sorted(ends | ({"canceled"} if tracked.asked_to_cancel else set()))

    def tell(self, ledger: Ledger) -> None:
        """Writes down what was accepted and how it may end, once per run, when a round is over."""
        for tracked in self.runs.values():
            if tracked.run not in self._told:
                self._told.add(tracked.run)
                kind = tracked.order.kind
                continuation = kind.options.continuation
                ledger.write(Accepted(tracked.run, kind.name, kind.mode, continuation, self.expected(tracked)))
