//! Other processes on the same data folder: their runs through the service, its runs through the program, and runs that
//! continue while there is no server.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;

use lab::Lab;
use serde_json::{Value, json};

use super::{ASKS, LONG, kind};

/// Starts a run that stays with a process of its own, since there is no server yet.
fn elsewhere(lab: &Lab, skill: &str) -> String {
    let words =
        ["run", skill, "--engine", "scripted", "--mode", "interactive", "--continuation", "sticky", "--no-wait"];
    lab.printed(&words).trim().to_owned()
}

#[test]
fn runs_of_another_process_are_served_over_http() {
    let lab = Lab::new();
    lab.installed_skill("asks", ASKS);
    let (first, second) = (elsewhere(&lab, "asks"), elsewhere(&lab, "asks"));
    for run in [&first, &second] {
        lab.wait_event(run, "interaction.requested");
    }
    let server = lab.serve();
    let heard = server.reply(&first, 1, "blue");
    assert_eq!((heard.status, &heard.json()["status"]), (200, &json!("succeeded")), "{}", heard.text());
    assert_eq!(heard.json()["result"]["output"]["answer"], "blue");
    let stale = server.reply(&second, 9, "x");
    assert_eq!((stale.status, &stale.json()["current"]["status"]), (409, &json!("waiting_user")), "{}", stale.text());
    let canceled = server.post(&format!("/v1/runs/{second}/cancel?wait=60"), &json!({}));
    assert_eq!((canceled.status, &canceled.json()["status"]), (200, &json!("canceled")), "{}", canceled.text());
}

#[test]
fn the_program_acts_on_runs_of_the_server() {
    let (lab, server) = Lab::serving(&[("asks", ASKS), ("long", LONG)]);
    let run = server.run("asks", json!({"mode": "interactive"}));
    let long = server.run("long", json!({}));
    server.wait(&run);
    let mut follower =
        lab.command(&["logs", &run, "--follow", "--rasp"]).stdout(Stdio::piped()).spawn().expect("started");
    let mut lines = BufReader::new(follower.stdout.take().expect("piped")).lines();
    let first: Value = serde_json::from_str(&lines.next().expect("a line").expect("read")).expect("JSON");
    let listed: Value = serde_json::from_str(&lab.printed(&["ls", "--json"])).expect("JSON");
    let text = listed.to_string();
    assert!(text.contains(&run) && text.contains(&long) && text.contains("waiting_user"), "{text}");
    lab.printed(&["reply", &run, "blue", "--no-wait"]);
    let mut followed = vec![first];
    followed.extend(lines.map(|line| serde_json::from_str(&line.expect("read")).expect("JSON")));
    assert!(follower.wait().expect("waited").success());
    assert_eq!(followed, lab.events(&run), "followed to the end");
    assert_eq!(server.wait(&run)["result"]["output"]["answer"], "blue");
    lab.printed(&["cancel", &long]);
    assert_eq!(server.wait(&long)["status"], "canceled");
    let made = lab.printed(&["run", "asks", "--engine", "scripted", "--mode", "interactive", "--no-wait"]);
    assert_eq!(server.wait(made.trim())["status"], "waiting_user", "the server has taken it");
}

/// Symptom it guards against: a stop that ends what runs, or a start that runs it again beside itself.
#[test]
fn after_a_stop_the_next_start_finishes_the_runs() {
    let (lab, server) = Lab::serving(&[("asks", ASKS)]);
    // Its process lives until an answer comes, so nothing here is a matter of time.
    let run = server.asked_run("asks", json!({"continuation": "sticky"}));
    let hosts = || {
        let events = lab.events(&run);
        let started = events.iter().filter(|event| kind(event) == "attempt.started");
        started.map(|event| event["data"]["host_pid"].as_u64().expect("a host")).collect::<Vec<_>>()
    };
    let host = *hosts().first().expect("a start");
    let is_there = || Path::new(&format!("/proc/{host}")).exists();
    server.stop();
    assert!(is_there(), "the host keeps running");
    let server = lab.serve();
    assert!(is_there(), "and is not replaced");
    let heard = server.reply(&run, 1, "blue");
    assert_eq!((heard.status, &heard.json()["status"]), (200, &json!("succeeded")), "{}", heard.text());
    assert_eq!(heard.json()["result"]["output"]["answer"], "blue");
    assert_eq!(hosts(), [host, host], "both turns in the one process");
}
