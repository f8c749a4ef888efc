"""Processes as /proc shows them: which is below which, which is a host, whose attempt an engine belongs to."""

from __future__ import annotations

import ctypes
import os
import signal as signals
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

PR_SET_CHILD_SUBREAPER = 36


class Role(StrEnum):
    SERVER = "server"
    COMMAND = "command"
    HOST = "host"
    ENGINE = "engine"
    OTHER = "other"


@dataclass(frozen=True)
class Process:
    """`started` with `pid` is a name that is never used again."""

    pid: int
    parent: int
    state: str
    started: int

    @property
    def is_alive(self) -> bool:
        return self.state not in ("Z", "X")

    def words(self) -> list[str]:
        return [word.decode(errors="replace") for word in _read(self.pid, "cmdline").split(b"\0") if word]

    def attempt(self) -> tuple[str, int] | None:
        """Run and attempt, where it is a process of an engine."""
        for variable in _read(self.pid, "environ").split(b"\0"):
            name, _, value = variable.partition(b"=")
            if name == b"SKILLRUN_ATTEMPT":
                run, attempt, _ = value.decode().split("/")
                return run, int(attempt)
        return None

    def role(self) -> Role:
        words = self.words()
        if self.attempt():
            return Role.ENGINE
        if not words or Path(words[0]).name != "skillrun":
            return Role.OTHER
        if "attempt-host" in words[1:2]:
            # The first process of a box is a copy of its host, in a namespace of its own.
            return Role.ENGINE if self._is_apart() else Role.HOST
        return Role.SERVER if "serve" in words[1:] else Role.COMMAND

    def run(self) -> str | None:
        """The run that a host holds files of, or that an engine belongs to."""
        if attempt := self.attempt():
            return attempt[0]
        for link in _links(self.pid):
            parts = link.split("/")
            if "runs" in parts and ".audit" in parts:
                return parts[parts.index("runs") + 1]
        host = look(self.parent) if self._is_apart() else None
        return host.run() if host else None

    def _is_apart(self) -> bool:
        """Whether it counts processes from 1, as no process of ours does outside of a box."""
        own, theirs = _link("/proc/self/ns/pid"), _link(f"/proc/{self.pid}/ns/pid")
        return theirs is not None and theirs != own


def become_reaper() -> bool:
    """Whatever loses its parent below us becomes our child, so that nothing gets away."""
    return ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0


def look(pid: int) -> Process | None:
    """What is under this number now."""
    # The name in brackets may hold anything, brackets too.
    _, bracket, rest = _read(pid, "stat").decode(errors="replace").rpartition(") ")
    fields = rest.split()
    if not bracket or len(fields) < 20:
        return None
    return Process(pid, int(fields[1]), fields[0], int(fields[19]))


def below(root: int) -> list[Process]:
    """All processes below this one, parents first."""
    children: dict[int, list[Process]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit() and (process := look(int(name))):
            children.setdefault(process.parent, []).append(process)
    found, queue = [], [root]
    while queue:
        nearest = children.get(queue.pop(0), [])
        found += nearest
        queue += [process.pid for process in nearest]
    return found


def reap(known: set[int]) -> None:
    """Reaps dead children that no other code waits for; `known` are those that other code does wait for."""
    for process in below(os.getpid()):
        if process.parent == os.getpid() and process.state == "Z" and process.pid not in known:
            try:
                os.waitpid(process.pid, os.WNOHANG)
            except ChildProcessError:
                pass


def send(process: Process, signal: int) -> bool:
    """A signal to this very process, never to one that came after it under the same number."""
    try:
        handle = os.pidfd_open(process.pid)
    except OSError:
        return False
    try:
        now = look(process.pid)
        if now is None or now.started != process.started:
            return False
        signals.pidfd_send_signal(handle, signal)
        return True
    except OSError:
        return False
    finally:
        os.close(handle)


def _read(pid: int, name: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:
        return b""


def _link(path: str) -> str | None:
    try:
        return os.readlink(path)
    except OSError:
        return None


def _links(pid: int) -> list[str]:
    found = []
    try:
        names = os.listdir(f"/proc/{pid}/fd")
    except OSError:
        return found
    for name in names:
        if (link := _link(f"/proc/{pid}/fd/{name}")) is not None:
            found.append(link)
    return found
