"""Runs that wait or work for long. Nothing may remove them, and they must still end.

A run without a process waits from the beginning to the end. A process of the scripted engine lives for ten minutes at
most, whatever it receives; so runs with a process are ended and started again before that.
"""

from __future__ import annotations

import random
import time

from lab.client import OVER
from lab.kinds import Continuation, Kind
from soak.book import Book
from soak.load.client import SoakClient
from soak.load.kinds import PARKED
from soak.load.runs import Refused, cancel, drive, good, is_right, submit

PARK_TIMEOUT = 60.0
# Seconds until those with a process are begun again: many times what runs are kept, and well below ten minutes.
STAY = 240.0


class Parked:
    """One of each kind that stays."""

    def __init__(self, client: SoakClient, book: Book, seed: int) -> None:
        self._client, self._book = client, book
        self._dice = random.Random(f"{seed} parked")
        self._runs: dict[str, Kind] = {}
        for kind in PARKED:
            self._begin(kind)

    def pause(self) -> float:
        return STAY

    def one(self) -> None:
        """Those with a process come to their end, and others take their places."""
        for run, kind in list(self._runs.items()):
            if has_process(kind):
                self._end(run)
                self._begin(kind)

    def end(self) -> None:
        """All of them end, after this much time."""
        for run in list(self._runs):
            self._end(run)

    def _begin(self, kind: Kind) -> None:
        run = submit(self._client, kind, self._dice)
        self._runs[run] = kind
        wait_for(self._client, run, "waiting_user" if kind.answers else "running")

    def _end(self, run: str) -> None:
        kind = self._runs.pop(run)
        if not kind.answers:
            cancel(self._client, run)
        end = drive(self._client, kind, run, self._dice, self._book)
        if not is_right(kind, end):
            self._book.breach(f"{run}: {kind.name}, which was to stay, ended as {end}")


def has_process(kind: Kind) -> bool:
    return not kind.answers or kind.options.continuation is Continuation.STICKY


def wait_for(client: SoakClient, run: str, status: str) -> None:
    end = time.monotonic() + PARK_TIMEOUT
    while (found := good(client.look(run), f"GET {run}").json()["status"]) != status:
        if time.monotonic() > end or found in OVER:
            raise Refused(f"{run} is {found} and not {status}")
        time.sleep(0.1)
