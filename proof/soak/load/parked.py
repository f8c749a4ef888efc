"""Runs that wait or work from the beginning to the end. Nothing may remove them, and they must still come to their end."""

from __future__ import annotations

import random
import time

from lab.client import OVER
from lab.kinds import Kind
from soak.book import Book
from soak.load.client import SoakClient
from soak.load.kinds import PARKED
from soak.load.runs import Refused, cancel, drive, good, is_right, submit

PATIENCE = 60.0


class Parked:
    """One of each kind that stays."""

    def __init__(self, client: SoakClient, seed: int) -> None:
        self._dice = random.Random(f"{seed} parked")
        self.runs: dict[str, Kind] = {submit(client, kind, self._dice): kind for kind in PARKED}
        for run, kind in self.runs.items():
            wait_for(client, run, "waiting_user" if kind.answers else "running")

    def end(self, client: SoakClient, book: Book) -> None:
        """Answers them all, after so long a time."""
        for run, kind in self.runs.items():
            if not kind.answers:
                cancel(client, run)
            end = drive(client, kind, run, self._dice, book)
            if not is_right(kind, end):
                book.breach(f"{run}: {kind.name}, which stayed all the time, ended as {end}")


def wait_for(client: SoakClient, run: str, status: str) -> None:
    end = time.monotonic() + PATIENCE
    while (found := good(client.look(run), f"GET {run}").json()["status"]) != status:
        if time.monotonic() > end or found in OVER:
            raise Refused(f"{run} is {found} and not {status}")
        time.sleep(0.1)
