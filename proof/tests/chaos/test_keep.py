"""What is kept is kept under its name, and never more than there is room for."""

import tempfile
import unittest
from pathlib import Path

from chaos.keep import keep


class TestKeep(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        self.data = self.root / "data"
        (self.data / "runs").mkdir(parents=True)
        (self.data / "runs" / "small").write_bytes(b"small")
        (self.data / "large").write_bytes(bytes(10_000))

    def test_all_of_it(self) -> None:
        target = self.root / "kept"
        self.assertTrue(keep({"data": self.data}, target, ["one", "two"]))
        self.assertEqual((target / "data" / "runs" / "small").read_bytes(), b"small")
        self.assertEqual((target / "data" / "large").stat().st_size, 10_000)
        self.assertEqual((target / "story.txt").read_text(), "one\ntwo\n")

    def test_small_files_first_where_there_is_no_room_for_all(self) -> None:
        target = self.root / "kept"
        self.assertFalse(keep({"data": self.data}, target, [], limit=1_000))
        self.assertTrue((target / "data" / "runs" / "small").exists())
        self.assertFalse((target / "data" / "large").exists())


if __name__ == "__main__":
    unittest.main()
