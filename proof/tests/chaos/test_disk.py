"""A small disk can be filled to the last byte, and freed."""

import errno
import tempfile
import unittest
from pathlib import Path

from chaos.disk import Disk


class TestDisk(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.disk = Disk(Path(folder.name) / "disk", megabytes=4)
        self.addCleanup(self.disk.close)

    def test_nothing_can_be_written_while_it_is_full(self) -> None:
        if not self.disk.is_small:
            self.skipTest("nothing can be mounted here")
        file = self.disk.path / "file"
        file.write_bytes(b"before")
        self.assertGreater(self.disk.fill(), 1 << 20)
        with self.assertRaises(OSError) as refused:
            (self.disk.path / "more").write_bytes(bytes(8192))
        self.assertEqual(refused.exception.errno, errno.ENOSPC)
        self.disk.free()
        (self.disk.path / "more").write_bytes(bytes(8192))
        self.assertEqual(file.read_bytes(), b"before")

    def test_what_was_on_it_is_gone_with_it(self) -> None:
        if not self.disk.is_small:
            self.skipTest("nothing can be mounted here")
        (self.disk.path / "file").write_bytes(b"x")
        self.disk.close()
        self.assertEqual(list(self.disk.path.iterdir()), [])


if __name__ == "__main__":
    unittest.main()
