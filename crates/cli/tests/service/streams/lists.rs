//! All runs in a few words: who follows the changes ends with the same list as who asks for it.

use std::collections::BTreeMap;
use std::sync::{Barrier, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use lab::{Lab, Server, TEST_TIMEOUT, wait_until};
use serde_json::{Value, json};
use testkit::http::{Client, Event};

const QUICK: &str = "- - say: I begin.\n  - sleep_ms: 100\n  - output: {answer: done}\n    done: true\n";
const FAILS: &str = "- - say: I begin.\n  - fail: the model is not there\n";
const ASKS: &str =
    "- - ask: {kind: open_text, prompt: Which colour?}\n- - output: {answer: '{{reply}}'}\n    done: true\n";

/// Runs and what they are.
type Statuses = BTreeMap<String, String>;

fn of_row(row: &Value) -> (String, String) {
    (row["run_id"].as_str().unwrap_or_default().to_owned(), row["status"].as_str().unwrap_or_default().to_owned())
}

fn listed(server: &Server) -> Statuses {
    let list = server.get("/v1/runs?limit=500").json();
    list["runs"].as_array().expect("runs").iter().map(of_row).collect()
}

/// A client that receives every change.
#[derive(Default)]
struct Watcher {
    cursor: Option<String>,
    runs: Statuses,
    resets: usize,
}

impl Watcher {
    fn keep(&mut self, event: &Event) {
        self.cursor.clone_from(&event.id);
        let data = event.json();
        match event.event.as_deref() {
            Some("reset") => {
                self.resets += 1;
                self.runs = data["runs"].as_array().expect("runs").iter().map(of_row).collect();
            }
            Some("run") => self.runs.extend([of_row(&data)]),
            Some("removed") => drop(self.runs.remove(data["run_id"].as_str().expect("an id"))),
            other => panic!("{other:?}"),
        }
    }

    /// Leaves after every change, until it has what is expected.
    fn watch(mut self, client: &Client, expected: &Mutex<Option<Statuses>>) -> Self {
        let begin = Instant::now();
        while expected.lock().expect("whole").as_ref() != Some(&self.runs) {
            assert!(begin.elapsed() < TEST_TIMEOUT, "it has {:?}", self.runs);
            let header = self.cursor.as_deref().map(|id| ("Last-Event-ID", id));
            let Ok(opened) = client.events("/v1/stream", header.as_slice()) else {
                thread::sleep(Duration::from_millis(3));
                continue;
            };
            let mut events = opened.stream();
            // What is expected may become known while nothing changes.
            events.set_read_timeout(Duration::from_millis(300)).expect("set");
            if let Ok(Some(event)) = events.next_event() {
                self.keep(&event);
            }
        }
        self
    }
}

#[test]
fn who_follows_all_changes_ends_with_the_list() {
    let lab = Lab::new();
    for (name, script) in [("quick", QUICK), ("fails", FAILS), ("asks", ASKS)] {
        lab.installed_skill(name, script);
    }
    // It is another process's, and stays so: it waits for an answer there.
    let words =
        ["run", "asks", "--engine", "scripted", "--mode", "interactive", "--continuation", "sticky", "--no-wait"];
    let other = lab.printed(&words).trim().to_owned();
    let server = lab.serve();
    let client = server.client.clone();
    let expected = Mutex::new(None);
    thread::scope(|scope| {
        let watcher = scope.spawn(|| Watcher::default().watch(&client, &expected));
        let mut runs = vec![server.run("quick", json!({})), server.run("fails", json!({}))];
        runs.push(server.run("asks", json!({"mode": "interactive"})));
        // Beside the server, which takes it.
        runs.push(lab.printed(&["run", "quick", "--engine", "scripted", "--no-wait"]).trim().to_owned());
        server.wait(&runs[0]);
        server.stop();
        let server = lab.serve_at(&client.address.to_string(), &[]);
        runs.push(server.run("quick", json!({})));
        runs.push(other.clone());
        let canceled = server.post(&format!("/v1/runs/{}/cancel?wait=60", runs[2]), &json!({}));
        assert_eq!(canceled.status, 200, "{}", canceled.text());
        // Only the other process writes to this one.
        assert_eq!(server.wait(&other)["status"], "waiting_user");
        lab.printed(&["reply", &other, "blue", "--no-wait"]);
        wait_until("end", || server.wait(&other)["status"] == "succeeded");
        runs.iter().for_each(|run| drop(server.wait(run)));
        let mut list = listed(&server);
        assert_eq!(list.len(), runs.len());
        lab.settings("[retention]\ncanceled_count = 0\n");
        list.retain(|_, status| status != "canceled");
        assert_eq!(list.len(), runs.len() - 1, "{list:?}");
        // A run that has just ended may still have an owner, and stays then; the command reports it.
        wait_until("the removal", || {
            eprint!("{}", String::from_utf8_lossy(&lab.output(&["gc"]).stderr));
            listed(&server) == list
        });
        *expected.lock().expect("whole") = Some(list);
        let watcher = watcher.join().expect("it gets to the end");
        assert_eq!(watcher.resets, 2, "one at the beginning, and one for the other server");
    });
}

#[test]
fn a_cursor_of_another_server_gets_the_list() {
    let (_lab, server) = Lab::serving(&[("quick", QUICK)]);
    let run = server.run("quick", json!({}));
    server.wait(&run);
    for cursor in ["", "x", "1-1", "0123456789abcdef-1", "0-99999999999999999999"] {
        let mut events = server.client.events(&format!("/v1/stream?cursor={cursor}"), &[]).expect("opened").stream();
        let event = events.next_event().expect("read").expect("an event");
        assert_eq!(event.event.as_deref(), Some("reset"), "{cursor}");
        assert_eq!(of_row(&event.json()["runs"][0]), (run.clone(), "succeeded".to_owned()));
    }
}

/// Each of them has everything, and what they have in common is looked up once: not with a thread for each.
#[test]
fn many_who_follow_all_runs_share_the_work() {
    const FOLLOWERS: usize = 80;
    const RUNS: usize = 12;
    let (_lab, server) = Lab::serving(&[("quick", QUICK)]);
    let client = &server.client;
    let at_rest = server.threads();
    let begun = Barrier::new(FOLLOWERS + 1);
    let follow = || {
        let mut events = client.events("/v1/stream", &[]).expect("opened").stream();
        let mut watcher = Watcher::default();
        watcher.keep(&events.next_event().expect("read").expect("the list"));
        begun.wait();
        let has_all = |runs: &Statuses| runs.len() == RUNS && runs.values().all(|status| status == "succeeded");
        while !has_all(&watcher.runs) {
            watcher.keep(&events.next_event().expect("read").expect("an event"));
        }
        watcher
    };
    let (watchers, most) = thread::scope(|scope| {
        let followers: Vec<_> = (0..FOLLOWERS).map(|_| scope.spawn(follow)).collect();
        begun.wait();
        let runs: Vec<String> = (0..RUNS).map(|_| server.run("quick", json!({}))).collect();
        let mut most = 0;
        let is_over = |run: &String| {
            most = most.max(server.threads());
            wait_until("the end", || {
                most = most.max(server.threads());
                server.get(&format!("/v1/runs/{run}")).json()["status"] == "succeeded"
            });
        };
        runs.iter().for_each(is_over);
        (followers.into_iter().map(|one| one.join().expect("it has all")).collect::<Vec<_>>(), most)
    });
    let list = listed(&server);
    for watcher in watchers {
        assert_eq!((&watcher.runs, watcher.resets), (&list, 1));
    }
    assert!(most < at_rest + FOLLOWERS / 2, "{at_rest} threads, and {most} with {FOLLOWERS} followers");
}
