"""Runs between a host and an engine and records what reaches the engine.

    python3 -IS relay.py EFFECTS once|talks|leaves PROGRAM WORD...

A reply of our clients holds a word that is used once (`mark` in kinds.py). One
line goes to EFFECTS per start of the engine, per such word in its arguments or
its input, and per answer to a request of its own, before the engine sees it:

    RUN ATTEMPT start
    RUN - told.MARK MARK
    RUN ATTEMPT answered.ID

With `once` the engine takes the relay's place; with `talks` the relay stays and
passes input on line by line, and ends as the engine ends. With `leaves` it is as
with `once`, and an unrequested process is started before: it has its own session,
no pipe of the engine, and exits on its own only after an hour, like the servers
that agents start.
"""

import json
import os
import re
import select
import signal
import subprocess
import sys

# A word that was made for one reply, as `blue.m0123456789ab`.
MARK = re.compile(rb"[a-z]+\.m[0-9a-f]{12}")
READ = 1 << 16
# A line that is longer is passed on without being read.
LINE_MAX = 1 << 22
# What comes before it in a prompt was said earlier: in a session that is lost, or in the run that this one continues.
AFTER = b"--- End of the transcript ---"


class Notes:
    """Lines in the effects file; each is written whole, with one write."""

    def __init__(self, path: str) -> None:
        self.file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self.run, self.attempt, *_ = os.environ.get("SKILLRUN_ATTEMPT", "-/-/-").split("/")

    def started(self) -> None:
        self._write(f"{self.run} {self.attempt} start")

    def told(self, text: bytes) -> None:
        for mark in dict.fromkeys(MARK.findall(text.rpartition(AFTER)[2])):
            word = mark.decode()
            self._write(f"{self.run} - told.{word} {word}")

    def answered(self, line: bytes) -> None:
        """An answer to a request of the engine, as JSON-RPC has it."""
        try:
            message = json.loads(line)
        except ValueError:
            return
        if isinstance(message, dict) and "method" not in message and "result" in message:
            if isinstance(message["result"], dict) and "outcome" in message["result"]:
                name = re.sub(r"[^0-9A-Za-z-]", "_", str(message.get("id")))
                self._write(f"{self.run} {self.attempt} answered.{name}")

    def _write(self, line: str) -> None:
        os.write(self.file, line.encode() + b"\n")


class Lines:
    """Input, cut at line ends."""

    def __init__(self) -> None:
        self.rest = b""

    def whole(self, piece: bytes) -> list[bytes]:
        lines = (self.rest + piece).split(b"\n")
        self.rest = lines.pop()
        whole = [line + b"\n" for line in lines]
        if len(self.rest) > LINE_MAX:
            whole.append(self.rest)
            self.rest = b""
        return whole


def pass_on(notes: Notes, lines: list[bytes], to: int) -> None:
    for line in lines:
        notes.told(line)
        notes.answered(line)
        while line:
            line = line[os.write(to, line):]


def talk(notes: Notes, words: list[str]) -> int:
    """Passes input on until the engine is gone. A signal for the group reaches the engine by itself."""
    for ignored in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(ignored, lambda *_: None)
    engine = subprocess.Popen(words, stdin=subprocess.PIPE)
    gone, to = os.pidfd_open(engine.pid), engine.stdin
    poll = select.poll()
    poll.register(gone, select.POLLIN)
    poll.register(0, select.POLLIN)
    lines = Lines()
    while gone not in (ready := [fd for fd, _ in poll.poll()]):
        if 0 not in ready:
            continue
        piece = os.read(0, READ)
        try:
            pass_on(notes, lines.whole(piece) if piece else [lines.rest], to.fileno())
        except BrokenPipeError:
            piece = b""
        if not piece:
            poll.unregister(0)
            to.close()
    return engine.wait()


def leave_somebody() -> None:
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    subprocess.Popen(["sleep", "3600"], start_new_session=True, **quiet)


def end_as(code: int) -> None:
    if code < 0:
        signal.signal(-code, signal.SIG_DFL) if -code != signal.SIGKILL else None
        os.kill(os.getpid(), -code)
    sys.exit(code)


def main() -> None:
    _, effects, life, *words = sys.argv
    notes = Notes(effects)
    notes.started()
    notes.told("\n".join(words).encode(errors="surrogateescape"))
    if life == "leaves":
        leave_somebody()
    if life in ("once", "leaves"):
        os.execv(words[0], words)
    end_as(talk(notes, words))


if __name__ == "__main__":
    main()
