"""Law `terminal`: one turn record per attempt that began, one terminal record per run, and nothing after it.

Attempts begin in order, never two at once, and what an engine says stands
inside its attempt.
"""

from __future__ import annotations

from ..event import Event
from ..fold import Fold
from ..looking import Looking
from ..report import Law
from ..words import RUN_ENDS, Rasp


class Terminal:
    law = Law.TERMINAL

    def __init__(self, looking: Looking) -> None:
        self.looking = looking

    def event(self, event: Event, before: Fold) -> None:
        problem = self._problem(event, before)
        if problem:
            self.looking.breach(Law.TERMINAL, problem, event.attempt, event.where)

    def _problem(self, event: Event, before: Fold) -> str | None:
        if before.end:
            return f"{event.word} after the terminal record {before.end.word}"
        if event.kind is Rasp.ATTEMPT_STARTED:
            return _started(event, before)
        if event.kind is Rasp.ATTEMPT_ENDED:
            return _ended(event, before)
        if event.kind in RUN_ENDS and before.is_open:
            return f"{event.word}, and attempt {before.attempt} has no turn record"
        is_inside = before.is_open and event.attempt == before.attempt
        if not event.is_control and not is_inside:
            return f"{event.word} of the engine outside of its attempt"
        return None

    def end(self, fold: Fold) -> None:
        self.looking.count(Law.TERMINAL, "runs")
        self.looking.count(Law.TERMINAL, "runs that are over", int(fold.end is not None))
        self.looking.count(Law.TERMINAL, "attempts", fold.attempt)
        self.looking.count(Law.TERMINAL, "turn records", len(fold.verdicts))


def _started(event: Event, before: Fold) -> str | None:
    if before.is_open:
        return f"an attempt begins while attempt {before.attempt} is open"
    if event.attempt != before.attempt + 1:
        return f"attempt {event.attempt} begins after attempt {before.attempt}"
    return None


def _ended(event: Event, before: Fold) -> str | None:
    if event.attempt in before.verdicts:
        return "a second turn record"
    if not before.is_open or event.attempt != before.attempt:
        return "a turn record of an attempt that is not open"
    return None
