"""A small file system in memory that can be filled and freed; a plain folder where nothing can be mounted."""

from __future__ import annotations

import errno
import os
import subprocess
from pathlib import Path

MEGABYTES = 192
PIECE = 1 << 20


class Disk:
    """The folder `path`. `is_small` says whether it is a file system of its own."""

    def __init__(self, path: Path, megabytes: int = MEGABYTES) -> None:
        path.mkdir(parents=True, exist_ok=True)
        self.path = path
        self.is_small = _mount(path, megabytes)
        self._filler = path / "filler"

    def fill(self) -> int:
        """Takes all the room that is left. Gives how much that was."""
        assert self.is_small
        with open(self._filler, "ab") as filler:
            for size in (PIECE, 4096, 1):
                _take(filler.fileno(), size)
            return os.fstat(filler.fileno()).st_size

    def free(self) -> None:
        self._filler.unlink(missing_ok=True)

    def close(self) -> None:
        """Releases the file system; a process that still has files open on it keeps them."""
        if self.is_small:
            subprocess.run(["umount", "--lazy", self.path], check=False, capture_output=True)
            self.is_small = False


def _mount(path: Path, megabytes: int) -> bool:
    words = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=0700", "skillrun-chaos", path]
    try:
        return subprocess.run(words, capture_output=True).returncode == 0
    except OSError:
        return False


def _take(file: int, size: int) -> None:
    piece = bytes(size)
    while True:
        try:
            os.write(file, piece)
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
            return
