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
from ..words import INTERRUPTED, Rasp, Scope, Status

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
        self._says(fold)
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
                # The prompt of an interrupt comes with that.
                if reply.text not in fold.says:
                    self._sent(reply, promised.sent)

    def _says(self, fold: Fold) -> None:
        """The prompt of an interrupt is sent if the turn was interrupted, and else never."""
        for acknowledged in self.looking.promised.interrupted:
            if acknowledged.say and acknowledged.say not in fold.says:
                what = f"the prompt {shown(acknowledged.say)} of an interrupt was acknowledged, and is not in the Log"
                self.looking.breach(Law.REPLIES, what)
        for text, attempt in fold.says.items():
            self.looking.count(Law.REPLIES, "prompts of interrupts")
            is_sent = any(reply.text == text for reply in fold.replies)
            rule = fold.verdicts.get(attempt, {}).get("rule")
            is_due = rule == INTERRUPTED and not fold.is_canceling and (self.looking.is_settled or fold.end)
            if is_sent and rule != INTERRUPTED:
                what = f"the prompt {shown(text)} of an interrupt was sent, and attempt {attempt} ended by rule {rule}"
                self.looking.breach(Law.REPLIES, what, attempt)
            elif is_due and not is_sent:
                self.looking.breach(Law.REPLIES, f"the prompt {shown(text)} of an interrupt was never sent", attempt)

    def _sent(self, reply: Reply, sent: list[ReplySent]) -> None:
        same = [one for one in sent if (one.interaction, one.value) == (reply.interaction, reply.text)]
        # Commands name their requests themselves, so an answer without a key may have any.
        if not any(one.key in (None, reply.request_id) for one in same):
            what = f"an answer to question {reply.interaction} that no client sent, {shown(reply.text)}"
            self.looking.breach(Law.REPLIES, what, reply.attempt, f"seq {reply.seq}")

    def _delivery(self, reply: Reply, fold: Fold) -> None:
        if reply.scope == Scope.STEP:
            # A decision about a step is for the workflow; no engine receives it.
            return self.looking.count(Law.REPLIES, "decisions about steps")
        attempt = reply.attempt if reply.scope == Scope.CALL else reply.begins
        if attempt is None:
            return self._not_begun(reply, fold)
        if attempt not in fold.verdicts:
            return self.looking.count(Law.REPLIES, "answers under way")
        if reply.scope == Scope.CALL and reply.call_id is None:
            return self.looking.count(Law.REPLIES, "answers to calls without a name")
        if reply.scope == Scope.CALL:
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
        given = Counter(reply.text for reply in fold.replies if reply.scope != Scope.CALL)
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
    if before.is_closing:
        return f"{event.word} for question {number} after a close"
    if before.is_open and before.attempt in before.interrupts:
        return f"{event.word} for question {number} after an interrupt"
    if before.question.get("scope") == Scope.PROMPT and event.kind is not Rasp.REPLIED:
        return f"{event.word} for question {number}, which waits for the next prompt without a deadline"
    return None


def repeated(replies: list[Reply]) -> Counter[str]:
    """How often each text was given as an answer in a run."""
    return Counter(reply.text for reply in replies)
