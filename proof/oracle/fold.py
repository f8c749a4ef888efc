"""The oracle's own fold of a Log: what state a run is in. Written from contract R3.2 and contract R6."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .event import Event
from .words import CLOSED, RUN_ENDS, Mode, Phase, Rasp, Scope, Status


@dataclass
class Reply:
    """An answer that is in the Log, whatever gave it."""

    interaction: int
    text: str
    mode: str
    request_id: str | None
    scope: str
    # The engine's own name for a question inside a turn.
    call_id: str | None
    # The attempt that was open or had ended last.
    attempt: int
    seq: int
    # The attempt that began with it; none yet, or for a question inside a turn.
    begins: int | None = None


def _call_id(context: Any) -> str | None:
    """The context of a question is the engine's and may be anything."""
    return context.get("call_id") if isinstance(context, dict) else None


def end_status(event: Event) -> Status:
    """The status of a run whose terminal record this is. One that was closed is not one that succeeded."""
    if event.kind is Rasp.RUN_COMPLETED and event.data.get("reason_code") == CLOSED:
        return Status.CLOSED
    return RUN_ENDS[event.kind]


@dataclass
class Fold:
    status: Status | None = None
    mode: str | None = None
    # A run of a prompt has no skill, and so no marker.
    has_skill: bool = True
    # Its steps are other runs.
    is_workflow: bool = False
    # The last attempt that began.
    attempt: int = 0
    is_open: bool = False
    # Verdicts of settled attempts, by attempt.
    verdicts: dict[int, dict[str, Any]] = field(default_factory=dict)
    # The last turn record has not been followed by what must follow it.
    is_unfinished: bool = False
    question: dict[str, Any] | None = None
    asked: int = 0
    replies: list[Reply] = field(default_factory=list)
    auto_decisions: int = 0
    is_canceling: bool = False
    # The cancel came after the turn record of a run that waits for the ends of its children.
    is_canceled_late: bool = False
    open_children: set[str] = field(default_factory=set)
    is_closing: bool = False
    # The attempts that were interrupted while they were open.
    interrupts: set[int] = field(default_factory=set)
    # The prompts that came with interrupts, and the attempts that these were for.
    says: dict[str, int] = field(default_factory=dict)
    failing: str | None = None
    # A check was announced after the last turn record.
    is_checked: bool = False
    # The run's terminal record.
    end: Event | None = None
    last_seq: int = 0
    # Moments, as they are written: of the first event, and of the start of the first attempt.
    created_at: str | None = None
    started_at: str | None = None
    # It does not begin before this moment.
    not_before: str | None = None
    # Its process waits between turns.
    is_sticky: bool = False
    artifacts: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def verdict(self) -> dict[str, Any] | None:
        """Of the last settled attempt."""
        return self.verdicts[max(self.verdicts)] if self.verdicts else None

    @property
    def is_at_rest(self) -> bool:
        """It waits for the next prompt."""
        asks = (self.question or {}).get("scope") == Scope.PROMPT
        return self.status is Status.WAITING_USER and not self.is_open and asks

    @property
    def is_conversation(self) -> bool:
        return self.mode == Mode.CONVERSATION

    @property
    def reason_code(self) -> str | None:
        return self.end.data.get("reason_code") if self.end else None

    @property
    def error(self) -> dict[str, Any] | None:
        return self.end.data.get("error") if self.end else None

    @property
    def codes(self) -> set[str]:
        """Names for how it ended."""
        error = self.error or {}
        return {code for code in (self.reason_code, error.get("code")) if code}

    def take(self, event: Event) -> None:
        self.last_seq = event.seq
        if event.kind in RUN_ENDS:
            self._ended(event)
        elif step := _STEPS.get(event.kind):
            step(self, event)

    def _ended(self, event: Event) -> None:
        # The first one is the last event of the run, permanently.
        if self.end is None:
            self.end, self.status = event, end_status(event)
            self.question, self.is_open, self.is_unfinished = None, False, False

    def _run_started(self, event: Event) -> None:
        self.created_at = event.value.get("ts")
        self.not_before = event.data.get("not_before")
        self.is_sticky = event.data.get("continuation") == "sticky"
        self.mode = event.data.get("mode")
        self.is_workflow = event.data.get("workflow") is not None
        self.has_skill = event.data.get("title") is None and not self.is_workflow

    def _run_status(self, event: Event) -> None:
        # What an engine reports about itself is not a status of the run.
        if not event.is_control or self.end:
            return
        match event.data.get("phase"):
            case Phase.CANCELING:
                self.is_canceling = True
                self.is_canceled_late = self.is_unfinished and bool(self.open_children)
            case Phase.CLOSING | Phase.TIME_UP if self.is_workflow:
                # Only the question about a step is closed; the workflow has other steps.
                self.question = None
            case Phase.CLOSING:
                self.is_closing = True
            case Phase.INTERRUPTING:
                self.interrupts.add(self.attempt)
                if say := event.data.get("say"):
                    self.says[say] = self.attempt
        if (status := event.data.get("status")) in _STATUSES:
            self.status = Status(status)
            # The end of the run follows from the turn record after the checks too.
            self.is_unfinished = self.is_unfinished and event.data.get("phase") == Phase.CHECKING
            self.is_checked = self.is_unfinished

    def _attempt_started(self, event: Event) -> None:
        self.attempt, self.is_open = event.attempt, True
        self.started_at = self.started_at or event.data.get("started_at")
        if self.replies and self.replies[-1].scope != Scope.CALL and self.replies[-1].begins is None:
            self.replies[-1].begins = event.attempt

    def _attempt_ended(self, event: Event) -> None:
        # A question inside the turn goes with it.
        self.is_open, self.question, self.is_unfinished = False, None, True
        self.verdicts[event.attempt] = event.data.get("verdict") or {}

    def _requested(self, event: Event) -> None:
        self.question, self.asked = event.data, self.asked + 1

    def _replied(self, event: Event) -> None:
        question, self.question = self.question or {}, None
        reply = Reply(
            interaction=event.data.get("interaction_id", 0),
            text=event.data.get("text", ""),
            mode=event.data.get("resolution_mode", ""),
            request_id=event.value["correlation"].get("request_id"),
            scope=question.get("scope", "turn"),
            call_id=_call_id(question.get("context")),
            attempt=self.attempt,
            seq=event.seq,
        )
        self.replies.append(reply)

    def _timeout(self, event: Event) -> None:
        if code := event.data.get("fails_with"):
            self.failing, self.question = code, None
        elif self.is_workflow:
            self.question = None

    def _auto_decision(self, _: Event) -> None:
        self.auto_decisions += 1

    def _child_requested(self, event: Event) -> None:
        self.open_children.add(event.data.get("child_run_id", ""))

    def _child_ended(self, event: Event) -> None:
        self.open_children.discard(event.data.get("child_run_id", ""))

    def _workflow_started(self, event: Event) -> None:
        self.started_at = self.started_at or event.value.get("ts")

    def _artifact_created(self, event: Event) -> None:
        # Reported again by the event that follows, if there is still such a file.
        self.artifacts.pop(event.data.get("path", ""), None)

    def _artifact_indexed(self, event: Event) -> None:
        self.artifacts[event.data.get("path", "")] = event.data


_STATUSES = frozenset(Status)

_STEPS = {
    Rasp.RUN_STARTED: Fold._run_started,
    Rasp.RUN_STATUS: Fold._run_status,
    Rasp.ATTEMPT_STARTED: Fold._attempt_started,
    Rasp.ATTEMPT_ENDED: Fold._attempt_ended,
    Rasp.REQUESTED: Fold._requested,
    Rasp.REPLIED: Fold._replied,
    Rasp.TIMEOUT: Fold._timeout,
    Rasp.AUTO_DECISION: Fold._auto_decision,
    Rasp.SUBAGENT_REQUESTED: Fold._child_requested,
    Rasp.SUBAGENT_ENDED: Fold._child_ended,
    Rasp.WORKFLOW_STARTED: Fold._workflow_started,
    Rasp.ARTIFACT_CREATED: Fold._artifact_created,
    Rasp.ARTIFACT_INDEXED: Fold._artifact_indexed,
}
