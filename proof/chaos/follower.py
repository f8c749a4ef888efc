"""A client that follows a run, comes again after every break, and sees that nothing is missing or comes twice."""

from __future__ import annotations

import json
import threading

from chaos.book import StreamKept
from chaos.stage import Law, Stage
from lab.client import Broken, Event, View
from oracle.ledger import Protocol, StreamSeen

# Seconds until it comes again.
PAUSE = 0.3
# The answers that end it: the run is over and it has everything.
NOTHING_MORE = 204
# Those after which it comes again: a full house, a server that stops.
LATER = (429, 503, 507)
LAST = {
    View.RASP: ("run.completed", "run.failed", "run.canceled"),
    View.FCMP: ("conversation.completed", "conversation.failed", "conversation.canceled"),
}
PROTOCOL = {View.RASP: Protocol.RASP, View.FCMP: Protocol.FCMP}


class Follower(threading.Thread):
    """Ends with the run's last event, or when it is notified that all is over."""

    def __init__(self, stage: Stage, run: str, view: View, over: threading.Event) -> None:
        super().__init__(name=f"follower {run} {view}", daemon=True)
        self.stage, self.followed, self.view, self.over = stage, run, view, over
        # Beside the ledger, so that both can be looked at elsewhere.
        path = stage.streams / f"{run}.{view}.jsonl"
        self.kept = StreamKept(str(path.relative_to(stage.root)))
        self._cursor: str | None = None
        self._seq = 0
        self._file = path.open("w")

    def run(self) -> None:
        try:
            self._follow()
        except Exception as error:  # A thread that dies silently would leave a law unchecked.
            self.stage.problem(Law.DRIVER, f"{self.name} died: {error!r}")

    def _follow(self) -> None:
        try:
            while not self.kept.is_whole and not self.kept.problem and not self.over.is_set():
                self._once()
                if not self.kept.is_whole:
                    self.over.wait(PAUSE)
        finally:
            self._file.close()
        if not self.over.is_set():
            self.stage.ledger.write(StreamSeen(self.followed, PROTOCOL[self.view], self.kept.path))

    def _once(self) -> None:
        try:
            with self.stage.client().follow(self.followed, self.view, self._cursor) as stream:
                if stream.status == 200:
                    for event in stream:
                        self._take(event)
                elif stream.status == NOTHING_MORE:
                    self._wrong("204, and the last event never came")
                elif stream.status not in LATER:
                    self._wrong(f"answered with {stream.status}")
        except Broken:
            pass

    def _take(self, event: Event) -> None:
        if event.name == "reset":
            return self._begin_anew()
        told = json.loads(event.data)
        if told["seq"] != self._seq + 1:
            return self._wrong(f"seq {told['seq']} came after {self._seq}")
        self._seq, self._cursor = told["seq"], event.id
        self._file.write(event.data + "\n")
        self.kept.events += 1
        kind = told["event"]["type"] if self.view is View.RASP else told["type"]
        self.kept.is_whole = kind in LAST[self.view]

    def _begin_anew(self) -> None:
        self.kept.resets += 1
        if self._seq and not self.stage.book.may_reset(self.followed):
            self._wrong(f"asked to start from scratch after {self._seq}, although no event was lost")
        self._seq, self._cursor = 0, None
        self._file.seek(0)
        self._file.truncate()

    def _wrong(self, what: str) -> None:
        self.kept.problem = what
        self.stage.problem(Law.STREAMS, f"run {self.followed}, {self.view}: {what}")
