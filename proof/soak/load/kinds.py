"""Which kinds of runs a soak has: short ones of every sort, in fixed shares."""

from __future__ import annotations

import random
from dataclasses import replace

from lab.kinds import FLOOD, Continuation, Kind, Mode, Options, kind

# Small, so that a flood is steady load and not the greater part of what lies on the disk.
FLOOD_BYTES = 150_000

SHARES: dict[str, int] = {
    "auto": 30,
    "files": 10,
    "flood": 5,
    "fails": 10,
    "crashes": 5,
    "misfits": 5,
    "too-long": 5,
    "endless": 10,
    "hangs": 5,
    "asks": 15,
    "asks-twice": 10,
    "sticky": 15,
    "decided": 5,
    "sticky-decided": 5,
    "unanswered": 5,
    "acp-auto": 5,
    "acp-asks": 5,
    "acp-permission": 5,
}


def load_kind(name: str) -> Kind:
    found = kind(name)
    return replace(found, script=FLOOD.format(bytes=FLOOD_BYTES)) if name == "flood" else found


KINDS: tuple[Kind, ...] = tuple(load_kind(name) for name in SHARES)

# Seconds; longer than any of them stays. A script sleeps ten minutes at a time.
EVER = 100_000
FOR_EVER = "- - say: I begin.\n" + "  - sleep_ms: 600000\n" * (EVER // 600)

# One that waits without a process, one that waits with it, and one at work: no retention may touch them.
PARKED: tuple[Kind, ...] = (
    kind("asks"),
    replace(kind("sticky"), options=Options(continuation=Continuation.STICKY, session_timeout=EVER)),
    Kind("for-ever", Mode.AUTO, ("canceled",), FOR_EVER, options=Options(timeout=EVER, stall=EVER)),
)


def draw(dice: random.Random) -> Kind:
    return dice.choices(KINDS, weights=list(SHARES.values()))[0]
