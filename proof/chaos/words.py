"""The words of the command line."""

from __future__ import annotations

import argparse
import random
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent

TOLD = """\
A seed repeats the plan: which runs are ordered, how clients behave, which faults strike and when. What happens between
them is the machine's affair, so the same seed may go well once and badly another time. Exit code 0: all laws held;
1: one was broken, and everything is kept in target/chaos/SEED; 2: it could not be tried.
"""


@dataclass(frozen=True)
class Words:
    minutes: float
    seed: int
    skillrun: Path
    rounds: int | None
    keep: bool

    def repeat(self) -> str:
        """The command that does the same again."""
        rounds = f" --rounds {self.rounds}" if self.rounds else ""
        return f"python3 -m chaos --seed {self.seed} --minutes {self.minutes:g}{rounds}"


def parse(given: list[str]) -> Words:
    parser = argparse.ArgumentParser("python3 -m chaos", description="Runs under faults.", epilog=TOLD)
    parser.add_argument("--minutes", type=float, default=10, help="no round begins after this time (default: 10)")
    parser.add_argument("--seed", type=int, help="a number; left out, one by chance")
    default = ROOT / "target" / "debug" / "skillrun"
    parser.add_argument("--skillrun", type=Path, default=default, help="the program (default: target/debug/skillrun)")
    parser.add_argument("--rounds", type=int, help="so many rounds at most")
    parser.add_argument("--keep", action="store_true", help="keep the folder of the last round in any case")
    told = parser.parse_args(given)
    seed = random.SystemRandom().randrange(1 << 32) if told.seed is None else told.seed
    return Words(told.minutes, seed, told.skillrun.resolve(), told.rounds, told.keep)
