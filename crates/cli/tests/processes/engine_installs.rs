//! Engines that are installed, upgraded and uninstalled, with a scripted npm.

use std::fs;
use std::process::{Output, Stdio};

use lab::Lab;
use serde_json::{Value, json};

/// Installs a package for `ci --prefix P`, and leaves its cache and its logs where it was told to.
const NPM: &str = r#"#!/bin/sh
while [ "$1" != --prefix ]; do [ "$1" = --cache ] && cache=$2; shift; done
prefix=$2
mkdir -p "$HOME/.npm/_logs" "${cache:-$HOME/.npm}/_cacache"
mkdir -p "$prefix/node_modules/@openai/codex" "$prefix/node_modules/.bin"
echo '{"version":"0.166.0"}' > "$prefix/node_modules/@openai/codex/package.json"
program="$prefix/node_modules/.bin/codex"
printf '#!/bin/sh\nmkdir -p "$HOME/.codex"\necho codex-cli 0.166.0\n' > "$program"
chmod +x "$program"
"#;

struct Machine {
    lab: Lab,
}

impl Machine {
    fn new() -> Self {
        let lab = Lab::new();
        lab.write_program("bin/npm", NPM);
        Self { lab }
    }

    fn output(&self, words: &[&str]) -> Output {
        let mut path = self.lab.path("bin").into_os_string();
        path.push(":/usr/bin:/bin");
        let programs = self.lab.path("programs");
        self.lab.command(words).env("PATH", path).env("SKILLRUN_PROGRAMS", programs).output().expect("run")
    }

    #[track_caller]
    fn json(&self, words: &[&str]) -> Value {
        let output = self.output(words);
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).expect("JSON")
    }

    /// An older version, as an earlier skillrun installed it.
    fn older(&self) {
        let mark =
            json!({ "package": "@openai/codex", "version": "0.9.0", "node": null, "at": "2026-01-31T00:00:00Z" });
        self.lab.write("programs/codex/0.9.0/installed.json", &mark.to_string());
        self.lab.write_program("programs/codex/0.9.0/node_modules/.bin/codex", "#!/bin/sh\necho begun\nread line\n");
    }

    fn versions(&self) -> Vec<String> {
        let entries = fs::read_dir(self.lab.path("programs/codex")).into_iter().flatten().flatten();
        let mut names: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}

#[test]
fn an_upgrade_installs_the_tested_version_and_removes_older_ones() {
    let machine = Machine::new();
    machine.older();
    let upgraded = machine.json(&["engines", "upgrade", "--json"]);
    let codex = json!({
        "engine": "codex", "version": "0.166.0", "was_installed": false, "removed": ["0.9.0"], "in_use": [],
    });
    assert_eq!(upgraded, json!({ "engines": [codex] }));
    assert_eq!(machine.versions(), ["0.166.0"]);
    let home: Vec<_> = fs::read_dir(machine.lab.path("home")).expect("a folder").collect();
    assert!(home.is_empty(), "the home of the user has {home:?}");
    let again = machine.output(&["engines", "upgrade", "codex"]);
    assert_eq!(String::from_utf8_lossy(&again.stdout), "codex 0.166.0 is up to date\n");
    let removed = machine.output(&["engines", "uninstall", "codex"]);
    assert_eq!(String::from_utf8_lossy(&removed.stdout), "codex 0.166.0 is uninstalled\n");
    assert!(!machine.lab.path("programs/codex").exists());
}

#[test]
fn an_engine_that_a_process_uses_stays() {
    let machine = Machine::new();
    machine.older();
    let program = machine.lab.path("programs/codex/0.9.0/node_modules/.bin/codex");
    let mut user = std::process::Command::new("/bin/sh")
        .arg(program)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("started");
    let mut begun = [0; 6];
    std::io::Read::read_exact(user.stdout.as_mut().expect("a pipe"), &mut begun).expect("a line");
    let refused = machine.output(&["engines", "uninstall", "codex"]);
    assert_eq!(refused.status.code(), Some(2));
    let expected = format!(
        "error: codex 0.9.0 is in use by process {}; wait until its run is over, or cancel the run\n",
        user.id()
    );
    assert_eq!(String::from_utf8_lossy(&refused.stderr), expected);
    assert_eq!(machine.versions(), ["0.9.0"]);
    let upgraded = machine.json(&["engines", "upgrade", "codex", "--json"]);
    assert_eq!(upgraded["engines"][0]["in_use"], json!(["0.9.0"]));
    assert_eq!(machine.versions(), ["0.166.0", "0.9.0"]);
    drop(user.stdin.take());
    user.wait().expect("an end");
    let removed = machine.json(&["engines", "uninstall", "all", "--json"]);
    let codex = json!({ "engines": ["codex"], "versions": ["0.166.0", "0.9.0"], "node": [] });
    assert_eq!(removed, json!({ "removed": [codex] }));
}
