"""The Log of the workflow, as it grows; and what must be the same however often its owner was killed."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from oracle import catalog
from oracle.words import RUN_ENDS, Rasp

Event = dict[str, Any]


@dataclass(frozen=True)
class Essence:
    """How each step and item ended, how often each began, what was asked, and how all of it ended."""

    states: dict[str, str]
    tries: Counter[str]
    questions: int
    outcome: str | None
    end: str | None


@dataclass
class Log:
    folder: Path
    events: list[Event] = field(default_factory=list)
    # Where each event ends.
    ends: list[int] = field(default_factory=list)

    @property
    def path(self) -> Path:
        return self.folder / "events.jsonl"

    @property
    def run(self) -> str:
        return self.folder.name

    @property
    def is_over(self) -> bool:
        return bool(self.events) and word(self.events[-1]) in RUN_ENDS

    def read(self) -> int:
        """Reads what is new, and says how many events there are."""
        at = self.ends[-1] if self.ends else 0
        if self.path.stat().st_size > at:
            with open(self.path, "rb") as file:
                file.seek(at)
                for line in file.read().splitlines(keepends=True):
                    if line.endswith(b"\n"):
                        at += len(line)
                        self.events.append(json.loads(line))
                        self.ends.append(at)
        return len(self.events)

    def question(self) -> int | None:
        """The one that can be answered: before the run waits, only an owner can bring it further."""
        statuses = [one["data"].get("status") for one in self.events if word(one) == Rasp.RUN_STATUS]
        if [status for status in statuses if status][-1:] != ["waiting_user"]:
            return None
        asked = [one["data"]["interaction_id"] for one in self.events if word(one) == Rasp.REQUESTED]
        answered = {one["data"]["interaction_id"] for one in self.events if word(one) == Rasp.REPLIED}
        return next((number for number in asked if number not in answered), None)

    def cut(self, count: int) -> bool:
        """Takes back the end of the batch that was written last, as a crash may: nothing was done yet because of it.
        Whether the Log has `count` events now.
        """
        if self.read() == count:
            return True
        last, lost = self.events[count - 1], self.events[count:]
        size = self.ends[count - 1]
        if any(one["ts"] != last["ts"] for one in lost) or self._is_seen(count, size, lost):
            return False
        with open(self.path, "r+b") as file:
            file.truncate(size)
        self.events, self.ends = self.events[:count], self.ends[:count]
        return True

    def _is_seen(self, count: int, size: int, lost: list[Event]) -> bool:
        """A child was made of it, or a view has it."""
        made = [one["data"]["child_run_id"] for one in lost if word(one) == Rasp.SUBAGENT_REQUESTED]
        row = catalog.read(self.folder.parent.parent).rows.get(self.run)
        has_view = (self.folder / "result.json").exists() or (row is not None and row.bytes > size)
        return has_view or self._has_shown(count) or any((self.folder.parent / child).exists() for child in made)

    def _has_shown(self, count: int) -> bool:
        try:
            text = (self.folder / "fcmp.jsonl").read_text()
        except FileNotFoundError:
            return False
        shown = [json.loads(line)["meta"]["rasp_seq"] for line in text.split("\n")[:-1]]
        return any(seq > count for seq in shown)


def word(event: Event) -> str:
    return event["event"]["type"]


def find(data: Path) -> Log | None:
    """The workflow among the runs of a folder, once its Log has begun."""
    for folder in sorted((data / "runs").glob("*-*")):
        log = Log(folder)
        try:
            if log.read() and log.events[0]["data"].get("workflow"):
                return log
        except FileNotFoundError:
            continue
    return None


def essence(events: list[Event]) -> Essence:
    of = lambda kind: [one["data"] for one in events if word(one) == kind]
    ended = of(Rasp.WORKFLOW_ENDED)
    return Essence(
        states={_name(data): data["state"] for data in of(Rasp.STEP_ENDED)},
        tries=Counter(_name(data) for data in of(Rasp.STEP_SCHEDULED)),
        questions=len(of(Rasp.REQUESTED)),
        outcome=ended[-1]["outcome"] if ended else None,
        end=word(events[-1]) if events else None,
    )


def _name(data: dict[str, Any]) -> str:
    item = data.get("item")
    return data["step_id"] if item is None else f"{data['step_id']}[{item}]"
