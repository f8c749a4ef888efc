"""What the soak calls growing, on rows of values that were made up, each with many seeds."""

from __future__ import annotations

import random
import unittest
from collections.abc import Callable

from soak.flatness import Bound, Verdict, judge
from soak.slope import Point, slope

MB = 1_000_000.0
MEMORY = Bound(share=0.05, amount=2 * MB)
LEVEL = 40 * MB
SECONDS = 480
SEEDS = range(40)


def row(value: Callable[[float, random.Random], float], seed: int, seconds: int = SECONDS) -> list[Point]:
    """A value each second; the first argument is the share of time that has gone by."""
    dice = random.Random(seed)
    return [Point(second, value(second / seconds, dice)) for second in range(seconds)]


def noise(dice: random.Random) -> float:
    """A megabyte or so, with a spike now and then."""
    spike = 15 * MB if dice.random() < 0.02 else 0.0
    return dice.gauss(0, MB) + spike


def is_growing(points: list[Point], bound: Bound = MEMORY) -> bool:
    finding = judge(points, bound)
    assert finding.verdict is not Verdict.UNKNOWN
    return finding.verdict is Verdict.GROWING


class Flat(unittest.TestCase):
    """What must pass."""

    def never(self, value: Callable[[float, random.Random], float], seconds: int = SECONDS) -> None:
        for seed in SEEDS:
            with self.subTest(seed=seed):
                self.assertFalse(is_growing(row(value, seed, seconds)))

    def test_noise(self) -> None:
        self.never(lambda _, dice: LEVEL + noise(dice))

    def test_noise_of_a_short_soak(self) -> None:
        self.never(lambda _, dice: LEVEL + noise(dice), seconds=48)

    def test_a_constant(self) -> None:
        self.never(lambda _, dice: LEVEL)

    def test_a_step_at_the_start(self) -> None:
        self.never(lambda gone, dice: LEVEL + (10 * MB if gone > 0.1 else 0) + noise(dice))

    def test_a_step_in_the_middle(self) -> None:
        self.never(lambda gone, dice: LEVEL + (10 * MB if gone > 0.5 else 0) + noise(dice))

    def test_a_cache_that_fills(self) -> None:
        self.never(lambda gone, dice: LEVEL + 10 * MB * (1 - 2.718 ** (-8 * gone)) + noise(dice))

    def test_a_saw_tooth(self) -> None:
        self.never(lambda gone, dice: LEVEL + 20 * MB * (gone * 9 % 1) + noise(dice))

    def test_a_saw_tooth_with_quick_teeth(self) -> None:
        self.never(lambda gone, dice: LEVEL + 20 * MB * (gone * 90 % 1) + noise(dice))

    def test_what_falls(self) -> None:
        self.never(lambda gone, dice: LEVEL - 10 * MB * gone + noise(dice))

    def test_a_leak_below_the_bound(self) -> None:
        self.never(lambda gone, dice: LEVEL + 1 * MB * gone + noise(dice))

    def test_values_that_wander_and_come_back(self) -> None:
        for seed in SEEDS:
            with self.subTest(seed=seed):
                self.assertFalse(is_growing(wandering(seed)))


class Growing(unittest.TestCase):
    """What must be found."""

    def always(self, value: Callable[[float, random.Random], float], bound: Bound = MEMORY) -> None:
        for seed in SEEDS:
            with self.subTest(seed=seed):
                self.assertTrue(is_growing(row(value, seed), bound))

    def test_a_slow_leak_in_noise(self) -> None:
        self.always(lambda gone, dice: LEVEL + 4 * MB * gone + noise(dice))

    def test_a_leak_below_a_saw_tooth(self) -> None:
        self.always(lambda gone, dice: LEVEL + 12 * MB * gone + 10 * MB * (gone * 30 % 1) + noise(dice))

    def test_a_leak_after_a_step(self) -> None:
        self.always(lambda gone, dice: LEVEL + (5 * MB if gone > 0.1 else 0) + 8 * MB * gone + noise(dice))

    def test_a_leak_that_begins_late(self) -> None:
        self.always(lambda gone, dice: LEVEL + 20 * MB * max(0.0, gone - 0.3) + noise(dice))

    def test_descriptors_that_are_never_closed(self) -> None:
        bound = Bound(share=0.1, amount=8)
        self.always(lambda gone, dice: 60 + int(40 * gone) + dice.randrange(20), bound)


class Bounds(unittest.TestCase):
    """Share and amount both have to be passed."""

    def test_much_of_little_is_flat(self) -> None:
        points = row(lambda gone, dice: 100_000 * (1 + gone), 1)
        self.assertFalse(is_growing(points))
        self.assertTrue(is_growing(points, Bound(share=0.05, amount=1000)))

    def test_little_of_much_is_flat(self) -> None:
        points = row(lambda gone, dice: 1000 * MB + 10 * MB * gone, 1)
        self.assertFalse(is_growing(points))
        self.assertTrue(is_growing(points, Bound(share=0.005, amount=2 * MB)))

    def test_too_few_values_pass_nothing(self) -> None:
        self.assertIs(judge([], MEMORY).verdict, Verdict.UNKNOWN)
        few = [Point(second, LEVEL) for second in range(5)]
        self.assertIs(judge(few, MEMORY).verdict, Verdict.UNKNOWN)

    def test_the_report_of_a_leak(self) -> None:
        finding = judge(row(lambda gone, dice: LEVEL + 48 * MB * gone, 1), MEMORY)
        self.assertAlmostEqual(finding.rise / MB, 48, delta=0.5)
        self.assertAlmostEqual(finding.per_hour / MB, 48 * 3600 / SECONDS, delta=4)
        self.assertAlmostEqual(finding.allowed / MB, 3.2, delta=0.1)
        self.assertLess(finding.first, 46 * MB)
        self.assertGreater(finding.last, 80 * MB)


class Interval(unittest.TestCase):
    """The interval holds what is true."""

    def test_it_holds_the_slope_nearly_always(self) -> None:
        missed = 0
        for seed in range(200):
            line = slope(row(lambda gone, dice: 480 * gone + dice.gauss(0, 50), seed))
            assert line is not None
            missed += not line.low <= 1.0 <= line.high
        self.assertLessEqual(missed, 6)

    def test_it_is_narrow_where_there_is_no_noise(self) -> None:
        line = slope(row(lambda gone, dice: 480 * gone, 1))
        assert line is not None
        self.assertAlmostEqual(line.low, 1.0, places=6)
        self.assertAlmostEqual(line.high, 1.0, places=6)


def wandering(seed: int) -> list[Point]:
    """Each value near the one before, drawn back to the level: memory of a busy process."""
    dice = random.Random(seed)
    points, off = [], 0.0
    for second in range(SECONDS):
        off = 0.9 * off + dice.gauss(0, 0.4 * MB)
        points.append(Point(second, LEVEL + off))
    return points


if __name__ == "__main__":
    unittest.main()
