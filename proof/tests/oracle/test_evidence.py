"""Laws `bytes`, `evidence` and `processes`, broken on purpose."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from oracle.laws import processes
from oracle.ledger import Fault
from oracle.report import Law

from .case import LawCase, promises
from .recorded import Recorded, blake3


class Bytes(LawCase):
    def setUp(self) -> None:
        super().setUp()
        self.run_ = Recorded("echo")

    def changed_index(self, change) -> None:
        def rewritten(text: str) -> str:
            records = [json.loads(line) for line in text.splitlines()]
            change(records)
            return "".join(json.dumps(record) + "\n" for record in records)

        self.run_.rewrite(".audit/chunks.1.jsonl", rewritten)
        self.run_.write(self.data)

    def test_a_gap_in_the_index(self) -> None:
        def gap(records: list[dict]) -> None:
            second = [record for record in records if record.get("stream") == "stdout"][0]
            second["from"] += 1

        self.changed_index(gap)
        self.assert_breaks(Law.BYTES, "stdout continues at 1 after 0", self.look())

    def test_the_mask_has_fewer_lines_than_the_index_counts(self) -> None:
        def counted(records: list[dict]) -> None:
            for record in records:
                if "stream" in record:
                    record["masks"] = 2

        line = '{"stream":"stdin","from":0,"to":1}\n'
        for mask in ["", line, line + "\0\0\n" + line]:
            self.run_ = Recorded("echo")
            self.run_.rewrite(".audit/redact.1.jsonl", lambda text, mask=mask: mask)
            self.changed_index(counted)
            self.assert_breaks(Law.BYTES, "records count 2 lines of the mask", self.look())
        self.run_ = Recorded("echo")
        self.run_.rewrite(".audit/redact.1.jsonl", lambda text: line * 2)
        self.changed_index(counted)
        self.assert_holds(self.look())

    def test_the_count_of_the_mask_falls(self) -> None:
        def falls(records: list[dict]) -> None:
            for masks, record in enumerate(reversed([record for record in records if "stream" in record])):
                record["masks"] = masks

        self.changed_index(falls)
        self.assertIn("lines of the mask after", str(self.look().breaches))

    def test_a_record_is_missing_in_the_index(self) -> None:
        self.changed_index(lambda records: records.pop(-1))
        self.assert_holds(self.look())

    def test_the_index_ends_before_its_file(self) -> None:
        def short(records: list[dict]) -> None:
            last = [record for record in records if record.get("stream") == "stdout"][-1]
            last["to"] -= 2

        self.changed_index(short)
        self.assertEqual({Law.BYTES}, {breach.law for breach in self.look().breaches})

    def test_a_byte_that_no_event_stands_for(self) -> None:
        raw = self.run_.of("agent.message.final")["raw_ref"]
        raw["stdout_to"] -= 1
        end = raw["stdout_to"]
        self.run_.write(self.data)
        self.assert_breaks(Law.BYTES, f"no event stands for stdout {end}..{end + 1}", self.look())

    def test_an_event_for_many_lines_has_as_many_as_its_range(self) -> None:
        raw = self.run_.of("raw.stderr")
        text = self.run_.files[".audit/stderr.1.log"]
        span = text.encode()[raw["raw_ref"]["stderr_from"]:raw["raw_ref"]["stderr_to"]]
        lines = len([line for line in span.split(b"\n") if line.strip()])
        for told, types, words in [
            (lines, {}, None),
            (lines, {"new.thing": lines}, None),
            (lines + 2, {}, f"an event stands for {lines + 2} lines, and its range has {lines} to {lines}"),
            (lines, {"new.thing": lines + 1}, f"{lines + 1} lines with a type among {lines} lines"),
        ]:
            raw["data"] |= {"lines": told, "unknown_types": types}
            self.run_.write(self.data)
            found = [str(breach) for breach in self.look().breaches if breach.law is Law.BYTES]
            self.assertEqual(words is not None, bool(found), found)
            self.assertIn(words or "", "\n".join(found))

    def test_an_event_of_bytes_that_are_not_there(self) -> None:
        last = [event for event in self.run_.rasp if event["data"].get("phase") == "turn_completed"][-1]
        last["raw_ref"]["stdout_to"] += 40
        self.run_.write(self.data)
        self.assert_breaks(Law.BYTES, "events point at stdout", self.look())

    def test_a_control_event_with_a_range(self) -> None:
        self.run_.of("attempt.ended")["raw_ref"]["stdout_to"] = 1
        self.run_.write(self.data)
        self.assert_breaks(Law.BYTES, "a control event", self.look())

    def test_bytes_behind_the_index(self) -> None:
        self.run_.rewrite(".audit/stdout.1.log", lambda text: text + "x")
        self.run_.write(self.data)
        self.assert_breaks(Law.BYTES, "by its host", self.look())

    def test_a_torn_index_of_a_host_that_ended(self) -> None:
        self.run_.rewrite(".audit/chunks.1.jsonl", lambda text: text + '{"i":')
        self.run_.write(self.data)
        self.assert_breaks(Law.BYTES, "a torn last line", self.look())

    def test_a_record_past_the_end_of_its_file(self) -> None:
        self.run_.files[".audit/stdout.1.log"] = self.run_.files[".audit/stdout.1.log"][:-5]
        del self.run_.files[".audit/host.1.json"]
        self.run_.write(self.data)
        self.assert_breaks(Law.BYTES, "stdout has records up to", self.look())

    def test_a_killed_host_may_leave_bytes_that_it_never_announced(self) -> None:
        self.run_.files[".audit/stdout.1.log"] += "x"
        del self.run_.files[".audit/host.1.json"]
        self.run_.write(self.data)
        report = self.look()
        self.assert_holds(report)
        self.assertEqual(1, report.counts[Law.BYTES]["bytes that were never announced"])

    def test_only_a_full_disk_excuses_missing_events(self) -> None:
        lost = self.run_.before(self.run_.of("attempt.ended"))
        lost["event"] |= {"category": "diagnostic", "type": "parser.warning", "level": "warning"}
        lost["data"] = {"code": "EVENTS_NOT_LOGGED", "message": "m"}
        told = (lost, "diagnostic.warning", lost["data"] | {"severity": "warning"}, None)
        self.run_.fcmp.insert(len(self.run_.fcmp) - 1, told)
        self.run_.write(self.data)
        self.assert_breaks(Law.BYTES, "the disk was never full", self.look(*promises(self.run_)))
        self.assert_holds(self.look(*promises(self.run_), Fault("fill disk", "all")))


class Evidence(LawCase):
    def setUp(self) -> None:
        super().setUp()
        self.run_ = Recorded("echo")
        self.folder = self.run_.write(self.data)

    def test_a_byte_is_changed(self) -> None:
        path = self.folder / ".audit/stdout.1.log"
        path.write_text(path.read_text().replace("I begin", "I began"))
        self.assert_breaks(Law.EVIDENCE, "was changed", self.look())

    def test_a_file_is_gone(self) -> None:
        (self.folder / ".audit/redact.1.jsonl").unlink()
        self.assert_breaks(Law.EVIDENCE, "is gone", self.look())

    def test_a_record_names_files_beside_it_only(self) -> None:
        path = self.folder / ".audit/host.1.json"
        record = json.loads(path.read_text())
        record["hashes"]["../run.json"] = "0"
        path.write_text(json.dumps(record))
        self.assert_breaks(Law.EVIDENCE, "is not a file name", self.look())

    def test_an_attempt_has_the_variables_that_the_run_was_made_with(self) -> None:
        variables = {"variables": {"KEY": "hash", "HOME": "hash", "NEVER_SET": None}}
        (self.folder / "variables.json").write_text(json.dumps(variables))
        self.assert_breaks(Law.EVIDENCE, "the variable KEY was not passed on", self.look())
        path = self.folder / ".audit/host.1.json"
        record = json.loads(path.read_text())
        record["env_names"] = [*record.get("env_names", []), "KEY"]
        path.write_text(json.dumps(record))
        self.assert_holds(self.look())

    def test_an_artifact_is_changed(self) -> None:
        (self.folder / "workspace/artifacts/report.md").write_text("more")
        self.assert_breaks(Law.EVIDENCE, "was changed", self.look())

    def of_a_copy(self, diff: dict) -> None:
        """The run worked in a copy of a folder, and changed this."""
        record = json.loads(self.run_.files["run.json"])
        record["request"]["workspace"] = {"copy": {"from": "/project", "kind": "folder", "files": 1, "bytes": 1}}
        self.run_.files["run.json"] = json.dumps(record)
        started = self.run_.of("run.started")["data"]
        if "record_hash" in started:
            started["record_hash"] = blake3(self.run_.files["run.json"])
        self.run_.files[".audit/fs-diff.1.json"] = json.dumps({"attempt": 1, "created": [], "modified": [], "deleted": []} | diff)
        self.run_.write(self.data)

    def test_a_changed_copy_has_its_patch(self) -> None:
        modified = {"path": "a", "before": {"kind": "file", "hash": "1"}, "after": {"kind": "file", "hash": "2"}}
        gone = {"path": "b", "kind": "file", "hash": "1"}
        for diff in [{"modified": [modified]}, {"deleted": [gone]}]:
            self.of_a_copy(diff)
            self.assert_breaks(Law.EVIDENCE, "in its copy and has no artifact artifacts/changes-", self.look())
        indexed = self.run_.of("artifact.indexed")["data"]
        name = f"changes-{self.run_.run.rsplit('-', 1)[-1]}.patch"
        old = indexed["path"]
        indexed |= {"path": f"artifacts/{name}", "role": "patch"}
        (self.folder / "workspace" / old).rename(self.folder / "workspace/artifacts" / name)
        self.of_a_copy({"modified": [modified]})
        # The views of the fixture still have the other name.
        told = lambda: [str(breach) for breach in self.look().breaches if breach.law is Law.EVIDENCE]
        self.assertEqual([], told())
        (self.folder / "workspace/artifacts" / name).write_text("another patch")
        self.assertIn("was changed", "\n".join(told()))

    def test_a_copy_without_changes_needs_no_patch(self) -> None:
        touched = {"path": "a", "before": {"kind": "file", "hash": "1"}, "after": {"kind": "file", "hash": "1"}}
        self.of_a_copy({"modified": [touched], "created": [{"path": "ignored", "kind": "file", "hash": "1"}]})
        self.assert_holds(self.look())

    def test_a_link_is_not_an_artifact(self) -> None:
        path = self.folder / "workspace/artifacts/report.md"
        other = self.root / "report.md"
        path.rename(other)
        path.symlink_to(other)
        self.assert_breaks(Law.EVIDENCE, "is gone", self.look())

    def test_evidence_that_was_removed_to_make_room_is_not_missed(self) -> None:
        for path in (self.folder / ".audit").iterdir():
            path.unlink()
        (self.folder / ".audit/removed.json").write_text("{}")
        self.assert_holds(self.look())


class Processes(LawCase):
    def setUp(self) -> None:
        super().setUp()
        self.run_ = Recorded("echo")
        self.folder = self.run_.write(self.data)

    def child(self, folder: Path) -> subprocess.Popen:
        """A process that names the folder in its environment, and has said that it is there."""
        words = [sys.executable, "-c", "import sys; print('here', flush=True); sys.stdin.read()"]
        environment = {**os.environ, "DATA": str(folder)}
        child = subprocess.Popen(words, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(child.communicate)
        self.assertEqual("here\n", child.stdout.readline())
        return child

    def test_a_process_is_left(self) -> None:
        child = self.child(self.data / "runs")
        self.assertEqual([child.pid], [process.pid for process in processes.left(self.data)])
        self.assert_breaks(Law.PROCESSES, f"process {child.pid} is left", self.look())
        self.assert_holds(self.look(is_settled=False))

    def test_a_process_of_another_folder_is_not_ours(self) -> None:
        self.child(Path(f"{self.data}-of-somebody"))
        self.assert_holds(self.look())

    def test_a_host_of_a_run_that_is_over_is_alive(self) -> None:
        child = self.child(Path("/"))
        began = processes.process(child.pid).began
        claim = {"run_id": self.run_.run, "attempt": 1, "host_pid": child.pid, "boot_id": processes.boot()}
        (self.folder / ".audit/claim.1").write_text(json.dumps(claim | {"host_began": began}))
        self.assert_breaks(Law.PROCESSES, f"its host, process {child.pid}, is alive", self.look())
        (self.folder / ".audit/claim.1").write_text(json.dumps(claim | {"host_began": began - 1}))
        self.assert_holds(self.look())

    def test_a_process_that_waits_with_its_question_may_live(self) -> None:
        run = Recorded("sticky")
        run.until("run.status", status="waiting_user")
        folder = run.write(self.data)
        child = self.child(folder)
        claim = {"attempt": 1, "host_pid": child.pid, "host_began": processes.process(child.pid).began}
        (folder / ".audit/claim.1").write_text(json.dumps(claim | {"boot_id": processes.boot()}))
        self.assert_holds(self.look())
