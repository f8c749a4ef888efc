"""Runs that were recorded from the program, kept small, and put into a data folder again, whole or broken on purpose.

A fixture is a file of JSON lines: `about` once, then `rasp` and `fcmp` rows
without what every envelope repeats, and `file` with a name and a text.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from oracle.blake3 import Hasher

FIXTURES = Path(__file__).parent / "fixtures"
CORRELATION = (
    "interaction_id", "tool_call_id", "session_id", "request_id", "artifact_id", "parent_run_id", "step_id",
)
RANGES = ("stdout_from", "stdout_to", "stderr_from", "stderr_to")

Event = dict[str, Any]


def blake3(text: str) -> str:
    hasher = Hasher()
    hasher.update(text.encode())
    return hasher.hexdigest()


class Recorded:
    """One run. Lists can be changed as a test likes; seqs are given when it is written."""

    def __init__(self, name: str) -> None:
        self.rasp: list[Event] = []
        self.fcmp: list[tuple[Event, str, Event, list[int] | None]] = []
        self.files: dict[str, str] = {}
        for line in (FIXTURES / f"{name}.jsonl").read_text().splitlines():
            for key, value in json.loads(line).items():
                getattr(self, f"_{key}")(value)

    def _about(self, about: Event) -> None:
        self.run, self.engine, self.day = about["run"], about["engine"], about["day"]

    def _rasp(self, row: list[Any]) -> None:
        attempt, time, stream, parser, confidence, category, word, level, data, correlation, raw = row
        self.rasp.append({
            "protocol_version": "rasp/1.0",
            "run_id": self.run,
            "seq": 0,
            "ts": f"{self.day}T{time}Z",
            "attempt_number": attempt,
            "source": {"engine": self.engine, "stream": stream, "parser": parser, "confidence": confidence},
            "event": {"category": category, "type": word, "level": level},
            "data": data,
            "correlation": {name: correlation.get(name) for name in CORRELATION},
            "raw_ref": dict(zip(RANGES, raw, strict=True)),
        })

    def _fcmp(self, row: list[Any]) -> None:
        seq, word, data, *raw = row
        self.fcmp.append((self.rasp[seq - 1], word, data, raw[0] if raw else None))

    def _file(self, row: list[str]) -> None:
        self.files[row[0]] = row[1]

    def of(self, word: str, number: int = 0) -> Event:
        """The event of this type, by its number among those."""
        return [event for event in self.rasp if event["event"]["type"] == word][number]

    def again(self, event: Event) -> Event:
        """A second one behind it."""
        copy = json.loads(json.dumps(event))
        self.rasp.insert(self.place(event) + 1, copy)
        return copy

    def before(self, event: Event) -> Event:
        """A second one in front of it."""
        copy = json.loads(json.dumps(event))
        self.rasp.insert(self.place(event), copy)
        return copy

    def place(self, event: Event) -> int:
        return next(at for at, other in enumerate(self.rasp) if other is event)

    def without(self, event: Event) -> None:
        del self.rasp[self.place(event)]
        self.fcmp = [row for row in self.fcmp if row[0] is not event]

    def until(self, word: str, **data: Any) -> None:
        """As if it were still in progress: nothing after the last such event, and no view of its end."""
        fits = lambda event: event["event"]["type"] == word and data.items() <= event["data"].items()
        while not fits(self.rasp[-1]):
            self.rasp.pop()
        self.fcmp, _ = [], self.files.pop("result.json", None)

    def rewrite(self, name: str, change: Callable[[str], str]) -> None:
        """Changes a file of evidence as if the host itself had written it so: size and hash follow."""
        text = change(self.files[name])
        self.files[name] = text
        stream, attempt, _ = name.removeprefix(".audit/").split(".")
        record = json.loads(self.files[f".audit/host.{attempt}.json"])
        record["hashes"][name.removeprefix(".audit/")] = blake3(text)
        if stream in record["bytes"]:
            record["bytes"][stream] = len(text.encode())
        self.files[f".audit/host.{attempt}.json"] = json.dumps(record)

    def chain(self, first: int = 1) -> None:
        """Gives every event from `first` on the hash of the line before it, as the program does."""
        before = blake3(self.run)
        for place, event in enumerate(self.rasp, 1):
            event["seq"] = place
            event.pop("prev", None)
            if place >= first:
                event["prev"] = before
            before = blake3(_lines([event]).removesuffix("\n"))

    def write(self, data: Path, number: Callable[[int], int] = lambda at: at) -> Path:
        """`number` gives each event its seq by its place."""
        folder = data / "runs" / self.run
        for place, event in enumerate(self.rasp, 1):
            event["seq"] = number(place)
        self.files |= {"events.jsonl": _lines(self.rasp)}
        if self.fcmp:
            rows = enumerate(self.fcmp, 1)
            self.files |= {"fcmp.jsonl": _lines([_conversation(seq, *row) for seq, row in rows])}
        for name, text in self.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode())
        return folder


def _conversation(seq: int, event: Event, word: str, data: Event, raw: list[int] | None) -> Event:
    return {
        "protocol_version": "fcmp/1.0",
        "run_id": event["run_id"],
        "seq": seq,
        "ts": event["ts"],
        "engine": event["source"]["engine"],
        "session_id": event["correlation"]["session_id"],
        "type": word,
        "data": data,
        "meta": {
            "attempt": event["attempt_number"],
            "confidence": event["source"]["confidence"],
            "rasp_seq": event["seq"],
        },
        "correlation": event["correlation"],
        "raw_ref": dict(zip(RANGES, raw, strict=True)) if raw else event["raw_ref"],
    }


def _lines(values: list[Event]) -> str:
    return "".join(json.dumps(value, separators=(",", ":")) + "\n" for value in values)
