"""The box of a run, broken on purpose."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from oracle.laws.box import problems
from oracle.report import Law, Report

from .case import LawCase
from .recorded import Recorded

PARENT = "00000000-0000-7000-8000-000000000001"
STDERR = ".audit/stderr.1.log"
CHECKED = ".audit/checks/1/stderr.1.log"

Record = dict[str, Any]


def part(name: str, mechanism: str | None = "namespaces", reason: str | None = None) -> Record:
    state = "enforced" if mechanism else "not_enforced"
    told = {"part": name, "state": state, "mechanism": mechanism, "reason": reason}
    return {key: value for key, value in told.items() if value is not None}


def missing(name: str, reason: str = "no namespaces can be made (EPERM)") -> Record:
    return part(name, None, reason)


class Reports(LawCase):
    """What a report must have, from the request alone."""

    def told(self, *parts: Record, choice: str = "on", network: str = "open", permission: str = "workspace") -> list[str]:
        return list(problems({"parts": list(parts)}, choice, network, permission))

    def test_parts_that_are_asked_for_are_lawful(self) -> None:
        both = part("files"), part("processes")
        self.assertEqual(self.told(*both), [])
        self.assertEqual(self.told(*both, part("network"), network="none", choice="required"), [])
        self.assertEqual(self.told(part("files", "landlock"), missing("processes"), missing("network"), network="none"), [])
        self.assertEqual(self.told(missing("files"), missing("processes"), permission="full"), [])

    def test_part_of_a_later_contract_is_lawful_once(self) -> None:
        both = part("files"), part("processes")
        self.assertEqual(self.told(*both, part("memory", "watched")), [])
        self.assertIn("its report has", self.told(*both, part("memory"), part("memory"))[0])

    def test_part_that_is_not_told_or_not_asked_for_is_found(self) -> None:
        self.assertIn("its report has files", self.told(part("files"))[0])
        self.assertIn("its report has files, processes, network", self.told(*map(part, ("files", "processes", "network")))[0])
        self.assertIn("asks for the parts files, processes, network", self.told(part("files"), part("processes"), network="none")[0])
        self.assertIn("its report has", self.told(part("files"), part("files"), part("processes"))[0])
        self.assertIn("has no report", list(problems(None, "on", "open", "workspace"))[0])

    def test_part_without_its_mechanism_or_its_reason_is_found(self) -> None:
        for wrong in (
            {"part": "files", "state": "enforced"},
            {"part": "files", "state": "not_enforced"},
            {"part": "files", "state": "not_enforced", "reason": ""},
            part("files", reason="and yet"),
            {"part": "files", "state": "not_enforced", "mechanism": "landlock", "reason": "no"},
        ):
            self.assertIn("with the mechanism", self.told(wrong, part("processes"))[0], wrong)
        self.assertIn("no state", self.told({"part": "files", "state": "held"}, part("processes"))[0])

    def test_required_part_that_is_not_enforced_is_found(self) -> None:
        found = self.told(part("files"), missing("processes"), choice="required")
        self.assertEqual(found, ["processes is not enforced, and the box is required"])

    def test_permission_that_allows_everything_holds_nothing(self) -> None:
        found = self.told(part("files"), missing("processes"), permission="full")
        self.assertEqual(found, ["files is enforced, and the permission full allows everything"])


class BoxedCase(LawCase):
    """A recorded run in a box without a network, whose engine and whose check say what they reach."""

    def setUp(self) -> None:
        super().setUp()
        self.run_ = Recorded("boxed")

    def record(self, change: Callable[[Record], None]) -> None:
        record = json.loads(self.run_.files["run.json"])
        change(record)
        self.run_.files["run.json"] = json.dumps(record)

    def report(self) -> Report:
        self.run_.write(self.data)
        return self.look()

    def assert_found(self, words: str) -> None:
        self.assert_breaks(Law.BOX, words, self.report())


class BoxedRun(BoxedCase):
    """The run as it was recorded, and with one thing broken."""

    def test_run_as_it_was_recorded_is_lawful(self) -> None:
        report = self.report()
        self.assert_holds(report)
        counts = report.counts[Law.BOX]
        self.assertEqual((counts["runs in a box"], counts["parts that a witness held"]), (1, 4))

    def test_turn_that_starts_with_another_box_is_found(self) -> None:
        del self.run_.of("attempt.started")["data"]["box"]
        self.assert_found("starts a turn with the box none, and was accepted with files namespaces")

    def test_turn_that_reports_a_box_for_a_run_without_one_is_found(self) -> None:
        def without(record: Record) -> None:
            del record["box"], record["request"]["box"], record["request"]["network"]

        self.record(without)
        self.assert_found("starts a turn with the box files namespaces")

    def test_report_that_was_not_asked_for_is_found(self) -> None:
        self.record(lambda record: record["request"].pop("box"))
        told = str([str(breach) for breach in self.report().breaches])
        self.assertIn("has the report of a box that it does not ask for", told)
        self.assertIn("has the network none without a box", told)

    def test_network_that_is_neither_enforced_nor_reported_is_found(self) -> None:
        self.record(lambda record: record["box"]["parts"].pop())
        self.run_.of("attempt.started")["data"]["box"]["parts"].pop()
        self.assert_found("asks for the parts files, processes, network, and its report has files, processes")

    def test_part_that_a_required_box_lacks_is_found(self) -> None:
        parts = [part("files"), part("processes"), missing("network")]
        self.record(lambda record: record["request"].update(box="required"))
        self.record(lambda record: record.update(box={"parts": parts}))
        self.run_.of("attempt.started")["data"]["box"] = {"parts": parts}
        self.assert_found("network is not enforced, and the box is required")

    def test_what_is_refused_with_a_box_is_found(self) -> None:
        self.record(lambda record: record["request"].update(home="user"))
        self.assert_found("has a box and the HOME of the user")

    def test_workspace_that_no_box_can_hold_is_found(self) -> None:
        for path in ("/", "/proc/1", str(self.data), str(self.data.parent), str(self.data / "runs")):
            folder = {"folder": {"path": path, "sharing": "alone"}}
            self.record(lambda record: record["request"].update(workspace=folder))
            self.assert_found(f"has a box and the workspace {path} (run.json)")

    def test_process_that_reached_what_is_enforced_is_found(self) -> None:
        for name in ("files", "processes", "network"):
            with self.subTest(name):
                self.run_ = Recorded("boxed")
                self.run_.rewrite(STDERR, lambda text: text.replace(f"{name} held", f"{name} reached"))
                told = [str(breach) for breach in self.report().breaches if breach.law is Law.BOX]
                self.assertEqual(len(told), 1, told)
                self.assertIn(f"{name} is enforced, and a process in the box reached what it holds (stderr.1.log)", told[0])

    def test_check_that_reached_what_is_enforced_is_found(self) -> None:
        self.run_.files[CHECKED] = self.run_.files[CHECKED].replace("held", "reached")
        told = [str(breach) for breach in self.report().breaches if breach.law is Law.BOX]
        self.assertIn("processes is enforced, and a process in the box reached", told[0])

    def test_process_that_reached_what_is_not_enforced_is_lawful(self) -> None:
        parts = [part("files", "landlock"), missing("processes"), missing("network")]
        self.record(lambda record: record.update(box={"parts": parts}))
        self.run_.of("attempt.started")["data"]["box"] = {"parts": parts}
        self.run_.files[CHECKED] = self.run_.files[CHECKED].replace("held", "reached")
        told = [str(breach) for breach in self.report().breaches if breach.law is Law.BOX]
        self.assertEqual(told, [])

    def test_record_of_a_host_with_another_box_is_found(self) -> None:
        for name in ("host", "meta"):
            self.run_ = Recorded("boxed")
            path = f".audit/{name}.1.json"
            self.run_.files[path] = json.dumps(json.loads(self.run_.files[path]) | {"box": {"parts": []}})
            told = [str(breach) for breach in self.report().breaches if breach.law is Law.BOX]
            self.assertIn("has the box  there, and files namespaces", told[0])

    def test_box_of_another_shape_is_found(self) -> None:
        self.record(lambda record: record.update(box=7))
        self.run_.of("attempt.started")["data"]["box"] = 7
        self.assert_found("asks for a box, and has no report of it")


class BoxOfAnother(BoxedCase):
    """Runs that come from another one have its box."""

    def setUp(self) -> None:
        super().setUp()
        self.record(lambda record: record.update(retry_of=PARENT))

    def origin(self, **request: str) -> None:
        folder = self.data / "runs" / PARENT
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "run.json").write_text(json.dumps({"request": {"permission": "workspace"} | request}))

    def test_retry_of_a_run_with_the_same_box_is_lawful(self) -> None:
        self.origin(box="on", network="none")
        self.assert_holds(self.report())

    def test_retry_with_another_box_is_found(self) -> None:
        self.origin()
        self.assert_found("has box on and network none, and the run that it retries has off and open")
        self.origin(box="on")
        self.assert_found("the run that it retries has on and open")

    def test_retry_that_lost_its_box_is_found(self) -> None:
        def without(record: Record) -> None:
            del record["box"], record["request"]["box"], record["request"]["network"]

        self.record(without)
        del self.run_.of("attempt.started")["data"]["box"]
        self.origin(box="required", network="none")
        self.assert_found("has box off and network open, and the run that it retries has required and none")

    def test_child_with_another_box_is_found(self) -> None:
        def child(record: Record) -> None:
            record["retry_of"], record["parent"] = None, {"run_id": PARENT, "root": PARENT, "depth": 1}

        self.record(child)
        self.origin(box="required", network="none")
        told = [str(breach) for breach in self.report().breaches if breach.law is Law.BOX]
        self.assertIn("and its parent has required and none", told[0])
