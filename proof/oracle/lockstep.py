"""Compares a file of JSON lines with values that are made one after the other, without holding either."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from . import lines
from .lines import Kind

SHOWN = 60


class Lockstep:
    """The file may end before the values do; whether that is right is the caller's to say.

    `seen_as` gives a line of the file as it is to be compared with a value.
    """

    def __init__(
        self,
        path: Path,
        seen_as: Callable[[Any, Any], Any] = lambda found, _: found,
        passes_over: Callable[[Any], bool] = lambda _: False,
    ) -> None:
        self.path = path
        self.read = 0
        # Values that the file ends before.
        self.missing = 0
        self.is_broken = False
        self._is_over = False
        self._lines = lines.read(path)
        self._seen_as = seen_as
        self._passes_over = passes_over
        self._number = 0

    @property
    def where(self) -> str:
        return f"{self.path.name}:{self._number}"

    def expect(self, wanted: Any) -> str | None:
        """What is wrong with the next line, which should be this. The first such line is the last that is compared."""
        if self.is_broken:
            return None
        line = self._next()
        if line is None:
            self.missing += 1
            return None
        if line.kind is not Kind.OBJECT:
            self.is_broken = True
            return "a line that is not JSON"
        found = self._seen_as(line.value, wanted)
        if found == wanted:
            return None
        self.is_broken = True
        return difference(found, wanted)

    def rest(self) -> str | None:
        """What is wrong with lines that nothing is expected for."""
        line = None if self.is_broken else self._next()
        if line is None:
            return None
        self.is_broken = True
        return f"more than there is: {shown(line.value.get('type') or line.value.get('event'))}"

    def _next(self) -> lines.Line | None:
        while not self._is_over:
            line = next(self._lines, None)
            if line is None or line.kind is Kind.TORN:
                self._is_over = True
                return None
            self._number = line.number
            self.read += 1
            if line.kind is not Kind.OBJECT or not self._passes_over(line.value):
                return line
        return None


def shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=True, default=str)
    return text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"


def difference(found: Any, wanted: Any, path: str = "") -> str:
    """The first place where two values differ."""
    if isinstance(found, dict) and isinstance(wanted, dict):
        for key in [*wanted, *found]:
            if found.get(key) != wanted.get(key):
                return difference(found.get(key), wanted.get(key), f"{path}.{key}")
    return f"{path.lstrip('.') or 'a line'} {shown(found)} where {shown(wanted)} belongs"
