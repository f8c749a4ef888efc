"""Law `continues`: what a message that begins with a replay says of it follows from the Log that was replayed: that of the
run before, or of the same run where its session was lost. Written from contract R5.20, R6.24 and R6.25.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from ..event import Event
from ..fold import Fold
from ..lockstep import difference, shown
from ..looking import Looking
from ..replay import AFTER, Replayed, exact, folded
from ..report import Law
from ..words import Rasp

# A turn that was not over, and turns for which the message had no room.
OPEN, EARLIER = "open_turn", "earlier_turn"
HEADING = re.compile(r"^(User|Agent|Tool call|Tool result|Child run)\b.*:", re.MULTILINE)


class Continues:
    law = Law.CONTINUES

    def __init__(self, looking: Looking) -> None:
        self.looking = looking
        # The run before, as the Log has it.
        self.before: dict[str, Any] | None = None
        self.first: Event | None = None
        self.repeats: list[Event] = []

    def event(self, event: Event, before: Fold) -> None:
        if event.kind is Rasp.RUN_STARTED:
            self.before = event.data.get("continues")
        elif event.kind is Rasp.MESSAGE_USER:
            self.first = self.first or event
            if event.data.get("replayed"):
                self.repeats.append(event)

    def end(self, fold: Fold) -> None:
        promised, recorded = self.looking.promised.continued, self.looking.record.get("continues")
        if recorded != self.before:
            self._breach(f"run.json: {difference(recorded, self.before, 'continues')}")
        if promised and (self.before or {}).get("run_id") != promised.of:
            self._breach(f"was accepted as the run that continues {promised.of}, and the Log says {shown(self.before)}")
        if self.before:
            self._run_before(self.before)
        for event in self.repeats:
            self.looking.count(Law.CONTINUES, "sessions begun with a replay")
            turns = folded(self.looking.folder, event.seq).turns
            self._compare(event.data["replayed"], turns, event)

    def _run_before(self, told: dict[str, Any]) -> None:
        folder = self.looking.folder.parent / told["run_id"]
        if not (folder / "events.jsonl").exists():
            return self.looking.count(Law.CONTINUES, "runs whose run before was removed")
        self.looking.count(Law.CONTINUES, "runs that continue another")
        self._compare(told, folded(folder).turns, self.first)
        if self.first and self.first.data["origin"] != "orchestrator":
            self._breach(f"its first message has the origin {self.first.data['origin']}", self.first)

    def _compare(self, told: dict[str, Any], turns: list[Replayed], message: Event | None) -> None:
        """`turns` are those of the replayed Log; it may have more by now than were there to be replayed."""
        at = next((at for at, turn in enumerate(turns) if turn.end_seq == told["seq"]), None)
        if at is None:
            return self._breach(f"no turn ended at {told['seq']} of the replayed Log", message)
        if not turns[at].items:
            return self._breach(f"the turn that ended at {told['seq']} has nothing to be replayed", message)
        if turns[at].hash is not None and told["hash"] != turns[at].hash:
            self._breach(f"hash {told['hash']} where {turns[at].hash} belongs", message)
        left_out = {entry["reason"]: entry["count"] for entry in told["left_out"]}
        earlier, still_open = left_out.pop(EARLIER, 0), left_out.pop(OPEN, 0)
        possible = list(sums(turns, at))
        if left_out not in possible:
            self._breach(difference(left_out, possible[0], "left_out"), message)
        elif still_open > 1:
            self._breach(f"{still_open} turns were open", message)
        if message is not None and self.looking.has_evidence:
            self._words(message, turns[: at + 1], earlier)

    def _words(self, message: Event, turns: list[Replayed], earlier: int) -> None:
        text = exact(self.looking.folder, message.data)
        if text is None:
            # Law `evidence` looks after the file.
            return self.looking.count(Law.CONTINUES, "messages without their file")
        replay, is_there, _ = text.partition(AFTER)
        wanted = "\n".join(turn.transcript for turn in [turn for turn in turns if turn.items][earlier:])
        # A process cannot receive a NUL.
        wanted = wanted.replace("\0", "\ufffd")
        if not is_there:
            self._breach("the message does not begin with a replay", message)
        elif not replay.endswith(f"\n\n{wanted}"):
            self._breach("the message has another transcript than the replayed Log", message)
        elif found := HEADING.search(replay.removesuffix(wanted)):
            self._breach(f"before the transcript of the replayed Log the message has {shown(found[0])}", message)
        else:
            self.looking.count(Law.CONTINUES, "transcripts")

    def _breach(self, what: str, event: Event | None = None) -> None:
        where = (event.attempt, event.where) if event else (None, None)
        self.looking.breach(Law.CONTINUES, what, *where)


def sums(turns: list[Replayed], last: int) -> Iterator[dict[str, int]]:
    """What was left out up to this turn, also with turns behind it that have nothing to be replayed."""
    total: Counter[str] = Counter()
    for turn in turns[: last + 1]:
        total.update(turn.left_out)
    yield dict(total)
    for turn in turns[last + 1 :]:
        if turn.items:
            return
        total.update(turn.left_out)
        yield dict(total)
