"""What engines received, from evidence: how often an answer reached one.

A turn begins with an answer in one of these ways, each with evidence of its own:
an argument of the process (`host.N.json`, or `meta.N.json` where the host was
lost), a line of its standard input (`stdin.N.log`), or, for agents of the Agent
Client Protocol, a prompt on standard input that `opening.N.json` announces.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from . import lines
from .looking import Looking
from .replay import AFTER

READ = 64 << 20
DEPTH = 40


def told(looking: Looking, attempt: int, text: str) -> int:
    """How often the engine of this attempt was given this text to begin a turn with."""
    stdin = sum(_says(line, text) for line in _stdin(looking.audit / f"stdin.{attempt}.log"))
    return stdin + sum(_is(argument, text) for argument in _arguments(looking, attempt))


def typed(looking: Looking, text: str) -> int:
    """How often any process of the run, in any attempt, was given this text on its standard input."""
    return sum(_says(line, text) for path in looking.audit.glob("stdin.*.log") for line in _stdin(path))


def answered(looking: Looking, attempt: int, call_id: str) -> int:
    """How often a question inside the turn was answered."""
    return sum(_answers(line, call_id) for line in _stdin(looking.audit / f"stdin.{attempt}.log"))


def _arguments(looking: Looking, attempt: int) -> list[str]:
    record = looking.host(attempt) or _meta(looking, attempt) or {}
    return [argument for argument in record.get("argv") or [] if isinstance(argument, str)]


def _meta(looking: Looking, attempt: int) -> dict[str, Any] | None:
    try:
        return lines.whole(looking.audit / f"meta.{attempt}.json")
    except lines.Unreadable:
        return None


def _is(argument: str, text: str) -> bool:
    """The text is the argument, or the value of one; files that came with an answer are named after it, and the replay of
    a lost session precedes it."""
    value = argument.split("=", 1)[1] if argument.startswith("--") and "=" in argument else argument
    value = value.rpartition(AFTER)[2]
    return value == text or value.startswith(f"{text}\n\nFiles ")


def _stdin(path: Path) -> Iterator[str]:
    try:
        with open(path, "rb") as file:
            while line := file.readline(READ):
                yield line.decode("utf-8", "replace").removesuffix("\n")
    except FileNotFoundError:
        return


def _says(line: str, text: str) -> bool:
    """The line is the text, or JSON that holds it as what a user says."""
    if _is(line, text):
        return True
    value = _json(line)
    if isinstance(value, str):
        return _is(value, text)
    return any(_is(said, text) for said in _texts(value))


def _texts(value: Any, depth: int = 0) -> Iterator[str]:
    if depth > DEPTH:
        return
    if isinstance(value, dict):
        if isinstance(value.get("text"), str):
            yield value["text"]
        for part in value.values():
            yield from _texts(part, depth + 1)
    elif isinstance(value, list):
        for part in value:
            yield from _texts(part, depth + 1)


def _answers(line: str, call_id: str) -> bool:
    """JSON-RPC answers carry the id of the question, claude's the request's."""
    value = _json(line)
    if not isinstance(value, dict):
        return False
    if "result" in value or "error" in value:
        return _same_id(value.get("id"), call_id)
    response = value.get("response")
    return isinstance(response, dict) and _same_id(response.get("request_id"), call_id)


def _same_id(found: Any, call_id: str) -> bool:
    """A number is written as one; the Log names the question by its JSON text or by the text itself."""
    return found is not None and call_id in (found, json.dumps(found))


def _json(line: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None
