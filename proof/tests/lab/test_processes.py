"""What a process is to the driver: a host, or something that an engine's attempt is made of."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from lab import processes
from lab.processes import Process, Role

RUN = "00000000-0001-7001-8101-010101010101"

# A host that holds a file of its run, and a copy of it in a namespace, as the first process of a box is one.
HOST = f"""
import ctypes, os, sys, time
NEW_USER, NEW_PID = 0x10000000, 0x20000000
held = open("runs/{RUN}/.audit/claim.1")
is_apart = ctypes.CDLL(None).unshare(NEW_USER | NEW_PID) == 0
if os.fork() == 0:
    os.closerange(3, 64)
    time.sleep(60)
print(is_apart, flush=True)
time.sleep(60)
"""


class TestProcesses(unittest.TestCase):
    def host(self) -> tuple[Process, Process]:
        """A host, and the process below it."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        root = Path(folder.name)
        (root / "runs" / RUN / ".audit").mkdir(parents=True)
        (root / "runs" / RUN / ".audit" / "claim.1").touch()
        (root / "attempt-host").write_text(HOST)
        words = ["skillrun", "attempt-host"]
        host = subprocess.Popen(words, executable=sys.executable, cwd=root, stdout=subprocess.PIPE)
        self.addCleanup(host.wait)
        self.addCleanup(host.stdout.close)
        self.addCleanup(host.kill)
        if host.stdout.readline() != b"True\n":
            self.skipTest("this machine makes no namespaces")
        [below] = processes.below(host.pid)
        self.addCleanup(processes.send, below, 9)
        return processes.look(host.pid), below

    def test_the_first_process_of_a_box_is_no_host(self) -> None:
        host, first = self.host()
        self.assertEqual((host.role(), first.role()), (Role.HOST, Role.ENGINE))
        self.assertEqual((host.run(), first.run()), (RUN, RUN))


if __name__ == "__main__":
    unittest.main()
