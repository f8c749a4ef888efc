"""How steps and workflows end, as the oracle works it out from the Logs of children. Pure: no file is read here."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from . import schema
from .child import Child
from .words import Rasp


class State(StrEnum):
    READY = "ready"
    PARTIAL = "partial"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    HELD = "held"
    CANCELLED = "cancelled"
    SKIPPED = "skipped"


class Outcome(StrEnum):
    COMPLETED = "completed"
    PARTIAL = "partial"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    HELD = "held"
    CANCELLED = "cancelled"


# The end of the run: its event, and its reason.
ENDS: dict[Outcome, tuple[Rasp, str]] = {
    Outcome.COMPLETED: (Rasp.RUN_COMPLETED, "WORKFLOW_COMPLETED"),
    Outcome.PARTIAL: (Rasp.RUN_FAILED, "WORKFLOW_PARTIAL"),
    Outcome.FAILED: (Rasp.RUN_FAILED, "WORKFLOW_FAILED"),
    Outcome.TIMED_OUT: (Rasp.RUN_FAILED, "WORKFLOW_TIMED_OUT"),
    Outcome.HELD: (Rasp.RUN_FAILED, "WORKFLOW_HELD"),
    Outcome.CANCELLED: (Rasp.RUN_CANCELED, "CANCELED"),
}

# A question of the child was closed without an answer.
UNDECIDED = {"INTERACTION_WAIT_TIMEOUT", "INTERACTION_ABORTED_BY_POLICY", "WORKFLOW_HELD"}
TIMEOUTS = {"TIMEOUT", "WORKFLOW_TIMED_OUT"}


@dataclass(frozen=True)
class Result:
    """How a step, or one item of it, ended."""

    state: State
    # It has an output that fits its schema.
    has_output: bool = False

    @property
    def is_usable(self) -> bool:
        return self.state is State.READY or (self.state is State.PARTIAL and self.has_output)


def of_child(child: Child | None, step: dict[str, Any], is_time_up: bool) -> Result:
    """What the end of the child that decides means for its step. None: the child was never made."""
    if child is None:
        return Result(State.FAILED)
    if child.end is Rasp.RUN_COMPLETED:
        return _completed(child, step)
    if child.end is Rasp.RUN_FAILED:
        return _failed(child)
    # Canceled, or left behind: its time was that of the workflow.
    return Result(State.TIMED_OUT if is_time_up else State.CANCELLED)


def _completed(child: Child, step: dict[str, Any]) -> Result:
    declared, output = _schema(child, step), output_of(child, step)
    if declared is not None and not child.has_large_output:
        if output is None or schema.problem(declared, output):
            return Result(State.FAILED)
    has_output = declared is not None or ("workflow" in step["task"] and output is not None)
    says_partial = schema.declares(declared, "partial") and (output or {}).get("partial") is True
    return Result(State.PARTIAL if _lacks_files(child, step) or says_partial else State.READY, has_output)


def output_of(child: Child, step: dict[str, Any]) -> dict[str, Any] | None:
    """Of a prompt the last object in the answer that fits, or else the last."""
    if "prompt" not in step["task"]:
        return child.output
    declared = _schema(child, step)
    fitting = [found for found in child.objects if schema.problem(declared, found) is None]
    return next(reversed(fitting or child.objects), None)


def _failed(child: Child) -> Result:
    if child.code == "WORKFLOW_PARTIAL":
        return Result(State.PARTIAL, child.output is not None)
    if child.code in UNDECIDED:
        return Result(State.HELD)
    is_timeout = child.category == "timeout" or child.code in TIMEOUTS
    return Result(State.TIMED_OUT if is_timeout else State.FAILED)


def _schema(child: Child, step: dict[str, Any]) -> Any:
    if step["task"].get("skill"):
        return child.schema()
    return (step.get("output") or {}).get("schema")


def _lacks_files(child: Child, step: dict[str, Any]) -> bool:
    wanted = (step.get("output") or {}).get("artifacts") or []
    return child.lacks_files or not child.artifacts.issuperset(wanted)


def of_items(results: list[Result], count: int) -> Result:
    """Of a step that repeats `count` times; `results` has those items that have begun, in their order."""
    ready = sum(result.state is State.READY for result in results)
    has_output = ready > 0 or any(result.has_output for result in results)
    if ready == count:
        return Result(State.READY, has_output)
    if ready or any(result.state is State.PARTIAL for result in results):
        return Result(State.PARTIAL, has_output)
    return next((result for result in results if result.state is not State.READY), Result(State.SKIPPED))


def outcome(is_canceled: bool, is_time_up: bool, steps: Iterable[tuple[bool, Result]]) -> Outcome:
    """The first that fits; each step with whether it is required."""
    steps = list(steps)
    states = {result.state for _, result in steps}
    if is_canceled:
        return Outcome.CANCELLED
    if all(result.state is State.READY for is_required, result in steps if is_required):
        return Outcome.COMPLETED
    if any(result.is_usable for _, result in steps):
        return Outcome.PARTIAL
    if is_time_up or State.TIMED_OUT in states:
        return Outcome.TIMED_OUT
    return Outcome.HELD if State.HELD in states else Outcome.FAILED


def may_write_shared(step: dict[str, Any], permission: str) -> bool:
    """`permission` is that of the workflow, for a step without its own."""
    is_reader = (step.get("permission") or permission) == "read_only" and not step.get("checks")
    return step["workspace"] == "shared" and not is_reader
