"""Answers the questions of a run, in all the ways that clients do; everything that is sent is in the ledger first."""

from __future__ import annotations

import json
import socket
import threading
from random import Random

from chaos.book import Tracked
from chaos.plan import Manner
from chaos.stage import Law, Stage
from lab.client import Answer, Broken
from lab.kinds import Mode, mark
from oracle.ledger import ReplyAcknowledged, ReplySent


class Replier:
    """One per run; an unconfirmed answer is sent again with the same key and the same text."""

    def __init__(self, stage: Stage, tracked: Tracked, dice: Random) -> None:
        self.stage, self.tracked, self.dice = stage, tracked, dice
        self._said: dict[int, tuple[str, str]] = {}
        self._done: set[int] = set()

    def answer(self, manner: Manner) -> None:
        """Answers the question that is open, if it was not answered yet."""
        try:
            asked = self.stage.client().question(self.tracked.run).json()
        except Broken:
            return
        question = asked.get("interaction_id")
        if not isinstance(question, int) or question in self._done:
            return
        kind = self.tracked.order.kind
        if kind.mode is Mode.CONVERSATION and question > len(kind.answers):
            # Every prompt was sent; it is closed.
            return
        is_first = question not in self._said
        text, key = self._said.setdefault(question, self._words(question, asked))
        match manner if is_first else Manner.PLAIN:
            case Manner.PLAIN:
                self._send(question, text, key)
            case Manner.TWICE:
                self._send(question, text, key)
                self._send(question, text, key)
            case Manner.RACE:
                self._race(question, text, key, asked)
            case Manner.DROPPED:
                self._drop(question, text, key)
                self._send(question, text, key)
            case Manner.COMMAND:
                self._command(question, text, key)

    def _words(self, question: int, asked: dict) -> tuple[str, str]:
        answers = self.tracked.order.kind.answers
        word = answers[min(question, len(answers)) - 1]
        key = f"reply-{self.dice.getrandbits(64):016x}"
        return (mark(word, self.dice) if self.tracked.order.kind.marked else word), key

    def _send(self, question: int, text: str, key: str) -> None:
        self.stage.ledger.write(ReplySent(self.tracked.run, question, text, key))
        try:
            answer = self.stage.client().reply(self.tracked.run, question, text, key)
        except Broken:
            return
        self._told(question, text, key, answer)

    def _told(self, question: int, text: str, key: str, answer: Answer) -> None:
        self.stage.ledger.write(ReplyAcknowledged(self.tracked.run, question, text, answer.status, key))
        if answer.is_good:
            self.tracked.replies += question not in self._done
            self._done.add(question)
        elif answer.status in (400, 401, 403, 404, 410, 422, 500, 502):
            self.stage.problem(Law.ANSWERS, f"reply to {self.tracked.run}: {answer.status} {answer.body[:300]!r}")

    def _race(self, question: int, text: str, key: str, asked: dict) -> None:
        """Two people answer at once."""
        other, other_key = self._words(question, asked)
        rival = threading.Thread(target=self._send, args=(question, other, other_key))
        rival.start()
        self._send(question, text, key)
        rival.join()

    def _drop(self, question: int, text: str, key: str) -> None:
        """Sends the whole answer and hangs up without waiting for a word."""
        self.stage.ledger.write(ReplySent(self.tracked.run, question, text, key))
        client = self.stage.client()
        body = json.dumps({"interaction_id": question, "text": text, "idempotency_key": key}).encode()
        head = (
            f"POST /v1/runs/{self.tracked.run}/interaction/reply HTTP/1.1\r\nHost: localhost\r\n"
            f"Authorization: Bearer {client.token}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        try:
            with socket.create_connection(client.address, client.patience) as connection:
                connection.sendall(head.encode() + body)
        except OSError:
            pass

    def _command(self, question: int, text: str, key: str) -> None:
        self.stage.ledger.write(ReplySent(self.tracked.run, question, text, key))
        words = ("reply", self.tracked.run, text, "--interaction", str(question), "--key", key, "--no-wait", "--json")
        code, _ = self.stage.command(*words)
        if code is not None:
            self._told(question, text, key, Answer(200 if code == 0 else 409, b""))


class Decider(Replier):
    """Decides about the steps of a workflow: one of the options of each question."""

    def _words(self, question: int, asked: dict) -> tuple[str, str]:
        options = [option["value"] for option in asked.get("options") or []] or ["stop"]
        return self.dice.choice(options), f"decision-{self.dice.getrandbits(64):016x}"
