"""What a seed decides is decided by the seed alone, and everything is drawn in time."""

import unittest

from chaos.faults import ALL
from chaos.plan import FAULTS, ROUNDS_TOGETHER, FaultName, Manner, Way, plan
from lab.kinds import CONTINUED, KINDS, Mode

ROUNDS = [plan(seed, number) for seed in range(20) for number in range(1, 11)]


class TestPlan(unittest.TestCase):
    def test_the_same_words_give_the_same_round(self) -> None:
        self.assertEqual(plan(7, 3), plan(7, 3))
        self.assertNotEqual(plan(7, 3), plan(7, 4))
        self.assertNotEqual(plan(7, 3), plan(8, 3))

    def test_every_kind_manner_way_and_fault_is_drawn(self) -> None:
        orders = [order for planned in ROUNDS for order in planned.orders]
        self.assertEqual({order.kind for order in orders}, set(KINDS))
        self.assertEqual({order.manner for order in orders}, set(Manner))
        self.assertEqual({order.way for order in orders}, set(Way))
        self.assertEqual({blow.fault for planned in ROUNDS for blow in planned.blows}, set(FaultName))

    def test_conversations_are_continued_by_every_kind_that_can(self) -> None:
        orders = [order for planned in ROUNDS for order in planned.orders if order.heir]
        self.assertEqual({order.kind.mode for order in orders}, {Mode.CONVERSATION})
        self.assertEqual({order.heir.kind for order in orders}, set(CONTINUED))
        self.assertEqual(len({order.heir.key for order in orders}), len(orders))

    def test_every_fault_has_a_weight_and_a_class(self) -> None:
        self.assertEqual(set(FAULTS), set(FaultName))
        self.assertEqual(set(ALL), set(FaultName))

    def test_a_round_is_bounded_and_its_keys_differ(self) -> None:
        for planned in ROUNDS:
            self.assertLessEqual(len(planned.orders), 26)
            self.assertLessEqual(len(planned.blows), 9)
            self.assertLess(max(order.at for order in planned.orders), 18)
            self.assertEqual(len({order.key for order in planned.orders}), len(planned.orders))

    def test_a_data_folder_is_used_for_a_few_rounds_at_most(self) -> None:
        together = 0
        for number in range(1, 100):
            together = 1 if plan(5, number).is_fresh else together + 1
            self.assertLessEqual(together, ROUNDS_TOGETHER)

    def test_faults_that_cannot_be_tried_are_not_drawn(self) -> None:
        possible = tuple(name for name in FaultName if name is not FaultName.FILL_DISK)
        drawn = {blow.fault for number in range(1, 60) for blow in plan(1, number, possible).blows}
        self.assertEqual(drawn, set(possible))


if __name__ == "__main__":
    unittest.main()
