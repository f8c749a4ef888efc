"""A folder in which skillrun lives: settings, engines, skills, data, and what is said and done there."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from lab.kinds import SCENARIOS, Kind, paced

RELAY = Path(__file__).with_name("relay.py")
# Programs that stand in for engines; the build of the whole workspace puts the file beside the program.
STAND_IN = "stand-in"

# Room for more than the population, so that runs wait for each other only at times.
SETTINGS = """\
box = "off"
engines = "engines"
skills = ["skills"]
consent = {consent}
{more}
[slots]
total = 12
per_engine = 12
sticky = 12
queued = 200
"""

# The engine `scripted`, with the relay before it. Sticky or not is only known at the start of a run.
WITNESSED = """\
name = "witnessed"
title = "The scripted engine, and a witness"
profile = "codex_ndjson"
continuation = "resumable"
[executable]
path = "{python}"
[start]
argv = [
    "-IS", "{relay}", "{effects}", "{life}", "{skillrun}",
    "simulate-scripted", ["--script", "{{{{skill_dir}}}}/assets/scripted.yaml"], "--profile", "{{{{profile}}}}",
    "--state", "{{{{home}}}}/.scripted", ["--{{{{sticky}}}}"], "{{{{prompt_flags}}}}",
]
[resume]
argv = [
    "-IS", "{relay}", "{effects}", "{life}", "{skillrun}",
    "simulate-scripted", ["--script", "{{{{skill_dir}}}}/assets/scripted.yaml"], "--profile", "{{{{profile}}}}",
    "--state", "{{{{home}}}}/.scripted", "--resume", "{{{{session_id}}}}", "{{{{prompt_flags}}}}",
]
[prompt]
argument = ["--prompt={{{{prompt}}}}"]
stdin = ["--prompt=-"]
# It asks its owner itself; with this it may.
[mcp]
form = "claude"
flags = []
"""

# The engine `scripted` in a box, where the relay cannot write: what it reached outside is the first line of its stderr.
BOXED = """\
name = "{name}"
title = "The scripted engine, which says what it reaches"
profile = "codex_ndjson"
continuation = "resumable"
[executable]
path = "{program}"
[start]
argv = [
    "{canary}", "{pid}", "{net}", "{life}", "{skillrun}",
    "simulate-scripted", ["--script", "{{{{skill_dir}}}}/assets/scripted.yaml"], "--profile", "{{{{profile}}}}",
    "--state", "{{{{home}}}}/.scripted", ["--{{{{sticky}}}}"], "{{{{prompt_flags}}}}",
]
[resume]
argv = [
    "{canary}", "{pid}", "{net}", "{life}", "{skillrun}",
    "simulate-scripted", ["--script", "{{{{skill_dir}}}}/assets/scripted.yaml"], "--profile", "{{{{profile}}}}",
    "--state", "{{{{home}}}}/.scripted", "--resume", "{{{{session_id}}}}", "{{{{prompt_flags}}}}",
]
[prompt]
argument = ["--prompt={{{{prompt}}}}"]
stdin = ["--prompt=-"]
[mcp]
form = "claude"
flags = []
"""

# Only the folder that it is in is let in.
BOXED_PROGRAM = """\
#!/bin/sh
# boxed FILE PID_NAMESPACE NET_NAMESPACE once|leaves PROGRAM WORD...
# Says whether it reaches the file and is in these namespaces, and then becomes the program.
files=held processes=held network=held
if (: < "$1") 2>/dev/null; then files=reached; fi
if [ "$(readlink /proc/self/ns/pid)" = "$2" ]; then processes=reached; fi
if [ "$(readlink /proc/self/ns/net)" = "$3" ]; then network=reached; fi
echo "box-witness: files $files, processes $processes, network $network" >&2
if [ "$4" = leaves ]; then setsid sleep 3600 </dev/null >/dev/null 2>&1 & fi
shift 4
exec "$@"
"""

AGENT = """\
name = "agent-{scenario}"
title = "A stand-in for an agent, and a witness"
profile = "acp_jsonrpc"
continuation = "sticky"
[executable]
path = "{python}"
[start]
argv = [
    "-IS", "{relay}", "{effects}", "talks", "{stand_in}",
    "acp", "--scenario", "{scenario}", "--state", "{{{{home}}}}/.sessions",
]
[prompt]
protocol = "acp"
"""

POSTURES = """\
[permission]
workspace = { posture = "not_enforced" }
read_only = { posture = "asked" }
full = { posture = "not_enforced" }
[environment]
set = { HOME = "{{home}}" }
"""

SCHEMA = """{"type":"object","required":["answer"],"properties":{"answer":{"type":"string"},"partial":{"type":"boolean"},
 "list":{"type":"array","items":{"type":"string"}}}}"""
RUNNER = '{{"schemas":{{"output":"assets/output.json"}},"execution_modes":["{mode}"]}}'


@dataclass(frozen=True)
class Place:
    """Where everything is. `data` may lie on a file system of its own."""

    root: Path
    skillrun: Path
    data: Path

    @property
    def stand_in(self) -> Path:
        return self.skillrun.with_name(STAND_IN)

    @property
    def effects(self) -> Path:
        return self.root / "effects.txt"

    @property
    def settings(self) -> Path:
        return self.root / "settings.toml"

    def environment(self) -> dict[str, str]:
        """Nothing from the environment of the caller."""
        return {
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "HOME": str(self.root / "home"),
            "TMPDIR": str(self.root / "tmp"),
            "SKILLRUN_DATA": str(self.data),
            "SKILLRUN_CONFIG": str(self.settings),
        }

    def command(self, *words: str) -> list[str]:
        return [str(self.skillrun), *words]

    def start(self, *words: str, **streams: object) -> subprocess.Popen:
        """The program with these words; its streams go nowhere unless they are given."""
        nowhere = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        return subprocess.Popen(self.command(*words), cwd=self.root, env=self.environment(), **(nowhere | streams))

    def workspace(self, name: str) -> Path:
        """A folder of the user's to work in."""
        folder = self.root / "workspaces" / name
        folder.mkdir(parents=True, exist_ok=True)
        return folder


def make(
    root: Path, skillrun: Path, kinds: tuple[Kind, ...], data: Path | None = None, settings: str = "", pace: float = 1
) -> Place:
    """A place with these kinds as skills. `settings` are more lines of TOML, before the tables; at a `pace` of 2 engines
    take twice as long."""
    place = Place(root, skillrun, data or root / "data")
    for folder in ("home", "tmp", "engines", "skills", "workspaces"):
        (root / folder).mkdir(parents=True, exist_ok=True)
    place.data.mkdir(parents=True, exist_ok=True)
    place.effects.touch()
    _engines(place)
    if any(kind.options.box for kind in kinds):
        _boxed(place, root / "engines")
    names = [path.stem for path in (root / "engines").iterdir()]
    place.settings.write_text(SETTINGS.format(consent=sorted(names), more=settings))
    for kind in kinds:
        if not kind.workflow:
            _skill(root / "skills" / kind.skill, kind, pace)
    return place


def _engines(place: Place) -> None:
    folder = place.root / "engines"
    fixed = {"python": sys.executable, "relay": RELAY, "effects": place.effects, "skillrun": place.skillrun,
             "stand_in": place.stand_in}
    for name, life in (("witnessed", "once"), ("witnessed-sticky", "talks"), ("witnessed-leaves", "leaves")):
        text = WITNESSED.format(life=life, **fixed).replace('"witnessed"', f'"{name}"')
        (folder / f"{name}.toml").write_text(text + POSTURES)
    for scenario in SCENARIOS:
        text = AGENT.format(scenario=scenario, **fixed)
        (folder / f"agent-{scenario}.toml").write_text(text + POSTURES)


def _boxed(place: Place, engines: Path) -> None:
    """Two engines for boxes, in a folder with all that they need."""
    folder = place.root / "boxed"
    folder.mkdir(exist_ok=True)
    program, skillrun, canary = folder / "boxed", folder / "skillrun", place.root / "outside.txt"
    program.write_text(BOXED_PROGRAM)
    program.chmod(0o755)
    canary.write_text("A process in a box does not read this.\n")
    _link(place.skillrun, skillrun)
    pid, net = (os.readlink(f"/proc/self/ns/{name}") for name in ("pid", "net"))
    for name, life in (("boxed", "once"), ("boxed-leaves", "leaves")):
        text = BOXED.format(name=name, program=program, canary=canary, pid=pid, net=net, life=life, skillrun=skillrun)
        (engines / f"{name}.toml").write_text(text + POSTURES)


def _link(program: Path, link: Path) -> None:
    """The same file under another name; a copy where that is on another file system."""
    link.unlink(missing_ok=True)
    if not program.is_file():
        return
    try:
        os.link(program, link)
    except OSError:
        _copy(program, link)


def _skill(folder: Path, kind: Kind, pace: float) -> None:
    (folder / "assets").mkdir(parents=True, exist_ok=True)
    head = f"---\nname: {kind.skill}\ndescription: A skill that plays {kind.name}.\n---\n\nAnswer.\n"
    (folder / "SKILL.md").write_text(head)
    (folder / "assets" / "output.json").write_text(SCHEMA)
    (folder / "assets" / "runner.json").write_text(RUNNER.format(mode=kind.mode))
    if kind.script:
        (folder / "assets" / "scripted.yaml").write_text(paced(kind.script, pace))


def copy_of(program: Path, folder: Path) -> Path:
    """A copy that a build does not change, with one of the stand-in beside it."""
    if not program.with_name(STAND_IN).is_file():
        raise FileNotFoundError(f"there is no {program.with_name(STAND_IN)}; `cargo build --workspace` makes it")
    folder.mkdir(parents=True, exist_ok=True)
    _copy(program.with_name(STAND_IN), folder / STAND_IN)
    return _copy(program, folder / "skillrun")


def _copy(program: Path, copy: Path) -> Path:
    with open(program, "rb") as source, open(copy, "wb") as target:
        while piece := source.read(1 << 22):
            target.write(piece)
    os.chmod(copy, 0o755)
    return copy
