"""The oracle's own fold of a Log to what a model would see again. Written from contract R6.24."""

from __future__ import annotations

import json
import unicodedata
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import blake3, event, lines
from .event import Event
from .words import Rasp

VOIDED = "MESSAGE_VOIDED"
COMPLETED = "completed"
DETACHED, TIMED_OUT = "detached", "timed_out"
# The hash of larger turns is not computed: this program is slow at it.
HASHED = 1 << 20

# The end of a replay in a message that begins with one.
AFTER = "\n--- End of the transcript ---\n\n"
TRUNCATED = "\n[truncated]"


@dataclass
class Call:
    """A tool call in its place; what it was given also as it was written."""

    item: dict[str, Any]
    written: str | None
    result: dict[str, Any] | None = None


@dataclass
class Message:
    id: str
    item: dict[str, Any]


@dataclass
class Child:
    """The end of a child run, in its place."""

    item: dict[str, Any]


@dataclass
class Turn:
    """What was seen of one turn, in order, before it is known how the turn ends."""

    number: int
    parts: list[dict[str, Any] | Message | Call | Child] = field(default_factory=list)
    # The last call of each name.
    calls: dict[str, Call] = field(default_factory=dict)
    voided: set[str] = field(default_factory=set)
    thoughts: int = 0
    halves: int = 0
    strays: int = 0
    nameless: int = 0

    def find(self, call_id: str | None) -> Call | None:
        """The last call of this name, if it has no result yet."""
        call = self.calls.get(call_id or "")
        return call if call and call.result is None else None


@dataclass
class Replayed:
    turn: int
    state: str
    end_seq: int
    items: list[dict[str, Any]]
    left_out: dict[str, int]
    # None from the first turn on that is too large to be hashed here.
    hash: str | None
    # As a reader or another agent gets it; empty unless it is asked for.
    transcript: str = ""


def marked(item: dict[str, Any], data: dict[str, Any]) -> dict[str, Any]:
    return {**item, "truncated": True} if data.get("truncated") else item


def written_input(line: str) -> str | None:
    """The bytes of a call's input in its line. `data` of such an event begins with the name, then the input."""
    text = json.JSONDecoder(strict=False)
    at = line.index('"data":{"name":') + len('"data":{"name":')
    _, at = text.raw_decode(line, at)
    key = ',"input":'
    if not line.startswith(key, at):
        return None
    start = at + len(key)
    _, end = text.raw_decode(line, start)
    return line[start:end]


class Replay:
    """Takes the events of one run in order; `folder` is the run's, for texts that are too large for their events."""

    def __init__(self, folder: Path, has_transcript: bool = False) -> None:
        self.folder = folder
        self.has_transcript = has_transcript
        self.turns: list[Replayed] = []
        self.open: dict[int, Turn] = {}
        self.started: set[int] = set()
        self.settled: set[int] = set()
        # Children whose ends are known, and the ends that no turn has yet.
        self.ended: set[str] = set()
        self.waiting: list[Child] = []
        self.hash: str | None = blake3.of(b"")

    def take(self, event: Event) -> None:
        if event.kind is Rasp.ATTEMPT_STARTED:
            self.started.add(event.attempt)
        child = self._child(event) if event.kind is Rasp.SUBAGENT_ENDED else None
        if event.attempt in self.settled:
            self.waiting += [child] if child else []
            return
        turn = self.open.setdefault(event.attempt, Turn(event.attempt))
        if event.kind is Rasp.ATTEMPT_ENDED:
            self.settled.add(event.attempt)
            self.turns.append(self._settled(self.open.pop(event.attempt), event))
        elif child:
            turn.parts.append(child)
        elif event.kind is Rasp.MESSAGE_USER:
            turn.parts.append(self._user(event.data))
        elif not event.is_control:
            self._said(turn, event)

    def _child(self, event: Event) -> Child | None:
        """How a child ended, the first time that it is known."""
        run, status = event.data["child_run_id"], event.data["status"]
        if status == DETACHED or run in self.ended:
            return None
        self.ended.add(run)
        return Child({"type": "child", "run_id": run, "status": status, "text": of_child(event.data)})

    def _said(self, turn: Turn, event: Event) -> None:
        data, call_id = event.data, event.value["correlation"].get("tool_call_id")
        if event.kind is Rasp.REASONING:
            turn.thoughts += 1
        elif event.kind is Rasp.MESSAGE_FINAL and data["partial"]:
            turn.halves += 1
        elif event.kind is Rasp.MESSAGE_FINAL:
            turn.parts.append(Message(data["message_id"], marked({"type": "agent", "text": data["text"]}, data)))
        elif event.kind is Rasp.PARSER_WARNING and data["code"] == VOIDED and data.get("message_id") is not None:
            turn.voided.add(data["message_id"])
        elif event.kind is Rasp.TOOL_STARTED and call_id is None:
            turn.nameless += 1
        elif event.kind is Rasp.TOOL_STARTED:
            self._called(turn, event, call_id)
        elif event.kind in (Rasp.TOOL_COMPLETED, Rasp.TOOL_FAILED) and not data.get("synthetic"):
            self._returned(turn, event, call_id)

    def _called(self, turn: Turn, event: Event, call_id: str) -> None:
        item = {"type": "tool_call", "id": call_id, "name": event.data["name"]}
        if event.data.get("input") is not None:
            item["input"] = event.data["input"]
        call = turn.calls[call_id] = Call(marked(item, event.data), self._written(event))
        turn.parts.append(call)

    def _written(self, event: Event) -> str | None:
        with open(self.folder / "events.jsonl", "rb") as file:
            file.seek(event.line.start)
            return written_input(file.read(event.line.end - event.line.start).decode())

    @staticmethod
    def _returned(turn: Turn, event: Event, call_id: str | None) -> None:
        call = turn.find(call_id)
        if call is None:
            turn.strays += 1
            return
        is_good, data = event.kind is Rasp.TOOL_COMPLETED, event.data
        output = data.get("output") or ("" if is_good else data["reason"])
        outcome = "ok" if is_good else "failed"
        call.result = marked({"type": "tool_result", "id": call_id, "outcome": outcome, "output": output}, data)

    def _user(self, data: dict[str, Any]) -> dict[str, Any]:
        item = {"type": "user", "text": data["text"], "origin": data["origin"]}
        if "whole" not in data:
            return item
        sent = exact(self.folder, data)
        # The turns that a message repeats for another session have been replayed already.
        return {**item, "truncated": True} if sent is None else {**item, "text": own(sent, data)}

    def _settled(self, turn: Turn, event: Event) -> Replayed:
        verdict, state = event.data["verdict"], event.data["terminal_status"]
        if verdict.get("refused"):
            # What is known of children is not lost with the turn.
            self.waiting += [part for part in turn.parts if isinstance(part, Child)]
            return Replayed(turn.number, state, event.seq, [], {"refused_turn": 1}, self.hash)
        left_out: Counter[str] = Counter(
            reasoning=turn.thoughts, partial_message=turn.halves, result_without_call=turn.strays,
            open_call=turn.nameless,
        )
        turn.parts = [*self.waiting, *turn.parts]
        self.waiting = []
        items: list[dict[str, Any]] = []
        # As their bytes are hashed, and as they are read.
        texts: list[str] = []
        said: list[str] = []
        for part in turn.parts:
            if isinstance(part, Message):
                reason = why_left_out(part, turn, state)
                if reason is not None:
                    left_out[reason] += 1
                    continue
                items.append(answered(part, verdict.get("answer_message_id")))
                texts.append(plain(items[-1]))
                said.append(section("Agent:", part.item, "text"))
            elif isinstance(part, Call):
                if part.result is None:
                    left_out["open_call"] += 1
                    continue
                items += [part.item, part.result]
                texts += [with_input(part), plain(part.result)]
                said += [called(part), section(RETURNED[part.result["outcome"]], part.result, "output")]
            elif isinstance(part, Child):
                items.append(part.item)
                texts.append(plain(part.item))
                said.append(section("Child run:", part.item, "text"))
            else:
                items.append(part)
                texts.append(plain(part))
                said.append(section("User:", part, "text"))
        self._chain(texts)
        transcript = "\n".join(said) if self.has_transcript else ""
        counts = {reason: count for reason, count in left_out.items() if count}
        return Replayed(turn.number, state, event.seq, items, counts, self.hash, transcript)

    def _chain(self, texts: list[str]) -> None:
        if not texts or self.hash is None:
            return
        text = f"[{','.join(texts)}]".encode()
        self.hash = blake3.of(self.hash.encode() + text) if len(text) <= HASHED else None

    @property
    def still_open(self) -> int:
        return len(self.started - self.settled)

    @property
    def left_out(self) -> dict[str, int]:
        total: Counter[str] = Counter()
        for turn in self.turns:
            total.update(turn.left_out)
        total["open_turn"] = self.still_open
        return {reason: count for reason, count in total.items() if count}


def folded(folder: Path, before: int | None = None) -> Replay:
    """The replay of a Log up to the first line that is not an event; `before`, up to the event of that number."""
    replay = Replay(folder, has_transcript=True)
    for line in lines.read(folder / "events.jsonl"):
        try:
            taken = event.of(line)
        except event.NotAnEvent:
            break
        if before is not None and taken.seq >= before:
            break
        replay.take(taken)
    return replay


def exact(folder: Path, data: dict[str, Any]) -> str | None:
    """The text that was sent, from its event or its file; none where the file is not there as it was."""
    whole = data.get("whole")
    if whole is None:
        return data["text"]
    try:
        text = (folder / ".audit" / "blobs" / Path(whole["path"]).name).read_bytes()
        is_same = len(text) == whole["bytes"] and (len(text) > HASHED or blake3.of(text) == whole["hash"])
        return text.decode() if is_same else None
    except (OSError, UnicodeDecodeError):
        return None


def own(sent: str, data: dict[str, Any]) -> str:
    """What follows the replay in a text that was sent."""
    return sent.encode()[(data.get("replayed") or {}).get("bytes", 0) :].decode()


def of_child(end: dict[str, Any]) -> str:
    """What a model sees of the end of a child: its answer is text of another agent, so it is quoted."""
    head = f"The run {end['child_run_id']}, which this conversation started, has ended: {end['status']} ({end['reason']})."
    if end["status"] == TIMED_OUT and end.get("timeout_ms") is not None:
        head += f" Its time limit was {end['timeout_ms']} ms."
    if end.get("summary") is None:
        return head
    answer = "\n".join("> " + "".join(escaped(letter) for letter in line) for line in end["summary"].split("\n"))
    return f"{head}\nIts answer, quoted as data:\n{answer}"


def escaped(letter: str) -> str:
    is_safe = letter == "\t" or not (unicodedata.category(letter) == "Cc" or letter in "\u2028\u2029")
    return letter if is_safe else f"\\u{{{ord(letter):x}}}"


RETURNED = {"ok": "Tool result:", "failed": "Tool result (the tool failed):"}


def section(heading: str, item: dict[str, Any], member: str) -> str:
    return indented(heading, item[member] + (TRUNCATED if item.get("truncated") else ""))


def called(call: Call) -> str:
    name = "".join(" " if unicodedata.category(letter) == "Cc" else letter for letter in call.item["name"])
    return section(f"Tool call: {name}", {**call.item, "input": call.written or ""}, "input")


def indented(heading: str, text: str) -> str:
    """A heading at the margin, and below it every line with two blanks before it."""
    found = text.split("\n")
    if not found[-1]:
        found.pop()
    below = (line.removesuffix("\r") for line in found)
    return "".join([f"{heading}\n", *(f"  {line}\n" if line else "\n" for line in below)])


def why_left_out(message: Message, turn: Turn, state: str) -> str | None:
    if state != COMPLETED:
        return "text_of_broken_turn"
    if not message.item["text"].strip():
        return "empty_message"
    return "voided_message" if message.id in turn.voided else None


def answered(message: Message, answer: str | None) -> dict[str, Any]:
    """The members in the order in which they are hashed."""
    item = {"type": "agent", "text": message.item["text"]}
    if message.id == answer:
        item["answer"] = True
    return marked(item, message.item)


def plain(item: dict[str, Any]) -> str:
    return json.dumps(item, ensure_ascii=False, separators=(",", ":"))


def with_input(call: Call) -> str:
    """A call whose input has the bytes that the engine wrote."""
    parts = [f'"{key}":{plain(call.item[key])}' for key in ("type", "id", "name")]
    if call.written is not None:
        parts.append(f'"input":{call.written}')
    if call.item.get("truncated"):
        parts.append('"truncated":true')
    return "{" + ",".join(parts) + "}"
