"""One round: the population comes, faults strike, everything is given back, all runs come to their end, the laws are
checked."""

from __future__ import annotations

import heapq
import os
import signal
import threading
import time
from dataclasses import dataclass, field
from itertools import count
from random import Random

from chaos import law
from chaos.caretaker import Caretaker
from chaos.faults import ALL
from chaos.faults.base import Fault
from chaos.plan import Blow, Order, Round
from chaos.stage import Law, Stage
from lab import processes
from lab.client import OVER, Broken

# Seconds until all runs must be over, once nothing is broken any more. Hosts that never received their start leave
# after 60 seconds, and five of these drivers share a machine.
SETTLE = 180.0
# Seconds that an unknown run (a retry, an order whose answer was lost) has before it is canceled.
STRANGERS = 30.0
# Seconds until no process is left after the server was stopped.
QUIET = 100.0
# A fault that could not be ended is tried again after this many seconds.
AGAIN = 1.0


@dataclass
class Outcome:
    """What a round was like."""

    breaches: list[str] = field(default_factory=list)
    settled_after: float = 0.0
    replies: int = 0
    streams: int = 0
    laws: list[str] = field(default_factory=list)


class Play:
    """Carries out a round on a stage."""

    def __init__(self, stage: Stage, plan: Round) -> None:
        self.stage, self.plan = stage, plan
        self.over = threading.Event()
        self.caretakers: list[Caretaker] = []
        self._numbers = count()
        # When, in which order among those of one moment, and what.
        self._due: list[tuple[float, int, Order | Blow | Fault]] = []

    def run(self) -> Outcome:
        outcome = Outcome()
        try:
            self._bring_up()
            self._strike()
            self._calm()
            outcome.settled_after = self._settle()
            self._end_server()
        finally:
            self.over.set()
        everyone = [care for first in self.caretakers for care in first.family()]
        outcome.replies = sum(care.tracked.replies for care in everyone if care.tracked)
        outcome.streams = sum(len(care.followers) for care in everyone)
        self.stage.book.tell(self.stage.ledger)
        outcome.laws, broken = law.oracle(self.stage.place.data, self.stage.ledger.path, self.stage.place.skillrun)
        outcome.breaches += [*broken, *law.keys_used_once(self.stage.place.data), *self.stage.problems]
        return outcome

    # The time of faults.

    def _bring_up(self) -> None:
        if not self.stage.start_server(patience=120):
            raise law.CheckFailed("the server cannot be started, although nothing is broken")

    def _strike(self) -> None:
        begin = time.monotonic()
        for item in (*self.plan.orders, *self.plan.blows):
            self._later(begin + item.at, item)
        while self._due:
            at, _, item = heapq.heappop(self._due)
            while (left := at - time.monotonic()) > 0:
                time.sleep(min(left, 0.2))
                self.stage.reap()
            self._do(item)

    def _later(self, at: float, item: Order | Blow | Fault) -> None:
        heapq.heappush(self._due, (at, next(self._numbers), item))

    def _do(self, item: Order | Blow | Fault) -> None:
        match item:
            case Order():
                self.caretakers.append(Caretaker(self.stage, item, self.over))
                self.caretakers[-1].start()
            case Blow():
                fault = ALL[item.fault](self.stage, Random(item.seed))
                if target := fault.begin():
                    self.stage.fault(item.fault, target)
                    self._later(time.monotonic() + item.hold, fault)
            case Fault():
                if item.end():
                    self.stage.story.tell(f"{item.name}: over")
                else:
                    self._later(time.monotonic() + AGAIN, item)

    # The time after.

    def _calm(self) -> None:
        """Nothing is broken any more."""
        for process in processes.below(os.getpid()):
            if process.state == "T":
                processes.send(process, signal.SIGCONT)
        self.stage.proxy.rough(False)
        self.stage.disk.free()
        self._bring_up()
        self.stage.story.tell("calm")

    def _settle(self) -> float:
        """Until all runs are over; how long that took."""
        begin = time.monotonic()
        threads = [*self.caretakers]
        while threads and time.monotonic() - begin < self._patience():
            self.stage.reap()
            threads[0].join(0.2)
            threads = [care for care in threads if care.is_busy]
        for care in (care for first in threads for care in first.family()):
            streams = ", ".join(follower.name for follower in care.followers if follower.is_alive())
            self.stage.problem(Law.ENDS, f"not over after {self._patience():.0f} s: {care.doing()} {streams}")
        self._see_off(begin)
        return time.monotonic() - begin

    def _patience(self) -> float:
        """If a law is already broken, there is no need to wait for the rest."""
        return STRANGERS if self.stage.problems else SETTLE

    def _see_off(self, begin: float) -> None:
        """Runs that no caretaker has: let go by themselves, then canceled, and never left."""
        client = self.stage.server.client()
        left: list[str] | str = "the server did not say which"
        while time.monotonic() - begin < self._patience() + STRANGERS:
            self.stage.reap()
            try:
                left = [run["run_id"] for run in client.runs() if run["status"] not in OVER]
                if not left:
                    return
                if time.monotonic() - begin > STRANGERS:
                    for run in left:
                        client.cancel(run)
            except Broken as error:
                self.stage.story.tell(f"failed to list the runs: {error}")
            time.sleep(0.3)
        self.stage.problem(Law.ENDS, f"runs that do not end: {left}")

    def _end_server(self) -> None:
        server = self.stage.forget_server()
        code = server.stop()
        if code != 0:
            self.stage.problem(Law.SERVER, f"it was asked to stop and exited with {code}")
        end = time.monotonic() + QUIET
        while left := self._left():
            if time.monotonic() > end:
                for process in left:
                    words = " ".join(process.words())
                    self.stage.problem(Law.PROCESSES, f"left: {process.pid} {process.role()} {words[:200]}")
                return
            time.sleep(0.1)

    def _left(self) -> list[processes.Process]:
        self.stage.reap()
        return [process for process in processes.below(os.getpid()) if process.is_alive]
