"""Law `effects`: what an engine does once is done once, and only in attempts that the Log knows."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from ..ledger import LINE_LIMIT
from ..report import Breach, Law, Report

TOLD = "told"


@dataclass
class RunEffects:
    """What the Log of a run says that effects must agree with."""

    attempts: int
    # How often each text was given as an answer.
    answers: Counter[str]


def check(path: Path, runs: dict[str, RunEffects], report: Report) -> None:
    steps: Counter[tuple[str, str, str]] = Counter()
    told: Counter[tuple[str, str]] = Counter()
    if not path.exists():
        # No engine has come so far.
        return
    with open(path, "rb") as file:
        number = 0
        while line := file.readline(LINE_LIMIT):
            number += 1
            where = f"{path.name}:{number}"
            words = line.decode("utf-8", "replace").rstrip("\n").split(" ", 3)
            if len(words) < 3:
                report.breach(Breach(Law.EFFECTS, "not `RUN ATTEMPT STEP`", where=where))
                continue
            report.count(Law.EFFECTS, "effects")
            run, attempt, step, *text = words
            steps[run, attempt, step] += 1
            if step.startswith(TOLD) and text:
                told[run, text[0]] += 1
            if problem := _problem(steps[run, attempt, step], attempt, step, runs.get(run)):
                report.breach(Breach(Law.EFFECTS, problem, run, _number(attempt), where))
    for (run, text), times in told.items():
        _told(run, text, times, runs.get(run), report)


def _problem(times: int, attempt: str, step: str, run: RunEffects | None) -> str | None:
    if run is None:
        return f"step {step} of a run that does not exist"
    number = _number(attempt)
    if attempt != "-" and (number is None or not 1 <= number <= run.attempts):
        return f"step {step} of attempt {attempt}, which the Log does not know"
    if times > 1:
        return f"step {step} was done {times} times"
    return None


def _told(run: str, text: str, times: int, known: RunEffects | None, report: Report) -> None:
    """An engine is given its prompt, which is not an answer; a text that was an answer is given as often as it was
    sent."""
    given = known.answers.get(text, 0) if known else 0
    if given and times > given:
        report.breach(Breach(Law.EFFECTS, f"received {text!r} {times} times, which was answered {given} times", run))


def _number(attempt: str) -> int | None:
    return int(attempt) if attempt.isascii() and attempt.isdigit() else None
