"""Looks at a data folder and checks the laws."""

from __future__ import annotations

import re
import traceback
from dataclasses import dataclass, field
from pathlib import Path

from . import catalog, lines, promises
from .fold import Fold
from .laws import RunLaw, effects, processes, seq
from .laws.box import Box
from .laws.bytes import Bytes
from .laws.chain import Chain
from .laws.checks import Checks
from .laws.children import Children
from .laws.continues import Continues
from .laws.conversation import Conversation
from .laws.effects import RunEffects
from .laws.evidence import Evidence
from .laws.messages import Messages
from .laws.replay import Replays
from .laws.replies import Replies, repeated
from .laws.seq import Streams
from .laws.status import State
from .laws.terminal import Terminal
from .laws.workflow import Workflow
from .looking import Looking
from .promises import Promises
from .report import Breach, Law, Report

RUN_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


# What reading a value gives that is not of the kind that the contract says.
ANOTHER_KIND = (AttributeError, KeyError, IndexError, TypeError, ValueError, OverflowError)


class CheckFailed(Exception):
    """The folder or the ledger is not there, or not what it should be."""


@dataclass
class Found:
    """What was seen of all runs."""

    effects: dict[str, RunEffects] = field(default_factory=dict)
    # Runs that may have a living host, and those that may not.
    living: set[str] = field(default_factory=set)
    done: set[str] = field(default_factory=set)


def check(
    data: Path, ledger: Path | None = None, *, is_settled: bool = False, program: Path | None = None
) -> Report:
    """All laws over all runs. `is_settled` says that no work is in progress: no process, nothing left to repair.

    `program` is the skillrun whose replays are compared; without one they are not.
    """
    report, found = Report(), Found()
    try:
        promised = promises.read(ledger)
        if not data.is_dir():
            raise CheckFailed(f"{data} is not a folder")
        # Before the Logs: it may lag behind them and must not seem to lead.
        rows = catalog.read(data)
        for folder in _folders(data):
            looking = Looking(folder, folder.name, report, promised, is_settled, program)
            _unless_removed(looking, rows.rows.get(folder.name), found)
        _accepted(data, promised, found, report)
        for path in promised.effects:
            effects.check(path, found.effects, report)
        if is_settled:
            processes.check(data, found.done, found.living, report)
    except (OSError, promises.ledger.LedgerError) as error:
        raise CheckFailed(str(error)) from error
    if rows.problem:
        report.count(Law.STATUS, f"catalog that cannot be read ({rows.problem})")
    return report


def _folders(data: Path) -> list[Path]:
    runs = data / "runs"
    folders = runs.iterdir() if runs.is_dir() else []
    return sorted(folder for folder in folders if RUN_ID.fullmatch(folder.name) and folder.is_dir())


def _unless_removed(looking: Looking, row: catalog.Row | None, found: Found) -> None:
    try:
        _run(looking, row, found)
    except FileNotFoundError:
        if looking.folder.exists():
            raise
        looking.count(Law.SEQ, "runs removed meanwhile")


def _run(looking: Looking, row: catalog.Row | None, found: Found) -> None:
    log = looking.folder / "events.jsonl"
    if not log.exists() or log.stat().st_size == 0:
        # Without a first event nothing was ever accepted.
        return looking.count(Law.SEQ, "folders without an event")
    laws: list[RunLaw] = [
        Streams(looking), Chain(looking), Terminal(looking), Replies(looking), Messages(looking), Bytes(looking),
        Conversation(looking), Replays(looking), Continues(looking), Children(looking), Checks(looking),
        Box(looking), Workflow(looking),
        State(looking, row), Evidence(looking),
    ]
    looking.count(Law.SEQ, "runs")
    broken = looking.report.broken[Law.SEQ]
    fold = _followed(looking, laws)
    _noted(looking.run, fold, found)
    if looking.report.broken[Law.SEQ] > broken:
        # What follows a broken line cannot be judged.
        return looking.count(Law.SEQ, "Logs that cannot be followed to their end")
    for law in laws:
        try:
            law.end(fold)
        except (lines.Unreadable, *ANOTHER_KIND) as error:
            looking.breach(law.law, _stumbled(error))


def _followed(looking: Looking, laws: list[RunLaw]) -> Fold:
    """Shows every event to every law. A law that cannot read one sees no more of this run."""
    fold = Fold()
    try:
        for event in seq.followed(looking):
            for law in tuple(laws):
                try:
                    law.event(event, fold)
                except ANOTHER_KIND as error:
                    looking.breach(law.law, _stumbled(error), event.attempt, event.where)
                    laws.remove(law)
            fold.take(event)
    except (lines.Unreadable, *ANOTHER_KIND) as error:
        looking.breach(Law.SEQ, _stumbled(error))
    return fold


def _stumbled(error: Exception) -> str:
    if isinstance(error, lines.Unreadable):
        return str(error)
    at = traceback.extract_tb(error.__traceback__)[-1]
    return f"a value of another kind than the contract's: {error!r} in {Path(at.filename).name}:{at.lineno}"


def _noted(run: str, fold: Fold, found: Found) -> None:
    found.effects[run] = RunEffects(fold.attempt, repeated(fold.replies))
    # A run that waits keeps a process only where that process is the session, or asks in the middle of its turn.
    may_live = not fold.end and (fold.is_open or fold.is_sticky)
    (found.living if may_live else found.done).add(run)


def _accepted(data: Path, promised: Promises, found: Found, report: Report) -> None:
    """A run that was accepted is on the disk, unless it was removed to make room."""
    removed = _removed(data)
    for run, promise in promised.runs.items():
        if promise.accepted is None or run in removed:
            continue
        report.count(Law.STATUS, "runs accepted")
        if run not in found.effects:
            report.breach(Breach(Law.STATUS, "was accepted, but does not exist", run))


def _removed(data: Path) -> set[str]:
    path = data / "runs" / "removed.jsonl"
    return {line.value.get("run_id", "") for line in lines.read(path)} if path.exists() else set()
