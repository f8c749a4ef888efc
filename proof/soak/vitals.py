"""What the kernel reports about a server: memory, descriptors, threads, children, and the hosts below it."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from lab.processes import Role, below

PROC = Path("/proc")


class Gone(Exception):
    """The process is not there any more."""


@dataclass(frozen=True)
class Vitals:
    """A process at a moment; memory in bytes."""

    resident: int
    # What the process itself asked for. Resident memory also has pages of files, which the kernel takes back.
    anonymous: int
    descriptors: int
    threads: int
    # With those that have ended and were not waited for.
    children: int


def look(pid: int) -> Vitals:
    """How a process is now."""
    folder = PROC / str(pid)
    try:
        status, memory = fields(folder / "status"), fields(folder / "smaps_rollup")
        return Vitals(
            resident=kib(status["VmRSS"]),
            anonymous=kib(memory["Anonymous"]),
            descriptors=len(os.listdir(folder / "fd")),
            threads=int(status["Threads"]),
            children=len(children(pid)),
        )
    except (OSError, KeyError) as error:
        raise Gone(f"process {pid} is gone: {error}") from error


def open_files(pid: int) -> Counter[str]:
    """What descriptors lead to, in a few words each, to see which of them grew."""
    found: Counter[str] = Counter()
    folder = PROC / str(pid) / "fd"
    for name in os.listdir(folder):
        try:
            link = os.readlink(folder / name)
        except FileNotFoundError:
            continue
        found[Path(link).name if link.startswith("/") else link.partition(":")[0]] += 1
    return found


def fields(path: Path) -> dict[str, str]:
    """Lines `Name: value` of a file."""
    pairs = (line.partition(":") for line in path.read_text().splitlines())
    return {name: value.strip() for name, _, value in pairs}


def kib(text: str) -> int:
    """`1234 kB` in bytes."""
    return int(text.removesuffix(" kB")) * 1024


def children(pid: int) -> list[int]:
    """Children of all threads of a process."""
    found: list[int] = []
    for task in (PROC / str(pid) / "task").iterdir():
        try:
            found += map(int, (task / "children").read_text().split())
        except FileNotFoundError:
            continue  # A thread that ended meanwhile.
    return found


def hosts(server: int) -> int:
    """Living hosts below a server."""
    return sum(process.is_alive and process.role() is Role.HOST for process in below(server))
