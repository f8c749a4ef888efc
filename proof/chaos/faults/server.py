"""The server is killed, or asked to stop; a while later it is started again."""

from __future__ import annotations

import signal

from chaos.faults.base import Fault
from chaos.plan import FaultName
from chaos.stage import Law
from lab.server import Server


class KillServer(Fault):
    name = FaultName.KILL_SERVER

    def begin(self) -> str | None:
        server = self.stage.forget_server()
        if server is None:
            return None
        server.kill()
        return f"pid {server.pid}"

    def end(self) -> bool:
        return self.stage.start_server()


class StopServer(Fault):
    name = FaultName.STOP_SERVER
    _stopping: Server

    def begin(self) -> str | None:
        server = self.stage.forget_server()
        if server is None:
            return None
        server.ask_to_stop()
        self._stopping = server
        return f"pid {server.pid}"

    def end(self) -> bool:
        # It may be paused, before or since, and then it does not react.
        self._stopping.process.send_signal(signal.SIGCONT)
        code = self._stopping.stop()
        if code != 0:
            self.stage.problem(Law.SERVER, f"it was asked to stop and exited with {code}")
        return self.stage.start_server()
