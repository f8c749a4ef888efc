"""`python3 -m soak`: reads what is wanted, does it, tells what came of it.

Ends with 0 when everything was flat and nothing was wrong, 1 when something grew or was wrong, 2 when there could be no
soak at all.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import random
import shutil
import signal
import sys
import tempfile
from pathlib import Path

from lab.processes import become_reaper
from lab.server import NotThere
from soak import table
from soak.course import Course, Outcome, end_everything
from soak.flatness import Verdict
from soak.plan import Leak, Plan

ROOT = Path(__file__).resolve().parent.parent.parent

ABOUT = """\
Steady load on one server: short runs of many kinds, answers, cancels, followers, pages, webhooks, while old runs are
removed all the time. Memory, descriptors, threads, processes and disk must be flat after a fifth of the time. The seed
decides what clients do; when they get to do it is the machine's.
"""


def read_plan(words: list[str] | None = None) -> Plan:
    parser = argparse.ArgumentParser(prog="python3 -m soak", description=ABOUT)
    parser.add_argument("--minutes", type=minutes, default=10.0, help="how long the load lasts (10)")
    parser.add_argument("--seed", type=int, help="what the dice show; another each time when left out")
    parser.add_argument("--skillrun", type=Path, default=ROOT / "target" / "debug" / "skillrun", help="the program")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="writes the table there too")
    parser.add_argument("--keep", action="store_true", help="leaves the folder where it all happened")
    parser.add_argument(
        "--leak", type=Leak, choices=list(Leak), default=Leak.NONE,
        help="grows something on purpose, so that this must end with 1: streams that nobody reads, or no retention",
    )
    said = parser.parse_args(words)
    seed = random.SystemRandom().randrange(1_000_000) if said.seed is None else said.seed
    return Plan(said.minutes, seed, said.skillrun, said.leak, said.markdown, said.keep)


def minutes(text: str) -> float:
    value = float(text)
    if not 0.5 <= value <= 24 * 60:
        raise argparse.ArgumentTypeError("from half a minute to a day")
    return value


def main() -> int:
    plan = read_plan()
    tell(f"soak: {plan.minutes:g} minutes, seed {plan.seed}, {plan.skillrun.name}")
    if not plan.skillrun.is_file():
        tell(f"there is no {plan.skillrun}; `cargo build` makes it")
        return 2
    become_reaper()
    # Asked to stop, it leaves nothing behind either.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    root = Path(tempfile.mkdtemp(prefix="skillrun-soak-"))
    try:
        outcome = Course(plan, root, tell).run()
    except NotThere as error:
        tell(str(error))
        return 2
    finally:
        end_everything()
        if plan.keep:
            tell(f"left in {root}")
        else:
            shutil.rmtree(root, ignore_errors=True)
    return conclude(plan, outcome)


def conclude(plan: Plan, outcome: Outcome) -> int:
    tell("\n" + table.text(plan, outcome))
    if plan.markdown:
        plan.markdown.write_text(table.markdown(plan, outcome))
    bad = [quantity.name for quantity, finding in outcome.findings if finding.verdict is not Verdict.FLAT]
    breaches = outcome.book.breaches()
    if not bad and not breaches:
        tell("\nflat, and nothing was wrong")
        return 0
    kept = ROOT / "target" / "soak" / f"{plan.seed}.jsonl"
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_text("".join(json.dumps(dataclasses.asdict(sample)) + "\n" for sample in outcome.samples))
    tell(f"\nNOT flat: {', '.join(bad) or 'nothing grew'}; {len(breaches)} things were wrong")
    tell(f"samples: {kept.relative_to(ROOT)}   again: python3 -m soak --minutes {plan.minutes:g} --seed {plan.seed}")
    return 1


def tell(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
