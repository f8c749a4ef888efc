"""Raw lines that only repeat a message: contract R7.7, and decision 0007 for what it leaves open."""

from __future__ import annotations

from dataclasses import dataclass, field

from .event import Event

BUDGET = 4 << 20
LINE_COST = 256
SHORTEST = 3
COMPARED = 100_000


@dataclass
class Shown:
    event: Event


@dataclass
class LeftOut:
    events: list[Event]


Decided = Shown | LeftOut


def message_lines(text: str) -> frozenset[str]:
    trimmed = (line.strip() for line in text.split("\n"))
    found: set[str] = set()
    for count, line in enumerate(line for line in trimmed if line):
        if count == COMPARED:
            break
        found.add(line)
    return frozenset(found)


@dataclass
class Waiting:
    """Raw lines wait for the next final message or the end of the attempt."""

    events: list[Event] = field(default_factory=list)
    cost: int = 0
    before: frozenset[str] = frozenset()

    def line(self, event: Event) -> list[Decided]:
        self.events.append(event)
        self.cost += _cost(event)
        if self.cost <= BUDGET:
            return []
        # The older half continues, without a message after it.
        count = 0
        while self.cost > BUDGET // 2 and count < len(self.events):
            self.cost -= _cost(self.events[count])
            count += 1
        going, self.events = self.events[:count], self.events[count:]
        return decide(going, self.before)

    def message(self, text: str) -> list[Decided]:
        after = message_lines(text)
        decided = decide(self.events, self.before | after)
        self.events, self.cost, self.before = [], 0, after
        return decided

    def end(self) -> list[Decided]:
        decided = decide(self.events, self.before)
        self.events, self.cost, self.before = [], 0, frozenset()
        return decided


def _cost(event: Event) -> int:
    return len((event.data.get("text") or "").encode("utf-8", "replace")) + LINE_COST


@dataclass
class _Run:
    """Lines of one stream that follow each other and may be an echo."""

    places: list[int] = field(default_factory=list)
    repeats: int = 0


def decide(events: list[Event], known: frozenset[str]) -> list[Decided]:
    if not known:
        return [Shown(event) for event in events]
    echoes = _echoes(events, known)
    inside = {place for echo in echoes for place in echo}
    heads = {echo[0]: echo for echo in echoes}
    decided: list[Decided] = []
    for place, event in enumerate(events):
        if place in heads:
            decided.append(LeftOut([events[at] for at in heads[place]]))
        elif place not in inside:
            decided.append(Shown(event))
    return decided


def _echoes(events: list[Event], known: frozenset[str]) -> list[list[int]]:
    """Each stream has its own runs: what the other says in between is noise beside the echo."""
    echoes: list[list[int]] = []
    runs: dict[bool, _Run] = {}
    for place, event in enumerate(events):
        stream = event.stream == "stderr"
        text = event.data.get("text")
        line = None if text is None else text.strip()
        run = runs.setdefault(stream, _Run())
        if line is not None and line in known:
            run.repeats += 1
        elif line is None or not (line == "" or line.startswith(("```", "~~~"))):
            echoes += _kept(runs.pop(stream))
            continue
        run.places.append(place)
    for run in runs.values():
        echoes += _kept(run)
    return echoes


def _kept(run: _Run) -> list[list[int]]:
    return [run.places] if run.repeats >= SHORTEST else []
