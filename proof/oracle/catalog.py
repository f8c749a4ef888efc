"""The catalog's rows, read and never written. It is a view: it may be missing or behind, and must never be ahead."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Row:
    status: str | None
    # The Log that it was made from, and how far.
    inode: int
    epoch: int
    bytes: int
    is_damaged: bool
    attempt: int | None
    interaction: int | None


@dataclass
class Catalog:
    rows: dict[str, Row]
    # Why there are none.
    problem: str | None = None


QUERY = """SELECT runs.run_id, status, inode, epoch, bytes, damaged, details.row
           FROM runs LEFT JOIN details USING (run_id)"""


def read(data: Path) -> Catalog:
    path = data / "catalog.sqlite"
    if not path.exists():
        return Catalog({})
    try:
        connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=5)
        try:
            return Catalog({row[0]: _row(row) for row in connection.execute(QUERY)})
        finally:
            connection.close()
    except (sqlite3.Error, ValueError) as error:
        # A journal left by a killed process needs a writer; the product recreates the catalog.
        return Catalog({}, str(error))


def _row(row: tuple[Any, ...]) -> Row:
    _, status, inode, epoch, size, damaged, details = row
    shown = json.loads(details) if details else {}
    interaction = (shown.get("question") or {}).get("interaction_id")
    return Row(status, inode, epoch, size, bool(damaged), shown.get("attempt"), interaction)
