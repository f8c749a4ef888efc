"""Decides whether the laws hold: the oracle, as a separate process, and what only the driver can see."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

PROOF = Path(__file__).resolve().parent.parent
# Seconds for the oracle.
ORACLE = 300
HOLDS, BROKEN = 0, 1


class CheckFailed(Exception):
    """One sentence: why nothing could be tried or checked."""


def oracle(data: Path, ledger: Path, skillrun: Path | None = None) -> tuple[list[str], list[str]]:
    """One line per law, and one per breach. With `skillrun`, its replays are compared too."""
    words = [sys.executable, "-m", "oracle", str(data), "--ledger", str(ledger), "--settled", "--json"]
    if skillrun is not None:
        words += ["--skillrun", str(skillrun)]
    try:
        asked = subprocess.run(words, cwd=PROOF, capture_output=True, text=True, timeout=ORACLE)
    except subprocess.TimeoutExpired as error:
        raise CheckFailed(f"the oracle did not finish within {ORACLE} s") from error
    if asked.returncode not in (HOLDS, BROKEN):
        raise CheckFailed(f"the oracle failed: {asked.stderr.strip()[-2000:]}")
    return _read(asked.stdout)


def _read(told: str) -> tuple[list[str], list[str]]:
    try:
        report = json.loads(told)
        laws = [_law(name, law["broken"], law["counts"]) for name, law in report["laws"].items()]
        breaches = [_breach(breach) for breach in report["breaches"]]
    except (ValueError, KeyError, TypeError) as error:
        raise CheckFailed(f"failed to read the report of the oracle: {error!r}") from error
    return laws, breaches or ([] if report["holds"] else ["a law is broken, and the oracle does not say which"])


def _law(name: str, broken: int, counts: dict[str, int]) -> str:
    verdict = f"{broken} broken" if broken else "holds"
    return f"{name} {verdict}: " + ", ".join(f"{count} {what}" for what, count in counts.items() if count)


def _breach(told: dict) -> str:
    attempt = None if told["attempt"] is None else f"attempt {told['attempt']}"
    where = told["where"] and f"({told['where']})"
    return " ".join(filter(None, (f"{told['law']}:", told["run"], attempt, told["what"], where)))


def keys_used_once(data: Path) -> list[str]:
    """A key of a caller has one run, however often he asked."""
    seen: dict[str, str] = {}
    breaches = []
    for record in sorted(data.glob("runs/*/run.json")):
        try:
            if (record.parent / "events.jsonl").stat().st_size == 0:
                continue
            told = json.loads(record.read_text())
            key = told["request"].get("request_id")
        except FileNotFoundError:
            # Not accepted: a run begins with its first event.
            continue
        except (OSError, ValueError, KeyError) as error:
            breaches.append(f"accepted: {record.parent.name}: run.json cannot be read: {error}")
            continue
        if key and told.get("retry_of") is None and seen.setdefault(key, record.parent.name) != record.parent.name:
            breaches.append(f"accepted: the key {key} has two runs, {seen[key]} and {record.parent.name}")
    return breaches
