"""Law `bytes`: every byte of stdout and stderr that was recorded lies in the range of an event, an event that stands for
many lines has as many as its range (contract R6.8), and the index of reads covers the files without a gap or an overlap.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .. import index as indexes
from ..event import RANGES, Event
from ..fold import Fold
from ..index import Index
from ..looking import Looking
from ..ranges import Ranges
from ..report import Law
from ..words import STREAMS, Rasp

RAW = (Rasp.RAW_STDOUT, Rasp.RAW_STDERR)
FILES = {"stdout": "stdout.{}.log", "stderr": "stderr.{}.log", "pty": "pty-output.{}.log"}


class Bytes:
    law = Law.BYTES

    def __init__(self, looking: Looking) -> None:
        self.looking = looking
        self.covered = {stream: Ranges() for stream in STREAMS}
        self.not_logged = False
        self.looked: set[int] = set()

    def event(self, event: Event, before: Fold) -> None:
        raw = event.value["raw_ref"]
        if event.is_control:
            if any(raw[name] for name in RANGES):
                self.looking.breach(Law.BYTES, "a control event points at bytes", event.attempt, event.where)
            self._control(event)
        elif spans := event.kind is Rasp.MESSAGE_FINAL and event.data.get("spans"):
            # Made of several pieces: it stands for these, not for what lies between them.
            for span in spans:
                if span["stream"] in self.covered:
                    self.covered[span["stream"]].add(span["from"], span["to"])
        else:
            self.covered["stdout"].add(raw["stdout_from"], raw["stdout_to"])
            self.covered["stderr"].add(raw["stderr_from"], raw["stderr_to"])
            if event.kind in RAW and event.data.get("lines") is not None:
                self._lines(event)

    def _lines(self, event: Event) -> None:
        """One event for many lines. A blank line may belong to the line after it, so it counts as a line or not."""
        stream = "stderr" if event.kind is Rasp.RAW_STDERR else "stdout"
        start, end = event.value["raw_ref"][f"{stream}_from"], event.value["raw_ref"][f"{stream}_to"]
        path = self.looking.audit / FILES[stream].format(event.attempt)
        told, types = event.data["lines"], event.data.get("unknown_types") or {}
        self.looking.count(Law.BYTES, "lines that the parser did not know", told)
        if sum(types.values()) > told:
            what = f"{sum(types.values())} lines with a type among {told} lines"
            self.looking.breach(Law.BYTES, what, event.attempt, event.where)
        # A masked secret may have contained the end of a line.
        if not path.exists() or indexes.mask_lines(self.looking.audit / f"redact.{event.attempt}.jsonl"):
            return
        with open(path, "rb") as file:
            file.seek(start)
            lines = file.read(end - start).removesuffix(b"\n").split(b"\n")
        least, most = sum(1 for line in lines if line.strip()), len(lines)
        if not least <= told <= most:
            what = f"an event stands for {told} lines, and its range has {least} to {most}"
            self.looking.breach(Law.BYTES, what, event.attempt, event.where)

    def _control(self, event: Event) -> None:
        if event.kind is Rasp.ATTEMPT_STARTED:
            self.covered = {stream: Ranges() for stream in STREAMS}
            self.not_logged = False
        elif event.kind is Rasp.PARSER_WARNING and event.data.get("code") == "EVENTS_NOT_LOGGED":
            self.not_logged = True
        elif event.kind is Rasp.ATTEMPT_ENDED and self.looking.has_evidence:
            self._attempt(event.attempt)

    def end(self, fold: Fold) -> None:
        if not self.looking.has_evidence:
            return self.looking.count(Law.BYTES, "runs whose evidence was removed")
        for path in self.looking.audit.glob("chunks.*.jsonl"):
            number = path.name.split(".")[1]
            if number.isdigit() and int(number) not in self.looked:
                self._files(int(number))
                self.looking.count(Law.BYTES, "attempts without a turn record")

    def _attempt(self, attempt: int) -> None:
        """It is settled: everything that was recorded of it is in the Log."""
        self.looked.add(attempt)
        self.looking.count(Law.BYTES, "attempts")
        index = self._files(attempt)
        if self.not_logged:
            return self._events_missing(attempt)
        for stream in STREAMS:
            recorded, covered = index.recorded[stream], self.covered[stream]
            self.looking.count(Law.BYTES, "bytes", recorded)
            if hole := covered.hole(recorded):
                what = f"no event stands for {stream} {hole[0]}..{hole[1]}"
                self.looking.breach(Law.BYTES, what, attempt, f"{stream}.{attempt}.log:{hole[0]}")
            if covered.end > recorded:
                what = f"events point at {stream} ..{covered.end}, of which {recorded} are recorded"
                self.looking.breach(Law.BYTES, what, attempt, f"{stream}.{attempt}.log:{recorded}")

    def _events_missing(self, attempt: int) -> None:
        """A full disk costs events, never the verdict (decision 0012): the one excuse, and it must have been full."""
        if self.looking.promises.is_known and not self.looking.promises.has_full_disk:
            self.looking.breach(Law.BYTES, "EVENTS_NOT_LOGGED, and the disk was never full", attempt)
        else:
            self.looking.count(Law.BYTES, "attempts with events lost to a full disk")

    def _files(self, attempt: int) -> Index:
        """The index against the files it is about. It is read first, since files grow before it does."""
        path = self.looking.audit / f"chunks.{attempt}.jsonl"
        index = indexes.read(path)
        if index is None:
            return Index()
        for what, number in index.problems:
            self.looking.breach(Law.BYTES, what, attempt, f"{path.name}:{number}")
        record = self.looking.host(attempt)
        if index.torn and record:
            where = f"{path.name}:{index.torn}"
            self.looking.breach(Law.BYTES, "a torn last line of a host that ended", attempt, where)
        self._mask(attempt, index)
        for stream, name in FILES.items():
            self._sizes(attempt, stream, self.looking.audit / name.format(attempt), index, record)
        return index

    def _mask(self, attempt: int, index: Index) -> None:
        """The mask of a byte is written before the record of the byte, whichever process is killed in between."""
        path = self.looking.audit / f"redact.{attempt}.jsonl"
        found = indexes.mask_lines(path)
        self.looking.count(Law.BYTES, "lines of masks", index.masks)
        if found < index.masks:
            what = f"records count {index.masks} lines of the mask, and it has {found}"
            self.looking.breach(Law.BYTES, what, attempt, path.name)

    def _sizes(self, attempt: int, stream: str, path: Path, index: Index, record: dict[str, Any] | None) -> None:
        size = path.stat().st_size if path.exists() else 0
        recorded = index.recorded[stream]
        if recorded > size:
            what = f"{stream} has records up to {recorded}, and {size} bytes"
            return self.looking.breach(Law.BYTES, what, attempt, path.name)
        if record is None or record.get("ended_by") in ("host_error", "host_lost"):
            # A host that was killed, or had no room, may leave bytes that it never announced (decision 0009).
            return self.looking.count(Law.BYTES, "bytes that were never announced", size - recorded)
        told = (record.get("bytes") or {}).get(stream, 0)
        if not size == recorded == told:
            what = f"{stream} has {size} bytes, {recorded} with a record, {told} by its host"
            self.looking.breach(Law.BYTES, what, attempt, f"{path.name}:{min(size, recorded)}")
