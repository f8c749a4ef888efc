"""The faults that can be planted, and the law that must catch each."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

PATCHES = Path(__file__).with_name("patches")


@dataclass(frozen=True)
class Case:
    """`laws` are the first words of the breaches that count as caught: the oracle's, or the driver's own."""

    name: str
    laws: tuple[str, ...]
    what: str

    @property
    def patch(self) -> Path:
        return PATCHES / f"{self.name}.patch"


CASES: tuple[Case, ...] = (
    Case("lost-reply", ("replies",), "a reply is acknowledged two seconds before it is in the Log"),
    Case("broken-chain", ("chain",), "a writer that takes a Log over starts a new chain"),
    Case("torn-line", ("seq",), "recovery leaves half a line where it is, and appends behind it"),
    Case("told-twice", ("effects", "replies"), "a host writes an input twice"),
    Case("dropped-event", ("fcmp",), "the conversation lacks the event that no user answered in time"),
    Case("short-chunk", ("bytes",), "the index of stderr lacks the last byte of every read"),
    Case("short-row", ("bytes",), "an event for many lines does not count the last of them"),
    Case("silent-interrupt", ("status",), "a turn is interrupted, and the Log does not have the interrupt"),
    Case("lost-prompt", ("replies",), "the prompt that comes with an interrupt is acknowledged, and not in the Log"),
    Case("silent-close", ("status",), "a conversation is closed without the event that gives the reason"),
    Case("replayed-text", ("replay",), "the messages of a turn that did not complete are replayed"),
    Case("shuffled-turns", ("continues",), "a run that continues another receives the newest turn first"),
    Case("twin-child", ("children",), "a new owner makes the children of a run once more"),
    Case("second-child", ("children",), "a repeated call makes a second child"),
    Case("kind-parent", ("children",), "a child that failed counts as completed"),
    Case("hopeful-wait", ("children",), "a wait is completed when every child has ended"),
    Case("early-end", ("children",), "a run ends before the ends of its children are in its Log"),
    Case("ignored-check", ("checks",), "a check that exits with another code than 0 counts as passed"),
    Case("unchecked-success", ("checks",), "a run succeeds before its last check is run"),
    Case("hollow-box", ("box",), "an engine starts without the box that its run reports as enforced"),
    Case("boxless-retry", ("box",), "a retry has not the box of the run that it retries"),
    Case("failed-partial", ("workflow",), "a workflow all of whose steps failed is called partial"),
    Case("partial-unlocks", ("workflow",), "a step begins after a partial one that it needs"),
    Case("prose-ready", ("workflow",), "an answer in prose makes a step ready that wants an object"),
    Case("two-writers", ("workflow",), "two steps that may write in the shared folder work at the same time"),
    Case("left-engine", ("processes",), "processes started by an engine survive when its host is killed"),
)


def chosen(names: list[str]) -> tuple[Case, ...]:
    """Those of these names, all of them where none is given. KeyError names one that there is not."""
    by_name = {case.name: case for case in CASES}
    return tuple(by_name[name] for name in names) or CASES
