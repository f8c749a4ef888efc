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
        self.is_open = True

    def end(self, status: str, reason: str = "CLEAN_FINAL", **more: Any) -> dict[str, Any]:
        return {"child_run_id": CHILD, "status": status, "reason": reason, "child_seq": 2, **more}

    def event(self, word: str, data: dict[str, Any]) -> Event:
        return Event(Line(Kind.OBJECT, 1, 0, 0, {}), PARENT, 1, 1, "control", word, Rasp(word), data, {})

    def report(self) -> Report:
        runs = self.data / "runs"
        (runs / PARENT).mkdir(parents=True)
        if self.own:
            (runs / CHILD).mkdir()
            started = {"seq": 1, "event": {"type": "run.started"}, "data": {"parent": self.link}}
            last = {"seq": 2, "event": {"type": self.own[0]}, "data": self.own[1]}
            text = "".join(json.dumps(event) + "\n" for event in (started, last))
            (runs / CHILD / "events.jsonl").write_text(text)
        report = Report()
        law = Children(Looking(runs / PARENT, PARENT, report, Promises(), is_settled=True))
        before = Fold(attempt=1, is_open=self.is_open)
        for _ in range(self.times):
            law.event(self.event("subagent.requested", self.requested), before)
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
        self.own, self.ended = ("run.failed", TIMED_OUT), self.end("detached", "PARENT_ENDED")
        self.assert_holds(self.report())
