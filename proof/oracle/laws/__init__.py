"""The laws, one file each. `Law` objects here see every event of one run in order, and then its end.

`event` is called with the fold as it was before the event, `end` with the last.
"""

from __future__ import annotations

from typing import Protocol

from ..event import Event
from ..fold import Fold
from ..report import Law


class RunLaw(Protocol):
    law: Law

    def event(self, event: Event, before: Fold) -> None: ...

    def end(self, fold: Fold) -> None: ...
