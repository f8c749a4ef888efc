"""The words of the wire that the oracle knows, from the contract. Others are counted, not guessed at."""

from __future__ import annotations

from enum import StrEnum


class Status(StrEnum):
    QUEUED = "queued"
    RUNNING = "running"
    WAITING_USER = "waiting_user"
    SUCCEEDED = "succeeded"
    CLOSED = "closed"
    FAILED = "failed"
    CANCELED = "canceled"

    @property
    def is_terminal(self) -> bool:
        return self in (Status.SUCCEEDED, Status.CLOSED, Status.FAILED, Status.CANCELED)


class Mode(StrEnum):
    AUTO = "auto"
    INTERACTIVE = "interactive"
    CONVERSATION = "conversation"


class Phase(StrEnum):
    """Phases of a run that change what may follow."""

    CANCELING = "canceling"
    INTERRUPTING = "interrupting"
    CLOSING = "closing"
    CHECKING = "checking"
    # The time of a workflow is over.
    TIME_UP = "time_up"


class Scope(StrEnum):
    """What a question waits for."""

    TURN = "turn"
    CALL = "call"
    # The run rests: it waits for the next prompt.
    PROMPT = "prompt"
    # A decision about a step of a workflow.
    STEP = "step"


class Rasp(StrEnum):
    """Types of RASP events."""

    RUN_STARTED = "run.started"
    RUN_STATUS = "run.status"
    RUN_HEARTBEAT = "run.heartbeat"
    RUN_COMPLETED = "run.completed"
    RUN_FAILED = "run.failed"
    RUN_CANCELED = "run.canceled"
    MESSAGE_USER = "message.user"
    MESSAGE_DELTA = "agent.message.delta"
    MESSAGE_FINAL = "agent.message.final"
    REASONING = "agent.reasoning.summary"
    REQUESTED = "interaction.requested"
    REPLIED = "interaction.replied"
    TIMEOUT = "interaction.timeout"
    AUTO_DECISION = "interaction.auto_decision"
    TOOL_STARTED = "tool.call.started"
    TOOL_COMPLETED = "tool.call.completed"
    TOOL_FAILED = "tool.call.failed"
    ARTIFACT_CREATED = "artifact.created"
    ARTIFACT_INDEXED = "artifact.indexed"
    ARTIFACT_PREVIEW = "artifact.preview_ready"
    PARSER_WARNING = "parser.warning"
    PARSER_ERROR = "parser.error"
    ENGINE_ERROR = "engine.error"
    RAW_STDOUT = "raw.stdout"
    RAW_STDERR = "raw.stderr"
    ATTEMPT_STARTED = "attempt.started"
    ATTEMPT_ENDED = "attempt.ended"
    TURN_USAGE = "turn.usage"
    SUBAGENT_REQUESTED = "subagent.requested"
    SUBAGENT_STARTED = "subagent.started"
    SUBAGENT_ENDED = "subagent.ended"
    SUBAGENT_OBSERVED = "subagent.observed"
    CHECK_ENDED = "check.ended"
    WORKFLOW_STARTED = "workflow.started"
    STEP_SCHEDULED = "workflow.step_scheduled"
    STEP_HELD = "workflow.step_held"
    STEP_ENDED = "workflow.step_ended"
    WORKFLOW_ENDED = "workflow.ended"


KNOWN = frozenset(Rasp)

RUN_ENDS = {
    Rasp.RUN_COMPLETED: Status.SUCCEEDED,
    Rasp.RUN_FAILED: Status.FAILED,
    Rasp.RUN_CANCELED: Status.CANCELED,
}

CLOSED = "CLOSED"
INTERRUPTED = "1b"

CONTROL = "control"
STREAMS = ("stdout", "stderr")
