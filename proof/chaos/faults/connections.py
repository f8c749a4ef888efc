"""Connections break: all that are open at once, and for a while new ones in the middle of what is said."""

from __future__ import annotations

from chaos.faults.base import Fault
from chaos.plan import FaultName


class CutConnections(Fault):
    name = FaultName.CUT_CONNECTIONS

    def begin(self) -> str | None:
        self.stage.proxy.rough(True)
        self.stage.proxy.cut_all()
        return "all, and new ones after some bytes"

    def end(self) -> bool:
        self.stage.proxy.rough(False)
        return True
