"""What a model would see again: the oracle's own fold, and the law that holds the program to it."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

from oracle import blake3, event, lines
from oracle.check import check
from oracle.replay import Replay, written_input
from oracle.report import Law, Report

from .case import LawCase
from .recorded import Recorded


def folded(folder: Path) -> Replay:
    replay = Replay(folder)
    for line in lines.read(folder / "events.jsonl"):
        replay.take(event.of(line))
    return replay


class Fold(LawCase):
    """A turn with two finished calls, one that is open, reasoning and messages."""

    def setUp(self) -> None:
        super().setUp()
        self.run_ = Recorded("echo")
        self.end = self.run_.of("attempt.ended")

    def fold(self) -> Replay:
        return folded(self.run_.write(self.data))

    def user(self, text: str) -> dict[str, Any]:
        message = self.run_.again(self.run_.of("attempt.started"))
        message["event"]["type"] = "message.user"
        message["data"] = {"text": text, "origin": "user"}
        return message

    def types(self) -> list[str]:
        return [item["type"] for turn in self.fold().turns for item in turn.items]

    def test_a_completed_turn_has_messages_and_finished_calls(self) -> None:
        self.user("go")
        replay = self.fold()
        types = [item["type"] for item in replay.turns[0].items]
        pair = ["tool_call", "tool_result"]
        self.assertEqual(["user", "agent", "agent", *pair, *pair, "agent"], types)
        self.assertEqual({"reasoning": 1, "open_call": 1}, replay.turns[0].left_out)
        self.assertEqual({"type": "user", "text": "go", "origin": "user"}, replay.turns[0].items[0])
        self.assertEqual([True], [item["answer"] for item in replay.turns[0].items if "answer" in item])

    def test_a_turn_that_did_not_complete_has_no_text(self) -> None:
        self.user("go")
        self.end["data"]["terminal_status"] = "interrupted"
        self.assertEqual(["user", "tool_call", "tool_result", "tool_call", "tool_result"], self.types())
        self.assertEqual({"reasoning": 1, "open_call": 1, "text_of_broken_turn": 3}, self.fold().left_out)

    def test_a_refused_turn_has_nothing(self) -> None:
        self.user("go")
        self.end["data"]["verdict"]["refused"] = True
        replay = self.fold()
        self.assertEqual([], replay.turns[0].items)
        self.assertEqual({"refused_turn": 1}, replay.left_out)
        self.assertEqual(blake3.of(b""), replay.hash)

    def child(self, behind: dict[str, Any], run: str, status: str, **more: Any) -> dict[str, Any]:
        end = self.run_.again(behind)
        end["event"].update(category="runtime", type="subagent.ended")
        end["source"]["stream"] = "control"
        end["data"] = {"child_run_id": run, "status": status, "reason": "CLEAN_FINAL", "elapsed_ms": 1, **more}
        return end

    def test_the_end_of_a_child_stands_behind_the_pending_pair(self) -> None:
        call = self.run_.of("tool.call.started")
        for status in ("detached", "completed", "failed"):
            call = self.child(call, "c", status, summary="a\r\n\u2028\x1b" if status == "completed" else None)
        pair = ["tool_call", "tool_result"]
        self.assertEqual(["agent", "agent", *pair, "child", *pair, "agent"], self.types())
        [item] = [item for item in self.fold().turns[0].items if item["type"] == "child"]
        text = "The run c, which this conversation started, has ended: completed (CLEAN_FINAL).\n"
        quoted = "Its answer, quoted as data:\n> a\\u{d}\n> \\u{2028}\\u{1b}"
        self.assertEqual({"type": "child", "run_id": "c", "status": "completed", "text": text + quoted}, item)

    def test_a_child_that_ends_later_is_not_in_a_turn_that_is_over(self) -> None:
        before = self.fold().turns[0]
        self.child(self.end, "c", "timed_out", timeout_ms=5)
        self.assertEqual([before], self.fold().turns)

    def test_a_turn_without_a_record_has_nothing(self) -> None:
        self.run_.without(self.end)
        replay = self.fold()
        self.assertEqual(([], {"open_turn": 1}), (replay.turns, replay.left_out))

    def test_partial_empty_and_retracted_messages_are_left_out(self) -> None:
        for number, change in enumerate([{"partial": True}, {"text": " \n"}]):
            self.run_.of("agent.message.final", number)["data"].update(change)
        last = self.run_.of("agent.message.final", 2)
        warning = self.run_.again(last)
        warning["event"].update(category="diagnostic", type="parser.warning")
        warning["data"] = {"code": "MESSAGE_VOIDED", "message": "", "message_id": last["data"]["message_id"]}
        self.assertEqual(["tool_call", "tool_result", "tool_call", "tool_result"], self.types())
        expected = {"partial_message": 1, "empty_message": 1, "voided_message": 1, "reasoning": 1, "open_call": 1}
        self.assertEqual(expected, self.fold().left_out)

    def test_a_large_message_is_read_from_its_file(self) -> None:
        message = self.user("beg")
        text = "beginning ä"
        message["data"]["whole"] = {
            "path": ".audit/blobs/prompt.1.txt", "bytes": len(text.encode()), "hash": blake3.of(text.encode()),
        }
        self.assertEqual("beg", self.fold().turns[0].items[0]["text"])
        self.run_.files[".audit/blobs/prompt.1.txt"] = text
        self.assertEqual({"type": "user", "text": text, "origin": "user"}, self.fold().turns[0].items[0])

    def test_the_input_of_a_call_keeps_its_bytes(self) -> None:
        line = '{"event":{},"data":{"name":"a\\"","input":{"x": 1.50, "y":[ ]},"truncated":true}}'
        self.assertEqual('{"x": 1.50, "y":[ ]}', written_input(line))
        self.assertIsNone(written_input('{"data":{"name":"a"},"correlation":{}}'))


class Comparison(LawCase):
    """The program is a file that prints what it is told to."""

    def setUp(self) -> None:
        super().setUp()
        self.run_ = Recorded("talk")
        self.folder = self.run_.write(self.data)
        replay = folded(self.folder)
        counts = lambda left_out: [{"reason": reason, "count": count} for reason, count in left_out.items()]
        self.answer = {
            "turns": [{**vars(turn), "left_out": counts(turn.left_out)} for turn in replay.turns],
            "left_out": counts(replay.left_out),
        }

    def ask(self, exit_code: int = 0) -> Report:
        answer, program = self.root / "answer.json", self.root / "skillrun"
        answer.write_text(json.dumps(self.answer))
        program.write_text(f"#!/bin/sh\ncat '{answer}'\nexit {exit_code}\n")
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        return check(self.data, is_settled=True, program=program)

    def breaches(self, report: Report) -> str:
        return "\n".join(str(breach) for breach in report.breaches if breach.law is Law.REPLAY)

    def test_a_program_that_agrees_breaks_nothing(self) -> None:
        report = self.ask()
        self.assertEqual("", self.breaches(report))
        self.assertEqual(3, report.counts[Law.REPLAY]["turns"])

    def test_without_a_program_nothing_is_compared(self) -> None:
        self.assertEqual(0, self.look().counts[Law.REPLAY]["runs"])

    def test_a_text_of_a_broken_turn_is_found(self) -> None:
        broken = next(turn for turn in self.answer["turns"] if turn["state"] != "completed")
        broken["items"].append({"type": "agent", "text": "half"})
        self.assertIn("items where", self.breaches(self.ask()))

    def test_another_text_is_found(self) -> None:
        good = next(turn for turn in self.answer["turns"] if turn["state"] == "completed")
        good["items"][-1]["text"] += "!"
        self.assertIn("text", self.breaches(self.ask()))

    def test_another_hash_is_found(self) -> None:
        self.answer["turns"][-1]["hash"] = blake3.of(b"x")
        self.assertIn("hash", self.breaches(self.ask()))

    def test_a_missing_turn_is_found(self) -> None:
        self.answer["turns"].pop()
        self.assertIn("not replayed", self.breaches(self.ask()))

    def test_another_count_is_found(self) -> None:
        self.answer["left_out"].append({"reason": "reasoning", "count": 7})
        self.assertIn("left_out", self.breaches(self.ask()))

    def test_a_program_that_fails_is_found(self) -> None:
        self.assertIn("exited with 1", self.breaches(self.ask(exit_code=1)))
