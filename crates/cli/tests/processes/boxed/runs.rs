//! Runs in a box, from the request to every view of the report.

use std::fs;

use lab::{Lab, kind};
use serde_json::{Value, json};
use skillrun_confine::{ProbeScope, probe};

use super::escapes::has_python;
use super::mechanisms;
use super::networks::{has_networks, server};

/// An engine that nothing holds back: it notes in its HOME what it reaches.
const ENGINE: &str = r#"
name = "tool"
title = "A tool"
profile = "plain_text"
continuation = "none"

[executable]
path = PROGRAM

[start]
argv = ["{{prompt_flags}}"]

[prompt]
argument = ["{{prompt}}"]

[permission]
workspace = { posture = "not_enforced" }
read_only = { posture = "asked" }
full = { posture = "not_enforced" }

[environment]
set = { HOME = "{{home}}" }
"#;

const PROGRAM: &str = r#"#!/bin/sh
try() {
    if eval "$2" 2>/dev/null; then echo "$1 open"; else echo "$1 held"; fi >> "$HOME/found"
}
try secret 'cat USERS/secret > /dev/null'
try settings 'cat LAB/settings.toml > /dev/null'
try record 'cat LAB/data/runs/*/run.json > /dev/null'
try log 'cat LAB/data/runs/*/events.jsonl > /dev/null'
try evidence 'ls LAB/data/runs/*/.audit/host.sock > /dev/null'
try outside 'echo x > USERS/written'
try workspace 'echo x > written'
echo done
"#;

fn place() -> Lab {
    let lab = Lab::new();
    fs::write(lab.path("home").join("secret"), "a key").expect("written");
    let path = |name: &str| lab.path(name).display().to_string();
    let program = PROGRAM.replace("USERS", &path("home")).replace("LAB/", &path(""));
    lab.write_program("programs/tool", &program);
    lab.write("engines/tool.toml", &ENGINE.replace("PROGRAM", &format!("{:?}", lab.path("programs/tool"))));
    lab.settings(&format!("engines = {:?}\n", lab.path("engines")));
    lab
}

/// Runs the engine with these flags; its run.
fn ran(lab: &Lab, flags: &[&str]) -> String {
    let before = lab.runs();
    let words = ["ask", "hello", "--engine", "tool"];
    let output = lab.output(&[&words, flags].concat());
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let run = lab.runs().into_iter().find(|run| !before.contains(run));
    run.unwrap_or_else(|| panic!("{flags:?}: {said}"))
}

/// What the engine has noted.
fn found(lab: &Lab, run: &str) -> String {
    let path = lab.run_folder(run).join("home").join("found");
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{error}: {:#?}", lab.events(run)))
}

fn started(lab: &Lab, run: &str) -> Value {
    let events = lab.events(run);
    let start = events.iter().find(|event| kind(event) == "attempt.started").expect("a start");
    start["data"].clone()
}

/// The error of a request that is refused.
fn refused(lab: &Lab, flags: &[&str]) -> String {
    let output = lab.output(&[&["ask", "hello", "--engine", "tool"], flags].concat());
    assert_eq!(output.status.code(), Some(2), "{flags:?}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn an_engine_in_a_box_needs_no_consent() {
    if mechanisms().is_empty() {
        return;
    }
    let lab = place();
    let error = refused(&lab, &[]);
    assert!(error.contains("tool does not enforce the permission workspace"), "{error}");
    let run = ran(&lab, &["--box", "on"]);
    let lines = "secret held\nsettings held\nrecord held\nlog held\nevidence held\noutside held\nworkspace open\n";
    let lines_of_landlock = lines.replace("evidence held", "evidence open");
    let found = found(&lab, &run);
    // The path of the socket has a pattern in it, which needs to list a folder outside.
    assert!(found == lines || found == lines_of_landlock, "{found}");
    assert_eq!(started(&lab, &run)["box"]["parts"][0]["part"], "files");
    let begun = &lab.events(&run)[0]["data"];
    assert_eq!((&begun["permission"], &begun["posture"]), (&json!("workspace"), &json!("enforced")));
    assert!(!lab.path("home").join("written").exists());
    let error = refused(&lab, &["--box", "on", "--permission", "full"]);
    assert!(error.contains("tool does not enforce the permission full"), "a box does not hold it: {error}");
}

#[test]
fn a_workspace_is_not_written_with_read_only() {
    if mechanisms().is_empty() {
        return;
    }
    let lab = place();
    fs::create_dir(lab.path("project")).expect("a folder");
    let project = lab.path("project").display().to_string();
    let run = ran(&lab, &["--box", "on", "--permission", "read_only", "--workspace", &project]);
    assert!(found(&lab, &run).ends_with("outside held\nworkspace held\n"), "{}", found(&lab, &run));
    let run = ran(&lab, &["--box", "on", "--workspace", &project]);
    assert!(found(&lab, &run).ends_with("outside held\nworkspace open\n"), "{}", found(&lab, &run));
    assert_eq!(fs::read_to_string(lab.path("project/written")).expect("written"), "x\n");
}

#[test]
fn the_report_is_in_every_view() {
    if probe(ProbeScope::All).namespaces.is_err() || probe(ProbeScope::All).network_namespace.is_err() {
        eprintln!("skipped: {:?}", probe(ProbeScope::All));
        return;
    }
    let lab = place();
    let run = ran(&lab, &["--box", "required", "--network", "none"]);
    let part = |part: &str| json!({ "part": part, "state": "enforced", "mechanism": "namespaces" });
    let held = json!([part("files"), part("processes"), part("network")]);
    let report = started(&lab, &run)["box"].clone();
    assert_eq!(json!(report["parts"].as_array().map(|parts| &parts[..3])), held);
    let record = lab.run_json(&run, "run.json");
    assert_eq!((&record["box"], &record["format"]), (&report, &json!(7)));
    assert_eq!((&record["request"]["box"], &record["request"]["network"]), (&json!("required"), &json!("none")));
    let page = lab.printed(&["show", &run]);
    for line in ["required, network none", "files enforced by namespaces", "network enforced by namespaces"] {
        assert!(page.contains(line), "{page}");
    }
    let doctor = lab.output(&["doctor"]);
    let doctor = String::from_utf8_lossy(&doctor.stdout).into_owned();
    assert!(doctor.contains("files enforced by namespaces; processes enforced by namespaces"), "{doctor}");
}

/// The engine asks for two ports of this machine, one of which is on the list.
#[test]
fn refused_connections_are_in_the_log() {
    if !has_networks() || !has_python() {
        return;
    }
    let lab = place();
    let (listed, other) = (server(), server());
    let dial = |port: u16| {
        format!(
            "/usr/bin/python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", {port}), timeout=20)' 2> /dev/null"
        )
    };
    let program = format!("#!/bin/sh\n{} && echo listed\n{} && echo other\necho done\n", dial(listed), dial(other));
    lab.write_program("programs/tool", &program);
    let host = format!("127.0.0.1:{listed}");
    let first = ran(&lab, &["--box", "required", "--allow-host", &host]);
    lab.output(&["retry", &first]);
    let second = lab.runs().into_iter().find(|run| *run != first).expect("a second run");
    for run in [first, second] {
        assert_eq!(lab.run_json(&run, "run.json")["request"]["network"], "list");
        assert_eq!(started(&lab, &run)["box"]["reachable"], json!([host]));
        let said = fs::read_to_string(lab.run_folder(&run).join(".audit/stdout.1.log")).expect("output");
        assert_eq!(said, "listed\ndone\n");
        let events = lab.events(&run);
        let is_refusal = |event: &&Value| event["data"]["code"] == "CONNECTION_REFUSED";
        let refused: Vec<_> = events.iter().filter(is_refusal).map(|event| &event["data"]["message"]).collect();
        let message = format!("a connection to 127.0.0.1:{other} was refused: the network of this run is list");
        assert_eq!(refused, [&json!(message)]);
        assert!(lab.printed(&["show", &run]).contains(&format!("reaches {host}")));
    }
}

#[test]
fn networks_without_a_meaning_are_refused() {
    let lab = place();
    let many: Vec<String> = (0..33).map(|number| format!("--allow-host=h{number}.test")).collect();
    let many: Vec<&str> = ["--box", "on"].into_iter().chain(many.iter().map(String::as_str)).collect();
    let rows: [(&[&str], &str); 7] = [
        (&["--network", "model"], "network model needs a box; use box on or required"),
        (&["--allow-host", "a.test"], "network list needs a box; use box on or required"),
        (
            &["--box", "on", "--network", "open", "--allow-host", "a.test"],
            "hosts are allowed with network list alone, and the network of this run is open",
        ),
        (&["--box", "on", "--allow-host", "*"], "\"*\" is not a host: a star can only be"),
        (&["--box", "on", "--allow-host", "https://a.test/"], "is not a host: it is a URL"),
        (&many, "33 hosts are allowed, and the limit is 32"),
        (&["--box", "on", "--network", "model"], "it is not known at which address the model of tool is"),
    ];
    for (flags, sentence) in rows {
        let error = refused(&lab, flags);
        assert!(error.contains(sentence), "{flags:?}: {error}");
    }
    assert_eq!(lab.runs(), Vec::<String>::new());
}

#[test]
fn a_retry_has_the_box_of_the_first_run() {
    if mechanisms().is_empty() {
        return;
    }
    let lab = place();
    let first = ran(&lab, &["--box", "on"]);
    lab.output(&["retry", &first]);
    let second = lab.runs().into_iter().find(|run| *run != first).expect("a second run");
    assert_eq!(lab.run_json(&second, "run.json")["box"], lab.run_json(&first, "run.json")["box"]);
    assert!(found(&lab, &second).starts_with("secret held\n"));
}

#[test]
fn a_check_is_in_the_box_of_its_run() {
    if mechanisms().is_empty() {
        return;
    }
    let lab = place();
    let secret = lab.path("home").join("secret").display().to_string();
    let check = format!("if cat {secret}; then exit 1; fi; echo checked > checked");
    let run = ran(&lab, &["--box", "on", "--check", &check]);
    let events = lab.events(&run);
    let ends: Vec<_> = events.iter().filter(|event| kind(event) == "check.ended").collect();
    assert!(ends.iter().all(|end| end["data"]["status"] == "passed"), "{ends:#?}");
    let succeeded = events.iter().any(|event| kind(event) == "run.completed");
    assert!(!succeeded || !ends.is_empty(), "{events:#?}");
}

#[test]
fn requests_that_no_box_can_hold_are_refused() {
    let lab = place();
    let data = lab.data().join("runs").display().to_string();
    fs::create_dir_all(&data).expect("a folder");
    let above = lab.root().display().to_string();
    let rows: [(&[&str], &str); 6] = [
        (&["--network", "none"], "network none needs a box; use box on or required"),
        (&["--box", "on", "--workspace", "/"], "/: cannot be the workspace of a run in a box: it has everything in it"),
        (
            &["--box", "on", "--workspace", "/proc"],
            "/proc: cannot be the workspace of a run in a box: a box has its own",
        ),
        (&["--box", "on", "--workspace", &data], "cannot be the workspace of a run in a box: the data folder"),
        (&["--box", "on", "--workspace", &above], "cannot be the workspace of a run in a box: the data folder"),
        (
            &["--box", "required", "--permission", "full"],
            "this machine cannot enforce the part files of the box: permission full",
        ),
    ];
    for (flags, sentence) in rows {
        let error = refused(&lab, flags);
        assert!(error.contains(sentence), "{flags:?}: {error}");
    }
    lab.settings(&format!("engines = {:?}\nhome = \"user\"\n", lab.path("engines")));
    let error = refused(&lab, &["--box", "required"]);
    assert!(error.contains("the part files of the box: the run has the HOME of the user"), "{error}");
    assert_eq!(lab.runs(), Vec::<String>::new());
}

/// The setting counts where a request says nothing.
#[test]
fn the_setting_puts_runs_into_a_box() {
    if mechanisms().is_empty() {
        return;
    }
    let lab = place();
    lab.settings(&format!("engines = {:?}\nbox = \"on\"\nconsent = [\"tool\"]\n", lab.path("engines")));
    let run = ran(&lab, &[]);
    assert!(found(&lab, &run).starts_with("secret held\n"));
    let run = ran(&lab, &["--box", "off"]);
    assert!(found(&lab, &run).starts_with("secret open\n"), "or the tests above show nothing");
    assert_eq!(started(&lab, &run)["box"], Value::Null);
}
