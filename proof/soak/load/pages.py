"""A client that pages through lists, histories and results, as a page in a browser does."""

from __future__ import annotations

import random

from lab.client import Answer, Client
from soak.book import Book, Counted
from soak.load.living import Living
from soak.load.runs import good, told

# Pages of the list that are read at a time.
DEEP = 3
PAGE = 25

VIEWS = ("", "/events/outline", "/chat/history", "/result", "/artifacts", "/attempts", "/interactions", "/diagnosis",
         "/request", "/webhooks", "/bundle", "/bundle?full=true")


class Pages:
    """Reads a few pages each time."""

    def __init__(self, client: Client, living: Living, book: Book, seed: str) -> None:
        self._client, self._living, self._book = client, living, book
        self._dice = random.Random(seed)

    def pause(self) -> float:
        return self._dice.uniform(0.1, 0.5)

    def one(self) -> None:
        self._list()
        for path in ("/v1/interactions", "/v1/skills", "/healthz"):
            good(self._client.get(path), path)
        run = self._living.some_over(self._dice)
        if run:
            self._history(run)
            path = f"/v1/runs/{run}{self._dice.choice(VIEWS)}"
            self._there_or_removed(self._client.get(path), path)

    def _list(self) -> None:
        cursor = ""
        for _ in range(DEEP):
            page = good(self._client.get(f"/v1/runs?limit={PAGE}{cursor}"), "GET /v1/runs").json()
            self._book.count(Counted.PAGES)
            if not page.get("has_more"):
                return
            cursor = f"&cursor={page['cursor']}"

    def _history(self, run: str) -> None:
        """All pages of a Log, which must have no gap."""
        cursor, seen = "", 0
        while True:
            answer = self._client.get(f"/v1/runs/{run}/events/history?limit=20{cursor}")
            if not self._there_or_removed(answer, f"history of {run}"):
                return
            page = answer.json()
            self._book.count(Counted.PAGES)
            for event in page["events"]:
                if event["seq"] != seen + 1:
                    self._book.breach(f"{run}: history gives seq {event['seq']} after {seen}")
                seen = event["seq"]
            if not page.get("has_more"):
                return
            cursor = f"&cursor={page['cursor']}"

    def _there_or_removed(self, answer: Answer, what: str) -> bool:
        if not answer.is_good and answer.status != 410:
            self._book.breach(f"{what}: {told(answer)}")
        return answer.is_good
