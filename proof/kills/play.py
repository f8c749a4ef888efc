"""Brings the workflow to its end, with one kill at a chosen event of its Log."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from kills import log
from kills.flow import ANSWER
from kills.log import Log
from lab import flows, processes
from lab.place import Place

# Seconds until the workflow must be over, and until no process of it is left.
PLAY_TIMEOUT = 240.0
QUIET_TIMEOUT = 120.0
# Seconds between two looks at the Log: less than the time of a write to the disk.
POLL_INTERVAL = 0.0005
# Seconds that an owner has to take up an answer of its own accord.
ANSWER_INTERVAL = 0.5


class PlayFailed(Exception):
    """The workflow did not come to an end; in one sentence."""


@dataclass
class Played:
    log: Log
    # How many events the Log had when the next owner opened it; none without a kill.
    killed_at: int | None


class Play:
    """One workflow in a data folder of its own. `cut` is the number of events after which its owner is killed."""

    def __init__(self, place: Place, file: Path, cut: int | None) -> None:
        self.place, self.file, self.cut = place, file, cut
        self.killed_at: int | None = None
        self.log: Log | None = None
        self.said_at = 0.0

    def run(self) -> Played:
        owner, end = self._start(), time.monotonic() + PLAY_TIMEOUT
        try:
            while not (self.log and self.log.is_over):
                if time.monotonic() > end:
                    raise PlayFailed(f"cut {self.cut}: not over in time: {self.log and self.log.events[-1]}")
                count = self._look()
                if self.cut and self.killed_at is None and count >= self.cut:
                    self._kill(owner)
                if owner.poll() is not None and not self.log.is_over:
                    owner = self._start()
                self._answer()
                time.sleep(POLL_INTERVAL)
            owner.wait(max(1.0, end - time.monotonic()))
        finally:
            if owner.poll() is None:
                owner.kill()
                owner.wait()
        if self.killed_at == len(self.log.events):
            # Its owner died after the last event, and the next process writes the views that it owed.
            self.place.start("recover", "--json").wait(max(1.0, end - time.monotonic()))
        self._wait_quiet()
        return Played(self.log, self.killed_at)

    def _look(self) -> int:
        if self.log is None:
            self.log = log.find(self.place.data)
        return self.log.read() if self.log else 0

    def _start(self) -> subprocess.Popen:
        """The workflow itself, or after a kill, whatever there is to do."""
        self._look()
        words = ("recover", "--json") if self.log else (*flows.words(str(self.file)), "--json")
        if self.log and (number := self.log.question()) is not None:
            words = ("reply", self.log.run, ANSWER, "--interaction", str(number), "--json")
            self.said_at = time.monotonic()
        return self.place.start(*words)

    def _kill(self, owner: subprocess.Popen) -> None:
        owner.send_signal(signal.SIGKILL)
        owner.wait()
        self.log.cut(self.cut)
        self.killed_at = self.log.read()

    def _answer(self) -> None:
        """Another process answers while the owner works."""
        if self.log and self.log.question() is not None and time.monotonic() - self.said_at > ANSWER_INTERVAL:
            self.said_at = time.monotonic()
            words = ("reply", self.log.run, ANSWER, "--interaction", str(self.log.question()), "--no-wait", "--json")
            self.place.start(*words).wait()

    def _wait_quiet(self) -> None:
        end = time.monotonic() + QUIET_TIMEOUT
        while left := [one for one in processes.below(os.getpid()) if one.is_alive]:
            processes.reap(set())
            if time.monotonic() > end:
                raise PlayFailed(f"cut {self.cut}: left: {[' '.join(one.words())[:100] for one in left]}")
            time.sleep(0.02)
        processes.reap(set())
