"""What holds of conversations and of turns that were interrupted, broken on purpose."""

from __future__ import annotations

from oracle.ledger import CloseAcknowledged, InterruptAcknowledged
from oracle.report import Law
from oracle.verdicts import problem

from .case import LawCase, promises
from .recorded import Recorded


class Talk(LawCase):
    """A turn that fails, one that is interrupted with the next prompt, one that is good, and a close."""

    def setUp(self) -> None:
        super().setUp()
        self.run_ = Recorded("talk")

    def phase(self, word: str) -> dict:
        return next(event for event in self.run_.rasp if event["data"].get("phase") == word)

    def write(self) -> None:
        self.run_.write(self.data)

    def test_a_recorded_conversation_breaks_no_law(self) -> None:
        self.write()
        run = self.run_.run
        told = [InterruptAcknowledged(run, "instead"), CloseAcknowledged(run)]
        # The prompt of the interrupt was not sent as an answer.
        sent = [entry for entry in promises(self.run_, "closed") if getattr(entry, "value", None) != "instead"]
        report = self.look(*sent, *told)
        self.assert_holds(report)
        self.assertEqual(2, report.counts[Law.REPLIES]["answers that reached the engine"])
        self.assertEqual(1, report.counts[Law.REPLIES]["prompts of interrupts"])

    def test_a_turn_is_judged_as_interrupted_without_an_interrupt(self) -> None:
        self.run_.without(self.phase("interrupting"))
        self.write()
        self.assert_breaks(Law.STATUS, "without an interrupt before it", self.look())

    def test_a_turn_of_an_auto_run_is_interrupted(self) -> None:
        self.run_.of("run.started")["data"]["mode"] = "auto"
        self.write()
        self.assert_breaks(Law.STATUS, "in mode auto", self.look())

    def test_a_turn_of_a_conversation_fails_the_run(self) -> None:
        self.run_.of("attempt.ended")["data"]["verdict"]["run_status"] = "failed"
        self.write()
        self.assert_breaks(Law.STATUS, "rule 2b does not give", self.look())

    def test_a_turn_that_failed_has_no_error(self) -> None:
        self.run_.of("attempt.ended")["data"]["verdict"]["error"] = None
        self.write()
        self.assert_breaks(Law.STATUS, "with error None", self.look())

    def test_a_turn_that_failed_has_no_next_actions(self) -> None:
        self.run_.of("attempt.ended")["data"].pop("next_actions")
        self.write()
        self.assert_breaks(Law.STATUS, "turn 'partial_failed' with next actions None", self.look())

    def test_a_turn_that_completed_has_next_actions(self) -> None:
        broken, _, good = (self.run_.of("attempt.ended", number)["data"] for number in range(3))
        good["next_actions"] = broken["next_actions"]
        self.write()
        self.assert_breaks(Law.STATUS, "turn 'completed' with next actions", self.look())

    def test_a_turn_that_ran_out_of_time_names_no_limit(self) -> None:
        data = self.run_.of("attempt.ended")["data"]
        data["terminal_status"] = "timed_out"
        data["verdict"] |= {"rule": "4", "turn": "timed_out", "reason_code": "TIMEOUT"}
        self.write()
        self.assert_breaks(Law.STATUS, "with limit None", self.look())
        self.assertIsNone(problem(data | {"limit": "hard_sec", "deadline_at": "2026-11-18T14:17:05Z"}, "conversation"))

    def test_a_conversation_rests_with_a_question_of_another_scope(self) -> None:
        self.run_.of("attempt.ended", 2)["data"]["verdict"]["pending"]["scope"] = "turn"
        self.write()
        self.assert_breaks(Law.STATUS, "scope 'turn'", self.look())

    def test_a_conversation_ends_by_a_turn(self) -> None:
        self.run_.without(self.phase("closing"))
        self.run_.of("run.completed")["data"]["reason_code"] = "CLEAN_FINAL"
        self.run_.files.pop("result.json")
        self.write()
        report = self.look(is_settled=False)
        self.assertIn("a conversation ended by a turn", "\n".join(map(str, report.breaches)))

    def test_a_conversation_is_closed_without_a_reason_before_it(self) -> None:
        self.run_.without(self.phase("closing"))
        self.write()
        self.assert_breaks(Law.STATUS, "without a close before it", self.look())

    def test_a_conversation_is_closed_in_the_middle_of_a_turn(self) -> None:
        closing = self.phase("closing")
        self.run_.without(closing)
        closing["attempt_number"] = 3
        self.run_.rasp.insert(self.run_.place(self.run_.of("attempt.started", 2)) + 1, closing)
        self.write()
        report = self.look()
        self.assertIn("and not at rest", "\n".join(map(str, report.breaches)))

    def test_the_prompt_of_an_interrupt_is_lost(self) -> None:
        self.phase("interrupting")["data"]["say"] = "another"
        self.write()
        self.assert_breaks(Law.REPLIES, '"another" of an interrupt was never sent', self.look())

    def test_the_prompt_of_an_interrupt_that_was_acknowledged_is_not_in_the_log(self) -> None:
        self.write()
        told = InterruptAcknowledged(self.run_.run, "another")
        self.assert_breaks(Law.REPLIES, "was acknowledged, and is not in the Log", self.look(told))

    def test_the_prompt_of_an_interrupt_is_sent_though_the_turn_had_ended(self) -> None:
        say = self.phase("interrupting")["data"].pop("say")
        interrupting = self.run_.before(self.run_.of("attempt.ended"))
        interrupting["event"] = self.phase("interrupting")["event"]
        interrupting["data"] = {"phase": "interrupting", "detail": "test", "say": say}
        self.write()
        self.assert_breaks(Law.REPLIES, "was sent, and attempt 1 ended by rule 2b", self.look())

    def test_an_acknowledged_close_is_lost(self) -> None:
        self.run_.until("run.status", status="waiting_user")
        self.write()
        report = self.look(CloseAcknowledged(self.run_.run))
        self.assert_breaks(Law.STATUS, "a close was acknowledged", report)


class Messages(LawCase):
    """The same conversation as a newer program records it: with the message that begins each turn."""

    def setUp(self) -> None:
        super().setUp()
        self.run_ = Recorded("talk")
        self.run_.fcmp = []
        self.run_.files["run.json"] = '{"translator": 3}'
        self.messages = []
        for number, words in enumerate(("the instructions", *self.answers())):
            started = self.run_.of("attempt.started", number)
            message = self.run_.again(started)
            message["event"] = {"category": "runtime", "type": "message.user", "level": "info"}
            message["data"] = {"text": words, "origin": "user" if number else "skill"}
            message["correlation"]["interaction_id"] = number or None
            self.messages.append(message)

    def answers(self) -> list[str]:
        replied = [event for event in self.run_.rasp if event["event"]["type"] == "interaction.replied"]
        return [event["data"]["text"] for event in replied]

    def test_each_turn_has_its_message(self) -> None:
        self.run_.write(self.data)
        report = self.look()
        self.assert_holds(report)
        self.assertEqual(len(self.messages), report.counts[Law.MESSAGES]["messages"])

    def test_a_turn_has_no_message(self) -> None:
        self.run_.without(self.messages[1])
        self.run_.write(self.data)
        self.assert_breaks(Law.MESSAGES, "no message began the turn", self.look())

    def test_a_turn_has_two_messages(self) -> None:
        self.run_.again(self.messages[0])
        self.run_.write(self.data)
        self.assert_breaks(Law.MESSAGES, "a second message in one turn", self.look())

    def test_a_message_has_other_words_than_the_answer(self) -> None:
        self.messages[1]["data"]["text"] = "other words"
        self.run_.write(self.data)
        self.assert_breaks(Law.MESSAGES, "and its message is", self.look())

    def test_a_message_names_no_answer(self) -> None:
        self.messages[1]["correlation"]["interaction_id"] = None
        self.run_.write(self.data)
        self.assert_breaks(Law.MESSAGES, "names question None", self.look())
