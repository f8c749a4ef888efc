"""The relay passes input on, notes what it passes before the engine has it, and ends as the engine ends."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from lab.place import RELAY

TEST_TIMEOUT = 30
BLUE, DARK = "blue.m0123456789ab", "dark.mba9876543210"


class TestRelay(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.effects = Path(folder.name) / "effects.txt"

    def relay(self, life: str, *words: str, said: bytes = b"") -> subprocess.CompletedProcess:
        command = [sys.executable, "-IS", RELAY, self.effects, life, *words]
        environment = os.environ | {"SKILLRUN_ATTEMPT": "run-1/2/nonce"}
        return subprocess.run(command, input=said, env=environment, capture_output=True, timeout=TEST_TIMEOUT)

    def noted(self) -> list[str]:
        return self.effects.read_text().splitlines()

    def test_an_engine_of_one_turn_receives_the_answer_as_argument(self) -> None:
        done = self.relay("once", "/bin/echo", f"--prompt={BLUE}")
        self.assertEqual((done.returncode, done.stdout), (0, f"--prompt={BLUE}\n".encode()))
        self.assertEqual(self.noted(), ["run-1 2 start", f"run-1 - told.{BLUE} {BLUE}"])

    def test_what_is_replayed_before_a_prompt_is_not_noted(self) -> None:
        self.relay("once", "/bin/echo", f"--prompt=User:\n  {DARK}\n\n--- End of the transcript ---\n\n{BLUE}")
        self.assertEqual(self.noted()[1:], [f"run-1 - told.{BLUE} {BLUE}"])

    def test_a_process_remains_that_holds_no_pipe_of_the_engine(self) -> None:
        words = ["/bin/sh", "-c", "ps -o pid= --ppid $$"]
        done = self.relay("leaves", *words)
        left = [int(pid) for pid in done.stdout.split() if Path(f"/proc/{int(pid)}").exists()]
        self.assertEqual(len(left), 1)
        self.addCleanup(os.kill, left[0], signal.SIGKILL)
        self.assertEqual(Path(f"/proc/{left[0]}/cmdline").read_bytes(), b"sleep\x003600\x00")
        self.assertEqual(os.getsid(left[0]), left[0])

    def test_input_is_passed_on_whole_and_noted(self) -> None:
        said = f'{{"text":"{BLUE}"}}\nplain\n{DARK}'.encode()
        done = self.relay("talks", "/bin/cat", said=said)
        self.assertEqual((done.returncode, done.stdout), (0, said))
        self.assertEqual(self.noted()[1:], [f"run-1 - told.{BLUE} {BLUE}", f"run-1 - told.{DARK} {DARK}"])

    def test_an_answer_given_twice_is_recorded_twice(self) -> None:
        self.relay("talks", "/bin/cat", said=f"{BLUE}\n{BLUE}\n".encode())
        self.assertEqual(self.noted()[1:], [f"run-1 - told.{BLUE} {BLUE}"] * 2)

    def test_answers_to_requests_of_the_engine_are_noted(self) -> None:
        answer = {"jsonrpc": "2.0", "id": 7, "result": {"outcome": {"outcome": "selected", "optionId": "once"}}}
        other = {"jsonrpc": "2.0", "id": 8, "result": {}}
        said = "".join(json.dumps(line) + "\n" for line in (answer, other)).encode()
        self.relay("talks", "/bin/cat", said=said)
        self.assertEqual(self.noted(), ["run-1 2 start", "run-1 2 answered.7"])

    def test_it_ends_as_the_engine_ends(self) -> None:
        self.assertEqual(self.relay("talks", "/bin/sh", "-c", "exit 3").returncode, 3)
        self.assertEqual(self.relay("talks", "/bin/sh", "-c", "kill -SEGV $$").returncode, -signal.SIGSEGV)
        self.assertEqual(self.relay("talks", "/bin/sh", "-c", "kill -KILL $$").returncode, -signal.SIGKILL)

    def test_an_engine_that_does_not_listen_is_let_go(self) -> None:
        done = self.relay("talks", "/bin/sh", "-c", "exec 0<&-; sleep 0.2; exit 4", said=bytes(300_000) + b"\n")
        self.assertEqual(done.returncode, 4)


if __name__ == "__main__":
    unittest.main()
