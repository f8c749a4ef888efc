"""What the faults do to a Log is what a crash can do, and nothing else."""

import json
import tempfile
import unittest
from pathlib import Path
from random import Random

from chaos.faults.everything import cut_last_evidence
from chaos.faults.log import Torn, tear
from chaos.faults.unowned import hold


def event(seq: int, kind: str, stream: str = "control") -> bytes:
    told = {"seq": seq, "event": {"type": kind}, "source": {"stream": stream}}
    return json.dumps(told).encode() + b"\n"


class TestTorn(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.log = self.folder / "events.jsonl"

    def write(self, *events: bytes) -> bytes:
        whole = b"".join(events)
        self.log.write_bytes(whole)
        return whole

    def test_whole_lines_stay_and_something_bad_comes_behind_them(self) -> None:
        whole = self.write(event(1, "run.started"), event(2, "run.status"))
        for kind in Torn:
            for seed in range(20):
                self.log.write_bytes(whole)
                self.assertTrue(tear(self.log, kind, Random(seed)))
                text = self.log.read_bytes()
                self.assertTrue(text.startswith(whole))
                added = text[len(whole):]
                self.assertTrue(added)
                self.assertEqual(added.find(b"\n"), len(added) - 1 if kind is Torn.LINE else -1)
                with self.assertRaises(ValueError):
                    json.loads(added)

    def test_a_log_that_is_over_or_torn_or_gone_is_left_alone(self) -> None:
        over = self.write(event(1, "run.started"), event(2, "run.failed"))
        self.assertFalse(tear(self.log, Torn.HALF, Random(1)))
        self.assertEqual(self.log.read_bytes(), over)
        torn = self.write(event(1, "run.started"), b'{"seq"')
        self.assertFalse(tear(self.log, Torn.HALF, Random(1)))
        self.assertEqual(self.log.read_bytes(), torn)
        self.assertFalse(tear(self.folder / "gone", Torn.HALF, Random(1)))

    def test_only_a_last_event_made_from_evidence_is_cut(self) -> None:
        first = event(1, "run.started")
        for seed in range(20):
            whole = self.write(first, event(2, "raw.stdout", "stdout"))
            self.assertTrue(cut_last_evidence(self.log, Random(seed)))
            left = self.log.read_bytes()
            self.assertTrue(left.startswith(first))
            self.assertLess(len(left), len(whole))
        synced = self.write(first, event(2, "run.status"))
        self.assertFalse(cut_last_evidence(self.log, Random(1)))
        self.assertEqual(self.log.read_bytes(), synced)
        self.assertFalse(cut_last_evidence(self.folder / "gone", Random(1)))

    def test_an_owned_run_is_not_touched(self) -> None:
        (self.folder / "lock").touch()
        with hold(self.folder) as first, hold(self.folder) as second:
            self.assertEqual((first, second), (True, False))
        with hold(self.folder) as again:
            self.assertTrue(again)
        with hold(self.folder / "gone") as gone:
            self.assertFalse(gone)


if __name__ == "__main__":
    unittest.main()
