"""Leaks on purpose. A soak that cannot fail shows nothing."""

from __future__ import annotations

from lab.client import Stream
from soak.load.client import SoakClient

PER_MINUTE = 50
# Seconds; no thread reads, so none finds it quiet.
NEVER = 86_400.0


class Unread:
    """Followers that never read and never go."""

    def __init__(self, client: SoakClient) -> None:
        self._client = client
        self._open: list[Stream] = []

    def pause(self) -> float:
        return 60 / PER_MINUTE

    def one(self) -> None:
        self._open.append(self._client.stream("/v1/stream", NEVER))

    def close(self) -> None:
        for stream in self._open:
            stream.close()
