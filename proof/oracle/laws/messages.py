"""Law `messages`: each turn begins with one message in the Log, before anything that the engine wrote, with the words of
the answer that began it. A turn whose host was never asked to start has none, and nothing of the engine either.
"""

from __future__ import annotations

from ..event import Event
from ..fold import Fold, Reply
from ..lockstep import shown
from ..looking import Looking
from ..report import Law
from ..words import Rasp
from .conversation import FIRST_WITH_TURNS


class Messages:
    law = Law.MESSAGES

    def __init__(self, looking: Looking) -> None:
        self.looking = looking
        self.is_promised = looking.record.get("translator", 1) >= FIRST_WITH_TURNS
        # The last attempt that has its message.
        self.told = 0
        self.count = 0

    def event(self, event: Event, before: Fold) -> None:
        if event.kind is Rasp.MESSAGE_USER:
            problem = self._message(event, before)
            self.told, self.count = event.attempt, self.count + 1
        elif self.is_promised and not event.is_control and self.told < event.attempt:
            problem, self.told = f"{event.word} of the engine, and no message began the turn", event.attempt
        else:
            return
        if problem:
            self.looking.breach(Law.MESSAGES, problem, event.attempt, event.where)

    def _message(self, event: Event, before: Fold) -> str | None:
        if not before.is_open or event.attempt != before.attempt:
            return "a message outside of an open turn"
        if self.told == event.attempt:
            return "a second message in one turn"
        reply = next((reply for reply in before.replies if reply.begins == event.attempt), None)
        return _words(event, reply)

    def end(self, fold: Fold) -> None:
        self.looking.count(Law.MESSAGES, "messages", self.count)


def _words(event: Event, reply: Reply | None) -> str | None:
    named = event.value["correlation"].get("interaction_id")
    if reply is None:
        return None if named is None else f"the message names question {named}, and no answer to it began the turn"
    if named != reply.interaction:
        return f"the message names question {named}, and the answer to {reply.interaction} began the turn"
    text = event.data.get("text") or ""
    # Files that came with the answer are listed after it; a long text is cut.
    if not text.startswith(reply.text[: len(text)]) or (len(text) < len(reply.text) and "whole" not in event.data):
        return f"the turn began with the answer {shown(reply.text)}, and its message is {shown(text)}"
    return None
