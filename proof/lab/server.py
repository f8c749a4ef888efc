"""A server of skillrun as a process: started, found, stopped, killed."""

from __future__ import annotations

import signal
import subprocess
import time
from pathlib import Path

from lab.client import Broken, Client
from lab.place import Place

# Seconds until it must be there, or gone after it was asked to stop.
SERVER_TIMEOUT = 120.0


class NotThere(Exception):
    """The server did not start, or does not answer; with what it said."""


class Server:
    """One process. What it says goes to `said`, after what those before it have said."""

    def __init__(self, place: Place, said: Path, words: tuple[str, ...] = (), patience: float = SERVER_TIMEOUT) -> None:
        self.place = place
        self.said = said
        self._is_asked = False
        self._told = place.root / f"told-{time.monotonic_ns()}.txt"
        words = ("serve", "--listen", "127.0.0.1:0", *words)
        with self._told.open("wb") as told, said.open("ab") as heard:
            self.process = place.start(*words, stdout=told, stderr=heard)
        self.url, self.token = self._find(patience)
        host, port = self.url.removeprefix("http://").rsplit(":", 1)
        self.address = (host, int(port))

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def is_alive(self) -> bool:
        return self.process.poll() is None

    def client(self) -> Client:
        return Client(self.address, self.token)

    def wait_ready(self, patience: float = SERVER_TIMEOUT) -> None:
        """Until the runs of before are found."""
        end = time.monotonic() + patience
        while True:
            try:
                if self.client().get("/readyz").status == 200:
                    return
            except Broken:
                pass
            if not self.is_alive or time.monotonic() > end:
                raise NotThere(f"the server is not ready\n{self._last_words()}")
            time.sleep(0.05)

    def ask_to_stop(self) -> None:
        """Once: a second request makes it stop at once."""
        if self.is_alive and not self._is_asked:
            self._is_asked = True
            self.process.send_signal(signal.SIGTERM)

    def stop(self, patience: float = SERVER_TIMEOUT) -> int:
        """Asks it to stop. Gives its exit code; it is killed when it does not listen, which is an exit code too."""
        self.ask_to_stop()
        try:
            return self.process.wait(patience)
        except subprocess.TimeoutExpired:
            return self.kill()

    def kill(self) -> int:
        self.process.kill()
        return self.process.wait()

    def _find(self, patience: float) -> tuple[str, str]:
        end = time.monotonic() + patience
        while not (told := read_told(self._told)):
            if not self.is_alive or time.monotonic() > end:
                self.kill()
                self._told.unlink(missing_ok=True)
                raise NotThere(f"the server does not say where it is\n{self._last_words()}")
            time.sleep(0.02)
        self._told.unlink(missing_ok=True)
        return told["serving"], Path(told["token"]).read_text().strip()

    def _last_words(self) -> str:
        return self.said.read_text(errors="replace")[-2000:]


def read_told(path: Path) -> dict[str, str] | None:
    """What a server prints when it is ready: words and what they stand for."""
    lines = path.read_text().splitlines()
    told = dict(line.split(maxsplit=1) for line in lines if " " in line.strip())
    return told if "token" in told else None
