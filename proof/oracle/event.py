"""One RASP event, as far as laws look at it. A line that lacks the envelope of contract R6.1 is not an event."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .lines import Kind, Line
from .words import CONTROL, KNOWN, Rasp

RANGES = ("stdout_from", "stdout_to", "stderr_from", "stderr_to")


class NotAnEvent(Exception):
    """With what is wrong, in words."""


@dataclass(slots=True)
class Event:
    line: Line
    run: str
    seq: int
    attempt: int
    stream: str
    word: str
    # None for a type that the oracle does not know.
    kind: Rasp | None
    data: dict[str, Any]
    value: dict[str, Any]

    @property
    def is_control(self) -> bool:
        return self.stream == CONTROL

    @property
    def where(self) -> str:
        return f"events.jsonl:{self.line.number}"


def of(line: Line) -> Event:
    if line.kind is not Kind.OBJECT:
        raise NotAnEvent("not a JSON object")
    value = line.value
    try:
        word, stream, data, raw = value["event"]["type"], value["source"]["stream"], value["data"], value["raw_ref"]
        run, seq, attempt = value["run_id"], value["seq"], value["attempt_number"]
        version, _ = value["protocol_version"], value["correlation"]["session_id"]
        numbers = [seq, attempt, *(raw[name] for name in RANGES)]
    except (KeyError, TypeError) as error:
        raise NotAnEvent(f"its envelope lacks {error}") from error
    if version != "rasp/1.0":
        raise NotAnEvent(f"protocol {version!r}")
    are_numbers = all(type(number) is int and number >= 0 for number in numbers)
    if not (are_numbers and isinstance(data, dict) and isinstance(word, str)):
        raise NotAnEvent("its envelope has a value of another kind")
    return Event(line, run, seq, attempt, stream, word, Rasp(word) if word in KNOWN else None, data, value)
