"""Which ends are right follows from what was asked, what was promised and what was broken."""

import tempfile
import unittest
from pathlib import Path

from chaos.book import DISK_FULL, ENGINE_GONE, Book
from chaos.plan import Order, plan
from oracle import ledger


def order_of(kind: str) -> Order:
    orders = (order for number in range(1, 500) for order in plan(1, number).orders)
    return next(order for order in orders if order.kind.name == kind)


class TestBook(unittest.TestCase):
    def setUp(self) -> None:
        self.book = Book()

    def test_a_run_that_nothing_hit_ends_as_its_kind_does(self) -> None:
        run = self.book.track("a", order_of("auto"), 10.0)
        self.book.hit("b", ENGINE_GONE)
        self.assertEqual(self.book.expected(run), ["succeeded"])

    def test_a_blow_allows_more(self) -> None:
        run = self.book.track("a", order_of("auto"), 10.0)
        self.book.hit("a", ENGINE_GONE)
        self.assertEqual(self.book.expected(run), sorted({"succeeded", *ENGINE_GONE}))

    def test_a_storm_counts_for_those_who_lived_meanwhile(self) -> None:
        storm = self.book.storm(DISK_FULL)
        storm.begin, storm.end = 10.0, 20.0
        lives = {"before": (1.0, 9.0), "after": (21.0, None), "across": (1.0, None), "within": (12.0, 13.0)}
        hit = {}
        for name, (begin, end) in lives.items():
            run = self.book.track(name, order_of("auto"), begin)
            run.ended_at = end
            hit[name] = "failed:HOST_ERROR" in self.book.expected(run)
        self.assertEqual(hit, {"before": False, "after": False, "across": True, "within": True})

    def test_acknowledged_cancel_must_end_the_run_and_sent_one_may(self) -> None:
        run = self.book.track("a", order_of("auto"), 10.0)
        run.asked_to_cancel = True
        self.assertEqual(self.book.expected(run), ["canceled", "succeeded"])
        run.told_canceled = True
        self.book.hit("a", ENGINE_GONE)
        self.assertEqual(self.book.expected(run), ["canceled"])

    def test_the_ledger_has_each_run_once(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "ledger.jsonl"
            with ledger.Ledger(path) as book:
                self.book.track("a", order_of("sticky"), 1.0)
                self.book.tell(book)
                self.book.track("b", order_of("auto"), 2.0)
                self.book.tell(book)
            told = list(ledger.read(path))
        self.assertEqual([entry.run for entry in told], ["a", "b"])
        self.assertEqual((told[0].run_kind, told[0].mode, told[0].continuation), ("sticky", "interactive", "sticky"))
        self.assertEqual(told[1].expect, ["succeeded"])


if __name__ == "__main__":
    unittest.main()
