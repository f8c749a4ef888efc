"""Calls `skillrun gc` again and again, and sees what it did, on the disk and through the server."""

from __future__ import annotations

import json
import random
import subprocess

from lab.client import Broken, Client, View
from lab.place import Place
from soak.book import Book, Counted
from soak.retention import seen
from soak.retention.laws import Removal, Round, What, Why, breaches
from soak.retention.settings import Ages

# Seconds that a call may take on a busy machine.
GC_TIMEOUT = 120.0
# Runs that are asked for after each call, of each sort.
ASKED = 3

# An id of the right form that was never given out.
NEVER = "01900000-0000-7000-8000-000000000000"


class Keeper:
    """Removes what is old enough."""

    def __init__(self, place: Place, client: Client, kept: Ages, book: Book, seed: str) -> None:
        self._place, self._client, self._ages, self._book = place, client, kept, book
        self._dice = random.Random(seed)

    def pause(self) -> float:
        return self._ages.every

    def one(self) -> None:
        runs = self._place.data / "runs"
        before = seen.look(runs)
        removals = gc(self._place)
        done = Round(before, removals, seen.look(runs), seen.removed_notes(runs))
        for breach in breaches(done):
            self._book.breach(f"retention: {breach}")
        self._book.count(Counted.REMOVED, len(done.gone))
        without = [removal.run for removal in removals if removal.what is What.EVIDENCE]
        self._book.count(Counted.EVIDENCE, len(without))
        for run in self._some(list(done.gone)):
            self._is_removed(run)
        for run in self._some(without):
            self._has_no_evidence(run)

    def _some(self, runs: list[str]) -> list[str]:
        return self._dice.sample(runs, min(ASKED, len(runs)))

    def _is_removed(self, run: str) -> None:
        """As docs/frontends.md says: 410, and never as if it had not been."""
        for path in ("", "/events/history", "/chat/history", "/result", "/raw?attempt=1&stream=stdout"):
            self._expect(f"/v1/runs/{run}{path}", 410, "RUN_REMOVED")
        for view in View:
            self._stream_is(run, view, 410)
        self._expect(f"/v1/runs/{NEVER}", 404, "RUN_NOT_FOUND")

    def _has_no_evidence(self, run: str) -> None:
        """The Log still exists, and a request for the bytes is answered with the reason."""
        self._expect(f"/v1/runs/{run}/raw?attempt=1&stream=stdout", 410, "EVIDENCE_REMOVED")
        self._expect(f"/v1/runs/{run}/events/history", 200, None)
        self._expect(f"/v1/runs/{run}/result", 200, None)

    def _expect(self, path: str, status: int, code: str | None) -> None:
        answer = self._client.get(path)
        said = answer.json().get("code") if code else None
        if (answer.status, said) != (status, code):
            self._book.breach(f"retention: {path} answers {answer.status} {said or ''}, not {status} {code or ''}")

    def _stream_is(self, run: str, view: View, status: int) -> None:
        try:
            with self._client.follow(run, view) as stream:
                if stream.status != status:
                    self._book.breach(f"retention: /v1/runs/{run}/{view} answers {stream.status}, not {status}")
        except Broken as error:
            self._book.breach(f"retention: {error}")


def gc(place: Place) -> list[Removal]:
    """Calls `skillrun gc` and gives what it says it did."""
    process = place.start("gc", "--json", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    out, said = process.communicate(timeout=GC_TIMEOUT)
    if process.returncode != 0:
        raise AssertionError(f"skillrun gc ends with {process.returncode}: {said.decode(errors='replace')[-500:]}")
    removed = json.loads(out)["removed"]
    return [Removal(line["run_id"], What(line["what"]), Why(line["why"])) for line in removed]
