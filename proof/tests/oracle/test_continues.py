"""A run that continues another one, or that begins another session: what it says of the turns before follows from their
Log."""

from __future__ import annotations

import json
from typing import Any

from oracle.ledger import Continued
from oracle.replay import AFTER, folded
from oracle.report import Law

from .case import LawCase
from .recorded import Recorded, blake3

INTRODUCTION = "Below is the transcript of a conversation.\n\n"


def told(run: Recorded, text: str, number: int = 0, origin: str = "user") -> dict[str, Any]:
    """The message that begins the attempt of this number, counted from 0."""
    message = run.again(run.of("attempt.started", number))
    message["event"] = {"category": "runtime", "type": "message.user", "level": "info"}
    message["data"] = {"text": text, "origin": origin}
    message["correlation"]["interaction_id"] = number or None
    return message


class TwoRuns(LawCase):
    """A conversation of three turns, the first two of which broke after a message; and a run that continues it."""

    def setUp(self) -> None:
        super().setUp()
        self.old = Recorded("talk")
        self.old.fcmp = []
        self.old.files["run.json"] = '{"translator": 3}'
        replies = [event for event in self.old.rasp if event["event"]["type"] == "interaction.replied"]
        for number, words in enumerate(("begin", *(event["data"]["text"] for event in replies))):
            told(self.old, words, number)
        self.turns = folded(self.old.write(self.data)).turns
        self.new = Recorded("echo")
        self.new.fcmp = []
        left_out = [{"reason": "text_of_broken_turn", "count": 2}]
        last = self.turns[-1]
        self.continues = {"run_id": self.old.run, "seq": last.end_seq, "hash": last.hash, "left_out": left_out}
        self.transcript = "\n".join(turn.transcript for turn in self.turns)
        text = f"{INTRODUCTION}{self.transcript}{AFTER}Go on."
        self.message = told(self.new, text, origin="orchestrator")
        self.new.of("run.started")["data"]["continues"] = self.continues
        self.record: dict[str, Any] = {"translator": 3, "continues": self.continues}

    def write(self) -> None:
        self.new.files["run.json"] = json.dumps(self.record)
        self.new.write(self.data)

    def broken(self, words: str) -> None:
        self.write()
        self.assert_breaks(Law.CONTINUES, words, self.look())

    def test_a_run_that_says_what_the_log_has_breaks_nothing(self) -> None:
        self.assertEqual("User:\n  instead\n\nAgent:\n  I am back.\n", self.turns[2].transcript)
        self.assertEqual({"text_of_broken_turn": 1}, self.turns[1].left_out)
        self.write()
        report = self.look(Continued(self.new.run, self.old.run))
        self.assert_holds(report)
        self.assertEqual(1, report.counts[Law.CONTINUES]["runs that continue another"])
        self.assertEqual(1, report.counts[Law.CONTINUES]["transcripts"])

    def test_a_text_of_the_broken_turn_is_found(self) -> None:
        self.message["data"]["text"] = self.message["data"]["text"].replace("User:\n  blue\n", "User:\n  blue\n\nAgent:\n  half\n")
        self.assertIn("half", self.message["data"]["text"])
        self.broken("another transcript")

    def test_more_than_the_log_has_is_found(self) -> None:
        self.message["data"]["text"] = INTRODUCTION + "Agent:\n  half\n\n" + self.message["data"]["text"]
        self.broken("before the transcript")

    def test_a_message_without_a_transcript_is_found(self) -> None:
        self.message["data"]["text"] = "Go on."
        self.broken("does not begin with a replay")

    def test_another_hash_is_found(self) -> None:
        self.continues["hash"] = blake3("x")
        self.broken("hash")

    def test_another_count_is_found(self) -> None:
        self.continues["left_out"] = []
        self.broken("left_out")

    def test_a_place_where_no_turn_ended_is_found(self) -> None:
        self.continues["seq"] -= 1
        self.broken("no turn ended at")

    def test_a_message_of_the_user_is_found(self) -> None:
        self.message["data"]["origin"] = "user"
        self.broken("origin user")

    def test_a_record_that_says_something_else_is_found(self) -> None:
        self.record["continues"] = None
        self.broken("run.json")

    def test_a_run_that_was_accepted_and_does_not_continue_is_found(self) -> None:
        self.new.of("run.started")["data"].pop("continues")
        self.record.pop("continues")
        self.message["data"]["origin"] = "user"
        self.write()
        report = self.look(Continued(self.new.run, self.old.run))
        self.assert_breaks(Law.CONTINUES, "was accepted as the run that continues", report)

    def test_turns_that_came_later_change_nothing(self) -> None:
        first = self.turns[0]
        self.continues.update(seq=first.end_seq, hash=first.hash, left_out=[
            {"reason": "text_of_broken_turn", "count": 1}, {"reason": "open_turn", "count": 1},
        ])
        self.message["data"]["text"] = f"{INTRODUCTION}{first.transcript}{AFTER}Go on."
        self.write()
        self.assert_holds(self.look())

    def test_the_oldest_turns_may_be_missing(self) -> None:
        self.continues["left_out"].append({"reason": "earlier_turn", "count": 1})
        rest = "\n".join(turn.transcript for turn in self.turns[1:])
        self.message["data"]["text"] = f"{INTRODUCTION}{rest}{AFTER}Go on."
        self.write()
        self.assert_holds(self.look())

    def test_a_run_before_that_was_removed_is_not_compared(self) -> None:
        self.continues["run_id"] = "00000000-0000-7000-8000-000000000099"
        self.write()
        self.assert_holds(self.look())


class OtherSession(LawCase):
    """The last turn of a conversation begins another session."""

    def setUp(self) -> None:
        super().setUp()
        self.run_ = Recorded("talk")
        self.run_.fcmp = []
        self.run_.files["run.json"] = '{"translator": 3}'
        replies = [event["data"]["text"] for event in self.run_.rasp if event["event"]["type"] == "interaction.replied"]
        for number, words in enumerate(("begin", *replies)):
            message = told(self.run_, words, number)
        turns = folded(self.run_.write(self.data)).turns[:-1]
        history = INTRODUCTION + "\n".join(turn.transcript for turn in turns) + AFTER
        sent = history + replies[-1]
        path = ".audit/blobs/prompt.3.txt"
        self.run_.files[path] = sent
        self.replayed = {
            "seq": turns[-1].end_seq, "hash": turns[-1].hash, "bytes": len(history),
            "left_out": [{"reason": "text_of_broken_turn", "count": 2}],
        }
        message["data"]["whole"] = {"path": path, "bytes": len(sent), "hash": blake3(sent)}
        message["data"]["replayed"] = self.replayed
        # What the engine was given.
        self.run_.rewrite(".audit/stdin.3.log", lambda _: json.dumps(sent) + "\n")

    def look_at(self):
        self.run_.write(self.data)
        return self.look()

    def test_a_replay_that_says_what_the_log_has_breaks_nothing(self) -> None:
        report = self.look_at()
        self.assert_holds(report)
        self.assertEqual(1, report.counts[Law.CONTINUES]["sessions begun with a replay"])
        self.assertEqual(1, report.counts[Law.CONTINUES]["transcripts"])
        # The answer reached the engine, with the replay before it.
        self.assertEqual(2, report.counts[Law.REPLIES]["answers that reached the engine"])

    def test_another_hash_is_found(self) -> None:
        self.replayed["hash"] = blake3("x")
        self.assert_breaks(Law.CONTINUES, "hash", self.look_at())

    def test_another_count_is_found(self) -> None:
        self.replayed["left_out"] = []
        self.assert_breaks(Law.CONTINUES, "left_out", self.look_at())
