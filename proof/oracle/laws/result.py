"""Law `status`, its files: what `result.json` and `meta.N.json` say of a run is what the Log says."""

from __future__ import annotations

from typing import Any

from .. import lines
from ..event import Event
from ..fold import Fold
from ..lockstep import shown
from ..looking import Looking
from ..report import Law
from ..words import Status


def check(looking: Looking, fold: Fold) -> None:
    result = lines.whole(looking.folder / "result.json")
    if fold.end is None:
        # It is written before the last batch, and again by recovery if that was never written.
        return looking.count(Law.STATUS, "results before their end", int(result is not None))
    if result is None:
        if looking.promises.has_full_disk:
            # A view: a full disk may cost it, and commands make it again (decision 0012).
            return looking.count(Law.STATUS, "results lost to a full disk")
        return looking.breach(Law.STATUS, "over, and there is no result.json")
    looking.count(Law.STATUS, "results")
    if isinstance(timing := result.get("timing"), dict):
        # How long it took is what lies between the moments.
        timing.pop("elapsed_ms", None)
    for name, wanted in _wanted(looking, fold, fold.end).items():
        found = result.get(name)
        if found != wanted:
            what = f"{name} {shown(found)} where the Log says {shown(wanted)}"
            looking.breach(Law.STATUS, what, where="result.json")


def _wanted(looking: Looking, fold: Fold, end: Event) -> dict[str, Any]:
    """What the Log says about fields of the result that it says something about by itself."""
    verdict = fold.verdict
    completion = verdict and {
        "state": verdict.get("completion"),
        "reason_code": verdict.get("reason_code"),
        "confidence": verdict.get("confidence"),
    }
    return {
        "run_id": looking.run,
        "status": fold.status,
        "error": fold.error,
        "attempts": fold.attempt,
        "completion": completion,
        "artifacts": [fold.artifacts[path] for path in sorted(fold.artifacts)],
        "timing": {"created_at": fold.created_at, "started_at": fold.started_at, "ended_at": end.value["ts"]},
    } | _output(fold)


def _output(fold: Fold) -> dict[str, Any]:
    """The output of a run that succeeded is that of its last turn; a large one stands in a file and is not compared."""
    output = (fold.verdict or {}).get("output")
    return {"output": output} if fold.status is Status.SUCCEEDED and output is not None else {}


def check_metas(looking: Looking, fold: Fold) -> None:
    """`meta.N.json` is a view of the host's record and the verdict; before the verdict its fields are null."""
    for attempt, verdict in fold.verdicts.items():
        try:
            meta = lines.whole(looking.audit / f"meta.{attempt}.json") or {}
        except lines.Unreadable as error:
            looking.breach(Law.STATUS, str(error), attempt, f"meta.{attempt}.json")
            continue
        turn, state = meta.get("turn_state"), (meta.get("completion") or {}).get("state")
        found = (turn, state, (meta.get("completion") or {}).get("reason_code"))
        wanted = (verdict.get("turn"), verdict.get("completion"), verdict.get("reason_code"))
        if turn is not None and found != wanted:
            looking.breach(Law.STATUS, f"{found} where the Log says {wanted}", attempt, f"meta.{attempt}.json")
