"""What lies in `runs/`, read from the files: which runs are over and since when, and which have their evidence."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from pathlib import Path

# The last event of a Log is short.
TAIL = 256 * 1024

# Files that retention takes before the rest, as docs/runs.md has them: what the engine wrote, when, and what changed.
EVIDENCE = re.compile(r"(stdin|stdout|stderr|pty-output)\.\d+\.log|(chunks|redact)\.\d+\.jsonl|fs-(before|after|diff)\.\d+\.json")


class Standing(StrEnum):
    NOT_OVER = "not over"
    SUCCEEDED = "run.completed"
    FAILED = "run.failed"
    CANCELED = "run.canceled"


@dataclass(frozen=True)
class Seen:
    """A run on the disk."""

    standing: Standing
    # None while it is not over.
    ended_at: datetime | None
    has_evidence: bool
    # Of its Log.
    log_bytes: int


def look(runs: Path) -> dict[str, Seen]:
    """All runs that have a Log."""
    found: dict[str, Seen] = {}
    for folder in runs.iterdir():
        try:
            found[folder.name] = look_at(folder)
        except (FileNotFoundError, NotADirectoryError):
            continue  # Being made or removed, or no run.
    return found


def look_at(folder: Path) -> Seen:
    with (folder / "events.jsonl").open("rb") as log:
        size = log.seek(0, 2)
        log.seek(max(0, size - TAIL))
        standing, ended_at = last_of(log.read())
    return Seen(standing, ended_at, has_evidence(folder), size)


def last_of(tail: bytes) -> tuple[Standing, datetime | None]:
    """What the last whole line says. Anything but a plain end is none."""
    lines = tail.split(b"\n")
    try:
        event = json.loads(lines[-2]) if len(lines) > 1 and not lines[-1] else {}
        return Standing(event["event"]["type"]), datetime.fromisoformat(event["ts"])
    except (ValueError, KeyError, TypeError):
        return Standing.NOT_OVER, None


def has_evidence(folder: Path) -> bool:
    audit = folder / ".audit"
    return audit.is_dir() and any(EVIDENCE.fullmatch(path.name) for path in audit.iterdir())


def removed_notes(runs: Path) -> set[str]:
    """Runs that were noted as removed."""
    try:
        lines = (runs / "removed.jsonl").read_text().splitlines()
    except FileNotFoundError:
        return set()
    return {json.loads(line)["run_id"] for line in lines}
