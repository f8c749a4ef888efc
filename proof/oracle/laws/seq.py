"""Law `seq`: a Log is whole lines, one run, numbered from 1 without a gap; and readers were given exactly that."""

from __future__ import annotations

from collections.abc import Iterator

from .. import event as events
from .. import lines
from ..event import Event, NotAnEvent
from ..fold import Fold
from ..ledger import Protocol
from ..lines import Kind, Line
from ..lockstep import Lockstep
from ..looking import Looking
from ..report import Law
from ..words import RUN_ENDS, Rasp, Status


def followed(looking: Looking) -> Iterator[Event]:
    """The events of a Log. It ends at the first line that breaks the law: what follows cannot be judged."""
    wanted, rests = 1, False
    for line in lines.read(looking.folder / "events.jsonl"):
        looking.count(Law.SEQ, "bytes", line.end - line.start)
        if line.kind is Kind.TORN:
            _torn(looking, line, rests)
            return
        try:
            event = events.of(line)
        except NotAnEvent as error:
            return looking.breach(Law.SEQ, str(error), where=f"events.jsonl:{line.number}")
        if problem := _wrong(looking, event, wanted):
            return looking.breach(Law.SEQ, problem, where=event.where)
        looking.count(Law.SEQ, "events")
        yield event
        wanted, rests = wanted + 1, _rests(event, rests)


def _wrong(looking: Looking, event: Event, wanted: int) -> str | None:
    if event.seq != wanted:
        return f"seq {event.seq} where {wanted} belongs"
    if event.run != looking.run:
        return f"an event of another run, {event.run}"
    if (event.kind is Rasp.RUN_STARTED) != (wanted == 1):
        return f"{event.word} at seq {wanted}; run.started is seq 1 and nothing else"
    return None


def _rests(event: Event, before: bool) -> bool:
    """Nothing is written to a run that is over, or that waits for a person."""
    if event.kind is Rasp.RUN_STATUS and event.is_control and event.data.get("status"):
        return event.data["status"] == Status.WAITING_USER
    return before or event.kind in RUN_ENDS


def _torn(looking: Looking, line: Line, rests: bool) -> None:
    """A last line without an end is repaired by the process that opens the Log for writing, and is visible to no reader
    until then.

    So a line that a driver left on purpose stays where nothing is written.
    """
    if not looking.is_settled:
        return looking.count(Law.SEQ, "torn ends that may still be repaired")
    if rests and looking.promises.faults_of(looking.run):
        return looking.count(Law.SEQ, "torn ends left by a fault")
    looking.breach(Law.SEQ, "a torn last line", where=f"events.jsonl:{line.number}")


class Streams:
    """What readers were given of this Log is this Log."""

    law = Law.SEQ

    def __init__(self, looking: Looking) -> None:
        self.looking = looking
        # If events were lost to a power failure, readers were asked to forget them.
        seen = [seen for seen in looking.promised.streams if seen.protocol == Protocol.RASP and looking.epoch == 1]
        self.readers = [Lockstep(looking.promises.path(stream.path)) for stream in seen]

    def event(self, event: Event, before: Fold) -> None:
        for reader in self.readers:
            if problem := reader.expect(event.value):
                self.looking.breach(Law.SEQ, f"a reader was given {problem}", where=reader.where)

    def end(self, fold: Fold) -> None:
        for reader in self.readers:
            self.looking.count(Law.SEQ, "events given to readers", reader.read)
            if problem := reader.rest():
                self.looking.breach(Law.SEQ, f"a reader was given {problem}", where=reader.where)
