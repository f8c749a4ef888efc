"""What was looked at, and what was found broken."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum

PRINTED = 100
KEPT = 10_000


class Law(StrEnum):
    """In the order of `README.md` beside this file."""

    SEQ = "seq"
    CHAIN = "chain"
    TERMINAL = "terminal"
    REPLIES = "replies"
    MESSAGES = "messages"
    EFFECTS = "effects"
    PROCESSES = "processes"
    BYTES = "bytes"
    FCMP = "fcmp"
    REPLAY = "replay"
    CHILDREN = "children"
    CHECKS = "checks"
    BOX = "box"
    WORKFLOW = "workflow"
    CONTINUES = "continues"
    STATUS = "status"
    EVIDENCE = "evidence"


@dataclass(frozen=True)
class Breach:
    law: Law
    what: str
    run: str | None = None
    attempt: int | None = None
    where: str | None = None

    def __str__(self) -> str:
        attempt = None if self.attempt is None else f"attempt {self.attempt}"
        parts = [f"{self.law}:", self.run, attempt, self.what, self.where and f"({self.where})"]
        return " ".join(part for part in parts if part)


@dataclass
class Report:
    """Counts per law under plain words, and breaches. Few are printed, a bounded number is kept, all are counted."""

    counts: dict[Law, Counter[str]] = field(default_factory=lambda: {law: Counter() for law in Law})
    breaches: list[Breach] = field(default_factory=list)
    broken: Counter[Law] = field(default_factory=Counter)

    def count(self, law: Law, what: str, by: int = 1) -> None:
        self.counts[law][what] += by

    def breach(self, breach: Breach) -> None:
        self.broken[breach.law] += 1
        if len(self.breaches) < KEPT:
            self.breaches.append(breach)

    @property
    def holds(self) -> bool:
        return not self.broken

    def lines(self) -> list[str]:
        lines = [line for law in Law for line in self._law(law)]
        lines += [str(breach) for breach in self.breaches[:PRINTED]]
        more = self.broken.total() - min(PRINTED, len(self.breaches))
        return lines + ([f"and {more} more"] if more else [])

    def _law(self, law: Law) -> list[str]:
        broken = self.broken[law]
        verdict = f"{broken} broken" if broken else "holds"
        counts = ", ".join(f"{count} {what}" for what, count in self.counts[law].items() if count)
        return folded(f"{law:<10} {verdict:<10} ", counts)

    def as_json(self) -> dict[str, object]:
        return {
            "holds": self.holds,
            "laws": {law: {"broken": self.broken[law], "counts": dict(self.counts[law])} for law in Law},
            "breaches": [
                {"law": b.law, "run": b.run, "attempt": b.attempt, "what": b.what, "where": b.where}
                for b in self.breaches[:PRINTED]
            ],
        }


def folded(head: str, words: str, width: int = 80) -> list[str]:
    """A line of 80 columns, and what does not fit below it, indented."""
    lines, line = [], head
    for word in words.split(", ") if words else []:
        if len(line.rstrip()) > len(head.rstrip()) and len(line) + len(word) + 1 > width:
            lines.append(line.rstrip())
            line = " " * len(head)
        line += word + ", "
    return lines + [line.rstrip().removesuffix(",")]
