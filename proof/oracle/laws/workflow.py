"""Law `workflow`: how a workflow and its steps ended follows from its plan and the Logs of its children, from the answers
of its user, and from nothing else: not from what the workflow says of its steps, and never from the prose of an agent.
Written from contract R5.30 and the plan in `run.json`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from .. import child as children
from .. import lines, steps
from ..child import Child
from ..event import Event
from ..fold import Fold
from ..lockstep import shown
from ..looking import Looking
from ..report import Law
from ..steps import Outcome, Result, State
from ..words import RUN_ENDS, Phase, Rasp, Status

# How far a step that was taken over may have been taken over itself.
REUSES_MAX = 100

NOT_MADE = "CHILD_NOT_MADE"
INPUT_INVALID = "STEP_INPUT_INVALID"

# What the answers to the question about a held step mean; people may give the label of an option in place of its value.
ANSWERS: dict[str, dict[str, str]] = {
    "before": {"start": "start the step", "skip": "leave it out, and all that needs it", "stop": "end the workflow here"},
    "after": {"accept": "accept the result", "retry": "run the step again", "reject": "the result does not count"},
    "failure": {
        "retry": "run the step again",
        "continue": "continue without it, and without all that needs it",
        "stop": "end the workflow here",
    },
}
# What may have become of a step when the time of its workflow was over in the same moment.
LATE = {State.HELD, State.TIMED_OUT, State.CANCELLED}
# Where another engine is tried, and what the plan calls the causes for trying the same one again.
OF_ENGINE = {"quota", "network", "missing"}

Name = tuple[str, int | None]


@dataclass
class Try:
    """A child that was scheduled."""

    event: Event
    child: str
    engine_index: int
    # The user wanted it.
    is_wanted: bool


@dataclass
class Hold:
    """The last question about a step or an item. `decision` is what the user wants; none while that is not known."""

    why: str
    interaction: int
    decision: str | None = None
    is_closed: bool = False


@dataclass
class Part:
    """A step, or one item of a step that repeats."""

    tries: list[Try] = field(default_factory=list)
    hold: Hold | None = None
    # The `workflow.step_ended` after its last try.
    end: Event | None = None
    # What was known when that was written.
    was_stopped: bool = False


class Workflow:
    law = Law.WORKFLOW

    def __init__(self, looking: Looking) -> None:
        self.looking = looking
        self.request = looking.record.get("request") or {}
        self.plan: dict[str, Any] | None = self.request.get("workflow")
        self.steps = {step["id"]: step for step in self.plan["steps"]} if self.plan else {}
        self.parts: dict[Name, Part] = {}
        self.items: dict[str, int] = {}
        # By child: the step and the item, its key, whether it was asked for, and how its parent says that it ended.
        self.names: dict[str, Name] = {}
        self.keys: dict[str, str] = {}
        self.asked: set[str] = set()
        self.reports: dict[str, Event] = {}
        self.open_hold: Hold | None = None
        self.is_stopped = self.is_canceled = self.is_time_up = False
        self.started: Event | None = None
        self.ended: Event | None = None
        # Worked out at the end.
        self.logs: dict[str, Child | None] = {}
        self.results: dict[Name, Result | None] = {}

    # The Log of the workflow.

    def event(self, event: Event, before: Fold) -> None:
        if self.plan is None:
            if event.kind is Rasp.RUN_STARTED and event.data.get("workflow"):
                self._breach("is a workflow, and run.json has no plan", event)
            return
        if take := _TAKES.get(event.kind):
            take(self, event)
        elif event.kind in RUN_ENDS:
            self._run_ended(event)

    def _started(self, event: Event) -> None:
        if self.started:
            self._breach("began twice", event)
        self.started = event
        if event.data.get("steps") != len(self.steps):
            self._breach(f"began with {event.data.get('steps')} steps, and its plan has {len(self.steps)}", event)
        if event.data.get("reuses") != self.request.get("reuses"):
            self._breach(f"reuses {event.data.get('reuses')}, and run.json says {self.request.get('reuses')}", event)

    def _scheduled(self, event: Event) -> None:
        data = event.data
        step, item, child = data["step_id"], data.get("item"), data.get("child_run_id")
        if step not in self.steps:
            return self._breach(f"the step {step} is not in the plan", event)
        what = f"the step {_shown((step, item))} began"
        if self.is_stopped:
            self._breach(f"{what} after the workflow had stopped", event)
        if self._ended_as(step):
            self._breach(f"{what} after it had ended", event)
        for need in self.steps[step].get("needs") or []:
            if self._ended_as(need) is not State.READY:
                self._breach(f"{what}, and needs {need}, which is {self._ended_as(need) or 'not over'}", event)
        self._count(step, data.get("items"), event)
        if child is not None:
            self._try(event, (step, item), child)
        elif self.items.get(step) != 0:
            self._breach(f"{what} without a child", event)

    def _try(self, event: Event, name: Name, child: str) -> None:
        part = self.parts.setdefault(name, Part())
        number, key = len(part.tries) + 1, f"{_shown(name)}#{event.data['trial']}"
        if event.data["trial"] != number or child in self.names:
            self._breach(f"{key} is the try {number} of its step, with the child {child}", event)
        if any(asked.child not in self.reports for asked in part.tries):
            self._breach(f"{key} began while the try before it worked", event)
        working = sum(child not in self.reports for child in self.names)
        if working >= max(1, self.plan["concurrency"]):
            self._breach(f"{key} began while {working} children worked, and {self.plan['concurrency']} may", event)
        is_wanted = part.hold is not None and part.hold.decision == "retry"
        whole = self.parts.get((name[0], None))
        is_wanted |= whole is not None and whole.hold is not None and whole.hold.decision == "retry"
        part.tries.append(Try(event, child, event.data.get("engine_index", 0), is_wanted))
        part.hold = part.end = None
        self.names[child], self.keys[child] = name, key

    def _requested(self, event: Event) -> None:
        child = event.data["child_run_id"]
        if child not in self.names:
            return self._breach(f"child {child} was asked for, and no step began with it", event)
        self.asked.add(child)
        if event.data["key"] != self.keys[child]:
            self._breach(f"the child of {self.keys[child]} was asked for as {event.data['key']}", event)

    def _child_ended(self, event: Event) -> None:
        self.reports[event.data["child_run_id"]] = event

    def _held(self, event: Event) -> None:
        name = (event.data["step_id"], event.data.get("item"))
        if self.open_hold:
            self._breach(f"{_shown(name)} asks while question {self.open_hold.interaction} is open", event)
        hold = Hold(event.data["why"], event.data["interaction_id"])
        self.parts.setdefault(name, Part()).hold = self.open_hold = hold

    def _replied(self, event: Event) -> None:
        hold, self.open_hold = self.open_hold, None
        if hold and hold.interaction == event.data["interaction_id"]:
            word = event.data["text"].strip().lower()
            fits = (value for value, label in ANSWERS[hold.why].items() if word in (value, label))
            hold.decision = next(fits, None)

    def _closed(self, _: Event) -> None:
        """If the step ended before, because another one stopped the workflow, its question decides nothing."""
        if self.open_hold:
            part = next(part for part in self.parts.values() if part.hold is self.open_hold)
            self.open_hold.is_closed, self.open_hold = part.end is None, None

    def _status(self, event: Event) -> None:
        match event.data.get("phase"):
            case Phase.CANCELING:
                self.is_canceled = self.is_stopped = True
            case Phase.TIME_UP:
                self.is_time_up = self.is_stopped = True
                self._closed(event)
            case Phase.CLOSING:
                self._closed(event)

    def _step_ended(self, event: Event) -> None:
        step, item = event.data["step_id"], event.data.get("item")
        if step not in self.steps:
            return self._breach(f"the step {step} is not in the plan", event)
        part = self.parts.setdefault((step, item), Part())
        if part.end:
            self._breach(f"the step {_shown((step, item))} ended twice", event)
        part.end, part.was_stopped = event, self.is_stopped
        if working := [child for child in self._children(step, item) if child not in self.reports]:
            self._breach(f"the step {_shown((step, item))} ended, and its child {working[0]} works", event)
        self._count(step, event.data.get("items"), event)
        self._stops(step, item, event)

    def _stops(self, step: str, item: int | None, event: Event) -> None:
        """A step that did not become ready, and after which others must not begin, says so."""
        state, stops = event.data["state"], event.data.get("stops", False)
        must_stop = self.steps[step]["on_failure"] == "stop" and state not in (State.READY, State.SKIPPED)
        if item is None and must_stop and not stops and not self.is_stopped:
            self._breach(f"the step {step} is {state}, and the workflow did not stop", event)
        self.is_stopped |= stops

    def _workflow_ended(self, event: Event) -> None:
        if self.ended:
            self._breach("ended twice", event)
        self.ended = event
        for child in self.names.keys() - self.reports.keys():
            self._breach(f"ended, and the child {self.keys[child]} works", event)
        for step in self.steps:
            if self._ended_as(step) is None:
                self._breach(f"ended, and the step {step} did not", event)

    def _run_ended(self, event: Event) -> None:
        if self.started and not self.ended:
            self._breach(f"{event.word} without the end of the workflow", event)

    def _count(self, step: str, items: int | None, event: Event) -> None:
        """How many items a step has is known once, before the first of them begins."""
        if items is not None and self.items.setdefault(step, items) != items:
            self._breach(f"the step {step} has {items} items, and had {self.items[step]}", event)

    def _ended_as(self, step: str) -> State | None:
        part = self.parts.get((step, None))
        return State(part.end.data["state"]) if part and part.end else None

    def _children(self, step: str, item: int | None) -> list[str]:
        """The child that decides; all of them for the end of a step that repeats."""
        parts = [part for name, part in self.parts.items() if name[0] == step and item in (None, name[1])]
        return [part.tries[-1].child for part in parts if part.tries]

    # The Logs of the children, and what follows from them.

    def end(self, fold: Fold) -> None:
        if self.plan is None:
            return
        self.looking.count(Law.WORKFLOW, "workflows")
        self.looking.count(Law.WORKFLOW, "children", len(self.names))
        runs = self.looking.folder.parent
        self.logs = {child: children.read(runs / child) for child in self.names}
        for child, name in self.names.items():
            self._made(child, name)
        self._alone()
        for step, count in self.items.items():
            self._list(step, count)
        for name, part in self.parts.items():
            if part.tries:
                self._tries(name, part)
            if part.end and not self._is_only_canceled(part):
                self._compare(name, part)
        if self.ended and fold.end:
            self._outcome(self.ended, fold.end)

    def _made(self, child: str, name: Name) -> None:
        """What a child says of itself fits what was asked for."""
        asked, log = self._try_of(child), self.logs[child]
        if child not in self.asked and self.looking.is_settled:
            self._breach(f"the child of {self.keys[child]} was never asked for", asked.event)
        if log is None:
            return
        if (log.parent.get("run_id"), log.parent.get("step_id")) != (self.looking.run, name[0]):
            self._breach(f"the child of {self.keys[child]} names another step: {log.parent}", asked.event)
        engines = self.steps[name[0]].get("engines") or ["workflow"]
        wanted = engines[asked.engine_index] if asked.engine_index < len(engines) else None
        if log.engine != wanted:
            self._breach(f"the child of {self.keys[child]} has the engine {log.engine}, not {wanted}", asked.event)
        later = asked.event.data.get("not_before")
        if later and log.began and _moment(log.began) < _moment(later):
            self._breach(f"the child of {self.keys[child]} began before {later}", asked.event)
        if self.ended and log.end is None and not self._is_left(child):
            self._breach(f"ended, and its child {child} has no end", self.ended)

    def _try_of(self, child: str) -> Try:
        return next(one for one in self.parts[self.names[child]].tries if one.child == child)

    def _is_left(self, child: str) -> bool:
        """It did not end in time after it was canceled."""
        report = self.reports.get(child)
        return report is not None and report.data["status"] == "detached"

    def _alone(self) -> None:
        """A step that may write in the shared folder works alone there."""
        permission = self.request.get("permission", "workspace")
        spans = []
        for child, log in self.logs.items():
            step = self.steps[self.names[child][0]]
            if log and log.began and step["workspace"] == "shared" and not self._is_left(child):
                end = _moment(log.ended) if log.ended else datetime.max.replace(tzinfo=_moment(log.began).tzinfo)
                spans.append((_moment(log.began), end, steps.may_write_shared(step, permission), self.keys[child]))
        # Who of those before leaves last, of the writers and of all.
        writer = anyone = None
        for span in sorted(spans):
            begin, end, writes, key = span
            for other in (anyone if writes else None, writer):
                if other and other[1] > begin:
                    self._breach(f"{key} and {other[3]} worked in the shared folder at the same time", self._event(key))
                    break
            anyone = max(anyone or span, span, key=lambda one: one[1])
            writer = max(writer or span, span, key=lambda one: one[1]) if writes else writer

    def _event(self, key: str) -> Event:
        return next(self._try_of(child).event for child, one in self.keys.items() if one == key)

    def _list(self, step: str, count: int) -> None:
        """A step repeats as often as its list is long."""
        found = self._value(self.steps[step]["for_each"])
        if isinstance(found, list) and len(found) != count:
            what = f"the step {step} has {count} items, and its list has {len(found)}"
            self.looking.breach(Law.WORKFLOW, what)

    def _is_empty(self, step: dict[str, Any]) -> bool:
        """It repeats over a list without an item."""
        return step.get("for_each") is not None and self._value(step["for_each"]) == []

    def _value(self, value: Any) -> Any:
        """Where a pointer leads, as far as the Logs of the children have it; none where they do not."""
        pointer = value.get("from") if isinstance(value, dict) else value
        if not isinstance(pointer, str):
            return value
        match [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]:
            case ["inputs", *path]:
                found = self.request.get("input")
            case ["steps", step, "output", *path] if (part := self.parts.get((step, None))) and part.tries:
                log = self.logs[part.tries[-1].child]
                found = log and steps.output_of(log, self.steps[step])
            case _:
                return None
        for word in path:
            is_place = isinstance(found, list) and word.isdecimal() and int(word) < len(found)
            found = found[int(word)] if is_place else found.get(word) if isinstance(found, dict) else None
        return found

    def _tries(self, name: Name, part: Part) -> None:
        """Nothing is tried again but for a cause on the closed list, and what can be tried again is."""
        step, again, spent = self.steps[name[0]], 0, 0
        for earlier, later in zip(part.tries, part.tries[1:]):
            is_next = later.engine_index == earlier.engine_index + 1
            again += not later.is_wanted and not is_next
            # An engine that the user has tried again is not tried once more for a cause.
            spent += not is_next
            if not later.is_wanted and not self._may_follow(step, earlier, is_next):
                self._breach(f"{self.keys[later.child]} has no cause in the Log of {earlier.child}", later.event)
        most = (step.get("retries") or {}).get("max", 0)
        if again > most:
            self._breach(f"{_shown(name)} was tried again {again} times", part.tries[-1].event)
        last = part.tries[-1]
        has_next = last.engine_index + 1 < len(step.get("engines") or [])
        is_possible = has_next and self._may_follow(step, last, is_next=True)
        is_possible |= spent < most and self._may_follow(step, last, is_next=False)
        # Why a child could not be made is not in any Log.
        is_possible &= self.logs[last.child] is not None
        if is_possible and part.end and not part.hold and not part.was_stopped:
            self._breach(f"{_shown(name)} was not tried again after {self.keys[last.child]}", part.end)

    def _may_follow(self, step: dict[str, Any], earlier: Try, is_next: bool) -> bool:
        causes = self._causes(earlier.child)
        if is_next:
            return bool(causes & OF_ENGINE)
        return bool(causes & set((step.get("retries") or {}).get("on") or []))

    def _causes(self, child: str) -> set[str]:
        """Why the child may be tried again; none of these can repeat a side effect of an agent."""
        log = self.logs[child]
        if log is None:
            # Its engine is not installed, or something else was in the way; nothing has happened.
            report = self.reports.get(child)
            return {"missing"} if report and report.data["reason"] == NOT_MADE else set()
        if log.end is not Rasp.RUN_FAILED:
            return set()
        if log.category in ("quota", "network"):
            return {log.category}
        if log.code == "ENGINE_NOT_FOUND":
            return {"missing"}
        return {"host_lost"} if log.category == "host" and not log.is_heard else set()

    def _is_only_canceled(self, part: Part) -> bool:
        """A workflow that is canceled ends without a look at what its children left."""
        return self.is_canceled and part.end.data["state"] in (State.CANCELLED, State.SKIPPED)

    def _compare(self, name: Name, part: Part) -> None:
        told, result = State(part.end.data["state"]), self._result(name)
        self.looking.count(Law.WORKFLOW, "ends of steps")
        if result is None:
            return self.looking.count(Law.WORKFLOW, "steps whose children were removed")
        if not self._is_same(told, result.state):
            self._breach(f"the step {_shown(name)} is {told}, and its children make it {result.state}", part.end)
        if told is State.SKIPPED and not (part.was_stopped or part.hold or self._lacks_need(name[0])):
            self._breach(f"the step {_shown(name)} was left out without a reason", part.end)
        if told is State.READY and self._lacks_need(name[0]):
            self._breach(f"the step {_shown(name)} is ready, and {self._lacks_need(name[0])} is not", part.end)
        if child := part.end.data.get("child_run_id"):
            self._decided(name, child, part.end)

    def _decided(self, name: Name, child: str, end: Event) -> None:
        if end.data.get("reused"):
            return
        part, seq = self.parts[name], end.data.get("child_seq")
        if not part.tries or part.tries[-1].child != child:
            return self._breach(f"the step {_shown(name)} was decided by {child}, which is not its last child", end)
        log = self.logs[child]
        if log and seq is not None and seq != log.last_seq and not self._is_left(child):
            self._breach(f"the step {_shown(name)} was decided by event {seq} of {log.last_seq} of its child", end)

    def _is_same(self, told: State, wanted: State) -> bool:
        return told is wanted or (self.is_time_up and {told, wanted} <= LATE)

    def _lacks_need(self, step: str) -> str | None:
        for need in self.steps[step].get("needs") or []:
            result = self._result((need, None))
            if result and result.state is not State.READY:
                return need
        return None

    def _result(self, name: Name) -> Result | None:
        """How a step or an item ended, from the Logs of its children; none where these are gone."""
        if name not in self.results:
            self.results[name] = self._worked_out(name)
        return self.results[name]

    def _worked_out(self, name: Name) -> Result | None:
        step, item = name
        part = self.parts.get(name) or Part()
        if item is None and self.items.get(step) is not None and not (part.end and part.end.data.get("reused")):
            own = self._of_items(step)
        else:
            own = self._of_part(self.steps[step], item, part)
        return self._decision(part.hold, own)

    def _of_items(self, step: str) -> Result | None:
        begun = sorted(item for name, item in self.parts if name == step and item is not None)
        results = [self._result((step, item)) for item in begun]
        return None if None in results else steps.of_items(results, self.items[step])

    def _of_part(self, step: dict[str, Any], item: int | None, part: Part) -> Result | None:
        if part.end and (reused := part.end.data.get("reused")):
            return self._reused(step, part.end, reused)
        if not part.tries and item is None and self._is_empty(step) and part.end:
            return Result(State.READY if part.end.data["state"] == State.READY else State.SKIPPED)
        if not part.tries:
            is_invalid = part.end is not None and part.end.data["reason"] == INPUT_INVALID
            return Result(State.FAILED if is_invalid else State.SKIPPED)
        child = part.tries[-1].child
        log, report = self.logs[child], self.reports.get(child)
        if log is None and report is not None and report.data["reason"] != NOT_MADE:
            return None
        if self._is_left(child):
            return Result(State.TIMED_OUT if self.is_time_up else State.CANCELLED)
        return steps.of_child(log, step, self.is_time_up)

    def _decision(self, hold: Hold | None, own: Result | None) -> Result | None:
        """The same after the user has decided, or has not."""
        if hold is None:
            return own
        if hold.is_closed:
            return Result(State.TIMED_OUT if self.is_time_up else State.HELD)
        if hold.why == "after" and hold.decision == "reject":
            return Result(State.FAILED)
        return own

    def _reused(self, step: dict[str, Any], end: Event, reused: dict[str, Any]) -> Result | None:
        """A step that was taken over is ready if it is so in the Log of the other workflow, and that of its child."""
        for _ in range(REUSES_MAX):
            other = self.looking.folder.parent / reused["run_id"]
            told = _event_at(other, reused["seq"])
            if told is None:
                return None if not (other / "events.jsonl").exists() else Result(State.SKIPPED)
            data = told["data"]
            same = ("step_id", "item", "fingerprint")
            is_same = [data.get(word) for word in same] == [end.data.get(word) for word in same]
            is_ready = told["event"]["type"] == Rasp.STEP_ENDED and data["state"] == State.READY
            if not (is_same and is_ready and data.get("fingerprint")):
                self._breach(f"takes over event {reused['seq']} of {other.name}: {shown(data)}", end)
                return Result(State.SKIPPED)
            if not data.get("reused"):
                break
            reused = data["reused"]
        self.looking.count(Law.WORKFLOW, "steps taken over")
        if data.get("child_run_id") is None:
            # Of a step that repeats; the law looks at its items in that workflow.
            return Result(State.READY, data.get("has_output", False))
        log = children.read(self.looking.folder.parent / data["child_run_id"])
        return log and steps.of_child(log, step, False)

    def _outcome(self, ended: Event, end: Event) -> None:
        results = {step: self._result((step, None)) or self._told(step) for step in self.steps}
        required = [(self.steps[step]["required"], result) for step, result in results.items()]
        wanted = steps.outcome(self.is_canceled, self.is_time_up, required)
        told, kind = ended.data["outcome"], (end.kind, _reason(end))
        self.looking.count(Law.WORKFLOW, f"{wanted}")
        if told != wanted:
            self._breach(f"is {told}, and its children make it {wanted}", ended)
        if kind != steps.ENDS[wanted]:
            self._breach(f"is {wanted}, and its run ended with {kind[0]} {kind[1]}", end)
        if ended.data["ok"] != (wanted is Outcome.COMPLETED):
            self._breach(f"is {wanted}, and ok is {ended.data['ok']}", ended)
        self._summaries(ended, results)

    def _told(self, step: str) -> Result:
        """Where the Logs of the children are gone, what the workflow says has to do."""
        part = self.parts.get((step, None))
        data = part.end.data if part and part.end else {"state": State.SKIPPED}
        return Result(State(data["state"]), data.get("has_output", False))

    def _summaries(self, ended: Event, results: dict[str, Result]) -> None:
        told = ended.data["steps"]
        if [one["step_id"] for one in told] != [*self.steps]:
            return self._breach(f"ended with the steps {shown([one['step_id'] for one in told])}", ended)
        for one in told:
            step, result = one["step_id"], results[one["step_id"]]
            if one["required"] != self.steps[step]["required"] or one["state"] != self._ended_as(step):
                self._breach(f"ended with {shown(one)}, and the step {step} is {self._ended_as(step)}", ended)
            is_usable = result.is_usable and not self.is_canceled
            if one.get("usable", False) != is_usable and not self.is_canceled:
                self._breach(f"ended with {shown(one)}, and the step {step} is usable: {is_usable}", ended)

    def _breach(self, what: str, event: Event) -> None:
        self.looking.breach(Law.WORKFLOW, what, event.attempt, event.where)


def _shown(name: Name) -> str:
    step, item = name
    return step if item is None else f"{step}[{item}]"


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


def _reason(end: Event) -> str | None:
    return (end.data.get("error") or {}).get("code") or end.data.get("reason_code")


def _event_at(folder: Path, seq: int) -> dict[str, Any] | None:
    try:
        events = (line.value for line in lines.read(folder / "events.jsonl") if line.kind is lines.Kind.OBJECT)
        return next((event for event in events if event["seq"] == seq), None)
    except FileNotFoundError:
        return None


_TAKES = {
    Rasp.WORKFLOW_STARTED: Workflow._started,
    Rasp.STEP_SCHEDULED: Workflow._scheduled,
    Rasp.SUBAGENT_REQUESTED: Workflow._requested,
    Rasp.SUBAGENT_ENDED: Workflow._child_ended,
    Rasp.STEP_HELD: Workflow._held,
    Rasp.REPLIED: Workflow._replied,
    Rasp.TIMEOUT: Workflow._closed,
    Rasp.RUN_STATUS: Workflow._status,
    Rasp.STEP_ENDED: Workflow._step_ended,
    Rasp.WORKFLOW_ENDED: Workflow._workflow_ended,
}
