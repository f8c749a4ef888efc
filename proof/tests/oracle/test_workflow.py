"""Workflows whose steps ended as they should, and the same with one thing broken."""

from __future__ import annotations

import itertools
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from oracle import event as events
from oracle import lines, schema, steps
from oracle.fold import Fold
from oracle.laws.workflow import Workflow
from oracle.looking import Looking
from oracle.promises import Promises
from oracle.report import Law, Report
from oracle.steps import Outcome, Result, State

from .case import LawCase

FLOW, BEFORE = "00000000-0001-7001-8101-010101010101", "00000000-0000-7001-8101-010101010101"
BEGIN = datetime(2026, 11, 19, tzinfo=UTC)

ANSWER = {"type": "object", "properties": {"answer": {"type": "string"}, "partial": {"type": "boolean"}}}
NETWORK = ("failed", "ENGINE_UNREACHABLE", "network")
BROKEN = ("failed", "ENGINE_FAILED", "engine")
TIMED_OUT = ("failed", "TIMEOUT", "timeout")
UNANSWERED = ("failed", "INTERACTION_WAIT_TIMEOUT", "interaction")
LOST = ("failed", "ATTEMPT_LOST", "host")
REASONS = {"completed": "CLEAN_FINAL", "canceled": "CANCELED"}


def step(name: str, **more: Any) -> dict[str, Any]:
    """As `run.json` has it, with the defaults filled in."""
    return {"id": name, "task": {"prompt": "Why?"}, "engines": ["one"], "required": True, "on_failure": "continue",
            "workspace": "own", "retries": {"max": 0, "on": []}, "output": {}} | more


class Log:
    """The Log of one run; every event is a second later than the one before."""

    def __init__(self, world: "WorkflowCase", run: str) -> None:
        self.world, self.run, self.rows = world, run, []

    def add(self, word: str, data: dict[str, Any], stream: str = "control") -> dict[str, Any]:
        row = {
            "protocol_version": "rasp/1.0", "run_id": self.run, "seq": len(self.rows) + 1, "ts": self.world.now(),
            "attempt_number": 0, "source": {"engine": "one", "stream": stream},
            "event": {"type": word, "level": "info"}, "data": data, "correlation": {"session_id": None},
            "raw_ref": dict.fromkeys(events.RANGES, 0),
        }
        self.rows.append(row)
        return row

    def write(self) -> Path:
        folder = self.world.data / "runs" / self.run
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "events.jsonl").write_text("".join(json.dumps(row) + "\n" for row in self.rows))
        return folder


class WorkflowCase(LawCase):
    def setUp(self) -> None:
        super().setUp()
        self.clock = itertools.count()
        self.runs = itertools.count(2)
        self.flow = Log(self, FLOW)
        self.logs: dict[str, Log] = {}
        self.states: dict[str, dict[str, Any]] = {}
        self.reuses: str | None = None
        self.interactions = 0

    def now(self) -> str:
        return (BEGIN + timedelta(seconds=next(self.clock))).isoformat().replace("+00:00", "Z")

    # What a workflow does.

    def plan(self, *plan: dict[str, Any], concurrency: int = 4, permission: str = "workspace") -> None:
        self.steps = {one["id"]: one for one in plan}
        workflow = {"name": "flow", "steps": list(plan), "concurrency": concurrency}
        self.record = {"request": {"workflow": workflow, "permission": permission, "reuses": self.reuses}}
        self.flow.add("run.started", {"mode": "auto", "workflow": "flow"})
        self.flow.add("run.status", {"status": "running"})
        self.flow.add("workflow.started", {"name": "flow", "steps": len(plan), "reuses": self.reuses})

    def begins(self, name: str, trial: int = 1, engine: int = 0, item: int | None = None, **more: Any) -> str:
        """A step begins; its child has begun to work."""
        child = f"00000000-{next(self.runs):04}-7001-8101-010101010101"
        key = f"{name}#{trial}" if item is None else f"{name}[{item}]#{trial}"
        scheduled = {"step_id": name, "item": item, "trial": trial, "engine_index": engine, "child_run_id": child,
                     "fingerprint": name}
        self.flow.add("workflow.step_scheduled", scheduled | more)
        self.flow.add("subagent.requested", {"child_run_id": child, "key": key})
        log = self.logs[child] = Log(self, child)
        log.add("run.started", {"engine": self.steps[name]["engines"][engine], "parent": {"run_id": FLOW, "step_id": name}})
        log.add("run.status", {"status": "running"})
        return child

    def leaves(self, child: str, end: Any = "completed", output: Any = None, files: tuple[str, ...] = ()) -> None:
        """The child ends, and the workflow hears of it."""
        log = self.logs[child]
        word, code, category = end if isinstance(end, tuple) else (end, REASONS[end], None)
        task = self.steps[log.rows[0]["data"]["parent"]["step_id"]]["task"]
        said = f"All is ready {{and}} nothing failed.\n```json\n{json.dumps(output)}\n```" if output else "All is ready."
        if end != LOST:
            log.add("agent.message.final", {"message_id": "m0", "text": json.dumps({"answer": "Not yet."})}, "stdout")
            log.add("agent.message.final", {"message_id": "m1", "text": said}, "stdout")
        for path in files:
            log.add("artifact.indexed", {"path": path})
        log.add("attempt.ended", {"verdict": {"output": output if "skill" in task else None, "answer_message_id": "m1"}})
        log.add(f"run.{word}", {"error": {"code": code, "category": category}} if category else {"reason_code": code})
        status = {"completed": "completed", "canceled": "cancelled"}.get(word, "failed")
        self.flow.add("subagent.ended", {"child_run_id": child, "status": status, "reason": code})

    def ends(self, name: str, state: str, item: int | None = None, child: str | None = None, **more: Any) -> dict[str, Any]:
        data = {"step_id": name, "item": item, "state": state, "reason": "CLEAN_FINAL", "child_run_id": child,
                "fingerprint": name}
        data["stops"] = item is None and self.steps[name]["on_failure"] == "stop" and state not in ("ready", "skipped")
        data |= more
        self.flow.add("workflow.step_ended", data)
        if item is None:
            self.states[name] = data
        return data

    def ran(self, name: str, state: str = "ready", item: int | None = None, more: Any = None, **left: Any) -> str:
        """A step from its beginning to its end."""
        child = self.begins(name, item=item)
        self.leaves(child, **left)
        self.ends(name, state, item, child, **(more or {}))
        return child

    def asks(self, name: str, why: str, answer: str | None = None) -> None:
        self.interactions += 1
        number = self.interactions
        self.flow.add("workflow.step_held", {"step_id": name, "why": why, "interaction_id": number})
        self.flow.add("interaction.requested", {"interaction_id": number, "scope": "step"})
        if answer:
            self.flow.add("interaction.replied", {"interaction_id": number, "text": answer, "resolution_mode": "user_reply"})

    def ended(self, outcome: str, **more: Any) -> None:
        usable = lambda end: end["state"] == "ready" or (end["state"] == "partial" and end.get("has_output", False))
        told = [{"step_id": name, "required": one["required"], "state": self.states[name]["state"],
                 "usable": usable(self.states[name])} for name, one in self.steps.items() if name in self.states]
        self.flow.add("workflow.ended", {"outcome": outcome, "ok": outcome == "completed", "steps": told} | more)
        kind, reason = steps.ENDS[Outcome(outcome)]
        is_failure = kind == "run.failed"
        self.flow.add(kind, {"error": {"code": reason}} if is_failure else {"reason_code": reason})

    # What the law says of it.

    def report(self) -> Report:
        folder, report = self.flow.write(), Report()
        for log in self.logs.values():
            log.write()
        (folder / "run.json").write_text(json.dumps(self.record))
        law, fold = Workflow(Looking(folder, FLOW, report, Promises(), is_settled=True)), Fold()
        for line in lines.read(folder / "events.jsonl"):
            event = events.of(line)
            law.event(event, fold)
            fold.take(event)
        law.end(fold)
        return report

    def holds(self) -> Report:
        report = self.report()
        self.assert_holds(report)
        return report

    def breaks(self, words: str) -> None:
        self.assert_breaks(Law.WORKFLOW, words, self.report())


class Outcomes(WorkflowCase):
    def test_a_workflow_whose_steps_are_ready_is_completed(self) -> None:
        self.plan(step("a"), step("b", needs=["a"]))
        self.ran("a")
        self.ran("b")
        self.ended("completed")
        counts = self.holds().counts[Law.WORKFLOW]
        self.assertEqual((1, 2, 2, 1), tuple(counts[word] for word in ("workflows", "children", "ends of steps", "completed")))

    def test_all_failed_is_called_partial(self) -> None:
        self.plan(step("a"), step("b"))
        self.ran("a", "failed", end=BROKEN)
        self.ran("b", "failed", end=BROKEN)
        self.ended("partial")
        self.breaks("is partial, and its children make it failed")

    def test_one_of_two_is_ready(self) -> None:
        self.plan(step("a"), step("b"))
        self.ran("a")
        self.ran("b", "failed", end=BROKEN)
        self.ended("partial")
        self.holds()

    def test_a_failed_optional_step_does_not_count(self) -> None:
        self.plan(step("a"), step("b", required=False))
        self.ran("a")
        self.ran("b", "failed", end=BROKEN)
        self.ended("completed")
        self.holds()

    def test_a_step_out_of_time(self) -> None:
        self.plan(step("a"))
        self.ran("a", "timed_out", end=TIMED_OUT)
        self.ended("timed_out")
        self.holds()

    def test_a_step_out_of_time_is_called_failed(self) -> None:
        self.plan(step("a"))
        self.ran("a", "failed", end=TIMED_OUT)
        self.ended("failed")
        self.breaks("the step a is failed, and its children make it timed_out")

    def test_an_unanswered_child(self) -> None:
        self.plan(step("a"))
        self.ran("a", "held", end=UNANSWERED)
        self.ended("held")
        self.holds()

    def test_the_run_ends_in_another_way(self) -> None:
        self.plan(step("a"))
        self.ran("a", "failed", end=BROKEN)
        self.ended("failed")
        self.flow.rows[-1]["data"]["error"]["code"] = "WORKFLOW_PARTIAL"
        self.breaks("is failed, and its run ended with run.failed WORKFLOW_PARTIAL")

    def test_ok_says_something_else(self) -> None:
        self.plan(step("a", required=False), step("b"))
        self.ran("a")
        self.ran("b", "failed", end=BROKEN)
        self.ended("partial", ok=True)
        self.breaks("is partial, and ok is True")

    def test_a_canceled_workflow_has_no_other_outcome(self) -> None:
        self.plan(step("a"), step("b"))
        self.ran("a")
        child = self.begins("b")
        self.flow.add("run.status", {"phase": "canceling"})
        self.leaves(child, "canceled")
        self.ends("b", "cancelled", child=child)
        self.ended("cancelled")
        self.holds()

    def test_a_canceled_workflow_is_called_completed(self) -> None:
        self.plan(step("a"))
        self.flow.add("run.status", {"phase": "canceling"})
        self.ends("a", "skipped")
        self.ended("failed")
        self.breaks("is failed, and its children make it cancelled")

    def test_the_time_of_the_workflow_is_over(self) -> None:
        self.plan(step("a"), step("b", needs=["a"]))
        child = self.begins("a")
        self.flow.add("run.status", {"phase": "time_up"})
        self.leaves(child, "canceled")
        self.ends("a", "timed_out", child=child)
        self.ends("b", "skipped")
        self.ended("timed_out")
        self.holds()

    def test_another_step_stops_a_workflow_that_asks(self) -> None:
        """The question about a step that has been left out is closed after it, and decides nothing."""
        self.plan(step("a"), step("b", on_failure="stop"))
        self.asks("a", "before")
        self.ran("b", "failed", end=BROKEN)
        self.ends("a", "skipped")
        self.flow.add("run.status", {"status": "running", "phase": "closing"})
        self.ended("failed")
        self.holds()

    def test_the_table_puts_the_first_that_fits_first(self) -> None:
        """All states of up to three steps, each required or not, against the sentences of the issue."""
        results = [Result(state, has) for state in State for has in ((True, False) if state is State.PARTIAL else (False,))]
        one = list(itertools.product((True, False), results))
        for count in range(1, 4):
            for told in itertools.product(one, repeat=count):
                states = [result.state for _, result in told]
                usable = State.READY in states or Result(State.PARTIAL, True) in [result for _, result in told]
                if all(result.state is State.READY for is_required, result in told if is_required):
                    wanted = "completed"
                elif usable:
                    wanted = "partial"
                elif State.TIMED_OUT in states:
                    wanted = "timed_out"
                else:
                    wanted = "held" if State.HELD in states else "failed"
                self.assertEqual(wanted, steps.outcome(False, False, told))
                self.assertEqual("cancelled", steps.outcome(True, True, told))
                late = steps.outcome(False, True, told)
                self.assertEqual(wanted if wanted in ("completed", "partial") else "timed_out", late)

    def test_the_end_forgets_a_step(self) -> None:
        self.plan(step("a"), step("b"))
        self.ran("a")
        self.ran("b")
        self.ended("completed")
        self.flow.rows[-2]["data"]["steps"].pop()
        self.breaks("ended with the steps")

    def test_the_end_calls_a_failed_step_usable(self) -> None:
        self.plan(step("a"), step("b"))
        self.ran("a")
        self.ran("b", "failed", end=BROKEN)
        self.ended("partial")
        self.flow.rows[-2]["data"]["steps"][1]["usable"] = True
        self.breaks("the step b is usable: False")

    def test_the_run_ends_without_the_end_of_the_workflow(self) -> None:
        self.plan(step("a"))
        self.ran("a")
        self.flow.add("run.completed", {"reason_code": "WORKFLOW_COMPLETED"})
        self.breaks("run.completed without the end of the workflow")

    def test_a_step_never_ends(self) -> None:
        self.plan(step("a"), step("b", required=False))
        self.ran("a")
        self.ended("completed")
        self.assertIn("ended, and the step b did not", "\n".join(map(str, self.report().breaches)))

    def test_a_step_ends_twice(self) -> None:
        self.plan(step("a"))
        child = self.ran("a")
        self.ends("a", "ready", child=child)
        self.ended("completed")
        self.breaks("the step a ended twice")


class Checkpoints(WorkflowCase):
    """When a step is ready."""

    def one(self, told: str, outcome: str, ran: dict[str, Any], **more: Any) -> None:
        self.plan(step("a", **more))
        self.ran("a", told, **ran)
        self.ended(outcome)

    def test_a_child_that_failed_makes_a_step_ready_by_its_words(self) -> None:
        self.one("ready", "completed", {"end": BROKEN})
        told = "\n".join(map(str, self.report().breaches))
        self.assertIn("the step a is ready, and its children make it failed", told)
        self.assertIn("is completed, and its children make it failed", told)

    def test_an_output_fits(self) -> None:
        self.one("ready", "completed", {"output": {"answer": "blue"}}, output={"schema": ANSWER})
        self.holds()

    def test_an_output_that_does_not_fit_is_ready(self) -> None:
        self.one("ready", "completed", {"output": {"answer": 7}}, output={"schema": ANSWER})
        self.assertIn("make it failed", "\n".join(map(str, self.report().breaches)))

    def test_prose_in_place_of_an_output_is_ready(self) -> None:
        self.one("ready", "completed", {}, output={"schema": ANSWER})
        self.assertIn("make it failed", "\n".join(map(str, self.report().breaches)))

    def test_an_object_in_a_message_that_is_not_the_answer_is_no_output(self) -> None:
        """The first message of every child here has one."""
        self.one("failed", "failed", {}, output={"schema": ANSWER | {"required": ["answer"]}})
        self.holds()

    def test_an_output_says_that_it_is_partial(self) -> None:
        ran = {"output": {"answer": "blue", "partial": True}, "more": {"has_output": True}}
        self.one("partial", "partial", ran, output={"schema": ANSWER})
        self.holds()

    def test_a_partial_output_is_called_ready(self) -> None:
        self.one("ready", "completed", {"output": {"partial": True}}, output={"schema": ANSWER})
        self.assertIn("make it partial", "\n".join(map(str, self.report().breaches)))

    def test_a_word_that_no_schema_declares_means_nothing(self) -> None:
        open_schema = {"type": "object", "properties": {"answer": {"type": "string"}}}
        self.one("ready", "completed", {"output": {"partial": True}}, output={"schema": open_schema})
        self.holds()

    def test_a_required_file_is_not_there(self) -> None:
        self.one("ready", "completed", {"files": ("artifacts/other.md",)}, output={"artifacts": ["artifacts/report.md"]})
        self.assertIn("make it partial", "\n".join(map(str, self.report().breaches)))

    def test_a_required_file_is_there(self) -> None:
        self.one("ready", "completed", {"files": ("artifacts/report.md",)}, output={"artifacts": ["artifacts/report.md"]})
        self.holds()

    def test_a_step_without_its_files_and_without_an_output_is_of_no_use(self) -> None:
        self.one("partial", "failed", {}, output={"artifacts": ["artifacts/report.md"]})
        self.holds()

    def test_a_skill_declares_the_output(self) -> None:
        self.plan(step("a", task={"skill": {"name": "echo"}}))
        child = self.ran("a", output={"answer": 7})
        assets = self.data / "runs" / child / "skill" / "assets"
        assets.mkdir(parents=True)
        (assets / "output.json").write_text(json.dumps(ANSWER))
        (assets / "runner.json").write_text('{"schemas": {"output": "assets/output.json"}}')
        self.ended("completed")
        self.assertIn("make it failed", "\n".join(map(str, self.report().breaches)))

    def test_schemas(self) -> None:
        wanted = {"type": "object", "required": ["a"], "properties": {"a": {"type": ["integer", "null"]},
                  "b": {"type": "array", "items": {"enum": ["x"]}}}, "additionalProperties": False}
        for value in ({"a": 1}, {"a": None, "b": ["x"]}, {"a": 2.0}):
            self.assertIsNone(schema.problem(wanted, value))
        for value in ([], {}, {"a": True}, {"a": "1"}, {"a": 1, "b": ["y"]}, {"a": 1, "c": 1}, {"a": 1.5}):
            self.assertIsNotNone(schema.problem(wanted, value), value)


class Order(WorkflowCase):
    def test_a_step_begins_before_what_it_needs(self) -> None:
        self.plan(step("a"), step("b", needs=["a"]))
        first, second = self.begins("a"), self.begins("b")
        self.leaves(first)
        self.leaves(second)
        self.ends("a", "ready", child=first)
        self.ends("b", "ready", child=second)
        self.ended("completed")
        self.breaks("the step b began, and needs a, which is not over")

    def test_a_partial_step_unlocks_another(self) -> None:
        self.plan(step("a", output={"artifacts": ["x"]}), step("b", needs=["a"]))
        self.ran("a", "partial")
        self.ran("b")
        self.ended("partial")
        self.assertIn("the step b began, and needs a, which is partial", "\n".join(map(str, self.report().breaches)))

    def test_steps_that_need_an_unready_one_are_left_out(self) -> None:
        self.plan(step("a"), step("b", needs=["a"]), step("c", needs=["b"]))
        self.ran("a", "failed", end=BROKEN)
        self.ends("b", "skipped")
        self.ends("c", "skipped")
        self.ended("failed")
        self.holds()

    def test_a_step_is_left_out_without_a_reason(self) -> None:
        self.plan(step("a"), step("b", needs=["a"]))
        self.ran("a")
        self.ends("b", "skipped")
        self.ended("partial")
        self.breaks("the step b was left out without a reason")

    def test_a_step_begins_after_a_stop(self) -> None:
        self.plan(step("a", on_failure="stop"), step("b"))
        self.ran("a", "failed", end=BROKEN)
        self.ran("b")
        self.ended("partial")
        self.breaks("the step b began after the workflow had stopped")

    def test_a_failed_step_does_not_stop_the_workflow(self) -> None:
        self.plan(step("a", on_failure="stop"), step("b"))
        self.ran("a", "failed", end=BROKEN, more={"stops": False})
        self.ran("b")
        self.ended("partial")
        self.breaks("the step a is failed, and the workflow did not stop")

    def test_a_step_begins_after_a_cancel(self) -> None:
        self.plan(step("a"))
        self.flow.add("run.status", {"phase": "canceling"})
        self.ran("a")
        self.ended("cancelled")
        self.breaks("the step a began after the workflow had stopped")

    def test_more_children_work_than_may(self) -> None:
        self.plan(step("a"), step("b"), concurrency=1)
        first, second = self.begins("a"), self.begins("b")
        for name, child in (("a", first), ("b", second)):
            self.leaves(child)
            self.ends(name, "ready", child=child)
        self.ended("completed")
        self.breaks("b#1 began while 1 children worked, and 1 may")

    def two_in_one_folder(self, **more: Any) -> None:
        self.plan(step("a", workspace="shared"), step("b", workspace="shared", **more))
        first, second = self.begins("a"), self.begins("b")
        for name, child in (("a", first), ("b", second)):
            self.leaves(child)
            self.ends(name, "ready", child=child)
        self.ended("completed")

    def test_two_writers_work_in_one_folder(self) -> None:
        self.two_in_one_folder()
        self.breaks("b#1 and a#1 worked in the shared folder at the same time")

    def test_a_reader_works_beside_a_writer(self) -> None:
        self.two_in_one_folder(permission="read_only")
        self.breaks("b#1 and a#1 worked in the shared folder at the same time")

    def test_readers_work_side_by_side(self) -> None:
        self.plan(*(step(name, workspace="shared", permission="read_only") for name in "ab"))
        first, second = self.begins("a"), self.begins("b")
        for name, child in (("a", first), ("b", second)):
            self.leaves(child)
            self.ends(name, "ready", child=child)
        self.ended("completed")
        self.holds()

    def test_a_check_makes_a_reader_a_writer(self) -> None:
        self.two_in_one_folder(permission="read_only", checks=[{"command": "make"}])
        self.breaks("worked in the shared folder at the same time")

    def test_the_workflow_ends_before_its_child(self) -> None:
        self.plan(step("a"), step("b", required=False))
        self.ran("a")
        child = self.begins("b")
        self.ends("b", "skipped")
        self.ended("completed")
        self.leaves(child)
        told = "\n".join(map(str, self.report().breaches))
        self.assertIn("the step b ended, and its child", told)
        self.assertIn("ended, and the child b#1 works", told)

    def test_a_child_has_another_key(self) -> None:
        self.plan(step("a"))
        self.ran("a")
        next(row for row in self.flow.rows if row["event"]["type"] == "subagent.requested")["data"]["key"] = "a"
        self.ended("completed")
        self.breaks("the child of a#1 was asked for as a")

    def test_a_child_is_never_asked_for(self) -> None:
        self.plan(step("a"))
        self.ran("a")
        self.flow.rows = [row for row in self.flow.rows if row["event"]["type"] != "subagent.requested"]
        self.ended("completed")
        self.breaks("the child of a#1 was never asked for")

    def test_a_child_was_made_for_another_step(self) -> None:
        self.plan(step("a"))
        child = self.ran("a")
        self.logs[child].rows[0]["data"]["parent"]["step_id"] = "b"
        self.ended("completed")
        self.breaks("names another step")

    def test_another_event_of_the_child_decides(self) -> None:
        self.plan(step("a"))
        self.ran("a", more={"child_seq": 2})
        self.ended("completed")
        self.breaks("the step a was decided by event 2 of 6 of its child")


class Tries(WorkflowCase):
    def twice(self, first: Any, engine: int = 0, **more: Any) -> None:
        self.plan(step("a", **more))
        self.leaves(self.begins("a"), first)
        child = self.begins("a", 2, engine)
        self.leaves(child)
        self.ends("a", "ready", child=child)
        self.ended("completed")

    def test_a_cause_on_the_list_allows_another_try(self) -> None:
        self.twice(NETWORK, retries={"max": 1, "on": ["network"]})
        self.holds()

    def test_a_cause_that_is_not_on_the_list(self) -> None:
        self.twice(BROKEN, retries={"max": 1, "on": ["network", "quota", "host_lost"]})
        self.breaks("a#2 has no cause in the Log of")

    def test_a_lost_host_before_the_beginning(self) -> None:
        self.twice(LOST, retries={"max": 1, "on": ["host_lost"]})
        self.holds()

    def test_a_lost_host_after_the_engine_began(self) -> None:
        self.twice(LOST, retries={"max": 1, "on": ["host_lost"]})
        self.logs[next(iter(self.logs))].rows[2]["source"]["stream"] = "stdout"
        self.breaks("a#2 has no cause in the Log of")

    def test_another_engine_is_tried(self) -> None:
        self.twice(NETWORK, 1, engines=["one", "two"])
        self.holds()

    def test_another_engine_is_tried_after_a_failure(self) -> None:
        self.twice(BROKEN, 1, engines=["one", "two"])
        self.breaks("a#2 has no cause in the Log of")

    def test_too_many_tries(self) -> None:
        self.plan(step("a", retries={"max": 1, "on": ["network"]}))
        self.leaves(self.begins("a"), NETWORK)
        self.leaves(self.begins("a", 2), NETWORK)
        child = self.begins("a", 3)
        self.leaves(child)
        self.ends("a", "ready", child=child)
        self.ended("completed")
        self.breaks("a was tried again 2 times")

    def test_a_try_that_was_left_out(self) -> None:
        self.plan(step("a", retries={"max": 1, "on": ["network"]}))
        self.ran("a", "failed", end=NETWORK)
        self.ended("failed")
        self.breaks("a was not tried again after a#1")

    def test_the_engine_is_another_one(self) -> None:
        self.plan(step("a", engines=["one", "two"]))
        child = self.ran("a")
        self.logs[child].rows[0]["data"]["engine"] = "two"
        self.ended("completed")
        self.breaks("the child of a#1 has the engine two, not one")

    def test_a_child_begins_before_its_quota_is_back(self) -> None:
        self.plan(step("a", retries={"max": 1, "on": ["quota"]}))
        self.leaves(self.begins("a"), ("failed", "QUOTA_EXHAUSTED", "quota"))
        child = self.begins("a", 2, not_before="2026-11-20T00:00:00Z")
        self.leaves(child)
        self.ends("a", "ready", child=child)
        self.ended("completed")
        self.breaks("the child of a#2 began before 2026-11-20")

    def test_two_tries_have_one_number(self) -> None:
        self.plan(step("a", retries={"max": 1, "on": ["network"]}))
        self.leaves(self.begins("a"), NETWORK)
        child = self.begins("a", 1)
        self.leaves(child)
        self.ends("a", "ready", child=child)
        self.ended("completed")
        self.breaks("a#1 is the try 2 of its step")


class Held(WorkflowCase):
    def test_a_rejected_result_does_not_count(self) -> None:
        self.plan(step("a", ask="after"))
        child = self.begins("a")
        self.leaves(child)
        self.asks("a", "after", "reject")
        self.ends("a", "failed", child=child)
        self.ended("failed")
        self.holds()

    def test_a_rejected_result_counts(self) -> None:
        self.plan(step("a", ask="after"))
        child = self.begins("a")
        self.leaves(child)
        self.asks("a", "after", "The result does not count")
        self.ends("a", "ready", child=child)
        self.ended("completed")
        self.assertIn("make it failed", "\n".join(map(str, self.report().breaches)))

    def test_a_question_is_closed_without_an_answer(self) -> None:
        self.plan(step("a", ask="before"))
        self.asks("a", "before")
        self.flow.add("run.status", {"status": "running", "phase": "closing"})
        self.ends("a", "held", stops=True)
        self.ended("held")
        self.holds()

    def test_a_closed_question_is_called_a_failure(self) -> None:
        self.plan(step("a", ask="before"))
        self.asks("a", "before")
        self.flow.add("interaction.timeout", {"interaction_id": 1})
        self.ends("a", "failed")
        self.ended("failed")
        self.assertIn("make it held", "\n".join(map(str, self.report().breaches)))

    def test_the_user_wants_another_try(self) -> None:
        self.plan(step("a", on_failure="hold"))
        self.leaves(self.begins("a"), BROKEN)
        self.asks("a", "failure", "retry")
        child = self.begins("a", 2)
        self.leaves(child)
        self.ends("a", "ready", child=child)
        self.ended("completed")
        self.holds()

    def test_the_user_leaves_a_step_out(self) -> None:
        self.plan(step("a", ask="before"), step("b", required=False))
        self.asks("a", "before", "Skip")
        self.ends("a", "skipped")
        self.ran("b")
        self.ended("partial")
        self.holds()

    def test_two_steps_ask_at_the_same_time(self) -> None:
        self.plan(step("a", ask="before"), step("b", ask="before"))
        self.asks("a", "before")
        self.asks("b", "before", "skip")
        self.flow.add("run.status", {"phase": "canceling"})
        for name in "ab":
            self.ends(name, "skipped")
        self.ended("cancelled")
        self.breaks("b asks while question 1 is open")


class Items(WorkflowCase):
    def items(self, *left: Any, told: str, outcome: str, **more: Any) -> None:
        self.plan(step("a", for_each=list(range(len(left)))))
        for item, end in enumerate(left):
            child = self.begins("a", item=item, items=len(left))
            self.leaves(child, end)
            self.ends("a", "ready" if end == "completed" else "failed", item, child, items=len(left))
        self.ends("a", told, items=len(left), **more)
        self.ended(outcome)

    def test_all_items_are_ready(self) -> None:
        self.items("completed", "completed", told="ready", outcome="completed")
        self.holds()

    def test_one_item_failed(self) -> None:
        self.items("completed", BROKEN, told="partial", outcome="partial", has_output=True)
        self.holds()

    def test_one_failed_item_of_two_is_passed_over(self) -> None:
        self.items("completed", BROKEN, told="ready", outcome="completed")
        self.assertIn("the step a is ready, and its children make it partial", "\n".join(map(str, self.report().breaches)))

    def test_all_items_failed(self) -> None:
        self.items(BROKEN, BROKEN, told="failed", outcome="failed")
        self.holds()

    def test_a_list_without_an_item_is_ready(self) -> None:
        self.plan(step("a", for_each=[]))
        self.ends("a", "ready")
        self.ended("completed")
        self.holds()

    def test_a_step_that_never_began_is_ready(self) -> None:
        self.plan(step("a", for_each=["x"]))
        self.ends("a", "ready")
        self.ended("completed")
        self.assertIn("its children make it skipped", "\n".join(map(str, self.report().breaches)))

    def test_an_item_without_its_input_has_failed(self) -> None:
        self.plan(step("a", for_each=["x"]))
        self.ends("a", "failed", 0, items=1, reason="STEP_INPUT_INVALID")
        self.ends("a", "failed", items=1)
        self.ended("failed")
        self.holds()

    def test_the_list_has_another_length_than_the_plan(self) -> None:
        self.plan(step("a", for_each=["x", "y"]))
        child = self.begins("a", item=0, items=1)
        self.leaves(child)
        self.ends("a", "ready", 0, child, items=1)
        self.ends("a", "ready", items=1)
        self.ended("completed")
        self.breaks("the step a has 1 items, and its list has 2")

    def test_the_list_has_another_length_than_the_output_of_another_step(self) -> None:
        self.plan(step("a"), step("b", for_each={"from": "/steps/a/output/list/0"}, needs=["a"]))
        self.ran("a", output={"list": [["x", "y"]]})
        self.flow.add("workflow.step_scheduled", {"step_id": "b", "items": 0, "trial": 1})
        self.ends("b", "ready", items=0)
        self.ended("completed")
        self.breaks("the step b has 0 items, and its list has 2")


class Reused(WorkflowCase):
    """A step that an earlier run of the workflow has made ready."""

    def setUp(self) -> None:
        super().setUp()
        self.reuses = BEFORE
        self.plan(step("a"))
        child = self.begins("a")
        self.leaves(child)
        # All of that was said in the Log of the earlier workflow.
        self.earlier = Log(self, BEFORE)
        told = {"step_id": "a", "item": None, "state": "ready", "fingerprint": "a", "child_run_id": child}
        self.earlier.add("workflow.step_ended", told)
        self.child = child
        del self.flow.rows[3:]

    def take_over(self, **more: Any) -> None:
        self.earlier.write()
        self.ends("a", "ready", child=self.child, reused={"run_id": BEFORE, "seq": 1}, **more)
        self.ended("completed")

    def test_a_ready_step_is_taken_over(self) -> None:
        self.take_over()
        self.assertEqual(1, self.holds().counts[Law.WORKFLOW]["steps taken over"])

    def test_a_failed_step_is_taken_over(self) -> None:
        self.earlier.rows[0]["data"]["state"] = "failed"
        self.take_over()
        self.assertIn("takes over event 1", "\n".join(map(str, self.report().breaches)))

    def test_another_input_is_taken_over(self) -> None:
        self.take_over(fingerprint="another")
        self.assertIn("takes over event 1", "\n".join(map(str, self.report().breaches)))

    def test_the_child_of_the_earlier_workflow_failed(self) -> None:
        self.logs[self.child].rows[-1] |= {"event": {"type": "run.failed", "level": "error"}}
        self.take_over()
        self.assertIn("make it failed", "\n".join(map(str, self.report().breaches)))
