"""Law `evidence`: what was recorded is what was recorded. Files have the hashes that the host and the result name, and
the last attempt had the variables that the run was made with.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

from .. import blake3, lines
from ..event import Event
from ..fold import Fold
from ..looking import Looking
from ..report import Law
from ..words import Rasp

OWN = "own"
COPY = "copy"
PATCH = "patch"
NO_SNAPSHOT = "SNAPSHOT_FAILED"


class Evidence:
    law = Law.EVIDENCE

    def __init__(self, looking: Looking) -> None:
        self.looking = looking
        self.has_no_snapshot = False

    def event(self, event: Event, before: Fold) -> None:
        if event.kind is Rasp.PARSER_WARNING and event.data.get("code") == NO_SNAPSHOT:
            self.has_no_snapshot = True

    def end(self, fold: Fold) -> None:
        if not self.looking.has_evidence:
            return self.looking.count(Law.EVIDENCE, "runs whose evidence was removed")
        audit = self.looking.audit
        for folder in [audit, *audit.glob("aside.*"), *audit.glob("checks/*")]:
            for path in sorted(folder.glob("host.*.json")):
                self._record(folder, path.name)
        self._variables(fold.attempt)
        if fold.end and self._holds_still(fold):
            for artifact in fold.artifacts.values():
                self._artifact(artifact)
            if self._is_copy():
                self._patch(fold)

    def _variables(self, attempt: int) -> None:
        """No attempt is started without a variable that the run was made with. Runs of older versions have no such file.
        The engine's HOME is the run's own.
        """
        sealed = (lines.whole(self.looking.folder / "variables.json") or {}).get("variables") or {}
        names = {name for name, value in sealed.items() if value is not None} - {"HOME"}
        record = self.looking.host(attempt)
        if record is None or not names:
            return
        self.looking.count(Law.EVIDENCE, "attempts whose variables were looked at")
        for name in sorted(names - set(map(str, record.get("env_names") or []))):
            self.looking.breach(Law.EVIDENCE, f"the variable {name} was not passed on", attempt, "variables.json")

    def _record(self, folder: Path, name: str) -> None:
        """A host seals its files before it writes its record, and no process changes them afterwards."""
        record = lines.whole(folder / name) or {}
        attempt = record.get("attempt_number")
        for file, wanted in (record.get("hashes") or {}).items():
            if "/" in file:
                self.looking.breach(Law.EVIDENCE, f"{file!r} is not a file name", attempt, name)
            else:
                self._file(folder / file, wanted, attempt, None)

    def _file(self, path: Path, wanted: Any, attempt: int | None, size: int | None) -> None:
        try:
            is_plain = stat.S_ISREG(os.lstat(path).st_mode)
        except OSError:
            is_plain = False
        if not is_plain:
            return self.looking.breach(Law.EVIDENCE, "is gone", attempt, path.name)
        found_size, found = blake3.of_file(path)
        self.looking.count(Law.EVIDENCE, "files")
        self.looking.count(Law.EVIDENCE, "bytes", found_size)
        if found != wanted or size not in (None, found_size):
            what = f"was changed: {found[:16]}… where {str(wanted)[:16]}… belongs"
            self.looking.breach(Law.EVIDENCE, what, attempt, path.name)

    def _holds_still(self, fold: Fold) -> bool:
        """Artifacts are those of the last listing. A folder of the user's may change at any time, and so may one whose
        last process was not seen to its end.
        """
        last = self.looking.host(fold.attempt)
        ended = last is not None and not last.get("process_continues") and last.get("ended_by") != "host_error"
        request = self.looking.record.get("request") or {}
        # A check runs in the workspace after the files of the turn are listed.
        is_own = (self._workspace() == OWN or self._is_copy()) and not request.get("checks")
        if not (ended and is_own):
            self.looking.count(Law.EVIDENCE, "artifacts in folders that may change", len(fold.artifacts))
        return ended and is_own

    def _workspace(self) -> Any:
        return (self.looking.record.get("request") or {}).get("workspace")

    def _is_copy(self) -> bool:
        """A folder inside the run that began as a copy of another one."""
        workspace = self._workspace()
        return isinstance(workspace, dict) and COPY in workspace

    def _patch(self, fold: Fold) -> None:
        """A run that changed its copy has the patch of it, unless a warning says why not. Files that git ignores are not
        part of a patch, so only changes of files that were copied count.
        """
        changed = [path for attempt in range(1, fold.attempt + 1) for path in self._changed(attempt)]
        if not changed or self.has_no_snapshot:
            return
        self.looking.count(Law.EVIDENCE, "copies with a patch")
        wanted = f"artifacts/changes-{self.looking.folder.name.rsplit('-', 1)[-1]}.patch"
        artifact = fold.artifacts.get(wanted)
        if artifact is None or artifact.get("role") != PATCH:
            what = f"the run changed {changed[0]!r} in its copy and has no artifact {wanted}"
            self.looking.breach(Law.EVIDENCE, what, fold.attempt, "events.jsonl")

    def _changed(self, attempt: int) -> list[Any]:
        """The files that an attempt found, and changed or deleted."""
        diff = lines.whole(self.looking.audit / f"fs-diff.{attempt}.json") or {}
        changed = [
            entry.get("path")
            for entry in diff.get("modified") or []
            if (entry.get("before") or {}).get("hash") != (entry.get("after") or {}).get("hash")
        ]
        return changed + [entry.get("path") for entry in diff.get("deleted") or [] if entry.get("kind") == "file"]

    def _artifact(self, artifact: dict[str, Any]) -> None:
        path = str(artifact.get("path"))
        # Files that only an output names are listed when it names them; those below `artifacts/` whenever they change.
        if path.startswith("artifacts/") and ".." not in path.split("/"):
            file = self.looking.folder / "workspace" / path
            self._file(file, artifact.get("hash"), None, artifact.get("size"))
