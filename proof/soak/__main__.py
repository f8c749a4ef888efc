"""`python3 -m soak`: reads the arguments, runs the soak, reports the result.

Exits with 0 when everything was flat and nothing was wrong, 1 when something grew or was wrong, 2 when no soak was
possible.
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
decides what clients do; the timing depends on the machine.
"""


def read_plan(words: list[str] | None = None) -> Plan:
    parser = argparse.ArgumentParser(prog="python3 -m soak", description=ABOUT)
    parser.add_argument("--minutes", type=minutes, default=10.0, help="how long the load lasts (10)")
    parser.add_argument("--seed", type=int, help="a number (default: random)")
    parser.add_argument("--skillrun", type=Path, default=ROOT / "target" / "debug" / "skillrun", help="the program")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="also write the table to this file")
    parser.add_argument("--keep", action="store_true", help="keep the working folder")
    parser.add_argument(
        "--leak", type=Leak, choices=list(Leak), default=Leak.NONE,
        help="grow something on purpose, so that the exit code must be 1: streams without a reader, or no retention",
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
        tell(f"there is no {plan.skillrun}; run `cargo build`")
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
            tell(f"kept in {root}")
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
