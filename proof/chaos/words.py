"""The words of the command line."""

from __future__ import annotations

import argparse
import random
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent

TOLD = """\
A seed repeats the plan: which runs are ordered, how clients behave, which faults strike and when. The timing in between
depends on the machine, so the same seed may pass once and fail another time. Exit code 0: all laws held; 1: a law
was broken, and everything is kept in target/chaos/SEED; 2: the test could not run.
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
    parser.add_argument("--minutes", type=float, default=10, help="start no round after this time (default: 10)")
    parser.add_argument("--seed", type=int, help="a number (default: random)")
    default = ROOT / "target" / "debug" / "skillrun"
    parser.add_argument("--skillrun", type=Path, default=default, help="the program (default: target/debug/skillrun)")
    parser.add_argument("--rounds", type=int, help="maximum number of rounds")
    parser.add_argument("--keep", action="store_true", help="always keep the folder of the last round")
    told = parser.parse_args(given)
    seed = random.SystemRandom().randrange(1 << 32) if told.seed is None else told.seed
    return Words(told.minutes, seed, told.skillrun.resolve(), told.rounds, told.keep)
