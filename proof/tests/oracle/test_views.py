"""Laws `fcmp` and `status`, broken on purpose."""

from __future__ import annotations

import json
import os
import sqlite3
from typing import Any

from oracle.event import Event
from oracle.fcmp import Translation
from oracle.ledger import Accepted, CancelAcknowledged, Fault, Protocol, StatusSeen, StreamSeen
from oracle.report import Law
from oracle.words import Rasp

from .case import LawCase, promises
from .recorded import Recorded

TABLES = """
CREATE TABLE runs (run_id TEXT, status TEXT, inode INTEGER, epoch INTEGER, bytes INTEGER, damaged INTEGER);
CREATE TABLE details (run_id TEXT, row TEXT);
"""


class Fcmp(LawCase):
    def setUp(self) -> None:
        super().setUp()
        self.run_ = Recorded("echo")

    def test_a_word_is_changed(self) -> None:
        event, word, data, raw = self.run_.fcmp[5]
        self.run_.fcmp[5] = (event, word, {**data, "text": "I end."}, raw)
        self.run_.write(self.data)
        self.assert_breaks(Law.FCMP, 'data.text "I end." where "I begin." belongs', self.look())

    def test_every_field_of_every_event_counts(self) -> None:
        folder = self.run_.write(self.data)
        lines = self.run_.files["fcmp.jsonl"].splitlines(keepends=True)
        for at, line in enumerate(map(json.loads, lines)):
            for key in line["data"]:
                if key == "message" and line["data"]["code"] == "RAW_DUPLICATE_SUPPRESSED":
                    # Words for people.
                    continue
                changed = json.dumps(line | {"data": line["data"] | {key: "another"}}) + "\n"
                (folder / "fcmp.jsonl").write_text("".join([*lines[:at], changed, *lines[at + 1 :]]))
                self.assert_breaks(Law.FCMP, key, self.look(is_settled=False))

    def test_warnings_of_a_success_are_the_verdicts_everywhere(self) -> None:
        warned = ["EXIT_NONZERO_AFTER_DONE"]
        run = self.run_
        run.of("attempt.ended")["data"]["verdict"]["warnings"] = warned
        run.write(self.data)
        self.assert_breaks(Law.STATUS, "succeeded with warnings [], and the turn record has", self.look(is_settled=False))
        run.of("run.completed")["data"]["warnings"] = warned
        run.write(self.data)
        self.assert_breaks(Law.FCMP, "warnings", self.look(is_settled=False))

    def test_success_without_a_marker_has_a_warning(self) -> None:
        verdict = self.run_.of("attempt.ended")["data"]["verdict"]
        verdict.update(rule="9", reason_code="OUTPUT_VALID")
        self.run_.write(self.data)
        self.assert_breaks(Law.STATUS, "only success without a marker has a warning", self.look(is_settled=False))

    def test_not_done_is_not_success(self) -> None:
        verdict = self.run_.of("attempt.ended")["data"]["verdict"]
        verdict.update(rule="8b", reason_code="AGENT_NOT_DONE", completion="unknown")
        self.run_.write(self.data)
        self.assert_breaks(Law.STATUS, "rule 8b does not give", self.look(is_settled=False))

    def test_an_event_is_missing(self) -> None:
        for at in (0, 7, len(self.run_.fcmp) - 1):
            run = Recorded("echo")
            del run.fcmp[at]
            run.write(self.data)
            report = self.look(is_settled=False)
            self.assertEqual({Law.FCMP}, {breach.law for breach in report.breaches}, at)

    def test_something_comes_after_the_end(self) -> None:
        self.run_.fcmp.append(self.run_.fcmp[-1])
        self.run_.write(self.data)
        self.assert_breaks(Law.FCMP, 'more than there is: "conversation.completed"', self.look())

    def test_an_echo_that_was_not_left_out(self) -> None:
        raw = self.run_.of("raw.stdout", 0)
        at = next(at for at, row in enumerate(self.run_.fcmp) if row[1] == "diagnostic.warning")
        self.run_.fcmp[at] = (raw, "raw.stdout", {"text": raw["data"]["text"]}, None)
        self.run_.write(self.data)
        self.assert_breaks(Law.FCMP, "diagnostic.warning", self.look())

    def test_a_run_that_waits_has_its_conversation_so_far(self) -> None:
        def waiting() -> tuple[Recorded, list[Any]]:
            run = Recorded("resumed")
            told = run.fcmp
            run.until("run.status", status="waiting_user")
            kept = [row for row in told if any(row[0] is event for event in run.rasp)]
            return run, kept

        run, kept = waiting()
        self.assertGreater(len(kept), 2)
        # It may lag behind the Log, and be missing; what is there must be the conversation.
        for so_far in (kept, kept[:-1], []):
            run, rows = waiting()
            run.fcmp = rows[: len(so_far)]
            run.write(self.data)
            report = self.look(is_settled=False)
            self.assert_holds(report)
            self.assertEqual(0 if so_far else 1, report.counts[Law.FCMP].get("runs that wait without a file", 0))
            for path in self.data.rglob("fcmp.jsonl"):
                path.unlink()
        run, rows = waiting()
        run.fcmp = [rows[0], *rows[2:]]
        run.write(self.data)
        self.assert_breaks(Law.FCMP, "", self.look(is_settled=False))

    def test_a_decision_says_why(self) -> None:
        """A decision of 0.1.0 has neither source nor reason; one of today has both, and so has its conversation."""
        for words in ({}, {"source": "auto_decide_timeout", "reason": "user_no_reply"}):
            data = {"interaction_id": 1, "policy": "safe_default", "instruction": "i"} | words
            value = {"ts": "t", "source": {"engine": "e", "confidence": 1.0}, "correlation": {"session_id": None}}
            value |= {"raw_ref": {}, "event": {"level": "info"}}
            kind = Rasp.AUTO_DECISION
            [told] = Translation().take(Event(None, "r", 1, 0, "control", str(kind), kind, data, value))
            self.assertEqual((str(kind), data), ("interaction.auto_decision", told["data"]))

    def test_an_unknown_type_is_counted_and_passed_over(self) -> None:
        strange = self.run_.again(self.run_.of("run.started"))
        strange["event"]["type"] = "workflow.begun"
        self.run_.fcmp.insert(1, (strange, "conversation.strange", {}, None))
        self.run_.write(self.data)
        report = self.look()
        self.assert_holds(report)
        self.assertEqual(1, report.counts[Law.FCMP]["events of types that are not known"])

    def test_a_reader_was_given_another_conversation(self) -> None:
        self.run_.write(self.data)
        lines = self.run_.files["fcmp.jsonl"].splitlines(keepends=True)
        seen = StreamSeen(self.run_.run, Protocol.FCMP, "seen.jsonl")
        (self.root / "seen.jsonl").write_text("".join(lines[:4]))
        self.assert_holds(self.look(*promises(self.run_), seen))
        (self.root / "seen.jsonl").write_text("".join([lines[0], *lines[2:]]))
        self.assert_breaks(Law.FCMP, "seen.jsonl:2", self.look(*promises(self.run_), seen))


class Result(LawCase):
    def setUp(self) -> None:
        super().setUp()
        self.run_ = Recorded("echo")

    def test_another_status(self) -> None:
        self.run_.files["result.json"] = self.run_.files["result.json"].replace("succeeded", "failed")
        self.run_.write(self.data)
        self.assert_breaks(Law.STATUS, 'status "failed" where the Log says "succeeded"', self.look())

    def test_every_field_from_the_log_counts(self) -> None:
        result = json.loads(self.run_.files["result.json"])
        for key in ("run_id", "status", "attempts", "completion", "artifacts", "output", "error", "timing"):
            self.run_.files["result.json"] = json.dumps(result | {key: "another"})
            self.run_.write(self.data)
            self.assert_breaks(Law.STATUS, key, self.look(is_settled=False))

    def test_none_although_it_is_over(self) -> None:
        del self.run_.files["result.json"]
        self.run_.write(self.data)
        self.assert_breaks(Law.STATUS, "no result.json", self.look())
        self.assert_holds(self.look(*promises(self.run_), Fault("fill disk", "all")))

    def test_one_that_is_torn(self) -> None:
        self.run_.files["result.json"] = self.run_.files["result.json"][:50]
        self.run_.write(self.data)
        self.assert_breaks(Law.STATUS, "result.json", self.look())

    def test_meta_says_another_turn(self) -> None:
        self.run_.files[".audit/meta.1.json"] = json.dumps({"turn_state": "failed"})
        self.run_.write(self.data)
        self.assert_breaks(Law.STATUS, "meta.1.json", self.look())

    def test_meta_is_torn(self) -> None:
        self.run_.files[".audit/meta.1.json"] = "{"
        self.run_.write(self.data)
        self.assert_breaks(Law.STATUS, "meta.1.json", self.look())


class Moves(LawCase):
    def test_a_cancel_that_came_in_time_is_the_end(self) -> None:
        run = Recorded("echo")
        cancel = run.before(run.of("attempt.ended"))
        cancel["event"], cancel["data"] = run.of("run.status")["event"], {"phase": "canceling", "detail": "somebody"}
        run.fcmp.insert(len(run.fcmp) - 1, (cancel, "conversation.status", cancel["data"], None))
        run.write(self.data)
        self.assert_breaks(Law.STATUS, "canceled, and ended as succeeded", self.look())

    def canceled_after_its_turn(self, ended_before: bool) -> list[str]:
        """A run whose turn failed, and which was canceled before it ended. Its child ended before the cancel, or after it."""
        run = Recorded("failed")
        asked = run.before(run.of("attempt.ended"))
        asked["event"]["type"], asked["data"] = "subagent.requested", {"child_run_id": "00000000-0000-7000-8000-00000000000f", "key": "a"}
        end = run.of("run.failed")
        cancel, ended = run.before(end), run.before(end)
        cancel["event"]["type"], cancel["data"] = "run.status", {"phase": "canceling", "detail": "parent"}
        ended["event"]["type"], ended["data"] = "subagent.ended", asked["data"] | {"status": "failed", "reason": "X"}
        end["event"]["type"], end["data"] = "run.canceled", {"reason_code": "CANCELED"}
        if ended_before:
            one, other = run.place(cancel), run.place(ended)
            run.rasp[one], run.rasp[other] = ended, cancel
        run.fcmp = []
        run.write(self.data)
        return [breach.what for breach in self.look().breaches if breach.law is Law.STATUS and "without a cancel" in breach.what]

    def test_a_cancel_while_a_run_waits_for_its_children_is_the_end(self) -> None:
        self.assertEqual([], self.canceled_after_its_turn(ended_before=False))

    def test_a_cancel_after_the_turn_record_is_too_late(self) -> None:
        told = "canceled, without a cancel before the turn record, which says failed"
        self.assertEqual([told], self.canceled_after_its_turn(ended_before=True))

    def test_a_turn_record_that_the_table_does_not_have(self) -> None:
        run = Recorded("failed")
        run.of("attempt.ended")["data"]["verdict"]["rule"] = "4"
        run.write(self.data)
        self.assert_breaks(Law.STATUS, "rule 4 does not give", self.look())

    def test_an_end_that_the_turn_record_does_not_say(self) -> None:
        run = Recorded("echo")
        end = run.of("run.completed")
        end["event"]["type"], end["data"] = "run.failed", {"reason_code": "X", "error": {"code": "X"}}
        run.fcmp[-1] = (end, "conversation.failed", {"state": "failed", **end["data"]}, None)
        result = json.loads(run.files["result.json"]) | {"status": "failed", "error": {"code": "X"}}
        run.files["result.json"] = json.dumps(result)
        run.write(self.data)
        self.assert_breaks(Law.STATUS, "failed after a turn record that says succeeded", self.look())

    def test_a_move_that_the_table_does_not_have(self) -> None:
        run = Recorded("resumed")
        status = run.of("run.status", 1)
        self.assertEqual("running", status["data"]["status"])
        status["data"]["status"] = "waiting_user"
        run.fcmp = [(e, w, e["data"] if e is status else d, r) for e, w, d, r in run.fcmp]
        run.write(self.data)
        self.assert_breaks(Law.STATUS, "from queued to waiting_user", self.look())

    def test_all_is_over_and_the_run_is_not(self) -> None:
        run = Recorded("echo")
        run.until("attempt.started")
        run.write(self.data)
        self.assert_holds(self.look(is_settled=False))
        self.assert_breaks(Law.STATUS, "everything has ended, but the run is running", self.look())


class Told(LawCase):
    def setUp(self) -> None:
        super().setUp()
        self.run_ = Recorded("sticky")
        self.run_.write(self.data)

    def test_a_reported_end_never_changes(self) -> None:
        self.assert_holds(self.look(StatusSeen(self.run_.run, "succeeded", 30)))
        self.assert_breaks(Law.STATUS, "received failed", self.look(StatusSeen(self.run_.run, "failed")))

    def test_a_status_is_that_of_its_seq(self) -> None:
        self.assert_holds(self.look(StatusSeen(self.run_.run, "waiting_user", 11)))
        self.assert_breaks(Law.STATUS, "at seq 13", self.look(StatusSeen(self.run_.run, "waiting_user", 13)))

    def test_a_run_that_was_accepted_is_there(self) -> None:
        gone = Accepted("00000000-0000-7000-8000-00000000000f", "kind", "auto")
        self.assert_breaks(Law.STATUS, "does not exist", self.look(gone))
        (self.data / "runs/removed.jsonl").write_text(json.dumps({"run_id": gone.run}) + "\n")
        self.assert_holds(self.look(gone))

    def test_it_ends_as_its_kind_does(self) -> None:
        self.assert_holds(self.look(*promises(self.run_, "failed", "succeeded:DONE_MARKER_FOUND")))
        self.assert_breaks(Law.STATUS, "ends as failed:TIMEOUT", self.look(*promises(self.run_, "failed:TIMEOUT")))

    def test_a_cancel_that_was_taken_ends_the_run(self) -> None:
        run = Recorded("resumed")
        run.until("run.status", status="waiting_user")
        run.write(self.data)
        self.assert_holds(self.look())
        self.assert_breaks(Law.STATUS, "a cancel was acknowledged", self.look(CancelAcknowledged(run.run)))


class Catalog(LawCase):
    def setUp(self) -> None:
        super().setUp()
        self.run_ = Recorded("sticky")
        self.log = self.run_.write(self.data) / "events.jsonl"

    def row(self, status: str, size: int, attempt: int = 3, inode: int | None = None) -> None:
        connection = sqlite3.connect(self.data / "catalog.sqlite")
        connection.executescript(TABLES)
        inode = os.stat(self.log).st_ino if inode is None else inode
        connection.execute("INSERT INTO runs VALUES (?, ?, ?, 1, ?, 0)", (self.run_.run, status, inode, size))
        details = json.dumps({"attempt": attempt, "question": None})
        connection.execute("INSERT INTO details VALUES (?, ?)", (self.run_.run, details))
        connection.commit()
        connection.close()

    def test_it_says_what_the_log_says(self) -> None:
        self.row("succeeded", self.log.stat().st_size)
        report = self.look()
        self.assert_holds(report)
        self.assertEqual(1, report.counts[Law.STATUS]["catalog rows"])

    def test_it_may_lag_behind(self) -> None:
        lines = self.log.read_bytes().splitlines(keepends=True)
        self.row("queued", sum(map(len, lines[:2])), 0)
        self.assert_holds(self.look())

    def test_it_says_something_else(self) -> None:
        self.row("failed", self.log.stat().st_size)
        self.assert_breaks(Law.STATUS, "the catalog says", self.look())

    def test_it_counts_other_attempts(self) -> None:
        self.row("succeeded", self.log.stat().st_size, 2)
        self.assert_breaks(Law.STATUS, "the catalog says", self.look())

    def test_it_leads(self) -> None:
        self.row("succeeded", self.log.stat().st_size + 1)
        self.assert_breaks(Law.STATUS, "ahead", self.look())

    def test_a_row_of_another_file_is_not_compared(self) -> None:
        self.row("failed", 10, inode=1)
        self.assert_holds(self.look())
