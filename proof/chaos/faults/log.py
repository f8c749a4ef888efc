"""The last line of a Log is what a crash can leave: half a line, garbage, zeroes. Whole lines are never touched."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from random import Random

from chaos.faults.base import Fault
from chaos.faults.unowned import hold
from chaos.plan import FaultName

# Runs that are hit at once, at most.
RUNS = 4


class Torn(StrEnum):
    HALF = "half a line"
    GARBAGE = "garbage"
    ZEROES = "zeroes"
    LINE = "a line of garbage"


class TearLog(Fault):
    """The server is killed first: the process that holds a Log writes to it."""

    name = FaultName.TEAR_LOG

    def begin(self) -> str | None:
        server = self.stage.forget_server()
        if server is None:
            return None
        server.kill()
        living = self.stage.book.living()
        hit = [self._tear(run.run) for run in self.dice.sample(living, min(RUNS, len(living)))]
        return "; ".join(filter(None, hit)) or "no unowned run"

    def end(self) -> bool:
        return self.stage.start_server()

    def _tear(self, run: str) -> str | None:
        folder, kind = self.stage.place.data / "runs" / run, self.dice.choice(tuple(Torn))
        with hold(folder) as is_ours:
            if not is_ours or not tear(folder / "events.jsonl", kind, self.dice):
                return None
        if kind is Torn.LINE:
            # A whole line may have been good once and read by a client, so the Log gets a new epoch.
            self.stage.book.rewound(run)
        return f"{kind} behind the Log of {run}"


def tear(log: Path, kind: Torn, dice: Random) -> bool:
    """Appends it, unless the Log is over or is torn already."""
    try:
        text = log.read_bytes()
        last = json.loads(text.splitlines()[-1])
    except (OSError, ValueError, IndexError):
        return False
    is_over = last["event"]["type"] in ("run.completed", "run.failed", "run.canceled")
    if is_over or not text.endswith(b"\n"):
        return False
    with open(log, "ab") as file:
        file.write(_bytes(last, kind, dice))
    return True


def _bytes(last: dict, kind: Torn, dice: Random) -> bytes:
    match kind:
        case Torn.HALF:
            line = json.dumps(last | {"seq": last["seq"] + 1}, separators=(",", ":")).encode()
            return line[: dice.randrange(1, len(line))]
        case Torn.GARBAGE:
            return dice.randbytes(dice.randrange(1, 400)).replace(b"\n", b" ")
        case Torn.ZEROES:
            return bytes(dice.randrange(1, 400))
        case Torn.LINE:
            return dice.randbytes(dice.randrange(1, 400)).replace(b"\n", b" ") + b"\n"
