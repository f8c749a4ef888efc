"""What a fault is: it begins, lasts, and ends."""

from __future__ import annotations

from abc import ABC, abstractmethod
from random import Random
from typing import ClassVar

from chaos.plan import FaultName
from chaos.stage import Stage


class Fault(ABC):
    """One blow of it."""

    name: ClassVar[FaultName]

    def __init__(self, stage: Stage, dice: Random) -> None:
        self.stage, self.dice = stage, dice

    @abstractmethod
    def begin(self) -> str | None:
        """What was hit; none where there was nothing to hit, and then there is nothing to end."""

    def end(self) -> bool:
        """Whether it is over; if not, this is called again a moment later."""
        return True
