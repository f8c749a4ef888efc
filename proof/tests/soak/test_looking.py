"""How figures are read: a data folder, a process, the numbers of a server."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from soak import disk, vitals
from soak.sampler import ACTIVE, STREAMS, UNTOLD, numbers_in

METRICS = """\
# HELP skillrun_http_streams Event streams that are open.
# TYPE skillrun_http_streams gauge
skillrun_http_streams 3
skillrun_http_requests_total{method="GET",route="/v1/runs/{run_id}",status="200"} 12
skillrun_webhook_messages{state="pending"} 7
skillrun_runs_active 2
# EOF
"""


class Folder(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.data = Path(folder.name)

    def write(self, path: str, size: int) -> None:
        (self.data / path).parent.mkdir(parents=True, exist_ok=True)
        (self.data / path).write_bytes(b"x" * size)

    def test_each_byte_is_counted_where_it_belongs(self) -> None:
        for run in ("one", "two"):
            self.write(f"runs/{run}/events.jsonl", 10_000)
            self.write(f"runs/{run}/.audit/stdout.1.log", 5_000)
        # It is being made, or what is left of it is being removed.
        self.write("runs/three/workspace/a.txt", 1)
        self.write("runs/removed.jsonl", 90)
        self.write("requests/0123", 102)
        self.write("catalog.sqlite", 8192)
        self.write("catalog.sqlite-wal", 4000)
        self.write("catalog.sqlite-journal", 96)
        self.write("webhooks/lock", 1)
        (self.data / "elsewhere").symlink_to("/usr")
        (self.data / "owners").mkdir()
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(self.data / "owners" / "1.sock"))
            found = disk.measure(self.data)
        self.assertEqual((found.runs, found.sockets), (2, 1))
        self.assertEqual((found.notes, found.catalog, found.wal), (192, 8192, 4096))
        self.assertGreaterEqual(found.run_bytes, 2 * 15_000)
        self.assertLess(found.run_bytes, 200_000)
        self.assertLess(found.rest, 100_000)

    def test_a_folder_that_is_not_there_takes_up_nothing(self) -> None:
        self.assertEqual(disk.measure(self.data / "nothing"), disk.Disk(0, 0, 0, 0, 0, 0, 0))


class Process(unittest.TestCase):
    def test_descriptors_and_children_are_seen(self) -> None:
        before = vitals.look(os.getpid())
        with open(os.devnull) as _, open(os.devnull) as _:
            child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
            with child:
                after = vitals.look(os.getpid())
                child.communicate(b"\n")
        self.assertEqual(after.descriptors, before.descriptors + 3)
        self.assertEqual(after.children, before.children + 1)
        self.assertGreater(after.resident, after.anonymous)
        self.assertGreater(after.anonymous, 1_000_000)

    def test_one_that_is_gone(self) -> None:
        child = subprocess.Popen(["true"])
        child.wait()
        with self.assertRaises(vitals.Gone):
            vitals.look(child.pid)

    def test_what_descriptors_lead_to(self) -> None:
        with open(os.devnull) as _, tempfile.TemporaryFile() as _:
            found = vitals.open_files(os.getpid())
        self.assertGreaterEqual(found["null"], 1)


class Numbers(unittest.TestCase):
    def test_lines_are_found_by_their_names(self) -> None:
        found = numbers_in(METRICS)
        self.assertEqual((found[STREAMS], found[ACTIVE], found[UNTOLD]), (3, 2, 7))
        self.assertEqual(len(found), 4)


if __name__ == "__main__":
    unittest.main()
