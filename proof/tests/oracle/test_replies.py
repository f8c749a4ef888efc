"""Laws `replies` and `effects`, broken on purpose."""

from __future__ import annotations

from dataclasses import replace

from oracle.ledger import Effects, ReplyAcknowledged, ReplySent
from oracle.report import Law

from .case import LawCase, promises
from .recorded import Recorded


class Replies(LawCase):
    def setUp(self) -> None:
        super().setUp()
        self.run_ = Recorded("sticky")

    def test_an_acknowledged_answer_is_lost(self) -> None:
        self.run_.write(self.data)
        lost = ReplyAcknowledged(self.run_.run, 3, "green", 200)
        self.assert_breaks(Law.REPLIES, "is not in the Log", self.look(*promises(self.run_), lost))

    def test_an_answer_that_was_refused_promises_nothing(self) -> None:
        self.run_.write(self.data)
        refused = ReplyAcknowledged(self.run_.run, 1, "green", 409)
        self.assert_holds(self.look(*promises(self.run_), refused))

    def test_an_acknowledged_answer_has_other_words(self) -> None:
        self.run_.write(self.data)
        other = ReplyAcknowledged(self.run_.run, 1, "green", 200)
        self.assert_breaks(Law.REPLIES, 'the Log has "blue"', self.look(*promises(self.run_), other))

    def test_an_answer_that_no_client_sent(self) -> None:
        self.run_.write(self.data)
        ledger = [entry for entry in promises(self.run_) if not isinstance(entry, ReplySent)]
        self.assert_breaks(Law.REPLIES, "no client sent", self.look(*ledger))

    def test_an_answer_under_the_key_of_another_request(self) -> None:
        self.run_.write(self.data)
        ledger = promises(self.run_)
        other = [replace(entry, key="another") if isinstance(entry, ReplySent) else entry for entry in ledger]
        self.assert_breaks(Law.REPLIES, "no client sent", self.look(*other))

    def test_a_question_is_answered_twice(self) -> None:
        replied = self.run_.of("interaction.replied")
        again = self.run_.again(replied)
        at = next(at for at, row in enumerate(self.run_.fcmp) if row[0] is replied)
        self.run_.fcmp.insert(at + 1, (again, *self.run_.fcmp[at][1:]))
        self.run_.write(self.data)
        self.assert_breaks(Law.REPLIES, "which was resolved", self.look())

    def test_a_question_is_asked_twice(self) -> None:
        asked = self.run_.of("interaction.requested")
        again = self.run_.again(asked)
        at = next(at for at, row in enumerate(self.run_.fcmp) if row[0] is asked)
        self.run_.fcmp.insert(at + 1, (again, *self.run_.fcmp[at][1:]))
        self.run_.write(self.data)
        self.assert_breaks(Law.REPLIES, "is asked while 1 is open", self.look())

    def test_an_answer_reaches_a_process_twice(self) -> None:
        self.run_.rewrite(".audit/stdin.2.log", lambda text: text * 2)
        self.run_.write(self.data)
        self.assert_breaks(Law.REPLIES, "reached the engine 2 times", self.look())

    def test_an_answer_reaches_another_attempt_too(self) -> None:
        self.run_.rewrite(".audit/stdin.4.log", lambda _: "blue\n")
        self.run_.write(self.data)
        self.assert_breaks(Law.REPLIES, '"blue" was typed 2 times', self.look())

    def test_an_answer_never_reaches_a_process(self) -> None:
        self.run_.rewrite(".audit/stdin.3.log", lambda _: "")
        self.run_.write(self.data)
        self.assert_breaks(Law.REPLIES, "never reached the engine", self.look())

    def test_an_answer_is_not_among_the_arguments(self) -> None:
        run = Recorded("resumed")
        run.files[".audit/host.2.json"] = run.files[".audit/host.2.json"].replace("--prompt=blue", "--prompt=")
        run.write(self.data)
        self.assert_breaks(Law.REPLIES, "never reached the engine", self.look())

    def test_a_call_is_answered_twice(self) -> None:
        run = Recorded("permission")
        run.rewrite(".audit/stdin.1.log", lambda text: text + text.splitlines(keepends=True)[-1])
        run.write(self.data)
        self.assert_breaks(Law.REPLIES, "reached the engine 2 times", self.look())

    def test_an_answer_is_left_behind(self) -> None:
        run = Recorded("resumed")
        run.until("run.status", status="queued")
        run.write(self.data)
        self.assert_holds(self.look(*promises(run), is_settled=False))
        report = self.look(*promises(run))
        self.assertIn("reached no engine", "\n".join(map(str, report.breaches)))


class EffectsLaw(LawCase):
    def setUp(self) -> None:
        super().setUp()
        self.run_ = Recorded("sticky")
        self.run_.write(self.data)

    def after(self, *lines: str):
        (self.root / "effects").write_text("".join(f"{line}\n" for line in lines))
        return self.look(*promises(self.run_), Effects("effects"))

    def test_each_step_once(self) -> None:
        run = self.run_.run
        report = self.after(f"{run} 1 start", f"{run} 2 start", f"{run} - told.1 blue", f"{run} - told.2 dark")
        self.assert_holds(report)
        self.assertEqual(4, report.counts[Law.EFFECTS]["effects"])

    def test_a_step_is_done_twice(self) -> None:
        run = self.run_.run
        self.assert_breaks(Law.EFFECTS, "step start was done 2 times", self.after(f"{run} 2 start", f"{run} 2 start"))

    def test_a_line_that_is_not_an_effect(self) -> None:
        self.assert_breaks(Law.EFFECTS, "not `RUN ATTEMPT STEP`", self.after("start"))

    def test_an_attempt_that_the_log_does_not_know(self) -> None:
        self.assert_breaks(Law.EFFECTS, "the Log does not know", self.after(f"{self.run_.run} 4 start"))

    def test_a_run_that_is_not_there(self) -> None:
        self.assert_breaks(Law.EFFECTS, "does not exist", self.after("00000000-0000-7000-8000-00000000000f 1 start"))

    def test_the_engine_receives_an_answer_twice(self) -> None:
        run = self.run_.run
        report = self.after(f"{run} 2 told.1 blue", f"{run} 3 told.2 blue")
        self.assert_breaks(Law.EFFECTS, "received 'blue' 2 times", report)
