"""What a data folder takes up, by what it is for."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

BLOCK = 512


@dataclass(frozen=True)
class Disk:
    """A data folder at a moment, in bytes."""

    # Folders with a Log.
    runs: int
    # Blocks, as `du` counts, since small files take more than they hold.
    run_bytes: int
    sockets: int
    catalog: int
    wal: int
    # Permanent notes about removed runs, and keys of requests, which stay a week: these grow by design.
    notes: int
    # Everything else: outboxes, uploads, cache, logins, leases on workspaces.
    rest: int


def measure(data: Path) -> Disk:
    """Walks a data folder in which others write and remove."""
    runs = run_bytes = sockets = catalog = wal = notes = rest = 0
    for path, found in files(str(data)):
        parts = path[len(str(data)) + 1 :].split("/")
        blocks = found.st_blocks * BLOCK
        sockets += stat.S_ISSOCK(found.st_mode)
        match parts:
            case ["runs", "removed.jsonl"] | ["requests", _]:
                notes += found.st_size
            case ["runs", _, *inner]:
                run_bytes += blocks
                runs += inner == ["events.jsonl"]
            case ["catalog.sqlite"]:
                catalog += found.st_size
            case ["catalog.sqlite-wal" | "catalog.sqlite-journal"]:
                wal += found.st_size
            case _:
                rest += blocks
    return Disk(runs, run_bytes, sockets, catalog, wal, notes, rest)


def files(folder: str) -> Iterator[tuple[str, os.stat_result]]:
    """Everything below a folder but the folders, links not followed. What vanishes meanwhile is passed over."""
    waiting = [folder]
    while waiting:
        try:
            entries = list(os.scandir(waiting.pop()))
        except FileNotFoundError:
            continue
        for entry in entries:
            try:
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
                else:
                    yield entry.path, entry.stat(follow_symlinks=False)
            except FileNotFoundError:
                continue
