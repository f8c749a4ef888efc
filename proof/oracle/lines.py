"""JSON lines, read one at a time however long the file is."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto
from pathlib import Path
from typing import Any

# A message has 4 MiB at most, and each byte of it may be written as six.
LINE_LIMIT = 64 << 20
FILE_LIMIT = 64 << 20


class Unreadable(Exception):
    """Something is not what it should be to be looked at."""


class Kind(Enum):
    OBJECT = auto()
    # A line with its end that is not a JSON object.
    BAD = auto()
    # What comes after the last line end.
    TORN = auto()


@dataclass(frozen=True, slots=True)
class Line:
    kind: Kind
    number: int
    # Where it begins, and where the next one does.
    start: int
    end: int
    value: dict[str, Any]


def read(path: Path) -> Iterator[Line]:
    """All lines of a file; of one that is being written, those that were there at the time."""
    loads = json.loads
    with open(path, "rb") as file:
        number = start = 0
        while text := file.readline(LINE_LIMIT):
            number += 1
            end = start + len(text)
            if not text.endswith(b"\n"):
                if len(text) == LINE_LIMIT:
                    raise Unreadable(f"{path}:{number}: a line of more than {LINE_LIMIT} bytes")
                yield Line(Kind.TORN, number, start, end, {})
                return
            try:
                value = loads(text)
            except (ValueError, RecursionError):
                value = None
            if type(value) is dict:
                yield Line(Kind.OBJECT, number, start, end, value)
            else:
                yield Line(Kind.BAD, number, start, end, {})
            start = end


def whole(path: Path) -> dict[str, Any] | None:
    """A file that holds one JSON object; none where there is no such file."""
    try:
        with open(path, "rb") as file:
            text = file.read(FILE_LIMIT + 1)
    except FileNotFoundError:
        return None
    if len(text) > FILE_LIMIT:
        raise Unreadable(f"{path}: more than {FILE_LIMIT} bytes")
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"{path}: {error}") from error
    if not isinstance(value, dict):
        raise Unreadable(f"{path}: not an object")
    return value
