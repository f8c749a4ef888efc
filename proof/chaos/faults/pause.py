"""A process is stopped (SIGSTOP) and continues later. Nothing may end differently because of that."""

from __future__ import annotations

import signal
from typing import ClassVar

from chaos.faults.base import Fault
from chaos.plan import FaultName
from lab import processes
from lab.processes import Process, Role


class Pause(Fault):
    role: ClassVar[Role]
    _victim: Process

    def begin(self) -> str | None:
        found = self.stage.population(self.role)
        if not found:
            return None
        self._victim = self.dice.choice(found)
        if not processes.send(self._victim, signal.SIGSTOP):
            return None
        return f"pid {self._victim.pid} of run {self._victim.run()}"

    def end(self) -> bool:
        processes.send(self._victim, signal.SIGCONT)
        return True


class PauseServer(Pause):
    name = FaultName.PAUSE_SERVER
    role = Role.SERVER


class PauseHost(Pause):
    name = FaultName.PAUSE_HOST
    role = Role.HOST


class PauseEngine(Pause):
    name = FaultName.PAUSE_ENGINE
    role = Role.ENGINE
