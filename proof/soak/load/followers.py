"""Followers that come, read for a while, go without a word, and at times come again from where they were."""

from __future__ import annotations

import json
import random
import time

from lab.client import Broken, Stream, View
from soak.book import Book, Counted
from soak.load.client import SoakClient
from soak.load.living import Living

# Seconds without news after which a follower goes.
QUIET = 3.0
# Seconds that one stays at most.
STAY = 6.0
# The share of those that go which come again.
BACK = 0.5

# Over and read to its end; removed; the server has enough.
NOTHING_TO_READ = (204, 410, 429)


class Follower:
    """Follows one run after the other, and sees that nothing is missing."""

    def __init__(self, client: SoakClient, living: Living, book: Book, seed: str) -> None:
        self._client, self._living, self._book = client, living, book
        self._dice = random.Random(seed)

    def pause(self) -> float:
        return self._dice.uniform(0, 1)

    def one(self) -> None:
        run = self._living.some_at_work(self._dice)
        if run is None:
            return
        view = self._dice.choice(list(View))
        cursor, seen = self._visit(run, view, None, 0)
        while cursor and self._dice.random() < BACK:
            cursor, seen = self._visit(run, view, cursor, seen)

    def _visit(self, run: str, view: View, cursor: str | None, seen: int) -> tuple[str | None, int]:
        """Reads for a while; the cursor and the last seq, none when there is no more."""
        with self._client.watch(run, view, cursor, QUIET) as stream:
            self._book.count(Counted.FOLLOWERS)
            if stream.status in NOTHING_TO_READ:
                return None, seen
            if stream.status != 200:
                self._book.breach(f"{run}: {view} answers {stream.status}")
                return None, seen
            return self._read(run, view, stream, cursor, seen)

    def _read(self, run: str, view: View, stream: Stream, cursor: str | None, seen: int) -> tuple[str | None, int]:
        end = time.monotonic() + self._dice.uniform(0.2, STAY)
        try:
            for event in stream:
                seq = json.loads(event.data).get("seq")
                if seq != seen + 1:
                    self._book.breach(f"{run}: {view} gives seq {seq} after {seen} ({event.name})")
                seen, cursor = seq, event.id
                self._book.count(Counted.EVENTS)
                if time.monotonic() > end:
                    return cursor, seen
        except Broken:
            return cursor, seen  # Quiet for too long.
        return None, seen


class ListFollower:
    """Follows the list of all runs, and sees that it begins with a reset."""

    def __init__(self, client: SoakClient, book: Book, seed: str) -> None:
        self._client, self._book = client, book
        self._dice = random.Random(seed)

    def pause(self) -> float:
        return self._dice.uniform(0, 1)

    def one(self) -> None:
        end = time.monotonic() + self._dice.uniform(0.2, STAY)
        with self._client.stream("/v1/stream", QUIET) as stream:
            self._book.count(Counted.FOLLOWERS)
            try:
                for number, event in enumerate(stream):
                    if (number == 0) != (event.name == "reset"):
                        self._book.breach(f"/v1/stream: event {number} is {event.name}")
                    self._book.count(Counted.EVENTS)
                    if time.monotonic() > end:
                        return
            except Broken:
                return
