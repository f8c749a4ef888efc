"""A Log is only cut where a crash may have cut it, and every difference between two workflows is seen."""

import json
import tempfile
import unittest
from collections import Counter
from dataclasses import replace
from pathlib import Path

from kills.__main__ import compare, differences
from kills.flow import ASKS, FLOW, STATES
from kills.log import Essence, Log, essence, find

RUN, CHILD = "00000000-0001-7001-8101-010101010101", "00000000-0002-7001-8101-010101010101"
ONE = Essence({"a": "ready"}, Counter({"a": 1}), 1, "completed", "run.completed")


class TestLog(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.data = Path(folder.name)
        self.folder = self.data / "runs" / RUN
        self.folder.mkdir(parents=True)
        self.write(
            (1, "run.started", {"workflow": "killed"}),
            (2, "workflow.step_scheduled", {"step_id": "a", "child_run_id": CHILD}),
            (2, "subagent.requested", {"child_run_id": CHILD}),
        )

    def write(self, *events: tuple[int, str, dict[str, object]]) -> None:
        rows = [{"seq": seq, "ts": str(ts), "event": {"type": word}, "data": data}
                for seq, (ts, word, data) in enumerate(events, 1)]
        (self.folder / "events.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))

    def cut(self, count: int) -> bool:
        log = find(self.data)
        self.assertIsNotNone(log)
        return log.cut(count) and log.read() == count == len(Log(self.folder).path.read_text().splitlines())

    def test_a_question_is_open_once_the_run_waits(self) -> None:
        events = [(1, "run.status", {"status": "running"}), (2, "interaction.requested", {"interaction_id": 1})]
        for more, expected in (
            ([], None),
            ([(2, "run.status", {"status": "waiting_user"})], 1),
            ([(2, "run.status", {"status": "waiting_user"}), (3, "interaction.replied", {"interaction_id": 1})], None),
        ):
            self.write(*events, *more)
            log = Log(self.folder)
            log.read()
            self.assertEqual(expected, log.question())

    def test_half_a_line_is_no_event(self) -> None:
        with open(self.folder / "events.jsonl", "a") as file:
            file.write('{"seq": 4')
        log = find(self.data)
        self.assertEqual(3, log.read())
        with open(self.folder / "events.jsonl", "a") as file:
            file.write(', "ts": "3", "event": {"type": "run.completed"}, "data": {}}\n')
        self.assertEqual((4, True), (log.read(), log.is_over))

    def test_the_end_of_a_batch_is_taken_back(self) -> None:
        self.assertTrue(self.cut(2))

    def test_another_batch_is_not(self) -> None:
        self.assertFalse(self.cut(1))

    def test_a_batch_whose_child_was_made_is_not(self) -> None:
        (self.data / "runs" / CHILD).mkdir()
        self.assertFalse(self.cut(2))

    def test_a_batch_that_was_shown_is_not(self) -> None:
        (self.folder / "fcmp.jsonl").write_text('{"meta": {"rasp_seq": 3}}\n')
        self.assertFalse(self.cut(2))

    def test_a_run_that_is_no_workflow_is_passed_over(self) -> None:
        self.write((1, "run.started", {}))
        self.assertIsNone(find(self.data))


class TestEssence(unittest.TestCase):
    def test_every_difference_is_told(self) -> None:
        self.assertEqual([], compare(ONE, replace(ONE)))
        for change in ({"states": {"a": "failed"}}, {"tries": Counter({"a": 2})}, {"questions": 2}, {"outcome": "partial"},
                       {"end": "run.failed"}):
            self.assertEqual(1, len(compare(ONE, replace(ONE, **change))), change)

    def test_another_end_than_the_workflow_was_written_for(self) -> None:
        self.assertEqual([], differences(ONE, {"a": "ready"}))
        self.assertEqual(["a: ready, not failed"], differences(ONE, {"a": "failed"}))
        self.assertEqual(["it is partial"], differences(replace(ONE, outcome="partial"), {"a": "ready"}))

    def test_what_the_log_says(self) -> None:
        row = lambda word, **data: {"event": {"type": word}, "data": data}
        events = [
            row("workflow.step_scheduled", step_id="a", item=1), row("workflow.step_ended", step_id="a", item=1, state="ready"),
            row("interaction.requested"), row("workflow.ended", outcome="completed"), row("run.completed"),
        ]
        self.assertEqual(Essence({"a[1]": "ready"}, Counter({"a[1]": 1}), 1, "completed", "run.completed"), essence(events))

    def test_the_workflow_has_ten_steps(self) -> None:
        self.assertEqual([*STATES], [step["id"] for step in FLOW["steps"]])
        self.assertEqual(10, len(STATES))
        self.assertEqual([ASKS], [step["id"] for step in FLOW["steps"] if "ask" in step])


if __name__ == "__main__":
    unittest.main()
