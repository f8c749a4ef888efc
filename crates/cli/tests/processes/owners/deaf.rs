//! Hosts that were stopped by a signal, so that they exist and do not respond: their process can still be ended, in
//! bounded time, and the run has one end.

use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

use lab::{Lab, is_end, kind, signal, within};
use serde_json::Value;

const LONG: &str = "- - say: I begin.\n  - sleep_ms: 600000\n";
const ASKS: &str =
    "- - ask: {kind: open_text, prompt: Which colour?}\n- - output: {answer: '{{reply}}'}\n    done: true\n";

/// Far less than the run itself would take, and more than all the waits for a host together.
const BOUND: Duration = Duration::from_secs(45);

fn wait_exit(child: &mut Child) -> ExitStatus {
    within(BOUND, "exit", || child.try_wait().expect("waited"))
}

/// A run whose host is stopped after it has reported an event of this type. It is continued when the test is over.
struct Stopped<'a> {
    lab: &'a Lab,
    run: String,
    host: String,
}

impl<'a> Stopped<'a> {
    fn at(lab: &'a Lab, word: &str) -> Self {
        let run = lab.wait_run();
        lab.wait_event(&run, word);
        let host = lab.run_json(&run, ".audit/claim.1")["host_pid"].to_string();
        signal(&host, "STOP");
        Self { lab, run, host }
    }

    /// The run ended like this, once, and no process is left.
    fn ended(&self, word: &str, code: Option<&str>) {
        let end = |events: &[Value]| events.last().filter(|event| is_end(event)).cloned();
        let last = within(BOUND, "end", || end(&self.lab.events(&self.run)));
        assert_eq!((kind(&last), last["data"]["error"]["code"].as_str()), (word, code), "{last:#}");
        let events = self.lab.events(&self.run);
        let count = |word: &str| events.iter().filter(|event| kind(event) == word).count();
        assert_eq!((count("attempt.started"), count("attempt.ended")), (1, 1));
        assert_eq!(events.iter().filter(|event| is_end(event)).count(), 1);
        self.lab.wait_quiet();
        self.lab.printed(&["verify", &self.run]);
    }
}

impl Drop for Stopped<'_> {
    fn drop(&mut self) {
        signal(&self.host, "CONT");
    }
}

/// The request stayed in the socket of a host that never read it, and the run was `running` forever.
#[test]
fn a_cancel_ends_an_unresponsive_host() {
    let lab = Lab::with_skill("long", LONG);
    let mut owner = lab.start(&["run", "./long", "--engine", "scripted", "--json"]);
    let stopped = Stopped::at(&lab, "agent.message.final");
    lab.printed(&["cancel", &stopped.run]);
    assert_eq!(wait_exit(&mut owner).code(), Some(8));
    stopped.ended("run.canceled", None);
}

/// Only the host checked the clock.
#[test]
fn a_run_times_out_though_its_host_is_unresponsive() {
    let lab = Lab::with_skill("long", LONG);
    let mut owner = lab.start(&["run", "./long", "--engine", "scripted", "--timeout", "2", "--json"]);
    let stopped = Stopped::at(&lab, "agent.message.final");
    assert_eq!(wait_exit(&mut owner).code(), Some(1));
    stopped.ended("run.failed", Some("ATTEMPT_LOST"));
}

/// The next owner could not attach, and retried forever.
#[test]
fn an_unowned_unresponsive_host_can_be_canceled() {
    let lab = Lab::with_skill("long", LONG);
    let mut owner = lab.start(&["run", "./long", "--engine", "scripted", "--json"]);
    let stopped = Stopped::at(&lab, "agent.message.final");
    lab::kill(&mut owner);
    let begin = Instant::now();
    lab.printed(&["cancel", &stopped.run]);
    assert!(begin.elapsed() < BOUND, "it took {:?}", begin.elapsed());
    stopped.ended("run.canceled", None);
}

/// A process that waits between two turns: the run was over at once, and the process was there for a day.
#[test]
fn a_waiting_process_is_ended_despite_an_unresponsive_host() {
    let lab = Lab::with_skill("asks", ASKS);
    let words = ["--mode", "interactive", "--continuation", "sticky", "--json"];
    let mut owner = lab.start(&[&["run", "./asks", "--engine", "scripted"][..], &words].concat());
    let stopped = Stopped::at(&lab, "interaction.requested");
    lab.printed(&["cancel", &stopped.run]);
    assert_eq!(wait_exit(&mut owner).code(), Some(8));
    stopped.ended("run.canceled", None);

    let lab = Lab::with_skill("asks", ASKS);
    let mut owner = lab.start(&[&["run", "./asks", "--engine", "scripted"][..], &words].concat());
    let stopped = Stopped::at(&lab, "interaction.requested");
    lab::kill(&mut owner);
    lab.printed(&["cancel", &stopped.run]);
    stopped.ended("run.canceled", None);
}

/// A host that is continued before its deadline has lost nothing.
#[test]
fn a_host_stopped_for_a_while_continues() {
    let lab =
        Lab::with_skill("slow", "- - say: I begin.\n  - sleep_ms: 1500\n  - output: {answer: blue}\n    done: true\n");
    let mut owner = lab.start(&["run", "./slow", "--engine", "scripted", "--json"]);
    let stopped = Stopped::at(&lab, "agent.message.final");
    lab::kill(&mut owner);
    let mut next = lab.start(&["recover", "--json"]);
    std::thread::sleep(Duration::from_millis(1800));
    signal(&stopped.host, "CONT");
    assert!(wait_exit(&mut next).success());
    stopped.ended("run.completed", None);
}
