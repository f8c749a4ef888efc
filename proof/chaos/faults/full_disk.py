"""The disk is full for a while."""

from __future__ import annotations

import time

from chaos.book import DISK_FULL, Weather
from chaos.faults.base import Fault
from chaos.plan import FaultName


class FillDisk(Fault):
    name = FaultName.FILL_DISK
    _weather: Weather

    def begin(self) -> str | None:
        if not self.stage.disk.is_small:
            return None
        self._weather = self.stage.book.storm(DISK_FULL)
        return f"{self.stage.disk.fill() >> 10} KiB taken"

    def end(self) -> bool:
        self.stage.disk.free()
        self._weather.end = time.monotonic()
        return True
