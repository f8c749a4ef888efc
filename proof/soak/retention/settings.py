"""How long runs are kept during a soak: so short that most of them are removed before it ends.

A server looks for old runs once an hour, and no setting changes that: too seldom for ten minutes. So `skillrun gc` is
called beside it every few seconds, as an operator may; it is the same code, and a server must bear it. That a server
removes by itself is seen at the end, when it is started once more with settings that keep nearly nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

DAY = 24 * 60 * 60

# Of the time for warming up: then as many runs are removed as are made.
SHARE = 0.6
SHORTEST, LONGEST = 12.0, 60.0

# Few enough that some go because they are too many.
CANCELED = 8

# What is kept when the server removes by itself.
FEW = 5


@dataclass(frozen=True)
class Ages:
    """In seconds."""

    run: float
    evidence: float
    # Between two calls of `skillrun gc`.
    every: float


def ages(warm_up: float) -> Ages:
    run = min(LONGEST, max(SHORTEST, warm_up * SHARE))
    return Ages(run=run, evidence=run / 3, every=run / 6)


def settings(kept: Ages) -> str:
    """Lines for the settings."""
    days = "\n".join(f"retention.{end}_days = {kept.run / DAY:.9f}" for end in ("succeeded", "failed", "canceled"))
    return f"{days}\nretention.evidence_days = {kept.evidence / DAY:.9f}\nretention.canceled_count = {CANCELED}\n"


def few() -> str:
    """Lines that keep a few of each end."""
    return "".join(f"retention.{end}_count = {FEW}\n" for end in ("succeeded", "failed", "canceled"))
