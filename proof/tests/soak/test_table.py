"""What a person sees: lines of 80 columns, a table for the page, and the plan that was asked for."""

from __future__ import annotations

import unittest
from collections import Counter
from pathlib import Path

from soak import table
from soak.__main__ import read_plan
from soak.book import Book, Counted, Crew
from soak.course import AtRest, Outcome, judged, progress
from soak.flatness import Verdict
from soak.plan import Leak, Plan
from soak.quantities import QUANTITIES, Sample

PLAN = Plan(10, 7, Path("skillrun"), Leak.NONE, None, False)


def sample(at: float, **values: float) -> Sample:
    level = {quantity.field: 90e6 if quantity.unit.value == "bytes" else 120.0 for quantity in QUANTITIES}
    return Sample(at=at, **(level | values))


def outcome(samples: list[Sample]) -> Outcome:
    book = Book()
    book.count(Counted.RUNS, 12345)
    rest = AtRest(13, 8, Counter())
    findings = [(quantity, judged(quantity, samples)) for quantity in QUANTITIES]
    return Outcome(findings, rest, rest, book, samples, "all laws hold")


class Lines(unittest.TestCase):
    def test_they_fit(self) -> None:
        leaking = [sample(second, descriptors=100 + second, resident=90e6 + second * 1e5) for second in range(480)]
        shown = table.text(PLAN, outcome(leaking)).splitlines()
        self.assertLessEqual(max(map(len, shown)), 80)
        self.assertEqual(sum("GROWING" in line for line in shown), 2)

    def test_progress_fits(self) -> None:
        book = Book()
        book.count(Counted.RUNS, 99_999)
        book.count(Counted.REMOVED, 99_999)
        self.assertLessEqual(len(progress(59_999, sample(1, hosts=12, resident=999e6), book)), 80)

    def test_the_page_has_a_row_for_each_and_five_columns(self) -> None:
        page = table.markdown(PLAN, outcome([sample(second) for second in range(480)]))
        rows = [line for line in page.splitlines() if line.startswith("|")]
        self.assertEqual(len(rows), len(QUANTITIES) + 2)
        self.assertEqual({row.count("|") for row in rows}, {6})
        self.assertIn("12,345 runs", page)

    def test_nothing_measured_is_not_flat(self) -> None:
        nothing = outcome([])
        self.assertEqual({finding.verdict for _, finding in nothing.findings}, {Verdict.UNKNOWN})
        self.assertIn("NOT SEEN", table.text(PLAN, nothing))


class Asked(unittest.TestCase):
    def test_the_plan(self) -> None:
        plan = read_plan(["--minutes", "3", "--seed", "5", "--leak", "followers"])
        self.assertEqual((plan.seconds, plan.warm_up, plan.seed, plan.leak), (180, 36, 5, Leak.FOLLOWERS))


class Threads(unittest.TestCase):
    def test_what_goes_wrong_in_a_thread_is_written_down(self) -> None:
        book = Book()
        crew = Crew(book)

        def fails() -> None:
            crew.stop.set()
            raise ValueError("on purpose")

        crew.repeat("somebody", fails, lambda: 0)
        crew.end(10)
        self.assertEqual(len(book.breaches()), 1)
        self.assertIn("on purpose", book.breaches()[0])


if __name__ == "__main__":
    unittest.main()
