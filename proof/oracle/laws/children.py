"""Law `children`: what a parent says of a child follows from the Log of the child. A child is asked for by an open turn
within the limits of its parent, or by a workflow, and made once; its end is in the Log of its parent before the end of the
parent; a wait says no more than the Log of the parent. Written from contract R5.21 to R5.24.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from .. import lines
from ..event import Event
from ..fold import Fold
from ..looking import Looking
from ..report import Law
from ..words import RUN_ENDS, Mode, Rasp

# The end event of a child, and what its parent may call it.
STATES = {
    "run.completed": {"completed"},
    "run.failed": {"failed", "timed_out"},
    "run.canceled": {"cancelled"},
}
TIMEOUTS = {"TIMEOUT", "INTERACTION_WAIT_TIMEOUT"}
# What a wait may say of a child whose end is not in the Log of its parent.
OPEN = {"queued", "running", "needs_orchestrator"}


class Children:
    law = Law.CHILDREN

    def __init__(self, looking: Looking) -> None:
        self.looking = looking
        # By id: the event that asked for the child, and the last that says how it ended.
        self.asked: dict[str, Event] = {}
        self.ended: dict[str, Event] = {}
        self.keys: set[tuple[int, str]] = set()
        self.started: set[str] = set()
        # The parent of this run, if it has one.
        self.parent: dict[str, Any] | None = None
        self.limits: dict[str, Any] = looking.record.get("request", {}).get("delegation") or {}

    def event(self, event: Event, before: Fold) -> None:
        if self.parent and event.is_control and event.value["correlation"]["parent_run_id"] != self.parent["run_id"]:
            self._breach(f"{event.word} does not name the parent", event)
        if event.kind is Rasp.RUN_STARTED and event.data.get("parent"):
            self.parent = event.data["parent"]
            self._born(event)
        elif event.kind is Rasp.SUBAGENT_REQUESTED:
            self._requested(event, before)
        elif event.kind is Rasp.SUBAGENT_STARTED:
            child = event.data["child_run_id"]
            if child not in self.asked:
                self._breach("a child was started that was not asked for", event)
            if child in self.started or child in self.ended:
                self._breach(f"child {child} was started before", event)
            self.started.add(child)
        elif event.kind is Rasp.TOOL_COMPLETED:
            self._waited(event)
        elif event.kind is Rasp.SUBAGENT_ENDED:
            self._ended(event)
        elif event.kind in RUN_ENDS:
            for child in self.asked.keys() - self.ended.keys():
                self._breach(f"{event.word}, and the end of child {child} is not in the Log", event)

    def _requested(self, event: Event, before: Fold) -> None:
        child, key = event.data["child_run_id"], (event.attempt, event.data["key"])
        if not (before.is_open or before.is_workflow):
            self._breach(f"child {child} was asked for outside of an open turn", event)
        if key in self.keys or child in self.asked:
            self._breach(f"child {child} was asked for twice (key {key[1]})", event)
        if not before.is_workflow:
            self._within_limits(child, event)
        self.keys.add(key)
        self.asked[child] = event

    def _within_limits(self, child: str, event: Event) -> None:
        """Those of a workflow are in its plan, and law `workflow` looks after them."""
        limit = self.limits.get("max_children")
        if limit is None:
            self._breach(f"child {child} was asked for, and the run may not delegate", event)
        elif len(self.asked.keys() - self.ended.keys()) >= limit:
            self._breach(f"child {child} is one more than the {limit} that may work at once", event)

    def _born(self, event: Event) -> None:
        """This run is a child: as its parent has asked for it, and as its parent may."""
        link, record = self.parent, self.looking.record
        if record.get("parent") != link:
            self._breach(f"run.json names the parent {record.get('parent')}, and the Log {link}", event)
        folder = self.looking.folder.parent / link["run_id"]
        request, theirs = record.get("request", {}), lines.whole(folder / "run.json") or {}
        if request.get("mode") == Mode.CONVERSATION:
            self._breach("a child is a conversation", event)
        if not link.get("step_id") and (request.get("env") or request.get("secrets")):
            self._breach("a child has variables", event)
        log = _log(folder)
        if log is None or not theirs:
            # Retention removes a parent before its children, or after them.
            return
        asked = [one for one in log if one["event"]["type"] == Rasp.SUBAGENT_REQUESTED]
        if self.looking.run not in [one["data"]["child_run_id"] for one in asked]:
            self._breach(f"it names the parent {link['run_id']}, which has not asked for it", event)
        above = theirs.get("parent") or {"root": link["run_id"], "depth": 0}
        if link["root"] != above["root"] or link["depth"] != above["depth"] + 1:
            self._breach(f"it is at depth {link['depth']} below {link['root']}, its parent at {above}", event)
        if link.get("step_id"):
            return self._of_step(link["step_id"], request, theirs["request"], event)
        allowed = theirs["request"].get("delegation") or {}
        if link["depth"] > allowed.get("max_depth", 0):
            self._breach(f"it is at depth {link['depth']}, and its parent allows {allowed.get('max_depth')}", event)
        engine, skill = record["engine"]["name"], (record.get("skill") or {}).get("name")
        is_allowed = engine in (allowed.get("engines") or [engine])
        if not is_allowed or skill and skill not in (allowed.get("skills") or [skill]):
            self._breach(f"its parent allows neither {engine} nor {skill}", event)
        if request["permission"] != theirs["request"]["permission"]:
            self._breach(f"it has the permission {request['permission']}, and its parent another", event)

    def _of_step(self, name: str, request: dict[str, Any], theirs: dict[str, Any], event: Event) -> None:
        """The child of a workflow has the permission that the plan gives to its step, and the variables of the workflow."""
        step = next((step for step in (theirs.get("workflow") or {}).get("steps", []) if step["id"] == name), None)
        if step is None:
            return self._breach(f"it names the step {name}, which its parent does not have", event)
        permission = step.get("permission") or theirs["permission"]
        if request["permission"] != permission:
            self._breach(f"it has the permission {request['permission']}, and its step {permission}", event)
        if [request["env"], request["secrets"]] != [theirs["env"], theirs["secrets"]]:
            self._breach("it has other variables than its workflow", event)

    def _waited(self, event: Event) -> None:
        """A wait of the scripted engine, whose tools print what they receive."""
        said = _object(event.data.get("output"))
        if said.get("is") != "waited" or not isinstance(said.get("runs"), list):
            return
        self.looking.count(Law.CHILDREN, "waits")
        states = {run["run_id"]: run["state"] for run in said["runs"]}
        known = {child: self.ended[child].data["status"] for child in states if child in self.ended}
        for child, state in states.items():
            # It may have ended since.
            if state not in OPEN and state != known.get(child):
                self._breach(f"a wait says that child {child} is {state}, and the Log {known.get(child)}", event)
        is_over = all(state not in OPEN for state in states.values())
        is_good = all(state == "completed" for state in states.values())
        outcome = "completed" if is_good else "partial" if is_over else "incomplete"
        if said["outcome"] != outcome:
            self._breach(f"a wait is {said['outcome']} with children {sorted(states.values())}", event)

    def _ended(self, event: Event) -> None:
        child = event.data["child_run_id"]
        if child not in self.asked:
            self._breach(f"child {child} ended and was not asked for", event)
        earlier = self.ended.get(child)
        if earlier and earlier.data["status"] != "detached":
            self._breach(f"child {child} ended twice", event)
        self.ended[child] = event

    def end(self, fold: Fold) -> None:
        limit = self.limits.get("max_total")
        if self.asked and not self.parent and limit is not None and (size := self._below(self.looking.run)) > limit:
            self._breach(f"{size} runs are below it, and {limit} are allowed", next(iter(self.asked.values())))
        for child, asked in self.asked.items():
            self.looking.count(Law.CHILDREN, "children")
            self._child(child, asked)

    def _below(self, run: str) -> int:
        log = _log(self.looking.folder.parent / run) or []
        asked = [one["data"]["child_run_id"] for one in log if one["event"]["type"] == Rasp.SUBAGENT_REQUESTED]
        return len(asked) + sum(self._below(child) for child in asked)

    def _child(self, child: str, asked: Event) -> None:
        folder, ended = self.looking.folder.parent / child, self.ended.get(child)
        log = _log(folder)
        if log is None:
            was_never_made = ended and ended.data["reason"] == "CHILD_NOT_MADE"
            if self.looking.is_settled and not was_never_made and not _is_removed(self.looking):
                self._breach(f"child {child} does not exist", ended or asked)
            return
        link = log[0]["data"].get("parent") or {}
        if link.get("run_id") != self.looking.run or link.get("attempt") != asked.attempt:
            self._breach(f"child {child} names another parent: {link}", asked)
        if ended and ended.data["status"] == "detached" and ended.data.get("child_seq") is not None:
            self._breach(f"child {child} is detached, and its parent cites event {ended.data['child_seq']}", ended)
        if ended and ended.data["status"] != "detached":
            self._follows(child, ended, log)

    def _follows(self, child: str, ended: Event, log: list[dict[str, Any]]) -> None:
        seq, status = ended.data.get("child_seq"), ended.data["status"]
        if ended.data["reason"] == "CHILD_NOT_MADE":
            return self._breach(f"child {child} exists, and its parent says that it was not made", ended)
        last = next((event for event in log if event["seq"] == seq), None)
        word = last["event"]["type"] if last else None
        if status not in STATES.get(word, set()):
            return self._breach(f"child {child} is {status}, and event {seq} of its Log is {word}", ended)
        if word == "run.failed":
            error = last["data"]["error"]
            is_timeout = error["category"] == "timeout" or error["code"] in TIMEOUTS
            if is_timeout != (status == "timed_out"):
                self._breach(f"child {child} is {status}, and failed with {error['code']}", ended)
        if status != "completed" and ended.data.get("summary"):
            self._breach(f"child {child} is {status}, and its parent has an answer of it", ended)
        if status == "completed":
            self._answers(child, ended)

    def _answers(self, child: str, ended: Event) -> None:
        """The summary is the beginning of the answer, or of the output where the answer has no other text."""
        result = lines.whole(self.looking.folder.parent / child / "result.json")
        if result is None:
            return
        summary, text, output = ended.data.get("summary"), result["text"] or "", result["output"]
        if text.strip():
            is_so = summary is not None and text.startswith(summary)
        elif output is not None:
            # It may be cut.
            is_so = summary is not None and _object(summary) in (output, {})
        else:
            is_so = summary is None
        if not is_so:
            self._breach(f"child {child} is completed, and its summary is not its answer: {summary!r:.100}", ended)

    def _breach(self, what: str, event: Event) -> None:
        self.looking.breach(Law.CHILDREN, what, event.attempt, event.where)


def _log(folder: Path) -> list[dict[str, Any]] | None:
    """The events of a child; none where it was not made."""
    try:
        text = (folder / "events.jsonl").read_text(errors="replace")
    except FileNotFoundError:
        return None
    # A line without its end is still being written.
    events = [json.loads(line) for line in text.split("\n")[:-1]]
    return events or None


def _object(text: Any) -> dict[str, Any]:
    """A JSON object in a text; an empty one where there is none, or a part of one."""
    try:
        value = json.loads(text)
    except (TypeError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def _is_removed(looking: Looking) -> bool:
    """Retention removes runs one by one, and notes each."""
    return lines.whole(looking.audit / "removed.json") is not None
