"""Law `box`: what a run reports of its box is what its request asks for, part by part, at each start of a turn; a run
without a box reports none; children, steps and retries have the box of the run that they come from; and a process that
says what it reached has reached nothing that an enforced part holds. Written from contract R11.20 to R11.22.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .. import lines
from ..event import Event
from ..fold import Fold
from ..looking import Looking
from ..report import Law
from ..words import Rasp

OFF, REQUIRED = "off", "required"
OPEN, NONE = "open", "none"
ENFORCED, NOT_ENFORCED = "enforced", "not_enforced"
FULL = "full"
FILES, PROCESSES, NETWORK = "files", "processes", "network"
PARTS = (FILES, PROCESSES, NETWORK)

# Folders that a box has of its own.
OWN_FOLDERS = ("/proc", "/sys", "/dev")

# What a witness among the processes of a box writes to stderr: `box-witness: files reached, network held`.
WITNESS = re.compile(rb"box-witness: ([a-z_ ,]+)")
REACHED = "reached"
# It is the first that a process writes.
WITNESS_LIMIT = 64 << 10


class Box:
    law = Law.BOX

    def __init__(self, looking: Looking) -> None:
        self.looking = looking
        self.request: dict[str, Any] = looking.record.get("request") or {}
        self.choice, self.network = wanted(looking.record)
        self.reports: dict[int, Any] = {}

    def event(self, event: Event, before: Fold) -> None:
        if event.kind is Rasp.ATTEMPT_STARTED:
            self._started(event)

    def end(self, fold: Fold) -> None:
        report = self.looking.record.get("box")
        if self.choice == OFF:
            return self._without(report)
        self.looking.count(Law.BOX, "runs in a box")
        self._allowed()
        if self.request.get("workflow") is None:
            for problem in problems(report, self.choice, self.network, self.request.get("permission")):
                self._breach(problem, where="run.json")
        for attempt, told in self.reports.items():
            self._witnessed(attempt, told)
            self._recorded(attempt, told)
        self._checks(report)
        self._inherited()

    def _without(self, report: Any) -> None:
        if report is not None:
            self._breach("has the report of a box that it does not ask for", where="run.json")
        if self.network != OPEN:
            self._breach(f"has the network {self.network} without a box", where="run.json")
        self._inherited()

    def _started(self, event: Event) -> None:
        told, accepted = event.data.get("box"), self.looking.record.get("box")
        if told != accepted:
            self._breach(f"starts a turn with the box {shown(told)}, and was accepted with {shown(accepted)}", event.attempt, event.where)
        self.reports[event.attempt] = told

    def _allowed(self) -> None:
        """What is refused with a box."""
        if self.request.get("home") == "user":
            self._breach("has a box and the HOME of the user", where="run.json")
        folder = self._workspace()
        if folder is None:
            return
        data = self.looking.folder.parent.parent.resolve()
        is_own = any(folder.is_relative_to(own) for own in OWN_FOLDERS)
        if is_own or folder.is_relative_to(data) or data.is_relative_to(folder):
            self._breach(f"has a box and the workspace {folder}", where="run.json")

    def _workspace(self) -> Path | None:
        """The folder of the user, if it works in one."""
        workspace = self.request.get("workspace")
        folder = workspace.get("folder") if isinstance(workspace, dict) else None
        return Path(folder["path"]) if isinstance(folder, dict) and isinstance(folder.get("path"), str) else None

    # Evidence outside of the Log.

    def _recorded(self, attempt: int, told: Any) -> None:
        """What the host and the owner have recorded of the box, if they have, is what the Log says."""
        if not self.looking.has_evidence:
            return
        for name in (f"host.{attempt}.json", f"meta.{attempt}.json"):
            record = lines.whole(self.looking.audit / name) or {}
            if "box" in record and record["box"] != told:
                self._breach(f"has the box {shown(record['box'])} there, and {shown(told)} in the Log", attempt, name)

    def _witnessed(self, attempt: int, told: Any) -> None:
        self._compare(self.looking.audit / f"stderr.{attempt}.log", attempt, told)

    def _checks(self, report: Any) -> None:
        """They start in the box of the run."""
        for path in sorted((self.looking.audit / "checks").glob("*/stderr.*.log")):
            self._compare(path, None, report)

    def _compare(self, path: Path, attempt: int | None, told: Any) -> None:
        held = {part["part"] for part in parts(told) if part.get("state") == ENFORCED}
        for part, state in witnessed(path):
            self.looking.count(Law.BOX, f"parts that a witness {state}")
            if state == REACHED and part in held:
                self._breach(f"{part} is enforced, and a process in the box reached what it holds", attempt, path.name)

    # The run that it comes from.

    def _inherited(self) -> None:
        record = self.looking.record
        origins = {"its parent": (record.get("parent") or {}).get("run_id"), "the run that it retries": record.get("retry_of")}
        for word, run in origins.items():
            theirs = lines.whole(self.looking.folder.parent / run / "run.json") if run else None
            # Retention removes runs in any order.
            if theirs is None or not theirs.get("request"):
                continue
            self.looking.count(Law.BOX, "runs that come from another one")
            if wanted(theirs) != (self.choice, self.network):
                of_theirs = " and ".join(wanted(theirs))
                self._breach(f"has box {self.choice} and network {self.network}, and {word} has {of_theirs}", where="run.json")

    def _breach(self, what: str, attempt: int | None = None, where: str | None = None) -> None:
        self.looking.breach(Law.BOX, what, attempt, where)


def wanted(record: dict[str, Any]) -> tuple[str, str]:
    """The box and the network that a request asks for."""
    request = record.get("request") or {}
    return str(request.get("box", OFF)), str(request.get("network", OPEN))


def problems(report: Any, choice: str, network: str, permission: Any) -> Iterator[str]:
    """What a report of a box lacks, or has too much."""
    if not isinstance(report, dict):
        yield "asks for a box, and has no report of it"
        return
    told = parts(report)
    names = [part.get("part") for part in told]
    asked = [FILES, PROCESSES] + ([NETWORK] if network == NONE else [])
    # Parts of a later contract are none of these.
    known = [name for name in names if name in PARTS]
    if sorted(known) != sorted(asked) or len(set(names)) != len(names):
        yield f"asks for the parts {', '.join(asked)}, and its report has {', '.join(map(str, names))}"
    for part in told:
        yield from _of_part(part, choice, permission)


def _of_part(part: dict[str, Any], choice: str, permission: Any) -> Iterator[str]:
    name, state = part.get("part"), part.get("state")
    has = {word: bool(part.get(word)) for word in ("mechanism", "reason")}
    if state not in (ENFORCED, NOT_ENFORCED):
        yield f"{name} is {state!r}, which is no state of a part"
    elif has != {"mechanism": state == ENFORCED, "reason": state == NOT_ENFORCED}:
        yield f"{name} is {state} with the mechanism {part.get('mechanism')} and the reason {part.get('reason')}"
    if state == NOT_ENFORCED and choice == REQUIRED:
        yield f"{name} is not enforced, and the box is required"
    if state == ENFORCED and permission == FULL and name in PARTS:
        yield f"{name} is enforced, and the permission full allows everything"


def parts(report: Any) -> list[dict[str, Any]]:
    return report.get("parts") or [] if isinstance(report, dict) else []


def witnessed(path: Path) -> Iterator[tuple[str, str]]:
    """What a witness says of each part; nothing where there was none."""
    try:
        with open(path, "rb") as file:
            beginning = file.read(WITNESS_LIMIT)
    except FileNotFoundError:
        return
    for line in WITNESS.findall(beginning):
        for words in line.decode().split(","):
            part, _, state = words.strip().partition(" ")
            yield part, state


def shown(report: Any) -> str:
    if not isinstance(report, dict):
        return "none" if report is None else repr(report)
    return ", ".join(f"{part.get('part')} {part.get('mechanism') or part.get('state')}" for part in parts(report))
