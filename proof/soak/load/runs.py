"""Clients that start runs, answer and cancel, one run after the other, and see that each ends as its kind does."""

from __future__ import annotations

import random
import time
import uuid

from lab.client import OVER, Answer, Client
from lab.kinds import Kind, mark
from soak.book import Book, Counted
from soak.load.kinds import draw
from soak.load.living import Living

# Seconds a run may take on a machine with much else to do.
RUN_TIMEOUT = 120.0
# Seconds that the server keeps a question for news.
WAIT = 5
# Between looks at a run that waits for something other than us.
GLANCE = 0.3
# Of the runs that are not meant to be canceled.
CANCELED = 0.05
# Between the end of a run and the next.
REST = 1.0


class Refused(Exception):
    """The server did not do what it should."""


class RunClient:
    """Brings one run after the other to its end."""

    def __init__(self, client: Client, living: Living, book: Book, seed: str) -> None:
        self._client, self._living, self._book = client, living, book
        self._dice = random.Random(seed)

    def pause(self) -> float:
        return self._dice.uniform(0, REST)

    def one(self) -> None:
        kind = draw(self._dice)
        run = submit(self._client, kind, self._dice)
        self._living.began(run)
        try:
            is_canceled = kind.ends == ("canceled",) or self._dice.random() < CANCELED
            if is_canceled:
                time.sleep(self._dice.uniform(0, 1.5))
                is_canceled = cancel(self._client, run)
                self._book.count(Counted.CANCELS)
            end = drive(self._client, kind, run, self._dice, self._book)
            if not (is_canceled and end == "canceled") and not is_right(kind, end):
                self._book.breach(f"{run}: {kind.name} ended as {end}, not as {' or '.join(kind.ends)}")
        finally:
            self._living.ended(run)
        self._book.count(Counted.RUNS)


def submit(client: Client, kind: Kind, dice: random.Random) -> str:
    answer = client.submit(kind.body(kind.profile(dice)), str(uuid.UUID(int=dice.getrandbits(128))))
    return str(good(answer, "POST /v1/runs").json()["run_id"])


def cancel(client: Client, run: str) -> bool:
    """Whether it came before the end of the run."""
    answer = client.cancel(run)
    if answer.status not in (200, 202, 409):
        raise Refused(f"cancel of {run}: {told(answer)}")
    return answer.status != 409


def drive(client: Client, kind: Kind, run: str, dice: random.Random, book: Book) -> str:
    """Answers until the run is over; its status, and its error or reason."""
    end, answered = time.monotonic() + RUN_TIMEOUT, 0
    while time.monotonic() < end:
        found = good(client.get(f"/v1/runs/{run}?wait={WAIT}"), f"GET {run}").json()
        if found["status"] in OVER:
            return ended(found)
        if found["status"] == "waiting_user" and not answer_one(client, kind, run, dice, book, answered):
            time.sleep(GLANCE)
            continue
        answered += found["status"] == "waiting_user"
    raise Refused(f"{run}: {kind.name} is not over after {RUN_TIMEOUT:.0f} s")


def answer_one(client: Client, kind: Kind, run: str, dice: random.Random, book: Book, answered: int) -> bool:
    """Answers the open question, where it is one that we answer."""
    if answered >= len(kind.answers):
        return False
    question = client.question(run)
    if question.status == 204:
        return False
    number = good(question, f"question of {run}").json()["interaction_id"]
    word = kind.answers[answered]
    reply = client.reply(run, number, mark(word, dice) if kind.marked else word, f"{run}-{number}")
    # Canceled meanwhile.
    if reply.status == 409:
        return False
    good(reply, f"reply to {run}")
    book.count(Counted.ANSWERS)
    return True


def ended(found: dict) -> str:
    """As `succeeded`, or `failed:CODE`."""
    code = found.get("error_code") or found.get("reason_code")
    return f"failed:{code}" if found["status"] == "failed" else str(found["status"])


def is_right(kind: Kind, end: str) -> bool:
    return end in kind.ends


def good(answer: Answer, what: str) -> Answer:
    if not answer.is_good:
        raise Refused(f"{what}: {told(answer)}")
    return answer


def told(answer: Answer) -> str:
    """A refusal in a few words."""
    said = answer.json()
    return f"{answer.status} {said.get('code', '')} {said.get('detail', '')}".strip()
