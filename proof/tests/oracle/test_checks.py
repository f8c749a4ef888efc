"""Checks of a run, broken on purpose."""

from __future__ import annotations

import json
from typing import Any

from oracle import blake3
from oracle.event import Event
from oracle.fold import Fold
from oracle.laws.checks import Checks
from oracle.lines import Kind, Line
from oracle.looking import Looking
from oracle.promises import Promises
from oracle.report import Law, Report
from oracle.words import Rasp

from .case import LawCase
from .recorded import Recorded

RUN = "00000000-0001-7001-8101-010101010101"
FAILED = {"error": {"category": "output", "code": "CHECK_FAILED"}}


class RunChecks(LawCase):
    """A run with two checks. `log` is what its Log says of them."""

    def setUp(self) -> None:
        super().setUp()
        self.folder = self.data / "runs" / RUN
        checks = [{"name": name, "command": f"make {name}"} for name in ("lint", "test")]
        self.folder.mkdir(parents=True)
        (self.folder / "run.json").write_text(json.dumps({"request": {"checks": checks}}))

    def ended(self, number: int, status: str, code: int = 0, said: int | None = None) -> tuple[str, dict[str, Any]]:
        name = ("lint", "test", "more")[number - 1]
        folder = self.folder / ".audit/checks" / str(number)
        folder.mkdir(parents=True, exist_ok=True)
        record = {"exit_code": code, "signal": None, "ended_by": "exited", "error": None}
        (folder / "host.1.json").write_text(json.dumps(record))
        told = {"code": code if said is None else said, "signal": None, "ended_by": "exited"}
        host_hash = blake3.of_file(folder / "host.1.json")[1]
        more = {"recording": 1, "host_hash": host_hash, "exit": told}
        return "check.ended", {"check": number, "name": name, "command": f"make {name}", "status": status, **more}

    def report(self, log: list[tuple[str, dict[str, Any]]]) -> Report:
        report = Report()
        law = Checks(Looking(self.folder, RUN, report, Promises(), is_settled=True))
        before = Fold(attempt=1)
        for word, data in log:
            law.event(Event(Line(Kind.OBJECT, 1, 0, 0, {}), RUN, 1, 1, "control", word, Rasp(word), data, {}), before)
        law.end(before)
        return report

    def breaches(self, *log: tuple[str, dict[str, Any]]) -> list[str]:
        return [breach.what for breach in self.report(list(log)).breaches if breach.law is Law.CHECKS]

    announced = ("run.status", {"status": "running", "phase": "checking"})
    succeeded = ("run.completed", {"reason_code": "CLEAN_FINAL"})
    failed = ("run.failed", FAILED)

    def test_all_passed_or_one_failed_is_lawful(self) -> None:
        passed = [self.announced, self.ended(1, "passed"), self.announced, self.ended(2, "passed"), self.succeeded]
        self.assertEqual(self.breaches(*passed), [])
        self.assertEqual(self.breaches(self.announced, self.ended(1, "failed", 3), self.failed), [])
        canceled = ("check.ended", {"check": 1, "name": "lint", "command": "make lint", "status": "canceled"})
        self.assertEqual(self.breaches(self.announced, canceled, ("run.canceled", {})), [])
        self.assertEqual(self.breaches(("run.failed", {"error": {"code": "ENGINE_FAILED"}})), [])

    def test_run_that_succeeds_without_its_checks_is_found(self) -> None:
        self.assertIn("succeeded with 2 checks", self.breaches(self.succeeded)[0])
        self.assertIn("succeeded with 2 checks", self.breaches(self.announced, self.ended(1, "passed"), self.succeeded)[0])
        self.assertIn("the end of a check is not in the Log", self.breaches(self.announced, self.succeeded)[0])

    def test_failed_check_that_is_ignored_is_found(self) -> None:
        log = [self.announced, self.ended(1, "failed", 3), self.announced, self.ended(2, "passed"), self.succeeded]
        found = self.breaches(*log)
        self.assertIn("check 2 follows one that did not pass", found)
        self.assertTrue(any("succeeded with 2 checks" in what for what in found), found)
        self.assertTrue(self.breaches(self.announced, self.ended(1, "passed"), self.failed))

    def test_status_that_is_not_that_of_the_host_is_found(self) -> None:
        self.assertIn("and its host says", self.breaches(self.announced, self.ended(1, "passed", 3))[0])
        self.assertIn("and its host says", self.breaches(self.announced, self.ended(1, "passed", 3, said=0))[0])
        log = self.announced, self.ended(1, "passed")
        (self.folder / ".audit/checks/1/host.1.json").write_text("{}")
        self.assertIn("was changed", self.breaches(*log)[0])

    def test_check_that_is_not_the_next_one_is_found(self) -> None:
        self.assertIn("is not the next check", self.breaches(self.announced, self.ended(2, "passed"))[0])
        self.assertIn("was not announced", self.breaches(self.ended(1, "passed"))[0])


class CheckedRun(LawCase):
    """A recorded run whose turn succeeded and whose first check failed: the end of the run is that of the check."""

    def setUp(self) -> None:
        super().setUp()
        self.run_ = Recorded("checked")

    def test_run_that_its_check_failed_is_lawful(self) -> None:
        self.run_.write(self.data)
        self.assert_holds(self.look())

    def test_other_failure_after_a_turn_that_succeeded_is_found(self) -> None:
        error = {"category": "output", "code": "ENGINE_FAILED"}
        self.run_.of("run.failed")["data"] |= {"reason_code": "ENGINE_FAILED", "error": error}
        self.run_.write(self.data)
        told = [breach.what for breach in self.look().breaches if breach.law is Law.STATUS]
        self.assertIn("failed after a turn record that says succeeded", told)

    def test_check_that_was_not_announced_excuses_nothing(self) -> None:
        announced = next(event for event in self.run_.rasp if event["data"].get("phase") == "checking")
        announced["data"] = {"status": "running"}
        self.run_.write(self.data)
        told = [breach.what for breach in self.look().breaches if breach.law is Law.CHECKS]
        self.assertIn("check 1 ended and was not announced", told)
