"""Every planted fault fits the current sources, names a law that is checked, and is distinguished from other
failures."""

import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from chaos.stage import Law
from oracle import report
from planted.__main__ import breaches
from planted.cases import CASES, PATCHES, chosen
from planted.tree import ROOT


class TestPlanted(unittest.TestCase):
    @unittest.skipUnless(shutil.which("patch"), "there is no program patch")
    def test_every_patch_fits(self) -> None:
        for case in CASES:
            names = [line[6:] for line in case.patch.read_text().splitlines() if line.startswith("--- a/")]
            self.assertTrue(names, case.name)
            with tempfile.TemporaryDirectory() as folder:
                for name in names:
                    copy = Path(folder) / name
                    copy.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy(ROOT / name, copy)
                words = ["patch", "--batch", "--forward", "-p1", "-d", folder, "-i", case.patch]
                done = subprocess.run(words, capture_output=True, text=True)
                self.assertEqual(done.returncode, 0, f"{case.name}: {done.stdout}")

    def test_every_patch_has_a_case_and_laws_that_there_are(self) -> None:
        self.assertEqual({path.stem for path in PATCHES.iterdir()}, {case.name for case in CASES})
        laws = {*report.Law, *Law}
        for case in CASES:
            self.assertLessEqual(set(case.laws), laws, case.name)

    def test_those_that_are_asked_for(self) -> None:
        self.assertEqual(chosen([]), CASES)
        self.assertEqual([case.name for case in chosen(["torn-line"])], ["torn-line"])
        with self.assertRaises(KeyError):
            chosen(["unknown"])

    def test_breaches_are_found_in_what_chaos_says(self) -> None:
        told = "round 1: 3 runs\n\nseed 1, round 1: a law is broken\nseq: one\nfcmp: two\n\nWhat happened, in seconds:\n"
        self.assertEqual(breaches(told), ["seq: one", "fcmp: two"])
        self.assertEqual(breaches("round 1: 3 runs, no breaches\n"), [])


if __name__ == "__main__":
    unittest.main()
