"""The ledger, put in order: what was promised about each run."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from . import ledger
from .ledger import (
    Accepted, CancelAcknowledged, CloseAcknowledged, Continued, Fault, InterruptAcknowledged, ReplyAcknowledged,
    ReplySent, StatusSeen, StreamSeen,
)


@dataclass
class RunPromises:
    """What was reported about one run, in order."""

    accepted: Accepted | None = None
    sent: list[ReplySent] = field(default_factory=list)
    acknowledged: list[ReplyAcknowledged] = field(default_factory=list)
    canceled: list[CancelAcknowledged] = field(default_factory=list)
    interrupted: list[InterruptAcknowledged] = field(default_factory=list)
    closed: list[CloseAcknowledged] = field(default_factory=list)
    # The run that it continues.
    continued: Continued | None = None
    seen: list[StatusSeen] = field(default_factory=list)
    streams: list[StreamSeen] = field(default_factory=list)


@dataclass
class Promises:
    """Everything that a ledger says. Without a ledger nothing was promised, and `is_known` says so."""

    is_known: bool = False
    runs: dict[str, RunPromises] = field(default_factory=lambda: defaultdict(RunPromises))
    faults: list[Fault] = field(default_factory=list)
    effects: list[Path] = field(default_factory=list)
    beside: Path = Path()

    def path(self, text: str) -> Path:
        return self.beside / text

    def faults_of(self, run: str) -> list[Fault]:
        """Those that name the run as what they hit."""
        return [fault for fault in self.faults if run in (fault.target or "")]

    @property
    def has_full_disk(self) -> bool:
        """Some fault filled the disk; by its name, since only the driver knows what it did."""
        return any("disk" in fault.name for fault in self.faults)


def read(path: Path | None) -> Promises:
    if path is None:
        return Promises()
    promises = Promises(is_known=True, beside=path.parent)
    for entry in ledger.read(path):
        _add(promises, entry)
    return promises


def _add(promises: Promises, entry: ledger.Entry) -> None:
    match entry:
        case Accepted():
            promises.runs[entry.run].accepted = entry
        case ReplySent():
            promises.runs[entry.run].sent.append(entry)
        case ReplyAcknowledged():
            promises.runs[entry.run].acknowledged.append(entry)
        case CancelAcknowledged():
            promises.runs[entry.run].canceled.append(entry)
        case InterruptAcknowledged():
            promises.runs[entry.run].interrupted.append(entry)
        case CloseAcknowledged():
            promises.runs[entry.run].closed.append(entry)
        case Continued():
            promises.runs[entry.run].continued = entry
        case StatusSeen():
            promises.runs[entry.run].seen.append(entry)
        case StreamSeen():
            promises.runs[entry.run].streams.append(entry)
        case Fault():
            promises.faults.append(entry)
        case ledger.Effects():
            promises.effects.append(promises.path(entry.path))
        case ledger.CancelSent():
            # Nothing was promised before the answer came.
            promises.runs[entry.run]
