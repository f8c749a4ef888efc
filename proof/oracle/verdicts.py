"""The table of settling, contract R3.5: which words may stand together in a turn record."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from .words import INTERRUPTED, Mode, Scope


@dataclass(frozen=True)
class Row:
    turns: frozenset[str]
    completion: str
    reasons: frozenset[str]
    runs: frozenset[str]


def row(turns: str, completion: str, reasons: str, runs: str) -> Row:
    return Row(frozenset(turns.split()), completion, frozenset(reasons.split()), frozenset(runs.split()))


BROKEN = "partial_failed failed"
ASKING = ("completed failed", "awaiting_user_input", "TURN_ENDED_WITHOUT_MARKER")

# What the processes of an attempt used too much of.
LIMITS = "MEMORY_LIMIT PROCESS_LIMIT CPU_LIMIT DISK_LIMIT"

RULES: dict[str, Row] = {
    "1": row("interrupted", "interrupted", "CANCELED", "canceled"),
    "1b": row("interrupted", "interrupted", "INTERRUPTED", "waiting_user"),
    "2": row(BROKEN, "interrupted", "LIMIT_REACHED", "failed"),
    "2b": row(BROKEN, "interrupted", "ENGINE_FAILED", "failed"),
    "3": row("completed", "completed", "DONE_MARKER_OUTPUT_INVALID", "failed"),
    "3b": row("completed", "completed", "DONE_MARKER_FOUND", "succeeded"),
    "3c": row("completed", "completed", "DONE_MARKER_FOUND", "succeeded failed"),
    "4": row("timed_out", "interrupted", "TIMEOUT", "failed"),
    "5": row("interrupted", "interrupted", "ATTEMPT_LOST EVIDENCE_BUDGET HOST_ERROR " + LIMITS, "failed"),
    "5b": row("failed", "interrupted", "ENGINE_NOT_FOUND ENGINE_NOT_STARTED", "failed"),
    "6": row(BROKEN, "interrupted", "ENGINE_FAILED", "failed"),
    "7": row(BROKEN, "interrupted", "ENGINE_END_MISSING", "failed"),
    "7b": row("interrupted", "unknown", "EXIT_UNKNOWN", "failed"),
    "8": row("failed", "interrupted", "ANSWER_MISSING", "failed"),
    "8b": row("completed", "unknown", "AGENT_NOT_DONE", "failed"),
    # Failed where the request requires a marker.
    "9": row("completed", "completed", "OUTPUT_VALID CLEAN_FINAL", "succeeded failed"),
    "10": row("completed", "unknown", "OUTPUT_MISSING OUTPUT_INVALID", "failed"),
    "11": row("completed", "completed", "OUTPUT_VALID", "succeeded"),
    "12": row(*ASKING, "failed"),
    "13": row(*ASKING, "failed"),
    "14": row(*ASKING, "waiting_user"),
}


# The code of the error where it is not the reason code.
ERRORS: dict[str, str] = {"3c": "ENGINE_EXIT_NONZERO", "9": "DONE_MARKER_MISSING"}
# The warning that success without the agent's word carries.
UNMARKED: dict[str, str] = {
    "9": "COMPLETED_WITHOUT_DONE_MARKER",
    "11": "INTERACTIVE_COMPLETED_WITHOUT_DONE_MARKER",
}


# Of a conversation these rules apply, and however a turn ends, the run waits for the next prompt.
TALK = ("1b", "2", "2b", "4", "5", "5b", "6", "7", "7b")
TALK_RULES: dict[str, tuple[Row, ...]] = {
    "1": (RULES["1"],),
    **{name: (replace(RULES[name], runs=frozenset({"waiting_user"})),) for name in TALK},
    "14": (
        row("completed", "awaiting_user_input", "CLEAN_FINAL", "waiting_user"),
        row("failed", "interrupted", "ANSWER_MISSING", "waiting_user"),
    ),
}


def _rows(rule: str, mode: str | None) -> tuple[Row, ...]:
    """The rows of a rule in a mode; none where it does not apply."""
    if mode == Mode.CONVERSATION:
        return TALK_RULES.get(rule, ())
    if rule == INTERRUPTED and mode == Mode.AUTO:
        return ()
    return (RULES[rule],) if rule in RULES else ()


def problem(data: dict[str, Any], mode: str | None = None, has_skill: bool = True) -> str | None:
    """What is wrong with a turn record, by itself."""
    verdict = data.get("verdict") or {}
    rule = verdict.get("rule")
    rows = _rows(str(rule), mode)
    if not rows:
        return f"rule {rule!r} is not a rule of the contract, or not of mode {mode}"
    words = (verdict.get("turn"), verdict.get("completion"), verdict.get("reason_code"), verdict.get("run_status"))
    turn, completion, reason, run = words
    if not any(_fits(wanted, words) for wanted in rows):
        return f"rule {rule} does not give {' '.join(map(str, words))}"
    if data.get("terminal_status") != turn:
        return f"terminal_status {data.get('terminal_status')!r} for turn {turn!r}"
    if complaint := _incomplete(data, turn):
        return complaint
    if (run == "waiting_user") != (verdict.get("pending") is not None):
        return "a question that is to be asked belongs to waiting_user and to nothing else"
    scope = (verdict.get("pending") or {}).get("scope")
    rests = run == "waiting_user" and (mode == Mode.CONVERSATION or rule == INTERRUPTED)
    if rests != (scope == Scope.PROMPT):
        return f"rule {rule} in mode {mode} with a question of scope {scope!r}"
    code = (verdict.get("error") or {}).get("code")
    # A turn of a conversation has its error with it, and the run goes on.
    is_broken = run == "failed" or (mode == Mode.CONVERSATION and rule not in ("1", INTERRUPTED) and turn != "completed")
    if is_broken != (code is not None):
        return f"run {run!r} with error {code!r}"
    if run == "failed" and rule in ERRORS and code != ERRORS[rule]:
        return f"rule {rule} does not give error {code!r}"
    unmarked = UNMARKED.get(str(rule)) if run == "succeeded" and has_skill else None
    told = {word for word in verdict.get("warnings") or [] if word in UNMARKED.values()}
    if told != ({unmarked} if unmarked else set()):
        return f"rule {rule} with warnings {sorted(told)}: only success without a marker has a warning"
    return None


def _incomplete(data: dict[str, Any], turn: Any) -> str | None:
    """What a record of a turn that did not complete lacks."""
    if (turn != "completed") != bool(data.get("next_actions")):
        return f"turn {turn!r} with next actions {data.get('next_actions')!r}"
    if turn == "timed_out" and not (data.get("limit") and data.get("deadline_at")):
        return f"turn {turn!r} with limit {data.get('limit')!r} and deadline {data.get('deadline_at')!r}"
    return None


def _fits(wanted: Row, words: tuple[Any, ...]) -> bool:
    turn, completion, reason, run = words
    return turn in wanted.turns and completion == wanted.completion and reason in wanted.reasons and run in wanted.runs
