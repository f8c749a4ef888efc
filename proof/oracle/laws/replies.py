"""Law `replies`: a question is asked once and resolved once. An answer that was acknowledged is in the Log once, with
its words, and reached the engine once, or the run had ended before it could.
"""

from __future__ import annotations

from collections import Counter

from .. import delivery
from ..event import Event
from ..fold import Fold, Reply
from ..ledger import ReplySent
from ..lockstep import shown
from ..looking import Looking
from ..report import Law
from ..words import Rasp, Status

USER = "user_reply"


class Replies:
    law = Law.REPLIES

    def __init__(self, looking: Looking) -> None:
        self.looking = looking

    def event(self, event: Event, before: Fold) -> None:
        if event.kind is Rasp.REQUESTED:
            problem = _asked(event, before)
        elif event.kind in (Rasp.REPLIED, Rasp.TIMEOUT, Rasp.AUTO_DECISION):
            problem = _resolved(event, before)
        else:
            return
        if problem:
            self.looking.breach(Law.REPLIES, problem, event.attempt, event.where)

    def end(self, fold: Fold) -> None:
        self.looking.count(Law.REPLIES, "questions", fold.asked)
        self.looking.count(Law.REPLIES, "answers", len(fold.replies))
        self._ledger(fold)
        if self.looking.has_evidence:
            for reply in fold.replies:
                self._delivery(reply, fold)
            self._anywhere(fold)

    def _ledger(self, fold: Fold) -> None:
        promised = self.looking.promised
        by_question = {reply.interaction: reply for reply in fold.replies if reply.mode == USER}
        for acknowledged in promised.acknowledged:
            if not 200 <= acknowledged.status < 300:
                continue
            self.looking.count(Law.REPLIES, "answers acknowledged")
            reply = by_question.get(acknowledged.interaction)
            what = f"the answer {shown(acknowledged.value)} to question {acknowledged.interaction} was acknowledged"
            if reply is None:
                self.looking.breach(Law.REPLIES, f"{what}, and is not in the Log")
            elif reply.text != acknowledged.value:
                self.looking.breach(Law.REPLIES, f"{what}, and the Log has {shown(reply.text)}")
        if promised.accepted:
            for reply in by_question.values():
                self._sent(reply, promised.sent)

    def _sent(self, reply: Reply, sent: list[ReplySent]) -> None:
        same = [one for one in sent if (one.interaction, one.value) == (reply.interaction, reply.text)]
        # Commands name their requests themselves, so an answer without a key may have any.
        if not any(one.key in (None, reply.request_id) for one in same):
            what = f"an answer to question {reply.interaction} that no client sent, {shown(reply.text)}"
            self.looking.breach(Law.REPLIES, what, reply.attempt, f"seq {reply.seq}")

    def _delivery(self, reply: Reply, fold: Fold) -> None:
        attempt = reply.attempt if reply.scope == "call" else reply.begins
        if attempt is None:
            return self._not_begun(reply, fold)
        if attempt not in fold.verdicts:
            return self.looking.count(Law.REPLIES, "answers under way")
        if reply.scope == "call" and reply.call_id is None:
            return self.looking.count(Law.REPLIES, "answers to calls without a name")
        if reply.scope == "call":
            times = delivery.answered(self.looking, attempt, str(reply.call_id))
        else:
            times = delivery.told(self.looking, attempt, reply.text)
        what = f"the answer to question {reply.interaction}"
        if times > 1:
            what = f"{what} reached the engine {times} times"
            self.looking.breach(Law.REPLIES, what, attempt, f"stdin.{attempt}.log")
        elif times == 1:
            self.looking.count(Law.REPLIES, "answers that reached the engine")
        else:
            self._not_told(attempt, fold, what)

    def _anywhere(self, fold: Fold) -> None:
        """An answer must not reach another attempt than its own either."""
        given = Counter(reply.text for reply in fold.replies if reply.scope == "turn")
        for text, count in given.items():
            times = delivery.typed(self.looking, text)
            if times > count:
                what = f"{shown(text)} was typed {times} times, and answered {count} times"
                self.looking.breach(Law.REPLIES, what, where="stdin.*.log")

    def _not_begun(self, reply: Reply, fold: Fold) -> None:
        """No attempt began with it. Right for a run that was canceled, or could not start another (contract R3.2)."""
        if fold.status in (Status.CANCELED, Status.FAILED):
            return self.looking.count(Law.REPLIES, "answers overtaken by the end")
        if not self.looking.is_settled and not fold.end:
            return self.looking.count(Law.REPLIES, "answers under way")
        what = f"the answer to question {reply.interaction} reached no engine, and the run is {fold.status}"
        self.looking.breach(Law.REPLIES, what, reply.attempt, f"seq {reply.seq}")

    def _not_told(self, attempt: int, fold: Fold, what: str) -> None:
        """An attempt may die before it receives the answer: by a cancel, by its timeout, with its host or its process.

        What it cannot do is complete a whole turn without the answer it began with.
        """
        turn = fold.verdicts[attempt].get("turn")
        if turn == "completed":
            self.looking.breach(Law.REPLIES, f"{what} never reached the engine, and its turn completed", attempt)
        else:
            self.looking.count(Law.REPLIES, "answers overtaken by the end")


def _asked(event: Event, before: Fold) -> str | None:
    number = event.data.get("interaction_id")
    if before.question is not None:
        return f"question {number} is asked while {before.question.get('interaction_id')} is open"
    if number != before.asked + 1:
        return f"question {number} where {before.asked + 1} belongs"
    return None


def _resolved(event: Event, before: Fold) -> str | None:
    number = event.data.get("interaction_id")
    if number in {reply.interaction for reply in before.replies}:
        return f"{event.word} for question {number}, which was resolved"
    if before.question is None or before.question.get("interaction_id") != number:
        return f"{event.word} for question {number}, which is not open"
    if before.is_canceling:
        return f"{event.word} for question {number} after a cancel"
    return None


def repeated(replies: list[Reply]) -> Counter[str]:
    """How often each text was given as an answer in a run."""
    return Counter(reply.text for reply in replies)
