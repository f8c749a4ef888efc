"""Removes each guard of the box once and checks that an attempt to get out then succeeds, so that a test fails.

Each entry of GUARDS removes one: in FILE, OLD becomes NEW, at several places where two guards hold the same. The program is built again, and the tests of boxes
(crates/cli/tests/processes/boxed) must fail. They run as the calling user, and as root as another user, too. The
checkout itself is changed, and restored after each guard; it must have no changes of its own.

    python3 testkit/guards.py              all of them; exit code 1 if a removed guard is not noticed
    python3 testkit/guards.py proxy names  only those with one of these words in their name
"""

import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
CONFINE = "crates/confine/src"
# Seconds for a build, and for the tests.
TIMEOUT = 900
TESTS_TIMEOUT = 120


class Guard(NamedTuple):
    name: str
    file: str
    old: str
    new: str
    # In the same file: what would hold without it.
    also: tuple[str, str] | None = None


GUARDS = [
    Guard("capabilities are dropped", f"{CONFINE}/harden.rs",
          'sys::drop_capabilities().map_err(fails("drop the capabilities"))?;', "",
          # Without it, exec takes them away.
          ('sys::prctl(libc::PR_SET_SECUREBITS, SECURE_BITS).map_err(fails("lock the capabilities"))?;', "let _ = SECURE_BITS;")),
    Guard("no new privileges", f"{CONFINE}/harden.rs",
          'sys::prctl(libc::PR_SET_NO_NEW_PRIVS, 1).map_err(fails("forbid new privileges"))?;', ""),
    Guard("settings of the kernel are read-only", f"{CONFINE}/mounts.rs",
          "sys::mount_attributes(&setting, attributes::RDONLY | attributes::NOSUID | attributes::NODEV, true)", "Ok(())"),
    Guard("no user namespace in the box", f"{CONFINE}/mounts.rs",
          '("/proc/sys/user/max_user_namespaces", "0")', '("/proc/sys/user/max_user_namespaces", "10")'),
    Guard("folders of the system are read-only", f"{CONFINE}/mounts.rs",
          "Access::Read => attributes::RDONLY | attributes::NOSUID", "Access::Read => attributes::NOSUID"),
    Guard("the root is read-only", f"{CONFINE}/mounts.rs",
          "let sealed = attributes::RDONLY | attributes::NOSUID", "let sealed = attributes::NOSUID"),
    Guard("the old root is gone", f"{CONFINE}/layout.rs",
          "    steps.push(Step::Memory { at: \"/tmp\".into(), mode: \"mode=1777\" });\n",
          "    steps.push(Step::Bind { from: \"/tmp\".into(), at: \"/tmp\".into(), access: Access::Read });\n"),
    Guard("the memory of the init is protected", f"{CONFINE}/start.rs",
          'sys::prctl(libc::PR_SET_DUMPABLE, 0).unwrap_or_else(|error| fails("protect the memory of its init", error));', "",
          # A process that gives up capabilities is protected by the kernel.
          ("harden(None).unwrap_or_else(|failure| writer.fail(failure));", "")),
    Guard("the init has no descriptors", f"{CONFINE}/start.rs",
          "sys::close_all_but([controlled.as_fd(), children.as_fd()]);", ""),
    Guard("scopes of Landlock beside namespaces", f"{CONFINE}/rules.rs",
          "let attributes = RulesetAttributes { files: 0, network: 0, scoped: SCOPES };\n    sys::landlock_ruleset(&attributes, bytes(version)).map(Some)",
          "Ok(None)"),
    Guard("scopes of Landlock alone", f"{CONFINE}/rules.rs",
          "scoped: if version >= 6 { SCOPES } else { 0 },", "scoped: 0,"),
    Guard("rules of Landlock for files", f"{CONFINE}/rules.rs",
          "let system = layout::SYSTEM.iter().map(PathBuf::from);", 'let system = layout::SYSTEM.iter().map(PathBuf::from).chain(["/".into()]);'),
    Guard("rules of Landlock for writing", f"{CONFINE}/rules.rs",
          "        allow(&rules, &path, READ)?;", "        allow(&rules, &path, files)?;"),
    Guard("no inherited descriptors", "crates/collect/src/spawn.rs",
          "    close_others_on_exec();\n    Ok(())",
          "    rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 9).and_then(|fd| {\n"
          "        rustix::io::fcntl_setfd(&fd, rustix::io::FdFlags::empty())?;\n"
          "        std::mem::forget(fd);\n        Ok(())\n    })?;\n    Ok(())"),
    Guard("a network of its own", f"{CONFINE}/start.rs",
          "if prepared.network.is_open() { 0 } else { libc::CLONE_NEWNET }", "0"),
    Guard("patterns of the proxy", f"{CONFINE}/network/serve.rs",
          "if !self.reachable.iter().any(|pattern| pattern.allows(&asked.to)) {", "if false {"),
    Guard("only listed names", f"{CONFINE}/network/serve.rs",
          "let address = names.iter().find(|(name, _)| *name == query.name).map(|(_, address)| *address);",
          "let address = names.iter().find(|(name, _)| *name == query.name).map_or(Some(Ipv4Addr::LOCALHOST), |(_, address)| Some(*address));"),
    Guard("refusals are seen", f"{CONFINE}/network/inside.rs",
          '    sys::make_all_addresses_local().map_err(fails("make a route"))?;\n', ""),
    Guard("refusals are recorded", f"{CONFINE}/network/serve.rs",
          "rules.refusals.note(refused.kind, refused.host.to_string(), Some(refused.port));", "drop(refused);"),
    Guard("permission read_only", "crates/runtime/src/attempt/confinement.rs",
          "Permission::ReadOnly => readable.push(OsText::from(workspace)),", "Permission::ReadOnly => writable.push(OsText::from(workspace)),"),
    Guard("the box of the engine", "crates/runtime/src/attempt/launch.rs",
          "let confinement = confinement::of_engine(config, run, descriptor, (&places.workspace, &places.home));", "let confinement = None;"),
    Guard("the box of checks", "crates/runtime/src/attempt/check.rs",
          "confinement: confinement::of_command(run, (&workspace, &home)),", "confinement: None,"),
    Guard("the box of a retry", "crates/runtime/src/retry.rs",
          "    let now = now.in_box_of(before);\n", ""),
]


def build() -> str | None:
    """What went wrong; none if the program was built."""
    words = ["cargo", "build", "--workspace", "--locked", "--bin", "skillrun", "--quiet"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=TIMEOUT)
    return done.stderr[-2000:] if done.returncode else None


def tests() -> Path:
    """The binary of the tests, built before anything is removed; it starts the program anew each time."""
    words = ["cargo", "test", "--workspace", "--locked", "--no-run", "--message-format=json"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=TIMEOUT, check=True)
    lines = [line for line in done.stdout.splitlines() if '"name":"processes"' in line and '"executable":"' in line]
    return Path(lines[-1].split('"executable":"')[1].split('"')[0])


def failures(binary: Path, is_shown: bool = False) -> list[str]:
    words = [str(binary), "boxed::", "--test-threads", "2"]
    done = subprocess.run(words, cwd=ROOT / "crates/cli", capture_output=True, text=True, timeout=TESTS_TIMEOUT)
    if is_shown and done.returncode:
        print(done.stdout)
    return [line.split()[1] for line in done.stdout.splitlines() if line.endswith("... FAILED")]


def remove(guard: Guard, binary: Path) -> tuple[str, list[str]]:
    path = ROOT / guard.file
    text = path.read_text()
    changes = [(guard.old, guard.new), *([guard.also] if guard.also else [])]
    if any(text.count(old) != 1 for old, _ in changes):
        return "does not fit", []
    broken = text
    for old, new in changes:
        broken = broken.replace(old, new)
    try:
        path.write_text(broken)
        if problem := build():
            return f"does not build: {problem}", []
        try:
            found = failures(binary)
        except subprocess.TimeoutExpired:
            found = ["the tests did not end"]
        return ("noticed" if found else "NOT NOTICED"), found
    finally:
        path.write_text(text)


def main() -> int:
    words = sys.argv[1:]
    binary = tests()
    if problem := build():
        print(problem)
        return 1
    if found := failures(binary, is_shown=True):
        print(f"the tests fail before anything is removed: {', '.join(found)}")
        return 1
    missed = 0
    for guard in GUARDS:
        if words and not any(word in guard.name for word in words):
            continue
        outcome, found = remove(guard, binary)
        missed += outcome != "noticed"
        print(f"{outcome:<11} {guard.name}: {', '.join(found)}", flush=True)
    build()
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
