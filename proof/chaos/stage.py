"""Where a round is played: the place, the server and the proxy before it, the disk, the ledger, the story."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
from enum import StrEnum
from pathlib import Path
from random import Random

from chaos.book import Book
from chaos.disk import Disk
from chaos.plan import FaultName
from chaos.proxy import Proxy
from chaos.story import Story
from lab import place as places
from lab import processes
from lab.client import Client
from lab.flows import STEP_KINDS
from lab.kinds import KINDS
from lab.processes import Process, Role
from lab.server import NotThere, Server
from oracle.ledger import Effects, Fault, Ledger

# Seconds for a command of skillrun.
COMMAND = 90.0
# Seconds without a byte until a client gives a connection up. Longer than any pause.
CLIENT = 30.0
# Engines take their time, so that faults meet them at work.
PACE = 4.0
PROBLEMS_MAX = 100


class Law(StrEnum):
    """What the driver itself sees to; the oracle has more."""

    ACCEPTED = "accepted"
    ANSWERS = "answers"
    ENDS = "ends"
    PROCESSES = "processes"
    SERVER = "server"
    STREAMS = "streams"
    DRIVER = "driver"


class Stage:
    """One data folder, and all that is around it."""

    def __init__(self, root: Path, skillrun: Path, disk: Disk, dice: Random) -> None:
        self.root = root
        self.disk = disk
        self.story = Story()
        self.book = Book()
        self.proxy = Proxy(Random(dice.getrandbits(64)))
        self.streams = root / "streams"
        self.streams.mkdir(parents=True)
        self.said = root / "said.txt"
        self.place = places.make(root, skillrun, (*KINDS, *STEP_KINDS), data=disk.path / "data", pace=PACE)
        self.ledger = Ledger(root / "ledger.jsonl")
        self.ledger.write(Effects(self.place.effects.name))
        self.server: Server | None = None
        self.problems: list[str] = []
        self.struck: dict[FaultName, int] = {}
        self._token = ""
        self._lock = threading.Lock()
        self._commands: set[subprocess.Popen] = set()

    # The server.

    @property
    def is_up(self) -> bool:
        return self.server is not None

    def start_server(self, patience: float = 30.0) -> bool:
        """Whether there is one now."""
        if self.server is None:
            try:
                with self._lock:
                    self.server = Server(self.place, self.said, patience=patience)
            except NotThere as error:
                self.story.tell(f"the server cannot be started: {str(error).splitlines()[-1][:200]}")
                return False
            self._token = self.server.token
            self.proxy.point(self.server.address)
            self.story.tell(f"the server is up, pid {self.server.pid}")
        return True

    def forget_server(self) -> Server | None:
        """The server is about to stop, and no client is to be sent to it."""
        server, self.server = self.server, None
        self.proxy.point(None)
        return server

    def client(self) -> Client:
        """As clients are, behind the proxy."""
        return Client(self.proxy.address, self._token, CLIENT)

    # Commands and processes.

    def command(self, *words: str) -> tuple[int | None, bytes]:
        """Exit code and output of a command; no code where it was killed or took too long."""
        with self._lock:
            command = self.place.start(*words, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            self._commands.add(command)
        try:
            output, said = command.communicate(timeout=COMMAND)
        except subprocess.TimeoutExpired:
            self.problem(Law.ANSWERS, f"a command did not finish within {COMMAND:.0f} s: {words}")
            command.kill()
            output, said = command.communicate()
        finally:
            with self._lock:
                self._commands.discard(command)
        code = command.returncode
        if code:
            self.story.tell(f"{' '.join(words[:2])}: {code} {said.decode(errors='replace').strip()[:200]}")
        return (code if code >= 0 else None), output

    def reap(self) -> None:
        with self._lock:
            known = {command.pid for command in self._commands} | ({self.server.pid} if self.server else set())
            processes.reap(known)

    def population(self, *roles: Role) -> list[Process]:
        """Living processes below us in these roles, in an order that does not change."""
        found = [process for process in processes.below(os.getpid()) if process.is_alive]
        return sorted((process for process in found if process.role() in roles), key=lambda one: one.started)

    # The reported problems.

    def fault(self, name: FaultName, target: str) -> None:
        self.struck[name] = self.struck.get(name, 0) + 1
        self.story.tell(f"{name}: {target}")
        self.ledger.write(Fault(name, target))

    def problem(self, law: Law, text: str) -> None:
        """A law that the driver itself sees broken. A repeated problem is reported once."""
        told = f"{law}: {text}"
        if told not in self.problems and len(self.problems) < PROBLEMS_MAX:
            self.story.tell(f"PROBLEM {told}")
            self.problems.append(told)

    def close(self) -> None:
        self.proxy.close()
        self.ledger.close()
        shutil.rmtree(self.place.data, ignore_errors=True)
        shutil.rmtree(self.root, ignore_errors=True)
