"""What a removal may do. Pure: what was there before, what was done, and what is there afterwards are handed in."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from soak.retention.seen import Seen, Standing


class What(StrEnum):
    EVIDENCE = "evidence"
    RUN = "run"


class Why(StrEnum):
    AGE = "age"
    COUNT = "count"
    SIZE = "size"


@dataclass(frozen=True)
class Removal:
    """One line of what `skillrun gc` says that it did."""

    run: str
    what: What
    why: Why


@dataclass(frozen=True)
class Round:
    """One removal. Runs that came meanwhile are in neither listing or in the second alone."""

    before: dict[str, Seen]
    removals: list[Removal]
    after: dict[str, Seen]
    noted: set[str]

    @property
    def gone(self) -> dict[str, Seen]:
        return {run: seen for run, seen in self.before.items() if run not in self.after}


def breaches(done: Round) -> list[str]:
    """Everything that must not have been done."""
    return [breach for law in LAWS for breach in law(done)]


def never_one_that_is_not_over(done: Round) -> Iterator[str]:
    """No active run is removed."""
    for run, seen in done.gone.items():
        if seen.standing is Standing.NOT_OVER:
            yield f"{run} was removed although it was not over"


def gone_and_said(done: Round) -> Iterator[str]:
    """What is gone is noted, and what is said to be gone is gone."""
    for run in done.gone:
        if run not in done.noted:
            yield f"{run} is gone without a note"
    for removal in done.removals:
        if removal.what is What.RUN and removal.run in done.after:
            yield f"{removal.run} is reported as removed but exists"


def oldest_first(done: Round) -> Iterator[str]:
    """Of runs that ended the same way none is kept that is older than one that went."""
    for standing in (Standing.SUCCEEDED, Standing.FAILED, Standing.CANCELED):
        went = [seen.ended_at for seen in done.gone.values() if seen.standing is standing]
        if not went:
            continue
        for run, seen in kept(done):
            if seen.standing is standing and seen.ended_at < max(went):
                yield f"{run} is kept, and one that ended later was removed"


def failed_last(done: Round) -> Iterator[str]:
    """A failed run goes only when no other is kept that ended before it."""
    went = [seen.ended_at for seen in done.gone.values() if seen.standing is Standing.FAILED]
    if not went:
        return
    for run, seen in kept(done):
        if seen.standing is not Standing.FAILED and seen.ended_at < max(went):
            yield f"{run} is kept, and a run that failed later was removed"


def evidence_first(done: Round) -> Iterator[str]:
    """What goes for its age has lost its evidence before: the settings of a soak give it a third of the time."""
    for removal in done.removals:
        seen = done.before.get(removal.run)
        if seen and removal.what is What.RUN and removal.why is Why.AGE and seen.has_evidence:
            yield f"{removal.run} was removed for its age with its evidence"


def evidence_alone(done: Round) -> Iterator[str]:
    """Where evidence went, all of it went, and the Log is as it was."""
    for removal in done.removals:
        before, after = done.before.get(removal.run), done.after.get(removal.run)
        if removal.what is not What.EVIDENCE or not before or not after:
            continue
        if after.has_evidence:
            yield f"{removal.run}: evidence is reported as removed but exists"
        if after.log_bytes != before.log_bytes:
            yield f"{removal.run}: its Log had {before.log_bytes} bytes and has {after.log_bytes}"


def too_many(runs: dict[str, Seen], most: int) -> list[str]:
    """Runs that must be removed when this many of each end are kept: the oldest, but no failed one while an older run
    is kept."""
    over = sorted((run for run in runs.items() if run[1].ended_at), key=lambda run: run[1].ended_at)
    surplus: dict[str, Seen] = {}
    for standing in (Standing.SUCCEEDED, Standing.FAILED, Standing.CANCELED):
        these = [run for run in over if run[1].standing is standing]
        surplus |= dict(these[: max(0, len(these) - most)])
    others = [seen.ended_at for run, seen in over if seen.standing is not Standing.FAILED and run not in surplus]
    stays = min(others, default=None)
    held = {run for run, seen in surplus.items() if seen.standing is Standing.FAILED and stays and seen.ended_at >= stays}
    return [run for run in surplus if run not in held]


def kept(done: Round) -> Iterator[tuple[str, Seen]]:
    """Runs that were over before and are there afterwards."""
    for run, seen in done.before.items():
        if seen.standing is not Standing.NOT_OVER and run in done.after:
            yield run, seen


LAWS = (never_one_that_is_not_over, gone_and_said, oldest_first, failed_last, evidence_first, evidence_alone)
