//! A real server with a data folder of its own, and a look at how it is.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;
use testkit::http::Client;

use crate::watch::memory;

const TEST_TIMEOUT: Duration = Duration::from_secs(60);

/// More than it ever needs for what is sent here.
const MEMORY_MAX: u64 = 1 << 30;

pub(crate) struct Server {
    root: tempfile::TempDir,
    child: Child,
    pub(crate) client: Client,
}

impl Server {
    /// Serves the skills `plain`, which ends at once, and `asks`, which waits for an answer.
    pub(crate) fn start() -> Self {
        let root = tempfile::tempdir().expect("a folder");
        for (skill, script) in [
            ("plain", "- - output: {answer: done}\n    done: true\n"),
            ("asks", "- - ask: {kind: open_text, prompt: Which?}\n- - output: {answer: '{{reply}}'}\n    done: true\n"),
        ] {
            let folder = root.path().join("data/skills").join(skill);
            fs::create_dir_all(folder.join("assets")).expect("a folder");
            let head = format!("---\nname: {skill}\ndescription: A skill for tests.\n---\n\nAnswer.\n");
            fs::write(folder.join("SKILL.md"), head).expect("written");
            fs::write(folder.join("assets/scripted.yaml"), script).expect("written");
        }
        for folder in ["home", "tmp"] {
            fs::create_dir(root.path().join(folder)).expect("a folder");
        }
        let said = File::create(root.path().join("said")).expect("a file");
        let mut child = Command::new(env!("CARGO_BIN_EXE_skillrun"))
            .args(["serve", "--listen", "127.0.0.1:0"])
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", root.path().join("home"))
            .env("TMPDIR", root.path().join("tmp"))
            .env("SKILLRUN_DATA", root.path().join("data"))
            .current_dir(root.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(said)
            .spawn()
            .expect("started");
        let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines().map_while(Result::ok);
        let mut line = |name: &str| {
            let line = lines.next().expect("a line");
            line.strip_prefix(name).unwrap_or_else(|| panic!("{line:?} is not {name}")).trim().to_owned()
        };
        let (url, _, token_file) = (line("serving"), line("open"), line("token"));
        let token = fs::read_to_string(token_file).expect("the token").trim().to_owned();
        let address = url.strip_prefix("http://").expect("a URL").parse().expect("an address");
        Self { root, child, client: Client { address, token: Some(token) } }
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.root.path().join("data")
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn token(&self) -> &str {
        self.client.token.as_deref().unwrap_or_default()
    }

    /// A run that waits for an answer.
    pub(crate) fn waiting_run(&self) -> String {
        let body = json!({"skill": "asks", "engine": "scripted", "mode": "interactive"});
        let made = self.client.post("/v1/runs", &body).expect("an answer");
        assert_eq!(made.status, 202, "{}", made.text());
        let run = made.json()["run_id"].as_str().expect("an id").to_owned();
        let begin = Instant::now();
        while self.status_of(&run) != "waiting_user" {
            assert!(begin.elapsed() < TEST_TIMEOUT, "it does not ask");
        }
        run
    }

    pub(crate) fn status_of(&self, run: &str) -> String {
        let view = self.client.get(&format!("/v1/runs/{run}?wait=1")).expect("an answer").json();
        view["status"].as_str().unwrap_or_default().to_owned()
    }

    /// It lives, answers, has not panicked and holds no more than it should.
    #[track_caller]
    pub(crate) fn assert_well(&self) {
        let answer = self.client.get("/healthz").unwrap_or_else(|error| panic!("no answer: {error}; {}", self.said()));
        assert_eq!((answer.status, answer.text().as_str()), (200, "ok\n"), "{}", self.said());
        let said = self.said();
        assert!(!said.contains("panicked"), "{said}");
        let held = memory(&format!("/proc/{}/status", self.pid()), "VmHWM:");
        assert!(held < MEMORY_MAX, "{held} bytes");
    }

    /// What it complained of.
    pub(crate) fn said(&self) -> String {
        fs::read_to_string(self.root.path().join("said")).unwrap_or_default()
    }

    pub(crate) fn descriptors(&self) -> usize {
        fs::read_dir(format!("/proc/{}/fd", self.pid())).map_or(0, Iterator::count)
    }

    /// Waits until it has released unused connections.
    pub(crate) fn await_descriptors(&self, at_most: usize) {
        let begin = Instant::now();
        while self.descriptors() > at_most {
            assert!(begin.elapsed() < TEST_TIMEOUT, "{} descriptors, not {at_most}", self.descriptors());
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Asked first, so that it takes care of its runs.
        Command::new("kill").arg("-TERM").arg(self.pid().to_string()).status().ok();
        let begin = Instant::now();
        while self.child.try_wait().is_ok_and(|ended| ended.is_none()) && begin.elapsed() < TEST_TIMEOUT {
            std::thread::sleep(Duration::from_millis(10));
        }
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
