"""A host or a process of an engine is killed."""

from __future__ import annotations

import signal
from typing import ClassVar

from chaos.book import ENGINE_GONE, HOST_GONE
from chaos.faults.base import Fault
from chaos.plan import FaultName
from lab import processes
from lab.processes import Role


class Kill(Fault):
    role: ClassVar[Role]
    excuses: ClassVar[tuple[str, ...]]

    def begin(self) -> str | None:
        found = self.stage.population(self.role)
        if not found:
            return None
        victim = self.dice.choice(found)
        run = victim.run()
        # Before the blow: the run may be over a moment later.
        self.stage.book.hit(run, self.excuses)
        if not processes.send(victim, signal.SIGKILL):
            return None
        return f"pid {victim.pid} of run {run}"


class KillHost(Kill):
    name = FaultName.KILL_HOST
    role = Role.HOST
    excuses = HOST_GONE


class KillEngine(Kill):
    name = FaultName.KILL_ENGINE
    role = Role.ENGINE
    excuses = ENGINE_GONE
