//! A server with a data folder and skills of its own.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::http::{Answer, Client};

pub(crate) const TEST_TIMEOUT: Duration = Duration::from_secs(60);

/// A folder for a server, and the settings it is started with.
pub(crate) struct Lab {
    root: tempfile::TempDir,
}

/// A server that runs. Killed when it is dropped.
pub(crate) struct Server {
    pub(crate) child: Child,
    pub(crate) client: Client,
    /// As it was printed: `URL/open#code=CODE`.
    pub(crate) link: String,
}

impl Lab {
    pub(crate) fn new() -> Self {
        let root = tempfile::tempdir().expect("a folder");
        for folder in ["home", "data/skills", "tmp"] {
            fs::create_dir_all(root.path().join(folder)).expect("a folder");
        }
        Self { root }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.path("data")
    }

    pub(crate) fn run_folder(&self, run: &str) -> PathBuf {
        self.data().join("runs").join(run)
    }

    /// Settings as TOML, from the next start on.
    pub(crate) fn settings(&self, text: &str) {
        fs::write(self.path("config.toml"), text).expect("written");
    }

    /// Installs a skill that plays `script` and gives back `{"answer": text}`.
    pub(crate) fn skill(&self, name: &str, script: &str) -> PathBuf {
        let root = self.data().join("skills").join(name);
        fs::create_dir_all(root.join("assets")).expect("a folder");
        let text = format!("---\nname: {name}\ndescription: A skill for tests.\n---\n\nAnswer.\n");
        let schema = r#"{"type":"object","properties":{"answer":{"type":"string"}},"required":["answer"]}"#;
        fs::write(root.join("SKILL.md"), text).expect("written");
        fs::write(root.join("assets/output.json"), schema).expect("written");
        fs::write(root.join("assets/runner.json"), r#"{"schemas":{"output":"assets/output.json"}}"#).expect("written");
        fs::write(root.join("assets/scripted.yaml"), script).expect("written");
        root
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
            .current_dir(self.root.path())
            .stdin(Stdio::null());
        if self.path("config.toml").exists() {
            command.arg("--config").arg(self.path("config.toml"));
        }
        command
    }

    /// A server on a free port, ready.
    pub(crate) fn serve(&self) -> Server {
        self.serve_with(&[])
    }

    pub(crate) fn serve_with(&self, words: &[&str]) -> Server {
        self.serve_at("127.0.0.1:0", words)
    }

    /// A server at an address that one had before, or a free one.
    pub(crate) fn serve_at(&self, address: &str, words: &[&str]) -> Server {
        Self::started(self.command(&[&["serve", "--listen", address], words].concat()))
    }

    /// The server that a command of [`Lab::command`] begins.
    pub(crate) fn started(mut command: Command) -> Server {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn().expect("started");
        let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        let mut line = |name: &str| {
            let line = lines.next().expect("a line").expect("read");
            line.strip_prefix(name).unwrap_or_else(|| panic!("{line:?} is not {name}")).trim().to_owned()
        };
        let (url, link, token_file) = (line("serving"), line("open"), line("token"));
        let token = fs::read_to_string(token_file).expect("the token").trim().to_owned();
        let address = url.strip_prefix("http://").expect("a URL").parse().expect("an address");
        Server { child, client: Client { address, token: Some(token) }, link }
    }

    /// The whole lines of a Log.
    pub(crate) fn events(&self, run: &str) -> Vec<Value> {
        let text = fs::read_to_string(self.run_folder(run).join("events.jsonl")).unwrap_or_default();
        text.split_inclusive('\n').filter_map(|line| serde_json::from_str(line.strip_suffix('\n')?).ok()).collect()
    }
}

impl Server {
    pub(crate) fn get(&self, path: &str) -> Answer {
        self.client.get(path).expect("an answer")
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Answer {
        self.client.post(path, body).expect("an answer")
    }

    /// Starts a run of a skill on the scripted engine.
    pub(crate) fn run(&self, skill: &str, more: Value) -> String {
        let mut body = json!({ "skill": skill, "engine": "scripted" });
        if let (Some(body), Value::Object(more)) = (body.as_object_mut(), more) {
            body.extend(more);
        }
        let answer = self.post("/v1/runs", &body);
        assert_eq!(answer.status, 202, "{}", answer.text());
        answer.json()["run_id"].as_str().expect("an id").to_owned()
    }

    /// Waits for the end of a run, or for a question.
    pub(crate) fn wait(&self, run: &str) -> Value {
        let begin = Instant::now();
        loop {
            let view = self.get(&format!("/v1/runs/{run}?wait=20")).json();
            let status = view["status"].as_str().unwrap_or_default();
            if matches!(status, "succeeded" | "failed" | "canceled" | "waiting_user") {
                return view;
            }
            assert!(begin.elapsed() < TEST_TIMEOUT, "still {status}");
        }
    }

    /// Asks it to stop, and waits until it has.
    pub(crate) fn stop(mut self) {
        self.signal("TERM");
        let status = self.child.wait().expect("waited");
        assert!(status.success(), "{status}");
    }

    /// Kills it without a word.
    pub(crate) fn kill(mut self) {
        self.child.kill().expect("killed");
        self.child.wait().expect("waited");
    }

    pub(crate) fn signal(&self, signal: &str) {
        let sent = Command::new("kill").arg(format!("-{signal}")).arg(self.child.id().to_string()).status();
        assert!(sent.expect("kill").success());
    }

    pub(crate) fn threads(&self) -> usize {
        fs::read_dir(format!("/proc/{}/task", self.child.id())).expect("it is there").count()
    }

    /// Resident memory in bytes.
    pub(crate) fn memory(&self) -> u64 {
        resident(Path::new(&format!("/proc/{}/status", self.child.id())))
    }
}

fn resident(status: &Path) -> u64 {
    let text = fs::read_to_string(status).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or("0 kB");
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap_or(0) * 1024
}

impl Drop for Server {
    fn drop(&mut self) {
        // Stopped already where a test has done so.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
