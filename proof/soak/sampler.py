"""Looks at the server about once a second."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path

from lab.client import Client
from soak import disk, vitals
from soak.quantities import Sample

# Values of `/metrics` that show what is held: name of the line, without what differs from line to line.
STREAMS = "skillrun_http_streams"
ACTIVE = "skillrun_runs_active"
UNTOLD = 'skillrun_webhook_messages{state="pending"}'
TROUBLE = "skillrun_runs_in_trouble"


class Sampler:
    """Takes samples of one server and keeps them: one a second, for as long as a soak lasts."""

    def __init__(self, pid: int, client: Client, data: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._pid, self._client, self._data, self._clock = pid, client, data, clock
        self._began = clock()
        self.samples: list[Sample] = []

    def take(self) -> None:
        self.samples.append(self.look())

    def look(self) -> Sample:
        """Everything now."""
        begin = self._clock()
        answer = self._client.get("/v1/runs?limit=20")
        took = self._clock() - begin
        if not answer.is_good:
            raise AssertionError(f"GET /v1/runs: {answer.status}")
        process, folder = vitals.look(self._pid), disk.measure(self._data)
        numbers = metrics(self._client)
        return Sample(
            at=begin - self._began,
            resident=process.resident,
            anonymous=process.anonymous,
            descriptors=process.descriptors,
            threads=process.threads,
            children=process.children,
            hosts=vitals.hosts(self._pid),
            sockets=folder.sockets,
            runs=folder.runs,
            run_bytes=folder.run_bytes,
            catalog=folder.catalog,
            wal=folder.wal,
            rest=folder.rest,
            notes=folder.notes,
            list_ms=took * 1000,
            streams=numbers[STREAMS],
            active=numbers[ACTIVE],
            untold=numbers[UNTOLD],
        )


def metrics(client: Client) -> dict[str, float]:
    """What the server counts, by the name of the line."""
    answer = client.get("/metrics")
    if not answer.is_good:
        raise AssertionError(f"GET /metrics: {answer.status}")
    return numbers_in(answer.body.decode())


def numbers_in(text: str) -> dict[str, float]:
    """Lines `name value` of OpenMetrics."""
    lines = re.findall(r"^([^#\s]\S*(?:\{.*\})?) (\S+)$", text, re.MULTILINE)
    return {name: float(value) for name, value in lines}
