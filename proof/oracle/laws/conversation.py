"""Law `fcmp`: the conversation is the oracle's own translation of the Log, in its file and as readers were given it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..event import Event
from ..fcmp import TURN_TYPES, Translation, seen_as
from ..fold import Fold
from ..ledger import Protocol
from ..lockstep import Lockstep
from ..looking import Looking
from ..report import Law
from ..words import Status

FILE = "fcmp.jsonl"
LOG = "events.jsonl"
# Contract R9.8: the conversation of a larger Log is not stored.
LOG_MAX = 8 * 1024 * 1024
FIRST_WITH_TURNS = 3


class Conversation:
    law = Law.FCMP

    def __init__(self, looking: Looking) -> None:
        self.looking = looking
        self.translation = Translation()
        # Runs of older translators have no turns in their file; a newer program continues it with turns.
        self.has_turns = looking.record.get("translator", 1) >= FIRST_WITH_TURNS
        # Events of types that the oracle does not know; what was made of them is passed over.
        self.unknown: set[int] = set()
        self.file = self._lockstep(looking.folder / FILE) if (looking.folder / FILE).exists() else None
        seen = [seen for seen in looking.promised.streams if seen.protocol == Protocol.FCMP and looking.epoch == 1]
        self.readers = [self._lockstep(looking.promises.path(stream.path)) for stream in seen]

    def _lockstep(self, path: Path) -> Lockstep:
        def passes_over(line: dict[str, Any]) -> bool:
            is_unknown = (line.get("meta") or {}).get("rasp_seq") in self.unknown
            return is_unknown or (not self.has_turns and line.get("type") in TURN_TYPES)

        def numbered(found: dict[str, Any], wanted: dict[str, Any]) -> dict[str, Any]:
            # Its own seq has no gap, so it is the number of the line.
            seq = None if found.get("seq") == lockstep.read else found.get("seq")
            return {**seen_as(found, wanted), "seq": seq}

        lockstep = Lockstep(path, numbered, passes_over)
        return lockstep

    def event(self, event: Event, before: Fold) -> None:
        if event.kind is None:
            self.unknown.add(event.seq)
            self.looking.count(Law.FCMP, "events of types that are not known")
            return
        comparing = [self.file, *self.readers] if self.file else self.readers
        for wanted in self.translation.take(event):
            if not self.has_turns and wanted["type"] in TURN_TYPES:
                continue
            for lockstep in comparing:
                if problem := lockstep.expect(wanted):
                    what = f"{wanted['type']} of seq {wanted['meta']['rasp_seq']}: {problem}"
                    self.looking.breach(Law.FCMP, what, event.attempt, lockstep.where)

    def end(self, fold: Fold) -> None:
        for reader in self.readers:
            self.looking.count(Law.FCMP, "events given to readers", reader.read)
            self._rest(reader)
        if self.file is None:
            # A view that may be missing: it is made from the Log on demand.
            if fold.status is Status.WAITING_USER:
                self.looking.count(Law.FCMP, "runs that wait without a file")
            if (self.looking.folder / LOG).stat().st_size > LOG_MAX:
                return self.looking.count(Law.FCMP, "runs whose conversation is too large to be stored")
            return self.looking.count(Law.FCMP, "runs without a file")
        self.looking.count(Law.FCMP, "runs")
        self.looking.count(Law.FCMP, "events", self.file.read)
        self._rest(self.file)
        if self.file.missing and fold.end:
            self.looking.breach(Law.FCMP, f"{self.file.missing} events are missing at the end", where=self.file.where)

    def _rest(self, lockstep: Lockstep) -> None:
        if problem := lockstep.rest():
            self.looking.breach(Law.FCMP, problem, where=lockstep.where)
