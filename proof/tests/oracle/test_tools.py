"""The oracle's own tools: hash, ranges, echo, ledger, the page of results."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from types import SimpleNamespace

from oracle import echo, ledger
from oracle.blake3 import Hasher
from oracle.ranges import Ranges
from oracle.report import Breach, Law, Report

PROOF = Path(__file__).resolve().parent.parent.parent

# From the test vectors that the authors of BLAKE3 publish; byte i of the input is i modulo 251.
VECTORS = {
    0: "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262",
    1024: "42214739f095a406f3fc83deb889744ac00df831c10daa55189b5d121c855af7",
    1025: "d00278ae47eb27b34faecf67b4fe263f82d5412916c1ffd97c8cb7fb814b8444",
    2049: "5f4d72f40d7a5f82b15ca2b2e44b1de3c2ef86c426c95c1af0b6879522563030",
    31744: "62b6960e1a44bcc1eb1a611a8d6235b6b4b78f32e7abc4fb4c6cdcce94895c47",
    102400: "bc3e3d41a1146b069abffad3c0d44860cf664390afce4d9661f7902e7943e085",
}


class Blake3(unittest.TestCase):
    def test_known_hashes(self) -> None:
        for size, wanted in VECTORS.items():
            hasher = Hasher()
            hasher.update(bytes(at % 251 for at in range(size)))
            self.assertEqual(wanted, hasher.hexdigest(), size)

    def test_pieces_do_not_matter(self) -> None:
        data = bytes(at % 251 for at in range(3 << 20)) + b"more"
        whole, pieces = Hasher(), Hasher()
        whole.update(data)
        for at in range(0, len(data), 700_001):
            pieces.update(data[at : at + 700_001])
        self.assertEqual(whole.hexdigest(), pieces.hexdigest())


class RangesTest(unittest.TestCase):
    def test_the_first_hole_is_found(self) -> None:
        for added, size, hole in (
            ([], 0, None),
            ([], 5, (0, 5)),
            ([(0, 5)], 5, None),
            ([(2, 5)], 5, (0, 2)),
            ([(0, 2), (3, 5)], 5, (2, 3)),
            ([(3, 5), (0, 2), (2, 3)], 5, None),
            ([(0, 2), (4, 5), (1, 9)], 9, None),
            ([(6, 8), (0, 1), (3, 4), (1, 3)], 8, (4, 6)),
            ([(0, 3)], 5, (3, 5)),
        ):
            ranges = Ranges()
            for start, end in added:
                ranges.add(start, end)
            self.assertEqual(hole, ranges.hole(size), added)

    def test_any_order_gives_the_same(self) -> None:
        pieces = [(at, at + 3) for at in range(0, 60, 2)]
        for step in (1, 7, 11, 13):
            ranges = Ranges()
            for at in range(len(pieces)):
                ranges.add(*pieces[at * step % len(pieces)])
            self.assertIsNone(ranges.hole(61))
            self.assertEqual((61, 62), ranges.hole(62))


class Echo(unittest.TestCase):
    def decided(self, waiting: echo.Waiting, *lines: tuple[str, str | None]) -> list[str]:
        """What becomes of lines of these streams, and of what is left at the end: texts, or how many were left out."""
        events = [SimpleNamespace(stream=stream, data={"text": text}) for stream, text in lines]
        decided = [one for event in events for one in waiting.line(event)] + waiting.end()
        return [one.event.data["text"] if isinstance(one, echo.Shown) else len(one.events) for one in decided]

    def after(self, message: str, *lines: tuple[str, str | None]) -> list[str]:
        waiting = echo.Waiting()
        waiting.message(message)
        return self.decided(waiting, *lines)

    def test_three_lines_in_a_row_are_an_echo(self) -> None:
        out = lambda *texts: [("stdout", text) for text in texts]
        self.assertEqual([3], self.after("a\nb\nc", *out("a", " b ", "c")))
        self.assertEqual(["a", "b"], self.after("a\nb\nc", *out("a", "b")))
        self.assertEqual(["a", "b", "x", "c"], self.after("a\nb\nc", *out("a", "b", "x", "c")))
        self.assertEqual([5], self.after("a\nb\nc", *out("```", "a", "", "b", "c")))
        self.assertEqual(["a", "b", None, "c"], self.after("a\nb\nc", *out("a", "b", None, "c")))
        self.assertEqual(["a", "b", "c"], self.decided(echo.Waiting(), *out("a", "b", "c")))

    def test_streams_have_runs_of_their_own(self) -> None:
        lines = [("stdout", "a"), ("stderr", "x"), ("stdout", "b"), ("stdout", "c")]
        self.assertEqual([3, "x"], self.after("a\nb\nc", *lines))
        self.assertEqual(["a", "b", "c"], self.after("a\nb\nc", ("stdout", "a"), ("stderr", "b"), ("stdout", "c")))

    def test_what_waits_is_bounded(self) -> None:
        waiting = echo.Waiting()
        event = SimpleNamespace(stream="stdout", data={"text": "x" * (1 << 20)})
        shown = [len(waiting.line(event)) for _ in range(4)]
        self.assertEqual([0, 0, 0, 3], shown)


class LedgerTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name) / "ledger"

    def test_what_is_written_is_read(self) -> None:
        entries = [
            ledger.Accepted("r", "asks", "interactive", "sticky", ["succeeded"], 1.5),
            ledger.ReplySent("r", 1, "blue\u2028\n", "k", 2.0),
            ledger.ReplyAcknowledged("r", 1, "blue", 200, None, 2.5),
            ledger.CancelSent("r", 3.0),
            ledger.CancelAcknowledged("r", 3.0),
            ledger.InterruptAcknowledged("r", "instead", 3.5),
            ledger.CloseAcknowledged("r", 3.5),
            ledger.Continued("r", "before", 3.5),
            ledger.StatusSeen("r", "canceled", 9, 4.0),
            ledger.StreamSeen("r", ledger.Protocol.FCMP, "seen", 4.5),
            ledger.Fault("kill host", "r", 5.0),
            ledger.Effects("effects"),
        ]
        self.assertEqual(set(ledger.Kind), {entry.kind for entry in entries})
        with ledger.Ledger(self.path) as writing:
            for entry in entries:
                writing.write(entry)
        self.assertEqual(entries, list(ledger.read(self.path)))

    def test_a_line_that_is_cut_proves_nothing(self) -> None:
        for text in ('{"kind":"fault","name":"x"}', '{"kind":"other"}\n', '{"kind":"fault"}\n', "[]\n"):
            self.path.write_text(text)
            with self.assertRaises(ledger.LedgerError):
                list(ledger.read(self.path))


class Page(unittest.TestCase):
    def test_few_are_printed_and_all_are_counted(self) -> None:
        report = Report()
        for at in range(250):
            report.breach(Breach(Law.SEQ, f"breach {at}"))
        lines = report.lines()
        self.assertEqual("and 150 more", lines[-1])
        self.assertTrue(lines[0].startswith("seq        250 broken"))

    def test_laws_fit_into_eighty_columns(self) -> None:
        report = Report()
        for at in range(20):
            report.count(Law.BYTES, f"things of kind {at}", 10**at)
        self.assertLessEqual(max(map(len, report.lines())), 80)

    def test_exit_codes(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            words = [sys.executable, "-m", "oracle"]
            code = lambda *more: subprocess.run([*words, *more], cwd=PROOF, capture_output=True).returncode
            self.assertEqual(0, code(folder))
            self.assertEqual(2, code(f"{folder}/nowhere"))
            self.assertEqual(2, code(folder, "--ledger", f"{folder}/nowhere"))
            run = Path(folder) / "runs/00000000-0000-7000-8000-000000000001"
            run.mkdir(parents=True)
            (run / "events.jsonl").write_text("no event\n")
            self.assertEqual(1, code(folder, "--json"))
