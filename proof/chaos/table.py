"""What all rounds together were like, as a table of 80 columns."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from chaos.plan import FaultName
from chaos.round import Outcome
from chaos.stage import Stage

WIDTH = 80


@dataclass
class Table:
    """Sums over all rounds."""

    rounds: int = 0
    runs: Counter[str] = field(default_factory=Counter)
    ends: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    replies: int = 0
    streams: int = 0
    resumed: int = 0
    events: int = 0
    bytes: int = 0
    cuts: int = 0
    longest: float = 0.0
    laws: list[str] = field(default_factory=list)
    _counted: set[str] = field(default_factory=set)

    def add(self, stage: Stage, outcome: Outcome) -> None:
        self.rounds += 1
        for run in stage.book.runs.values():
            if run.run not in self._counted:
                self._counted.add(run.run)
                self.runs[run.order.kind.name] += 1
                self.ends[run.end or "unknown"] += 1
        self._count(stage)
        self.faults.update(stage.struck)
        stage.struck.clear()
        self.cuts += stage.proxy.cuts
        stage.proxy.cuts = 0
        self.replies += outcome.replies
        self.streams += outcome.streams
        self.longest = max(self.longest, outcome.settled_after)
        self.laws = outcome.laws

    def _count(self, stage: Stage) -> None:
        for log in stage.place.data.glob("runs/*/events.jsonl"):
            if log.parent.name + "/log" not in self._counted:
                self._counted.add(log.parent.name + "/log")
                text = log.read_bytes()
                self.events += text.count(b"\n")
                self.bytes += len(text)

    def lines(self, untried: tuple[FaultName, ...]) -> list[str]:
        lines = [
            *_row("rounds", str(self.rounds)),
            *_row("runs", _counts(self.runs)),
            *_row("ends", _counts(self.ends)),
            *_row("faults", _counts(self.faults)),
            *_row("replies", f"{self.replies} acknowledged"),
            *_row("streams", f"{self.streams} followed, {self.cuts} connections cut"),
            *_row("events", f"{self.events} in {self.bytes / 1e6:.1f} MB of Logs"),
            *_row("settled", f"{self.longest:.1f} s after the last fault, at most"),
        ]
        return lines + (_row("not tried", ", ".join(untried)) if untried else [])


def _counts(counter: Counter[str]) -> str:
    return f"{counter.total()}: " + ", ".join(f"{name} {count}" for name, count in sorted(counter.items()))


def _row(name: str, text: str) -> list[str]:
    """One or more lines; the name stands before the first."""
    lines, line = [], ""
    for word in text.split(" "):
        if line and len(line) + len(word) > WIDTH - 14:
            lines.append(line)
            line = ""
        line = f"{line} {word}" if line else word
    heads = [name, *[""] * len(lines)]
    return [f"{head:<12}{text}" for head, text in zip(heads, [*lines, line])]
