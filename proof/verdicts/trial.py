"""One scenario on one engine: runs skillrun as a user would, and reads what the run left."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tomllib
from dataclasses import dataclass
from pathlib import Path

from .scenario import NO_MODEL, Outcome, Scenario

# A key as a user has one; it must be in no view.
KEY = "sk-e2e-5d41402abc4b2a76b9719d911017c592"
SCHEMA = {
    "type": "object",
    "properties": {"status": {"type": "string"}, "summary": {"type": "string"}},
    "required": ["status", "summary"],
}
SKILL = "---\nname: probe\ndescription: Finds out whether an engine works.\n---\n\nDo one thing with the shell. Then say how it went.\n"
RUNNER = {"id": "probe", "execution_modes": ["auto", "interactive"], "schemas": {"output": "assets/output.schema.json"}}
# A command of skillrun that takes longer has failed. Engines that retry are silent for a minute and more.
COMMAND_TIMEOUT = 240
# Nothing listens there.
CLOSED_PORT = "http://127.0.0.1:9"


@dataclass(frozen=True)
class Engine:
    name: str
    model: str | None
    variables: dict[str, str]

    @staticmethod
    def read(file: Path) -> Engine:
        """From the engine's description, as `skillrun engines verify` uses it."""
        described = tomllib.loads(file.read_text())
        probe = described["probe"]
        secret = described["environment"].get("secret", [])
        variables = {name: KEY if name in secret else value for name, value in probe["set"].items()}
        return Engine(described["name"], probe.get("model"), variables)

    def environment(self, server: str) -> dict[str, str]:
        return {name: value.replace("{{server}}", server) for name, value in self.variables.items()}


class Trial:
    def __init__(self, skillrun: Path, programs: Path, scratch: Path, origin: str, engine: Engine, scenario: Scenario):
        self.skillrun, self.programs, self.engine, self.scenario = skillrun, programs, engine, scenario
        self.root = scratch / engine.name / scenario.name
        shutil.rmtree(self.root, ignore_errors=True)
        for folder in ("home", "tmp", "probe/assets"):
            (self.root / folder).mkdir(parents=True)
        (self.root / "probe/SKILL.md").write_text(SKILL)
        (self.root / "probe/assets/runner.json").write_text(json.dumps(RUNNER))
        (self.root / "probe/assets/output.schema.json").write_text(json.dumps(SCHEMA))
        (self.root / "config.toml").write_text(f'consent = ["{engine.name}"]\n')
        path = scenario.path(engine.name)
        self.server = CLOSED_PORT if path == NO_MODEL else f"{origin}/s/{path}"

    def run(self) -> Outcome:
        words = ["run", str(self.root / "probe"), "--engine", self.engine.name, "--mode", self.scenario.mode]
        words += ["--model", self.engine.model] if self.engine.model else []
        self.command([*words, *self.scenario.words], "run")
        folders = list((self.root / "data/runs").glob("*-*"))
        if len(folders) != 1:
            return Outcome("refused", None, [])
        for number, reply in enumerate(self.scenario.replies, 1):
            self.command(["reply", folders[0].name, reply], f"reply-{number}")
        return self.outcome(folders[0])

    def outcome(self, folder: Path) -> Outcome:
        events = [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()]
        result = folder / "result.json"
        statuses = [one["data"]["status"] for one in events if one["event"]["type"] == "run.status" and one["data"].get("status")]
        if not result.exists():
            return Outcome(statuses[-1] if statuses else "unknown", None, events)
        read = json.loads(result.read_text())
        return Outcome(read["status"], read, events)

    def leaks(self) -> list[str]:
        """Views in which the key stands in plain text."""
        views = [*self.root.glob("data/runs/*/*.json*"), *self.root.glob("*.stdout"), *self.root.glob("*.stderr")]
        return [f"the key stands in {view.name}" for view in views if KEY in view.read_text(errors="replace")]

    def verified(self) -> list[str]:
        printed = self.command(["verify", "last"], "verify")
        return [] if printed.returncode == 0 else [f"skillrun verify: {printed.stdout.strip()}"]

    def command(self, words: list[str], name: str) -> subprocess.CompletedProcess[str]:
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.root / "home"),
            "TMPDIR": str(self.root / "tmp"),
            "LANG": "C.UTF-8",
            "SKILLRUN_PROGRAMS": str(self.programs),
            **self.engine.environment(self.server),
        }
        whole = [str(self.skillrun), "--config", str(self.root / "config.toml"), "--data", str(self.root / "data"), *words]
        done = subprocess.run(
            whole,
            env=environment,
            cwd=self.root,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=COMMAND_TIMEOUT,
            check=False,
        )
        (self.root / f"{name}.stdout").write_text(done.stdout)
        (self.root / f"{name}.stderr").write_text(done.stderr)
        return done
