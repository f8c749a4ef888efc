"""Laws `seq` and `terminal`, broken on purpose."""

from __future__ import annotations

import json
import shutil
from unittest import mock

from oracle import lines
from oracle.ledger import Fault, Protocol, StreamSeen
from oracle.report import Law

from .case import LawCase, promises
from .recorded import Recorded, blake3

NAMES = ("echo", "failed", "permission", "resumed", "sticky")


class Whole(LawCase):
    def test_recorded_runs_break_no_law(self) -> None:
        runs = [Recorded(name) for name in NAMES]
        for run in runs:
            run.write(self.data)
        report = self.look(*[entry for run in runs for entry in promises(run)])
        self.assert_holds(report)
        self.assertEqual(len(NAMES), report.counts[Law.SEQ]["runs"])
        self.assertEqual(4, report.counts[Law.REPLIES]["answers that reached the engine"])
        self.assertEqual(len(NAMES), report.counts[Law.FCMP]["runs"])
        self.assertGreater(report.counts[Law.BYTES]["bytes"], 5_000)
        hosts = [text for run in runs for name, text in run.files.items() if "host" in name]
        # One of them leaves an artifact.
        files = sum(len(json.loads(text)["hashes"]) for text in hosts) + 1
        self.assertEqual(files, report.counts[Law.EVIDENCE]["files"])


class Chain(LawCase):
    def setUp(self) -> None:
        super().setUp()
        self.run_ = Recorded("resumed")
        self.record = self.run_.files.setdefault("run.json", "{}\n")
        self.run_.of("run.started")["data"]["record_hash"] = blake3(self.record)

    def test_a_chain_holds(self) -> None:
        self.run_.chain()
        self.run_.write(self.data)
        report = self.look()
        self.assert_holds(report)
        self.assertEqual(len(self.run_.rasp), report.counts[Law.CHAIN]["events"])
        self.assertEqual(1, report.counts[Law.CHAIN]["files"])

    def test_a_chain_may_begin_after_events_of_an_older_version(self) -> None:
        del self.run_.of("run.started")["data"]["record_hash"]
        self.run_.chain(first=7)
        self.run_.write(self.data)
        report = self.look()
        self.assert_holds(report)
        self.assertEqual(6, report.counts[Law.CHAIN]["events of an older version"])

    def test_an_event_is_changed(self) -> None:
        self.run_.chain()
        changed = self.run_.of("agent.message.final")
        changed["ts"] = self.run_.rasp[0]["ts"]
        self.run_.write(self.data)
        self.assert_breaks(Law.CHAIN, f"(events.jsonl:{changed['seq'] + 1})", self.look())

    def test_the_chain_is_not_gone_on_with(self) -> None:
        self.run_.chain()
        place = self.run_.place(self.run_.of("attempt.started", 1))
        self.run_.rasp[place]["prev"] = blake3(self.run_.run)
        self.run_.write(self.data)
        self.assert_breaks(Law.CHAIN, f"(events.jsonl:{place + 1})", self.look())

    def test_a_link_is_missing(self) -> None:
        self.run_.chain()
        del self.run_.rasp[0]["prev"]
        self.run_.write(self.data)
        self.assert_breaks(Law.CHAIN, "carries no hash", self.look())

    def test_the_record_is_changed(self) -> None:
        self.run_.chain()
        folder = self.run_.write(self.data)
        (folder / "run.json").write_text(self.record + " ")
        self.assert_breaks(Law.CHAIN, "was changed", self.look())


class Seq(LawCase):
    def test_a_line_is_missing(self) -> None:
        Recorded("sticky").write(self.data, lambda place: place if place < 9 else place + 1)
        self.assert_breaks(Law.SEQ, "seq 10 where 9 belongs", self.look())

    def test_a_line_stands_twice(self) -> None:
        run = Recorded("echo")
        folder = run.write(self.data)
        lines = run.files["events.jsonl"].splitlines(keepends=True)
        (folder / "events.jsonl").write_text("".join([*lines[:5], lines[4], *lines[5:]]))
        self.assert_breaks(Law.SEQ, "seq 5 where 6 belongs", self.look())

    def test_a_line_of_another_run(self) -> None:
        run = Recorded("echo")
        run.rasp[7]["run_id"] = "00000000-0000-7000-8000-00000000000f"
        run.write(self.data)
        self.assert_breaks(Law.SEQ, "another run", self.look())

    def test_garbage_between_lines(self) -> None:
        run = Recorded("echo")
        folder = run.write(self.data)
        lines = run.files["events.jsonl"].splitlines(keepends=True)
        (folder / "events.jsonl").write_text("".join([*lines[:5], "{}}\n", *lines[5:]]))
        self.assert_breaks(Law.SEQ, "not a JSON object", self.look())

    def test_a_line_that_is_too_long_to_look_at(self) -> None:
        Recorded("echo").write(self.data)
        with mock.patch.object(lines, "LINE_LIMIT", 500):
            self.assert_breaks(Law.SEQ, "a line of more than 500 bytes", self.look())

    def test_a_value_of_another_kind_breaks_the_law_that_needs_it(self) -> None:
        run = Recorded("echo")
        run.of("attempt.ended")["data"]["verdict"]["reason_code"] = {}
        run.files[".audit/meta.1.json"] = "{}"
        run.write(self.data)
        self.assert_breaks(Law.STATUS, "of another kind", self.look())

    def test_a_torn_end_may_be_repaired_until_all_is_over(self) -> None:
        run = Recorded("resumed")
        run.until("run.status", status="waiting_user")
        folder = run.write(self.data)
        with open(folder / "events.jsonl", "a") as log:
            log.write('{"protocol_version":"rasp/1.0",')
        self.assert_holds(self.look(is_settled=False))
        self.assert_breaks(Law.SEQ, "torn", self.look())

    def test_what_a_fault_left_stays_where_nothing_is_written(self) -> None:
        over, waits, works = Recorded("echo"), Recorded("resumed"), Recorded("sticky")
        waits.until("run.status", status="waiting_user")
        works.until("run.status", status="running")
        for run, is_excused in ((over, True), (waits, True), (works, False)):
            folder = run.write(self.data)
            with open(folder / "events.jsonl", "a") as log:
                log.write("half a li")
            self.assert_breaks(Law.SEQ, "torn", self.look(*promises(run)))
            report = self.look(*promises(run), Fault("tear log", f"half a line behind {run.run}"))
            self.assertEqual(is_excused, report.holds, run.run)
            shutil.rmtree(folder)

    def test_a_reader_was_given_another_log(self) -> None:
        run = Recorded("echo")
        run.write(self.data)
        lines = run.files["events.jsonl"].splitlines(keepends=True)
        seen = StreamSeen(run.run, Protocol.RASP, "seen.jsonl")
        (self.root / "seen.jsonl").write_text("".join(lines[:9]))
        self.assert_holds(self.look(*promises(run), seen))
        (self.root / "seen.jsonl").write_text("".join([*lines[:5], *lines[6:9]]))
        self.assert_breaks(Law.SEQ, "a reader was given", self.look(*promises(run), seen))
        (self.root / "seen.jsonl").write_text("".join([*lines, json.dumps({"type": "more"}) + "\n"]))
        self.assert_breaks(Law.SEQ, "more than there is", self.look(*promises(run), seen))


class Terminal(LawCase):
    def test_a_second_turn_record(self) -> None:
        run = Recorded("echo")
        run.again(run.of("attempt.ended"))
        run.write(self.data)
        self.assert_breaks(Law.TERMINAL, "a second turn record", self.look())

    def test_a_second_end_of_the_run(self) -> None:
        run = Recorded("echo")
        run.again(run.of("run.completed"))
        run.write(self.data)
        self.assert_breaks(Law.TERMINAL, "run.completed after the terminal record", self.look())

    def test_an_attempt_without_a_turn_record(self) -> None:
        run = Recorded("sticky")
        run.without(run.of("attempt.ended"))
        run.write(self.data)
        self.assert_breaks(Law.TERMINAL, "begins while attempt 1 is open", self.look())

    def test_an_attempt_is_left_out(self) -> None:
        run = Recorded("failed")
        for event in run.rasp:
            event["attempt_number"] *= 2
        run.files = {name.replace(".1.", ".2."): text for name, text in run.files.items() if "audit" not in name}
        run.files["result.json"] = run.files["result.json"].replace('"attempts": 1', '"attempts": 2')
        for event in run.rasp:
            event["raw_ref"] = dict.fromkeys(event["raw_ref"], 0)
        run.write(self.data)
        self.assert_breaks(Law.TERMINAL, "attempt 2 begins after attempt 0", self.look())

    def test_the_engine_speaks_after_its_attempt(self) -> None:
        run = Recorded("echo")
        late = run.again(run.of("attempt.ended"))
        late["event"] |= {"category": "runtime", "type": "turn.usage"}
        late["source"]["stream"], late["data"] = "stdout", {"text": "late"}
        run.write(self.data)
        self.assert_breaks(Law.TERMINAL, "outside of its attempt", self.look())
