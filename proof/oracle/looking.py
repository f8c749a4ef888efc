"""One run while it is looked at: where it is, what was promised about it, and where findings go."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from . import lines
from .promises import Promises, RunPromises
from .report import Breach, Law, Report


@dataclass
class Looking:
    folder: Path
    run: str
    report: Report
    promises: Promises
    # No process works on anything any more.
    is_settled: bool
    # The skillrun whose answers are compared.
    program: Path | None = None

    @property
    def promised(self) -> RunPromises:
        return self.promises.runs.get(self.run) or RunPromises()

    @property
    def audit(self) -> Path:
        return self.folder / ".audit"

    @cached_property
    def has_evidence(self) -> bool:
        """Retention removes evidence before the rest, and notes it beside it."""
        return not (self.audit / "removed.json").exists()

    @cached_property
    def epoch(self) -> int:
        try:
            return int((self.folder / "epoch").read_text())
        except (OSError, ValueError):
            return 1

    @cached_property
    def record(self) -> dict[str, Any]:
        return lines.whole(self.folder / "run.json") or {}

    def host(self, attempt: int) -> dict[str, Any] | None:
        """The host's own record: there if and only if the attempt is over."""
        return lines.whole(self.audit / f"host.{attempt}.json")

    def count(self, law: Law, what: str, by: int = 1) -> None:
        self.report.count(law, what, by)

    def breach(self, law: Law, what: str, attempt: int | None = None, where: str | None = None) -> None:
        self.report.breach(Breach(law, what, self.run, attempt, where))
