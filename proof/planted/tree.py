"""A copy of the sources that a fault can be planted in and taken out of again, and the program made from it.

The copy stays in one place, and files that did not change keep their times, so that only what a patch changes is compiled
again.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
FOLDER = ROOT / "target" / "planted"
# Seconds for a build, on a machine that has other things to do.
BUILD = 3600


class CannotPlant(Exception):
    """One sentence: why a fault could not be planted or built."""


class Tree:
    """The copy. Files that the sources do not have any more are removed from it."""

    def __init__(self, folder: Path = FOLDER / "tree") -> None:
        self.folder = folder
        self._refresh()

    def plant(self, patch: Path) -> Path:
        """The program with this fault in it."""
        self._patch(patch, "--forward")
        try:
            return self._build()
        finally:
            self._patch(patch, "--reverse")

    def _refresh(self) -> None:
        wanted = _sources()
        for path in wanted:
            _copy(ROOT / path, self.folder / path)
        for path in self.folder.rglob("*"):
            if path.is_file() and path.relative_to(self.folder) not in wanted:
                path.unlink()

    def _patch(self, patch: Path, way: str) -> None:
        # Not by git: this folder lies in its repository, and git would look for the files there.
        words = ["patch", "--batch", "--no-backup-if-mismatch", "-p1", way, "-d", self.folder, "-i", patch]
        done = subprocess.run(words, capture_output=True, text=True)
        if done.returncode != 0:
            raise CannotPlant(f"{patch.name} no longer applies to the sources: {done.stdout.strip()[-500:]}")

    def _build(self) -> Path:
        words = ["cargo", "build", "--locked", "--quiet", "-p", "skillrun", "-p", "stand-ins"]
        environment = os.environ | {"CARGO_TARGET_DIR": str(FOLDER / "target")}
        done = subprocess.run(words, cwd=self.folder, env=environment, capture_output=True, text=True, timeout=BUILD)
        if done.returncode != 0:
            raise CannotPlant(f"failed to compile: {done.stderr.strip()[-2000:]}")
        return FOLDER / "target" / "debug" / "skillrun"


def _sources() -> set[Path]:
    """Everything that belongs to the repository, as it is now."""
    words = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    told = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return {Path(name) for name in told.split("\0") if name and (ROOT / name).is_file()}


def _copy(source: Path, copy: Path) -> None:
    if copy.exists() and copy.read_bytes() == source.read_bytes():
        return
    copy.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(source, copy)
