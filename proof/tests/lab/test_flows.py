"""Every workflow that a seed can choose is one that can be carried out, and everything is chosen in time."""

import json
import random
import unittest

from lab import flows
from lab.kinds import KINDS

FLOWS = [flows.flow(random.Random(seed)) for seed in range(400)]
STEPS = [step for flow in FLOWS for step in flow["steps"]]


class TestFlows(unittest.TestCase):
    def test_the_same_seed_gives_the_same_file(self) -> None:
        one, same, another = (flows.text(flows.flow(random.Random(seed))) for seed in (7, 7, 8))
        self.assertEqual(one, same)
        self.assertNotEqual(one, another)
        self.assertEqual(json.loads(one), flows.flow(random.Random(7)))

    def test_steps_need_and_point_to_steps_before_them(self) -> None:
        for flow in FLOWS:
            self.assertTrue(3 <= len(flow["steps"]) <= 10)
            self.assertTrue(any(step.get("required", True) for step in flow["steps"]))
            before: dict[str, str | None] = {}
            for step in flow["steps"]:
                self.assertLessEqual({*step.get("needs", [])}, before.keys())
                if isinstance(points := step.get("for_each"), dict):
                    self.assertEqual("kind-lists", before[points["from"].split("/")[2]])
                before[step["id"]] = step.get("skill")
            self.assertEqual(len(before), len(flow["steps"]))

    def test_skills_of_steps_are_there(self) -> None:
        skills = {kind.skill for kind in (*KINDS, *flows.STEP_KINDS) if kind.script}
        self.assertLessEqual({step["skill"] for step in STEPS if "skill" in step}, skills)
        self.assertEqual(len({kind.name for kind in (*KINDS, *flows.STEP_KINDS)}), len(KINDS) + len(flows.STEP_KINDS))

    def test_everything_is_drawn(self) -> None:
        for part in flows.PARTS:
            keys = part.step("x").items()
            self.assertTrue(any(all(step.get(key) == value for key, value in keys if key != "id") for step in STEPS), part.name)
        for key, value in (("ask", "before"), ("ask", "after"), ("on_failure", "stop"), ("on_failure", "hold"),
                           ("workspace", "shared"), ("permission", "read_only"), ("required", False)):
            self.assertTrue(any(step.get(key) == value for step in STEPS), (key, value))
        self.assertTrue(any("timeout" in flow for flow in FLOWS))


if __name__ == "__main__":
    unittest.main()
