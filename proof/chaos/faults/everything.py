"""All processes are killed at once, as if the power had failed.

Data that is written but not synced is lost with the power. Events made from evidence are written without a sync; at
times the last one of a run is cut in the middle, and the lock says that its writer lived in another boot of the
machine, as it would after a power failure.
"""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path
from random import Random

from chaos.book import HOST_GONE, ENGINE_GONE
from chaos.faults.base import Fault
from chaos.faults.unowned import hold
from chaos.plan import FaultName
from lab import processes
from lab.processes import Role

EVERYBODY = (Role.SERVER, Role.COMMAND, Role.HOST, Role.ENGINE)
OTHER_BOOT = "00000000-0000-4000-8000-000000000000"
# Seconds for the kernel to take them away.
GONE = 10.0


class KillAll(Fault):
    name = FaultName.KILL_ALL

    def begin(self) -> str | None:
        server = self.stage.forget_server()
        count = self._kill()
        if server:
            server.kill()
        cut = [run.run for run in self.stage.book.living() if self.dice.random() < 0.5 and self._cut(run.run)]
        return f"{count} processes; last events cut: {', '.join(cut) or 'none'}"

    def end(self) -> bool:
        return self.stage.start_server()

    def _kill(self) -> int:
        """Several times: one that is just being born has a parent that is not dead yet."""
        killed, end = set(), time.monotonic() + GONE
        while (left := self.stage.population(*EVERYBODY)) and time.monotonic() < end:
            for process in left:
                self.stage.book.hit(process.run(), (*HOST_GONE, *ENGINE_GONE))
                processes.send(process, signal.SIGKILL)
                killed.add(process.pid)
            self.stage.reap()
        return len(killed)

    def _cut(self, run: str) -> bool:
        folder = self.stage.place.data / "runs" / run
        with hold(folder) as is_ours:
            if not is_ours or not cut_last_evidence(folder / "events.jsonl", self.dice):
                return False
            note = json.dumps({"pid": None, "boot": OTHER_BOOT})
            (folder / "lock").write_text(f"{note:<127}\n")
            self.stage.book.rewound(run)
            return True


def cut_last_evidence(log: Path, dice: Random) -> bool:
    """Cuts the last line in the middle, if it is an event made from evidence. Whether it was."""
    try:
        text = log.read_bytes()
    except OSError:
        return False
    begin = text.rstrip(b"\n").rfind(b"\n") + 1
    try:
        is_evidence = json.loads(text[begin:])["source"]["stream"] != "control"
    except (ValueError, KeyError):
        return False
    if is_evidence and begin:
        os.truncate(log, dice.randrange(begin, len(text)))
    return is_evidence and begin > 0
