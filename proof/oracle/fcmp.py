"""The oracle's own translation of a Log into FCMP, from the table of contract R7.3."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from .echo import Decided, Shown, Waiting
from .event import Event
from .fold import end_status
from .words import RUN_ENDS, Rasp, Status

Data = dict[str, Any]

# Words for people are not promised: any text will do.
ANY_TEXT = "<any text>"

TOOL_NAMES = 10_000


class Translation:
    """Takes events in order; gives what stands for each."""

    def __init__(self) -> None:
        self._waiting = Waiting()
        self._attempt = 0
        self._tools: dict[str, str] = {}
        self._is_over = False

    def take(self, event: Event) -> Iterator[Data]:
        if self._is_over:
            return
        # An attempt may end without a word (a recording that was cut), so the next one ends it too.
        if event.attempt != self._attempt:
            yield from self._decided(self._waiting.end())
        self._attempt = event.attempt
        if event.kind in (Rasp.RAW_STDOUT, Rasp.RAW_STDERR):
            yield from self._decided(self._waiting.line(event))
            return
        if event.kind is Rasp.MESSAGE_FINAL:
            yield from self._decided(self._waiting.message(event.data.get("text") or ""))
        elif event.kind is Rasp.ATTEMPT_ENDED or event.kind in RUN_ENDS:
            yield from self._decided(self._waiting.end())
        yield from self._translated(event)
        self._is_over = event.kind in RUN_ENDS

    def _translated(self, event: Event) -> Iterator[Data]:
        if (make := _TABLE.get(event.kind)) is not None:
            word, data = make(self, event)
            yield _envelope(event, word, data)

    def _decided(self, decided: list[Decided]) -> Iterator[Data]:
        for one in decided:
            if isinstance(one, Shown):
                yield from self._translated(one.event)
            else:
                yield _left_out(one.events)

    def _tool_started(self, event: Event) -> tuple[str, Data]:
        # How many names are remembered is the product's own bound: past it, all are forgotten.
        if len(self._tools) >= TOOL_NAMES:
            self._tools.clear()
        name, call = event.data.get("name"), _call(event)
        if call is not None:
            self._tools[call] = name
        return _tool(event, "started", name=name, input=event.data.get("input"))

    def _tool_completed(self, event: Event) -> tuple[str, Data]:
        return _tool(event, "completed", name=self._tools.pop(_call(event), None), output=event.data.get("output"))

    def _tool_failed(self, event: Event) -> tuple[str, Data]:
        words = {"output": event.data.get("output"), "reason": event.data.get("reason")}
        return _tool(event, "failed", name=self._tools.pop(_call(event), None), **words)


def plain(data: Data) -> Data:
    """Without fields that say nothing: whether they are written is not promised."""
    return {key: value for key, value in data.items() if value is not None and value != []}


def seen_as(found: Data, wanted: Data) -> Data:
    """A line of FCMP as it is to be compared with a translation."""
    if not isinstance(found.get("data"), dict):
        return found
    data = plain(found["data"])
    for key, value in wanted["data"].items():
        if value == ANY_TEXT and isinstance(data.get(key), str):
            data[key] = ANY_TEXT
    return {**found, "data": data}


def _envelope(event: Event, word: str, data: Data) -> Data:
    value = event.value
    return {
        "protocol_version": "fcmp/1.0",
        "run_id": event.run,
        # The caller that compares knows which line it should be.
        "seq": None,
        "ts": value["ts"],
        "engine": value["source"]["engine"],
        "session_id": value["correlation"]["session_id"],
        "type": word,
        "data": plain(data),
        "meta": {"attempt": event.attempt, "confidence": value["source"]["confidence"], "rasp_seq": event.seq},
        "correlation": value["correlation"],
        "raw_ref": value["raw_ref"],
    }


def _left_out(events: list[Event]) -> Data:
    """One warning in place of an echo, with its count and range, standing where its first line stood."""
    first = events[0]
    stream = "stderr" if first.stream == "stderr" else "stdout"
    ranges = [(e.value["raw_ref"][f"{stream}_from"], e.value["raw_ref"][f"{stream}_to"]) for e in events]
    start, end = min(a for a, _ in ranges), max(b for _, b in ranges)
    data = {
        "code": "RAW_DUPLICATE_SUPPRESSED",
        "message": ANY_TEXT,
        "severity": "info",
        "count": len(events),
        "spans": [{"stream": first.stream, "from": start, "to": end}],
    }
    raw = {**first.value["raw_ref"], f"{stream}_to": end}
    return {**_envelope(first, "diagnostic.warning", data), "raw_ref": raw}


def _call(event: Event) -> str | None:
    return event.value["correlation"].get("tool_call_id")


def _tool(event: Event, status: str, **words: Any) -> tuple[str, Data]:
    return "assistant.tool_call", {"tool_call_id": _call(event), "status": status, **words}


def _fields(word: str, *names: str, **more: Any) -> Callable[[Translation, Event], tuple[str, Data]]:
    """An FCMP type that takes over these fields."""
    return lambda _, event: (word, {name: event.data.get(name) for name in names} | more)


def _diagnostic(_: Translation, event: Event) -> tuple[str, Data]:
    words = {name: event.data.get(name) for name in ("code", "message", "count", "spans")}
    return "diagnostic.warning", words | {"severity": event.value["event"]["level"]}


def _heartbeat(_: Translation, event: Event) -> tuple[str, Data]:
    return "conversation.status", {"status": Status.RUNNING, "detail": ANY_TEXT}


def _started(_: Translation, event: Event) -> tuple[str, Data]:
    title = event.data.get("skill") or event.data.get("title") or ANY_TEXT
    return "conversation.started", {"title": title, "mode": event.data.get("mode"), "engine": event.data.get("engine")}


def _completed(_: Translation, event: Event) -> tuple[str, Data]:
    words = {name: event.data.get(name) for name in ("reason_code", "warnings")}
    return "conversation.completed", words | {"state": end_status(event)}


def _user_message(_: Translation, event: Event) -> tuple[str, Data]:
    words = {name: event.data.get(name) for name in ("text", "origin", "files")}
    interaction = event.value["correlation"].get("interaction_id")
    replayed = event.data.get("replayed")
    before = replayed["bytes"] if replayed else 0
    is_cut = "whole" in event.data and event.data["whole"]["bytes"] > before + len(event.data["text"].encode())
    marks = {"truncated": is_cut or None, "replayed": bool(replayed) or None}
    return "user.message", words | {"interaction_id": interaction} | marks


def _turn_ended(_: Translation, event: Event) -> tuple[str, Data]:
    verdict, state = event.data.get("verdict") or {}, event.data.get("terminal_status")
    answer = verdict.get("answer_message_id") if state == "completed" else None
    data = {"state": state, "reason_code": verdict.get("reason_code"), "error": verdict.get("error")}
    record = {name: event.data.get(name) for name in ("limit", "deadline_at", "next_actions")}
    return "turn.ended", data | record | {"answer_message_id": answer}


def _requested(_: Translation, event: Event) -> tuple[str, Data]:
    return "user.input.required", dict(event.data)


_MESSAGE = ("message_id", "text")
_END = ("reason_code", "error", "next_actions")

# What the first two translators did not write.
TURN_TYPES = frozenset({"turn.started", "user.message", "turn.ended"})

def _subagent_ended(_: Translation, event: Event) -> tuple[str, Data]:
    words = {name: event.data.get(name) for name in ("child_run_id", "status", "summary", "elapsed_ms")}
    return "subagent.ended", words | {"reason_code": event.data.get("reason")}


def _check_ended(_: Translation, event: Event) -> tuple[str, Data]:
    words = {name: event.data.get(name) for name in ("name", "status", "output_tail", "details", "elapsed_ms")}
    command, ended = event.data.get("command"), event.data.get("exit") or {}
    line = command if isinstance(command, str) else " ".join(command or [])
    return "check.ended", words | {"command": line, "exit_code": ended.get("code"), "signal": ended.get("signal")}


def _step_ended(_: Translation, event: Event) -> tuple[str, Data]:
    words = {name: event.data.get(name) for name in ("step_id", "item", "state", "child_run_id", "details")}
    return "step.ended", words | {"reason_code": event.data.get("reason")}


# Types that are not here have no place in a conversation: `artifact.created`, `artifact.preview_ready`,
# `turn.usage`, `subagent.started`, `workflow.started`, `workflow.step_held`.
_TABLE: dict[Rasp | None, Callable[[Translation, Event], tuple[str, Data]]] = {
    Rasp.RUN_STARTED: _started,
    Rasp.RUN_STATUS: _fields("conversation.status", "status", "phase", "detail"),
    Rasp.RUN_HEARTBEAT: _heartbeat,
    Rasp.ATTEMPT_STARTED: _fields("turn.started"),
    Rasp.MESSAGE_USER: _user_message,
    Rasp.SUBAGENT_REQUESTED: _fields("subagent.started", "child_run_id", "engine", "title"),
    Rasp.SUBAGENT_ENDED: _subagent_ended,
    Rasp.SUBAGENT_OBSERVED: _fields("subagent.observed", "subagent_id", "name", "task", "state", "text", "sanitized", "truncated"),
    Rasp.CHECK_ENDED: _check_ended,
    Rasp.STEP_SCHEDULED: _fields("step.started", "step_id", "item", "trial", "child_run_id"),
    Rasp.STEP_ENDED: _step_ended,
    Rasp.WORKFLOW_ENDED: _fields("workflow.ended", "outcome", "ok"),
    Rasp.ATTEMPT_ENDED: _turn_ended,
    Rasp.MESSAGE_DELTA: _fields("assistant.message.delta", *_MESSAGE, partial=True),
    Rasp.MESSAGE_FINAL: _fields("assistant.message.final", *_MESSAGE, "partial", "structured_payload"),
    Rasp.REASONING: _fields("assistant.reasoning", "text"),
    Rasp.TOOL_STARTED: Translation._tool_started,
    Rasp.TOOL_COMPLETED: Translation._tool_completed,
    Rasp.TOOL_FAILED: Translation._tool_failed,
    Rasp.REQUESTED: _requested,
    Rasp.REPLIED: _fields("user.input.replied", "interaction_id", "text", "resolution_mode"),
    # A decision of 0.1.0 has neither source nor reason, and neither has what is made of it.
    Rasp.AUTO_DECISION: _fields("interaction.auto_decided", "interaction_id", "source", "reason", "policy", "instruction"),
    Rasp.TIMEOUT: _fields("interaction.timed_out", "interaction_id"),
    Rasp.ARTIFACT_INDEXED: _fields("artifact.created", "path", "size", "type"),
    Rasp.PARSER_WARNING: _diagnostic,
    Rasp.PARSER_ERROR: _diagnostic,
    Rasp.ENGINE_ERROR: _diagnostic,
    Rasp.RAW_STDOUT: _fields("raw.stdout", "text", "lines"),
    Rasp.RAW_STDERR: _fields("raw.stderr", "text", "lines"),
    Rasp.RUN_COMPLETED: _completed,
    Rasp.RUN_FAILED: _fields("conversation.failed", *_END, state=Status.FAILED),
    Rasp.RUN_CANCELED: _fields("conversation.canceled", "reason_code", state=Status.CANCELED),
}
