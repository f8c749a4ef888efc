"""Law `children`: what a parent says of a child follows from the Log of the child. A child is asked for by an open turn, and
made once; its end is in the Log of its parent before the end of the parent. Written from contract R5.21 to R5.24.
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
from ..words import RUN_ENDS, Rasp

# The end event of a child, and what its parent may call it.
STATES = {
    "run.completed": {"completed"},
    "run.failed": {"failed", "timed_out"},
    "run.canceled": {"cancelled"},
}
TIMEOUTS = {"TIMEOUT", "INTERACTION_WAIT_TIMEOUT"}


class Children:
    law = Law.CHILDREN

    def __init__(self, looking: Looking) -> None:
        self.looking = looking
        # By id: the event that asked for the child, and the last that says how it ended.
        self.asked: dict[str, Event] = {}
        self.ended: dict[str, Event] = {}
        self.keys: set[tuple[int, str]] = set()

    def event(self, event: Event, before: Fold) -> None:
        if event.kind is Rasp.SUBAGENT_REQUESTED:
            self._requested(event, before)
        elif event.kind is Rasp.SUBAGENT_STARTED:
            if event.data["child_run_id"] not in self.asked:
                self._breach("a child was started that was not asked for", event)
        elif event.kind is Rasp.SUBAGENT_ENDED:
            self._ended(event)
        elif event.kind in RUN_ENDS:
            for child in self.asked.keys() - self.ended.keys():
                self._breach(f"{event.word}, and the end of child {child} is not in the Log", event)

    def _requested(self, event: Event, before: Fold) -> None:
        child, key = event.data["child_run_id"], (event.attempt, event.data["key"])
        if not before.is_open:
            self._breach(f"child {child} was asked for outside of an open turn", event)
        if key in self.keys or child in self.asked:
            self._breach(f"child {child} was asked for twice (key {key[1]})", event)
        self.keys.add(key)
        self.asked[child] = event

    def _ended(self, event: Event) -> None:
        child = event.data["child_run_id"]
        if child not in self.asked:
            self._breach(f"child {child} ended and was not asked for", event)
        earlier = self.ended.get(child)
        if earlier and earlier.data["status"] != "detached":
            self._breach(f"child {child} ended twice", event)
        self.ended[child] = event

    def end(self, fold: Fold) -> None:
        for child, asked in self.asked.items():
            self.looking.count(Law.CHILDREN, "children")
            self._child(child, asked)

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


def _is_removed(looking: Looking) -> bool:
    """Retention removes runs one by one, and notes each."""
    return lines.whole(looking.audit / "removed.json") is not None
