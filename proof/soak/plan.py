"""What is to be done in a soak, as it was asked for."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path


class Leak(StrEnum):
    """Something that grows on purpose, to see the soak go red."""

    NONE = "none"
    # Streams that are opened and never read, fifty a minute.
    FOLLOWERS = "followers"
    # No process removes old runs.
    RETENTION = "retention"


@dataclass(frozen=True)
class Plan:
    """How long, with which seed, with which program."""

    minutes: float
    seed: int
    skillrun: Path
    leak: Leak
    markdown: Path | None
    keep: bool

    @property
    def seconds(self) -> float:
        return self.minutes * 60

    @property
    def warm_up(self) -> float:
        """Seconds at the start that are not measured: caches fill, and retention reaches its plateau."""
        return self.seconds / 5
