"""Law `processes`: when all is over, nothing of it runs any more."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from .. import lines
from ..report import Breach, Law, Report

PROC = Path("/proc")
READ = 4 << 20


@dataclass(frozen=True)
class Process:
    pid: int
    parent: int
    # In ticks since the machine was started; together with the pid it identifies one process permanently.
    began: int
    words: str


@dataclass(frozen=True)
class Host:
    """The process that claimed an attempt."""

    run: str
    attempt: int
    pid: int
    began: int

    def is_alive(self) -> bool:
        found = process(self.pid)
        return found is not None and found.began == self.began


def left(data: Path) -> list[Process]:
    """Living processes that name this folder in their arguments or their environment, or have a file of it open.

    Hosts name it in neither, so open files are checked too. The asking process and its ancestors do not count.
    """
    names = {os.fsencode(str(path)) for path in (data, data.absolute(), data.resolve())}
    pattern = re.compile(b"(" + b"|".join(map(re.escape, sorted(names))) + rb")(?=[/\0\s:\"',]|$)")
    own = set(_line(os.getpid()))
    found = (process(pid) for pid in _pids() if pid not in own)
    return [one for one in found if one and _belongs(one.pid, pattern)]


def check(data: Path, done: Iterable[str], living: Iterable[str], report: Report) -> None:
    """Only hosts of runs that may have one, and what they started, may live."""
    runs = data / "runs"
    for host in _living(runs, done):
        what = f"its host, process {host.pid}, is alive"
        report.breach(Breach(Law.PROCESSES, what, host.run, host.attempt, f"claim.{host.attempt}"))
    told = {host.pid for run in done for host in hosts(runs / run)}
    allowed = {host.pid for host in _living(runs, living)}
    for one in left(data):
        report.count(Law.PROCESSES, "processes")
        if one.pid in told or allowed & set(_line(one.pid)):
            continue
        report.breach(Breach(Law.PROCESSES, f"process {one.pid} is left: {one.words[:60]}"))


def hosts(run: Path) -> Iterator[Host]:
    for path in (run / ".audit").glob("claim.*"):
        try:
            claim = lines.whole(path) or {}
        except (lines.Unreadable, OSError):
            continue
        if claim.get("boot_id") == boot() and isinstance(claim.get("host_pid"), int):
            yield Host(run.name, claim.get("attempt", 0), claim["host_pid"], claim.get("host_began", 0))


def _living(runs: Path, names: Iterable[str]) -> Iterator[Host]:
    seen: set[int] = set()
    for name in names:
        for host in hosts(runs / name):
            if host.pid not in seen and host.is_alive():
                seen.add(host.pid)
                yield host


def boot() -> str:
    return (PROC / "sys/kernel/random/boot_id").read_text().strip()


def _pids() -> Iterator[int]:
    return (int(name) for name in os.listdir(PROC) if name.isdigit())


def _line(pid: int) -> Iterator[int]:
    """A process and those above it."""
    while pid > 1:
        yield pid
        found = process(pid)
        pid = found.parent if found else 0


def process(pid: int) -> Process | None:
    """None when there is none, or only what is left of one."""
    try:
        status = (PROC / str(pid) / "stat").read_text()
        words = (PROC / str(pid) / "cmdline").read_bytes()
    except (OSError, ValueError):
        return None
    # The name stands in brackets and may hold anything.
    state, parent, *rest = status.rpartition(")")[2].split()
    if state in "ZX":
        return None
    return Process(pid, int(parent), int(rest[17]), words.replace(b"\0", b" ").decode("utf-8", "replace").strip())


def _belongs(pid: int, pattern: re.Pattern[bytes]) -> bool:
    folder = PROC / str(pid)
    return any(pattern.search(text) for text in _texts(folder)) or any(pattern.match(name) for name in _files(folder))


def _texts(folder: Path) -> Iterator[bytes]:
    for name in ("cmdline", "environ"):
        try:
            with open(folder / name, "rb") as file:
                yield file.read(READ)
        except OSError:
            continue


def _files(folder: Path) -> Iterator[bytes]:
    try:
        names = os.listdir(folder / "fd")
    except OSError:
        return
    for name in names:
        try:
            yield os.fsencode(os.readlink(folder / "fd" / name))
        except OSError:
            continue
