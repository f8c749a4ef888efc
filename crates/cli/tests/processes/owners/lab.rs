//! The program itself, with a data folder and skills of its own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

/// Far longer than anything takes; more than a host waits for the word to start.
pub(crate) const TEST_TIMEOUT: Duration = Duration::from_secs(90);

const AGENT: &str = r#"
name = "agent"
title = "A stand-in for an agent"
profile = "acp_jsonrpc"
continuation = "sticky"

[executable]
path = PROGRAM

[start]
argv = ["acp", "--scenario", "SCENARIO", "--state", "{{home}}/.sessions"]

[prompt]
protocol = "acp"

[permission]
workspace = { posture = "not_enforced" }
read_only = { posture = "asked" }
full = { posture = "not_enforced" }

[environment]
set = { HOME = "{{home}}" }
"#;

pub(crate) struct Lab {
    root: tempfile::TempDir,
}

impl Lab {
    pub(crate) fn new() -> Self {
        let root = tempfile::tempdir().expect("a folder");
        for folder in ["home", "data", "tmp"] {
            fs::create_dir_all(root.path().join(folder)).expect("a folder");
        }
        Self { root }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    /// None but those that a test has made.
    fn settings(&self) -> PathBuf {
        let own = self.path("settings.toml");
        if own.exists() { own } else { PathBuf::from("/dev/null") }
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.path("data")
    }

    /// A skill that plays `script` and gives back `{"answer": text}`.
    pub(crate) fn skill(&self, name: &str, script: &str) -> PathBuf {
        let root = self.path(name);
        fs::create_dir_all(root.join("assets")).expect("a folder");
        let text = format!("---\nname: {name}\ndescription: A skill for tests.\n---\n\nAnswer.\n");
        let schema = r#"{"type":"object","properties":{"answer":{"type":"string"}},"required":["answer"]}"#;
        fs::write(root.join("SKILL.md"), text).expect("written");
        fs::write(root.join("assets/output.json"), schema).expect("written");
        fs::write(root.join("assets/runner.json"), r#"{"schemas":{"output":"assets/output.json"}}"#).expect("written");
        fs::write(root.join("assets/scripted.yaml"), script).expect("written");
        root
    }

    /// The engine `agent`, which plays this scenario.
    pub(crate) fn agent(&self, scenario: &str) {
        fs::create_dir_all(self.path("engines")).expect("a folder");
        let program = testkit::paths::stand_in(env!("CARGO_BIN_EXE_skillrun"));
        let text = AGENT.replace("SCENARIO", scenario.lines().next().unwrap_or_default());
        let text = text.replace("PROGRAM", &format!("{program:?}"));
        fs::write(self.path("engines/agent.toml"), text).expect("written");
        // Nothing holds it back, so the user must have agreed.
        let settings = format!("engines = {:?}\nconsent = [\"agent\"]\n", self.path("engines"));
        fs::write(self.path("settings.toml"), settings).expect("written");
    }

    /// The program with these arguments, and a clean environment.
    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_skillrun"));
        command
            .args(words)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.path("home"))
            .env("TMPDIR", self.path("tmp"))
            .env("SKILLRUN_DATA", self.data())
            .env("SKILLRUN_CONFIG", self.settings())
            .current_dir(self.root.path())
            .stdin(Stdio::null());
        command
    }

    pub(crate) fn start(&self, words: &[&str]) -> Child {
        self.command(words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("started")
    }

    pub(crate) fn output(&self, words: &[&str]) -> Output {
        self.command(words).output().expect("run")
    }

    /// What the command prints as JSON; it may exit as it likes.
    pub(crate) fn json(&self, words: &[&str]) -> Value {
        let output = self.output(words);
        serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|_| panic!("{words:?}: {}", String::from_utf8_lossy(&output.stderr)))
    }

    /// Ids of the runs that have at least one event.
    pub(crate) fn runs(&self) -> Vec<String> {
        let entries = fs::read_dir(self.data().join("runs")).into_iter().flatten().flatten();
        let accepted = |path: &Path| fs::metadata(path.join("events.jsonl")).is_ok_and(|events| events.len() > 0);
        let mut runs: Vec<String> = entries
            .filter(|entry| accepted(&entry.path()))
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect();
        runs.sort();
        runs
    }

    /// The whole lines of a Log.
    pub(crate) fn events(&self, run: &str) -> Vec<Value> {
        let path = self.data().join("runs").join(run).join("events.jsonl");
        let text = fs::read_to_string(path).unwrap_or_default();
        text.split_inclusive('\n').filter_map(|line| serde_json::from_str(line.strip_suffix('\n')?).ok()).collect()
    }

    /// Processes that belong to this lab.
    pub(crate) fn processes(&self) -> Vec<String> {
        let own = self.root.path().display().to_string();
        let mut found = Vec::new();
        for entry in fs::read_dir("/proc").expect("/proc").flatten() {
            let read = |name: &str| fs::read(entry.path().join(name)).unwrap_or_default();
            let words = String::from_utf8_lossy(&read("cmdline")).replace('\0', " ");
            let environment = String::from_utf8_lossy(&read("environ")).into_owned();
            let is_dead = String::from_utf8_lossy(&read("status")).contains("State:\tZ");
            // A host has neither in its words nor in its environment whose it is, but in the files it holds.
            let links = || fs::read_dir(entry.path().join("fd")).into_iter().flatten().flatten();
            let holds =
                || links().any(|fd| fs::read_link(fd.path()).is_ok_and(|path| path.starts_with(self.root.path())));
            let is_ours = words.contains(&own) || environment.contains(&own);
            if !is_dead && !words.is_empty() && (is_ours || (words.starts_with("skillrun") && holds())) {
                found.push(words);
            }
        }
        found
    }

    /// Waits until nothing of it runs any more.
    pub(crate) fn wait_quiet(&self) {
        let begin = Instant::now();
        loop {
            let left = self.processes();
            if left.is_empty() {
                return;
            }
            assert!(begin.elapsed() < TEST_TIMEOUT, "processes are left: {left:?}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// The type of an event.
pub(crate) fn kind(event: &Value) -> &str {
    event["event"]["type"].as_str().unwrap_or_default()
}

pub(crate) fn is_end(event: &Value) -> bool {
    ["run.completed", "run.failed", "run.canceled"].contains(&kind(event))
}
