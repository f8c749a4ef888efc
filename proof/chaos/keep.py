"""Keeps what is needed to understand a breach: data folder, ledger, story, what the server said."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

LIMIT = 200 << 20


def keep(folders: dict[str, Path], target: Path, story: list[str], limit: int = LIMIT) -> bool:
    """Copies these folders under their names, small files first. Whether all of it found room."""
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    (target / "story.txt").write_text("\n".join(story) + "\n")
    files = [(size, path, target / name / path.relative_to(folder)) for name, folder in folders.items()
             for size, path in _files(folder)]
    left = limit
    for size, path, copy in sorted(files):
        left -= size
        if left < 0:
            return False
        copy.parent.mkdir(parents=True, exist_ok=True)
        _copy(path, copy)
    return True


def _files(folder: Path) -> Iterator[tuple[int, Path]]:
    for parent, _, names in os.walk(folder):
        for name in names:
            path = Path(parent, name)
            # The programs are as large as all the rest; sockets cannot be copied.
            if path.is_file() and not path.is_symlink() and name not in ("skillrun", "stand-in", "filler"):
                yield path.stat().st_size, path


def _copy(path: Path, copy: Path) -> None:
    try:
        shutil.copy2(path, copy)
    except OSError as error:
        copy.with_name(copy.name + ".not-copied").write_text(f"{error}\n")
