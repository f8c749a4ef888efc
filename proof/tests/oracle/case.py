"""What tests of laws have in common: a data folder, a ledger, and which laws the oracle calls broken."""

from __future__ import annotations

import tempfile
import unittest
from pathlib import Path

from oracle.check import check
from oracle.ledger import Accepted, Entry, Ledger, ReplyAcknowledged, ReplySent
from oracle.report import Law, Report

from .recorded import Recorded


class LawCase(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        self.data = self.root / "data"
        self.data.mkdir()

    def look(self, *entries: Entry, is_settled: bool = True) -> Report:
        if not entries:
            return check(self.data, is_settled=is_settled)
        path = self.root / "ledger.jsonl"
        path.unlink(missing_ok=True)
        with Ledger(path) as ledger:
            for entry in entries:
                ledger.write(entry)
        return check(self.data, path, is_settled=is_settled)

    def assert_holds(self, report: Report) -> None:
        self.assertEqual([], [str(breach) for breach in report.breaches])

    def assert_breaks(self, law: Law, words: str, report: Report) -> None:
        """This law and no other, in these words."""
        told = [str(breach) for breach in report.breaches]
        self.assertEqual({law}, {breach.law for breach in report.breaches}, told)
        self.assertIn(words, "\n".join(told))


def promises(run: Recorded, *expect: str) -> list[Entry]:
    """A ledger that fits the run: accepted, and every answer in it sent and acknowledged."""
    entries: list[Entry] = [Accepted(run.run, "kind", "interactive", expect=list(expect))]
    for event in run.rasp:
        if event["event"]["type"] == "interaction.replied":
            data, key = event["data"], event["correlation"]["request_id"]
            entries.append(ReplySent(run.run, data["interaction_id"], data["text"], key))
            entries.append(ReplyAcknowledged(run.run, data["interaction_id"], data["text"], 200, key))
    return entries
