"""Law `chain`: every line of a Log has the hash of the line before it, and the Log has the hashes of what the run
keeps.

Logs of versions before the chain have none; a later version continues them, so a chain may begin in the middle.
"""

from __future__ import annotations

from typing import Any

from .. import blake3, lines
from ..event import Event
from ..fold import Fold
from ..looking import Looking
from ..report import Law
from ..words import Rasp

# Lines whose hashes are taken together, and the bytes that are held for that.
LINES, BYTES = 1024, 8 << 20


class Chain:
    law = Law.CHAIN

    def __init__(self, looking: Looking) -> None:
        self.looking = looking
        self.path = looking.folder / "events.jsonl"
        # Lines that are not hashed yet, with what each carries.
        self.waiting: list[tuple[Event, bytes, str | None]] = []
        self.bytes = 0
        self.before = blake3.of(looking.run.encode())
        self.is_chained = self.is_broken = False
        # By name in the folder of the run: attempt and hash.
        self.kept: dict[str, tuple[int | None, str]] = {}

    def event(self, event: Event, before: Fold) -> None:
        with open(self.path, "rb") as file:
            file.seek(event.line.start)
            text = file.read(event.line.end - event.line.start).removesuffix(b"\n")
        self.waiting.append((event, text, event.value.get("prev")))
        self.bytes += len(text)
        if len(self.waiting) >= LINES or self.bytes >= BYTES:
            self._follow()
        self._vouch(event)

    def _vouch(self, event: Event) -> None:
        """What the Log has the hash of."""
        data = event.data
        if event.kind is Rasp.RUN_STARTED and (wanted := data.get("record_hash")):
            # From here on a line without a link is one that lost it.
            self.is_chained = True
            self.kept["run.json"] = (None, wanted)
            for name, wanted in (self.looking.record.get("input_hashes") or {}).items():
                self.kept[f"inputs/{name}"] = (None, wanted)
        elif event.kind is Rasp.REPLIED:
            for name, wanted in (data.get("file_hashes") or {}).items():
                self.kept[f"inputs/{name}"] = (event.attempt, wanted)
        elif event.kind is Rasp.ATTEMPT_ENDED and (wanted := data.get("host_hash")) and self.looking.has_evidence:
            self.kept[f".audit/host.{event.attempt}.json"] = (event.attempt, wanted)

    def _follow(self) -> None:
        hashes = blake3.of_many([text for _, text, _ in self.waiting])
        for (event, _, prev), found in zip(self.waiting, hashes, strict=True):
            self._link(event, prev)
            self.before = found
        self.waiting, self.bytes = [], 0

    def _link(self, event: Event, prev: str | None) -> None:
        if self.is_broken:
            return
        if prev is None and not self.is_chained:
            return self.looking.count(Law.CHAIN, "events of an older version")
        self.is_chained = True
        if prev != self.before:
            # After a break the hashes prove nothing more.
            self.is_broken = True
            carries = "no hash" if prev is None else f"{str(prev)[:16]}…"
            what = f"carries {carries} where the line before it has {self.before[:16]}…"
            return self.looking.breach(Law.CHAIN, what, event.attempt, event.where)
        self.looking.count(Law.CHAIN, "events")

    def end(self, fold: Fold) -> None:
        self._follow()
        for name, (attempt, wanted) in self.kept.items():
            try:
                _, found = blake3.of_file(self.looking.folder / name)
            except OSError as error:
                self.looking.breach(Law.CHAIN, f"cannot be read: {error.strerror}", attempt, name)
                continue
            self.looking.count(Law.CHAIN, "files")
            if found != wanted:
                what = f"was changed: {found[:16]}… where the Log has {str(wanted)[:16]}…"
                self.looking.breach(Law.CHAIN, what, attempt, name)
        if fold.end is not None:
            self._result(fold.end)

    def _result(self, end: Event) -> None:
        """The result was written before the last event, and has the head of that moment."""
        try:
            result: dict[str, Any] = lines.whole(self.looking.folder / "result.json") or {}
        except lines.Unreadable:
            # Reported by law `status`.
            return
        head, prev = result.get("log_head"), end.value.get("prev")
        if head is None or prev is None:
            return
        wanted = {"seq": end.seq - 1, "hash": prev}
        if head != wanted:
            self.looking.breach(Law.CHAIN, f"log_head {head} where the Log says {wanted}", where="result.json")
