//! The program itself, with a data folder and skills of its own.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use crate::{eventually, skillrun, wait_until};

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

#[derive(Debug)]
pub struct Lab {
    root: TempDir,
}

impl Default for Lab {
    fn default() -> Self {
        Self::new()
    }
}

impl Lab {
    pub fn new() -> Self {
        let lab = Self::without_data();
        fs::create_dir(lab.data()).expect("a folder");
        lab
    }

    /// A lab with a skill that plays `script`.
    pub fn with_skill(name: &str, script: &str) -> Self {
        let lab = Self::new();
        lab.skill(name, script);
        lab
    }

    /// The program makes the data folder.
    pub fn without_data() -> Self {
        let root = tempfile::tempdir().expect("a folder");
        for folder in ["home", "tmp"] {
            fs::create_dir(root.path().join(folder)).expect("a folder");
        }
        let lab = Self { root };
        lab.settings("");
        lab
    }

    pub fn root(&self) -> &Path {
        self.root.path()
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    /// Writes a file, and the folders it is in.
    pub fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("written");
    }

    /// Writes a file that can be started.
    pub fn write_program(&self, name: &str, text: &str) {
        self.write(name, text);
        fs::set_permissions(self.path(name), fs::Permissions::from_mode(0o755)).expect("executable");
    }

    /// Settings as TOML, for every command from now on. Runs have no box unless the settings say so: engines of tests wait
    /// for files of the test, and are stopped by them.
    pub fn settings(&self, text: &str) {
        let is_set = text.lines().any(|line| line.starts_with("box = "));
        let confinement = if is_set { "" } else { "box = \"off\"\n" };
        self.write("settings.toml", &format!("{confinement}{text}"));
    }

    pub fn data(&self) -> PathBuf {
        self.path("data")
    }

    pub fn run_folder(&self, run: &str) -> PathBuf {
        self.data().join("runs").join(run)
    }

    /// A skill that plays `script` and gives back `{"answer": text}`.
    pub fn skill(&self, name: &str, script: &str) -> PathBuf {
        self.skill_in("", name, script)
    }

    /// The same skill, where every command and the server find it by its name.
    pub fn installed_skill(&self, name: &str, script: &str) -> PathBuf {
        self.skill_in("data/skills/", name, script)
    }

    fn skill_in(&self, folder: &str, name: &str, script: &str) -> PathBuf {
        let schema = r#"{"type":"object","properties":{"answer":{"type":"string"}},"required":["answer"]}"#;
        let root = self.bare_skill(&format!("{folder}{name}"), script);
        fs::write(root.join("assets/output.json"), schema).expect("written");
        fs::write(root.join("assets/runner.json"), r#"{"schemas":{"output":"assets/output.json"}}"#).expect("written");
        root
    }

    /// A skill in this folder that plays `script`, with no schema.
    pub fn bare_skill(&self, folder: &str, script: &str) -> PathBuf {
        let root = self.path(folder);
        let name = root.file_name().expect("a name").to_string_lossy();
        let text = format!("---\nname: {name}\ndescription: A skill for tests.\n---\n\n# {name}\n\nAnswer.\n");
        self.write(&format!("{folder}/SKILL.md"), &text);
        self.write(&format!("{folder}/assets/scripted.yaml"), script);
        root
    }

    /// The engine `agent`, which plays this scenario.
    pub fn agent(&self, scenario: &str) {
        let program = testkit::paths::stand_in(skillrun());
        let text = AGENT.replace("SCENARIO", scenario.lines().next().unwrap_or_default());
        let text = text.replace("PROGRAM", &format!("{program:?}"));
        self.write("engines/agent.toml", &text);
        // Nothing holds it back, so the user must have agreed.
        self.settings(&format!("engines = {:?}\nconsent = [\"agent\"]\n", self.path("engines")));
    }

    /// The program with these arguments, and a clean environment.
    pub fn command(&self, words: &[&str]) -> Command {
        let own = self.path("settings.toml");
        let settings = if own.exists() { own } else { PathBuf::from("/dev/null") };
        let mut command = Command::new(skillrun());
        command
            .args(words)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.path("home"))
            .env("TMPDIR", self.path("tmp"))
            .env("SKILLRUN_DATA", self.data())
            .env("SKILLRUN_CONFIG", settings)
            .current_dir(self.root.path())
            .stdin(Stdio::null());
        command
    }

    pub fn start(&self, words: &[&str]) -> Child {
        self.command(words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("started")
    }

    pub fn output(&self, words: &[&str]) -> Output {
        self.command(words).output().expect("run")
    }

    /// What the command prints as JSON; it may exit as it likes.
    pub fn json(&self, words: &[&str]) -> Value {
        let output = self.output(words);
        serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|_| panic!("{words:?}: {}", String::from_utf8_lossy(&output.stderr)))
    }

    /// Ids of the runs that have at least one event.
    pub fn runs(&self) -> Vec<String> {
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
    pub fn events(&self, run: &str) -> Vec<Value> {
        let text = fs::read_to_string(self.run_folder(run).join("events.jsonl")).unwrap_or_default();
        text.split_inclusive('\n').filter_map(|line| serde_json::from_str(line.strip_suffix('\n')?).ok()).collect()
    }

    /// Starts the owner of the first run, which has an event of this type then.
    pub fn start_until(&self, words: &[&str], word: &str) -> (Child, String) {
        let owner = self.start(words);
        let run = self.wait_run();
        self.wait_event(&run, word);
        (owner, run)
    }

    /// What the command prints; it must succeed.
    #[track_caller]
    pub fn printed(&self, words: &[&str]) -> String {
        let output = self.output(words);
        let [printed, said] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
        assert!(output.status.success(), "{words:?}: {printed}{said}");
        printed
    }

    /// The id of the first run, once it has an event.
    pub fn wait_run(&self) -> String {
        eventually("a run", || self.runs().first().cloned())
    }

    /// Waits until a run has an event of this type.
    pub fn wait_event(&self, run: &str, word: &str) {
        wait_until(word, || self.events(run).iter().any(|event| kind(event) == word));
    }

    /// Waits for the last event of a run.
    pub fn wait_end(&self, run: &str) -> Value {
        eventually("the end of a run", || self.events(run).last().filter(|event| is_end(event)).cloned())
    }

    /// A file of the run's folder that is JSON.
    pub fn run_json(&self, run: &str, name: &str) -> Value {
        serde_json::from_slice(&fs::read(self.run_folder(run).join(name)).expect(name)).expect("JSON")
    }

    /// Processes that belong to this lab.
    pub fn processes(&self) -> Vec<String> {
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
    pub fn wait_quiet(&self) {
        wait_until("the end of all processes", || self.processes().is_empty());
    }
}

/// The type of an event.
pub fn kind(event: &Value) -> &str {
    event["event"]["type"].as_str().unwrap_or_default()
}

pub fn is_end(event: &Value) -> bool {
    ["run.completed", "run.failed", "run.canceled"].contains(&kind(event))
}
