"""The scenarios of `scenarios.toml`, and how a run is compared with what is expected of it."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

TABLE = Path(__file__).with_name("scenarios.toml")

KEYS = frozenset({"name", "rule", "model", "turns", "mode", "words", "replies", "expect", "engines"})
EXPECTED = frozenset(
    {"status", "turn", "reason", "error", "category", "warnings", "attempts", "output", "codes", "prompt", "advice", "reply"}
)
# The model is not there at all.
NO_MODEL = "-"


class BadTable(Exception):
    """The table of scenarios says something that is not understood."""


@dataclass(frozen=True)
class Scenario:
    name: str
    rule: str
    expect: dict[str, Any]
    model: str | None = None
    turns: list[dict[str, Any]] | None = None
    mode: str = "auto"
    words: list[str] = field(default_factory=list)
    replies: list[str] = field(default_factory=list)
    engines: dict[str, dict[str, Any]] = field(default_factory=dict)

    def expected(self, engine: str) -> dict[str, Any]:
        """What is expected of an engine."""
        own = {key: value for key, value in self.engines.get(engine, {}).items() if key != "why"}
        return {**self.expect, **own}

    def path(self, engine: str) -> str:
        """The part of the model's address that says what it does."""
        if self.turns is not None:
            return f"script.{self.name}"
        return str(self.model).replace("@engine@", engine)


@dataclass(frozen=True)
class Outcome:
    """What a run came to, as its files say."""

    status: str
    result: dict[str, Any] | None
    events: list[dict[str, Any]]

    def of(self, event: str) -> list[dict[str, Any]]:
        return [one["data"] for one in self.events if one["event"]["type"] == event]

    def summary(self) -> dict[str, Any]:
        """The members that a scenario may expect."""
        ended = self.of("attempt.ended")
        verdict = ended[-1]["verdict"] if ended else {}
        error = (self.result or {}).get("error") or {}
        asked, replied = self.of("interaction.requested"), self.of("interaction.replied")
        return {
            "status": self.status,
            "turn": verdict.get("turn"),
            "reason": verdict.get("reason_code"),
            "error": error.get("code"),
            "category": error.get("category", ""),
            "warnings": (self.result or {}).get("warnings"),
            "attempts": len(ended),
            "output": (self.result or {}).get("output"),
            "codes": sorted({code for one in self.events if (code := one["data"].get("code"))}),
            "prompt": asked[-1]["prompt"] if asked else None,
            "advice": (self.result or {}).get("next_actions"),
            "reply": replied[-1]["text"] if replied else None,
        }


def load(path: Path = TABLE) -> list[Scenario]:
    scenarios = []
    for row in tomllib.loads(path.read_text())["scenario"]:
        if unknown := set(row) - KEYS:
            raise BadTable(f"{row.get('name')}: unknown {sorted(unknown)}")
        scenario = Scenario(**row)
        if (scenario.model is None) == (scenario.turns is None):
            raise BadTable(f"{scenario.name}: needs one of `model` and `turns`")
        for engine in ("", *scenario.engines):
            if unknown := set(scenario.expected(engine)) - EXPECTED:
                raise BadTable(f"{scenario.name}: unknown expectations: {sorted(unknown)}")
        scenarios.append(scenario)
    names = [scenario.name for scenario in scenarios]
    if len(names) != len(set(names)):
        raise BadTable("two scenarios have the same name")
    return scenarios


def differences(expected: dict[str, Any], outcome: Outcome) -> list[str]:
    """One sentence for each member that is not as expected."""
    found = outcome.summary()
    return [f"{key}: {found[key]!r} instead of {value!r}" for key, value in expected.items() if not fits(key, value, found[key])]


def fits(key: str, wanted: Any, found: Any) -> bool:
    match key:
        case "warnings":
            return sorted(found or []) == sorted(wanted)
        case "codes":
            return set(wanted) <= set(found)
        case "output":
            return isinstance(found, dict) and all(found.get(name) == value for name, value in wanted.items())
        case "prompt" | "reply":
            return found is not None and in_order(wanted, found)
        case "advice":
            return all(any(word in str(one) for one in found or []) for word in wanted)
        case _:
            return found in wanted if isinstance(wanted, list) else found == wanted


def in_order(parts: list[str], text: str) -> bool:
    at = 0
    for part in parts:
        place = text.find(part, at)
        if place < 0:
            return False
        at = place + len(part)
    return True
