"""Plays rounds until the time is up or a law is broken. `python3 -m chaos --help` shows the usage."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path
from random import Random

from chaos import keep, law
from chaos.disk import Disk
from chaos.plan import FaultName, plan
from chaos.round import Outcome, Play
from chaos.stage import Stage
from chaos.table import Table
from chaos.words import ROOT, Words, parse
from lab import processes
from lab.place import copy_of

# In this variable a driver that has been started again finds that it was.
UNSHARED = "SKILLRUN_CHAOS_UNSHARED"
BREACHES_SHOWN = 40
BREACHES_REPEATED = 5


class Driver:
    """Everything from the first round to the last."""

    def __init__(self, words: Words, root: Path, disk: Disk) -> None:
        self.words, self.root, self.disk = words, root, disk
        self.skillrun = copy_of(words.skillrun, root / "bin")
        self.faults = tuple(name for name in FaultName if disk.is_small or name is not FaultName.FILL_DISK)
        self.table = Table()
        self.stage: Stage | None = None

    def run(self) -> int:
        begin, number = time.monotonic(), 0
        while time.monotonic() - begin < self.words.minutes * 60 and number != self.words.rounds:
            number += 1
            outcome = self._round(number)
            if outcome.breaches:
                self._complain(number, outcome)
                return 1
        say("\n".join(self.table.lines(tuple(name for name in FaultName if name not in self.faults))))
        if self.words.keep:
            self._keep()
        return 0

    def _round(self, number: int) -> Outcome:
        planned = plan(self.words.seed, number, self.faults)
        if self.stage is None or planned.is_fresh:
            if self.stage:
                self.stage.close()
            root = self.root / f"round-{number}"
            self.stage = Stage(root, self.skillrun, self.disk, Random(f"{self.words.seed}/{number}/proxy"))
        self.stage.story.tell(f"round {number}, {len(planned.orders)} orders, {len(planned.blows)} faults")
        outcome = Play(self.stage, planned).run()
        self.table.add(self.stage, outcome)
        say(f"round {number}: {len(planned.orders)} runs, {len(planned.blows)} faults, "
            f"settled after {outcome.settled_after:.1f} s, {len(outcome.breaches) or 'no'} breaches")
        return outcome

    def _complain(self, number: int, outcome: Outcome) -> None:
        say(f"\nseed {self.words.seed}, round {number}: a law is broken")
        say("\n".join(outcome.breaches[:BREACHES_SHOWN]))
        say("\nWhat happened, in seconds:")
        say("\n".join(line[:160] for line in self.stage.story.lines()))
        self._keep()
        # Again, because of a long output often only the last lines are kept.
        say("\n".join(outcome.breaches[:BREACHES_REPEATED]))

    def _keep(self) -> None:
        target = ROOT / "target" / "chaos" / str(self.words.seed)
        story = self.stage.story.lines()
        whole = keep.keep({"data": self.stage.place.data, "stage": self.stage.root}, target, story)
        say(f"\nKept in {target}{'' if whole else ', as far as there was room'}")

    def close(self) -> None:
        """Leaves no process behind."""
        for process in reversed(processes.below(os.getpid())):
            processes.send(process, signal.SIGKILL)
        if self.stage:
            self.stage.close()


def say(text: str) -> None:
    print(text, flush=True)


def unshared(given: list[str]) -> int | None:
    """Starts the driver again where it may mount; none where that is not needed or cannot be done."""
    if os.geteuid() == 0 or UNSHARED in os.environ or not shutil.which("unshare"):
        return None
    os.environ[UNSHARED] = "1"
    words = ["unshare", "--user", "--map-root-user", "--mount", sys.executable, "-m", "chaos", *given]
    if os.spawnvp(os.P_WAIT, "unshare", ["unshare", "--user", "--map-root-user", "--mount", "true"]) != 0:
        return None
    return os.spawnvp(os.P_WAIT, "unshare", words)


def play(words: Words) -> int:
    root = Path(tempfile.mkdtemp(prefix="skillrun-chaos-"))
    disk = Disk(root / "disk")
    driver = None
    try:
        if not disk.is_small:
            say("Mounting is not possible here, so the full disk is not tested.")
        if not processes.become_reaper():
            raise law.CheckFailed("this system has no subreapers, so remaining processes cannot be found")
        driver = Driver(words, root, disk)
        return driver.run()
    finally:
        if driver:
            driver.close()
        disk.close()
        shutil.rmtree(root, ignore_errors=True)


def main(given: list[str]) -> int:
    words = parse(given)
    if (code := unshared(["--seed", str(words.seed), *given])) is not None:
        return code
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(2))
    # A shell that starts it in the background leaves this signal ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    say(f"seed {words.seed}; the same plan again: {words.repeat()}")
    try:
        code = play(words)
    except law.CheckFailed as problem:
        say(f"chaos: {problem}")
        code = 2
    except KeyboardInterrupt:
        say("interrupted")
        code = 2
    say(f"seed {words.seed}; the same plan again: {words.repeat()}")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
