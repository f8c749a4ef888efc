"""The figures of a soak, for a terminal of 80 columns and for a page."""

from __future__ import annotations

from soak.book import Counted
from soak.course import Outcome
from soak.flatness import Finding, Verdict
from soak.plan import Plan
from soak.quantities import Quantity, Unit

HEAD = ("", "first", "last", "per hour", "rise", "allowed", "")
WIDTHS = (21, 9, 9, 12, 9, 9, 9)


def shown(value: float, unit: Unit, sign: str = "") -> str:
    """A figure with its unit."""
    match unit:
        case Unit.COUNT:
            return f"{value:{sign}.0f}" if abs(value) >= 10 or value == int(value) else f"{value:{sign}.1f}"
        case Unit.BYTES:
            return f"{value / 1e6:{sign}.1f} MB"
        case Unit.MS:
            return f"{value:{sign}.0f} ms"


def cells(quantity: Quantity, finding: Finding) -> tuple[str, ...]:
    unit = quantity.unit
    if finding.verdict is Verdict.UNKNOWN:
        return (quantity.name, "–", "–", "–", "–", "–", finding.verdict.value)
    allowed = shown(finding.allowed, unit) if quantity.bound else "any"
    return (
        quantity.name, shown(finding.first, unit), shown(finding.last, unit), shown(finding.per_hour, unit, "+"),
        shown(finding.rise, unit, "+"), allowed, finding.verdict.value,
    )


def text(plan: Plan, outcome: Outcome) -> str:
    """For a terminal."""
    rows = [HEAD, *(cells(quantity, finding) for quantity, finding in outcome.findings)]
    lines = [line(row) for row in rows]
    counted = [f"{outcome.book.counted(what):9,d}  {what.value}" for what in Counted]
    rest = f"at rest: {at_rest(outcome)}"
    breaches = [f"WRONG  {breach}" for breach in outcome.book.breaches()]
    said = [f"oracle: {outcome.oracle}"]
    return "\n".join([*lines, "", *counted, "", rest, *said, *([""] if breaches else []), *breaches])


def line(row: tuple[str, ...]) -> str:
    """The first and the last column to the left, figures to the right."""
    name, *figures, verdict = row
    width, *widths = WIDTHS[:-1]
    return f"{name:<{width}}" + "".join(f"{cell:>{room}}" for cell, room in zip(figures, widths)) + f"  {verdict}"


def at_rest(outcome: Outcome) -> str:
    before, after = outcome.before, outcome.after
    return (
        f"{before.descriptors} descriptors and {before.threads} threads before, "
        f"{after.descriptors} and {after.threads} after"
    )


def markdown(plan: Plan, outcome: Outcome) -> str:
    """For docs/numbers.md, in the columns of its other tables."""
    head = "| soak | measured | after warm-up | slope per hour | target |\n| --- | --- | --- | --- | --- |"
    rows = [row(plan, quantity, finding) for quantity, finding in outcome.findings]
    return "\n".join([about(plan, outcome), "", head, *rows]) + "\n"


def row(plan: Plan, quantity: Quantity, finding: Finding) -> str:
    unit = quantity.unit
    target = f"rise below {shown(finding.allowed, unit)}" if quantity.bound else ""
    if finding.verdict is Verdict.GROWING:
        target += " **missed**"
    figures = (shown(finding.last, unit), shown(finding.first, unit), shown(finding.per_hour, unit, "+"), target)
    return f"| {quantity.name} | {' | '.join(figures)} |"


def about(plan: Plan, outcome: Outcome) -> str:
    """What was done, in a few sentences."""
    of = outcome.book.counted
    return (
        f"`make soak` of {plan.minutes:g} minutes, seed {plan.seed}: {of(Counted.RUNS):,} runs of all kinds, "
        f"{of(Counted.ANSWERS):,} questions answered, {of(Counted.REQUESTS):,} requests, "
        f"{of(Counted.FOLLOWERS):,} followers with {of(Counted.EVENTS):,} events, "
        f"{of(Counted.TOLD):,} webhooks; {of(Counted.REMOVED):,} runs were removed during that, the evidence of "
        f"{of(Counted.EVIDENCE):,} before. Measured after a fifth of the time for warming up. *Slope*: the median over "
        f"all pairs of samples. *Target*: for the time measured; a larger rise that does not continue is not counted. "
        f"Without work: {at_rest(outcome)}."
    )
