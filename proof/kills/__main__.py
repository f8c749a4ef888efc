"""Kills the owner of a workflow at every event of its Log, and sees that it ends as one that was left alone.

    python3 -m kills [--skillrun PROGRAM] [--sample N] [--seed S]

An owner is killed as soon as the Log has the event. A batch of events is written at once; where the kill comes after a
batch of which nothing was done yet, what follows the event is taken back, as a crash may do. A cut that did not stop at
its event is tried again.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path
from random import Random

from kills.flow import FLOW, SKILLS, STATES
from kills.log import Essence, essence
from kills.play import Play, Played, PlayFailed
from lab import flows, place, processes
from oracle.check import check
from oracle.ledger import Effects, Ledger

ROOT = Path(__file__).resolve().parent.parent.parent
# How often a cut is tried until the kill stops at its event.
TRIES = 6
# Events at which no kill has stopped, at most: the owner did what follows them before it could be killed.
MISSED_MAX = 0.1


class Kills:
    def __init__(self, program: Path, root: Path) -> None:
        self.root, self.program = root, place.copy_of(program, root / "bin")
        self.number = 0

    def play(self, cut: int | None) -> tuple[Played, list[str]]:
        """A workflow in a new place, and what is wrong with it."""
        self.number += 1
        folder = self.root / f"play-{self.number}"
        made = place.make(folder, self.program, SKILLS)
        file = folder / "killed.yaml"
        file.write_text(flows.text(FLOW))
        with Ledger(folder / "ledger.jsonl") as ledger:
            ledger.write(Effects(made.effects.name))
        try:
            played = Play(made, file, cut).run()
        except PlayFailed as problem:
            say(f"kept: {folder}")
            raise SystemExit(f"{problem}") from problem
        report = check(made.data, folder / "ledger.jsonl", is_settled=True)
        problems = [str(breach) for breach in report.breaches]
        if problems:
            say(f"kept: {folder}")
        else:
            shutil.rmtree(folder)
        return played, problems


def main(given: list[str]) -> int:
    parser = argparse.ArgumentParser("python3 -m kills", description="Kills a workflow at every event of its Log.")
    parser.add_argument("--skillrun", type=Path, default=ROOT / "target" / "debug" / "skillrun")
    parser.add_argument("--sample", type=int, help="only so many events, chosen by the seed")
    parser.add_argument("--seed", type=int, default=1)
    words = parser.parse_args(given)
    if not processes.become_reaper():
        raise SystemExit("this system has no subreapers, so remaining processes cannot be found")
    root = Path(tempfile.mkdtemp(prefix="skillrun-kills-"))
    kills = Kills(words.skillrun, root)
    undisturbed, problems = kills.play(None)
    wanted, count = essence(undisturbed.log.events), len(undisturbed.log.events)
    if found := problems or differences(wanted, STATES):
        say("\n".join(["the workflow that was left alone is not as it should be", *found]))
        return 1
    cuts = [*range(1, count)]
    if words.sample:
        cuts = sorted(Random(words.seed).sample(cuts, min(words.sample, len(cuts))))
    missed = []
    for cut in cuts:
        stopped = None
        for _ in range(TRIES):
            played, found = kills.play(cut)
            found += compare(wanted, essence(played.log.events))
            if found:
                say("\n".join([f"killed at event {played.killed_at} of {count}:", *found]))
                return 1
            stopped = played.killed_at
            if stopped == cut:
                break
        if stopped != cut:
            missed.append(cut)
    say(f"{len(cuts)} of {count - 1} events: {len(cuts) - len(missed)} kills stopped there, {kills.number} workflows, "
        f"all ended the same" + (f"; not stopped at {missed}" if missed else ""))
    shutil.rmtree(root, ignore_errors=True)
    return 1 if len(missed) > MISSED_MAX * count else 0


def differences(found: Essence, states: dict[str, str]) -> list[str]:
    """What is not as the workflow was written to end."""
    told = {name: state for name, state in found.states.items() if "[" not in name}
    wrong = [f"{name}: {told.get(name)}, not {state}" for name, state in states.items() if told.get(name) != state]
    return wrong + ([] if found.outcome == "completed" else [f"it is {found.outcome}"])


def compare(wanted: Essence, found: Essence) -> list[str]:
    told = ((name, getattr(wanted, name), getattr(found, name)) for name in Essence.__dataclass_fields__)
    return [f"{name}: {now}, and undisturbed {once}" for name, once, now in told if once != now]


def say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
