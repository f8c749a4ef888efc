"""Talks to a server over HTTP, one connection per request, and follows its streams."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

# Seconds without a byte until a connection counts as broken. A stream says something every 15 seconds.
REQUEST_TIMEOUT = 60.0
BODY_MAX = 64 << 20

OVER = ("succeeded", "closed", "failed", "canceled")


class Broken(Exception):
    """The connection could not be made, or broke before the answer was complete. What the server has done is
    unknown."""


class View(StrEnum):
    """What can be followed of a run."""

    RASP = "events"
    FCMP = "chat"


@dataclass(frozen=True)
class Answer:
    status: int
    body: bytes

    @property
    def is_good(self) -> bool:
        return 200 <= self.status < 300

    def json(self) -> dict:
        """Its content; nothing if it is not a JSON object."""
        try:
            value = json.loads(self.body)
        except ValueError:
            return {}
        return value if isinstance(value, dict) else {}


@dataclass(frozen=True)
class Event:
    """One event of a stream; `id` is the cursor after it."""

    id: str | None
    name: str
    data: str


class Client:
    """A client with this address and this token."""

    def __init__(self, address: tuple[str, int], token: str, patience: float = REQUEST_TIMEOUT) -> None:
        self.address = address
        self.token = token
        self.patience = patience

    def ask(self, method: str, path: str, body: object = None, headers: dict[str, str] | None = None) -> Answer:
        connection, response = self._send(method, path, body, headers or {})
        try:
            body = response.read(BODY_MAX)
        except (OSError, http.client.HTTPException) as error:
            raise Broken(f"{method} {path}: {error!r}") from error
        finally:
            connection.close()
        # Python is silent about a head that is cut, and about a body that is shorter than was announced.
        if response.length or (response.length is None and not response.chunked):
            raise Broken(f"{method} {path}: the answer is cut")
        return Answer(response.status, body)

    def get(self, path: str) -> Answer:
        return self.ask("GET", path)

    def submit(self, body: dict[str, object], key: str) -> Answer:
        return self.ask("POST", "/v1/runs", body, {"Idempotency-Key": key})

    def submit_workflow(self, body: dict[str, object], key: str) -> Answer:
        return self.ask("POST", "/v1/workflows", body, {"Idempotency-Key": key})

    def look(self, run: str) -> Answer:
        return self.get(f"/v1/runs/{run}")

    def question(self, run: str) -> Answer:
        return self.get(f"/v1/runs/{run}/interaction")

    def reply(self, run: str, interaction: int, text: str, key: str | None = None) -> Answer:
        body: dict[str, object] = {"interaction_id": interaction, "text": text}
        return self.ask("POST", f"/v1/runs/{run}/interaction/reply", body | ({"idempotency_key": key} if key else {}))

    def cancel(self, run: str) -> Answer:
        return self.ask("POST", f"/v1/runs/{run}/cancel")

    def interrupt(self, run: str, say: str | None = None) -> Answer:
        return self.ask("POST", f"/v1/runs/{run}/interrupt?wait=0", {"say": say} if say else None)

    def close(self, run: str) -> Answer:
        return self.ask("POST", f"/v1/runs/{run}/close")

    def continue_run(self, run: str, body: dict[str, object], key: str) -> Answer:
        return self.ask("POST", f"/v1/runs/{run}/continue", body, {"Idempotency-Key": key})

    def children(self, run: str) -> list[dict]:
        """The first runs that it has asked for."""
        answer = self.get(f"/v1/runs?parent={run}&limit=500")
        return answer.json().get("runs", []) if answer.is_good else []

    def runs(self) -> list[dict]:
        """All runs, page by page."""
        found: list[dict] = []
        cursor = ""
        while True:
            answer = self.get(f"/v1/runs?limit=500{cursor}")
            if not answer.is_good:
                raise Broken(f"GET /v1/runs: {answer.status}")
            page = answer.json()
            found += page["runs"]
            if not page["next_cursor"]:
                return found
            cursor = f"&cursor={page['next_cursor']}"

    def follow(self, run: str, view: View, cursor: str | None = None) -> "Stream":
        headers = {"Last-Event-ID": cursor} if cursor else {}
        connection, response = self._send("GET", f"/v1/runs/{run}/{view}", None, headers)
        return Stream(connection, response)

    def _send(
        self, method: str, path: str, body: object, headers: dict[str, str]
    ) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
        connection = http.client.HTTPConnection(*self.address, timeout=self.patience)
        headers = {"Authorization": f"Bearer {self.token}", **headers}
        payload = None
        if body is not None:
            payload = json.dumps(body).encode()
            headers["Content-Type"] = "application/json"
        try:
            connection.request(method, path, payload, headers)
            return connection, connection.getresponse()
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise Broken(f"{method} {path}: {error!r}") from error


class Stream:
    """Server-sent events as they come. `status` is 200 where there are any."""

    LINE_MAX = 32 << 20

    def __init__(self, connection: http.client.HTTPConnection, response: http.client.HTTPResponse) -> None:
        self.status = response.status
        self._connection = connection
        self._response = response

    def __iter__(self) -> Iterator[Event]:
        """Ends with the stream; `Broken` where it broke off."""
        fields: dict[str, str] = {}
        for line in self._lines():
            name, _, value = line.partition(":")
            if not line and fields.get("data") is not None:
                yield Event(fields.get("id"), fields.get("event", "message"), fields["data"])
            if not line:
                fields = {}
            elif name:
                value = value.removeprefix(" ")
                fields[name] = f"{fields[name]}\n{value}" if name == "data" and name in fields else value

    def _lines(self) -> Iterator[str]:
        try:
            while line := self._response.readline(self.LINE_MAX):
                if not line.endswith(b"\n"):
                    raise Broken("a line of the stream is cut or too long")
                yield line.rstrip(b"\r\n").decode()
        except (OSError, http.client.HTTPException, ValueError, AttributeError) as error:
            # The last two: closed by another thread while it was read.
            raise Broken(f"stream: {error!r}") from error

    def close(self) -> None:
        self._connection.close()
        self._response.close()

    def __enter__(self) -> "Stream":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
