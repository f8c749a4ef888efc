"""Sends the service requests generated from its own description, valid and invalid ones, and checks that no answer is a
server error (5xx) and that every answer is as described.

    python3 testkit/api/check.py target/debug/skillrun

schemathesis generates the requests; which, how many and what is expected is in schemathesis.toml. It is installed into
target/api-check, and again when requirements.txt changes. The server has its own folder, removed afterwards, the
scripted engine, and the demonstration's runs: one that succeeds, one that waits, one that fails. The exit code is
schemathesis's; 2 when it could not be tried at all.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

HERE = Path(__file__).resolve().parent
TOOLS = HERE.parent.parent / "target" / "api-check"
REQUIREMENTS = HERE / "requirements.txt"

SETTINGS = """
engine = "scripted"
[slots]
total = 2
queued = 20
"""

# Seconds for anything that is waited for, other than the tries themselves.
WAIT_TIMEOUT = 60
# Seconds for the tries; schemathesis has bounds of its own, and this is for when they fail.
TRIES = 300

OVER = ("succeeded", "failed", "canceled")


class CannotTry(Exception):
    """One sentence: why nothing could be tried, and what to do."""


def installed() -> Path:
    """The program, installed when it is not or is another one."""
    environment, note = TOOLS / "venv", TOOLS / "installed.txt"
    program, wanted = environment / "bin" / "schemathesis", REQUIREMENTS.read_text()
    if program.exists() and note.exists() and note.read_text() == wanted:
        return program
    shutil.rmtree(environment, ignore_errors=True)
    TOOLS.mkdir(parents=True, exist_ok=True)
    made = subprocess.run([sys.executable, "-m", "venv", environment], capture_output=True, text=True)
    if made.returncode != 0:
        raise CannotTry(f"python3 -m venv does not work; install python3-venv\n{made.stdout}{made.stderr}")
    pip = [environment / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check", "-r", REQUIREMENTS]
    got = subprocess.run(pip, capture_output=True, text=True)
    if got.returncode != 0:
        raise CannotTry(f"pip cannot install testkit/api/requirements.txt; see that it reaches a package index\n{got.stderr}")
    note.write_text(wanted)
    return program


class Server:
    """A server with a folder of its own."""

    def __init__(self, skillrun: Path, root: Path):
        for folder in ("home", "data", "tmp", "workspace"):
            (root / folder).mkdir()
        (root / "config.toml").write_text(SETTINGS)
        # Nothing from the environment of the caller: no engines but the scripted one, no settings, no secrets.
        surroundings = {"PATH": "/usr/bin:/bin", "HOME": str(root / "home"), "TMPDIR": str(root / "tmp")}
        words = ["serve", "--demo", "--listen", "127.0.0.1:0", "--data", root / "data", "--config", root / "config.toml"]
        self.said = root / "said.txt"
        with self.said.open("w") as said, (root / "told.txt").open("w") as told:
            self.process = subprocess.Popen(
                [skillrun, *words], cwd=root, env=surroundings, stdin=subprocess.DEVNULL, stdout=told, stderr=said
            )
        told = self.wait_for(lambda: read_told(root / "told.txt"), "the server does not say where it is")
        self.url, self.token = told["serving"], Path(told["token"]).read_text().strip()

    def wait_for(self, find, complaint: str):
        end = time.monotonic() + WAIT_TIMEOUT
        while not (found := find()):
            if self.process.poll() is not None or time.monotonic() > end:
                raise CannotTry(f"{complaint}\n{self.said.read_text()}")
            time.sleep(0.05)
        return found

    def ask(self, path: str, method: str = "GET"):
        request = urllib.request.Request(self.url + path, method=method)
        request.add_header("Authorization", f"Bearer {self.token}")
        with urllib.request.urlopen(request, timeout=WAIT_TIMEOUT) as answer:
            return json.load(answer)

    def runs(self) -> dict[str, list[str]]:
        """Ids of the runs there are, by status."""
        found: dict[str, list[str]] = {}
        for run in self.ask("/v1/runs?limit=500")["runs"]:
            found.setdefault(run["status"], []).append(run["run_id"])
        return found

    def one_of_each(self):
        """The runs, once the demonstration has got as far as it gets by itself."""
        found = self.runs()
        return found if all(status in found for status in ("succeeded", "waiting_user", "failed")) else None

    def end(self):
        """Leaves no process behind: hosts of runs would outlive the server."""
        try:
            for run in [run for status, runs in self.runs().items() if status not in OVER for run in runs]:
                self.cancel(run)
        except OSError as error:
            print(f"processes of runs may be left: {error}", file=sys.stderr)
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(WAIT_TIMEOUT)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def cancel(self, run: str):
        try:
            self.ask(f"/v1/runs/{run}/cancel?wait=20", "POST")
        except urllib.error.HTTPError as error:
            # Over in the meantime.
            if error.code != 409:
                raise


def read_told(path: Path) -> dict[str, str] | None:
    """What the server prints when it is ready: words and what they stand for."""
    words = (line.split(maxsplit=1) for line in path.read_text().splitlines())
    told = {word: rest for word, rest in words}
    return told if "token" in told else None


def settings(server: Server) -> str:
    """The settings of schemathesis, with what is only known now."""
    runs, skills = server.one_of_each(), [skill["name"] for skill in server.ask("/v1/skills")["skills"]]
    over = [run for status in OVER for run in runs.get(status, [])]
    lists = {"runs": sum(runs.values(), []), "runs_over": over, "skills": skills}
    text = (HERE / "schemathesis.toml").read_text()
    text += f"\n[headers]\nAuthorization = {json.dumps('Bearer ' + server.token)}\n"
    for name, values in lists.items():
        # JSON of a list of strings is TOML as well.
        text += f"\n[dictionaries.{name}]\nvalues = {json.dumps(values)}\n"
    return text


def tried(program: Path, server: Server, root: Path) -> int:
    server.wait_for(server.one_of_each, "the demonstration has not its three runs")
    (root / "schemathesis.toml").write_text(settings(server))
    shutil.copy(HERE / "hooks.py", root)
    words = ["--config-file", root / "schemathesis.toml", "--no-color", "run", server.url + "/openapi.json"]
    runs = server.one_of_each()
    over = [run for status in OVER for run in runs.get(status, [])]
    surroundings = os.environ | {
        "API_CHECK_WORKSPACE": str(root / "workspace"), "API_CHECK_RUNS": str(root / "data" / "runs"), "API_CHECK_RUNS_OVER": " ".join(over),
    }
    try:
        code = subprocess.run([program, *words], cwd=root, env=surroundings, timeout=TRIES).returncode
    except subprocess.TimeoutExpired:
        print(f"schemathesis was not done after {TRIES} s", file=sys.stderr)
        return 1
    if server.process.poll() is not None:
        print(f"the server is gone, with exit code {server.process.returncode}", file=sys.stderr)
        return code or 1
    return code


def main() -> int:
    if len(sys.argv) != 2:
        raise CannotTry("usage: python3 testkit/api/check.py PATH-OF-SKILLRUN")
    skillrun = Path(sys.argv[1]).resolve()
    program = installed()
    with tempfile.TemporaryDirectory(prefix="skillrun-api-") as root:
        root = Path(root)
        server = Server(skillrun, root)
        try:
            code = tried(program, server, root)
        finally:
            server.end()
        if code != 0:
            print(server.said.read_text(), file=sys.stderr)
        return code


if __name__ == "__main__":
    try:
        sys.exit(main())
    except CannotTry as problem:
        print(f"api-check: {problem}", file=sys.stderr)
        sys.exit(2)
