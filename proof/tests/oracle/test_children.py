"""What a parent says of its children, broken on purpose."""

from __future__ import annotations

import json
from typing import Any

from oracle.event import Event
from oracle.fold import Fold
from oracle.laws.children import Children
from oracle.lines import Kind, Line
from oracle.looking import Looking
from oracle.promises import Promises
from oracle.report import Law, Report
from oracle.words import Rasp

from .case import LawCase

PARENT, CHILD = "00000000-0001-7001-8101-010101010101", "00000000-0002-7001-8101-010101010101"

TIMED_OUT = {"error": {"category": "timeout", "code": "TIMEOUT"}}


class Family(LawCase):
    """A parent with one child. `say` is what the parent says of it, `log` what its own Log says."""

    def setUp(self) -> None:
        super().setUp()
        self.requested = {"child_run_id": CHILD, "key": "a"}
        self.ended: dict[str, Any] | None = self.end("completed", summary="Done.")
        self.own: tuple[str, dict[str, Any]] | None = ("run.completed", {})
        self.link = {"run_id": PARENT, "attempt": 1}
        self.times = 1
        self.is_open, self.is_workflow = True, False
        self.limits: dict[str, Any] | None = {"max_children": 2, "max_total": 2, "max_depth": 1}
        # What a wait says, before the end of the child.
        self.wait: dict[str, Any] | None = None
        self.result: dict[str, Any] = {"text": "Done.", "output": None}

    def end(self, status: str, reason: str = "CLEAN_FINAL", **more: Any) -> dict[str, Any]:
        return {"child_run_id": CHILD, "status": status, "reason": reason, "child_seq": 2, **more}

    def event(self, word: str, data: dict[str, Any]) -> Event:
        return Event(Line(Kind.OBJECT, 1, 0, 0, {}), PARENT, 1, 1, "control", word, Rasp(word), data, {})

    def report(self) -> Report:
        runs = self.data / "runs"
        (runs / PARENT).mkdir(parents=True)
        (runs / PARENT / "run.json").write_text(json.dumps({"request": {"delegation": self.limits}}))
        if self.own:
            (runs / CHILD).mkdir()
            started = {"seq": 1, "event": {"type": "run.started"}, "data": {"parent": self.link}}
            last = {"seq": 2, "event": {"type": self.own[0]}, "data": self.own[1]}
            text = "".join(json.dumps(event) + "\n" for event in (started, last))
            (runs / CHILD / "events.jsonl").write_text(text)
            (runs / CHILD / "result.json").write_text(json.dumps(self.result))
        report = Report()
        law = Children(Looking(runs / PARENT, PARENT, report, Promises(), is_settled=True))
        before = Fold(attempt=1, is_open=self.is_open, is_workflow=self.is_workflow)
        for _ in range(self.times):
            law.event(self.event("subagent.requested", self.requested), before)
        if self.wait:
            law.event(self.event("tool.call.completed", {"output": json.dumps(self.wait)}), before)
        if self.ended:
            law.event(self.event("subagent.ended", self.ended), before)
        law.event(self.event("run.completed", {}), Fold(attempt=1))
        law.end(before)
        return report

    def assert_breach(self, words: str) -> None:
        self.assert_breaks(Law.CHILDREN, words, self.report())

    def test_a_child_that_completed_breaks_no_law(self) -> None:
        report = self.report()
        self.assert_holds(report)
        self.assertEqual(1, report.counts[Law.CHILDREN]["children"])

    def test_a_child_that_failed_is_called_completed(self) -> None:
        self.own = ("run.failed", {"error": {"category": "engine", "code": "ENGINE_FAILED"}})
        self.assert_breach("is completed, and event 2 of its Log is run.failed")

    def test_a_child_that_ran_out_of_time_is_called_failed(self) -> None:
        self.own, self.ended = ("run.failed", TIMED_OUT), self.end("failed", "TIMEOUT")
        self.assert_breach("is failed, and failed with TIMEOUT")

    def test_text_of_a_broken_child_is_an_answer(self) -> None:
        self.own, self.ended = ("run.failed", TIMED_OUT), self.end("timed_out", "TIMEOUT", summary="Nearly.")
        self.assert_breach("and its parent has an answer of it")

    def test_a_child_that_still_works_is_called_completed(self) -> None:
        self.own = ("run.status", {})
        self.assert_breach("event 2 of its Log is run.status")

    def test_the_parent_ends_without_the_end_of_its_child(self) -> None:
        self.ended = None
        self.assert_breach("the end of child")

    def test_a_child_is_asked_for_twice(self) -> None:
        self.times = 2
        self.assert_breach("was asked for twice")

    def test_a_child_is_asked_for_between_turns(self) -> None:
        self.is_open = False
        self.assert_breach("outside of an open turn")

    def test_a_workflow_has_no_turns(self) -> None:
        self.is_open, self.is_workflow = False, True
        self.assert_holds(self.report())

    def test_a_child_does_not_exist(self) -> None:
        self.own = None
        self.assert_breach("does not exist")

    def test_a_child_that_was_not_made_exists(self) -> None:
        self.ended = self.end("failed", "CHILD_NOT_MADE")
        self.assert_breach("says that it was not made")

    def test_a_child_names_another_parent(self) -> None:
        self.link = {"run_id": CHILD, "attempt": 1}
        self.assert_breach("names another parent")

    def test_a_detached_child_may_end_in_any_way(self) -> None:
        self.own, self.ended = ("run.failed", TIMED_OUT), self.end("detached", "PARENT_ENDED", child_seq=None)
        self.assert_holds(self.report())

    def test_the_summary_is_another_text(self) -> None:
        self.result = {"text": "Something else.", "output": None}
        self.assert_breach("its summary is not its answer")

    def test_a_run_that_may_not_delegate_has_a_child(self) -> None:
        self.limits = None
        self.assert_breach("may not delegate")

    def test_more_children_than_allowed_work_at_once(self) -> None:
        self.limits = {"max_children": 0}
        self.assert_breach("one more than the 0 that may work at once")

    def test_a_wait_knows_an_end_that_the_log_does_not(self) -> None:
        self.wait = {"is": "waited", "outcome": "completed", "runs": [{"run_id": CHILD, "state": "completed"}]}
        self.assert_breach(f"a wait says that child {CHILD} is completed, and the Log None")

    def test_a_wait_is_completed_with_an_open_child(self) -> None:
        self.wait = {"is": "waited", "outcome": "completed", "runs": [{"run_id": CHILD, "state": "running"}]}
        self.assert_breach("a wait is completed with children ['running']")

    def test_a_wait_that_says_what_the_log_says_breaks_no_law(self) -> None:
        self.wait = {"is": "waited", "outcome": "incomplete", "runs": [{"run_id": CHILD, "state": "running"}]}
        self.assert_holds(self.report())


class Born(LawCase):
    """A child with a parent. `asked` are the runs that the parent has asked for."""

    def setUp(self) -> None:
        super().setUp()
        self.asked = [CHILD]
        self.link = {"run_id": PARENT, "attempt": 1, "root": PARENT, "depth": 1}
        self.recorded = self.link
        self.parent = {"permission": "workspace", "delegation": {"max_depth": 1, "max_children": 2, "engines": ["e"]}}
        self.request: dict[str, Any] = {"permission": "workspace", "mode": "auto", "env": [], "secrets": []}
        self.engine = "e"

    def report(self) -> Report:
        runs = self.data / "runs"
        for run in (PARENT, CHILD):
            (runs / run).mkdir(parents=True)
        asked = [{"seq": 1, "event": {"type": "run.started"}, "data": {}}]
        asked += [{"event": {"type": "subagent.requested"}, "data": {"child_run_id": child}} for child in self.asked]
        (runs / PARENT / "events.jsonl").write_text("".join(json.dumps(event) + "\n" for event in asked))
        (runs / PARENT / "run.json").write_text(json.dumps({"request": self.parent}))
        record = {"request": self.request, "parent": self.recorded, "engine": {"name": self.engine}}
        (runs / CHILD / "run.json").write_text(json.dumps(record))
        report = Report()
        law = Children(Looking(runs / CHILD, CHILD, report, Promises(), is_settled=True))
        value = {"correlation": {"parent_run_id": PARENT}}
        line = Line(Kind.OBJECT, 1, 0, 0, {})
        started = Event(line, CHILD, 1, 0, "control", "run.started", Rasp.RUN_STARTED, {"parent": self.link}, value)
        law.event(started, Fold())
        return report

    def assert_breach(self, words: str) -> None:
        self.assert_breaks(Law.CHILDREN, words, self.report())

    def test_a_child_that_was_asked_for_breaks_no_law(self) -> None:
        self.assert_holds(self.report())

    def test_a_second_run_for_one_request(self) -> None:
        self.asked = ["00000000-0003-7001-8101-010101010101"]
        self.assert_breach("which has not asked for it")

    def test_the_record_names_another_parent(self) -> None:
        self.recorded = {}
        self.assert_breach("run.json names the parent")

    def test_a_child_is_deeper_than_allowed(self) -> None:
        self.parent["delegation"]["max_depth"] = 0
        self.assert_breach("its parent allows 0")

    def test_a_child_is_at_another_depth_than_below_its_parent(self) -> None:
        self.link = self.recorded = {**self.link, "depth": 2}
        self.assert_breach("it is at depth 2 below")

    def test_a_child_has_another_engine_than_allowed(self) -> None:
        self.engine = "other"
        self.assert_breach("its parent allows neither other")

    def test_a_child_has_more_permission_than_its_parent(self) -> None:
        self.request["permission"] = "full"
        self.assert_breach("it has the permission full")

    def test_a_child_is_a_conversation(self) -> None:
        self.request["mode"] = "conversation"
        self.assert_breach("a child is a conversation")

    def test_a_child_has_variables_of_its_parent(self) -> None:
        self.request["env"] = ["TOKEN"]
        self.assert_breach("a child has variables")

    def of_step(self, **step: Any) -> None:
        """The parent is a workflow, and has no limits of delegation."""
        self.link = self.recorded = {**self.link, "step_id": "a"}
        plan = {"steps": [{"id": "a", **step}]}
        self.parent = {"permission": "workspace", "workflow": plan, "env": ["TOKEN"], "secrets": []}
        self.request["env"] = ["TOKEN"]

    def test_the_child_of_a_step_has_the_variables_of_its_workflow(self) -> None:
        self.of_step()
        self.assert_holds(self.report())

    def test_the_child_of_a_step_has_other_variables(self) -> None:
        self.of_step()
        self.request["secrets"] = ["KEY"]
        self.assert_breach("it has other variables than its workflow")

    def test_the_child_of_a_step_has_the_permission_of_the_step(self) -> None:
        self.of_step(permission="read_only")
        self.assert_breach("it has the permission workspace, and its step read_only")

    def test_the_workflow_has_no_such_step(self) -> None:
        self.of_step(id="b")
        self.assert_breach("it names the step a, which its parent does not have")
