"""Law `status`: the oracle's own fold equals what every view of the run shows, and what its clients received."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import ClassVar

from .. import catalog, verdicts
from ..event import Event
from ..fold import Fold, end_status
from ..ledger import StatusSeen
from ..looking import Looking
from ..report import Law
from ..words import INTERRUPTED, RUN_ENDS, Mode, Phase, Rasp, Status
from . import result

# From contract R3.2. A crash may cut a batch, so a status may be said again, and an attempt whose first
# event is missing goes back into the queue.
MOVES: dict[Status | None, frozenset[Status]] = {
    None: frozenset({Status.QUEUED}),
    Status.QUEUED: frozenset({Status.QUEUED, Status.RUNNING}),
    Status.RUNNING: frozenset({Status.RUNNING, Status.WAITING_USER, Status.QUEUED}),
    Status.WAITING_USER: frozenset({Status.WAITING_USER, Status.QUEUED, Status.RUNNING}),
}


ENDS = frozenset(status for status in Status if status.is_terminal)


@dataclass
class AtRow:
    """The run where the catalog's row ends."""

    status: Status | None = None
    attempt: int = 0
    interaction: int | None = None
    is_reached: bool = False


@dataclass
class State:
    """How the run goes from one status to the next, and what is said of it."""

    law: ClassVar[Law] = Law.STATUS
    looking: Looking
    row: catalog.Row | None
    at_row: AtRow = field(default_factory=AtRow)
    # Status after this seq, for seqs that were reported to clients.
    told: dict[int, Status | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.told = {seen.seq: None for seen in self.looking.promised.seen if seen.seq is not None}

    def event(self, event: Event, before: Fold) -> None:
        if before.end is None and (problem := _move(event, before)):
            self.looking.breach(Law.STATUS, problem, event.attempt, event.where)
        self._note(before, event.line.start)

    def _note(self, fold: Fold, offset: int) -> None:
        if fold.last_seq in self.told:
            self.told[fold.last_seq] = fold.status
        if self.row and self.row.bytes == offset:
            asked = fold.question and fold.question.get("interaction_id")
            self.at_row = AtRow(fold.status, fold.attempt, asked, True)

    def end(self, fold: Fold) -> None:
        size = os.stat(self.looking.folder / "events.jsonl").st_size
        self._note(fold, self.row.bytes if self.row and self.row.bytes == size else -1)
        self.looking.count(Law.STATUS, "runs")
        result.check(self.looking, fold)
        result.check_metas(self.looking, fold)
        self._catalog(size)
        self._ledger(fold)

    def _catalog(self, size: int) -> None:
        row, looking = self.row, self.looking
        if row is None or row.is_damaged:
            return
        path = looking.folder / "events.jsonl"
        if row.inode != os.stat(path).st_ino or row.epoch != looking.epoch:
            return looking.count(Law.STATUS, "catalog rows of another Log")
        looking.count(Law.STATUS, "catalog rows")
        if problem := _row(row, self.at_row, size):
            looking.breach(Law.STATUS, f"the catalog {problem}", where="catalog.sqlite")

    def _ledger(self, fold: Fold) -> None:
        promised = self.looking.promised
        for seen in promised.seen:
            self._seen(seen, fold)
        if fold.is_canceling and fold.end and fold.status is not Status.CANCELED:
            self.looking.breach(Law.STATUS, f"canceled, and ended as {fold.status}", where=fold.end.where)
        # A workflow goes on after the question about a step was closed.
        is_closed = promised.closed and not fold.is_workflow
        if is_closed and fold.end and fold.status not in (Status.CLOSED, Status.CANCELED):
            self.looking.breach(Law.STATUS, f"a close was acknowledged, and the run ended as {fold.status}")
        if is_closed and self.looking.is_settled and not fold.end:
            self.looking.breach(Law.STATUS, f"a close was acknowledged, and the run is {fold.status}")
        if promised.canceled and self.looking.is_settled and not fold.end:
            self.looking.breach(Law.STATUS, f"a cancel was acknowledged, and the run is {fold.status}")
        if self.looking.is_settled:
            self._expected(fold)

    def _seen(self, seen: StatusSeen, fold: Fold) -> None:
        self.looking.count(Law.STATUS, "statuses reported")
        if seen.status in ENDS and seen.status != fold.status:
            self.looking.breach(Law.STATUS, f"a client received {seen.status}, but the run is {fold.status}")
        elif seen.seq in self.told and self.looking.epoch == 1 and seen.status != self.told[seen.seq]:
            at = f"{self.told[seen.seq]} at seq {seen.seq}"
            self.looking.breach(Law.STATUS, f"a client received {seen.status} for a run that was {at}")

    def _expected(self, fold: Fold) -> None:
        """All is over: the run is too, or waits for a person."""
        if fold.status is Status.QUEUED and _is_later(fold.not_before):
            return self.looking.count(Law.STATUS, "runs that begin later")
        if not (fold.end or fold.status is Status.WAITING_USER) or fold.is_unfinished:
            return self.looking.breach(Law.STATUS, f"everything has ended, but the run is {fold.status}", fold.attempt)
        accepted = self.looking.promised.accepted
        if accepted is None or not accepted.expect:
            return
        self.looking.count(Law.STATUS, "ends that were expected")
        names = {str(fold.status), *(f"{fold.status}:{code}" for code in fold.codes)}
        if not names & set(accepted.expect):
            told = f"{fold.status} {' '.join(sorted(fold.codes))}".strip()
            ends = " or ".join(accepted.expect)
            self.looking.breach(Law.STATUS, f"{told}, and a run of kind {accepted.run_kind} ends as {ends}")


def _row(row: catalog.Row, at_row: AtRow, size: int) -> str | None:
    if row.bytes > size:
        return f"is ahead: {row.bytes} of {size} bytes"
    if not at_row.is_reached:
        return f"ends inside a line, at byte {row.bytes}"
    found = (row.status, row.attempt, row.interaction)
    wanted = (at_row.status, at_row.attempt, at_row.interaction)
    return f"says {found}, the Log {wanted}" if found != wanted else None


def _is_later(moment: str | None) -> bool:
    """A run that was made because a quota was used up waits in the queue for its time."""
    return moment is not None and datetime.fromisoformat(moment) > datetime.now(UTC)


def _move(event: Event, before: Fold) -> str | None:
    if event.kind is Rasp.ATTEMPT_ENDED:
        return verdicts.problem(event.data, before.mode, before.has_skill) or _interrupted(event, before)
    if event.kind in RUN_ENDS:
        return _ending(event, before)
    if event.kind is not Rasp.RUN_STATUS or not event.is_control:
        return None
    if problem := _phase(event, before):
        return problem
    if event.data.get("status") is None:
        return None
    word = event.data["status"]
    if word not in set(Status) or Status(word) not in MOVES.get(before.status, frozenset()):
        return f"from {before.status} to {word}"
    if before.status is Status.RUNNING and word == Status.QUEUED and before.is_open:
        return f"back in the queue while attempt {before.attempt} is open"
    return None


def _interrupted(event: Event, before: Fold) -> str | None:
    rule = (event.data.get("verdict") or {}).get("rule")
    if rule == INTERRUPTED and event.attempt not in before.interrupts:
        return "judged as interrupted, without an interrupt before it"
    return None


def _phase(event: Event, before: Fold) -> str | None:
    """A close finds the run at rest, and an interrupt an open turn of a run that goes on after it."""
    match event.data.get("phase"):
        case Phase.CLOSING if before.is_workflow:
            return None if before.question and not before.is_canceling else "closed, and no step asks"
        case Phase.CLOSING if not before.is_at_rest or before.is_canceling:
            return f"closed while it is {before.status}, and not at rest"
        case Phase.INTERRUPTING if not before.is_open or before.is_canceling or before.mode == Mode.AUTO:
            return f"interrupted while it is {before.status}, in mode {before.mode}"
    return None


def _ending(event: Event, before: Fold) -> str | None:
    """The end follows from the last turn record; where none is unfinished, only a failure or a cancel ends a run."""
    said = (before.verdict or {}).get("run_status") if before.is_unfinished else None
    if end_status(event) is Status.CLOSED:
        # The reason stands before it, and the run was at rest then.
        return None if before.is_closing else "closed, without a close before it"
    if before.is_closing and event.kind is not Rasp.RUN_CANCELED:
        return f"{event.word}, and the run was being closed"
    if event.kind is Rasp.RUN_COMPLETED and before.is_conversation:
        return "a conversation ended by a turn"
    if event.kind is Rasp.RUN_COMPLETED and before.is_workflow:
        # It has no turns, and law `workflow` says how it ends.
        return None
    if event.kind is Rasp.RUN_COMPLETED and (said != Status.SUCCEEDED or before.failing):
        return f"succeeded without a turn record that says so, which says {said}"
    if event.kind is Rasp.RUN_COMPLETED:
        told, warned = event.data.get("warnings") or [], (before.verdict or {}).get("warnings") or []
        if told != warned:
            return f"succeeded with warnings {told}, and the turn record has {warned}"
    # Checks follow a turn record that says succeeded, and may end otherwise; law `checks` says which end is theirs.
    overruled = Status.SUCCEEDED if before.is_checked else None
    in_time = said in (None, Status.CANCELED, overruled) or before.is_canceled_late
    if event.kind is Rasp.RUN_CANCELED and not (before.is_canceling and in_time):
        return f"canceled, without a cancel before the turn record, which says {said}"
    if event.kind is Rasp.RUN_FAILED:
        code = (event.data.get("error") or {}).get("code")
        if before.failing and code != before.failing:
            return f"failed as {code}, and a question had failed it as {before.failing}"
        # The session was lost for the second time in a row.
        is_lost = before.is_conversation and code == "SESSION_LOST"
        is_check = code == "CHECK_FAILED" and said == overruled
        if not before.failing and not is_lost and not is_check and said not in (None, Status.FAILED):
            return f"failed after a turn record that says {said}"
    return None
