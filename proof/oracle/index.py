"""`chunks.N.jsonl`: the order of reads. Every byte that readers may use has a record there."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import lines
from .lines import Kind

STREAMS = ("stdout", "stderr", "pty")


@dataclass
class Index:
    # Up to where each stream has records.
    recorded: dict[str, int] = field(default_factory=lambda: dict.fromkeys(STREAMS, 0))
    ended: set[str] = field(default_factory=set)
    # Number of a last line that has no end.
    torn: int | None = None
    problems: list[tuple[str, int]] = field(default_factory=list)
    # The most lines of the mask that a record counts; version 0.1.0 did not count them.
    masks: int = 0
    records: int = 0


def read(path: Path) -> Index | None:
    """None where there is no such file."""
    if not path.exists():
        return None
    index = Index()
    for line in lines.read(path):
        if line.kind is Kind.TORN:
            index.torn = line.number
            break
        for problem in _take(index, line.value):
            index.problems.append((problem, line.number))
        index.records += 1
    return index


def _take(index: Index, record: dict[str, Any]) -> Iterator[str]:
    if record.get("i") != index.records:
        yield f"record {record.get('i')} where {index.records} belongs"
    if "stream" in record:
        yield from _bytes(index, record)
    elif (stream := record.get("eof")) in STREAMS:
        index.ended.add(stream)
    elif "act" not in record:
        yield "neither bytes nor an end nor an act"


def _bytes(index: Index, record: dict[str, Any]) -> Iterator[str]:
    stream, start, end = record["stream"], record.get("from"), record.get("to")
    if stream not in STREAMS or type(start) is not int or type(end) is not int:
        yield "bytes of no stream"
        return
    if start != index.recorded[stream]:
        yield f"{stream} continues at {start} after {index.recorded[stream]}"
    if end <= start:
        yield f"{stream} {start}..{end} holds nothing"
    if stream in index.ended:
        yield f"{stream} continues after its end"
    index.recorded[stream] = max(end, index.recorded[stream])
    masks = record.get("masks", index.masks)
    if type(masks) is not int or masks < index.masks:
        yield f"{masks!r} lines of the mask after {index.masks}"
    else:
        index.masks = masks


def mask_lines(path: Path) -> int:
    """Sound lines of `redact.N.jsonl`, up to the first that is not. Zero where there is no such file."""
    if not path.exists():
        return 0
    count = 0
    for line in path.read_bytes().splitlines():
        try:
            value = json.loads(line)
        except ValueError:
            break
        if not (isinstance(value, dict) and {"stream", "from", "to"} <= value.keys()):
            break
        count += 1
    return count
