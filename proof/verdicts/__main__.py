"""`python3 -m verdicts`: every scenario on every installed engine; prints each difference from what the contract demands."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from .scenario import Scenario, differences, load
from .trial import Engine, Trial

ENGINES = ("codex", "claude", "gemini", "opencode", "qwen")
DESCRIPTIONS = Path(__file__).parents[2] / "crates/engine/engines"
# Each engine takes a core.
AT_A_TIME = 2


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="verdicts", description=__doc__)
    parser.add_argument("--skillrun", type=Path, default=Path("../target/debug/skillrun"), help="the program to test")
    parser.add_argument("--programs", type=Path, default=Path.home() / ".cache/skillrun/programs", help="where the engines are installed")
    parser.add_argument("--engines", default=",".join(ENGINES), help="only these, separated by commas")
    parser.add_argument("--scenarios", default="", help="only these, separated by commas")
    parser.add_argument("--keep", type=Path, help="keep the folders of all runs there")
    return parser.parse_args()


def installed(skillrun: Path, programs: Path, names: list[str]) -> list[Engine]:
    engines = []
    for name in names:
        if (programs / name).exists():
            engines.append(Engine.read(DESCRIPTIONS / f"{name}.toml"))
        else:
            print(f"skipped: {name} is not in {programs}; `make e2e` installs it")
    return engines


def attempt(trial: Trial) -> list[str]:
    try:
        found = differences(trial.scenario.expected(trial.engine.name), trial.run())
        return [*found, *trial.leaks(), *trial.verified()]
    except subprocess.TimeoutExpired as error:
        return [f"no end after {error.timeout:.0f} s"]


def main() -> int:
    words = arguments()
    skillrun = words.skillrun.resolve()
    scenarios = load()
    if words.scenarios:
        wanted = words.scenarios.split(",")
        scenarios = [scenario for scenario in scenarios if scenario.name in wanted]
    engines = installed(skillrun, words.programs, words.engines.split(","))
    scratch = words.keep or Path(tempfile.mkdtemp(prefix="skillrun-verdicts-"))
    scratch.mkdir(parents=True, exist_ok=True)
    scripts = scratch / "scripts.json"
    scripts.write_text(json.dumps({one.name: {"turns": one.turns} for one in scenarios if one.turns is not None}))
    server = [str(skillrun), "simulate-model", "--delay-ms", "50", "--scripts", str(scripts), "--until-stdin-closes"]
    with subprocess.Popen(server, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as model:
        assert model.stdout is not None
        origin = model.stdout.readline().rpartition(" ")[2].strip()
        total, done, wrong = len(engines) * len(scenarios), 0, []

        def one(engine: Engine, scenario: Scenario) -> tuple[str, list[str], float]:
            begin = time.monotonic()
            found = attempt(Trial(skillrun, words.programs, scratch, origin, engine, scenario))
            return f"{engine.name} {scenario.name}", found, time.monotonic() - begin

        with ThreadPoolExecutor(AT_A_TIME) as pool:
            tried = [pool.submit(one, engine, scenario) for scenario in scenarios for engine in engines]
            for future in tried:
                name, found, took = future.result()
                done += 1
                print(f"[{done}/{total}] {name}: {'as expected' if not found else '; '.join(found)} ({took:.1f} s)", flush=True)
                wrong += [f"{name}: {'; '.join(found)}"] if found else []
    print(f"\n{total - len(wrong)} as expected, {len(wrong)} different")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
