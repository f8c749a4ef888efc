"""A receiver of webhooks. It refuses a message now and then, once, so that it must come again."""

from __future__ import annotations

import json
import random
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from soak.book import Book, Counted

# Of all messages.
REFUSED = 0.02
BODY_MAX = 64 * 1024

ENDS = ("run.completed", "run.failed", "run.canceled")


class Receiver:
    """Listens on a port of its own until it is closed."""

    def __init__(self, book: Book, seed: str) -> None:
        self._book = book
        self._dice = random.Random(seed)
        self._lock = threading.Lock()
        self._refused: set[str] = set()
        self._ends: set[str] = set()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, name="receiver", daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/told"

    def ends(self) -> set[str]:
        """Runs whose end was delivered to us, or refused by us."""
        with self._lock:
            return set(self._ends)

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _take(self, message: str, body: bytes) -> int:
        """The status to answer with."""
        said = json.loads(body)
        with self._lock:
            if said["type"] in ENDS:
                self._ends.add(said["data"]["run_id"])
            if message not in self._refused and self._dice.random() < REFUSED:
                self._refused.add(message)
                self._book.count(Counted.REFUSED)
                return 500
        self._book.count(Counted.TOLD)
        return 204

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:  # noqa: N802, the name is the library's
                length = min(int(self.headers.get("Content-Length", "0")), BODY_MAX)
                status = receiver._take(self.headers.get("webhook-id", ""), self.rfile.read(length))
                self.send_response(status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                """Logs nothing."""

        return Handler
