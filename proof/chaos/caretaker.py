"""Looks after one order: asks for the run, answers its questions, cancels it or has it continued if so planned, and sees
it to its end."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from random import Random

from chaos.book import Tracked
from chaos.follower import Follower
from chaos.plan import Manner, Order, Way
from chaos.reply import Decider, Replier
from chaos.stage import Law, Stage
from lab import flows
from lab.client import OVER, Answer, Broken
from lab.kinds import Mode, mark
from oracle.ledger import (
    CancelAcknowledged, CancelSent, CloseAcknowledged, Continued, InterruptAcknowledged, StatusSeen,
)

# Seconds between two looks.
PAUSE = 0.25
# A server that stops, a full queue, a full disk, a workspace that is taken: the same request is right later.
LATER = (409, 429, 503, 507)
# No turn of the run is over, so that nothing can be continued.
NOTHING_YET = 422


class Caretaker(threading.Thread):
    """`over` ends it, when no thread waits for it any more. One of a run that continues another is given that run."""

    def __init__(self, stage: Stage, order: Order, over: threading.Event, run: str | None = None) -> None:
        super().__init__(name=f"caretaker {order.kind.name}", daemon=True)
        self.stage, self.order, self.over = stage, order, over
        self._given = run
        self.tracked: Tracked | None = None
        self.heir: Caretaker | None = None
        self.followers: list[Follower] = []
        self._dice = Random(order.seed)
        self._asked_at: float | None = None
        self._running_since: float | None = None
        # Of the children of a workflow that ask.
        self._repliers: dict[str, Replier] = {}

    def run(self) -> None:
        try:
            self._work()
        except Exception as error:  # A thread that dies silently would leave a law unchecked.
            self.stage.problem(Law.DRIVER, f"the caretaker of {self.order.kind.name} died: {error!r}")

    def family(self) -> Iterator[Caretaker]:
        """It, and those of the runs that continue its own."""
        yield self
        if self.heir:
            yield from self.heir.family()

    @property
    def is_busy(self) -> bool:
        return any(care.is_alive() or any(one.is_alive() for one in care.followers) for care in self.family())

    def doing(self) -> str:
        """For a person who has to find out why it is not done."""
        run = self.tracked.run if self.tracked else "not accepted"
        return f"{self.order.kind.name} ({self.order.way}): {run}"

    def _work(self) -> None:
        begin = time.monotonic()
        is_http = self.order.way is Way.HTTP or bool(self.order.kind.prompt)
        run = self._given or (self._by_http() if is_http else self._by_command())
        if run is None:
            return
        self.tracked = self.stage.book.track(run, self.order, begin)
        self.stage.story.tell(f"{self.order.kind.name}: accepted as {run}")
        self._follow()
        is_workflow = self.order.kind.workflow
        replier = (Decider if is_workflow else Replier)(self.stage, self.tracked, self._dice)
        accepted_at = time.monotonic()
        while not self.over.is_set():
            if self.order.cancel_after is not None and time.monotonic() - accepted_at >= self.order.cancel_after:
                self._cancel()
            seen = self._look()
            is_over = seen.get("status") in OVER
            if self.order.heir and (is_over or time.monotonic() - accepted_at >= self.order.heir.at):
                if not self._hand_over(self.order.heir, is_over) and is_over:
                    self.over.wait(PAUSE)
                    continue
            if self.order.kind.mode is Mode.CONVERSATION:
                self._converse(seen)
            if is_over:
                return self._ended(seen)
            asks = seen.get("status") == "waiting_user"
            if is_workflow:
                self._look_after_children()
            if asks and is_workflow and self._dice.random() < 0.15:
                self._try(lambda: self.stage.client().close(self.tracked.run))
            elif asks and (self.order.kind.answers or is_workflow):
                replier.answer(self._hesitates())
            self.over.wait(PAUSE)

    # Asking for the run.

    def _by_http(self) -> str | None:
        while not self.over.is_set():
            answer = self._try(self._submit)
            if answer and answer.is_good:
                return self._asked_again(answer.json()["run_id"])
            if answer and answer.status not in LATER:
                self.stage.problem(Law.ANSWERS, f"{self.order.kind.name}: refused with {answer.status} {answer.body[:300]!r}")
                return None
            self.over.wait(PAUSE)
        return None

    def _submit(self) -> Answer:
        if self.order.file:
            return self.stage.client().submit_workflow(flows.body(self.order.file), self.order.key)
        body = self.order.kind.body(self.order.profile, self._workspace())
        return self.stage.client().submit(body, self.order.key)

    def _asked_again(self, run: str) -> str:
        """The same key must never make a second run."""
        if self._dice.random() < 0.2:
            answer = self._try(self._submit)
            if answer and answer.is_good and answer.json()["run_id"] != run:
                self.stage.problem(Law.ACCEPTED, f"key {self.order.key} has two runs: {run} and {answer.json()['run_id']}")
        return run

    def _by_command(self) -> str | None:
        """Once: a command has no key, and a repeated request creates another run."""
        words = self.order.kind.words(self.order.profile, self._workspace())
        if self.order.file:
            path = self.stage.place.workspace("workflows") / f"{self.order.key}.yaml"
            path.write_text(self.order.file)
            words = flows.words(str(path))
        code, output = self.stage.command(*words, "--no-wait", "--json")
        try:
            return json.loads(output)["run_id"] if code == 0 else None
        except (ValueError, KeyError):
            self.stage.problem(Law.ANSWERS, f"{self.order.kind.name}: a command said {output[:300]!r} and exited with 0")
            return None

    def _workspace(self) -> str | None:
        return str(self.stage.place.workspace("shared-folder")) if self.order.in_workspace else None

    # Looking, canceling.

    def _try(self, ask) -> Answer | None:
        """The answer, or none where the connection broke. What is a fault of the server's is a problem."""
        try:
            answer = ask()
        except Broken:
            return None
        if answer.status >= 500 and answer.status not in LATER:
            self.stage.problem(Law.ANSWERS, f"{self.doing()}: answered with {answer.status} {answer.body[:300]!r}")
        return answer

    def _look(self) -> dict:
        answer = self._try(lambda: self.stage.client().look(self.tracked.run))
        if answer and not answer.is_good and answer.status not in LATER:
            self.stage.problem(Law.ANSWERS, f"{self.doing()}: looked at: {answer.status} {answer.body[:300]!r}")
        return answer.json() if answer and answer.is_good else {}

    # A workflow: its children may ask too.

    def _look_after_children(self) -> None:
        try:
            waiting = [run for run in self.stage.client().children(self.tracked.run) if run["status"] == "waiting_user"]
        except Broken:
            return
        for run in waiting:
            child = run["run_id"]
            if child not in self._repliers:
                tracked = Tracked(child, replace(self.order, kind=flows.WONDERING), time.monotonic())
                self._repliers[child] = Replier(self.stage, tracked, self._dice)
            self._repliers[child].answer(self.order.manner)

    # A conversation: its long turns are interrupted, and it is closed when every prompt was sent.

    def _converse(self, seen: dict) -> None:
        status = seen.get("status")
        if status == "running":
            self._running_since = self._running_since or time.monotonic()
            if time.monotonic() - self._running_since >= (self.order.kind.patience or 0):
                self._interrupt()
        elif status:
            self._running_since = None
        if status == "waiting_user":
            self._close()

    def _interrupt(self) -> None:
        self._running_since = None
        say = mark("instead", self._dice) if self._dice.random() < 0.4 else None
        answer = self._try(lambda: self.stage.client().interrupt(self.tracked.run, say))
        if answer and answer.is_good:
            self.stage.ledger.write(InterruptAcknowledged(self.tracked.run, say))
            self.stage.story.tell(f"{self.doing()}: interrupt taken, {say or 'no prompt'}")

    def _close(self) -> None:
        question = self._try(lambda: self.stage.client().question(self.tracked.run))
        number = question.json().get("interaction_id") if question else None
        if not isinstance(number, int) or number <= len(self.order.kind.answers):
            return
        answer = self._try(lambda: self.stage.client().close(self.tracked.run))
        if answer and answer.is_good:
            self.stage.ledger.write(CloseAcknowledged(self.tracked.run))
            self.stage.story.tell(f"{self.doing()}: close taken")

    def _cancel(self) -> None:
        if self.tracked.told_canceled:
            return
        self.tracked.asked_to_cancel = True
        self.stage.ledger.write(CancelSent(self.tracked.run))
        if self.order.cancel_way is Way.HTTP:
            answer = self._try(lambda: self.stage.client().cancel(self.tracked.run))
            is_taken = answer is not None and answer.is_good
        else:
            is_taken = self.stage.command("cancel", self.tracked.run)[0] == 0
        if is_taken:
            self.tracked.told_canceled = True
            self.stage.ledger.write(CancelAcknowledged(self.tracked.run))
            self.stage.story.tell(f"{self.doing()}: cancel taken")

    def _ended(self, seen: dict) -> None:
        self.tracked.ended_at = time.monotonic()
        self.tracked.end = seen["status"]
        self.stage.ledger.write(StatusSeen(self.tracked.run, seen["status"]))
        self.stage.story.tell(f"{self.doing()}: {seen['status']} {seen.get('error_code') or seen.get('reason_code')}")

    def _hand_over(self, order: Order, is_over: bool) -> bool:
        """Whether it is known what came of it: a run that continues this one, or nothing that could be continued."""
        if self.heir:
            return True
        # The same each time, as its key is.
        prompt = mark("onward", Random(order.seed))
        body = {"engine": order.kind.engine, "prompt": prompt, "options": order.kind.options.body(order.profile)}
        answer = self._try(lambda: self.stage.client().continue_run(self.tracked.run, body, order.key))
        if answer and answer.is_good:
            run = answer.json()["run_id"]
            self.stage.ledger.write(Continued(run, self.tracked.run))
            self.stage.story.tell(f"{self.doing()}: continued by {run}")
            self.heir = Caretaker(self.stage, order, self.over, run)
            self.heir.start()
            return True
        if answer and answer.status != NOTHING_YET and answer.status not in LATER:
            self.stage.problem(Law.ANSWERS, f"{self.doing()}: not continued: {answer.status} {answer.body[:300]!r}")
            return True
        return is_over and answer is not None and answer.status == NOTHING_YET

    # Company.

    def _follow(self) -> None:
        for view in self.order.follows:
            follower = Follower(self.stage, self.tracked.run, view, self.over)
            self.tracked.streams[view] = follower.kept
            self.followers.append(follower)
            follower.start()

    def _hesitates(self) -> Manner:
        """Waits before the first answer, as people do."""
        if self._asked_at is None:
            self._asked_at = time.monotonic()
            self.over.wait(self.order.hesitates)
        return self.order.manner
