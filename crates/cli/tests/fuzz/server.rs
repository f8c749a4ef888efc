//! A real server with a data folder of its own, and a look at how it is.

use std::fs::{self, File};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use lab::{Lab, TEST_TIMEOUT, signal, wait_until};
use serde_json::json;
use testkit::http::Client;

use crate::watch::memory;

/// More than it ever needs for what is sent here.
const MEMORY_MAX: u64 = 1 << 30;

pub(crate) struct Server {
    lab: Lab,
    server: lab::Server,
}

impl Server {
    /// Serves the skills `plain`, which ends at once, and `asks`, which waits for an answer.
    pub(crate) fn start() -> Self {
        let lab = Lab::new();
        lab.installed_skill("plain", "- - output: {answer: done}\n    done: true\n");
        let asks = "- - ask: {kind: open_text, prompt: Which?}\n- - output: {answer: '{{reply}}'}\n    done: true\n";
        lab.installed_skill("asks", asks);
        let mut command = lab.command(&["serve", "--listen", "127.0.0.1:0"]);
        command.stderr(File::create(lab.path("said")).expect("a file"));
        Self { server: Lab::started(command), lab }
    }

    pub(crate) fn client(&self) -> &Client {
        &self.server.client
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.lab.data()
    }

    pub(crate) fn pid(&self) -> u32 {
        self.server.child.id()
    }

    pub(crate) fn token(&self) -> &str {
        self.server.token()
    }

    /// A run that waits for an answer.
    pub(crate) fn waiting_run(&self) -> String {
        let run = self.server.run("asks", json!({"mode": "interactive"}));
        wait_until("a question", || self.status_of(&run) == "waiting_user");
        run
    }

    pub(crate) fn status_of(&self, run: &str) -> String {
        let view = self.server.client.get(&format!("/v1/runs/{run}?wait=1")).expect("an answer").json();
        view["status"].as_str().unwrap_or_default().to_owned()
    }

    /// It lives, answers, has not panicked and holds no more than it should.
    #[track_caller]
    pub(crate) fn assert_well(&self) {
        let answer =
            self.server.client.get("/healthz").unwrap_or_else(|error| panic!("no answer: {error}; {}", self.said()));
        assert_eq!((answer.status, answer.text().as_str()), (200, "ok\n"), "{}", self.said());
        let said = self.said();
        assert!(!said.contains("panicked"), "{said}");
        let held = memory(&format!("/proc/{}/status", self.pid()), "VmHWM:");
        assert!(held < MEMORY_MAX, "{held} bytes");
    }

    /// What it complained of.
    pub(crate) fn said(&self) -> String {
        fs::read_to_string(self.lab.path("said")).unwrap_or_default()
    }

    pub(crate) fn descriptors(&self) -> usize {
        fs::read_dir(format!("/proc/{}/fd", self.pid())).map_or(0, Iterator::count)
    }

    /// Waits until it has released unused connections.
    pub(crate) fn await_descriptors(&self, at_most: usize) {
        wait_until(&format!("a release of all but {at_most} descriptors"), || self.descriptors() <= at_most);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Asked first, so that it takes care of its runs; it is killed after that.
        signal(self.pid(), "TERM");
        let begin = Instant::now();
        while self.server.child.try_wait().is_ok_and(|ended| ended.is_none()) && begin.elapsed() < TEST_TIMEOUT {
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}
