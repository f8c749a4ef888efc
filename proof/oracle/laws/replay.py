"""Law `replay`: what the program would show a model again is the oracle's own fold of the Log, turn by turn."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from ..event import Event
from ..fold import Fold
from ..lockstep import difference, shown
from ..looking import Looking
from ..replay import Replay, Replayed
from ..report import Law

# Seconds for one run.
LIMIT = 120


class Replays:
    law = Law.REPLAY

    def __init__(self, looking: Looking) -> None:
        self.looking = looking
        # Compared only when no process works on the run.
        self.program = looking.program if looking.is_settled else None
        self.replay = Replay(looking.folder)

    def event(self, event: Event, before: Fold) -> None:
        if self.program is not None:
            self.replay.take(event)

    def end(self, fold: Fold) -> None:
        if self.program is None:
            return
        found, problem = asked(self.program, self.looking.folder)
        if found is None:
            return self.looking.breach(Law.REPLAY, problem)
        self.looking.count(Law.REPLAY, "runs")
        for where, what in differences(found, self.replay):
            return self.looking.breach(Law.REPLAY, what, where)
        self.looking.count(Law.REPLAY, "turns", len(self.replay.turns))
        self.looking.count(Law.REPLAY, "items", sum(len(turn.items) for turn in self.replay.turns))


def asked(program: Path, folder: Path) -> tuple[dict[str, Any] | None, str]:
    """What the program prints of a run, or what is wrong."""
    words = [str(program), "--data", str(folder.parent.parent), "replay", folder.name, "--json"]
    # No setting of the machine takes part.
    surroundings = {**os.environ, "SKILLRUN_CONFIG": os.devnull}
    try:
        done = subprocess.run(words, env=surroundings, capture_output=True, timeout=LIMIT, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return None, f"`skillrun replay` failed: {error}"
    if done.returncode != 0:
        return None, f"`skillrun replay` exited with {done.returncode}: {shown(done.stderr.decode(errors='replace'))}"
    try:
        return json.loads(done.stdout), ""
    except ValueError as error:
        return None, f"`skillrun replay` did not print JSON: {error}"


def differences(found: dict[str, Any], wanted: Replay) -> list[tuple[int | None, str]]:
    """With the attempt, if it is about one."""
    problems: list[tuple[int | None, str]] = []
    for at, turn in enumerate(wanted.turns):
        told = found["turns"][at] if at < len(found["turns"]) else None
        if problem := of_turn(told, turn):
            problems.append((turn.turn, problem))
    if len(found["turns"]) > len(wanted.turns):
        problems.append((None, f"{len(found['turns'])} turns where {len(wanted.turns)} are over"))
    if counted(found["left_out"]) != wanted.left_out:
        problems.append((None, difference(counted(found["left_out"]), wanted.left_out, "left_out")))
    return problems


def of_turn(told: dict[str, Any] | None, turn: Replayed) -> str | None:
    if told is None:
        return "a turn that is over is not replayed"
    wanted = {"turn": turn.turn, "state": turn.state, "end_seq": turn.end_seq, "left_out": turn.left_out}
    seen = {**{key: told[key] for key in wanted}, "left_out": counted(told["left_out"])}
    if seen != wanted:
        return difference(seen, wanted)
    for at, (item, expected) in enumerate(zip(told["items"], turn.items)):
        if item != expected:
            return difference(item, expected, f"item {at}")
    if len(told["items"]) != len(turn.items):
        return f"{len(told['items'])} items where {len(turn.items)} belong"
    if turn.hash is not None and told["hash"] != turn.hash:
        return f"hash {told['hash']} where {turn.hash} belongs"
    return None


def counted(left_out: list[dict[str, Any]]) -> dict[str, int]:
    return {entry["reason"]: entry["count"] for entry in left_out}
