"""Law `checks`: a run with checks succeeds only after each of them has passed, in order; one that has not passed ends the
run with `CHECK_FAILED`, and no other one follows it. How a check ended is what its host recorded. Written from contract
R4.20 and R4.21.
"""

from __future__ import annotations

from typing import Any

from .. import blake3, lines
from ..event import Event
from ..fold import Fold
from ..looking import Looking
from ..report import Law
from ..words import CLOSED, RUN_ENDS, Phase, Rasp

PASSED, CANCELED = "passed", "canceled"


class Checks:
    law = Law.CHECKS

    def __init__(self, looking: Looking) -> None:
        self.looking = looking
        self.wanted: list[dict[str, Any]] = (looking.record.get("request") or {}).get("checks") or []
        self.ended: list[Event] = []
        self.is_open = False

    def event(self, event: Event, before: Fold) -> None:
        if event.kind is Rasp.RUN_STATUS and event.data.get("phase") == Phase.CHECKING:
            if before.is_open or self.is_open:
                self._breach("a check is announced while a turn or another check is open", event)
            self.is_open = True
        elif event.kind is Rasp.CHECK_ENDED:
            self._ended(event)
        elif event.kind in RUN_ENDS and before.end is None:
            self._over(event)

    def _ended(self, event: Event) -> None:
        number, name = event.data.get("check"), event.data.get("name")
        wanted = self.wanted[len(self.ended)] if len(self.ended) < len(self.wanted) else {}
        if not self.is_open:
            self._breach(f"check {number} ended and was not announced", event)
        if (number, name) != (len(self.ended) + 1, wanted.get("name")) or event.data.get("command") != wanted.get("command"):
            self._breach(f"check {number} ({name}) is not the next check of run.json", event)
        if any(earlier.data.get("status") != PASSED for earlier in self.ended):
            self._breach(f"check {number} follows one that did not pass", event)
        self.is_open = False
        self.ended.append(event)
        self._follows(event)

    def _over(self, event: Event) -> None:
        statuses = [ended.data.get("status") for ended in self.ended]
        if self.is_open:
            self._breach(f"{event.word}, and the end of a check is not in the Log", event)
        if event.kind is Rasp.RUN_COMPLETED and event.data.get("reason_code") != CLOSED:
            if statuses != [PASSED] * len(self.wanted):
                self._breach(f"succeeded with {len(self.wanted)} checks, which ended as {statuses}", event)
        is_failure = event.kind is Rasp.RUN_FAILED and (event.data.get("error") or {}).get("code") == "CHECK_FAILED"
        has_failed = bool(statuses) and statuses[-1] not in (PASSED, CANCELED)
        if is_failure != has_failed and event.kind is not Rasp.RUN_CANCELED:
            # A host that was ended by a signal reports a cancel, and the run was not canceled.
            if not (is_failure and statuses[-1:] == [CANCELED]):
                self._breach(f"{event.word} after checks that ended as {statuses}", event)

    def _follows(self, event: Event) -> None:
        """What the Log says of a check is what its host has recorded."""
        data = event.data
        self.looking.count(Law.CHECKS, "checks")
        if not data.get("host_hash") or not self.looking.has_evidence:
            if data.get("status") == PASSED and not data.get("host_hash"):
                self._breach("a check passed that no host has recorded", event)
            return
        path = self.looking.audit / "checks" / str(data.get("check")) / f"host.{data.get('recording')}.json"
        record = lines.whole(path)
        if record is None:
            return self._breach(f"{path.name} of check {data.get('check')} is gone", event)
        if blake3.of_file(path)[1] != data["host_hash"]:
            return self._breach(f"{path.name} of check {data.get('check')} was changed", event)
        found = (record.get("exit_code"), record.get("signal"), record.get("ended_by"))
        told = data.get("exit") or {}
        if found != (told.get("code"), told.get("signal"), told.get("ended_by")):
            self._breach(f"check {data.get('check')} ended as {told}, and its host says {found}", event)
        is_good = record.get("exit_code") == 0 and record.get("ended_by") in ("exited", "linger")
        if (data.get("status") == PASSED) != (is_good and record.get("error") is None):
            self._breach(f"check {data.get('check')} is {data.get('status')}, and its host says {found}", event)

    def end(self, fold: Fold) -> None:
        if fold.end is None and self.is_open:
            self.looking.count(Law.CHECKS, "checks that are open")

    def _breach(self, what: str, event: Event) -> None:
        self.looking.breach(Law.CHECKS, what, event.attempt, event.where)
