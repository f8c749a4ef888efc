"""The client of the lab, that also counts, and takes no fault of the server for an answer."""

from __future__ import annotations

from lab.client import Answer, Client, Stream, View
from lab.server import Server
from soak.book import Book, Counted


class SoakClient(Client):
    """Every request of the load goes through one of these."""

    def __init__(self, server: Server, book: Book) -> None:
        super().__init__(server.address, server.token)
        self._book = book

    def ask(self, method: str, path: str, body: object = None, headers: dict[str, str] | None = None) -> Answer:
        answer = super().ask(method, path, body, headers)
        self._book.count(Counted.REQUESTS)
        if answer.status >= 500:
            self._book.breach(f"{method} {path}: {answer.status} {answer.json().get('detail', '')}")
        return answer

    def watch(self, run: str, view: View, cursor: str | None, quiet: float) -> Stream:
        """Follows a run until it is quiet for this long. The server may take its time to answer at all."""
        return self.stream(f"/v1/runs/{run}/{view}", quiet, {"Last-Event-ID": cursor} if cursor else {})

    def stream(self, path: str, quiet: float, headers: dict[str, str] | None = None) -> Stream:
        connection, response = self._send("GET", path, None, headers or {})
        if connection.sock:
            connection.sock.settimeout(quiet)
        return Stream(connection, response)
