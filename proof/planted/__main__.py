"""Plants faults one after the other and sees that chaos catches each. See README.md beside this file.

    python3 -m planted [--minutes M] [--seeds N] [NAME...]
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path

from planted.cases import CASES, Case, chosen
from planted.tree import CannotPlant, Tree

PROOF = Path(__file__).resolve().parent.parent
RED = 1
# Seconds beyond the time that chaos was given: a round, and all that it waits for in the worst case.
BEYOND = 900


def main(given: list[str]) -> int:
    parser = argparse.ArgumentParser("python3 -m planted", description="Plants faults that chaos must find.")
    parser.add_argument("name", nargs="*", help=f"one of {', '.join(case.name for case in CASES)}; default: all")
    parser.add_argument("--minutes", type=float, default=2, help="for each seed (default: 2)")
    parser.add_argument("--seeds", type=int, default=3, help="maximum number for each fault (default: 3)")
    words = parser.parse_args(given)
    try:
        cases, tree = chosen(words.name), Tree()
    except KeyError as name:
        parser.error(f"there is no fault {name}")
    caught = [catch(case, tree, words.minutes, words.seeds) for case in cases]
    say(f"{sum(caught)} of {len(caught)} caught")
    return 0 if all(caught) else 1


def catch(case: Case, tree: Tree, minutes: float, seeds: int) -> bool:
    """Whether the law that it is meant for has caught it."""
    say(f"{case.name}: {case.what}")
    try:
        program = tree.plant(case.patch)
    except CannotPlant as problem:
        say(f"  not planted: {problem}")
        return False
    for seed in range(1, seeds + 1):
        code, told = chaos(program, seed, minutes)
        rounds = len(re.findall(r"^round \d+:", told, re.MULTILINE))
        found = breaches(told) if code == RED else []
        if by := [line for line in found if line.split(":")[0] in case.laws]:
            say(f"  caught in round {rounds} of seed {seed}: {by[0][:200]}")
            return True
        say(f"  seed {seed}, {rounds} rounds: {'not caught' if not found else 'another law: ' + found[0][:200]}")
    return False


def chaos(program: Path, seed: int, minutes: float) -> tuple[int, str]:
    words = [sys.executable, "-m", "chaos", "--seed", str(seed), "--minutes", str(minutes), "--skillrun", str(program)]
    done = subprocess.run(words, cwd=PROOF, capture_output=True, text=True, timeout=minutes * 60 + BEYOND)
    return done.returncode, done.stdout


def breaches(told: str) -> list[str]:
    """The lines between the sentence that a law is broken and the story."""
    _, _, rest = told.partition("a law is broken\n")
    return rest.partition("\n\n")[0].splitlines()


def say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
