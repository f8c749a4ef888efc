"""What a driver of runs recorded: what it requested, what it received, what it broke.

A ledger is a file of JSON lines. Each line has `kind`, one of `Kind`, and the
fields of that kind's dataclass. A driver appends with `Ledger`, the oracle
reads with `read`. Write a line before a request goes out (`ReplySent`), and
after its answer came (the others): what is not in the ledger was not promised.

The effects file, named by `Effects`, is text that engines append to. One line
per effect, `RUN ATTEMPT STEP [TEXT]`, separated by single blanks: STEP is one word
that happens once in an attempt, ATTEMPT a number or `-` where the engine cannot
know it (a step is then unique in the run). A step that begins with `told` says
that the engine was given TEXT.
"""

from __future__ import annotations

import dataclasses
import json
import os
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import ClassVar, Union

LINE_LIMIT = 1 << 20


class Kind(StrEnum):
    ACCEPTED = "accepted"
    REPLY_SENT = "reply_sent"
    REPLY_ACKNOWLEDGED = "reply_acknowledged"
    CANCEL_SENT = "cancel_sent"
    CANCEL_ACKNOWLEDGED = "cancel_acknowledged"
    INTERRUPT_ACKNOWLEDGED = "interrupt_acknowledged"
    CLOSE_ACKNOWLEDGED = "close_acknowledged"
    CONTINUED = "continued"
    STATUS_SEEN = "status_seen"
    STREAM_SEEN = "stream_seen"
    FAULT = "fault"
    EFFECTS = "effects"


class Protocol(StrEnum):
    RASP = "rasp"
    FCMP = "fcmp"


@dataclass(frozen=True)
class Accepted:
    """A request was answered with a run.

    `expect` lists the ends that are right: a status (`succeeded`, `failed`,
    `canceled`, `waiting_user`), or a status and a code (`failed:TIMEOUT`), where
    the code is the reason or that of the error. An empty list expects nothing.
    `run_kind` is the driver's own word for what it started.
    """

    kind: ClassVar[Kind] = Kind.ACCEPTED
    run: str
    run_kind: str
    mode: str
    continuation: str | None = None
    expect: list[str] = field(default_factory=list)
    at: float = field(default_factory=time.time)


@dataclass(frozen=True)
class ReplySent:
    """A reply is about to go out. Sent again, it is another line; `key` identifies it as the same one."""

    kind: ClassVar[Kind] = Kind.REPLY_SENT
    run: str
    interaction: int
    value: str
    key: str | None = None
    at: float = field(default_factory=time.time)


@dataclass(frozen=True)
class ReplyAcknowledged:
    """The answer to a reply, of whatever status; 2xx (or exit code 0 of a command, given as 200) is a promise."""

    kind: ClassVar[Kind] = Kind.REPLY_ACKNOWLEDGED
    run: str
    interaction: int
    value: str
    status: int
    key: str | None = None
    at: float = field(default_factory=time.time)


@dataclass(frozen=True)
class CancelSent:
    kind: ClassVar[Kind] = Kind.CANCEL_SENT
    run: str
    at: float = field(default_factory=time.time)


@dataclass(frozen=True)
class CancelAcknowledged:
    """A cancel was taken (2xx)."""

    kind: ClassVar[Kind] = Kind.CANCEL_ACKNOWLEDGED
    run: str
    at: float = field(default_factory=time.time)


@dataclass(frozen=True)
class InterruptAcknowledged:
    """An interrupt was taken (2xx); `say` is the prompt that came with it."""

    kind: ClassVar[Kind] = Kind.INTERRUPT_ACKNOWLEDGED
    run: str
    say: str | None = None
    at: float = field(default_factory=time.time)


@dataclass(frozen=True)
class CloseAcknowledged:
    """A close was taken (2xx)."""

    kind: ClassVar[Kind] = Kind.CLOSE_ACKNOWLEDGED
    run: str
    at: float = field(default_factory=time.time)


@dataclass(frozen=True)
class Continued:
    """A request to continue the run `of` was answered with this one."""

    kind: ClassVar[Kind] = Kind.CONTINUED
    run: str
    of: str
    at: float = field(default_factory=time.time)


@dataclass(frozen=True)
class StatusSeen:
    """A server reported this status; `seq` is the last event it is based on, if that is known."""

    kind: ClassVar[Kind] = Kind.STATUS_SEEN
    run: str
    status: str
    seq: int | None = None
    at: float = field(default_factory=time.time)


@dataclass(frozen=True)
class StreamSeen:
    """Events of one run that a server gave, as JSON lines in the file `path` (relative to the ledger, or absolute).

    The file holds what one reader has put together across its connections: in order, each event once, from the first.
    It may end early.
    """

    kind: ClassVar[Kind] = Kind.STREAM_SEEN
    run: str
    protocol: Protocol
    path: str
    at: float = field(default_factory=time.time)


@dataclass(frozen=True)
class Fault:
    """Something was broken on purpose. `target` is a run id, a process, a file, whatever `name` says."""

    kind: ClassVar[Kind] = Kind.FAULT
    name: str
    target: str | None = None
    at: float = field(default_factory=time.time)


@dataclass(frozen=True)
class Effects:
    """Where engines write what they did; relative to the ledger, or absolute."""

    kind: ClassVar[Kind] = Kind.EFFECTS
    path: str


Entry = Union[
    Accepted, ReplySent, ReplyAcknowledged, CancelSent, CancelAcknowledged, InterruptAcknowledged, CloseAcknowledged,
    Continued, StatusSeen, StreamSeen, Fault, Effects,
]

TYPES: dict[Kind, type[Entry]] = {
    kind.kind: kind
    for kind in (
        Accepted, ReplySent, ReplyAcknowledged, CancelSent, CancelAcknowledged, InterruptAcknowledged,
        CloseAcknowledged, Continued, StatusSeen, StreamSeen, Fault, Effects,
    )
}


class LedgerError(Exception):
    """A line that is not an entry."""


class Ledger:
    """Appends entries, from any thread; each is in the file when `write` returns."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def write(self, entry: Entry) -> None:
        line = json.dumps({"kind": entry.kind, **dataclasses.asdict(entry)}, ensure_ascii=True) + "\n"
        with self._lock:
            os.write(self._file, line.encode())

    def close(self) -> None:
        os.close(self._file)

    def __enter__(self) -> "Ledger":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def entry(line: str | bytes) -> Entry:
    """One line as an entry."""
    try:
        fields = json.loads(line)
        kind = Kind(fields.pop("kind"))
        return TYPES[kind](**fields)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise LedgerError(f"not an entry: {error}") from error


def read(path: Path) -> Iterator[Entry]:
    """All entries in order. A line that is cut or too long is an error: such a ledger proves nothing."""
    with open(path, "rb") as file:
        number = 0
        while line := file.readline(LINE_LIMIT):
            number += 1
            if not line.endswith(b"\n"):
                raise LedgerError(f"{path}:{number}: cut or too long")
            try:
                yield entry(line)
            except LedgerError as error:
                raise LedgerError(f"{path}:{number}: {error}") from error
