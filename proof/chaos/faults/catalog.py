"""The catalog is removed, while the server runs or while it is down. It is a view, so nothing is lost."""

from __future__ import annotations

from chaos.faults.base import Fault
from chaos.plan import FaultName


class RemoveCatalog(Fault):
    name = FaultName.REMOVE_CATALOG
    _is_down = False

    def begin(self) -> str | None:
        if self.dice.random() < 0.5 and (server := self.stage.forget_server()):
            server.kill()
            self._is_down = True
        for name in ("catalog.sqlite", "catalog.sqlite-wal", "catalog.sqlite-shm"):
            (self.stage.place.data / name).unlink(missing_ok=True)
        return "with the server down" if self._is_down else "under the server"

    def end(self) -> bool:
        return self.stage.start_server() if self._is_down else True
