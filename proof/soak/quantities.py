"""What is measured, and by how much each may rise in the time measured, with reasons."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from soak.flatness import Bound

MB = 1e6

# What a soak of ten minutes measures after its warm-up.
LONG_ENOUGH = 7.5 * 60


class Unit(Enum):
    COUNT = "count"
    BYTES = "bytes"
    MS = "ms"


@dataclass(frozen=True)
class Sample:
    """Everything at one moment. Moments are seconds since the soak began."""

    at: float
    resident: float
    anonymous: float
    descriptors: float
    threads: float
    children: float
    hosts: float
    sockets: float
    runs: float
    run_bytes: float
    catalog: float
    wal: float
    rest: float
    # What grows by design, see disk.py.
    notes: float
    # Of a request that needs the runs, the slowest part of what a person does.
    list_ms: float
    # As the server itself counts them.
    streams: float
    active: float
    untold: float


@dataclass(frozen=True)
class Quantity:
    """One of the values of a sample. Without a bound it is shown and not judged."""

    field: str
    name: str
    unit: Unit
    bound: Bound | None
    # In a soak that is too short to distinguish steps from a slope.
    short: Bound | None = None

    def bound_for(self, seconds: float) -> Bound | None:
        return self.short if self.short and seconds < LONG_ENOUGH else self.bound


QUANTITIES = (
    # What is in use is 2 MB at rest and up to 20 MB where floods meet (heaptrack), and an allocator keeps the most it ever
    # needed. So it comes up in steps of some MB, ever more seldom; in a short soak half of the most is allowed.
    Quantity("resident", "resident memory", Unit.BYTES, Bound(0.05, 2 * MB), short=Bound(0.10, 10 * MB)),
    Quantity("anonymous", "anonymous memory", Unit.BYTES, Bound(0.05, 2 * MB), short=Bound(0.10, 10 * MB)),
    # They come and go with runs and followers, a handful each; eight more at the end of the line than at its beginning
    # is more than chance, and less than one per minute.
    Quantity("descriptors", "descriptors", Unit.COUNT, Bound(0.10, 8)),
    # The pool for files shrinks after ten idle seconds and grows with requests that come together.
    Quantity("threads", "threads", Unit.COUNT, Bound(0.10, 4)),
    # One per run at work; the load has a fixed number of clients, so there cannot be more of them for long.
    Quantity("children", "children", Unit.COUNT, Bound(0.25, 4)),
    Quantity("hosts", "living hosts", Unit.COUNT, Bound(0.25, 4)),
    Quantity("sockets", "sockets in the folder", Unit.COUNT, Bound(0.25, 4)),
    # Retention keeps a number of seconds of runs. How many runs that is depends on the load of the machine, which may
    # change by a quarter; without retention they double.
    Quantity("runs", "runs on disk", Unit.COUNT, Bound(0.30, 20)),
    Quantity("run_bytes", "bytes of runs", Unit.BYTES, Bound(0.30, 4 * MB)),
    # SQLite uses pages again and gives none back: it may be as large as at its largest so far.
    Quantity("catalog", "catalog", Unit.BYTES, Bound(0.25, 0.5 * MB)),
    # Written from its beginning again after a checkpoint, at about 4 MB.
    Quantity("wal", "its write-ahead log", Unit.BYTES, Bound(0.25, 4 * MB)),
    Quantity("rest", "rest of the folder", Unit.BYTES, Bound(0.25, 0.5 * MB)),
    # Others use the machine too, so only what a person would feel counts.
    Quantity("list_ms", "list of runs", Unit.MS, Bound(1.00, 50)),
    Quantity("streams", "open streams", Unit.COUNT, Bound(0.25, 4)),
    Quantity("active", "active runs", Unit.COUNT, Bound(0.25, 4)),
    Quantity("untold", "webhooks not yet sent", Unit.COUNT, Bound(0.25, 8)),
    Quantity("notes", "permanent notes", Unit.BYTES, None),
)
