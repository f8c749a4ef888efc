"""What the Log of a child run says by itself, without what its parent says of it. Of the texts of an agent only the JSON
objects in its answer are looked at, where a step wants one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import lines
from .words import CONTROL, Rasp, Status

ENDS = {Rasp.RUN_COMPLETED, Rasp.RUN_FAILED, Rasp.RUN_CANCELED}
MISSING = "ARTIFACT_MISSING"


@dataclass
class Child:
    folder: Path
    parent: dict[str, Any] = field(default_factory=dict)
    engine: str | None = None
    # Moments, as they are written.
    began: str | None = None
    ended: str | None = None
    # Its end event: the type, and the reason or the error.
    end: Rasp | None = None
    code: str | None = None
    category: str | None = None
    last_seq: int = 0
    # The structured output that the verdict of its last turn has, or of a workflow its end.
    output: dict[str, Any] | None = None
    # An output that is too large for an event.
    has_large_output: bool = False
    # The JSON objects in the answer of its last turn, in their order.
    objects: list[dict[str, Any]] = field(default_factory=list)
    artifacts: set[str] = field(default_factory=set)
    # A file that its skill or its step requires was not there after its last turn.
    lacks_files: bool = False
    # Its engine wrote something.
    is_heard: bool = False
    # The messages of the turn that is open.
    messages: dict[str, str] = field(default_factory=dict)

    @property
    def run(self) -> str:
        return self.folder.name

    def schema(self) -> Any:
        """The schema that its skill declares for outputs; none where there is none, or no copy of the skill any more."""
        try:
            runner = lines.whole(self.folder / "skill" / "assets" / "runner.json") or {}
            path = (runner.get("schemas") or {}).get("output")
            return lines.whole(self.folder / "skill" / path) if isinstance(path, str) else None
        except lines.Unreadable:
            return None


def read(folder: Path) -> Child | None:
    """None where the child was not made, or was removed."""
    child = Child(folder)
    try:
        for line in lines.read(folder / "events.jsonl"):
            # A line without its end is still being written.
            if line.kind is lines.Kind.OBJECT:
                _take(child, line.value)
    except FileNotFoundError:
        return None
    return child if child.last_seq else None


def _take(child: Child, event: dict[str, Any]) -> None:
    word, data = event["event"]["type"], event["data"]
    child.last_seq = event["seq"]
    if event["source"]["stream"] != CONTROL:
        child.is_heard = True
        if word == Rasp.MESSAGE_FINAL:
            child.messages[data["message_id"]] = data.get("text") or ""
    elif word == Rasp.RUN_STARTED:
        child.parent, child.engine = data.get("parent") or {}, data.get("engine")
    elif word == Rasp.RUN_STATUS and data.get("status") == Status.RUNNING:
        child.began = child.began or event["ts"]
    elif word == Rasp.ATTEMPT_STARTED:
        child.lacks_files, child.messages = False, {}
    elif word == Rasp.PARSER_WARNING and data.get("code") == MISSING:
        child.lacks_files = True
    elif word == Rasp.ARTIFACT_CREATED:
        # Listed by the event that follows, if there is still such a file.
        child.artifacts.discard(data["path"])
    elif word == Rasp.ARTIFACT_INDEXED:
        child.artifacts.add(data["path"])
    elif word == Rasp.ATTEMPT_ENDED:
        verdict = data.get("verdict") or {}
        child.output, child.has_large_output = verdict.get("output"), verdict.get("output_bytes") is not None
        answer = child.messages.get(verdict.get("answer_message_id") or "", "")
        child.objects, child.messages = [*_objects(answer)], {}
    elif word == Rasp.WORKFLOW_ENDED:
        child.output = data.get("output")
    elif word in ENDS:
        error = data.get("error") or {}
        child.end, child.ended = Rasp(word), event["ts"]
        child.code, child.category = error.get("code") or data.get("reason_code"), error.get("category")


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """JSON objects in a text, none of them inside another."""
    decoder, at = json.JSONDecoder(), 0
    while (at := text.find("{", at)) >= 0:
        try:
            value, at = decoder.raw_decode(text, at)
            yield value
        except (ValueError, RecursionError):
            at += 1
